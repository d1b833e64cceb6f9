"""Reductions, running results and sorting."""
import ast
import dataclasses

from .arguments import entry
from .elements import two
from .extents import Extent
from .structure import array_of
from .table import METHODS, NUMPY, PYTHON, Call, numpy, reshaped
from .values import PRODUCT, SUMMED_WIDER, Value, cast, floating, is_complex, part_type

_REDUCTIONS = {"amax": "max", "amin": "min", "max": "max", "min": "min", "count_nonzero": "count", "var": "variance", "average": "mean"}
_FIXED_TYPES = {"argmax": "i64", "argmin": "i64", "count": "i64", "any": "bool", "all": "bool"}


@numpy("sum mean max min amax amin prod std var any all argmax argmin count_nonzero average median", "a axis= dtype= out= keepdims= ddof= weights=", method=True)
def _reduce(call):
    value = call.any_value("a")
    if value.items is not None:
        value = array_of(call, value.items, call.node)
    if value.type in ("none", "text", "function"):
        call.refuse("import-tuple", "a reduction of something other than an array")
    name = _REDUCTIONS.get(call.short, call.short)
    if value.mask is not None:
        return _masked(call, name, value)
    if call.has("out") or call.has("weights") and call.short != "average":
        call.refuse("import-option", f"`{'out' if call.has('out') else 'weights'}=` of np.{call.short}")
    if call.has("weights"):
        return _weighted(call, value)
    if call.has("dtype"):
        value = cast(value, call.type(value.type))
    axis = call.literal("axis")
    axes = range(value.rank) if axis is None else [a % value.rank for a in (axis if isinstance(axis, tuple) else (axis,))]
    keep = bool(call.literal("keepdims", False))
    if name in ("max", "min") and value.type == "bool":
        call.refuse("import-type", f"{name} of a bool array: any or all")
    shape = tuple(Extent(1) if i in axes else extent for i, extent in enumerate(value.shape) if keep or i not in axes)
    options = f", axis={tuple(axes) if isinstance(axis, tuple) else axis}" if axis is not None else ""
    if keep:
        options += ", keepdims=true" if axis is not None else f", axis={tuple(axes) if value.rank > 1 else 0}, keepdims=true"
    if call.has("ddof"):
        options += f", ddof={call.value('ddof').code}"
    if name in ("mean", "variance", "std", "median"):
        type_ = floating(value).type if name == "mean" else part_type(floating(value).type)
    else:
        type_ = _FIXED_TYPES.get(name, "i64" if name in ("sum", "prod") and value.type in SUMMED_WIDER else value.type)
    if not value.rank:
        return value
    return Value(f"{name}({value.code}{options})", type_, shape)


def _weighted(call, value):
    weights = floating(call.value("weights"))
    if call.has("keepdims") or value.rank != weights.rank or value.rank > 1 and call.has("axis"):
        call.refuse("import-option", "np.average with weights of another shape or with options")
    return Value(f"sum({floating(value).at(PRODUCT)} * {weights.at(PRODUCT + 1)}) / sum({weights.code})", "f64", (), PRODUCT)


def _python_sum(call):
    """Of an array the sum of its rows."""
    value = call.any_value("a")
    if value.items:
        result = value.items[0]
        for item in value.items[1:]:
            result = call.translator.operator(ast.Add, call.translator.require_plain(result, call.node), call.translator.require_plain(item, call.node), call.node)
        return result
    if value.rank > 1 and value.mask is None:
        return Value(f"sum({value.code}, axis=0)", "i64" if value.type in SUMMED_WIDER else value.type, value.shape[1:])
    return _reduce(Call(call.translator, call.node, "sum", {"a": value}))


PYTHON["sum"] = entry("a", _python_sum)


