"""Arrays of a call: checked, converted, and described for C."""
import ctypes
import functools
import typing

import numpy as np

from . import abi
from .errors import ArgumentError


def is_sparse(value: typing.Any) -> bool:
    """Whether the value is a sparse matrix or array of SciPy."""
    return not isinstance(value, np.ndarray) and hasattr(value, "tocsr")


class Box:
    """The elements of a tensor of the given shape that begin at `lo`: those of `array`, or whole rows of a SciPy matrix."""

    __slots__ = ("array", "lo", "shape")

    def __init__(self, array: typing.Any, lo: typing.Iterable[int], shape: typing.Iterable[int]) -> None:
        self.array = array if is_sparse(array) else np.asarray(array)
        self.lo = tuple(int(x) for x in lo)
        self.shape = tuple(int(x) for x in shape)
        if not len(self.lo) == len(self.shape) == self.array.ndim:
            raise ArgumentError(f"a box of {self.array.ndim} dimensions, lo of {len(self.lo)}, a tensor of {len(self.shape)}")

    def __repr__(self) -> str:
        return f"Box(<{self.array.dtype} array of shape {self.array.shape}>, lo={self.lo}, shape={self.shape})"


def boxes_of(value: typing.Any) -> typing.List[Box]:
    """What may be given for a tensor, as a list of boxes."""
    if isinstance(value, Box):
        return [value]
    if isinstance(value, (list, tuple)) and value and all(isinstance(part, Box) for part in value):
        return list(value)
    array = value if is_sparse(value) else np.asarray(value)
    box = Box.__new__(Box)
    box.array, box.lo, box.shape = array, _zeros(array.ndim), array.shape
    return [box]


@functools.lru_cache(maxsize=None)
def _zeros(rank: int) -> typing.Tuple[int, ...]:
    return (0,) * rank


def fitting(box: Box, name: str, type_: int) -> Box:
    """The box with elements of a type of the C interface, itself if it has them."""
    dtype = abi.DTYPES[type_]
    array = box.array
    if array.ndim > abi.MOST_DIMENSIONS:
        raise ArgumentError(f"{name} has {array.ndim} dimensions; there are at most {abi.MOST_DIMENSIONS}")
    if dtype.kind == "V" == array.dtype.kind and array.dtype.itemsize == dtype.itemsize:
        array = array.view(dtype)  # bfloat16 of ml_dtypes
        box = Box(array, box.lo, box.shape)
    if array.dtype != dtype and (dtype.kind == "V" or not np.can_cast(array.dtype, dtype, "safe")):
        raise ArgumentError(f"{name} is declared {abi.NAMES[type_]}, but the array holds {array.dtype}; convert it with astype")
    if is_sparse(array):
        return Box(_native_rows(array.tocsr(), dtype), box.lo, box.shape)
    if array.dtype == dtype and array.dtype.isnative and (array.flags.c_contiguous or has_whole_strides(array)):
        return box
    return Box(array.astype(dtype, order="C"), box.lo, box.shape)


def has_whole_strides(array: typing.Any) -> bool:
    """Whether strides are multiples of an element's size."""
    return not any(stride % array.itemsize for stride in array.strides)


def require_writable(box: Box, name: str, type_: int) -> None:
    array = box.array
    if is_sparse(array):
        raise ArgumentError(f"{name}: a matrix of SciPy cannot be written to; without `out` the result is a new one")
    if not array.flags.writeable:
        raise ArgumentError(f"{name}: the array cannot be written")
    if array.dtype != abi.DTYPES[type_] or not array.dtype.isnative or not has_whole_strides(array):
        raise ArgumentError(f"{name} is {abi.NAMES[type_]}, but the array for it holds {array.dtype}")


def _native_rows(matrix: typing.Any, dtype: typing.Any) -> typing.Any:
    """The CSR matrix with lists as C reads them; itself if it has them."""
    index = np.dtype(np.int32 if matrix.indices.dtype.itemsize == matrix.indptr.dtype.itemsize == 4 else np.int64)
    lists = [np.ascontiguousarray(matrix.data, dtype), np.ascontiguousarray(matrix.indices, index), np.ascontiguousarray(matrix.indptr, index)]
    if all(a is b for a, b in zip(lists, (matrix.data, matrix.indices, matrix.indptr))):
        return matrix
    return type(matrix)(tuple(lists), shape=matrix.shape, copy=False)


Layout = typing.Tuple[typing.Any, ...]


