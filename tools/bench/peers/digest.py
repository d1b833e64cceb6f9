"""Digest for comparing large results: the product of each row with fixed nonzero numbers."""
import numpy as np


def digest(arrays):
    parts = []
    for array in arrays:
        rows = np.asarray(array, dtype=np.float64).reshape(np.shape(array)[0] if np.ndim(array) else 1, -1)
        parts.append(rows @ (2 + np.cos(np.arange(rows.shape[1]))))
    return np.concatenate(parts)
