"""The experiments of the paper on fused operators (docs/papers.md): micro-benchmarks of its templates and its six algorithms, on one rank with all
cores. TDSL with each fusion policy and the peers run alternately; results are compared."""
import json
import os
import pathlib
import statistics
import subprocess
import sys

import numpy as np

from experiments import HERE, SAMPLES, Experiment
from harness import run
from paper_peers import Run, WaitingPeer, checker, chunk_lengths
from peers import Missing

sys.path.insert(0, str(HERE / "peers"))
from digest import digest  # noqa: E402

PAPER = "SystemML, "
# Values of --fusion; the first is the default.
VARIANTS = {"tdsl": "cost", "tdsl, fuse all": "all", "tdsl, no redundancy": "no-redundancy", "tdsl, no fusion": "none"}
MODULES = {"NumPy": "numpy", "PyTorch": "torch", "Dask": "dask"}


def uniform(rng, shape):
    return rng.random(shape)


def signs(rng, shape):
    return np.where(rng.random(shape) < 0.5, -1.0, 1.0)


def labels(rng, shape):
    return (rng.random(shape) < 0.4).astype(float)


def classes(rng, shape):
    return np.eye(shape[1])[rng.integers(0, shape[1], shape[0])]


def scaled(rng, shape):
    return rng.standard_normal(shape) * np.sqrt(6 / sum(shape))


def micro(name, figure, sizes, arrays, outputs=("r",), flops=0.0, **values):
    return Experiment(name, PAPER + figure, name, HERE / "programs" / "fusion" / f"{name}.tdsl", sizes, arrays, list(outputs), {"repeats": 3},
                      chunks=({"n": 2}, {"n": 8}), flops=3 * flops, values=values)


def algorithm(name, sizes, arrays, outputs, params, **values):
    """The number of steps is fixed instead of a tolerance, so that all competitors do the same work."""
    return Experiment(name, PAPER + "tables 2, 4 and 5", name, SAMPLES / f"{name}.tdsl", sizes, arrays, outputs, params, chunks=({"n": 2}, {"n": 8}),
                      tolerance=1e-6, values=values)


