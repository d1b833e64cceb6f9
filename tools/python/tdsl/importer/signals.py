"""Windows, convolutions, differences and integrals of samples."""
from .extents import Extent
from .table import numpy
from .values import POSTFIX, PRODUCT, SUM, SUMMED_WIDER, Value, cast, floating, text_of, unified

# {t} is the place of a sample from 0 to 1.
_WINDOWS = {"hanning": "0.5 - 0.5 * cos(2.0 * pi * {t})", "hamming": "0.54 - 0.46 * cos(2.0 * pi * {t})",
            "blackman": "0.42 - 0.5 * cos(2.0 * pi * {t}) + 0.08 * cos(4.0 * pi * {t})", "bartlett": "1.0 - abs(2.0 * {t} - 1.0)"}


@numpy(" ".join(_WINDOWS), "n")
def _window(call):
    number = call.translator.extent(call.given["n"])
    last = (number - Extent(1)).code()
    return Value(_WINDOWS[call.name].format(t=f"iota({number.code()}) / f64({last})"), "f64", (number,), SUM)


@numpy("convolve", "a v mode=")
def _convolve(call):
    return _convolved(call, call.literal("mode", "full"), False)


@numpy("correlate", "a v mode=")
def _correlate(call):
    return _convolved(call, call.literal("mode", "valid"), True)


def _convolved(call, mode, reverse):
    """Sums over the second vector, which is not the longer one."""
    a, b, type_ = unified(call.value("a"), call.value("v"))
    if a.rank != 1 or b.rank != 1 or mode not in ("full", "same", "valid"):
        call.refuse("import-option", f"np.{call.name} other than of two vectors, full, same or valid")
    translator, n, m = call.translator, a.shape[0], b.shape[0]
    if None in (n.constant, m.constant) or n.constant < m.constant:
        translator.emit(f'assert({n.code()} >= {m.code()}, "np.{call.name}: the second vector is longer");')
    texts = [value.code if value.code.isidentifier() else call.let(word, value.code) for value, word in ((a, "signal"), (b, "weights"))]
    start = {"full": Extent(0), "valid": m - Extent(1)}.get(mode, (m - Extent(1)).divide(Extent(2)))
    length = {"full": n + m - Extent(1), "same": n, "valid": n - m + Extent(1)}[mode]
    name, i, j = translator.fresh("convolved"), translator.fresh("i"), translator.fresh("j")
    translator.used -= {i, j}
    place = f"{i} + {start.code()} - {j}" if start.constant != 0 else f"{i} - {j}"
    guard = "" if mode == "valid" else f" where {place} >= 0 && {place} < {n.code()}"
    weight = f"{texts[1]}[{f'{(m - Extent(1)).code()} - {j}' if reverse else j}]"
    translator.emit(f"let {name}[{i}] = sum[{j} in 0..{m.code()}{guard}]({weight} * {texts[0]}[{place}]) for {i} in 0..{length.code()};")
    return Value(name, type_, (length,))


@numpy("trapz trapezoid", "y x= dx=")
def _trapz(call):
    y = floating(call.value("y"))
    if y.rank != 1:
        call.refuse("import-rank", f"np.{call.name} of a matrix")
    name = y.code if y.code.isidentifier() else call.let("samples", y.code)
    means = f"({name}[1:] + {name}[:-1]) / 2.0"
    if not call.has("x"):
        step = floating(call.value("dx")).at(PRODUCT) if call.has("dx") else "1.0"
        return Value(f"{step} * sum({means})", y.type, (), PRODUCT)
    return Value(f"sum(diff({call.value('x').code}) * ({means}))", y.type)


@numpy("gradient", "f *rest axis=")
def _gradient(call):
    """Differences of neighbors, an array for each axis; equal distances."""
    value = floating(call.value("f"))
    name = value.code if value.code.isidentifier() else call.let("samples", value.code)
    steps = [floating(call.translator.plain(node)) for node in call.given.get("rest", [])]
    axes = [call.axis(value.rank)] if call.has("axis") else list(range(value.rank))
    if any(step.rank for step in steps) or len(steps) not in (0, 1, len(axes)):
        call.refuse("import-option", "np.gradient with other than a distance or one for each axis")
    steps = steps * len(axes) if len(steps) == 1 else steps or [text_of(1.0)] * len(axes)
    items = [_difference(name, value, axis, step) for axis, step in zip(axes, steps)]
    return items[0] if len(items) == 1 else Value("", "tuple", items=items)


