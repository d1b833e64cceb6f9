"""Conjugate gradients on dense matrices, with a mask of the known entries."""
import numpy as np


def improved(R, U, V, level, penalty, inner):
    mask = R != 0
    weight = penalty * mask.sum(axis=1)[:, None]
    X, G = U, np.where(mask, R - level - U @ V.T, 0.0) @ V - weight * U
    S, gg = G, np.vdot(G, G)
    enough = 1e-12 * gg + 1e-20
    for _ in range(inner):
        if gg <= enough:
            break
        Q = np.where(mask, S @ V.T, 0.0) @ V + weight * S
        alpha = gg / np.vdot(S, Q)
        X, G, old = X + alpha * S, G - alpha * Q, gg
        gg = np.vdot(G, G)
        S = G + gg / old * S
    return X


def twin(a):
    penalty = getattr(a, "lambda")
    n, users, movies = len(a.user), a.user.max(initial=-1) + 1, a.movie.max(initial=-1) + 1
    held = np.arange(n) % 5 == 4
    R = np.zeros((users, movies))
    R[a.user[~held], a.movie[~held]] = a.rating[~held]
    level = R.sum() / max((R != 0).sum(), 1)
    U, V = np.zeros((users, a.rank)), 0.5 * np.cos((np.arange(movies)[:, None] + 1.0) * (np.arange(a.rank) + 2))
    for _ in range(a.rounds):
        U = improved(R, U, V, level, penalty, a.inner)
        V = improved(R.T, V, U, level, penalty, a.inner)
    missed = (a.rating - level - (U[a.user] * V[a.movie]).sum(axis=1)) ** 2
    root = lambda errors, of: np.sqrt(errors[of].sum() / max(of.sum(), 1))
    result = {"known": (R != 0).sum(), "fitted": root(missed, ~held), "predicted": root(missed, held), "by_level": root((a.rating - level) ** 2, held)}
    if n == 720:
        assert result["predicted"] < result["by_level"]
    return result | {"U": U, "V": V}
