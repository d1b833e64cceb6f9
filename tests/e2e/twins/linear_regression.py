"""Gradient steps for least squares."""
import numpy as np


def twin(a):
    n, d = a.X.shape
    w = np.zeros(d)
    for _ in range(a.steps):
        w = w - a.rate * (a.X.T @ (a.X @ w - a.y) / n)
    r = a.X @ w - a.y
    return {"w": w, "loss": np.sum(r * r) / n}
