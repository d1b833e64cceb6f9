"""Facts about compressed tensors: forms that stay sparse, elements received and read by walks, sizes of results. A part of facts.py."""
import itertools
import json
import math
import re
from pathlib import Path

import numpy as np
import scipy.sparse

import launch
import turns
from session import LEAST_WINDOW, Failed, interval

ROOT = Path(__file__).resolve().parents[2]
# Forms of docs/sparse.md, with their results in r, by its rank: no warning, no dense copy.
SPARSE_FORMS = {
    0: {"element": "let r = A[3, 5];", "element_at_param": "let r = A[k, k + 1];", "trace": "let r = trace(A);", "count": "let r = nnz(A - diag(v));"},
    1: {"row": "let r = A[k, :];", "row_in_expression": "let r[j] = A[k, j] * v[j] + 1.0;", "column": "let r[i] = v[i] - A[i, 3];", "diagonal": "let r = diag(A);",
        "jacobi": "let r[i] = v[i] / A[i, i];", "above": "let r[i]: f64[n - 1] = A[i, i + 1] for i in 0..n - 1;", "across": "let r[i] = A[i, n - 1 - i] for i in 0..n;",
        "shifted_product": "let r = (A + eye(n)) @ v;", "maximum": "let r = max(A, axis=1);", "argmax": "let r[i] = argmax[j](A[i, j]);", "argmin": "let r[j] = argmin[i](A[i, j]);"},
    2: {"normalised": "let r[i, j] = A[i, j] / sqrt(A[i, i] * A[j, j]);", "eye": "let r = eye(n) + A;", "diag_less": "let r = diag(v) - A;", "less_diag": "let r = A - k * diag(v);",
        "triangle": "let r = tril(A) + eye(n);", "laplacian": "let r = graph_laplacian(A);", "scaled_columns": "let r = A @ diag(v);", "scaled_rows": "let r = diag(v) @ A;",
        "quotient": "let r[i, j] = A[i, j] / v[i];"}}
# Selections by index vectors, with results in r.
SELECTED_FORMS = {"both": "let r[i, j] = A[p[i], q[j]];", "rows": "let r[i, j] = A[p[i], j];", "columns": "let r[i, j] = A[i, q[j]];", "alike": "let r[i, j] = A[p[i], p[j]];",
                  "turned": "let r[i, j] = A[p[j], q[i]];", "computed": "let r[i, j] = A[(p[i] + k) % n, j];"}
# Two readers, so that the result is a tensor; none of its elements is sent to rank 0.
SPARSE_USES = {0: "output s = r;", 1: "output s = sum(r + r);", 2: "output s = r @ v; output t = sum(r);"}
# Assemblies of docs/sparse.md: inputs beside v: f64[n], the text, and stored elements of K in millions.
MATRIX, POINTS, CORNERS = "A: f64[n, sparse n]", "row: i64[m];\ninput col: i64[m];\ninput val: f64[m]", "c: i64[n, 3]"
ASSEMBLED_FORMS = {
    "sum_at": (POINTS, "let K[row[e], col[e]]: f64[n, sparse n] += val[e];", 10), "once_at": (POINTS, "let K[row[e], col[e]]: f64[n, sparse n] = val[e];", 10),
    "guarded_at": (POINTS, "let K[row[e], col[e]]: f64[n, sparse n] += val[e] where val[e] > 0.5;", 10),
    "max_at": (POINTS, "var K: f64[n, sparse n] = zeros(n, n);\nK[row[e], col[e]] max= val[e];", 10),
    "elements": (CORNERS, "let K[c[e, a], c[e, b]]: f64[n, sparse n] += v[e] * (a + b) for e in 0..n, a in 0..3, b in 0..3;", 9),
    "computed": ("", "let K[i, i + a - 1]: f64[n, sparse n] = v[i] where 0 <= i + a - 1 && i + a - 1 < n for i in 0..n, a in 0..3;", 3),
    "band": ("", "let K[i, j]: f64[n, sparse n] = (if i == j then 2.0 else -1.0) where abs(i - j) <= 1;", 3),
    "loop": ("", "var K: f64[n, sparse n] = zeros(n, n);\nfor i in 0..n {\n  K[i, i] = 2.0;\n}", 1),
    "set_diagonal": (MATRIX, "var K = A;\nK[i, i] = 2.0;", 11), "added_diagonal": (MATRIX, "var K = A;\nK[i, i] += v[i];", 11),
    "cleared_row": (MATRIX, "var K = A;\nK[3, :] = 0.0;", 10)}
