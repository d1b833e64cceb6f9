"""@NAME@: @FILE@ in this process, from NumPy arrays to NumPy arrays. Made by @VERSION@.

@DECLARED@

    from @NAME@ import @CLASS@
    with @CLASS@() as program:          # options are keywords: threads=2, memory="4GiB", and the params
        results = program(...)          # inputs by name, and params of this call alone; a dictionary of outputs

With several ranks, under mpi4py: @CLASS@(MPI.COMM_WORLD). Every rank calls the same things in the same order. An array that is given as it is counts as the
whole tensor, which every rank then has; Box(array, lo, shape) is a part of it. Results are Boxes: each rank's share of the rows, unless `outputs` says
what each rank wants.

Arrays are taken where they are, whatever their strides. Only those of another type or byte order are copied, if all values
fit ("safe" casting of NumPy); else there is a TypeError.
"""

import ctypes
import os
import re
import threading
import weakref

import numpy as np

INPUTS = {"INPUTS": ""}
OUTPUTS = {"OUTPUTS": ""}
PARAMS = {"PARAMS": ""}

_MOST_DIMENSIONS = 8
_TYPES = {"bool": (0, np.bool_), "i32": (1, np.int32), "i64": (2, np.int64), "f32": (3, np.float32), "f64": (4, np.float64)}
_DTYPES = [np.dtype(dtype) for _, dtype in _TYPES.values()]
_Extents = ctypes.c_int64 * _MOST_DIMENSIONS


class _Box(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("lo", _Extents), ("hi", _Extents), ("stride", _Extents)]


class _Array(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("type", ctypes.c_int), ("dimensions", ctypes.c_int), ("shape", _Extents), ("box_count", ctypes.c_int64),
                ("boxes", ctypes.POINTER(_Box))]


class Error(RuntimeError):
    """A run went wrong, without results. The next call is a new run, unless ranks were lost."""


class Box:
    """The elements of a tensor of the given shape that begin at `lo`: those of `array`."""

    def __init__(self, array, lo, shape):
        self.array = np.asarray(array)
        self.lo = tuple(int(x) for x in lo)
        self.shape = tuple(int(x) for x in shape)
        if not len(self.lo) == len(self.shape) == self.array.ndim:
            raise ValueError(f"a box of {self.array.ndim} dimensions, lo of {len(self.lo)}, a tensor of {len(self.shape)}")

    def __repr__(self):
        return f"Box(<{self.array.dtype} array of shape {self.array.shape}>, lo={self.lo}, shape={self.shape})"


