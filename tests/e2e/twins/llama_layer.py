"""Decoder layers of LLaMA; the pairs of a head's features are complex numbers."""
import numpy as np


def normed(x, g):
    return x / np.sqrt((x * x).mean(1, keepdims=True) + 1e-5) * g


def attended(x, wq, wk, wv, wo):
    """One head: position i attends to positions up to i."""
    n, e = len(x), wq.shape[-1]
    turn = np.exp(1j * np.arange(n)[:, None] * 10000.0 ** (-np.arange(e) / e))
    q, k = ((x @ w[:, 0] + 1j * (x @ w[:, 1])) * turn for w in (wq, wk))
    score = (q @ k.conj().T).real / np.sqrt(2 * e)
    score[np.triu_indices(n, 1)] = -np.inf
    weight = np.exp(score - score.max(1, keepdims=True))
    weight /= weight.sum(1, keepdims=True)
    return sum(weight @ (x @ wv[:, z]) @ wo[z] for z in (0, 1))


def twin(a):
    y = a.X
    for layer in range(a.layers):
        x = normed(y, a.G1[layer])
        y = y + sum(attended(x, a.Wq[layer][:, h], a.Wk[layer][:, h], a.Wv[layer][:, h], a.Wo[layer][h]) for h in range(a.heads))
        x = normed(y, a.G2[layer])
        gate = x @ a.W1[layer]
        y = y + (gate / (1 + np.exp(-gate)) * (x @ a.W3[layer])) @ a.W2[layer]
    return {"Z": y}
