"""Expressions."""
import ast
import dataclasses
import math

import numpy as np

from . import names
from .arguments import bind_arguments
from .errors import Place, Skip
from .extents import Extent
from .values import (AND, COMPARISON, CONDITION, OR, POSTFIX, POWER, PRODUCT, SHORT, SUM, TYPES, UNARY, Value, broadcast, cast, is_complex, of_extent,
                     part_type, text_of, unified)

_SYMBOLS = {ast.Add: ("+", SUM), ast.Sub: ("-", SUM), ast.Mult: ("*", PRODUCT)}
_BITS = {ast.BitAnd: ("&&", AND), ast.BitOr: ("||", OR), ast.BitXor: ("!=", COMPARISON)}
# Of integers; they bind more tightly than comparisons and less than sums, as in Python.
_INTEGER_BITS = {ast.LShift: ("<<", SUM - 0.2), ast.RShift: (">>", SUM - 0.2), ast.BitAnd: ("&", SUM - 0.4), ast.BitXor: ("^", SUM - 0.6), ast.BitOr: ("|", SUM - 0.8)}


_LISTED = 64  # elements of an array of the module that is written into the program


def _listed(array):
    if array.ndim:
        return f"[{', '.join(_listed(part) for part in array)}]"
    return text_of(array.item()).code


