"""NumPy functions for the tests of `tdsl.jit`, and arguments of repeated calls."""
import numpy as np

FACTOR = 0.25


def smooth(A, steps):
    for t in range(steps):
        A[1:-1, 1:-1] = FACTOR * (A[:-2, 1:-1] + A[2:, 1:-1] + A[1:-1, :-2] + A[1:-1, 2:])
    return A.sum()


def product(A, B):
    return A @ B, np.sqrt(A).sum()


def scaled(x, a=2.0):
    assert a > 0.0, "a is positive"
    return a * x


def turned(x):
    x = np.unwrap(x)
    return np.angle(x)


def varied(arguments):
    """The arguments of four calls of one layout, the last ones with smaller elements: programs record the first calls and repeat the others."""
    for factor in (1.0, 1.0, 0.9375, 0.875):
        yield {name: value * value.dtype.type(factor) if isinstance(value, np.ndarray) and value.dtype.kind in "fc" else value for name, value in arguments.items()}


def outer():
    def inner(x):
        return x + 1.0

    return inner
