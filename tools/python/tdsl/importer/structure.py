"""Constructors, and functions that move elements."""
import ast
import dataclasses

from .arguments import entry
from .errors import Place
from .extents import Extent
from .table import METHODS, numpy, reshaped, transposed
from .values import POSTFIX, Value, broadcast, cast, floating, text_of, unified

def filled(call, shape, type_, number):
    """A constructor of zeros or ones, or of another number as text."""
    extents = ", ".join(extent.code() for extent in shape)
    if not shape:
        return Value(cast(text_of(int(number) if type_[0] in "iu" else float(number)), type_).code, type_)
    if type_ == "f64":
        return Value(f"{'ones' if number else 'zeros'}({extents})", type_, shape)
    one = {"bool": "true" if number else "false", "i64": str(number)}.get(type_, f"{type_}({number})")
    return Value(f"full({one}, {extents})", type_, shape)


@numpy("zeros ones empty ndarray", "shape dtype= order=")
def _zeros(call):
    return filled(call, call.shape("shape"), call.type("f64"), int(call.name == "ones"))


@numpy("zeros_like ones_like empty_like", "a dtype=")
def _like(call):
    value = call.value("a")
    return filled(call, value.shape, call.type(value.type), int(call.name == "ones_like"))


@numpy("full full_like", "shape fill_value dtype=")
def _full(call):
    value = call.value("fill_value")
    if call.name == "full_like":
        like = call.value("shape")
        shape, type_ = like.shape, call.type(like.type)
    else:
        shape, type_ = call.shape("shape"), call.type(value.type)
    if value.rank:
        call.refuse("import-rank", "np.full with an array")
    return Value(f"full({cast(value, type_).code}, {', '.join(extent.code() for extent in shape)})", type_, shape)


@numpy("eye identity", "n m= dtype=")
def _eye(call):
    translator = call.translator
    shape = (translator.extent(call.given["n"]), translator.extent(call.given["m" if call.has("m") else "n"]))
    type_ = call.type("f64")
    code = f"eye({shape[0].code()}{', ' + shape[1].code() if call.has('m') else ''})"
    return Value(code, type_, shape) if type_ == "f64" else cast(Value(code, "f64", shape), type_)


@numpy("arange", "start stop= step= dtype=")
def _arange(call):
    bounds = [call.value(p) for p in ("start", "stop", "step") if call.has(p)]
    if any(bound.type not in ("i64", "i32") for bound in bounds):
        call.refuse("import-type", "np.arange of floats: np.linspace")
    extents = [call.translator.extent(call.given[p]) for p in ("start", "stop", "step") if call.has(p)]
    low, high = (Extent(0), extents[0]) if len(extents) == 1 else extents[:2]
    length = high - low
    if len(extents) == 3:
        step = extents[2].constant
        if not step:
            call.refuse("import-step", "np.arange with a step that is computed or 0")
        length, size = (length, step) if step > 0 else (low - high, -step)
        length = (length + Extent(size - 1)).divide(Extent(size)) if size > 1 else length
    code = f"iota({', '.join(extent.code() for extent in extents)})"
    return cast(Value(code, "i64", (length,)), call.type("i64"))


@numpy("linspace", "a b num= dtype=")
def _linspace(call):
    a, b = floating(call.value("a")), floating(call.value("b"))
    number = call.translator.extent(call.given["num"]) if call.has("num") else Extent(50)
    return cast(Value(f"linspace({a.code}, {b.code}, {number.code()})", "f64", (number,)), call.type("f64"))


@numpy("copy", "a", method=True)
def _copy(call):
    return dataclasses.replace(call.value("a"), storage=frozenset(), memory=None)


@numpy("array asarray ascontiguousarray", "a dtype= copy= order=")
def _array(call):
    node = call.given["a"]
    if isinstance(node, (ast.List, ast.Tuple)):
        value = _listed(call, node)
    elif (given := call.any_value("a")).items is not None:
        value = array_of(call, given.items, node)
    else:
        value = call.translator.require_plain(given, node)
        value = dataclasses.replace(value, storage=frozenset(), memory=None, listed=False) if call.name == "array" else dataclasses.replace(value, listed=False)
    return cast(value, call.type(value.type))


def _listed(call, node):
    return array_of(call, [_listed(call, e) if isinstance(e, (ast.List, ast.Tuple)) else call.translator.expression(e) for e in node.elts], node)


