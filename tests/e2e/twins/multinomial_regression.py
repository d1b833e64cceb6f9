"""Multinomial logistic regression by a trust region method with Steihaug's conjugate gradients and an explicit Hessian."""
import numpy as np


def twin(a):
    penalty, size = getattr(a, "lambda"), a.d * a.k

    def probabilities(b):
        e = np.exp(a.X @ b.reshape(a.d, a.k))
        return e / e.sum(1, keepdims=True)

    def loss(b):
        return -np.log((probabilities(b) * a.Y).sum(1)).sum() + 0.5 * penalty * b @ b

    def gradient(b):
        return (a.X.T @ (probabilities(b) - a.Y)).ravel() + penalty * b

    def hessian(b):
        p = probabilities(b)
        blocks = np.einsum("ic,ce->ice", p, np.eye(a.k)) - np.einsum("ic,ie->ice", p, p)
        return np.einsum("ij,ice,il->jcle", a.X, blocks, a.X).reshape(size, size) + penalty * np.eye(size)

    def step(g, H, radius):
        s, r, v = np.zeros(size), -g, -g
        for _ in range(a.max_inner):
            if np.linalg.norm(r) <= 0.1 * np.linalg.norm(g):
                break
            whole = r @ r / (v @ H @ v)
            if np.linalg.norm(s + whole * v) > radius:
                roots = np.roots([v @ v, 2 * s @ v, s @ s - radius ** 2])
                return s + roots.real.max() * v, False
            s, old = s + whole * v, r
            r = r - whole * (H @ v)
            v = r + (r @ r) / (old @ old) * v
        return s, True

    b, steps = np.zeros(size), 0
    radius = 0.5 * np.sqrt(a.d) / np.linalg.norm(a.X, axis=1).max()
    first = np.linalg.norm(gradient(b))
    while np.linalg.norm(gradient(b)) > a.tolerance * first and steps < a.max_steps:
        g, H = gradient(b), hessian(b)
        s, inside = step(g, H, radius)
        ratio = (loss(b) - loss(b + s)) / -(g @ s + 0.5 * s @ H @ s)
        if ratio < 0.25:
            radius = 0.25 * np.linalg.norm(s)
        elif ratio > 0.75 and not inside:
            radius *= 2
        if ratio > 1e-4:
            b = b + s
        steps += 1
    return {"B": b.reshape(a.d, a.k), "loss": loss(b), "steps": steps}
