"""One function per name and rule of the importer. Arguments come by name from `ARGUMENTS` of run.py: A, B matrices, S square and positive definite,
x, y vectors, k, p integers, c conditions, n a number, a, b floats, f single precision, Z, z complex, h in single precision, T a batch of matrices, image bytes."""
import math
from math import sqrt

import numpy as np
from numpy import exp as e_to_the

WIDTH = 2 * 3
RATE = np.float64(0.25)
STENCIL = np.array([0.25, 0.5, 0.25])
TABLE = np.array([[1, 2], [3, 4]], dtype=np.int32)
OFFSETS = (-1, 0, 1)


def constants(x): return WIDTH * x + RATE + np.pi * np.e + math.pi


def constructors(A, n):
    B = np.zeros(A.shape) + np.ones((A.shape[0], A.shape[1]))
    C = np.zeros_like(A, dtype=np.int64) + np.full(A.shape, 2)
    D = np.ones(A.shape, dtype=np.float32)
    E = np.empty_like(A)
    E[:] = 1
    return B + C, D, E, np.eye(n) + np.identity(n), np.full_like(A, 3), np.eye(n, n + 2)


def ranges(x, n): return np.arange(n) + np.arange(1, n + 1), np.arange(0, 7, 3), np.linspace(0, 1, n), np.linspace(0.5, 2.0, 5)


def lists(x): return np.array([1.0, 2, 3]) + np.array([[1, 2, 3], [4, 5, 6]]), np.array([x[0], x[1]])


def functions(x): return np.exp(x) + np.sqrt(np.abs(x)) + np.sin(x) * np.cos(x) - np.tanh(x), np.log(np.absolute(x) + 1), np.log1p(x * x) + np.expm1(x)


def more_functions(x): return np.floor(x) + np.ceil(x) + np.rint(x) + np.trunc(x) + np.sign(x), np.arcsin(x / 9) + np.arccos(x / 9) + np.arctan(x)


def hyperbolic(x): return np.sinh(x) + np.cosh(x) + np.arcsinh(x) + np.cbrt(x), np.log2(np.abs(x)) + np.log10(np.abs(x)) + np.exp2(x), np.tan(x)


def of_integers(k): return np.sqrt(k) + np.exp(k) + np.floor(k), np.abs(k) + np.sign(k), np.square(k), np.negative(k)


def two_operands(x, y): return np.maximum(x, y) - np.minimum(x, 0) + np.hypot(x, y) + np.arctan2(x, y) + np.fmod(x, y) + np.copysign(x, y)


def named_operators(x, y): return np.add(x, y) * np.subtract(x, y) + np.multiply(x, y) - np.divide(x, y + 9) + np.power(x, 2) + np.mod(x, y)


def out_arguments(x, y):
    r = np.zeros_like(x)
    np.multiply(x, y, out=r)
    np.add(r, x, r)
    return r


def comparisons(x, y): return x < y, np.greater(x, y), np.less_equal(x, 1), np.equal(x, x), np.not_equal(x, y), x >= y


def logical(x, y): return np.logical_and(x > 0, y > 2), np.logical_or(x > 0, y > 2), np.logical_not(x > 0), (x > 0) & (y > 2) | ~(x > 1), (x > 0) ^ (y > 2)


def selection(x, y): return np.where(x > 0, x, y), np.where(x > 0, 1, 0), np.clip(x, -1, 1), x.clip(0, 2), np.where(x > 0, 0, y)


def scalars(a, b, n): return max(a, b) + min(a, 2.0) + abs(-a) + float(n) + int(a), sqrt(a) + math.exp(b) + math.atan2(a, b), round(a * 3), math.floor(a)


def imported_name(x): return e_to_the(x) + np.reciprocal(x + 10) + np.deg2rad(x)


def reductions(A): return A.sum() + np.mean(A), A.max(axis=0), A.min(axis=1), A.sum(axis=0, keepdims=True), np.prod(A, axis=1), np.amax(A) - np.amin(A)


def statistics(A): return np.std(A), A.std(axis=0), np.var(A, axis=1), A.var(ddof=1), np.std(A, axis=0, keepdims=True), np.median(A), np.average(A)


