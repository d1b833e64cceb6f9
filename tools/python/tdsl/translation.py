"""Translations of functions, kept on disk: a later process finds them without the importer."""
import dataclasses
import hashlib
import os
import typing

import numpy as np

from . import cache, toolchain
from .errors import TranslationError

Extent = typing.Tuple[int, typing.Dict[str, int]]  # a number plus multiples of names


@dataclasses.dataclass
class Translated:
    """A program of a function. `options`: parameter -> input or param of the program; `results`, `several`: outputs of the returned value; `updated`:
    output -> parameter whose array the function changes; `shapes`: parameter -> extents over names; `folder`: the built library, once there is one."""
    text: str
    options: typing.Dict[str, str]
    results: typing.List[str]
    several: bool
    updated: typing.Dict[str, str]
    shapes: typing.Dict[str, typing.List[Extent]]
    notes: typing.List[str]
    folder: str = ""

    def fits(self, arguments: typing.Mapping[str, typing.Any]) -> bool:
        """Whether the extents of these arguments are those of the program's dimensions."""
        known = {option: arguments[parameter] for parameter, option in self.options.items() if parameter not in self.shapes}
        for parameter, extents in self.shapes.items():
            for actual, (number, terms) in zip(arguments[parameter].shape, extents):
                if number == 0 and len(terms) == 1 and next(iter(terms)) not in known:
                    known[next(iter(terms))] = actual
                elif any(name not in known for name in terms) or actual != number + sum(factor * known[name] for name, factor in terms.items()):
                    return False
        return True


def example(value: typing.Any) -> typing.Any:
    """The value, or an array of its type and shape that takes no memory."""
    return np.broadcast_to(np.zeros((), value.dtype), value.shape) if isinstance(value, np.ndarray) and value.ndim else value


def translated(function: typing.Any, examples: typing.Sequence[typing.Mapping[str, typing.Any]]) -> Translated:
    """The program of a function for these example arguments, from the cache or by the importer. Raises TranslationError."""
    key = _key(function, examples)
    record = cache.read(key)
    if record is not None and all(_fingerprint(_looked_up(name, function.__globals__)) == value for name, value in record.pop("used").items()):
        return Translated(**record)
    from .importer.live import LiveScript
    from .importer.translate import Translator

    script = LiveScript(function)
    made = Translator(script, function.__name__, [dict(arguments) for arguments in examples]).translate()
    if made.lost:
        place = _place(script, function, f"the array of `{made.lost[0]}` is changed, and the name given to other arrays, too")
        raise TranslationError(script.path, [place], script.lines)
    result = Translated(made.text, made.options, made.results, made.several, made.updated, made.shapes, made.notes)
    cache.write(key, {**dataclasses.asdict(result), "used": {name: _fingerprint(thing) for name, thing in script.used.items()}})
    return result


def remember_folder(function: typing.Any, examples: typing.Sequence[typing.Mapping[str, typing.Any]], folder: str) -> None:
    """Adds the library of a translation to its record."""
    key = _key(function, examples)
    record = cache.read(key)
    if record is not None:
        cache.write(key, {**record, "folder": folder})


def _place(script: typing.Any, function: typing.Any, reason: str) -> typing.Any:
    from .importer.errors import Place

    return Place(script.functions[function.__name__], "import-argument", reason)


def _key(function: typing.Any, examples: typing.Sequence[typing.Mapping[str, typing.Any]]) -> str:
    """A hash of all that a translation depends on, except the values of the module's names."""
    key = hashlib.sha256()
    for text in (toolchain.stamp(toolchain.compiler()), _importer_stamp(), np.__version__, function.__name__, _source(function)):
        key.update(f"{len(text)} {text}".encode())
    for arguments in examples:
        for name, value in arguments.items():
            kind = f"{value.dtype}{value.shape}" if isinstance(value, np.ndarray) else f"{type(value).__name__} {value!r}"
            if isinstance(value, (float, np.floating, bool, np.bool_)):
                kind = type(value).__name__  # becomes a param
            key.update(f"{name} {kind}\n".encode())
    return "translation-" + key.hexdigest()


def _source(function: typing.Any) -> str:
    """The text of the function's file or notebook cell."""
    import linecache

    code = function.__code__
    linecache.checkcache(code.co_filename)
    return f"{code.co_firstlineno} {code.co_filename} " + "".join(linecache.getlines(code.co_filename, function.__globals__))


def _importer_stamp() -> str:
    folder = os.path.join(os.path.dirname(__file__), "importer")
    return " ".join(str(item.stat().st_mtime_ns) for item in sorted(os.scandir(folder), key=lambda item: item.name) if item.name.endswith(".py"))


def _looked_up(name: str, names: typing.Dict[str, typing.Any]) -> typing.Any:
    """The value of `a.b.c` in a module."""
    root, *attributes = name.split(".")
    thing = names.get(root)
    for attribute in attributes:
        thing = getattr(thing, attribute, None)
    return thing


def _fingerprint(thing: typing.Any) -> str:
    if isinstance(thing, np.ndarray):
        return f"{thing.dtype} {thing.shape} {hashlib.sha256(np.ascontiguousarray(thing).tobytes()).hexdigest()}"
    if isinstance(thing, (bool, int, float, complex, str, tuple, list, np.generic, type(None))):
        return f"{type(thing).__name__} {thing!r}"
    return f"{type(thing).__name__} {getattr(thing, '__module__', '')} {getattr(thing, '__qualname__', getattr(thing, '__name__', ''))}"


def python_line(text: str, number: int) -> int:
    """The line of the function's file that a line of the program was translated from, or 0."""
    for line in reversed(text.splitlines()[:number]):
        word = line.split(":")[0].strip()
        if word.startswith("// ") and word[3:].isdigit():
            return int(word[3:])
    return 0


