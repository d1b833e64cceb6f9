"""gemm_torch.py A.npy B.npy w.npy r.bin: C = A B with PyTorch; prints the seconds of the product."""
import json
import os
import sys
import time

import numpy as np
import torch

torch.set_num_threads(int(os.environ["OMP_NUM_THREADS"]))
a, b, w = (torch.from_numpy(np.load(path)) for path in sys.argv[1:4])
torch.ones(512, 512, dtype=a.dtype) @ torch.ones(512, 512, dtype=a.dtype)
start = time.perf_counter()
c = a @ b
seconds = time.perf_counter() - start
(c * c @ w).numpy().tofile(sys.argv[4])
print(json.dumps({"seconds": seconds}))