def of_conditions(c, k): return c.sum(), c.any(), np.all(c), np.count_nonzero(c), c.mean(), np.sum(k), k.max(), k.mean()


def places(x, A): return np.argmax(x), x.argmin(), np.argmax(A, axis=1)


def keeping(A): return A - A.mean(axis=-1, keepdims=True), A / A.sum(axis=(0, 1)), A.sum(keepdims=True)


def running(x, A): return np.cumsum(x), np.cumsum(A, axis=1), np.cumprod(x), np.diff(x), np.diff(A, axis=0), np.cumsum(A)


def sorting(x, A): return np.sort(x), np.argsort(x, kind="stable"), np.sort(A, axis=0)


def masked(x, y): return x[x > 0].sum(), x[x > 0].mean(), (x[y > 1] * 2).sum(), x[x > 0].max()


def masked_update(x, y):
    r = x.copy()
    r[r < 0] = 0
    r[y > 2] += y[y > 2]
    r[y > 4] = x[y > 4] * 2
    return r


def products(A, B, x, y): return A @ B, np.dot(A, B), x @ y, np.dot(x, y), A.T @ np.ones(A.shape[0]), x.dot(y), np.inner(x, y)


def outer_products(x, y): return np.outer(x, y), np.add.outer(x, y), np.subtract.outer(x, y), np.multiply.outer(x, y)


def algebra(S, x): return np.linalg.solve(S, x), np.linalg.inv(S), np.linalg.cholesky(S), np.linalg.norm(x), np.linalg.det(S), np.trace(S)


def sums_of_products(A, B): return np.einsum("ij,jk->ik", A, B), np.cov(A), np.diag(np.diag(A @ A.T))


def shapes(A): return A.reshape(A.shape[1], A.shape[0]), A.reshape(-1), A.ravel() + A.flatten(), np.reshape(A, (A.size,)), A.T, np.transpose(A), A.reshape(1, -1)


def transposes(A):
    C = A[:, :, None] * A[0]
    return np.transpose(C, (2, 0, 1)), C.transpose(1, 2, 0), np.swapaxes(C, 0, 2), C.T


def flips(x, A): return np.flip(x), x[::-1], np.flip(A, axis=1), np.flipud(A), np.fliplr(A), np.roll(x, 2), np.roll(A, -1, axis=1)


def triangles(S): return np.triu(S), np.tril(S), np.triu(S, 1), np.tril(S, -1), np.triu(S, k=-1)


def joins(x, y, A): return np.concatenate([x, y]), np.concatenate((A, A), axis=1), np.hstack([x, y]), np.vstack([x, y]), np.stack([x, y]), np.hstack((A, A))


def copies(x): return np.repeat(x, 2), np.tile(x, 3), np.expand_dims(x, 0), np.expand_dims(x, 1)


def slices(A, n): return A[1:-1, 2:], A[::2, 1], A[-1], A[..., 0], A[1:n - 1], A[:, -2:], A[:, ::3], A[0, ::-1], A[:-n]


def new_axes(x, A): return x[:, None] * x[np.newaxis, :], A[:, np.newaxis, :] + A[None], x[None, :, None]


def gathers(x, A, p): return x[p], A[p], A[:, p], np.take(x, p), A[p, p], x[p[1]]


def scatters(x, p):
    r = np.zeros(x.shape[0])
    np.add.at(r, p, 2.5)
    np.add.at(r, p, np.ones(p.shape[0]))
    return r


def histograms(x, y): return np.histogram(x, 5)[0], np.histogram(x, 5, weights=y)[0], np.histogram(x, 4)[1]


def stored_parts(A, x, n):
    R = np.zeros((n + 2, A.shape[1]))
    R[0] = 1
    R[1, :] = A[0]
    R[2:4] = A[1]
    R[:, 0] = 7.5
    R[-1, 1:3] += 2
    R[1:3, 1:3] = A[:2, :2] @ A[:2, :2]
    return R


def updates(x, n):
    r = x * 2
    r += 1
    r *= x
    r -= r.mean()
    r /= 3
    n += 2
    return r ** n


def argument_updates(A, x):
    A[0] = 0
    x += 1


def integer_bits(k, n): return (k | 3) + (k ^ 1), ~k & 6, k & n, (k & 6) == 4, k ^ k >> 1 & 3


