"""`tdsl.compile`: a `.tdsl` program, built once per machine and loaded."""
import hashlib
import importlib.util
import os
import re
import time
import typing

from . import cache, toolchain
from .errors import CompileError, Error
from .program import Program

_NAME = "program"  # of the libraries in the cache
_PATIENCE = 60  # seconds until a folder that another rank made is visible here


def compile(file: typing.Union[str, "os.PathLike[str]", None] = None, *, source: typing.Optional[str] = None, comm: typing.Any = None,
            native: bool = False, **options: typing.Any) -> Program:
    """The program in a file, or of the text `source`. `comm`: a communicator of mpi4py, whose ranks run it together; every rank makes the same calls.
    `native`: for the processor of this machine only. Further keywords: values of params, and options of the command line, such as `threads=4`.
    Raises CompileError, ArgumentError."""
    if (file is None) == (source is None):
        raise TypeError("a file, or source=TEXT, is expected")
    made = _for_all(comm, lambda: built(None if file is None else os.fspath(file), source, native))
    return loaded(made)(comm, **options)


def built(file: typing.Optional[str], source: typing.Optional[str], native: bool) -> str:
    """The folder of a program's library in the cache."""
    if file is None:
        assert source is not None
        content = source
    else:
        try:
            with open(file, encoding="utf-8") as opened:
                content = opened.read()
        except (OSError, UnicodeDecodeError) as error:
            raise CompileError(f"{file}: {getattr(error, 'strerror', None) or 'not UTF-8 text'}") from None
    key = hashlib.sha256()
    folder = os.path.dirname(os.path.abspath(file)) if file is not None else os.getcwd()
    read = content if file is not None else re.sub(r"(?m)^\s*//.*$", "//", content)  # lines of a Python file change more often than its functions
    for text in (toolchain.stamp(toolchain.compiler()), str(native), os.path.basename(file or ""), read, *_others(content, folder)):
        key.update(f"{len(text)} {text}".encode())

    def make(work: str) -> None:
        path = file
        if path is None:
            path = os.path.join(work, _NAME + ".tdsl")
            with open(path, "w", encoding="utf-8") as written:
                written.write(content)
        toolchain.build_library(os.path.abspath(path), work, _NAME, native)

    return cache.entry(key.hexdigest(), make)


def _others(content: str, folder: str) -> typing.Iterator[str]:
    """Names and texts of the files that a program names, and of those that these name."""
    seen: typing.Set[str] = set()
    left = [(content, folder)]
    while left:
        text, home = left.pop()
        for name in re.findall(r'"([^"\n]+)"', text):
            path = os.path.join(home, name)
            if path in seen or not os.path.isfile(path) or os.path.getsize(path) > 1 << 20:
                continue
            seen.add(path)
            with open(path, encoding="utf-8", errors="replace") as file:
                text = file.read()
            yield path
            yield text
            left.append((text, os.path.dirname(path)))


def loaded(folder: str) -> typing.Type[Program]:
    """The class of the library in a folder of the cache."""
    if folder not in _CLASSES:
        spec = importlib.util.spec_from_file_location(f"tdsl_{os.path.basename(folder)[:16]}", os.path.join(folder, _NAME + ".py"))
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        _CLASSES[folder] = next(
            thing for thing in vars(module).values() if isinstance(thing, type) and issubclass(thing, Program) and thing is not Program)
    return _CLASSES[folder]


_CLASSES: typing.Dict[str, typing.Type[Program]] = {}


def _for_all(comm: typing.Any, make: typing.Callable[[], str]) -> str:
    """What `make` returns or raises on rank 0, on every rank."""
    if comm is None or comm.Get_size() == 1:
        return make()
    result: typing.Union[str, Error] = ""
    if comm.Get_rank() == 0:
        try:
            result = make()
        except Error as error:
            result = error
    result = comm.bcast(result, root=0)
    if isinstance(result, Error):
        raise result
    end = time.monotonic() + _PATIENCE
    while not os.path.isdir(result):  # the file system may be slow to show it
        if time.monotonic() > end:
            raise CompileError(f"{result} is not visible on rank {comm.Get_rank()}: XDG_CACHE_HOME must be a folder that all ranks share")
        time.sleep(0.05)
    return result
