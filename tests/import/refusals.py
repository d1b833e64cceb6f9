"""Functions that are not translated. `# id` behind a line: that line gives exactly this error."""
import numpy as np
from scipy import linalg

TABLE = np.zeros(300)


def unknown_name(x): return np.fft.hfft(x)  # import-name


def unknown_names(x):
    y = np.unwrap(x)  # import-name
    z = np.trim_zeros(x)  # import-name
    w = y + 1
    return x.tolist()  # import-name


def scipy_name(S): return linalg.expm(S)  # import-name


def unknown_option(A): return np.sum(A, where=A > 0)  # import-option


def unknown_method(x): return x.view(np.int64)  # import-name


def attribute(x): return x.strides  # import-name


def comprehension(x): return sum({v for v in x})  # import-expression


def lambda_expression(x):
    f = lambda v: v + 1
    return x + f  # import-expression


def dictionary(x):
    d = {"a": 1}  # import-expression
    return x


def text(x):
    s = "a" + "b"  # import-expression
    return x


def a_list(x, n):
    v = [1, 2] * n  # import-expression
    return x


def inner_function(x):
    A = x * 2
    def g(v):
        A[0] = v
        return v
    return A[0] + g(3.0)  # import-call


def tries(x):
    try:  # import-statement
        y = x
    except ValueError:
        y = x
    return y


def with_block(x):
    with open("log") as log:  # import-statement
        y = x
    return x


def deleted(x):
    y = x
    del y[0]  # import-statement
    return x


def grown_twice(x):
    out = []
    for v in x:
        out.append(v)
        out.append(-v)  # import-statement
    return np.array(out)


def for_else(x, n):
    for i in range(n):  # import-statement
        x = x + 1
    else:
        x = x
    return x


def two_variables(x):
    for i, v in x:  # import-statement
        pass
    return x


def early_return(x, a):
    for i in range(3):
        if a > i:
            return  # import-return
    return x + 1


def nested_return(x): return x, (x, x)  # import-return


def recursion(n): return 1 if n < 2 else n * recursion(n - 1)  # import-call


def star(x, *rest): return x  # import-call


def calls_star(x): return np.maximum(*(x, x))  # import-call


def complex_order(z): return z > 1  # import-complex


def complex_rounding(z): return np.round(z * 1j)  # import-complex


def complex_remainder(z): return z % 2  # import-complex


def complex_in_reals(x):
    x[0] = 1j  # import-complex
    return x


def functions_of_bytes(image): return np.sqrt(image)  # import-type


def half(n): return np.zeros(n, dtype=np.float16)  # import-type


def contains(a, x):
    y = a in x  # import-operator
    return a


def array_condition(x):
    if x:  # import-type
        return_value = 1
    return x


def global_array(x): return x + TABLE  # import-global


def unknown_global(x): return x + missing  # import-unbound


def unbound(x):
    y = z + x  # import-unbound
    z = x
    return y


def stale_view(A):
    row = A[0]
    A[0] = 0
    return row.sum()  # import-view


def stale_alias(x):
    y = x
    y[0] = 1
    return x  # import-view


def stale_in_loop(A, n):
    row = A[1:]
    s = 0.0
    for i in range(n):
        s += row.sum()  # import-view
        A[1] = i
    return s


def stale_in_next_iteration(x, n):
    old = np.zeros_like(x)
    s = 0.0
    for i in range(n):
        x[0] = i
        s += old[0]  # import-view
        old = x
    return s


def stale_transpose(A):
    B = A.T
    B[0] = 1
    return A.sum()  # import-view


def changed_part(A):
    fill(A[0])  # import-view
    return A


def fill(x):
    x[:] = 1


def change(x):
    x[0] = 5
    return x.sum()


def changing_expression(x): return x[0] + change(x)  # import-call


def shapes(x):
    y = x[:3] + x[:4]  # import-shape
    return y


def rank_in_loop(x, n):
    y = x
    for i in range(n):
        y = y.sum()  # import-rank
    return y


def loop_variable(x, n):
    for i in range(n):
        i = i + 1  # import-loop
    return x


def computed_step(x): return x[::int(x[0])]  # import-step


def backwards(x): return x[4:1:-1]  # import-step


def float_range(x): return np.arange(0.0, 1.0, 0.1)  # import-type


def index_store(A, p):
    A[:, p] = 1  # import-subscript
    return A


def too_many(x): return x[0, 0]  # import-rank


def of_scalar(a): return a[0]  # import-rank


def attribute_store(x):
    x.shape = (1, 2)  # import-target
    return x


def part_of_expression(A):
    (A + 1)[0] = 2  # import-target
    return A


def unpacking(x):
    a, b = x[0]  # import-tuple
    return a


def star_print(x):
    print(*x)  # import-expression
    return x


def bool_sum(c): return c + c + 1.5, -c  # import-type


def unknown_call(x): return sorted(x)  # import-call


def exchanged_parts(A):
    A[1], A[0] = A[0], A[1]  # import-view
    return A


def stale_tuple(A):
    pair = (A[0], 1)
    A[0] = 2
    return pair[0]  # import-view


def data_size(p): return np.bincount(p)  # import-option


def keyword_only(x, b): return helper(x, *[b])  # import-call


def helper(x, b): return x + b


def bits_of_reals(x): return ~x  # import-operator


def part_of_selection(x): return x[x > 0][1]  # import-mask


def zip_of_pairs(x, A):
    for i, (a, b) in zip(x, A):  # import-statement
        pass
    return x


def one_sided(x, a):
    if a > 1:  # import-return
        return x


def uneven(x, a):
    if a > 1:  # import-return
        return x, a
    return x


def nested_generator(x): return sum(v * w for v in x for w in x)  # import-expression


def appended(x):
    out = []
    for v in x:
        if v > 0:
            out.append(v)  # import-statement
    return x


def grid_of_three(x): return np.meshgrid(x, x, x)  # import-option


def slice_grid(x): return np.mgrid[0:1:5j, 0:1:5j]  # import-option


def captured_rebinding(x):
    s = 0.0
    def add(v):
        nonlocal s  # import-statement
        s += v
    add(1.0)
    return x


def unknown_padding(x): return np.pad(x, 2, mode="linear_ramp")  # import-option
