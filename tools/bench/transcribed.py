"""Programs transcribed from NumPy: source, inputs (a small and a large set), and NumPy reference."""
import numpy as np

RANDOM = np.random.default_rng(1)
# : name: (source, inputs by size (0 small, 1 large), NumPy reference)
PROGRAMS = {}


def add(name, source, inputs, computed):
    PROGRAMS[name] = (source, inputs, computed)


def matrix(n, m=None):
    return RANDOM.random((n, m or n))


add("jacobi_slices", """
input U: f64[n, n];
var V = U;
for t in 0..20 {
  V[1:-1, 1:-1] = 0.25 * (V[:-2, 1:-1] + V[2:, 1:-1] + V[1:-1, :-2] + V[1:-1, 2:]);
}
output o = V;
""",
    lambda s: {'U': matrix([9, 1500][s])},
    lambda U: (lambda V: [V.__setitem__((slice(1, -1), slice(1, -1)), 0.25 * (V[:-2, 1:-1] + V[2:, 1:-1] + V[1:-1, :-2] + V[1:-1, 2:])) for t in range(20)] and V)(U.copy()))


def redblack(x):
    x = x.copy()
    for t in range(20):
        x[1:-1:2] = 0.5 * (x[:-2:2] + x[2::2])
        x[2:-1:2] = 0.5 * (x[1:-2:2] + x[3::2])
    return x


add("red_black", """
input x: f64[n];
var y = x;
for t in 0..20 {
  y[1:-1:2] = 0.5 * (y[:-2:2] + y[2::2]);
  y[2:-1:2] = 0.5 * (y[1:-2:2] + y[3::2]);
}
output o = y;
""",
    lambda s: {'x': RANDOM.random([12, 2000000][s])},
    redblack)


def iir(x):
    y = np.zeros_like(x)
    y[0] = x[0]
    for i in range(1, len(x)):
        y[i] = 0.9 * y[i - 1] + 0.1 * x[i]
    return y


add("iir", """
input x: f64[n];
var y = zeros(n);
y[0] = x[0];
for i in 1..n {
  y[i] = 0.9 * y[i-1] + 0.1 * x[i];
}
output o = y;
""",
    lambda s: {'x': RANDOM.random([12, 300000][s])},
    iir)


def floyd(D):
    D = D.copy()
    for k in range(len(D)):
        D = np.minimum(D, D[:, k:k + 1] + D[k:k + 1, :])
    return D


add("floyd", """
input D: f64[n, n];
var E = D;
for k in 0..n {
  E = min(E, E[:, k:k+1] + E[k:k+1, :]);
}
output o = E;
""",
    lambda s: {'D': matrix([9, 400][s])},
    floyd)
