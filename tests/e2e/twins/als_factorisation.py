"""Alternating conjugate gradients on the known entries of a matrix; the Hessian is applied row by row of a factor."""
import numpy as np


def improved(X, W, U, V, penalty, inner):
    known = W.sum(1)
    blocks = np.einsum("ib,bc,bd->icd", W, V, V) + penalty * known[:, None, None] * np.eye(U.shape[1])
    R = np.einsum("ib,ib,bc->ic", W, X, V) - np.einsum("icd,id->ic", blocks, U)
    S, least = R, 1e-9 * np.vdot(R, R)
    for _ in range(inner):
        if np.vdot(R, R) <= least:
            break
        H = np.einsum("icd,id->ic", blocks, S)
        alpha = np.vdot(R, R) / np.vdot(S, H)
        U, old = U + alpha * S, R
        R = R - alpha * H
        S = R + np.vdot(R, R) / np.vdot(old, old) * S
    return U


def twin(a):
    penalty = getattr(a, "lambda")

    def loss(U, V):
        lengths = a.W.sum(1) @ (U * U).sum(1) + a.W.sum(0) @ (V * V).sum(1)
        return (a.W * (a.X - U @ V.T) ** 2).sum() + penalty * lengths

    U, V = a.U0, a.V0
    steps, gain = 0, np.inf
    while gain > a.tolerance * loss(U, V) and steps < a.max_steps:
        before = loss(U, V)
        U = improved(a.X, a.W, U, V, penalty, a.inner)
        V = improved(a.X.T, a.W.T, V, U, penalty, a.inner)
        gain = before - loss(U, V)
        steps += 1
    return {"U": U, "V": V, "loss": loss(U, V), "steps": steps}
