#!/usr/bin/python3
"""Structural facts: `explain` for equivalent programs, counted and predicted bytes, random numbers independent of the plan, equal bits
under random delays, costs of building and starting. PASS facts/NAME or FAIL facts/NAME."""
import argparse
import itertools
import json
import math
import os
import re
import subprocess
import sys
import tempfile
import time
import zlib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

sys.dont_write_bytecode = True

import numpy as np
import scipy.sparse

import compare
import launch
import turns
from boundary_facts import BoundaryFacts
from everyday_facts import EverydayFacts
from points import Point
from prefix import prefix_of
from program import Program
from relation_facts import RelationFacts
from session import LEAST_WINDOW, Failed, Session, interval

ROOT = Path(__file__).resolve().parents[2]
MATMULS = ("matmul", "matmul_index", "matmul_loops")
SHAPES = {"cube": (60, 60, 60), "long inner": (12, 400, 10), "tall": (300, 12, 10), "wide": (9, 11, 300),
          "outer": (80, 3, 70), "primes": (37, 41, 43)}
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
# Slow tests that take turns in CI, half of them per commit.
IN_TURNS = ("test_forms_stay_sparse", "test_walks_receive_operands_once", "test_reads_of_few_elements_take_few_operations", "test_patterns_turn_in_loops", "test_tile_major_products_are_plain_products")
# Instrumented compilers and executables are slow: only checks that run ranks.
WITH_SANITIZERS = ("test_received_bytes_are_as_predicted", "test_same_bits_under_delays")


def measured(command):
    """A command's exit code, peak resident MiB and CPU seconds."""
    # A child's peak includes its parent's memory at the fork, and other tests run children too: hence a small
    # intermediate process.
    measure = ("import resource, subprocess, sys; code = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL).returncode; "
               "used = resource.getrusage(resource.RUSAGE_CHILDREN); print(code, used.ru_maxrss / 1024, used.ru_utime + used.ru_stime)")
    result = subprocess.run([sys.executable, "-c", measure, *map(str, command)], capture_output=True, text=True, check=True)
    return tuple(map(float, result.stdout.split()))


