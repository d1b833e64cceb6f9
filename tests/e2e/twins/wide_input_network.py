"""A network with wide input and several labels per example, in matrix form."""
import numpy as np


def twin(a):
    v1, v2 = a.W1, a.W2
    for _ in range(a.steps):
        z = a.X @ v1
        e = 1 / (1 + np.exp(-np.maximum(z, 0) @ v2)) - a.Y
        d = np.where(z > 0, e @ v2.T, 0)
        v1, v2 = v1 - a.rate / a.n * (a.X.T @ d), v2 - a.rate / a.n * (np.maximum(z, 0).T @ e)
    z = np.maximum(a.X @ v1, 0) @ v2
    return {"V1": v1, "V2": v2, "loss": np.mean(np.logaddexp(0, z) - a.Y * z)}
