"""Fourier transforms: `numpy.fft`."""
import numpy as np

from .extents import Extent
from .table import COMPLEX, numpy
from .values import Value, cast, floating, is_complex

COMPLEX |= {f"fft.{name}" for name in "fft ifft fft2 ifft2 fftn ifftn irfft irfft2 irfftn fftshift ifftshift".split()}
_DOUBLE = int(np.__version__.split(".")[0]) < 2  # this NumPy transforms in double precision whatever the argument is


def _operand(call):
    value = floating(call.value("a"))
    if _DOUBLE:
        value = cast(value, "c128" if is_complex(value) else "f64")
    if not value.rank:
        call.refuse("import-rank", f"np.{call.name} of a scalar")
    return value


def _complex_of(type_):
    return {"f64": "c128", "f32": "c64"}.get(type_, type_)


def _real_of(type_):
    return {"c128": "f64", "c64": "f32"}.get(type_, type_)


def _norm(call):
    norm = call.literal("norm", "backward")
    if norm not in ("backward", "ortho", "forward"):
        call.refuse("import-option", f"the norm {norm}")
    return "" if norm == "backward" else f", norm={norm}"


def _half(extent):
    """The number of elements of the transform of this many reals."""
    return extent.divide(Extent(2)) + Extent(1)


def _replaced(shape, axis, extent):
    return shape[:axis] + (extent,) + shape[axis + 1:]


@numpy("fft.fft fft.ifft fft.rfft fft.irfft", "a n= axis= norm=")
def _along(call):
    """Along one axis, whose lines `n` cuts or continues with zeros."""
    value = _operand(call)
    axis = call.axis(value.rank, default=-1)
    given = call.translator.extent(call.given["n"]) if call.has("n") else None
    length = given if given is not None else value.shape[axis]
    if call.short == "rfft":
        type_, length = _complex_of(value.type), _half(length)
    elif call.short == "irfft":
        type_, length = _real_of(value.type), length if given is not None else (length - Extent(1)).times(2)
    else:
        type_ = _complex_of(value.type)
    options = (f", n={given.code()}" if given is not None else "") + (f", axis={axis}" if axis != value.rank - 1 else "")
    return Value(f"{call.short}({value.code}{options}{_norm(call)})", type_, _replaced(value.shape, axis, length))


def _axes(call, rank):
    default = tuple(range(rank)) if call.short.endswith("n") else (-2, -1)
    axes = tuple(axis % rank for axis in call.literal("axes", default))
    if rank < 2 and call.short.endswith("2") or len(set(axes)) < len(axes) or not axes:
        call.refuse("import-option", f"np.{call.name} along axes {axes} of {rank} dimensions")
    return axes


def _listed(axes):
    return str(axes[0]) if len(axes) == 1 else f"({', '.join(map(str, axes))})"


@numpy("fft.fft2 fft.ifft2 fft.fftn fft.ifftn", "a axes= norm=")
def _along_all(call):
    value = _operand(call)
    axes, name = _axes(call, value.rank), call.short.rstrip("2n")
    code = f"{name}n({value.code}{_norm(call)})" if len(axes) == value.rank else f"{name}({value.code}, axis={_listed(axes)}{_norm(call)})"
    return Value(code, _complex_of(value.type), value.shape)


@numpy("fft.rfft2 fft.rfftn", "a axes= norm=")
def _reals_along_all(call):
    """The last of the axes first, whose lines are real."""
    value = _operand(call)
    *others, last = _axes(call, value.rank)
    code = f"rfft({value.code}, axis={last}{_norm(call)})"
    code = f"fft({code}, axis={_listed(others)}{_norm(call)})" if others else code
    return Value(code, _complex_of(value.type), _replaced(value.shape, last, _half(value.shape[last])))


@numpy("fft.irfft2 fft.irfftn", "a s= axes= norm=")
def _to_reals_along_all(call):
    value = _operand(call)
    *others, last = _axes(call, value.rank)
    length, option = (value.shape[last] - Extent(1)).times(2), ""
    if call.has("s"):
        sizes = call.shape("s")
        if len(sizes) != len(others) + 1 or any(size != value.shape[axis] for size, axis in zip(sizes, others)):
            call.refuse("import-option", f"np.{call.name} that cuts or continues lines")
        length, option = sizes[-1], f", n={sizes[-1].code()}"
    code = f"ifft({value.code}, axis={_listed(others)}{_norm(call)})" if others else value.code
    return Value(f"irfft({code}{option}, axis={last}{_norm(call)})", _real_of(value.type), _replaced(value.shape, last, length))


@numpy("fft.fftshift fft.ifftshift", "a axes=")
def _shifted(call):
    value = call.value("a")
    axes = call.literal("axes")
    axes = None if axes is None else tuple(axis % value.rank for axis in (axes if isinstance(axes, (tuple, list)) else (axes,)))
    return Value(f"{call.short}({value.code}{'' if axes is None else f', axis={_listed(axes)}'})", value.type, value.shape)


@numpy("fft.fftfreq fft.rfftfreq", "n d=")
def _frequencies(call):
    number = call.translator.extent(call.given["n"])
    step = f", d={floating(call.value('d')).code}" if call.has("d") else ""
    return Value(f"{call.short}({number.code()}{step})", "f64", (number if call.short == "fftfreq" else _half(number),))
