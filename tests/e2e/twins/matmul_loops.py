"""The product of two matrices by NumPy's operator."""


def twin(a):
    return {"C": a.A @ a.B}
