"""Matrix chains, multiplied from the right (the best order for the given sizes)."""


def twin(a):
    return {"P": a.A @ ((a.B @ a.C) @ a.D), "Q": a.A @ a.B + a.C @ a.D, "w": a.A @ (a.B @ (a.C @ (a.D @ a.v)))}