def _masked(call, name, value):
    """A reduction of selected elements, or of selected rows."""
    if call.has("keepdims") or call.has("dtype") or call.has("axis") and call.axis(value.rank) != 0 or call.has("axis") and value.rank > 1 and not value.rows:
        call.refuse("import-mask", "a reduction of a[condition] with options")
    axis = ", axis=0" if value.rows and call.has("axis") else ""
    shape = value.shape[1:] if axis else ()
    if is_complex(value) and name not in ("sum", "prod", "mean", "count"):
        call.refuse("import-complex", f"{name} of a[condition] of complex numbers")
    mask, real = mask_of(value), value.type in ("f32", "f64")
    type_ = floating(value).type
    rest = "" if not value.rows or axis else "".join(f" * {extent.factor()}" for extent in value.shape[1:])
    count = f"count({value.mask}){rest}"

    def filled(neutral, code=value.code):
        return f"where({mask}, {code}, {neutral})"
    if name in ("sum", "prod"):
        result = "i64" if value.type in SUMMED_WIDER else value.type
        neutral = ("0.0" if real else "0") if name == "sum" else "1.0" if real else "1"
        return Value(f"{name}({filled(neutral)}{axis})", result, shape)
    if name == "mean":
        return Value(f"sum({filled('0.0' if real else '0')}{axis}) / {part_type(type_)}({count})", type_, shape, level=PRODUCT)
    if name in ("variance", "std"):
        middle = call.let("middle", f"sum({filled('0.0' if real else '0')}{axis}) / {type_}({count})")
        squares = filled("0.0", f"({value.code} - {middle}) ** 2")
        ddof = f" - {call.value('ddof').code}" if call.has("ddof") else ""
        code = f"sum({squares}{axis}) / {type_}({count}{ddof})"
        return Value(f"sqrt({code})", type_, shape) if name == "std" else Value(code, type_, shape, level=PRODUCT)
    if name in ("any", "all") and value.type == "bool":
        return Value(f"{name}({filled('false' if name == 'any' else 'true')}{axis})", "bool", shape)
    if name == "count":
        return Value(f"sum({filled('false' if value.type == 'bool' else '0')} != {'false' if value.type == 'bool' else '0'}{axis})", "i64", shape)
    least = {"f32": "inf", "f64": "inf", "i64": "9223372036854775807", "i32": "i32(2147483647)"}
    if name in ("max", "min") and value.type in least:
        return Value(f"{name}({filled(least[value.type] if name == 'min' else '-' + least[value.type])}{axis})", value.type, shape)
    call.refuse("import-mask", f"{name} of a[condition]")


def mask_of(value):
    """The condition of a selection with as many dimensions as its array."""
    return f"({value.mask})[:{', newaxis' * (value.rank - 1)}]" if value.rows and value.rank > 1 else value.mask


@numpy("cumsum cumprod", "a axis=", method=True)
def _running(call):
    value = call.value("a")
    if value.rank > 1 and not call.has("axis"):
        value = reshaped(value, (Extent(-1),), call.node)
    option = f", axis={call.axis(value.rank)}" if call.has("axis") else ""
    return Value(f"{call.short}({value.code}{option})", "i64" if value.type in SUMMED_WIDER else value.type, value.shape)


@numpy("diff", "a n= axis=")
def _diff(call):
    value, axis = call.value("a"), call.axis(call.value("a").rank, default=-1)
    if call.literal("n", 1) != 1:
        call.refuse("import-option", "np.diff of higher order")
    shape = tuple(extent - Extent(1) if i == axis else extent for i, extent in enumerate(value.shape))
    return Value(f"diff({value.code}, axis={axis})" if value.rank > 1 else f"diff({value.code})", value.type, shape)


@numpy("sort argsort", "a axis= kind=")
def _sort(call):
    value = call.value("a")
    if call.short == "argsort" and call.literal("kind", "stable") != "stable":
        call.refuse("import-option", "a kind of argsort that is not stable")
    axis = call.axis(value.rank, default=-1)
    return Value(f"{call.short}({value.code}{f', axis={axis}' if value.rank > 1 else ''})", "i64" if call.short == "argsort" else value.type, value.shape)


METHODS["argsort"] = NUMPY["argsort"]


def _extreme(call):
    if "b" not in call.given:
        return _reduce(as_reduction(call, call.short))
    values = [call.value("a"), call.value("b"), *(call.translator.plain(node) for node in call.given.get("rest", []))]
    if any(value.rank for value in values):
        call.refuse("import-rank", f"{call.short}() of arrays: np.{call.short}imum")
    result = values[0]
    for value in values[1:]:
        size = result.size if result.size == value.size else None
        result = dataclasses.replace(two(call, call.short, result, value), size=size, natural=result.natural and value.natural)
    if result.size is None and all(value.size is not None for value in values):
        result.size = Extent.of(result.code)
    return result


def as_reduction(call, short):
    """The same call as a reduction of `a`."""
    value = call.any_value("a")
    if value.items:
        return Call(call.translator, call.node, short, {"a": array_of(call, value.items, call.node)})
    if value.rank != 1:
        call.refuse("import-rank", f"{short}() of an array that is not a vector")
    return Call(call.translator, call.node, short, {"a": value})


PYTHON.update({name: entry("a", lambda call: _reduce(as_reduction(call, call.short))) for name in ("any", "all")})


PYTHON.update({name: entry("a b= *rest", _extreme) for name in ("max", "min")})
