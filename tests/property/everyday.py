"""Everyday names of section 11 of the language: array literals, statistics, tables, structure, slices."""
import intervals
from expressions import ranged
from model import Dim, Expr, FLOATS, Stmt
from operations import MOST_ELEMENTS, size_of


class Everyday:
    # --- tensors of a given shape
    def everyday(self, scalar, shape, context, depth):
        makers = [(self.reversed_slice, 2), (self.thinned, 2), (self.rebuilt, 1.5), (self.difference, 2), (self.taken, 1.5), (self.like, 1), (self.array_literal, 3),
                  (self.statistic, 4), (self.table, 3), (self.counted, 6 if len(shape) == 1 else 0), (self.ramp, 1), (self.clipped, 1), (self.close, 8 if scalar == "bool" else 0)]
        maker = self.rng.choices([m for m, _ in makers], [w for _, w in makers])[0]
        return maker(scalar, shape, context, depth)

    def same_values(self, template, scalar, shape, context, depth):
        """A template that selects or rearranges elements of an operand of the same shape."""
        a = self.strong(self.expr(scalar, shape, context, depth - 1))
        return ranged(template, [a], scalar, shape, (a.low, a.high))

    def reversed_slice(self, scalar, shape, context, depth):
        """Slices that count down, `...`, `newaxis`."""
        if self.chance(0.3):
            return self.same_values(self.rng.choice(["({0})[...]", "({0})[..., ::-1]", "({0})[::-1, ...]", "({0})[newaxis, ...][0, ...]"]), scalar, shape, context, depth)
        axis = self.rng.randrange(len(shape))
        longer = next((d for d in self.dims if shape[axis].text == f"{d.text} - 1" or d.text == f"{shape[axis].text} + 1"), None)
        if longer is None or longer.size < 1:
            return self.same_values("({0})[" + ", ".join(self.rng.choice([":", "::-1"]) for _ in shape) + "]", scalar, shape, context, depth)
        whole = shape[:axis] + (longer,) + shape[axis + 1:]
        a = self.strong(self.expr(scalar, whole, context, depth - 1))
        part = self.rng.choice([":0:-1", f"{longer.text} - 1:0:-1", "-2::-1"])
        cut = [self.rng.choice([":", "::-1"]) for _ in shape]
        cut[axis] = part
        return ranged(f"({{0}})[{', '.join(cut)}]", [a], scalar, shape, (a.low, a.high))

    def thinned(self, scalar, shape, context, depth):
        """`repeat`, `tile` or `kron`, and a slice that takes the original elements."""
        axis, k = self.rng.randrange(len(shape)), self.rng.choice([2, 2, 3])
        if not 0 < size_of(shape) * k <= MOST_ELEMENTS:
            return None
        cut = lambda part: "[" + ", ".join(part if d == axis else ":" for d in range(len(shape))) + "]"
        n = shape[axis].text
        if self.chance(0.5):
            along = f", axis={axis}" if len(shape) > 1 or self.chance(0.3) else ""
            return self.same_values(f"repeat({{0}}, {k}{along})" + cut(self.rng.choice([f"::{k}", f"{k - 1}::{k}"])), scalar, shape, context, depth)
        factors = ", ".join(str(k) if d == axis else "1" for d in range(len(shape)))
        return self.same_values(f"tile({{0}}, {factors})" + cut(self.rng.choice([f"0:{n}", f"{n}:2 * {shape[axis].atom()}"])), scalar, shape, context, depth)

    def rebuilt(self, scalar, shape, context, depth):
        """`flatten` or `stack`, undone."""
        sizes = ", ".join(d.text for d in shape)
        if self.chance(0.4):
            return self.same_values(f"reshape(flatten({{0}}), {sizes})", scalar, shape, context, depth)
        if len(shape) > 3 or scalar == "bool":
            return None
        a, b = (self.strong(self.expr(scalar, shape, context, depth - 1)) for _ in range(2))
        axis, interval = self.rng.randrange(len(shape) + 1), intervals.union((a.low, a.high), (b.low, b.high))
        if self.chance(0.6):
            cut = ", ".join(self.rng.choice(["0", "1", "-1"]) if d == axis else ":" for d in range(len(shape) + 1))
            return ranged(f"stack({{0}}, {{1}}, axis={axis})[{cut}]", [a, b], scalar, shape, interval)
        return ranged(f"{self.rng.choice(['max', 'min'])}([{{0}}, {{1}}], axis=0)", [a, b], scalar, shape, interval)

    def difference(self, scalar, shape, context, depth):
        if scalar == "bool":
            return None
        for axis, dim in enumerate(shape):
            longer = next((d for d in self.dims if dim.text == f"{d.text} - 1" or d.text == f"{dim.text} + 1"), None)
            if longer is None or longer.size < 1:
                continue
            a = self.strong(self.expr(scalar, shape[:axis] + (longer,) + shape[axis + 1:], context, depth - 1))
            along = "" if axis == len(shape) - 1 and self.chance(0.5) else f", axis={axis}"
            return ranged(f"diff({{0}}{along})", [a], scalar, shape, intervals.subtract((a.low, a.high), (a.low, a.high)))
        return None

    def places(self, shape, extent, context, depth):
        """Integers in [0, extent)."""
        e = self.strong(self.expr(self.rng.choice(["i64", "i64", "i32"]), shape, context, depth - 1))
        return ranged(f"mod({{0}}, {extent.text})", [e], "i64", shape, (0, extent.size - 1))

    def taken(self, scalar, shape, context, depth):
        """`take(A, p)`: an axis of A is replaced by all or some of the dimensions."""
        axis = self.rng.randrange(len(shape))
        width = 2 if axis + 1 < len(shape) and self.chance(0.3) else 1
        source = self.rng.choice(self.dims)
        whole = shape[:axis] + (source,) + shape[axis + width:]
        if source.size == 0 or size_of(whole) > MOST_ELEMENTS:
            return None
        a = self.strong(self.expr(scalar, whole, context, depth - 1))
        p = self.places(shape[axis:axis + width], source, context, depth - 1)
        along = "" if axis == 0 and self.chance(0.5) else f", axis={axis}"
        return ranged(f"take({{0}}, {{1}}{along})", [a, p], scalar, shape, (a.low, a.high))

    def like(self, scalar, shape, context, depth):
        if scalar == "bool":
            return None
        a, kind = self.strong(self.expr(scalar, shape, context, 1)), self.rng.choice(["zeros", "ones", "full"])
        if kind != "full":
            value = 0 if kind == "zeros" else 1
            return ranged(f"{kind}_like({{0}})", [a], scalar, shape, (value, value))
        v = self.expr(scalar, (), context, 1)
        return ranged("full_like({0}, {1})", [a, v], scalar, shape, (v.low, v.high))

    def array_literal(self, scalar, shape, context, depth):
        """Where the first extent is a small number; else a literal whose elements are taken by place."""
        if shape[0].text.isdigit() and 1 <= shape[0].size <= 4:
            parts = [self.strong(self.expr(scalar, shape[1:], context, 1 if shape[1:] else 0)) for _ in range(shape[0].size)]
            low, high = min(p.low for p in parts), max(p.high for p in parts)
            return Expr("[" + ", ".join(f"{{{k}}}" for k in range(len(parts))) + "]", parts, scalar, shape, low, high)
        parts = [self.strong(self.expr(scalar, (), context, 1)) for _ in range(self.rng.choice([1, 2, 3]))]
        low, high = min(p.low for p in parts), max(p.high for p in parts)
        p = self.places(shape, Dim(str(len(parts)), len(parts)), context, depth - 1)
        holes = ", ".join(f"{{{k}}}" for k in range(len(parts)))
        return Expr(f"take([{holes}], {{{len(parts)}}})", parts + [p], scalar, shape, low, high)

    def clipped(self, scalar, shape, context, depth):
        if scalar == "bool":
            return None
        a = self.strong(self.expr(scalar, shape, context, depth - 1))
        low = self.rng.choice([-2, -1, 0])
        high = low + self.rng.choice([0, 1, 3])
        limits = [self.number(x, scalar) for x in (low, high)]
        e = ranged("clip({0}, {1}, {2})", [a, *limits], scalar, shape, (low, high))
        if scalar in FLOATS and self.chance(0.4):
            other = self.strong(self.expr(scalar, shape, context, depth - 1))
            return ranged("copysign({0}, {1} + 0.25)", [e, other], scalar, shape, intervals.symmetric((low, high)))
        return e

    def close(self, scalar, shape, context, depth):
        if scalar != "bool":
            return None
        a, b = self.pair(("f64", self.rng.choice(["f64", "f64", "i64"])), (shape, shape), context, depth)
        return Expr(self.rng.choice(["isclose({0}, {1})", "isclose({0}, {1}, atol=1.5)", "isclose({0}, {1}, rtol=0.0)", "isfinite({0} - {1})"]), [a, b], "bool", shape, 0, 1)

    # --- statistics
    def statistic(self, scalar, shape, context, depth):
        """Order statistics and variances along new axes, or of a whole tensor for a scalar."""
        if scalar not in FLOATS or self.exact and scalar == "f32" or not self.dims:
            return None
        axes, full = [], list(shape)
        if shape:
            for _ in range(self.rng.choice([1, 1, 2])):
                at = self.rng.randrange(len(full) + 1)
                axes = [a + (a >= at) for a in axes] + [at]
                full.insert(at, self.rng.choice(self.dims))
        else:
            full = list(self.shape(1, 2))
        count = size_of([full[a] for a in axes] if axes else full)
        if count == 0 or len(full) > 4 or size_of(full) * context.points > MOST_ELEMENTS:
            return None
        a = self.fit(self.strong(self.expr(scalar, tuple(full), context if shape else context.closed(), depth - 1)), int(self.limit(scalar) ** 0.5 / 4))
        axis = "" if not axes else f", axis={axes[0]}" if len(axes) == 1 else f", axis=({axes[0]}, {axes[1]})"
        choices = ["median({0}", "quantile({0}, 0.25", "quantile({0}, 1.0", "quantile({0}, 0.0", "quantile({0}, 0.5"]
        if self.exact:
            return ranged(self.rng.choice(choices) + axis + ")", [a], scalar, shape, (a.low, a.high))
        kind = self.rng.choice(choices + ["quantile({0}, 0.3", "variance({0}", "std({0}"] + (["variance({0}, ddof=1", "std({0}, ddof=1"] if count > 1 else []))
        reach = a.magnitude()
        spread = (0, 4 * reach * reach + 1) if kind.startswith("variance") else (0, 3 * reach + 1)
        return ranged(kind + axis + ")", [a], scalar, shape, spread if kind[0] in "vs" else (a.low, a.high))

    # --- tables
    def ascending(self, scalar, context, depth, strictly=False):
        """An ascending vector of at least one element."""
        dims = [d for d in self.dims if d.size > 0]
        if not dims:
            return None
        n = self.rng.choice(dims)
        if strictly:
            if self.exact:
                return Expr(f"f64(iota({n.text}))", [], "f64", (n,), 0, n.size - 1)
            e = self.fit(self.strong(self.expr(scalar, (n,), context, 1)), 4)
            return ranged("cumsum(abs({0}) + 0.5)", [e], scalar, (n,), (0, 4.5 * n.size))
        e = self.strong(self.expr(scalar, (n,), context, 1))
        return ranged("sort({0})", [e], scalar, (n,), (e.low, e.high))

    def table(self, scalar, shape, context, depth):
        """searchsorted and interp."""
        if scalar == "i64":
            t = self.rng.choice(["f64", "i64"])
            v = self.ascending(t, context.closed(), depth)
            if v is None:
                return None
            x = self.strong(self.expr(t, shape, context, depth - 1))
            side = self.rng.choice(["", ", side=left", ", side=right"])
            return ranged(f"searchsorted({{0}}, {{1}}{side})", [v, x], "i64", shape, (0, v.shape[0].size))
        if scalar != "f64":
            return None
        xp = self.ascending("f64", context.closed(), depth, True)
        if xp is None:
            return None
        fp = self.strong(self.expr("f64", xp.shape, context.closed(), 1))
        x = self.strong(self.expr("f64", shape, context, depth - 1))
        reach = max(abs(fp.low), abs(fp.high)) + 1
        if self.exact:
            x = ranged("floor({0})", [x], "f64", shape, (x.low - 1, x.high))
        return ranged("interp({0}, {1}, {2})", [x, xp, fp], "f64", shape, (-reach, reach))

    def found(self, scalar, shape, context, depth):
        """A scalar of a tensor whose extent data determine."""
        if not self.dims:
            return None
        source = self.shape(1, 2)
        k = self.strong(self.expr("i64", source, context.closed(), depth - 1))
        total = size_of(source)
        if scalar == "i64":
            return ranged(self.rng.choice(["size(unique({0}))", "size(filter({0}, {0} > 1))", "size(filter({0}, {0} % 2 == 0))"]), [k], "i64", (), (0, total))
        if len(source) != 1 or scalar != "f64":
            return None
        x = self.fit(self.strong(self.expr("f64", source, context.closed(), depth - 1)), int(self.limit("f64") / max(total, 1)))
        return ranged(self.rng.choice(["sum(filter({1}, {0} > 0))", "sum(take({1}, nonzero({0})))"]), [k, x], "f64", (), intervals.of_sum((x.low, x.high), total))

    def counted(self, scalar, shape, context, depth):
        """histogram and bincount."""
        if len(shape) != 1 or shape[0].size == 0 or scalar not in ("i64", "f64"):
            return None
        n, source = shape[0], self.shape(1, 2)
        total = size_of(source)
        if scalar == "i64" and self.chance(0.6):
            x = self.strong(self.expr(self.rng.choice(["f64", "f64", "i64"]), source, context, depth - 1))
            low, high = ("0.0", f"f64({n.text})") if self.exact else self.rng.choice([("0.0", "1.0"), ("-1.5", "2.5")])
            return ranged(f"histogram({{0}}, {low}, {high}, {n.text})", [x], "i64", shape, (0, total))
        if len(source) != 1:
            return None
        p = self.places(source, n, context, depth)
        if scalar == "i64":
            return ranged(f"bincount({{0}}, {n.text})", [p], "i64", shape, (0, total))
        w = self.fit(self.strong(self.expr("f64", source, context, depth - 1)), int(self.limit("f64") / max(total, 1)))
        return ranged(f"bincount({{0}}, {n.text}, weights={{1}})", [p, w], "f64", shape, intervals.of_sum((w.low, w.high), total))

    def ramp(self, scalar, shape, context, depth):
        if len(shape) != 1 or shape[0].size == 0:
            return None
        n = shape[0]
        if scalar == "i64":
            template, low, high = self.rng.choice([(f"iota(2, {n.text} + 2)", 2, n.size + 1), (f"iota(2 * {n.atom()}, 0, -2)", 2, 2 * n.size), (f"iota(1, 3 * {n.atom()}, 3)", 1, 3 * n.size - 2)])
            return Expr(template, [], "i64", shape, low, high)
        if scalar != "f64":
            return None
        if self.exact:
            return Expr(f"linspace(0.0, f64({n.text} - 1), {n.text})", [], "f64", shape, 0, n.size - 1)
        return Expr(f"linspace({self.rng.choice(['-1.0, 2.0', '0.0, 1.0', 'pi, -pi'])}, {n.text})", [], "f64", shape, -3.2, 3.2)

    # --- scalars
    def everyday_scalar(self, scalar, shape, context, depth):
        """An element of a literal, a place in a table, a statistic, a size."""
        kind = self.rng.choice(["literal", "literal", "table", "statistic", "size", "close"])
        if kind == "literal":
            parts = [self.strong(self.literal(scalar)) for _ in range(self.rng.choice([1, 2, 3, 3]))]
            at = self.position(context)
            holes = ", ".join(f"{{{k}}}" for k in range(len(parts)))
            return Expr(f"[{holes}][mod({{{len(parts)}}}, {len(parts)})]", parts + [at], scalar, (), min(p.low for p in parts), max(p.high for p in parts))
        if kind == "table":
            return self.table(scalar, (), context, depth) if context.points < 200 else None
        if kind == "statistic":
            return self.statistic(scalar, (), context, depth)
        tensors = [v for v in self.values if v.shape]
        if kind == "size" and scalar == "i64" and tensors:
            v = self.rng.choice(tensors)
            d = self.rng.randrange(len(v.shape))
            if self.chance(0.5):
                return Expr(f"size(${v.name})", [], "i64", (), size_of(v.shape), size_of(v.shape))
            return Expr(f"size(${v.name}, {d})", [], "i64", (), v.shape[d].size, v.shape[d].size)
        if kind == "close" and scalar == "bool" and tensors:
            v = self.rng.choice(tensors)
            return Expr(f"allclose(${v.name}, ${v.name}[{', '.join(['::-1'] + [':'] * (len(v.shape) - 1))}])", [], "bool", (), 0, 1) if v.scalar != "bool" else None
        return None

    # --- declarations with extents of their own
    def grown(self, context):
        """`tile`, `repeat`, `kron`, `flatten`, running results over all elements: the extents are products."""
        found = [v for v in self.values if 1 <= len(v.shape) <= 2 and v.scalar != "bool" and 0 < size_of(v.shape) * 2 <= MOST_ELEMENTS]
        if not found:
            return None
        v = self.rng.choice(found)
        name, n, interval = f"${v.name}", v.shape, (v.low, v.high)
        product = lambda a, b: Dim(f"{a.atom()} * {b.atom()}", a.size * b.size)
        two = Dim("2", 2)
        kinds = [(f"flatten({name}[::-1, ...])", (product(*n),) if len(n) == 2 else n), (f"tile({name}{', 1' * (len(n) - 1)}, 2)", n[:-1] + (product(two, n[-1]),)),
                 (f"repeat({name}, 2, axis=0)", (product(two, n[0]),) + n[1:]), (f"stack({name}, {name}[::-1, ...], axis=-1)", n + (two,)),
                 (f"[{name}, -{name}]", (two,) + n), (f"{name}[newaxis, ...]", (Dim("1", 1),) + n)]
        if len(n) == 1:
            kinds.append((f"kron({name}, [1, 2])" if v.scalar == "i64" else f"kron([1.0, 2.0], {name})" if v.scalar == "f64" else f"flatten({name})",
                          (product(n[0], two) if v.scalar == "i64" else product(two, n[0]) if v.scalar == "f64" else n[0],)))
        else:
            kinds += [(f"{op}({name})", (product(*n),)) for op in ("cummax", "cummin")]
        text, shape = self.rng.choice(kinds)
        reach = 2 * max(map(abs, interval))
        if reach > self.limit(v.scalar):
            return None
        e = Expr(text, [], v.scalar, shape, -reach, reach)
        result = self.new_name("t")
        self.declare(result, e)
        typed = f": {self.dense_type_text(v.scalar, shape)}" if self.chance(0.5) else ""
        return Stmt(f"let ${result}{typed} = {text};")
