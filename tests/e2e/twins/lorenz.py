"""The Lorenz system by the classical method of Runge and Kutta."""
import numpy as np


def flow(y):
    x, y, z = y.T
    return np.stack([10.0 * (y - x), x * (28.0 - z) - y, x * y - 8.0 / 3.0 * z], axis=-1)


def step(y, h):
    a = flow(y)
    b = flow(y + h / 2 * a)
    c = flow(y + h / 2 * b)
    return y + h / 6 * (a + 2 * b + 2 * c + flow(y + h * c))


def twin(a):
    y = a.start
    for _ in range(20000):
        y = step(y, 1.0 / 20000)
    path = [a.start[0]]
    for _ in range(50):
        path.append(step(path[-1], 0.01))
    return {"state": np.round(y, 6), "path": np.array(path)}
