"""Functions with several returns as functions with one, at the end."""
import ast

from .errors import Place

_RESULT = "_result"


def single_return(body):
    """The statements of a function whose only `return` is the last one: what follows an `if` that returns stands in its other branch, and both
    assign the result. A `return` in a loop stays where it is."""
    for position, statement in enumerate(body):
        if isinstance(statement, ast.Return):
            return body[:position + 1]
        if isinstance(statement, ast.If) and _returns([statement]):
            rest = body[position + 1:]
            branches = [single_return(_continued(branch, rest)) for branch in (statement.body, statement.orelse)]
            return [*body[:position], *_joined(statement, branches)]
    return body


def _returns(body):
    """Whether a branch has a return outside of loops and inner functions."""
    return any(isinstance(statement, ast.Return) or isinstance(statement, ast.If) and (_returns(statement.body) or _returns(statement.orelse))
               for statement in body)


def _continued(branch, rest):
    return list(branch) if branch and isinstance(branch[-1], ast.Return) else [*branch, *rest]


def _joined(statement, branches):
    """The branch, with the results of both sides under one name, and the return of these."""
    values = [branch[-1].value if branch and isinstance(branch[-1], ast.Return) else None for branch in branches]
    if values == [None, None]:
        return [_made(statement, [branch or [_copied(ast.Pass(), statement)] for branch in (_without(branches[0]), _without(branches[1]))])]
    if None in values:
        raise Place(statement, "import-return", "a result in one branch only")
    tuples = [isinstance(value, ast.Tuple) for value in values]
    if not any(tuples) and len(branches[0]) == len(branches[1]) == 1:
        return [_copied(ast.Return(_copied(ast.IfExp(statement.test, *values), statement)), statement)]
    if all(tuples) and len(values[0].elts) == len(values[1].elts):
        names = [f"{_RESULT}{i}" for i in range(len(values[0].elts))]
    elif any(tuples):
        raise Place(statement, "import-return", "results of different numbers")
    else:
        names = [_RESULT]
    for branch, value in zip(branches, values):
        items = value.elts if all(tuples) else [value]
        returned = branch.pop()
        targets = [_copied(ast.Name(name, ast.Store()), returned) for name in names]
        if all(tuples):
            branch.append(_copied(ast.Assign([_copied(ast.Tuple(targets, ast.Store()), returned)], _copied(ast.Tuple(items, ast.Load()), returned)), returned))
        else:
            branch.append(_copied(ast.Assign(targets, value), returned))
    loaded = [_copied(ast.Name(name, ast.Load()), statement) for name in names]
    result = _copied(ast.Tuple(loaded, ast.Load()), statement) if all(tuples) else loaded[0]
    return [_made(statement, branches), _copied(ast.Return(result), statement)]


def _without(branch):
    return branch[:-1] if branch and isinstance(branch[-1], ast.Return) else branch


def _made(statement, branches):
    return _copied(ast.If(statement.test, *branches), statement)


def _copied(node, place):
    return ast.copy_location(node, place)