def array_of(call, items, node):
    """The array of these values, which are scalars or arrays of one shape, or tuples of them."""
    items = [array_of(call, item.items, node) if item.items is not None else call.translator.require_plain(item, node) for item in items]
    if not items:
        call.refuse("import-shape", "an empty array", node)
    type_, shape = items[0].type, items[0].shape
    for item in items[1:]:
        if item.rank != len(shape):
            call.refuse("import-shape", "an array of arrays of different ranks", node)
        shape = broadcast(node, shape, item.shape)
        type_ = unified(dataclasses.replace(items[0], type=type_, literal=False), dataclasses.replace(item, literal=False))[2]
    items = [cast(item, type_) for item in items]
    return Value(f"[{', '.join(item.code for item in items)}]", type_, (Extent(len(items)),) + shape)


def rows_of_list(call):
    """The array that a list of arrays is, if it is one already."""
    node = call.given["arrays"]
    value = None if isinstance(node, (ast.Tuple, ast.List)) else call.any_value("arrays")
    return dataclasses.replace(value, listed=False) if value is not None and value.listed and value.mask is None else None


def values_of(call, parameter):
    """The arrays that an argument lists."""
    node = call.given[parameter]
    if isinstance(node, (ast.Tuple, ast.List)):
        items = [_listed(call, e) if isinstance(e, (ast.List, ast.Tuple)) else call.translator.plain(e) for e in node.elts]
    else:
        items = call.any_value(parameter).items
    if not items:
        call.refuse("import-call", f"np.{call.name} of something other than a list of arrays", node)
    return [call.translator.require_plain(item, call.node) for item in items]


def _astype(call):
    value = call.value("a")
    return dataclasses.replace(cast(value, call.type("f64")), storage=frozenset(), memory=None)


METHODS["astype"] = entry("a dtype copy=", _astype)


@numpy("reshape", "a newshape")
def _reshape(call):
    return reshaped(call.value("a"), call.shape("newshape"), call.node)


def _reshape_method(call):
    if "rest" in call.given:
        shape = tuple(call.translator.extent(node) for node in (call.given["newshape"], *call.given["rest"]))
        return reshaped(call.value("a"), shape, call.node)
    return _reshape(call)


METHODS["reshape"] = entry("a newshape *rest", _reshape_method)


@numpy("ravel", "a", method=True)
def _ravel(call):
    return reshaped(call.value("a"), (Extent(-1),), call.node)


def _flatten(call):
    return dataclasses.replace(_ravel(call), storage=frozenset(), memory=None)


METHODS["flatten"] = entry("a", _flatten)


@numpy("transpose", "a axes=")
def _transpose(call):
    value = call.value("a")
    return _permuted(call, value, call.literal("axes")) if call.has("axes") else transposed(value)


def _permuted(call, value, axes):
    if sorted(axis % value.rank for axis in axes) != list(range(value.rank)):
        call.refuse("import-option", "axes that are not a permutation")
    axes = [axis % value.rank for axis in axes]
    code = f"transpose({value.code}, {', '.join(map(str, axes))})"
    return Value(code, value.type, tuple(value.shape[axis] for axis in axes), storage=value.storage)


def _transpose_method(call):
    if not call.has("axes"):
        return transposed(call.value("a"))
    axes = call.literal("axes")
    return _permuted(call, call.value("a"), axes if isinstance(axes, tuple) else [axes, *(ast.literal_eval(node) for node in call.given.get("rest", []))])


METHODS["transpose"] = entry("a axes= *rest", _transpose_method)


@numpy("swapaxes", "a first second", method=True)
def _swapaxes(call):
    value = call.value("a")
    axes = list(range(value.rank))
    i, j = call.axis(value.rank, "first"), call.axis(value.rank, "second")
    axes[i], axes[j] = axes[j], axes[i]
    return _permuted(call, value, axes)


@numpy("expand_dims", "a axis")
def _expand_dims(call):
    value = call.value("a")
    axis = call.axis(value.rank + 1)
    words = [":"] * value.rank
    words.insert(axis, "newaxis")
    shape = value.shape[:axis] + (Extent(1),) + value.shape[axis:]
    return Value(f"{value.at(POSTFIX)}[{', '.join(words)}]", value.type, shape, storage=value.storage)


@numpy("flip", "a axis=")
def _flip(call):
    value = call.value("a")
    option = f", axis={call.axis(value.rank)}" if call.has("axis") else ""
    return Value(f"flip({value.code}{option})", value.type, value.shape, storage=value.storage)


@numpy("flipud fliplr", "a")
def _flip_named(call):
    value = call.value("a")
    return Value(f"flip({value.code}, axis={int(call.name == 'fliplr')})", value.type, value.shape, storage=value.storage)