def _load():
    library = ctypes.CDLL(os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib@NAME@.so"))
    arrays = ctypes.POINTER(_Array)
    functions = {
        "open": [ctypes.c_void_p, ctypes.POINTER(ctypes.c_char_p), ctypes.c_int, ctypes.POINTER(ctypes.c_void_p)],
        "params": [ctypes.c_void_p, ctypes.POINTER(ctypes.c_char_p), ctypes.c_int],
        "layout": [ctypes.c_void_p, arrays, ctypes.c_int, ctypes.c_char_p, ctypes.POINTER(arrays)],
        "run": [ctypes.c_void_p, arrays, ctypes.c_int, arrays, ctypes.c_int],
        "take": [ctypes.c_void_p, ctypes.c_int],
        "rank": [ctypes.c_void_p, ctypes.POINTER(ctypes.c_int)],
        "message": [ctypes.c_void_p],
        "close": [ctypes.c_void_p],
    }
    for name, arguments in functions.items():
        getattr(library, "@NAME@_" + name).argtypes = arguments
    library.@NAME@_take.restype = ctypes.c_void_p
    library.@NAME@_message.restype = ctypes.c_char_p
    return library


_library = _load()
_free = ctypes.CDLL(None).free
_free.argtypes = [ctypes.c_void_p]


def _scalar_type(text):
    return re.match("[a-z0-9]+", text).group()


def _numbers(values):
    return _Extents(*values)


def _boxes(value):
    """What may be given for a tensor, as a list of boxes."""
    if isinstance(value, Box):
        return [value]
    if isinstance(value, (list, tuple)) and value and all(isinstance(part, Box) for part in value):
        return list(value)
    if hasattr(value, "toarray") and not isinstance(value, np.ndarray):
        raise TypeError("a SciPy matrix is no dense array: give its toarray(), or a file by its option")
    array = np.asarray(value)
    return [Box(array, (0,) * array.ndim, array.shape)]


def _fitting(array, name, declared):
    """The array as elements of the declared type, itself if it has them."""
    dtype = np.dtype(_TYPES[declared][1])
    if array.dtype == dtype and array.dtype.isnative and all(s % dtype.itemsize == 0 for s in array.strides):
        return array
    if not np.can_cast(array.dtype, dtype, "safe"):
        raise TypeError(f"{name} is declared {declared}, but the array holds {array.dtype}; convert it with astype")
    return array.astype(dtype, order="C")


def _described(name, boxes, declared, writable, keep):
    """A C description; `keep` holds what must live as long."""
    description = _Array(name.encode(), _TYPES[declared][0], len(boxes[0].shape), _numbers(boxes[0].shape), len(boxes))
    c_boxes = (_Box * len(boxes))()
    for to, box in zip(c_boxes, boxes):
        if box.shape != boxes[0].shape:
            raise ValueError(f"{name}: boxes of tensors of different shapes")
        array = box.array if writable else _fitting(box.array, name, declared)
        if writable and not array.flags.writeable:
            raise ValueError(f"{name}: the array cannot be written")
        if writable and (array.dtype != np.dtype(_TYPES[declared][1]) or any(s % array.itemsize for s in array.strides)):
            raise TypeError(f"{name} is {declared}, but the array for it holds {array.dtype}")
        keep.append(array)
        to.data = array.ctypes.data
        to.lo = _numbers(box.lo)
        to.hi = _numbers(x + n for x, n in zip(box.lo, array.shape))
        to.stride = _numbers(s // array.itemsize for s in array.strides)
    keep.append(c_boxes)
    description.boxes = ctypes.cast(c_boxes, ctypes.POINTER(_Box))
    return description


def _value_text(value):
    if isinstance(value, (bool, np.bool_)):
        return "true" if value else "false"
    return repr(float(value)) if isinstance(value, (float, np.floating)) else str(value)


def _words(options):
    """Words of the command line. Names of the program's own win over options of the same name."""
    words = []
    for name, value in options.items():
        if name in PARAMS or name in INPUTS:
            words += [] if value is None else ["--set", f"{name}={_value_text(value)}"]
        elif value is not None and value is not False:
            words += ["--" + name.replace("_", "-")] + ([] if value is True else [_value_text(value)])
    return words


def _c_words(words):
    encoded = [word.encode() for word in words]
    return (ctypes.c_char_p * len(encoded))(*encoded), len(encoded)


class @CLASS@:
    """The program. Keywords of inputs are files that stand for arrays; others are options of its command line."""

    def __init__(self, communicator=None, **options):
        self._lock = threading.RLock()  # one call at a time: calls let other threads run
        self._handle = ctypes.c_void_p()
        address = None
        if communicator is not None:
            from mpi4py import MPI

            address = MPI._addressof(communicator)
        self._params = []  # as words, of the last call
        code = _library.@NAME@_open(address, *_c_words(_words(options)), ctypes.byref(self._handle))
        self._close = weakref.finalize(self, _library.@NAME@_close, self._handle)
        self._check(code)
        ranks = ctypes.c_int()
        self.rank = _library.@NAME@_rank(self._handle, ctypes.byref(ranks))
        self.ranks = ranks.value

    def _check(self, code):
        if code == 0:
            return
        message = _library.@NAME@_message(self._handle).decode(errors="replace")
        raise ValueError(message) if code == 2 else Error(message)

    def _use(self, given):
        """Gives the params of a call to the program; the rest of its keywords are inputs."""
        for name in given:
            if name not in INPUTS and name not in PARAMS:
                raise TypeError(f"@NAME@ has no input {name}; inputs: {', '.join(INPUTS) or 'none'}; params: {', '.join(PARAMS) or 'none'}; "
                                "options of the command line go to @CLASS@(...)")
        words = _words({name: value for name, value in given.items() if name in PARAMS})
        if words != self._params:
            self._check(_library.@NAME@_params(self._handle, *_c_words(words)))
            self._params = words
        return {name: value for name, value in given.items() if name in INPUTS}

    def _inputs(self, inputs, keep):
        described = [_described(name, _boxes(value), _scalar_type(INPUTS[name]), False, keep) for name, value in inputs.items()]
        return (_Array * len(described))(*described), len(described)

    def __call__(self, outputs=None, **given):
        """Runs the program on inputs, and on params for this call alone. `outputs`: the names that are wanted, or a dictionary from names to arrays or
        Boxes to be written to, or to None."""
        with self._lock:
            return self._call(outputs, given)

    def _require_open(self):
        if not self._close.alive:
            raise Error("the program has been closed")

    def _call(self, outputs, given):
        self._require_open()
        inputs = self._use(given)
        keep, later = [], []
        c_inputs, input_count = self._inputs(inputs, keep)
        read = [a for a in keep if isinstance(a, np.ndarray)]

        def apart(box):
            """Inputs are read while outputs are written: what shares memory with one is copied afterwards."""
            if not any(np.may_share_memory(box.array, array) for array in read):
                return box
            later.append((box.array, np.empty_like(box.array)))
            return Box(later[-1][1], box.lo, box.shape)

        wanted = dict.fromkeys(OUTPUTS if outputs is None else outputs) if not isinstance(outputs, dict) else outputs
        described = []
        for name, value in wanted.items():
            if name not in OUTPUTS:
                raise TypeError(f"@NAME@ has no output {name}; it has {', '.join(OUTPUTS) or 'none'}")
            if value is None:
                described.append(_Array(name.encode()))
            else:
                described.append(_described(name, [apart(box) for box in _boxes(value)], _scalar_type(OUTPUTS[name]), True, keep))
        c_outputs = (_Array * len(described))(*described)
        self._check(_library.@NAME@_run(self._handle, c_inputs, input_count, c_outputs, len(described)))
        for target, fresh in later:
            target[...] = fresh
        return {name: self._result(k, c_outputs[k]) if value is None else value for k, (name, value) in enumerate(wanted.items())}

    def _result(self, number, output):
        rank = output.dimensions
        shape = tuple(output.shape[:rank])
        dtype = _DTYPES[output.type]
        box = output.boxes[0]
        lo = tuple(box.lo[:rank])
        extents = tuple(h - l for l, h in zip(lo, box.hi[:rank]))
        address = _library.@NAME@_take(self._handle, number)
        count = int(np.prod(extents, dtype=np.int64))
        memory = (ctypes.c_char * max(count * dtype.itemsize, 1)).from_address(address)
        weakref.finalize(memory, _free, address)
        array = np.frombuffer(memory, dtype, count).reshape(extents)
        if rank == 0:
            return array[()]
        return array if self.ranks == 1 else Box(array, lo, shape)

    def layout(self, name, /, **given):
        """Where this rank's elements of a tensor should be, for inputs of these shapes: a list of (lo, hi)."""
        with self._lock:
            return self._layout(name, given)

    def _layout(self, name, given):
        self._require_open()
        inputs = self._use(given)
        keep = []
        shaped = {}
        for input_name, value in inputs.items():
            shape = value.shape if hasattr(value, "shape") else tuple(value)
            dtype = _TYPES[_scalar_type(INPUTS[input_name])][1]
            shaped[input_name] = np.broadcast_to(np.zeros((), dtype), shape)
        c_inputs, count = self._inputs(shaped, keep)
        found = ctypes.POINTER(_Array)()
        self._check(_library.@NAME@_layout(self._handle, c_inputs, count, name.encode(), ctypes.byref(found)))
        array = found.contents
        rank = array.dimensions
        return [(tuple(array.boxes[k].lo[:rank]), tuple(array.boxes[k].hi[:rank])) for k in range(array.box_count)]

    def close(self):
        with self._lock:
            self._close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
