"""Routines of batches of small matrices: TDSL on one rank, and NumPy, which calls LAPACK per matrix."""
import json
import os
import pathlib
import statistics
import subprocess

import numpy as np

from harness import run

HERE = pathlib.Path(__file__).resolve().parent
CASES = {"solve": 100000, "inv": 100000, "det": 100000, "cholesky": 100000, "eigh": 10000, "svd": 10000}
EXTENT, STEPS = 8, 10
PROGRAM = """input A: f64[m, n, n];
input b: f64[m, n];
param steps: i64;
var x = b;
for t in 0..steps {{
{body}
}}
output c = sum(x);
"""
BODIES = {"solve": "  x = solve(A, x);",
          "inv": "  let Y = inv(A + 1e-3 * f64(t) * eye(n));\n  x = x + Y[:, 0, :];",
          "det": "  let d = det(A + 1e-3 * f64(t) * eye(n));\n  x = x + d[:, newaxis];",
          "cholesky": "  let L = cholesky(A + 1e-3 * f64(t) * eye(n));\n  x = x + L[:, 0, :];",
          "eigh": "  let (w, V) = eigh(A + 1e-3 * f64(t) * eye(n));\n  x = x + w;",
          "svd": "  let (U, s, Vt) = svd(A + 1e-3 * f64(t) * eye(n));\n  x = x + s;"}


def ours(command, scratch):
    """Seconds of one run, including planning, and its answer."""
    stats, answer = str(scratch / "stats.json"), str(scratch / "c.npy")
    run([*command, "--quiet", "--stats", stats, "--c", answer])
    phases = json.loads(pathlib.Path(stats).read_text())["phases"]
    return phases["plan"] + phases["compute"], float(np.load(answer))


def batched(options, scratch):
    results = []
    rng = np.random.default_rng(1)
    for name, count in CASES.items():
        square = 0.2 * rng.standard_normal((count, EXTENT, EXTENT))
        np.save(scratch / "A.npy", square @ np.swapaxes(square, 1, 2) + 2 * np.eye(EXTENT))
        np.save(scratch / "b.npy", rng.standard_normal((count, EXTENT)))
        source, program = scratch / f"{name}.tdsl", str(scratch / name)
        source.write_text(PROGRAM.format(body=BODIES[name]))
        subprocess.run([options.tdslc, "build", str(source), "-o", program], check=True)
        given = [program, "--A", str(scratch / "A.npy"), "--b", str(scratch / "b.npy"), "--steps", str(STEPS), "--threads"]
        samples = {"tdsl": [], "tdsl, one thread": [], "NumPy": []}
        for _ in range(options.pairs):
            all_threads, a = ours([*given, str(options.threads)], scratch)
            one, b = ours([*given, "1"], scratch)
            told = json.loads(run(["/usr/bin/python3", str(HERE / "peers" / "batched_numpy.py"), name, str(scratch), str(STEPS)])[0])
            for other in (a, b):
                if not abs(other - told["answer"]) <= 1e-6 * max(1.0, abs(told["answer"])):
                    raise SystemExit(f"{name} computed {other} instead of {told['answer']}")
            for row, seconds in zip(samples.values(), (all_threads, one, told["seconds"])):
                row.append(seconds)
        print(f"% {name} of {count} matrices of {EXTENT} x {EXTENT}, {STEPS} times, load {os.getloadavg()[0]:.1f}:"
              f" milliseconds, median and least of {options.pairs}, NumPy's to ours")
        rows = []
        for who, seconds in samples.items():
            ratio = statistics.median(peer / own for peer, own in zip(samples["NumPy"], seconds))
            rows.append({"name": who, "ratio": ratio})
            print(f"{who:20} {1e3 * statistics.median(seconds):9.2f} {1e3 * min(seconds):9.2f} {ratio:9.1f}")
        results.append({"title": f"batches: {name}, {count} of {EXTENT} x {EXTENT}", "samples": samples, "rows": rows})
    return results
