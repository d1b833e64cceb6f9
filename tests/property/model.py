"""Generated programs as trees: expressions with type and value range, statements, inputs. `$` in a text is replaced by the
program's prefix, so that many programs fit into one file."""
import math
import re
from pathlib import Path

import numpy as np

DTYPES = {"bool": np.bool_, "i32": np.int32, "i64": np.int64, "f32": np.float32, "f64": np.float64, "i8": np.int8, "u8": np.uint8,
          "i16": np.int16, "u16": np.uint16, "u32": np.uint32, "u64": np.uint64}
FLOATS = ("f32", "f64")
INTEGERS = ("i32", "i64")


class Dim:
    """An extent: its text in the program, in terms of base dimensions like `$n`, and its size."""

    def __init__(self, text, size):
        self.text, self.size = text, size

    def resized(self, sizes):
        """The same extent for different sizes of base dimensions (a dict from texts like `$n`)."""
        names = {name.replace("$", "dim_"): size for name, size in sizes.items()}
        return Dim(self.text, int(eval(self.text.replace("$", "dim_"), {}, names)))

    def __eq__(self, other):
        return isinstance(other, Dim) and self.text == other.text

    def __hash__(self):
        return hash(self.text)

    def atom(self):
        return f"({self.text})" if " " in self.text else self.text


class Expr:
    """`template` with `{0}`, `{1}` for the children. `scalar`: element type; `shape`: tuple of Dim; all elements are in
    [low, high]. `weak`: made of literals only, adapts its type to the context. `bare`: {(index variable, extent)} where an index
    variable is a whole subscript."""

    def __init__(self, template, children, scalar, shape, low, high, weak=False, bare=()):
        self.template, self.children = template, list(children)
        self.scalar, self.shape, self.low, self.high, self.weak = scalar, tuple(shape), low, high, weak
        self.bare = frozenset(bare).union(*(c.bare for c in self.children))

    def text(self):
        if not self.children:
            return self.template
        return self.template.format(*(c.text() for c in self.children))

    def signature(self):
        return self.scalar, tuple(d.text for d in self.shape)

    def magnitude(self):
        return max(abs(self.low), abs(self.high))

    def copy(self):
        return Expr(self.template, [c.copy() for c in self.children], self.scalar, self.shape, self.low, self.high, self.weak,
                    self.bare)

    def size(self):
        return 1 + sum(c.size() for c in self.children)


def element(tensor, subscripts, scalar, low, high):
    """`tensor[{0}, {1}]`: the element of a tensor or of an expression at these subscripts."""
    holes = ", ".join(f"{{{n}}}" for n in range(len(subscripts)))
    return Expr(f"{tensor}[{holes}]", subscripts, scalar, (), low, high)


class Stmt:
    """`template` with `{0}` … for the expressions, followed by blocks in braces: `if … { … } else { … }`."""

    def __init__(self, template, exprs=(), blocks=None):
        self.template, self.exprs, self.blocks = template, list(exprs), blocks

    def lines(self, indent=""):
        head = self.template.format(*(e.text() for e in self.exprs)) if self.exprs else self.template
        if self.blocks is None:
            return [indent + head]
        result = [f"{indent}{head} {{"]
        for number, block in enumerate(self.blocks):
            if number:
                result.append(f"{indent}}} else {{")
            for s in block:
                result += s.lines(indent + "  ")
        return result + [indent + "}"]

    def copy(self):
        blocks = None if self.blocks is None else [[s.copy() for s in b] for b in self.blocks]
        return Stmt(self.template, [e.copy() for e in self.exprs], blocks)


