"""Logistic regression by L-BFGS with its pairs in a list, oldest first, and a backtracking line search with halved steps."""
import numpy as np


def twin(a):
    penalty = getattr(a, "lambda")

    def loss(w):
        z = a.X @ w
        return np.sum(np.logaddexp(0, z) - z * a.y) + 0.5 * penalty * (w @ w)

    def gradient(w):
        return a.X.T @ (1 / (1 + np.exp(-a.X @ w)) - a.y) + penalty * w

    w, pairs = np.zeros(a.d), []
    g = gradient(w)
    for _ in range(a.steps):
        q, alphas = g.copy(), []
        for s, y in reversed(pairs):
            alphas.append(s @ q / (s @ y))
            q = q - alphas[-1] * y
        q = q * (pairs[-1][0] @ pairs[-1][1] / (pairs[-1][1] @ pairs[-1][1]) if pairs else 4 / a.n)
        for (s, y), alpha in zip(pairs, reversed(alphas)):
            q = q + (alpha - y @ q / (s @ y)) * s
        following = min((w - 2.0 ** (1 - k) * q for k in range(a.lengths)), key=loss)
        h = gradient(following)
        pairs = (pairs + [(following - w, h - g)])[-a.pairs:]
        w, g = following, h
    return {"w": w, "f": loss(w)}
