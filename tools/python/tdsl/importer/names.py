"""The tables of NumPy's functions and methods, and of Python's functions."""
import ast
import dataclasses

from .arguments import entry
from .errors import Place, Skip
from .extents import Extent, product as product_of
from .values import COMPARISON, POSTFIX, PRODUCT, SUM, TYPES, UNARY, Value, broadcast, cast, floating, of_extent, text_of, unified

PYTHON, NUMPY, METHODS = {}, {}, {}


def skip():
    return Skip()


def total(shape):
    return product_of(shape)


class Call:
    """A call of a known function: `given` are nodes of its arguments by parameter."""

    def __init__(self, translator, node, name, given):
        self.translator, self.node, self.name, self.given = translator, node, name, given
        self.short = name.lstrip(".").split(".")[-1]

    def has(self, parameter):
        given = self.given.get(parameter)
        return given is not None and not (isinstance(given, ast.Constant) and given.value is None)

    def any_value(self, parameter):
        given = self.given[parameter]
        return given if isinstance(given, Value) else self.translator.expression(given)

    def value(self, parameter):
        return self.translator.require_plain(self.any_value(parameter), self.node)

    def literal(self, parameter, default=None):
        if not self.has(parameter):
            return default
        try:
            return ast.literal_eval(self.given[parameter])
        except ValueError:
            value = self.any_value(parameter)
            if value.size is not None and value.size.constant is not None:
                return value.size.constant
            self.refuse("import-option", f"`{parameter}` is not a constant", self.given[parameter])

    def type(self, default, parameter="dtype"):
        """The element type that an argument names."""
        if not self.has(parameter):
            return default
        node = self.given[parameter]
        if isinstance(node, ast.Attribute) and node.attr == "dtype":
            return self.translator.plain(node.value).type
        name = node.value if isinstance(node, ast.Constant) else self.translator.global_name(node) or (node.id if isinstance(node, ast.Name) else None)
        if name in ("complex64", "complex128", "complex"):
            self.refuse("import-complex", "complex numbers", node)
        if name not in TYPES:
            self.refuse("import-type", f"the element type {ast.unparse(node)}", node)
        return TYPES[name]

    def shape(self, parameter):
        """The extents that an argument lists."""
        node = self.given[parameter]
        if isinstance(node, (ast.Tuple, ast.List)):
            return tuple(self.translator.extent(element) for element in node.elts)
        if not isinstance(node, Value):
            value = self.translator.expression(node)
            if value.items is not None:
                return tuple(self.extent_of(item) for item in value.items)
        return (self.translator.extent(node),)

    def extent_of(self, value):
        if value.size is None:
            self.refuse("import-shape", "an extent that is computed in the run")
        return value.size

    def axis(self, rank, parameter="axis", default=None):
        axis = self.literal(parameter, default)
        if axis is not None and not -rank <= axis < rank:
            self.refuse("import-option", f"axis {axis} of {rank} dimensions")
        return None if axis is None else axis % rank

    def refuse(self, id_, reason, node=None):
        raise Place(node if isinstance(node, ast.AST) else self.node, id_, reason)

    def let(self, name, code):
        name = self.translator.fresh(name)
        self.translator.emit(f"let {name} = {code};")
        return name


def numpy(names, signature, method=False, python=None):
    """Decorator: the handler of these names; of methods, too."""
    def register(handler):
        for name in names.split():
            NUMPY[name] = entry(signature, handler)
            if method:
                METHODS[name] = NUMPY[name]
        for name in (python or "").split():
            PYTHON[name] = entry(signature, handler)
        return handler
    return register


# Products and transposes, also of operators and attributes.