def integers(k, n): return k // 3 + k % 4, -k // 3, n // 2, (n - 20) // 3, k / 2, n / 2, n % 3 - 7 % 3, 2 ** n


def integer_array(k):
    k[1] = 7.9
    k += 2
    return k * 2, k * 0.5


def single(f, a): return f * 2, f + a, f.sum(), f / 3, np.sqrt(f), f * np.float32(0.1)


def conversions(x, k, c): return x.astype(np.int64), k.astype(float), c.astype(np.float64), x.astype("float32"), np.float64(k[0]), c * k, c * 2


def chained(a, b): return 1 if 0 < a < b else 0


def conditional(a, b): return a if a > b and b > 0 or not a < 9 else b * 2


def branches(x, a):
    if a > 1:
        r = x + 1
    elif a > 0.5:
        r = x * 2
    else:
        r = x - 1
    return r


def decided(x, option=None):
    if option is None and x.ndim == 1:
        return_value = x * 2
    else:
        return_value = x.undefined()
    return return_value


def loops(x, n):
    s, last = 0.0, 0
    for i in range(n):
        s += x[i] * i
        last = i
    for i in range(n - 1, 0, -2):
        s = s * 0.5 + x[i]
    for i in range(1, n, 2):
        if i == 5:
            continue
        if i > 7:
            break
        s -= 1
    return s, last


def over_rows(A):
    total = np.zeros(A.shape[1])
    for row in A:
        total += row * row[0]
    s = 0
    for v in A[0]:
        s += v
    return total, s


def repeated(a):
    count = 0
    while a > 1e-3 and count < 50:
        a /= 2
        count += 1
    return a, count


def bound_in_loop(x, n):
    for i in range(n):
        y = x * i
        z = i
    return y, z


def widened(n):
    s = 0
    t = 1
    for i in range(n):
        s += 0.5
        t *= 2
    return s, t


def rebound(A):
    A = A[0]
    A = A.sum()
    return A


def swapped(x, y, n):
    u, v = x.copy(), y.copy()
    for i in range(n):
        u, v = v, u + v
    a, b = u[0], v[0]
    a, b = b, a
    return u, v, a, b


def several(x, n):
    a = b = n
    r = s = x + 1
    return a + b, r * s


def helper(x, scale=2.0, shift=0.0): return x * scale + shift


def halved(x):
    y = x / 2
    y[0] = 1
    return y, y.sum()


def filled(x, b):
    x[:] = b
    x[0] += 1


def calls(x, a):
    y, s = halved(x)
    r = np.zeros_like(y)
    filled(r, a)
    return helper(x) + helper(y, shift=s) + helper(helper(r), 3.0)


def reserved(input, output, where):
    let = input + output
    return let * where


def asserted(x):
    assert x.shape[0] > 2, "at least three"
    print("first", x[0])
    return len(x), x.size, x.ndim


def jacobi(A, n):
    for t in range(n):
        A[1:-1, 1:-1] = 0.25 * (A[:-2, 1:-1] + A[2:, 1:-1] + A[1:-1, :-2] + A[1:-1, 2:])


def overlapping(x):
    x[1:] += x[:-1]
    return x


def double_buffer(x, n):
    old = np.zeros_like(x)
    for t in range(n):
        old[:] = x
        x[1:-1] = (old[:-2] + old[2:]) / 2
    return x


def views(A):
    top = A[0]
    s = top.sum()
    A[0] = 0
    top = A[1]
    return s + top.sum()


def exchange(u, v): return v, u


def exchanged(x, y):
    u, v = x * 1, y * 1
    u, v = exchange(u, v)
    A = np.zeros((2, x.shape[0]))
    A[0], A[1] = x, A[0] + 1
    A[1], A[0] = A[0].copy(), A[1].copy()
    A[0, 0], A[0, 1] = A[0, 1], A[0, 0]
    return u, v, A


def kept_selection(x, y):
    z = x * 2
    chosen = z[z > 0]
    z = z - 10
    pair = (z[0], len(z))
    z[0] = 7
    return chosen.sum(), pair[0], pair[1], z


def called_twice(A, x):
    r = halved(A[0])
    s = halved(x[:4])
    return r[0], s[0], r[1] + s[1]


