"""Loop nests as the routine or the tensor expression that they are: a template is matched with the statements of a block, and the translator
writes the form instead, or the statements as they stand where its conditions do not hold. Names with a trailing underscore match any expression."""
import ast
import copy
import re

from .errors import Place, Skip
from .rows import NotRows
from .source import counted_loop
from .values import SUM, Value

_MOST_STATEMENTS = 3

# Each: the template's statements, then the program's statements. {A} is the variable that the expression A_ is, {e} the text of e_.
# `square A n`: a float matrix with n rows and columns; `vector x`, `matrix A`: an array of this rank; `within x n`: n is its first extent; `positive lo`:
# a number above 0; `scalar s`: a variable; `same x y`: two arrays of one type that share no memory.
_TEMPLATES = [
    ("""
if_first: A_[0, 0] = sqrt(A_[0, 0])
for i_ in range(lo_, n_):
    for j_ in range(i_):
        A_[i_, j_] -= A_[i_, :j_] @ A_[j_, :j_]
        A_[i_, j_] /= A_[j_, j_]
    A_[i_, i_] -= A_[i_, :i_] @ A_[i_, :i_]
    A_[i_, i_] = sqrt(A_[i_, i_])
""", ["square A n"], ["let {f} = cholesky({A});", "{A}[{r}, {c}] = {f}[{r}, {c}] where {r} >= {c};"]),
    ("""
for j_ in range(n_):
    L_[j_, j_] = sqrt(A_[j_, j_] - L_[j_, :j_] @ L_[j_, :j_])
    for i_ in range(j_ + 1, n_):
        L_[i_, j_] = (A_[i_, j_] - L_[i_, :j_] @ L_[j_, :j_]) / L_[j_, j_]
""", ["square L n", "square A n"], ["let {f} = cholesky({A});", "{L}[{r}, {c}] = {f}[{r}, {c}] where {r} >= {c};"]),
    ("""
for i_ in range(n_):
    for j_ in range(i_ + 1):
        if i_ == j_:
            L_[i_, j_] = sqrt(A_[i_, i_] - L_[i_, :j_] @ L_[i_, :j_])
        else:
            L_[i_, j_] = (A_[i_, j_] - L_[i_, :j_] @ L_[j_, :j_]) / L_[j_, j_]
""", ["square L n", "square A n"], ["let {f} = cholesky({A});", "{L}[{r}, {c}] = {f}[{r}, {c}] where {r} >= {c};"]),
    ("""
for i_ in range(n_):
    for j_ in range(i_):
        A_[i_, j_] -= A_[i_, :j_] @ A_[:j_, j_]
        A_[i_, j_] /= A_[j_, j_]
    for j_ in range(i_, n_):
        A_[i_, j_] -= A_[i_, :i_] @ A_[:i_, j_]
""", ["square A n"], ["for {q} in 0..{n} {{", "  {A}[{r}, {q}] /= {A}[{q}, {q}] for {r} in {q} + 1..{n};",
                      "  {A}[{r}, {c}] -= {A}[{r}, {q}] * {A}[{q}, {c}] for {r} in {q} + 1..{n}, {c} in {q} + 1..{n};", "}}"]),
    ("""
for k_ in range(n_):
    for i_ in range(k_ + 1, n_):
        A_[i_, k_] /= A_[k_, k_]
        for j_ in range(k_ + 1, n_):
            A_[i_, j_] -= A_[i_, k_] * A_[k_, j_]
""", ["square A n"], ["for {q} in 0..{n} {{", "  {A}[{r}, {q}] /= {A}[{q}, {q}] for {r} in {q} + 1..{n};",
                      "  {A}[{r}, {c}] -= {A}[{r}, {q}] * {A}[{q}, {c}] for {r} in {q} + 1..{n}, {c} in {q} + 1..{n};", "}}"]),
    ("""
for k_ in range(n_):
    for i_ in range(n_):
        for j_ in range(n_):
            D_[i_, j_] = minimum(D_[i_, j_], D_[i_, k_] + D_[k_, j_])
""", ["square D n"], ["for {q} in 0..{n} {{",
                      '  assert({D}[{q}, {q}] >= 0, "a cycle of negative length: import with --literal");', "  {D}[{r}, {c}] = min({D}[{r}, {c}], {D}[{r}, {q}] + {D}[{q}, {c}]);", "}}"]),
    ("""
for k_ in range(n_):
    for i_ in range(n_):
        for j_ in range(n_):
            if D_[i_, k_] + D_[k_, j_] < D_[i_, j_]:
                D_[i_, j_] = D_[i_, k_] + D_[k_, j_]
""", ["square D n"], ["for {q} in 0..{n} {{",
                      '  assert({D}[{q}, {q}] >= 0, "a cycle of negative length: import with --literal");', "  {D}[{r}, {c}] = min({D}[{r}, {c}], {D}[{r}, {q}] + {D}[{q}, {c}]);", "}}"]),
    ("""
for i_ in range(lo_, n_):
    x_[i_] += x_[i_ - 1]
""", ["vector x", "positive lo", "within x n"], ["if {n} > {lo} {{", "  {x}[{lo} - 1:{n}] = cumsum({x}[{lo} - 1:{n}]);", "}}"]),
    ("""
for i_ in range(lo_, n_):
    A_[i_] += A_[i_ - 1]
""", ["matrix A", "positive lo", "within A n"], ["if {n} > {lo} {{", "  {A}[{lo} - 1:{n}, :] = cumsum({A}[{lo} - 1:{n}, :], axis=0);", "}}"]),
    ("""
for i_ in range(lo_, n_):
    y_[i_] = y_[i_ - 1] + x_[i_]
""", ["vector y", "vector x", "positive lo", "within y n", "within x n", "same x y"],
     ["if {n} > {lo} {{", "  {y}[{lo}:{n}] = {y}[{lo} - 1] + cumsum({x}[{lo}:{n}]);", "}}"]),
    ("""
for i_ in range(n_):
    s_ += x_[i_]
    y_[i_] = s_
""", ["vector y", "vector x", "within y n", "within x n", "scalar s", "same x y", "same s x"],
     ["if {n} > 0 {{", "  {y}[0:{n}] = {s} + cumsum({x}[0:{n}]);", "  {s} = {y}[{n} - 1];", "}}"]),
]


