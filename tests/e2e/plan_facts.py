"""Facts about plans: equal ones of equal programs, the cheapest ones, schedules, the costs of the papers, near and far ranks. A part of facts.py."""
import itertools
import json
import re
from pathlib import Path

import numpy as np

import compare
import launch
import turns
from session import Failed, interval

ROOT = Path(__file__).resolve().parents[2]
MATMULS = ("matmul", "matmul_index", "matmul_loops")
SHAPES = {"cube": (60, 60, 60), "long inner": (12, 400, 10), "tall": (300, 12, 10), "wide": (9, 11, 300),
          "outer": (80, 3, 70), "primes": (37, 41, 43)}


def nameless(plan):
    """A plan without the parts that depend on spelling: lines, places, and label names, which are numbered by appearance."""
    rows = []
    for row in plan["statements"]:
        row = {key: value for key, value in row.items() if key not in ("line", "site", "name")}
        for holder in (row, *(value for value in row.values() if isinstance(value, dict))):
            for key in ("plan", "why", "layout"):
                seen = {}
                if isinstance(holder.get(key), str):
                    holder[key] = re.sub(r"\b[a-z]\b(?=[:,)])|(?<=along )[a-z]\b", lambda m: seen.setdefault(m[0], f"label{len(seen)}"), holder[key])
        rows.append(row)
    return {"statements": rows, "plan_hash": plan["plan_hash"], "largest_step_bytes": plan["largest_step_bytes"]}


