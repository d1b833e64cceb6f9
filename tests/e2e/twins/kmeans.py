"""Lloyd's algorithm."""
import numpy as np


def twin(a):
    centres = a.start.copy()
    for _ in range(a.steps):
        nearest = ((a.X[:, None] - centres[None]) ** 2).sum(2).argmin(1)
        for c in range(a.k):
            if (nearest == c).any():
                centres[c] = a.X[nearest == c].mean(0)
    return {"C": centres, "nearest": nearest, "spread": ((a.X[:, None] - centres[None]) ** 2).sum(2).min(1).sum()}
