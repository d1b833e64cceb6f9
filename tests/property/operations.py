"""Random whole-tensor operations, reductions and index notation: the other half of expressions."""
import intervals
from expressions import Expressions, Label, MOST_POINTS, ranged
from model import Dim, Expr, FLOATS

MOST_ELEMENTS = 3000


def size_of(shape):
    result = 1
    for d in shape:
        result *= d.size
    return result


class Operations(Expressions):
    # --- whole tensors
    def tensor_operation(self, scalar, shape, context, depth):
        makers = [(self.product, 4), (self.transposed, 2), (self.along_axes, 3), (self.slice, 2), (self.structure, 3),
                  (self.stretched, 1), (self.einsum, 1), (self.line_routine, 1.8), (self.solved, 0 if self.exact else 2)]
        maker = self.rng.choices([m for m, _ in makers], [w for _, w in makers])[0]
        return maker(scalar, shape, context, depth)

    def factor(self, scalar, shape, context, depth, count):
        """An operand for a sum of `count` products."""
        e = self.expr(scalar, shape, context, depth - 1)
        return self.fit(e, int((self.limit(scalar) / max(count, 1)) ** 0.5))

    def product(self, scalar, shape, context, depth):
        if scalar not in ("f64", "f32", "i64") or len(shape) > 3:
            return None
        inner = self.rng.choice(self.dims)
        if len(shape) == 1:
            shapes = self.rng.choice([((shape[0], inner), (inner,)), ((inner,), (inner, shape[0]))])
        elif len(shape) == 2:
            shapes = (shape[0], inner), (inner, shape[1])
        elif len(shape) == 3:
            left, right = (shape[0], shape[1], inner), (shape[0], inner, shape[2])
            shapes = self.rng.choice([(left, right), (left, right[1:]), (left[1:], right)])
        if any(size_of(s) > MOST_ELEMENTS for s in shapes) or size_of(shape) * inner.size > MOST_POINTS:
            return None
        a, b = (self.strong(self.factor(scalar, s, context, depth, inner.size)) for s in shapes)
        interval = intervals.of_sum(intervals.multiply((a.low, a.high), (b.low, b.high)), inner.size)
        return ranged("({0} @ {1})", [a, b], scalar, shape, interval)

    def transposed(self, scalar, shape, context, depth):
        order = list(range(len(shape)))
        self.rng.shuffle(order)
        if len(shape) == 2 and self.chance(0.7):
            a = self.expr(scalar, shape[::-1], context, depth - 1)
            return ranged("{0}'", [a], scalar, shape, (a.low, a.high), a.weak)
        source = [None] * len(shape)
        for d, s in enumerate(order):
            source[s] = shape[d]
        a = self.expr(scalar, tuple(source), context, depth - 1)
        return ranged(f"transpose({{0}}, {', '.join(map(str, order))})", [a], scalar, shape, (a.low, a.high), a.weak)

    def along_axes(self, scalar, shape, context, depth):
        """A reduction over one or two new axes."""
        axes, full = [], list(shape)
        for _ in range(self.rng.choice([1, 1, 1, 2])):
            at = self.rng.randrange(len(full) + 1)
            axes = [a + (a >= at) for a in axes] + [at]
            full.insert(at, self.rng.choice(self.dims))
        if len(full) > 4 or size_of(full) > MOST_ELEMENTS:
            return None
        made = self.reduce_op(scalar, size_of([full[a] for a in axes]), len(axes) == 1, full[axes[0]].size)
        if made is None:
            return None
        op, source, limit, rule = made
        a = self.fit(self.strong(self.expr(source, tuple(full), context, depth - 1)), limit)
        axis = str(axes[0]) if len(axes) == 1 else f"({axes[0]}, {axes[1]})"
        if self.chance(0.15) and len(axes) == 1 and axes[0] == len(full) - 1:
            axis = "-1"
        return ranged(f"{op}({{0}}, axis={axis})", [a], scalar, shape, rule((a.low, a.high)))

    def stretched(self, scalar, shape, context, depth):
        """`A - max(A, axis=…, keepdims=true)`, or a slice of size 1 that is broadcast."""
        if scalar == "bool" or size_of(shape) == 0:
            return None
        a = self.strong(self.expr(scalar, shape, context, depth - 1))
        axis = self.rng.randrange(len(shape))
        if self.chance(0.5):
            op = self.rng.choice(["min", "max"])
            return ranged(f"({{0}} - {op}({{1}}, axis={axis}, keepdims=true))", [a, a.copy()], scalar, shape,
                          intervals.subtract((a.low, a.high), (a.low, a.high)))
        fitting = [v for v in self.values if v.scalar == scalar and v.shape == tuple(shape)]
        if not fitting:
            return None
        v = self.rng.choice(fitting)
        cut = ", ".join("0:1" if d == axis else ":" for d in range(len(shape)))
        b = Expr(f"${v.name}[{cut}]", [], scalar, shape, v.low, v.high)
        return ranged("({0} + {1})", [a, b], scalar, shape, intervals.add((a.low, a.high), (b.low, b.high)))

    def slice(self, scalar, shape, context, depth):
        """A slice of a named tensor with the given shape."""
        fitting = [v for v in self.values if v.scalar == scalar and len(v.shape) >= len(shape) and v.shape]
        self.rng.shuffle(fitting)
        for v in fitting[:6]:
            parts, missing = [], list(shape)
            for dim in v.shape:
                part = self.slice_part(dim, missing[0], context) if missing else None
                if part is not None and (len(v.shape) - len(parts) == len(missing) or self.chance(0.7)):
                    missing.pop(0)
                    parts.append(Expr(part, [], "i64", (), 0, 0))
                else:
                    parts.append(self.subscript(dim, context))
            if not missing and all(p is not None for p in parts):
                return Expr(f"${v.name}[{', '.join(f'{{{n}}}' for n in range(len(parts)))}]", parts, scalar, shape, v.low, v.high)
        return None

    def two(self, dim):
        """The step 2, sometimes known only at run time."""
        return f"min(2, 2 + {dim.text})" if self.chance(0.4) else "2"

    def slice_part(self, dim, wanted, context):
        if dim == wanted:
            return self.rng.choice([":", ":", "0:", f":{dim.text}"])
        if dim.text == f"{wanted.text} + 1":
            return self.rng.choice(["1:", ":-1"])
        if wanted.text == f"{dim.text} - 1":
            return self.rng.choice(["1:", ":-1", f"1:{dim.text}"]) if dim.size >= 1 else None
        if wanted.text.isdigit() and dim.size >= wanted.size:
            start = self.rng.choice([0, dim.size - wanted.size])
            if 1 <= 2 * wanted.size - 1 <= dim.size - start and self.chance(0.5):
                return f"{start}:{start + 2 * wanted.size - 1}:{self.two(dim)}"
            return f"{start}:{start + wanted.size}"
        return None

    def structure(self, scalar, shape, context, depth):
        kind = self.rng.choice(["flip", "down", "newaxis", "take", "transposed", "roll", "concat", "outer", "diag", "triangle", "reshape", "matrix_diag"])
        if kind == "flip":
            a = self.expr(scalar, shape, context, depth - 1)
            axis = f", axis={self.rng.randrange(len(shape))}" if self.chance(0.7) else ""
            return ranged(f"flip({{0}}{axis})", [a], scalar, shape, (a.low, a.high), a.weak)
        if kind == "down":
            a = self.expr(scalar, shape, context, depth - 1)
            slices = ", ".join(self.rng.choice([":", "::-1"]) for _ in shape)
            return ranged(f"({{0}})[{slices}]", [a], scalar, shape, (a.low, a.high), a.weak)
        if kind == "newaxis" and len(shape) == 2 and scalar != "bool":
            a, b = (self.expr(scalar, (d,), context, depth - 1) for d in shape)
            return ranged("where(({0})[:, newaxis] < {1}, {1}, ({0})[:, newaxis])", [a, b], scalar, shape,
                          intervals.union((a.low, a.high), (b.low, b.high)), a.weak and b.weak)
        if kind == "take" and size_of(shape) > 0:
            a = self.strong(self.expr(scalar, shape, context, depth - 1))
            axis = self.rng.randrange(len(shape))
            return ranged(f"take({{0}}, iota({shape[axis].text})[::-1], axis={axis})", [a], scalar, shape, (a.low, a.high))
        if kind == "transposed" and len(shape) >= 3:
            a = self.expr(scalar, shape[:-2] + (shape[-1], shape[-2]), context, depth - 1)
            return ranged("({0})'", [a], scalar, shape, (a.low, a.high), a.weak)
        if kind == "roll" and size_of(shape) > 0:
            a = self.expr(scalar, shape, context, depth - 1)
            return ranged(f"roll({{0}}, {self.rng.choice([1, 2, -1, 5])}, axis={self.rng.randrange(len(shape))})", [a], scalar,
                          shape, (a.low, a.high), a.weak)
        if kind == "concat":
            return self.concatenation(scalar, shape, context, depth)
        if kind == "outer" and len(shape) == 2 and scalar not in ("bool", "i32"):
            a, b = (self.strong(self.factor(scalar, (d,), context, depth, 1)) for d in shape)
            return ranged("outer({0}, {1})", [a, b], scalar, shape, intervals.multiply((a.low, a.high), (b.low, b.high)))
        if kind == "diag" and len(shape) == 1 and size_of(shape) <= 40:
            a = self.expr(scalar, (shape[0], shape[0]), context, depth - 1)
            return ranged("diag({0})", [a], scalar, shape, (a.low, a.high), a.weak)
        if kind == "matrix_diag" and len(shape) == 2 and shape[0] == shape[1] and scalar != "bool":
            a = self.strong(self.expr(scalar, shape[:1], context, depth - 1))
            return ranged("diag({0})", [a], scalar, shape, intervals.union((a.low, a.high), (0, 0)))
        if kind == "triangle" and len(shape) >= 2 and scalar != "bool":
            a = self.strong(self.expr(scalar, shape, context, depth - 1))
            template = self.rng.choice(["tril({0})", "triu({0})", "tril({0}, 1)", "triu({0}, 1)", "tril({0}, -1)"])
            return ranged(template, [a], scalar, shape, intervals.union((a.low, a.high), (0, 0)))
        if kind == "reshape" and len(shape) == 2:
            flat = Dim(f"{shape[0].atom()} * {shape[1].atom()}", shape[0].size * shape[1].size)
            source = self.rng.choice([(flat,), shape[::-1]])
            a = self.expr(scalar, source, context, depth - 1)
            return ranged(f"reshape({{0}}, {shape[0].text}, {shape[1].text})", [a], scalar, shape, (a.low, a.high), a.weak)
        return None

    def concatenation(self, scalar, shape, context, depth):
        for axis, dim in enumerate(shape):
            if not dim.text.endswith(" + 1"):
                continue
            base = next((d for d in self.dims if dim.text == f"{d.text} + 1"), None)
            if base is None:
                continue
            one = shape[:axis] + (Dim("1", 1),) + shape[axis + 1:]
            parts = [shape[:axis] + (base,) + shape[axis + 1:], one]
            self.rng.shuffle(parts)
            a, b = (self.strong(self.expr(scalar, tuple(p), context, depth - 1)) for p in parts)
            return ranged(f"concat({{0}}, {{1}}, axis={axis})", [a, b], scalar, shape, intervals.union((a.low, a.high), (b.low, b.high)))
        return None

    def einsum(self, scalar, shape, context, depth):
        if scalar not in ("f64", "i64") or not 1 <= len(shape) <= 2:
            return None
        inner = self.rng.choice(self.dims)
        letters = "ab"[:len(shape)]
        extents = dict(zip(letters, shape)) | {"c": inner}
        first, second = letters[0] + "c", ("c" + letters[1:]) if len(shape) == 2 else self.rng.choice(["c", "ac", "ca"])
        first, second = ("".join(self.rng.sample(s, len(s))) for s in (first, second))
        shapes = [tuple(extents[c] for c in s) for s in (first, second)]
        if any(size_of(s) > MOST_ELEMENTS for s in shapes) or size_of(shape) * inner.size > MOST_POINTS:
            return None
        a, b = (self.strong(self.factor(scalar, s, context, depth, inner.size)) for s in shapes)
        interval = intervals.of_sum(intervals.multiply((a.low, a.high), (b.low, b.high)), inner.size)
        return ranged(f'einsum("{first},{second}->{letters}", {{0}}, {{1}})', [a, b], scalar, shape, interval)

    # --- reductions
    def reduce_op(self, scalar, count, one_label, extent):
        """(name, source type, limit of the operand, interval of the result) of a reduction over at most `count` elements."""
        limit, full = self.limit(scalar), self.limit(scalar)
        cut = int(full / max(count, 1))

        # An empty reduction gives the identity; enclosing expressions clamp it.
        extremum = intervals.constant(-float("inf"), float("inf")) if self.may_be_empty else lambda x: x

        options = []
        if scalar == "bool":
            options += [("any", "bool", 1, intervals.constant(0, 1)), ("all", "bool", 1, intervals.constant(0, 1))]
        else:
            options += [(op, scalar, limit, extremum) for op in ("min", "max")]
        if scalar in ("f64", "f32", "i64"):
            source = scalar if scalar != "i64" else self.rng.choice(["i64", "i64", "i32", "bool"])
            options += [("sum", source, cut, lambda x: intervals.of_sum(x, count))] * 4
            if scalar == source and count <= 200:
                options.append(("prod", source, 1, intervals.constant(-1, 1)))
        if scalar == "f64" or scalar == "f32":
            if not self.may_be_empty and (not self.exact or count in (1, 2, 4, 8) and scalar == "f64"):
                options.append(("mean", scalar, cut, lambda x: x))
        if scalar in FLOATS and not self.exact:
            options.append(("norm", scalar, cut ** 0.5, lambda x: (0, count ** 0.5 * max(map(abs, x)))))
        if scalar == "i64":
            options.append(("count", "bool", 1, intervals.constant(0, count)))
            if one_label:
                options += [(op, self.rng.choice(["f64", "i64", "i32"]), limit, intervals.constant(-1, max(extent - 1, 0)))
                            for op in ("argmin", "argmax")]
        return self.rng.choice(options)

    def whole_reduction(self, scalar, shape, context, depth):
        """A closed scalar such as sum(A * B) or max(x)."""
        if not self.dims:
            return None
        source_shape = self.shape()
        points = size_of(source_shape)
        if points > MOST_ELEMENTS or points * context.points > MOST_POINTS:
            return None
        self.may_be_empty = points == 0
        op, source, limit, rule = self.reduce_op(scalar, points, True, points)
        a = self.strong(self.expr(source, source_shape, context.closed(), depth - 1))
        a = self.fit(a, limit)
        if scalar == "i32" and a.scalar != "i32":
            return None
        result = ranged(f"{op}({{0}})", [a], scalar, (), rule((a.low, a.high)))
        self.may_be_empty = any(d.size == 0 for d in self.dims)
        return result

    def reduction(self, scalar, shape, context, depth):
        """`op[k, l where guard](body)`."""
        if not self.dims:
            return None
        names = context.fresh(2)
        count = self.rng.choice([1, 1, 1, 2])
        if len(names) < count:
            return None
        labels, ranges, empty = [], [], False
        for name in names[:count]:
            label, text, may_be_empty = self.reduce_label(name, context.inside(labels))
            labels.append(label)
            ranges.append(text)
            empty = empty or may_be_empty or label.count() == 0
        inner = context.inside(labels)
        if inner.points > MOST_POINTS:
            return None
        total = size_of([Dim("", x.count()) for x in labels])
        guard = None
        if self.chance(0.25):
            guard = self.interval_guard(context, inner) if self.chance(0.3) else self.expr("bool", (), inner, depth - 2)
        outer_empty, self.may_be_empty = self.may_be_empty, empty or guard is not None
        op, source, limit, rule = self.reduce_op(scalar, total, count == 1, labels[0].high)
        self.may_be_empty = outer_empty
        if op == "norm":
            op = "sum"
        arg_range = op.startswith("arg") and labels[0].low < 0
        if arg_range:
            return None
        body = self.fit(self.strong(self.body(source, inner, labels, depth - 1)), limit)
        if op == "sum" and rule((1, 1))[1] < 1:
            rule = lambda x: intervals.of_sum(x, total)
        children = [body] + ([guard] if guard is not None else [])
        head = []
        for label, text in zip(labels, ranges):
            bare = any((label.name, label.dim.text) in c.bare for c in children) if label.dim else True
            head.append(f"{label.name} in 0..{label.dim.text}" if not bare else label.name + text)
        where = " where {1}" if guard is not None else ""
        interval = rule((body.low, body.high)) if op != "sum" else intervals.of_sum((body.low, body.high), total)
        result = ranged(f"{op}[{', '.join(head)}{where}]({{0}})", children, scalar, (), interval)
        result.bare = frozenset((name, extent) for name, extent in result.bare if name not in {label.name for label in labels})  # they end here
        return result

    def interval_guard(self, outer, inner):
        """A value of a point between two that are the same for all points of a reduction."""
        t = self.rng.choice(["f64", "f64", "i64", "f32"])
        value, low, high = (self.strong(self.expr(t, (), context, 1)) for context in (inner, outer, outer))
        first, second = self.rng.choice(["<=", "<"]), self.rng.choice(["<=", "<"])
        return Expr(f"({{1}} {first} {{0}} && {{0}} {second} {{2}})", [value, low, high], "bool", (), 0, 1)

    def reduce_label(self, name, context):
        """A label, the text of its range, and whether that may be empty at some points."""
        dim = self.rng.choice(self.dims)
        outer = [x for x in context.labels + context.loops if 0 <= x.low < x.high and x.high <= 20]
        kind = self.rng.choices(["bare", "all", "inner", "triangle", "by"], [8, 2, 1.5, 1.5 if outer else 0, 0.5])[0]
        if kind == "bare":
            return Label(name, 0, dim.size, dim), "", dim.size == 0
        if kind == "all":
            return Label(name, 0, dim.size), f" in 0..{dim.text}", dim.size == 0
        if kind == "inner":
            return Label(name, 1, dim.size - 1), f" in 1..{dim.text} - 1", dim.size <= 2
        if kind == "by":
            return Label(name, 0, dim.size), f" in 0..{dim.text} by {self.two(dim)}", dim.size == 0
        o = self.rng.choice(outer)
        if self.chance(0.5):
            return Label(name, 0, o.high), f" in 0..{o.name} + 1", False
        return Label(name, 0, max(o.high - 1, 0)), f" in 0..{o.name}", True

    def body(self, scalar, context, labels, depth):
        """An operand of a reduction over the labels: often a product of reads with bare labels."""
        if scalar != "bool" and self.chance(0.6):
            first = labels[0] if labels[0].dim else None
            reads = [self.read(scalar, context, first), self.read(scalar, context, first if self.chance(0.7) else None)]
            if all(reads):
                root = self.limit(scalar) ** 0.5
                a, b = (self.fit(r, root) for r in reads)
                op = self.rng.choices(["*", "+", "-"], [6, 2, 1])[0]
                rule = {"*": intervals.multiply, "+": intervals.add, "-": intervals.subtract}[op]
                return self.bounded(ranged(f"({{0}} {op} {{1}})", [a, b], scalar, (), rule((a.low, a.high), (b.low, b.high))))
        return self.expr(scalar, (), context, depth)
