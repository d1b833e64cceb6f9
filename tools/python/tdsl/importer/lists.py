"""Lists: listed values, comprehensions, loops over listed values, and lists that grow in a loop, whose length is known before it."""
import ast
import copy
import dataclasses

from . import names
from .errors import Place, Restart
from .extents import Extent
from .scopes import Binding
from .values import ORDER, POSTFIX, Value, cast, unified

_MOST_UNROLLED = 32


class _Replaced(ast.NodeTransformer):
    def __init__(self, values):
        self.values = values

    def visit_Name(self, node):
        value = self.values.get(node.id)
        return node if value is None else ast.copy_location(copy.deepcopy(value), node)


def _constant(node):
    inner = node.operand if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub) else node
    return isinstance(inner, ast.Constant)


def _stored(body):
    return {inner.id for statement in body for inner in ast.walk(statement) if isinstance(inner, ast.Name) and isinstance(inner.ctx, ast.Store)}


def leaves(body):
    """Whether a `break` or `continue` of the loop around these statements is among them."""
    for statement in body:
        if isinstance(statement, (ast.Break, ast.Continue)):
            return True
        if isinstance(statement, ast.If) and leaves([*statement.body, *statement.orelse]) or isinstance(statement, ast.With) and leaves(statement.body):
            return True
    return False


def appended(statement):
    """The name of `name.append(value)`, or None."""
    call = statement.value if isinstance(statement, ast.Expr) else None
    if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr == "append" and isinstance(call.func.value, ast.Name):
        return call.func.value.id if len(call.args) == 1 and not call.keywords else None
    return None


@dataclasses.dataclass
class Trip:
    """The iterations of a loop: the place of the present one, and their number."""
    place: Extent
    count: Extent


