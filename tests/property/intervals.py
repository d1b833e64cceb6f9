"""Interval arithmetic for operators, so that generated programs do not overflow."""
import math


def _times(a, b):
    return 0.0 if a == 0 or b == 0 else a * b


def negate(a):
    return -a[1], -a[0]


def add(a, b):
    return a[0] + b[0], a[1] + b[1]


def subtract(a, b):
    return a[0] - b[1], a[1] - b[0]


def multiply(a, b):
    ends = [_times(x, y) for x in a for y in b]
    return min(ends), max(ends)


def minimum(a, b):
    return min(a[0], b[0]), min(a[1], b[1])


def maximum(a, b):
    return max(a[0], b[0]), max(a[1], b[1])


def union(a, b):
    return min(a[0], b[0]), max(a[1], b[1])


def absolute(a):
    largest = max(abs(a[0]), abs(a[1]))
    return (0 if a[0] <= 0 <= a[1] else min(abs(a[0]), abs(a[1]))), largest


def symmetric(a):
    largest = max(abs(a[0]), abs(a[1]))
    return -largest, largest


def of_sum(a, count):
    """A sum of at most `count` terms."""
    return min(0, _times(a[0], count)), max(0, _times(a[1], count))


def monotone(f):
    return lambda a: (f(a[0]), f(a[1]))


def constant(low, high):
    return lambda a: (low, high)


def whole(f):
    return lambda a: (f(a[0]) if math.isfinite(a[0]) else a[0], f(a[1]) if math.isfinite(a[1]) else a[1])
