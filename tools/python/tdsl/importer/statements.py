"""Statements, and calls of the script's own functions, which are put in place."""
import ast
import dataclasses
import re

from .errors import Place, Skip
from .extents import Extent
from .scopes import Binding, Frame
from .source import defaults, parameters
from .values import POSTFIX, SUM, Value, broadcast, text_of


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
        for statement in body:
            self.statement(statement)
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
            items = [_quoted(a.value) if isinstance(a, ast.Constant) and isinstance(a.value, str) else self.plain(a).code for a in call.args]
            if call.keywords:
                raise Place(node, "import-option", "print with keywords")
            self.emit(f"print({', '.join(items)});")
            return
        if isinstance(call.func, ast.Attribute) and call.func.attr == "fill" and isinstance(call.func.value, ast.Name):
            target = ast.copy_location(ast.Subscript(call.func.value, ast.copy_location(ast.Constant(...), node), ast.Store()), call)
            return self.store(target, self.plain(call.args[0]), node)
        self.direct = call
        self.expression(call)

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
            if value.items is None or len(value.items) != len(target.elts):
                raise Place(node, "import-tuple", "unpacking of something other than a tuple of as many values")
            return self.assign_items(target, value.items, node)
        raise Place(target, "import-target", f"assignment to {ast.unparse(target)}")

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

    def _for_statement(self, node):
        if node.orelse:
            raise Place(node, "import-statement", "for … else")
        iterated, target = node.iter, node.target
        if isinstance(iterated, ast.Call) and isinstance(iterated.func, ast.Name) and iterated.func.id == "enumerate" and not self.is_local("enumerate"):
            return self.enumerated(node)
        if not isinstance(target, ast.Name):
            raise Place(target, "import-statement", "several loop variables")
        if isinstance(iterated, ast.Call) and isinstance(iterated.func, ast.Name) and iterated.func.id == "range" and not self.is_local("range"):
            self.loop(node, *self.counted(target.id, iterated), [])
        else:
            self.loop(node, *self.rows(target.id, iterated, self.fresh("at")))

    def loop(self, node, opening, bindings, head):
        """The loop `for opening`, with the lines of `head` first in its body. Its variables are copied to those that are read behind it."""
        variables = [binding.target for binding in bindings.values()]
        kept = {name: binding.target for name in bindings if (binding := self.binding(name)) is not None and not binding.fixed}
        head = [*head, *(f"{target} = {bindings[name].target};" for name, target in kept.items())]

        def run():
            self.loop_variables += variables
            self.emit(f"for {opening} {{")
            self.block(node.body, (node.lineno, node.col_offset), bindings, head)
            del self.loop_variables[-len(variables):]
            self.emit("}")
        self.repeated(run, node)
        self.used -= {*variables, opening.split()[0]}

    def enumerated(self, node):
        """`for i, x in enumerate(array)`."""
        call, target = node.iter, node.target
        if len(call.args) != 1 or call.keywords:
            raise Place(call, "import-option", "enumerate that does not begin at 0")
        if not isinstance(target, ast.Tuple) or len(target.elts) != 2 or not all(isinstance(part, ast.Name) for part in target.elts):
            raise Place(target, "import-statement", "several loop variables")
        counter, name = (part.id for part in target.elts)
        variable = self.fresh("at" if counter == "_" else counter)
        opening, bindings, head = self.rows(name, call.args[0], variable)
        bindings[counter] = Binding(variable, Value(variable, "i64", size=Extent.of(variable), natural=True), fixed=True)
        self.loop(node, opening, bindings, head)

    def counted(self, name, call):
        """`range(...)`."""
        if not 1 <= len(call.args) <= 3 or call.keywords:
            raise Place(call, "import-call", "range with other than one to three arguments")
        values = [self.plain(argument) for argument in call.args]
        for value, argument in zip(values, call.args):
            if value.rank or value.type not in ("i64", "i32"):
                raise Place(argument, "import-type", "a bound of range that is not an integer")
        low, high = (text_of(0), values[0]) if len(values) == 1 else values[:2]
        step = f" by {values[2].at(SUM)}" if len(values) == 3 else ""
        down = step and not values[2].natural
        variable = self.fresh("step" if name == "_" else name)
        natural = high.natural if down else low.natural
        value = Value(variable, "i64", size=Extent.of(variable), natural=natural or bool(down and _reaches_zero(high)))
        return f"{variable} in {low.at(SUM)}..{high.at(SUM)}{step}", {name: Binding(variable, value, fixed=True)}

    def rows(self, target, iterated, place):
        """The rows of an array, or numbers that are listed, in order; `place` counts them."""
        array = self.expression(iterated) if not isinstance(iterated, ast.List) else self.expression(ast.copy_location(ast.Tuple(iterated.elts), iterated))
        if array.items and all(item.literal and item.type == array.items[0].type for item in array.items):
            array = Value(f"[{', '.join(item.code for item in array.items)}]", array.items[0].type, (Extent(len(array.items)),))
        if not array.rank or array.mask is not None:
            raise Place(iterated, "import-statement", "a loop over something other than range, arrays and numbers of one type")
        name = self.fresh(target)
        rest = "".join(", :" for _ in array.shape[1:])
        changed = target in self.frame.changed
        head = f"{'var' if changed else 'let'} {name} = {array.at(POSTFIX)}[{place}{rest}];"
        value = Value(name, array.type, array.shape[1:], storage=array.storage if array.rank > 1 else frozenset())
        size = Extent.of(name) if array.type == "i64" and array.rank == 1 and not changed else None
        value = dataclasses.replace(value, size=size)
        return f"{place} in 0..{array.shape[0].code()}", {target: Binding(name, value, fixed=not changed)}, [head]

    def _while_statement(self, node):
        if node.orelse:
            raise Place(node, "import-statement", "while … else")
        def run():
            mark = len(self.out)
            test = self.truth(self.expression(node.test), node.test)
            if len(self.out) > mark:
                raise Place(node.test, "import-statement", "a condition that needs statements of its own")
            self.emit(f"while {test.code} {{")
            self.block(node.body, (node.lineno, node.col_offset))
            self.emit("}")
        self.repeated(run, node)

    def _if_statement(self, node):
        test = self.truth(self.expression(node.test), node.test)
        if test.known is not None:
            for statement in node.body if test.known else node.orelse:
                self.statement(statement)
            return
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

    # Functions

    def body(self, function):
        """The statements of a function; its result."""
        for position, statement in enumerate(function.body):
            if isinstance(statement, ast.Return):
                return self.result(statement)
            if isinstance(statement, ast.If) and _returns(statement.body):
                rest = statement.orelse or function.body[position + 1:]
                if len(statement.body) == 1 and len(rest) == 1 and isinstance(rest[0], ast.Return) and statement.body[0].value and rest[0].value:
                    self.comment(statement)
                    chosen = ast.copy_location(ast.IfExp(statement.test, statement.body[0].value, rest[0].value), statement)
                    return self.result(ast.copy_location(ast.Return(chosen), statement))
                raise Place(statement, "import-return", "a return that is not the last statement")
            self.statement(statement)
        return None

    def result(self, statement):
        if statement.value is None:
            return None
        self.comment(statement)
        self.direct = statement.value
        return self.expression(statement.value)

    def _return_statement(self, node):
        raise Place(node, "import-return", "a return that is not the last statement")

    def inlined(self, function, node):
        """A call of a function of the script: its body with new names; arrays are passed by reference."""
        refuse_parameters(function)
        if any(frame.function is function for frame in self.frames):
            raise Place(node, "import-call", f"`{function.name}` calls itself")
        names = parameters(function)
        if len(node.args) > len(names):
            raise Place(node, "import-call", f"`{function.name}` takes {len(names)} arguments")
        given = dict(zip(names, node.args))
        given.update({keyword.arg: keyword.value for keyword in node.keywords})
        for name, default in defaults(function).items():
            given.setdefault(name, default)
        wrong = [name for name in (*names, *given) if (name in given) != (name in names)]
        if wrong:
            raise Place(node, "import-call", f"`{function.name}`: the argument `{wrong[0]}`")
        frame = Frame(function, self.script.functions, (*self.frame.key, node.lineno, node.col_offset), {})
        changed = frame.changed & set(names)
        if changed and self.direct is not node and any(self.expression(given[name]).rank for name in sorted(changed)):
            raise Place(node, "import-call", f"`{function.name}` changes its arguments: call it in a statement of its own")
        bindings = {name: self.parameter(name, self.expression(given[name]), given[name], frame) for name in names}
        frame.blocks = [bindings]
        depths = [(stack, len(stack)) for stack in (self.frames, self.local_names, self.loop_variables)]
        indent = self.indent
        self.frames.append(frame)
        try:
            result = self.body(function)
        except (Skip, Place):
            self.indent = indent
            for stack, depth in depths:
                del stack[depth:]
            raise
        self.frames.pop()
        return Value("", "none") if result is None else result

    def parameter(self, name, value, node, frame):
        if value.items is not None or value.type == "none" or value.literal and name not in frame.stored:
            return Binding(None, value)
        self.require_plain(value, node)
        if name in frame.changed and value.rank:
            binding = self.binding(node.id) if isinstance(node, ast.Name) else None
            if binding is None or binding.target is None:
                raise Place(node, "import-view", f"a part of an array is passed to be changed as `{name}`")
            if binding.fixed:
                raise Place(node, "import-target", f"`{node.id}` is changed by a call, but is not a variable of its own")
            return Binding(binding.target, binding.value, borrowed=True)
        again = name in frame.stored
        if value.code.isidentifier() and not again:
            return Binding(value.code, value, fixed=True)
        target = self.fresh(name)
        self.local_names[-1].append(target)
        self.emit(f"{'var' if again else 'let'} {target} = {value.code};")
        storage = (value.storage or self.new_storage()) if value.rank else frozenset()
        return Binding(target, dataclasses.replace(value, code=target, level=POSTFIX, literal=False, storage=storage, size=None if again else value.size),
                       fixed=not again)


def refuse_parameters(function):
    if function.args.vararg or function.args.kwarg:
        raise Place(function, "import-call", f"`{function.name}` has *args or **kwargs")
    if function.decorator_list and not all(isinstance(d, (ast.Name, ast.Attribute, ast.Call)) for d in function.decorator_list):
        raise Place(function, "import-call", f"`{function.name}` has a decorator")


def _reaches_zero(high):
    return high.size is not None and high.size.constant is not None and high.size.constant >= -1


def _returns(body):
    return any(isinstance(inner, ast.Return) for statement in body for inner in ast.walk(statement))


def _word(node):
    words = {"FunctionDef": "a function in a function", "ClassDef": "class", "ImportFrom": "import", "AsyncFor": "async", "AugAssign": "assignment"}
    return words.get(type(node).__name__, type(node).__name__.lower())


def _quoted(text):
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'