# Programs over compressed matrices: file, compressed inputs (rows, columns, stored elements), dense inputs, options, and the operands that every
# iteration needs whole: (iterations, bytes per iteration).
BENCH = "tools/bench/programs/sparse/"
SQUARE = (6000, 6000, 120_000)
SQUARE_BYTES = 12 * SQUARE[2] + 8 * SQUARE[0]
WALKS = (
    (BENCH + "product.tdsl", {"A": SQUARE, "B": SQUARE}, {}, ("--repeats", 2), (2, SQUARE_BYTES)),
    (BENCH + "spgemm.tdsl", {"A": SQUARE, "B": SQUARE}, {}, ("--repeats", 2), (2, SQUARE_BYTES)),
    (BENCH + "chain.tdsl", {"A": (3000, 3000, 15_000)}, {}, ("--repeats", 3), (3, 12 * 15_000 + 8 * 3000)),
    (BENCH + "outer.tdsl", {"X": (4000, 3000, 60_000)}, {"U": (4000, 40), "V": (3000, 40)}, ("--repeats", 2), (2, 8 * 40 * 3000)),
    ("samples/sparse_chain.tdsl", {"S": (2000, 2000, 6000), "W": (500, 2000, 2000), "F": (2000, 20, 2000)}, {}, ("--steps", 3), None),
    ("samples/sparse_factorisation.tdsl", {"R": (4000, 3000, 60_000)}, {"P0": (4000, 16), "Q0": (16, 3000)}, ("--steps", 2), None),
    ("samples/ratings_als.tdsl", {}, {}, ("--rounds", 1, "--rank", 8, "--inner", 2), None))


def random_graph(nodes):
    """Eight neighbours a node, anywhere: every part of the graph meets most of the vector."""
    random = np.random.default_rng(4)
    rows = np.repeat(np.arange(nodes), 8)
    return scipy.sparse.csr_matrix((np.full(8 * nodes, 0.5), (rows, random.integers(nodes, size=8 * nodes))), shape=(nodes, nodes))


