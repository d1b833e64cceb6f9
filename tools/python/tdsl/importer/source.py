"""The user's script: loaded as a module, as text, and as a syntax tree."""
import ast
import contextlib
import hashlib
import importlib.util
import math
import os
import sys

import numpy as np

from .errors import UsageError


def _names_of_functions():
    """The dotted NumPy name of every function, class and constant: the one that the object itself has, if several are equal."""
    names = {}
    for prefix, module in (("", np), ("linalg.", np.linalg), ("math.", math)):
        for name, thing in sorted(vars(module).items()):
            if name.startswith("_") or not (callable(thing) or name in ("mgrid", "ogrid", "r_", "c_")):
                continue
            if id(thing) not in names or getattr(thing, "__name__", "") == name:
                names[id(thing)] = prefix + name
    return names


_FUNCTIONS = _names_of_functions()


class Script:
    """A Python file: `module` is executed once, `functions` are the syntax trees of its module-level functions."""

    def __init__(self, path):
        self.path = path
        try:
            with open(path, "rb") as file:
                data = file.read()
            self.text = data.decode()
            self.tree = ast.parse(self.text, path)
        except OSError as error:
            raise UsageError(f"{path}: {error.strerror}") from None
        except SyntaxError as error:
            raise UsageError(f"{path}:{error.lineno}: {error.msg}") from None
        except UnicodeDecodeError:
            raise UsageError(f"{path}: not UTF-8 text") from None
        self.hash = hashlib.sha256(data).hexdigest()[:16]
        self.lines = self.text.splitlines()
        self.functions = {node.name: node for node in self.tree.body if isinstance(node, ast.FunctionDef)}
        self._module = None

    @property
    def module(self):
        if self._module is None:
            name = os.path.splitext(os.path.basename(self.path))[0]
            folder = os.path.dirname(os.path.abspath(self.path))
            sys.path.insert(0, folder)
            spec = importlib.util.spec_from_file_location(name, self.path)
            if spec is None:
                raise UsageError(f"{self.path}: not a Python file")
            module = importlib.util.module_from_spec(spec)
            sys.modules.setdefault(name, module)
            try:
                with contextlib.redirect_stdout(sys.stderr):
                    spec.loader.exec_module(module)
            except (Exception, SystemExit) as error:  # whatever the user's script raises
                raise UsageError(f"{self.path} cannot be loaded: {type(error).__name__}: {error}") from None
            self._module = module
        return self._module

    def function(self, name):
        if name not in self.functions:
            known = ", ".join(self.functions) or "none"
            raise UsageError(f"{self.path} has no function `{name}` at its top level; it has: {known}")
        return self.functions[name]

    def object_of(self, node):
        """The module's object that a name or a chain of attributes means, or None; the caller knows that no local variable hides it."""
        if isinstance(node, ast.Name):
            return vars(self.module).get(node.id)
        if isinstance(node, ast.Attribute):
            thing = self.object_of(node.value)
            return getattr(thing, node.attr, None) if thing is not None and not isinstance(thing, np.ndarray) else None
        return None

    def numpy_name(self, node):
        """`sum`, `linalg.solve`, `add.outer`, `math.sqrt` for what these nodes mean, or None."""
        thing = self.object_of(node)
        if thing is None:
            return None
        if id(thing) in _FUNCTIONS:
            return _FUNCTIONS[id(thing)]
        if isinstance(node, ast.Attribute):
            owner = self.numpy_name(node.value)
            if owner is not None:
                return f"{owner}.{node.attr}"
            module = self.object_of(node.value)
            if getattr(module, "__name__", "").split(".")[0] in ("numpy", "scipy", "math"):
                return f"{module.__name__}.{node.attr}".replace("numpy.", "", 1)
        return None


def counted_loop(node):
    """`for i in range(…)` without `else`."""
    counted = isinstance(node.iter, ast.Call) and isinstance(node.iter.func, ast.Name) and node.iter.func.id == "range"
    return counted and isinstance(node.target, ast.Name) and not node.orelse


def parameters(function):
    """The names of a function's parameters. Only plain ones and keyword-only ones are translated."""
    return [argument.arg for argument in (*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs)]


def defaults(function):
    given = function.args
    names = [argument.arg for argument in (*given.posonlyargs, *given.args)]
    result = dict(zip(names[len(names) - len(given.defaults):], given.defaults))
    result.update({argument.arg: node for argument, node in zip(given.kwonlyargs, given.kw_defaults) if node is not None})
    return result


def stored_names(function):
    """How often each name is bound in a function."""
    counts = {}
    for node in ast.walk(function):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            counts[node.id] = counts.get(node.id, 0) + 1
    return counts


def _targets(node):
    if isinstance(node, ast.Assign):
        for target in node.targets:
            yield from target.elts if isinstance(target, (ast.Tuple, ast.List)) else [target]
    elif isinstance(node, (ast.AugAssign, ast.AnnAssign)):
        yield node.target


def changed_names(function, functions, seen=()):
    """Names whose arrays a function updates in place, itself or by a call."""
    changed = set()
    for node in ast.walk(function):
        for target in _targets(node):
            if isinstance(target, ast.Subscript):
                base = target.value
                while isinstance(base, ast.Subscript):
                    base = base.value
                if isinstance(base, ast.Name):
                    changed.add(base.id)
            if isinstance(node, ast.AugAssign) and isinstance(target, ast.Name):
                changed.add(target.id)
        if isinstance(node, ast.Call):
            changed |= _changed_by_call(node, functions, (*seen, function.name))
    return changed


def _changed_by_call(node, functions, seen):
    changed = {k.value.id for k in node.keywords if k.arg == "out" and isinstance(k.value, ast.Name)}
    if isinstance(node.func, ast.Attribute):  # np.add(a, b, c), np.fill_diagonal(a, v), a.fill(v)
        if len(node.args) > 2 and isinstance(node.args[2], ast.Name) and node.func.attr in ("add", "subtract", "multiply", "divide", "power"):
            changed.add(node.args[2].id)
        first = node.args[0] if node.args and node.func.attr in ("fill_diagonal", "at", "copyto") else node.func.value if node.func.attr == "fill" else None
        if isinstance(first, ast.Name):
            changed.add(first.id)
    callee = functions.get(node.func.id) if isinstance(node.func, ast.Name) else None
    if callee is not None and callee.name not in seen:
        inner = changed_names(callee, functions, seen)
        given = [*zip(parameters(callee), node.args), *((k.arg, k.value) for k in node.keywords)]
        changed |= {value.id for name, value in given if name in inner and isinstance(value, ast.Name)}
    return changed
