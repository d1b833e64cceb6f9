"""Reduces a failing program while it fails in the same way."""
import re
import shutil
import time
from pathlib import Path

import numpy as np

from batch import Point, UNSUPPORTED, run_batch
from model import Expr, INTEGERS


def symptom(failure):
    """The symptom to preserve: the kind, and for compiler messages their words without names and numbers."""
    if failure.kind in ("difference", "statistics", "hang", UNSUPPORTED):
        return failure.kind
    text = re.sub(r"batch\.tdsl:\d+(:\d+)?:?", "", failure.text.splitlines()[0] if failure.text else "")
    text = re.sub(r"'[^']*'|`[^`]*`|\"[^\"]*\"|\b\w*\d\w*\b|\(.*\)", "", text)
    return failure.kind + ": " + " ".join(text.split())[:60]


class Shrinker:
    def __init__(self, failure, folder, tools, seconds=240, log=lambda text: None):
        self.program, self.failure, self.folder, self.tools = failure.program.copy(), failure, Path(folder), tools
        self.point = failure.point or Point(1)
        self.deadline, self.log, self.trials = time.time() + seconds, log, 0
        self.wanted = symptom(failure)
        self.program.outputs = failure.program.outputs

    def fails(self, program, point=None):
        """The failure with the same symptom, or None."""
        if time.time() > self.deadline or not program.declared_outputs():
            return None
        self.trials += 1
        folder = self.folder / "trial"
        shutil.rmtree(folder, ignore_errors=True)
        tools = self.tools._replace(seconds_per_program=5.0)
        attempts = 2 if (point or self.point).delays else 1
        for _ in range(attempts):
            failures, _ = run_batch([program], folder, tools, [point or self.point])
            for failure in failures:
                if symptom(failure) == self.wanted:
                    return failure
        return None

    def accept(self, candidate, point=None):
        failure = self.fails(candidate, point)
        if failure is None:
            return False
        self.program, self.failure, self.point = candidate, failure, point or self.point
        return True

    def run(self):
        """The smallest failing program found: (program, failure)."""
        first = self.fails(self.program)
        if first is None:
            return self.program, self.failure._replace(text=self.failure.text + "\n(does not repeat alone)")
        self.failure = first
        size = None
        while size != self.size() and time.time() < self.deadline:
            size = self.size()
            self.simpler_point()
            self.statements()
            self.expressions()
            self.extents()
            self.log(f"{size} -> {self.size()} nodes after {self.trials} trials")
        return self.program, self.failure

    def size(self):
        return sum(e.size() + 2 for s in all_statements(self.program.statements) for e in s.exprs or [Expr("", [], "", (), 0, 0)])

    def simpler_point(self):
        for change in ({"ranks": 1}, {"ranks": 2}, {"tile": None}, {"threads": 1}, {"window": False}, {"delays": 0}, {"reproducible": False}, {"schedule": "auto"}, {"imposed": 0}):
            point = self.point._replace(**change)
            if point != self.point and (point.ranks <= self.point.ranks):
                self.accept(self.program, point)

    # --- statements
    def statements(self):
        """Removes statements, last first: outputs of others are removed before their operands."""
        count, block = len(paths(self.program)), 8
        while block >= 1 and time.time() < self.deadline:
            at = len(paths(self.program))
            while at > 0:
                places = paths(self.program)[max(at - block, 0):at]
                candidate = self.program.copy()
                for place in reversed(places):
                    remove(candidate, place)
                at -= block
                if places and not (block > 1 and len(places) == 1) and self.accept(candidate):
                    at = min(at, len(paths(self.program)))
            block //= 2
        self.unwrap()
        return count

    def unwrap(self):
        """Replaces a loop or branch by its block."""
        at = 0
        while at < len(paths(self.program)) and time.time() < self.deadline:
            place = paths(self.program)[at]
            candidate = self.program.copy()
            parent, number = block_of(candidate, place)
            s = parent[number]
            if s.blocks:
                for keep in s.blocks:
                    trial = self.program.copy()
                    parent, number = block_of(trial, place)
                    parent[number:number + 1] = [x.copy() for x in keep]
                    if self.accept(trial):
                        break
            at += 1

    # --- expressions
    def expressions(self):
        at = 0
        while time.time() < self.deadline:
            spots = expression_spots(self.program)
            if at >= len(spots):
                return
            statement, number = spots[at]
            self.simplify(statement, number, ())
            at += 1
        return

    def simplify(self, statement, number, path):
        """Tries smaller expressions at a place, then below it."""
        e = expression_at(self.program, statement, number, path)
        for smaller in replacements(e):
            if time.time() > self.deadline:
                return
            candidate = self.program.copy()
            replace(candidate, statement, number, path, smaller.copy())
            if self.accept(candidate):
                self.simplify(statement, number, path)
                return
        for child in range(len(e.children)):
            self.simplify(statement, number, path + (child,))

    def extents(self):
        for index, dim in enumerate(self.program.dims):
            for size in sorted({0, 1, 2, 3, dim.size // 2, dim.size - 1}):
                if 0 <= size < self.program.dims[index].size:
                    candidate = self.program.copy()
                    candidate.resize({dim.text: size})
                    if self.accept(candidate):
                        break


def all_statements(block):
    for s in block:
        yield s
        for inner in s.blocks or []:
            yield from all_statements(inner)


def paths(program):
    """Positions of statements: tuples (number, block, number, …)."""
    def walk(block, prefix):
        for number, s in enumerate(block):
            yield prefix + (number,)
            for b, inner in enumerate(s.blocks or []):
                yield from walk(inner, prefix + (number, b))
    return list(walk(program.statements, ()))


def block_of(program, path):
    block = program.statements
    while len(path) > 1:
        block = block[path[0]].blocks[path[1]]
        path = path[2:]
    return block, path[0]


def remove(program, path):
    try:
        block, number = block_of(program, path)
        del block[number]
    except IndexError:
        pass


def expression_spots(program):
    return [(s, e) for s, statement in enumerate(all_statements(program.statements)) for e in range(len(statement.exprs))]


def expression_at(program, statement, number, path):
    e = list(all_statements(program.statements))[statement].exprs[number]
    for child in path:
        e = e.children[child]
    return e


def replace(program, statement, number, path, smaller):
    target = list(all_statements(program.statements))[statement]
    if not path:
        target.exprs[number] = smaller
        return
    e = target.exprs[number]
    for child in path[:-1]:
        e = e.children[child]
    e.children[path[-1]] = smaller


def replacements(e):
    """Smaller expressions of the same type: literals, then descendants."""
    result = []
    if e.size() > 1 and not e.shape:
        literals = {"bool": ["true", "false"]}.get(e.scalar, ["0", "1"] if e.scalar in INTEGERS else ["0.0", "1.0"])
        result += [Expr(f"{e.scalar}({x})" if e.scalar in ("i32", "f32") else x, [], e.scalar, (), 0, 1) for x in literals]
    below = [d for c in e.children for d in descendants(c)]
    result += sorted((d for d in below if d.signature() == e.signature()), key=Expr.size)[:6]
    if e.shape and e.size() > 2:
        sizes = ", ".join(d.text for d in e.shape)
        value = "true" if e.scalar == "bool" else f"{e.scalar}(1)"
        result.append(Expr(f"full({value}, {sizes})", [], e.scalar, e.shape, 1, 1))
    return result


def descendants(e):
    yield e
    for c in e.children:
        yield from descendants(c)


def report_text(program, failure, point, seed):
    """The program as a case for tests/e2e, with the failure."""
    lines = [f"// Found by tests/property, seed {seed}: {failure.kind} at {point}.",
             *(f"// {x}" for x in failure.text.splitlines()[:6])]
    sizes = " ".join(f"{d.text[1:]}={d.size}" for d in program.dims)
    lines.append("//")
    if sizes:
        lines.append(f"// sizes: {sizes}")
    if program.used_params():
        lines.append("// args: " + " ".join(f"--{n} {t}" for n, t in program.used_params()))
    for i in program.used_inputs():
        dims = ", ".join(d.text.replace("$", "") for d in i.shape)
        values = i.make()
        if values.size <= 64:
            nested = np.array2string(values, separator=",", threshold=100, max_line_width=10**9, floatmode="unique")
            kind = "= np.array(" + " ".join(nested.replace("\n", " ").replace("true", "True").replace("false", "False").split()) + ").reshape(shape)"
        else:
            kind = "bool" if i.scalar == "bool" else f"randint {int(values.min())} {int(values.max()) + 1}"
        lines.append(f"// input {i.name}: {i.scalar}[{dims}] {kind}")
        if i.extension in (".mtx", ".tns", ".csv"):
            lines.append(f"// as {i.extension[1:]}: {i.name}")
    lines.append("// variants: float")
    return "\n".join(lines) + "\n" + program.text()
