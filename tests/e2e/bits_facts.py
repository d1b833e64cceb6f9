"""Facts about bits: random numbers and sums are the same for every plan, delay and vector width. A part of facts.py."""
import itertools
import json
import re

import numpy as np

import compare
import launch
from points import Point
from session import Failed


class BitsFacts:
    """A part of Facts in facts.py."""

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

    # Iterations that repeat have the same bits as planned and submitted ones, in loops that branch, end early or depend on data. Debug builds
    # compare all counts with predictions.
    def test_replayed_iterations_have_the_same_bits(self):
        source = self.work / "repeats.tdsl"
        source.write_text("param n: i64 = 60;\nparam steps: i64 = 30;\nlet A = random(n, n, key=1) / f64(n);\nvar x = ones(n);\nvar left = f64(steps);\n"
                          "while left > 0.5 { x = A @ x + 1.0; left = left - sum(x) / sum(x); }\n"
                          "for k in 0..steps { x[1:-1] = (x[:-2] + x[2:]) / 2.0; if k % 3 == 0 { x = x * 1.01; } }\n"
                          "for i in 0..4 { for k in 0..6 { x = A @ x + f64(k); } print(sum(x)); }\n"
                          "var turns = 0;\nfor k in 0..steps { x = A @ x; turns = turns + 1; if sum(x) < 1e-3 { break; } }\noutput y = x;\noutput t = turns;\n")
        session = self.session(source)
        counts = []
        for ranks, tile, threads in ((1, None, 1), (1, "7", 2), (1, "1", 1), (2, "7", 1)):
            results = []
            for options in ((), ("--no-replay",)):
                cut = ("--tile", tile) if tile else ()
                ran = self.run(session.executable, ranks, ["--threads", threads, *cut, "--y", "y.npy", "--t", "t.npy", "--stats", "replay.json", *options])
                results.append((ran.out, np.load(self.work / "y.npy"), np.load(self.work / "t.npy")))
                counts.append(json.loads((self.work / "replay.json").read_text())["replay"])
                replays = ranks == 1 and not options
                # With several threads it depends on measured times.
                if (threads == 1 or not replays) and (counts[-1]["replayed"] > 0) != replays:
                    raise Failed(f"ranks={ranks} tile={tile} {options}: {counts[-1]}")
            if results[0][0] != results[1][0] or not all(compare.same_bits(a, b) for a, b in zip(results[0][1:], results[1][1:])):
                raise Failed(f"other bits at ranks={ranks} tile={tile} threads={threads}: {results}")
        return f"replayed {counts[0]['replayed']} segments, {counts[0]['operations']} operations"

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
