"""Loops over rows in index notation: `for i in range(n): C[i, :i] += a * A[i] @ B[:, :i]` is one statement over i and the elements of the row. The loops
that become statements compute nothing but sums, products and scaled rows of arrays that they do not change."""
import ast
import re

from .errors import Place, Skip
from .extents import Extent
from .source import counted_loop
from .values import PRODUCT, SUM

_SYMBOLS = {ast.Add: ("+", SUM), ast.Sub: ("-", SUM), ast.Mult: ("*", PRODUCT), ast.Div: ("/", PRODUCT)}


class NotRows(Exception):
    """The loop is translated as it stands."""


class Rows:
    """Part of the translator."""

    def row_loop(self, node):
        """Emits the statements that a loop over rows is, or raises NotRows, Place or Skip, with nothing to keep."""
        statements, mark = list(_statements(node, ())), len(self.out)
        written = {target.value.id for _, statement in statements for target in _targets(statement)}
        self.require_independent(statements, written)
        self.ended(node)
        for loops, statement in statements:
            self.comment(statement)
            self.row_statement(loops, statement)
        if not any(re.search(r"sum\[|, \w+ in ", line) for line in self.out[mark:]):
            raise NotRows  # single elements only

    @staticmethod
    def require_independent(statements, written):
        """No statement reads what another one or another iteration writes, and each element has one iteration that writes it."""
        places = {}
        for loops, statement in statements:
            targets = _targets(statement)
            for inner in ast.walk(statement.value):
                if isinstance(inner, ast.Name) and inner.id in written:
                    raise NotRows
            for target in targets:
                place = _place_of(target, loops[0].target.id)
                if places.setdefault(target.value.id, place) != place and len(statements) > 1:
                    raise NotRows

    def row_statement(self, loops, statement):
        frame, openings, sums = self.frame, [], []
        frame.blocks.append({})
        names = []
        try:
            first, *others = _targets(statement)
            used = {inner.id for inner in ast.walk(first.slice) if isinstance(inner, ast.Name)}
            for loop in loops:
                opening, bindings = self.counted(loop.target.id, loop.iter)
                if " by " in opening:
                    raise NotRows
                frame.blocks[-1].update(bindings)
                names.append(opening.split()[0])
                (openings if loop.target.id in used else sums).append(opening)
            self.row_written(first, others, statement, openings, sums)
        finally:
            frame.blocks.pop()
            self.used -= set(names)

    def row_written(self, first, others, statement, openings, sums):
        augmented = isinstance(statement, ast.AugAssign)
        if sums and not (augmented and isinstance(statement.op, (ast.Add, ast.Sub))) or augmented and type(statement.op) not in _SYMBOLS:
            raise NotRows
        base = self.row_base(first, statement)
        texts, axes, ranges = self.row_target(first, base)
        value = self.element_of(statement.value, axes)
        if sums:
            value = (f"sum[{', '.join(sums)}]({value[0]})", PRODUCT + 1)
        symbol = f"{_SYMBOLS[type(statement.op)][0]}=" if augmented else "="
        suffix = f" for {', '.join([*openings, *ranges])}"
        self.emit(f"{self.binding(first.value.id).target}[{', '.join(texts)}] {symbol} {value[0]}{suffix};")
        for other in others:
            self.mirrored(first, other, base, suffix, texts)
        self.used -= {name for name, _, _ in axes}

    def mirrored(self, first, other, base, suffix, texts):
        """`C[i + 1:, i] = C[i, i + 1:] = …`: the other half is copied, if no two iterations write an element."""
        entries = [self.entries(target.slice, base) for target in (first, other)]
        if first.value.id != other.value.id or base.rank != 2 or [ast.dump(e) for e in entries[0]] != [ast.dump(e) for e in entries[1][::-1]]:
            raise NotRows
        at = 0 if isinstance(entries[0][0], ast.Slice) else 1
        variable, part = entries[0][1 - at], entries[0][at]
        if not isinstance(variable, ast.Name) or not isinstance(part, ast.Slice) or part.lower is None:
            raise NotRows
        distance = self.bound(part.lower, base.shape[at], Extent(0))[1] - Extent.of(self.binding(variable.id).target)
        if distance.constant is None or distance.constant < 0:
            raise NotRows
        name = self.binding(other.value.id).target
        self.emit(f"{name}[{texts[1]}, {texts[0]}] = {name}[{', '.join(texts)}]{suffix};")

    def row_base(self, target, node):
        base, binding = self.look_up(target.value), self.binding(target.value.id)
        if binding is None or binding.target is None or binding.fixed or base.type != "f64":
            raise NotRows
        self.changed_in_place(target.value.id, binding, node)
        return base

    def row_target(self, target, base):
        """Subscripts of the target; (name, low, length) of each slice; their ranges."""
        texts, axes, ranges = [], [], []
        for entry, extent in zip(self.entries(target.slice, base), base.shape):
            if not isinstance(entry, ast.Slice):
                if not isinstance(entry, ast.Name) or entry.id not in self.frame.blocks[-1]:
                    raise NotRows
                texts.append(self.binding(entry.id).target)
                continue
            low, high = self.row_bounds(entry, extent)
            name = self.fresh("j")
            texts.append(name)
            axes.append((name, low, high - low))
            ranges.append(f"{name} in {low.code()}..{high.code()}")
        return texts, axes, ranges

    def row_bounds(self, entry, extent):
        if entry.step is not None or any(isinstance(e, ast.UnaryOp) and not isinstance(e.operand, ast.Constant) for e in (entry.lower, entry.upper)):
            raise NotRows
        return self.bound(entry.lower, extent, Extent(0))[1], self.bound(entry.upper, extent, extent)[1]

    def element_of(self, node, axes):
        """Text and precedence of an expression's element at the index names of `axes`, the last dimensions of the result."""
        mark = len(self.out)
        value = self.plain(node)
        if len(self.out) > mark or value.type != "f64" and not value.literal:
            raise NotRows
        if not value.rank:
            if not _is_product(node) and ":" in value.code:
                raise NotRows  # a reduction of a part whose bounds would be indices
            return self.inner_product(node) if _is_product(node) else (value.code, value.level)
        axes = axes[len(axes) - value.rank:]
        if value.shape != tuple(length for _, _, length in axes):
            raise NotRows  # broadcasting
        if isinstance(node, ast.BinOp) and type(node.op) in _SYMBOLS:
            symbol, level = _SYMBOLS[type(node.op)]
            left, right = self.element_of(node.left, axes), self.element_of(node.right, axes)
            return f"{_at(left, level)} {symbol} {_at(right, level + 1)}", level
        if _is_product(node):
            return self.inner_product(node, axes)
        return self.element_of_part(node, value, axes), 9

    def element_of_part(self, node, value, axes, summed=None):
        """The element of an array or a part of one; `summed` is (dimension of the part, name, low bound) of a sum's index."""
        base = self.look_up(node) if isinstance(node, ast.Name) else self.look_up(node.value) if _is_part(node) else None
        if base is None or not base.code.isidentifier():
            raise NotRows
        entries = self.entries(node.slice, base) if _is_part(node) else [ast.Slice()] * base.rank
        texts, axes, dimension = [], list(axes), 0
        for entry, extent in zip(entries, base.shape):
            if not isinstance(entry, ast.Slice):
                texts.append(self.element(entry, extent))
                continue
            own, _ = self.row_bounds(entry, extent)
            name, low, _ = (summed[1], summed[2], None) if summed and dimension == summed[0] else axes.pop(0)
            texts.append((Extent.of(name) + own - low).code())
            dimension += 1
        return f"{base.code}[{', '.join(texts)}]"

    def inner_product(self, node, axes=()):
        """`a @ b` of parts of arrays as a sum: the last dimension of a with the first of b."""
        a, b = node.left, node.right
        left, right = self.plain(a), self.plain(b)
        if left.rank + right.rank - 2 != len(axes) or not 1 <= left.rank <= 2 or not 1 <= right.rank <= 2:
            raise NotRows
        low, high = self.bounds_of(a, left.rank - 1)
        name = self.fresh("k")
        self.used.discard(name)
        first = self.element_of_part(a, left, axes[:left.rank - 1], (left.rank - 1, name, low))
        second = self.element_of_part(b, right, axes[left.rank - 1:], (0, name, low))
        return f"sum[{name} in {low.code()}..{high.code()}]({first} * {second})", PRODUCT + 1

    def bounds_of(self, node, dimension):
        if isinstance(node, ast.Name):
            return Extent(0), self.look_up(node).shape[dimension]
        if not _is_part(node):
            raise NotRows
        base = self.look_up(node.value)
        slices = [(entry, extent) for entry, extent in zip(self.entries(node.slice, base), base.shape) if isinstance(entry, ast.Slice)]
        return self.row_bounds(*slices[dimension])

    def summed_product(self, node):
        """A product of two parts of rows within a loop as a sum over elements, for loops that are compiled as a whole; None if it is none."""
        if not self.loop_variables or not (_is_part(node.left) and _is_part(node.right)):
            return None
        mark, used = len(self.out), set(self.used)
        try:
            text, level = self.inner_product(node)
            return text if len(self.out) == mark else None
        except (NotRows, Place, Skip):
            return None
        finally:
            del self.out[mark:]
            self.used = used


def _at(operand, level):
    return operand[0] if operand[1] >= level else f"({operand[0]})"


def _is_part(node):
    return isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name)


def _is_product(node):
    return isinstance(node, ast.BinOp) and isinstance(node.op, ast.MatMult)


def _targets(statement):
    targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
    if not all(_is_part(target) for target in targets):
        raise NotRows
    return targets


def _statements(node, loops):
    """The assignments of a nest with the loops around each."""
    if not counted_loop(node):
        raise NotRows
    loops = (*loops, node)
    for statement in node.body:
        if isinstance(statement, ast.For):
            yield from _statements(statement, loops)
        elif isinstance(statement, (ast.Assign, ast.AugAssign)):
            yield loops, statement
        else:
            raise NotRows


def _place_of(target, variable):
    entries = target.slice.elts if isinstance(target.slice, ast.Tuple) else [target.slice]
    places = [i for i, entry in enumerate(entries) if isinstance(entry, ast.Name) and entry.id == variable]
    if len(places) != 1:
        raise NotRows
    return places[0]
