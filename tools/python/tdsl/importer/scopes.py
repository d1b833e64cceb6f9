"""Names of the script and the TDSL variables that hold their values; which arrays share memory."""
import dataclasses
import typing

from .errors import Place, Restart
from .source import changed_names, stored_names
from .values import ORDER, Value, cast, unified

RESERVED = set("let var param input output import fn return monoid extern storage tile for in while if then else where sparse true false inf nan by break "
               "continue every bool i32 i64 f32 f64 c64 c128 pi newaxis periodic edge reflect symmetric kernel literal".split())
_MOST_PASSES = 12
ZERO = {"bool": "false", "f64": "0.0", "f32": "f32(0.0)", "i64": "0", "i32": "i32(0)", "c64": "c64(0.0)", "c128": "c128(0.0)"}


@dataclasses.dataclass(eq=False)
class Binding:
    """`target` is the TDSL variable, None for a value that is written where it is used. `borrowed`: a caller's variable, whose array may be updated in
    place, but not replaced. `stale`: the line and the name by which shared memory was
    changed, so that the variable no longer has the array's value."""
    target: typing.Optional[str]
    value: Value
    fixed: bool = False
    stale: typing.Optional[tuple] = None
    borrowed: bool = False
    unknown: bool = False  # a list whose type is not known yet


class Frame:
    """A call that is put in place: its blocks from the outermost in, and the names of blocks that have ended."""

    def __init__(self, function, functions, key, bindings, outer=None):
        self.function = function
        self.outer = outer  # the frame of the function that this one is defined in
        self.inner = {}  # functions that are defined in this one
        self.key = key
        self.blocks = [bindings]
        self.closed = {}
        self.stored = stored_names(function)
        self.changed = changed_names(function, functions)