def product(a, b, node):
    if not a.rank or not b.rank:
        raise Place(node, "import-rank", "a product with a scalar")
    inner, other = a.shape[-1], b.shape[-2 if b.rank > 1 else 0]
    if None not in (inner.constant, other.constant) and inner != other:
        raise Place(node, "import-shape", f"a product over {inner.constant} and {other.constant} elements")
    if b.rank <= 2:
        shape = a.shape[:-1] + (b.shape[-1:] if b.rank == 2 else ())
    else:
        shape = broadcast(node, a.shape[:-2], b.shape[:-2]) + (a.shape[-2:-1] if a.rank > 1 else ()) + b.shape[-1:]
    a, b, type_ = unified(a, b)
    if type_ == "bool":
        raise Place(node, "import-type", "a product of bool arrays")
    value = Value(f"{a.at(PRODUCT)} @ {b.at(PRODUCT + 1)}", type_, shape, PRODUCT)
    return cast(dataclasses.replace(value, type="i64"), "i32") if type_ == "i32" else value


def transposed(value):
    if value.rank < 2:
        return value
    if value.rank == 2:
        return Value(f"{value.at(POSTFIX)}'", value.type, value.shape[::-1], storage=value.storage)
    order = ", ".join(map(str, range(value.rank)[::-1]))
    return Value(f"transpose({value.code}, {order})", value.type, value.shape[::-1], storage=value.storage)


