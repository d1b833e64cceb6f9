"""The C interface of libraries that `tdslc build --library` makes: `runtime/library/abi.h` for ctypes."""
import ctypes
import functools
import math
import struct
import sys
import typing

import numpy as np

MOST_DIMENSIONS = 8
SPARSE = 256
DTYPES = tuple(np.dtype(dtype) for dtype in (np.bool_, np.int32, np.int64, np.float32, np.float64, np.complex64, np.complex128,
                                          np.int8, np.uint8, np.int16, np.uint16, np.uint32, np.uint64, np.float16, "V2"))
NAMES = ("bool", "i32", "i64", "f32", "f64", "c64", "c128", "i8", "u8", "i16", "u16", "u32", "u64", "f16", "bf16")
TYPES = {name: type_ for type_, name in enumerate(NAMES)}

Extents = ctypes.c_int64 * MOST_DIMENSIONS


class CBox(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("lo", Extents), ("hi", Extents), ("stride", Extents)]


class CArray(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("type", ctypes.c_int), ("dimensions", ctypes.c_int), ("shape", Extents), ("box_count", ctypes.c_int64),
                ("boxes", ctypes.POINTER(CBox))]


ARRAY_HEAD = struct.Struct(f"Pii{MOST_DIMENSIONS}qqP")  # a CArray as numbers


class CSparse(ctypes.Structure):
    _fields_ = [("size", ctypes.c_int64), ("index_bits", ctypes.c_int64), ("indptr", ctypes.c_void_p), ("indices", ctypes.c_void_p),
                ("values", ctypes.c_void_p), ("rows", ctypes.c_int64), ("cols", ctypes.c_int64), ("count", ctypes.c_int64)]


ASKED = ctypes.CFUNCTYPE(ctypes.c_int)
_Arrays = ctypes.POINTER(CArray)
_Words = ctypes.POINTER(ctypes.c_char_p)
_FUNCTIONS: typing.Dict[str, typing.List[typing.Any]] = {
    "open": [ctypes.c_void_p, _Words, ctypes.c_int, ctypes.POINTER(ctypes.c_void_p)],
    "params": [ctypes.c_void_p, _Words, ctypes.c_int],
    "layout": [ctypes.c_void_p, _Arrays, ctypes.c_int, ctypes.c_char_p, ctypes.POINTER(_Arrays)],
    "run": [ctypes.c_void_p, _Arrays, ctypes.c_int, _Arrays, ctypes.c_int],
    "stop_when": [ctypes.c_void_p, ASKED],
    "fill": [ctypes.c_void_p, ctypes.c_int, ctypes.POINTER(CSparse)],
    "take": [ctypes.c_void_p, ctypes.c_int],
    "rank": [ctypes.c_void_p, ctypes.POINTER(ctypes.c_int)],
    "message": [ctypes.c_void_p],
    "close": [ctypes.c_void_p],
}
# `run` for arrays by their addresses: no conversion of arguments.
_RUN_AT = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p, ctypes.c_int)


def functions(path: str, name: str) -> typing.Dict[str, typing.Any]:
    """The functions of the library at `path`, without its prefix `name`."""
    library = ctypes.CDLL(path)
    found = {}
    for word, arguments in _FUNCTIONS.items():
        found[word] = getattr(library, f"{name}_{word}")
        found[word].argtypes = arguments
    found["run_at"] = _RUN_AT((f"{name}_run", library))
    found["take"].restype = ctypes.c_void_p
    found["message"].restype = ctypes.c_char_p
    return found


_free = ctypes.CDLL(None).free
_free.argtypes = [ctypes.c_void_p]


@functools.lru_cache(maxsize=64)
def _owned(size: int) -> typing.Any:
    """Memory of `size` bytes from malloc, freed with its last user."""
    def __del__(self: typing.Any, free: typing.Any = _free, address_of: typing.Any = ctypes.addressof) -> None:
        free(address_of(self))

    return type("Memory", (ctypes.c_char * size,), {"__del__": __del__})


def array_of_memory(address: int, shape: typing.Tuple[int, ...], dtype: "np.dtype[typing.Any]") -> "np.ndarray[typing.Any, typing.Any]":
    """Memory from malloc as an array, freed with the last array on it."""
    return np.ndarray(shape, dtype, _owned(dtype.itemsize * math.prod(shape)).from_address(address))


def _slow_address(array: "np.ndarray[typing.Any, typing.Any]") -> int:
    return array.ctypes.data


def _fast_address(array: typing.Any, pointer: typing.Any = ctypes.c_void_p, after: int = object.__basicsize__) -> int:
    """An array's structure begins with the head of all objects and this address (numpy/ndarraytypes.h)."""
    address: int = pointer.from_address(id(array) + after).value or 0
    return address


def _address() -> typing.Callable[[typing.Any], int]:
    sample = np.zeros(4)
    fast = sys.implementation.name == "cpython" and all(_fast_address(part) == _slow_address(part) for part in (sample, sample[1:]))
    if fast:
        return _fast_address
    return _slow_address


# The address of an array's first element.
address_of = _address()


def c_words(words: typing.Sequence[str]) -> typing.Tuple[typing.Any, int]:
    encoded = [word.encode() for word in words]
    return (ctypes.c_char_p * len(encoded))(*encoded), len(encoded)
