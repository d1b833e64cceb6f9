"""Chains of definitions with a single use each, mostly guarded: candidates for fusion."""
import intervals
from expressions import Label, MOST_POINTS, ranged
from model import element, Expr, Stmt
from operations import MOST_ELEMENTS, size_of
from statements import Statements


class Pipelines(Statements):
    def pipeline(self, context):
        """Two to four definitions, each used only by the next; only the last has other uses."""
        scalar = self.rng.choices(["f64", "i64", "f32", "i32", "bool"], [6, 3, 1, 1, 1])[0]
        shape = self.shape()
        if size_of(shape) > MOST_ELEMENTS or size_of(shape) * context.points > MOST_POINTS:
            return None
        statements = [self.stage(scalar, shape, context, 0.85)]
        for _ in range(self.rng.choice([1, 1, 1, 2, 2, 3])):
            last = self.values.pop()
            following = self.following(last, context)
            if following is None:
                self.values.append(last)
                break
            statements.append(following)
        return statements

    def balanced_guard(self, labels, context):
        """A condition that holds at some points only."""
        kind = self.rng.choices(["parity", "order", "edge", "any"], [2, 2, 2, 4])[0]
        names = [x.name for x in labels]
        if kind == "parity":
            return Expr(f"(({' + '.join(names)}) % {self.rng.choice([2, 3])} != {self.rng.randrange(2)})", [], "bool", (), 0, 1)
        if kind == "order" and len(names) > 1:
            a, b = self.rng.sample(names, 2)
            return Expr(f"({a} {self.rng.choice(['<', '<=', '>', '!='])} {b})", [], "bool", (), 0, 1)
        if kind == "edge":
            return Expr(f"({self.rng.choice(names)} {self.rng.choice(['>', '>=', '!=', '<'])} {self.rng.choice([1, 2, 3])})", [], "bool", (), 0, 1)
        return self.expr("bool", (), context, self.rng.choice([1, 2]))

    def defined(self, shape, names, e, context, labels, guarded, ranges=()):
        """`let x[i, j]: TYPE = e where … for …;`, returning its value, now the last one in scope."""
        exprs, suffix = [e], ""
        if guarded:
            exprs.append(self.balanced_guard(labels, context))
            suffix = " where {1}"
        if ranges:
            suffix += " for " + ", ".join(ranges)
        name = self.new_name("x")
        self.declare(name, Expr("", [], e.scalar, shape, *intervals.union((e.low, e.high), (0, 0))))
        return Stmt(f"let ${name}[{', '.join(names)}]: {self.type_text(e.scalar, shape)} = {{0}}{suffix};", exprs)

    def stage(self, scalar, shape, context, guards):
        names = context.fresh(len(shape))[:len(shape)]
        labels = [Label(n, 0, d.size, d) for n, d in zip(names, shape)]
        inner = context.inside(labels)
        e = self.bounded(self.index_body(scalar, inner, labels))
        return self.defined(shape, names, e, inner, labels, self.chance(guards))

    def following(self, last, context):
        """A definition that reads `last` once: at its own index variables, permuted, with additional variables, or reduced."""
        if not last.shape:
            return None
        kinds = [("same", 6), ("whole", 1.5), ("reduced", 3), ("shifted", 1.5), ("spread", 1)]
        kind = self.rng.choices([k for k, _ in kinds], [w for _, w in kinds])[0]
        if kind == "whole":
            other = self.expr(last.scalar, last.shape, context, 1)
            read = Expr(f"${last.name}", [], last.scalar, last.shape, last.low, last.high)
            return self.declaration("let", self.mixed(read, self.strong(other)))
        if kind == "reduced":
            return self.reduced(last, context)
        if kind == "shifted":
            return self.shifted(last, context)
        shape = list(last.shape)
        if kind == "spread" and len(shape) < 4:
            shape.insert(self.rng.randrange(len(shape) + 1), self.rng.choice(self.dims))
        if size_of(shape) > MOST_ELEMENTS or size_of(shape) * context.points > MOST_POINTS:
            return None
        names = context.fresh(len(shape))[:len(shape)]
        labels = [Label(n, 0, d.size, d) for n, d in zip(names, shape)]
        inner = context.inside(labels)
        read = self.read_at(last, labels)
        if read is None:
            return None
        if self.chance(0.3):
            self.rng.shuffle(labels)
            shape, names = [x.dim for x in labels], [x.name for x in labels]
        e = self.mixed(read, self.strong(self.expr(last.scalar, (), inner, self.rng.choice([0, 1, 2]))))
        return self.defined(tuple(shape), names, e, inner, labels, self.chance(0.4))

    def few_reads(self, context):
        """A map or product that only definitions read which take some of its elements, or sums of them."""
        scalar = self.rng.choices(["f64", "i64", "f32"], [6, 3, 1])[0]
        shape = tuple(self.rng.choice(self.dims) for _ in range(2))
        if self.chance(0.6):
            shape = shape[:1] * 2
        points, inner = size_of(shape), self.rng.choice(self.dims)
        if points == 0 or inner.size == 0 or points > MOST_ELEMENTS or points * inner.size * context.points > MOST_POINTS:
            return None
        limit = self.limit(scalar) / points
        if self.chance(0.6):
            sides = [(shape[0], inner), (inner, shape[1])]
            a, b = (self.fit(self.strong(self.expr(scalar, side, context, 1)), int((limit / inner.size) ** 0.5)) for side in sides)
            interval = intervals.of_sum(intervals.multiply((a.low, a.high), (b.low, b.high)), inner.size)
            statements = [self.declaration("let", ranged("({0} @ {1})", [a, b], scalar, shape, interval))]
        else:
            e = self.mixed(*(self.strong(self.expr(scalar, shape, context, 1)) for _ in range(2)))
            statements = [self.declaration("let", self.fit(e, int(limit)))]
        whole = self.values.pop()
        for _ in range(self.rng.choice([1, 1, 1, 2, 3])):
            statements.append(self.few_of(whole, context))
        return statements

    def few_of(self, v, context):
        """A definition that reads a diagonal, row, column, stride, slice or element of the matrix, or a sum."""
        rows, columns = v.shape
        row, column = self.rng.randrange(rows.size), self.rng.randrange(columns.size)
        kinds = ["row", "column", "element", "sum", "sums", "stride", "tail"] + ["diagonal", "trace", "spread"] * 2 * (rows == columns)
        kind = self.rng.choice(kinds)
        bounds = v.low, v.high
        if kind == "spread":
            names = context.fresh(2)[:2]
            dims = (rows, self.rng.choice(self.dims))
            labels = [Label(n, 0, d.size, d) for n, d in zip(names, dims)]
            inner = context.inside(labels)
            if size_of(dims) <= MOST_ELEMENTS and inner.points <= MOST_POINTS:
                at = labels[0].bare(rows.text)
                read = Expr(f"${v.name}[{{0}}, {{1}}]", [at, at], v.scalar, (), *bounds)
                e = self.mixed(read, self.strong(self.expr(v.scalar, (), inner, 1)))
                return self.defined(dims, names, e, inner, labels, self.chance(0.2))
            kind = "diagonal"
        count = rows.size * columns.size
        text, shape, interval = {
            "diagonal": (f"diag(${v.name})", (rows,), bounds),
            "trace": (f"trace(${v.name})", (), intervals.of_sum(bounds, rows.size)),
            "row": (f"${v.name}[{row}, :]", (columns,), bounds),
            "column": (f"${v.name}[:, {column}]", (rows,), bounds),
            "element": (f"${v.name}[{row}, {column}]", (), bounds),
            "sum": (f"sum(${v.name})", (), intervals.of_sum(bounds, count)),
            "sums": (f"sum(${v.name}, axis=0)", (columns,), intervals.of_sum(bounds, rows.size)),
            "stride": (f"sum(${v.name}[::2, {column}])", (), intervals.of_sum(bounds, rows.size)),
            "tail": (f"max(${v.name}[{row}:, :])", (), bounds)}[kind]
        read = ranged(text, [], v.scalar, shape, interval)
        if self.chance(0.5):
            read = self.mixed(read, self.strong(self.expr(v.scalar, shape, context, 1)))
        return self.declaration("let", read)

    def read_at(self, v, labels):
        """v[i, j] with each label of its extents used once."""
        left, chosen = list(labels), []
        for dim in v.shape:
            fitting = [x for x in left if x.dim == dim]
            if not fitting:
                return None
            chosen.append(self.rng.choice(fitting))
            left.remove(chosen[-1])
        return element(f"${v.name}", [x.bare(x.dim.text) for x in chosen], v.scalar, v.low, v.high)

    def mixed(self, a, b):
        """Combines two values of the same type."""
        shape = a.shape
        if a.scalar == "bool":
            return Expr(f"({{0}} {self.rng.choice(['&&', '||', '!='])} {{1}})", [a, b], "bool", shape, 0, 1)
        op = self.rng.choices(["+", "-", "*", "min", "max"], [4, 3, 2, 1, 1])[0]
        if op in ("min", "max"):
            rule = intervals.minimum if op == "min" else intervals.maximum
            return ranged(f"{op}({{0}}, {{1}})", [a, b], a.scalar, shape, rule((a.low, a.high), (b.low, b.high)))
        limit = self.limit(a.scalar)
        limit = limit ** 0.5 if op == "*" else limit / 2
        a, b = self.fit(a, limit), self.fit(b, limit)
        rule = {"+": intervals.add, "-": intervals.subtract, "*": intervals.multiply}[op]
        return self.bounded(ranged(f"({{0}} {op} {{1}})", [a, b], a.scalar, shape, rule((a.low, a.high), (b.low, b.high))))

    def reduced(self, last, context):
        """`let x[i] = op[j](last[i, j] * …)` over some of its index variables, or all."""
        names = context.fresh(len(last.shape))[:len(last.shape)]
        labels = [Label(n, 0, d.size, d) for n, d in zip(names, last.shape)]
        count = self.rng.randrange(1, len(labels) + 1)
        inside = sorted(self.rng.sample(range(len(labels)), count))
        reduce_labels = [labels[k] for k in inside]
        out = [x for k, x in enumerate(labels) if k not in inside]
        points = size_of([x.dim for x in reduce_labels])
        if points == 0 or last.scalar == "bool":
            return None
        inner = context.inside(out + reduce_labels)
        if inner.points > MOST_POINTS:
            return None
        ops = ["min", "max"] + ([] if last.scalar == "i32" else ["sum"] * 4)
        op, limit = self.rng.choice(ops), self.limit(last.scalar)
        body = self.mixed(self.read_at(last, labels), self.strong(self.expr(last.scalar, (), inner, self.rng.choice([0, 1, 2]))))
        if op == "sum":
            body = self.fit(body, int(limit / points))
        guard = [self.balanced_guard(labels, inner)] if op == "sum" and self.chance(0.3) else []
        where = " where {1}" if guard else ""
        interval = intervals.of_sum((body.low, body.high), points) if op == "sum" else (body.low, body.high)
        e = ranged(f"{op}[{', '.join(x.name for x in reduce_labels)}{where}]({{0}})", [body] + guard, last.scalar, (), interval)
        if not out:
            return self.declaration("let", e)
        return self.defined(tuple(x.dim for x in out), [x.name for x in out], e, context.inside(out), out, self.chance(0.2))

    def shifted(self, last, context):
        """`let x[i]: … = last[i - 1] + … for i in 1..n`: elsewhere the result is 0."""
        names = context.fresh(len(last.shape))[:len(last.shape)]
        at = self.rng.randrange(len(names))
        dim, shift = last.shape[at], self.rng.choice([-1, 1])
        if dim.size < 2:
            return None
        labels = [Label(n, 0, d.size, d) for n, d in zip(names, last.shape)]
        labels[at] = Label(names[at], 1, dim.size) if shift < 0 else Label(names[at], 0, dim.size - 1)
        ranges = [f"{names[at]} in " + (f"1..{dim.text}" if shift < 0 else f"0..{dim.text} - 1")]
        subscripts = [Expr(f"{n} {'+' if shift > 0 else '-'} 1" if k == at else n, [], "i64", (), 0, d.size,
                           bare=set() if k == at else {(n, d.text)}) for k, (n, d) in enumerate(zip(names, last.shape))]
        read = element(f"${last.name}", subscripts, last.scalar, last.low, last.high)
        inner = context.inside(labels)
        e = self.mixed(read, self.strong(self.expr(last.scalar, (), inner, 1)))
        return self.defined(last.shape, names, e, inner, labels, self.chance(0.3), ranges)
