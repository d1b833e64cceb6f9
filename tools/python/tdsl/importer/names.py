"""All names that are translated: importing the files of functions fills the tables."""
from . import algebra, elements, reductions, structure  # noqa: F401
from .structure import mesh_of_slices  # noqa: F401
from .table import METHODS, NUMPY, PYTHON, Call, product, total, transposed  # noqa: F401
