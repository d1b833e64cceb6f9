"""`break` and `continue` in loops."""
from expressions import Context
from model import Stmt


class Leaving:
    def leave(self, context, words=("break", "continue")):
        """`if c { break; }`: mostly where a loop variable has a value, sometimes where data has one."""
        if context.loops and self.chance(0.5):
            label = self.rng.choice(context.loops)
            at = self.rng.choice([label.low, label.low + 1, label.high - 1, label.high - 2])
            test = self.rng.choice([f"{label.name} == {at}", f"{label.name} % 2 == 1", f"{label.name} > {at}", f"{label.name} < {at}"])
            return Stmt(f"if {test}", (), [[Stmt(f"{self.rng.choice(words)};")]])
        return Stmt("if {0}", [self.expr("bool", (), context, self.rng.choice([1, 2]))], [[Stmt(f"{self.rng.choice(words)};")]])

    def with_exits(self, body, context, probability=0.2, words=("break", "continue")):
        """The body of a loop with an exit at some place in it."""
        if body and self.chance(self.weight("leaving", probability)):
            body.insert(self.rng.randrange(len(body) + 1), self.leave(context, words))
        return body