def renumbered_grid(side):
    """A square grid's adjacency, with nodes along a Z-order curve."""
    at = np.arange(side * side)
    codes = sum(((at // side >> bit & 1) << 2 * bit + 1) | ((at % side >> bit & 1) << 2 * bit) for bit in range(side.bit_length()))
    number = np.empty_like(at)
    number[np.argsort(codes)] = at
    grid = number.reshape(side, side)
    a, b = np.concatenate([grid[1:].ravel(), grid[:, 1:].ravel()]), np.concatenate([grid[:-1].ravel(), grid[:, :-1].ravel()])
    return scipy.sparse.csr_matrix((np.ones(2 * len(a)), (np.concatenate([a, b]), np.concatenate([b, a]))), shape=(side * side, side * side))


class SparseFacts:
    """A part of Facts in facts.py."""

    # Sparse forms at a million rows: no rank holds more than three times the operands and the result, nor receives more than the operands and
    # four vectors (argmin by columns combines four per column).
    def test_forms_stay_sparse(self):
        n, m = 1_000_000, 10_000_000
        matrix = 12 * m + 8 * n
        every_rank = (1, 4) if self.quick else (1, 2, 3, 4)
        for rank, forms in SPARSE_FORMS.items():
            for name, form in forms.items():
                program = f"import std.graph;\nparam k: i64 = 2;\ninput {MATRIX};\ninput v: f64[n];\n{form}\n{SPARSE_USES[rank]}\noutput w = sum(v) * k;\n"
                self.check_sparse_form(name, program, every_rank, n, 3 * (2 * matrix + 16 * n), matrix + 4 * 8 * n)
        # Rows may be selected repeatedly, so held bytes have no bound without A's file.
        for name, form in SELECTED_FORMS.items():
            indexes = "".join(f"input {each}: i64[n];\n" for each in "pq" if f"{each}[" in form)
            program = f"param k: i64 = 2;\ninput {MATRIX};\n{indexes}input v: f64[n];\n{form}\n{SPARSE_USES[2]}\noutput w = sum(v) * k;\n"
            self.check_sparse_form(f"selected_{name}", program, every_rank, n, math.inf, matrix + 4 * 8 * n)
        for name, (inputs, form, stored) in ASSEMBLED_FORMS.items():
            declared = ("param m: i64 = 10000000;\n" if inputs == POINTS else "") + "param n: i64 = 1000000;\n"
            declared += "".join(f"input {each};\n" for each in (inputs, "v: f64[n]") if each)
            operands = {"": 0, MATRIX: matrix, POINTS: 24 * m, CORNERS: 24 * n}[inputs] + 8 * n
            result = 12_000_000 * stored + 8 * n
            self.check_sparse_form(f"assembled_{name}", f"{declared}{form}\noutput s = K @ v;\noutput t = sum(K);\n", every_rank, n, 3 * (operands + result),
                                   operands + 4 * 8 * n)

    def check_sparse_form(self, name, program, every_rank, n, most_held, most_received):
        path = self.work / f"form_{name}.tdsl"
        path.write_text(program)
        sizes = ["--set", "A.stored=10000000"] if MATRIX in program else []
        sizes += [] if "param n:" in program else ["--set", f"n={n}"]
        for ranks in every_rank:
            result = launch.run([self.tdslc, "explain", path, "--json", "-n", ranks, *sizes], self.options.limit)
            if result.code != 0 or "warning" in result.err:
                raise Failed(f"{name} on {ranks} ranks: {result}")
            for each in json.loads(result.out)["per_rank"]:
                if each["peak_block_bytes"] > most_held or each["bytes_received"] > most_received:
                    raise Failed(f"{name} on {ranks} ranks: rank {each['rank']} holds {each['peak_block_bytes']:.3g} B of {most_held:.3g} and receives "
                                 f"{each['bytes_received']:.3g} B of {most_received:.3g}")

    # The file of a matrix bounds the elements of its fullest row and column, hence those of selected ones.
    def test_selected_rows_are_bounded_by_the_fullest(self):
        n, each = 5000, 10
        matrix, file = 12 * n * each + 8 * n, self.work / "selected_A.mtx"
        file.write_text(f"%%MatrixMarket matrix coordinate real general\n{n} {n} {n * each}\n"
                        + "".join(f"{i + 1} {(7 * i + 11 * k) % n + 1} 1.5\n" for i in range(n) for k in range(each)))
        np.save(self.work / "selected_p.npy", np.arange(n) % 17)
        inputs, path = ("--", "--A", file, "--p", self.work / "selected_p.npy"), self.work / "selected_rows.tdsl"
        for form in ("A[p[i], j]", "A[p[j], i]", "A[i, p[j]]"):
            path.write_text(f"input {MATRIX};\ninput p: i64[n];\nlet r[i, j] = {form};\noutput s = sum(r, axis=1);\noutput t = sum(r);\n")
            for ranks in (1, 4):
                for rank in self.explain(path, "-n", ranks, *inputs)["per_rank"]:
                    if rank["peak_block_bytes"] > 3 * (2 * matrix + 16 * n):
                        raise Failed(f"{form} on {ranks} ranks: rank {rank['rank']} holds {rank['peak_block_bytes']:.3g} B, A has {matrix}")

    # A walk over stored elements receives each operand once: no rank receives more than 1.05 of the remote shares, predicted where an operand
    # exceeds the limit of a step, and counted; with twice the smallest window no more than 1.05 of the bytes without a window.
    def test_walks_receive_operands_once(self):
        ranks, lines = (2,) if self.quick else (2, 4, 8), []
        source = self.work / "walk.tdsl"
        source.write_text("input A: f64[n, sparse m];\ninput B: f64[m, sparse m];\nlet C = A @ B;\noutput r = sum(C * C, axis=1);\n")
        for n, m, a, b in ((300_000, 20_000, 2_400_000, 20_000_000), (100_000, 100_000, 100_000_000, 100_000_000)):
            for p in ranks:
                sizes = (f"{key}={value}" for key, value in (("n", n), ("m", m), ("A.stored", a), ("B.stored", b)))
                rows = self.explain(source, "-n", p, *(word for size in sizes for word in ("--set", size)))["statements"]
                share, received = (12 * b + 8 * m) * (p - 1) / p, sum(row["predicted"]["bytes_received_max"] for row in rows)
                if received > 1.05 * share:
                    raise Failed(f"a product with {b} stored elements on {p} ranks: {received:.4g} bytes are received of {share:.4g}")
                lines.append(f"{b} stored elements, ranks={p}: {received / share:.3f} of the remote share")
        for path, matrices, dense, options, whole in turns.part(WALKS, 1 if self.long else 2):
            executable = self.session(path, []).executable
            inputs = [*self.walk_inputs(matrices, dense), *options, "--threads", 1, "--quiet"]
            for p in ranks:
                arguments = [*inputs, "--schedule", "search"]
                free = self.received(executable, p, arguments)
                window = 2 * self.least_window(executable, p, arguments)
                tight = self.received(executable, p, [*arguments, "--window", window])
                share = whole and whole[0] * whole[1] * (p - 1) / p
                for schedule, received in (("search", free), ("auto", self.received(executable, p, inputs))) if whole else ():
                    if max(received) > 1.05 * share + 0.02 * whole[0] * whole[1]:
                        raise Failed(f"{path} on {p} ranks by {schedule}: {max(received)} bytes received, the remote shares are {share:.0f}")
                if max(tight) > 1.05 * max(free) or sum(tight) > 1.05 * sum(free):
                    raise Failed(f"{path} on {p} ranks: {max(tight)} bytes received with --window {window}, {max(free)} without")
                lines.append(f"{Path(path).stem} ranks={p}: {max(free)} bytes, --window {window}: {max(tight)}")
        return "\n    ".join(lines)

    def walk_inputs(self, matrices, dense):
        """Options that name random inputs, in files of this test; without any, ratings."""
        rng, files = np.random.default_rng(11), {}
        for name, (rows, columns, stored) in matrices.items():
            flat = np.unique(rng.integers(0, rows * columns, stored))
            files[name] = self.work / f"walk_{name}.mtx"
            files[name].write_text(f"%%MatrixMarket matrix coordinate real general\n{rows} {columns} {len(flat)}\n"
                                   + "".join(f"{at // columns + 1} {at % columns + 1} {1 + at % 3}\n" for at in flat))
        arrays = {name: rng.random(shape) for name, shape in dense.items()}
        if not files:
            flat = np.unique(rng.integers(0, 4000 * 1500, 60_000))
            arrays = {"user": flat // 1500, "movie": flat % 1500, "rating": 1.0 + flat % 5}
        for name, array in arrays.items():
            files[name] = self.work / f"walk_{name}.npy"
            np.save(files[name], array)
        return [word for name, file in files.items() for word in ("--" + name, file)]

    def least_window(self, executable, ranks, arguments):
        window = 1
        while True:
            result = launch.run([*launch.mpi_command(ranks), executable, *arguments, "--window", window], self.options.limit, cwd=self.work,
                                env={"TDSL_OVERSUBSCRIBED": "1"})
            asked = LEAST_WINDOW.search(result.err) if result.code == 2 else None
            if not asked:
                return window
            if int(asked[1]) <= window:
                raise Failed(f"window {window} is refused: {result}")
            window = int(asked[1])

    # Where bytes decide, a rank receives of a transpose the elements of its own columns, in lists of 16 bytes per element, and not the matrix.
    def test_transposes_are_sent_in_lists(self):
        constants, lines = {"TDSL_MACHINE": str(ROOT / "tests/e2e/targets/bytes.machine")}, []
        source = self.work / "transposed.tdsl"
        source.write_text("input A: f64[n, sparse m];\ninput B: f64[n, sparse k];\nlet C = A' @ B;\noutput r = sum(C * C, axis=1);\n")
        executable, (a, b) = self.session(source, []).executable, (120_000, 100_000)
        inputs = self.walk_inputs({"A": (6000, 4000, a), "B": (6000, 5000, b)}, {})
        for p in (2, 4) if self.quick else (2, 3, 4, 8):
            share = (16 * a / p + 12 * b + 8 * 6000) * (p - 1) / p
            for schedule in "search", "auto":
                received = max(self.received(executable, p, [*inputs, "--threads", 1, "--quiet", "--schedule", schedule], constants))
                if received > 1.05 * share:
                    raise Failed(f"{p} ranks by {schedule}: {received} bytes received, of the lists and B {share:.0f}")
            lines.append(f"ranks={p}: {received / share:.3f} of the lists and B")
        return "\n    ".join(lines)

    # Operators over the stored elements of a matrix are one kernel, which reads it once and takes the same operations.
    def test_stored_elements_are_read_once(self):
        inputs = {"X": "f64[n, sparse m]", "Y": "f64[n, sparse m]", "v": "f64[m]", "w": "f64[n]", "U": "f64[n, 8]", "V": "f64[m, 8]"}
        # Text, and kernels that read X if each operator is one.
        programs = {"row": ("output r = X' @ (w * (X @ v));", 2), "outer": ("output r = sum(X * log((U @ V') ** 2 + 1.0));", 2),
                    "als": ("output r = (X * (U @ V')) @ V;", 2),
                    "right": ("output r = (X * (U @ V'))' @ U;", 2),
                    "aggregates": ("output a = sum(X * X);\noutput b = sum[i, j](abs(X[i, j]) * w[i]);\noutput c = sum(X * Y);", 3)}
        sizes = ("--set", "n=20000", "--set", "m=1000", "--set", "X.stored=200000")
        for (name, (text, separate)), ranks in itertools.product(programs.items(), (1, 4)):
            path = self.work / f"stored_{name}.tdsl"
            path.write_text("".join(f"input {k}: {kind};\n" for k, kind in inputs.items() if re.search(rf"\b{k}\b", text)) + text + "\n")
            more = ("--set", "Y.stored=200000") if "Y" in text else ()
            flops = {}
            for passes, wanted in (((), 1), (("--disable-pass", "stored_nests"), separate)):
                arguments = ("-n", ranks, *sizes, *more, *passes)
                shown = launch.run([self.tdslc, "explain", path, "--stage=kernels", *arguments], self.options.limit)
                reads = [line for line in shown.out.splitlines() if re.match(r" +reads .*\bX\[", line)]
                if shown.code != 0 or len(reads) != wanted:
                    raise Failed(f"{name} on {ranks} ranks {passes}: {shown.out or shown}")
                flops[passes] = sum(r["predicted"]["flops_max"] for r in self.explain(path, *arguments)["statements"])
            once, apart = flops.values()
            if name != "aggregates" and abs(once - apart) > 0.02 * apart:
                raise Failed(f"{name} on {ranks} ranks: {once:g} operations instead of {apart:g}")
        return f"{len(programs)} programs read X once"

    # A product with the matrix of a graph with locality receives the rows at the cut, found once; a vector of any other graph comes whole.
    def test_vectors_of_graphs_are_fetched_by_lists(self):
        path, executable, steps = self.work / "graph_steps.tdsl", self.work / "graph_steps", 6
        path.write_text(f"input A: f64[n, sparse n];\ninput x: f64[n];\nvar y = x;\nfor t in 0..{steps} {{\n  y = 0.25 * (A @ y);\n}}\noutput y;\n")
        built = launch.run([self.tdslc, "build", path, "-o", executable, "--disable-pass", "serial_loops"], 3 * self.options.limit)
        if built.code != 0:
            raise Failed(f"tdslc build: {built}")
        side, lines = 300, []
        for (name, graph), ranks in itertools.product({"grid": renumbered_grid(side), "random": random_graph(side * side)}.items(), (2, 4, 8)):
            scipy.sparse.save_npz(self.work / "graph.npz", graph)
            x = np.random.default_rng(3).random(side * side)
            np.save(self.work / "x.npy", x)
            self.run(executable, ranks, ["--A", "graph.npz", "--x", "x.npy", "--y", "y.npy", "--threads", "1", "--quiet", "--stats", "lists.json"])
            for _ in range(steps):
                x = 0.25 * (graph @ x)
            if not np.allclose(np.load(self.work / "y.npy"), x, rtol=1e-12):
                raise Failed(f"{name} on {ranks} ranks: wrong result")
            statistics = json.loads((self.work / "lists.json").read_text())
            received, by_lists, lists = self.counts_of_step(statistics)
            cuts = [graph[side * side * r // ranks:side * side * (r + 1) // ranks] for r in range(ranks)]
            halo = sum(len(np.setdiff1d(rows.indices, np.arange(side * side * r // ranks, side * side * (r + 1) // ranks))) for r, rows in enumerate(cuts))
            whole = steps * (ranks - 1) * side * side * 8
            if name == "grid" and (received + lists > 3 * steps * halo * 8 or by_lists == 0):
                raise Failed(f"{ranks} ranks receive {received} bytes, {by_lists} by lists of {lists} bytes; the cut has {steps * halo * 8}")
            if name == "random" and (received != whole or lists > 0):
                raise Failed(f"random graph, {ranks} ranks: {received} bytes received, {lists} of lists; the whole has {whole}")
            rows = [row for row in self.explain(path, "-n", ranks, "--set", f"n={side * side}")["statements"] if row.get("by_lists")]
            if [row["line"] for row in rows] != [5]:
                raise Failed(f"explain names lists in {rows}")
            lines.append(f"{name}, {ranks} ranks: {received} B received, cut {steps * halo * 8}, whole {whole}, lists {lists}")
        return "\n    ".join(lines)

    @staticmethod
    def counts_of_step(statistics):
        """Bytes received, of these by lists, and of lists, on all ranks; each rank's counts are within its predictions."""
        counts = [0, 0, 0]
        for row in statistics["statements"]:
            if row["line"] != 5:
                continue
            for rank in row["per_rank"]:
                low, high = interval(rank["predicted"]["bytes_received"])
                if not low <= rank["measured"]["bytes_received"] <= high:
                    raise Failed(f"received {rank['measured']['bytes_received']} bytes, predicted {low} to {high}")
            counts = [a + row["measured"].get(b, 0) for a, b in zip(counts, ("bytes_received", "bytes_by_lists", "list_bytes"))]
        return counts

    # A band and a product of compressed matrices take memory for stored elements only: in predictions, under --memory,
    # and in blocks. There are no dense copies.
    def test_compressed_results_are_as_large_as_what_they_store(self):
        n, m = 20000, 200
        source, executable, statistics = self.work / "stored.tdsl", self.work / "stored", self.work / "stored.json"
        source.write_text("input x: f64[n];\ninput A: f64[n, sparse m];\ninput b: f64[m];\nparam w: i64 = 1;\n"
                          "let K[i, j]: f64[n, sparse n] = 1.0 + 0.0 * x[i] * x[j] where abs(i - j) <= w;\noutput y = K @ x;\n"
                          "output z = solve(A' @ A + 0.5 * eye(m), b);\n")
        build = launch.run([self.tdslc, "build", source, "-o", executable], 10 * self.options.limit)
        if build.code != 0 or "[dense-copy]" in build.err or "'A'," in build.err:
            raise Failed(f"tdslc build: {build}")
        rows = np.arange(n)
        (self.work / "stored.mtx").write_text(f"%%MatrixMarket matrix coordinate real general\n{n} {m} {n}\n" + "".join(f"{i + 1} {i % m + 1} 2\n" for i in rows))
        np.save(self.work / "x.npy", np.ones(n))
        np.save(self.work / "b.npy", np.full(m, 400.5))
        files = [w for name, file in (("x", "x.npy"), ("A", "stored.mtx"), ("b", "b.npy")) for w in (f"--{name}", self.work / file)]
        band = [s for s in self.explain(source, "-n", 2, "--memory", "6MiB", "--", *files)["statements"] if s["name"] == "K"]
        flops = band[0]["predicted"]["flops_max"] if band else -1
        if not 0 < flops < 2 * 3 * 4 * n:
            raise Failed(f"{flops} operations are predicted of a band of {3 * n - 2} elements: {band}")
        held = []
        for ranks in (1, 2):
            self.run(executable, ranks, [*files, "--y", "y.npy", "--z", "z.npy", "--memory", "6MiB", "--stats", statistics, "--quiet"])
            wanted = np.full(n, 3.0) - (rows == 0) - (rows == n - 1)
            if not (np.load(self.work / "y.npy") == wanted).all() or not (np.load(self.work / "z.npy") == 1).all():
                raise Failed(f"wrong values on {ranks} ranks")
            held.append(max(r["peak_block_bytes"] for r in json.loads(statistics.read_text())["per_rank"]))
        if max(held) >= 6 << 20:
            raise Failed(f"{held} bytes of blocks, where a dense A has {8 * n * m}")
        refused = self.explain(source, "-n", 2, "--memory", "6MiB", "--", *files, "--w", n, "--spill", "none")["memory"]
        if refused["fits"] or refused["name"] not in ("K", "y"):
            raise Failed(f"a full K fits 6 MiB: {refused}")
        return f"{held} bytes of blocks"

    # Columns of few distinct values are held as codes: a matrix with the columns of a table takes at most 0.3 of the bytes of its elements. The
    # elements of many columns, most of them 0, are kept, because a walk over them is predicted to be faster.
    def test_coded_columns_take_few_bytes(self):
        rng, n = np.random.default_rng(5), 200000
        distinct = (2, 12, 31, 7, 1400, 1200, 20, 3000, 2000, 700, 300, 300, 1400, 190, 5, 1)
        share = np.array([1.0] * 10 + [0.9] * 3 + [0.08, 0.02, 0.01])
        X = np.stack([rng.integers(1, d + 1, n) for d in distinct], axis=1) * (rng.random((n, len(distinct))) < share)
        np.save(self.work / "coded-X.npy", X.astype(np.float64))
        np.save(self.work / "coded-v.npy", rng.random(len(distinct)))
        forms = {"coded": [], "elements": ["--disable-pass", "coding"]}
        for form, switch in forms.items():
            built = launch.run([self.tdslc, "build", ROOT / "tools/bench/programs/coded/row.tdsl", "-o", self.work / f"row-{form}", *switch],
                               self.options.limit)
            if built.code != 0:
                raise Failed(f"building {form}: {built}")
        np.save(self.work / "inked-X.npy", np.where(rng.random((4000, 300)) < 0.4, rng.integers(1, 256, (4000, 300)), 0).astype(np.float64))
        np.save(self.work / "inked-v.npy", rng.random(300))

        def share_held(name, ranks):
            held = {}
            for form in forms:
                self.run(self.work / f"row-{form}", ranks, ["--X", f"{name}-X.npy", "--v", f"{name}-v.npy", "--threads", "1", "--stats", f"row-{form}.json",
                                                            "--quiet", "--r", f"row-{form}.npy"])
                held[form] = sum(s["stored"]["bytes"] for s in json.loads((self.work / f"row-{form}.json").read_text())["statements"] if "stored" in s)
            if not np.allclose(np.load(self.work / "row-coded.npy"), np.load(self.work / "row-elements.npy"), rtol=1e-9):
                raise Failed(f"{name}, ranks={ranks}: coded columns and elements give different results")
            return held["coded"] / held["elements"]
        shares = [share_held("coded", ranks) for ranks in (1, 2, 3)]
        if share_held("inked", 1) != 1:
            raise Failed("columns whose codes are visited more slowly than their elements are coded")
        if max(shares) > 0.3:
            raise Failed(f"coded columns take {shares} of the bytes of their elements on 1, 2, 3 ranks")
        return f"coded columns take {max(shares):.3f} of the bytes of their elements"