def listed_numbers(x):
    s = np.zeros_like(x)
    for shift in (-1, 0, 2):
        s += np.roll(x, shift) * shift
    for factor in [0.5, 0.25]:
        s *= factor
    return s


def enumerated(x, A):
    s = 0.0
    for i, v in enumerate(x):
        s += i * v
    for i, row in enumerate(A):
        s += row[i]
    return s


def last_of_loop(x, a):
    for i in range(10):
        x = x / 2
        if np.abs(x).max() < a:
            break
    return x, i


def exchanged_buffers(x, n):
    u, v = x * 1, np.zeros_like(x)
    for t in range(n):
        v[1:-1] = 0.5 * (u[2:] + u[:-2])
        u, v = v, u
    return u


def aliases_of_loops(x, n):
    r = x * 2
    p = r
    for i in range(n):
        q = p * 0.5
        r = r - q
        p = r + p
    return r, p


def tables(x):
    s = np.zeros_like(x)
    for shift in OFFSETS:
        s += STENCIL[shift + 1] * np.roll(x, shift)
    return s, TABLE * 2, TABLE @ TABLE, np.cumsum(STENCIL), OFFSETS[2]


def counted(p, k): return np.bincount(p, minlength=9), np.bincount(p, weights=k * 0.5, minlength=8)


def looked_up(x, y): return np.searchsorted(np.sort(x), y), np.searchsorted(np.sort(x), x, side="right"), np.interp(y, np.sort(x), x)


def nearly(x, y): return np.allclose(x, x + 1e-12), np.isclose(x, y, atol=2.0), np.array_equal(x, x), np.allclose(x, y, rtol=1e-3)


def blocks(x, y, A): return np.kron(A[:2, :2], A[:3, :2]), np.quantile(x, 0.3), np.percentile(A, 40, axis=1), np.ptp(x), A.ptp(axis=0)


def from_the_end(x, n):
    s = 0.0
    for i in range(1, n):
        s += x[-i] * x[i]
        A = np.triu(x[:4, None] * i + x[None, :4], 1)
        s += A[0, 2]
    return s


def replaces_its_argument(x):
    x[0] = 5
    x = x * 2
    return x.sum()


def caller(x, y):
    r = x * 1
    s = replaces_its_argument(r)
    return r, s


def exchanged_arguments(x, y):
    x[0] = 1
    x, y = y, x
    y[1] = 2
    x[2] = 3
    return x + y


def reversed_argument(x, a):
    x[0] = 9
    if a > 1:
        x = x[::-1]
    return x + 0


def complex_elements(Z, z, x):
    w = z ** 2 / (1 + abs(z)) - z ** -1
    return Z * 2j + x, z.real - z.imag, np.abs(z), np.angle(z), np.conj(Z) * Z.conj(), w, -Z, z == z.conj(), np.real(x) + np.imag(z), np.isfinite(z)


def complex_functions(z, x): return np.exp(1j * x) + np.sqrt(z), np.log(z), np.sin(z) + np.cosh(z / 3), np.where(x > 0, z, 0), np.where(abs(z) > 1, z / abs(z), 1j)


def complex_products(Z, z, A): return Z @ z, Z.T @ Z, Z.conj().T @ Z, np.vdot(z, 2j * z), np.dot(z, z), np.outer(z, z.conj()), np.einsum("ij,j->i", Z, z), A @ z


def complex_reductions(Z, z, c):
    w = z / abs(z)
    return Z.sum(), Z.mean(axis=1), z.var(), np.std(Z, axis=0), w.prod(), np.cumsum(z), np.linalg.norm(z), np.linalg.norm(Z), z[z.real > 0].sum(), np.count_nonzero(z)


def complex_arrays(z, n):
    C = np.zeros(n, dtype=complex)
    C[:] = 1j
    C[0] = 2
    C += 1.5 - 1j
    D = np.zeros_like(z)
    D[1:] = z[:-1]
    D[D.real > 0] = 0
    return C, D, np.array([1, 2j]), np.full(n, 1j), z.astype(np.complex64), np.complex128(n), complex(1, n)


def complex_loops(z, n):
    s, t = 0, 0.0
    for v in z:
        s += v * v
    for i in range(n):
        t = t + z[i] * 1j
        if abs(t) > 2:
            t = t / 2
    return s, t


