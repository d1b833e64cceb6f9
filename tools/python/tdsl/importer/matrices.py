"""Norms, factorizations and diagonals of matrices."""
from .extents import Extent
from .table import numpy, of_products, product
from .values import POSTFIX, SUMMED_WIDER, Value, floating, is_complex, part_type, unified


def _order(call):
    """`ord` as text: a number, inf, -inf, fro, or None."""
    if not call.has("ord"):
        return None
    value = call.any_value("ord")
    return value.known if value.type == "text" else value.code.removesuffix(".0")


@numpy("linalg.norm", "x ord= axis= keepdims=")
def _norm(call):
    value, order = floating(call.value("x")), _order(call)
    if is_complex(value):
        value = Value(f"abs({value.code})", part_type(value.type), value.shape)
    if call.has("axis") or value.rank == 1:
        return _vector_norm(call, value, order)
    if order in (None, "fro"):
        return Value(f"norm({value.code})", value.type)
    if value.rank != 2 or order not in ("1", "inf", "-1", "-inf"):
        call.refuse("import-option", f"np.linalg.norm of order {order} of {value.rank} dimensions")
    outer = "max" if order[0] != "-" else "min"
    return Value(f"{outer}(sum(abs({value.code}), axis={0 if order.endswith('1') else 1}))", value.type)


def _vector_norm(call, value, order):
    axis = call.axis(value.rank)
    keep = bool(call.literal("keepdims", False))
    options = (f", axis={axis}" if axis is not None else ", axis=0" if keep else "") + (", keepdims=true" if keep else "")
    shape = tuple(Extent(1) if i == (axis or 0) else e for i, e in enumerate(value.shape) if keep or i != (axis or 0))
    forms = {None: f"sqrt(sum({value.at(POSTFIX)} ** 2{options}))", "1": f"sum(abs({value.code}){options})", "inf": f"max(abs({value.code}){options})",
             "-inf": f"min(abs({value.code}){options})"}
    forms["2"] = forms[None]
    if order not in forms:
        call.refuse("import-option", f"np.linalg.norm of order {order} of vectors")
    return Value(f"norm({value.code})" if not options and order in (None, "2") else forms[order], value.type, shape)


def _matrix(call, value):
    if value.rank != 2:
        call.refuse("import-rank", f"np.{call.name} of {value.rank} dimensions")
    return value


def _batch(call):
    """A matrix, or a batch of matrices in the last two dimensions."""
    value = floating(call.value("a"))
    if value.rank < 2:
        call.refuse("import-rank", f"np.{call.name} of {value.rank} dimensions")
    return value


def _several(call, code, *parts):
    """Names of the results of a routine, with their types and shapes: `(word, type, shape)` each."""
    names = [call.translator.fresh(word) for word, _, _ in parts]
    call.translator.local_names[-1].extend(names)
    call.translator.emit(f"let ({', '.join(names)}) = {code};")
    return [Value(name, type_, shape) for name, (_, type_, shape) in zip(names, parts)]


@numpy("linalg.eigh linalg.eigvalsh", "a")
def _eigh(call):
    """Eigenvalues ascend; of each vector the largest component is positive."""
    value = _batch(call)
    items = _several(call, f"eigh({value.code})", ("eigenvalues", part_type(value.type), value.shape[:-1]), ("eigenvectors", value.type, value.shape))
    return items[0] if call.name == "linalg.eigvalsh" else Value("", "tuple", items=items)


@numpy("linalg.svd", "a full_matrices= compute_uv=")
def _svd(call):
    value, vectors = _batch(call), call.literal("compute_uv", True)
    if vectors and call.literal("full_matrices", True):
        call.refuse("import-option", "np.linalg.svd without full_matrices=False")
    *batch, n, m = value.shape
    least = n if n == m else Extent(min(n.constant, m.constant)) if None not in (n.constant, m.constant) else Extent.of(f"min({n.code()}, {m.code()})")
    items = _several(call, f"svd({value.code})", ("U", value.type, (*batch, n, least)), ("s", part_type(value.type), (*batch, least)), ("Vt", value.type, (*batch, least, m)))
    return Value("", "tuple", items=items) if vectors else items[1]


@numpy("linalg.qr", "a mode=")
def _qr(call):
    """The diagonal of R is not negative."""
    value = _batch(call)
    if call.literal("mode", "reduced") != "reduced":
        call.refuse("import-option", "np.linalg.qr in another mode than reduced")
    *batch, n, m = value.shape
    least = n if n == m else Extent.of(f"min({n.code()}, {m.code()})")
    return Value("", "tuple", items=_several(call, f"qr({value.code})", ("Q", value.type, (*batch, n, least)), ("R", value.type, (*batch, least, m))))


