"""Reads outside of tensors, by the places that the words lead to."""
import numpy as np


def place(word, x, n):
    x = np.asarray(x)
    if word == "periodic":
        return np.mod(x, n)
    if word == "edge":
        return np.clip(x, 0, n - 1)
    if word == "reflect":
        r = np.mod(x, max(2 * n - 2, 1))
        return np.minimum(r, 2 * n - 2 - r) if n > 1 else 0 * x
    r = np.mod(x, 2 * n)
    return np.minimum(r, 2 * n - 1 - r)


def read(a, outside, *positions):
    """The elements at positions that broadcast; `outside`: a word or value per dimension."""
    positions = np.broadcast_arrays(*positions)
    if not a.size:
        return np.zeros(positions[0].shape)
    found = a[tuple(place(o if isinstance(o, str) else "edge", x, n) for o, x, n in zip(outside, positions, a.shape))]
    for o, x, n in reversed(list(zip(outside, positions, a.shape))):
        if not isinstance(o, str):
            found = np.where((x >= 0) & (x < n), found, o)
    return found


def twin(a):
    n, m, U, x, S, far, w = a.n, a.m, a.U, a.x, a.S, a.far, a.w
    i, j, k = np.arange(n)[:, None], np.arange(m)[None, :], np.arange(m)
    out = {}
    for number, word in enumerate(("periodic", "edge", "reflect", "symmetric"), 1):
        near = [read(U, (word, word), i + u, j + v) for u, v in ((-1, 0), (1, 0), (0, -1), (0, 1))]
        out[f"L{number}"] = sum(near) - 4 * U
    out["M1"] = read(U, ("periodic", "edge"), i - 1, j + 2) + U
    out["M2"] = read(U, (7.0, "reflect"), i + 1, j - 3) + read(U, ("symmetric", -1.0), i + 1, j - 3)
    out["M3"] = read(U, (7.0, 9.0), i - 1, j - 1)
    one = lambda word, position: read(x, (word,), position)
    out["F1"] = one("periodic", k - 100) + one("edge", k - 100) + one("reflect", k - 100) + one("symmetric", k + 100)
    out["F2"] = one("periodic", k - far) + one("edge", k + far) + one("reflect", k + far) + one("symmetric", k - far)
    out["F3"] = one("reflect", 3 - k) + one("symmetric", 2 * k - 1) + one("edge", 3 * k - 2)
    out["F4"] = sum(one(word, a.p) for word in ("periodic", "edge", "reflect", "symmetric"))
    out["F5"] = one("reflect", m + 9) + one("edge", -5)
    out["P1"] = np.pad(x, w, mode="edge")
    wide = np.arange(m + 6) - 3
    out["P2"] = sum(one(word, wide) for word in ("reflect", "symmetric", "periodic"))
    out["W1"] = sum(one("reflect", k + u - 2) for u in range(5))
    out["W2"] = np.max([read(U, ("symmetric", "periodic"), i + u, j + v) for u in (-1, 0, 1) for v in (-1, 0, 1)], axis=0)
    out["W3"] = read(U + 1.0, ("edge", "edge"), i - 1, j - 1) * x
    out["C1"] = read(S, ("edge", "edge"), i - 1, j) + read(S, ("reflect", "reflect"), i + 1, j - 2) + S
    out["C2"] = read(S, ("symmetric", "periodic"), i - 2, j + 1) @ x
    out["C3"] = (S * read(U, ("edge", "periodic"), i - 1, j + 1)).sum(axis=1)
    T = U
    for _ in range(a.steps):
        near = read(T, ("reflect",) * 2, i - 1, j) + read(T, ("reflect",) * 2, i + 1, j) + read(T, ("edge",) * 2, i, j - 1)
        T = T + 0.125 * (near + read(T, ("symmetric",) * 2, i, j + 1) - 4 * T)
    out["T"] = T
    R = x.copy()
    for _ in range(a.steps):
        for c in range(m):
            R[c] = 0.5 * (read(R, ("reflect",), c - 1) + read(R, ("periodic",), c + 1))
    out["R"] = R
    return out