class Lists:
    """Part of the translator."""

    def _list(self, node):
        return Value("", "tuple", items=[self.expression(element) for element in node.elts])

    def repeated_list(self, node, items, count):
        """`[x] * n`."""
        if count.size is None or count.rank or len(items) != 1 or items[0].items is not None or items[0].rank:
            raise Place(node, "import-expression", "`*` of a list other than of one number, n times")
        item = self.require_plain(items[0], node)
        if count.size.constant is not None and 0 <= count.size.constant <= _MOST_UNROLLED:
            return Value("", "tuple", items=[item] * count.size.constant)
        return Value(f"full({item.code}, {count.size.code()})", item.type, (count.size,), listed=True)

    def joined_lists(self, node, left, right):
        """Operators of tuples and lists: `+` joins them, `*` repeats them."""
        if isinstance(node.op, ast.Add) and left.items is not None and right.items is not None:
            return Value("", "tuple", items=[*left.items, *right.items])
        if isinstance(node.op, ast.Mult) and isinstance(node.left, ast.List) and right.items is None and right.type == "i64":
            return self.repeated_list(node, left.items, right)
        for value, other, part in ((left, right, node.left), (right, left, node.right)):
            if value.listed and not (other.rank and not other.listed):
                raise Place(node, "import-expression", "an operator of lists: np.array makes an array")
            self.require_plain(value, part)
        return None

    # Loops over listed values

    def listed_elements(self, iterated):
        """The nodes of a loop's listed values, or None."""
        if isinstance(iterated, (ast.Tuple, ast.List)):
            return list(iterated.elts)
        start = ast.Constant(0)
        if self.is_python(iterated, "enumerate") and len(iterated.args) == 1 and not iterated.keywords:
            inner = self.listed_elements(iterated.args[0])
            return None if inner is None else [ast.copy_location(ast.Tuple([ast.copy_location(ast.Constant(start.value + i), e), e], ast.Load()), e)
                                               for i, e in enumerate(inner)]
        if self.is_python(iterated, "zip") and iterated.args:
            parts = [self.listed_elements(argument) for argument in iterated.args]
            if all(part is not None for part in parts):
                return [ast.copy_location(ast.Tuple(list(row), ast.Load()), iterated) for row in zip(*parts)]
        if isinstance(iterated, ast.Name):
            binding = self.binding(iterated.id)
            if binding is not None and binding.target is None and binding.value.items is not None:
                return [ast.copy_location(ast.Subscript(iterated, ast.copy_location(ast.Constant(i), iterated), ast.Load()), iterated)
                        for i in range(len(binding.value.items))]
        return None

    def substituted(self, body, target, element):
        """The body with the loop's variable replaced, or behind an assignment to it."""
        changed = _stored(body)
        pairs = [(target, element)]
        if isinstance(target, (ast.Tuple, ast.List)) and isinstance(element, (ast.Tuple, ast.List)) and len(target.elts) == len(element.elts):
            pairs = list(zip(target.elts, element.elts))
        values, assigned = {}, []
        for name, value in pairs:
            simple = _constant(value) or isinstance(value, ast.Name) and value.id not in changed
            if simple and isinstance(name, ast.Name) and name.id not in changed:
                values[name.id] = value
            else:
                assigned.append(ast.copy_location(ast.Assign([name], value), value))
        return [*assigned, *(_Replaced(values).visit(copy.deepcopy(statement)) for statement in body)]

    def unrolled(self, node):
        """`for x in (a, b):` as its bodies one behind the other; False for other loops."""
        elements = self.listed_elements(node.iter)
        if elements is None or isinstance(node.target, ast.Name) and elements and all(_constant(element) for element in elements) and \
                not isinstance(node.iter, ast.Name):
            return False
        if len(elements) > _MOST_UNROLLED or leaves(node.body):
            raise Place(node, "import-statement", f"a loop over listed values that ends early, or over more than {_MOST_UNROLLED}")
        for element in elements:
            self.arranged(self.substituted(node.body, node.target, element))
        return True

    # Comprehensions

    def _listcomp(self, node):
        elements = self.listed_comprehension(node, node.generators, {})
        if elements is not None:
            return Value("", "tuple", items=elements)
        if len(node.generators) > 1:
            raise Place(node, "import-expression", "a comprehension with several loops")
        return self.collected(node)

    _generatorexp = _listcomp

    def listed_comprehension(self, node, generators, values):
        """The values of a comprehension over listed values, or None."""
        if not generators:
            return [self.expression(_Replaced(values).visit(copy.deepcopy(node.elt)))]
        generator, *others = generators
        elements = self.listed_elements(generator.iter)
        if elements is None and isinstance(generator.iter, ast.Call) and self.is_python(generator.iter, "range") and (others or values or generator.ifs):
            elements = self.constant_range(generator.iter)
        if elements is None:
            return None
        result = []
        for element in elements:
            inner = dict(values)
            targets = [(generator.target, element)]
            if isinstance(generator.target, ast.Tuple):
                if not isinstance(element, (ast.Tuple, ast.List)) or len(element.elts) != len(generator.target.elts):
                    return None
                targets = list(zip(generator.target.elts, element.elts))
            if not all(isinstance(target, ast.Name) for target, _ in targets):
                return None
            inner.update({target.id: value for target, value in targets})
            tests = [self.truth(self.expression(_Replaced(inner).visit(copy.deepcopy(test))), test).known for test in generator.ifs]
            if None in tests:
                return None
            if all(tests):
                part = self.listed_comprehension(node, others, inner)
                if part is None:
                    return None
                result += part
            if len(result) > _MOST_UNROLLED:
                raise Place(node, "import-expression", f"a comprehension of more than {_MOST_UNROLLED} listed values")
        return result

    def constant_range(self, call):
        mark = len(self.out)
        sizes = [self.plain(argument).size for argument in call.args]
        if len(self.out) > mark or any(size is None or size.constant is None for size in sizes):
            return None
        numbers = range(*(size.constant for size in sizes))
        return [ast.copy_location(ast.Constant(number), call) for number in numbers] if len(numbers) <= _MOST_UNROLLED else None

    def collected(self, node):
        """The values of a comprehension in an array: a loop that stores them; with a condition a selection."""
        generator = node.generators[0]
        opening, bindings, head = self.iteration(generator.target, generator.iter, node)
        mark, trip = len(self.out), self.trip
        if trip is None:
            raise Place(node, "import-expression", "a comprehension over a range that is computed from data")
        variables = [binding.target for binding in bindings.values()]
        target, mask = self.fresh("values"), self.fresh("chosen") if generator.ifs else None
        self.frame.blocks.append(dict(bindings))
        self.local_names.append([])
        self.loop_variables += variables
        self.emit(f"for {opening} {{")
        self.indent += 1
        for line in head:
            self.emit(line)
        if mask:
            tests = [self.truth(self.expression(test), test).at(3) for test in generator.ifs]
            self.emit(f"if {' && '.join(tests)} {{")
            self.indent += 1
            self.emit(f"{mask}[{trip.place.code()}] = true;")
        value = self.expression(node.elt)
        value = names.array_of(names.Call(self, node, "array", {}), value.items, node) if value.items is not None else self.require_plain(value, node.elt)
        rest = "".join(", :" for _ in value.shape)
        self.emit(f"{target}[{trip.place.code()}{rest}] = {value.code};")
        if mask:
            self.indent -= 1
            self.emit("}")
        self.indent -= 1
        self.emit("}")
        del self.loop_variables[len(self.loop_variables) - len(variables):]
        self.used -= {*self.local_names.pop(), *variables, opening.split()[0]}
        self.frame.blocks.pop()
        pad, shape = "  " * self.indent, (trip.count, *value.shape)
        lines = [self.zeros_of(target, value.type, shape), *([self.zeros_of(mask, "bool", shape[:1])] if mask else [])]
        self.out[mark:mark] = [pad + line for line in lines]
        self.local_names[-1] += [target, *([mask] if mask else [])]
        return Value(target, value.type, shape, listed=True, mask=mask, rows=bool(mask and value.rank))

    @staticmethod
    def zeros_of(name, type_, shape):
        extents = ", ".join(extent.code() for extent in shape)
        zero = f"full(false, {extents})" if type_ == "bool" else f"zeros({extents})"
        return f"var {name}: {type_}[{extents}] = {zero};"

    # Lists that grow

    def grown(self, node):
        """Declares the lists to which each iteration of this loop appends one value; the bindings of their names."""
        result = {}
        for statement in node.body:
            name = appended(statement)
            binding = self.binding(name) if name is not None else None
            if binding is None or binding.target is None and binding.value.items is None or binding.target is not None and not binding.value.listed:
                continue
            if name in result or name in _stored(node.body) or leaves(node.body):
                raise Place(statement, "import-statement", f"the list `{name}` does not grow by one in each iteration")
            if self.trip is None:
                raise Place(statement, "import-statement", f"`{name}` grows in a loop over a range that is computed from data")
            result[name] = self.declared_list(name, binding.value, statement)
        return result

    def declared_list(self, name, old, node):
        """A variable for the list, with the values that it has before the loop."""
        before = Extent(len(old.items)) if old.items is not None else old.shape[0]
        items = [self.require_plain(item, node) for item in old.items or []]
        type_, shape = (old.type, old.shape[1:]) if old.items is None else (items[0].type, items[0].shape) if items else ("f64", ())
        type_, shape = self.appended_types.get((self.frame.key, name, node.lineno), (type_, shape))
        target = self.fresh(name)
        self.emit(self.zeros_of(target, type_, (before + self.trip.count, *shape)))
        rest = "".join(", :" for _ in shape)
        if old.items is None:
            self.emit(f"{target}[:{before.code()}{rest}] = {cast(old, type_).code};")
        for place, item in enumerate(items):
            self.emit(f"{target}[{place}{rest}] = {cast(item, type_).code};")
        self.local_names[-1].append(target)
        value = Value(target, type_, (before + self.trip.count, *shape), listed=True, storage=self.new_storage())
        known = bool(items) or old.items is None or (self.frame.key, name, node.lineno) in self.appended_types
        self.frame.blocks[-1][name] = Binding(target, value, unknown=not known)
        self.growing[target] = before + self.trip.place
        return target, before + self.trip.place

    def append(self, name, call, node):
        """`name.append(value)`."""
        binding = self.binding(name)
        if binding is None or binding.target is not None and binding.target not in self.growing:
            raise Place(node, "import-statement", f"`{name}` grows other than once in each iteration of a loop with a known number of them")
        value = self.expression(call.args[0])
        if binding.target is None:
            if binding.value.items is None or self.frame.blocks[-1].get(name) is not binding:
                raise Place(node, "import-statement", f"`{name}` grows under a condition or in a loop that does not count")
            items = [*binding.value.items, *self.lasting(name, Value("", "tuple", items=[value])).items]
            self.frame.blocks[-1][name] = Binding(None, Value("", "tuple", items=items))
            return
        value = names.array_of(names.Call(self, node, "array", {}), value.items, node) if value.items is not None else self.require_plain(value, node)
        type_ = value.type if binding.unknown or value.type == binding.value.type else unified(dataclasses.replace(value, literal=False), Value("", binding.value.type))[2]
        known = self.appended_types.get((self.frame.key, name, node.lineno))
        if value.shape != binding.value.shape[1:] or type_ != binding.value.type:
            if known is not None and (value.shape != known[1] or ORDER.index(known[0]) >= ORDER.index(type_)):
                raise Place(node, "import-shape", f"the values of `{name}` have several shapes")
            self.appended_types[(self.frame.key, name, node.lineno)] = (type_, value.shape)
            raise Restart
        length = self.growing[binding.target]
        rest = "".join(", :" for _ in value.shape)
        self.emit(f"{binding.target}[{length.code()}{rest}] = {cast(value, type_).code};")
        self.growing[binding.target] = length + Extent(1)

    def present(self, binding):
        """The value of a list, within the loop in which it grows: its elements up to now."""
        length = self.growing.get(binding.target)
        if length is None:
            return binding.value
        rest = "".join(", :" for _ in binding.value.shape[1:])
        return dataclasses.replace(binding.value, code=f"{binding.target}[:{length.code()}{rest}]", shape=(length, *binding.value.shape[1:]), level=POSTFIX)

    def of_growing(self, node):
        """An element of a list within the loop in which it grows; None for other subscripts."""
        binding = self.binding(node.value.id)
        length = self.growing.get(binding.target) if binding is not None else None
        index = self.plain(node.slice) if length is not None else None
        if index is None or index.rank or index.type[0] not in "iu":
            return None
        place = index.code
        if index.size is not None and index.size.constant is not None and index.size.constant < 0:
            place = (length + index.size).code()
        rest = "".join(", :" for _ in binding.value.shape[1:])
        return Value(f"{binding.target}[{place}{rest}]", binding.value.type, binding.value.shape[1:])
