"""Facts about operations: how many there are, the arithmetic they take, and that none is done twice. A part of facts.py."""
import itertools
import json
import re
from pathlib import Path

import numpy as np

import compare
import launch
import turns
from points import Point
from program import Program
from session import Failed, Session

ROOT = Path(__file__).resolve().parents[2]


def least_flops(operands, result, sizes):
    """Minimum over all pairwise contraction orders, and over a single loop nest: a multiplication and an addition per point."""
    def points(labels):
        return int(np.prod([sizes[letter] for letter in labels]))

    def contract(left):
        if len(left) == 1:
            return 0
        costs = []
        for a, b in itertools.combinations(range(len(left)), 2):
            rest = [labels for k, labels in enumerate(left) if k not in (a, b)]
            kept = (left[a] | left[b]) & set(result).union(*rest)
            costs.append(points(left[a] | left[b]) * (1 if kept == left[a] | left[b] else 2) + contract([*rest, kept]))
        return min(costs)

    return min(len(operands) * points(set().union(*operands)), contract([set(labels) for labels in operands]))


class OperationFacts:
    """A part of Facts in facts.py."""

    # A sum of products costs as much as the best contraction order, whatever the order of its operands; confirmed by
    # run counts.
    def test_sums_of_products_cost_what_the_best_order_costs(self):
        cases = {"mttkrp": ("ijk,jr,kr->ir", dict(i=12, j=10, k=8, r=5)), "double": ("ijk,jkl->il", dict(i=9, j=8, k=7, l=6)),
                 "chain": ("ab,bc,dc,de->ae", dict(a=30, b=3, c=20, d=2, e=11)), "gram": ("ki,k,kj->ij", dict(k=60, i=4, j=5)),
                 "narrow": ("ab,bc,dc,de->ae", dict(a=3, b=40, c=2, d=50, e=4))}
        for name, (text, sizes) in turns.part([*cases.items()], 2):
            operands, result = text.split("->")[0].split(","), text.split("->")[1]
            best, orders = least_flops(operands, result, sizes), list(itertools.permutations(range(len(operands))))
            wanted = {}
            for order in orders[:: max(1, len(orders) // (2 if self.quick else 5))] + orders[-1:]:
                program = self.contraction_program(name, operands, result, order)
                given = [w for letter, extent in sizes.items() for w in ("--set", f"n{letter}={extent}")]
                for ranks, schedule in ((1, "greedy"), (1, "auto"), (3, "greedy"), (3, "auto")):
                    rows = self.explain(program, "-n", ranks, "--threads", 1, "--schedule", schedule, *given)["statements"]
                    total = [sum(ranks * row["predicted"][of + "_mean"] for row in rows if row["kind"] not in ("combine", "collect")) for of in ("flops", "bytes_received")]
                    if wanted.setdefault((ranks, schedule), total) != total:
                        raise Failed(f"{program.stem} on {ranks} ranks, {schedule}: {total} flops and bytes, {wanted[ranks, schedule]} in another order")
                    if schedule == "greedy" and total[0] != best:
                        raise Failed(f"{program.stem} on {ranks} ranks: {total[0]} flops, the best order takes {best}")
            self.compare_contraction(program, operands, sizes, best)
        return f"{len(turns.part([*cases], 2))} sums in several orders"

    def contraction_program(self, name, operands, result, order):
        path = self.work / f"{name}_{''.join(map(str, order))}.tdsl"
        inputs = [f"input T{k}: f64[{', '.join('n' + letter for letter in labels)}];" for k, labels in enumerate(operands)]
        summed = sorted({letter for labels in operands for letter in labels} - set(result))
        factors = " * ".join(f"T{k}[{', '.join(operands[k])}]" for k in order)
        path.write_text("\n".join([*inputs, f"output R[{', '.join(result)}] = sum[{', '.join(summed)}]({factors});", ""]))
        return path

    def compare_contraction(self, program, operands, sizes, best):
        executable = self.work / program.stem
        result = launch.run([self.tdslc, "build", program, "-o", executable], self.options.limit)
        if result.code != 0:
            raise Failed(f"{program.stem}: {result}")
        given, rng = [], np.random.default_rng(3)
        for k, labels in enumerate(operands):
            np.save(self.work / f"T{k}.npy", rng.standard_normal([sizes[letter] for letter in labels]))
            given += [f"--T{k}", f"T{k}.npy"]
        for ranks in (1, 3):
            self.run(executable, ranks, [*given, "--R", "R.npy", "--schedule", "greedy", "--threads", "1", "--quiet", "--stats", "contraction.json"])
            rows = json.loads((self.work / "contraction.json").read_text())["statements"]
            counted = sum(row["measured"]["flops"] for row in rows if row["kind"] != "combine")
            if counted != best:
                raise Failed(f"{program.stem} on {ranks} ranks counted {counted} flops, the best order takes {best}")

    # Only the elements of a named map or product that are read are computed, and sums are taken ahead of products.
    READS_OF_FEW = {  # definitions, and the most operations, of A[n, m], B[m, n] and C[n, n]
        "diagonal": ("let S = C + C'; output r = diag(S);", lambda n, m: 2 * n),
        "several": ("let S = exp(C); output r = diag(S) + S[0, :]; output s = trace(S);", lambda n, m: 8 * n),
        "spread": ("let S = exp(C); output r[i, j] = S[i, i] * A[i, j];", lambda n, m: 2 * n + n * m),
        "slice": ("let S = C * 2.0; output r = S[:, 3:5] + 1.0;", lambda n, m: 4 * n),
        "product's diagonal": ("let P = A @ B; output r = diag(P);", lambda n, m: 2 * n * m),
        "trace": ("let P = A @ B; output r = trace(P);", lambda n, m: 2 * n * m + n),
        "row": ("let P = A @ B; output r = P[n - 1, :] + 1.0;", lambda n, m: 2 * n * m + n),
        "sum": ("let P = A @ B; output r = sum(P);", lambda n, m: 2 * n * m + 2 * m),
        "weighted sum": ("let P = A @ B; output r = sum[i, j](P[i, j] * C[0, j]);", lambda n, m: 3 * n * m + 2 * m),
        "sums": ("let P = A @ B; output r = sum(P, axis=1);", lambda n, m: 3 * n * m),
        "nested": ("let P = C + A @ B; let Q = P * 2.0; output r = Q[0, :];", lambda n, m: 2 * n * m + 2 * n),
        "chain": ("let P = C @ A; let Q = P @ B; output r = sum(Q);", lambda n, m: n * n + 5 * n * m)}

    def test_reads_of_few_elements_take_few_operations(self):
        n, m = 120, 90
        rng = np.random.default_rng(4)
        for name, shape in (("A", (n, m)), ("B", (m, n)), ("C", (n, n))):
            np.save(self.work / f"{name}.npy", rng.standard_normal(shape))
        for name, (text, most) in turns.part([*self.READS_OF_FEW.items()], 3):
            program = self.work / f"few_{name.replace(' ', '_').replace(chr(39), '')}.tdsl"
            tensors = {t: f"input {t}: f64[{shape}];\n" for t, shape in (("A", "n, m"), ("B", "m, n"), ("C", "n, n"))}
            used = [t for t in tensors if re.search(rf"\b{t}\b", text)]
            program.write_text("".join(tensors[t] for t in used) + text + "\n")
            executable = program.with_suffix("")
            result = launch.run([self.tdslc, "build", program, "-o", executable], self.options.limit)
            if result.code != 0:
                raise Failed(f"{name}: {result}")
            given = [w for t in used for w in (f"--{t}", f"{t}.npy")]
            outputs = [w for o in re.findall(r"output (\w+)", text) for w in (f"--{o}", f"few-{o}.npy")]
            for ranks in (1, 3):
                self.run(executable, ranks, [*given, *outputs, "--schedule", "greedy", "--threads", "1", "--quiet", "--stats", "few.json"])
                rows = json.loads((self.work / "few.json").read_text())["statements"]
                counted = sum(row["measured"]["flops"] for row in rows if row["kind"] != "combine")
                if not 0 < counted <= most(n, m):
                    raise Failed(f"{name} on {ranks} ranks counted {counted} operations, {most(n, m)} suffice")

    # A loop over single elements is one task, whatever its trip count; its bytes are predicted exactly; statement by
    # statement it gives the same bits.
    def test_loops_over_elements_are_one_task(self):
        path = ROOT / "tests/e2e/cases/serial_dynamic.tdsl"
        forms = {}
        for form, switch in (("task", []), ("statements", ["--disable-pass", "serial_loops"])):
            forms[form] = self.work / f"serial-{form}"
            built = launch.run([self.tdslc, "build", path, "-o", forms[form], *switch], self.options.limit)
            if built.code != 0:
                raise Failed(f"building {form}: {built}")
        names, lines = ("lcs", "same", "best", "paths", "pairs"), []
        for ranks in (1, 3) if self.quick else (1, 2, 3, 4, 7):
            tasks = []
            for n in (100, 10):
                rng = np.random.default_rng(n)
                for name, values in (("a", rng.integers(0, 4, n)), ("b", rng.integers(0, 4, n)), ("v", rng.random(n))):
                    np.save(self.work / f"{name}-{n}.npy", values)
                inputs = [w for name in "abv" for w in (f"--{name}", f"{name}-{n}.npy")]
                for form in ("task", "statements") if n == 10 else ("task",):
                    outputs = [w for name in names for w in (f"--{name}", f"{name}-{form}.npy")]
                    self.run(forms[form], ranks, [*inputs, *outputs, "--threads", "1", "--stats", f"{form}.json", "--quiet"])
                statistics = json.loads((self.work / "task.json").read_text())
                loops = [row for row in statistics["statements"] if row["kind"] == "loop"]
                tasks.append(sum(row["measured"]["tasks"] for row in loops))
                for row in loops:
                    if row["measured"]["bytes_received"] != row["predicted"]["bytes_received"]:
                        raise Failed(f"ranks={ranks} n={n}: line {row['line']} received {row['measured']['bytes_received']} bytes, "
                                     f"predicted {row['predicted']['bytes_received']}")
            if tasks != [5, 5]:
                raise Failed(f"ranks={ranks}: the five loops took {tasks} tasks at n = 100 and 10")
            for name in names:
                one, other = (np.load(self.work / f"{name}-{form}.npy") for form in ("task", "statements"))
                if not compare.same_bits(one, other):
                    raise Failed(f"ranks={ranks}: {name} has other bits as one task than statement by statement")
            by_statement = sum(r["measured"]["tasks"] for r in json.loads((self.work / "statements.json").read_text())["statements"])
            lines.append(f"ranks={ranks}: 5 tasks for all loops; statement by statement {by_statement} tasks at n = 10")
        return "\n    ".join(lines)

    # Each loop over small tensors is one task, in the variant that end-to-end tests alternate with the
    # statement-by-statement one.
    def test_loops_over_small_tensors_are_tasks(self):
        program = Program(ROOT / "tests/e2e/cases/small_tensors.tdsl")
        session = Session(program, self.tdslc, self.work / "small-forms", self.options.limit)
        session.build_both_forms()
        if session.statements is None:
            raise Failed("the second form was not built: what `tdslc passes` says of loops is not what session.py looks for")
        case, tasks = session.prepare(program.variants[0]), []
        for by_statements in (False, True):
            case.run(Point(2, None, 1, "none", False), 0, "forms", by_statements=by_statements)
            tasks.append(sum(row["measured"]["tasks"] for row in case.statistics["statements"]))
        if not 3 * tasks[0] < tasks[1]:
            raise Failed(f"{tasks[0]} tasks with loops as tasks, {tasks[1]} statement by statement")
        return f"{tasks[0]} tasks; statement by statement {tasks[1]}"

    # Routines on small matrices do not end a task, and neither does a derivative: its loops, forwards and backwards, are
    # tasks for each number of steps.
    def test_loops_with_routines_are_tasks(self):
        derivative = self.work / "derivative_of_steps.tdsl"
        derivative.write_text("param steps: i64 = 1000;\ninput Z: f64[3, 3];\nvar y = ones(3);\n"
                              "for k in 1..steps { y = solve(4.0 * eye(3) + Z, y + 1.0); }\noutput g = grad(sum(y * y), Z);\n")
        np.save(self.work / "Z-kalman_filter.npy", np.random.default_rng(5).standard_normal((1000, 2)))
        np.save(self.work / "Z-derivative_of_steps.npy", np.random.default_rng(5).random((3, 3)))
        found = {}
        for path, outputs, wanted in ((ROOT / "samples" / "kalman_filter.tdsl", ("path", "P"), 1), (derivative, ("g",), 2)):
            executable = self.work / path.stem
            built = launch.run([self.tdslc, "build", path, "-o", executable], self.options.limit)
            if built.code != 0:
                raise Failed(f"{built}")
            files = ["--Z", f"Z-{path.stem}.npy", *(w for name in outputs for w in (f"--{name}", f"{path.stem}-{name}.npy"))]
            for ranks in (1, 2):
                self.run(executable, ranks, [*files, "--threads", "1", "--stats", "routines.json", "--quiet"])
                rows = json.loads((self.work / "routines.json").read_text())["statements"]
                loops = [row["measured"]["tasks"] for row in rows if row["kind"] == "loop"]
                tasks = sum(row["measured"]["tasks"] for row in rows)
                if loops != [1] * wanted or tasks > 24:
                    raise Failed(f"{path.stem}, ranks={ranks}: {loops} tasks of loops, {tasks} of all statements")
                found[path.stem, ranks] = tasks
        return f"1000 steps with solves are a task; tasks in all: {found}"

    # Several results from one tensor are one operation, and only they are communicated; without fusion each is a
    # separate operation.
    def test_several_results_are_one_scan(self):
        program = self.work / "several.tdsl"
        program.write_text("input X: f64[n, d];\ninput C: f64[k, d];\ninput y: f64[n];\n"
                           "let nearest[i] = argmin[c](sum[j]((X[i, j] - C[c, j]) ** 2));\n"
                           "let members[c] = count[i](nearest[i] == c) for c in 0..k;\n"
                           "let S[c, j] = sum[i where nearest[i] == c](X[i, j]) for c in 0..k;\n"
                           "let a = sum(y * y);\nlet b = max(y);\nlet m = min[i](abs(y[i]));\n"
                           + "".join(f"output {name};\n" for name in ("members", "S", "a", "b", "m")))
        sizes = [f"--set={s}" for s in ("n=1000000", "d=10", "k=8")]
        for ranks in (1, 2, 3, 4, 5, 6, 7):
            for fusion, wanted in (("cost", 2), ("all", 2), ("no-redundancy", 2), ("none", 9)):
                rows = self.explain(program, "-n", ranks, f"--fusion={fusion}", *sizes)["statements"]
                scans = [r for r in rows if r["kind"] in ("reduce", "map") and r["predicted"]["flops_mean"] * ranks > 5e5]
                if len(scans) != wanted:
                    raise Failed(f"ranks={ranks} --fusion={fusion}: {len(scans)} operations over all rows, not {wanted}")
                received = sum(r["predicted"]["bytes_received_max"] for r in rows if r["line"] > 3)
                if fusion != "none" and received > 16 * 1024:
                    raise Failed(f"ranks={ranks} --fusion={fusion}: {received} bytes received")
        return "two scans instead of nine"

    # Operations after a product become its epilogue, also for combined partial results. With equal cuts it has the bits
    # of separate operations.
    def test_epilogues_are_parts_of_products(self):
        program = self.work / "epilogue.tdsl"
        program.write_text("input X: f64[n, d];\ninput W: f64[d, h];\ninput b: f64[h];\noutput Y = sigmoid(X @ W + b);\n")
        built = {}
        for fusion in ("cost", "none"):
            built[fusion] = self.work / f"epilogue-{fusion}"
            result = launch.run([self.tdslc, "build", program, "-o", built[fusion], f"--fusion={fusion}"], self.options.limit)
            if result.code != 0:
                raise Failed(f"{result}")
        rng = np.random.default_rng(3)
        for number, (n, d, h) in enumerate(((300, 270, 290), (40, 3000, 30), (7, 5, 3), (6, 0, 4))):
            for name, shape in (("X", (n, d)), ("W", (d, h)), ("b", (h,))):
                np.save(self.work / f"epilogue-{name}.npy", rng.standard_normal(shape))
            inputs = [w for name in "XWb" for w in (f"--{name}", f"epilogue-{name}.npy")]
            for place, ranks in enumerate((1, 2, 3, 7)):
                for at, more in turns.part([*enumerate(([], ["--tile", "16"], ["--schedule", "greedy"], ["--reproducible"]))], 2):
                    if self.quick and (number + place + at) % 3:
                        continue
                    values, kinds = {}, {}
                    for fusion, executable in built.items():
                        self.run(executable, ranks, [*inputs, "--Y", f"epilogue-{fusion}.npy", "--stats", "epilogue.json", "--quiet", *more])
                        values[fusion] = np.load(self.work / f"epilogue-{fusion}.npy")
                        rows = json.loads((self.work / "epilogue.json").read_text())["statements"]
                        kinds[fusion] = sorted(r["kind"] for r in rows if r["kind"] in ("contraction", "map"))
                    if kinds["cost"] != ["contraction" if d > 0 else "map"] or kinds["none"] != ["contraction", "map"]:
                        raise Failed(f"{(n, d, h)}, ranks={ranks} {more}: {kinds}")
                    equal_cuts = ranks == 1 or more == ["--reproducible"]
                    if equal_cuts and not compare.same_bits(values["cost"], values["none"]) or not np.allclose(values["cost"], values["none"], rtol=1e-11):
                        raise Failed(f"{(n, d, h)}, ranks={ranks} {more}: other values with an epilogue")
        # `explain` has the plan of the run.
        split = launch.run([self.tdslc, "explain", program, "-n", 7, "--set=n=40", "--set=d=3000", "--set=h=30"], self.options.limit)
        if not re.search(r"Y +combine", split.out):
            raise Failed(f"no sum was split: where an epilogue waits for partial results was not tested: {split.out or split}")
        shown = launch.run([self.tdslc, "explain", program, "--stage=kernels", "-n", 2, "--set=n=1000", "--set=d=1000", "--set=h=1000"], self.options.limit)
        if shown.out.count("8 MB are never stored") != 1 or ": 1 kernels" not in shown.out:
            raise Failed(f"{shown.out or shown}")
        return "one operation instead of two, equal bits"

    # Flops of one training step of a three-layer network relative to those of its loss alone.
    def test_gradient_costs_less_than_three_forward_passes(self):
        text = (ROOT / "samples/network_with_grad.tdsl").read_text()
        loss_only = re.sub(r"output .*\n|.* = grad\(.*\n|  [Vb]\d -= .*\n", "", text).replace('"step", step', "loss")
        programs = {"forward.tdsl": loss_only, "training.tdsl": text}
        sizes = [f"--set={s}" for s in ("n=512", "m=128", "h=128", "g=128", "o=32", "steps=1")]
        flops = []
        for name, program in programs.items():
            (self.work / name).write_text(program)
            flops.append(sum(s["times"] * s["predicted"]["flops_max"]
                             for s in self.explain(self.work / name, *sizes)["statements"]))
        if not 1.5 * flops[0] < flops[1] <= 3 * flops[0]:
            raise Failed(f"forward {flops[0]:.4g} flops, with derivatives {flops[1]:.4g}")
        return f"forward {flops[0]:.4g} flops, with derivatives and updates {flops[1] / flops[0]:.2f} times that"