add("pool_reshape", """
input X: f64[n, m];
output o = max(reshape(X, n/2, 2, m/2, 2), axis=(1, 3));
""",
    lambda s: {'X': matrix([8, 3000][s])},
    lambda X: X.reshape(X.shape[0] // 2, 2, X.shape[1] // 2, 2).max(axis=(1, 3)))
add("mean_pool_slices", """
input X: f64[n, m];
output o = 0.25 * (X[::2, ::2] + X[1::2, ::2] + X[::2, 1::2] + X[1::2, 1::2]);
""",
    lambda s: {'X': matrix([8, 3000][s])},
    lambda X: 0.25 * (X[::2, ::2] + X[1::2, ::2] + X[::2, 1::2] + X[1::2, 1::2]))
add("transposed_sum", """
input A: f64[n, m];
input B: f64[m, n];
output o = A' + B;
""",
    lambda s: {'A': matrix(*[(8, 6), (3000, 2500)][s]), 'B': matrix(*[(6, 8), (2500, 3000)][s])},
    lambda A, B: A.T + B)
add("symmetrise", """
input A: f64[n, n];
output o = (A + A') / 2.0;
""",
    lambda s: {'A': matrix([8, 3000][s])},
    lambda A: (A + A.T) / 2)
add("tri_guard", """
input L: f64[n, n];
input x: f64[n];
let y[i] = sum[j where j <= i](L[i, j] * x[j]);
output y;
""",
    lambda s: {'L': matrix([8, 4000][s]), 'x': RANDOM.random([8, 4000][s])},
    lambda L, x: np.tril(L) @ x)
add("tri_mask", """
input A: f64[n, n];
let i = iota(n);
let M = reshape(i, n, 1) >= reshape(i, 1, n);
output o = sum(where(M, A, 0.0), axis=1);
""",
    lambda s: {'A': matrix([8, 3000][s])},
    lambda A: np.where(np.arange(len(A))[:, None] >= np.arange(len(A))[None], A, 0.0).sum(1))
add("outer_wide", """
input u: f64[n];
input v: f64[m];
output o = outer(u, v);
""",
    lambda s: {'u': RANDOM.random([8, 4000][s]), 'v': RANDOM.random([6, 3000][s])},
    np.outer)
add("outer_reshape", """
input u: f64[n];
input v: f64[m];
output o = reshape(u, n, 1) * reshape(v, 1, m);
""",
    lambda s: {'u': RANDOM.random([8, 4000][s]), 'v': RANDOM.random([6, 3000][s])},
    np.outer)
add("chain_thin", """
input X: f64[n, m];
input V: f64[m, k];
output o = X' @ (X @ V);
""",
    lambda s: {'X': matrix(*[(9, 5), (8000, 1000)][s]), 'V': matrix(*[(5, 2), (1000, 4)][s])},
    lambda X, V: X.T @ (X @ V))
add("pairwise", """
input X: f64[n, d];
output o = sum((reshape(X, n, 1, d) - reshape(X, 1, n, d)) ** 2, axis=2);
""",
    lambda s: {'X': matrix(*[(7, 3), (1000, 8)][s])},
    lambda X: ((X[:, None] - X[None]) ** 2).sum(2))
add("softmax", """
input X: f64[n, m];
let E = exp(X - max(X, axis=1, keepdims=true));
output o = E / sum(E, axis=1, keepdims=true);
""",
    lambda s: {'X': matrix(*[(7, 5), (4000, 1000)][s])},
    lambda X: (lambda E: E / E.sum(1, keepdims=True))(np.exp(X - X.max(1, keepdims=True))))
add("layernorm", """
input X: f64[n, m];
let u = mean(X, axis=1, keepdims=true);
let v = mean((X - u) ** 2, axis=1, keepdims=true);
output o = (X - u) / sqrt(v + 1e-5);
""",
    lambda s: {'X': matrix(*[(7, 5), (4000, 1000)][s])},
    lambda X: (X - X.mean(1, keepdims=True)) / np.sqrt(((X - X.mean(1, keepdims=True)) ** 2).mean(1, keepdims=True) + 1e-05))
add("colnorm", """
input X: f64[n, m];
output o = X / sqrt(sum(X * X, axis=0));
""",
    lambda s: {'X': matrix(*[(7, 5), (4000, 1000)][s])},
    lambda X: X / np.sqrt((X * X).sum(0)))
add("moving_average", """
input x: f64[n];
let c = cumsum(concat(zeros(1), x, axis=0));
output o = (c[8:] - c[:-8]) / 8.0;
""",
    lambda s: {'x': RANDOM.random([20, 4000000][s])},
    lambda x: (lambda c: (c[8:] - c[:-8]) / 8)(np.cumsum(np.concatenate([[0.0], x]))))
add("life", """
input G: i64[n, n];
var A = G;
for t in 0..10 {
  let N = roll(A, 1, axis=0) + roll(A, -1, axis=0) + roll(A, 1, axis=1) + roll(A, -1, axis=1) + roll(roll(A, 1, axis=0), 1, axis=1) + roll(roll(A, 1, axis=0), -1, axis=1) + roll(roll(A, -1, axis=0), 1, axis=1) + roll(roll(A, -1, axis=0), -1, axis=1);
  A = where(N == 3 || (A == 1 && N == 2), 1, 0);
}
output o = A;
""",
    lambda s: {'G': (matrix([9, 1000][s]) < 0.4).astype(np.int64)},
    lambda G: life(G))


def life(A):
    for t in range(10):
        N = sum((np.roll(A, (a, b), (0, 1)) for a in (-1, 0, 1) for b in (-1, 0, 1) if a or b))
        A = np.where((N == 3) | (A == 1) & (N == 2), 1, 0)
    return A


def gs(A):
    Q = A.copy()
    for j in range(A.shape[1]):
        Q[:, j] /= np.sqrt(Q[:, j] @ Q[:, j])
        Q[:, j + 1:] -= np.outer(Q[:, j], Q[:, j] @ Q[:, j + 1:])
    return Q


add("gram_schmidt", """
input A: f64[n, m];
var Q = A;
for j in 0..m {
  Q[:, j] /= sqrt(Q[:, j] @ Q[:, j]);
  Q[:, j+1:] -= outer(Q[:, j], Q[:, j] @ Q[:, j+1:]);
}
output o = Q;
""",
    lambda s: {'A': matrix(*[(9, 5), (3000, 120)][s])},
    gs)


def lu(A):
    A = A.copy()
    for k in range(len(A) - 1):
        A[k + 1:, k] /= A[k, k]
        A[k + 1:, k + 1:] -= np.outer(A[k + 1:, k], A[k, k + 1:])
    return A


add("lu_slices", """
input A: f64[n, n];
var B = A;
for k in 0..n-1 {
  B[k+1:, k] /= B[k, k];
  B[k+1:, k+1:] -= outer(B[k+1:, k], B[k, k+1:]);
}
output o = B;
""",
    lambda s: {'A': matrix([9, 500][s]) + 500 * np.eye([9, 500][s])},
    lu)


def knap(w, v):
    d = np.zeros(2001)
    for i in range(len(w)):
        d[w[i]:] = np.maximum(d[w[i]:], d[:2001 - w[i]] + v[i])
    return d


add("knapsack", """
input w: i64[n];
input v: f64[n];
var d = zeros(2001);
for i in 0..n {
  d[w[i]:] = max(d[w[i]:], d[:2001 - w[i]] + v[i]);
}
output o = d;
""",
    lambda s: {'w': RANDOM.integers(1, 50, [9, 2000][s]), 'v': RANDOM.random([9, 2000][s])},
    knap)


def mandel(c, d):
    x = np.zeros_like(c)
    y = np.zeros_like(c)
    k = np.zeros_like(c)
    for t in range(30):
        m = x * x + y * y <= 4
        x, y = (np.where(m, x * x - y * y + c, x), np.where(m, 2 * x * y + d, y))
        k = k + m
    return k


add("mandelbrot", """
input c: f64[n, m];
input d: f64[n, m];
var x = zeros(n, m);
var y = zeros(n, m);
var k = zeros(n, m);
for t in 0..30 {
  let s = x * x + y * y <= 4.0;
  let a = where(s, x * x - y * y + c, x);
  let b = where(s, 2.0 * x * y + d, y);
  x = a;
  y = b;
  k = k + f64(s);
}
output o = k;
""",
    lambda s: {'c': 3 * matrix([9, 700][s]) - 2, 'd': 2 * matrix([9, 700][s]) - 1},
    mandel)
add("einsum4", """
input A: f64[n, k];
input B: f64[k, l];
input C: f64[l, m];
input D: f64[m, n];
output o = einsum("ab,bc,cd,da->a", A, B, C, D);
""",
    lambda s: {k: matrix(*[(5, 5), (400, 400)][s]) for k in 'ABCD'},
    lambda A, B, C, D: np.einsum('ab,bc,cd,da->a', A, B, C, D, optimize=True))


def csr(val, col, row, x):
    return np.add.reduceat(val * x[col], row[:-1])


add("csr_for", """
input val: f64[z];
input col: i64[z];
input row: i64[r];
input x: f64[n];
var y = zeros(r - 1);
for i in 0..r - 1 {
  y[i] = sum[k in row[i]..row[i + 1]](val[k] * x[col[k]]);
}
output o = y;
""",
    lambda s: {'val': RANDOM.random([30, 3000000][s]), 'col': RANDOM.integers(0, [10, 200000][s], [30, 3000000][s]), 'row': np.arange(0, [30, 3000000][s] + 1, [3, 15][s]), 'x': RANDOM.random([10, 200000][s])},
    csr)


def cov(X):
    n = len(X)
    X = X - X.mean(0)
    m = X.shape[1]
    C = np.zeros((m, m))
    for i in range(m):
        C[i:, i] = C[i, i:] = X[:, i] @ X[:, i:] / (n - 1.0)
    return C


add("covariance_sym", """
input X: f64[n, m];
let Y = X - mean(X, axis=0);
var C = zeros(m, m);
for i in 0..m {
  C[i:, i] = Y[:, i] @ Y[:, i:] / (f64(n) - 1.0);
  C[i, i:] = C[i:, i];
}
output o = C;
""",
    lambda s: {'X': matrix(*[(9, 5), (1400, 300)][s])},
    cov)
add("cov_loops", """
input X: f64[n, m];
let Y = X - mean(X, axis=0);
var C = zeros(m, m);
for i in 0..m {
  for j in i..m {
    C[i, j] = sum[k](Y[k, i] * Y[k, j]) / (f64(n) - 1.0);
    C[j, i] = C[i, j];
  }
}
output o = C;
""",
    lambda s: {'X': matrix(*[(9, 5), (1400, 300)][s])},
    cov)
add("cummax", """
input x: f64[n];
var y = x;
for i in 1..n {
  y[i] = max(y[i-1], x[i]);
}
output o = y;
""",
    lambda s: {'x': RANDOM.random([9, 2000000][s])},
    np.maximum.accumulate)


def edit(a, b):
    d = np.zeros((len(a) + 1, len(b) + 1), int)
    d[:, 0] = range(len(a) + 1)
    d[0] = range(len(b) + 1)
    for i in range(1, len(a) + 1):
        for j in range(1, len(b) + 1):
            d[i, j] = min(d[i - 1, j] + 1, d[i, j - 1] + 1, d[i - 1, j - 1] + (a[i - 1] != b[j - 1]))
    return d


add("edit_distance", """
input a: i64[n];
input b: i64[m];
var d: i64[n + 1, m + 1] = zeros(n + 1, m + 1);
d[:, 0] = iota(n + 1);
d[0, :] = iota(m + 1);
for i in 1..n + 1 {
  for j in 1..m + 1 {
    d[i, j] = min(min(d[i-1, j] + 1, d[i, j-1] + 1), d[i-1, j-1] + i64(a[i-1] != b[j-1]));
  }
}
output o = d;
""",
    lambda s: {'a': RANDOM.integers(0, 4, [7, 400][s]), 'b': RANDOM.integers(0, 4, [6, 400][s])},
    edit)
add("fft_stage", """
input x: f64[n];
var a = x;
for t in 0..6 {
  let r = reshape(a, n/2, 2)';
  a = reshape(concat(r[0:1, :] + r[1:2, :], r[0:1, :] - r[1:2, :], axis=0), n);
}
output o = a;
""",
    lambda s: {'x': RANDOM.random([16, 1 << 21][s])},
    lambda x: fst(x))


def fst(a):
    for t in range(6):
        r = a.reshape(-1, 2).T
        a = np.concatenate([r[0:1] + r[1:2], r[0:1] - r[1:2]]).reshape(-1)
    return a


add("batched", """
input A: f64[b, n, k];
input B: f64[b, k, m];
output o = reshape(A @ B, b * n, m);
""",
    lambda s: {'A': RANDOM.random([(3, 4, 5), (200, 64, 64)][s]), 'B': RANDOM.random([(3, 5, 4), (200, 64, 64)][s])},
    lambda A, B: (A @ B).reshape(-1, B.shape[2]))
add("ranks", """
input x: f64[n];
output o = argsort(argsort(x));
""",
    lambda s: {'x': RANDOM.random([9, 500000][s])},
    lambda x: np.argsort(np.argsort(x)))
add("matpow", """
input A: f64[n, n];
var B = A;
for t in 0..5 {
  B = B @ B;
  B = B / max(B);
}
output o = B;
""",
    lambda s: {'A': matrix([9, 500][s])},
    lambda A: mp(A))


def mp(B):
    for t in range(5):
        B = B @ B
        B = B / B.max()
    return B

