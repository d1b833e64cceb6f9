"""Random statements: declarations, assignments, loops, branches."""
import intervals
from expressions import Context, Label, LONGER, MOST_POINTS, Value
from model import Dim, Expr, INTEGERS, Stmt
from operations import MOST_ELEMENTS, size_of
from routines import Routines

# Bounds on values of a `var`: assigned values are clamped.
VAR_LIMITS = {True: {"f64": 2.0**20, "f32": 2.0**11, "i64": 2**24, "i32": 2**16, "bool": 1},
              False: {"f64": 100.0, "f32": 100.0, "i64": 2**24, "i32": 2**16, "bool": 1}}


class Statements(Routines):
    # --- common parts
    def new_name(self, stem):
        self.counter += 1
        return f"{stem}{self.counter}"

    def new_loop_name(self):
        self.loops_made += 1
        return f"r{self.loops_made}"

    def scalar(self):
        return self.rng.choices(["f64", "i64", "f32", "i32", "bool"], [6, 2, 1.2, 0.8, 0.8])[0]

    def shape(self, least=1, most=3):
        for _ in range(10):
            rank = self.rng.choices(range(least, most + 1), [3, 5, 1.5, 1][:most - least + 1])[0]
            shape = tuple(self.rng.choice(self.dims) for _ in range(rank))
            if size_of(shape) <= MOST_ELEMENTS / 4:
                return shape
        return (self.dims[0],)

    def type_text(self, scalar, shape):
        """The type, occasionally with its own storage: values are converted."""
        return self.sparse_type_text(scalar, shape) if shape and self.chance(0.06) else self.dense_type_text(scalar, shape)

    @staticmethod
    def dense_type_text(scalar, shape):
        return scalar + (f"[{', '.join(d.text for d in shape)}]" if shape else "")

    def sparse_type_text(self, scalar, shape):
        if self.chance(0.3):
            return "sparse " + self.dense_type_text(scalar, shape)
        marks = [self.chance(0.5) for _ in shape]
        marks[self.rng.randrange(len(marks))] = True
        extents = [("sparse " if mark else "") + (d.atom() if mark else d.text) for mark, d in zip(marks, shape)]
        return f"{scalar}[{', '.join(extents)}]"

    def declare(self, name, e, mutable=False):
        limit = VAR_LIMITS[self.exact][e.scalar]
        if mutable:
            value = Value(name, e.scalar, e.shape, -limit, limit, True, limit / 2)
            if e.scalar == "bool":
                value.low, value.high = 0, 1
        else:
            value = Value(name, e.scalar, e.shape, e.low, e.high)
        self.values.append(value)
        return value

    def declaration(self, word, e):
        name = self.new_name("v" if word == "var" else "t")
        if word == "var":
            e = self.fit(e, VAR_LIMITS[self.exact][e.scalar] / 4)
        typed = e.weak or self.chance(0.3)
        annotation = f": {self.type_text(e.scalar, e.shape)}" if typed else ""
        self.declare(name, e, word == "var")
        return Stmt(f"{word} ${name}{annotation} = {{0}};", [e])

    def within(self, text, scalar, shape, high, low=None):
        """A declaration of a known shape with values in [low, high], or [-high, high], that later statements may read."""
        name = self.new_name("t")
        self.declare(name, Expr("", [], scalar, shape, -high if low is None else low, high))
        return Stmt(f"let ${name} = {text};")

    # --- declarations
    def let_tensor(self, context):
        scalar, shape = self.scalar(), self.shape()
        return self.declaration("let", self.expr(scalar, shape, context, self.rng.choice([1, 2, 2, 3])))

    def let_scalar(self, context):
        return self.declaration("let", self.expr(self.scalar(), (), context, self.rng.choice([1, 2, 3])))

    def var_any(self, context):
        shape = self.shape() if self.chance(0.75) else ()
        return self.declaration("var", self.expr(self.scalar(), shape, context, self.rng.choice([0, 1, 1])))

    def index_let(self, context):
        scalar, shape = self.scalar(), self.shape()
        names = context.fresh(len(shape))
        style = self.rng.choices(["bare", "ranges", "left", "combine", "guard"], [5, 2, 1.5, 1.5, 1.5])[0]
        if size_of(shape) * context.points > MOST_POINTS:
            return None
        if style == "left":
            return self.left_let(scalar, shape, names, context)
        if style == "combine":
            return self.combine_let(scalar, shape, names, context)
        labels, ranges = [], []
        for name, dim in zip(names, shape):
            if style == "ranges" and self.chance(0.7):
                low, cut = self.rng.choice([(0, 0), (1, 0), (1, 1), (0, 1)])
                labels.append(Label(name, low, dim.size - cut))
                ranges.append(f"{name} in {low}..{dim.text}" + (f" - {cut}" if cut else ""))
            else:
                labels.append(Label(name, 0, dim.size, dim, longer=True))
        inner = context.inside(labels)
        e = self.index_body(scalar, inner, labels)
        exprs, suffix = [e], ""
        if style == "guard":
            exprs.append(self.expr("bool", (), inner, 2))
            suffix += " where {1}"
        if ranges:
            suffix += " for " + ", ".join(ranges)
        all_bare = all(x.dim and (x.name, x.dim.text) in e.bare for x in labels)
        longer = any(where == LONGER for x in exprs for _, where in x.bare)
        typed = not all_bare or longer or e.weak or self.chance(0.2)
        low, high = (e.low, e.high) if style == "bare" else intervals.union((e.low, e.high), (0, 0))
        name = self.new_name("x")
        annotation = f": {self.type_text(scalar, shape)}" if typed else ""
        self.declare(name, Expr("", [], scalar, shape, low, high))
        return Stmt(f"let ${name}[{', '.join(names[:len(shape)])}]{annotation} = {{0}}{suffix};", exprs)

    def index_body(self, scalar, context, labels):
        bare = [x for x in labels if x.dim]
        if self.chance(0.5 if self.trips > 1 else 0.1):
            made = self.reduction(scalar, (), context, 2)
            if made is not None:
                return self.bounded(made)
        if self.chance(0.3) and bare:
            read = self.read(scalar, context, self.rng.choice(bare))
            if read is not None and scalar != "bool":
                other = self.fit(self.expr(scalar, (), context, 2), self.limit(scalar) / 2)
                read = self.fit(read, self.limit(scalar) / 2)
                rule = intervals.add((read.low, read.high), (other.low, other.high))
                return Expr("({0} + {1})", [read, other], scalar, (), *rule)
        return self.expr(scalar, (), context, self.rng.choice([1, 2, 3, 3]))

    def left_subscripts(self, shape, names):
        """Store subscripts that address every element at most once: texts, ranges, labels."""
        texts, ranges, labels = [], [], []
        for name, dim in zip(names, shape):
            kind = self.rng.choices(["plain", "part", "shift", "mirror", "stride", "ring"], [4, 3, 3, 2, 1, 0.3])[0]
            if kind == "part" and dim.size >= 2:
                low, cut = self.rng.choice([(1, 0), (1, 1), (2, 0)])
                texts.append(name)
                labels.append(Label(name, low, dim.size - cut))
                ranges.append(f"{name} in {low}..{dim.text}" + (f" - {cut}" if cut else ""))
            elif kind == "shift" and dim.size >= 1:
                texts.append(f"{name} + 1")
                labels.append(Label(name, 0, dim.size - 1))
                ranges.append(f"{name} in 0..{dim.text} - 1")
            elif kind == "mirror":
                texts.append(f"{dim.text} - 1 - {name}")
                labels.append(Label(name, 0, dim.size))
                ranges.append(f"{name} in 0..{dim.text}")
            elif kind == "stride" and dim.size >= 2:
                texts.append(f"2 * {name}")
                labels.append(Label(name, 0, dim.size // 2))
                ranges.append(f"{name} in 0..{dim.atom()} / 2")
            elif kind == "ring" and dim.size >= 1:
                texts.append(f"({name} + 1) % {dim.atom()}")
                labels.append(Label(name, 0, dim.size))
                ranges.append(f"{name} in 0..{dim.text}")
            else:
                texts.append(name)
                labels.append(Label(name, 0, dim.size, dim, longer=True))
        return texts, ranges, labels

    def left_let(self, scalar, shape, names, context):
        texts, ranges, labels = self.left_subscripts(shape, names)
        inner = context.inside(labels)
        e = self.expr(scalar, (), inner, 2)
        name = self.new_name("x")
        suffix = f" for {', '.join(ranges)}" if ranges else ""
        self.declare(name, Expr("", [], scalar, shape, *intervals.union((e.low, e.high), (0, 0))))
        return Stmt(f"let ${name}[{', '.join(texts)}]: {self.type_text(scalar, shape)} = {{0}}{suffix};", [e])

    def combine_let(self, scalar, shape, names, context):
        """`let X[i] op= e for j in …`: contributions to the same element are combined."""
        if scalar == "bool" or not names:
            return None
        extra = context.fresh(len(shape) + 1)[-1]
        dim = self.rng.choice(self.dims)
        labels = [Label(n, 0, d.size, d) for n, d in zip(names, shape)] + [Label(extra, 0, dim.size)]
        inner = context.inside(labels)
        if inner.points > MOST_POINTS or extra in names[:len(shape)]:
            return None
        op = self.rng.choice(["+=", "+=", "-=", "*=", "min=", "max="])
        limit = self.limit(scalar)
        e = self.index_body(scalar, inner, labels[:-1])
        e = self.fit(e, 1 if op == "*=" else int(limit / max(dim.size, 1)))
        interval = intervals.symmetric(intervals.of_sum((e.low, e.high), dim.size))
        if op == "*=":
            interval = -1, 1
        if op in ("min=", "max="):
            if dim.size == 0:
                return None
            interval = e.low, e.high
        if scalar == "i32" and op in ("+=", "-="):
            return None
        name, exprs, where = self.new_name("x"), [e], ""
        if op in ("+=", "-=") and self.chance(0.3):
            exprs.append(self.expr("bool", (), inner, 1))
            where = " where {1}"
        self.declare(name, Expr("", [], scalar, shape, *interval))
        return Stmt(f"let ${name}[{', '.join(names[:len(shape)])}]: {self.type_text(scalar, shape)} {op} {{0}}{where} "
                    f"for {extra} in 0..{dim.text};", exprs)

    # --- assignments
    def variables(self, tensor=None):
        found = [v for v in self.values if v.mutable]
        return found if tensor is None else [v for v in found if bool(v.shape) == tensor]

    def combining(self, v, e):
        """An `op=` and a suitable expression; reduces the remaining room."""
        op = self.rng.choice(["+=", "+=", "-=", "*=", "min=", "max="])
        if op in ("+=", "-="):
            share = v.room / 4 / self.trips
            if (v.scalar in INTEGERS or self.exact) and share < 1 or share <= 0:
                return None
            e = self.fit(e, int(share) if v.scalar in INTEGERS or self.exact else share)
            v.room -= e.magnitude() * self.trips
        elif op == "*=":
            e = self.fit(e, 1)
        else:
            e = self.fit(e, VAR_LIMITS[self.exact][v.scalar] / 2)
        return op, e

    def update(self, v, e):
        """(operator, expression) of an assignment to v."""
        if v.scalar != "bool" and self.chance(0.45):
            made = self.combining(v, e)
            if made is not None:
                return made
        return "=", self.fit(e, VAR_LIMITS[self.exact][v.scalar] / 2) if v.scalar != "bool" else e

    def assign_whole(self, context):
        if not self.variables():
            return None
        v = self.rng.choice(self.variables())
        op, e = self.update(v, self.expr(v.scalar, v.shape, context, 2))
        return Stmt(f"${v.name} {op} {{0}};", [e])

    def assign_index(self, context):
        if not self.variables(True):
            return None
        v = self.rng.choice(self.variables(True))
        names = context.fresh(len(v.shape))
        if size_of(v.shape) * context.points > MOST_POINTS:
            return None
        texts, ranges, labels = self.left_subscripts(v.shape, names)
        if context.loops and self.chance(0.5):
            # One subscript is a loop variable, so only that part is assigned.
            d = self.rng.randrange(len(v.shape))
            fitting = [x for x in context.loops if 0 <= x.low and x.high <= v.shape[d].size]
            if fitting and not ranges:
                texts[d] = self.rng.choice(fitting).name
                labels.pop(d)
        inner = context.inside(labels)
        op, e = self.update(v, self.index_body(v.scalar, inner, labels))
        exprs, suffix = [e], ""
        if self.chance(0.25):
            exprs.append(self.expr("bool", (), inner, 1))
            suffix = " where {1}"
        if ranges:
            suffix += f" for {', '.join(ranges)}"
        return Stmt(f"${v.name}[{', '.join(texts)}] {op} {{0}}{suffix};", exprs)

    def assign_slice(self, context):
        if not self.variables(True):
            return None
        v = self.rng.choice(self.variables(True))
        parts, shape = [], []
        for dim in v.shape:
            base = next((d for d in self.dims if d.text == f"{dim.text} - 1"), None)
            kind = self.rng.random()
            if base is not None and dim.size >= 1 and kind < 0.5:
                parts.append(self.rng.choice(["1:", ":-1", f"1:{dim.text}"] + ([":0:-1", "-2::-1"] if self.part("names") else [])))
                shape.append(base)
            elif dim.size >= 3 and kind < 0.4:
                parts.append(self.rng.choice(["0:2", "1:3", f"0:3:{self.two(dim)}"]))
                shape.append(Dim("2", 2))
            elif dim.size >= 1 and kind < 0.6:
                s = self.subscript(dim, context.closed())
                if s is None or s.children:
                    return None
                parts.append(s.text())
            else:
                parts.append(self.rng.choice([":", ":", "::-1"] if self.part("names") else [":"]))
                shape.append(dim)
        if not shape:
            return None
        op, e = self.update(v, self.expr(v.scalar, tuple(shape), context, 2))
        return Stmt(f"${v.name}[{', '.join(parts)}] {op} {{0}};", [e])

    def assign_element(self, context):
        """One element per iteration of the enclosing loops."""
        candidates = self.variables(True) or self.variables()
        if not candidates:
            return None
        v = self.rng.choice(candidates)
        subscripts = [self.element_subscript(d, context) for d in v.shape]
        if any(s is None for s in subscripts):
            return None
        op, e = self.update(v, self.loop_body(v, context))
        left = f"[{', '.join(f'{{{n}}}' for n in range(1, len(subscripts) + 1))}]" if subscripts else ""
        return Stmt(f"${v.name}{left} {op} {{0}};", [e] + subscripts)

    def element_subscript(self, dim, context):
        fitting = [x for x in context.loops if x.low >= 0 and x.high <= dim.size or x.count() == 0]
        if fitting and self.chance(0.85):
            x = self.rng.choice(fitting)
            return Expr(x.name, [], "i64", (), x.low, x.high)
        return self.subscript(dim, context)

    def loop_body(self, v, context):
        if v.scalar != "bool" and self.chance(0.5):
            reads = [self.read(v.scalar, context), self.read(v.scalar, context)]
            if all(reads):
                a, b = (self.fit(r, self.limit(v.scalar) ** 0.5) for r in reads)
                return Expr("({0} * {1})", [a, b], v.scalar, (), *intervals.multiply((a.low, a.high), (b.low, b.high)))
        return self.expr(v.scalar, (), context, self.rng.choice([1, 2]))

    # --- control flow
    def block(self, context, makers, count):
        """Statements in their own scope."""
        outside = len(self.values)
        result = []
        for _ in range(count):
            maker = self.rng.choices([m for m, _ in makers], [w for _, w in makers])[0]
            s = maker(context)
            if s is not None:
                result.append(s)
        del self.values[outside:]
        return result

    def loop_range(self, dim):
        """(text, low, high): a loop range over a dimension."""
        n = dim.text
        ranges = [(f"0..{n}", 0, dim.size)] * 5 + [(f"1..{n}", 1, dim.size), (f"0..{n} - 1", 0, dim.size - 1),
                                                   (f"1..{n} - 1", 1, dim.size - 1), (f"0..{n} by 2", 0, dim.size),
                                                   (f"{n} - 1..-1 by -1", 0, dim.size), (f"{n} - 2..-1 by -1", 0, dim.size - 1)]
        return self.rng.choice(ranges)

    def element_loop(self, context, nested=False):
        """Loops over elements: most become algebra, some are recurrences."""
        if not self.variables():
            return None
        ranges, loops, trips = [], [], 1
        for _ in range(self.rng.choice([1, 2, 2, 3])):
            text, low, high = self.loop_range(self.rng.choice(self.dims))
            label = Label(self.new_loop_name(), low, high)
            if context.points * trips * max(label.count(), 1) > (150 if nested else 400):
                break
            trips *= max(label.count(), 1)
            loops.append(label)
            ranges.append(f"{label.name} in {text}")
        if not loops:
            return None
        inner = Context((), context.loops + loops, context.points * trips, context.taken)
        self.trips *= trips
        makers = [(self.assign_element, 6), (self.scalar_local, 1.5), (self.guarded_element, 1.5)]
        body = self.block(inner, makers, self.rng.choice([1, 1, 2, 3]))
        self.trips //= trips
        if not body:
            return None
        cut = self.rng.randrange(1, len(ranges)) if len(ranges) > 1 and self.chance(0.6) else len(ranges)
        body = self.with_records(self.with_exits(body, inner), inner, 0.06)
        inside = body if cut == len(ranges) else [Stmt(f"for {', '.join(ranges[cut:])}", (), [body])]
        if cut < len(ranges):
            inside = self.with_exits(inside, Context((), context.loops + loops[:cut], context.points, context.taken), 0.1)
        return Stmt(f"for {', '.join(ranges[:cut])}", (), [inside])

    def scalar_local(self, context):
        return self.declaration("let", self.expr(self.scalar(), (), context, 1))

    def guarded_element(self, context):
        made = self.assign_element(context)
        if made is None:
            return None
        other = self.assign_element(context) if self.chance(0.3) else None
        blocks = [[made]] + ([[other]] if other is not None else [])
        return Stmt("if {0}", [self.expr("bool", (), context, 1)], blocks)

    def inner_makers(self):
        return [(self.assign_whole, 5), (self.assign_index, 4), (self.assign_slice, 1), (self.let_tensor, 2), (self.let_scalar, 1),
                (self.index_let, 3), (self.if_statement, 1), (lambda c: self.element_loop(c, True), 0.7)]

    def tensor_loop(self, context):
        """A loop whose body works on whole tensors; preceded by a variable if there is none."""
        head = []
        if not self.variables(True):
            scalar = self.rng.choice(["f64", "f64", "i64"])
            head = [self.declaration("var", self.expr(scalar, self.shape(1, 2), context, 1))]
        if self.chance(0.5):
            count = self.rng.choice([1, 2, 3, 4])
            text, low, high = f"0..{count}", 0, count
        else:
            text, low, high = self.loop_range(self.rng.choice(self.dims))
        label = Label(self.new_loop_name(), low, high)
        if max(label.count(), 1) * context.points > 12:
            return head
        inner = Context((), context.loops + [label], context.points * max(label.count(), 1), context.taken)
        self.trips *= max(label.count(), 1)
        body = self.block(inner, self.inner_makers(), self.rng.choice([1, 2, 3, 3]))
        self.trips //= max(label.count(), 1)
        body = self.with_records(self.with_exits(body, inner), inner)
        return head + ([Stmt(f"for {label.name} in {text}", (), [body])] if body else [])

    def while_loop(self, context):
        """A data-dependent loop, bounded by a counter."""
        if context.points > 4 or not self.variables():
            return None
        most = self.rng.choice([1, 2, 3, 5])
        name = self.new_name("c")
        self.values.append(Value(name, "i64", (), 0, most))
        inner = Context((), context.loops, context.points * most, context.taken)
        self.random_allowed = False
        test = self.expr("bool", (), context.closed(), 2)
        self.random_allowed = True
        self.trips *= most
        body = self.block(inner, self.inner_makers(), self.rng.choice([1, 2, 3]))
        self.trips //= most
        plain = len(body)
        body = self.with_exits(body, inner)
        # After a `continue` nothing would count.
        body.insert(self.rng.randrange(len(body) + 1) if len(body) == plain else 0, Stmt(f"${name} += 1;"))
        body = self.with_records(body, inner)
        joined = f"${name} < {most} && {{0}}" if self.chance(0.7) else f"{{0}} && ${name} < {most}"
        return [Stmt(f"var ${name} = 0;"), Stmt(f"while {joined}", [test], [body])]

    def if_statement(self, context):
        if not self.variables():
            return None
        makers = [(self.assign_whole, 4), (self.assign_index, 3), (self.let_scalar, 0.5)]
        blocks = [self.block(context, makers, self.rng.choice([1, 2])) for _ in range(self.rng.choice([1, 2]))]
        if not all(blocks):
            return None
        blocks = [self.with_records(b, context, 0.06) for b in blocks]
        return Stmt("if {0}", [self.expr("bool", (), context, 2)], blocks)
