"""Functions as arguments, lambdas, type parameters, literal parameters, defaults, and small calls of the library."""
import intervals
from expressions import Context, Value, ranged
from model import Dim, Expr, Stmt
from operations import size_of

# (types of the arguments, their promoted type)
PROMOTED = [(("f64", "f64"), "f64"), (("f64", "i64"), "f64"), (("i32", "f32"), "f64"), (("i64", "i64"), "i64"), (("i32", "i64"), "i64"), (("f32", "f32"), "f32"),
            (("i32", "i32"), "i32"), (("f32", "f64"), "f64")]


class Callables:
    def callable(self, context):
        makers = [(self.generic, 3), (self.mapped, 3), (self.iterated, 2), (self.literal_steps, 1.5), (self.defaults, 1.5), (self.library, 0 if self.exact else 5)]
        return self.rng.choices([m for m, _ in makers], [w for _, w in makers])[0](context)

    def reach(self):
        return 8 if self.exact else 4.0

    def scope_of(self, parameters, tensors=False):
        """Makes only these values visible; returns what to restore."""
        outer = self.values, self.dims, self.functions, self.random_allowed
        self.values, self.functions, self.random_allowed = list(parameters), [], False
        if not tensors:
            self.dims = []
        return outer

    def restore(self, outer):
        self.values, self.dims, self.functions, self.random_allowed = outer

    def body_of(self, scalar, parameters, shape=(), depth=2):
        """An expression of the parameters with the given type."""
        first = parameters[0]
        e = self.expr(scalar, shape, Context(), depth)
        read = Expr(f"${first.name}", [], scalar, shape, first.low, first.high)
        return self.bounded(ranged("({0} + {1})", [e, read], scalar, shape, intervals.add((e.low, e.high), (first.low, first.high))))

    def argument(self, scalar, shape, context, limit):
        return self.fit(self.strong(self.expr(scalar, shape, context, 2)), limit)

    # --- type parameters
    def generic(self, context):
        """`fn g[T](x: T[n], a: T) -> T[n]`: T is the promoted type of the arguments."""
        (first, second), scalar = self.rng.choice(PROMOTED)
        shape, name, result = self.shape(1, 2), self.new_name("g"), self.new_name("t")
        limit = int(self.limit(scalar) ** 0.25)
        if first in ("i32", "f32"):
            limit = min(limit, 20)
        x, a = self.argument(first, shape, context, limit), self.argument(second, (), context, limit)
        any_rank = self.chance(0.5)
        dims = "..." if any_rank else ", ".join(f"$d{k}" for k in range(len(shape)))
        bound = self.rng.choice(["T", "T: number", "T: real"] + (["T: float"] if scalar in ("f64", "f32") else []))
        bodies = ["$x * $a + $x", "max($x, $a) - T(2)", "$x * T(3) - $a", "where($x > $a, $x, $a * $a)", "abs($x - $a)"]
        if not any_rank and len(shape) == 1:
            bodies.append("$x[::-1] * $a")
        text = self.rng.choice(bodies)
        reach = limit * limit + 4 * limit + 2
        statement = Stmt(f"fn ${name}[{bound}]($x: T[{dims}], $a: T) -> T[{dims}] = {text};")
        self.declare(result, Expr("", [], scalar, shape, -reach, reach))
        return [statement, Stmt(f"let ${result}: {self.dense_type_text(scalar, shape)} = ${name}({{0}}, {{1}});", [x, a])]

    # --- functions as arguments
    def lambda_text(self, scalar, names, reads, reach):
        """(template, children) of a lambda of scalars that may read scalars around it, with values in [-reach, reach]."""
        parameters = [Value(n, scalar, (), -reach, reach) for n in names]
        outer = self.scope_of(parameters + reads)
        body = self.fit(self.strong(self.body_of(scalar, parameters)), reach)
        self.restore(outer)
        heads = ", ".join("$" + n for n in names)
        if self.chance(0.3):
            return f"fn({heads}) {{{{ let $w = {{0}}; return $w; }}}}", body
        return f"fn({heads}) = {{0}}", body

    def mapped(self, context):
        """`fn h(f: fn(f64) -> f64, x: f64[n])`, called with two lambdas, a function, or a built-in."""
        scalar, reach = self.rng.choice(["f64", "f64", "i64"]), self.reach()
        name, results = self.new_name("h"), []
        two = self.chance(0.4)
        form = ", ".join([scalar] * (2 if two else 1))
        shape = self.shape(1, 2)
        dims = ", ".join(f"$d{k}" for k in range(len(shape)))
        labels = ", ".join(["i", "j"][:len(shape)])
        calls = ["$f($x[%s])", "$f($f($x[%s]))", "$f($x[%s]) - $f($x[%s])"] if not two else ["$f($x[%s], $x[%s])", "$f($x[%s], $f($x[%s], LAST))"]
        call = self.rng.choice(calls)
        last = {"i64": "3", "f64": "3.0"}[scalar]
        call = call.replace("%s", labels).replace("LAST", last)
        statements = [Stmt(f"fn ${name}($f: fn({form}) -> {scalar}, $x: {scalar}[{dims}]) -> {scalar}[{dims}]", (),
                           [[Stmt(f"let $y[{labels}] = {call};"), Stmt("return $y;")]])]
        reads = [v for v in self.values if v.scalar == scalar and not v.shape and not v.mutable and max(abs(v.low), abs(v.high)) <= reach][:2]
        built_in = ["max", "min"] if two else ["abs", "sign"] + (["sin", "tanh"] if scalar == "f64" and not self.exact else [])
        for _ in range(self.rng.choice([1, 2, 2])):
            x = self.argument(scalar, shape, context, int(reach))
            result = self.new_name("t")
            self.declare(result, Expr("", [], scalar, shape, -2 * reach, 2 * reach))
            if self.chance(0.2):
                statements.append(Stmt(f"let ${result} = ${name}({self.rng.choice(built_in)}, {{0}});", [x]))
                continue
            text, body = self.lambda_text(scalar, ["u", "v"][:2 if two else 1], reads, reach)
            statements.append(Stmt(f"let ${result} = ${name}({text}, {{1}});", [body, x]))
            results.append(result)
        return statements + (self.slope(results[-1:], scalar, context) if self.chance(0.4) else [])

    def applied(self, scalar, shape, context, depth):
        """A function with a lambda that mentions index variables, at each element."""
        if scalar not in ("f64", "i64") or not context.labels or context.points > 400:
            return None
        reach, name = self.reach(), self.new_name("h")
        head = f"fn ${name}($f: fn({scalar}) -> {scalar}, $x: {scalar}) -> {scalar}"
        if self.chance(0.6):
            self.program.statements.append(Stmt(f"{head} = $f($f($x));"))
        else:
            steps = Stmt(f"for $r in 0..{self.rng.choice([0, 2, 3])}", (), [[Stmt("$y = $f($y);")]])
            self.program.statements.append(Stmt(head, (), [[Stmt("var $y = $x;"), steps, Stmt("return $y;")]]))
        x = self.fit(self.strong(self.expr(scalar, (), context, 1)), int(reach))
        outer = list(self.values), self.random_allowed
        self.values, self.random_allowed = outer[0] + 3 * [Value("u", scalar, (), -reach, reach)], False
        body = self.fit(self.strong(self.expr(scalar, (), context, 2)), reach)
        self.values, self.random_allowed = outer
        return ranged(f"${name}(fn($u) = {{0}}, {{1}})", [body, x], scalar, (), (-reach, reach))

    def slope(self, results, scalar, context):
        """A derivative through the call."""
        inputs = [v for v in self.values if v.name[0] == "A" and v.scalar == "f64" and v.shape and size_of(v.shape) <= 100]
        if not results or scalar != "f64" or not inputs:
            return []
        name, loss = self.new_name("g"), self.new_name("l")
        self.only_outputs.append(name)
        return [Stmt(f"let ${loss} = sum(${results[0]});"), Stmt(f"let ${name} = grad(${loss}, ${self.rng.choice(inputs).name});")]

    def iterated(self, context):
        """A function of tensors that is applied several times: `fn g[T](f: fn(T[...]) -> T[...], y: T[...], k: i64)`."""
        scalar, shape, reach = self.rng.choice(["f64", "f64", "i64"]), self.shape(1, 2), int(self.reach())
        name, result, count = self.new_name("g"), self.new_name("t"), self.rng.choice([0, 1, 2, 3])
        y = self.argument(scalar, shape, context, reach)
        steps = Stmt("for $r in 0..$k", (), [[Stmt("$z = $f($z);")]])
        statement = Stmt(f"fn ${name}[T]($f: fn(T[...]) -> T[...], $y: T[...], $k: i64) -> T[...]", (),
                         [[Stmt("var $z = $y;"), steps, Stmt("return $z;")]])
        around = [v for v in self.values if v.scalar == scalar and v.shape == shape and not v.mutable and max(abs(v.low), abs(v.high)) <= reach][:2]
        parameter = Value("u", scalar, shape, -reach, reach)
        outer = self.scope_of([parameter] + around, True)
        body = self.fit(self.strong(self.body_of(scalar, [parameter], shape, 1)), reach)
        self.restore(outer)
        self.declare(result, Expr("", [], scalar, shape, -reach, reach))
        return [statement, Stmt(f"let ${result} = ${name}(fn($u) = {{0}}, {{1}}, {count});", [body, y])]

    def literal_steps(self, context):
        """A function that calls itself with a smaller literal."""
        scalar, shape = self.rng.choice(["f64", "i64"]), self.shape(1, 1)
        name, result, count = self.new_name("g"), self.new_name("t"), self.rng.choice([0, 1, 2, 4])
        x = self.argument(scalar, shape, context, 20)
        step = self.rng.choice(["$x + $y[::-1]", "max($x, $y) - {n}($levels)", "$y - $x"]).replace("{n}", scalar)
        inner = [Stmt(f"$y = ${name}($levels - 1, {step});")]
        statement = Stmt(f"fn ${name}($levels: literal i64, $x: {scalar}[$d]) -> {scalar}[$d]", (),
                         [[Stmt(f"var $y = $x + {scalar}($levels);"), Stmt("if $levels > 0", (), [inner]), Stmt("return $y;")]])
        reach = 20 * 4 ** count + 60
        self.declare(result, Expr("", [], scalar, shape, -reach, reach))
        return [statement, Stmt(f"let ${result} = ${name}({count}, {{0}});", [x])]

    def defaults(self, context):
        """Defaults that see earlier parameters, and named arguments in any order."""
        scalar, shape = self.rng.choice(["f64", "i64"]), self.shape(1, 2)
        name, result = self.new_name("g"), self.new_name("t")
        dims = ", ".join(f"$d{k}" for k in range(len(shape)))
        x, h, k = self.argument(scalar, shape, context, 10), self.argument(scalar, (), context, 5), self.argument(scalar, (), context, 5)
        one = {"f64": "1.0", "i64": "1"}[scalar]
        statement = Stmt(f"fn ${name}($x: {scalar}[{dims}], $h: {scalar} = {one}, $k: {scalar} = $h + {one}) -> {scalar}[{dims}] = $x * $h - $k;")
        calls = [("{0}", [x]), ("{0}, {1}", [x, h]), ("{0}, $k={1}", [x, k]), ("{0}, $k={1}, $h={2}", [x, k, h]), ("{0}, {1}, $k={2}", [x, h, k])]
        text, arguments = self.rng.choice(calls)
        self.declare(result, Expr("", [], scalar, shape, -80, 80))
        return [statement, Stmt(f"let ${result} = ${name}({text});", arguments)]

    # --- the library
    def library(self, context):
        makers = [self.ode, self.ode, self.solver, self.integral, self.sampled, self.moments, self.rooted]
        return self.rng.choice(makers)(context)

    def named_vector(self, context, limit, least=1, most=99):
        """A vector of reals under a name: (statement, name, extent)."""
        dims = [d for d in self.dims if least <= d.size <= most]
        if not dims:
            return None
        n = self.rng.choice(dims)
        name = self.new_name("t")
        e = self.argument("f64", (n,), context, limit)
        self.declare(name, e)
        return Stmt(f"let ${name}: f64[{n.text}] = {{0}};", [e]), name, n

    def ode(self, context):
        made = self.named_vector(context, 2)
        if made is None:
            return None
        head, y, n = made
        rate, steps, result = self.rng.choice(["-$y", "$t * $y", "-$y * $y * $y", f"${y} - $y", "-$y + $y[::-1]"]), self.rng.choice([1, 2, 3]), self.new_name("t")
        method = self.rng.choice(["rk4", "euler", "rk4_path", "verlet"])
        shape = (Dim(str(steps + 1), steps + 1), n) if method == "rk4_path" else (n,)
        self.declare(result, Expr("", [], "f64", shape, -100, 100))
        if method == "verlet":
            other = self.new_name("t")
            self.declare(other, Expr("", [], "f64", shape, -100, 100))
            call = f"let (${result}, ${other}) = verlet(fn($y) = {rate.replace('$t', '0.5')}, ${y}, 0.5 * ${y}, 0.1, {steps});"
        else:
            call = f"let ${result} = {method}(fn($t, $y) = {rate}, ${y}, 0.0, 0.5, {steps});"
        return [Stmt("import std.ode;"), head, Stmt(call)]

    def solver(self, context):
        made = self.named_vector(context, 10, most=7)
        if made is None:
            return None
        head, b, n = made
        matrix, result, steps = self.new_name("x"), self.new_name("t"), self.new_name("q")
        a = self.definite("f64", n, context, 1)
        self.declare(matrix, a)
        self.declare(result, Expr("", [], "f64", (n,), -200, 200))
        method = self.rng.choice(["cg", "bicgstab", "gmres"])
        call = f"let (${result}, ${steps}) = {method}(fn($u) = ${matrix} @ $u, ${b}, zeros({n.text}), max_steps=3);"
        return [Stmt("import std.solvers;"), head, Stmt(f"let ${matrix} = {{0}};", [a]), Stmt(call)]

    def integral(self, context):
        result, method = self.new_name("t"), self.rng.choice(["integrate", "simpson"])
        text, body = self.lambda_text("f64", ["u"], [], 2.0)
        self.declare(result, Expr("", [], "f64", (), -10, 10))
        count = self.rng.choice([", 2", ", intervals=4"])
        return [Stmt("import std.calculus;"), Stmt(f"let ${result} = {method}({text}, -1.0, 2.0{count});", [body])]

    def sampled(self, context):
        made = self.named_vector(context, 10, 3)
        if made is None:
            return None
        head, y, n = made
        result = self.new_name("t")
        text, shape = self.rng.choice([(f"trapezoid(${y}, 0.5)", ()), (f"cumulative_trapezoid(${y}, 0.5)", (n,)), (f"gradient(${y}, 0.5)", (n,)),
                                       (f"laplacian(outer(${y}, ${y}), 1.0, 0.5)", (n, n))])
        self.declare(result, Expr("", [], "f64", shape, -5000, 5000))
        return [Stmt("import std.calculus;"), head, Stmt(f"let ${result} = {text};")]

    def moments(self, context):
        made = self.named_vector(context, 10, 2)
        if made is None:
            return None
        head, y, n = made
        result = self.new_name("t")
        text, shape, scalar = self.rng.choice([(f"root_mean_square(${y})", (), "f64"), (f"sample_variance(${y})", (), "f64"), (f"ranks(${y})", (n,), "i64"),
                                               (f"covariance(outer(${y}, ${y}))", (n, n), "f64"), (f"order_statistic(${y}, 1)", (), "f64")])
        self.declare(result, Expr("", [], scalar, shape, -1e5, 1e5))
        return [Stmt("import std.stats;"), head, Stmt(f"let ${result} = {text};")]

    def rooted(self, context):
        a, result = self.argument("f64", (), context, 2), self.new_name("t")
        constant = self.new_name("t")
        self.declare(constant, a)
        self.declare(result, Expr("", [], "f64", (), -4, 4))
        call = self.rng.choice([f"newton(fn($u) = $u * $u * $u + $u - ${constant}, 0.5, max_steps=4)", f"root(fn($u) = $u * $u * $u + $u - ${constant}, -4.0, 4.0)"])
        return [Stmt("import std.optimise;"), Stmt(f"let ${constant}: f64 = {{0}};", [a]), Stmt(f"let ${result} = {call};")]
