"""Outputs during a run: a record for each, or each k-th, execution of a statement."""
from expressions import Context, Label
from model import Stmt


class Records:
    def record(self, context):
        """`output name = …;`, `output name[i] = …;` or the name of a variable, with or without `every`."""
        every = self.rng.choice(["", "", " every 1", " every 2", " every 3", " every 5"])
        kind = self.rng.choice(["scalar", "whole", "index", "name"])
        found = [v for v in self.variables() if v.name not in self.program.outputs]
        if kind == "name" and found:
            v = self.rng.choice(found)
            self.program.outputs.append(v.name)
            return Stmt(f"output ${v.name}{every};")
        name = self.new_name("z")
        self.program.outputs.append(name)
        if kind != "index":
            shape = self.shape(1, 2) if kind == "whole" and context.points * 20 <= 2000 else ()
            e = self.strong(self.expr(self.scalar(), shape, context, self.rng.choice([0, 1, 2])))
            return Stmt(f"output ${name} = {{0}}{every};", [e])
        shape = self.shape(1, 2)
        names = context.fresh(len(shape))
        labels = [Label(n, 0, d.size, d, longer=True) for n, d in zip(names, shape)]
        scalar = self.rng.choice(["f64", "i64"])
        e = self.index_body(scalar, context.inside(labels), labels)
        return Stmt(f"output ${name}[{', '.join(names)}]: {self.dense_type_text(scalar, shape)} = {{0}}{every};", [e])

    def with_records(self, body, context, probability=0.25):
        """The body of a loop with a record at some place in it, perhaps under a condition."""
        if not body or not self.chance(self.weight("series", probability)):
            return body
        made = self.record(context)
        if made is None:
            return body
        if self.chance(0.25):
            made = Stmt("if {0}", [self.expr("bool", (), context, 1)], [[made]])
        body.insert(self.rng.randrange(len(body) + 1), made)
        return body
