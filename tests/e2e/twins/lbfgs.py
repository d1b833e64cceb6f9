"""L-BFGS with its pairs in a list, oldest first."""
import numpy as np


def twin(a):
    def gradient(x):
        d = np.diff(x)
        return a.a * (np.sinh(x) - 0.5) + np.append(0, d) - np.append(d, 0)

    x, g, pairs = a.start.copy(), gradient(a.start), []
    for _ in range(a.steps):
        q, alphas = g.copy(), []
        for s, y, rho in reversed(pairs):
            alphas.append(rho * (s @ q))
            q = q - alphas[-1] * y
        q = q * (1 / (pairs[-1][2] * (pairs[-1][1] @ pairs[-1][1])) if pairs else 0.1)
        for (s, y, rho), alpha in zip(pairs, reversed(alphas)):
            q = q + (alpha - rho * (y @ q)) * s
        following = x - q
        h = gradient(following)
        s, y = following - x, h - g
        pairs = (pairs + [(s, y, 1 / (s @ y) if s @ y > 0 else 0.0)])[-a.pairs:]
        x, g = following, h
    f = np.sum(a.a * (np.cosh(x) - 0.5 * x)) + 0.5 * np.sum(np.diff(x) ** 2)
    return {"x": x, "f": f}
