"""The tables of NumPy's functions and methods and of Python's functions, and what their handlers have in common."""
import ast
import dataclasses

from .arguments import entry
from .errors import Place
from .extents import Extent, product as product_of
from .values import POSTFIX, PRODUCT, SUMMED_WIDER, TYPES, Value, broadcast, cast, is_complex, unified

PYTHON, NUMPY, METHODS = {}, {}, {}
# The functions, methods and names of Python that take complex numbers.
COMPLEX = set("""
exp sqrt sin cos tan tanh log log1p expm1 log2 log10 sinh cosh isnan isinf isfinite absolute abs arcsin arccos arctan arcsinh arccosh arctanh conjugate conj real imag angle
positive negative square reciprocal where add subtract multiply divide true_divide power matmul equal not_equal logical_and logical_or logical_xor logical_not
complex complex64 complex128 complex_ astype copy array asarray ascontiguousarray zeros_like ones_like empty_like full full_like reshape ravel flatten transpose swapaxes moveaxis
expand_dims squeeze flip flipud fliplr roll triu tril concatenate hstack vstack column_stack stack take repeat tile broadcast_to len
sum mean prod std var any all count_nonzero cumsum cumprod diff dot inner vdot outer kron trace diag diagonal tensordot einsum allclose isclose array_equal
linalg.norm linalg.inv linalg.det linalg.solve linalg.cholesky linalg.eigh linalg.eigvalsh linalg.svd linalg.qr linalg.lstsq linalg.matrix_power""".split())


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
        value = given if isinstance(given, Value) else self.translator.expression(given)
        if is_complex(value) and self.name.lstrip(".") not in COMPLEX:
            self.refuse("import-complex", f"`{self.name.lstrip('.')}` of complex numbers")
        return value

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
            if value.type == "text" or value.known is not None and value.literal:
                return value.known
            self.refuse("import-option", f"`{parameter}` is not a constant", self.given[parameter])

    def type(self, default, parameter="dtype"):
        """The element type that an argument names."""
        if not self.has(parameter):
            return default
        node = self.given[parameter]
        if isinstance(node, ast.Attribute) and node.attr == "dtype":
            return self.translator.plain(node.value).type
        name = node.value if isinstance(node, ast.Constant) else self.translator.global_name(node) or (node.id if isinstance(node, ast.Name) else None)
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
    return of_products(Value(f"{a.at(PRODUCT)} @ {b.at(PRODUCT + 1)}", type_, shape, PRODUCT))


def of_products(value):
    """Sums of products in NumPy's type; those of short integers are i64."""
    return cast(dataclasses.replace(value, type="i64"), value.type) if value.type in SUMMED_WIDER else value


def transposed(value):
    if value.rank < 2:
        return value
    if value.rank == 2:
        code = f"transpose({value.code})" if is_complex(value) else f"{value.at(POSTFIX)}'"
        return Value(code, value.type, value.shape[::-1], storage=value.storage)
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


def selected_count(value):
    """The number of elements, or of rows, that a selection takes."""
    return Value(f"count({value.mask})", "i64", natural=True)


def stored(call, value):
    """The value of a function with `out`: stored there."""
    if not call.has("out"):
        return value
    target = call.given["out"]
    if isinstance(target, ast.Name):
        target = ast.copy_location(ast.Subscript(target, ast.copy_location(ast.Constant(...), target), ast.Store()), target)
    call.translator.store(target, value, call.node)
    return call.translator.expression(target.value)
