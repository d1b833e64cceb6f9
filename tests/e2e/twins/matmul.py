"""The product of two matrices, without a product operator."""
import numpy as np


def twin(a):
    return {"C": np.einsum("ij,jk->ik", a.A, a.B)}
