"""All names that are translated: importing the files of functions fills the tables."""
from . import algebra, elements, fourier, matrices, moved, reductions, signals, structure  # noqa: F401
from .moved import parts_side_by_side  # noqa: F401
from .structure import array_of, mesh_of_slices  # noqa: F401
from .table import METHODS, NUMPY, PYTHON, Call, product, selected_count, total, transposed  # noqa: F401
