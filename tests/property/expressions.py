"""Random well-typed expressions: elementwise trees, whole-tensor operations, index notation."""
import math

import intervals
from model import element, Expr, FLOATS, INTEGERS

# Bounds on values, so that nothing overflows and, in exact programs, every summation order gives the same bits.
LIMITS = {True: {"f64": 2.0**40, "f32": 2.0**18, "i64": 2**45, "i32": 2**26, "bool": 1},
          False: {"f64": 1e6, "f32": 1e4, "i64": 2**45, "i32": 2**26, "bool": 1}}
# Points per statement, including nested ones.
MOST_POINTS = 20000
LABEL_NAMES = ["i", "j", "k", "l", "u", "v", "w", "x", "y", "z", "ii", "jj", "kk", "ll", "uu", "vv"]

# In `Expr.bare`: the index variable is a whole subscript of a dimension that is longer than its range.
LONGER = "longer"


class Label:
    """An index variable or loop variable with values in [low, high). `dim`: its range is this extent, inferred from its use as a bare
    subscript; None: it has an explicit range. `longer`: it stands on the left of a tensor of known shape, so it may also stand bare in longer dimensions."""

    def __init__(self, name, low, high, dim=None, longer=False):
        self.name, self.low, self.high, self.dim, self.longer = name, low, high, dim, longer

    def count(self):
        return max(self.high - self.low, 0)

    def bare(self, extent):
        """The variable as a whole subscript of a dimension with this extent."""
        return Expr(self.name, [], "i64", (), self.low, self.high, bare={(self.name, extent)})


class Context:
    """What an expression may use: index variables, loop variables, and the number of points that evaluate it."""

    def __init__(self, labels=(), loops=(), points=1, taken=()):
        self.labels, self.loops, self.points, self.taken = list(labels), list(loops), points, set(taken)

    def inside(self, labels):
        points = self.points
        for label in labels:
            points *= max(label.count(), 1)
        return Context(self.labels + list(labels), self.loops, points, self.taken | {x.name for x in labels})

    def closed(self):
        """For subexpressions without index variables."""
        return Context((), self.loops, self.points, self.taken)

    def fresh(self, count):
        return [n for n in LABEL_NAMES if n not in self.taken][:count]


class Value:
    """A name in scope. `room`: how much may still be added to a var before it leaves [low, high]."""

    def __init__(self, name, scalar, shape, low, high, mutable=False, room=0.0):
        self.name, self.scalar, self.shape, self.low, self.high = name, scalar, tuple(shape), low, high
        self.mutable, self.room = mutable, room


def ranged(template, children, scalar, shape, interval, weak=False, bare=()):
    return Expr(template, children, scalar, shape, interval[0], interval[1], weak, bare)


