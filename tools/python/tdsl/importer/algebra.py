"""Products, linear algebra and statistics."""
import ast
import dataclasses

from .elements import OPERATORS
from .extents import Extent
from .table import numpy, of_products, product, transposed
from .values import POSTFIX, PRODUCT, SUM, Value, broadcast, floating, is_complex, text_of, unified

@numpy("dot", "a b", method=True)
def _dot(call):
    a, b = call.value("a"), call.value("b")
    if not a.rank or not b.rank:
        return call.translator.operator(ast.Mult, a, b, call.node)
    if b.rank > 2:
        call.refuse("import-rank", "np.dot of more than two dimensions: np.matmul")
    return _matrix_product(call, a, b)


def _matrix_product(call, a, b):
    """The product of two arguments: within loops a sum over elements, as for `@`."""
    sides = call.given["a"], call.given["b"]
    if all(isinstance(side, ast.AST) for side in sides):
        return call.translator.matrix_product(a, b, ast.copy_location(ast.BinOp(sides[0], ast.MatMult(), sides[1]), call.node))
    return product(a, b, call.node)


@numpy("inner vdot", "a b")
def _inner(call):
    a, b = call.value("a"), call.value("b")
    if a.rank != 1 or b.rank != 1:
        call.refuse("import-rank", f"np.{call.name} of matrices")
    if call.name == "vdot" and is_complex(a):
        return product(Value(f"conj({a.code})", a.type, a.shape), b, call.node)
    return _matrix_product(call, a, b)


@numpy("outer", "a b")
def _outer(call):
    a, b, type_ = unified(call.value("a"), call.value("b"))
    if a.rank != 1 or b.rank != 1:
        call.refuse("import-rank", "np.outer of matrices")
    return Value(f"outer({a.code}, {b.code})", type_, a.shape + b.shape)


@numpy("add.outer subtract.outer multiply.outer divide.outer power.outer", "a b")
def _outer_operator(call):
    a, b = call.value("a"), call.value("b")
    if a.rank != 1 or b.rank != 1:
        call.refuse("import-rank", "an outer operation of matrices")
    column = Value(f"{a.at(POSTFIX)}[:, newaxis]", a.type, (a.shape[0], Extent(1)))
    row = Value(f"{b.at(POSTFIX)}[newaxis, :]", b.type, (Extent(1), b.shape[0]))
    return call.translator.operator(OPERATORS[call.name.split(".")[0]], column, row, call.node)


@numpy("add.at", "target index value")
def _add_at(call):
    translator = call.translator
    node = call.given["target"]
    if not isinstance(node, ast.Name):
        call.refuse("import-target", "np.add.at of a part of an array")
    base, index, value = call.value("target"), call.value("index"), call.value("value")
    binding = translator.binding(node.id)
    if base.rank != 1 or index.rank != 1 or value.rank > 1 or index.type[0] not in "iu" or binding.fixed or binding.target is None:
        call.refuse("import-subscript", "np.add.at other than a vector of numbers at a vector of places")
    translator.changed_in_place(node.id, binding, call.node)
    i = translator.fresh("i")
    translator.used.discard(i)
    added = f"{value.at(POSTFIX)}[{i}]" if value.rank else value.code
    translator.emit(f"{binding.target}[{index.at(POSTFIX)}[{i}]] += {added} for {i} in 0..{index.shape[0].code()};")
    return Value("", "none")


@numpy("linalg.inv linalg.cholesky linalg.det", "a")
def _of_matrix(call):
    """Of a matrix, or of the last two dimensions of a batch."""
    value = floating(call.value("a"))
    if value.rank < 2:
        call.refuse("import-rank", f"np.{call.name} of {value.rank} dimensions")
    return Value(f"{call.short}({value.code})", value.type, value.shape[:-2] if call.short == "det" else value.shape)


@numpy("linalg.solve", "a b")
def _solve(call):
    a, b, type_ = unified(floating(call.value("a")), floating(call.value("b")))
    if b.rank not in (a.rank - 1, a.rank) or a.rank < 2:
        call.refuse("import-rank", f"np.linalg.solve of {a.rank} and {b.rank} dimensions")
    return Value(f"solve({a.code}, {b.code})", type_, b.shape)


