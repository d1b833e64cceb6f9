"""small_loops_numpy.py NAME FOLDER STEPS: the loops of programs/NAME.tdsl as typical NumPy code."""
import json
import sys
import time

import numpy as np

name, folder, steps = sys.argv[1], sys.argv[2], int(sys.argv[3])


def load(what):
    return np.load(f"{folder}/{what}.npy")


def kalman():
    F, H, Y = load("F"), load("H"), load("Y")
    n = len(F)
    x, P, I = np.zeros(n), np.eye(n), np.eye(n)
    for y in Y:
        x = F @ x
        P = F @ P @ F.T + 0.01 * I
        for j, h in enumerate(H):
            g = P @ h
            s = h @ g + 1.0
            x = x + g * ((y[j] - h @ x) / s)
            P -= np.outer(g, g) / s
    return x.sum() + P.sum()


def kalman_solve():
    F, Q = np.array([[1.0, 0.1], [0.0, 1.0]]), np.array([[0.0001, 0.001], [0.001, 0.01]])
    x, P, I = np.zeros(2), np.eye(2), np.eye(2)
    for z in load("Z"):
        x, P = F @ x, F @ P @ F.T + Q
        S = P + 0.25 * I
        K = np.linalg.solve(S, P).T
        x, P = x + K @ (z - x), P - K @ S @ K.T
    return x.sum() + P.sum()


def runge_kutta():
    def f(s):
        return np.array([10.0 * (s[1] - s[0]), s[0] * (28.0 - s[2]) - s[1], s[0] * s[1] - 8.0 / 3.0 * s[2]])
    s, h = np.ones(3), 0.0001
    for _ in range(steps):
        k1 = f(s)
        k2 = f(s + 0.5 * h * k1)
        k3 = f(s + 0.5 * h * k2)
        k4 = f(s + h * k3)
        s = s + h / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + k4)
    return s.sum()


def viterbi():
    A, E = load("A"), load("E")
    v, back = E[0], np.zeros(E.shape, np.int64)
    for k in range(1, len(E)):
        scores = v[:, None] + A
        back[k] = scores.argmax(0)
        v = scores.max(0) + E[k]
    return v.max() + back.sum()


start = time.perf_counter()
answer = {"kalman": kalman, "kalman_solve": kalman_solve, "runge_kutta": runge_kutta, "viterbi": viterbi}[name]()
print(json.dumps({"seconds": time.perf_counter() - start, "answer": float(answer)}))
