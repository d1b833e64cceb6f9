"""TDSL for Python: NumPy functions compiled by `@tdsl.jit`, and programs by `tdsl.compile`."""
import importlib
import typing

__version__ = "0.1.0"

if typing.TYPE_CHECKING:
    from . import cache as cache
    from .arguments import Box as Box
    from .compiled import compile as compile
    from .errors import ArgumentError as ArgumentError
    from .errors import CompileError as CompileError
    from .errors import Different as Different
    from .errors import Error as Error
    from .errors import OutOfMemory as OutOfMemory
    from .errors import RunError as RunError
    from .errors import TranslationError as TranslationError
    from .function import Function as Function
    from .function import jit as jit
    from .program import Program as Program
    from .program import Results as Results

# Loaded at first use: without NumPy, `python3 -m tdsl.importer` still gives its own message.
_HOMES = {"cache": "cache", "compile": "compiled", "jit": "function", "Function": "function", "Box": "arguments", "Program": "program", "Results": "program",
          **dict.fromkeys(("Error", "TranslationError", "CompileError", "ArgumentError", "RunError", "OutOfMemory", "Different"), "errors")}

__all__ = ["ArgumentError", "Box", "CompileError", "Different", "Error", "Function", "OutOfMemory", "Program", "Results", "RunError", "TranslationError",
           "cache", "compile", "jit"]


def __getattr__(name: str) -> typing.Any:
    if name not in _HOMES:
        raise AttributeError(f"module tdsl has no attribute {name}")
    module = importlib.import_module(f".{_HOMES[name]}", __name__)
    value = module if name == "cache" else getattr(module, name)
    globals()[name] = value
    return value


def load_ipython_extension(shell: typing.Any) -> None:
    """`%load_ext tdsl`: the magics `%%tdsl` and `%tdsl_explain`."""
    from .magic import register

    register(shell)
