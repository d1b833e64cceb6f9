"""Power iteration."""
import numpy as np


def twin(a):
    n = len(a.A)
    v = np.full(n, 1 / np.sqrt(n))
    eigenvalue, change, steps = 0.0, np.inf, 0
    while change > a.tolerance * abs(eigenvalue) and steps < a.max_steps:
        w = a.A @ v
        estimate = v @ w
        v = w / np.sqrt(w @ w)
        change, eigenvalue, steps = abs(estimate - eigenvalue), estimate, steps + 1
    return {"eigenvalue": eigenvalue, "v": v, "steps": np.int64(steps)}
