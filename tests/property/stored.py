"""Programs with sparse tensors of every rank and storage: unions, products, transposes, slices, loop-carried and conditional variables, random
ones, and index notation over several of them. Only the outputs generated here read them; all values are small integers, so exact programs remain exact."""
import re

from model import Dim, Input, Stmt

DENSITIES = [0, 1e-6, 0.01, 0.01, 0.1, 0.5, 1]
EDGES = [1, 2, 3, 4, 5, 7, 9, 13, 21]


class Stored:
    """Mixed into the generator. Matrices are A and B (n x m), C (m x q), S (n x n); s and z are vectors of length n and m; T and U have rank 3
    (n x m x q); D, v and w (n x m, m, n) are dense; P and Q (r and t) are index vectors of dimensions n and m."""

    def stored_inputs(self):
        if not self.sparse_alone and not self.chance(0.4):
            return
        n, m, q = (Dim(f"$s{letter}", self.rng.choice(EDGES)) for letter in "nmq")
        if n.size * m.size > 120:
            m.size = 4
        if self.chance(0.04):
            self.rng.choice([n, m, q]).size = 0
        if n.size * m.size * q.size > 250:
            q.size = 2
        self.program.dims += [n, m, q]
        shapes = {"A": (n, m), "B": (n, m), "C": (m, q), "S": (n, n), "s": (n,), "z": (m,), "T": (n, m, q), "U": (n, m, q), "D": (n, m), "v": (m,), "w": (n,)}
        self.stored, self.stored_dims = {}, (n, m, q)
        scalar = self.rng.choice(["f64", "f64", "f64", "f64", "f32"])
        for name, shape in shapes.items():
            density = None if name in "Dvw" else self.rng.choice(DENSITIES)
            text = self.dense_type_text(scalar, shape) if density is None else self.sparse_kind(scalar, shape)
            of = f"A{len(self.program.inputs)}{name}"
            self.program.inputs.append(Input(of, scalar, shape, -3, 3, True, self.rng.randrange(2**32), None, density))
            self.program.statements.append(Stmt(f"input ${of}: {text};"))
            self.stored[name] = "$" + of
        for name, length, of_dim in (("P", "r", n), ("Q", "t", m)):
            dim = Dim(f"$s{length}", self.rng.choice(EDGES) if of_dim.size > 0 else 0)
            self.program.dims.append(dim)
            of = f"A{len(self.program.inputs)}{name}"
            self.program.inputs.append(Input(of, "i64", (dim,), 0, max(of_dim.size - 1, 0), True, self.rng.randrange(2**32), of_dim))
            self.program.statements.append(Stmt(f"input ${of}: i64[{dim.text}];"))
            self.stored[name] = "$" + of
        self.stored_lets = {"nm": ["A", "B"], "mq": ["C"], "nn": ["S"], "n": ["s"], "m": ["z"], "nmq": ["T", "U"]}
        self.stored_scalar = scalar

    def sparse_kind(self, scalar, shape):
        """Mostly as in files: all dimensions sparse, or all but the first; sometimes any mix."""
        if len(shape) == 1 or self.chance(0.5):
            return "sparse " + self.dense_type_text(scalar, shape)
        return self.sparse_type_text(scalar, shape)

    # --- texts; bare names of operands are replaced last
    def named(self, text):
        n, m, q = (d.text for d in self.stored_dims)
        text = re.sub(r"#([nmq])", lambda x: {"n": n, "m": m, "q": q}[x[1]], text)
        return re.sub(r"(?<![$\w])(?:[ABCSTUDszvw]|P|Q|K\d+)(?!\w)", lambda x: self.stored.get(x[0], x[0]), text)

    def add_stored(self, text):
        text = self.named(text)
        if self.stored_scalar == "f32":
            text = re.sub(r"(?<![\w$\"])(\d+\.\d+)", r"f32(\1)", text)
        self.program.statements.append(Stmt(text))

    def matrix(self, kind, depth):
        """An expression with the shape "nm", "mn", "mq", "nn", "mm", "qm", "nq" …"""
        turned = kind[::-1]
        leaves = list(self.stored_lets.get(kind, ())) + [x + "'" for x in self.stored_lets.get(turned, ()) if turned != kind]
        if depth <= 0 and leaves:
            return self.rng.choice(leaves)
        x = lambda: self.matrix(kind, depth - 1)
        forms = [(lambda: f"({x()} + {x()})", 4), (lambda: f"({x()} - {x()})", 2), (lambda: f"min({x()}, {x()})", 1), (lambda: f"max({x()}, {x()})", 1),
                 (lambda: f"({x()} * {x()})", 2), (lambda: f"(({x()} != 0.0) * {x()})", 1), (lambda: f"where({x()} > 0.0, {x()}, 0.0)", 1),
                 (lambda: f"(2.0 * {x()})", 1), (lambda: f"abs({x()})", 0.5), (lambda: f"relu({x()})", 0.5), (lambda: f"(-{x()})", 0.5),
                 (lambda: f"sparse({x()})", 0.3), (lambda: f"dense({x()})", 0.3), (lambda: f"{self.matrix(turned, depth - 1)}'", 2),
                 (lambda: f"roll({x()}, 1, axis={self.rng.choice([0, 1])})", 0.5), (lambda: f"tril({x()})", 0.5), (lambda: f"triu({x()}, 1)", 0.5),
                 (lambda: f"flip({x()}, axis={self.rng.choice([0, 1])})", 0.3)]
        along = {"nn": "w", "mm": "v"}.get(kind)
        if along:
            forms += [(lambda: f"({x()} + eye(#{kind[0]}))", 0.7), (lambda: f"(diag({along}) - {x()})", 0.7), (lambda: f"({x()} @ diag({along}))", 0.5)]
        inner = self.rng.choice([c for c in "nm" if self.reachable(kind[0] + c) and self.reachable(c + kind[1])] or [""])
        if inner and depth > 0:
            forms.append((lambda: f"({self.matrix(kind[0] + inner, depth - 1)} @ {self.matrix(inner + kind[1], depth - 1)})", 5))
        if kind == "nm":
            forms += [(lambda: f"({x()} * D)", 1), (lambda: f"({x()} * v)", 1), (lambda: "outer(s, z)", 0.6),
                      (lambda: f"(f64(sprandom(#n, #m, {self.rng.choice(['0.0', '0.01', '0.3', '1.0'])}) != 0.0) * {x()})" if self.stored_scalar == "f64" else x(), 0.7)]
        if not leaves and depth <= 0:
            forms = forms[-1:] if inner and depth > 0 else [(lambda: self.product_of_leaves(kind), 1)]
        return self.rng.choices([f for f, _ in forms], [w for _, w in forms])[0]()

    def reachable(self, kind):
        return kind in self.stored_lets or kind[::-1] in self.stored_lets

    def product_of_leaves(self, kind):
        return {"mm": "(A' @ B)", "nq": "(A @ C)", "qn": "(C' @ B')", "qq": "(C' @ C)", "nn": "(A @ B')"}.get(kind) or self.rng.choice(self.stored_lets[kind])

    # --- statements
    def stored_outputs(self):
        makers = [(self.stored_let, 4), (self.stored_indexed, 4), (self.stored_loop, 3), (self.stored_branch, 1), (self.stored_update, 2),
                  (self.stored_function, 1), (self.stored_vector, 2), (self.stored_rank_three, 3), (self.stored_slice, 3), (self.stored_selection, 2)]
        for _ in range(self.rng.choice([2, 3, 4, 5])):
            self.rng.choices([m for m, _ in makers], [w for _, w in makers])[0]()

    def fresh_stored(self, letter="K"):
        self.counter += 1
        name = f"{letter}{self.counter}"
        self.stored[name] = f"${letter.lower()}s{self.counter}"
        return name

    def put_out(self, text):
        name = self.new_name("z")
        self.program.outputs.append(name)
        self.add_stored(f"output ${name} = {text};")

    def seen(self, e, kind):
        """One or two outputs that read the matrix e."""
        rows, columns = {"n": "w", "m": "v"}.get(kind[0]), {"n": "w", "m": "v"}.get(kind[1])
        ways = [e, f"sum({e})", f"sum({e}, axis=0)", f"sum({e}, axis=1)", f"nnz({e})", f"max({e}, axis=1)", f"count({e} > 0.0)", f"min({e})", f"any({e} != 0.0, axis=0)",
                f"sum(exp(min({e}, 0.0) * 0.0), axis=0)", f"norm({e} * 0.0)"]
        ways += [f"{e} @ {columns}"] * 2 if columns else []
        ways += [f"{e}' @ {rows}"] * 2 if rows else []
        ways += [f"diag({e})", f"trace({e})"] if kind[0] == kind[1] else []
        for text in self.rng.sample(ways, self.rng.choice([1, 1, 2])):
            self.put_out(text)

    def stored_let(self):
        kind = self.rng.choice(["nm", "nm", "mn", "nn", "mq", "mm", "nq"])
        name = self.fresh_stored()
        self.add_stored(f"let {name} = {self.matrix(kind, self.rng.choice([1, 2, 2, 3]))};")
        self.stored_lets.setdefault(kind, []).append(name)
        self.seen(name, kind)

    def stored_indexed(self):
        forms = [("nm", "let K[i, j] = A[i, j] + B[i, j];"), ("mn", "let K[j, i] = A[i, j] - B[i, j];"), ("nq", "let K[i, l] = sum[j](A[i, j] * C[j, l]);"),
                 ("nn", "let K[i, l] = sum[j](A[i, j] * B[l, j]) where S[i, l] != 0.0;"), ("mm", "let K[j, l] = sum[i](A[i, j] * B[i, l]);"),
                 ("nm", "let K[i, j] = A[i, j] * B[i, j] where i <= j;"), ("nm", "let K[i, j] = max(A[i, j], B[i, j]) * v[j];"),
                 ("nn", "let K[i, j] = S[i, j] + S[j, i];"), ("nn", "let K[i, l] = sum[k](S[i, k] * S[k, l] * w[k]);"), ("nm", "let K[i, j] = A[i, j] where B[i, j] != 0.0;"),
                 ("nm", "let K[i, j] = if B[i, j] > 0.0 then A[i, j] else 0.0;"), ("nm", "let K[i, j] = s[i] * z[j];"), ("nm", "let K[i, j] = A[i, j] * s[i];"),
                 ("nm", "let K[i, j] = sum[l](T[i, j, l] * U[i, j, l]);"), ("nq", "let K[i, l] = sum[j](T[i, j, l] * v[j]);"), ("mn", "let K[j, i] = sum[l](T[i, j, l] + U[i, j, l]);")]
        alone = ["sum[i, j, k](S[i, j] * S[j, k] * S[k, i])", "count[i, j, k](S[i, j] != 0.0 && S[j, k] != 0.0 && S[i, k] != 0.0)", "max[i, j](A[i, j] + B[i, j])",
                 "sum[i, j where A[i, j] != 0.0](B[i, j])", "sum[i, j, l](A[i, j] * C[j, l])", "any[i, j](A[i, j] > B[i, j])"]
        rows = ["min[j where A[i, j] != 0.0](A[i, j] + v[j])", "any[j](A[i, j] != 0.0 && B[i, j] != 0.0)", "sum[j](A[i, j] * B[i, j] * z[j])", "sum[k](S[i, k] * s[k])",
                "sum[j, l](A[i, j] * C[j, l])", "max[k where S[i, k] != 0.0 && S[k, i] != 0.0](S[i, k])", "count[j](A[i, j] == B[i, j])",
                "min[k, l where S[i, k] != 0.0 && S[k, l] != 0.0](S[i, k] + S[k, l])", "sum[j, l](T[i, j, l] * C[j, l])"]
        pick = self.rng.choice(["matrix", "matrix", "row", "alone"])
        if pick == "alone":
            self.put_out(self.rng.choice(alone))
        elif pick == "row":
            name = self.new_name("z")
            self.program.outputs.append(name)
            self.add_stored(f"output ${name}[i] = {self.rng.choice(rows)};")
        else:
            kind, text = self.rng.choice(forms)
            name = self.fresh_stored()
            self.add_stored(re.sub(r"\bK\b", name, text))
            self.stored_lets.setdefault(kind, []).append(name)
            self.seen(name, kind)

    def step_of(self, k, kind):
        """An update of k in a loop."""
        other = self.matrix(kind, self.rng.choice([0, 0, 1]))
        forms = [f"{k} + {other}", f"{k} * ({other} != 0.0)", f"min({k}, {other})", f"max({k}, {other}) - {other}", f"({k} != 0.0) * {other} + {k}", f"2.0 * {k}", f"roll({k}, 1, axis=1)", f"{other} - {k}"]
        if kind == "nn":
            forms += [f"{k} @ S", f"S @ {k}", f"{k}'", f"{k} @ S + {other}", f"({k} @ S) * (S != 0.0)"]
        if kind == "nm":
            forms += [f"S @ {k}", f"(S @ {k}) * (A != 0.0)"]
        return self.rng.choice(forms)

    def start_of(self, name, kind):
        first = self.matrix(kind, self.rng.choice([0, 0, 1]))
        typed = f": {self.sparse_kind(self.stored_scalar, [dict(zip('nmq', self.stored_dims))[c] for c in kind])}" if self.chance(0.4) else ""
        self.add_stored(f"var {name}{typed} = {first};")

    def stored_loop(self):
        kind, name, turn = self.rng.choice(["nm", "nn", "nn"]), self.fresh_stored(), self.new_name("t")
        self.start_of(name, kind)
        if self.chance(0.3):
            self.add_stored(f"var ${turn} = 0;")
            self.add_stored(f"while ${turn} < 2 && nnz({name}) > 0 {{ {name} = {self.step_of(name, kind)}; ${turn} += 1; }}")
        elif self.chance(0.3):
            let = self.fresh_stored()
            self.add_stored(f"for ${turn} in 0..2 {{ let {let} = {self.step_of(name, kind)}; {name} = {self.step_of(let, kind)}; }}")
        else:
            self.add_stored(f"for ${turn} in 0..{self.rng.choice([0, 1, 2, 3])} {{ {name} = {self.step_of(name, kind)}; }}")
        self.seen(name, kind)

    def stored_branch(self):
        kind, name = self.rng.choice(["nm", "nn"]), self.fresh_stored()
        self.start_of(name, kind)
        condition = self.rng.choice(["sum(A) > 0.0", "nnz(B) == 0", "true", "any(S != 0.0)"])
        otherwise = f" else {{ {name} = {self.step_of(name, kind)}; }}" if self.chance(0.5) else ""
        self.add_stored(f"if {condition} {{ {name} = {self.step_of(name, kind)}; }}{otherwise}")
        self.seen(name, kind)

    def stored_update(self):
        name = self.fresh_stored()
        self.start_of(name, "nm")
        forms = ["K += B;", "K *= 2.0;", "K[i, j] = B[i, j] where A[i, j] != 0.0;", "K[i, j] += B[i, j] * v[j];", "K[i, j] = 0.0 where i <= j;", "K[1:, :] = B[1:, :];" if self.stored_dims[0].size > 1 else "K -= A;",
                 "K[:, 0:1] = D[:, 0:1];" if self.stored_dims[1].size > 0 else "K += D;", "K[i, j] max= B[i, j];", "K[mod(i + 1, #n), j] = B[i, j];", "K[i, j] = K[i, j] + w[i] where B[i, j] > 0.0;"]
        for form in self.rng.sample(forms, self.rng.choice([1, 2])):
            self.add_stored(re.sub(r"\bK\b", name, form))
        self.seen(name, "nm")

    def stored_function(self):
        name, result = self.new_name("g"), self.fresh_stored()
        body = self.rng.choice(["$X + $X'", "$X @ $Y", "$X * $Y", "($X != 0.0) * $Y", "max($X, $Y)", "$X' @ $Y", "$X - $Y"])
        sparse = self.rng.choice(["", "", "sparse "])
        scalar = self.stored_scalar
        self.add_stored(f"fn ${name}($X: {scalar}[$da, {sparse}$da], $Y: {scalar}[$da, $da]) -> {scalar}[$da, {sparse}$da] {{ return {body}; }}")
        self.add_stored(f"let {result} = ${name}({self.matrix('nn', 1)}, {self.matrix('nn', 1)});")
        self.stored_lets["nn"].append(result)
        self.seen(result, "nn")

    def stored_vector(self):
        name = self.fresh_stored()
        forms = ["s + w", "s * w", "s + A @ z", "S @ s", "s - S' @ s", "max(s, S @ s)", "sum(A, axis=1) * s", "s * s", "abs(s)", "roll(s, 1)", "flip(s)", "sum(S, axis=0) + s", "diag(S)", "s * max(v, axis=0)", "A @ z", "(s != 0.0) * w"]
        if self.stored_dims[1].size > 0:
            forms += ["A[:, 0]", "A[:, 0] + s"]
        self.add_stored(f"let {name} = {self.rng.choice(forms if self.stored_dims[1].size else forms[:13])};")
        for text in self.rng.sample([name, f"sum({name})", f"nnz({name})", f"{name} @ w", f"concat({name}, s, axis=0)", f"outer({name}, z)", f"S @ {name}", f"{name}[1:]" if self.stored_dims[0].size > 1 else name,
                                     f"diag({name})", f"sum({name} * s)"], 2):
            self.put_out(text)

    def stored_rank_three(self):
        name = self.fresh_stored()
        forms = ["T + U", "T * U", "T - U", "T * C", "(T != 0.0) * U", "max(T, U)", "2.0 * T", "where(T > 0.0, U, 0.0)", "T"]
        self.add_stored(f"let {name} = {self.rng.choice(forms)};")
        outs = [name, f"sum({name}, axis=2)", f"sum({name}, axis=0)", f"sum({name}, axis=(0, 1))", f"sum({name})", f"nnz({name})", f"max({name}, axis=1)", f"transpose({name}, 2, 0, 1)",
                f"transpose({name}, 1, 0, 2)", f"reshape({name}, #n, #m * #q)", f"concat({name}, T, axis=1)", f"sum({name}, axis=2) * A", f"sum({name} * U, axis=1)"]
        if all(d.size > 1 for d in self.stored_dims):
            outs += [f"{name}[1:, :, :]", f"{name}[:, 0, :]", f"{name}[:, ::2, 1:]", f"{name}[0, :, :] + C"]
        indexed = [f"[i, r] = sum[j, l]({name}[i, j, l] * A[i, j] * C[j, r])", f"[j] = sum[i, l]({name}[i, j, l] * w[i])", f"[j, l] = sum[i]({name}[i, j, l] * s[i])",
                   f"[l, i] = sum[j]({name}[i, j, l] * z[j])", f"[i, k] = sum[j, l]({name}[i, j, l] * U[k, j, l])", f"[i, j] = max[l]({name}[i, j, l])"]
        for _ in range(self.rng.choice([1, 2])):
            if self.chance(0.5):
                self.put_out(self.rng.choice(outs))
            else:
                out = self.new_name("z")
                self.program.outputs.append(out)
                self.add_stored(f"output ${out}{self.rng.choice(indexed)};")

    def stored_slice(self):
        name, kind = self.fresh_stored(), self.rng.choice(["nm", "nn", "mn"])
        sizes = dict(zip("nmq", (d.size for d in self.stored_dims)))
        rows, columns = sizes[kind[0]], sizes[kind[1]]
        cut = lambda size: self.rng.choice([":", ":"] + (["1:", ":-1", "::2", "0:1", "1::2", f"{size // 2}:"] if size > 1 else []))
        e = self.matrix(kind, self.rng.choice([0, 0, 1]))
        text = self.rng.choice([f"({e})[{cut(rows)}, {cut(columns)}]", f"concat({e}, {self.matrix(kind, 0)}, axis={self.rng.choice([0, 1])})", f"reshape({e}, #{kind[1]}, #{kind[0]})",
                                f"reshape({e}, #{kind[0]} * #{kind[1]})"])
        self.add_stored(f"let {name} = {text};")
        for way in self.rng.sample([name, f"sum({name})", f"nnz({name})", f"2.0 * {name}", f"sum({name}, axis=0)"], 2):
            self.put_out(way)

    def stored_selection(self):
        """Rows and columns by index vectors. The results have dimensions of their own, so only outputs read them."""
        e, square = self.rng.choice(self.stored_lets["nm"]), self.rng.choice(self.stored_lets["nn"])
        forms = [f"[i, j] = {e}[P[i], Q[j]]", f"[i, j] = {e}[P[i], j]", f"[i, j] = {e}[i, Q[j]]", f"[i, j] = {e}[P[j], Q[i]]", f"[i, j] = {square}[P[i], P[j]]",
                 f"[i, j] = {e}[(P[i] + 1) % #n, Q[j]]", f"[i, j] = {e}[P[i], j] + {e}[P[i], j]", f"[i, j] = {e}[P[i], Q[j]] where i <= j"]
        sums = [f"[i] = sum[j]({e}[P[i], j] * v[j])", f"[j] = sum[i]({e}[P[i], Q[j]])", f"[i] = max[j]({square}[P[i], P[j]])", f"[j] = sum[i]({e}[i, Q[j]] * w[i])"]
        if self.chance(0.4):
            name = self.new_name("z")
            self.program.outputs.append(name)
            self.add_stored(f"output ${name}{self.rng.choice(sums)};")
            return
        name = self.fresh_stored()
        self.add_stored(f"let {name}{self.rng.choice(forms)};")
        for way in self.rng.sample([name, f"sum({name})", f"nnz({name})", f"2.0 * {name}", f"sum({name}, axis=0)", f"max({name}, axis=1)"], 2):
            self.put_out(way)
