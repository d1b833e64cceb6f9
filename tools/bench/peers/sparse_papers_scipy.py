"""sparse_papers_scipy.py FORM CASE REPEATS ANSWER PARAMS OPERANDS...: the papers' sparse programs with SciPy, operands in memory.
FORM: sparse, or dense if filled-in results or masks are arrays. Prints the seconds of all steps as JSON."""
import json
import pathlib
import sys
import time

import numpy as np
import scipy.sparse as sp

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from digest import digest  # noqa: E402

form, case, repeats, answer, params = sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4], json.loads(sys.argv[5])
operands = [sp.load_npz(path).tocsr() if path.endswith(".npz") else np.load(path) for path in sys.argv[6:]]
GATHERED = 1 << 22  # elements of U and V gathered at a time: all of them would exceed memory


def sampled(x, u, v):
    """Elements of U V' where x has stored elements, in x's order."""
    rows, result = np.repeat(np.arange(x.shape[0]), np.diff(x.indptr)), np.empty(x.nnz)
    count = max(1, GATHERED // u.shape[1])
    for first in range(0, x.nnz, count):
        part = slice(first, first + count)
        result[part] = np.einsum("ek,ek->e", u[rows[part]], v[x.indices[part]])
    return result


def product(a, b):
    r = np.zeros(a.shape[0])
    for step in range(repeats):
        c = ((step + 1.0) * a) @ b
        c.data *= c.data
        r = 0.5 * r + np.asarray(c.sum(axis=1)).ravel()
    return [r]


def chain(a):
    x = a.copy()
    for step in range(repeats):
        if form == "dense" and step == 2:
            x = x.toarray()
        x = x @ a if sp.issparse(x) else (a.T @ x.T).T
    return [np.asarray(x.sum(axis=1)).ravel()]


def pagerank(a, r):
    n, links = a.shape[0], np.diff(a.indptr).astype(float)
    turned = sp.csr_matrix((np.ones(a.nnz), a.indices, a.indptr), shape=a.shape).T
    for _ in range(repeats):
        r = 0.15 / n + 0.85 * (turned @ np.divide(r, links, out=np.zeros(n), where=links > 0))
    return [r]


def rest(x, p, q):
    if form == "dense":
        return np.where(mask, whole - p @ q, 0.0)
    return sp.csr_matrix((x.data - sampled(x, p, np.ascontiguousarray(q.T)), x.indices, x.indptr), shape=x.shape)


def factorisation(x, p, q):
    rate, penalty = params["rate"], params["lambda"]
    for _ in range(repeats):
        e = rest(x, p, q)
        p, q = p + rate * (2.0 * (e @ q.T) - penalty * p), q + rate * (2.0 * (e.T @ p).T - penalty * q)
    return [p, q]


def cell(x, y, z):
    r = 0.0
    for step in range(repeats):
        r = 0.5 * r + (step + 1.0) * x.multiply(y).multiply(z).sum()
    return [r]


def multi_aggregate(x, y, z):
    r = t = 0.0
    for step in range(repeats):
        r, t = 0.5 * r + (step + 1.0) * x.multiply(y).sum(), 0.5 * t + (step + 1.0) * x.multiply(z).sum()
    return [r, t]


def row(x, r):
    for _ in range(repeats):
        r = x.T @ (x @ r) / x.shape[0]
    return [r]


def outer(x, u, v):
    r = 0.0
    for step in range(repeats):
        r = 0.5 * r + x.data @ np.log(sampled(x, (step + 1.0) * u, v) + 1e-15)
    return [r]


def als(w, r, v):
    for _ in range(repeats):
        r = sp.csr_matrix((w.data * sampled(w, r, v), w.indices, w.indptr), shape=w.shape) @ v / w.shape[1]
    return [r]


compute = globals()[case]
if case == "factorisation" and form == "dense":
    whole = operands[0].toarray()
    mask = whole != 0
total, repeats = repeats, 1
compute(*operands)
repeats = total
start, used = time.perf_counter(), time.process_time()
results = compute(*operands)
seconds, used = time.perf_counter() - start, time.process_time() - used
digest(results).tofile(answer)
print(json.dumps({"seconds": seconds, "cpu": used}))
