"""Example arguments: from calls, from a function that makes them, or random ones of given shapes."""
import ast
import contextlib
import importlib
import os
import re
import sys

import numpy as np

from .errors import UsageError
from .translate import bound_arguments

_SIZES = ((17, 29, 23, 13, 19, 31, 37, 41), (20, 33, 25, 14, 22, 36, 40, 47))  # two examples: no two sizes are close in both
_WORDS = {"f64": np.float64, "f32": np.float32, "i64": np.int64, "i32": np.int32, "bool": np.bool_, "float": float, "int": int}


def from_calls(script, name, calls):
    """The arguments of each call, an expression in the script's names; np is NumPy in it."""
    examples = []
    for text in calls:
        try:
            tree = ast.parse(text, mode="eval").body
        except SyntaxError as error:
            raise UsageError(f"--call {text}: {error.msg}") from None
        if not isinstance(tree, ast.Call) or not isinstance(tree.func, ast.Name) or tree.func.id != name:
            raise UsageError(f"--call {text}: not a call of {name}")
        names = {**vars(script.module), "np": np, name: lambda *args, **kwargs: (args, kwargs)}
        examples.append(_made(script, name, lambda: eval(text, names), f"--call {text}"))
    return examples


def _made(script, name, make, what):
    np.random.seed(0)
    try:
        with contextlib.redirect_stdout(sys.stderr):
            args, kwargs = make()
        return bound_arguments(getattr(script.module, name), args, kwargs)
    except Exception as error:  # whatever the user's expression raises
        raise UsageError(f"{what}: {type(error).__name__}: {error}") from None


def from_generator(script, name, where):
    """`MODULE:FUNCTION` returns the arguments of a call, as a tuple or a dictionary. One with a parameter is called with 0 and 1, for two examples."""
    module_name, _, function_name = where.rpartition(":")
    if not module_name:
        raise UsageError(f"--args {where}: MODULE:FUNCTION is expected")
    sys.path.insert(0, os.getcwd())
    try:
        module = script.module if module_name == script.module.__name__ else importlib.import_module(module_name)
        function = getattr(module, function_name)
    except (ImportError, AttributeError) as error:
        raise UsageError(f"--args {where}: {error}") from None
    count = 2 if function.__code__.co_argcount > len(function.__defaults__ or ()) else 1

    def arguments(number):
        made = function(number) if count == 2 else function()
        return ((), made) if isinstance(made, dict) else (made if isinstance(made, tuple) else (made,), {})
    return [_made(script, name, lambda n=n: arguments(n), f"--args {where}") for n in range(count)]


def from_shapes(script, name, text):
    """`A=f64[n,m], x=f64[m], steps=int`: two examples with random elements; a name has another size in each."""
    items = re.findall(r"\s*(\w+)\s*=\s*(\w+)\s*(?:\[([^\]]*)\])?\s*(?:,|$)", text)
    if not items or re.sub(r"\s*(\w+)\s*=\s*(\w+)\s*(?:\[([^\]]*)\])?\s*(?:,|$)", "", text).strip():
        raise UsageError(f"--shapes {text}: NAME=TYPE[EXTENT, ...] or NAME=TYPE, with commas between, is expected")
    names = list(dict.fromkeys(word for _, _, inner in items for word in re.findall(r"[A-Za-z_]\w*", inner)))
    if len(names) > len(_SIZES[0]):
        raise UsageError(f"--shapes: more than {len(_SIZES[0])} names of sizes")
    return [_made(script, name, lambda sizes=sizes, n=n: ((), _random(items, dict(zip(names, sizes)), n)), f"--shapes {text}")
            for n, sizes in enumerate(_SIZES)]


def _random(items, sizes, number):
    given = {}
    for name, word, inner in items:
        if word not in _WORDS:
            raise ValueError(f"{word} is none of {', '.join(_WORDS)}")
        shape = tuple(int(eval(extent, {"__builtins__": {}}, sizes)) for extent in inner.split(",") if extent.strip())
        type_ = _WORDS[word]
        if not shape:
            given[name] = sizes.get(name, 3 + number) if word in ("int", "i64", "i32") else 0.5 + 0.25 * number if word[0] == "f" else bool(number)
        elif word in ("int", "i64", "i32"):
            given[name] = np.random.randint(0, 10, shape).astype(type_)
        else:
            given[name] = np.random.rand(*shape) < 0.5 if word == "bool" else np.random.rand(*shape).astype(type_)
    return given