def fusion_experiments(tiny):
    """Experiments by name; tiny: sizes for a smoke test."""
    n, d = (2000, 10) if tiny else (1_000_000, 10)
    square, rank = (80, 10) if tiny else (2000, 100)
    thin, many = {"n": n, "d": 100 if not tiny else 10}, n // 10
    rows = {"n": n, "d": d}
    three = {"X": "nd", "Y": "nd", "Z": "nd"}
    ratings = {"n": 60, "m": 50, "r": 5} if tiny else {"n": 2000, "m": 1500, "r": 20}
    network = {"n": 96, "m": 12, "h": 10, "g": 2} if tiny else {"n": 4096, "m": 100, "h": 500, "g": 2}
    found = [
        micro("cell", "figure 8 (a)", rows, three, flops=3.0 * n * d),
        micro("multi_aggregate", "figure 8 (c)", rows, three, ["r", "t"], flops=4.0 * n * d),
        micro("row", "figure 8 (e)", thin | {"n": many}, {"X": "nd", "v": "d"}, flops=4.0 * many * thin["d"]),
        micro("row_weighted", "section 1", thin | {"n": many}, {"X": "nd", "v": "d", "w": "n"}, flops=4.0 * many * thin["d"], w=uniform),
        micro("row_matrix", "figure 8 (g)", thin | {"n": many, "c": 2}, {"X": "nd", "V": "dc"}, flops=8.0 * many * thin["d"]),
        micro("outer", "figure 8 (h), dense", {"n": square, "m": square, "c": rank}, {"X": "nm", "U": "nc", "V": "mc"},
              flops=2.0 * square * square * (rank + 2), U=uniform, V=uniform),
        algorithm("l2svm", rows, {"X": "nd", "y": "n"}, ["w", "loss"], {"max_steps": 5, "tolerance": 0, "lambda": 1.0}, y=signs),
        algorithm("multinomial_regression", rows | {"n": n // 2, "k": 5}, {"X": "nd", "Y": "nk"}, ["B", "loss"],
                  {"max_steps": 4, "max_inner": 10, "tolerance": 0, "lambda": 1.0}, Y=classes),
        algorithm("probit_regression", rows, {"X": "nd", "y": "n"}, ["w", "loss"], {"max_steps": 3, "max_inner": 10, "tolerance": 0, "lambda": 0.01}, y=labels),
        algorithm("kmeans", rows | {"k": 5}, {"X": "nd", "start": "kd"}, ["C", "spread"], {"steps": 5}),
        algorithm("als_factorisation", ratings, {"X": "nm", "W": "nm", "U0": "nr", "V0": "mr"}, ["U", "V", "loss"],
                  {"max_steps": 2, "inner": 5, "tolerance": 0, "lambda": 0.1}, W=labels),
        algorithm("autoencoder", network, {"X": "nm", "W1": "mh", "W2": "hg", "W3": "gh", "W4": "hm"}, ["code", "loss"],
                  {"epochs": 2, "batch": 16 if tiny else 512, "rate": 0.01, "momentum": 0.9, "decay": 0.95}, W1=scaled, W2=scaled, W3=scaled, W4=scaled),
    ]
    return {e.name: e for e in found}


class Ours:
    """A program with one fusion policy, timed from its first task that neither reads a file nor creates a constant to its last."""

    def __init__(self, options, scratch, experiment, policy):
        self.experiment, self.scratch = experiment, scratch
        program = str(scratch / f"tdsl-{policy}")
        subprocess.run([options.tdslc, "build", str(experiment.program), "-o", program, "--fusion", policy], check=True)
        self.command = [program, "--threads", str(options.threads), "--quiet"]
        self.command += [word for name in experiment.arrays for word in (f"--{name}", str(scratch / f"{name}.npy"))]
        self.command += [word for name, value in experiment.params.items() for word in (f"--{name}", str(value))]

    def __call__(self):
        stats, files = self.scratch / "stats.json", {o: self.scratch / f"{o}.out.npy" for o in self.experiment.outputs}
        run([*self.command, "--stats", str(stats), *(word for o, f in files.items() for word in (f"--{o}", str(f)))])
        told = json.loads(stats.read_text())
        return Run(self.seconds(told["statements"]), digest([np.load(f) for f in files.values()]),
                   {"peak_block_bytes": told["per_rank"][0]["peak_block_bytes"]})

    def seconds(self, statements):
        """For a micro-benchmark only the loop is timed; its operands are read before."""
        lines = self.experiment.program.read_text().splitlines()
        loop = next((n for n, line in enumerate(lines, 1) if line.startswith("for step")), 1) if "repeats" in self.experiment.params else 1
        rows = [s["measured"] for s in statements if s["line"] >= loop and s["kind"] not in ("load", "source", "collect") and s["measured"]["tasks"]]
        return max(m["begin"] + m["seconds"] for m in rows) - min(m["begin"] for m in rows)


def waiting(options, scratch, experiment, peers, check):
    """Processes of the requested peers by name; for Dask the one with the faster chunk size."""
    found = {}
    for library, module in MODULES.items():
        if library not in experiment.peers or not any(part.lower() in library.lower() for part in options.peer or [""]):
            continue
        try:
            peers.module(module)
        except Missing as reason:
            print(f"% without {library}: {reason}")
            continue
        settings = experiment.chunks if library == "Dask" else ({},)
        offers = {}
        for parts in settings:
            name = " ".join([library, *(f"chunks {d}/{count}" for d, count in parts.items())])
            offers[name] = WaitingPeer(library, peers, scratch, experiment, options.threads, {"chunks": chunk_lengths(experiment, parts)})
        seconds = {}
        for name, peer in offers.items():
            result = peer()
            check(name, result.answer)
            seconds[name] = result.seconds
        best = min(seconds, key=seconds.get)
        for name, peer in offers.items():
            if name == best:
                found[name] = peer
            else:
                peer.close()
    return found


def alternate(calls, check, turns):
    samples = {name: [] for name in calls}
    names = list(calls)
    for turn in range(turns):
        for name in names[turn % len(names):] + names[:turn % len(names)]:
            result = calls[name]()
            check(name, result.answer)
            samples[name].append(result.seconds)
    return samples


def one(options, scratch, experiment, peers):
    experiment.write(scratch)
    ours = {name: Ours(options, scratch, experiment, policy) for name, policy in VARIANTS.items()}
    first = {name: call() for name, call in ours.items()}
    check = checker(first["tdsl"].answer, experiment.tolerance)
    others = waiting(options, scratch, experiment, peers, check)
    try:
        samples = alternate(ours | others, check, options.pairs)
    finally:
        for peer in others.values():
            peer.close()
    title = (f"{experiment.name} {experiment.sizes}, one rank, {options.threads} threads, load {os.getloadavg()[0]:.1f}, median of {options.pairs}")
    print(f"% {title}")
    print(f"{'':28} {'seconds':>9} {'best':>9} {'to ours':>8} {'blocks, MB':>11}")
    rows = []
    for name, seconds in samples.items():
        ratio = statistics.median(peer / own for peer, own in zip(seconds, samples["tdsl"]))
        held = first[name].counts["peak_block_bytes"] if name in first else None
        rows.append({"name": name, "seconds": statistics.median(seconds), "best": min(seconds), "ratio": ratio, "peak_block_bytes": held, "all_seconds": seconds})
        print(f"{name:28} {rows[-1]['seconds']:9.4f} {rows[-1]['best']:9.4f} {ratio:8.2f} {'' if held is None else format(held / 1e6, '.1f'):>11}", flush=True)
    return {"title": title, "experiment": experiment.name, "paper": experiment.paper, "sizes": experiment.sizes, "threads": options.threads, "rows": rows}


def fusion(options, scratch, experiments, peers):
    results = []
    for experiment in experiments:
        folder = pathlib.Path(scratch) / experiment.name
        folder.mkdir(exist_ok=True)
        results.append(one(options, folder, experiment, peers))
        for file in folder.glob("*.npy"):
            file.unlink()
    return results
