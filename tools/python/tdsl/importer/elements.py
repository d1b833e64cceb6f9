"""Functions of elements: NumPy's, those of `math`, and Python's."""
import ast
import dataclasses

from .arguments import entry
from .table import METHODS, NUMPY, PYTHON, Call, numpy, selected_count, stored
from .values import COMPARISON, PRODUCT, SHORT, SUM, TYPES, UNARY, Value, broadcast, cast, floating, is_complex, of_extent, part_type, text_of, unified

_SAME = {name: name for name in "exp sqrt sin cos tan tanh log log1p expm1 log2 log10 exp2 sinh cosh cbrt floor ceil trunc sign isnan isinf isfinite".split()}
_RENAMED = {"absolute": "abs", "abs": "abs", "fabs": "abs", "rint": "round", "arcsin": "asin", "arccos": "acos", "arctan": "atan", "arcsinh": "asinh",
            "arccosh": "acosh", "arctanh": "atanh", "fix": "trunc", "conjugate": "conj", "conj": "conj", "real": "real", "imag": "imag", "angle": "arg", "positive": ""}
_MATH = {"sqrt", "exp", "log", "sin", "cos", "tan", "tanh", "fabs", "log2", "log10", "log1p", "expm1", "sinh", "cosh", "erf", "erfc", "gamma", "lgamma",
         "isnan", "isinf", "isfinite"}
_KEEP_INTEGERS = {"absolute", "abs", "sign", "conjugate", "conj", "real", "imag", "positive"}
_REAL_RESULTS = {"absolute", "abs", "real", "imag", "angle"}


def _floating(call, value):
    if value.type in SHORT and value.type != "u32":
        call.refuse("import-type", f"np.{call.short} of {value.type}, which NumPy computes in less than f64: convert it")
    return floating(value)


def _elementwise(call):
    name = _RENAMED.get(call.short, call.short) if not call.name.startswith("math.") else {"fabs": "abs"}.get(call.short, call.short)
    value = call.any_value("x")
    if value.mask is not None and not call.has("out"):  # of a selection: still one
        plain = Call(call.translator, call.node, call.name, {"x": dataclasses.replace(value, mask=None, rows=False)})
        return dataclasses.replace(_elementwise(plain), mask=value.mask, rows=value.rows)
    value = call.translator.require_plain(value, call.node)
    if not name or name in ("real", "conj") and not is_complex(value):
        return value
    if call.short not in _KEEP_INTEGERS or value.type == "bool":
        value = _floating(call, value)
    type_ = "bool" if call.short in ("isnan", "isinf", "isfinite") else part_type(value.type) if call.short in _REAL_RESULTS else value.type
    return stored(call, Value(f"{name}({value.code})", type_, value.shape))


for _name in (*_SAME, *_RENAMED):
    NUMPY[_name] = entry("x out=", _elementwise)
for _name in _MATH:
    NUMPY["math." + _name] = entry("x", _elementwise)
PYTHON["abs"] = entry("x", _elementwise)
METHODS.update({name: entry("x", _elementwise) for name in ("conj", "conjugate")})

_TWO = {"maximum": "max", "minimum": "min", "fmod": "%", "arctan2": "atan2", "hypot": "hypot", "copysign": "copysign", "math.atan2": "atan2",
        "math.hypot": "hypot", "math.fmod": "%", "math.copysign": "copysign"}


@numpy(" ".join(_TWO), "a b out=", python="")
def _two(call):
    name = _TWO[call.name]
    a, b = call.value("a"), call.value("b")
    if name not in ("max", "min", "%") or call.name.startswith("math."):
        a, b = _floating(call, a), _floating(call, b)
    return stored(call, two(call, name, a, b))


def two(call, name, a, b):
    shape = broadcast(call.node, a.shape, b.shape)
    a, b, type_ = unified(a, b)
    if name == "%":
        return Value(f"{a.at(PRODUCT)} % {b.at(PRODUCT + 1)}", type_, shape, PRODUCT)
    return Value(f"{name}({a.code}, {b.code})", type_, shape, literal=a.literal and b.literal)


OPERATORS = {"add": ast.Add, "subtract": ast.Sub, "multiply": ast.Mult, "divide": ast.Div, "true_divide": ast.Div, "power": ast.Pow, "float_power": ast.Pow,
              "mod": ast.Mod, "remainder": ast.Mod, "floor_divide": ast.FloorDiv, "matmul": ast.MatMult, "bitwise_and": ast.BitAnd,
              "bitwise_or": ast.BitOr, "bitwise_xor": ast.BitXor, "math.pow": ast.Pow}


@numpy(" ".join(OPERATORS), "a b out=")
def _operator(call):
    a, b = call.value("a"), call.value("b")
    if call.name in ("float_power", "math.pow"):
        a, b = floating(a), floating(b)
    return stored(call, call.translator.operator(OPERATORS[call.name], a, b, call.node))


_COMPARISONS = {"less": ast.Lt, "greater": ast.Gt, "less_equal": ast.LtE, "greater_equal": ast.GtE, "equal": ast.Eq, "not_equal": ast.NotEq}


@numpy(" ".join(_COMPARISONS), "a b")
def _comparison(call):
    return call.translator.comparison(_COMPARISONS[call.name](), call.value("a"), call.value("b"), call.node)


