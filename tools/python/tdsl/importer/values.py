"""Values of the abstract interpretation: TDSL text with element type and shape."""
import dataclasses
import math
import typing

import numpy as np

from .errors import Place
from .extents import Extent

ORDER = ["bool", "u8", "i8", "u16", "i16", "u32", "i32", "i64", "f32", "f64", "c64", "c128"]
SHORT = {"u8", "i8", "u16", "i16", "u32"}
SUMMED_WIDER = {"bool", "i32"} | SHORT  # their sums and products are i64
TYPES = {"float64": "f64", "float32": "f32", "int64": "i64", "int32": "i32", "bool": "bool", "bool_": "bool", "float": "f64", "int": "i64",
         "double": "f64", "single": "f32", "int_": "i64", "intp": "i64", "uint8": "u8", "int8": "i8", "uint16": "u16", "int16": "i16", "uint32": "u32",
         "longlong": "i64", "intc": "i32", "float_": "f64", "complex64": "c64", "complex128": "c128", "complex": "c128", "complex_": "c128", "csingle": "c64", "cdouble": "c128"}
# NumPy's names of the types, and back.
_NUMPY = {"bool": "bool", "i32": "int32", "i64": "int64", "f32": "float32", "f64": "float64", "c64": "complex64", "c128": "complex128",
          "u8": "uint8", "i8": "int8", "u16": "uint16", "i16": "int16", "u32": "uint32"}
_OF_NUMPY = {name: type_ for type_, name in _NUMPY.items()}
_WIDENS_SCALARS = int(np.__version__.split(".")[0]) < 2  # np.uint8(200) + 100 is 300
_PARTS = {"c64": "f32", "c128": "f64"}

# Precedence of TDSL's operators, tightest first.
POSTFIX, POWER, UNARY, PRODUCT, SUM, COMPARISON, AND, OR, CONDITION = 9, 8, 7, 6, 5, 4, 3, 2, 0


@dataclasses.dataclass
class Value:
    """`code` of type `type` and shape. `size`: the extent that an integer scalar is; `literal`: an open literal; `known`: a truth value or None's, or a function;
    `mask`: the condition of x[condition], with `rows` of rows; `storage`: the arrays whose memory the value shares; `memory`: the argument that it is, whole and in place;
    `items`: the values of a tuple."""
    code: str
    type: str
    shape: tuple = ()
    level: int = POSTFIX
    size: typing.Optional[Extent] = None
    literal: bool = False
    known: object = None
    mask: typing.Optional[str] = None
    rows: bool = False  # the mask selects rows
    storage: frozenset = frozenset()
    memory: typing.Optional[int] = None
    items: typing.Optional[list] = None
    natural: bool = False  # an integer that is known not to be negative
    positive: bool = False  # an integer that is known to be above 0
    listed: bool = False  # an array that is a list in Python

    @property
    def rank(self):
        return len(self.shape)

    def at(self, level):
        """The text as an operand of an operator of this precedence."""
        return self.code if self.level >= level else f"({self.code})"


def is_complex(value):
    return value.type in _PARTS


def part_type(type_):
    """The type of the parts of a complex type; others are their own."""
    return _PARTS.get(type_, type_)


def _imaginary(number):
    """The value of a Python complex number; `2j` is an open literal."""
    if number.real == 0 and math.copysign(1.0, number.real) > 0 and math.isfinite(number.imag):
        return Value(f"{number.imag!r}i", "c128", level=UNARY if math.copysign(1.0, number.imag) < 0 else POSTFIX, literal=True)
    return Value(f"c128({text_of(number.real).code}, {text_of(number.imag).code})", "c128")


