"""Random functions of the importer's subset: declarations, updates of parts, names for the same memory, slices, broadcasting, reductions, loops,
lists, branches, and returns from the middle."""
import random

import numpy as np

_VECTORS, _MATRICES, _SCALARS = ["x", "y"], ["A", "B"], ["a", "n"]


HEAD = """import numpy as np


def damped(v, c):
    if c > 1:
        return v / (1 + abs(v))
    return v * 0.5


def settled(v):
    for k in range(3):
        if v[k] > 0.5:
            return v[k] + k
    return v[0]


"""
HELPERS = ("damped", "settled")


def arguments(number):
    made = np.random.RandomState(number + 7)
    n, m = ((9, 17), (12, 23))[number]
    return {"A": made.randn(n, m), "B": made.randn(n, m), "x": made.randn(m), "y": made.rand(m), "a": 0.5 + number, "n": 3 + number}


def module(seed, count):
    text = HEAD
    for number in range(count):
        text += _Program(random.Random(f"{seed} {number}")).text(f"f{number}") + "\n\n"
    return text


class _Program:
    def __init__(self, chance):
        self.chance = chance
        self.names = {"vector": list(_VECTORS), "matrix": list(_MATRICES), "scalar": list(_SCALARS)}
        self.count = 0

    def text(self, name):
        lines = [f"def {name}(A, B, x, y, a, n):"]
        lines += self.statements(self.chance.randint(3, 6), 1)
        return "\n".join([*lines, "    " + self.returned()]) + "\n"

    def returned(self):
        kept = [self.chance.choice(self.names[kind]) for kind in ("vector", "matrix", "scalar")]
        return f"return {', '.join(v + ' + 0.0' for v in kept)}"

    def statements(self, count, depth):
        return [line for _ in range(count) for line in self.statement(depth)]

    def statement(self, depth):
        pad = "    " * depth
        kind = self.chance.choice(["vector", "matrix", "scalar"])
        choice = self.chance.random()
        if choice < 0.12:
            return [pad + self.sharing(depth)]
        if choice < 0.4:
            value = self.expression(kind, 2)
            name = self.name(kind) if depth == 1 else self.chance.choice(self.changeable(kind) or [self.name(kind)])
            return [f"{pad}{name} = {value}"]
        if choice < 0.55:
            name = self.chance.choice(self.names[kind])
            return [f"{pad}{name} {self.chance.choice(['+=', '-=', '*='])} {self.expression(kind, 1) if name != 'n' else '1'}"]
        if choice < 0.7:
            return [pad + self.part()]
        if choice < 0.78:
            return [pad + line for line in self.longer(depth)]
        if depth > 2:
            return [f"{pad}x[0] = {self.expression('scalar', 1)}"]
        if choice < 0.9:
            variable = f"i{depth}"
            inner = self.inside(self.chance.randint(1, 3), depth + 1)
            return [f"{pad}for {variable} in range({self.chance.choice(['3', '1, 4', '4, 0, -1', '0, 6, 2'])}):", *inner,
                    f"{pad}    x[{variable}] = x[{variable} + 1] * 0.5 + {variable}"]
        inner, other = self.inside(2, depth + 1), self.inside(1, depth + 1)
        return [f"{pad}if {self.expression('scalar', 1)} > {self.chance.choice(['0', 'a', '0.5'])}:", *inner, f"{pad}else:", *other]

    def longer(self, depth):
        """Loops over rows and listed values, lists, comprehensions, and returns from the middle."""
        pick, v, m, s = self.chance.choice, *(self.chance.choice(self.names[kind]) for kind in ("vector", "matrix", "scalar"))
        test = f"{self.expression('scalar', 1)} > {pick(['0', '0.5', '2'])}"
        self.count += 1
        t = f"t{self.count}"
        forms = [[f"for {t} in {m}:", f"    x[0] = x[0] + {t}[1] * 0.25"],
                 [f"for {t}, r{t} in enumerate({m}):", f"    if r{t}.sum() > {t}:", "        continue", f"    y[1] = y[1] - r{t}[{t}] * 0.5"],
                 [f"for {t}, u{t} in zip({v}, {pick(self.names['vector'])}):", f"    y[0] += {t} * u{t} * 0.1"],
                 [f"for {t} in (0, 1, 2):", f"    x[{t}:{t} + 3] = x[{t} + 1:{t} + 4] * 0.5"],
                 [f"for {t}, u{t} in ((1, 0.5), (2, -0.25)):", f"    y[{t}:] = y[{t}:] + {v}[:-{t}] * u{t}"],
                 [f"l{t} = [{pick(['', s, '0.5, 2'])}]", f"for {t} in range({pick(['4', '1, 5', 'n'])}):", f"    l{t}.append({v}[{t}] * 2)", f"x[1] = np.array(l{t}).sum()"],
                 [f"y[:3] = np.array([{v}[{t}] * {t} for {t} in range(3)])"],
                 [f"x[2] = sum({t} * 0.5 for {t} in {v})"],
                 [f"x[3] = sum([{t} for {t} in {v} if {t} > 0.1])"],
                 [f"{t} = 0", f"while {t} < {pick(['3', 'n'])} and x[{t}] < 4:", f"    x[{t}] = x[{t}] * 0.5 + 1", f"    {t} += 1"],
                 [f"if {test}:", "    " + self.returned()]]
        return pick(forms[:-1] if depth > 1 else forms)

    def inside(self, count, depth):
        """Statements of a block: names that it binds are not used behind it."""
        before = {kind: list(names) for kind, names in self.names.items()}
        lines = self.statements(count, depth)
        self.names = before
        return lines

    def changeable(self, kind):
        return [name for name in self.names[kind] if name != "n"]

    def sharing(self, depth):
        """Other names for the same memory, and names that exchange their arrays: both may make later statements refused, never wrong."""
        pick = self.chance.choice
        if self.chance.random() < 0.5:
            first, second = self.chance.sample(self.names["vector"], 2)
            return f"{first}, {second} = {second}, {first}"
        form = pick(["{v}", "{m}[1]", "{v}[::-1]", "{m}.T[:, 0]", "{m}.T[:, 0].copy()", "np.asarray({v})"])
        value = form.format(v=pick(self.names["vector"]), m=pick(self.names["matrix"]))
        return f"{self.name('vector') if depth == 1 else pick(self.names['vector'])} = {value}"

    def name(self, kind):
        self.count += 1
        name = f"{kind[0]}{self.count}"
        self.names[kind].append(name)
        return name

    def part(self):
        form = self.chance.choice(["A[1:-1, 2:] = A[:-2, :-2] + {m}[2:, 2:]", "{v}[1:] = {w}[:-1] * 0.5", "{m}[0] = {v}", "{m}[:, 1] = {s}", "{v}[-3:] += {s}",
                                   "{v}[{w} > 0.3] = 0.5", "{m}[2, :4] = {v}[3:7]", "{v}[::2] = 1", "{m}[:] = {s}",
                                   "{m}[1:, 1:] *= {m}[:-1, :1]", "{m}[{m}[:, 0] > 0.2] = {v}", "{m}[1][2] = {s}", "{m}[:, 2:5] = {v}[:3]", "{m}[1:3] += {v} * 0.5",
                                   "{m}[{m} < 0] *= 0.5", "{v}[1:-1] = ({v}[:-2] + {w}[2:]) / 2", "{m}[:, 0] = {m}.mean(axis=1)"])
        pick = self.chance.choice
        return form.format(m=pick(self.names["matrix"]), v=pick(self.names["vector"]), w=pick(self.names["vector"]), s=self.expression("scalar", 1))

    def expression(self, kind, depth):
        pick = self.chance.choice
        if depth == 0:
            return pick(self.names[kind]) if kind != "scalar" or self.chance.random() < 0.7 else pick(["2", "0.5", "-1", "3.25"])
        other = self.expression(kind, depth - 1)
        forms = ["{0} + {1}", "{0} * {1}", "({0} - {1}) * 0.5", "np.tanh({0})", "np.maximum({0}, {1})", "np.where({0} > {1}, {0}, 0.25)", "-{0}", "abs({0})",
                 "{0} / (2 + abs({1}))"]
        forms += {"vector": ["{m}[1] + {0}", "{m}.sum(axis=0)", "{m}.T @ {m}[:, 0]", "{0}[::-1]", "np.cumsum({0})", "{m}.mean(axis=0)", "{s} * {0}",
                             "np.roll({0}, 2)", "damped({0}, {s})", "np.concatenate([{0}[1:], {0}[:1]])", "{m}[{m}[:, 0] > 0].sum(axis=0)", "np.sort({0})",
                             "np.where(({0} > 0) & ({1} < 1), {0}, {1})", "{m}.std(axis=0)", "({m} * {0}).max(axis=0)", "np.clip({0}, -1, {s})"],
                  "matrix": ["{0} + {v}", "{0} - {0}.mean(axis=0)", "np.outer({0}[:, 1], {v})", "{s} + {0}", "{0}[::-1]", "{0}[:, ::-1] * {1}",
                             "{0} / (1 + abs({0}).sum(axis=1, keepdims=True))", "{0}[:, :1] * {v}", "{0}[:, 0][:, None] + {v}[None, :]", "np.roll({0}, 1, axis=1)",
                             "{0} - {0}.max(axis=1)[:, None]", "damped({0}, {s})", "np.where({v} > 0, {0}, {1})", "np.minimum({0}, {v})", "np.cumsum({0}, axis=1)"],
                  "scalar": ["{v}.sum()", "{m}.max()", "{v} @ {w}", "{v}[2] * {0}", "np.mean({m})", "{m}[1, 2]", "float({v}.shape[0])",
                             "settled({v})", "np.linalg.norm({v})", "{v}[{w} > 0.2].sum()", "np.count_nonzero({v} > 0.1)", "np.median({v})", "np.diff({v}).max()",
                             "{v}[1:-1].mean()", "{m}[1:, :3].sum()", "{v}.std()", "np.argmax({v})", "{m}.sum(axis=1)[2]", "np.trace({m}[:3, :3])"]}[kind]
        if kind == "scalar":
            forms = [form for form in forms if "where" not in form and "maximum" not in form]
        inner = self.expression(kind, depth - 1)
        inner = f"({inner})" if " " in inner or inner[0] == "-" else inner
        other = f"({other})" if " " in other or other[0] == "-" else other
        return pick(forms).format(inner, other, m=pick(self.names["matrix"]), v=pick(self.names["vector"]), w=pick(self.names["vector"]),
                                  s=pick(self.names["scalar"]))
