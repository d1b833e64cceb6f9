"""Subscripts outside of a tensor under `pad`, and index variables in dimensions that are longer."""
from model import element, Expr

MODES = ["periodic", "edge", "reflect", "symmetric"]


class Boundaries:
    def padded_read(self, scalar, context, label=None):
        """`pad(A, mode, …)[i - 3, j + 1]`: one element at subscripts at any distance."""
        fitting = [v for v in self.values if v.scalar == scalar and v.shape and all(d.size > 0 for d in v.shape)]
        if label is not None:
            fitting = [v for v in fitting if label.dim in v.shape]
        if not fitting:
            return None
        v = self.rng.choice(fitting)
        modes, value = self.pad_modes(scalar, len(v.shape))
        subscripts = self.subscripts(v.shape, label, lambda dim: self.any_subscript(dim, context))
        return subscripts and element(f"pad(${v.name}, {', '.join(modes)})", subscripts, scalar, min(v.low, value, 0), max(v.high, value, 0))

    def pad_modes(self, scalar, rank):
        """(modes as texts, the value that stands outside)."""
        number = self.rng.choice([0, 0, 1, 3])
        value = "true" if scalar == "bool" else f"{scalar}({number})" if scalar in ("i32", "f32") else f"{number}.0" if scalar == "f64" else str(number)
        words = MODES if self.part("boundaries") else []
        if not words or self.chance(0.2):
            return [value], 1 if scalar == "bool" else number
        if self.chance(0.4):
            return [self.rng.choice(words)], 0
        modes = [self.rng.choice(words + [value]) for _ in range(rank)]
        return modes, (1 if scalar == "bool" else number)

    def any_subscript(self, dim, context):
        """An integer near [0, size), often outside."""
        if self.chance(0.1):
            return Expr(f"-{self.rng.randrange(1, 30)}", [], "i64", (), -30, -1)
        labels = [x for x in context.labels + context.loops if x.dim is None or x.dim.size > 0]
        if not labels or self.chance(0.1):
            inside = self.subscript(dim, context)
            return inside and Expr(f"{{0}} + {self.rng.choice([-1, 1, 2])}", [Expr(inside.template, inside.children, "i64", (), inside.low, inside.high)], "i64", (), -1, dim.size + 1)
        x, c = self.rng.choice(labels), self.rng.choice([1, 1, 1, 2, 3, 20])
        text = self.rng.choice([f"{x.name} - {c}", f"{x.name} + {c}", f"{x.name} - {c}", f"{x.name} + {c}", f"{c} - {x.name}", f"2 * {x.name} - {c}"])
        return Expr(text, [], "i64", (), -100, 100)

    def longer(self, label, dim):
        """Whether the label may stand bare in a dimension that is longer by a positive constant."""
        if not label.longer or label.dim is None or label.dim.text.isdigit() or not self.part("boundaries"):
            return False
        return dim.text == f"{label.dim.text} + 1" or label.dim.text in (f"{dim.text} - 1", dim.text.replace(" + 1", " - 1") if dim.text.endswith(" + 1") else "")
