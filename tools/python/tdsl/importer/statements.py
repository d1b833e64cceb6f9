"""Statements."""
import ast
import dataclasses
import re

from .errors import Place, Skip
from .lists import appended
from .values import POSTFIX, UNARY, Value, broadcast


class Statements:
    """Part of the translator: statements are translated in the order of the script."""

    def block(self, body, opening, bindings=None, head=()):
        """The statements of a loop or branch, behind the lines of `head`."""
        frame = self.frame
        frame.blocks.append(dict(bindings or {}))
        self.local_names.append([])
        self.indent += 1
        for line in head:
            self.emit(line)
        self.arranged(body)
        self.indent -= 1
        self.used -= set(self.local_names.pop())
        for name, binding in frame.blocks.pop().items():
            frame.closed[name] = (opening, binding.value)

    def statement(self, node):
        """Translates a statement. On failure it keeps the place, and the names bound by the statement are unknown from there."""
        try:
            method = getattr(self, "_" + type(node).__name__.lower() + "_statement", None)
            if method is None:
                raise Place(node, "import-statement", f"`{_word(node)}` is not translated")
            if isinstance(node, (ast.For, ast.While, ast.If)):
                self.declare_hoisted(node)
            self.comment(node)
            method(node)
        except Place as place:
            self.places.append(place)
            self.poison(node)
        except Skip:
            self.poison(node)

    def poison(self, node):
        self.poisoned |= {inner.id for inner in ast.walk(node) if isinstance(inner, ast.Name) and isinstance(inner.ctx, ast.Store)}
        if len(self.frames) > 1:
            raise Skip  # the call is not translated as a whole

    def _pass_statement(self, node):
        pass

    def _break_statement(self, node):
        self.emit("break;")

    def _continue_statement(self, node):
        self.emit("continue;")

    def _assert_statement(self, node):
        test = self.truth(self.expression(node.test), node.test)
        text = node.msg.value if isinstance(node.msg, ast.Constant) and isinstance(node.msg.value, str) else ast.unparse(node.test)
        self.emit(f"assert({test.code}, {_quoted(text)});")

    def _expr_statement(self, node):
        call = node.value
        if isinstance(call, ast.Constant):
            return
        if not isinstance(call, ast.Call):
            raise Place(node, "import-statement", "an expression without effect")
        if isinstance(call.func, ast.Name) and call.func.id == "print" and not self.is_local("print"):
            self.printed(call, node)
            return
        if (grown := appended(node)) is not None and self.binding(grown) is not None:
            return self.append(grown, call, node)
        if isinstance(call.func, ast.Attribute) and call.func.attr == "sort" and isinstance(call.func.value, ast.Name) and not call.args and not call.keywords:
            value = self.plain(call.func.value)
            target = ast.copy_location(ast.Subscript(call.func.value, ast.copy_location(ast.Constant(...), node), ast.Store()), call)
            return self.store(target, Value(f"sort({value.code})", value.type, value.shape), node)
        if isinstance(call.func, ast.Attribute) and call.func.attr == "fill" and isinstance(call.func.value, ast.Name):
            target = ast.copy_location(ast.Subscript(call.func.value, ast.copy_location(ast.Constant(...), node), ast.Store()), call)
            return self.store(target, self.plain(call.args[0]), node)
        self.direct = call
        self.expression(call)

    def printed(self, call, node):
        """`print`: words and numbers; how numbers are laid out is not kept."""
        items = []
        for argument in call.args:
            for part in argument.values if isinstance(argument, ast.JoinedStr) else [argument]:
                part = part.value if isinstance(part, ast.FormattedValue) else part
                if isinstance(part, ast.Constant) and isinstance(part.value, str):
                    items += [_quoted(part.value.strip())] if part.value.strip() else []
                else:
                    items.append(self.plain(part).code)
        if call.keywords or any(isinstance(argument, ast.JoinedStr) for argument in call.args):
            self.note(node, "the layout of what `print` writes differs")
        self.emit(f"print({', '.join(items)});" if items else 'print("");')

    def _delete_statement(self, node):
        if not all(isinstance(target, ast.Name) for target in node.targets):
            raise Place(node, "import-statement", "`del` of a part")

    def _with_statement(self, node):
        if not all(isinstance(item.context_expr, ast.Call) and self.global_name(item.context_expr.func) == "errstate" and item.optional_vars is None
                   for item in node.items):
            raise Place(node, "import-statement", "`with` other than np.errstate")
        self.arranged(node.body)

    def _raise_statement(self, node):
        self.emit(f"assert(false, {_quoted(_message(node))});")

    def _assign_statement(self, node):
        first, *others = node.targets
        if isinstance(node.value, ast.Tuple) and isinstance(first, (ast.Tuple, ast.List)) and not others:
            return self.assign_all(first, node.value, node)
        if isinstance(first, ast.Subscript):
            self.target_mask = ast.unparse(first.slice)
        self.direct = node.value
        value = self.expression(node.value)
        self.target_mask = None
        self.assign(first, value, node)
        for other in others:
            self.assign(other, self.expression(first) if value.items is None else value, node)

    def _annassign_statement(self, node):
        if node.value is not None:
            self.direct = node.value
            self.assign(node.target, self.expression(node.value), node)

    def assign_all(self, targets, values, node):
        """`a, b = x, y`."""
        if len(targets.elts) != len(values.elts) or any(isinstance(e, ast.Starred) for e in (*targets.elts, *values.elts)):
            raise Place(node, "import-tuple", "unpacking into another number of names")
        self.assign_items(targets, [self.expression(value) for value in values.elts], node)

    def assign_items(self, targets, items, node):
        """All right sides are computed first where one reads what another one changes."""
        names = {inner.id for target in targets.elts for inner in ast.walk(target) if isinstance(inner, ast.Name)}
        written = {binding.target for binding in map(self.binding, names) if binding is not None}
        stored = [self.look_up(t.value).storage for t in targets.elts if isinstance(t, ast.Subscript) and isinstance(t.value, ast.Name)]
        if any(item.rank and item.storage & storage for storage in stored for item in items[1:]):
            raise Place(node, "import-view", "a part of an array on the right, which the assignment to another part changes first: `.copy()`")
        crossed = any(written & set(re.findall(r"\w+", item.code)) for item in items[1:])
        if crossed and self.exchanged(targets.elts, items, node):
            return
        if crossed:
            items = [self.kept(item, target) for item, target in zip(items, targets.elts)]
        for target, item in zip(targets.elts, items):
            self.assign(target, item, node)

    def exchanged(self, targets, items, node):
        """`(a, b) = (b, a);` where all are variables of the same types and shapes already; False if they are not."""
        for target, item in zip(targets, items):
            old = self.binding(target.id) if isinstance(target, ast.Name) else None
            if old is None or old.target is None or old.fixed or old.value.type != item.type or old.value.shape != item.shape or item.items is not None:
                return False
            if old.borrowed or old.value.memory in self.changed_storages and target.id in self.frame.blocks[-1]:
                return False
        mark = len(self.out)
        for target, item in zip(targets, items):
            self.bind(target.id, item, node)
        lines = [line.strip().rstrip(";").split(" = ", 1) for line in self.out[mark:]]
        if len(lines) == len(items):  # else one variable is assigned to itself
            self.out[mark:] = []
            self.emit(f"({', '.join(left for left, _ in lines)}) = ({', '.join(right for _, right in lines)});")
        return True

    def kept(self, value, target):
        """The value under a name of its own, which keeps the present value."""
        if value.literal or value.items is not None or value.mask is not None or value.type == "none":
            return value
        name = self.fresh((target.id if isinstance(target, ast.Name) else "element") + "_next")
        self.emit(f"let {name} = {value.code};")
        self.local_names[-1].append(name)
        return dataclasses.replace(value, code=name, level=POSTFIX)

    def assign(self, target, value, node):
        if isinstance(target, ast.Name):
            return self.bind(target.id, value, node)
        if isinstance(target, ast.Subscript):
            return self.store(target, value, node)
        if isinstance(target, (ast.Tuple, ast.List)):
            if value.items is not None and isinstance(target.elts[-1], ast.Starred) and getattr(target.elts[-1].value, "id", "") == "_":
                target = ast.copy_location(ast.Tuple(target.elts[:-1], ast.Store()), target)  # `a, *_ = …`
                value = dataclasses.replace(value, items=value.items[:len(target.elts)])
            if value.items is None and value.rank and value.mask is None and not any(isinstance(part, ast.Starred) for part in target.elts):
                value = self.unpacked(value, len(target.elts), node)
            if value.items is None or len(value.items) != len(target.elts):
                raise Place(node, "import-tuple", "unpacking of something other than a tuple of as many values")
            return self.assign_items(target, value.items, node)
        raise Place(target, "import-target", f"assignment to {ast.unparse(target)}")

    def unpacked(self, value, count, node):
        """The elements or rows of an array, one for each name."""
        if value.shape[0].constant not in (None, count):
            raise Place(node, "import-tuple", f"unpacking of {value.shape[0].constant} elements into {count} names")
        if value.shape[0].constant is None:
            self.emit(f'assert({value.shape[0].code()} == {count}, "unpacking into {count} names");')
        if not value.code.isidentifier():
            name = self.fresh("parts")
            self.emit(f"let {name} = {value.code};")
            self.local_names[-1].append(name)
            value = dataclasses.replace(value, code=name, level=POSTFIX)
        rest = "".join(", :" for _ in value.shape[1:])
        storage = value.storage if value.rank > 1 else frozenset()
        items = [Value(f"{value.code}[{place}{rest}]", value.type, value.shape[1:], storage=storage) for place in range(count)]
        return Value("", "tuple", items=items)

    def _augassign_statement(self, node):
        target = node.target
        if not isinstance(target, (ast.Name, ast.Subscript)):
            raise Place(target, "import-target", f"assignment to {ast.unparse(target)}")
        if isinstance(target, ast.Subscript):
            self.target_mask = ast.unparse(target.slice)
        old = self.expression(target)
        value = self.operator(type(node.op), self.plain_of(old, target), self.plain(node.value), node)
        self.target_mask = None
        if isinstance(target, ast.Name) and old.rank:
            if broadcast(node, old.shape, value.shape) != old.shape:
                raise Place(node, "import-shape", "an update that is larger than its array")
            whole = ast.copy_location(ast.Subscript(target, ast.copy_location(ast.Constant(...), target), ast.Store()), target)
            return self.store(whole, value, node)
        return self.assign(target, value, node)

    def plain_of(self, value, node):
        return self.require_plain(value, node)

    def _if_statement(self, node):
        test = self.truth(self.expression(node.test), node.test)
        if test.known is not None:
            return self.arranged(node.body if test.known else node.orelse)
        if len(node.body) == 1 and isinstance(node.body[0], ast.Raise):
            self.emit(f"assert(!{test.at(UNARY)}, {_quoted(_message(node.body[0]))});")
            return self.arranged(node.orelse)
        opening, before = (node.lineno, node.col_offset), self.snapshot()
        self.emit(f"if {test.code} {{")
        self.block(node.body, opening)
        self.merge(before)
        if node.orelse:
            before = self.snapshot()
            self.emit("} else {")
            self.block(node.orelse, opening)
            self.merge(before)
        self.emit("}")


def _message(node):
    """The words of an exception."""
    call = node.exc
    parts = call.args[:1] if isinstance(call, ast.Call) else []
    parts = parts[0].values if parts and isinstance(parts[0], ast.JoinedStr) else parts
    words = " ".join(part.value.strip() for part in parts if isinstance(part, ast.Constant) and isinstance(part.value, str))
    return words or (ast.unparse(call) if call is not None else "raise")


def _word(node):
    words = {"ClassDef": "class", "ImportFrom": "import", "AsyncFor": "async", "AugAssign": "assignment"}
    return words.get(type(node).__name__, type(node).__name__.lower())


def _quoted(text):
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'
