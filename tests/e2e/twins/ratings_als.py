"""Conjugate gradients per row on dense matrices; after as many steps as unknowns they give what `solve` does."""
import numpy as np


def improved(R, U, V, level, penalty):
    mask = R != 0
    weight = penalty * mask.sum(axis=1)
    X, G = U, np.where(mask, R - level - U @ V.T, 0.0) @ V - weight[:, None] * U
    S, gg = G, (G * G).sum(axis=1)
    for _ in range(U.shape[1]):
        Q = np.where(mask, S @ V.T, 0.0) @ V + weight[:, None] * S
        curved = (S * Q).sum(axis=1)
        alpha = np.divide(gg, curved, out=np.zeros_like(gg), where=curved > 1e-30)
        X, G = X + alpha[:, None] * S, G - alpha[:, None] * Q
        now = (G * G).sum(axis=1)
        S, gg = G + np.divide(now, gg, out=np.zeros_like(gg), where=gg > 1e-30)[:, None] * S, now
    for i in np.flatnonzero(mask.any(axis=1)):
        W = V[mask[i]]
        exact = np.linalg.solve(W.T @ W + weight[i] * np.eye(U.shape[1]), W.T @ (R[i, mask[i]] - level))
        assert np.allclose(X[i], exact, rtol=1e-6, atol=1e-9)
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
        U = improved(R, U, V, level, penalty)
        V = improved(R.T, V, U, level, penalty)
    missed = (a.rating - level - (U[a.user] * V[a.movie]).sum(axis=1)) ** 2
    root = lambda errors, of: np.sqrt(errors[of].sum() / max(of.sum(), 1))
    result = {"known": (R != 0).sum(), "fitted": root(missed, ~held), "predicted": root(missed, held), "by_level": root((a.rating - level) ** 2, held)}
    if n == 720:
        assert result["predicted"] < result["by_level"]
    return result | {"U": U, "V": V}