@numpy("linalg.lstsq", "a b rcond=")
def _lstsq(call):
    """The solution; residuals, rank and singular values have no value."""
    a, b, type_ = unified(floating(call.value("a")), floating(call.value("b")))
    solution = Value(f"lstsq({a.code}, {b.code})", type_, a.shape[1:] + b.shape[1:])
    return Value("", "tuple", items=[solution, *[Value("", "none")] * 3])


@numpy("einsum", "subscripts *rest")
def _einsum(call):
    text = call.literal("subscripts")
    values = [call.translator.plain(node) for node in call.given.get("rest", [])]
    if not isinstance(text, str) or "." in text or "->" not in text:
        call.refuse("import-option", "np.einsum without a text with ->")
    inputs, result = text.replace(" ", "").split("->")
    extents = {}
    for letters, value in zip(inputs.split(","), values):
        extents.update(zip(letters, value.shape))
    type_ = values[0].type
    for value in values[1:]:
        type_ = unified(dataclasses.replace(values[0], type=type_), value)[2]
    code = f'einsum("{inputs}->{result}", {", ".join(value.code for value in values)})'
    value = Value(code, type_, tuple(extents[letter] for letter in result))
    return of_products(value) if set(inputs) - {",", *result} else value


@numpy("cov", "m other= rowvar= bias= ddof=")
def _cov(call):
    rows = _variables(call)
    ddof = call.literal("ddof", 0 if call.literal("bias", False) else 1)
    if rows.rank == 1:
        return Value(f"variance({rows.code}, ddof={ddof})", rows.type)
    name = call.let("centered", f"{rows.at(SUM)} - mean({rows.code}, axis=1, keepdims=true)")
    count = f"{rows.type}({(rows.shape[1] - Extent(ddof)).code()})"
    return Value(f"{name} @ {name}' / {count}", rows.type, rows.shape[:1] * 2, PRODUCT)


def _variables(call):
    """The arguments as rows of observations: those of a matrix, or two vectors."""
    value = floating(call.value("m"))
    if call.has("other"):
        other = floating(call.value("other"))
        if value.rank != 1 or other.rank != 1:
            call.refuse("import-rank", f"np.{call.name} of two matrices")
        return Value(call.let("rows", f"[{value.code}, {other.code}]"), "f64", (Extent(2), *value.shape))
    if value.rank > 2:
        call.refuse("import-rank", f"np.{call.name} of {value.rank} dimensions")
    return transposed(value) if value.rank == 2 and not call.literal("rowvar", True) else value


@numpy("corrcoef", "m other= rowvar=")
def _corrcoef(call):
    value = _variables(call)
    if value.rank != 2:
        call.refuse("import-rank", "np.corrcoef of one vector")
    centered = call.let("centered", f"{value.at(SUM)} - mean({value.code}, axis=1, keepdims=true)")
    product_ = call.let("products", f"{centered} @ {centered}'")
    scale = call.let("scale", f"sqrt(diag({product_}))")
    return Value(f"{product_} / outer({scale}, {scale})", "f64", value.shape[:1] * 2, PRODUCT)


@numpy("histogram", "a bins= range= weights= density=")
def _histogram(call):
    """Counts or sums of weights between equal edges, and the edges; NumPy's own arithmetic decides the bin of each element."""
    value, translator = floating(call.value("a")), call.translator
    bins = translator.plain(call.given["bins"]) if call.has("bins") and not isinstance(call.given["bins"], (ast.List, ast.Tuple)) else text_of(10)
    if value.rank != 1 or bins.rank or bins.type[0] not in "iu" or call.has("range") and call.has("weights"):
        call.refuse("import-option", "np.histogram of a matrix, with edges, or with a range and weights")
    bins = translator.extent(call.given["bins"]) if call.has("bins") else Extent(10)
    bounds = call.any_value("range").items if call.has("range") else None
    if bounds is not None and len(bounds) != 2:
        call.refuse("import-option", "np.histogram with a range that is not a pair")
    low, high = (floating(bound).code for bound in bounds) if bounds else (call.let("low", f"min({value.code})"), call.let("high", f"max({value.code})"))
    number = bins.code()
    edges = Value(f"linspace({low}, {high}, {number} + 1)", "f64", (bins + Extent(1),))
    if not call.has("weights"):
        counts = Value(f"histogram({value.code}, {low}, {high}, {number})", "i64", (bins,))
        if call.literal("density", False):
            name = call.let("counts", counts.code)
            counts = Value(f"{name} / diff({edges.code}) / f64(sum({name}))", "f64", (bins,), PRODUCT)
        return Value("", "tuple", items=[counts, edges])
    counted = call.let("sums", f"histogram({value.code}, {low}, {high}, {number}, weights={floating(call.value('weights')).code})")
    return Value("", "tuple", items=[Value(counted, "f64", (bins,)), edges])


