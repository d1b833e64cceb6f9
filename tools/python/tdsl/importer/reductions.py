"""Reductions, running results and sorting."""
import dataclasses

from .arguments import entry
from .elements import two
from .extents import Extent
from .table import PYTHON, Call, numpy, reshaped
from .values import PRODUCT, Value, cast, floating

_REDUCTIONS = {"amax": "max", "amin": "min", "max": "max", "min": "min", "count_nonzero": "count", "var": "variance", "average": "mean"}
_FIXED_TYPES = {"argmax": "i64", "argmin": "i64", "count": "i64", "any": "bool", "all": "bool"}


@numpy("sum mean max min amax amin prod std var any all argmax argmin count_nonzero average median", "a axis= dtype= keepdims= ddof=", method=True)
def _reduce(call):
    value = call.any_value("a")
    if value.items is not None or value.type == "none":
        call.refuse("import-tuple", "a reduction of a tuple")
    name = _REDUCTIONS.get(call.short, call.short)
    if value.mask is not None:
        return _masked(call, name, value)
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
        type_ = "f32" if value.type == "f32" else "f64"
    else:
        type_ = _FIXED_TYPES.get(name, "i64" if name in ("sum", "prod") and value.type in ("bool", "i32") else value.type)
    if not value.rank:
        return value
    return Value(f"{name}({value.code}{options})", type_, shape)


PYTHON["sum"] = entry("a", lambda call: _reduce(as_reduction(call, "sum")))


def _masked(call, name, value):
    if call.has("axis") or call.has("keepdims") or call.has("ddof"):
        call.refuse("import-mask", "a reduction of a[condition] with options")
    if name == "sum":
        return Value(f"sum(where({value.mask}, {value.code}, {_zero(value)}))", "i64" if value.type in ("bool", "i32") else value.type)
    if name == "mean":
        type_ = "f32" if value.type == "f32" else "f64"
        code = f"sum(where({value.mask}, {value.code}, {_zero(value)}))"
        return Value(f"{code} / {type_}(count({value.mask}))", type_, level=PRODUCT)
    if name in ("max", "min") and value.type in ("f32", "f64"):
        return Value(f"{name}(where({value.mask}, {value.code}, {'-inf' if name == 'max' else 'inf'}))", value.type)
    call.refuse("import-mask", f"{name} of a[condition]")


def _zero(value):
    return "0.0" if value.type in ("f32", "f64") else "0"


@numpy("cumsum cumprod", "a axis=", method=True)
def _running(call):
    value = call.value("a")
    if value.rank > 1 and not call.has("axis"):
        value = reshaped(value, (Extent(-1),), call.node)
    option = f", axis={call.axis(value.rank)}" if call.has("axis") else ""
    return Value(f"{call.short}({value.code}{option})", "i64" if value.type in ("bool", "i32") else value.type, value.shape)


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


@numpy("linalg.norm", "x")
def _norm(call):
    value = floating(call.value("x"))
    return Value(f"norm({value.code})", value.type)


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
    other = Call(call.translator, call.node, short, call.given)
    if call.translator.plain(call.given["a"]).rank != 1:
        call.refuse("import-rank", f"{short}() of an array that is not a vector")
    return other


PYTHON.update({name: entry("a b= *rest", _extreme) for name in ("max", "min")})