class Products(ast.NodeTransformer):
    """`a @ b` for `np.dot(a, b)` and `a.dot(b)`."""

    def visit_Call(self, node):
        self.generic_visit(node)
        if not isinstance(node.func, ast.Attribute) or node.func.attr not in ("dot", "inner", "matmul") or node.keywords:
            return node
        library = isinstance(node.func.value, ast.Name) and node.func.value.id in ("np", "numpy")
        sides = node.args if library else [node.func.value, *node.args]
        return ast.copy_location(ast.BinOp(sides[0], ast.MatMult(), sides[1]), node) if len(sides) == 2 else node


class _Normal(Products):
    """One form for expressions that mean the same: `@` of vectors, `sqrt`, `minimum`, `range` with its 0, `A[i, j]`, `A[i]` for `A[i, :]`."""

    def visit_Call(self, node):
        node = super().visit_Call(node)
        if not isinstance(node, ast.Call):
            return node
        name = node.func.attr if isinstance(node.func, ast.Attribute) else node.func.id if isinstance(node.func, ast.Name) else ""
        if name == "sqrt" and len(node.args) == 1:
            node.func = ast.Name("sqrt", ast.Load())
        if name in ("minimum", "min") and len(node.args) == 2:
            node.func = ast.Name("minimum", ast.Load())
        if name == "sum" and not node.keywords and len(node.args) <= 1 and isinstance(node.func, ast.Attribute):
            summed = node.args[0] if node.args else node.func.value
            if isinstance(summed, ast.BinOp) and isinstance(summed.op, ast.Mult):
                return ast.BinOp(summed.left, ast.MatMult(), summed.right)
            if isinstance(summed, ast.BinOp) and isinstance(summed.op, ast.Pow) and getattr(summed.right, "value", None) == 2:
                return ast.BinOp(summed.left, ast.MatMult(), summed.left)
        if name == "range" and len(node.args) == 1:
            node.args = [ast.Constant(0), *node.args]
        return node

    def visit_Slice(self, node):
        self.generic_visit(node)
        if node.lower is not None and getattr(node.lower, "value", None) == 0:
            node.lower = None
        return node

    def visit_Subscript(self, node):
        self.generic_visit(node)
        inner = node.value
        if isinstance(inner, ast.Subscript) and not isinstance(inner.slice, (ast.Slice, ast.Tuple)) and not isinstance(node.slice, ast.Tuple):
            node = ast.Subscript(inner.value, ast.Tuple([inner.slice, node.slice], ast.Load()), node.ctx)
        if isinstance(node.slice, ast.Tuple):
            parts = list(node.slice.elts)
            while len(parts) > 1 and isinstance(parts[-1], ast.Slice) and parts[-1].lower is parts[-1].upper is parts[-1].step is None:
                parts.pop()
            node.slice = ast.Tuple(parts, ast.Load()) if len(parts) > 1 else parts[0]
        return node

    def visit_Assign(self, node):
        self.generic_visit(node)
        target, value = node.targets[0], node.value
        if len(node.targets) == 1 and isinstance(value, ast.BinOp) and _same(target, value.left):
            return ast.copy_location(ast.AugAssign(target, value.op, value.right), node)
        return node

    def visit_For(self, node):
        self.generic_visit(node)
        found = _summing(node)
        return found if found is not None else node


