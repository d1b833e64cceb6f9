"""Facts about memory and bytes: what ranks receive and hold is as predicted and within limits. A part of facts.py."""
import itertools
import json
import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

import compare
import launch
import turns
from points import Point
from plan_facts import SHAPES
from session import LEAST_WINDOW, Failed, interval

ROOT = Path(__file__).resolve().parents[2]


class MemoryFacts:
    """A part of Facts in facts.py."""

    # Every rank receives exactly the predicted bytes, and `explain` predicts the same as the run.
    def test_received_bytes_are_as_predicted(self):
        executable = self.session("samples/matmul.tdsl").executable
        ranks = (2, 3, 5) if self.quick else (1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 16) if self.long else (1, 2, 3, 4, 5, 6, 7)
        shapes = list(SHAPES.items())[1::2] if self.quick else SHAPES.items()
        for name, shape in shapes:
            np.save(self.work / "A.npy", np.random.default_rng(1).random(shape[:2]))
            np.save(self.work / "B.npy", np.random.default_rng(2).random(shape[1:]))
            points = list(itertools.product(ranks, (None,) if self.quick else (None, "7")))
            with ThreadPoolExecutor(2) as pool:
                for message in pool.map(lambda p: self.compare_bytes(executable, name, shape, *p), points):
                    if message:
                        raise Failed(message)

    def compare_bytes(self, executable, name, shape, ranks, tile):
        where, tiles = f"{name} ranks={ranks} tile={tile}", ["--tile", tile] if tile else []
        file = f"stats-{ranks}-{tile}.json"
        self.run(executable, ranks, ["--A", "A.npy", "--B", "B.npy", "--C", f"C-{ranks}-{tile}.npy", "--threads", "1",
                                     "--stats", file, *tiles])
        statistics = json.loads((self.work / file).read_text())
        for rank in statistics["per_rank"]:
            low, high = interval(rank["predicted"]["bytes_received"])
            if low != high or rank["bytes_received"] != low:
                return f"{where}: rank {rank['rank']} received {rank['bytes_received']} bytes, predicted {low} to {high}"
            low, high = interval(rank["predicted"]["bytes_sent"])
            if low != high or rank["bytes_sent"] != low:
                return f"{where}: rank {rank['rank']} sent {rank['bytes_sent']} bytes, predicted {low} to {high}"
        total = sum(r["bytes_received"] for r in statistics["per_rank"])
        if total != sum(r["bytes_sent"] for r in statistics["per_rank"]):
            return f"{where}: bytes sent and received differ"
        return None

    # A product of matrices that are stored tile by tile is one product like that of plain ones: no check of the storage at run time, no other
    # kernel, the same flops, and bytes within a tenth.
    def test_tile_major_products_are_plain_products(self):
        tiled = ("param n: i64 = 1000;\nparam t: i64 = 10;\nparam b: i64 = 100;\nstorage tiled(t, b) {{ stored[t, t, b, b]; "
                 "to[i, j] = (i / b, j / b, i % b, j % b); from[io, jo, ii, ji] = (io * b + ii, jo * b + ji); }}\n"
                 "input A: f64[{0}, {0}] storage tiled({1}, b);\ninput B: f64[{0}, {0}] storage tiled({1}, b);\n"
                 "let C: f64[{0}, {0}] storage tiled({1}, b) = A @ B;\noutput C;\n")
        programs = {"plain": "param n: i64 = 1000;\ninput A: f64[n, n];\ninput B: f64[n, n];\nlet C = A @ B;\noutput C;\n",
                    "tiles": tiled.format("t * b", "t"), "quotients": tiled.format("n", "n / b")}
        totals = {}
        for (name, text), ranks in itertools.product(programs.items(), (1, 4)):
            path = self.work / f"product_of_{name}.tdsl"
            path.write_text(text)
            rows = [r for r in self.explain(path, "-n", ranks, "--threads", 1)["statements"] if r["kind"] != "collect"]
            if [r["kind"] for r in rows] != ["load", "load", "contraction"]:
                raise Failed(f"{name} on {ranks} ranks: {[(r['name'], r['kind']) for r in rows]}")
            totals[name, ranks] = [sum(r["predicted"][of] for r in rows) for of in ("flops_max", "bytes_received_max")]
            flops, received = totals["plain", ranks]
            if totals[name, ranks][0] != flops or totals[name, ranks][1] > 1.1 * received:
                raise Failed(f"{name} on {ranks} ranks: {totals[name, ranks]} flops and bytes, plain {flops} and {received}")
        return str(totals)

    # A run never exceeds --memory, even at the minimum, and a smaller value is rejected before it computes.
    def test_memory_limit_is_kept(self):
        lines = []
        for path in ("samples/matmul.tdsl", "samples/matrix_chain.tdsl", "samples/two_layer_network.tdsl", "samples/heat.tdsl"):
            session = self.session(path)
            case = session.prepare(session.program.variants[0])
            for point in (Point(1, "7", 2, "none", False), Point(3, "7", 1, "none", True), Point(4, None, 2, "none", True), Point(7, "7", 1, "none", True)):
                if self.quick and point.ranks != 3:
                    continue
                lines.append(f"{session.program.name} {point}: {case.run_in_least_memory(point, 5, 'memory')} bytes")
        return "\n    ".join(lines)

    # A program that exceeds the address space limit (which needs no privileges) is rejected with the numbers; with the
    # memory reported as sufficient it runs, with the bits of an unlimited run.
    def test_limits_of_the_system(self):
        n = 900
        for name in "AB":
            np.save(self.work / f"{name}.npy", np.random.default_rng(5).random((n, n)))
        executable = self.session("samples/matmul.tdsl", []).executable
        command = [executable, "--A", "A.npy", "--B", "B.npy", "--threads", "1", "--spill", "none", "--C"]
        within = lambda mebibytes, file: launch.run(["prlimit", f"--as={mebibytes << 20}", *command, file], self.options.limit, cwd=self.work)
        self.run(executable, 1, [*command[1:], "free.npy"])
        for start in range(64, 4096, 32):  # with less, not even the libraries can be loaded
            refused = within(start, "tight.npy")
            if refused.code == 0 or "does not fit into memory" in refused.err:
                break
        least = re.search(r"`C` does not fit into memory: it needs at least ([\d.]+) MiB .*ulimit -v.* give at least (\d+) MiB", refused.err)
        if refused.code != 2 or not least or (self.work / "tight.npy").exists():
            raise Failed(f"with {start} MiB: {refused}")
        enough = within(int(least[2]), "tight.npy")
        if enough.code != 0 or not compare.same_bits(np.load(self.work / "tight.npy"), np.load(self.work / "free.npy")):
            raise Failed(f"with {least[2]} MiB, which were said to be enough: {enough}")
        if "does not fit" not in within(int(least[2]) - int(float(least[1])), "less.npy").err:
            raise Failed(f"a product runs in {int(least[2]) - int(float(least[1]))} MiB")
        # The memory that a dry run reports for its own plan, for all plans, and with tensors on disk is sufficient.
        arguments = ["--A", "A.npy", "--B", "B.npy", "--threads", "1", "--spill", "."]
        dry = launch.run([executable, *arguments, "--dry-run"], self.options.limit, cwd=self.work)
        said = [int(size) for size in re.findall(r"\(--memory (\d+)\)", dry.out)]
        if dry.code != 0 or "by this plan a rank needs" not in dry.out or "with tensors on disk or in their files" not in dry.out or said != sorted(said, reverse=True):
            raise Failed(f"{dry}")
        for size in said:
            self.run(executable, 1, [*arguments, "--memory", size, "--C", "least.npy"])
        self.run(executable, 1, [*arguments[:-1], "none", "--memory", said[-2], "--C", "least.npy"])
        return f"refused with {start} MiB, runs with {least[2]}"

    # A product with four times as much data as memory runs with its matrices on disk: equal up to rounding, within the
    # memory, with the predicted reads and writes: exactly on one rank, which has no peers.
    def test_spilled_product(self):
        n, lines = 700, []
        memory = 3 * n * n * 8 // 4
        for name in "AB":
            np.save(self.work / f"{name}.npy", np.random.default_rng(6).integers(-9, 9, (n, n)).astype(float))
        executable = self.session("samples/matmul.tdsl", []).executable
        arguments = ["--A", "A.npy", "--B", "B.npy", "--C", "C.npy", "--stats", "spill.json"]
        wanted = np.load(self.work / "A.npy") @ np.load(self.work / "B.npy")
        for ranks in (1,) if self.quick else (1, 2, 3):
            command = [*launch.mpi_command(ranks), executable, *arguments, "--memory", memory // ranks, "--threads", "2", "--spill", "."]
            result = launch.run(command, self.options.limit, cwd=self.work, env={"TDSL_OVERSUBSCRIBED": "1"})
            said = [line for line in result.err.splitlines() if line.endswith("[spill]")]
            if result.code != 0 or len(said) != 1 or not (np.load(self.work / "C.npy") == wanted).all():
                raise Failed(f"{ranks} ranks: {result}")
            for rank in json.loads((self.work / "spill.json").read_text())["per_rank"]:
                for figure in ("disk_read", "disk_written"):
                    low, high = np.broadcast_to(rank["predicted"].get(figure, 0), 2)
                    if not low <= rank[figure] <= high or (ranks == 1 and (low != high or low == 0)):
                        raise Failed(f"{ranks} ranks: {figure} {rank[figure]}, predicted {low} to {high}")
                if rank["peak_block_bytes"] > memory // ranks or rank["disk_bytes_at_exit"] != 0:
                    raise Failed(f"{ranks} ranks: {rank}")
            lines.append(f"{ranks} ranks of {memory // ranks} bytes: {said[0]}")
        refused = launch.run([executable, *arguments, "--memory", memory, "--spill", "none"], self.options.limit, cwd=self.work)
        if refused.code != 2 or "--spill none forbids it" not in refused.err:
            raise Failed(f"--spill none: {refused}")
        return "\n    ".join(lines)

    # A product of many blocks holds a rank's share and the window, down to the smallest.
    def test_product_holds_its_share_and_the_window(self):
        n, lines = 240, []
        for name in "AB":
            np.save(self.work / f"{name}.npy", np.random.default_rng(3).random((n, n)))
        gram = self.work / "gram.tdsl"
        gram.write_text("input A: f64[n, m];\nlet C = A @ A';\noutput s = sum(C);\n")
        for source, tensors, files in turns.part((("samples/matmul.tdsl", 3, ["--A", "A.npy", "--B", "B.npy", "--C", "C.npy"]), (gram, 2, ["--A", "A.npy"])), 2):
            executable = self.session(source, []).executable
            for ranks in (4,) if self.quick else (1, 2, 4) if self.long else (1, 4):
                owned = tensors * 8 * n * n // ranks
                arguments = [*files, "--threads", "1", "--tile", "12", "--stats", "share.json"]
                command = [*launch.mpi_command(ranks), executable, *arguments, "--window", "1"]
                refused = launch.run(command, self.options.limit, cwd=self.work, env={"TDSL_OVERSUBSCRIBED": "1"})
                asked = LEAST_WINDOW.search(refused.err)
                least = int(asked[1]) if asked else 1
                for window in (least, 4 * least, 16 * least):
                    self.run(executable, ranks, [*arguments, "--window", window])
                    held = max(r["peak_block_bytes"] for r in json.loads((self.work / "share.json").read_text())["per_rank"])
                    if held > owned + window:
                        raise Failed(f"{source} ranks={ranks} window={window}: {held} bytes held, {owned} owned")
                    lines.append(f"{Path(source).stem} ranks={ranks} window={window}: {held - owned} bytes more than owned")
        return "\n    ".join(lines)

    # The memory of a loop does not depend on its trip count: blocks exactly on one rank (of several, one may run ahead
    # of the other), resident memory approximately.
    def test_iterations_leave_memory_flat(self):
        session = self.session("samples/heat.tdsl")
        case = session.prepare(session.program.variants[0])
        for ranks in (1,) if self.quick else (1, 2):
            held, resident = [], []
            for steps in (2000, 10000):
                self.run(session.executable, ranks, ["--start", case.folder / "start.npy", "--steps", steps, "--threads", "1",
                                                     "--stats", "flat.json", "--quiet", "--" + session.program.outputs[0], "flat.npy"])
                per_rank = json.loads((self.work / "flat.json").read_text())["per_rank"]
                held.append(max(r["peak_block_bytes"] for r in per_rank))
                resident.append(max(r["peak_rss_bytes"] for r in per_rank))
            if held[1] > ranks * held[0] or resident[1] > resident[0] + (4 << 20):
                raise Failed(f"ranks={ranks}: 2000 and 10000 iterations held {held} bytes of blocks, {resident} in all")
        return f"10000 iterations: {held[1]} bytes of blocks, {(resident[1] - resident[0]) / 2**20:.1f} MiB more than 2000 of the process"

    # No operation of section 6 holds more than (operands + result) / p and a panel on any rank without reporting
    # [gathered].
    def test_nothing_is_gathered_in_silence(self):
        path = ROOT / "tests/e2e/held/section6.tdsl"
        executable, statistics, n, ranks = self.work / "section6", self.work / "held.json", 724, 4
        build = launch.run([self.tdslc, "build", path, "-o", executable], 10 * self.options.limit)
        if build.code != 0:
            raise Failed(f"tdslc build: {build}")
        warned = {int(line.split(":")[1]) for line in build.err.splitlines() if line.endswith("[gathered]")}
        wrong, operations = [], []
        for number, line in enumerate(path.read_text().splitlines(), 1):
            found = re.match(r"if which == (\d+) \{(.*)\} // ([\d.]+)$", line)
            if found and number not in warned and (self.long or int(found[1]) % 4 == 0):
                operations.append((number, found))
        for number, found in turns.part(operations, 2):
            run = self.run(executable, ranks, ["--which", found[1], "--stats", statistics])
            if "[gathered]" in run.err:
                warned.add(number)
                continue
            held = max(r["peak_block_bytes"] for r in json.loads(statistics.read_text())["per_rank"]) / (8 * n * n)
            if held > float(found[3]) / ranks + 0.51:
                wrong.append(f"{held:.2f} tensors of n x n on one rank: {found[2]}")
        if wrong:
            raise Failed("\n      ".join(wrong))
        return f"{len(warned)} operations warn"

    # A loop's update works in place in the block it replaces, even if it reads other rows of it, and the resident
    # memory is close to the counted block memory.
    def test_loops_hold_no_more_than_their_blocks(self):
        n, rows = 1000, {}
        for name, tensors, body in (("rows", 1.1, "A[i, j] = A[i, j] + 0.5 * A[i - 1, j];"), ("fresh", 3.1, "A = A' * 0.5 + A;")):
            path, statistics = self.work / f"{name}.tdsl", self.work / f"{name}.json"
            path.write_text(f"var A = random({n}, {n});\nfor i in 1..200 {{ {body} }}\noutput s = sum(A);\n")
            build = launch.run([self.tdslc, "build", path, "-o", self.work / name], self.options.limit)
            if build.code != 0:
                raise Failed(f"tdslc build: {build}")
            self.run(self.work / name, 1, ["--stats", statistics, "--quiet"])
            rank = json.loads(statistics.read_text())["per_rank"][0]
            blocks, rss = rank["peak_block_bytes"] / (8 * n * n), rank["peak_rss_bytes"] / (8 * n * n)
            rows[name] = f"{name}: {blocks:.1f} tensors in blocks, {rss:.1f} in memory"
            if blocks > tensors or rss > blocks + 3 or not 0 < rank["start_rss_bytes"] <= rank["peak_rss_bytes"]:
                raise Failed(rows[name])
        return "; ".join(rows.values())

    # Derivatives through a recurrence keep the elements read by each iteration, not whole vectors.
    def test_gradient_of_a_recurrence_keeps_elements(self):
        source = self.work / "recurrence.tdsl"
        source.write_text("param n: i64 = 1000;\nlet x = random(n);\nvar y = x;\nfor i in 1..n { y[i] = sin(y[i - 1]) * x[i]; }\n"
                          "print(norm(grad(sum(y), x)));\n")
        session = self.session(source, [])
        vectors = []
        for n in (1000, 8000):
            self.run(session.executable, 1, ["--n", n, "--stats", "recurrence.json", "--quiet"])
            per_rank = json.loads((self.work / "recurrence.json").read_text())["per_rank"]
            vectors.append(per_rank[0]["peak_block_bytes"] / (8 * n))
        if max(vectors) > 8:
            raise Failed(f"held as many bytes as {vectors} vectors at n = 1000 and 8000")
        return f"held {vectors[1]:.1f} vectors of blocks at n = 8000"
