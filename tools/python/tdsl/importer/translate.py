"""A NumPy function and example arguments -> the text of a TDSL program."""
import ast
import collections
import dataclasses
import inspect
import re

import numpy as np

from .calls import Calls, refuse_parameters
from .comparisons import Comparisons
from .errors import Place, Restart, Skip, TranslationError
from .expressions import Expressions
from .extents import Dimensions, Extent
from .idioms import Idioms
from .lists import Lists
from .loops import Loops
from .rows import Rows
from .scopes import Binding, Frame, Scopes
from .source import defaults, parameters
from .statements import Statements
from .subscripts import Subscripts
from .values import TYPES, Value

_MOST_ROUNDS = 60


@dataclasses.dataclass
class Translation:
    """`text`: statements without layout. `options`: parameter -> the program's param or input. `results`: names of the outputs of the returned values;
    `updated`: output -> parameter whose array the function changes, `lost`: parameters whose changed arrays no output holds. `notes`, `assumed`: lines of the report.
    `shapes`: parameter -> extents of its array, each a number and multiples of names. `several`: the function returns a tuple."""
    text: str
    options: dict
    results: list
    updated: dict
    lost: list
    notes: list
    assumed: list
    shapes: dict
    several: bool


class Translator(Statements, Loops, Calls, Expressions, Comparisons, Subscripts, Lists, Idioms, Rows, Scopes):
    def __init__(self, script, function, examples, idioms=False):
        """`idioms`: loop nests become routines and index notation, which only a comparison with NumPy makes sure."""
        self.script = script
        self.function = script.function(function)
        self.examples = examples  # each: parameter -> value
        self.idioms = idioms
        self.hoisted, self.widened, self.appended_types = {}, {}, {}

    def translate(self):
        for _ in range(_MOST_ROUNDS):
            self.start()
            try:
                return self.program()
            except Restart:
                continue
        raise TranslationError(self.script.path, [Place(self.function, "import-type", "the types of variables do not settle")],
                               self.script.lines)

    def start(self):
        self.start_scopes()
        self.out, self.indent, self.places, self.poisoned = [], 0, [], set()
        self.local_names, self.loop_variables, self.shown = [[]], [], set()
        self.lost, self.growing, self.trip = [], {}, None
        self.notes, self.target_mask, self.direct = [], None, None
        self.argument_storages, self.memories, self.options, self.outside, self.shapes = set(), {}, {}, set(), {}

    def program(self):
        try:
            refuse_parameters(self.function)
            dimensions = Dimensions(self.fresh)
            options = self.options = self.arguments(dimensions)
            result = self.body(self.function)
            results, updated = self.outputs(result)
        except Skip:
            results = None
        except Place as place:
            self.places.append(place)
        if self.places:
            unique = {(place.line, place.column, place.id, place.reason): place for place in self.places}
            raise TranslationError(self.script.path, list(unique.values()), self.script.lines)
        return Translation("\n".join(without_unused(self.out)) + "\n", options, results, updated, self.lost, self.notes, dimensions.assumptions(),
                           self.shapes, result is not None and result.items is not None)

    # Text

    def emit(self, text):
        self.out.append("  " * self.indent + text)

    def comment(self, node):
        """The statement's line in the script, once."""
        if node.lineno in self.shown:
            return
        self.shown.add(node.lineno)
        compound = hasattr(node, "body")
        last = node.lineno if compound else node.end_lineno
        text = " ".join(line.split("#")[0].strip() if "'" not in line and '"' not in line else line.strip() for line in self.script.lines[node.lineno - 1:last])
        text = "".join(c for c in text if c.isprintable())
        self.emit(f"// {node.lineno}: {text if len(text) <= 110 else text[:107] + '...'}")

    def note(self, node, text):
        line = f"{self.script.path}:{node.lineno}: note: {text}"
        if line not in self.notes:
            self.notes.append(line)

    # Arguments and outputs

    def arguments(self, dimensions):
        """Declares params and inputs, scalars first, since they may name extents."""
        names = parameters(self.function)
        frame = Frame(self.function, self.script.functions, (), {})
        self.frames.append(frame)
        options = {name: self.fresh(name) for name in names if self.examples[0][name] is not None}
        arrays = [name for name in names if isinstance(self.examples[0][name], np.ndarray) and self.examples[0][name].ndim]
        sizes = {value for name in arrays for value in self.examples[0][name].shape}
        for name in names:
            if self.examples[0][name] is None:
                frame.blocks[0][name] = Binding(None, Value("", "none"))
            elif name not in arrays:
                self.scalar(name, options[name], dimensions, sizes)
        for name in arrays:
            self.array(name, options[name], dimensions)
        return options

    def element_type(self, name, value):
        if isinstance(value, (str, bytes, dict, set, list, tuple)) or callable(value):
            raise Place(self.function, "import-argument", f"`{name}` is a {type(value).__name__}: numbers and arrays are translated")
        dtype = np.asarray(value).dtype
        if dtype.name not in TYPES:
            raise Place(self.function, "import-argument", f"`{name}` has elements of type {dtype}")
        return TYPES[dtype.name]

    def default(self, name, type_):
        """` = 0.5`: the function's, of a parameter that names no extent."""
        node = defaults(self.function).get(name)
        plain = isinstance(node, ast.Constant) and type(node.value) is float and type_ == "f64" and 0.0 <= node.value < float("inf")
        return f" = {node.value!r}" if plain else ""

    def scalar(self, name, option, dimensions, sizes):
        values = [example[name] for example in self.examples]
        type_ = self.element_type(name, values[0])
        self.emit(f"param {option}: {type_}{self.default(name, type_)};")
        whole = type_ in ("i64", "i32")
        if whole:
            dimensions.scalar(option, [int(value) for value in values])
        value = Value(option, type_, size=Extent.of(option) if whole else None, natural=whole and int(values[0]) in sizes)
        self.frame.blocks[0][name] = Binding(option, value, fixed=True)
        if name in self.frame.stored:
            self.variable(name, value)

    def variable(self, name, value):
        target = self.fresh(name + "_now")
        self.outside.add(target)
        self.emit(f"var {target} = {value.code};")
        self.frame.blocks[0][name] = Binding(target, dataclasses.replace(value, code=target, size=None, natural=False))

    def array(self, name, option, dimensions):
        arrays = [example[name] for example in self.examples]
        type_ = self.element_type(name, arrays[0])
        if any(np.ndim(array) != arrays[0].ndim for array in arrays):
            raise Place(self.function, "import-argument", f"`{name}` has another number of dimensions in another example")
        if arrays[0].ndim > 8:
            raise Place(self.function, "import-argument", f"`{name}` has more than 8 dimensions")
        shape = tuple(dimensions.extent([a.shape[d] for a in arrays], f"{name}.shape[{d}]") for d in range(arrays[0].ndim))
        self.shapes[name] = [(extent.number, extent.terms) for extent in shape]
        self.emit(f"input {option}: {type_}[{', '.join(extent.code() for extent in shape)}];")
        storage = self.new_storage()
        self.argument_storages |= storage
        value = Value(option, type_, shape, storage=storage, memory=min(storage))
        self.frame.blocks[0][name] = Binding(option, value, fixed=True)
        if name in self.frame.changed or name in self.frame.stored:
            self.variable(name, value)
        self.memories[name] = min(storage)

    def outputs(self, result):
        """The outputs: the values returned by the function, then its changed arguments."""
        items = [] if result is None or result.type == "none" else result.items if result.items is not None else [result]
        results = []
        for number, value in enumerate(items):
            if value.items is not None or value.type == "none":
                raise Place(self.function.body[-1], "import-return", "a tuple or None within the result")
            value = self.require_plain(value, self.function.body[-1])
            declared = any(b.target == value.code and b.value.memory is None for b in self.frame.blocks[0].values())
            if declared and value.code not in results and value.code not in self.options.values() and value.code not in self.outside:
                self.emit(f"output {value.code};")
                results.append(value.code)
            else:
                name = self.fresh("result" if len(items) == 1 else f"result{number}")
                code = f"{value.type}({value.code})" if value.literal and value.type == "f32" else value.code
                self.emit(f"output {name} = {code};")
                results.append(name)
        return results, self.updated_outputs()

    def updated_outputs(self):
        updated = {}
        for name, memory in self.memories.items():
            if memory not in self.changed_storages:
                continue
            holders = [b for b in self.frame.blocks[0].values() if b.target is not None and b.value.memory == memory]
            if not holders:
                self.lost.append(name)
                self.note(self.function, f"the script changes the array of `{name}` and gives the name to other arrays, too: no output holds that array")
                continue
            binding = next((b for b in holders if not b.stale), holders[0])
            self.require_current(name, binding, self.function.body[-1])
            output = self.fresh(name + "_out")
            self.emit(f"output {output} = {binding.target};")
            updated[output] = name
        return updated


def without_unused(lines):
    """Without `let`s of names that nothing reads."""
    while True:
        words = collections.Counter(word for line in lines if not line.lstrip().startswith("//") for word in re.findall(r"[A-Za-z_]\w*", line))
        kept = [line for line in lines if not ((found := re.match(r"\s*let (\w+) = ", line)) and words[found[1]] == 1)]
        if len(kept) == len(lines):
            return kept
        lines = kept


def bound_arguments(function, args, kwargs):
    """Parameter -> value of a call, with defaults. Raises TypeError as the call would."""
    bound = inspect.signature(function).bind(*args, **kwargs)
    bound.apply_defaults()
    return dict(bound.arguments)
