import numpy as np


def twin(p):
    n, m = p.n, p.m
    A = p.S.copy()
    for _ in range(2):
        for a in range(n - 1):
            for b in range(a + 1, n):
                if abs(A[a, b]) > 1e-300:
                    th = (A[b, b] - A[a, a]) / (2 * A[a, b])
                    t = (1 if th >= 0 else -1) / (abs(th) + np.sqrt(th * th + 1))
                    c = 1 / np.sqrt(t * t + 1)
                    s = t * c
                    A[:, a], A[:, b] = c * A[:, a] - s * A[:, b], s * A[:, a] + c * A[:, b]
                    A[a], A[b] = c * A[a] - s * A[b], s * A[a] + c * A[b]
    rod = p.W.copy()
    for _ in range(3):
        old = rod.copy()
        rod[:, 1:-1] = old[:, 1:-1] + 0.1 * (old[:, :-2] - 2 * old[:, 1:-1] + old[:, 2:])
    rows = p.W.copy()
    for i in range(1, n):
        rows[i] = 0.5 * rows[i - 1] + p.W[i]
    U = p.S + 2 * n * np.eye(n)
    for k in range(n - 1):
        for i in range(k + 1, n):
            U[i, k:] -= U[i, k] / U[k, k] * U[k, k:]
    return dict(A=A, rod=rod, rows=rows, U=U)
