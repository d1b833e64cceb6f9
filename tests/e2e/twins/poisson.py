"""Poisson's equation with the dense matrix of the five-point stencil."""
import numpy as np


def second_difference(n):
    return 2 * np.eye(n) - np.eye(n, k=1) - np.eye(n, k=-1)


def twin(a):
    n, m = a.b.shape
    matrix = np.kron(second_difference(n), np.eye(m)) + np.kron(np.eye(n), second_difference(m))
    return {"u": np.linalg.solve(matrix, a.b.ravel()).reshape(n, m)}
