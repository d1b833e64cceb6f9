"""A test program: a .tdsl file with directives in comments, its inputs, and its NumPy twin."""
import importlib.util
import re
import types
import zlib
from pathlib import Path

import numpy as np

DTYPES = {"bool": np.bool_, "i32": np.int32, "i64": np.int64, "f32": np.float32, "f64": np.float64, "c64": np.complex64,
          "c128": np.complex128, "i8": np.int8, "u8": np.uint8, "i16": np.int16, "u16": np.uint16, "u32": np.uint32, "u64": np.uint64,
          "f16": np.float16}
HERE = Path(__file__).resolve().parent
DATA = HERE.parents[1] / "samples" / "data"


def sample(name):
    """The tensor of a Matrix Market or FROSTT file of samples/data, dense."""
    if name.endswith(".tns"):
        head, *lines = (DATA / name).read_text().splitlines()
        result = np.zeros(tuple(map(int, head.removeprefix("# tdsl shape ").split())))
        for line in lines:
            if not line.startswith("#"):
                *at, value = line.split()
                result[tuple(int(x) - 1 for x in at)] += float(value)
        return result
    import scipy.io
    return scipy.io.mmread(DATA / name).toarray()


def ratings():
    """User, movie and rating of the table in samples/data."""
    return np.loadtxt(DATA / "ratings.csv", delimiter=",", skiprows=1)


def by_hand(edges, n):
    """The matrix of a graph of n nodes whose edges are written "0>1 1>2"."""
    result = np.zeros((n, n), dtype=np.bool_)
    for edge in edges.split():
        result[tuple(map(int, edge.split(">")))] = True
    return result


def undirected(graph):
    """All edges in both directions, without self-loops."""
    return ((graph != 0) | (graph.T != 0)) & ~np.eye(len(graph), dtype=np.bool_)


class Input:
    """An `input NAME: TYPE[dims]` directive and the generator of its values."""

    def __init__(self, name, dtype, dims, kind):
        self.name, self.dtype, self.dims, self.kind = name, np.dtype(DTYPES[dtype]), dims, kind
        self.small = None  # an expression for the small-integer variant

    def make(self, sizes, small, rng):
        shape = tuple(eval(d, {}, dict(sizes)) for d in self.dims)
        kind = self.kind
        if small and self.small:
            kind = "= " + self.small
        elif small and self.dtype.kind in "fc" and not kind.startswith("="):
            kind = "randint"
        if kind == "randn":
            value = rng.standard_normal(shape)
        elif kind == "uniform":
            value = rng.random(shape)
        elif kind == "positive":
            value = rng.random(shape) + 0.5
        elif kind == "bool":
            value = rng.random(shape) < 0.5
        elif kind.startswith("randint"):
            low, high = map(int, kind.split()[1:]) if kind != "randint" else (-4, 5)
            value = rng.integers(low, high, shape)
        elif kind.startswith("="):
            helpers = {f.__name__: f for f in (sample, ratings, by_hand, undirected)}
            names = {"np": np, "rng": rng, "uniform": lambda *s: rng.random(s), "shape": shape, **helpers, **sizes}
            value = eval(kind[1:].strip(), names)
        else:
            raise ValueError(f"input {self.name}: unknown kind {kind!r}")
        if self.dtype.kind == "c" and not kind.startswith("="):
            value = value + 1j * np.roll(value, 1)  # the same numbers elsewhere
        value = np.asarray(value).astype(self.dtype)
        if value.shape != shape:
            raise ValueError(f"input {self.name}: made {value.shape}, wanted {shape}")
        return np.ascontiguousarray(value).reshape(shape)


class Variant:
    """One set of inputs and arguments for a program."""

    def __init__(self, label, sizes, small, args):
        self.label, self.sizes, self.small, self.args = label, sizes, small, args


def parse_sizes(text):
    return [{k: int(v) for k, v in (word.split("=") for word in part.split())} for part in text.split("|")]