class Input:
    """An input file to generate: integers in [low, high] (as floats for float types), or uniform floats; positions in the
    dimension `index_of` if given. `density`: fraction of nonzero elements, None: all. `wild`: including inf, -inf and nan. `table`: a text file with a column for a vector."""

    def __init__(self, name, scalar, shape, low, high, whole, seed, index_of=None, density=None, wild=False, table=False):
        self.name, self.scalar, self.shape = name, scalar, tuple(shape)
        self.low, self.high, self.whole, self.seed, self.index_of = low, high, whole, seed, index_of
        self.density, self.wild, self.table = density, wild, table

    def resized(self, sizes):
        shape = [d.resized(sizes) for d in self.shape]
        index_of = self.index_of and self.index_of.resized(sizes)
        return Input(self.name, self.scalar, shape, self.low, self.high, self.whole, self.seed, index_of, self.density, self.wild, self.table)

    def make(self):
        shape = tuple(d.size for d in self.shape)
        rng = np.random.default_rng(self.seed)
        if self.scalar == "bool":
            values = rng.random(shape) < 0.5
        if self.whole or self.scalar in INTEGERS:
            values = rng.integers(math.ceil(self.low), math.floor(self.high) + 1, shape)
        else:
            values = self.low + (self.high - self.low) * rng.random(shape)
        if self.wild:
            values = np.where(rng.random(shape) < 0.3, rng.choice([np.inf, -np.inf, np.nan], shape), values)
        if self.density is not None:
            values = np.where(rng.random(shape) < self.density, values, rng.choice([0, 0, -0.0], shape))
        return np.asarray(values).astype(DTYPES[self.scalar]).reshape(shape)

    @property
    def extension(self):
        """Most sparse tensors are written as files of entries."""
        if self.table and self.shape[0].size > 0 and (len(self.shape) == 1 or self.shape[1].size > 1):
            return ".csv"
        if self.density is None or self.scalar == "bool":
            return ".npy"
        if len(self.shape) == 2:
            return (".npy", ".mtx", ".mtx", ".npz")[self.seed % 4]
        return (".npy", ".tns")[self.seed % 2]

    def argument(self, stem):
        """The value of its option: the path, and for a vector in a table the column."""
        return f"{stem}{self.extension}" + (":value" if self.extension == ".csv" and len(self.shape) == 1 else "")

    def save(self, stem):
        path = f"{stem}{self.extension}"
        if self.extension == ".npy":
            np.save(path, self.make())
        elif self.extension == ".npz":
            self.save_rows(path)
        elif self.extension == ".csv":
            Path(path).write_text(self.table_text(), encoding="ascii")
        else:
            Path(path).write_text(self.entries_text(), encoding="ascii")

    def save_rows(self, path):
        """Compressed rows in SciPy's format, including some zeros."""
        values, rng = self.make(), np.random.default_rng(self.seed + 1)
        stored = (values != 0) | (rng.random(values.shape) < 0.05)
        pointers = np.concatenate([[0], np.cumsum(stored.sum(axis=1))])
        np.savez(path, indices=np.nonzero(stored)[1].astype(np.int32), indptr=pointers.astype(np.int32), format=np.array(b"csr"), shape=np.array(values.shape), data=values[stored])

    def table_text(self):
        """A matrix as rows, mostly with names of columns; a vector between a column of texts and one of numbers."""
        values, rng = self.make(), np.random.default_rng(self.seed + 1)
        field = lambda v: str(v).lower() if self.scalar == "bool" else str(int(v)) if self.scalar in INTEGERS else repr(float(v))
        if len(self.shape) == 1:
            return "\n".join(["name, value ,count"] + [f'"a, {k}", {field(v)} ,{k}' for k, v in enumerate(values)]) + "\n"
        head = [",".join(f"c{k}" for k in range(values.shape[1]))] if rng.random() < 0.6 else []
        return "\n".join(head + [",".join(field(v) for v in row) for row in values]) + "\n"

    def entries_text(self):
        """Entries in any order, some of them 0, some split into two duplicates."""
        values, rng = self.make(), np.random.default_rng(self.seed + 1)
        entries = []
        for at, v in np.ndenumerate(values):
            if v == 0 and rng.random() > 0.05:
                continue
            parts = [v]
            if np.isfinite(v) and rng.random() < 0.1:
                parts = [v - 1, 1] if self.scalar in INTEGERS else [v / 2, v / 2]
            entries += [" ".join(map(str, (*(i + 1 for i in at), p))) for p in parts]
        order = rng.permutation(len(entries)) if rng.random() < 0.5 else range(len(entries))
        if self.extension == ".tns":
            return "\n".join([f"# tdsl shape {' '.join(map(str, values.shape))}"] + [entries[k] for k in order]) + "\n"
        field = "integer" if self.scalar in INTEGERS else "real"
        head = [f"%%MatrixMarket matrix coordinate {field} general", f"{values.shape[0]} {values.shape[1]} {len(entries)}"]
        return "\n".join(head + [entries[k] for k in order]) + "\n"


class Program:
    """`exact`: all floats are small integers, so every order of evaluation gives the same bits."""

    def __init__(self, seed, exact):
        self.seed, self.exact = seed, exact
        self.dims = []        # base dimensions, bound by inputs
        self.inputs = []
        self.params = []      # (name, text of the value to pass or None)
        self.statements = []
        self.outputs = []     # names

    def copy(self):
        result = Program(self.seed, self.exact)
        result.dims, result.inputs, result.params = list(self.dims), list(self.inputs), list(self.params)
        result.statements, result.outputs = [s.copy() for s in self.statements], list(self.outputs)
        return result

    def resize(self, sizes):
        """Changes the sizes of base dimensions."""
        self.dims = [Dim(d.text, sizes.get(d.text, d.size)) for d in self.dims]
        self.inputs = [i.resized({d.text: d.size for d in self.dims}) for i in self.inputs]

    def lines(self, prefix):
        return [line.replace("$", prefix) for s in self.statements for line in s.lines()]

    def text(self, prefix=""):
        return "\n".join(self.lines(prefix)) + "\n"

    def declared_outputs(self):
        """Outputs still present in the statements (shrinking removes some)."""
        lines = [line for s in self.statements for line in s.lines()]
        return [o for o in self.outputs if any(re.match(rf"\s*output \${o}\b", line) for line in lines)]

    def used_inputs(self):
        lines = [line for s in self.statements for line in s.lines()]
        return [i for i in self.inputs if any(line.startswith(f"input ${i.name}:") for line in lines)]

    def used_params(self):
        lines = [line for s in self.statements for line in s.lines()]
        return [p for p in self.params if p[1] is not None and any(line.startswith(f"param ${p[0]}:") for line in lines)]
