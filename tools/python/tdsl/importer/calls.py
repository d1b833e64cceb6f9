"""Calls of the script's own functions, which are put in place."""
import ast
import dataclasses

from .errors import Place, Skip
from .returns import single_return
from .scopes import Binding, Frame
from .source import defaults, parameters
from .values import POSTFIX, Value


class Calls:
    """Part of the translator."""

    def body(self, function):
        """The statements of a function; its result."""
        statements = single_return(function.body)
        returned = statements[-1] if statements and isinstance(statements[-1], ast.Return) else None
        self.arranged(statements[:-1] if returned is not None else statements)
        return None if returned is None else self.result(returned)

    def result(self, statement):
        if statement.value is None:
            return None
        self.comment(statement)
        self.direct = statement.value
        return self.expression(statement.value)

    def _return_statement(self, node):
        raise Place(node, "import-return", "a return that is not the last statement")

    def _functiondef_statement(self, node):
        self.frame.inner[node.name] = node

    def own_function(self, node):
        """The function of the script that a name means, and the frame that it is defined in; None for other names."""
        if not isinstance(node, ast.Name):
            return None
        binding = self.binding(node.id)
        if binding is not None:
            return binding.value.known if binding.value.type == "function" else None
        frame = self.frame
        while frame is not None:
            if node.id in frame.inner:
                return frame.inner[node.id], frame
            frame = frame.outer
        return (self.script.functions[node.id], None) if not self.is_local(node.id) and node.id in self.script.functions else None

    def _lambda(self, node):
        body = [ast.copy_location(ast.Return(node.body), node.body)]
        function = ast.copy_location(ast.FunctionDef("lambda", node.args, body, [], None), node)
        return Value("", "function", known=(function, self.frame))

    def inlined(self, function, outer, node):
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
        frame = Frame(function, self.script.functions, (*self.frame.key, node.lineno, node.col_offset), {}, outer)
        changed = frame.changed & set(names)
        outside = outer is not None and any(name not in names and name not in frame.stored for name in frame.changed)
        if self.direct is not node and (outside or any(self.expression(given[name]).rank for name in sorted(changed))):
            what = "an array of the function around it" if outside else "its arguments"
            raise Place(node, "import-call", f"`{function.name}` changes {what}: call it in a statement of its own")
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
        if value.items is not None or value.type in ("none", "function", "text") or value.literal and name not in frame.stored:
            return Binding(None, value)
        value = self.require_plain(value, node)
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
