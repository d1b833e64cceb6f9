"""A wave on a staggered grid."""
import numpy as np


def twin(a):
    p = a.start.copy()
    u, v = np.zeros((a.n + 1, a.m)), np.zeros((a.n, a.m + 1))
    for _ in range(a.steps):
        u[1:-1] -= a.courant * (p[1:] - p[:-1])
        v[:, 1:-1] -= a.courant * (p[:, 1:] - p[:, :-1])
        p -= a.courant * (u[1:] - u[:-1] + v[:, 1:] - v[:, :-1])
    return {"p": p, "momentum": np.abs(u).sum() + np.abs(v).sum()}
