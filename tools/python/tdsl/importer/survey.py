"""`--list`: which functions of a script could be translated, judged without arguments by their statements and names."""
import ast

from . import names
from .errors import Place
from .source import parameters, stored_names

_STATEMENTS = (ast.Assign, ast.AugAssign, ast.AnnAssign, ast.For, ast.While, ast.If, ast.Expr, ast.Return, ast.Pass, ast.Break, ast.Continue, ast.Assert,
               ast.Delete, ast.Raise, ast.With, ast.FunctionDef)
_EXPRESSIONS = (ast.SetComp, ast.DictComp, ast.Dict, ast.Set, ast.Await, ast.Yield, ast.YieldFrom)


def places(script, function):
    """Places of a function that are not translated whatever its arguments' types. Calls of own functions are rated with these."""
    inner = [node for node in ast.walk(function) if isinstance(node, (ast.FunctionDef, ast.Lambda))]
    local = set(stored_names(function)).union(*(parameters(node) for node in inner), (node.name for node in inner[1:] if hasattr(node, "name")))
    found = []
    for node in ast.walk(function):
        if isinstance(node, ast.stmt) and node is not function and not isinstance(node, _STATEMENTS):
            found.append(Place(node, "import-statement", f"`{type(node).__name__.lower()}` is not translated"))
        elif isinstance(node, _EXPRESSIONS):
            found.append(Place(node, "import-expression", f"{type(node).__name__} is not translated"))
        elif isinstance(node, ast.Call):
            found += _call(script, node, local)
    found = list({(place.line, place.column, place.id): place for place in found}.values())
    return sorted(found, key=lambda place: (place.line, place.column))


def methods(script):
    """Name -> place of the methods of a script's classes, which are not translated."""
    return {f"{node.name}.{inner.name}": [Place(inner, "import-call", "a method of a class")]
            for node in script.tree.body if isinstance(node, ast.ClassDef) for inner in node.body if isinstance(inner, ast.FunctionDef)}


def _call(script, node, local):
    root = node.func
    while isinstance(root, ast.Attribute):
        root = root.value
    if isinstance(root, ast.Name) and root.id not in local:
        name = script.numpy_name(node.func)
        if name is not None and name not in names.NUMPY:
            return [Place(node.func, "import-name", f"np.{name} is not translated")]
        known = name is not None or root.id in script.functions or root.id in names.PYTHON or root.id in ("range", "print")
        return [] if known else [Place(node, "import-call", f"a call of `{ast.unparse(node.func)}`")]
    if isinstance(node.func, ast.Attribute) and node.func.attr not in names.METHODS and node.func.attr not in ("fill", "append", "sort"):
        return [Place(node.func, "import-name", f"the method .{node.func.attr} is not translated")]
    return []