@numpy("bincount", "x weights= minlength=")
def _bincount(call):
    value = call.value("x")
    if not call.has("minlength"):
        call.refuse("import-option", "np.bincount without minlength: its size depends on data")
    number = call.translator.extent(call.given["minlength"])
    weights = f", weights={floating(call.value('weights')).code}" if call.has("weights") else ""
    return Value(f"bincount({value.code}, {number.code()}{weights})", "f64" if weights else "i64", (number,))


@numpy("searchsorted", "a v side=")
def _searchsorted(call):
    value, side = call.value("v"), call.literal("side", "left")
    return Value(f"searchsorted({call.value('a').code}, {value.code}, side={side})", "i64", value.shape)


@numpy("interp", "x xp fp")
def _interp(call):
    x, places, values = (floating(call.value(parameter)) for parameter in ("x", "xp", "fp"))
    return Value(f"interp({x.code}, {places.code}, {values.code})", "f64", x.shape)


@numpy("allclose isclose", "a b rtol= atol=")
def _close(call):
    a, b, _ = unified(floating(call.value("a")), floating(call.value("b")))
    options = "".join(f", {name}={call.value(name).code}" for name in ("rtol", "atol") if call.has(name))
    return Value(f"{call.name}({a.code}, {b.code}{options})", "bool", () if call.name == "allclose" else broadcast(call.node, a.shape, b.shape))


@numpy("array_equal", "a b")
def _array_equal(call):
    a, b, _ = unified(call.value("a"), call.value("b"))
    if a.shape != b.shape:
        call.refuse("import-shape", "np.array_equal of arrays whose shapes are not known to be equal")
    return Value(f"all({a.at(SUM)} == {b.at(SUM)})", "bool")


@numpy("kron", "a b")
def _kron(call):
    a, b, type_ = unified(call.value("a"), call.value("b"))
    if a.rank != b.rank:
        call.refuse("import-rank", "np.kron of different numbers of dimensions")
    return Value(f"kron({a.code}, {b.code})", type_, tuple(x.multiply(y) for x, y in zip(a.shape, b.shape)))


@numpy("quantile percentile", "a q axis=")
def _quantile(call):
    value, q = floating(call.value("a")), call.any_value("q")
    axis = f", axis={call.axis(value.rank)}" if call.has("axis") else ""
    shape = tuple(e for i, e in enumerate(value.shape) if i != call.axis(value.rank)) if axis else ()

    def at(place):
        return f"quantile({value.code}, {place.code if call.name == 'quantile' else f'{place.at(PRODUCT)} / 100.0'}{axis})"
    if q.items is not None and 0 < len(q.items) <= 64 and not any(item.rank or item.items is not None for item in q.items):
        return Value(f"[{', '.join(at(floating(item)) for item in q.items)}]", value.type, (Extent(len(q.items)), *shape))
    if call.translator.require_plain(q, call.node).rank:
        call.refuse("import-rank", f"np.{call.name} of several places at once")
    return Value(at(floating(q)), value.type, shape)


@numpy("ptp", "a axis=", method=True)
def _ptp(call):
    value = call.value("a")
    axis = f", axis={call.axis(value.rank)}" if call.has("axis") else ""
    shape = tuple(e for i, e in enumerate(value.shape) if i != call.axis(value.rank)) if axis else ()
    return Value(f"max({value.code}{axis}) - min({value.code}{axis})", value.type, shape, SUM)
