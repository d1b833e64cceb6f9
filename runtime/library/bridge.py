"""@NAME@: @FILE@ in this process, from NumPy arrays to NumPy arrays. Made by @VERSION@.

@DECLARED@

    from @NAME@ import @CLASS@
    with @CLASS@() as program:          # options are keywords: threads=2, memory="4GiB", and the params
        results = program(...)          # inputs by name, and params of this call alone; outputs by name

With several ranks, under mpi4py: @CLASS@(MPI.COMM_WORLD). The classes are those of the module `tdsl`.
"""

import os
import sys

try:
    from tdsl.program import Library, Program
except ImportError:  # not installed: the module of the compiler that made this file
    sys.path.append(@PYTHON@)
    from tdsl.program import Library, Program
from tdsl import ArgumentError, Box, Error, OutOfMemory, Results, RunError  # noqa: F401

INPUTS = {"INPUTS": ""}
OUTPUTS = {"OUTPUTS": ""}
PARAMS = {"PARAMS": ""}


class @CLASS@(Program):
    __doc__ = Program.__doc__
    library = Library(os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib@NAME@.so"), "@NAME@", INPUTS, OUTPUTS, PARAMS)
