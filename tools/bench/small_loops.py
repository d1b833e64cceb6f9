"""Loops over tensors of a few elements: TDSL on one and two ranks, and NumPy."""
import json
import os
import pathlib
import statistics
import subprocess

import numpy as np

from harness import run

HERE = pathlib.Path(__file__).resolve().parent
STEPS = 5000


def inputs(folder):
    """Writes each program's input files; returns their names."""
    rng = np.random.default_rng(1)
    n, m, states = 4, 2, 8
    arrays = {"F": 0.2 * rng.standard_normal((n, n)), "H": rng.standard_normal((m, n)), "Y": rng.standard_normal((STEPS, m)),
              "A": rng.standard_normal((states, states)), "E": rng.standard_normal((STEPS, states)), "Z": rng.standard_normal((STEPS, 2))}
    for name, array in arrays.items():
        np.save(folder / f"{name}.npy", array)
    return {"kalman": ("F", "H", "Y"), "kalman_solve": ("Z",), "runge_kutta": (), "viterbi": ("A", "E")}


def ours(command, scratch):
    """Seconds of one run, including planning, and its answer."""
    stats, answer = str(scratch / "stats.json"), str(scratch / "c.npy")
    run([*command, "--threads", "1", "--quiet", "--stats", stats, "--c", answer])
    phases = json.loads(pathlib.Path(stats).read_text())["phases"]
    return phases["plan"] + phases["compute"], float(np.load(answer))


def small_loops(options, scratch):
    results = []
    for name, files in inputs(scratch).items():
        program = str(scratch / name)
        subprocess.run([options.tdslc, "build", str(HERE / "programs" / f"{name}.tdsl"), "-o", program], check=True)
        given = [word for f in files for word in (f"--{f}", str(scratch / f"{f}.npy"))] or ["--steps", str(STEPS)]
        samples = {"tdsl, one rank": [], "tdsl, two ranks": [], "NumPy": []}
        for _ in range(options.pairs):
            one, a = ours([program, *given], scratch)
            two, b = ours([options.mpiexec, "-n", "2", program, *given], scratch)
            told = json.loads(run(["/usr/bin/python3", str(HERE / "peers" / "small_loops_numpy.py"), name, str(scratch), str(STEPS)])[0])
            for other in (a, b):
                if not abs(other - told["answer"]) <= 1e-6 * max(1.0, abs(told["answer"])):
                    raise SystemExit(f"{name} computed {other} instead of {told['answer']}")
            for row, seconds in zip(samples.values(), (one, two, told["seconds"])):
                row.append(seconds)
        print(f"% {name}, {STEPS} steps, load {os.getloadavg()[0]:.1f}: milliseconds, median and least of {options.pairs}, NumPy's to ours")
        rows = []
        for who, seconds in samples.items():
            ratio = statistics.median(peer / own for peer, own in zip(samples["NumPy"], seconds))
            rows.append({"name": who, "ratio": ratio})
            print(f"{who:20} {1e3 * statistics.median(seconds):9.2f} {1e3 * min(seconds):9.2f} {ratio:9.1f}")
        results.append({"title": f"small loops: {name}", "samples": samples, "rows": rows})
    return results
