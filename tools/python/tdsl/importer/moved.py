"""Elements that are put in, left out, found or laid out anew."""
import ast
import dataclasses

from .elements import OPERATORS, all_places, places_where
from .errors import Place
from .extents import Extent
from .structure import _listed, mesh
from .table import METHODS, numpy, reshaped, total
from .values import POSTFIX, PRODUCT, SUM, Value, cast, floating, unified


def _vector(call, parameter="a"):
    value = call.value(parameter)
    if value.rank != 1:
        call.refuse("import-rank", f"np.{call.short} of {value.rank} dimensions")
    return dataclasses.replace(value, code=value.code if value.code.isidentifier() else call.let("elements", value.code), level=POSTFIX)


def _elements(call, parameter, type_):
    """The argument as a vector of this type: a list, a number or an array."""
    node = call.given[parameter]
    value = _listed(call, node) if isinstance(node, (ast.List, ast.Tuple)) else call.value(parameter)
    if value.rank > 1:
        call.refuse("import-rank", f"np.{call.short} with {value.rank} dimensions")
    common = unified(Value("", type_, (Extent(1),)), value)[2]
    value = cast(value, common)
    return value if value.rank else Value(f"[{value.code}]", common, (Extent(1),))


def _joined(parts, type_):
    parts = [part for part in parts if part is not None]
    length = parts[0][1]
    for _, extent in parts[1:]:
        length = length + extent
    return Value(f"concat({', '.join(code for code, _ in parts)}, axis=0)", type_, (length,))


@numpy("append", "a values axis=")
def _append(call):
    value = _vector(call)
    added = _elements(call, "values", value.type)
    value = cast(value, added.type)
    return _joined([(value.code, value.shape[0]), (added.code, added.shape[0])], added.type)


def _place(call, value):
    """A place in a vector, negative literals from the end."""
    place = call.value("place")
    if place.rank or place.size is None:
        call.refuse("import-option", f"np.{call.short} at other than one place that is known before")
    return place.size + value.shape[0] if place.size.constant is not None and place.size.constant < 0 else place.size


@numpy("insert", "a place values")
def _insert(call):
    value = _vector(call)
    at, added = _place(call, value), _elements(call, "values", value.type)
    added = cast(added, value.type)  # NumPy keeps the array's type
    front = None if at.constant == 0 else (f"{value.code}[:{at.code()}]", at)
    back = None if at == value.shape[0] else (f"{value.code}[{at.code()}:]" if front else value.code, value.shape[0] - at)
    return _joined([front, (added.code, added.shape[0]), back], value.type)


@numpy("delete", "a place")
def _delete(call):
    value = _vector(call)
    at = _place(call, value)
    rest = at + Extent(1)
    front = None if at.constant == 0 else (f"{value.code}[:{at.code()}]", at)
    back = None if rest == value.shape[0] else (f"{value.code}[{rest.code()}:]", value.shape[0] - rest)
    if front is None or back is None:
        code, extent = front or back
        return Value(code, value.type, (extent,))
    return _joined([front, back], value.type)


@numpy("nonzero flatnonzero", "a", method=True)
def _nonzero(call):
    value = call.value("a")
    if call.short == "flatnonzero":
        return places_where(call, reshaped(value, (Extent(-1),), call.node))
    return Value("", "tuple", items=all_places(call, value))


@numpy("extract", "condition a")
def _extract(call):
    condition, value = call.value("condition"), call.value("a")
    if condition.rank != value.rank or condition.type != "bool":
        call.refuse("import-mask", "np.extract with other than a condition of each element")
    return dataclasses.replace(value, mask=condition.code, storage=frozenset(), memory=None)


