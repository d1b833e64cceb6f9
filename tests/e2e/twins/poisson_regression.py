"""Poisson regression by iteratively reweighted least squares."""
import numpy as np


def twin(a):
    b, w, penalty = np.log(np.mean(a.y)), np.zeros(a.d), getattr(a, "lambda")
    for _ in range(a.steps):
        m = np.exp(b + a.X @ w)
        w = w - np.linalg.solve((a.X * m[:, None]).T @ a.X + penalty * np.eye(a.d), a.X.T @ (m - a.y) + penalty * w)
        b = b - np.log(np.mean(np.exp(b + a.X @ w)) / np.mean(a.y))
    eta = a.X @ w + b
    saturated = np.array([v * (np.log(v) - 1) if v > 0 else 0.0 for v in a.y])
    return {"w": w, "b": b, "deviance": 2 * np.sum(np.exp(eta) - a.y * eta + saturated)}
