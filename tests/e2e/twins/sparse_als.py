"""Alternating least squares on the weighted entries of a matrix: conjugate gradients on the systems of all rows of a factor at once."""
import numpy as np


def improved(X, W, U, V, penalty, inner):
    known = W.sum(1)
    systems = np.einsum("ib,bc,bd->icd", W, V, V) + penalty * known[:, None, None] * np.eye(U.shape[1])
    R = (W * X) @ V - np.einsum("icd,id->ic", systems, U)
    S, least = R, 1e-9 * (R * R).sum()
    for _ in range(inner):
        square = (R * R).sum()
        if square <= least:
            break
        H = np.einsum("icd,id->ic", systems, S)
        alpha = square / (S * H).sum()
        U = U + alpha * S
        R = R - alpha * H
        S = R + (R * R).sum() / square * S
    return U


def twin(a):
    penalty = getattr(a, "lambda")

    def loss(U, V):
        lengths = a.W.sum(1) @ (U * U).sum(1) + a.W.sum(0) @ (V * V).sum(1)
        return (a.W * (a.X - U @ V.T) ** 2).sum() + penalty * lengths

    U, V = a.U0, a.V0
    steps, before, gain = 0, loss(a.U0, a.V0), np.inf
    while gain > a.tolerance * before and steps < a.max_steps:
        U = improved(a.X, a.W, U, V, penalty, a.inner)
        V = improved(a.X.T, a.W.T, V, U, penalty, a.inner)
        now = loss(U, V)
        before, gain, steps = now, before - now, steps + 1
    return {"U": U, "V": V, "loss": before, "steps": steps}
