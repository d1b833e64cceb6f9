#!/usr/bin/python3
"""Random well-typed TDSL programs. `generate.py SEED [exact|general|sparse [PART,…]]` prints one; the same seed gives the same program."""
import random
import re
import sys

import intervals
from expressions import Context, Label, Value
from model import Dim, Expr, Input, Program, Stmt
from batches import Batches
from boundaries import Boundaries
from callables import Callables
from complex_numbers import ComplexNumbers
from everyday import Everyday
from found import Found
from fourier import Fourier
from integers import Integers
from keys import Keys
from leaving import Leaving
from pipelines import Pipelines
from records import Records
from stored import Stored

SIZES = [1, 2, 3, 4, 5, 5, 6, 7, 8, 9, 11, 13]


# Templates that may replace each other without leaving the range of values.
SWAPS = {"min({0}, {1})": "max({0}, {1})", "max({0}, {1})": "min({0}, {1})", "({0} < {1})": "({0} > {1})", "({0} > {1})": "({0} < {1})",
         "({0} <= {1})": "({0} >= {1})", "({0} >= {1})": "({0} <= {1})", "({0} == {1})": "({0} != {1})", "({0} && {1})": "({0} || {1})",
         "(if {0} then {1} else {2})": "(if {0} then {2} else {1})", "where({0}, {1}, {2})": "where({0}, {2}, {1})", "true": "false"}


class Function:
    def __init__(self, name, scalar, parameters, low, high):
        self.name, self.scalar, self.parameters, self.low, self.high = name, scalar, parameters, low, high
        self.elementwise = True


# Parts of the language that `parts` may restrict programs to.
PARTS = ("names", "functions", "leaving", "keys", "series", "boundaries", "complex", "integers", "fourier", "extents", "batches")
# Parts whose results are never exact: programs of these alone are not.
INEXACT_PARTS = {"fourier", "batches"}


