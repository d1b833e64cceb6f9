"""Random numbers that depend on a key, and random integers."""
from model import Expr, FLOATS


class Keys:
    def key(self, context):
        """An integer: a number, a loop variable or an extent, sometimes a value."""
        if self.chance(0.5):
            return Expr(str(self.rng.choice([0, 1, 2, 7, -1, 2**40])), [], "i64", (), 0, 0)
        e = self.position(context.closed())
        return Expr(f"{{0}} + {self.rng.randrange(3)}", [e], "i64", (), e.low, e.high + 2)

    def keyed(self, scalar, shape, context, depth):
        """A whole tensor drawn with a key, or without one where draws are allowed."""
        if not shape or scalar == "bool":
            return None
        keyed = not self.random_allowed or self.chance(0.8)
        sizes, key = ", ".join(d.text for d in shape), [self.key(context)] if keyed else []
        found = [v for v in self.values if v.shape == tuple(shape)]
        like = f"like=${self.rng.choice(found).name}" if found and self.chance(0.2) else sizes
        tail = ", key={0}" if keyed else ""
        if scalar == "i64" and len(shape) == 1 and self.chance(0.4):
            return Expr(f"permutation({sizes}{tail})", key, "i64", shape, 0, max(shape[0].size - 1, 0))
        if scalar in ("i64", "i32") or self.exact:
            low = self.rng.choice([-3, 0, 1])
            high = low + self.rng.choice([1, 2, 7])
            e = Expr(f"randint({low}, {high}, {like}{tail})", key, "i64", shape, low, high - 1)
        else:
            name, low, high = self.rng.choice([("random", 0, 1), ("randn", -6, 6)])
            e = Expr(f"{name}({like}{tail})", key, "f64", shape, low, high)
        return e if e.scalar == scalar else Expr(f"{scalar}({{0}})", [e], scalar, shape, e.low, e.high)

    def keyed_scalar(self, scalar, shape, context, depth):
        """One number for each value of a key that may depend on the element."""
        label = self.position(context)
        key = Expr(f"{{0}} + {self.rng.randrange(3)}", [label], "i64", (), label.low, label.high + 2)
        if scalar == "i64":
            return Expr("randint(-2, 4, key={0})", [key], "i64", (), -2, 3)
        if scalar in FLOATS and not self.exact:
            return Expr(f"{scalar}(random(key={{0}}))", [key], scalar, (), 0, 1)
        return None