def _difference(name, value, axis, step):
    def part(low, high):
        return f"{name}[{', '.join(f'{low}:{high}' if i == axis else ':' for i in range(value.rank))}]"
    h = step.at(PRODUCT + 1)
    parts = [f"({part(1, 2)} - {part(0, 1)}) / {h}", f"({part(2, '')} - {part('', -2)}) / (2.0 * {h})", f"({part(-1, '')} - {part(-2, -1)}) / {h}"]
    return Value(f"concat({', '.join(parts)}, axis={axis})", value.type, value.shape)


@numpy("vander", "x N= increasing=")
def _vander(call):
    value = call.value("x")
    if value.rank != 1:
        call.refuse("import-rank", "np.vander of a matrix")
    number = call.translator.extent(call.given["N"]) if call.has("N") else value.shape[0]
    powers = f"iota({number.code()})" if call.literal("increasing", False) else f"iota({(number - Extent(1)).code()}, -1, -1)"
    return Value(f"{value.at(POSTFIX)}[:, newaxis] ** {powers}[newaxis, :]", value.type, (value.shape[0], number), PRODUCT)


@numpy("polyval", "p x")
def _polyval(call):
    """Horner's rule."""
    p, x = floating(call.value("p")), floating(call.value("x"))
    if p.rank != 1:
        call.refuse("import-rank", "np.polyval of other than a vector")
    translator, k = call.translator, call.translator.fresh("k")
    translator.used.discard(k)
    name = translator.fresh("polynomial")
    translator.local_names[-1].append(name)
    zero = f"zeros({', '.join(e.code() for e in x.shape)})" if x.rank else "0.0"
    translator.emit(f"var {name} = {zero};")
    translator.emit(f"for {k} in 0..{p.shape[0].code()} {{")
    translator.emit(f"  {name} = {name} * {x.at(PRODUCT + 1)} + {p.at(POSTFIX)}[{k}];")
    translator.emit("}")
    return Value(name, "f64", x.shape)


@numpy("polyfit", "x y deg")
def _polyfit(call):
    x, y = floating(call.value("x")), floating(call.value("y"))
    number = call.translator.extent(call.given["deg"]) + Extent(1)
    powers = f"{x.at(POSTFIX)}[:, newaxis] ** iota({(number - Extent(1)).code()}, -1, -1)[newaxis, :]"
    return Value(f"lstsq({powers}, {y.code})", "f64", (number, *y.shape[1:]))


def accumulated(call, name):
    """`np.maximum.accumulate` and its like."""
    value, axis = call.value("a"), call.axis(call.value("a").rank, default=0)
    type_ = "i64" if name in ("cumsum", "cumprod") and value.type in SUMMED_WIDER else value.type
    return Value(f"{name}({value.code}{f', axis={axis}' if value.rank > 1 else ''})", type_, value.shape)


for _operator, _name in {"maximum": "cummax", "minimum": "cummin", "add": "cumsum", "multiply": "cumprod"}.items():
    numpy(f"{_operator}.accumulate", "a axis=")(lambda call, _name=_name: accumulated(call, _name))


@numpy("ediff1d", "a")
def _ediff1d(call):
    value = call.value("a")
    if value.rank != 1:
        call.refuse("import-rank", "np.ediff1d of a matrix")
    return Value(f"diff({value.code})", value.type, (value.shape[0] - Extent(1),))


@numpy("logspace geomspace", "a b num=")
def _logspace(call):
    a, b = floating(call.value("a")), floating(call.value("b"))
    number = call.translator.extent(call.given["num"]) if call.has("num") else Extent(50)
    if call.name == "logspace":
        return Value(f"10.0 ** linspace({a.code}, {b.code}, {number.code()})", "f64", (number,), PRODUCT)
    return cast(Value(f"exp(linspace(log({a.code}), log({b.code}), {number.code()}))", "f64", (number,)), "f64")