class Expressions:
    """Part of the translator: `expression` gives the value of a node, and emits statements for what TDSL has no expression."""

    def expression(self, node):
        method = getattr(self, "_" + type(node).__name__.lower(), None)
        if method is None:
            raise Place(node, "import-expression", f"{_name_of(node)} is not translated")
        return method(node)

    def look_up(self, node):
        """The value of a name: of a variable, or of a constant of the script."""
        if node.id in self.poisoned:
            raise Skip
        value = self.look(node.id, node)
        own = self.own_function(node) if value is None else None
        if own is not None:
            return Value("", "function", known=own)
        if value is not None:
            return value
        if node.id in self.frame.stored:
            raise Place(node, "import-unbound", f"`{node.id}` has no value here")
        return self.constant(node)

    def _name(self, node):
        return self.look_up(node)

    def global_name(self, node):
        """The NumPy name of a node that no local variable hides."""
        root = node
        while isinstance(root, ast.Attribute):
            root = root.value
        if not isinstance(root, ast.Name) or self.is_local(root.id):
            return None
        return self.script.numpy_name(node)

    def constant(self, node):
        """A number of the script's module or of a library."""
        thing = self.script.object_of(node)
        if isinstance(node, ast.Attribute) and node.attr == "pi" and thing == math.pi:
            return Value("pi", "f64", literal=True)
        if isinstance(thing, (bool, int, float, complex)):
            return text_of(thing)
        if isinstance(thing, np.generic) and thing.dtype.name in TYPES:
            return cast(text_of(thing.item()), TYPES[thing.dtype.name])
        if isinstance(thing, str):
            return Value("", "text", known=thing)
        if thing is None and not isinstance(node, ast.Attribute) and node.id not in vars(self.script.module):
            raise Place(node, "import-unbound", f"unknown name `{node.id}`")
        if isinstance(thing, np.ndarray) and thing.dtype.name in TYPES and 0 < thing.size <= _LISTED and thing.ndim:
            code = _listed(thing)
            type_ = TYPES[thing.dtype.name]
            shape = tuple(Extent(extent) for extent in thing.shape)
            return Value(code if type_ in ("f64", "i64", "bool") else f"{type_}({code})", type_, shape)
        if isinstance(thing, (tuple, list)) and all(isinstance(item, (bool, int, float)) for item in thing):
            return Value("", "tuple", items=[text_of(item) for item in thing])
        kind = type(thing).__name__
        raise Place(node, "import-global", f"`{ast.unparse(node)}` of the module is a {kind}, neither a number nor a small array: pass it as an argument")

    def _constant(self, node):
        value = node.value
        if value is None:
            return Value("", "none", known=None)
        if isinstance(value, str):
            return Value("", "text", known=value)
        if not isinstance(value, (bool, int, float, complex)):
            raise Place(node, "import-expression", f"a {type(value).__name__} is not translated")
        return text_of(value)

    def _tuple(self, node):
        return Value("", "tuple", items=[self.expression(element) for element in node.elts])

    def _unaryop(self, node):
        value = self.plain(node.operand)
        if isinstance(node.op, ast.USub):
            if value.literal and value.level == POSTFIX:
                size = value.size.times(-1) if value.size is not None else None
                return Value(f"-{value.code}", value.type, level=UNARY, size=size, literal=True)
            size = value.size.times(-1) if value.size is not None else None
            if value.type == "bool":
                raise Place(node, "import-type", "minus of a bool")
            return Value(f"-{value.at(UNARY)}", value.type, value.shape, UNARY, size)
        if isinstance(node.op, ast.UAdd):
            return value
        if isinstance(node.op, ast.Invert) and value.type != "bool":
            if value.type[0] not in "iu":
                raise Place(node, "import-operator", "`~` of numbers that are no integers")
            return Value(f"~{value.at(UNARY)}", value.type, value.shape, UNARY)
        if isinstance(node.op, ast.Not):
            return self.negated(self.truth(value, node))
        return self.negated(value)

    @staticmethod
    def negated(value):
        known = None if value.known is None else not value.known
        return Value(f"!{value.at(UNARY)}", "bool", value.shape, UNARY, known=known)

    def plain(self, node):
        """The value of a node that is no tuple; a selection is taken out."""
        return self.require_plain(self.expression(node), node)

    def require_plain(self, value, node):
        if value.items is not None:
            raise Place(node, "import-tuple", "a tuple as an operand")
        if value.type in ("none", "function", "text"):
            what = {"none": "None", "function": "a function", "text": "a text"}[value.type]
            raise Place(node, "import-expression", f"{what} as an operand")
        return value if value.mask is None else self.taken_out(value)

    def taken_out(self, value):
        """A selection as an array, whose extent the data determine."""
        whole = value.rank == 1 and value.code == f"iota({value.shape[0].code()})"
        code = f"nonzero({value.mask})" if whole else f"filter({value.code}, {value.mask})"
        return self.of_found_extent("kept", code, value.type, value.shape[1:] if value.rows else ())

    def of_found_extent(self, word, code, type_, rest=()):
        """A declaration of an array whose first extent is found in the run."""
        name = self.fresh(word)
        self.local_names[-1].append(name)
        self.emit(f"let {name} = {code};")
        return Value(name, type_, (self.found_extent(name), *rest), storage=self.new_storage())

    def found_extent(self, name):
        count = self.fresh(f"{name}_count")
        self.local_names[-1].append(count)
        self.emit(f"let {count} = size({name}, 0);")
        return Extent.of(count)

    def truth(self, value, node):
        if value.rank:
            raise Place(node, "import-type", "an array as a condition")
        if value.type == "none":
            return Value("false", "bool", known=False)
        if value.type == "bool":
            return value
        return Value(f"{value.at(SUM)} != {'0' if value.type[0] in 'iu' else '0.0'}", "bool", level=COMPARISON)

    def _binop(self, node):
        left, right = self.expression(node.left), self.expression(node.right)
        if left.items is not None or right.items is not None or left.listed or right.listed:
            joined = self.joined_lists(node, left, right)
            if joined is not None:
                return joined
        if left.mask or right.mask:
            return self.of_selections(left, right, node)
        if isinstance(node.op, ast.MatMult):
            return self.matrix_product(self.require_plain(left, node.left), self.require_plain(right, node.right), node)
        return self.operator(type(node.op), self.require_plain(left, node.left), self.require_plain(right, node.right), node)

    def of_selections(self, left, right, node):
        """x[c] + y[c], 2 * x[c], X[rows] - v: still a selection under c."""
        both, selected = left.mask == right.mask and left.rows == right.rows, left if left.mask else right
        other = right if left.mask else left
        if isinstance(node.op, ast.MatMult) or not both and (other.mask or other.rank > (selected.rank - 1 if selected.rows else 0)):
            return self.operator(type(node.op), self.require_plain(left, node.left), self.require_plain(right, node.right), node)
        left, right = (dataclasses.replace(value, mask=None, rows=False) for value in (left, right))
        result = self.operator(type(node.op), self.require_plain(left, node.left), self.require_plain(right, node.right), node)
        return dataclasses.replace(result, mask=selected.mask, rows=selected.rows)

    def matrix_product(self, left, right, node):
        """`left @ right`, the operands of `node`."""
        value = names.product(left, right, node)
        summed = self.summed_product(node) if self.idioms and not value.rank and value.type in ("f64", "f32", "i64") else None
        return value if summed is None else dataclasses.replace(value, code=summed, level=POSTFIX)

    def operator(self, op, a, b, node):
        if op is ast.MatMult:
            return names.product(a, b, node)
        shape = broadcast(node, a.shape, b.shape)
        integers = a.type[0] in "iu" and b.type[0] in "iu"
        if integers and SHORT & {a.type, b.type} and op in _INTEGER_BITS:
            return self.integer_bits(op, a, b, shape)
        if integers and op in (ast.LShift, ast.RShift, ast.BitAnd):
            return self.bits(op, a, b, shape, node)
        if op in _BITS or (a.type == b.type == "bool" and op in (ast.Mult, ast.Add) and (a.rank or b.rank)):
            if integers:
                return self.integer_bits(op, a, b, shape)
            if a.type != "bool" or b.type != "bool":
                raise Place(node, "import-operator", "operators of bits of numbers that are no integers")
            symbol, level = _BITS[op if op in _BITS else ast.BitAnd if op is ast.Mult else ast.BitOr]
            return Value(f"{a.at(level + 1)} {symbol} {b.at(level + 1)}", "bool", shape, level)
        if a.type == b.type == "bool":
            raise Place(node, "import-type", "arithmetic of two bools")
        if op is ast.Div:
            a, b = self.real(a, b), self.real(b, a)
            a, b, type_ = unified(a, b)
            return Value(f"{a.at(PRODUCT)} / {b.at(PRODUCT + 1)}", type_, shape, PRODUCT, literal=a.literal and b.literal)
        if op in (ast.FloorDiv, ast.Mod) and (is_complex(a) or is_complex(b)):
            raise Place(node, "import-complex", "`//` and `%` of complex numbers")
        if op is ast.FloorDiv:
            return self.floor_division(a, b, shape)
        size = self.size_of(op, a, b)
        a, b, type_ = unified(a, b)
        literal = a.literal and b.literal
        if op in _SYMBOLS:
            symbol, level = _SYMBOLS[op]
            natural = a.natural and b.natural and op is not ast.Sub
            return Value(f"{a.at(level)} {symbol} {b.at(level + 1)}", type_, shape, level, size, literal, natural=natural)
        if op is ast.Mod:
            return Value(f"mod({a.code}, {b.code})", type_, shape, size=Extent.of(f"mod({a.code}, {b.code})") if size is not None else None)
        if op is ast.Pow:
            if type_[0] in "iu" and b.literal and b.code.startswith("-"):
                a, type_ = cast(a, "f64"), "f64"
            return Value(f"{a.at(POSTFIX)} ** {b.at(POSTFIX)}", type_, shape, POWER, literal=literal)
        raise Place(node, "import-operator", f"the operator {op.__name__} is not translated")

    def bits(self, op, a, b, shape, node):
        """Shifts, and `&` with 2^k - 1, by arithmetic."""
        if op is ast.BitAnd:
            number = b.size.constant if b.literal and b.size is not None else None
            if number is None or number < 0 or number & (number + 1):
                return self.integer_bits(op, a, b, shape)
            return self.operator(ast.Mod, a, text_of(number + 1), node)
        power = text_of(2 ** b.size.constant) if b.literal and 0 <= b.size.constant < 62 else Value(f"2 ** {b.at(POSTFIX)}", b.type, b.shape, POWER, natural=True)
        return self.operator(ast.Mult, a, power, node) if op is ast.LShift else self.floor_division(a, power, shape)

    @staticmethod
    def integer_bits(op, a, b, shape):
        symbol, level = _INTEGER_BITS[op]
        natural = a.natural and b.natural or op is ast.BitAnd and (a.natural or b.natural)
        a, b, type_ = unified(a, b)
        return Value(f"{a.at(level)} {symbol} {b.at(level + 0.1)}", type_, shape, level, literal=a.literal and b.literal, natural=natural)

    @staticmethod
    def real(value, other):
        """An operand of `/`: integers become f64, scalars beside an f32 array f32."""
        if value.type[0] in "fc":
            return value
        return cast(value, "f32" if other.type == "f32" and other.rank and not value.rank and not value.literal else "f64")

    @staticmethod
    def size_of(op, a, b):
        if a.size is None or b.size is None:
            return None
        if op is ast.Add:
            return a.size + b.size
        if op is ast.Sub:
            return a.size - b.size
        return a.size.multiply(b.size) if op is ast.Mult else a.size if op is ast.Mod else None

    def floor_division(self, a, b, shape):
        natural, size = all(value.natural or value.type[0] == "u" for value in (a, b)), a.size
        divisor = b.size
        a, b, type_ = unified(a, b)
        if type_ in ("f32", "f64"):
            return Value(f"floor({a.at(PRODUCT)} / {b.at(PRODUCT + 1)})", type_, shape)
        if natural:
            extent = size.divide(divisor) if size is not None and divisor is not None else None
            return Value(f"{a.at(PRODUCT)} / {b.at(PRODUCT + 1)}", type_, shape, PRODUCT, extent, natural=True)
        return Value(f"({a.at(SUM)} - mod({a.code}, {b.code})) / {b.at(PRODUCT + 1)}", type_, shape, PRODUCT)

    def _ifexp(self, node):
        test = self.truth(self.expression(node.test), node.test)
        if test.known is not None:
            return self.expression(node.body if test.known else node.orelse)
        a, b = self.plain(node.body), self.plain(node.orelse)
        shape = broadcast(node, a.shape, b.shape)
        a, b, type_ = unified(a, b)
        return Value(f"if {test.code} then {a.code} else {b.code}", type_, shape, CONDITION, storage=a.storage | b.storage)

    def _subscript(self, node):
        if isinstance(node.value, ast.Attribute) and self.global_name(node.value) == "mgrid":
            return names.mesh_of_slices(self, node)
        if isinstance(node.value, ast.Attribute) and self.global_name(node.value) in ("r_", "c_"):
            return names.parts_side_by_side(self, node, self.global_name(node.value))
        if isinstance(node.value, ast.Attribute) and self.global_name(node.value) == "ogrid":
            raise Place(node, "import-name", "np.ogrid is not translated")
        return self.subscript(node)

    def _attribute(self, node):
        name = self.global_name(node)
        root = node
        while isinstance(root, ast.Attribute):
            root = root.value
        if isinstance(root, ast.Name) and not self.is_local(root.id):
            if name is not None and callable(self.script.object_of(node)):
                raise Place(node, "import-expression", f"np.{name} without a call")
            return self.constant(node)
        value = self.expression(node.value)
        if value.mask is not None and node.attr in ("shape", "size"):
            count = names.selected_count(value)
            if node.attr == "size" and not value.rows:
                return count
            if node.attr == "size":
                return Value(f"{count.code}{''.join(f' * {extent.factor()}' for extent in value.shape[1:])}", "i64", level=PRODUCT, natural=True)
            return Value("", "tuple", items=[count, *map(of_extent, value.shape[1:])] if value.rows or value.rank == 1 else [count])
        value = self.require_plain(value, node.value)
        if node.attr == "shape":
            return Value("", "tuple", items=[of_extent(extent) for extent in value.shape])
        if node.attr == "ndim":
            return text_of(value.rank)
        if node.attr == "size":
            return of_extent(names.total(value.shape))
        if node.attr == "T":
            return names.transposed(value)
        if node.attr == "real":
            return Value(f"real({value.code})", part_type(value.type), value.shape) if is_complex(value) else value
        if node.attr == "imag":
            return Value(f"imag({value.code})", part_type(value.type), value.shape)
        raise Place(node, "import-name", f"the attribute .{node.attr} is not translated")

    def _call(self, node):
        for argument in node.args:
            if isinstance(argument, ast.Starred):
                raise Place(argument, "import-call", "an argument with *")
        for keyword in node.keywords:
            if keyword.arg is None:
                raise Place(node, "import-call", "arguments with **")
        function = node.func
        own = self.own_function(function)
        if own is not None:
            return self.inlined(*own, node)
        name = self.global_name(function)
        if name is None and isinstance(function, ast.Name) and not self.is_local(function.id) and function.id in names.PYTHON:
            return self.call_of(names.PYTHON[function.id], node, None, function.id)
        if name is not None:
            entry = names.NUMPY.get(name)
            if entry is None:
                shown = name if "." in name and name.split(".")[0] in ("math", "scipy") else f"np.{name}"
                raise Place(function, "import-name", f"{shown} is not translated")
            return self.call_of(entry, node, None, name)
        if isinstance(function, ast.Attribute):
            value = self.expression(function.value)
            entry = names.METHODS.get(function.attr)
            if entry is None:
                raise Place(function, "import-name", f"the method .{function.attr} is not translated")
            return self.call_of(entry, node, value, "." + function.attr)
        raise Place(node, "import-call", f"a call of `{ast.unparse(function)}`")

    def call_of(self, entry, node, receiver, name):
        given = bind_arguments(entry, node, receiver, name)
        return entry.handler(names.Call(self, node, name, given))


def _name_of(node):
    words = {"ListComp": "a comprehension", "DictComp": "a comprehension", "SetComp": "a comprehension", "GeneratorExp": "a generator", "Lambda": "a lambda",
             "JoinedStr": "a string", "Dict": "a dictionary", "Set": "a set", "NamedExpr": "`:=`", "Starred": "`*`"}
    return words.get(type(node).__name__, f"{type(node).__name__}")