@numpy("unique", "a return_inverse= return_counts=")
def _unique(call):
    """The different values, ascending; with the group of each element and the sizes of the groups."""
    value, translator = call.value("a"), call.translator
    inverse, counts = call.literal("return_inverse", False), call.literal("return_counts", False)
    if not inverse and not counts:
        return translator.of_found_extent("distinct", f"unique({value.code})", value.type)
    if inverse and value.rank > 1:
        call.refuse("import-rank", "np.unique with return_inverse of a matrix")
    names = [translator.fresh(word) for word in ("keys", "group", "number")]
    translator.local_names[-1].extend(names)
    translator.emit(f"let ({', '.join(names)}) = groups({reshaped(value, (Extent(-1),), call.node).code});")
    shape = (translator.found_extent(names[0]),)
    items = [Value(names[0], value.type, shape)] + [Value(names[1], "i64", value.shape, natural=True)] * bool(inverse)
    return Value("", "tuple", items=items + [Value(names[2], "i64", shape, natural=True)] * bool(counts))


@numpy("indices", "shape")
def _indices(call):
    shape = call.shape("shape")
    if len(shape) != 2:
        call.refuse("import-option", f"np.indices of {len(shape)} dimensions")
    return mesh(call.translator, [Value(call.let("axis", f"iota({extent.code()})"), "i64", (extent,)) for extent in shape], "ij")


def parts_side_by_side(translator, node, name):
    """`np.r_[…]` and `np.c_[…]` of arrays and numbers."""
    entries = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    if any(isinstance(entry, (ast.Slice, ast.Constant)) and not isinstance(getattr(entry, "value", None), (int, float)) for entry in entries):
        raise Place(node, "import-option", f"np.{name} of slices")
    listed = ast.copy_location(ast.List([e if name == "c_" else _as_vector(translator, e) for e in entries], ast.Load()), node)
    function = "column_stack" if name == "c_" else "concatenate"
    from . import names
    entry = names.NUMPY[function]
    return entry.handler(names.Call(translator, node, function, {"arrays": listed}))


def _as_vector(translator, node):
    mark = len(translator.out)
    rank = translator.plain(node).rank
    del translator.out[mark:]
    return node if rank else ast.copy_location(ast.List([node], ast.Load()), node)


@numpy("squeeze", "a axis=", method=True)
def _squeeze(call):
    value = call.value("a")
    axes = [call.axis(value.rank)] if call.has("axis") else [i for i, extent in enumerate(value.shape) if extent.constant == 1]
    words = ["0" if i in axes else ":" for i in range(value.rank)]
    shape = tuple(extent for i, extent in enumerate(value.shape) if i not in axes)
    return Value(f"{value.at(POSTFIX)}[{', '.join(words)}]", value.type, shape, storage=value.storage if shape else frozenset()) if axes else value


@numpy("moveaxis", "a source target")
def _moveaxis(call):
    value = call.value("a")
    source, target = call.axis(value.rank, "source"), call.axis(value.rank, "target")
    axes = [i for i in range(value.rank) if i != source]
    axes.insert(target, source)
    return Value(f"transpose({value.code}, {', '.join(map(str, axes))})", value.type, tuple(value.shape[i] for i in axes), storage=value.storage)


@numpy("broadcast_to", "a shape")
def _broadcast_to(call):
    value, shape = call.value("a"), call.shape("shape")
    zero = {"bool": "false", "f32": "f32(0.0)", "f64": "0.0"}.get(value.type, "0")
    if value.type == "bool":
        call.refuse("import-type", "np.broadcast_to of conditions")
    return Value(f"{value.at(SUM)} + full({zero}, {', '.join(extent.code() for extent in shape)})", value.type, shape, SUM)


@numpy("atleast_1d atleast_2d", "a")
def _atleast(call):
    value = call.value("a")
    if call.name == "atleast_2d" and value.rank < 2:
        return reshaped(value, (Extent(1), value.shape[0] if value.rank else Extent(1)), call.node) if value.rank else Value(f"[[{value.code}]]", value.type, (Extent(1),) * 2)
    return value if value.rank else Value(f"[{value.code}]", value.type, (Extent(1),))


