"""Extents found by data: slices kept, places, different values, groups and pairs. Masks and keys are exact: rounding decides no extent."""
from model import Dim, Stmt
from operations import size_of


class Found:
    def found_steps(self, context):
        makers = [(self.kept_slices, 3), (self.kept_elements, 1.5), (self.found_places, 2), (self.different_values, 1.5), (self.grouped, 3), (self.joined, 3),
                  (self.found_in_loop, 1.5), (self.found_in_function, 1)]
        return self.rng.choices([m for m, _ in makers], [w for _, w in makers])[0](context)

    # --- operands
    def sure(self, shape, context, most):
        """(declaration, name) of a tensor of integers in [0, most] that no rounding decides."""
        name = "$" + self.new_name("k")
        if self.exact:
            return Stmt(f"let {name} = mod({{0}}, {most + 1});", [self.argument("i64", shape, context, 10**6)]), name
        inputs = [v.name for v in self.values if v.name[0] == "A" and v.scalar in ("i64", "i32") and v.shape == tuple(shape)]
        if inputs and self.chance(0.7):
            return Stmt(f"let {name} = mod(i64(${self.rng.choice(inputs)}) + {self.rng.randrange(3)}, {most + 1});"), name
        letters = "ijk"[:len(shape)]
        places = " + ".join(f"{self.rng.choice([1, 2, 3, 5])} * {letter}" for letter in letters)
        return Stmt(f"let {name}[{', '.join(letters)}] = mod({places} + {self.rng.randrange(5)}, {most + 1}) for "
                    + ", ".join(f"{letter} in 0..{d.text}" for letter, d in zip(letters, shape)) + ";"), name

    def mask(self, shape, context):
        """(declarations, text) of bools."""
        inputs = [v.name for v in self.values if v.name[0] == "A" and v.scalar in ("f64", "f32") and v.shape == tuple(shape)]
        if inputs and self.chance(0.4):
            return [], f"${self.rng.choice(inputs)} {self.rng.choice(['>', '<=', '!='])} {self.rng.choice(['0.0', '1.0', '0.5'])}"
        made, k = self.sure(shape, context, 4)
        return [made], k + self.rng.choice([" == 0", " != 1", " > 2", " > 0", " % 2 == 1", " >= 0", " > 9", " < 3"])

    def table_key(self, shape, context):
        """(declaration, text) of values with an order, few of them."""
        made, k = self.sure(shape, context, self.rng.choice([1, 4, 7]))
        types = ["i64", "i64", "f64", "i32", "f32", "bool"] + (["u8", "i16", "u64"] if self.part("integers") else [])
        kind = self.rng.choice(types)
        return made, k if kind == "i64" else f"({k} > 0)" if kind == "bool" else f"{kind}({k})"

    def payload(self, scalar, shape, context, limit=10):
        """(declaration, name) of any values."""
        name = "$" + self.new_name("z")
        return Stmt(f"let {name}: {self.dense_type_text(scalar, shape)} = {{0}};", [self.argument(scalar, shape, context, limit)]), name

    def new_names(self, stems):
        return ["$" + self.new_name(stem) for stem in stems]

    def shown(self, text, annotation=""):
        """A declaration that is an output."""
        name = self.new_name("y")
        self.only_outputs.append(name)
        return Stmt(f"let ${name}{annotation} = {text};")

    def dimension(self):
        return self.rng.choice(self.dims)

    # --- filter
    def kept_slices(self, context):
        scalar, shape = self.rng.choice(["f64", "f64", "f64", "i64", "f32"]), self.shape(1, 3)
        axis, count = self.rng.randrange(len(shape)), max(size_of(shape), 1)
        made, x = self.payload(scalar, shape, context)
        lines, mask = self.mask((shape[axis],), context)
        y, m = self.new_names("ym")
        along = f", axis={axis}" if axis or self.chance(0.3) else ""
        extents = [m if k == axis else d.text for k, d in enumerate(shape)]
        typed = f": {scalar}[{', '.join(extents)}]" if self.chance(0.6) else ""
        lines = [made, *lines, Stmt(f"let {y}{typed} = filter({x}, {mask}{along});")]
        rest = shape[:axis] + shape[axis + 1:]
        uses = [lambda: [self.within(f"sum({y}, axis={axis})", scalar, rest, 10 * count)], lambda: [self.shown(f"2 * {y} - filter({x}, {mask}{along})" if scalar == "i64" else f"{y} + filter({x}, {mask}{along})")],
                lambda: [self.shown(y)], lambda: [self.within(f"{m if typed else f'size({y}, {axis})'} + 1", "i64", (), shape[axis].size + 1, 1)],
                lambda: [self.shown(f"{self.rng.choice(['sort', 'cummax', 'cumsum'])}({y}, axis={axis})")], lambda: [self.shown(f"concat({y}, {x}, axis={axis})")],
                lambda: [self.shown(f"({y})[{', '.join('::-1' if k == axis else ':' for k in range(len(shape)))}]")]]
        if len(shape) == 1:
            uses.append(lambda: [self.within(f"{y} @ {y}", scalar, (), 100 * count, 0)])
        if len(shape) == 2:
            inner, n = (f"{y}' @ {y}", shape[1]) if axis == 0 else (f"{y} @ {y}'", shape[0])
            uses += [lambda: [self.within(inner, scalar, (n, n), 100 * count)]] * 2
        if scalar == "f64":
            uses.append(lambda: self.kept_slope(y, x))
        for use in self.rng.sample(uses, self.rng.choice([1, 2, 3])):
            lines += use()
        return lines

    def kept_slope(self, y, x):
        loss, slope = self.new_name("l"), self.new_name("g")
        self.only_outputs.append(slope)
        return [Stmt(f"let ${loss} = sum({y} * {y});"), Stmt(f"let ${slope} = grad(${loss}, {x});")]

    def kept_elements(self, context):
        """Elements in row-major order."""
        scalar, shape = self.rng.choice(["f64", "i64", "f32"]), self.shape(2, 3)
        made, x = self.payload(scalar, shape, context)
        lines, mask = self.mask(shape, context)
        y, m = self.new_names("ym")
        lines = [made, *lines, Stmt(f"let {y}: {scalar}[{m}] = filter({x}, {mask});"), self.within(f"sum({y})", scalar, (), 10 * max(size_of(shape), 1))]
        return lines + ([self.shown(self.rng.choice([y, f"cumsum({y})", f"{y} * {y}"]))] if self.chance(0.7) else [])

    # --- nonzero
    def found_places(self, context):
        scalar, shape = self.rng.choice(["f64", "i64"]), self.shape(1, 3)
        made, x = self.payload(scalar, shape, context)
        if self.chance(0.5):
            lines, what = self.mask(shape, context)
        else:
            declaration, what = self.sure(shape, context, 2)
            lines = [declaration]
        m = self.new_names("m")[0]
        places = self.new_names("p" * len(shape))
        left = f"{places[0]}: i64[{m}]" if len(shape) == 1 else f"({places[0]}: i64[{m}], {', '.join(places[1:])})"
        at, dims = ", ".join(f"{p}[s]" for p in places), ", ".join(d.text for d in shape)
        z, t = self.new_names("zt")
        lines = [made, *lines, Stmt(f"let {left} = nonzero({what});"), Stmt(f"let {z}[s]: {scalar}[{m}] = {x}[{at}] + {x}[{at}];"), self.shown(self.rng.choice([z, *places]))]
        if self.chance(0.6):
            lines += [Stmt(f"let {t}[{at}]: {scalar}[{dims}] += {z}[s];"), self.within(f"{t} - {x}", scalar, shape, 30)]
        return lines

    # --- unique, groups
    def different_values(self, context):
        shape = self.shape(1, 3)
        inputs = [v.name for v in self.values if v.name[0] == "A" and v.shape == tuple(shape)]
        made, key = self.table_key(shape, context)
        lines, key = ([], f"${self.rng.choice(inputs)}") if inputs and self.chance(0.3) else ([made], key)
        y = self.new_names("y")[0]
        lines += [Stmt(f"let {y} = unique({key});"), self.shown(y), self.within(f"size({y})", "i64", (), size_of(shape), 0)]
        return lines + ([self.within(f"searchsorted({y}, {key})", "i64", shape, size_of(shape), 0)] if self.chance(0.5) else [])

    def grouped(self, context):
        """Keys of one to three vectors, sums and extrema by group, and what each element's group has."""
        n, scalar = self.dimension(), self.rng.choice(["f64", "f64", "i64"])
        keys = [self.table_key((n,), context) for _ in range(self.rng.choice([1, 1, 2, 3]))]
        made, x = self.payload(scalar, (n,), context)
        g, c, m, z = self.new_names("gcmz")
        names = self.new_names("k" * len(keys))
        kinds = self.kinds(keys)
        typed = ", ".join([f"{names[0]}: {kinds[0]}[{m}]", *names[1:]])
        lines = [*(k for k, _ in keys), made, Stmt(f"let ({typed}, {g}, {c}) = groups({', '.join(k for _, k in keys)});")]
        sign = self.rng.choice(["+=", "+=", "max=", "min="])
        lines += [Stmt(f"let {z}[{g}[i]]: {scalar}[{m}] {sign} {x}[i];"), self.shown(self.rng.choice([z, g, c, *names]))]
        reach = 10 * max(n.size, 1)
        uses = [lambda: self.within(f"take({z}, {g})", scalar, (n,), reach), lambda: self.within(f"take({c}, {g})", "i64", (n,), n.size, 0),
                lambda: self.within(f"take({names[-1]}, {g})", kinds[-1], (n,), 7, 0) if kinds[-1] in ("i64", "f64", "i32", "f32") else self.within(f"sum({c})", "i64", (), n.size, 0)]
        return lines + [use() for use in self.rng.sample(uses, self.rng.choice([1, 2]))]

    @staticmethod
    def kinds(keys):
        """Element types of the keys' texts."""
        return ["bool" if " > " in text else text.split("(")[0] if "(" in text else "i64" for _, text in keys]

    # --- join
    def joined(self, context):
        n, m, scalar = self.dimension(), self.dimension(), self.rng.choice(["f64", "i64"])
        (first, a), (second, b) = (self.sure((d,), context, self.rng.choice([2, 5, 9])) for d in (n, m))
        if self.chance(0.3):
            kind = self.rng.choice(["f64", "i32", "f32"])
            a, b = f"{kind}({a})", f"{kind}({b})"
        (left, x), (right, w) = (self.payload(scalar, (d,), context) for d in (n, m))
        i, j, k, z, t = self.new_names("ijmzt")
        outer = self.chance(0.35)
        lines = [first, second, left, right, Stmt(f"let ({i}: i64[{k}], {j}) = join({a}, {b}{', kind=left' if outer else self.rng.choice(['', ', kind=inner'])});")]
        count = max(n.size * m.size, 1)
        if outer:
            lines += [self.shown(f"{i} + 100 * {j}"), Stmt(f"let {t}[{i}[s]]: i64[{n.text}] += {j}[s] + 1;"), self.within(t, "i64", (n,), m.size * (m.size + 1), 0)]
            return lines + ([self.shown(f"filter({i}, {j} < 0)")] if self.chance(0.5) else [])
        lines += [Stmt(f"let {z}[s]: {scalar}[{k}] = {x}[{i}[s]] * {w}[{j}[s]];"), self.shown(self.rng.choice([z, i, j, f"cumsum({z})"]))]
        uses = [lambda: [self.within(f"sum({z})", scalar, (), 100 * count)],
                lambda: [Stmt(f"let {t}[{i}[s]]: {scalar}[{n.text}] += {w}[{j}[s]];"), self.within(t, scalar, (n,), 10 * count)], lambda: [self.within(f"size({i})", "i64", (), count, 0)]]
        return lines + self.rng.choice(uses)()

    # --- loops and functions
    def found_in_loop(self, context):
        """Another extent in each iteration."""
        n, scalar = self.dimension(), self.rng.choice(["f64", "i64"])
        declaration, k = self.sure((n,), context, 5)
        made, x = self.payload(scalar, (n,), context, 4)
        y, h, v, c, left, low = self.new_names("ymvcvv")
        r, three = "$" + self.new_loop_name(), (Dim("3", 3),)
        if self.chance(0.3):
            body = [Stmt(f"let {y} = filter({k}, {k} > {low});"), Stmt(f"{left} = size({y});"), Stmt(f"{low} = {low} + 2;")]
            return [declaration, Stmt(f"var {left} = {n.text};"), Stmt(f"var {low} = 0;"), Stmt(f"while {left} > 0", (), [body]), self.within(low, "i64", (), 10, 0)]
        found = self.rng.choice([f"filter({x}, {k} > {r})", f"filter({x}, {k} % 3 == {r})", f"take({x}, nonzero({k} >= 2 * {r}))"])
        body = [Stmt(f"let {y}: {scalar}[{h}] = {found};"), Stmt(f"{v}[{r}] = {self.rng.choice([f'sum({y})', f'{y} @ {y}'])};"), Stmt(f"{c}[{r}] = {h};")]
        return [declaration, made, Stmt(f"var {v}: {scalar}[3] = zeros(3);"), Stmt(f"var {c}: i64[3] = zeros(3);"), Stmt(f"for {r} in 0..3", (), [body]),
                self.within(v, scalar, three, 16 * max(n.size, 1)), self.within(c, "i64", three, n.size, 0)]

    def found_in_function(self, context):
        """A function whose result has an extent of its own at each call."""
        n, scalar = self.dimension(), self.rng.choice(["f64", "i64"])
        name, da, db = self.new_name("f"), "$da", "$db"
        body = self.rng.choice(["filter($v, $c)", "take($v, nonzero($c))", "filter(2 * $v, $c)" if scalar == "i64" else "filter(0.5 * $v, $c)"])
        lines = [Stmt(f"fn ${name}($v: {scalar}[{da}], $c: bool[{da}]) -> {scalar}[{db}]", (), [[Stmt(f"return {body};")]])]
        for _ in range(2):
            made, x = self.payload(scalar, (n,), context)
            masks, mask = self.mask((n,), context)
            lines += [made, *masks, self.rng.choice([lambda: self.shown(f"${name}({x}, {mask})"), lambda: self.within(f"sum(${name}({x}, {mask}))", scalar, (), 20 * max(n.size, 1))])()]
        return lines