def single_precision(h, f): return h * 2j, h + f, abs(h), f * 1j, h.sum(), 2.0 * h, h / 3


def fourier(x, z, n):
    X = np.fft.rfft(x)
    return np.fft.fft(x), np.fft.ifft(z, norm="ortho"), np.fft.irfft(X, len(x)), np.fft.fft(z, 8), np.fft.fftshift(np.fft.fftfreq(n, 0.1)), np.fft.rfftfreq(len(x)), abs(X) ** 2


def fourier_of_images(A, Z):
    k = np.fft.fftfreq(A.shape[1])
    B = np.fft.ifft2(np.fft.fft2(A) * np.exp(-(k ** 2))).real
    return B, np.fft.fftn(Z), np.fft.fft(Z, axis=0), np.fft.irfft2(np.fft.rfft2(A), s=A.shape), np.fft.ifftshift(Z, axes=1), np.fft.fft2(Z, axes=(1, 0))


def spectral_steps(x, a, n):
    k = 2 * np.pi * np.fft.fftfreq(len(x))
    u = x.astype(complex)
    for t in range(n):
        u = np.fft.ifft(np.exp(-0.5j * k ** 2 * a) * np.fft.fft(u * np.exp(-0.1j * abs(u) ** 2)))
    return u, np.abs(u) ** 2


def complex_matrices(Z):
    S = Z @ Z.conj().T + len(Z) * np.eye(len(Z))
    return np.linalg.inv(S), np.linalg.solve(S, Z), np.linalg.det(S / 40), np.linalg.eigvalsh(S), np.linalg.svd(Z, compute_uv=False), np.linalg.cholesky(S), np.trace(S)


def batches(T):
    S = T + T.transpose(0, 2, 1)
    return np.linalg.inv(T), np.linalg.det(T), np.linalg.solve(T, T[:, :, 0]), np.linalg.solve(T, S), np.linalg.eigvalsh(S), np.linalg.svd(T, compute_uv=False), T @ S


def repeated_rows(A): return np.repeat(A, 2, axis=0), np.repeat(A[:2, :3], 3), np.repeat(A, 2, axis=1)


def short_integers(image): return image // 3, image % 7, image - image.min(), image + 10, image * 2 - 1, image ** 2, image >> 4 & 3, image ^ 0x55, ~image, image << 1 | 1


def beside_short_integers(image):
    return image + 300, image.astype(np.int64) - 128, image / 255, image.max() - image.min(), image.sum(), image.mean(axis=0), image > 300, image[0, 0] + 200


def products_of_short_integers(image):
    k = image.astype(np.int32)
    return image @ image.T, np.einsum("ij,kj->ik", image, image), np.tensordot(k, k.T, 1), np.trace(k) + 10**10, np.einsum("ij->ji", k)


def bytes_from_numbers(image, A):
    levels = np.clip(128 + 20 * A, 0, 255).astype(np.uint8)
    mask = np.where(image > 128, 255, 0).astype(np.uint8)
    table = np.zeros(256, dtype=np.uint8)
    table[10:] = np.arange(246)[::-1]
    image[image > 200] = 200
    return levels, mask, table[levels], np.bincount(levels.ravel(), minlength=256), np.maximum(levels, mask), image.max() + 100


def found_extents(x, y, A, k):
    kept = x[x > 0]
    i, j = np.nonzero(A > 1)
    keys, counts = np.unique(k, return_counts=True)
    return kept * 2 - 1, np.sort(y[x > 0]), A[A > 1], i, j, np.where(y > 1)[0], keys, counts, len(kept), np.concatenate([kept, x]), np.extract(x > 1, y), np.unique(A > 0)


def found_rows(A, x, k):
    rows, (keys, group) = A[A[:, 0] > 0], np.unique(k % 3, return_inverse=True)
    return rows, rows @ x, rows.T @ rows, keys[group], np.flatnonzero(A > 1), x[x > 0] @ x[x > 0]


def found_in_loops(x, n):
    s = 0.0
    for t in range(n):
        kept = x[x > 0.1 * t]
        largest = np.sort(kept)[::-1]
        s += largest.sum() + len(largest)
    return s
