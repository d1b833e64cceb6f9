"""kernels_numpy.py CASE REPEATS OUT FILES...: a case of `bench kernels` as typical NumPy users write it; prints the seconds per step."""
import json
import sys
import time

import numpy as np


def sum3(X, Y, Z):
    r = 0.0
    for factor in range(1, REPEATS + 1):
        r = 0.5 * r + np.sum(factor * X * Y * Z)
    return np.array(r)


def aggregates2(X, Y):
    r = 0.0
    for factor in range(1, REPEATS + 1):
        r = 0.5 * r + np.sum(factor * X * Y) / np.sum(factor * X * X)
    return np.array(r)


def aggregates3(X, Y):
    r = 0.0
    for factor in range(1, REPEATS + 1):
        r = 0.5 * r + np.max(factor * X) * np.sum(factor * X * Y) / np.sum(factor * X * X)
    return np.array(r)


def xtxv(X, v):
    r = v
    for _ in range(REPEATS):
        r = X.T @ (X @ r) / X.shape[0]
    return r


def xtwxv(X, v, w):
    r = v
    for _ in range(REPEATS):
        r = X.T @ (w * (X @ r)) / X.shape[0]
    return r


def gradient_descent(X, y):
    r = np.zeros(X.shape[1])
    for _ in range(REPEATS):
        r = r - 0.01 / X.shape[0] * (X.T @ (X @ r - y))
    return r


def newton(X, y):
    r = np.zeros(X.shape[1])
    for _ in range(REPEATS):
        p = 1 / (1 + np.exp(-(X @ r)))
        g = X.T @ (p - y)
        H = X.T @ (X * (p * (1 - p))[:, None])
        r = r - np.linalg.solve(H + np.eye(len(r)), g)
    return r


def softmax(X):
    P = X
    for _ in range(REPEATS):
        E = np.exp(P - P.max(axis=1, keepdims=True))
        P = E / E.sum(axis=1, keepdims=True)
    return P @ np.arange(1.0, X.shape[1] + 1)


def attention(Q, K, V):
    r = Q
    for _ in range(REPEATS):
        S = r @ K.T / np.sqrt(Q.shape[1])
        E = np.exp(S - S.max(axis=1, keepdims=True))
        r = (E / E.sum(axis=1, keepdims=True)) @ V
    return r


def kmeans(X, start):
    r = start
    for _ in range(REPEATS):
        squares = np.sum(r * r, axis=1) - 2 * (X @ r.T)  # X's own term is the same in all columns
        nearest = squares.argmin(axis=1)
        members = np.bincount(nearest, minlength=len(r))
        sums = np.stack([np.bincount(nearest, X[:, j], len(r)) for j in range(X.shape[1])], axis=1)
        r = np.where(members[:, None] > 0, sums / np.maximum(members, 1)[:, None], r)
    return r


def distances(X, Y):
    r = np.zeros(len(X))
    for factor in range(1, REPEATS + 1):
        Z = Y * factor
        D = np.sum(X * X, axis=1)[:, None] - 2 * (X @ Z.T) + np.sum(Z * Z, axis=1)
        r = 0.5 * r + D.min(axis=1)
    return r


def min_plus(A, B):
    C = A
    for _ in range(REPEATS):
        C = np.stack([np.min(row[:, None] + B, axis=0) for row in C])
    return np.sum(C * C, axis=1)


case, REPEATS, out = sys.argv[1], int(sys.argv[2]), sys.argv[3]
operands = [np.load(path) for path in sys.argv[4:]]
np.ones((512, 512)) @ np.ones((512, 512))
start = time.perf_counter()
result = globals()[case](*operands)
seconds = (time.perf_counter() - start) / REPEATS
np.ascontiguousarray(result).tofile(out)
print(json.dumps({"seconds": seconds}))
