"""Functions of scalars, called element by element."""
import numpy as np


def newton(a, rounds=12):
    s = a if a > 1.0 else 1.0
    for _ in range(rounds):
        s = 0.5 * (s + a / s)
    return s


def collatz(a):
    steps = 0
    while a > 1:
        a = a // 2 if a % 2 == 0 else 3 * a + 1
        steps += 1
    return steps


def place(values, v):
    for j, value in enumerate(values):
        if not value < v:
            return j
    return len(values)


def orbit(a, b):
    p = q = 0.0
    n = 0
    while p * p + q * q < 4.0 and n < 20:
        p, q = p * p - q * q + a, 2.0 * p * q + b
        n += 1
    return n


def each(f, values):
    return np.array([f(v) for v in values.ravel()]).reshape(values.shape)


def twin(a):
    B = np.abs(a.A) + 0.5
    table = np.cumsum(np.abs(a.t))
    C = np.array([collatz(int(v) + 1) for v in a.k])
    M = np.array([[orbit(u, v) for v in a.t] for u in a.x])
    return {
        "R": each(newton, B),
        "C": C,
        "P": np.array([place(table, v) for v in a.x]),
        "M": M,
        "r": sum(newton(v * v + 1.0) for v in a.x),
        "best": M.max(axis=1),
        "G": np.array([newton(v) if v > 0.0 else -1.0 for v in a.x]),
        "H": np.array([newton(v) if v > 0.0 else 0.0 for v in a.x]),
        "D": 0.5 / np.sqrt(B),
        "big": 2.0 * each(newton, np.maximum(a.x, 1.0)) + 1.0,
        "rows": (a.A * a.A).sum(axis=1),
        "odd": C % 2 == 1,
    }
