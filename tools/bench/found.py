"""Elements where a condition holds, in loops, alternating with NumPy's; and products of complex matrices, alternating with BLIS's zgemm."""
import json
import os
import pathlib
import time

import numpy as np

from everyday import alternate, rows_of
from harness import run, seconds_in_memory
from peers import Peers

HERE = pathlib.Path(__file__).resolve().parent
OURS = "tdsl"


class Ours:
    """The loop of a program from the end of reading to its last task, planning included."""

    def __init__(self, options, scratch, program, steps, files):
        executable, self.stats, self.answer = scratch / program, scratch / f"{program}.json", scratch / f"{program}_r.npy"
        run([options.tdslc, "build", str(HERE / "programs" / f"{program}.tdsl"), "-o", str(executable)])
        self.command = [str(executable), "--threads", str(options.threads), "--quiet", "--steps", str(steps), "--stats", str(self.stats), "--r", str(self.answer)]
        self.command += [word for key, file in files.items() for word in (f"--{key}", str(file))]

    def __call__(self):
        run(self.command)
        return seconds_in_memory(json.loads(self.stats.read_text())), np.load(self.answer)


def checked(title, turn, options, tolerance):
    def check(who, answer, expected):
        if not np.allclose(answer, expected, rtol=tolerance, atol=tolerance * np.abs(expected).max()):
            raise SystemExit(f"{title}: {who} computed something else")
    return [rows_of(f"{title}, {options.threads} threads, load {os.getloadavg()[0]:.1f}", alternate(turn, options.pairs, check))]


def filter_elements(options, scratch):
    """sum(x[x > c]) of 3 * 10^7 elements, of which half are above c."""
    scratch, steps = pathlib.Path(scratch), 5
    n = max(8, round(30_000_000 * options.scale))
    x, file = np.random.default_rng(1).standard_normal(n), scratch / "x.npy"
    np.save(file, x)

    def by_numpy():
        start = time.perf_counter()
        sums = [x[x > 1e-3 * t].sum() for t in range(steps)]
        return time.perf_counter() - start, np.array(sums)
    return checked(f"filter of {n} elements, {steps} times", {OURS: Ours(options, scratch, "filter", steps, {"x": file}), "NumPy": by_numpy}, options, 1e-10)


def complex_product(options, scratch):
    """Products of complex matrices of 2000 x 2000, each with the last one's result."""
    scratch, steps = pathlib.Path(scratch), 5
    n = max(8, round(2000 * options.scale))
    rng, files = np.random.default_rng(1), {name: scratch / f"{name}.npy" for name in "AB"}
    for file in files.values():
        np.save(file, (rng.standard_normal((n, n)) + 1j * rng.standard_normal((n, n))) / np.sqrt(2 * n))
    peers = Peers(options.peers, scratch, options.mpiexec)
    library = peers.library("blis-openmp/libblis.a", "libblis-openmp-dev")
    program, answer = peers.compile("zgemm_blis", "zgemm.cpp", [library, "-fopenmp", "-lm"]), scratch / "r.bin"
    command = [program, str(n), str(steps), *map(str, files.values()), str(answer)]

    def by_blis():
        out, _, _ = run(command, peers.environment(options.threads))
        return json.loads(out.strip().splitlines()[-1])["seconds"], np.fromfile(answer, np.complex128).reshape(n, n)
    return checked(f"complex product of {n} x {n}, {steps} times", {OURS: Ours(options, scratch, "complex_product", steps, files), "BLIS": by_blis}, options, 1e-10)
