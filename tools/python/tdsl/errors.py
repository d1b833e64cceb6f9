"""Errors of the module. Messages speak of the `.tdsl` program, or of the Python function that it translates."""
import re
import typing

_ID = re.compile(r"^.* \[([a-z-]+)\]$", re.M)


class Error(Exception):
    """The base of all errors of this module."""


def id_of(message: str) -> str:
    """The id in brackets at the end of a message's first line, or nothing."""
    found = _ID.match(message)
    return found[1] if found else ""


def underlined(lines: typing.Sequence[str], line: int, column: int, end: typing.Optional[int] = None) -> str:
    """A line of a text (from 1) with carets below the columns `column` (from 1) to before `end`; empty if there is no such line."""
    if not 1 <= line <= len(lines):
        return ""
    text = lines[line - 1].rstrip("\n")
    carets = "".join("\t" if c == "\t" else " " for c in text[:column - 1]) + "^" * max(1, (end or 0) - column)
    return f"\n{line:5} | {text}\n      | {carets}"


class TranslationError(Error):
    """A function that is not translated. `places`: all places found, in the order of the file, with `line`, `column` (from 1), `id`, `reason`."""

    def __init__(self, file: str, places: typing.Iterable[typing.Any], lines: typing.Sequence[str] = ()) -> None:
        self.file = file
        self.places = sorted(places, key=lambda place: (place.line, place.column, place.id))
        self.lines = lines
        super().__init__("\n".join(place.text(file) + underlined(lines, place.line, place.column) for place in self.places))

    def text(self) -> str:
        """One line per place."""
        return "\n".join(place.text(self.file) for place in self.places)


class CompileError(Error):
    """A program that the compiler rejects. `diagnostics`: the records of `tdslc check --json`; empty if another step failed."""

    def __init__(self, message: str, diagnostics: typing.Sequence[typing.Dict[str, typing.Any]] = ()) -> None:
        self.diagnostics = list(diagnostics)
        super().__init__(message)


class ArgumentError(Error, ValueError):
    """An argument of a call is invalid. Nothing was run."""


class Different(Error):
    """A translated program gives other values than NumPy, or none."""


class RunError(Error, RuntimeError):
    """A run failed, without results. The next call is a new run, unless ranks were lost. `id`: of the message, for `tdslc --explain`; `file`, `line`: the place in the program (line 0: unknown);
    `python_line`: the line of the translated Python function, or 0."""

    def __init__(self, message: str, python: typing.Tuple[str, int] = ("", 0)) -> None:
        found = re.match(r"(\S+\.tdsl):(\d+): ", message)
        self.id = id_of(message)
        self.file = found[1] if found else ""
        self.line = int(found[2]) if found else 0
        self.python_line = python[1]
        super().__init__(message + (f" (translated from {python[0]}:{python[1]})" if python[1] else ""))


class OutOfMemory(Error, MemoryError):
    """The plan does not fit, or memory is exhausted. The message has the plan's numbers."""


def of_call(code: int, message: str) -> Error:
    """The error of a library's return code and message."""
    if id_of(message) == "out-of-memory":
        return OutOfMemory(message)
    return ArgumentError(message) if code == 2 else RunError(message)
