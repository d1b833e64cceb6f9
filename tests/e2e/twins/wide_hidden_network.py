"""A network with one wide hidden layer, example by example."""
import numpy as np


def twin(a):
    v1, v2 = a.W1.copy(), a.W2.copy()
    for _ in range(a.steps):
        g1, g2 = np.zeros_like(v1), np.zeros_like(v2)
        for x, y in zip(a.X, a.Y):
            hidden = np.maximum(x @ v1, 0)
            error = 1 / (1 + np.exp(-(hidden @ v2))) - y
            g2 += np.outer(hidden, error)
            g1 += np.outer(x, np.where(hidden > 0, v2 @ error, 0))
        v1, v2 = v1 - a.rate / a.n * g1, v2 - a.rate / a.n * g2
    p = np.maximum(a.X @ v1, 0) @ v2
    return {"V1": v1, "V2": v2, "correct": np.mean(p.argmax(1) == a.Y.argmax(1))}
