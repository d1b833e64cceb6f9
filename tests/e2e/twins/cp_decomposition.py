"""CP decomposition by alternating least squares."""
import numpy as np


def twin(a):
    f = [a.A0, a.B0, a.C0]
    for _ in range(a.steps):
        for k, spec in enumerate(("ijk,jr,kr->ir", "ijk,ir,kr->jr", "ijk,ir,jr->kr")):
            p, q = [f[m] for m in range(3) if m != k]
            gram = (p.T @ p) * (q.T @ q) + getattr(a, "lambda") * np.eye(a.r)
            f[k] = np.linalg.solve(gram, np.einsum(spec, a.X, p, q).T).T
    return {"A": f[0], "B": f[1], "C": f[2], "error": np.linalg.norm(a.X - np.einsum("ir,jr,kr->ijk", *f))}
