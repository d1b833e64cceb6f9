"""Levels by SciPy, and by hand for two small graphs."""
import numpy as np
import scipy.sparse as sp
from scipy.sparse import csgraph

# The karate club from its instructor, node 0: neighbours, their neighbours, and the last eight.
KARATE = [0, 1, 1, 1, 1, 1, 1, 1, 1, 2, 1, 1, 1, 1, 3, 3, 2, 1, 3, 1, 3, 1, 3, 3, 2, 2, 3, 2, 2, 3, 2, 1, 2, 2]


def twin(a):
    n = len(a.A)
    hops = csgraph.shortest_path(sp.csr_matrix(a.A), unweighted=True, indices=a.source)
    level = np.where(np.isinf(hops), -1, hops).astype(np.int64)
    if n == 7:  # 0 to 1 and 2, both to 3, which is linked to 5; 4 has no path to it and 6 no edges
        assert level.tolist() == [0, 1, 1, 2, -1, 3, -1]
    if n == 34:
        assert level.tolist() == KARATE
    parent = [a.source if j == a.source else -1 if level[j] < 0 else min(i for i in range(n) if a.A[i, j] and level[i] == level[j] - 1) for j in range(n)]
    return {"level": level, "parent": parent, "reached": (level >= 0).sum(), "farthest": level.max(), "widest": np.bincount(level[level >= 0]).max()}
