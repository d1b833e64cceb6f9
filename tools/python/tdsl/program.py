"""Programs in this process: NumPy arrays and SciPy matrices in and out."""
import ctypes
import os
import re
import threading
import typing
import weakref

import numpy as np

from . import abi
from .arguments import Box, Description, boxes_of, fitting, is_sparse, layout_of, require_writable, sparse_result
from .errors import ArgumentError, Error, of_call

Inputs = typing.Mapping[str, typing.Any]
_MOST_KEPT = 64  # descriptions of calls


class Results(typing.Tuple[typing.Any, ...]):
    """The outputs of a call: by position, by name `r["w"]`, and as attributes `r.w`; `dict(r)` is a dictionary."""

    names: typing.Tuple[str, ...]

    def __new__(cls, names: typing.Iterable[str], values: typing.Iterable[typing.Any]) -> "Results":
        results = super().__new__(cls, values)
        names = tuple(names)
        results.__dict__.update((name, value) for name, value in zip(names, results) if name not in ("keys", "items", "names"))
        results.__dict__["names"] = names
        return results

    def __getitem__(self, key: typing.Any) -> typing.Any:
        if isinstance(key, str):
            if key not in self.names:
                raise KeyError(key)
            key = self.names.index(key)
        return super().__getitem__(key)

    def __getattr__(self, name: str) -> typing.Any:
        raise AttributeError(f"there is no result {name}; results: {', '.join(self.__dict__.get('names', ())) or 'none'}")

    def keys(self) -> typing.Tuple[str, ...]:
        return self.names

    def items(self) -> typing.Iterator[typing.Tuple[str, typing.Any]]:
        return zip(self.names, self)

    def __repr__(self) -> str:
        return "Results(" + ", ".join(f"{name}={value!r}" for name, value in self.items()) + ")"


class Library:
    """A library file with its declaration: names to types as the program states them."""

    def __init__(self, path: str, name: str, inputs: typing.Dict[str, str], outputs: typing.Dict[str, str], params: typing.Dict[str, str]) -> None:
        self.name, self.inputs, self.outputs, self.params = name, inputs, outputs, params
        self.functions = abi.functions(os.path.abspath(path), name)
        self.input_types = {name: _type_of(text) for name, text in inputs.items()}
        self.output_types = {name: _type_of(text) for name, text in outputs.items()}
        # Results of these are matrices of SciPy.
        self.sparse_outputs = {name for name, text in outputs.items() if "sparse" in text and text.count(",") == 1}

    def words(self, options: Inputs) -> typing.List[str]:
        """Words of the command line. Names of the program's own win over options of the same name."""
        words: typing.List[str] = []
        for name, value in options.items():
            if name in self.params or name in self.inputs:
                words += [] if value is None else ["--set", f"{name}={_value_text(value)}"]
            elif value is not None and value is not False:
                words += ["--" + name.replace("_", "-")] + ([] if value is True else [_value_text(value)])
        return words


def _type_of(text: str) -> int:
    """The element type of a declared type, as a number of the C interface."""
    found = re.match("[a-z0-9]+", text)
    assert found
    return abi.TYPES[found[0]]


def _value_text(value: typing.Any) -> str:
    if isinstance(value, np.ndarray) and value.ndim == 0:
        value = value[()]
    if isinstance(value, (bool, np.bool_)):
        return "true" if value else "false"
    return repr(float(value)) if isinstance(value, (float, np.floating)) else str(value)


class _Interrupts:
    """Lets Ctrl-C end a run in the main thread: Python calls signal handlers where the generator goes on, inside of `try`."""

    def __init__(self) -> None:
        self.caught: typing.List[BaseException] = []
        self.asked = abi.ASKED(_answers(self.caught).__next__)


def _answers(caught: typing.List[BaseException]) -> typing.Iterator[int]:
    answer = 0
    while True:
        try:
            yield answer
            answer = 0
        except GeneratorExit:
            raise
        except BaseException as error:  # whatever a signal handler raises
            caught.append(error)
            answer = 1


