"""Linear elements on an interval: a dense matrix by slices of its diagonals, and preconditioned conjugate gradients."""
import numpy as np


def conjugate_gradients(K, f, tolerance, max_steps):
    diagonal = np.diag(K)
    u, r, steps = np.zeros(len(f)), f.copy(), 0
    z = r / diagonal
    p, rz = z, r @ z
    while np.linalg.norm(r) > tolerance * np.linalg.norm(f) and steps < max_steps:
        q = K @ p
        alpha = rz / (p @ q)
        u, r = u + alpha * p, r - alpha * q
        z = r / diagonal
        rz, old = r @ z, rz
        p = z + rz / old * p
        steps += 1
    return u


def twin(a):
    unknowns, h = max(0, a.n - 1), 1.0 / max(a.n, 1)
    c = (1.0 + (np.arange(a.n) + 0.5) * h) / h
    K = np.diag(c[:-1] + c[1:]) - np.diag(c[1:-1], 1) - np.diag(c[1:-1], -1) if unknowns else np.zeros((0, 0))
    return {"u": conjugate_gradients(K, np.full(unknowns, h), a.tolerance, a.max_steps)}
