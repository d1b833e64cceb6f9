"""Causal attention, head by head and position by position."""
import numpy as np


def twin(a):
    p, o = np.zeros((a.heads, a.n, a.n)), np.zeros((a.heads, a.n, a.e))
    for h in range(a.heads):
        for i in range(a.n):
            score = a.K[h, :i + 1] @ a.Q[h, i] / np.sqrt(a.d)
            weight = np.exp(score - score.max())
            p[h, i, :i + 1] = weight / weight.sum()
            o[h, i] = p[h, i] @ a.V[h]
    return {"P": p, "O": o}
