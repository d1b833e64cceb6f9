"""Random functions of the importer's subset: declarations, updates of parts, names for the same memory, loops and branches."""
import random

import numpy as np

_VECTORS, _MATRICES, _SCALARS = ["x", "y"], ["A", "B"], ["a", "n"]


def arguments(number):
    made = np.random.RandomState(number + 7)
    n, m = ((9, 17), (12, 23))[number]
    return {"A": made.randn(n, m), "B": made.randn(n, m), "x": made.randn(m), "y": made.rand(m), "a": 0.5 + number, "n": 3 + number}


def module(seed, count):
    text = "import numpy as np\n\n\n"
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
        kept = [self.chance.choice(self.names[kind]) for kind in ("vector", "matrix", "scalar")]
        return "\n".join([*lines, f"    return {', '.join(v + ' + 0' for v in kept)}"]) + "\n"

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
        if choice < 0.75:
            return [pad + self.part()]
        if depth > 2:
            return [f"{pad}x[0] = {self.expression('scalar', 1)}"]
        if choice < 0.9:
            variable = f"i{depth}"
            inner = self.inside(self.chance.randint(1, 3), depth + 1)
            return [f"{pad}for {variable} in range({self.chance.choice(['3', '1, 4', '4, 0, -1', '0, 6, 2'])}):", *inner,
                    f"{pad}    x[{variable}] = x[{variable} + 1] * 0.5 + {variable}"]
        inner, other = self.inside(2, depth + 1), self.inside(1, depth + 1)
        return [f"{pad}if {self.expression('scalar', 1)} > {self.chance.choice(['0', 'a', '0.5'])}:", *inner, f"{pad}else:", *other]

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
                                   "{v}[{w} > 0.3] = 0.5", "{m}[2, :4] = {v}[3:7]", "{v}[::2] = 1", "{m}[:] = {s}"])
        pick = self.chance.choice
        return form.format(m=pick(self.names["matrix"]), v=pick(self.names["vector"]), w=pick(self.names["vector"]), s=self.expression("scalar", 1))

    def expression(self, kind, depth):
        pick = self.chance.choice
        if depth == 0:
            return pick(self.names[kind]) if kind != "scalar" or self.chance.random() < 0.7 else pick(["2", "0.5", "-1", "3.25"])
        other = self.expression(kind, depth - 1)
        forms = ["{0} + {1}", "{0} * {1}", "({0} - {1}) * 0.5", "np.tanh({0})", "np.maximum({0}, {1})", "np.where({0} > {1}, {0}, 0.25)", "-{0}", "abs({0})",
                 "{0} / (2 + abs({1}))"]
        forms += {"vector": ["{m}[1] + {0}", "{m}.sum(axis=0)", "{m}.T @ {m}[:, 0]", "{0}[::-1]", "np.cumsum({0})", "{m}.mean(axis=0)", "{s} * {0}"],
                  "matrix": ["{0} + {v}", "{0} - {0}.mean(axis=0)", "np.outer({0}[:, 1], {v})", "{s} + {0}", "{0}[::-1]", "{0}[:, ::-1] * {1}"],
                  "scalar": ["{v}.sum()", "{m}.max()", "{v} @ {w}", "{v}[2] * {0}", "np.mean({m})", "{m}[1, 2]", "float({v}.shape[0])"]}[kind]
        if kind == "scalar":
            forms = [form for form in forms if "where" not in form and "maximum" not in form]
        inner = self.expression(kind, depth - 1)
        inner = f"({inner})" if " " in inner or inner[0] == "-" else inner
        other = f"({other})" if " " in other or other[0] == "-" else other
        return pick(forms).format(inner, other, m=pick(self.names["matrix"]), v=pick(self.names["vector"]), w=pick(self.names["vector"]),
                                  s=pick(self.names["scalar"]))