@numpy("logical_and logical_or logical_xor", "a b")
def _logical(call):
    a, b = (_as_bool(call.value(p)) for p in "ab")
    op = {"logical_and": ast.BitAnd, "logical_or": ast.BitOr, "logical_xor": ast.BitXor}[call.name]
    return call.translator.operator(op, a, b, call.node)


@numpy("logical_not", "a")
def _logical_not(call):
    return call.translator.negated(_as_bool(call.value("a")))


def _as_bool(value):
    if value.type == "bool":
        return value
    return Value(f"{value.at(SUM)} != {'0' if value.type[0] in 'iu' else '0.0'}", "bool", value.shape, COMPARISON)


@numpy("negative square reciprocal", "x out=")
def _short(call):
    value = call.value("x")
    if call.name == "negative":
        return stored(call, Value(f"-{value.at(UNARY)}", value.type, value.shape, UNARY))
    op, a, b = (ast.Pow, value, text_of(2)) if call.name == "square" else (ast.Div, text_of(1.0), floating(value))
    return stored(call, call.translator.operator(op, a, b, call.node))


@numpy("deg2rad radians rad2deg degrees", "x")
def _angles(call):
    value = floating(call.value("x"))
    factor = "pi / 180.0" if call.name in ("deg2rad", "radians") else "180.0 / pi"
    return Value(f"{value.at(PRODUCT)} * ({factor})", value.type, value.shape, PRODUCT)


@numpy("where", "c a= b=")
def _where(call):
    if not call.has("a"):
        return Value("", "tuple", items=all_places(call, call.value("c")))
    c, a, b = _as_bool(call.value("c")), call.value("a"), call.value("b")
    shape = broadcast(call.node, c.shape, broadcast(call.node, a.shape, b.shape))
    a, b, type_ = unified(a, b)
    if a.literal and b.literal and type_ == "f64":
        a, b = cast(a, "f64"), cast(b, "f64")
    return Value(f"where({c.code}, {a.code}, {b.code})", type_, shape)


def all_places(call, condition):
    """A vector of places for each dimension."""
    if condition.rank == 1:
        return [places_where(call, condition)]
    names = [call.translator.fresh("place") for _ in condition.shape]
    call.translator.local_names[-1].extend(names)
    call.translator.emit(f"let ({', '.join(names)}) = nonzero({_as_bool(condition).code});")
    count = call.translator.found_extent(names[0])
    return [Value(name, "i64", (count,), natural=True) for name in names]


def places_where(call, condition):
    """The places where a condition holds: a selection of all places."""
    return Value(f"iota({condition.shape[0].code()})", "i64", condition.shape, mask=_as_bool(condition).code)


@numpy("clip", "x a_min= a_max= out=", method=True)
def _clip(call):
    value = call.value("x")
    if call.has("a_min"):
        value = two(call, "max", value, call.value("a_min"))
    return stored(call, two(call, "min", value, call.value("a_max")) if call.has("a_max") else value)


@numpy("float64 float32 int64 int32 uint8 int8 uint16 int16 uint32 complex64 complex128 complex_", "x")
def _cast(call):
    return cast(call.value("x"), TYPES[call.name])


def _python_cast(call):
    value = call.value("x")
    if value.rank:
        call.refuse("import-rank", f"{call.short}() of an array")
    if call.short == "bool":
        return call.translator.truth(value, call.node)
    return value if value.type == TYPES[call.short] else cast(value, TYPES[call.short])


PYTHON.update({name: entry("x", _python_cast) for name in ("float", "int", "bool")})


def _python_complex(call):
    value = call.value("x")
    if value.rank:
        call.refuse("import-rank", "complex() of an array")
    if not call.has("y"):
        return cast(value, "c128")
    return Value(f"c128({floating(value).code}, {floating(call.value('y')).code})", "c128")


PYTHON["complex"] = entry("x y=", _python_complex)


@numpy("round round_ around", "x decimals= out=", method=True)
def _rounded_elements(call):
    return stored(call, rounded(call.value("x"), call.literal("decimals", 0)))


def rounded(value, decimals):
    if value.type not in ("f32", "f64"):
        return value
    if not decimals:
        return Value(f"round({value.code})", value.type, value.shape)
    scale = cast(text_of(float(10 ** abs(decimals))), value.type).code
    first, second = ("*", "/") if decimals > 0 else ("/", "*")
    return Value(f"round({value.at(PRODUCT)} {first} {scale}) {second} {scale}", value.type, value.shape, PRODUCT)


def _rounded(call):
    value, digits = call.value("x"), call.literal("ndigits")
    if digits is not None:
        return rounded(value, digits)
    return cast(rounded(value, 0), "i64")


PYTHON["round"] = entry("x ndigits=", _rounded)


@numpy("math.floor math.ceil math.trunc", "x")
def _integer(call):
    return cast(Value(f"{call.short}({floating(call.value('x')).code})", "f64"), "i64")


def _length(call):
    value = call.any_value("a")
    if value.items is not None:
        return text_of(len(value.items))
    if value.mask is not None:
        return selected_count(value)
    if not value.rank:
        call.refuse("import-rank", "len() of a scalar")
    return of_extent(value.shape[0])


def _as_list(call):
    """list() and tuple() of an array or of listed values."""
    value = call.any_value("a")
    return value if value.items is not None else dataclasses.replace(value, storage=frozenset(), memory=None, listed=True)


PYTHON.update({name: entry("a", _as_list) for name in ("list", "tuple")})
PYTHON["len"] = entry("a", _length)
