"""min_plus_numpy.py A.npy B.npy w.npy r.bin: C[i,j] = min over l of A[i,l] + B[l,j], one row at a time; prints the seconds."""
import json
import sys
import time

import numpy as np

a, b, w = (np.load(path) for path in sys.argv[1:4])
start = time.perf_counter()
c = np.empty((a.shape[0], b.shape[1]))
for i in range(a.shape[0]):
    np.min(a[i, :, None] + b, axis=0, out=c[i])
seconds = time.perf_counter() - start
(c * c @ w).tofile(sys.argv[4])
print(json.dumps({"seconds": seconds}))
