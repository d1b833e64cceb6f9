"""One function per name or rule, as in snippets.py: all run in `--long`, every eighth else."""
import math

import numpy as np


def np_exp(x): return np.exp(x)


def np_sin(x): return np.sin(x)


def np_cos(x): return np.cos(x)


def np_tan(x): return np.tan(x)


def np_tanh(x): return np.tanh(x)


def np_expm1(x): return np.expm1(x)


def np_exp2(x): return np.exp2(x)


def np_sinh(x): return np.sinh(x)


def np_cbrt(x): return np.cbrt(x)


def np_floor(x): return np.floor(x)


def np_ceil(x): return np.ceil(x)


def np_trunc(x): return np.trunc(x)


def np_sign(x): return np.sign(x)


def np_isnan(x): return np.isnan(x)


def np_isinf(x): return np.isinf(x)


def np_isfinite(x): return np.isfinite(x)


def np_absolute(x): return np.absolute(x)


def np_rint(x): return np.rint(x)


def np_arctan(x): return np.arctan(x)


def np_arcsinh(x): return np.arcsinh(x)


def np_fix(x): return np.fix(x)


def np_square(x): return np.square(x)


def np_negative(x): return np.negative(x)


def np_fabs(x): return np.fabs(x)


def np_positive(x): return np.positive(x)


def np_sqrt(x): return np.sqrt(1 + x * x)


def np_log(x): return np.log(1 + x * x)


def np_log1p(x): return np.log1p(1 + x * x)


def np_log2(x): return np.log2(1 + x * x)


def np_log10(x): return np.log10(1 + x * x)


def np_cosh(x): return np.cosh(1 + x * x)


def np_arccosh(x): return np.arccosh(1 + x * x)


def np_arcsin(x): return np.arcsin(np.tanh(x))


def np_arccos(x): return np.arccos(np.tanh(x))


def np_arctanh(x): return np.arctanh(np.tanh(x))


def np_deg2rad(x): return np.deg2rad(x)


def np_radians(x): return np.radians(x)


def np_rad2deg(x): return np.rad2deg(x)


def np_degrees(x): return np.degrees(x)


def np_maximum(x, y): return np.maximum(x, np.abs(y) + 1)


def np_minimum(x, y): return np.minimum(x, np.abs(y) + 1)


def np_fmod(x, y): return np.fmod(x, np.abs(y) + 1)


def np_arctan2(x, y): return np.arctan2(x, np.abs(y) + 1)


def np_hypot(x, y): return np.hypot(x, np.abs(y) + 1)


def np_copysign(x, y): return np.copysign(x, np.abs(y) + 1)


def np_add(x, y): return np.add(x, np.abs(y) + 1)


def np_subtract(x, y): return np.subtract(x, np.abs(y) + 1)


def np_multiply(x, y): return np.multiply(x, np.abs(y) + 1)


def np_divide(x, y): return np.divide(x, np.abs(y) + 1)


def np_power(x, y): return np.power(np.abs(x), y)


def np_mod(x, y): return np.mod(x, np.abs(y) + 1)


def np_floor_divide(x, y): return np.floor_divide(x, np.abs(y) + 1)


def np_true_divide(x, y): return np.true_divide(x, np.abs(y) + 1)


def np_less(x, y): return np.less(x, y)


def np_greater(x, y): return np.greater(x, y)


def np_less_equal(x, y): return np.less_equal(x, y)


def np_greater_equal(x, y): return np.greater_equal(x, y)


def np_equal(x, y): return np.equal(x, y)


def np_not_equal(x, y): return np.not_equal(x, y)


def np_sum_of_all(A): return np.sum(A)


def np_mean_of_all(A): return np.mean(A)


def np_max_of_all(A): return np.max(A)


def np_min_of_all(A): return np.min(A)


def np_prod_of_all(A): return np.prod(A)


def np_std_of_all(A): return np.std(A)


def np_var_of_all(A): return np.var(A)


def np_median_of_all(A): return np.median(A)


def np_argmax_of_all(A): return np.argmax(A)


def np_argmin_of_all(A): return np.argmin(A)


def np_any_of_all(A): return np.any(A > 0)


def np_all_of_all(A): return np.all(A > 0)


def np_count_nonzero_of_all(A): return np.count_nonzero(A > 0)


def np_ptp_of_all(A): return np.ptp(A)


def np_sum_of_axis(A): return np.sum(A, axis=1)


def np_mean_of_axis(A): return np.mean(A, axis=1)


def np_max_of_axis(A): return np.max(A, axis=1)


def np_min_of_axis(A): return np.min(A, axis=1)


def np_prod_of_axis(A): return np.prod(A, axis=1)


def np_std_of_axis(A): return np.std(A, axis=1)


def np_var_of_axis(A): return np.var(A, axis=1)


def np_median_of_axis(A): return np.median(A, axis=1)


def np_argmax_of_axis(A): return np.argmax(A, axis=1)