class Program:
    """A .tdsl file with its directives (see README.md)."""

    def __init__(self, path):
        self.path = Path(path)
        self.name = self.path.stem
        self.text = self.path.read_text()
        self.inputs, self.exact, self.open, self.twin_lines = [], False, False, []
        self.file_kinds = {}  # for inputs other than .npy
        self.variants_wanted, fields = "both", {}
        for line in self.text.splitlines():
            if not line.startswith("//"):
                break
            self.directive(line[2:], fields)
        self.outputs = re.findall(r"(?:^|[{;])\s*output\s+(\w+)", self.text, re.M)
        self.params = {m[0]: (m[1], m[2]) for m in re.findall(r"^param\s+(\w+)\s*:\s*(\w+)\s*(?:=\s*(.*?))?;", self.text, re.M)}
        self.variants = self.make_variants(fields)
        self.builds = [[]] + ([fields["also built"].split()] if "also built" in fields else [])  # options of `tdslc build`

    def directive(self, line, fields):
        if line.startswith(" np:"):
            self.twin_lines.append(line[5:])
            return
        line = line.strip()
        found = re.fullmatch(r"input (\w+): (\w+)\s*(?:\[(.*?)\])?\s*(.*)", line)
        if found:
            dims = [d for d in (found[3] or "").split(",") if d.strip()]
            self.inputs.append(Input(found[1], found[2], dims, found[4]))
        elif found := re.fullmatch(r"small (\w+): = (.*)", line):
            next(i for i in self.inputs if i.name == found[1]).small = found[2]
        elif found := re.fullmatch(r"(args|args small|sizes|sizes small|variants|also built): (.*)", line):
            fields[found[1]] = found[2]
        elif found := re.fullmatch(r"as (mtx|tns|csv): (.*)", line):
            self.file_kinds |= {name: found[1] for name in found[2].split()}
        elif line == "exact":
            self.exact = True
        elif line == "open":
            self.open = True

    def make_variants(self, fields):
        args = fields.get("args", "").split()
        small_args = fields.get("args small", fields.get("args", "")).split()
        sizes = parse_sizes(fields.get("sizes", ""))
        small_sizes = parse_sizes(fields["sizes small"]) if "sizes small" in fields else sizes
        floats = any(i.dtype.kind == "f" and (i.small or not i.kind.startswith("=")) for i in self.inputs)
        result = [Variant("float", sizes[0], False, args)]
        if floats and fields.get("variants", "both") == "both":
            result.append(Variant("small", small_sizes[0], True, small_args))
        for index, more in enumerate(sizes[1:], 1):
            result.append(Variant("sizes" + str(index), more, self.exact and index % 2 == 0, args))
        return result

    def make_inputs(self, variant):
        rng = np.random.default_rng(zlib.crc32(f"{self.name} {variant.label}".encode()))
        return {i.name: i.make(variant.sizes, variant.small, rng) for i in self.inputs}

    def param_values(self, variant):
        given = dict(zip((a[2:] for a in variant.args[0::2]), variant.args[1::2]))
        values = {}
        for name, (kind, default) in self.params.items():
            text = given.get(name, default)
            values[name] = text == "true" if kind == "bool" else DTYPES[kind](text.replace("_", ""))
        return values

    def twin(self, variant, inputs, reference):
        """NumPy's results: a dict from outputs to arrays (possibly for some outputs only), or None without a twin."""
        names = {**variant.sizes, **{k: np.copy(v) if v.ndim else v[()] for k, v in inputs.items()},
                 **self.param_values(variant)}
        path = HERE / "twins" / (self.name + ".py")
        with np.errstate(all="ignore"):
            if path.exists():
                spec = importlib.util.spec_from_file_location("twin_" + self.name, path)
                module = importlib.util.module_from_spec(spec)
                spec.loader.exec_module(module)
                return module.twin(types.SimpleNamespace(**names, out=reference))
            if not self.twin_lines:
                return None
            scope = {"np": np, "out": reference, **names}
            exec("\n".join(self.twin_lines), scope)
            return {o: scope[o] for o in self.outputs if o in scope}