class Generator(Stored, Everyday, Callables, Leaving, Keys, Records, Boundaries, Pipelines, ComplexNumbers, Integers, Fourier, Found, Batches):
    def __init__(self, seed, exact, sparse=False, parts=None):
        self.rng, self.exact = random.Random(seed), exact
        self.parts = parts
        self.sparse_alone = sparse  # sparse tensors and hardly anything else
        self.program = Program(seed, exact)
        self.values, self.functions, self.dims = [], [], []
        self.counter, self.loops_made, self.trips = 0, 0, 1
        self.only_outputs = []  # names whose values have no known bounds
        self.random_allowed, self.may_be_empty = True, False
        self.wild = None  # names of inputs with inf and nan
        self.stored = None  # names of sparse tensors of every rank

    def generate(self):
        self.make_dims()
        self.make_inputs()
        self.wild_inputs()
        self.stored_inputs()
        for _ in range(0 if self.sparse_alone else self.rng.choice([0, 0, 1, 2])):
            self.scalar_function()
        if not self.sparse_alone and self.chance(0.3):
            self.procedure()
        makers = [(self.let_tensor, 4), (self.index_let, 6), (self.let_scalar, 1.5), (self.var_any, 2.5), (self.assign_whole, 1.5),
                  (self.assign_index, 2), (self.assign_slice, 1.2), (self.element_loop, 2.5), (self.tensor_loop, 3),
                  (self.while_loop, 1.2), (self.if_statement, 0.8), (self.tensor_function, 1), (self.assertion, 0.3),
                  (self.twin, 1.2), (self.chain, 0.6), (self.pipeline, 2.5), (self.few_reads, 1.5), (self.scatter_let, 1.2), (self.scatter_assign, 1), (self.top_elements, 0.6),
                  (self.factorisation, 0 if self.exact else 1.5), (self.gradient, 1.5),
                  (self.grown, self.weight("names", 0.8)), (self.callable, self.weight("functions", 2.5)),
                  (self.complex_steps, self.weight("complex", 1.2)), (self.complex_slope, self.weight("complex", 0.4)),
                  (self.integer_steps, self.weight("integers", 1)), (self.fourier_steps, self.weight("fourier", 0.6)),
                  (self.found_steps, self.weight("extents", 1)), (self.batch_steps, self.weight("batches", 0.8))]
        wanted = 1 if self.sparse_alone else self.rng.choice([3, 4, 5, 6, 7, 9])
        made = attempts = 0
        while made < wanted and attempts < 60:
            attempts += 1
            maker = self.rng.choices([m for m, _ in makers], [w for _, w in makers])[0]
            s = maker(Context())
            if s is None:
                continue
            self.program.statements += s if isinstance(s, list) else [s]
            made += 1
        self.make_outputs()
        return self.program

    # --- the head
    def make_dims(self):
        base = [Dim(f"${name}", self.rng.choice(SIZES)) for name in ["n", "m", "q"][:self.rng.choice([1, 2, 2, 3])]]
        if self.chance(0.05):
            base[-1].size = 0
        if self.chance(0.15):
            # Sizes known at compile time: passes may decide more.
            base = [Dim(str(d.size), d.size) for d in base]
        self.program.dims = list(base)
        self.dims = base * 3
        for d in base:
            if self.chance(0.25) and not d.text.isdigit():
                self.dims.append(Dim(f"{d.text} + 1", d.size + 1))
            if self.chance(0.25) and d.size >= 1 and not d.text.isdigit():
                self.dims.append(Dim(f"{d.text} - 1", d.size - 1))
        if self.chance(0.3):
            size = self.rng.choice([1, 2, 3, 4])
            self.dims.append(Dim(str(size), size))
        self.may_be_empty = any(d.size == 0 for d in self.dims)

    def make_inputs(self):
        shapes = [tuple(self.program.dims[:2]), tuple(self.program.dims[-2:])]
        shapes += [self.shape() for _ in range(self.rng.choice([0, 1, 2, 3]))]
        for number, shape in enumerate(shapes):
            scalar = "f64" if number == 0 else self.scalar()
            low, high = self.rng.choice([(-4, 4), (-3, 5), (0, 3)] if self.exact or scalar[0] == "i" else [(-2, 2), (0.1, 3), (-1, 1)])
            self.add_input(scalar, shape, low, high)
        positions = [d for d in self.program.dims if d.size > 0]
        if positions and self.chance(0.6):
            d = self.rng.choice(positions)
            self.add_input(self.rng.choice(["i64", "i64", "i32"]), (self.rng.choice(self.dims),), 0, d.size - 1, d)
        if self.chance(0.12):
            self.add_input("f64", (), -2, 2)
        if self.chance(0.35):
            self.add_param()

    def add_input(self, scalar, shape, low, high, index_of=None):
        name = f"A{len(self.program.inputs)}"
        sparse = bool(shape) and index_of is None and self.chance(0.25)
        density = self.rng.choice([0, 1e-6, 0.01, 0.1, 0.1, 0.5, 1]) if sparse else None
        if sparse:
            low, high = min(low, 0), max(high, 0)
        self.program.inputs.append(Input(name, scalar, shape, low, high, self.exact, self.rng.randrange(2**32), index_of, density, table=self.table_chance(shape, sparse)))
        text = self.sparse_type_text(scalar, shape) if sparse else self.dense_type_text(scalar, shape)
        self.program.statements.append(Stmt(f"input ${name}: {text};"))
        if scalar == "bool":
            low, high = 0, 1
        self.values.append(Value(name, scalar, shape, low, high))

    def table_chance(self, shape, sparse):
        return self.part("names") and not sparse and len(shape) in (1, 2) and self.chance(0.1)

    def add_param(self):
        scalar = self.rng.choice(["f64", "i64"])
        name, value = self.new_name("a"), self.rng.choice([0, 1, 2, 3])
        text = f"{value}.0" if scalar == "f64" else f"{value}"
        given = self.chance(0.5)
        default = f" = {'5.0' if scalar == 'f64' else '5'}" if given and self.chance(0.5) else "" if given else f" = {text}"
        self.program.params.append((name, text if given else None))
        self.program.statements.append(Stmt(f"param ${name}: {scalar}{default};"))
        self.values.append(Value(name, scalar, (), value, value))

    def wild_inputs(self):
        """A sparse matrix and a dense one with some elements inf and nan. Only dedicated outputs read them."""
        if len(self.program.dims) < 2 or not self.chance(0.3):
            return
        rows, columns = self.program.dims[0], self.program.dims[-1]
        self.wild = {}
        for name, shape, density in [("W", (rows, columns), self.rng.choice([0, 0.03, 0.2, 0.2, 0.5, 1])), ("D", (rows, columns), None), ("v", (columns,), None)]:
            name = f"A{len(self.program.inputs)}{name}"
            self.program.inputs.append(Input(name, "f64", shape, -3, 3, self.exact, self.rng.randrange(2**32), None, density, True))
            text = self.dense_type_text("f64", shape) if density is None else self.sparse_type_text("f64", shape)
            self.program.statements.append(Stmt(f"input ${name}: {text};"))
            self.wild[name[-1]] = "$" + name

    def wild_outputs(self):
        """Absent elements combined with inf and nan: inline, through a name, in a function, and in a sum."""
        forms = ["W * D", "D * W", "W / D", "(W != 0.0) * D", "(W > 1.0) * (D * W)", "W @ v", "W @ D'", "W' @ D", "W @ W'", "sum(W * D, axis=0)", "sum(W, axis=1)", "W + W * D",
                 "(W + D) * W", "min(W, W * D) * v", "max(W, 0.0) * D", "abs(W) * v / D", "(-W) * D", "dense(W) * D", "sparse(D) * inf", "W[:, ::2] * inf",
                 "W' * inf", "relu(W) * nan", "(W ** 2) * D", "where(W > 0.0, D, 0.0) * inf", "any(W != 0.0, axis=0)", "nnz(W * D)"]
        for _ in range(self.rng.choice([2, 3, 4])):
            form = self.rng.choice(forms)
            text = re.sub(r"\b([WDv])\b", lambda m: self.wild[m[1]], form)
            name = self.new_name("z")
            if self.chance(0.5) and " * " in text and not text.startswith("sum"):
                part = self.new_name("u")
                head, tail = text.rsplit(" * ", 1)
                if head.count("(") == head.count(")"):
                    self.program.statements.append(Stmt(f"let ${part} = {head};"))
                    text = f"${part} * {tail}"
            self.program.outputs.append(name)
            self.program.statements.append(Stmt(f"output ${name} = {text};"))
        if self.chance(0.7):
            self.walked_outputs()

    def walked_outputs(self):
        """Iteration over the stored elements of W, results with its pattern, and loops."""
        maps = ["W[i, j] / v[j]", "W[i, j] * D[i, j]", "abs(W[i, j])", "if W[i, j] > 0.0 then W[i, j] * v[j] else 0.0", "W[i, j] * sum[k](D[i, k] * v[k])",
                "sum[k](W[i, j] * D[i, k] * v[k])", "W[i, j] - W[i, j] * v[j]", "-W[i, j]", "W[i, j]"]
        ways = ["P @ v", "P' @ (P @ v)", "P @ D'", "P' @ D", "sum(P, axis=0)", "sum(P)", "nnz(P)", "P", "exp(P)", "max(P, axis=1)", "any(P != 0.0, axis=1)", "P * W", "P' @ W"]
        rows = ["sum[j](P[i, j] * W[i, j])", "min[j where P[i, j] != 0.0](P[i, j] + v[j])", "any[j](P[i, j] > 0.0 && v[j] > 0.0)", "max[j where P[i, j] > 0.0](v[j])",
                "sum[j where v[j] > 0.0](P[i, j])", "count[j](P[i, j] != 0.0)", "sum[j, k](P[i, j] * D[i, k] * v[k])"]
        part, turn = self.new_name("u"), self.new_name("r")
        add = lambda text: self.program.statements.append(Stmt(text))
        wild = lambda text: re.sub(r"\b([WDv])\b", lambda m: self.wild[m[1]], text).replace("P", f"${part}")
        add(wild(f"let P[i, j] = {self.rng.choice(maps)};"))
        for _ in range(self.rng.choice([1, 2, 2, 3])):
            self.program.outputs.append(self.new_name("z"))
            name = self.program.outputs[-1]
            kind = self.rng.choice(["whole", "rows", "loop"])
            if kind == "rows":
                add(wild(f"output ${name}[i] = {self.rng.choice(rows)};"))
            elif kind == "whole":
                add(wild(f"output ${name} = {self.rng.choice(ways)};"))
            else:
                step = self.rng.choice(["P' @ (W @ R)", "0.5 * R + P' @ (P @ R)", "P' @ sum(P, axis=1) + R", "max(P' @ (P @ R), R)"]).replace("R", f"${turn}_{name}")
                add(wild(f"var ${turn}_{name} = v;"))
                add(wild(f"for $t_{name} in 0..2 {{ ${turn}_{name} = {step}; }}"))
                add(f"output ${name} = ${turn}_{name};")

    # --- functions
    def scalar_function(self):
        """An untyped function: inlined, applied elementwise."""
        outer = self.values, self.dims, self.functions, self.random_allowed
        scalar = self.rng.choice(["f64", "f64", "i64"])
        reach = 8 if self.exact or scalar == "i64" else 4.0
        name = self.new_name("f")
        self.values = [Value(n, scalar, (), -reach, reach) for n in ("x", "y")[:self.rng.choice([1, 2])]]
        parameters = self.values
        self.dims, self.functions, self.random_allowed = [], [], False
        body = self.expr(scalar, (), Context(), self.rng.choice([1, 2, 3]))
        # Its type must not depend on the argument types.
        read = Expr(f"${parameters[0].name}", [], scalar, (), -reach, reach)
        body = self.bounded(Expr("({0} + {1})", [body, read], scalar, (), *intervals.add((body.low, body.high), (-reach, reach))))
        self.values, self.dims, self.functions, self.random_allowed = outer
        self.functions.append(Function(name, scalar, parameters, body.low, body.high))
        self.program.statements.append(Stmt(f"fn ${name}({', '.join('$' + p.name for p in parameters)}) = {{0}};", [body]))

    def procedure(self):
        """A scalar function with variables, loops and branches, applied elementwise."""
        outer = self.values, self.dims, self.functions, self.random_allowed
        scalar = self.rng.choice(["f64", "f64", "i64"])
        reach = 8 if self.exact or scalar == "i64" else 4.0
        name = self.new_name("f")
        parameters = [Value(n, scalar, (), -reach, reach) for n in ("x", "y")[:self.rng.choice([1, 2])]]
        self.dims, self.functions, self.random_allowed = [], [f for f in self.functions if f.elementwise], False
        variables = [Value(n, scalar, (), -reach, reach) for n in ("s", "t")[:self.rng.choice([1, 2])]]

        def value(depth=2):
            return self.strong(self.fit(self.expr(scalar, (), Context(), depth), reach))

        def assign():
            return Stmt(f"${self.rng.choice(variables).name} = {{0}};", [value()])

        self.values = parameters
        body = [Stmt(f"var ${v.name}: {scalar} = {{0}};", [value(1)]) for v in variables]
        self.values = parameters + variables
        for _ in range(self.rng.choice([1, 2, 3])):
            kind = self.rng.choice(["assign", "for", "while", "if", "swap"])
            if kind == "for":
                low, high = self.rng.choice([(0, 3), (1, 4), (2, 2)])
                step = self.rng.choice(["", "", " by 2"])
                inside = [assign() for _ in range(self.rng.choice([1, 2]))]
                body.append(Stmt(f"for $r in {low}..{high}{step}", (), [self.with_exits(inside, Context())]))
            elif kind == "while":
                count = self.new_name("c")
                body += [Stmt(f"var ${count} = 0;"),
                         Stmt(f"while ${count} < {self.rng.choice([0, 1, 3])} && {{0}}", [self.expr("bool", (), Context(), 1)],
                              [[assign(), Stmt(f"${count} += 1;")]])]
            elif kind == "if":
                blocks = [[assign()]] + ([[assign()]] if self.chance(0.5) else [])
                body.append(Stmt("if {0}", [self.expr("bool", (), Context(), 2)], blocks))
            elif kind == "swap" and len(variables) == 2:
                body.append(Stmt("($s, $t) = ($t, $s);"))
            else:
                body.append(assign())
        read = Expr(f"${variables[-1].name}", [], scalar, (), -reach, reach)
        returned = self.bounded(Expr("({0} + {1})", [read, value(1)], scalar, (), -2 * reach, 2 * reach))
        self.values, self.dims, self.functions, self.random_allowed = outer
        self.functions.append(Function(name, scalar, parameters, returned.low, returned.high))
        text = ", ".join("$" + p.name for p in parameters)
        self.program.statements.append(Stmt(f"fn ${name}({text})", (), [body + [Stmt("return {0};", [returned])]]))

    def tensor_function(self, context):
        """A typed function of a tensor, and a call of it."""
        arguments = [v for v in self.values if 1 <= len(v.shape) <= 2 and v.scalar in ("f64", "i64")]
        if not arguments:
            return None
        v = self.rng.choice(arguments)
        argument = self.expr(v.scalar, v.shape, context, 1)
        outer = self.values, self.dims, self.functions
        name, result = self.new_name("g"), self.new_name("t")
        letters = dict(zip(dict.fromkeys(v.shape), ("$da", "$db")))
        inside = tuple(Dim(letters[d], d.size) for d in v.shape)
        self.values = [Value("X", v.scalar, inside, argument.low, argument.high)]
        self.dims = list(dict.fromkeys(inside))
        makers = self.rng.choice([[], [self.index_let], [self.let_scalar, self.index_let]])
        body = [s for s in [make(Context()) for make in makers] if s is not None]
        names = Context().fresh(len(inside))
        labels = [Label(n, 0, d.size, d) for n, d in zip(names, inside)]
        value = self.expr(v.scalar, inside, Context(), 2)
        returned, back = value, v.shape
        if self.chance(0.5):
            element = self.index_body(v.scalar, Context().inside(labels), labels)
            order = [x for x in names[:len(inside)]]
            if all((x.name, x.dim.text) in element.bare for x in labels) and self.first_appearance(element, order) == order:
                returned = element
        text = self.type_text(v.scalar, inside)
        self.values, self.dims, self.functions = outer
        function = Stmt(f"fn ${name}($X: {text}) -> {text}", (), [body + [Stmt("return {0};", [returned])]])
        low, high = returned.low, returned.high
        self.declare(result, Expr("", [], v.scalar, back, low, high))
        typed = "" if not argument.weak else f"{v.scalar}"
        if typed:
            argument = self.strong(argument)
        return [function, Stmt(f"let ${result} = ${name}({{0}});", [argument])]

    @staticmethod
    def first_appearance(e, order):
        """Names in the order of their first appearance as bare subscripts in the text."""
        text, places = e.text(), []
        for name in order:
            found = [p for p in (text.find(f"[{name},"), text.find(f"[{name}]"), text.find(f", {name},"), text.find(f", {name}]")) if p >= 0]
            places.append((min(found, default=10**9), name))
        return [name for _, name in sorted(places)]

    # --- variations
    def twin(self, context):
        """A copy of an earlier declaration with a small change: similar values must not be treated as equal."""
        candidates = [s for s in self.program.statements if re.match(r"let \$[xt]\d+[\[ :]", s.template) and s.exprs]
        if not candidates:
            return None
        s = self.rng.choice(candidates)
        name = re.match(r"let \$(\w+)", s.template)[1]
        value = next((v for v in self.values if v.name == name), None)
        if value is None or any("random" in e.text() or "randn" in e.text() for e in s.exprs):
            return None
        result, new = s.copy(), self.new_name("x" if "[" in s.template.split("=")[0] else "t")
        result.template = s.template.replace(f"${name}", f"${new}", 1)
        self.values.append(Value(new, value.scalar, value.shape, value.low, value.high))
        if " where {1}" in result.template and self.chance(0.6):
            result.exprs[1] = Expr("(!{0})", [result.exprs[1]], "bool", (), 0, 1)
        elif self.chance(0.6):
            self.mutate(result.exprs[0])
        return result

    def mutate(self, e):
        """A different operator or literal somewhere, with values in the same range."""
        spots, todo = [], [e]
        while todo:
            x = todo.pop()
            todo += x.children
            if x.template in SWAPS:
                spots.append(x)
        if spots:
            x = self.rng.choice(spots)
            x.template = SWAPS[x.template]

    def chain(self, context):
        """A product of several matrices, which the compiler may reorder."""
        matrices = [v for v in self.values if v.scalar == "f64" and len(v.shape) == 2 and max(abs(v.low), abs(v.high)) <= 8]
        if not matrices:
            return None
        factors = [self.rng.choice(matrices)]
        for _ in range(self.rng.choice([2, 3])):
            last = factors[-1].shape[1]
            following = [(v, "{}") for v in matrices if v.shape[0] == last] + [(v, "{}'") for v in matrices if v.shape[1] == last]
            if not following:
                return None
            v, form = self.rng.choice(following)
            shape = v.shape if form == "{}" else v.shape[::-1]
            factors.append(Value(form.format(v.name), v.scalar, shape, v.low, v.high))
        magnitude = 1
        for k, v in enumerate(factors):
            magnitude *= max(abs(v.low), abs(v.high)) * (v.shape[1].size if k + 1 < len(factors) else 1)
        if magnitude > self.limit("f64"):
            return None
        shape = (factors[0].shape[0], factors[-1].shape[1])
        return self.declaration("let", Expr(" @ ".join(f"${v.name}" for v in factors), [], "f64", shape, -magnitude, magnitude))

    # --- the end
    def assertion(self, context):
        self.random_allowed = False
        e = self.whole_reduction("i64", (), context, 2)
        self.random_allowed = True
        return None if e is None else Stmt("assert({0} == {1}, \"differs from itself\");", [e, e.copy()])

    def make_outputs(self):
        candidates = [v for v in self.values if v.name[0] in "vxtc" and v.name not in self.program.outputs]
        if not candidates:
            self.program.statements.append(self.let_tensor(Context()))
            candidates = [self.values[-1]]
        chosen = [v for v in candidates if self.chance(0.5)] or [self.rng.choice(candidates)]
        if candidates[-1] not in chosen:
            chosen.append(candidates[-1])
        for v in chosen:
            self.program.outputs.append(v.name)
            self.program.statements.append(Stmt(f"output ${v.name};"))
            if not v.shape and self.chance(0.7):
                self.program.statements.append(Stmt(f'print("${v.name}", ${v.name});'))
        for name in self.only_outputs:
            self.program.outputs.append(name)
            self.program.statements.append(Stmt(f"output ${name};"))
        if self.wild:
            self.wild_outputs()
        if self.stored:
            self.stored_outputs()
        if self.chance(0.2):
            shape = self.shape(1, 2)
            names = Context().fresh(len(shape))
            labels = [Label(n, 0, d.size, d, longer=True) for n, d in zip(names, shape)]
            e = self.index_body("f64", Context().inside(labels), labels)
            name = self.new_name("z")
            self.program.outputs.append(name)
            self.program.statements.append(Stmt(f"output ${name}[{', '.join(names)}]: {self.type_text('f64', shape)} = {{0}};", [e]))


def generate(seed, exact=None, sparse=False, parts=None):
    """The program for a seed. `exact`: None lets the seed decide. `sparse`: mostly sparse tensors. `parts`: of the optional parts only these, and often; None: all."""
    choose = random.Random(f"{seed} mode")
    share = 0.6 if parts is None else 0 if INEXACT_PARTS.issuperset(parts) else 0.3
    return Generator(seed, choose.random() < share if exact is None else exact, sparse, parts).generate()


if __name__ == "__main__":
    mode = sys.argv[2] if len(sys.argv) > 2 else ""
    print(generate(int(sys.argv[1]), {"exact": True, "general": False}.get(mode), mode == "sparse", sys.argv[3].split(",") if len(sys.argv) > 3 else None).text(), end="")