class Facts(RelationFacts, BoundaryFacts, EverydayFacts):
    """The tests of this file, of relation_facts.py, boundary_facts.py and everyday_facts.py; each method `test_NAME` raises Failed or returns text to show."""

    def __init__(self, options, work):
        self.options, self.work, self.tdslc = options, Path(work), options.tdslc
        self.long = options.mode == "long"
        self.quick = not self.long
        self.sessions = {}

    def explain(self, program, *arguments):
        path = program if isinstance(program, Path) else ROOT / "samples" / f"{program}.tdsl"
        result = launch.run([self.tdslc, "explain", path, "--json", *arguments], self.options.limit)
        if result.code != 0:
            raise Failed(f"tdslc explain {program} {arguments}: {result}")
        return json.loads(result.out)

    # Loops over such small tensors would be one task; the counts are about statements of large ones.
    def session(self, path, build_options=("--disable-pass", "serial_loops")):
        if path not in self.sessions:
            program = Program(ROOT / path)
            self.sessions[path] = Session(program, self.tdslc, self.work / program.name, self.options.limit, build_options)
            self.sessions[path].build()
        return self.sessions[path]

    def run(self, executable, ranks, arguments, environment=None):
        result = launch.run([*launch.mpi_command(ranks), executable, *arguments], self.options.limit, cwd=self.work,
                            env={"TDSL_OVERSUBSCRIBED": "1", **(environment or {})})
        if result.code != 0 or result.timed_out:
            raise Failed(f"ranks={ranks} {arguments}: {result}")
        return result

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

    # The file of a matrix bounds the elements of its fullest row, hence those of selected rows.
    def test_selected_rows_are_bounded_by_the_fullest(self):
        n, each = 5000, 10
        matrix, file = 12 * n * each + 8 * n, self.work / "selected_A.mtx"
        file.write_text(f"%%MatrixMarket matrix coordinate real general\n{n} {n} {n * each}\n"
                        + "".join(f"{i + 1} {(7 * i + 11 * k) % n + 1} 1.5\n" for i in range(n) for k in range(each)))
        np.save(self.work / "selected_p.npy", np.arange(n) % 17)
        inputs, path = ("--", "--A", file, "--p", self.work / "selected_p.npy"), self.work / "selected_rows.tdsl"
        for form in ("A[p[i], j]", "A[p[j], i]"):
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

    def received(self, executable, ranks, arguments, environment=None):
        """Received bytes of every rank."""
        self.run(executable, ranks, [*arguments, "--stats", "walk.json"], environment)
        return [r["bytes_received"] for r in json.loads((self.work / "walk.json").read_text())["per_rank"]]

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
            if shown.code != 0:
                return f"tdslc explain {program.name}: {shown}"
            if int(json.loads(shown.out)["plan_hash"], 16) != int(statistics["plan_hash"]):
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
            rows = explained(200, "--threads", threads, ranks=1)
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

    # Emitted programs are readable: routines are called, not copied, an operation is one statement, a simple kernel one
    # expression.
    def test_emitted_programs_are_short(self):
        for program, limit in (("kmeans", 239), ("game_of_life", 124), ("logistic_regression", 155), ("two_layer_network", 236), ("sparse_cp", 244),
                               ("cp_decomposition", 109), ("matmul", 31), ("tall_qr", 91)):
            result = launch.run([self.tdslc, "emit", ROOT / f"samples/{program}.tdsl"], self.options.limit)
            lines = result.out.count("\n")
            if result.code != 0 or lines >= limit:
                raise Failed(f"{program}: {lines} lines, where fewer than {limit} are wanted" if result.code == 0 else str(result))

    # Functions of the library that a program does not call leave no trace but the names of their files.
    def test_unused_functions_cost_nothing(self):
        text = (ROOT / "samples" / "two_layer_network.tdsl").read_text()
        path = self.work / "two_layer_network.tdsl"
        emitted = []
        for imports in ("", "".join(f"import std.{name};\n" for name in ("calculus", "linalg", "nn", "ode", "optimise", "random", "signal", "solvers", "stats"))):
            path.write_text(text + imports)
            result = launch.run([self.tdslc, "emit", path], self.options.limit)
            emitted.append(re.sub(r"(?m)^ *info\.file\(.*\n", "", result.out))
            if result.code != 0 or len(emitted[-1]) < 1000:
                raise Failed(f"emit: {result}")
        if emitted[0] != emitted[1]:
            raise Failed("imported functions change the emitted program")

    # Recorded regions of samples: loops by two iterations, both directions of data-dependent branches. The other files
    # of a sample derive from its first line.
    def test_regions_of_samples(self):
        for path in sorted((ROOT / "tests/e2e/regions").glob("*.txt")):
            command, _, wanted = path.read_text().partition("\n")
            result = launch.run([self.tdslc, *command.split()[2:]], self.options.limit, cwd=ROOT)
            if result.code != 0 or result.out != wanted:
                lines = itertools.zip_longest(result.out.splitlines(), wanted.splitlines())
                raise Failed(f"{path.stem}: {result if result.code else next(f'{a} where {b} was' for a, b in lines if a != b)}")

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
        for more, message in ((["--tile", 16], "--schedule=pattern: the task workflow has more than 1000000 tasks; a larger --tile gives fewer\n"),
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

    # A random tensor is bit-identical for every tile size and number of ranks.
    def test_random_is_the_same_everywhere(self):
        session = self.session("tests/e2e/cases/random_tensors.tdsl")
        case = session.prepare(session.program.variants[0])
        ranks = (1, 3) if self.quick else (1, 2, 3, 5, 7)
        for number, (p, tile) in enumerate(itertools.product(ranks, (None, "1", "7", "1000"))):
            got = case.run(Point(p, tile, 1, "none", False), 0, f"r{number}")
            for name in ("U", "N", "T"):
                if not compare.same_bits(got[name], case.reference[name]):
                    raise Failed(f"{name} differs at ranks={p} tile={tile}")

    # Numbers of a key are bit-identical for every seed, too, and so is all that depends on them without rounding.
    def test_keys_name_numbers(self):
        session = self.session("tests/e2e/cases/keys.tdsl")
        case = session.prepare(session.program.variants[0])
        for number, (p, tile) in enumerate(((1, "7"), (2, None), (3, "1"))):
            case.arguments = ["--k", "3", "--seed", str(100 + number)]
            got = case.run(Point(p, tile, 1, "none", False), 0, f"k{number}")
            for name in ("U", "N", "R", "p", "q", "row", "turns", "at", "picked", "runs", "branch", "gradient"):
                if not compare.same_bits(got[name], case.reference[name]):
                    raise Failed(f"{name} differs at ranks={p} tile={tile} {case.arguments}")

    # Each rank computes its own elements of keyed draws: only partial results of the sum are sent.
    def test_keyed_draws_send_nothing(self):
        source = self.work / "draws.tdsl"
        source.write_text("param n: i64 = 300000;\nlet p = permutation(n, key=1);\nlet r = randint(0, n, n, key=2);\n"
                          "output s = sum[i](f64(p[i] + r[i]) * random(n, key=3)[i] * randn(n, key=4)[i]);\n")
        session = self.session(source, [])
        received = self.received(session.executable, 3, [])
        if sum(received) > 1000:
            raise Failed(f"{received} bytes received")

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

    # Same executable, ranks and threads: same bits, regardless of timing.
    def test_same_bits_under_delays(self):
        for path, point in (("samples/two_layer_network.tdsl", Point(3, "7", 2, "none", True)),
                            ("samples/power_iteration.tdsl", Point(4, None, 1, "least", True))):
            session = self.session(path)
            case = session.prepare(session.program.variants[0])
            first = case.run(point, 1, "d1")
            for seed in range(2, 4 if self.quick else 11):
                for name, value in case.run(point, seed, f"d{seed}").items():
                    if not compare.same_bits(value, first[name]):
                        raise Failed(f"{path}: {name} has other bits with delays {seed}")

    # Kernels call vectorised library functions in versions for several processors, all with the same bits.
    def test_same_bits_with_all_vectors(self):
        session = self.session("tests/e2e/cases/vector_functions.tdsl")
        case = session.prepare(session.program.variants[0])
        results, used = {}, []
        for level in ("avx512", "avx2", "baseline"):
            files = [w for o in session.program.outputs for w in ("--" + o, f"{o}-{level}.npy")]
            inputs = [case.folder / a if a.endswith(".npy") else a for a in case.arguments]
            self.run(session.executable, 1, [*inputs, *files, "--quiet", "--stats", "vectors.json"], {"TDSL_SIMD": level})
            statistics = json.loads((self.work / "vectors.json").read_text())
            used.append(statistics["vectors"])
            results[level] = [np.load(self.work / f"{o}-{level}.npy") for o in session.program.outputs]
        for level, values in results.items():
            for name, one, other in zip(session.program.outputs, values, results["baseline"]):
                if not compare.same_bits(one, other):
                    raise Failed(f"{name} has other bits with {level}")
        if used[2] != "baseline" or used[1] not in ("avx2", "baseline"):
            raise Failed(f"TDSL_SIMD is not kept: {used}")
        if statistics["functions"] != "SLEEF":
            return f"functions of {statistics['functions']}, vectors {used[0]}"
        code = launch.run(["objdump", "-d", "--no-show-raw-insn", session.executable], self.options.limit).out
        called = {form for form in ("bN2", "dN4", "eN8") if re.search(rf"call .*<_ZGV{form}v_tdsl_exp>", code)}
        if not called >= {"dN4", "eN8"}:
            raise Failed(f"vector forms of exp that are called: {sorted(called)}")
        return f"vectors {used[0]}"

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
        names, lines = ("lcs", "same", "best", "paths"), []
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
            if tasks != [4, 4]:
                raise Failed(f"ranks={ranks}: the four loops took {tasks} tasks at n = 100 and 10")
            for name in names:
                one, other = (np.load(self.work / f"{name}-{form}.npy") for form in ("task", "statements"))
                if not compare.same_bits(one, other):
                    raise Failed(f"ranks={ranks}: {name} has other bits as one task than statement by statement")
            by_statement = sum(r["measured"]["tasks"] for r in json.loads((self.work / "statements.json").read_text())["statements"])
            lines.append(f"ranks={ranks}: 4 tasks for all loops; statement by statement {by_statement} tasks at n = 10")
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

    # A huge product is planned, and one rank's part listed, almost instantly.
    def test_explain_is_small(self):
        sizes = ["--set", "n=1000000", "--set", "m=1000000", "--set", "k=1000000"]
        command = [self.tdslc, "explain", ROOT / "samples/matmul.tdsl", "--json", "-n", "4096", "--rank", "17", "--tile", "1000", *sizes]
        code, memory, seconds = measured(command)
        if code != 0 or memory > 300:
            raise Failed(f"exit code {code:.0f}, {memory:.0f} MiB of memory")
        return f"explain of 10^9 block products: {seconds:.2f} s of CPU, {memory:.0f} MiB"

    # Work and bytes of a large product are balanced for every number of ranks. Flops of one training step of a
    # three-layer network relative to those of its loss alone.
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

    # Costs of building and starting depend on the machine, so they are only shown.
    def test_build_and_start(self):
        source = ROOT / "samples" / "matmul.tdsl"
        times = []
        for more in (["--no-cache"], [], []):
            code, _, used = measured([self.tdslc, "build", source, "-o", self.work / "timed", *more])
            if code != 0:
                raise Failed(f"exit code {code:.0f}")
            times.append(used)
        np.save(self.work / "tiny.npy", np.ones((2, 2)))
        starts = []
        for _ in range(10):
            begun = time.perf_counter()
            self.run(self.work / "timed", 1, ["--A", "tiny.npy", "--B", "tiny.npy", "--C", "tinyC.npy"])
            starts.append(time.perf_counter() - begun)
        return (f"build: {times[0]:.2f} s of CPU, from the cache {times[2]:.2f} s; a whole tiny run without a launcher: "
                f"{1000 * min(starts):.1f} ms")

    # Parsing the runtime's headers dominates the build of a small program: g++ uses precompiled ones ("! PATH" of -H).
    def test_headers_are_precompiled(self):
        prefix = str(prefix_of(self.tdslc))
        text = Path(prefix, "lib/tdsl/toolchain.conf").read_text().replace("${PREFIX}", prefix)
        keys = dict(re.findall(r"(?m)^(\w+) = (.*)$", text))
        if not keys["precompiled"]:
            return "not with this compiler"
        folders = [f"-I{folder}" for folder in Path(prefix, "lib/tdsl/precompiled").iterdir()]
        source = self.work / "precompiled.cpp"
        emitted = launch.run([self.tdslc, "emit", ROOT / "samples" / "kmeans.tdsl", "-o", source], self.options.limit)
        flags = [*keys["compile_flags"].split(), *folders, *keys["include_flags"].split()]
        parsed = launch.run([keys["compiler"], *flags, "-Winvalid-pch", "-H", "-fsyntax-only", source], self.options.limit)
        if emitted.code != 0 or parsed.code != 0 or "! " + prefix not in parsed.err or "elements.h" in parsed.err:
            raise Failed(f"the headers are parsed: {emitted}, {parsed}")

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


def renumbered_grid(side):
    """A square grid's adjacency, with nodes along a Z-order curve."""
    at = np.arange(side * side)
    codes = sum(((at // side >> bit & 1) << 2 * bit + 1) | ((at % side >> bit & 1) << 2 * bit) for bit in range(side.bit_length()))
    number = np.empty_like(at)
    number[np.argsort(codes)] = at
    grid = number.reshape(side, side)
    a, b = np.concatenate([grid[1:].ravel(), grid[:, 1:].ravel()]), np.concatenate([grid[:-1].ravel(), grid[:, :-1].ravel()])
    return scipy.sparse.csr_matrix((np.ones(2 * len(a)), (np.concatenate([a, b]), np.concatenate([b, a]))), shape=(side * side, side * side))


def random_graph(nodes):
    """Eight neighbours a node, anywhere: every part of the graph meets most of the vector."""
    random = np.random.default_rng(4)
    rows = np.repeat(np.arange(nodes), 8)
    return scipy.sparse.csr_matrix((np.full(8 * nodes, 0.5), (rows, random.integers(nodes, size=8 * nodes))), shape=(nodes, nodes))


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


def run_tests(options, work, waiting, seconds):
    """Runs tests until none is left; returns the number of failures."""
    facts, failed = Facts(options, work), 0
    while True:
        try:
            method = waiting.pop(0)
        except IndexError:
            return failed
        name, begin = "facts/" + method[5:], time.monotonic()
        try:
            text = getattr(facts, method)()
            print(f"    {text}\nPASS {name}" if text else f"PASS {name}", flush=True)
        except Failed as failure:
            failed += 1
            print(f"    {failure}\nFAIL {name}", flush=True)
        seconds[method[5:]] = time.monotonic() - begin


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mode", choices=("quick", "ci", "long", "sanitizer"), default="quick")
    parser.add_argument("--tdslc", default=os.environ.get("TDSLC", "tdslc"))
    parser.add_argument("--filter", default="")
    parser.add_argument("--limit", type=float, default=120)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--list", action="store_true", help="only names")
    options = parser.parse_args()
    every = [m for part in Facts.__mro__ for m in vars(part) if m.startswith("test_") and options.filter in "facts/" + m[5:] and (options.mode != "sanitizer" or m in WITH_SANITIZERS)]
    left_out = set(IN_TURNS) - set(turns.part(IN_TURNS, 2))
    waiting = [m for m in every if m not in left_out]
    if options.list:
        print("\n".join("facts/" + m[5:] for m in waiting))
        return 0
    seconds = {}
    with tempfile.TemporaryDirectory(prefix="tdsl-facts-") as work, ThreadPoolExecutor(options.jobs) as pool:
        folders = [Path(work) / str(job) for job in range(options.jobs)]
        for folder in folders:
            folder.mkdir()
        failed = sum(pool.map(lambda folder: run_tests(options, folder, waiting, seconds), folders))
    longest = sorted(seconds, key=seconds.get, reverse=True)[:8]
    print("longest: " + ", ".join(f"{name} {seconds[name]:.0f} s" for name in longest))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
