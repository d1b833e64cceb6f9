"""ALS-CG with a sparse W, the case in which the paper on fused operators gains three orders of magnitude: `samples/sparse_als.tdsl` and the program with a
dense X and W (`als_factorisation.tdsl`) run alternately on the same ratings, which both read from files of entries; their factors are compared."""
import json
import os
import pathlib
import statistics
import subprocess

import numpy as np
from experiments import SAMPLES
from harness import run, seconds_in_memory
from sparse_papers import matrix

ROWS, COLUMNS, RANK, SHARE = 20_000, 15_000, 20, 0.01
PROGRAMS = {"sparse W": "sparse_als", "dense W": "als_factorisation"}
STEPS, INNER = 1, 10


class Form:
    """A program, timed from the end of reading to its last task."""

    def __init__(self, options, scratch, files, sample):
        program, self.scratch, self.sample = str(scratch / sample), scratch, sample
        subprocess.run([options.tdslc, "build", str(SAMPLES / f"{sample}.tdsl"), "-o", program], check=True, capture_output=True, text=True)
        self.command = [program, "--threads", str(options.threads), "--quiet", "--max_steps", str(STEPS), "--inner", str(INNER)]
        self.command += [word for name, file in files.items() for word in (f"--{name}", str(file))]

    def __call__(self):
        stats, files = self.scratch / "stats.json", {o: self.scratch / f"{self.sample}-{o}.npy" for o in "UV"}
        run([*self.command, "--stats", str(stats), *(word for o, f in files.items() for word in (f"--{o}", str(f)))])
        told = json.loads(stats.read_text())
        return seconds_in_memory(told), [np.load(f) for f in files.values()], told["per_rank"][0]["peak_block_bytes"]


def sparse_als(options, scratch):
    import scipy.sparse as sp
    scratch = pathlib.Path(scratch)
    n, m = (max(60, round(extent * options.scale ** 0.5)) for extent in (ROWS, COLUMNS))
    rng = np.random.default_rng(7)
    ratings = matrix(rng, (n, m), SHARE, False)
    known = ratings.copy()
    known.data[:] = 1.0
    files = {name: scratch / f"{name}.npz" for name in "XW"}
    for name, values in (("X", ratings), ("W", known)):
        sp.save_npz(files[name], values, compressed=False)
    for name, extent in (("U0", n), ("V0", m)):
        files[name] = scratch / f"{name}.npy"
        np.save(files[name], rng.random((extent, RANK)))
    forms = {name: Form(options, scratch, files, sample) for name, sample in PROGRAMS.items()}
    samples, held, names = {name: [] for name in forms}, {}, list(forms)
    for turn in range(options.pairs):
        answers = {}
        for name in names[turn % 2:] + names[:turn % 2]:
            seconds, answers[name], held[name] = forms[name]()
            samples[name].append(seconds)
        for ours, other in zip(*answers.values(), strict=True):
            if not np.allclose(ours, other, rtol=1e-6, atol=1e-9):
                raise SystemExit("ALS-CG: the factors of sparse and dense W differ")
    title = (f"ALS-CG, {n} x {m}, rank {RANK}, {ratings.nnz} known entries, {STEPS} step of {INNER} inner ones, one rank, {options.threads} threads, "
             f"load {os.getloadavg()[0]:.1f}")
    print(f"% {title}: seconds, median of {options.pairs}; over those with a sparse W; MB held")
    rows = []
    for name, seconds in samples.items():
        ratio = statistics.median(other / own for other, own in zip(seconds, samples["sparse W"], strict=True))
        rows.append({"name": name, "seconds": statistics.median(seconds), "ratio": ratio, "peak_block_bytes": held[name]})
        print(f"{name:20} {rows[-1]['seconds']:9.3f} {ratio:9.1f} {held[name] / 1e6:9.1f}", flush=True)
    return [{"title": title, "samples": samples, "rows": rows}]
