"""Power iteration with the whole matrix."""
import numpy as np


def twin(a):
    centred = a.X - a.X.mean(axis=0)
    S = centred.T @ centred / a.m
    v = np.ones(a.n) / np.sqrt(a.n)
    for _ in range(a.steps):
        w = S @ v
        v = w / max(np.linalg.norm(w), 1e-300)
    return {"S": S[np.tril_indices(a.n)], "v": v, "largest": v @ (S @ v), "variances": np.diag(S)}
