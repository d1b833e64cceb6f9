"""Facts about `explain`: it has the plan of the run, and says why, where and how much. A part of facts.py."""
import itertools
import json
import math
import re
import zlib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

import compare
import launch
import turns
from session import Failed

ROOT = Path(__file__).resolve().parents[2]


class ExplainFacts:
    """A part of Facts in facts.py."""

    # The predictions of `explain` agree line by line with the counts of a run.
    def test_explain_is_what_runs(self):
        for p, tile in ((3, None), (4, "7"), (6, None)):
            self.compare_with_explain(self.session("samples/matrix_chain.tdsl"), p, ["--tile", tile] if tile else [])

    def compare_with_explain(self, session, ranks, tiles):
        case = session.prepare(session.program.variants[0])
        outputs = [w for o in session.program.outputs for w in ("--" + o, f"chain-{o}.npy")]
        inputs = [case.folder / a if a.endswith(".npy") else a for a in case.arguments]
        self.run(session.executable, ranks, [*inputs, *outputs, "--threads", "1", "--stats", "chain.json", *tiles])
        counted = {}
        for row in json.loads((self.work / "chain.json").read_text())["statements"]:
            counted[row["line"]] = counted.get(row["line"], 0) + row["measured"]["bytes_received"]
        sizes = [w for d, e in case.variant.sizes.items() for w in ("--set", f"{d}={e}")]
        foreseen = {}
        for row in self.explain("matrix_chain", "-n", ranks, "--threads", 1, *sizes, *tiles)["statements"]:
            if row["kind"] != "collect":  # for printed summaries; the run writes files
                received = row["predicted"]["bytes_received_mean"] * ranks
                foreseen[row["line"]] = foreseen.get(row["line"], 0) + round(received)
        for line, received in foreseen.items():
            if counted.get(line, 0) != received:
                raise Failed(f"ranks={ranks} {tiles}: line {line} received {counted.get(line)} bytes, explain said {received}")

    # `explain` makes the same plan as the run, decision by decision, including summaries and prints, for every sample.
    # The survey finds the same region in both, including all operations recorded later.
    def test_explain_has_the_plan_of_the_run(self):
        paths = turns.part(sorted((ROOT / "samples").glob("*.tdsl"))[::5 if self.quick else 1], 3)
        with ThreadPoolExecutor(2) as pool:
            compared = list(pool.map(self.compare_plans, paths))
        for message in compared:
            if message and not message.startswith(self.NOT_COMPARED):
                raise Failed(message)
        return "\n    ".join(message for message in compared if message)

    NOT_COMPARED = "not compared: "

    def compare_plans(self, path):
        session = self.session(path.relative_to(ROOT))
        program, folder = session.program, session.folder
        variant = program.variants[0]
        for name, value in program.make_inputs(variant).items():
            np.save(folder / f"{name}.npy", value)
        # `explain` shows one iteration of a data-dependent loop: limit the run to one too, if possible.
        limits = set()
        for inside, condition in re.findall(r"^( *)while (.*) \{", path.read_text(), re.M):
            params = [name for name in re.findall(r"< (\w+)", condition) if name in program.params]
            if inside and not params:
                return f"{self.NOT_COMPARED}{program.name}, in which data alone ends `while {condition}`"
            limits.update(params)
        options = dict(zip(variant.args[::2], variant.args[1::2])) | {f"--{name}": "1" for name in limits}
        given = [word for option in options.items() for word in option]
        given += [w for i in program.inputs for w in (f"--{i.name}", folder / f"{i.name}.npy")]
        files = [w for o in program.outputs for w in (f"--{o}", folder / f"{o}.npy")]
        points = [(1, []), (2, files), (3, ["--reproducible"]), (4, ["--tile", "7"]), (4, ["--memory", "1GiB"])]
        if not self.long:  # samples take turns
            points = [points[zlib.crc32(program.name.encode()) % 5]]
        for ranks, more in points:
            arguments = [*given, *more, "--threads", "1"]
            self.run(session.executable, ranks, [*arguments, "--quiet", "--stats", folder / "plan.json"])
            statistics = json.loads((folder / "plan.json").read_text())
            shown = launch.run([self.tdslc, "explain", path, *session.build_options, "--json", "-n", ranks, "--", *arguments], self.options.limit)
            if "depends on computed data, so there is no plan before the program runs" in shown.err:
                return f"{self.NOT_COMPARED}{program.name}, whose sizes follow from data"
            if "is found by data:" in shown.out:
                return f"{self.NOT_COMPARED}{program.name}, for which extents that data find are estimated"
            if shown.code != 0:
                return f"tdslc explain {program.name}: {shown}"
            if int(json.loads(shown.out)["plan_hash"], 16) != int(statistics["plan_hash"]):
                counted = sum("how often this loop runs depends on data" in note["text"] for note in json.loads(shown.out)["notes"])
                if counted > len(re.findall(r"^ *while ", path.read_text(), re.M)):
                    return f"{self.NOT_COMPARED}{program.name}, in which data end loops of the library"
                return f"{program.name} ranks={ranks} {more}: `explain` has another plan than the run"
            if ranks > 1:
                region = statistics["region"]
                message = launch.other_region([self.tdslc, "explain", path, *session.build_options], ranks, arguments, region, self.options.limit)
                if message or not region["whole"] or region["unsurveyed"]:
                    return f"{program.name} ranks={ranks} {more}: {message or region}"
                stage = ("--stage=algebra", "-n", ranks, "--", *arguments)
                relations = launch.run([self.tdslc, "explain", path, *session.build_options, *stage], self.options.limit)
                if relations.code != 0 or "\nresult " not in relations.out:
                    return f"tdslc explain {' '.join(map(str, stage))}: {relations}"
        return None

    # `explain` shows every statement's decision and the cost of the alternative; --why lists all; --dot draws the plan.
    def test_explain_says_why(self):
        sizes = ["-n", 4, "--set", "n=100000", "--set", "d=64"]
        plan = self.explain("logistic_regression", *sizes, "--why", "X")
        X = next(row for row in plan["statements"] if row["name"] == "X")
        values = plan["values"]["values"]
        if not X["layout"].startswith("i0:") or not values[0]["chosen"] or values[0]["layout"] != X["layout"] or len(values) < 4:
            raise Failed(f"values of X: {values}")
        received = {v["layout"]: v["predicted"]["bytes_received_max"] for v in values if v["possible"]}
        if min(received.values()) != received[X["layout"]] or not received["i0:a i1:b"] > 10 * received[X["layout"]]:
            raise Failed(f"bytes by layout of X: {received}")
        searched = [*sizes, "--schedule", "search"]  # another plan may be chosen, without runner-ups
        shown = self.explain("logistic_regression", *searched)
        X = next(row for row in shown["statements"] if row["name"] == "X")
        if X["runner_up"]["layout"] not in ("i0:a i1:b", "i0:b i1:a") or X["runner_up"]["more"]["seconds"] <= 0 or shown["whole"]["mesh"] != [2, 2]:
            raise Failed(f"the description of X: {X}, {shown['whole']}")
        for more, wanted in (([], "schedule search (exact; loops as 2 iterations)"), (["--why", "w"], None), (["--dot"], "digraph"), (["--time-plan"], "; planned in "), (["--place", "X=i0:2,i1:2"], "schedule placed")):
            text = launch.run([self.tdslc, "explain", ROOT / "samples/logistic_regression.tdsl", *(sizes if "--place" in more else searched), *more], self.options.limit)
            if wanted is None and (text.code != 2 or "computed at several sites; say which by its number: 3 (source, line 13), " not in text.err):
                raise Failed(f"--why w: {text}")
            if wanted and (text.code != 0 or wanted not in text.out):
                raise Failed(f"{more} does not say {wanted}: {text.out[:300]}")

    # A plan saved by the run or by `explain` is reproduced when it is used, with the same bits. The predictions of
    # `explain` equal the counts of the run; a modified number is reported with its counter, rank and statement.
    def test_saved_plans_give_the_same(self):
        lines = []
        samples = (("ridge_regression", None), ("matrix_chain", None), ("nearest_neighbour", None), ("logistic_regression", "X=i0:2,i1:2"))
        for name, place in samples[::3] if self.quick else samples:
            session = self.session(f"samples/{name}.tdsl")
            case = session.prepare(session.program.variants[0])
            given = [case.folder / a if a.endswith(".npy") else a for a in case.arguments] + ["--threads", "1", "--quiet"]
            lines.append(f"{name}: {self.compare_saved(session, given, 4 if place else 3, ['--place', place] if place else ['--schedule', 'auto'])}")
        return "\n    ".join(lines)

    def compare_saved(self, session, given, ranks, asked):
        files = {form: [w for o in session.program.outputs for w in (f"--{o}", self.work / f"{o}-{form}.npy")] for form in ("made", "used")}
        path, saved, by_explain = session.program.path, self.work / "saved.plan", self.work / "explained.plan"
        self.run(session.executable, ranks, [*given, *files["made"], *asked, "--save-plan", saved, "--stats", "made.json"])
        self.run(session.executable, ranks, [*given, *files["used"], "--use-plan", saved, "--save-plan", "again.plan", "--stats", "used.json"])
        for output in session.program.outputs:
            made, used = (np.load(self.work / f"{output}-{form}.npy") for form in ("made", "used"))
            if not compare.same_bits(made, used):
                raise Failed(f"{session.program.name}: {output} has other bits under the saved plan")
        explain = [self.tdslc, "explain", path, *session.build_options, "-n", ranks, "--json", "--plan", self.work / "plan.json"]
        for more in ([*asked, "--save-plan", by_explain], ["--use-plan", saved]):
            shown = launch.run([*explain, *more, "--", *given, *files["used"]], self.options.limit)
            if shown.code != 0:
                raise Failed(f"tdslc explain {more}: {shown}")
        if not saved.read_text() == by_explain.read_text() == (self.work / "again.plan").read_text():
            raise Failed(f"{session.program.name}: runs and `explain` save different plans")
        results = [launch.run([self.tdslc, "compare", self.work / "plan.json", self.work / f"{run}.json"], self.options.limit) for run in ("made", "used")]
        if any(result.code != 0 for result in results):
            raise Failed(f"{session.program.name}: {results}")
        plan = json.loads((self.work / "plan.json").read_text())
        counted = next(s for s in plan["statements"] if s["kind"] != "load")
        counted["per_rank"][1]["predicted"]["tasks"] = 12345
        (self.work / "changed.json").write_text(json.dumps(plan))
        changed = launch.run([self.tdslc, "compare", self.work / "changed.json", self.work / "made.json"], self.options.limit)
        wanted = f"line {counted['line']}, {counted['name']} ({counted['kind']}, site {counted['site']}), rank 1: tasks "
        if changed.code != 1 or wanted not in changed.out or "12345 foreseen" not in changed.out or "1 difference\n" not in changed.out:
            raise Failed(f"{session.program.name}: a changed count is not found: {changed}, expected {wanted}")
        # A different plan: the differing statements are reported, not the plans' hashes; the files may be given in any
        # order.
        plan["plan_hash"], counted["per_rank"][1]["predicted"]["tasks"] = "1", 0
        counted["predicted"]["tasks"] = 54321
        (self.work / "changed.json").write_text(json.dumps(plan))
        other = launch.run([self.tdslc, "compare", self.work / "made.json", self.work / "changed.json"], self.options.limit)
        named = f"line {counted['line']}, {counted['name']} ({counted['kind']}, site {counted['site']}): the run was planned otherwise: tasks "
        if other.code != 1 or named not in other.out or "hash" in other.out:
            raise Failed(f"{session.program.name}: another plan: {other}, expected {named}")
        return results[0].out.strip()

    # A nest of an optimiser's step: no value as large as X is stored, and the other variant is reported as slower.
    def test_explain_says_what_kernels_do(self):
        sizes = [w for size in ("n=100000", "d=20", "k=5") for w in ("--set", size)]
        shown = launch.run([self.tdslc, "explain", ROOT / "samples/multinomial_regression.tdsl", "-n", 4, *sizes, "--stage=kernels"], self.options.limit)
        nest = shown.out[shown.out.find("line 41"):].split("\nline ")[0]
        wanted = ("nest over rows, 5 operators", "reads     X[i, k] 16 MB", "writes    800 B", "4 MB that are never stored", "products of matrices")
        if shown.code != 0 or any(w not in nest for w in wanted) or nest.count("never stored") != 4:
            raise Failed(f"{nest or shown}")
        forms = shown.out[shown.out.find("forms of equal results"):]
        if "line 41    runs by rows" not in forms or "so it lost" not in forms:
            raise Failed(f"{forms}")

    # A product joins the rows of its scaled operand if packing the shared operand for every block of rows costs less than the copy.
    def test_products_join_rows_of_small_operands(self):
        program = self.work / "scaled_product.tdsl"
        program.write_text("param alpha: f64 = 1.5;\ninput A: f64[n, k];\ninput B: f64[k, m];\ninput C: f64[n, m];\noutput D = alpha * A @ B + 0.5 * C;\n")
        for (n, k, m), form in (((2000, 2600, 2300), "one operator after the other"), ((100_000, 64, 64), "by rows")):
            sizes = [w for size in (f"n={n}", f"k={k}", f"m={m}") for w in ("--set", size)]
            shown = launch.run([self.tdslc, "explain", program, *sizes, "--stage=kernels"], self.options.limit, env={"TDSL_MACHINE": ""})
            if shown.code != 0 or f"runs {form}\n" not in shown.out:
                raise Failed(f"{(n, k, m)}: {shown}")

    # Without --memory no limit is mentioned, and assumptions about sparse inputs are stated.
    def test_explain_invents_nothing(self):
        program = self.work / "power.tdsl"
        program.write_text("input A: f64[n, sparse n];\nvar v = ones(n);\nfor t in 0..3 { let u = A @ v; v = u / norm(u); }\noutput v;\n")
        sizes = ["-n", 4, "--set", "n=20000"]
        for more, assumed in (([], True), (["--set", "A.stored=100000"], False), (["--memory", "3GB"], True)):
            shown = launch.run([self.tdslc, "explain", program, *sizes, *more], self.options.limit)
            peak = next((part for part in shown.out.split("; ") if part.startswith("peak ")), "")
            limited = "--memory" in more
            if shown.code != 0 or (" of " in peak.split("(")[0]) != limited or "does not fit" in shown.out or ("exceeds --memory" in shown.out and not limited):
                raise Failed(f"{more}: {peak}, {shown}")
            if ("elements of `A` are stored: 4000000 are assumed, 1 %" in shown.out) != assumed:
                raise Failed(f"{more}: {shown.out}")
        small = launch.run([self.tdslc, "explain", ROOT / "samples/matmul.tdsl", *sizes, "--memory", "0.01GB", "--", "--spill", "none"], self.options.limit)
        if not re.search(r"the least of all plans on 4 ranks is --memory \d+\.\d\dGB\n", small.out):
            raise Failed(f"{small}")

    # With too little --memory the answer is the operation that needs most and the least sufficient memory, not a plan
    # that does not fit.
    def test_explain_says_what_memory_is_enough(self):
        none = ("--", "--spill", "none")
        # The reported need of a matrix multiplied by itself is not a multiple of its operands.
        square = self.work / "square.tdsl"
        square.write_text("input A: f64[n, n];\noutput C = A @ A;\n")
        need = self.explain(square, "-n", 6, "--set", "n=60000", "--memory", "9GiB", "--schedule", "greedy", *none)["memory"]["needed_bytes"]
        if need > 3 * 8 * 60000 ** 2:
            raise Failed(f"a product of a matrix of {8 * 60000 ** 2} bytes with itself needs {need} on one of 6 ranks")
        for program, sizes in turns.part((("matmul", ["n=4000"]), ("two_layer_network", ["n=800", "m=1000"])), 2):
            arguments = ["-n", 4, *(w for size in sizes for w in ("--set", size))]
            plan = self.explain(program, *arguments, "--memory", "1MiB", *none)
            memory = plan["memory"]
            if memory["fits"] or plan["statements"] or not memory["line"] or not memory["name"]:
                raise Failed(f"{program} in 1 MiB: {json.dumps(plan)[:300]}")
            shown = launch.run([self.tdslc, "explain", ROOT / f"samples/{program}.tdsl", *arguments, "--memory", "1MiB", *none], self.options.limit)
            least = f"--memory {math.ceil(memory['needed_bytes'] / 2**20 * 100) / 100:.2f}MiB\n"  # in the given unit
            if "does not fit --memory 1MiB" not in shown.out or f"the least of all plans on 4 ranks is {least}" not in shown.out:
                raise Failed(f"{program} in 1 MiB: {shown.out[:300]}")
            several = [*arguments[2:], "--memory", memory["needed_bytes"] // 2, *none]
            ranks = self.explain(program, "-n", 4, *several)["memory"]["fits_on_ranks"]
            fits = [self.explain(program, "-n", r, *several)["memory"]["fits"] for r in (ranks, ranks - 1)]
            if ranks <= 4 or fits != [True, False]:
                raise Failed(f"{program}: {ranks} ranks were said to be enough, the fewest; {fits}")
            enough = self.explain(program, *arguments, "--memory", memory["needed_bytes"])
            if not enough["memory"]["fits"] or not enough["statements"]:
                raise Failed(f"{program}: {memory['needed_bytes']} bytes were said to be enough")

    # A huge product is planned, and one rank's part listed, almost instantly.
    def test_explain_is_small(self):
        sizes = ["--set", "n=1000000", "--set", "m=1000000", "--set", "k=1000000"]
        command = [self.tdslc, "explain", ROOT / "samples/matmul.tdsl", "--json", "-n", "4096", "--rank", "17", "--tile", "1000", *sizes]
        code, memory, seconds = launch.measured(command)
        if code != 0 or memory > 300:
            raise Failed(f"exit code {code:.0f}, {memory:.0f} MiB of memory")
        return f"explain of 10^9 block products: {seconds:.2f} s of CPU, {memory:.0f} MiB"

    # Recorded regions of samples: loops by two iterations, both directions of data-dependent branches. The other files
    # of a sample derive from its first line.
    def test_regions_of_samples(self):
        for path in sorted((ROOT / "tests/e2e/regions").glob("*.txt")):
            command, _, wanted = path.read_text().partition("\n")
            result = launch.run([self.tdslc, *command.split()[2:]], self.options.limit, cwd=ROOT)
            if result.code != 0 or result.out != wanted:
                lines = itertools.zip_longest(result.out.splitlines(), wanted.splitlines())
                raise Failed(f"{path.stem}: {result if result.code else next(f'{a} where {b} was' for a, b in lines if a != b)}")
