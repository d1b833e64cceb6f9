"""Subscripts: slices with their extents, masks, gathers, and assignments to parts of arrays."""
import ast
import dataclasses

from . import names
from .errors import Place
from .extents import Extent
from .scopes import Binding
from .values import POSTFIX, PRODUCT, SUM, UNARY, Value, cast, is_complex


def _is_slice(node):
    return isinstance(node, ast.Slice)


class Subscripts:
    """Part of the translator."""

    def is_new_axis(self, node):
        if isinstance(node, ast.Constant):
            return node.value is None
        return isinstance(node, ast.Attribute) and node.attr == "newaxis" and getattr(self.script.object_of(node.value), "__name__", "") == "numpy"

    def extent(self, node):
        """The expression as an extent."""
        value = self.expression(node)
        if value.rank or value.items is not None:
            raise Place(node, "import-shape", "an extent that is an array")
        if value.type[0] not in "iu":
            raise Place(node, "import-shape", f"an extent of type {value.type}")
        if value.size is not None:
            return value.size
        name = self.fresh("extent")
        self.emit(f"let {name} = {value.code};")
        return Extent.of(name)

    def entries(self, node, base):
        """One node per dimension and new axis; `...` and missing ones are `:`."""
        given = list(node.elts) if isinstance(node, ast.Tuple) else [node]
        dots = [i for i, entry in enumerate(given) if isinstance(entry, ast.Constant) and entry.value is ...]
        count = sum(not self.is_new_axis(entry) for entry in given) - len(dots)
        if count > base.rank:
            raise Place(node, "import-rank", f"{count} subscripts of {base.rank} dimensions")
        missing = [ast.copy_location(ast.Slice(), node) for _ in range(base.rank - count)]
        at = dots[0] if dots else len(given)
        return given[:at] + missing + given[at + len(dots):]

    def bound(self, node, extent, default):
        """The bound of a slice: its text and where it lies. A bound with a leading minus counts from the end."""
        if node is None:
            return "", default
        value = self.expression(node)
        if value.type[0] not in "iu" or value.rank:
            raise Place(node, "import-type", "the bound of a slice is not an integer")
        size = value.size if value.size is not None else self.extent(node)
        if size.constant is not None:
            return value.code, extent + size if size.constant < 0 else size
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            if self.expression(node.operand).positive:
                return (extent + size).code(), extent + size
            name = self.fresh("bound")
            self.emit(f"let {name} = {self.wrapped(node, extent)};")
            self.local_names[-1].append(name)
            return name, Extent.of(name)
        return value.code if value.size is not None else size.code(), size

    def slice(self, node, extent):
        """Text and extent of a slice of a dimension."""
        step = 1
        if node.step is not None:
            value = self.expression(node.step)
            step = value.size.constant if value.size is not None else None
            if step is None and value.size is not None and value.type[0] in "iu":
                return self.stepped(node, value, extent)
            if not step:
                raise Place(node.step, "import-step", "a slice with a step that is computed from data, or 0")
        if step < 0:
            if node.lower is not None or node.upper is not None:
                raise Place(node, "import-step", "a slice that counts down between bounds")
            length = extent if step == -1 else (extent + Extent(-step - 1)).divide(Extent(-step))
            return f"::{step}", length
        low_code, low = self.bound(node.lower, extent, Extent(0))
        high_code, high = self.bound(node.upper, extent, extent)
        length = high - low
        if step == 1:
            return f"{low_code}:{high_code}", length
        return f"{low_code}:{high_code}:{step}", (length + Extent(step - 1)).divide(Extent(step))

    def stepped(self, node, step, extent):
        """A slice with a step that is known before, which is above 0."""
        if not step.positive:
            self.emit(f'assert({step.at(SUM)} > 0, "a slice that does not count up");')
        low_code, low = self.bound(node.lower, extent, Extent(0))
        high_code, high = self.bound(node.upper, extent, extent)
        return f"{low_code}:{high_code}:{step.code}", (high - low + step.size - Extent(1)).divide(step.size)

    def element(self, node, extent):
        """The text of a subscript that is a single integer; one with a leading minus counts from the end, as a literal does."""
        value = self.expression(node)
        if value.rank:
            raise Place(node, "import-subscript", "an array among several subscripts")
        if value.type[0] not in "iu":
            raise Place(node, "import-type", f"a subscript of type {value.type}")
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub) and not value.literal:
            return f"({self.wrapped(node, extent)})"
        return value.code

    def wrapped(self, node, extent):
        """The text of `-k` as a place: 0 is the first one, not one behind the last."""
        operand = self.expression(node.operand)
        inside = f"{extent.code()} - {operand.at(PRODUCT)}"
        return inside if operand.positive else f"if {operand.at(SUM)} > 0 then {inside} else -{operand.at(UNARY)}"

    def parts(self, node, base):
        """Texts of the subscripts, the shape of the part, and the same with new axes."""
        texts, shape, axes, dimension = [], [], [], 0
        for entry in self.entries(node, base):
            if self.is_new_axis(entry):
                texts.append("newaxis")
                axes.append(Extent(1))
                continue
            if _is_slice(entry):
                text, length = self.slice(entry, base.shape[dimension])
                shape.append(length)
                axes.append(length)
            else:
                text = self.element(entry, base.shape[dimension])
            texts.append(text)
            dimension += 1
        return texts, tuple(shape), tuple(axes)

    def subscript(self, node):
        """The value of `base[...]`."""
        if isinstance(node.value, ast.Attribute) and node.value.attr == "shape":
            return self.items_of(self.expression(node.value), node)
        base = self.expression(node.value)
        if base.items is not None:
            return self.items_of(base, node)
        if isinstance(node.value, ast.Name) and not isinstance(node.slice, (ast.Slice, ast.Tuple)) and (grown := self.of_growing(node)) is not None:
            return grown
        if base.mask is not None:
            return self.of_selection(base, node)
        if not base.rank:
            raise Place(node, "import-rank", "a subscript of a scalar")
        arrays = self.array_subscripts(node.slice, base)
        if arrays is not None:
            return arrays
        texts, _, axes = self.parts(node.slice, base)
        storage = base.storage if axes else frozenset()
        if all(text == ":" for text in texts):
            return base
        return Value(f"{base.at(POSTFIX)}[{', '.join(texts)}]", base.type, axes, storage=storage)

    def items_of(self, value, node):
        index = self.expression(node.slice) if not _is_slice(node.slice) else None
        if index is None:
            low, high, step = (None if part is None else ast.literal_eval(part) for part in (node.slice.lower, node.slice.upper, node.slice.step))
            return Value("", "tuple", items=value.items[low:high:step])
        if index.size is None or index.size.constant is None or not -len(value.items) <= index.size.constant < len(value.items):
            raise Place(node, "import-tuple", "the subscript of a tuple is not a number within it")
        return value.items[index.size.constant]

    def with_arrays(self, node):
        """The subscripts, with names of arrays in place of lists."""
        entries = []
        for entry in self.given(node):
            if isinstance(entry, ast.List):
                value = self.listed_place(entry)
                name = self.fresh("places")
                self.emit(f"let {name} = {value.code};")
                self.local_names[-1].append(name)
                self.frame.blocks[-1][name] = Binding(name, dataclasses.replace(value, code=name, level=POSTFIX), fixed=True)
                entry = ast.copy_location(ast.Name(name, ast.Load()), entry)
            entries.append(entry)
        return ast.copy_location(ast.Tuple(entries, ast.Load()), node) if isinstance(node, ast.Tuple) else entries[0]

    def of_selection(self, base, node):
        """The first or the last of selected elements."""
        index = self.plain(node.slice) if not isinstance(node.slice, (ast.Slice, ast.Tuple)) else None
        place = index.size.constant if index is not None and index.size is not None and not index.rank else None
        if place not in (0, -1) or base.rank != 1:
            raise Place(node, "import-mask", "a part of a[condition] other than its first or last element")
        self.emit(f'assert(any({base.mask}), "index {place} of a selection of nothing");')
        found = f"argmax({base.mask})" if place == 0 else f"{(base.shape[0] - Extent(1)).code()} - argmax(({base.mask})[::-1])"
        if base.code == f"iota({base.shape[0].code()})":
            return Value(found, base.type, (), POSTFIX if place == 0 else SUM, natural=True)
        return Value(f"{base.at(POSTFIX)}[{found}]", base.type)

    def array_subscripts(self, node, base):
        """x[mask], and x[index] with an integer array in one dimension; None for plain subscripts."""
        entries = self.entries(node, base)
        if any(isinstance(entry, ast.List) for entry in entries):
            return self.array_subscripts(self.with_arrays(node), base)
        plain = (ast.Slice, ast.Constant)
        if all(isinstance(entry, plain) or self.is_new_axis(entry) for entry in entries):
            return None
        # Only nodes that may be arrays are evaluated, once; scalars have no effects.
        mark = len(self.out)
        values = [None if isinstance(entry, plain) or self.is_new_axis(entry) else self.expression(entry) for entry in self.given(node)]
        arrays = [i for i, value in enumerate(values) if value is not None and value.rank]
        if not arrays:
            del self.out[mark:]
            return None
        given = self.given(node)
        index = values[arrays[0]]
        if index.type == "bool":
            return self.selected(node, base, index, given)
        if index.mask is not None:
            return self.at_selected(node, base, index, given)
        full = [entry for i, entry in enumerate(given) if i not in arrays]
        if len(arrays) > 1 or not all(_is_slice(e) and e.lower is e.upper is e.step is None for e in full):
            if len(arrays) == len(given) == base.rank and all(v.rank == 1 for v in values):
                return self.gathered_points(values, base)
            raise Place(node, "import-subscript", "an array among several subscripts")
        axis = arrays[0]
        shape = base.shape[:axis] + index.shape + base.shape[axis + 1:]
        return Value(f"take({base.code}, {index.code}" + (f", axis={axis})" if base.rank > 1 else ")"), base.type, shape)

    def selected(self, node, base, mask, given):
        """x[mask], X[mask] with a condition of rows, and X[mask, subscripts]."""
        rows = mask.rank == 1 and base.rank > 1
        if base.mask is not None or not self.is_array_node(given[0], mask) or mask.rank != base.rank and not rows or len(given) > 1 and not rows:
            raise Place(node, "import-mask", "a mask that is neither a condition of all elements nor of rows")
        if len(given) > 1:
            rest = ast.copy_location(ast.Tuple([ast.copy_location(ast.Slice(), node), *given[1:]], ast.Load()), node)
            texts, shape, _ = self.parts(rest, base)
            base = Value(f"{base.at(POSTFIX)}[{', '.join(texts)}]", base.type, shape)
            rows = base.rank > 1
        if self.target_mask is not None and self.target_mask == ast.unparse(node):
            return base
        return dataclasses.replace(base, mask=mask.code, rows=rows, storage=frozenset(), memory=None)

    def at_selected(self, node, base, index, given):
        """x[index] with selected places: a selection of as many elements."""
        if self.is_whole(index, base.shape[0]):
            return self.selected(node, base, dataclasses.replace(index, code=index.mask, type="bool", mask=None), given)
        if len(given) > 1 or base.rank != 1 or index.rank != 1 or base.mask is not None:
            raise Place(node, "import-mask", "selected places in other than a vector")
        return Value(f"take({base.code}, where({index.mask}, {index.code}, 0))", base.type, index.shape, mask=index.mask)

    @staticmethod
    def is_whole(index, extent):
        """The selection is of all places of a dimension."""
        return index.rank == 1 and index.shape[0] == extent and index.code == f"iota({extent.code()})"

    def is_array_node(self, node, mask):
        """The first subscript is the mask."""
        return not _is_slice(node) and not isinstance(node, ast.Constant) and bool(mask.rank)

    @staticmethod
    def given(node):
        return list(node.elts) if isinstance(node, ast.Tuple) else [node]

    def gathered_points(self, values, base):
        name = self.fresh("gathered")
        i = self.fresh("i")
        self.used.discard(i)
        self.emit(f"let {name}[{i}] = {base.at(POSTFIX)}[{', '.join(f'{v.at(POSTFIX)}[{i}]' for v in values)}];")
        return Value(name, base.type, values[0].shape)

    def store(self, target, value, node):
        """The assignment `base[...] = value`."""
        target, part = self.merged(target)
        if not isinstance(target.value, ast.Name):
            raise Place(target, "import-target", "assignment to a part of an expression")
        name = target.value.id
        base = self.look_up(target.value)
        binding = self.binding(name)
        if binding is None or binding.target is None or binding.fixed:
            raise Place(target, "import-target", f"`{name}` is updated in place, but is not a variable of its own")
        self.changed_in_place(name, binding, node)
        value = self.stored_value(value, base, node)
        if self.store_masked(target, part, base, binding, value):
            return
        texts, shape, axes = self.parts(target.slice, base)
        if "newaxis" in texts:
            raise Place(target, "import-target", "assignment with a new axis")
        if value.rank > len(shape):
            raise Place(target, "import-rank", f"{value.rank} dimensions in a part of {len(shape)}")
        if value.rank and value.rank < len(shape):
            new = ["newaxis"] * (len(shape) - value.rank) + [":"] * value.rank
            value = Value(f"{value.at(POSTFIX)}[{', '.join(new)}]", value.type, (Extent(1),) * (len(shape) - value.rank) + value.shape)
        if all(text == ":" for text in texts) and value.shape == shape:
            self.emit(f"{binding.target} = {value.code};")
        else:
            self.emit(f"{binding.target}[{', '.join(texts)}] = {value.code};")

    def stored_value(self, value, base, node):
        if value.items is not None:
            value = names.array_of(names.Call(self, node, "array", {}), value.items, node)
        if value.type in ("none", "text", "function"):
            raise Place(node, "import-expression", "something other than a number or an array is stored")
        if value.mask is not None:
            raise Place(node, "import-mask", "a[condition] outside of a reduction and of an update under the same condition")
        if value.type != base.type and not (value.literal and value.type == "i64" and base.type != "bool"):
            if base.type == "bool" and value.type != "bool":
                raise Place(node, "import-type", "numbers are stored in a bool array")
            if is_complex(value) and not is_complex(base):
                raise Place(node, "import-complex", "complex numbers are stored in an array of reals")
            value = cast(value, base.type)
        elif value.literal and value.type != base.type:
            value = cast(value, base.type) if base.type == "f64" else value
        return value

    def listed_place(self, node):
        """The value of a subscript; a list of places is an array."""
        value = self.expression(node)
        return names.array_of(names.Call(self, node, "array", {}), value.items, node) if value.items else value

    def scattered(self, target, base, binding, value):
        """`A[p] = v` and `A[p, q] = v` with vectors of different places; the dimensions behind them are whole."""
        given = self.given(target.slice)
        rest = len(given)
        while rest and _is_slice(given[rest - 1]):
            rest -= 1
        i = self.fresh("i")
        self.used.discard(i)
        places, length = [], None
        for entry in given[:rest]:
            if _is_slice(entry) or self.is_new_axis(entry) or isinstance(entry, ast.Constant) and entry.value is ...:
                raise Place(target, "import-subscript", "an array among several subscripts")
            place = self.listed_place(entry)
            if place.rank > 1 or place.type[0] not in "iu" or place.mask is not None:
                raise Place(target, "import-subscript", "assignment to elements that something other than a vector of integers selects")
            if not place.rank:
                places.append(place.code)
                continue
            if not place.code.isidentifier():
                name = self.fresh("place")
                self.emit(f"let {name} = {place.code};")
                self.local_names[-1].append(name)
                place = dataclasses.replace(place, code=name)
            length = place.shape[0] if length is None else length
            places.append(f"{place.code}[{i}]")
        whole = [e for e in given[rest:] if e.lower or e.upper or e.step]
        others = base.shape[rest:]
        if whole or value.rank not in (0, 1 + len(others)) and value.rank != len(others):
            raise Place(target, "import-subscript", "assignment to parts of rows that an array selects")
        names_ = []
        for _ in others:
            names_.append(self.fresh("j"))
        self.used -= set(names_)
        element = value.code
        if value.rank:
            if not value.code.isidentifier():
                name = self.fresh("put")
                self.emit(f"let {name} = {value.code};")
                self.local_names[-1].append(name)
                element = name
            element += f"[{', '.join(([i] if value.rank > len(others) else []) + names_)}]"
        ranges = ", ".join(f"{name} in 0..{extent.code()}" for name, extent in zip([i, *names_], [length, *others]))
        self.emit(f"{binding.target}[{', '.join([*places, *names_])}] = {element} for {ranges};")
        return True

    def merged(self, target):
        """`A[i][j]` as `A[i, j]`, and `A[part][mask]` as the target `A[mask]` and the part."""
        inner = target.value
        if not isinstance(inner, ast.Subscript):
            return target, None
        if isinstance(inner.value, ast.Subscript):
            inner, part = self.merged(inner)
            if part is not None:
                raise Place(target, "import-target", "assignment to a part of a selection")
        given = self.given(inner.slice)
        plain = not any(_is_slice(e) or self.is_new_axis(e) or isinstance(e, ast.Constant) and e.value is ... for e in given)
        if plain and not any(self.expression(e).rank for e in given):
            joined = ast.copy_location(ast.Tuple([*given, *self.given(target.slice)], ast.Load()), target)
            return ast.copy_location(ast.Subscript(inner.value, joined, ast.Store()), target), None
        return ast.copy_location(ast.Subscript(inner.value, target.slice, ast.Store()), target), inner.slice

    def store_masked(self, target, part, base, binding, value):
        """The assignment under a condition; False if there is none."""
        given = self.given(target.slice)
        first = given[0]
        if _is_slice(first) or isinstance(first, ast.Constant) or self.is_new_axis(first):
            if part is not None:
                raise Place(target, "import-target", "assignment to a part of a part")
            return False
        mask = self.listed_place(first)
        if not mask.rank and part is None:
            if any(not _is_slice(e) and not isinstance(e, ast.Constant) and not self.is_new_axis(e) and self.listed_place(e).rank for e in given):
                return self.scattered(target, base, binding, value)
            return False
        if mask.mask is not None:
            if part is not None or not self.is_whole(mask, base.shape[0]):
                raise Place(target, "import-mask", "assignment at selected places other than those of np.where")
            mask = Value(mask.mask, "bool", mask.shape)
        if mask.type != "bool":
            if part is not None:
                raise Place(target, "import-subscript", "assignment to elements of a part that an array selects")
            return self.scattered(target, base, binding, value)
        whole, shape = binding.target, base.shape
        if part is not None or len(given) > 1:
            rest = part if part is not None else ast.copy_location(ast.Tuple([ast.copy_location(ast.Slice(), target), *given[1:]], ast.Load()), target)
            texts, shape, _ = self.parts(rest, base)
            whole = f"{whole}[{', '.join(texts)}]"
        if mask.rank != len(shape) and not (mask.rank == 1 and part is None) or value.rank > len(shape):
            raise Place(target, "import-mask", "a mask that is neither a condition of all elements nor of rows")
        code = f"({mask.code})[:{', newaxis' * (len(shape) - 1)}]" if mask.rank < len(shape) else mask.code
        self.emit(f"{whole} = where({code}, {value.code}, {whole});")
        return True
