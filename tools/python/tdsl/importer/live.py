"""A function of this process as a script: its source text, and the names of its module as they are now."""
import ast
import hashlib
import inspect

from ..errors import TranslationError
from .errors import Place
from .source import Script


class _Names:
    """Has the names of a module as attributes."""


class LiveScript(Script):
    """`used`: names and attributes of the module that were looked up, as text, with their values."""

    def __init__(self, function):
        code = function.__code__
        try:
            lines, _ = inspect.findsource(function)
        except OSError:
            raise self._refusal(code, "its source text is not available") from None
        self.path = code.co_filename
        self.text = "".join(lines)
        self.hash = hashlib.sha256(self.text.encode()).hexdigest()[:16]
        self.lines = self.text.splitlines()
        try:
            self.tree = ast.parse(_without_magics(self.text))
        except SyntaxError:
            raise self._refusal(code, "its source text cannot be parsed") from None
        self.functions = {node.name: node for node in self.tree.body if isinstance(node, ast.FunctionDef)}
        node = self.functions.get(function.__name__)
        first = node and min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
        if node is None or code.co_firstlineno not in (first, node.lineno):
            raise self._refusal(code, "only a function at the top level of its module is translated")
        self._module = _Names()
        self._module.__dict__ = function.__globals__
        self.used = {}

    @staticmethod
    def _refusal(code, reason):
        place = Place(None, "import-call", f"`{code.co_name}`: {reason}")
        place.line, place.column = code.co_firstlineno, 1
        return TranslationError(code.co_filename, [place])

    def object_of(self, node):
        thing = super().object_of(node)
        if isinstance(node, (ast.Name, ast.Attribute)):
            self.used[ast.unparse(node)] = thing
        return thing


def _without_magics(text):
    """Lines of IPython's own, `%magic` and `!command`, are empty."""
    return "\n".join("" if line.lstrip()[:1] in ("%", "!") else line for line in text.splitlines())
