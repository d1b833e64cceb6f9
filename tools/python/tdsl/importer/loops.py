"""Loops: their variables, iterations and text."""
import ast
import dataclasses

from .errors import Place
from .extents import Extent
from .lists import Trip
from .scopes import Binding
from .values import POSTFIX, SUM, Value, text_of


class Loops:
    """Part of the translator."""

    def _for_statement(self, node):
        if node.orelse:
            raise Place(node, "import-statement", "for … else")
        if not self.unrolled(node):
            self.loop(node, *self.iteration(node.target, node.iter, node))

    def iteration(self, target, iterated, node):
        """A loop's opening, the bindings of its variables, and lines for the head of its body; `trip` are its iterations."""
        if self.is_python(iterated, "reversed") and len(iterated.args) == 1:
            iterated = self.turned(iterated.args[0])
        if self.is_python(iterated, "enumerate"):
            return self.enumerated(target, iterated)
        if self.is_python(iterated, "zip"):
            return self.zipped(target, iterated, self.fresh("at"))
        if not isinstance(target, ast.Name):
            return self.unpacked_rows(target, iterated)
        if self.is_python(iterated, "range"):
            return *self.counted(target.id, iterated), []
        return self.rows(target.id, iterated, self.fresh("at"))

    def turned(self, iterated):
        """What counts down where this counts up."""
        def made(node):
            return ast.fix_missing_locations(ast.copy_location(node, iterated))
        if not self.is_python(iterated, "range"):
            minus = ast.UnaryOp(ast.USub(), ast.Constant(1))
            return made(ast.Subscript(iterated, ast.Slice(None, None, minus), ast.Load()))
        if len(iterated.args) > 2:
            raise Place(iterated, "import-call", "reversed() of a range with a step")
        low, high = ([ast.Constant(0)] if len(iterated.args) == 1 else []) + iterated.args
        one = ast.Constant(1)
        return made(ast.Call(iterated.func, [ast.BinOp(high, ast.Sub(), one), ast.BinOp(low, ast.Sub(), one), ast.UnaryOp(ast.USub(), one)], []))

    def unpacked_rows(self, target, iterated):
        """`for x, y in points`: the elements of each row."""
        names = [part.id for part in target.elts if isinstance(part, ast.Name)] if isinstance(target, (ast.Tuple, ast.List)) else []
        array = self.plain(iterated)
        if not names or len(names) != len(target.elts) or array.rank != 2 or array.shape[1].constant not in (None, len(names)):
            raise Place(target, "import-statement", "several loop variables")
        if array.shape[1].constant is None:
            self.emit(f'assert({array.shape[1].code()} == {len(names)}, "rows of {len(names)} elements");')
        place, bindings, head = self.fresh("at"), {}, []
        for number, name in enumerate(names):
            new = self.fresh(name)
            again = name in self.frame.changed or self.frame.stored.get(name, 0) > 1
            head.append(f"{'var' if again else 'let'} {new} = {array.at(POSTFIX)}[{place}, {number}];")
            bindings[name] = Binding(new, Value(new, array.type), fixed=not again)
        self.trip = Trip(Extent.of(place), array.shape[0])
        return f"{place} in 0..{array.shape[0].code()}", bindings, head

    def is_python(self, node, name):
        """A call of Python's own function of this name."""
        return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == name and not self.is_local(name)

    def loop(self, node, opening, bindings, head):
        """The loop `for opening`, with the lines of `head` first in its body. Its variables are copied to those that are read behind it."""
        variables = [binding.target for binding in bindings.values()]
        kept = {name: binding.target for name in bindings if (binding := self.binding(name)) is not None and not binding.fixed}
        head = [*head, *(f"{target} = {bindings[name].target};" for name, target in kept.items())]
        grown = self.grown(node)

        def run():
            self.loop_variables += variables
            self.growing.update(grown.values())
            self.emit(f"for {opening} {{")
            self.block(node.body, (node.lineno, node.col_offset), bindings, head)
            del self.loop_variables[-len(variables):]
            self.emit("}")
        self.repeated(run, node)
        for target, _ in grown.values():
            del self.growing[target]
        self.used -= {*variables, opening.split()[0]}

    def enumerated(self, target, call):
        """`for i, x in enumerate(array)`."""
        start = call.args[1] if len(call.args) == 2 else next((k.value for k in call.keywords if k.arg == "start"), None)
        if not call.args:
            raise Place(call, "import-call", "enumerate of nothing")
        if not isinstance(target, ast.Tuple) or len(target.elts) != 2 or not isinstance(target.elts[0], ast.Name):
            raise Place(target, "import-statement", "several loop variables")
        counter, part = target.elts[0].id, target.elts[1]
        variable = self.fresh("at" if counter == "_" or start is not None else counter)
        if self.is_python(call.args[0], "zip"):
            opening, bindings, head = self.zipped(part, call.args[0], variable)
        elif isinstance(part, ast.Name):
            opening, bindings, head = self.rows(part.id, call.args[0], variable)
        else:
            raise Place(part, "import-statement", "several loop variables")
        value = Value(variable, "i64", size=Extent.of(variable), natural=True)
        if start is not None:
            name = self.fresh(counter)
            head = [f"let {name} = {variable} + {self.plain(start).at(SUM + 1)};", *head]
            value = Value(name, "i64", size=Extent.of(name))
        bindings[counter] = Binding(value.code, value, fixed=True)
        return opening, bindings, head

    def zipped(self, target, call, place):
        """`a, b` of `zip(x, y)`: rows of several arrays, as many as the shortest has."""
        names = [part.id for part in target.elts if isinstance(part, ast.Name)] if isinstance(target, (ast.Tuple, ast.List)) else []
        if call.keywords or not call.args or len(names) != len(call.args) or len(names) != len(target.elts):
            raise Place(target, "import-statement", "zip into something other than a name for each array")
        parts = [self.rows(name, argument, place) for name, argument in zip(names, call.args)]
        lengths = list(dict.fromkeys(opening.split("..", 1)[1] for opening, _, _ in parts))
        length = lengths[0]
        for other in lengths[1:]:
            length = f"min({length}, {other})"
        bindings = {name: binding for _, part, _ in parts for name, binding in part.items()}
        self.trip = Trip(Extent.of(place), self.trip.count if len(lengths) == 1 else Extent.of(length))
        return f"{place} in 0..{length}", bindings, [line for _, _, head in parts for line in head]

    def counted(self, name, call):
        """`range(...)`."""
        if not 1 <= len(call.args) <= 3 or call.keywords:
            raise Place(call, "import-call", "range with other than one to three arguments")
        values = [self.plain(argument) for argument in call.args]
        for value, argument in zip(values, call.args):
            if value.rank or value.type[0] not in "iu":
                raise Place(argument, "import-type", "a bound of range that is not an integer")
        low, high = (text_of(0), values[0]) if len(values) == 1 else values[:2]
        step = f" by {values[2].at(SUM)}" if len(values) == 3 else ""
        down = step and not values[2].natural
        variable = self.fresh("step" if name == "_" else name)
        natural = high.natural if down else low.natural
        value = Value(variable, "i64", size=Extent.of(variable), natural=natural or bool(down and _reaches_zero(high)),
                      positive=_above_zero(high, 1) if down else _above_zero(low))
        self.trip = counted_trip(variable, low, high, values[2] if step else text_of(1))
        return f"{variable} in {low.at(SUM)}..{high.at(SUM)}{step}", {name: Binding(variable, value, fixed=True)}

    def rows(self, target, iterated, place):
        """The rows of an array, or numbers that are listed, in order; `place` counts them."""
        array = self.expression(iterated)
        if array.items and all(item.literal and item.type == array.items[0].type for item in array.items):
            array = Value(f"[{', '.join(item.code for item in array.items)}]", array.items[0].type, (Extent(len(array.items)),))
        if not array.rank or array.mask is not None:
            raise Place(iterated, "import-statement", "a loop over something other than range, arrays and numbers of one type")
        name = self.fresh(target)
        rest = "".join(", :" for _ in array.shape[1:])
        changed = target in self.frame.changed
        head = f"{'var' if changed else 'let'} {name} = {array.at(POSTFIX)}[{place}{rest}];"
        value = Value(name, array.type, array.shape[1:], storage=array.storage if array.rank > 1 else frozenset())
        size = Extent.of(name) if array.type == "i64" and array.rank == 1 and not changed else None
        value = dataclasses.replace(value, size=size)
        self.trip = Trip(Extent.of(place), array.shape[0])
        return f"{place} in 0..{array.shape[0].code()}", {target: Binding(name, value, fixed=not changed)}, [head]

    def _while_statement(self, node):
        if node.orelse:
            raise Place(node, "import-statement", "while … else")
        def run():
            mark = len(self.out)
            test = self.truth(self.expression(node.test), node.test)
            if len(self.out) > mark:
                raise Place(node.test, "import-statement", "a condition that needs statements of its own")
            self.emit(f"while {test.code} {{")
            self.block(node.body, (node.lineno, node.col_offset))
            self.emit("}")
        self.repeated(run, node)


def counted_trip(variable, low, high, step):
    """None where the bounds are computed from data."""
    size = step.size.constant if step.size is not None else None
    if low.size is None or high.size is None or not size:
        return None
    here, whole = Extent.of(variable), high.size - low.size
    if size < 0:
        here, whole, low = here.times(-1), whole.times(-1), Value("", "i64", size=low.size.times(-1))
    if abs(size) == 1:
        return Trip(here - low.size, whole)
    return Trip((here - low.size).divide(Extent(abs(size))), (whole + Extent(abs(size) - 1)).divide(Extent(abs(size))))


def _above_zero(bound, distance=0):
    return bound.size is not None and bound.size.constant is not None and bound.size.constant + distance > 0


def _reaches_zero(high):
    return high.size is not None and high.size.constant is not None and high.size.constant >= -1
