"""Short and unsigned integers and bit operators: made of i64 tensors, combined in some steps in one type, and seen as i64."""
from model import Dim, Stmt

TYPES = ["u8", "i8", "u16", "i16", "u32", "u64", "u8", "i32", "i64"]
# Steps on tensors x and y of one type and shape.
STEPS = ["{x} + {y}", "{x} - {y}", "{x} * {y}", "{x} & {y}", "{x} | {y}", "{x} ^ {y}", "~{x}", "{x} << 3", "{x} >> 2", "{x} >> ({y} & 7)", "{x} << ({y} & 0x1F)",
         "-{x}", "max({x}, {y})", "where({x} > {y}, {x}, {y} + 1)", "mod({x}, 7)", "{x} / 3", "{x} % 5", "abs({x})", "{x} & 0b101 ^ {y} | 1", "{x} ** 2"]
COMBINE = ["&=", "|=", "^=", "+=", "max=", "min="]


class Integers:
    def integer_steps(self, context):
        """Two tensors of a type, steps, and an i64 of the last one."""
        kind, shape = self.rng.choice(TYPES), self.shape(1, 2)
        lines, names = [], [self.new_name("w"), self.new_name("w")]
        for name in names:
            factor = self.rng.choice([1, 37, 1000003])
            lines.append(Stmt(f"let ${name} = {kind}({factor} * {{0}});", [self.argument("i64", shape, context, 3)]))
        for _ in range(self.rng.choice([1, 2, 3, 4])):
            x, y, name = self.rng.choice(names), self.rng.choice(names), self.new_name("w")
            lines.append(Stmt(f"let ${name} = {self.rng.choice(STEPS).format(x='$' + x, y='$' + y)};"))
            names.append(name)
        finish = self.rng.choice([self.integer_part, self.integer_sum, self.integer_scatter, self.integer_product])
        return lines + finish(names[-1], self.rng.choice(names), kind, shape)

    def integer_part(self, x, y, kind, shape):
        text, low, high = self.rng.choice([(f"i64(${x} & 0x7F)", 0, 127), (f"popcount(${x})", 0, 64), (f"i64(${x} < ${y})", 0, 1),
                                           (f"i64(${x} == ${y}) + i64((${x} > 3) & (${y} > 3))", 0, 2)])
        return [self.within(text, "i64", shape, high, low)]

    def integer_sum(self, x, y, kind, shape):
        count = 1
        for d in shape:
            count *= max(d.size, 1)
        axis = self.rng.randrange(len(shape))
        extremum = self.rng.choice(["max", "min"])
        lines = [self.within(f"i64(sum(${x} & 0x3F, axis={axis}))", "i64", shape[:axis] + shape[axis + 1:], 63 * count, 0)]
        if all(d.size > 0 for d in shape):
            lines.append(self.within(f"i64({extremum}(${y}) & 0x7F)", "i64", (), 127, 0))
        return lines

    def integer_scatter(self, x, y, kind, shape):
        """Elements combined by place, in a declaration or in a loop."""
        if len(shape) != 1:
            return self.integer_sum(x, y, kind, shape)
        name, sign = self.new_name("w"), self.rng.choice(COMBINE)
        if self.chance(0.6):
            lines = [Stmt(f"let ${name}[mod($i, 3)]: {kind}[3] {sign} ${x}[$i];")]
        else:
            lines = [Stmt(f"var ${name}: {kind}[3] = full(5, 3);"),
                     Stmt(f"for $i in 0..{shape[0].text}", (), [[Stmt(f"${name}[mod($i, 3)] {self.rng.choice(COMBINE[:4])} ${x}[$i];")]])]
        return lines + [self.within(f"i64(${name} & 0x7F)", "i64", (Dim("3", 3),), 127, 0)]

    def integer_product(self, x, y, kind, shape):
        n = max(shape[-1].size, 1)
        text = f"(${x} & 7) @ (${y} & 7)" if len(shape) == 1 else f"(${x} & 7) @ transpose(${y} & 7)"
        return [self.within(f"i64({text})", "i64", () if len(shape) == 1 else (shape[0], shape[0]), 49 * n, 0)]