def reshaped(value, shape, node):
    wild = [i for i, extent in enumerate(shape) if extent.constant == -1]
    if wild:
        rest = product_of(extent for i, extent in enumerate(shape) if i != wild[0])
        whole = total(value.shape)
        if rest.constant == 1:
            extent = whole
        elif rest.constant and whole.constant is not None:
            extent = Extent(whole.constant // rest.constant)
        else:
            extent = whole.divide(rest)
        shape = (*shape[:wild[0]], extent, *shape[wild[0] + 1:])
    if shape == value.shape:
        return value
    if len(shape) == 1 and value.rank:
        return Value(f"flatten({value.code})", value.type, (total(value.shape),), storage=value.storage)
    return Value(f"reshape({value.code}, {', '.join(extent.code() for extent in shape)})", value.type, tuple(shape), storage=value.storage)


def stored(call, value):
    """The value of a function with `out`: stored there."""
    if not call.has("out"):
        return value
    target = call.given["out"]
    if isinstance(target, ast.Name):
        target = ast.copy_location(ast.Subscript(target, ast.copy_location(ast.Constant(...), target), ast.Store()), target)
    call.translator.store(target, value, call.node)
    return call.translator.expression(target.value)


# Functions of elements.

_SAME = {name: name for name in "exp sqrt sin cos tan tanh log log1p expm1 log2 log10 exp2 sinh cosh cbrt floor ceil trunc sign isnan isinf isfinite".split()}
_RENAMED = {"absolute": "abs", "abs": "abs", "fabs": "abs", "rint": "round", "arcsin": "asin", "arccos": "acos", "arctan": "atan", "arcsinh": "asinh",
            "arccosh": "acosh", "arctanh": "atanh", "fix": "trunc", "conjugate": "", "conj": "", "real": "", "positive": ""}
_MATH = {"sqrt", "exp", "log", "sin", "cos", "tan", "tanh", "fabs", "log2", "log10", "log1p", "expm1", "sinh", "cosh", "erf", "erfc", "gamma", "lgamma",
         "isnan", "isinf", "isfinite"}
_KEEP_INTEGERS = {"absolute", "abs", "sign", "conjugate", "conj", "real", "positive"}


def _elementwise(call):
    name = _RENAMED.get(call.short, call.short) if not call.name.startswith("math.") else {"fabs": "abs"}.get(call.short, call.short)
    value = call.value("x")
    if not name:
        return value
    if call.short not in _KEEP_INTEGERS or value.type == "bool":
        value = floating(value)
    type_ = "bool" if call.short in ("isnan", "isinf", "isfinite") else value.type
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
        a, b = floating(a), floating(b)
    return stored(call, two(call, name, a, b))


def two(call, name, a, b):
    shape = broadcast(call.node, a.shape, b.shape)
    a, b, type_ = unified(a, b)
    if name == "%":
        return Value(f"{a.at(PRODUCT)} % {b.at(PRODUCT + 1)}", type_, shape, PRODUCT)
    return Value(f"{name}({a.code}, {b.code})", type_, shape, literal=a.literal and b.literal)


_OPERATORS = {"add": ast.Add, "subtract": ast.Sub, "multiply": ast.Mult, "divide": ast.Div, "true_divide": ast.Div, "power": ast.Pow, "float_power": ast.Pow,
              "mod": ast.Mod, "remainder": ast.Mod, "floor_divide": ast.FloorDiv, "matmul": ast.MatMult, "bitwise_and": ast.BitAnd,
              "bitwise_or": ast.BitOr, "bitwise_xor": ast.BitXor, "math.pow": ast.Pow}


@numpy(" ".join(_OPERATORS), "a b out=")
def _operator(call):
    a, b = call.value("a"), call.value("b")
    if call.name in ("float_power", "math.pow"):
        a, b = floating(a), floating(b)
    return stored(call, call.translator.operator(_OPERATORS[call.name], a, b, call.node))


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
    return Value(f"{value.at(SUM)} != {'0' if value.type[0] == 'i' else '0.0'}", "bool", value.shape, COMPARISON)


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


@numpy("where", "c a b")
def _where(call):
    c, a, b = _as_bool(call.value("c")), call.value("a"), call.value("b")
    shape = broadcast(call.node, c.shape, broadcast(call.node, a.shape, b.shape))
    a, b, type_ = unified(a, b)
    if a.literal and b.literal and type_ == "f64":
        a, b = cast(a, "f64"), cast(b, "f64")
    return Value(f"where({c.code}, {a.code}, {b.code})", type_, shape)


@numpy("clip", "x a_min= a_max= out=", method=True)
def _clip(call):
    value = call.value("x")
    if call.has("a_min"):
        value = two(call, "max", value, call.value("a_min"))
    return stored(call, two(call, "min", value, call.value("a_max")) if call.has("a_max") else value)


@numpy("float64 float32 int64 int32", "x")
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


def _rounded(call):
    value = call.value("x")
    result = Value(f"round({value.code})", value.type, value.shape)
    return cast(result, "i64") if value.type != "i64" else value


PYTHON["round"] = entry("x", _rounded)


@numpy("math.floor math.ceil math.trunc", "x")
def _integer(call):
    return cast(Value(f"{call.short}({floating(call.value('x')).code})", "f64"), "i64")


def _extreme(call):
    if "b" not in call.given:
        return _reduce(dataclasses_call(call, call.short))
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


def dataclasses_call(call, short):
    """The same call as a reduction of `a`."""
    other = Call(call.translator, call.node, short, call.given)
    if call.translator.plain(call.given["a"]).rank != 1:
        call.refuse("import-rank", f"{short}() of an array that is not a vector")
    return other


PYTHON.update({name: entry("a b= *rest", _extreme) for name in ("max", "min")})


def _length(call):
    value = call.any_value("a")
    if value.items is not None:
        return text_of(len(value.items))
    if not value.rank:
        call.refuse("import-rank", "len() of a scalar")
    return of_extent(value.shape[0])


PYTHON["len"] = entry("a", _length)


# Reductions.

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


PYTHON["sum"] = entry("a", lambda call: _reduce(dataclasses_call(call, "sum")))


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


# Constructors and structure.

def filled(call, shape, type_, number):
    """A constructor of zeros or ones, or of another number as text."""
    extents = ", ".join(extent.code() for extent in shape)
    if not shape:
        return Value(cast(text_of(int(number) if type_[0] == "i" else float(number)), type_).code, type_)
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
        if step is None or step < 1:
            call.refuse("import-step", "np.arange with a step that is not a number above 0")
        length = (length + Extent(step - 1)).divide(Extent(step)) if step > 1 else length
    code = f"iota({', '.join(extent.code() for extent in extents)})"
    return cast(Value(code, "i64", (length,)), call.type("i64"))


@numpy("linspace", "a b num= dtype=")
def _linspace(call):
    a, b = floating(call.value("a")), floating(call.value("b"))
    number = call.translator.extent(call.given["num"]) if call.has("num") else Extent(50)
    return cast(Value(f"linspace({a.code}, {b.code}, {number.code()})", "f64", (number,)), call.type("f64"))


@numpy("copy", "a", method=True)
def _copy(call):
    return dataclasses.replace(call.value("a"), storage=frozenset())


@numpy("array asarray ascontiguousarray", "a dtype= copy= order=")
def _array(call):
    node = call.given["a"]
    if isinstance(node, (ast.List, ast.Tuple)):
        value = _listed(call, node)
    else:
        value = call.value("a")
        value = dataclasses.replace(value, storage=frozenset()) if call.name == "array" else value
    return cast(value, call.type(value.type))


def _listed(call, node):
    items = [_listed(call, e) if isinstance(e, (ast.List, ast.Tuple)) else call.translator.plain(e) for e in node.elts]
    if not items:
        call.refuse("import-shape", "an empty array", node)
    type_, shape = items[0].type, items[0].shape
    for item in items[1:]:
        shape = broadcast(node, shape, item.shape)
        type_ = unified(dataclasses.replace(items[0], type=type_, literal=False), dataclasses.replace(item, literal=False))[2]
    items = [cast(item, type_) for item in items]
    return Value(f"[{', '.join(item.code for item in items)}]", type_, (Extent(len(items)),) + shape)


def _astype(call):
    value = call.value("a")
    return dataclasses.replace(cast(value, call.type("f64")), storage=frozenset())


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
    return dataclasses.replace(_ravel(call), storage=frozenset())


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
    if value.rank > 1 and not call.has("axis"):
        call.refuse("import-option", "np.roll of a matrix without an axis")
    return Value(f"roll({value.code}, {call.value('shift').code}, axis={call.axis(value.rank, default=0)})", value.type, value.shape)


@numpy("triu tril", "a k=")
def _triangle(call):
    value, k = call.value("a"), call.literal("k", 0)
    if k == 0:
        return Value(f"{call.name}({value.code})", value.type, value.shape)
    if value.rank != 2:
        call.refuse("import-rank", f"np.{call.name} of {value.rank} dimensions with k")
    name = call.translator.fresh("upper" if call.name == "triu" else "lower")
    bound = f"i + {k}" if k > 0 else f"i - {-k}"
    relation = "<=" if call.name == "triu" else ">="
    call.translator.emit(f"let {name}[i, j] = {value.at(POSTFIX)}[i, j] where {bound} {relation} j;")
    return Value(name, value.type, value.shape)


@numpy("concatenate hstack vstack", "arrays axis=")
def _concatenate(call):
    node = call.given["arrays"]
    if not isinstance(node, (ast.Tuple, ast.List)) or not node.elts:
        call.refuse("import-call", f"np.{call.name} of something other than a list of arrays", node)
    values = [call.translator.plain(element) for element in node.elts]
    if call.name == "vstack":
        values = [reshaped(v, (Extent(1), v.shape[0]), node) if v.rank == 1 else v for v in values]
    axis = call.axis(values[0].rank, default=0) if call.name != "hstack" else int(values[0].rank > 1)
    type_, length = values[0].type, values[0].shape[axis]
    for value in values[1:]:
        type_ = unified(dataclasses.replace(values[0], type=type_), value)[2]
        length = length + value.shape[axis]
    code = ", ".join(cast(value, type_).code for value in values)
    shape = values[0].shape[:axis] + (length,) + values[0].shape[axis + 1:]
    return Value(f"concat({code}, axis={axis})" if len(values) > 1 else code, type_, shape)


@numpy("stack", "arrays axis=")
def _stack(call):
    node = call.given["arrays"]
    if not isinstance(node, (ast.Tuple, ast.List)) or not node.elts:
        call.refuse("import-call", "np.stack of something other than a list of arrays", node)
    values = [call.translator.plain(element) for element in node.elts]
    axis = call.axis(values[0].rank + 1, default=0)
    shape = values[0].shape[:axis] + (Extent(len(values)),) + values[0].shape[axis:]
    return Value(f"stack({', '.join(value.code for value in values)}, axis={axis})", values[0].type, shape)


@numpy("repeat tile", "a count axis=")
def _repeat(call):
    value, count = call.value("a"), call.translator.extent(call.given["count"])
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


@numpy("diag diagonal trace", "a")
def _diagonal(call):
    value = call.value("a")
    if call.name == "trace":
        return Value(f"trace({value.code})", value.type)
    if value.rank == 1:
        return Value(f"diag({value.code})", value.type, value.shape * 2)
    if value.shape[0] != value.shape[1]:
        call.refuse("import-shape", "the diagonal of a matrix that is not square")
    return Value(f"diag({value.code})", value.type, value.shape[:1])


# Linear algebra and statistics.

@numpy("dot", "a b", method=True)
def _dot(call):
    a, b = call.value("a"), call.value("b")
    if not a.rank or not b.rank:
        return call.translator.operator(ast.Mult, a, b, call.node)
    if b.rank > 2:
        call.refuse("import-rank", "np.dot of more than two dimensions: np.matmul")
    return product(a, b, call.node)


@numpy("inner vdot", "a b")
def _inner(call):
    a, b = call.value("a"), call.value("b")
    if a.rank != 1 or b.rank != 1:
        call.refuse("import-rank", f"np.{call.name} of matrices")
    return product(a, b, call.node)


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
    return call.translator.operator(_OPERATORS[call.name.split(".")[0]], column, row, call.node)


@numpy("add.at", "target index value")
def _add_at(call):
    translator = call.translator
    node = call.given["target"]
    if not isinstance(node, ast.Name):
        call.refuse("import-target", "np.add.at of a part of an array")
    base, index, value = call.value("target"), call.value("index"), call.value("value")
    binding = translator.binding(node.id)
    if base.rank != 1 or index.rank != 1 or value.rank > 1 or index.type not in ("i64", "i32") or binding.fixed or binding.target is None:
        call.refuse("import-subscript", "np.add.at other than a vector of numbers at a vector of places")
    translator.changed_in_place(node.id, binding, call.node)
    i = translator.fresh("i")
    translator.used.discard(i)
    added = f"{value.at(POSTFIX)}[{i}]" if value.rank else value.code
    translator.emit(f"{binding.target}[{index.at(POSTFIX)}[{i}]] += {added} for {i} in 0..{index.shape[0].code()};")
    return Value("", "none")


@numpy("linalg.inv linalg.cholesky linalg.det", "a")
def _of_matrix(call):
    value = floating(call.value("a"))
    return Value(f"{call.short}({value.code})", value.type, () if call.short == "det" else value.shape)


@numpy("linalg.solve", "a b")
def _solve(call):
    a, b, type_ = unified(floating(call.value("a")), floating(call.value("b")))
    return Value(f"solve({a.code}, {b.code})", type_, b.shape)


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
    return Value(code, type_, tuple(extents[letter] for letter in result))


@numpy("cov", "m")
def _cov(call):
    value = floating(call.value("m"))
    if value.rank != 2:
        call.refuse("import-rank", "np.cov of a vector")
    name = call.let("centered", f"{value.at(SUM)} - mean({value.code}, axis=1, keepdims=true)")
    count = f"f64({(value.shape[1] - Extent(1)).code()})"
    return Value(f"{name} @ {name}' / {count}", "f64", value.shape[:1] * 2, PRODUCT)


@numpy("histogram", "a bins= range= weights=")
def _histogram(call):
    """Counts or sums of weights between equal edges, and the edges; NumPy's own arithmetic decides the bin of each element."""
    value, translator = floating(call.value("a")), call.translator
    bins = translator.extent(call.given["bins"]) if call.has("bins") else Extent(10)
    if value.rank != 1 or call.has("range"):
        call.refuse("import-option", "np.histogram of a matrix or with a range")
    low, high = call.let("low", f"min({value.code})"), call.let("high", f"max({value.code})")
    number = bins.code()
    edges = Value(f"linspace({low}, {high}, {number} + 1)", "f64", (bins + Extent(1),))
    if not call.has("weights"):
        return Value("", "tuple", items=[Value(f"histogram({value.code}, {low}, {high}, {number})", "i64", (bins,)), edges])
    weights = call.value("weights")
    place = call.let("bin", f"min(searchsorted(linspace({low}, {high}, {number} + 1), {value.code}, side=right), {number}) - 1")
    counted = call.let("counted", f"bincount({place}, {number}, weights={weights.code})")
    return Value("", "tuple", items=[Value(counted, "f64", (bins,)), edges])
