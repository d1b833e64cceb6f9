"""Random uses of library routines, scatters and derivatives."""
import intervals
from expressions import Context, Label, MOST_POINTS, ranged
from model import Dim, Expr, FLOATS, INTEGERS, Stmt
from operations import MOST_ELEMENTS, Operations, size_of

SMALL_MATRIX = 9
SCATTER_OPERATORS = ["+=", "+=", "-=", "min=", "max=", "*="]


class Routines(Operations):
    # --- along lines
    def line_routine(self, scalar, shape, context, depth):
        kind = self.rng.choice(["cumsum", "sort", "argsort", "cummax", "cummin", "cumprod"])
        axis = self.rng.randrange(len(shape))
        along = f", axis={axis}" if len(shape) > 1 or self.chance(0.5) else ""
        if not along and len(shape) > 1:
            return None
        if kind == "argsort" and scalar == "i64":
            source = self.rng.choice(["f64", "i64", "i32", "f32"])
            a = self.strong(self.expr(source, shape, context, depth - 1))
            return ranged(f"argsort({{0}}{along})", [a], "i64", shape, (0, max(shape[axis].size - 1, 0)))
        if kind == "sort" and scalar != "bool":
            a = self.strong(self.expr(scalar, shape, context, depth - 1))
            return ranged(f"sort({{0}}{along})", [a], scalar, shape, (a.low, a.high))
        if kind in ("cummax", "cummin") and scalar != "bool":
            a = self.strong(self.expr(scalar, shape, context, depth - 1))
            return ranged(f"{kind}({{0}}{along})", [a], scalar, shape, (a.low, a.high))
        if kind == "cumprod" and scalar in ("f64", "f32", "i64"):
            a = self.fit(self.strong(self.expr(scalar, shape, context, depth - 1)), 1)
            return ranged(f"cumprod({{0}}{along})", [a], scalar, shape, (-1, 1))
        if kind == "cumsum" and scalar in ("f64", "f32", "i64"):
            count = max(shape[axis].size, 1)
            a = self.fit(self.strong(self.expr(scalar, shape, context, depth - 1)), int(self.limit(scalar) / count))
            return ranged(f"cumsum({{0}}{along})", [a], scalar, shape, intervals.of_sum((a.low, a.high), count))
        return None

    def top_elements(self, context):
        """`let (v, p) = topk(A, k);`"""
        shape = self.shape(1, 2)
        if shape[-1].size == 0:
            return None
        scalar, count = self.rng.choice(["f64", "f64", "i64", "f32", "i32"]), self.rng.randrange(1, shape[-1].size + 1)
        a = self.strong(self.expr(scalar, shape, context, 2))
        result = shape[:-1] + (Dim(str(count), count),)
        values = ranged("", [], scalar, result, (a.low, a.high))
        places = ranged("", [], "i64", result, (0, shape[-1].size - 1))
        return self.several("topk({0}, " + str(count) + ")", [a], [values, places])

    def several(self, template, exprs, results):
        names = [self.new_name("t") for _ in results]
        for name, e in zip(names, results):
            self.declare(name, e)
        return Stmt(f"let ({', '.join('$' + n for n in names)}) = {template};", exprs)

    # --- matrices: in general programs only, because their results are not integers
    def matrix_dim(self):
        fitting = [d for d in self.dims if d.size <= SMALL_MATRIX]
        return self.rng.choice(fitting) if fitting else None

    def regular(self, scalar, n, context, depth):
        """A diagonally dominant matrix."""
        e = self.fit(self.strong(self.expr(scalar, (n, n), context, depth - 1)), 1)
        heavy = 2 * n.size + 1
        return ranged(f"({{0}} + {heavy}.0 * eye({n.text}))", [e], scalar, (n, n), (-1, heavy + 1))

    def definite(self, scalar, n, context, depth):
        e = self.fit(self.strong(self.expr(scalar, (n, n), context, depth - 1)), 1)
        heavy = 4 * n.size + 1
        return ranged(f"({{0}} + {{1}}' + {heavy}.0 * eye({n.text}))", [e, e.copy()], scalar, (n, n), (-2, heavy + 2))

    def solved(self, scalar, shape, context, depth):
        """solve, inv or cholesky as part of an expression."""
        if self.exact or scalar not in FLOATS or len(shape) > 2 or shape[0].size > SMALL_MATRIX:
            return None
        outer, self.random_allowed = self.random_allowed, False
        result = self.solved_value(scalar, shape, context, depth)
        self.random_allowed = outer
        return result

    def solved_value(self, scalar, shape, context, depth):
        kind = self.rng.choice(["solve", "solve", "inv", "cholesky"])
        if kind == "solve":
            a = self.regular(scalar, shape[0], context, depth)
            b = self.fit(self.strong(self.expr(scalar, shape, context, depth - 1)), 100)
            return ranged("solve({0}, {1})", [a, b], scalar, shape, (-101, 101))
        if len(shape) != 2 or shape[0] != shape[1]:
            return None
        if kind == "inv":
            return ranged("inv({0})", [self.regular(scalar, shape[0], context, depth)], scalar, shape, (-2, 2))
        a = self.definite(scalar, shape[0], context, depth)
        return ranged("cholesky({0})", [a], scalar, shape, (-a.high, a.high))

    def factorisation(self, context):
        """A matrix routine of a well-conditioned operand."""
        n = self.matrix_dim()
        if self.exact or n is None:
            return None
        scalar = self.rng.choice(["f64", "f64", "f64", "f32"])
        self.random_allowed = False
        try:
            makers = [self.lu, self.qr, self.qr, self.lstsq, self.eigh, self.svd, self.det, self.solution, self.solution]
            return self.rng.choice(makers)(scalar, n, context)
        finally:
            self.random_allowed = True

    def solution(self, scalar, n, context):
        shape = self.rng.choice([(n,), (n, n), (n, n)])
        value = self.solved_value(scalar, shape, context, 2)
        return None if value is None else self.declaration("let", value)

    def lu(self, scalar, n, context):
        a = self.regular(scalar, n, context, 2)
        if self.chance(0.6):
            a = ranged("flip({0}, axis=0)", [a], scalar, (n, n), (a.low, a.high))
        results = [ranged("", [], "i64", (n,), (0, max(n.size - 1, 0)))]
        results += [ranged("", [], scalar, (n, n), (-reach, reach)) for reach in (1.1, 4 * a.high)]
        return self.several("lu({0})", [a], results)

    def tall(self, scalar, n, context):
        """A well-conditioned matrix with at least as many rows as columns."""
        rows = self.rng.choice([d for d in self.dims if d.size >= n.size])
        e = self.fit(self.strong(self.expr(scalar, (rows, n), context, 1)), 1)
        name, heavy = self.new_name("x"), 2 * rows.size + 1
        self.declare(name, ranged("", [], scalar, (rows, n), (-1, heavy + 1)))
        head = Stmt(f"let ${name} = {{0}} + {heavy}.0 * eye({rows.text})[:, 0:{n.text}];", [e])
        return head, Expr(f"${name}", [], scalar, (rows, n), -1, heavy + 1), rows, heavy + 1.0

    def qr(self, scalar, n, context):
        head, a, rows, reach = self.tall(scalar, n, context)
        q = ranged("", [], scalar, (rows, n), (-1.1, 1.1))
        r = ranged("", [], scalar, (n, n), (-4 * reach, 4 * reach))
        return [head, self.several("qr({0})", [a], [q, r])]

    def lstsq(self, scalar, n, context):
        head, a, rows, _ = self.tall(scalar, n, context)
        b = self.fit(self.strong(self.expr(scalar, (rows,), context, 1)), 100)
        return [head, self.declaration("let", ranged("lstsq({0}, {1})", [a, b], scalar, (n,), (-200, 200)))]

    def eigh(self, scalar, n, context):
        a = self.definite(scalar, n, context, 2)
        w = ranged("", [], scalar, (n,), (-2 * a.high, 2 * a.high))
        v = ranged("", [], scalar, (n, n), (-1.1, 1.1))
        return self.several("eigh({0})", [a], [w, v])

    def svd(self, scalar, n, context):
        a = self.regular(scalar, n, context, 2)
        u = ranged("", [], scalar, (n, n), (-1.1, 1.1))
        s = ranged("", [], scalar, (n,), (0, 2 * a.high))
        return self.several("svd({0})", [a], [u, s, u])

    def det(self, scalar, n, context):
        e = self.fit(self.strong(self.expr(scalar, (n, n), context, 1)), 1)
        near = ranged(f"({{0}} / {2 * max(n.size, 1)}.0 + eye({n.text}))", [e], scalar, (n, n), (-1, 2))
        return self.declaration("let", ranged("det({0})", [near], scalar, (), (-3, 3)))

    # --- scatters
    def scatter_let(self, context):
        """`let H[bin[i]]: T[n] op= w[i];`, also with two dimensions."""
        scalar = self.rng.choice(["f64", "f64", "i64", "f32"])
        made = self.scatter_sides(context, None)
        if made is None:
            return None
        left, shape, labels, suffix, points = made
        op = self.rng.choice(SCATTER_OPERATORS)
        # Elements without contributions keep the identity of min= and max=, so only sums and products are used later.
        e = self.expr(scalar, (), context.inside(labels), 2)
        e = self.fit(self.strong(e), 1 if op == "*=" else int(self.limit(scalar) / max(points, 1)))
        name = self.new_name("x")
        interval = (-1, 1) if op == "*=" else intervals.symmetric(intervals.of_sum((e.low, e.high), points))
        if op in ("min=", "max="):
            interval = (-float("inf"), float("inf")) if scalar in FLOATS else (-2**63, 2**63 - 1)
        exprs, where = [e] + left, ""
        if op != "*=" and self.chance(0.25):
            exprs.append(self.expr("bool", (), context.inside(labels), 1))
            where = f" where {{{len(exprs) - 1}}}"
        value = ranged("", [], scalar, shape, interval)
        if op in ("min=", "max="):
            self.only_outputs.append(name)
        else:
            self.declare(name, value)
        holes = ", ".join(f"{{{k + 1}}}" for k in range(len(left)))
        return Stmt(f"let ${name}[{holes}]: {self.type_text(scalar, shape)} {op} {{0}}{where}{suffix};", exprs)

    def scatter_assign(self, context):
        """The same for a var."""
        found = [v for v in self.variables(True) if len(v.shape) <= 2 and v.scalar in ("f64", "i64", "f32")]
        if not found:
            return None
        v = self.rng.choice(found)
        made = self.scatter_sides(context, v.shape)
        if made is None:
            return None
        left, _, labels, suffix, points = made
        self.trips *= points
        update = self.combining(v, self.strong(self.expr(v.scalar, (), context.inside(labels), 2)))
        self.trips //= points
        if update is None:
            return None
        op, e = update
        holes = ", ".join(f"{{{k + 1}}}" for k in range(len(left)))
        return Stmt(f"${v.name}[{holes}] {op} {{0}}{suffix};", [e] + left)

    def scatter_sides(self, context, shape):
        """Store subscripts of which one is read from a table of positions."""
        tables = [v for v in self.values if v.scalar in INTEGERS and len(v.shape) == 1 and v.low >= 0 and size_of(v.shape) > 0]
        self.rng.shuffle(tables)
        for table in tables:
            fitting = [d for d in (self.dims if shape is None else shape) if d.size > table.high]
            if not fitting:
                continue
            dim = self.rng.choice(fitting)
            whole = shape or ((dim,) if self.chance(0.6) else (dim, self.rng.choice(self.dims)))
            at = list(whole).index(dim)
            names = context.fresh(2)
            source, other = Label(names[0], 0, table.shape[0].size), Label(names[1], 0, 0)
            left = [Expr(f"${table.name}[{names[0]}]", [], "i64", (), table.low, table.high)]
            labels, ranges = [source], [f"{names[0]} in 0..{table.shape[0].text}"]
            if len(whole) == 2:
                rest = whole[1 - at]
                other.high = rest.size
                labels.append(other)
                ranges.append(f"{names[1]} in 0..{rest.text}")
                left.insert(1 - at, Expr(names[1], [], "i64", (), 0, rest.size))
            if context.inside(labels).points > MOST_POINTS:
                return None
            return left, whole, labels, " for " + ", ".join(ranges), source.count()
        return None

    # --- derivatives
    def gradient(self, context):
        """`let (g, h) = grad(loss, A, B);`: only output, because derivatives are unbounded."""
        variables = [v for v in self.values if v.scalar in FLOATS and size_of(v.shape) <= MOST_ELEMENTS / 10]
        inputs = [v for v in variables if v.name[0] == "A"]
        if not variables:
            return None
        chosen = [self.rng.choice(inputs if inputs and self.chance(0.6) else variables) for _ in range(self.rng.choice([1, 1, 2]))]
        if len({v.name for v in chosen}) < len(chosen):
            chosen = chosen[:1]
        outer, weight = self.values, self.rng.random()
        if weight < 0.6:
            # Mostly of the variables of differentiation, otherwise of anything, through loops and branches.
            self.values = chosen * 4 + [v for v in outer if self.chance(0.3)]
        loss = self.whole_reduction("f64", (), Context(), 3)
        self.values = outer
        if loss is None:
            return None
        name = self.new_name("t")
        results = [self.new_name("g") for _ in chosen]
        self.declare(name, loss)
        self.only_outputs += results
        left = f"${results[0]}" if len(results) == 1 else f"({', '.join('$' + r for r in results)})"
        return [Stmt(f"let ${name}: f64 = {{0}};", [loss]),
                Stmt(f"let {left} = grad(${name}, {', '.join('$' + v.name for v in chosen)});")]
