"""Facts about stencils with boundaries: the rim alone is received, and kernels of the interior are those of a stencil without one."""
import json
import re

import numpy as np

import launch
from session import Case, Failed

FIVE_POINTS = """param steps: i64 = 10;
input U0: f64[n, m];
var U = U0;
for t in 0..steps {{
  U[i, j] = U[i, j] + 0.1 * (pad(U, {0})[i - 1, j] + pad(U, {0})[i + 1, j] + pad(U, {0})[i, j - 1] + pad(U, {0})[i, j + 1] - 4.0 * U[i, j]);
}}
output U;
"""
OUTSIDE = ("0.0", "periodic", "edge", "reflect", "symmetric", "periodic, edge")

HEAT = """param steps: i64 = 11;
input U0: f64[n, m];
input C: f64[n, m];
var U = U0;
for t in 0..steps {
  U[i, j] += C[i, j] * (U[i - 1, j] + U[i + 1, j] + U[i, j - 1] + U[i, j + 1] - 4.0 * U[i, j]) for i in 1..n-1, j in 1..m-1;
}
output U;
"""


class BoundaryFacts:
    """A part of Facts in facts.py."""

    # Per step a rank receives the sides of its block, for every boundary.
    def test_boundaries_exchange_rims(self):
        n, steps, found = 800, 9, {}
        for outside in OUTSIDE:
            path = self.work / "five_points.tdsl"
            path.write_text(FIVE_POINTS.format(outside))
            rows = self.explain(path, "-n", 4, *(w for d, e in (("n", n), ("m", n), ("steps", steps)) for w in ("--set", f"{d}={e}")))["statements"]
            step, = [row for row in rows if row["line"] == 5]
            found[outside] = step["predicted"]["bytes_received_max"] / step["times"]
            if step["times"] != steps or found[outside] > 2 * n * 8:
                raise Failed(f"pad(U, {outside}): a rank receives {found[outside]} bytes per step, the rim has {2 * n * 8}: {step}")
        return str(found)

    # A run's counters: with each step a rank receives its rim, from the other side of the torus like from a neighbor.
    def test_periodic_stencils_receive_their_rim(self):
        n, path, received = 200, self.work / "torus.tdsl", {}
        path.write_text(FIVE_POINTS.format("periodic"))
        executable = self.session(str(path)).executable
        np.save(self.work / "torus.npy", np.random.default_rng(3).random((n, n)))
        for steps in (3, 8):
            received[steps] = self.received(executable, 4, ["--U0", "torus.npy", "--steps", steps, "--threads", 1, "--quiet"])
        per_step = [(late - early) / 5 for early, late in zip(received[3], received[8])]
        if per_step != [2 * n * 8] * 4:
            raise Failed(f"the ranks receive {per_step} bytes per step, the rim has {2 * n * 8}")
        return f"{per_step} bytes per step"

    # Ghost elements of a torus are copied: a rank receives rims, not the dimension.
    def test_ghost_elements_are_copied(self):
        n, path = 800, self.work / "ghosts.tdsl"
        path.write_text("input A: f64[n, m];\noutput P[i, j] = pad(A, periodic)[i - 2, j - 2] for i in 0..n + 4, j in 0..m + 4;\n")
        rows = self.explain(path, "-n", 4, "--set", f"n={n}", "--set", f"m={n}")["statements"]
        received = max(row["predicted"]["bytes_received_max"] for row in rows if row["kind"] == "map")
        if received > 20 * n * 8:
            raise Failed(f"a rank receives {received} bytes")
        return f"{received} bytes"

    # Vectors of the interior have affine subscripts: places at the ends are computed in the few others only.
    def test_boundaries_leave_the_interior_alone(self):
        for outside in OUTSIDE[1:]:
            path, emitted = self.work / "five_points.tdsl", self.work / "five_points.cpp"
            path.write_text(FIVE_POINTS.format(outside))
            result = launch.run([self.tdslc, "emit", path, "-o", emitted, "--disable-pass", "serial_loops"], self.options.limit)
            text = emitted.read_text() if result.code == 0 else ""
            kernel = re.search(r"^TDSL_VERSIONS void U_5\(.*?^}", text, re.M | re.S)
            if not kernel or "each_inner_simd" not in kernel[0]:
                raise Failed(f"pad(U, {outside}): {result} {text}")
            places = re.findall(r"interior \|\| [^?]*\? U\w*\([^:]*\) : ", kernel[0])
            if len(places) != 4 or kernel[0].count("interior ||") != 4:
                raise Failed(f"pad(U, {outside}): {kernel[0]}")

    # The derivative of a stencil is a stencil, for every word: one operation, which receives the sides of its block.
    def test_derivatives_of_boundaries_are_stencils(self):
        n, kinds = 800, {}
        for word in OUTSIDE[1:5]:
            path = self.work / "five_points_derivative.tdsl"
            path.write_text(f"input U: f64[n, n];\nlet L[i, j] = pad(U, {word})[i - 1, j] + pad(U, {word})[i + 1, j] + pad(U, {word})[i, j - 1] + pad(U, {word})[i, j + 1];\n"
                            "output g = grad(sum(L * L), U);\n")
            rows = self.explain(path, "-n", 4, "--set", f"n={n}")["statements"]
            kinds[word] = [row["kind"] for row in rows]
            received = max(row["predicted"]["bytes_received_max"] for row in rows if row["kind"] == "map")
            if kinds[word] != kinds["periodic"] or received > 2 * n * 8:
                raise Failed(f"pad(U, {word}): {kinds[word]}, {received} bytes; periodic: {kinds['periodic']}")
        return str(kinds["periodic"])

    # A block of steps is one operation with one exchange of all their margins; its values are those of the steps, bit for bit.
    def test_time_tiles_exchange_once_per_block(self):
        n, steps, path = 90, 11, self.work / "time_tiles.tdsl"
        path.write_text(HEAT)
        executable, found, expected = self.session(str(path)).executable, {}, None
        random = np.random.default_rng(5)
        for name in ("U0", "C"):
            np.save(self.work / f"{name}-tiles.npy", random.random((n, n)) / 5)
        for ranks, height in ((1, 1), (1, 2), (1, 4), (1, 8), (2, 1), (2, 4), (3, 1), (3, 2), (3, 8)):
            self.run(executable, ranks, ["--U0", "U0-tiles.npy", "--C", "C-tiles.npy", "--U", "U-tiles.npy", "--steps", steps, "--time-tile", height, "--threads", 1, "--quiet",
                                         "--stats", "tiles.json"])
            statistics = json.loads((self.work / "tiles.json").read_text())
            Case.check_statistics(statistics)
            row, = [s["measured"] for s in statistics["statements"] if s["line"] == 6]
            found[ranks, height] = row["messages"], row["bytes_received"], row["flops"]
            values = (self.work / "U-tiles.npy").read_bytes()
            expected = expected or values
            blocks = -(-steps // height)
            # Margins of U, and those of C for all steps of a block but one.
            most = 2 * found[ranks, 1][0] * blocks / steps, 2 * (ranks - 1) * n * 8 * (2 * height - 1) * blocks
            if values != expected or found[ranks, height][0] > most[0] or found[ranks, height][1] > most[1] or found[ranks, height][2] != found[1, 1][2]:
                raise Failed(f"{ranks} ranks, time tiles of {height} steps: {'same' if values == expected else 'other'} bits; messages, bytes and flops {found}, wanted {most}")
        explained = launch.run([self.tdslc, "explain", path, "-n", 3, "--disable-pass", "serial_loops", "--set", f"n={n}", "--", "--time-tile", "4"], self.options.limit)
        if "time tiles of 4 steps" not in explained.out + explained.err:
            raise Failed(f"explain: {explained}")
        return str(found)
