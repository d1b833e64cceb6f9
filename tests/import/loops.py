"""Loop nests that the importer writes as routines, index notation or sums, and some that it must leave alone. Arguments as in snippets.py."""
import numpy as np


def cholesky_in_place(S):
    S[0, 0] = np.sqrt(S[0, 0])
    for i in range(1, S.shape[0]):
        for j in range(i):
            S[i, j] -= np.dot(S[i, :j], S[j, :j])
            S[i, j] /= S[j, j]
        S[i, i] -= np.dot(S[i, :i], S[i, :i])
        S[i, i] = np.sqrt(S[i, i])


def cholesky_by_columns(S):
    n = S.shape[0]
    L = np.zeros_like(S)
    for j in range(n):
        L[j, j] = np.sqrt(S[j, j] - np.sum(L[j, :j] ** 2))
        for i in range(j + 1, n):
            L[i, j] = (S[i, j] - np.sum(L[i, :j] * L[j, :j])) / L[j, j]
    return L


def cholesky_by_rows(S):
    n = len(S)
    L = np.zeros((n, n))
    for i in range(n):
        for j in range(i + 1):
            if i == j:
                L[i, j] = np.sqrt(S[i, i] - L[i, :j] @ L[i, :j])
            else:
                L[i, j] = (S[i, j] - L[i, :j] @ L[j, :j]) / L[j, j]
    return L


def elimination_by_dots(S):
    A = S.copy()
    n = S.shape[0]
    for i in range(n):
        for j in range(i):
            for k in range(j):
                A[i, j] -= A[i, k] * A[k, j]
            A[i, j] /= A[j, j]
        for j in range(i, n):
            for k in range(i):
                A[i, j] -= A[i, k] * A[k, j]
    return A


def elimination_by_steps(S):
    A = S.copy()
    n = S.shape[0]
    for k in range(n):
        for i in range(k + 1, n):
            A[i, k] = A[i, k] / A[k, k]
            for j in range(k + 1, n):
                A[i, j] -= A[i, k] * A[k, j]
    return A


def triangular_solves(S, x):
    y = np.zeros_like(x)
    for i in range(x.shape[0]):
        y[i] = (x[i] - S[i, :i] @ y[:i]) / S[i, i]
    z = np.zeros_like(x)
    for i in range(len(x) - 1, -1, -1):
        z[i] = (x[i] - np.dot(S[i, i + 1:], z[i + 1:])) / S[i, i]
    return y, z


def shortest_paths(S):
    D = S + 0
    n = D.shape[0]
    for k in range(n):
        for i in range(n):
            for j in range(n):
                D[i, j] = min(D[i, j], D[i, k] + D[k, j])
    return D


def shortest_paths_by_test(S):
    D = np.abs(S)
    n = len(D)
    for k in range(n):
        for i in range(n):
            for j in range(n):
                if D[i, k] + D[k, j] < D[i, j]:
                    D[i, j] = D[i, k] + D[k, j]
    return D


def prefix_sums(x, A):
    r = x.copy()
    for i in range(1, len(r)):
        r[i] += r[i - 1]
    s = 0
    q = np.zeros_like(x)
    for i in range(len(x)):
        s += x[i]
        q[i] = s
    p = np.zeros_like(x)
    p[0] = x[0]
    for i in range(1, x.shape[0]):
        p[i] = p[i - 1] + x[i]
    B = A.copy()
    for i in range(1, B.shape[0]):
        B[i] += B[i - 1]
    return r, q, s, p, B


def symmetric_update(a, b, S, A):
    for i in range(S.shape[0]):
        S[i, :i + 1] *= b
        for k in range(A.shape[0]):
            S[i, :i + 1] += a * A[k, i] * A[k, :i + 1]


def mirrored_rows(S, n):
    m = S.shape[1]
    C = np.eye(m)
    for i in range(m - 1):
        C[i + 1:m, i] = C[i, i + 1:m] = S[:, i] @ S[:, i + 1:m]
    return C


def scaled_rows(A, x):
    R = np.zeros_like(A)
    for i in range(A.shape[0]):
        R[i] = A[i] * A[i, 0] + x / 2
    for j in range(1, A.shape[1]):
        R[:, j] -= 0.5 * A[:, j - 1]
    return R


def gram_by_dots(A):
    n = A.shape[0]
    G = np.zeros((n, n))
    for i in range(n):
        for j in range(i, n):
            G[i, j] = np.dot(A[i], A[j])
    return G


def product_by_rows(A, x):
    y = np.zeros(A.shape[0])
    for i in range(A.shape[0]):
        y[i] = A[i, :] @ x
    return y


def overlapping_rows(A):
    for i in range(1, A.shape[0]):
        A[i] += 0.5 * A[i - 1]


def rows_with_later_reads(A, x):
    r = np.zeros(A.shape[0])
    for i in range(A.shape[0]):
        A[i] *= 2
        r[i] = A[0] @ x
    return r


def loop_variable_read_later(A, x):
    y = np.zeros(A.shape[0])
    for i in range(A.shape[0]):
        y[i] = A[i] @ x
    return y, i
