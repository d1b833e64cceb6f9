"""Logistic regression by Newton's method."""
import numpy as np


def twin(a):
    w, penalty = np.zeros(a.d), getattr(a, "lambda")
    for _ in range(a.steps):
        p = 1 / (1 + np.exp(-(a.X @ w)))
        hessian = (a.X * (p * (1 - p))[:, None]).T @ a.X + penalty * np.eye(a.d)
        w = w - np.linalg.solve(hessian, a.X.T @ (p - a.y) + penalty * w)
    z = a.X @ w
    loss = np.sum(np.logaddexp(0, z) - z * a.y) + penalty / 2 * (w @ w)
    return {"w": w, "loss": loss, "correct": np.mean((z > 0) == (a.y > 0.5))}
