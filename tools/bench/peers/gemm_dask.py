"""gemm_dask.py CHUNK A.npy B.npy w.npy r.bin: C = A B with Dask's threads and square chunks; prints the seconds of the product."""
import json
import os
import sys
import time

import dask
import dask.array as da
import numpy as np

threads, chunk = int(os.environ["DASK_NUM_WORKERS"]), int(sys.argv[1])
a, b, w = (np.load(path) for path in sys.argv[2:5])
with dask.config.set(scheduler="threads", num_workers=threads):
    (da.ones((512, 512), chunks=256) @ da.ones((512, 512), chunks=256)).compute()
    start = time.perf_counter()
    c = (da.from_array(a, chunks=chunk) @ da.from_array(b, chunks=chunk)).compute()
    seconds = time.perf_counter() - start
(c * c @ w).tofile(sys.argv[5])
print(json.dumps({"seconds": seconds}))