def _summing(loop):
    """`for k in range(n): t -= a[.., k] * b[.., k]` as `t -= a[.., :n] @ b[.., :n]`, or None."""
    body = loop.body[0]
    if len(loop.body) > 1 or loop.orelse or not isinstance(body, ast.AugAssign) or not isinstance(body.op, (ast.Add, ast.Sub)):
        return None
    value, variable = body.value, getattr(loop.target, "id", None)
    counted = isinstance(loop.iter, ast.Call) and getattr(loop.iter.func, "id", "") == "range" and len(loop.iter.args) == 2
    if not counted or variable is None or not isinstance(value, ast.BinOp) or not isinstance(value.op, ast.Mult) or _uses(body.target, variable):
        return None
    bounds = loop.iter.args
    low = None if getattr(bounds[0], "value", None) == 0 else bounds[0]
    part = ast.Slice(low, bounds[-1], None)
    sides = [_sliced(side, variable, part) for side in (value.left, value.right)]
    return None if None in sides else ast.AugAssign(body.target, body.op, ast.BinOp(sides[0], ast.MatMult(), sides[1]))


def _sliced(node, variable, part):
    if not isinstance(node, ast.Subscript):
        return None
    entries = list(node.slice.elts) if isinstance(node.slice, ast.Tuple) else [node.slice]
    places = [i for i, entry in enumerate(entries) if _uses(entry, variable)]
    if len(places) != 1 or not isinstance(entries[places[0]], ast.Name) or _uses(node.value, variable):
        return None
    entries[places[0]] = part
    return ast.Subscript(node.value, ast.Tuple(entries, ast.Load()) if len(entries) > 1 else entries[0], ast.Load())


def _uses(node, name):
    return any(isinstance(inner, ast.Name) and inner.id == name for inner in ast.walk(node))


def _same(a, b):
    """Equal trees, whatever is stored or loaded."""
    return _match(a, b, None)


def _match(pattern, node, found):
    """Whether a tree is the pattern; `found` gets the expressions that match the pattern's names, None if they stand for themselves."""
    if found is not None and isinstance(pattern, ast.Name) and pattern.id.endswith("_"):
        if pattern.id in found:
            return _match(found[pattern.id], node, None)
        if not isinstance(node, ast.expr):
            return False
        found[pattern.id] = node
        return True
    if isinstance(pattern, list):
        return isinstance(node, list) and len(pattern) == len(node) and all(_match(a, b, found) for a, b in zip(pattern, node))
    if not isinstance(pattern, ast.AST):
        return pattern == node
    if type(pattern) is not type(node):
        return False
    fields = [field for field in pattern._fields if field not in ("ctx", "type_comment", "kind")]
    return all(_match(getattr(pattern, field, None), getattr(node, field, None), found) for field in fields)


def _parsed(text):
    """The statements of a template, and whether its first one may be missing."""
    optional = "if_first: " in text
    tree = _Normal().visit(ast.parse(text.replace("if_first: ", "")))
    return tree.body, optional


_PARSED = [(*_parsed(text), conditions, lines) for text, conditions, lines in _TEMPLATES]


def found(body, position):
    """The idioms that begin at this statement of a block: (number of statements, expressions of the names, conditions, lines of the program) each."""
    if not isinstance(body[position], (ast.For, ast.Assign)):
        return
    given = [_Normal().visit(copy.deepcopy(statement)) for statement in body[position:position + _MOST_STATEMENTS]]
    for pattern, optional, conditions, lines in _PARSED:
        for skipped in range(1 + optional):
            names = {}
            if _match(pattern[skipped:], given[:len(pattern) - skipped], names) and (not optional or _first_row(names, skipped)):
                yield len(pattern) - skipped, {name[:-1]: node for name, node in names.items()}, conditions, lines