class Scopes:
    """Part of the translator: names, declarations, assignments."""

    def start_scopes(self):
        self.used = set(RESERVED)
        self.frames = []
        self.storages = 0
        self.changed_storages = {}  # storage -> line

    @property
    def frame(self):
        return self.frames[-1]

    def fresh(self, name):
        base = name.strip("_") if name.isascii() else ""
        base = base if base and not base[0].isdigit() else "x"
        result, number = base, 2
        while result in self.used:
            result, number = f"{base}_{number}", number + 1
        self.used.add(result)
        return result

    def new_storage(self):
        self.storages += 1
        return frozenset([self.storages])

    def binding(self, name, frame=None):
        frame = frame or self.frame
        for block in reversed(frame.blocks):
            if name in block:
                return block[name]
        return self.binding(name, frame.outer) if frame.outer is not None and name not in frame.stored else None

    def is_local(self, name):
        return self.frames and (self.binding(name) is not None or name in self.frame.closed or name in self.frame.stored)

    def look(self, name, node):
        found = self.binding(name)
        if found is None and name in self.frame.closed:
            opening, value = self.frame.closed[name]
            self.hoisted[(self.frame.key, opening, name)] = value
            raise Restart
        if found is None:
            return None
        self.require_current(name, found, node)
        return self.present(found)

    def require_current(self, name, binding, node):
        if binding.stale:
            line, other = binding.stale
            raise Place(node, "import-view", f"`{name}` shares memory with `{other}`, which line {line} changes: copy it where it is made, `.copy()`")

    def changed_in_place(self, name, binding, node):
        """The array of this variable is updated: other variables of the same memory are stale."""
        for storage in binding.value.storage:
            self.changed_storages.setdefault(storage, node.lineno)
        for frame in self.frames:
            for block in frame.blocks:
                for other in block.values():
                    same = other.target == binding.target if other.target else other.value.code == binding.target
                    if not same and other.value.storage & binding.value.storage and not other.stale:
                        other.stale = (node.lineno, name)

    def bind(self, name, value, node):
        """The assignment `name = value`."""
        if value.mask is not None or value.items is not None or value.type in ("none", "function", "text"):
            self.frame.blocks[-1][name] = Binding(None, self.lasting(name, value))
            return
        wanted = self.widened.get((self.frame.key, name), value.type)
        for depth, block in enumerate(reversed(self.frame.blocks)):
            old = block.get(name)
            if old is None:
                continue
            if old.target in self.loop_variables:
                raise Place(node, "import-loop", f"`{name}` is the variable of a loop around")
            if self.rebind(name, old, value, node, depth):
                return
            if depth:
                raise Place(node, "import-rank", f"`{name}` changes its shape in a loop or branch")
            break
        self.declare(name, cast(value, wanted))

    def lasting(self, name, value):
        """A selection, a tuple or None as a value that later statements do not change."""
        if value.mask is not None:
            kept = []
            for word, code in ((name, value.code), (name + "_mask", value.mask)):
                if not (value.rank == 1 and code == f"iota({value.shape[0].code()})"):  # all places, which are recognised
                    new = self.fresh(word)
                    self.emit(f"let {new} = {code};")
                    self.local_names[-1].append(new)
                    code = new
                kept.append(code)
            return dataclasses.replace(value, code=kept[0], mask=kept[1], level=9)
        if value.items is None:
            return value
        items = []
        for item in value.items:
            if item.size is None and not item.literal and item.items is None and item.type not in ("none", "function", "text"):
                new = self.fresh(name)
                self.emit(f"let {new} = {item.code};")
                self.local_names[-1].append(new)
                item = dataclasses.replace(item, code=new, level=9)
            items.append(item)
        return dataclasses.replace(value, items=items, storage=frozenset().union(*(item.storage for item in items)))

    def rebind(self, name, old, value, node, depth):
        """Assigns to the variable that the name has; False if it needs a new one."""
        if old.target is None or old.fixed or old.value.rank != value.rank or not (depth or old.value.shape == value.shape):
            if depth and old.target is not None and old.value.rank == value.rank:
                raise Place(node, "import-loop", f"`{name}` is an argument that a loop or branch replaces")
            return False
        if old.borrowed and depth:
            raise Place(node, "import-loop", f"`{name}` is a caller's array that a loop or branch replaces")
        if old.borrowed:
            return False
        if not depth and old.value.memory in self.changed_storages:
            self.frame.blocks[0][f"{name} of the caller"] = old  # the argument's last value is an output
            return False
        type_ = old.value.type
        if type_ != value.type:
            if value.literal and ORDER.index(value.type) < ORDER.index(type_):
                value = cast(value, type_)
            else:
                common = unified(old.value, value)[2] if not value.literal else max(type_, value.type, key=ORDER.index)
                if common != type_:
                    self.widened[(self.frame.key, name)] = common
                    raise Restart
                value = cast(value, type_)
        if value.code != old.target:
            self.emit(f"{old.target} = {value.code};")
        storage = (value.storage or self.new_storage()) if value.rank else frozenset()
        new = dataclasses.replace(old.value, storage=storage, memory=value.memory)
        for block in reversed(self.frame.blocks):
            if block.get(name) is old:
                block[name] = Binding(old.target, new, stale=old.stale if depth else None)
        return True

    def declare(self, name, value):
        once = self.frame.stored.get(name, 2) <= 1 and name not in self.frame.changed and name not in self.kept_variable(name)
        target = self.fresh(name)
        self.emit(f"{'let' if once else 'var'} {target} = {value.code};")
        self.local_names[-1].append(target)
        storage = (value.storage or self.new_storage()) if value.rank else frozenset()
        size = value.size if once else None
        natural = value.natural if once else False
        new = Value(target, value.type, value.shape, size=size, storage=storage, natural=natural, memory=value.memory,
                    listed=value.listed)
        self.frame.blocks[-1][name] = Binding(target, new, fixed=once)

    def kept_variable(self, name):
        return {name} if any(key == self.frame.key and n == name for key, _, n in self.hoisted) else ()

    def snapshot(self):
        return [dict(block) for block in self.frame.blocks]

    def merge(self, before):
        """Behind a branch or loop a name has the value from before it or that of its end."""
        for old_block, block in zip(before, self.frame.blocks):
            for name, old in old_block.items():
                new = block[name]
                if new is not old:
                    memory = new.value.memory if new.value.memory == old.value.memory else None
                    value = dataclasses.replace(new.value, storage=new.value.storage | old.value.storage, memory=memory)
                    block[name] = Binding(new.target, value, new.fixed, new.stale or old.stale, new.borrowed)

    def sharing(self):
        """Which variables share memory and which are stale, whatever the numbers of the arrays are."""
        numbers, state = {}, []
        for depth, block in enumerate(self.frame.blocks):
            for name, binding in sorted(block.items()):
                ids = [s if s in self.argument_storages else -numbers.setdefault(s, len(numbers) + 1) for s in sorted(binding.value.storage)]
                state.append((depth, name, tuple(ids), binding.value.memory, binding.stale is not None))
        return tuple(state)

    def repeated(self, run, node):
        """Translates a loop by `run`, again for later iterations as long as these begin with other variables sharing memory than any before.
        Only the last text stays; all are equal."""
        begin, ends, seen = self.snapshot(), [], set()
        mark, used, shown = len(self.out), set(self.used), set(self.shown)
        while self.sharing() not in seen:
            if len(seen) == _MOST_PASSES:
                raise Place(node, "import-view", "the iterations of this loop share arrays in ever other ways")
            seen.add(self.sharing())
            del self.out[mark:]
            self.used, self.shown = set(used), set(shown)
            run()
            ends.append(self.snapshot())
        for end in [*ends, begin]:
            self.merge(end)

    def declare_hoisted(self, statement):
        """Variables that are first bound in this loop or branch and read behind it."""
        for (key, opening, name), value in list(self.hoisted.items()):
            if key != self.frame.key or opening != (statement.lineno, statement.col_offset) or self.binding(name) is not None:
                continue
            type_ = self.widened.get((key, name), value.type)
            shape = ", ".join(extent.code() for extent in value.shape)
            target = self.fresh(name)
            if value.rank:
                self.emit(f"var {target}: {type_}[{shape}] = zeros({shape});")
            else:
                self.emit(f"var {target} = {ZERO[type_]};")
            self.local_names[-1].append(target)
            storage = self.new_storage() if value.rank else frozenset()
            self.frame.blocks[-1][name] = Binding(target, Value(target, type_, value.shape, storage=storage))