@numpy("roll", "a shift axis=")
def _roll(call):
    value = call.value("a")
    shift = call.any_value("shift")
    shifts = shift.items if shift.items is not None else [shift]
    if not call.has("axis"):
        if len(shifts) != 1:
            call.refuse("import-option", "np.roll by several distances without axes")
        return Value(f"roll({value.code}, {shifts[0].code})", value.type, value.shape)
    axes = call.literal("axis")
    axes = list(axes) if isinstance(axes, (tuple, list)) else [axes]
    if len(shifts) not in (1, len(axes)) or not all(-value.rank <= axis < value.rank for axis in axes):
        call.refuse("import-option", "np.roll by other than a distance for each axis")
    code = value.code
    for amount, axis in zip(shifts * len(axes) if len(shifts) == 1 else shifts, axes):
        if amount.size is None or amount.size.constant != 0:
            code = f"roll({code}, {amount.code}, axis={axis % value.rank})"
    return Value(code, value.type, value.shape)


@numpy("triu tril", "a k=")
def _triangle(call):
    value, k = call.value("a"), call.literal("k", 0)
    if k == 0:
        return Value(f"{call.name}({value.code})", value.type, value.shape)
    if value.rank != 2:
        call.refuse("import-rank", f"np.{call.name} of {value.rank} dimensions with k")
    name = call.translator.fresh("upper" if call.name == "triu" else "lower")
    i, j = call.translator.fresh("i"), call.translator.fresh("j")
    call.translator.used -= {i, j}
    bound = f"{i} + {k}" if k > 0 else f"{i} - {-k}"
    relation = "<=" if call.name == "triu" else ">="
    call.translator.emit(f"let {name}[{i}, {j}] = {value.at(POSTFIX)}[{i}, {j}] where {bound} {relation} {j};")
    return Value(name, value.type, value.shape)


@numpy("concatenate hstack vstack column_stack", "arrays axis=")
def _concatenate(call):
    node = call.given["arrays"]
    rows = rows_of_list(call)
    if rows is not None and call.name in ("vstack", "column_stack") and rows.rank == 2:
        return rows if call.name == "vstack" else transposed(rows)
    values = values_of(call, "arrays")
    if call.name == "column_stack":
        values = [reshaped(v, (v.shape[0], Extent(1)), node) if v.rank == 1 else v for v in values]
    if call.name == "vstack":
        values = [reshaped(v, (Extent(1), v.shape[0]), node) if v.rank == 1 else v for v in values]
    axis = call.axis(values[0].rank, default=0) if call.name not in ("hstack", "column_stack") else int(values[0].rank > 1)
    type_, length = values[0].type, values[0].shape[axis]
    for value in values[1:]:
        type_ = unified(dataclasses.replace(values[0], type=type_), value)[2]
        length = length + value.shape[axis]
    code = ", ".join(cast(value, type_).code for value in values)
    shape = values[0].shape[:axis] + (length,) + values[0].shape[axis + 1:]
    return Value(f"concat({code}, axis={axis})" if len(values) > 1 else code, type_, shape)


_OUTSIDE = {"constant": None, "edge": "edge", "reflect": "reflect", "symmetric": "symmetric", "wrap": "periodic"}


@numpy("pad", "a width mode= constant_values=")
def _pad(call):
    value, mode = call.value("a"), call.literal("mode", "constant")
    node = call.given["width"]
    pairs = node.elts if isinstance(node, ast.Tuple) else [node]
    if mode not in _OUTSIDE or value.rank > 2 or len(pairs) == 2 and value.rank == 2 and not all(isinstance(p, ast.Tuple) for p in pairs):
        call.refuse("import-option", "np.pad other than of a vector or matrix, by a width, a pair or a pair for each dimension, in a known mode")
    if all(isinstance(pair, ast.Tuple) for pair in pairs):
        widths = [[call.translator.extent(part) for part in pair.elts] for pair in (pairs if len(pairs) == value.rank else pairs * value.rank)]
    else:
        widths = [[call.translator.extent(pair) for pair in (pairs[0], pairs[-1])]] * value.rank
    outside = _OUTSIDE[mode]
    if outside is None:
        constant = call.value("constant_values") if call.has("constant_values") else text_of(0)
        outside = "false" if value.type == "bool" and constant.code in ("0", "false") else cast(constant, value.type).code
    shape = tuple(low + extent + high for extent, (low, high) in zip(value.shape, widths))
    name = call.translator.fresh("padded")
    indices = [call.translator.fresh("ij"[axis]) for axis in range(value.rank)]
    call.translator.used -= set(indices)
    places = ", ".join((Extent.of(i) - low).code() if low.constant != 0 else f"{i} + 0" for i, (low, _) in zip(indices, widths))  # bare: within A
    ranges = ", ".join(f"{i} in 0..{extent.code()}" for i, extent in zip(indices, shape))
    call.translator.emit(f"let {name}[{', '.join(indices)}] = pad({value.code}, {outside})[{places}] for {ranges};")
    return Value(name, value.type, shape)


