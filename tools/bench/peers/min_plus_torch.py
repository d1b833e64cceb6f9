"""min_plus_torch.py A.npy B.npy w.npy r.bin: C[i,j] = min over l of A[i,l] + B[l,j], one row at a time; prints the seconds."""
import json
import os
import sys
import time

import numpy as np
import torch

torch.set_num_threads(int(os.environ["OMP_NUM_THREADS"]))
a, b, w = (torch.from_numpy(np.load(path)) for path in sys.argv[1:4])
start = time.perf_counter()
c = torch.empty(a.shape[0], b.shape[1], dtype=a.dtype)
for i in range(a.shape[0]):
    c[i] = torch.min(a[i, :, None] + b, dim=0).values
seconds = time.perf_counter() - start
(c * c @ w).numpy().tofile(sys.argv[4])
print(json.dumps({"seconds": seconds}))
