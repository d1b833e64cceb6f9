"""The functions of std.graph by NumPy."""
import numpy as np


def closure(start, combine, pick):
    """Floyd-Warshall over a given semiring."""
    D = start.copy()
    for k in range(len(D)):
        D = pick(D, combine(D[:, k:k + 1], D[k:k + 1, :]))
    return D


def twin(t):
    n = len(t.W)
    one = np.eye(n) > 0
    capacity = np.where(one, np.inf, np.where(np.isinf(t.W), 0, t.W))
    reachable = closure(t.A | one, np.logical_and, np.logical_or)
    U = ((t.A | t.A.T) & ~one).astype(int)
    degree = t.E.sum(axis=1)
    p = np.full(n, 1 / n)
    for _ in range(20):
        lost = p[degree == 0].sum()
        share = np.where(degree > 0, p / np.where(degree > 0, degree, 1), 0)
        p = (1 - 0.85 + 0.85 * lost) / n + 0.85 * (share @ t.E)
    return {
        "o_shortest": closure(np.where(one, np.minimum(t.W, 0), t.W), np.add, np.minimum),
        "o_widest": closure(capacity, np.minimum, np.maximum), "o_reachable": reachable, "o_connected": reachable.all(),
        "o_out": degree, "o_in": t.E.sum(axis=0), "o_laplacian": np.diag(degree) - t.E,
        "o_triangles": np.trace(U @ U @ U) // 6, "o_rank": p,
    }
