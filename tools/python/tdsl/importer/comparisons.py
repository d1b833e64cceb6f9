"""Comparisons and their combinations; those of constants are known."""
import ast

from .errors import Place
from .values import AND, COMPARISON, OR, SUM, Value, broadcast, is_complex, unified

_COMPARISONS = {ast.Lt: "<", ast.Gt: ">", ast.LtE: "<=", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!="}


class Comparisons:
    """Part of the translator."""

    def _compare(self, node):
        values = [self.expression(part) for part in (node.left, *node.comparators)]
        links = [self.comparison(op, a, b, node) for op, a, b in zip(node.ops, values, values[1:])]
        if len(links) == 1:
            return links[0]
        if any(link.rank for link in links):
            raise Place(node, "import-type", "chained comparisons of arrays")
        return Value(" && ".join(link.at(AND + 1) for link in links), "bool", level=AND)

    def comparison(self, op, a, b, node):
        if isinstance(op, (ast.Is, ast.IsNot)):
            if "none" not in (a.type, b.type):
                raise Place(node, "import-operator", "`is` of values other than None")
            same = (a.type == b.type) == isinstance(op, ast.Is)
            return Value("true" if same else "false", "bool", known=same)
        if isinstance(op, (ast.In, ast.NotIn)) and b.items is not None:
            return self.among(op, a, b, node)
        if type(op) not in _COMPARISONS:
            raise Place(node, "import-operator", f"the comparison {type(op).__name__} is not translated")
        if a.items is not None and b.items is not None:
            return self.of_tuples(op, a, b, node)
        if "text" in (a.type, b.type):
            return self.of_texts(op, a, b, node)
        if a.mask is not None or b.mask is not None:
            raise Place(node, "import-mask", "a comparison of a[condition]")
        self.require_plain(a, node)
        self.require_plain(b, node)
        symbol, known = _COMPARISONS[type(op)], None
        if a.size is not None and b.size is not None and None not in (a.size.constant, b.size.constant):
            known = bool(eval(f"{a.size.constant} {symbol} {b.size.constant}"))  # two integers
        shape = broadcast(node, a.shape, b.shape)
        if symbol not in ("==", "!=") and (is_complex(a) or is_complex(b)):
            raise Place(node, "import-complex", "an order of complex numbers")
        a, b, _ = unified(a, b)
        return Value(f"{a.at(SUM)} {symbol} {b.at(SUM)}", "bool", shape, COMPARISON, known=known)

    def among(self, op, a, b, node):
        """`a in (b, c)`."""
        links = [self.comparison(ast.Eq(), a, item, node) for item in b.items]
        if any(link.known for link in links) or all(link.known is False for link in links):
            same = any(link.known for link in links) == isinstance(op, ast.In)
            return Value("true" if same else "false", "bool", known=same)
        if any(link.rank for link in links):
            raise Place(node, "import-type", "`in` with an array")
        found = Value(" || ".join(link.at(OR + 1) for link in links if link.known is None), "bool", level=OR)
        return found if isinstance(op, ast.In) else self.negated(found)

    def of_tuples(self, op, a, b, node):
        """`==` and `!=` of tuples of numbers that are known."""
        links = [self.comparison(ast.Eq(), x, y, node).known for x, y in zip(a.items, b.items)] if len(a.items) == len(b.items) else [False]
        if not isinstance(op, (ast.Eq, ast.NotEq)) or None in links and False not in links:
            raise Place(node, "import-operator", "a comparison of tuples other than == and != of constants")
        same = (False not in links) == isinstance(op, ast.Eq)
        return Value("true" if same else "false", "bool", known=same)

    @staticmethod
    def of_texts(op, a, b, node):
        if not isinstance(op, (ast.Eq, ast.NotEq)) or a.type != b.type:
            raise Place(node, "import-operator", "a comparison of texts other than == and !=")
        same = (a.known == b.known) == isinstance(op, ast.Eq)
        return Value("true" if same else "false", "bool", known=same)

    def _boolop(self, node):
        is_and = isinstance(node.op, ast.And)
        level, symbol = (AND, "&&") if is_and else (OR, "||")
        values = []
        for part in node.values:
            value = self.truth(self.expression(part), part)
            if value.known is not None and value.known != is_and:
                return value if not values else Value(f" {symbol} ".join(v.at(level + 1) for v in [*values, value]), "bool", level=level)
            if value.known is None:
                values.append(value)
        if not values:
            return Value("true" if is_and else "false", "bool", known=is_and)
        if len(values) == 1:
            return values[0]
        return Value(f" {symbol} ".join(value.at(level + 1) for value in values), "bool", level=level)
