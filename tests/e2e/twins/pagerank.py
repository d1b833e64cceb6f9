"""PageRank by powers of the full transition matrix."""
import numpy as np


def twin(a):
    links = a.A.sum(1, keepdims=True)
    step = np.where(links > 0, a.A / np.where(links > 0, links, 1), 1 / a.n)
    r = np.full(a.n, 1 / a.n)
    for _ in range(a.steps):
        r = (1 - a.damping) / a.n + a.damping * (r @ step)
    return {"r": r, "best": r.max()}
