"""Haldane's model."""
import numpy as np


def twin(a):
    n = int(a.points)
    k = 2 * np.pi * np.arange(n) / n
    x, y = k[:, None], k[None, :]
    hop = 1 + np.exp(-1j * x) + np.exp(-1j * y)
    flux = float(a.mass) + 0.4 * (np.sin(x) - np.sin(y) - np.sin(x - y))
    matrices = np.stack([np.stack([flux + 0j, hop], -1), np.stack([hop.conj(), -flux + 0j], -1)], -2)
    bands, vectors = np.linalg.eigh(matrices)
    lower = vectors[..., 0]
    east = np.sum(lower.conj() * np.roll(lower, -1, axis=0), axis=-1)
    north = np.sum(lower.conj() * np.roll(lower, -1, axis=1), axis=-1)
    around = np.angle(east * np.roll(north, -1, axis=0) * (np.roll(east, -1, axis=1) * north).conj())
    return {"bands": bands, "gap": bands[..., 1].min() - bands[..., 0].max(), "chern": around.sum() / (2 * np.pi)}
