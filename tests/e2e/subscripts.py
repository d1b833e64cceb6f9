"""Subscripts out of range stop executables like `eval`: subscripts of closed expressions that are replaced by their elements, and the ends of
the 64-bit range, which have no successor. The evaluator runs all forms (tests/unit/frontend/subscripts_test.cpp); these alternate. `errors.py` runs them."""
import numpy as np

import launch
from input_files import OVERSUBSCRIBED

LARGEST = 2**63 - 1

# An element at subscript `$`, and the extent of its dimension.
FORMS = (("x[2:4][$]", 2), ("reshape(A, 24)[$]", 24), ("reshape(x, 2, 3)[0, $]", 3), ("iota(4)[$]", 4), ("zeros(4)[$]", 4), ("full(x[0], 4)[$]", 4),
         ("eye(4)[$, $]", 4), ("roll(x, 1)[$]", 6), ("flip(x)[$]", 6), ("concat(x, x)[$]", 12), ("diag(x)[$, 0]", 6), ("tril(A)[$, 0]", 4),
         ("A[1:3, 2:5][0, $]", 3), ("A[1:3, :]'[0, $]", 2), ("where(x > 9.0, x, 0.0)[$]", 6), ("(x[0:2] + x[2])[$]", 2), ("x[$]", 6), ("A'[$, 0]", 6))

# A context for the element `@` and the subscript there; the maximum added to `e`.
PLACES = (("print(@);", "e", 0), ("print(@);", "q[1]", 0), ("let y[i] = 2.0 * f64(@) for i in 0..3; print(sum(y));", "i + e", 2),
          ("let y[i] = 2.0 * f64(@) for i in 0..3; print(sum(y));", "q[i]", 0), ("let y[i] = if q[i] != 50 then f64(@) else 0.0 for i in 0..3; print(sum(y));", "i + e", 2),
          ("print(sum[i in 0..3](f64(@)));", "q[i]", 0), ("var s = 0.0; for t in 0..3 { s = s * s * 0.5 + f64(@); } print(s);", "t + e", 2),
          ("var s = 0.0; for t in 0..3 { s = s * s * 0.5 + f64(@); } print(s);", "q[t]", 0))

# Reads, writes and derivatives at one subscript.
ENDS = ("print(x[e]);", "var y = zeros(n); y[e] = 1.0; print(sum(y));", "print(sum(grad(x[e], x)));", "var y = zeros(n); y[e] += x[0]; print(sum(y));",
        "print(x[e] + A[0, e]);", "let y[i] = if q[i] != 50 then x[e] else 0.0; print(sum(y));", "var y = zeros(n); for t in 0..2 { y[t] = x[e] + y[t]; } print(sum(y));",
        "var y = zeros(n); var s = 1.0; for t in 0..2 { y[e] = s * s; s = s + y[0]; } print(sum(y) + s);", "print(x[q[1]]);", "var y = zeros(n); y[q[1]] = 1.0; print(sum(y));")


def statements():
    """(statement, largest legal e) by number."""
    closed = []
    for k, (form, extent) in enumerate(FORMS):
        for place, subscript, most in (PLACES[k % len(PLACES)], PLACES[(3 * k + 4) % len(PLACES)]):
            closed.append((place.replace("@", form.replace("$", subscript)), extent - 1 - most))
    return [*closed, *((s, 5) for s in ENDS)]


def check_subscripts_outside(tdslc, folder, limit):
    """Each statement one past its last legal subscript, and before the first or at an end of the 64-bit range; some at the last legal one."""
    table = statements()
    lines = ["param e: i64 = 0;", "param what: i64 = -1;", "input q: i64[3];", "input x: f64[n];", "input A: f64[m, n];"]
    lines += [f"if what == {k} {{ {statement} }}" for k, (statement, _) in enumerate(table)]
    lines += [f"print(x[2:4][min(max(e, 0), 1)]);", "output end = x + 1.0;"]
    (folder / "subscripts.tdsl").write_text("\n".join(lines) + "\n")
    np.save(folder / "x.npy", np.arange(6) + 0.5)
    np.save(folder / "A.npy", np.arange(24).reshape(4, 6) + 0.5)
    build = launch.run([tdslc, "build", "subscripts.tdsl", "-o", "subscripts"], 4 * limit, cwd=folder)
    if build.code != 0:
        return f"build: {build}"
    for k, (statement, last) in enumerate(table):
        values = [last + 1, (-1, LARGEST, -LARGEST - 1)[k % 3]] if k < 2 * len(FORMS) else [-1, LARGEST]
        if k % 3 == 0:
            values.append(last)
        for value in values:
            np.save(folder / "q.npy", np.array([0, value, 0]))
            arguments = ["--x", "x.npy", "--A", "A.npy", "--q", "q.npy", "--e", str(value), "--what", str(k), "--end", "end.npy"]
            ranks = (1, 2)[k % 2]
            result = launch.run([*launch.mpi_command(ranks), folder / "subscripts", *arguments], limit, cwd=folder, env=OVERSUBSCRIBED)
            legal = value == last and last >= 0
            line = 6 + k
            good = result.code == 0 and (folder / "end.npy").exists() if legal else (
                result.code == 1 and result.err.startswith(f"subscripts.tdsl:{line}: ") and "subscript" in result.err and not (folder / "end.npy").exists())
            if not good:
                return f"{statement} with e = {value}, ranks={ranks}: {result}"
            (folder / "end.npy").unlink(missing_ok=True)
    return None


CHECKS = (check_subscripts_outside,)