class Idioms:
    """Part of the translator."""

    def arranged(self, body):
        """Translates the statements of a block, each by itself or as a part of an idiom."""
        position = 0
        while position < len(body):
            count = self.idiom(body, position) if self.idioms else 0
            if not count:
                self.statement(body[position])
            position += max(count, 1)

    def idiom(self, body, position):
        """The number of statements that an idiom has taken in."""
        node = body[position]
        for count, names, conditions, lines in found(body, position):
            if self.attempt(lambda: self.write_idiom(body[position:position + count], names, conditions, lines)):
                return count
        rows = isinstance(node, ast.For) and counted_loop(node) and not self.is_local("range")
        if not rows:
            return 0
        rewritten = ast.fix_missing_locations(Products().visit(copy.deepcopy(node)))
        return int(self.attempt(lambda: self.row_loop(rewritten), declares=False))

    def attempt(self, run, declares=True):
        """Whether `run` succeeds; if not, it leaves nothing behind."""
        stale = [(binding, binding.stale) for frame in self.frames for block in frame.blocks for binding in block.values()]
        kept = len(self.out), set(self.used), set(self.shown), dict(self.changed_storages), list(self.notes), len(self.frame.blocks)
        try:
            run()
            if declares or not any(line.lstrip().startswith(("let ", "var ")) for line in self.out[kept[0]:]):
                return True
        except (NotRows, Place, Skip):
            pass
        del self.out[kept[0]:]
        self.used, self.shown, self.changed_storages, self.notes = kept[1:5]
        del self.frame.blocks[kept[5]:]
        for binding, before in stale:
            binding.stale = before
        return False

    def ended(self, statement):
        """Loop variables of nests that are no loops any more: a later statement that reads them has the loops instead."""
        for loop in ast.walk(statement):
            if isinstance(loop, ast.For):
                opening = (loop.lineno, loop.col_offset)
                if self.binding(loop.target.id) is not None or (self.frame.key, opening, loop.target.id) in self.hoisted:
                    raise NotRows
                self.frame.closed[loop.target.id] = (opening, Value("", "i64"))

    def write_idiom(self, statements, names, conditions, lines):
        operands = {operand for condition in conditions for operand in condition.split()[1:]}
        values = {name: self.plain(node) for name, node in sorted(names.items()) if name in operands}
        for condition in conditions:
            word, *operands = condition.split()
            if not _HOLDS[word](*(values[operand] for operand in operands)):
                raise NotRows
        texts = {name: value.at(SUM + 1) for name, value in values.items()}
        for name in sorted(set(re.findall(r"(?m)^ *\{(\w)\}", "\n".join(lines)))):
            binding = self.binding(names[name].id) if isinstance(names[name], ast.Name) else None
            if binding is None or binding.target is None or binding.fixed:
                raise NotRows
            self.changed_in_place(names[name].id, binding, statements[-1])
            texts[name] = binding.target
        for statement in statements:
            self.comment(statement)
        inner = {key: self.fresh(name) for key, name in (("f", "factor"), ("q", "k"), ("r", "i"), ("c", "j"))}
        for line in lines:
            self.emit(line.format(**inner, **texts))
        self.used -= {inner["q"], inner["r"], inner["c"]}
        for statement in statements:
            self.ended(statement)


_HOLDS = {
    "square": lambda a, n: a.type in ("f64", "f32") and a.rank == 2 and n.size is not None and a.shape == (n.size, n.size),
    "vector": lambda x: x.type in ("f64", "i64") and x.rank == 1 and x.code.isidentifier(),
    "matrix": lambda a: a.type in ("f64", "i64") and a.rank == 2 and a.code.isidentifier(),
    "within": lambda x, n: n.size is not None and x.shape[0] == n.size,
    "positive": lambda n: n.size is not None and n.size.constant is not None and n.size.constant >= 1,
    "scalar": lambda s: s.type in ("f64", "i64") and not s.rank,
    "same": lambda x, y: x.type == y.type and not x.storage & y.storage}


def _first_row(names, skipped):
    """Cholesky's loop begins at 0, or at 1 behind the first row's statement."""
    low = names.get("lo_")
    return low is None or getattr(low, "value", None) in ((0,) if skipped else (0, 1))
