"""A transformer block, head by head."""
import numpy as np


def twin(a):
    y = a.X.copy()
    for h in range(a.heads):
        q, k, v = a.X @ a.Wq[:, h], a.X @ a.Wk[:, h], a.X @ a.Wv[:, h]
        score = q @ k.T / np.sqrt(a.e)
        weight = np.exp(score - score.max(1, keepdims=True))
        y = y + weight / weight.sum(1, keepdims=True) @ v @ a.Wo[h]
    return {"Z": y + np.maximum(y @ a.W1, 0) @ a.W2}
