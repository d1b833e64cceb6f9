"""Principal components by the singular value decomposition of the centred data."""
import numpy as np


def twin(a):
    y = a.X - a.X.mean(0)
    _, s, vt = np.linalg.svd(y, full_matrices=False)
    v = vt.T * np.sign(vt.T[np.abs(vt.T).argmax(0), range(a.d)])
    return {"scores": y @ v[:, :a.keep], "explained": (s ** 2 / np.sum(s ** 2))[:a.keep]}
