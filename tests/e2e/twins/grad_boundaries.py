"""Derivatives by matrices: a read is a row with a one at the place that it reads."""
import numpy as np

from twins.boundaries import place


def twin(a):
    n, m, U, x = a.n, a.m, a.U, a.x

    def reads(size, word, positions):
        matrix = np.zeros((len(positions), size))
        matrix[np.arange(len(positions)), place(word, positions, size)] = 1
        return matrix

    i, j = np.arange(n), np.arange(m)

    def both(first, u, second, v):
        """All reads of U at [i + u, j + v], as a matrix on its elements."""
        rows = reads(n, first, i + u) if isinstance(first, str) else np.eye(n, n, u)
        columns = reads(m, second, j + v)
        return np.kron(rows, columns)

    def of(*terms, constant=0.0):
        M = sum(c * t for c, t in terms)
        return (2 * M.T @ (M @ U.ravel() + constant)).reshape(n, m)

    one = np.eye(n * m)
    out = {"a": of((1, both("periodic", -1, "periodic", 0)), (2, both("periodic", 1, "periodic", 1)), (-1, one)),
           "b": of((1, both("edge", -1, "edge", 0)), (2, both("edge", 1, "edge", 0)), (-3, both("edge", -2, "edge", 2)), (1, one)),
           "c": of((1, both("reflect", -1, "reflect", 0)), (2, both("reflect", 1, "reflect", 0)), (-3, both("reflect", 0, "reflect", -2)), (1, one))}
    outside = np.zeros((n, m))
    outside[0] = -3 * 0.5
    out["d"] = of((1, both("symmetric", -1, "symmetric", 0)), (2, both("symmetric", 3, "symmetric", 0)), (-3, both(0.5, -1, "symmetric", -2)), (1, one),
                  constant=outside.ravel())
    P, linear = reads(m, "reflect", a.p), sum(reads(m, word, positions) for word, positions in
                                              (("edge", j - a.w), ("symmetric", 2 * j - 3), ("periodic", j - a.w)))
    E = (P @ x) * x + linear @ x
    out["e"] = 2 * (P.T @ (E * x) + E * (P @ x) + linear.T @ E)
    windows = [reads(m, "reflect", j + u - 1) for u in range(3)]
    F = sum((M @ x) ** 2 for M in windows)
    out["f"] = sum(M.T @ (4 * F * (M @ x)) for M in windows)
    wide = np.arange(m + 3)
    Q, S = reads(m, "edge", wide - 2), reads(m, "reflect", wide - 1)
    G = (Q @ x) * (S @ x)
    out["g"] = 2 * (Q.T @ (G * (S @ x)) + S.T @ (G * (Q @ x)))
    back, ahead, values = reads(m, "periodic", j - 1), reads(m, "reflect", j + 1), [x]
    for _ in range(3):
        T = values[-1]
        values.append(T + 0.25 * ((back @ T) * (ahead @ T) - T))
    adjoint = 2 * values[-1]
    for T in reversed(values[:-1]):
        adjoint = 0.75 * adjoint + 0.25 * (back.T @ (adjoint * (ahead @ T)) + ahead.T @ (adjoint * (back @ T)))
    out["h"] = adjoint
    return out
