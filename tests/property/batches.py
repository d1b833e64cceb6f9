"""Routines of batches of up to two dimensions: well-conditioned matrices, real and complex."""
from expressions import ranged
from model import Dim, Stmt
from operations import size_of

MOST_OF_BATCH = 1200


class Batches:
    def batch_steps(self, context):
        n = self.matrix_dim()
        lead = tuple(self.rng.choice(self.dims) for _ in range(self.rng.choice([0, 1, 1, 1, 2])))
        if n is None or size_of(lead) * n.size * n.size > MOST_OF_BATCH:
            return None
        if self.exact:
            return self.batch_diagonals("f64", lead, n, context)
        scalar = self.rng.choice(["f64", "f64", "f64", "f32"])
        makers = [(self.batch_solve, 4), (self.batch_inverse, 2), (self.batch_det, 2), (self.batch_factor, 2), (self.batch_eigh, 1.5), (self.batch_svd, 1), (self.batch_qr, 1.5),
                  (self.batch_lstsq, 1), (self.batch_diagonals, 1), (self.batch_slope, 1)]
        outer, self.random_allowed = self.random_allowed, False
        try:
            return self.rng.choices([m for m, _ in makers], [w for _, w in makers])[0](scalar, lead, n, context)
        finally:
            self.random_allowed = outer

    # --- operands
    def batch_of(self, scalar, shape, context, heavy):
        """(declarations, name) of elements in [-1, 1] and `heavy` times the identity; complex ones now and then."""
        name, part = "$" + self.new_name("z"), self.fit(self.strong(self.expr(scalar, shape, context, 2)), 1)
        places = ", ".join(["newaxis"] * (len(shape) - 2) + [":", ":"])
        value = ranged(f"({{0}} + {scalar}({heavy}.0 * eye({shape[-2].text}, {shape[-1].text}))[{places}])", [part], scalar, shape, (-1, heavy + 1))
        made = [Stmt(f"let {name}: {self.dense_type_text(scalar, shape)} = {{0}};", [value])]
        if not self.part("complex") or not self.chance(0.25):
            return made, name, False
        other = "$" + self.new_name("z")
        kind = {"f64": "c128", "f32": "c64"}[scalar]
        return made + [Stmt(f"let {other} = {kind}({name}, {{0}});", [self.fit(self.strong(self.expr(scalar, shape, context, 1)), 1)])], other, True

    def batch_seen(self, text, is_complex, scalar, shape, reach):
        """A result as reals."""
        if is_complex:
            text = self.rng.choice([f"real({text})", f"imag({text})", f"abs({text})"])
        return self.within(text, scalar, shape, reach)

    def batch_right(self, scalar, lead, n, context):
        """A vector or a matrix for each matrix of the batch."""
        shape = lead + ((n,) if self.chance(0.5) else (n, self.rng.choice([d for d in self.dims if d.size <= 5] or [Dim("2", 2)])))
        return self.fit(self.strong(self.expr(scalar, shape, context, 2)), 50), shape

    # --- routines
    def batch_solve(self, scalar, lead, n, context):
        one = (Dim("1", 1),) if len(lead) == 1 and self.chance(0.15) else lead
        made, a, is_complex = self.batch_of(scalar, one + (n, n), context, 3 * n.size + 1)
        b, shape = self.batch_right(scalar, lead, n, context)
        kind = self.rng.choice(["", "", ", kind=general", ", kind=lower", ", kind=upper", ", kind=positive"])
        matrix = f"{a} + {a}'" if "positive" in kind else a
        right = "$" + self.new_name("z")
        made.append(Stmt(f"let {right}: {self.dense_type_text(scalar, shape)} = {{0}};", [b]))
        return made + [self.batch_seen(f"solve({matrix}, {right}{kind})", is_complex, scalar, shape, 60)]

    def batch_inverse(self, scalar, lead, n, context):
        made, a, is_complex = self.batch_of(scalar, lead + (n, n), context, 3 * n.size + 1)
        return made + [self.batch_seen(f"inv({a})" + self.rng.choice(["", f" @ {a}"]), is_complex, scalar, lead + (n, n), 3)]

    def batch_det(self, scalar, lead, n, context):
        made, a, is_complex = self.batch_of(scalar, lead + (n, n), context, 3 * n.size + 1)
        return made + [self.batch_seen(f"det({a} / {3 * n.size + 1}.0)", is_complex, scalar, lead, 8)]

    def batch_factor(self, scalar, lead, n, context):
        heavy = 3 * n.size + 1
        made, a, is_complex = self.batch_of(scalar, lead + (n, n), context, heavy)
        shape = lead + (n, n)
        if self.chance(0.6):
            return made + [self.batch_seen(f"cholesky({a} + {a}')", is_complex, scalar, shape, 2 * heavy + 2)]
        p, lower, upper = ("$" + self.new_name("z") for _ in range(3))
        return made + [Stmt(f"let ({p}, {lower}, {upper}) = lu({a});"), self.batch_seen(f"{lower} @ {upper}", is_complex, scalar, shape, heavy + 2),
                       self.within(p, "i64", lead + (n,), max(n.size - 1, 0), 0)]

    def batch_eigh(self, scalar, lead, n, context):
        heavy = 3 * n.size + 1
        made, a, is_complex = self.batch_of(scalar, lead + (n, n), context, heavy)
        w, v = "$" + self.new_name("z"), "$" + self.new_name("z")
        lines = made + [Stmt(f"let ({w}, {v}) = eigh({a} + {a}');"), self.within(w, scalar, lead + (n,), 6 * heavy)]
        columns = ", ".join([":"] * len(lead) + ["newaxis", ":"])
        return lines + ([self.batch_seen(f"({v} * {w}[{columns}]) @ {v}'", is_complex, scalar, lead + (n, n), 6 * heavy)] if self.chance(0.5) else [])

    def batch_svd(self, scalar, lead, n, context):
        made, a, is_complex = self.batch_of(scalar, lead + (n, n), context, 3 * n.size + 1)
        u, s, v = ("$" + self.new_name("z") for _ in range(3))
        return made + [Stmt(f"let ({u}, {s}, {v}) = svd({a});"), self.within(s, scalar, lead + (n,), 6 * n.size + 4, 0)]

    def tall_rows(self, n):
        return self.rng.choice([d for d in self.dims if n.size <= d.size <= 9] or [n])

    def batch_qr(self, scalar, lead, n, context):
        rows = self.tall_rows(n)
        made, a, is_complex = self.batch_of(scalar, lead + (rows, n), context, 3 * rows.size + 1)
        q, r = "$" + self.new_name("z"), "$" + self.new_name("z")
        return made + [Stmt(f"let ({q}, {r}) = qr({a});"), self.batch_seen(self.rng.choice([f"{r}", f"{q}' @ {a}"]), is_complex, scalar, lead + (n, n), 8 * rows.size + 8),
                       self.batch_seen(q, is_complex, scalar, lead + (rows, n), 1.1)]

    def batch_lstsq(self, scalar, lead, n, context):
        rows = self.tall_rows(n)
        made, a, is_complex = self.batch_of(scalar, lead + (rows, n), context, 3 * rows.size + 1)
        right = "$" + self.new_name("z")
        b = self.fit(self.strong(self.expr(scalar, lead + (rows,), context, 1)), 50)
        return made + [Stmt(f"let {right}: {self.dense_type_text(scalar, lead + (rows,))} = {{0}};", [b]),
                       self.batch_seen(f"lstsq({a}, {right})", is_complex, scalar, lead + (n,), 100)]

    def batch_diagonals(self, scalar, lead, n, context):
        e = self.argument(scalar, lead + (n, n), context, 20)
        name = "$" + self.new_name("z")
        made = Stmt(f"let {name}: {self.dense_type_text(scalar, lead + (n, n))} = {{0}};", [e])
        return [made, self.within(f"trace({name})", scalar, lead, 20 * max(n.size, 1)), self.within(f"diag({name}) + diag({name}')", scalar, lead + (n,), 40)]

    def batch_slope(self, scalar, lead, n, context):
        """The gradient of a loss of solutions, inverses or determinants."""
        made, a, is_complex = self.batch_of(scalar, lead + (n, n), context, 3 * n.size + 1)
        loss, slope = self.new_name("l"), self.new_name("g")
        self.only_outputs.append(slope)
        e = self.argument(scalar, lead + (n,), context, 5)
        right = "$" + self.new_name("z")
        form = self.rng.choice([f"solve({a}, {right})", f"inv({a})", f"det({a} / {3 * n.size + 1}.0)"])
        form = f"abs({form}) ** 2" if is_complex else form
        return made + [Stmt(f"let {right}: {self.dense_type_text(scalar, lead + (n,))} = {{0}};", [e]), Stmt(f"let ${loss} = sum({form});"),
                       Stmt(f"let ${slope} = grad(${loss}, {a});")]