def text_of(number):
    """The value of a Python number."""
    if isinstance(number, complex):
        return _imaginary(complex(number))
    if isinstance(number, bool):
        return Value("true" if number else "false", "bool", literal=True, known=number)
    if isinstance(number, int):
        level = POSTFIX if number >= 0 else UNARY
        return Value(str(number), "i64", level=level, size=Extent(number), literal=True, natural=number >= 0)
    code = repr(float(number))
    code = code if any(c in code for c in ".einf") else code + ".0"
    return Value(code, "f64", level=UNARY if code[0] == "-" else POSTFIX, literal=True)


def of_extent(extent):
    code = extent.code()
    level = POSTFIX if code.replace("_", "a").isalnum() else PRODUCT if "+" not in code and "-" not in code else SUM
    return Value(code, "i64", level=level, size=extent, natural=True)


def cast(value, type_):
    """The value in another element type; open literals are written in it."""
    if value.type == type_:
        return value
    code, level = f"{type_}({value.code})", POSTFIX
    if value.literal and type_ == "f64" and value.code.lstrip("-").isdigit():
        code, level = value.code + ".0", value.level
    return dataclasses.replace(value, code=code, type=type_, level=level, size=None, known=None, storage=frozenset(), memory=None, literal=value.literal and type_ == "f64")


def floating(value):
    """NumPy's functions of numbers give f64 for integers."""
    return value if value.type[0] in "fc" else cast(value, "f64")


def unified(a, b):
    """Both operands as NumPy converts them, and their common type: an open literal, or a scalar beside an array, takes the other's type if
    its kind is not higher."""
    def kind(type_):
        return 0 if type_ == "bool" else 1 if type_[0] in "iu" else 2 if type_[0] == "f" else 3
    if a.type == b.type:
        return a, b, a.type
    if (a.type in SHORT) != (b.type in SHORT) and (wider := _wider(a, b)):
        short, other = (a, b) if a.type in SHORT else (b, a)
        short = cast(short, wider)
        return (short, other, wider) if a.type in SHORT else (other, short, wider)
    for weak, other, flip in ((a, b, False), (b, a, True)):
        yields = (weak.literal and not other.literal) or (not weak.rank and other.rank)
        if yields and kind(weak.type) <= kind(other.type):
            if not weak.literal or weak.type == "bool":
                weak = cast(weak, other.type if is_complex(weak) else part_type(other.type))
            return (other, weak, other.type) if flip else (weak, other, other.type)
    if a.literal != b.literal and {a.type, b.type} == {"f32", "c128"}:
        return a, b, "c64" if (a if a.literal else b).type == "c128" else "c128"
    return a, b, _OF_NUMPY[np.promote_types(_NUMPY[a.type], _NUMPY[b.type]).name]


def _wider(a, b):
    """The type that a short one takes beside an integer that does not fit, or as a scalar; None where it stays."""
    short, other = (a, b) if a.type in SHORT else (b, a)
    if other.type != "i64" or other.rank:
        return None
    if not short.rank and _WIDENS_SCALARS:
        return "i64"
    if other.literal and other.size is not None and other.size.constant is not None:
        fits = np.can_cast(np.min_scalar_type(other.size.constant), _NUMPY[short.type]) or 0 <= other.size.constant <= np.iinfo(_NUMPY[short.type]).max
        wider = np.promote_types(_NUMPY[short.type], np.min_scalar_type(other.size.constant)).name
        return None if fits or wider not in _OF_NUMPY else _OF_NUMPY[wider]
    return None


def broadcast(node, a, b):
    """NumPy's broadcasting of two shapes; extents of which neither is 1 are compared by the compiler or in the run."""
    rank = max(len(a), len(b))
    left, right = [Extent(1)] * (rank - len(a)) + list(a), [Extent(1)] * (rank - len(b)) + list(b)
    result = []
    for x, y in zip(left, right):
        if None not in (x.constant, y.constant) and x.constant != y.constant and 1 not in (x.constant, y.constant):
            raise Place(node, "import-shape", f"extents {x.constant} and {y.constant} do not broadcast")
        result.append(y if x.constant == 1 else x)
    return tuple(result)