def layout_of(name: str, type_: int, boxes: typing.Sequence[Box]) -> Layout:
    """The key of an array's C description, which has all but addresses."""
    if len(boxes) == 1 and type(boxes[0].array) is np.ndarray:
        box = boxes[0]
        return name, type_, ((box.lo, box.shape, box.array.shape, box.array.strides),)
    return name, type_, tuple([(box.lo, box.shape, box.array.shape, None if is_sparse(box.array) else box.array.strides) for box in boxes])


class Description:
    """C descriptions of the inputs or outputs of a call; only addresses differ from call to call. `sparse`: numbers of arrays without boxes that
    are requested as sparse matrices."""

    def __init__(self, layouts: typing.Sequence[Layout], sparse: typing.Container[int] = ()) -> None:
        self.count = len(layouts)
        self.arrays = (abi.CArray * self.count)()
        self.rows: typing.Dict[int, abi.CSparse] = {}
        self.boxes: typing.List[abi.CBox] = []
        for number, (c_array, layout) in enumerate(zip(self.arrays, layouts)):
            c_array.name, c_array.type = layout[0].encode(), layout[1]
            if layout[2]:
                self._describe(c_array, layout)
            elif number in sparse:
                self._request_rows(number, c_array)
        self.view = memoryview(self.arrays).cast("B")
        self._blank = bytes(self.view)

    def _describe(self, c_array: abi.CArray, layout: Layout) -> None:
        name, type_, boxes = layout
        shape, is_rows = boxes[0][1], boxes[0][3] is None
        c_array.type, c_array.dimensions = type_ + (abi.SPARSE if is_rows else 0), len(shape)
        c_array.shape, c_array.box_count = abi.Extents(*shape), len(boxes)
        c_boxes = (abi.CBox * len(boxes))()
        for c_box, (lo, whole, extents, strides) in zip(c_boxes, boxes):
            if whole != shape:
                raise ArgumentError(f"{name}: boxes of tensors of different shapes")
            if (strides is None) != is_rows:
                raise ArgumentError(f"{name}: some boxes are sparse, others dense")
            c_box.lo, c_box.hi = abi.Extents(*lo), abi.Extents(*[x + n for x, n in zip(lo, extents)])
            if strides is not None:
                c_box.stride = abi.Extents(*[stride // abi.DTYPES[type_].itemsize for stride in strides])
        c_array.boxes = c_boxes
        self.boxes += [c_boxes[k] for k in range(len(boxes))]

    def _request_rows(self, number: int, c_array: abi.CArray) -> None:
        rows = self.rows[number] = abi.CSparse(ctypes.sizeof(abi.CSparse))
        c_boxes = (abi.CBox * 1)()
        c_boxes[0].data = ctypes.addressof(rows)
        c_array.type, c_array.box_count, c_array.boxes = abi.SPARSE, 1, c_boxes

    def point_to(self, boxes: typing.Iterable[Box]) -> typing.Any:
        """Fills in the addresses of these boxes, in order; returns what must live during the call."""
        keep: typing.List[typing.Any] = []
        for c_box, box in zip(self.boxes, boxes):
            array = box.array
            keep.append(array)
            if is_sparse(array):
                keep.append(rows := _rows(array))
                c_box.data = ctypes.addressof(rows)
            else:
                c_box.data = abi.address_of(array)
        return keep

    def reset(self) -> None:
        """Makes outputs that an earlier call has described into requests again."""
        self.view[:] = self._blank


def _rows(matrix: typing.Any) -> abi.CSparse:
    return abi.CSparse(ctypes.sizeof(abi.CSparse), 8 * matrix.indices.itemsize, matrix.indptr.ctypes.data, matrix.indices.ctypes.data,
                       matrix.data.ctypes.data, matrix.shape[0], matrix.shape[1], matrix.data.size)


def sparse_result(rows: abi.CSparse, dtype: "np.dtype[typing.Any]", fill: typing.Callable[[abi.CSparse], None]) -> typing.Any:
    """A csr_array with the rows that a run has counted."""
    try:
        from scipy.sparse import csr_array
    except ImportError:
        raise ArgumentError("a sparse output needs SciPy (apt install python3-scipy), or an array to be written to, `out`") from None
    index = np.int32 if max(rows.count, rows.cols) < 2**31 else np.int64
    data, indices, indptr = np.empty(rows.count, dtype), np.empty(rows.count, index), np.empty(rows.rows + 1, index)
    rows.index_bits = 8 * np.dtype(index).itemsize
    rows.values, rows.indices, rows.indptr = data.ctypes.data, indices.ctypes.data, indptr.ctypes.data
    fill(rows)
    matrix = csr_array((rows.rows, rows.cols), dtype=dtype)
    matrix.data, matrix.indices, matrix.indptr = data, indices, indptr
    return matrix