@numpy("linalg.pinv", "a")
def _pinv(call):
    value = _matrix(call, floating(call.value("a")))
    return Value(f"lstsq({value.code}, eye({value.shape[0].code()}))", value.type, value.shape[::-1])


@numpy("linalg.matrix_power", "a n")
def _matrix_power(call):
    value, power = _matrix(call, call.value("a")), call.literal("n")
    if not isinstance(power, int) or not 1 <= power <= 64:
        call.refuse("import-option", "np.linalg.matrix_power with a power other than 1 to 64")
    base = value.code if value.code.isidentifier() else call.let("base", value.code)
    value, result = Value(base, value.type, value.shape), None
    while power:
        if power & 1:
            result = value if result is None else product(result, value, call.node)
        power >>= 1
        if power:
            value = Value(call.let("squared", f"{value.code} @ {value.code}"), value.type, value.shape)
    return result


@numpy("diag diagonal trace", "a k=")
def _diagonal(call):
    value, k = call.value("a"), call.literal("k", 0)
    if not isinstance(k, int):
        call.refuse("import-option", f"np.{call.name} with a computed offset")
    if value.rank == 1 and call.name == "diag":
        return _band(call, value, k) if k else Value(f"diag({value.code})", value.type, value.shape * 2)
    if value.rank != 2:
        call.refuse("import-rank", f"np.{call.name} of {value.rank} dimensions")
    summed = "i64" if value.type in SUMMED_WIDER else value.type
    if call.name == "trace" and k == 0:
        return Value(f"trace({value.code})", summed)
    if value.shape[0] != value.shape[1]:
        call.refuse("import-shape", "the diagonal of a matrix that is not square")
    part = Value(f"diag({value.code})", value.type, value.shape[:1])
    if k:
        n = value.shape[0] - Extent(abs(k))
        part = Value(f"diag({value.at(POSTFIX)}[{'' if k > 0 else -k}:{n.code() if k > 0 else ''}, {k if k > 0 else ''}:{n.code() if k < 0 else ''}])", value.type, (n,))
    return Value(f"sum({part.code})", summed) if call.name == "trace" else part


def _band(call, value, k):
    """A matrix with these elements `k` places to the right of the diagonal."""
    translator, number = call.translator, value.shape[0] + Extent(abs(k))
    source = value.code if value.code.isidentifier() else call.let("elements", value.code)
    name, i = translator.fresh("band"), translator.fresh("i")
    translator.used.discard(i)
    places = f"{i}, {i} + {k}" if k > 0 else f"{i} + {-k}, {i}"
    extent = number.code()
    translator.emit(f"let {name}[{places}]: {value.type}[{extent}, {extent}] = {source}[{i}] for {i} in 0..{value.shape[0].code()};")
    return Value(name, value.type, (number, number))


@numpy("tri", "n m= k=")
def _tri(call):
    translator = call.translator
    shape = (translator.extent(call.given["n"]), translator.extent(call.given["m" if call.has("m") else "n"]))
    if call.literal("k", 0):
        call.refuse("import-option", "np.tri with an offset")
    return Value(f"tril(ones({shape[0].code()}, {shape[1].code()}))", "f64", shape)


@numpy("tensordot", "a b axes=")
def _tensordot(call):
    a, b, type_ = unified(call.value("a"), call.value("b"))
    axes = call.literal("axes", 2)
    left, right = (list(range(a.rank - axes, a.rank)), list(range(axes))) if isinstance(axes, int) else \
        ([x % r for x in (axes[side] if isinstance(axes[side], (tuple, list)) else [axes[side]])] for side, r in ((0, a.rank), (1, b.rank)))
    left, right = list(left), list(right)
    if len(left) != len(right) or a.rank + b.rank > 20:
        call.refuse("import-option", "np.tensordot with other axes")
    first = "abcdefghij"[:a.rank]
    second = ["klmnopqrst"[i] for i in range(b.rank)]
    for x, y in zip(left, right):
        second[y] = first[x]
    kept = [(c, e) for i, (c, e) in enumerate(zip(first, a.shape)) if i not in left] + [(c, e) for i, (c, e) in enumerate(zip(second, b.shape)) if i not in right]
    code = f'einsum("{first},{"".join(second)}->{"".join(c for c, _ in kept)}", {a.code}, {b.code})'
    value = Value(code, type_, tuple(e for _, e in kept))
    return of_products(value) if left else value
