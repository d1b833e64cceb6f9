"""Probit regression by Fisher scoring with conjugate gradients; the normal distribution by math.erfc."""
import math

import numpy as np


def twin(a):
    penalty = getattr(a, "lambda")
    tail = np.vectorize(lambda x: 0.5 * math.erfc(x / math.sqrt(2)), otypes=[float])  # upper tail of the normal distribution

    def density(x):
        return np.exp(-0.5 * x * x) / math.sqrt(2 * math.pi)

    def loss(w):
        z = a.X @ w
        return -np.log(np.where(a.y > 0, tail(-z), tail(z))).sum() + 0.5 * penalty * w @ w

    w, steps, gain = np.zeros(a.d), 0, np.inf
    while gain > a.tolerance * loss(w) and steps < a.max_steps:
        z = a.X @ w
        spread = tail(z) * tail(-z)
        F = a.X.T @ np.diag(density(z) ** 2 / spread) @ a.X + penalty * np.eye(a.d)
        r = a.X.T @ ((a.y - tail(-z)) * density(z) / spread) - penalty * w
        s, v, first = np.zeros(a.d), r, r @ r
        for _ in range(a.max_inner):
            if r @ r <= 1e-2 * first:
                break
            alpha = r @ r / (v @ F @ v)
            s, old = s + alpha * v, r
            r = r - alpha * (F @ v)
            v = r + r @ r / (old @ old) * v
        length = 1.0
        while loss(w + length * s) > loss(w) and length > 1e-6:
            length /= 2
        gain = loss(w) - loss(w + length * s)
        w = w + length * s
        steps += 1
    return {"w": w, "loss": loss(w), "steps": steps}
