"""The loops of slices from the language page."""
import numpy as np


def twin(a):
    n, m, A, B, b, first, length = a.n, a.m, a.A, a.B, a.b, a.first, a.len
    x = np.zeros(n)
    for i in range(n):
        x[i] = (b[i] - A[i, :i] @ x[:i]) / A[i, i]

    rows = B.copy()
    for i in range(1, n):
        rows[i] = (rows[i] - 0.5 * rows[i - 1]) / A[i, i]

    paths = abs(A)
    for k in range(n):
        for i in range(n):
            paths[i] = np.minimum(paths[i], paths[i, k] + paths[k])

    r = b / (4.0 * n * (1.0 + np.max(abs(b))))
    y = np.zeros(n)
    alpha = -r[0]
    beta = 1.0
    y[0] = alpha
    for k in range(1, n):
        beta *= 1.0 - alpha * alpha
        alpha = -(r[k] + r[:k][::-1] @ y[:k]) / beta
        y[:k] += alpha * y[:k][::-1].copy()
        y[k] = alpha

    U = A.copy()
    for k in range(n - 1):
        U[k + 1:, k] /= U[k, k]
        U[k + 1:, k + 1:] -= np.outer(U[k + 1:, k], U[k, k + 1:])

    cov = B.T @ B

    back = b.copy()
    for i in range(n):
        rest = A[i:, i:] @ back[i:]
        back[i:] = rest / (1.0 + np.max(abs(rest)))

    flat = B.reshape(-1)
    sums = np.zeros(n)
    if n * m > 4:
        for i in range(n):
            for k in range(first[i], first[i] + length[i]):
                sums[i] += flat[k] * b[k % n]

    table = np.zeros((n, n), np.int64)
    for i in range(n - 2, -1, -1):
        for j in range(i + 1, n):
            table[i, j] = max(table[i, j - 1], table[i + 1, j - 1] + int(b[i] * b[j] < 0.0))
            for k in range(i + 1, j):
                table[i, j] = max(table[i, j], table[i, k] + table[k + 1, j])

    return {"x": x, "rows": rows, "paths": paths, "y": y, "U": U, "cov": cov, "back": back, "sums": sums, "table": table}