class Expressions:
    """The expression half of the generator. Subclasses provide `rng`, `exact`, `values`, `dims`, `functions`."""

    # --- helpers
    def part(self, name):
        """Whether this optional part of the language may be used."""
        return self.parts is None or name in self.parts

    def weight(self, name, weight):
        """The weight of a maker of an optional part: more where programs consist of chosen parts."""
        return weight if self.parts is None else 4 * weight if name in self.parts else 0

    def limit(self, scalar):
        return LIMITS[self.exact][scalar]

    def chance(self, probability):
        return self.rng.random() < probability

    def literal(self, scalar):
        if scalar == "bool":
            return Expr(self.rng.choice(["true", "false"]), [], "bool", (), 0, 1)
        if scalar in INTEGERS or self.exact:
            number = self.rng.choice([0, 1, 1, 2, 2, 3, 4, 5, 7])
            text = f"{number}" if scalar in INTEGERS else f"{number}.0"
        else:
            number = self.rng.choice([0.5, 1.0, 0.25, 2.0, 1.5, 0.1, 0.7, 3.0])
            text = repr(number)
        if self.chance(0.2) and number:
            return Expr(f"(-{text})", [], scalar, (), -number, -number, weak=True)
        return Expr(text, [], scalar, (), number, number, weak=True)

    def number(self, value, scalar):
        """A literal of a given value."""
        text = str(int(value)) if scalar in INTEGERS else repr(float(value))
        return Expr(f"({text})" if value < 0 else text, [], scalar, (), value, value, weak=True)

    def strong(self, e):
        """The same value with a type that does not adapt to its context."""
        return Expr(f"{e.scalar}({{0}})", [e], e.scalar, e.shape, e.low, e.high) if e.weak else e

    def fit(self, e, limit):
        """e, clamped to [-limit, limit] if it may be outside."""
        if e.scalar == "bool" or (e.low >= -limit and e.high <= limit):
            return e
        interval = max(e.low, -limit), min(e.high, limit)
        if not all(map(math.isfinite, interval)) or interval[0] > interval[1]:
            interval = -limit, limit
        if e.scalar in INTEGERS and self.chance(0.5) and limit >= 1 and math.isfinite(e.low) and math.isfinite(e.high):
            modulus = int(limit)
            if self.chance(0.5):
                return Expr(f"({{0}} % {modulus + 1})", [e], e.scalar, e.shape, -limit, limit)
            return Expr(f"mod({{0}}, {modulus + 1})", [e], e.scalar, e.shape, 0, limit)
        low, high = self.number(-limit, e.scalar), self.number(limit, e.scalar)
        return ranged("min(max({0}, {1}), {2})", [e, low, high], e.scalar, e.shape, interval, e.weak)

    def bounded(self, e):
        return self.fit(e, self.limit(e.scalar))

    # --- elementwise
    def expr(self, scalar, shape, context, depth):
        """A value of this type: a whole tensor for a shape, one element per point of the context for ()."""
        if depth <= 0 or self.chance(0.12):
            return self.leaf(scalar, shape, context)
        makers = [(self.elementwise, 10), (self.function, 3 if scalar != "bool" else 1), (self.choose, 1.5), (self.converted, 1)]
        if shape:
            makers += [(self.tensor_operation, 7), (self.everyday, self.weight("names", 2.5)), (self.keyed, self.weight("keys", 0.7))]
        else:
            makers += [(self.reduction, 5), (self.whole_reduction, 1.5 if context.points < 200 else 0)]
            makers += [(self.leaf_read, 3), (self.everyday_scalar, self.weight("names", 0.8)), (self.found, self.weight("names", 0.3)), (self.padded, self.weight("boundaries", 0.8)),
                       (self.keyed_scalar, self.weight("keys", 0.15)), (self.applied, self.weight("functions", 0.3))]
        if self.functions:
            makers += [(self.call, 1.5)]
        for _ in range(6):
            maker = self.rng.choices([m for m, _ in makers], [w for _, w in makers])[0]
            result = maker(scalar, shape, context, depth)
            if result is not None:
                return self.bounded(result)
        return self.leaf(scalar, shape, context)

    def padded(self, scalar, shape, context, depth):
        return self.padded_read(scalar, context)

    def leaf_read(self, scalar, shape, context, depth):
        return self.read(scalar, context)

    def operand_types(self, scalar):
        """Two types whose arithmetic result type is `scalar`."""
        if scalar == "f64" and self.chance(0.25):
            other = self.rng.choice(["i64", "i32", "f32", "bool"])
            return self.rng.choice([("f64", other), (other, "f64")])
        if scalar == "i64" and self.chance(0.25):
            other = self.rng.choice(["i32", "bool"])
            return self.rng.choice([("i64", other), (other, "i64"), ("bool", "bool")])
        if scalar == "f32" and self.chance(0.1):
            return "f32", "bool"
        return scalar, scalar

    def operand_shapes(self, shape):
        """Two shapes that broadcast to `shape`."""
        if not shape or self.chance(0.6):
            return shape, shape
        other = shape[self.rng.randrange(1, len(shape) + 1):]
        return (shape, other) if self.chance(0.5) else (other, shape)

    def pair(self, types, shapes, context, depth):
        a = self.expr(types[0], shapes[0], context, depth - 1)
        b = self.expr(types[1], shapes[1], context, self.rng.randrange(depth))
        if types[0] != types[1]:
            a, b = self.strong(a), self.strong(b)
        elif types[0] in ("i32", "f32") and a.weak and b.weak:
            a = self.strong(a)
        return a, b

    def elementwise(self, scalar, shape, context, depth):
        if scalar == "bool":
            return self.condition(shape, context, depth)
        types, shapes = self.operand_types(scalar), self.operand_shapes(shape)
        a, b = self.pair(types, shapes, context, depth)
        ia, ib, weak = (a.low, a.high), (b.low, b.high), a.weak and b.weak
        op = self.rng.choices(["+", "-", "*", "min", "max", "/", "%", "mod", "neg", "**"], [5, 4, 5, 2, 2, 1.5, 0.7, 0.7, 1, 0.7])[0]
        simple = {"+": intervals.add, "-": intervals.subtract, "*": intervals.multiply}
        if op in simple:
            if op == "*":
                root = math.sqrt(self.limit(scalar))
                a, b = self.fit(a, root), self.fit(b, root)
                ia, ib = (a.low, a.high), (b.low, b.high)
            return ranged(f"({{0}} {op} {{1}})", [a, b], scalar, shape, simple[op](ia, ib), weak)
        if types == ("bool", "bool"):
            return ranged("({0} + {1})", [a, b], scalar, shape, intervals.add(ia, ib))
        if op in ("min", "max"):
            interval = (intervals.minimum if op == "min" else intervals.maximum)(ia, ib)
            return ranged(f"{op}({{0}}, {{1}})", [a, b], scalar, shape, interval, weak)
        if shapes[0] != shape or types[0] != scalar:
            return None
        if self.chance(0.06):
            a = self.strong(a)
            return ranged(self.rng.choice(["sparse({0})", "dense({0})"]), [a], scalar, shape, (a.low, a.high))
        if op == "neg":
            return ranged("(-{0})", [a], scalar, shape, intervals.negate(ia), a.weak)
        if op == "**":
            power = self.rng.choice([2, 2, 3])
            a = self.fit(self.strong(a), self.limit(scalar) ** (1 / 3.1) // 1)
            largest = a.magnitude() ** power
            low = 0 if power == 2 else -largest
            return Expr(f"({{0}} ** {power})", [a], scalar, shape, low, largest, a.weak)
        return self.division(op, scalar, shape, a, context, depth)

    def division(self, op, scalar, shape, a, context, depth):
        """`/ % mod` with a divisor that is never 0."""
        if op == "/" and self.exact and scalar in FLOATS:
            if scalar == "f32":
                return None
            return Expr(self.rng.choice(["({0} / 2.0)", "({0} / 4.0)"]), [a], scalar, shape, *intervals.symmetric((a.low, a.high)))
        if self.chance(0.6):
            divisor = self.number(self.rng.choice([1, 2, 3, 5, -3]) if op != "/" else self.rng.choice([2, 3, -2, 4]), scalar)
        else:
            inner = self.fit(self.expr(scalar, shape, context, depth - 2), 50)
            one = self.number(1, scalar)
            divisor = ranged("(abs({0}) + {1})", [inner, one], scalar, shape, (1, inner.magnitude() + 1), inner.weak)
        largest = divisor.magnitude()
        if op == "/":
            return Expr("({0} / {1})", [a, divisor], scalar, shape, *intervals.symmetric((a.low, a.high)), a.weak and divisor.weak)
        if op == "mod":
            interval = (0, largest) if divisor.low > 0 else (-largest, 0)
            return ranged("mod({0}, {1})", [a, divisor], scalar, shape, interval, a.weak and divisor.weak)
        return Expr("({0} % {1})", [a, divisor], scalar, shape, -largest, largest, a.weak and divisor.weak)

    def condition(self, shape, context, depth):
        kind = self.rng.choices(["compare", "logic", "not", "test"], [6, 2, 1, 0.5])[0]
        if kind == "compare":
            t = self.rng.choice(["f64", "f64", "i64", "i32", "f32"])
            a, b = self.pair((t, t), self.operand_shapes(shape), context, depth)
            return Expr(f"({{0}} {self.rng.choice(['<', '<=', '>', '>=', '==', '!='])} {{1}})", [a, b], "bool", shape, 0, 1)
        if kind == "logic":
            a, b = self.pair(("bool", "bool"), (shape, shape), context, depth)
            return Expr(f"({{0}} {self.rng.choice(['&&', '||'])} {{1}})", [a, b], "bool", shape, 0, 1)
        if kind == "not":
            return Expr("(!{0})", [self.expr("bool", shape, context, depth - 1)], "bool", shape, 0, 1)
        return Expr(self.rng.choice(["isnan({0})", "isinf({0})"]), [self.expr("f64", shape, context, depth - 1)], "bool", shape, 0, 1)

    def function(self, scalar, shape, context, depth):
        if scalar == "bool":
            return None
        a = self.expr(scalar, shape, context, depth - 1)
        interval, whole = (a.low, a.high), intervals.whole
        table = [("abs({0})", intervals.absolute), ("sign({0})", intervals.constant(-1, 1)),
                 ("relu({0})", lambda x: intervals.maximum(x, (0, 0)))]
        if scalar in FLOATS:
            table += [("floor({0})", whole(math.floor)), ("ceil({0})", whole(math.ceil)), ("round({0})", whole(round)),
                      ("trunc({0})", whole(math.trunc))]
        if scalar in FLOATS and not self.exact:
            root = intervals.monotone(lambda x: math.sqrt(max(x, 0)))
            largest = a.magnitude()
            one = intervals.constant(-1, 1)
            table = table[:3] + [("sqrt(abs({0}))", intervals.constant(0, math.sqrt(largest))), ("sin({0})", one), ("cos({0})", one),
                                 ("tanh({0})", one), ("erf({0})", one), ("sigmoid({0})", intervals.constant(0, 1)),
                                 ("exp(-abs({0}))", intervals.constant(0, 1)), ("exp(min({0}, 2.0))", intervals.constant(0, 7.4)),
                                 ("log(abs({0}) + 1.0)", intervals.constant(0, math.log(largest + 1))),
                                 ("log1p(abs({0}))", intervals.constant(0, math.log1p(largest))),
                                 ("expm1(min({0}, 1.0))", intervals.constant(-1, 1.72)),
                                 ("tan(min(max({0}, -1.0), 1.0))", intervals.constant(-1.6, 1.6)),
                                 ("atan({0})", intervals.constant(-1.6, 1.6)), ("asinh({0})", intervals.monotone(math.asinh)),
                                 ("asin(clip({0}, -1.0, 1.0))", intervals.constant(-1.6, 1.6)),
                                 ("acos(clip({0}, -1.0, 1.0))", intervals.constant(0, 3.2)),
                                 ("atanh(clip({0}, -0.5, 0.5))", intervals.constant(-0.6, 0.6)),
                                 ("acosh(abs({0}) + 1.5)", intervals.constant(0.9, math.acosh(largest + 1.5))),
                                 ("sinh(clip({0}, -1.0, 1.0))", intervals.constant(-1.2, 1.2)),
                                 ("cosh(clip({0}, -1.0, 1.0))", intervals.constant(1, 1.6)),
                                 ("cbrt(abs({0}) + 0.1)", intervals.constant(0, largest + 1)),
                                 ("log2(abs({0}) + 1.0)", intervals.constant(0, math.log2(largest + 1))),
                                 ("log10(abs({0}) + 1.0)", intervals.constant(0, math.log10(largest + 1))),
                                 ("exp2(min({0}, 2.0))", intervals.constant(0, 4)), ("erfc({0})", intervals.constant(0, 2)),
                                 ("lgamma(clip({0}, 0.5, 3.0))", intervals.constant(-0.2, 0.8)),
                                 ("gamma(clip({0}, 0.5, 3.0))", intervals.constant(0.8, 2.1)),
                                 ("digamma(clip({0}, 0.5, 3.0))", intervals.constant(-2.1, 1)),
                                 ("hypot({0}, 1.5)", intervals.constant(1.5, largest + 1.5)),
                                 ("atan2({0}, 1.5)", intervals.constant(-1.6, 1.6)),
                                 ("(abs({0}) ** 0.5)", intervals.constant(0, math.sqrt(largest))),
                                 ("pow(abs({0}) + 0.5, 1.5)", intervals.constant(0, (largest + 0.5) ** 1.5))] + table[3:4]
            if a.low >= 0:
                table.append(("sqrt({0})", root))
        template, rule = self.rng.choice(table)
        return ranged(template, [a], scalar, shape, rule(interval), a.weak)

    def choose(self, scalar, shape, context, depth):
        a, b = self.pair((scalar, scalar), (shape, shape), context, depth)
        interval = intervals.union((a.low, a.high), (b.low, b.high))
        weak = a.weak and b.weak
        if shape or self.chance(0.3):
            c = self.expr("bool", shape, context, depth - 1)
            return ranged("where({0}, {1}, {2})", [c, a, b], scalar, shape, interval, weak)
        c = self.expr("bool", (), context, depth - 1)
        return ranged("(if {0} then {1} else {2})", [c, a, b], scalar, shape, interval, weak)

    def converted(self, scalar, shape, context, depth):
        if scalar == "bool":
            return None
        sources = {"f64": ["i64", "i32", "f32", "bool"], "f32": ["i32", "f64", "bool"], "i64": ["f64", "i32", "bool"],
                   "i32": ["i64", "f64", "bool"]}[scalar]
        a = self.expr(self.rng.choice(sources), shape, context, depth - 1)
        a = self.fit(a, min(self.limit(scalar), self.limit(a.scalar)))
        return Expr(f"{scalar}({{0}})", [a], scalar, shape, *intervals.symmetric((a.low, a.high)))

    def call(self, scalar, shape, context, depth):
        """A user's scalar function, applied elementwise."""
        fitting = [f for f in self.functions if f.scalar == scalar and f.elementwise]
        if not fitting:
            return None
        f = self.rng.choice(fitting)
        arguments = [self.strong(self.fit(self.expr(p.scalar, shape, context, depth - 1), p.high)) for p in f.parameters]
        holes = ", ".join(f"{{{n}}}" for n in range(len(arguments)))
        return Expr(f"${f.name}({holes})", arguments, scalar, shape, f.low, f.high)

    # --- leaves
    def leaf(self, scalar, shape, context):
        if scalar == "bool" and self.chance(0.6):
            # Few tensors are bool: comparisons of others are more informative than constants.
            t = self.rng.choice(["f64", "f64", "i64"])
            a = self.leaf(t, shape, context)
            if not a.weak:
                return Expr(f"({{0}} {self.rng.choice(['<', '>', '<=', '==', '!='])} {{1}})", [a, self.literal(t)], "bool", shape, 0, 1)
        fitting = [v for v in self.values if v.scalar == scalar and v.shape == tuple(shape)]
        if shape:
            if fitting and self.chance(0.92):
                v = self.rng.choice(fitting)
                return Expr(f"${v.name}", [], scalar, shape, v.low, v.high)
            return self.constructor(scalar, shape, context)
        options = [(lambda: self.literal(scalar), 1.2)]
        if fitting:
            v = self.rng.choice(fitting)
            options.append((lambda: Expr(f"${v.name}", [], scalar, (), v.low, v.high), 3))
        if context.labels or context.loops or self.chance(0.5):
            options.append((lambda: self.read(scalar, context), 12))
        if scalar == "i64":
            options.append((lambda: self.position(context), 2))
        result = self.rng.choices([o for o, _ in options], [w for _, w in options])[0]()
        return result if result is not None else self.literal(scalar)

    def position(self, context):
        """An index variable, loop variable or extent as a number."""
        labels = context.labels + context.loops
        if labels and self.chance(0.8):
            label = self.rng.choice(labels)
            return Expr(label.name, [], "i64", (), min(label.low, label.high), max(label.low, label.high - 1))
        if not self.dims:
            return self.literal("i64")
        dim = self.rng.choice(self.dims)
        text = dim.text if dim.text.isidentifier() else f"({dim.text})"
        return Expr(text, [], "i64", (), dim.size, dim.size, weak="$" not in dim.text)

    def constructor(self, scalar, shape, context):
        sizes = ", ".join(d.text for d in shape)
        other = [v for v in self.values if v.shape == tuple(shape) and v.scalar != "bool"]
        if other and scalar != "bool" and self.chance(0.6):
            v = self.rng.choice(other)
            e = Expr(f"${v.name}", [], v.scalar, shape, v.low, v.high)
            if v.scalar == scalar:
                return e
            e = self.fit(e, min(self.limit(scalar), self.limit(v.scalar)))
            return Expr(f"{scalar}({{0}})", [e], scalar, shape, *intervals.symmetric((e.low, e.high)))
        if scalar == "bool":
            if len(shape) == 1:
                return Expr(f"(iota({sizes}) % 2 == {self.rng.randrange(2)})", [], "bool", shape, 0, 1)
            return Expr(f"(full({self.rng.randrange(3)}, {sizes}) > 0)", [], "bool", shape, 0, 1)
        if scalar in FLOATS and self.random_allowed and self.chance(0.25):
            if self.exact:
                e = Expr(f"floor(random({sizes}) * 8.0)", [], "f64", shape, 0, 8)
            elif self.chance(0.6):
                e = Expr(f"random({sizes})", [], "f64", shape, 0, 1)
            else:
                e = Expr(f"randn({sizes})", [], "f64", shape, -6, 6)
            return e if scalar == "f64" else Expr("f32({0})", [e], "f32", shape, e.low, e.high)
        if scalar == "i64" and len(shape) == 1 and self.chance(0.6):
            return Expr(f"iota({sizes})", [], "i64", shape, 0, max(shape[0].size - 1, 0))
        kind = self.rng.choice(["zeros", "ones", "full", "eye"])
        if kind == "eye" and len(shape) == 2:
            return Expr(f"eye({sizes})", [], scalar, shape, 0, 1, weak=True)
        if kind == "full":
            v = self.literal(scalar)
            return ranged(f"full({{0}}, {sizes})", [v], scalar, shape, (v.low, v.high), weak=v.weak)
        value = 0 if kind == "zeros" else 1
        return Expr(f"{'zeros' if value == 0 else 'ones'}({sizes})", [], scalar, shape, value, value, weak=True)

    # --- reads and subscripts
    def read(self, scalar, context, label=None):
        """One element of a tensor; with `label`, one that has it as a bare subscript."""
        fitting = [v for v in self.values if v.scalar == scalar and v.shape]
        if label is not None:
            fitting = [v for v in fitting if label.dim in v.shape]
        self.rng.shuffle(fitting)
        for v in fitting[:3]:
            subscripts = self.subscripts(v.shape, label, lambda dim: self.subscript(dim, context))
            if subscripts is not None:
                return element(f"${v.name}", subscripts, scalar, v.low, v.high)
        return None

    def subscripts(self, shape, label, other):
        """A subscript for each dimension, or None: `label`, unless it is None, stands bare in one of its dimensions, and `other(dim)` in the rest."""
        at = -1 if label is None else self.rng.choice([d for d, dim in enumerate(shape) if dim == label.dim])
        chosen = [label.bare(dim.text) if d == at else other(dim) for d, dim in enumerate(shape)]
        return None if any(s is None for s in chosen) else chosen

    def subscript(self, dim, context):
        """An integer in [0, dim.size), or None."""
        size, options = dim.size, []
        for label in context.labels + context.loops:
            low, high = label.low, label.high  # half-open
            fits = 0 <= low and high <= size  # also for an empty range: the compiler rejects subscripts whose range never fits
            if label.dim == dim or (label.dim is None and fits):
                options.append((label.bare(dim.text), 10))
            if size == 0 or label.dim is not None and label.dim.size == 0:
                continue
            if self.longer(label, dim):
                options.append((label.bare(LONGER), 8))
            c = self.rng.choice([1, 1, 2, 3])
            texts = []
            if low - c >= 0 and high - c <= size:
                texts.append((f"{label.name} - {c}", 4))
            if low + c >= 0 and high + c <= size:
                texts.append((f"{label.name} + {c}", 4))
            if low + c >= 0:
                texts.append((f"({label.name} + {c}) % {dim.atom()}", 0.7))
            texts.append((f"mod({label.name} - {c}, {dim.text})", 0.7))
            if low >= 0 and high <= size:
                texts.append((f"{dim.text} - 1 - {label.name}", 1.5))
            if low >= 0 and 2 * (high - 1) + 1 < size:
                texts += [(f"2 * {label.name}", 1.5), (f"2 * {label.name} + 1", 1)]
            if low >= 0 and (high - 1) // 2 < size:
                texts.append((f"{label.name} / 2", 0.4))
            texts.append((f"min(max({label.name} - {c}, 0), {dim.text} - 1)", 0.4))
            options += [(Expr(t, [], "i64", (), 0, size - 1), w) for t, w in texts]
        if size > 0:
            constant = self.rng.choice([0, 0, min(1, size - 1), size - 1, -1])
            options.append((Expr(str(constant), [], "i64", (), constant, constant), 0.7 if options else 5))
            options.append((Expr(f"{dim.text} - 1", [], "i64", (), size - 1, size - 1), 0.3))
            if self.chance(0.2):
                options.append((self.computed(dim, context), 6))
        options = [o for o in options if o[0] is not None]
        if not options:
            return None
        return self.rng.choices([o for o, _ in options], [w for _, w in options])[0]

    def computed(self, dim, context):
        """A gathered subscript."""
        tables = [v for v in self.values if v.scalar in INTEGERS and len(v.shape) == 1 and v.low >= 0 and v.high < dim.size]
        if tables:
            v = self.rng.choice(tables)
            inner = self.subscript(v.shape[0], context)
            if inner is not None:
                return Expr(f"${v.name}[{{0}}]", [inner], "i64", (), v.low, v.high)
        numbers = [v for v in self.values if v.scalar == "i64" and not v.shape]
        if numbers:
            return Expr(f"mod(${self.rng.choice(numbers).name}, {dim.text})", [], "i64", (), 0, dim.size - 1)
        return None
