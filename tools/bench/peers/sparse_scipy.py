"""sparse_scipy.py CASE REPEATS FILE.npz: a case of `bench sparse` with SciPy. Prints JSON like sparse_blocks.cpp."""
import json
import sys
import time

import numpy as np
import scipy.sparse as sp

case, repeats, a = sys.argv[1], int(sys.argv[2]), sp.load_npz(sys.argv[3])
x = (np.arange(a.shape[1]) % 17 - 8).astype(float)
transposed = a.T
steps = {"spmv": lambda: a @ x, "spmv_transposed": lambda: transposed @ x, "spgemm": lambda: sorted_product()}


def sorted_product():
    c = a @ a
    c.sort_indices()
    return c


least = float("inf")
for step in range(repeats + 1):
    start = time.process_time()
    result = steps[case]()
    if step > 0:
        least = min(least, time.process_time() - start)
if case == "spgemm":
    c = result.tocoo()
    answer = float(np.sum(c.data * ((c.row + c.col) % 5)))
else:
    answer = float(np.sum(result * (np.arange(len(result)) % 5)))
print(json.dumps({"seconds": least, "answer": answer}))
