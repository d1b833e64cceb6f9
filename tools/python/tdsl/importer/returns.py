"""Functions with several returns as functions with one, at the end."""
import ast
import copy

from .errors import Place

_RESULT = "_result"
_FOUND, _LEFT = "_found", "_left"  # of a return in a loop: its value, and whether it was reached


def single_return(body):
    """The statements of a function whose only `return` is the last one: what follows an `if` that returns stands in its other branch, and both
    assign the result. A `return` in a loop keeps its value and leaves the loop."""
    for position, statement in enumerate(body):
        if isinstance(statement, (ast.For, ast.While)) and (found := _returns_within(statement)):
            return [*body[:position], *single_return([*_left_early(statement, found), *body[position + 1:]])]
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


def _returns_within(loop):
    """The returns of a loop, outside of inner functions."""
    found, open_ = [], list(loop.body)
    while open_:
        node = open_.pop()
        if isinstance(node, ast.Return):
            found.append(node)
        elif not isinstance(node, (ast.FunctionDef, ast.Lambda)):
            open_ += [inner for inner in ast.iter_child_nodes(node) if isinstance(inner, ast.stmt)]
    return found


def _left_early(loop, found):
    """The loop with `break` in place of its returns, and the return behind it."""
    if loop.orelse or any(statement.value is None for statement in found):
        raise Place(found[0], "import-return", "a return without a value in a loop, or in a loop with `else`")
    tuples = [len(statement.value.elts) if isinstance(statement.value, ast.Tuple) else 0 for statement in found]
    if len(set(tuples)) > 1:
        raise Place(found[0], "import-return", "results of different numbers")
    names = [f"{_FOUND}{i}" for i in range(tuples[0])] or [_FOUND]
    loaded = [_copied(ast.Name(name, ast.Load()), loop) for name in names]
    result = _copied(ast.Tuple(loaded, ast.Load()), loop) if tuples[0] else loaded[0]
    start = _copied(ast.Assign([_copied(ast.Name(_LEFT, ast.Store()), loop)], _copied(ast.Constant(False), loop)), loop)
    left = _copied(ast.If(_copied(ast.Name(_LEFT, ast.Load()), loop), [_copied(ast.Return(result), found[0])], []), loop)
    return [start, _broken(copy.copy(loop), names), left]


def _broken(loop, names):
    loop.body = _without_returns(loop.body, names)
    return loop


def _without_returns(body, names):
    result = []
    for statement in body:
        if isinstance(statement, ast.Return):
            items = statement.value.elts if isinstance(statement.value, ast.Tuple) else [statement.value]
            result += [_copied(ast.Assign([_copied(ast.Name(name, ast.Store()), statement)], item), statement) for name, item in zip(names, items)]
            result += [_copied(ast.Assign([_copied(ast.Name(_LEFT, ast.Store()), statement)], _copied(ast.Constant(True), statement)), statement),
                       _copied(ast.Break(), statement)]
            return result
        if isinstance(statement, ast.If):
            statement = _copied(ast.If(statement.test, _without_returns(statement.body, names), _without_returns(statement.orelse, names)), statement)
        elif isinstance(statement, (ast.For, ast.While)) and _returns_within(statement):
            result.append(_broken(copy.copy(statement), names))
            statement = _copied(ast.If(_copied(ast.Name(_LEFT, ast.Load()), statement), [_copied(ast.Break(), statement)], []), statement)
        result.append(statement)
    return result


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