@numpy("rot90", "a k=")
def _rot90(call):
    value, k = call.value("a"), call.literal("k", 1)
    if value.rank != 2 or not isinstance(k, int):
        call.refuse("import-option", "np.rot90 of other than a matrix by a number")
    turned = value.shape if k % 2 == 0 else value.shape[::-1]
    code = [value.code, f"flip({value.at(POSTFIX)}', axis=0)", f"flip({value.code})", f"flip({value.at(POSTFIX)}', axis=1)"][k % 4]
    return Value(code, value.type, turned)


@numpy("cross", "a b")
def _cross(call):
    a, b, type_ = unified(_vector(call, "a"), _vector(call, "b"))
    if a.shape[0].constant != 3 or b.shape[0].constant != 3:
        call.refuse("import-shape", "np.cross of other than two vectors of three elements")
    parts = [f"{a.code}[{i}] * {b.code}[{j}] - {a.code}[{j}] * {b.code}[{i}]" for i, j in ((1, 2), (2, 0), (0, 1))]
    return Value(f"[{', '.join(parts)}]", type_, (Extent(3),))


@numpy("digitize", "x bins right=")
def _digitize(call):
    value = call.value("x")
    side = "left" if call.literal("right", False) else "right"
    return Value(f"searchsorted({call.value('bins').code}, {value.code}, side={side})", "i64", value.shape)


@numpy("isin in1d", "a values")
def _isin(call):
    value, values = call.value("a"), call.given["values"]
    items = [call.translator.plain(node) for node in values.elts] if isinstance(values, (ast.List, ast.Tuple)) else []
    if not 0 < len(items) <= 16 or any(item.rank for item in items):
        call.refuse("import-option", f"np.{call.name} of other than listed numbers", values)
    tests = [call.translator.comparison(ast.Eq(), value, item, call.node) for item in items]
    result = tests[0]
    for test in tests[1:]:
        result = call.translator.operator(OPERATORS["bitwise_or"], result, test, call.node)
    return result


@numpy("nansum nanmean nanmax nanmin", "a")
def _without_nan(call):
    value = floating(call.value("a"))
    valid = f"!isnan({value.code})"
    if call.name in ("nanmax", "nanmin"):
        return Value(f"{call.name[3:]}(where({valid}, {value.code}, {'-inf' if call.name == 'nanmax' else 'inf'}))", value.type)
    code = f"sum(where({valid}, {value.code}, 0.0))"
    return Value(code if call.name == "nansum" else f"{code} / {value.type}(count({valid}))", value.type, (), PRODUCT)


@numpy("nan_to_num", "x nan=")
def _nan_to_num(call):
    value = floating(call.value("x"))
    if value.type != "f64":
        call.refuse("import-type", "np.nan_to_num of f32")
    replaced = call.value("nan").code if call.has("nan") else "0.0"
    largest = "1.7976931348623157e308"
    return Value(f"where(isnan({value.code}), {replaced}, clip({value.code}, -{largest}, {largest}))", value.type, value.shape)


@numpy("heaviside", "x half")
def _heaviside(call):
    value, half = floating(call.value("x")), floating(call.value("half"))
    return Value(f"where({value.at(SUM)} > 0.0, 1.0, where({value.at(SUM)} == 0.0, {half.code}, 0.0))", "f64", value.shape)


@numpy("sinc", "x")
def _sinc(call):
    value = floating(call.value("x"))
    return Value(f"where({value.at(SUM)} == 0.0, 1.0, sin(pi * {value.at(PRODUCT)}) / (pi * where({value.at(SUM)} == 0.0, 1.0, {value.code})))", "f64", value.shape)


def _item(call):
    value = call.value("a")
    if value.rank and total(value.shape).constant != 1:
        call.refuse("import-rank", ".item() of several elements")
    return Value(f"{value.at(POSTFIX)}[{', '.join('0' for _ in value.shape)}]", value.type) if value.rank else value


METHODS["item"] = METHODS["nonzero"].__class__(("a",), (), False, _item)
