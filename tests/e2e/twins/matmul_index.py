"""The product of two matrices, row by row."""
import numpy as np


def twin(a):
    n, k = a.A.shape[0], a.B.shape[1]
    rows = [sum((a.A[i, j] * a.B[j] for j in range(a.B.shape[0])), np.zeros(k)) for i in range(n)]
    return {"C": np.array(rows).reshape(n, k)}
