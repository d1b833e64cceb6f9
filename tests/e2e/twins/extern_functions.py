"""The functions of extern_functions.hpp, operation by operation: results for exact operands are exact."""
from math import erf

import numpy as np


def factor(A):
    L = np.zeros_like(A)
    for j in range(len(A)):
        s = A[j, j]
        for k in range(j):
            s -= L[j, k] * L[j, k]
        L[j, j] = np.sqrt(s)
        for i in range(j + 1, len(A)):
            t = A[i, j]
            for k in range(j):
                t -= L[i, k] * L[j, k]
            L[i, j] = t / L[j, j]
    return L


def twin(a):
    gelu = np.vectorize(lambda x: 0.5 * x * (1.0 + erf(x / np.sqrt(2.0))), otypes=[float])
    rows, columns = np.arange(a.n), np.arange(a.m)
    G = gelu(a.X)
    odd = (rows[:, None] + columns) % 2 == 1
    z, w = a.X[:, 0], 0.0
    for _ in range(3):
        z = gelu(z) + 1.0
    for x in a.X[:, 0]:
        w = gelu(w + x)
    sums = np.zeros(a.m)
    for row in a.X:
        sums = sums + row
    return {"G": G, "H": np.where(odd, G + a.X.max(axis=1)[:, None], 0.0), "P": np.where(a.k[:, None] > 2, a.X, a.y.astype(float)), "z": z, "w": w,
            "L": factor(4.0 * np.eye(a.m) + np.minimum.outer(columns, columns)), "sums": sums, "above": (a.X > 0.5).sum(),
            "blocks": (a.X > 0.25).sum(), "t": np.add.accumulate(a.X, axis=1)[:, -1].max()}
