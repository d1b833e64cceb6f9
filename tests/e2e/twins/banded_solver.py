"""Conjugate gradients with a dense matrix built from the diagonals."""
import numpy as np


def twin(a):
    A = np.zeros((a.n, a.n))
    for d in range(2 * a.width + 1):
        for j in range(a.n):
            if 0 <= d + j - a.width < a.n:
                A[d + j - a.width, j] = a.A[d, j]
    x, r, steps = np.zeros(a.n), a.b.copy(), 0
    p = r
    while np.linalg.norm(r) > a.tolerance * np.linalg.norm(a.b) and steps < a.max_steps:
        q = A @ p
        alpha = (r @ r) / (p @ q)
        following = r - alpha * q
        x, p, r = x + alpha * p, following + (following @ following) / (r @ r) * p, following
        steps += 1
    return {"x": x, "steps": np.int64(steps), "residual": a.b - A @ x}
