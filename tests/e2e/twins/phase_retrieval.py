"""Wirtinger flow with the gradient written out: 2 dL / d conj(z)."""
import numpy as np


def twin(a):
    z, m = a.start.copy(), len(a.b)
    for _ in range(int(a.steps)):
        y = a.A @ z
        z = z - a.rate * (a.A.conj().T @ ((np.abs(y) ** 2 - a.b) * y)) / m
    return {"z": z, "loss": np.mean((np.abs(a.A @ z) ** 2 - a.b) ** 2), "norm_of_z": np.linalg.norm(z)}
