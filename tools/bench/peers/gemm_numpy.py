"""gemm_numpy.py A.npy B.npy w.npy r.bin: C = A B with NumPy and its BLAS; prints the seconds of the product."""
import json
import sys
import time

import numpy as np

a, b, w = (np.load(path) for path in sys.argv[1:4])
np.ones((512, 512), a.dtype) @ np.ones((512, 512), a.dtype)
start = time.perf_counter()
c = a @ b
seconds = time.perf_counter() - start
(c * c @ w).tofile(sys.argv[4])
print(json.dumps({"seconds": seconds}))
