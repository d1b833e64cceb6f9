"""Conjugate gradients. The number of steps is an integer and must be equal."""
import numpy as np


def twin(a):
    x, r, steps = np.zeros(a.n), a.b.copy(), 0
    p = r
    while np.linalg.norm(r) > a.tolerance * np.linalg.norm(a.b) and steps < a.max_steps:
        q = a.A @ p
        alpha = (r @ r) / (p @ q)
        following = r - alpha * q
        x, p, r = x + alpha * p, following + (following @ following) / (r @ r) * p, following
        steps += 1
    return {"x": x, "steps": np.int64(steps)}
