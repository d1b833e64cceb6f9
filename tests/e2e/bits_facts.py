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
