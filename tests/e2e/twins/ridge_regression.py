"""Ridge regression."""
import numpy as np


def twin(a):
    w = np.linalg.solve(a.X.T @ a.X + getattr(a, "lambda") * np.eye(a.d), a.X.T @ a.y)
    return {"w": w, "residual": np.sqrt(np.mean((a.y - a.X @ w) ** 2))}
