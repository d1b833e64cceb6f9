"""The functions of std.linalg by NumPy."""
import numpy as np


def twin(t):
    u, v, A, B, S, Y = t.u, t.v, t.A, t.B, t.S, t.Y
    w = np.outer(u, v)
    return {
        "o_dot": u @ v, "o_p1": np.abs(u).sum(), "o_p3": (np.abs(u) ** 3).sum() ** (1 / 3), "o_pinf": np.abs(u).max(),
        "o_one": np.linalg.norm(A, 1), "o_infinity": np.linalg.norm(A, np.inf), "o_normalised": u / np.linalg.norm(u),
        "o_cross": np.cross(t.a, t.b), "o_projection": v * (u @ v) / (v @ v), "o_sum": np.add.outer(u, v),
        "o_difference": np.subtract.outer(u, t.a), "o_kronecker": np.kron(A, B),
        "o_distances": np.sqrt(((A[:, None] - Y[None]) ** 2).sum(axis=2)), "o_gram": A.T @ A, "o_form": u @ S @ u,
        "o_trace": np.trace(A @ A.T), "o_symmetric": (w + w.T) / 2, "o_skew": (w - w.T) / 2,
        "o_checks": np.array([1, 0] * 5), "o_reflection": np.eye(len(u)) - 2 * np.outer(u, u) / (u @ u),
        "o_inverse": np.linalg.pinv(A), "o_rank": np.array([np.linalg.matrix_rank(A), np.linalg.matrix_rank(S)]), "o_cond": np.linalg.cond(A),
        "o_det": np.array(np.linalg.slogdet(S - 0.75 * np.trace(S) * np.eye(len(u)))),
        "o_vandermonde": np.vander(u, 4, increasing=True), "o_power0": np.eye(len(u)),
        "o_power5": np.linalg.matrix_power(S, 5), "o_residual": np.bool_(True),
    }
