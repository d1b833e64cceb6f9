"""Matrix chains, from the right (as parenthesised by a person who knows the sizes)."""


def twin(a):
    return {"P": a.A @ ((a.B @ a.C) @ a.D), "Q": a.A @ a.B + a.C @ a.D, "w": a.A @ (a.B @ (a.C @ (a.D @ a.v)))}