def _key_of(inputs: Inputs, wanted: Inputs) -> typing.Any:
    """The layout of a call of arrays whose results the library allocates; None for other calls."""
    key: typing.List[typing.Any] = [*wanted]
    for value in wanted.values():
        if value is not None:
            return None
    for name, value in inputs.items():
        if type(value) is not np.ndarray:
            return None
        key += (name, value.dtype, value.shape, value.strides)
    return tuple(key)


class PlainCall:
    """C descriptions of a call that converts nothing: only addresses differ from call to call."""

    __slots__ = ("results", "boxes", "given", "addresses")

    def __init__(self, given: Description, results: Description) -> None:
        self.results, self.boxes, self.given = results, given.boxes, given
        self.addresses = (ctypes.addressof(given.arrays), given.count, ctypes.addressof(results.arrays), results.count)


class Program:
    """A program, ready to be called. `communicator`: of mpi4py, whose ranks run it together. Keywords of inputs are files that stand for arrays, keywords
    of params their values for all calls; others are options of the command line, such as `threads=4` and `memory="4GiB"`."""

    library: Library

    def __init__(self, communicator: typing.Any = None, **options: typing.Any) -> None:
        self._lock = threading.RLock()  # one call at a time: calls let other threads run
        self._call = self.library.functions
        self._handle = ctypes.c_void_p()
        address = None
        if communicator is not None:
            from mpi4py import MPI

            address = MPI._addressof(communicator)
        self._params: typing.List[str] = []  # as words, of the last call
        self._interrupts = _Interrupts()
        self._kept: typing.Dict[typing.Any, typing.Tuple[Description, Description]] = {}
        self._plain: typing.Dict[typing.Any, PlainCall] = {}
        code = self._call["open"](address, *abi.c_words(self.library.words(options)), ctypes.byref(self._handle))
        self._close = weakref.finalize(self, self._call["close"], self._handle)
        self._check(code)
        self._call["stop_when"](self._handle, self._interrupts.asked)
        ranks = ctypes.c_int()
        self.rank: int = self._call["rank"](self._handle, ctypes.byref(ranks))
        self.ranks = ranks.value

    def __call__(self, inputs: typing.Optional[Inputs] = None, /, *, params: typing.Optional[Inputs] = None,
                 outputs: typing.Optional[typing.Iterable[str]] = None, out: typing.Optional[Inputs] = None, **named: typing.Any) -> Results:
        """Runs the program. Inputs by name, as keywords or as a dictionary; params of this call alone likewise, or in `params`. `outputs`: the names that
        are wanted; `out`: arrays or Boxes that outputs are written to. Only these are computed, or, without both, all outputs. Raises ArgumentError,
        RunError, OutOfMemory."""
        given = {**inputs, **named} if inputs else named
        with self._lock:
            wanted = self._wanted(outputs, out)
            return Results(wanted, self._run(self._use(given, params), wanted))

    def values(self, inputs: Inputs, params: Inputs, wanted: Inputs) -> typing.List[typing.Any]:
        """The values of outputs, for callers that know the names: `wanted` has None or an array for each output."""
        with self._lock:
            self._set(params)
            return self._run(inputs, wanted)

    def plain(self, inputs: Inputs, wanted: Inputs) -> typing.Optional[PlainCall]:
        """For `repeat`: such a call, if an equal one has been made and has converted nothing."""
        return self._plain.get(_key_of(inputs, wanted))

    def repeat(self, call: PlainCall, words: typing.List[str], arrays: typing.Iterable[typing.Any]) -> typing.List[typing.Any]:
        """The call with these params, as words, and arrays, in the order of its inputs."""
        with self._lock:
            if words != self._params or not self._close.alive:
                self._set_words(words)
            return self._run_plain(call, arrays)

    def layout(self, name: str, /, **given: typing.Any) -> typing.List[typing.Tuple[typing.Tuple[int, ...], typing.Tuple[int, ...]]]:
        """Where this rank's elements of a tensor should be, for inputs of these shapes: a list of (lo, hi)."""
        with self._lock:
            return self._layout(name, self._use(given, None))

    def close(self) -> None:
        """Releases the program. Results remain valid."""
        with self._lock:
            self._close()

    def __enter__(self) -> "Program":
        return self

    def __exit__(self, *_: typing.Any) -> None:
        self.close()

    def _check(self, code: int) -> None:
        if self._interrupts.caught:
            raise self._interrupts.caught.pop()
        if code:
            raise of_call(code, self._call["message"](self._handle).decode(errors="replace"))

    def _use(self, given: Inputs, params: typing.Optional[Inputs]) -> Inputs:
        """Gives the params of a call to the program; the rest of its keywords are inputs."""
        library = self.library
        values = dict(params) if params else {}
        inputs = {}
        for name, value in given.items():
            if name in library.inputs:
                inputs[name] = value
            else:
                values[name] = value
        for name in values:
            if name not in library.params:
                raise ArgumentError(f"{library.name} has no input {name}; inputs: {', '.join(library.inputs) or 'none'}; params: "
                                    f"{', '.join(library.params) or 'none'}; options of the command line are given when the program is made")
        self._set(values)
        return inputs

    def _set(self, values: Inputs) -> None:
        """Gives the params of the next calls to the program."""
        self._set_words(self.library.words(values) if values else [])

    def _set_words(self, words: typing.List[str]) -> None:
        if not self._close.alive:
            raise Error("the program has been closed")
        if words != self._params:
            self._check(self._call["params"](self._handle, *abi.c_words(words)))
            self._params = words

    def _wanted(self, outputs: typing.Optional[typing.Iterable[str]], out: typing.Optional[Inputs]) -> Inputs:
        if outputs is None and out is None:
            return dict.fromkeys(self.library.outputs)
        wanted: typing.Dict[str, typing.Any] = {**dict.fromkeys(outputs or ()), **(out or {})}
        for name in wanted:
            if name not in self.library.outputs:
                raise ArgumentError(f"{self.library.name} has no output {name}; it has {', '.join(self.library.outputs) or 'none'}")
        return wanted

    def _given_boxes(self, name: str, value: typing.Any) -> typing.List[Box]:
        type_ = self.library.input_types[name]
        return [fitting(box, name, type_) for box in boxes_of(value)]

    def _target_boxes(self, name: str, value: typing.Any, read: typing.List[typing.Any], later: typing.List[typing.Any]) -> typing.List[Box]:
        boxes = boxes_of(value)
        for box in boxes:
            require_writable(box, name, self.library.output_types[name])
        return [self._apart(box, read, later) for box in boxes]

    def _descriptions(self, given: typing.Dict[str, typing.List[Box]], targets: typing.Dict[str, typing.List[Box]]
                      ) -> typing.Tuple[Description, Description]:
        """C descriptions for a call, kept per layout."""
        inputs, outputs = self.library.input_types, self.library.output_types
        layouts = tuple([layout_of(name, inputs[name], boxes) for name, boxes in given.items()])
        wanted = tuple([layout_of(name, outputs[name], boxes) for name, boxes in targets.items()])
        found = self._kept.get((layouts, wanted))
        if found is None:
            sparse = {k for k, (name, boxes) in enumerate(targets.items()) if not boxes and name in self.library.sparse_outputs}
            found = Description(layouts), Description(wanted, sparse)
            if len(self._kept) >= _MOST_KEPT:
                self._kept.clear()
            self._kept[layouts, wanted] = found
        return found

    def _run(self, inputs: Inputs, wanted: Inputs) -> typing.List[typing.Any]:
        key = _key_of(inputs, wanted)
        plain = self._plain.get(key)
        if plain is None:
            return self._run_any(inputs, wanted, key)
        return self._run_plain(plain, inputs.values())

    def _run_plain(self, call: PlainCall, arrays: typing.Iterable[typing.Any]) -> typing.List[typing.Any]:
        call.results.reset()
        for c_box, array in zip(call.boxes, arrays):
            c_box.data = abi.address_of(array)
        code = self._call["run_at"](self._handle, *call.addresses)
        if code or self._interrupts.caught:
            self._check(code)
        return [self._dense_result(k, call.results) for k in range(call.results.count)]

    def _run_any(self, inputs: Inputs, wanted: Inputs, key: typing.Any) -> typing.List[typing.Any]:
        given = {name: self._given_boxes(name, value) for name, value in inputs.items()}
        targets: typing.Dict[str, typing.List[Box]] = dict.fromkeys(wanted, [])
        later: typing.List[typing.Any] = []
        if any(value is not None for value in wanted.values()):
            read = [box.array for boxes in given.values() for box in boxes if not is_sparse(box.array)]
            targets = {name: [] if value is None else self._target_boxes(name, value, read, later) for name, value in wanted.items()}
        described, results = self._descriptions(given, targets)
        results.reset()
        keep = (described.point_to([box for boxes in given.values() for box in boxes]), results.point_to([box for boxes in targets.values() for box in boxes]))
        self._check(self._call["run"](self._handle, described.arrays, described.count, results.arrays, results.count))
        del keep
        for target, fresh in later:
            target[...] = fresh
        if key is not None and self.ranks == 1 and not results.rows and all(given[name][0].array is value for name, value in inputs.items()):
            if len(self._plain) >= _MOST_KEPT:
                self._plain.clear()
            self._plain[key] = PlainCall(described, results)
        return [self._result(k, results) if value is None else value for k, value in enumerate(wanted.values())]

    @staticmethod
    def _apart(box: Box, read: typing.List[typing.Any], later: typing.List[typing.Tuple[typing.Any, typing.Any]]) -> Box:
        """Inputs are read while outputs are written: what shares memory with one is copied afterwards."""
        if not any(np.may_share_memory(box.array, array) for array in read):
            return box
        later.append((box.array, np.empty_like(box.array)))
        return Box(later[-1][1], box.lo, box.shape)

    def _dense_result(self, number: int, outputs: Description) -> typing.Any:
        """Of one rank."""
        head = abi.ARRAY_HEAD.unpack_from(outputs.view, number * abi.ARRAY_HEAD.size)
        rank = head[2]
        array = abi.array_of_memory(self._call["take"](self._handle, number), head[3:3 + rank], abi.DTYPES[head[1]])
        return array if rank else array[()]

    def _result(self, number: int, outputs: Description) -> typing.Any:
        if self.ranks == 1 and number not in outputs.rows:
            return self._dense_result(number, outputs)
        output = outputs.arrays[number]
        rank = output.dimensions
        shape = tuple(output.shape[:rank])
        dtype = abi.DTYPES[output.type & (abi.SPARSE - 1)]
        box = output.boxes[0]
        lo = tuple(box.lo[:rank])
        if number in outputs.rows:
            matrix = sparse_result(outputs.rows[number], dtype, lambda rows: self._check(self._call["fill"](self._handle, number, ctypes.byref(rows))))
            return matrix if self.ranks == 1 else Box(matrix, lo, shape)
        extents = tuple(high - low for low, high in zip(lo, box.hi[:rank]))
        array = abi.array_of_memory(self._call["take"](self._handle, number), extents, dtype)
        return Box(array, lo, shape) if rank else array[()]

    def _layout(self, name: str, inputs: Inputs) -> typing.List[typing.Tuple[typing.Tuple[int, ...], typing.Tuple[int, ...]]]:
        layouts = []
        for input_name, value in inputs.items():
            shape = tuple(value.shape if hasattr(value, "shape") else value)
            layouts.append((input_name, self.library.input_types[input_name], (((0,) * len(shape), shape, shape, (0,) * len(shape)),)))
        described = Description(layouts)
        found = ctypes.POINTER(abi.CArray)()
        self._check(self._call["layout"](self._handle, described.arrays, described.count, name.encode(), ctypes.byref(found)))
        array = found.contents
        rank = array.dimensions
        return [(tuple(array.boxes[k].lo[:rank]), tuple(array.boxes[k].hi[:rank])) for k in range(array.box_count)]
