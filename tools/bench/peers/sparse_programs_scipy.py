"""sparse_programs_scipy.py CASE REPEATS ANSWER A.npz OPERANDS.npy...: the programs of `bench sparse_programs` with SciPy.
Prints the seconds per step as JSON, operands in memory."""
import json
import sys
import time

import numpy as np
import scipy.sparse as sp

case, repeats, answer = sys.argv[1], int(sys.argv[2]), sys.argv[3]
a = sp.load_npz(sys.argv[4]).tocsr()
operands = [sp.load_npz(path).tocsr() if path.endswith(".npz") else np.load(path) for path in sys.argv[5:]]
n = a.shape[0]


def spmv(r):
    return a @ r / 64.0


def spmv_transposed(r):
    return a.T @ r / 64.0


def both_ways(r):
    u = a @ r / 64.0
    return a.T @ u / 64.0


def pagerank_step():
    links = np.diff(a.indptr).astype(float)
    pattern = sp.csr_matrix((np.ones(a.nnz), a.indices, a.indptr), shape=a.shape)

    def step(r):
        share = np.divide(r, links, out=np.zeros(n), where=links > 0)
        return 0.15 / n + 0.85 * (pattern.T @ share)
    return step


def loss_step():
    u, v = operands
    rows, columns = np.repeat(np.arange(n), np.diff(a.indptr)), a.indices

    def step(r):
        p = u * (1.0 + r * 1e-12)
        total, part = 0.0, 1 << 16  # in chunks: all gathered rows at once would exceed memory
        for first in range(0, a.nnz, part):
            i, j = rows[first:first + part], columns[first:first + part]
            total += np.sum(a.data[first:first + part] * np.log(np.einsum("ek,ek->e", p[i], v[j]) + 1.0))
        return total
    return step


def of_matrices(operation):
    """The answer is computed outside the timed part."""
    def step(r):
        step.result = operation(a, operands[0])
        return r
    return step


step = {"spmv": lambda: spmv, "spmv_transposed": lambda: spmv_transposed, "both_ways": lambda: both_ways, "pagerank": pagerank_step,
        "loss": loss_step, "add": lambda: of_matrices(lambda x, y: x + y), "multiply": lambda: of_matrices(lambda x, y: x.multiply(y)),
        "spgemm": lambda: of_matrices(lambda x, y: x @ y), "triangles": lambda: lambda r: (a @ a).multiply(a).sum()}[case]()
r = 0.0 if case in ("loss", "add", "multiply", "spgemm", "triangles") else operands[0]
step(r)
start = time.perf_counter()
for _ in range(repeats):
    r = step(r)
seconds = (time.perf_counter() - start) / repeats
if case in ("add", "multiply", "spgemm"):
    r = np.asarray(step.result.sum(axis=1)).ravel()
np.asarray(r, dtype=float).tofile(answer)
print(json.dumps({"seconds": seconds}))