class PlanFacts:
    """A part of Facts in facts.py."""

    # Three spellings of the same product have equal plans except for names and lines.
    def test_same_plan_of_three_spellings(self):
        clusters = ((1, 1), (4, 4), (7, 7), (16, 4)) if self.quick else ((1, 1), (2, 2), (4, 4), (4, 2), (6, 6), (7, 7), (16, 4), (24, 8), (31, 31))
        for (ranks, per_node), (n, m, k) in itertools.product(clusters, [*SHAPES.values(), (4000, 4000, 4000)]):
            sizes = [w for d, e in zip("nmk", (n, m, k)) for w in ("--set", f"{d}={e}")]
            plans = [nameless(self.explain(p, "-n", ranks, "--per-node", per_node, *sizes)) for p in MATMULS]
            for other, plan in zip(MATMULS[1:], plans[1:]):
                if plan != plans[0]:
                    raise Failed(f"{other} and {MATMULS[0]} differ at ranks={ranks}, {per_node} a node, shape {(n, m, k)}:\n"
                                 f"      {plan}\n      {plans[0]}")

    # Simulated nodes on one host: a node receives what its part of the grid needs, all counts are as predicted, and
    # results are bit-identical.
    def test_nodes_change_ways_and_no_bits(self):
        executable, (n, m, k) = self.session("samples/matmul.tdsl").executable, (240, 240, 480)
        np.save(self.work / "A.npy", np.random.default_rng(1).random((n, m)))
        np.save(self.work / "B.npy", np.random.default_rng(2).random((m, k)))
        product = ["--A", "A.npy", "--B", "B.npy", "--threads", "1", "--schedule", "greedy"]
        rows = self.explain("matmul", "-n", 8, "--per-node", 4, "--schedule", "greedy", *(w for d, e in zip("nmk", (n, m, k)) for w in ("--set", f"{d}={e}")))
        why = [row["why"] for row in rows["statements"] if row["kind"] == "contraction"]
        if why != ["grid i:2 x j:4, nodes 1x2 of 2x2 ranks"]:
            raise Failed(f"explain says {why}")
        entered = self.compare_nodes(executable, product, ["C"])
        # Both nodes need all of A and half of B, and have half of each.
        if entered != [8 * n * m // 2] * 2:
            raise Failed(f"{entered} bytes entered the nodes")
        self.compare_nodes(executable, [*product, "--tile", "7"], ["C"])
        for path in turns.part(("samples/matmul.tdsl", "samples/two_layer_network.tdsl", "samples/conjugate_gradient.tdsl"), 3):
            session = self.session(path)
            case = session.prepare(session.program.variants[0])
            arguments = [case.folder / a if a.endswith(".npy") else a for a in case.arguments]
            self.compare_nodes(session.executable, [*arguments, "--threads", "1", "--reproducible", "--tile", "7"], session.program.outputs)

    def compare_nodes(self, executable, arguments, outputs):
        """Runs on 8 ranks without nodes and on nodes of 4; returns the bytes received by each node."""
        results = {}
        for per_node in (None, 4):
            files = [w for o in outputs for w in ("--" + o, f"{o}-{per_node}.npy")]
            self.run(executable, 8, [*arguments, *files, "--quiet", "--stats", "nodes.json"],
                     {"TDSL_RANKS_PER_NODE": str(per_node)} if per_node else None)
            statistics = json.loads((self.work / "nodes.json").read_text())
            if statistics["ranks_per_node"] != (per_node or 1):
                raise Failed(f"{executable.name}: planned for {statistics['ranks_per_node']} ranks a node instead of {per_node}")
            for rank in statistics["per_rank"]:
                for count in ("bytes_received", "bytes_sent", "bytes_from_other_nodes")[:3 if per_node else 2]:
                    low, high = interval(rank["predicted"][count])
                    if not low <= rank[count] <= high or low != high and executable.name == "matmul":
                        raise Failed(f"{executable.name}, {per_node} a node: rank {rank['rank']} has {rank[count]} {count}, predicted {low} to {high}")
            results[per_node] = [np.load(self.work / f"{o}-{per_node}.npy") for o in outputs]
        for name, one, other in zip(outputs, *results.values()):
            if not compare.same_bits(one, other):
                raise Failed(f"{executable.name}: {name} has other bits on nodes")
        from_others = [r["bytes_from_other_nodes"] for r in statistics["per_rank"]]
        return [sum(from_others[:4]), sum(from_others[4:])]

    # Ranks of a node read each other's blocks in place: as many bytes as predicted, and the same bits as by messages.
    def test_ranks_of_a_node_read_in_place(self):
        executable, found = self.session("samples/matmul.tdsl").executable, {}
        for name, seed in (("A", 1), ("B", 2)):
            np.save(self.work / f"{name}.npy", np.random.default_rng(seed).random((512, 512)))
        for ranks, windows in itertools.product((2, 3), ([], ["--shared-windows"])):
            self.run(executable, ranks, ["--A", "A.npy", "--B", "B.npy", "--threads", "1", "--schedule", "greedy", "--C", "C.npy", "--quiet", "--stats", "windows.json", *windows])
            statistics = json.loads((self.work / "windows.json").read_text())
            read = [rank.get("bytes_in_place", 0) for rank in statistics["per_rank"]]
            predicted = [rank["predicted"].get("bytes_in_place", 0) for rank in statistics["per_rank"]]
            if read != predicted or (sum(read) > 0) != bool(windows):
                raise Failed(f"{ranks} ranks read {read} bytes in place, predicted {predicted}: {statistics['warnings']}")
            counts = [(rank["bytes_received"], rank["bytes_sent"], rank["blocks_at_exit"]) for rank in statistics["per_rank"]]
            bits = np.load(self.work / "C.npy")
            other, same = found.setdefault(ranks, (counts, bits))
            if counts != other or not compare.same_bits(bits, same):
                raise Failed(f"{ranks} ranks: {counts} with windows, {other} without, or other bits")

    # If ranks of a node are closer than others, `explain` still has the plan of the run, and counts are as predicted.
    def test_near_ranks_are_told_from_far_ones(self):
        session, machine = self.session("samples/transformer_block.tdsl"), self.work / "near.machine"
        machine.write_text("latency = 3e-5\nbandwidth = 1e8\nnear_latency = 3e-7\nnear_bandwidth = 5e9\n")
        case = session.prepare(session.program.variants[0])
        given = [case.folder / a if a.endswith(".npy") else a for a in case.arguments]
        arguments = [*given, "--threads", "1", "--schedule", "auto", *(w for o in session.program.outputs for w in (f"--{o}", f"near-{o}.npy"))]
        hashes = set()
        for per_node in (1, 2, 4):
            self.run(session.executable, 4, [*arguments, "--quiet", "--stats", "near.json"], {"TDSL_MACHINE": str(machine), "TDSL_RANKS_PER_NODE": str(per_node)})
            statistics = json.loads((self.work / "near.json").read_text())
            for rank in statistics["per_rank"]:
                low, high = interval(rank["predicted"]["bytes_received"])
                if not low <= rank["bytes_received"] <= high:
                    raise Failed(f"{per_node} a node: rank {rank['rank']} received {rank['bytes_received']} bytes, predicted {low} to {high}")
            shown = launch.run([self.tdslc, "explain", session.program.path, *session.build_options, "--json", "-n", 4, "--per-node", per_node, "--", *arguments],
                               self.options.limit, env={"TDSL_MACHINE": str(machine)})
            if shown.code != 0 or int(json.loads(shown.out)["plan_hash"], 16) != int(statistics["plan_hash"]):
                raise Failed(f"{per_node} a node: `explain` has another plan than the run: {shown.err}")
            hashes.add(statistics["constants"]["bandwidth"])
        if hashes != {1e8, 5e9}:  # one node: links within it
            raise Failed(f"plans were made with bandwidths of {hashes}")

    # `doctor` measures ranks of this machine, and keeps known network constants unless told to measure them.
    def test_doctor_measures_near_and_far(self):
        home = self.work / "doctor"
        (home / "tdsl").mkdir(parents=True)
        kept = home / "tdsl" / "machine.conf"
        kept.write_text("latency = 7e-5\nbandwidth = 2e8\ndisk_read_rate = 5\ndisk_write_rate = 5\n")
        spilled = self.work / "spilled"
        spilled.mkdir()

        def constants(*options):
            told = launch.run([self.tdslc, "doctor", "--json", *options], self.options.limit, env={"XDG_CACHE_HOME": str(home)})
            if told.code != 0:
                raise Failed(f"tdslc doctor {options}: {told}")
            written = dict(line.split(" = ") for line in kept.read_text().splitlines() if "=" in line)
            machine = json.loads(told.out)["machine"]
            if {name: float(value) for name, value in written.items()} != machine:
                raise Failed(f"doctor says {machine} and wrote {written}")
            return machine

        near = constants()
        if not all(1e-7 < near[overhead] < 1 and near[overhead] != {"task_overhead": 6e-6, "exchange_overhead": 3.3e-5}[overhead]
                   for overhead in ("task_overhead", "exchange_overhead")):
            raise Failed(f"small steps are not measured: {near}")
        if (near["latency"], near["bandwidth"]) != (7e-5, 2e8) or near["near_bandwidth"] == 2e8:
            raise Failed(f"measured without hosts: {near}")
        far = constants("--hosts", "localhost,localhost", "--spill", str(spilled))
        if far["latency"] == 7e-5 or far["bandwidth"] == 2e8:
            raise Failed(f"measured between two hosts: {far}")
        if not all(1e6 < far[rate] < 1e12 for rate in ("disk_read_rate", "disk_write_rate")) or any(spilled.iterdir()):
            raise Failed(f"measured in {spilled}: {far}, {list(spilled.iterdir())}")

    # Small steps are priced by their tasks; work too small for an exchange stays on one rank, or is replicated.
    def test_small_steps_are_priced(self):
        path, built_in = self.work / "small_steps.tdsl", {"TDSL_MACHINE": ""}
        path.write_text("param steps: i64 = 40;\ninput d: f64[n];\nvar h = d;\nfor k in 0..steps { h = tanh(0.5 * roll(h, 1) + d); }\n"
                        "let loss = sum(h * h);\noutput g = grad(loss, d);\n")

        def explained(n, *options, ranks=2):
            shown = launch.run([self.tdslc, "explain", path, "--json", "-n", ranks, "--set", f"n={n}", *options], self.options.limit, env=built_in)
            if shown.code != 0:
                raise Failed(str(shown))
            return json.loads(shown.out)["statements"]

        received = lambda rows: sum(row["predicted"]["bytes_received_max"] for row in rows)
        if received(explained(200)) != 0 or received(explained(10_000_000, "--memory", "64GiB")) == 0:
            raise Failed(f"200 elements: {received(explained(200))} bytes received, 1e7: {received(explained(10_000_000))}")
        for threads in 1, 8:
            rows = explained(200, "--threads", threads, "--disable-pass", "serial_loops", ranks=1)
            seconds, steps = sum(row["predicted"]["seconds"] for row in rows), sum(row["times"] for row in rows)
            if steps < 200 or seconds < steps * 6e-6:
                raise Failed(f"{steps} steps are predicted to take {seconds} s on {threads} threads")
        build = launch.run([self.tdslc, "build", path, "-o", self.work / "small_steps"], self.options.limit)
        if build.code != 0:
            raise Failed(str(build))
        np.save(self.work / "d.npy", np.linspace(0, 1, 200))
        self.run(self.work / "small_steps", 2, ["--d", "d.npy", "--g", "g.npy", "--stats", "small.json"], built_in)
        ranks = json.loads((self.work / "small.json").read_text())["per_rank"]
        if any(rank["bytes_received"] for rank in ranks):
            raise Failed(f"a run over 200 elements exchanges: {[rank['bytes_received'] for rank in ranks]}")
        np.save(self.work / "d.npy", np.linspace(0, 1, 200_000))
        machine, tasks = self.work / "grain.machine", []
        for grain in 1, 1e-9:  # no step is cut into pieces shorter than a grain
            machine.write_text(f"grain = {grain}\n")
            self.run(self.work / "small_steps", 1, ["--d", "d.npy", "--g", "g.npy", "--steps", "2", "--threads", "4", "--quiet", "--stats", "small.json"],
                     {"TDSL_MACHINE": str(machine)})
            tasks.append(sum(row["measured"]["tasks"] for row in json.loads((self.work / "small.json").read_text())["statements"]))
        if not 2 * tasks[0] < tasks[1]:
            raise Failed(f"{tasks[0]} tasks of a second, {tasks[1]} of a nanosecond")

    # The cheapest whole-program plan: the busiest rank receives the minimum found by exhaustive search over plans of all
    # ranks, with constants that count bytes only. The optimum sums the busiest ranks of all operations, which on three
    # ranks are not the same rank. `auto` receives at most that: EinDecomp uses two of three ranks, and may receive less.
    def test_whole_programs_receive_the_least(self):
        lines = []
        constants = {"TDSL_MACHINE": str(ROOT / "tests/e2e/targets/bytes.machine")}
        for path in turns.part(sorted((ROOT / "tests/e2e/targets").glob("*.tdsl"))[::3 if self.quick else 1], 3):
            text = path.read_text()
            sizes = {k: int(v) for k, v in (w.split("=") for w in re.search(r"// sizes: (.*)", text)[1].split())}
            targets = [int(b) for b in re.search(r"// bytes: (.*)", text)[1].split()]
            session = self.session(path.relative_to(ROOT), [])
            given, rng = [], np.random.default_rng(7)
            for name, dims in re.findall(r"^input (\w+): f64\[(.*)\];", text, re.M):
                np.save(self.work / f"{name}.npy", rng.standard_normal([sizes[d.strip()] for d in dims.split(",")]))
                given += [f"--{name}", f"{name}.npy"]
            for name in re.findall(r"^output (\w+)", text, re.M):
                given += [f"--{name}", f"result_{name}.npy"]
            for ranks, target in zip((2, 3, 4), targets):
                received = {}
                for schedule in ("auto", "search", "greedy"):
                    self.run(session.executable, ranks, [*given, "--schedule", schedule, "--threads", "1", "--stats", "targets.json"], constants)
                    per_rank = json.loads((self.work / "targets.json").read_text())["per_rank"]
                    if any(r["bytes_received"] != r["predicted"]["bytes_received"] for r in per_rank):
                        raise Failed(f"{path.stem} ranks={ranks} {schedule}: counted and predicted bytes differ: {per_rank}")
                    received[schedule] = max(r["bytes_received"] for r in per_rank)
                if max(received["auto"], received["search"]) > target or received["search"] < (target if ranks != 3 else 0.95 * target):
                    raise Failed(f"{path.stem} ranks={ranks}: the busiest rank received {received} bytes, the least is {target}")
                lines.append(f"{path.stem} ranks={ranks}: {received} of {target} bytes")
        return "\n    ".join(lines)

    # Partial results of X'Y on 16 ranks are combined in pieces: under every schedule, the busiest rank receives the result less its own piece
    # (NumS's tree of pairs: four times the result), at most a tenth more than under search. Small ones meet on one rank.
    def test_sums_are_combined_in_pieces(self):
        path = self.work / "gram.tdsl"
        path.write_text("input X: f64[n, 256];\ninput Y: f64[n, 256];\noutput C = X' @ Y;\n")
        received = {}
        for schedule in ("search", "lshs", "eindecomp", "pattern", "greedy"):
            plan = self.explain(path, "-n", 16, "--set", "n=160000", "--schedule", schedule)
            received[schedule] = max(r["bytes_received"] for r in plan["per_rank"][1:])  # rank 0 also collects printed values
        if max(received.values()) > 1.1 * received["search"] or received["lshs"] != 15 * 256 * 256 * 8 / 16:
            raise Failed(f"received bytes: {received}")
        return f"received bytes: {received}"

    # A requested schedule runs, or the run and `explain` end with exit code 2 and one message; the task workflow is shown
    # with its ranks, and for Graphviz.
    def test_schedules_in_words(self):
        session = self.session("samples/matmul.tdsl")
        np.save(self.work / "S.npy", np.ones((8, 8)))
        for more, why in ((["--reproducible"], "--schedule=lshs: not supported with --reproducible"), (["--window", "1GiB"], None)):
            command = [*launch.mpi_command(3), session.executable, "--A", "S.npy", "--B", "S.npy", "--C", "D.npy", "--schedule", "lshs", *more]
            result = launch.run(command, self.options.limit, cwd=self.work, env={"TDSL_OVERSUBSCRIBED": "1"})
            if why and (result.code != 2 or why not in result.err or len(result.err.strip().splitlines()) != 1):
                raise Failed(f"{more}: {result}")
            if not why and (result.code != 0 or result.err or not (np.load(self.work / "D.npy") == 8).all()):
                raise Failed(f"{more}: {result}")
        sizes = lambda n: ("-n", 7, *(w for d in "nmk" for w in ("--set", f"{d}={n}")))
        product = ("matmul", "-n", 4, *sizes(200)[2:])
        plans = [a["schedule"] for a in self.explain(*product, "--schedule", "pattern")["alternatives"]]
        if plans != ["pattern", "search", "eindecomp", "sqrt", "lshs", "greedy"]:
            raise Failed(f"alternatives {plans}")
        # Seven ranks hold more than their share of eight blocks: no limit is given, so the pattern runs.
        for schedule in ("pattern", "lshs", "eindecomp", "sqrt", "search"):
            plan = self.explain("matmul", *sizes(7000), "--schedule", schedule)
            if plan["schedule"] != schedule or any("--schedule" in n["text"] for n in plan["notes"]):
                raise Failed(f"{schedule}: {plan['schedule']}, {plan['notes']}")
        explain = [self.tdslc, "explain", ROOT / "samples/matmul.tdsl"]
        none = ["--", "--spill", "none"]
        least = None
        for more, message in ((["--tile", 16], "--schedule=pattern: the task workflow has more than 1000000 tasks; a larger --tile gives fewer [plan]\n"),
                              (["--memory", "20MiB", *none], "--memory 20MiB is too small: "), (["--window", "1KiB"], "--window 1KiB is too small: ")):
            shown = launch.run([*explain, *sizes(20000 if "--tile" in more else 7000), "--schedule=pattern", *more], self.options.limit)
            if shown.code != 2 or shown.out or message not in shown.err or len(shown.err.splitlines()) != 1:
                raise Failed(f"{more}: {shown}")
            least = re.search(r"give at least --memory ([\d.]+MiB)", shown.err) or least
        # The memory in the message is enough, with smaller blocks if need be.
        plan = self.explain("matmul", *sizes(7000), "--schedule", "pattern", "--memory", least[1], *none)
        if plan["schedule"] != "pattern" or not plan["memory"]["fits"]:
            raise Failed(f"pattern in {least[1]}: {plan['memory']}")
        stage = [self.tdslc, "explain", ROOT / "samples/matmul.tdsl", *product[1:], "--stage=workflow", "--schedule=lshs"]
        for more, first in (([], "workflow of 28 tasks\n0 load A[0, 0] on rank 0\n"), (["--dot"], "digraph workflow {\n")):
            shown = launch.run([*stage, *more], self.options.limit)
            if shown.code != 0 or not shown.out.startswith(first):
                raise Failed(f"{more}: {shown}")

    # A pattern's level offsets hold in loops: over seven iterations on seven ranks all compute alike.
    def test_patterns_turn_in_loops(self):
        program = self.work / "iterated.tdsl"
        program.write_text("input A: f64[n, n];\ninput B: f64[n, n];\nvar X = A;\nfor t in 0..7 { X = X @ B; }\noutput X;\n")
        plan = self.explain(program, "-n", 7, "--set", "n=7000", "--tile", 1000, "--schedule", "pattern")
        flops = [rank["predicted"]["flops"] for rank in plan["per_rank"]]
        if plan["schedule"] != "pattern" or max(flops) > 1.3 * sum(flops) / 7 or min(flops) <= 0:
            raise Failed(f"{plan['schedule']}: {flops}")

    # The papers' own costs: TRA's table 4 on ten sites, partition vectors, the lower bound and the name of the plan.
    def test_costs_of_the_papers(self):
        for sizes, costs in (((40000, 40000, 40000), ("1.6e+10", "1.6e+10", "1.6e+10")), ((10000, 640000, 10000), ("6.4e+10", "1e+09", "6.4e+10")),
                             ((80000, 10000, 80000), ("8e+09", "6.4e+10", "8e+09"))):
            given = [w for d, size in zip("nmk", sizes) for w in ("--set", f"{d}={size}")]
            text = self.explain("matmul", "-n", 10, *given, "--costs=papers", "--schedule", "eindecomp")["paper_costs"]
            if "TRA broadcast {}, cross-product {}, replication {}; ".format(*costs) not in text:
                raise Failed(f"{sizes}: {text}")
        square = [w for d in "nmk" for w in ("--set", f"{d}=800")]
        text = self.explain("matmul", "-n", 4, *square, "--costs=papers", "--schedule", "eindecomp")["paper_costs"]
        wanted = "SUMMA, received 3", "lower bound ", "EinDecomp i:2 j:2 ", "; sqrt ", "EinDecomp: 2.56e+06 in total, the least (a tree)"
        if any(w not in text for w in wanted):
            raise Failed(text)

    # Work and bytes of a large product are balanced for every number of ranks.
    def test_balance(self):
        n = 10**6
        for p in (7, 16, 31) if self.quick else (*range(4, 17), 31):
            rows = self.explain("matmul", "-n", p, *(w for d in "nmk" for w in ("--set", f"{d}={n}")))["statements"]
            rows = [r["predicted"] for r in rows if r["kind"] in ("contraction", "combine")]
            work = sum(r["flops_max"] for r in rows) / sum(r["flops_mean"] for r in rows)
            received = sum(r["bytes_received_max"] for r in rows) / 8
            if work > 1.02 or received > 1.10 * 2 * (p**0.5 - 1) / p * n * n:
                raise Failed(f"p={p}: work {work:.3f}, received {received / (2 * (p**0.5 - 1) / p * n * n):.3f} of the bound")

    # A graph with skewed degrees: rows are cut into equal work, based on the positions of elements; sums shared by
    # threads are accumulated in tiles.
    def test_heavy_heads_are_balanced(self):
        rng, scale = np.random.default_rng(1), 12
        links = np.zeros((2, 16 << scale), np.int64)
        for _ in range(scale):
            links = 2 * links + np.array([[0, 0, 1, 1], [0, 1, 0, 1]])[:, rng.choice(4, links.shape[1], p=(0.57, 0.19, 0.19, 0.05))]
        links = np.unique(links, axis=1) + 1
        graph = self.work / "heavy.mtx"
        graph.write_text(f"%%MatrixMarket matrix coordinate pattern general\n{1 << scale} {1 << scale} {links.shape[1]}\n"
                         + "".join(f"{i} {j}\n" for i, j in links.T))
        source = self.work / "walks.tdsl"
        source.write_text("input A: f64[n, sparse n];\nlet v = ones(n);\nlet u = A @ v;\nlet w = A' @ u;\noutput w;\n")
        worst = 0
        for ranks in (2, 8):
            rows = self.explain(source, "-n", ranks, "--", "--A", graph)["statements"]
            rows = [r["predicted"] for r in rows if r["kind"] in ("map", "reduce")]
            worst = max([worst, *(r["flops_max"] / r["flops_mean"] for r in rows)])
        rows = self.explain(source, "-n", 1, "--set", "n=1000000", "--set", "A.stored=10000000", "--", "--threads", 3)["statements"]
        placed = {r["kind"]: r["plan"] for r in rows if r["kind"] in ("reduce", "combine")}
        parts, tiles = (int(re.search(r"of (\d+)(x| tile)", placed.get(kind, "of 0x"))[1]) for kind in ("reduce", "combine"))
        if worst > 1.3 or parts != 3 or tiles < 3:
            raise Failed(f"{worst:.3f} of the mean work on the busiest rank; {placed}")
        return f"{worst:.3f} of the mean work on the busiest of 8 ranks; for three threads {parts} parts, added in {tiles} tiles"