def np_argmin_of_axis(A): return np.argmin(A, axis=1)


def np_ptp_of_axis(A): return np.ptp(A, axis=1)


def np_cumsum_of_rows(A): return np.cumsum(A, axis=1)


def np_cumprod_of_rows(A): return np.cumprod(A, axis=1)


def np_sort_of_rows(A): return np.sort(A, axis=1)


def np_argsort_of_rows(A): return np.argsort(A, axis=1)


def np_diff_of_rows(A): return np.diff(A, axis=1)


def math_cos(b): return math.cos(b)


def math_sqrt(b): return math.sqrt(b)


def math_exp(b): return math.exp(b)


def math_log(b): return math.log(b)


def math_floor(b): return math.floor(b)


def math_ceil(b): return math.ceil(b)


def math_fabs(b): return math.fabs(b)


def math_tan(b): return math.tan(b)


def math_sinh(b): return math.sinh(b)


def math_erf(b): return math.erf(b)


def math_gamma(b): return math.gamma(b)


def math_lgamma(b): return math.lgamma(b)


def np_zeros_of_ints(n): return np.zeros((n, 2), dtype=int)


def np_ones_of_ints(n): return np.ones((n, 2), dtype=int)


def column_stack(x, y, A): return np.column_stack([x, y]), np.column_stack((x, A.T))


def least_squares(A, x): return np.linalg.lstsq(A.T, x, rcond=None)[0]


def least_squares_first(A, x):
    beta, *_ = np.linalg.lstsq(A.T, x, rcond=None)
    return beta


def correlations(A, x, y): return np.corrcoef(A), np.corrcoef(x, y)[0, 1]


def padded(x, A): return np.pad(x, 2), np.pad(x, (1, 3), mode="edge"), np.pad(A, 1, mode="reflect"), np.pad(A, ((1, 2), (0, 3)), mode="wrap")


def padded_with(x, A): return np.pad(x, 1, constant_values=7), np.pad(A, 2, mode="symmetric")


def diagonal_filled(S):
    R = S * 2
    np.fill_diagonal(R, 1.5)
    return R


def counting_down(n): return np.arange(n, -1, -1), np.arange(9, 0, -2)


def listed_joins(x): return np.concatenate(([0.0], x, [1.0, 2.0]))


def meshes(x, y):
    X, Y = np.meshgrid(x, y[:4])
    I, J = np.meshgrid(x, y[:4], indexing="ij")
    return X + Y, I * J


def grid(n):
    I, J = np.mgrid[0:n, 1:n + 3]
    return I * 10 + J


def zipped(x, y, p):
    s = 0.0
    for a, b in zip(x, y):
        s += a * b
    for a, b in zip(x[1:], x[:-1]):
        s += a - 2 * b
    for a, q in zip(x, p):
        s += a * q
    return s


def zipped_rows(A, S):
    s = 0.0
    for i, (a, b) in enumerate(zip(A, A[1:])):
        s += i * (a @ b)
    return s


def counted_from(x):
    s = 0.0
    for i, v in enumerate(x, start=1):
        s += v / i
    for i, v in enumerate(x, 2):
        s *= i
        s /= i + 1
    return s


def guarded(x, a):
    if a < 0:
        return x
    if a < 1:
        y = x * 2
        return y + 1
    z = x - 1
    return z * z


def guarded_pair(a, x):
    if a > 1:
        return x, 1.0
    elif a > 0:
        return x * 2, a
    else:
        b = a * 2
    return x - 1, b


def guarded_call(x, a, b): return chosen(a) + chosen(b) * chosen(x[0] * 1e-9 - 1)


def chosen(v):
    if v < 0:
        return 0.0
    w = v * v
    return w + 1


def guarded_update(x, a):
    if a > 1:
        return
    x[0] = 7
    x[1] = a


def closure(x, a):
    def scaled(v, by=2.0):
        return v * by + a

    a = a + 1
    return scaled(x) + scaled(x[0], by=3.0)


def closure_update(x):
    total = np.zeros(3)

    def record(k, v):
        total[k] = v

    record(0, x[0])
    record(2, x.sum())
    return total


def lambdas(x, a):
    f = lambda v: v ** 2 - a
    df = lambda v: 2 * v
    return x - f(x) / (df(x) + 9)


def passed_functions(x, a, n):
    def slope(t, y):
        return -a * y + t

    y = x
    for k in range(n):
        y = stepped(slope, k * 0.1, y, 0.1)
    return y


def stepped(f, t, y, h):
    k1 = f(t, y)
    return y + h * f(t + h / 2, y + h / 2 * k1)


def minus_zero(x, n):
    s = 0.0
    for k in range(n):
        s += x[-k] + x[:-k].sum() + x[-k:].sum()
    return s


def lagged(x, n):
    r = np.zeros(n)
    for k in range(1, n):
        r[k] = x[k:] @ x[:-k]
    return r