@numpy("fill_diagonal", "a value")
def _fill_diagonal(call):
    translator, node = call.translator, call.given["a"]
    base, value = call.value("a"), call.value("value")
    binding = translator.binding(node.id) if isinstance(node, ast.Name) else None
    if binding is None or binding.target is None or binding.fixed or base.rank != 2 or value.rank or base.shape[0] != base.shape[1]:
        call.refuse("import-target", "np.fill_diagonal other than of a square matrix that is a variable, with a number")
    translator.changed_in_place(node.id, binding, call.node)
    i = translator.fresh("i")
    translator.used.discard(i)
    translator.emit(f"{binding.target}[{i}, {i}] = {translator.stored_value(value, base, call.node).code} for {i} in 0..{base.shape[0].code()};")
    return Value("", "none")


@numpy("stack", "arrays axis=")
def _stack(call):
    rows = rows_of_list(call)
    if rows is not None and call.axis(rows.rank, default=0) == 0:
        return rows
    values = values_of(call, "arrays")
    axis = call.axis(values[0].rank + 1, default=0)
    shape = values[0].shape[:axis] + (Extent(len(values)),) + values[0].shape[axis:]
    return Value(f"stack({', '.join(value.code for value in values)}, axis={axis})", values[0].type, shape)


@numpy("repeat tile", "a count axis=")
def _repeat(call):
    value, count = call.value("a"), call.translator.extent(call.given["count"])
    if call.name == "repeat" and value.rank > 1:
        if not call.has("axis"):
            value = reshaped(value, (Extent(-1),), call.node)
        axis = call.axis(value.rank, default=0)
        shape = value.shape[:axis] + (value.shape[axis].multiply(count),) + value.shape[axis + 1:]
        return Value(f"repeat({value.code}, {count.code()}, axis={axis})", value.type, shape)
    if value.rank != 1:
        call.refuse("import-rank", f"np.{call.name} of {value.rank} dimensions")
    return Value(f"{call.name}({value.code}, {count.code()})", value.type, (value.shape[0].multiply(count),))


@numpy("take", "a indices axis=")
def _take(call):
    value, index = call.value("a"), call.value("indices")
    if value.rank > 1 and not call.has("axis"):
        call.refuse("import-option", "np.take of a matrix without an axis")
    axis = call.axis(value.rank, default=0)
    return Value(f"take({value.code}, {index.code}, axis={axis})", value.type, value.shape[:axis] + index.shape + value.shape[axis + 1:])


@numpy("meshgrid", "a b indexing= sparse=")
def _meshgrid(call):
    x, y = call.value("a"), call.value("b")
    order = call.literal("indexing", "xy")
    if x.rank != 1 or y.rank != 1 or order not in ("xy", "ij") or call.literal("sparse", False):
        call.refuse("import-option", "np.meshgrid other than of two vectors, xy or ij")
    return mesh(call.translator, [x, y], order)


def mesh(translator, axes, order):
    """The coordinates of a grid's points, an array for each axis."""
    first, second = axes if order == "ij" else axes[::-1]
    shape = first.shape + second.shape
    items = []
    for axis in axes:
        name, i, j = (translator.fresh(word) for word in ("grid", "i", "j"))
        translator.used -= {i, j}
        place = i if axis is first else j
        translator.emit(f"let {name}[{i}, {j}] = {axis.at(POSTFIX)}[{place}] for {i} in 0..{shape[0].code()}, {j} in 0..{shape[1].code()};")
        items.append(Value(name, axis.type, shape))
    return Value("", "tuple", items=items)


def mesh_of_slices(translator, node):
    """`np.mgrid[a:b, c:d]`."""
    entries = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    if len(entries) != 2 or not all(isinstance(entry, ast.Slice) and entry.upper is not None and entry.step is None for entry in entries):
        raise Place(node, "import-option", "np.mgrid other than of two ranges of integers")
    axes = []
    for entry in entries:
        low = Extent(0) if entry.lower is None else translator.extent(entry.lower)
        high = translator.extent(entry.upper)
        name = translator.fresh("axis")
        translator.emit(f"let {name} = iota({low.code()}, {high.code()});")
        axes.append(Value(name, "i64", (high - low,)))
    return mesh(translator, axes, "ij")
