"""Runs competitors alternately, checks that their results agree, and reduces pairs of times to medians and ratios."""
import dataclasses
import json
import os
import pathlib
import statistics
import subprocess
import time

import numpy as np

TYPES = {"f64": np.float64, "f32": np.float32}


@dataclasses.dataclass
class Case:
    """Operands of one size: A is n x k, B is k x m, w has m elements; every competitor reads them and writes r = (C .* C) w."""
    scratch: pathlib.Path
    type: str
    n: int
    k: int
    m: int

    def path(self, name):
        return str(self.scratch / name)

    def write(self):
        rng = np.random.default_rng(1)
        for name, shape in (("A.npy", (self.n, self.k)), ("B.npy", (self.k, self.m)), ("w.npy", (self.m,))):
            np.save(self.path(name), rng.random(shape, TYPES[self.type]))

    def sizes(self):
        return [str(self.n), str(self.k), str(self.m)]

    def files(self):
        return [self.path(f) for f in ("A.npy", "B.npy", "w.npy", "r.bin")]


@dataclasses.dataclass
class Sample:
    seconds: float        # of the compared statement or call
    whole: float          # of the process, including reading
    cpu: float            # CPU seconds of the process and its children
    r: np.ndarray
    ranks: list = dataclasses.field(default_factory=list)   # TDSL only: each rank's counts, from --stats


def run(command, environment=None):
    """Output, wall seconds and CPU seconds of a command."""
    before = os.times()
    start = time.perf_counter()
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    whole = time.perf_counter() - start
    after = os.times()
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(command)}\nended with {done.returncode}\n{done.stdout}{done.stderr}")
    cpu = after.children_user + after.children_system - before.children_user - before.children_system
    return done.stdout, whole, cpu


def peer(invocation, case):
    command, environment = invocation(case)
    out, whole, cpu = run(command, environment)
    return Sample(json.loads(out.strip().splitlines()[-1])["seconds"], whole, cpu, np.fromfile(case.path("r.bin"), TYPES[case.type]))


class Ours:
    """A TDSL program; the statement on `line` of its source is timed. Inputs have the names of the case's files."""

    def __init__(self, tdslc, source, line, scratch, ranks, threads, mpiexec, inputs=None):
        self.program = str(scratch / ("tdsl_" + pathlib.Path(source).stem))
        subprocess.run([tdslc, "build", str(source), "-o", self.program], check=True)
        self.line = line
        self.launcher = [mpiexec, "-n", str(ranks)] if ranks > 1 else []
        self.threads = threads
        self.inputs = inputs or {"A": "A", "B": "B", "w": "w"}

    def __call__(self, case):
        stats, r = case.path("stats.json"), case.path("r.npy")
        command = [*self.launcher, self.program, "--threads", str(self.threads), "--quiet", "--stats", stats, "--r", r]
        for name, file in self.inputs.items():
            command += [f"--{name}", case.path(file + ".npy")]
        _, whole, cpu = run(command)
        told = json.loads(pathlib.Path(stats).read_text())
        seconds = sum(s["measured"]["seconds"] for s in told["statements"] if s["line"] == self.line)
        return Sample(seconds, whole, cpu, np.load(r), told["per_rank"])


def seconds_in_memory(told):
    """Seconds of a run, given its `--stats`, from the end of reading its inputs to its last task, without writing."""
    ends = {reads: max((s["measured"]["begin"] + s["measured"]["seconds"] for s in told["statements"] if (s["kind"] == "load") == reads and s["kind"] != "store"
                        and s["measured"]["tasks"]), default=0.0) for reads in (True, False)}
    return ends[False] - ends[True]


def check_same(name, got, expected, case):
    """Compares with a tolerance: different summation orders change the last bits only, errors change leading digits."""
    bound = 4 * case.k * np.finfo(TYPES[case.type]).eps * np.abs(expected).max()
    worst = np.abs(got.astype(np.float64) - expected.astype(np.float64)).max(initial=0.0)
    if not worst <= bound:
        raise SystemExit(f"{name} computed something else: {worst:g} apart where {bound:g} may be")


def compare(case, competitors, control, pairs):
    """Runs all competitors `pairs` times, reversing the order with each pair. `competitors`: name -> callable, the first is TDSL; `control` names
    the one that runs twice. Returns name -> samples."""
    samples = {name: [] for name in competitors}
    again = f"{control} again"
    turn = list(competitors) + ([again] if control else [])
    samples.update({again: []} if control else {})
    expected = None
    for i in range(pairs):
        order = turn[i % len(turn):] + turn[:i % len(turn)]
        for name in order:
            sample = competitors[control if name == again else name](case)
            if expected is None:
                expected = sample.r
            check_same(name, sample.r, expected, case)
            samples[name].append(sample)
    return samples


def reduce(samples, operations):
    """Medians, and for each competitor the median of its pairwise ratios to TDSL (above 1: TDSL is faster)."""
    ours = next(iter(samples))
    rows = []
    for name, list_of in samples.items():
        ratios = [s.seconds / o.seconds for s, o in zip(list_of, samples[ours])]
        middle = statistics.median(s.seconds for s in list_of)
        rows.append({
            "name": name,
            "seconds": middle,
            "best": min(s.seconds for s in list_of),
            "gflops": operations / middle / 1e9,
            "whole_process": statistics.median(s.whole for s in list_of),
            "cpu": statistics.median(s.cpu for s in list_of),
            "ratio": statistics.median(ratios),
            "ratio_quartiles": [float(np.quantile(ratios, q)) for q in (0.25, 0.75)],
            "all_seconds": [s.seconds for s in list_of],
        })
    return rows


def voided(rows, control, usual):
    """Peers that were disturbed: their rate relative to the control is 20% below `usual(name)`. Returns name -> fraction of the usual rate."""
    rate = {r["name"]: r["gflops"] for r in rows}
    shares = {name: rate[name] / rate[control] / usual(name) for name in rate if control in rate and usual(name)}
    return {name: share for name, share in shares.items() if share < 0.8}


def control_ratio(samples, control):
    """The control against itself: deviation of a ratio from 1 due to noise."""
    ratios = [a.seconds / b.seconds for a, b in zip(samples[control], samples[f"{control} again"])]
    return statistics.median(ratios), [float(np.quantile(ratios, q)) for q in (0.25, 0.75)]


def memory(case, samples):
    """Peak memory of the worst TDSL rank over all runs: bytes of blocks relative to its share of operands and result, and resident bytes relative to
    the prediction and to those before any input was read."""
    itemsize = np.dtype(TYPES[case.type]).itemsize
    runs = [rank for sample in samples for rank in sample.ranks]
    share = itemsize * (case.n * case.k + case.k * case.m + case.n * case.m) / len(samples[0].ranks)
    return {
        "share_bytes": share,
        "held": max(r["peak_block_bytes"] for r in runs) / share,
        "received": max(r["bytes_received"] for r in runs),
        "predicted_received": max(r["predicted"]["bytes_received"] for r in runs),
        "predicted_peak_bytes": max(r["predicted"]["peak_block_bytes"] for r in runs),
        "resident_bytes": max(r["peak_rss_bytes"] - r["start_rss_bytes"] for r in runs),
        "resident_over_allowed": max((r["peak_rss_bytes"] - r["start_rss_bytes"]) / (1.1 * r["predicted"]["peak_block_bytes"] + 2**26) for r in runs),
    }


def table(title, rows):
    print(f"% {title}")
    print(f"{'':28} {'seconds':>9} {'best':>9} {'Gop/s':>7} {'to ours':>8} {'quartiles':>13} {'process':>8} {'cpu':>8}")
    for r in rows:
        low, high = r["ratio_quartiles"]
        print(f"{r['name']:28} {r['seconds']:9.4f} {r['best']:9.4f} {r['gflops']:7.1f} {r['ratio']:8.3f} {low:6.3f}-{high:6.3f} "
              f"{r['whole_process']:8.2f} {r['cpu']:8.2f}")


def plot(path, comparisons):
    """Bar chart of the ratios, if matplotlib is available."""
    import matplotlib
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt
    figure, axes = plt.subplots(len(comparisons), 1, figsize=(8, 2.2 * len(comparisons)), squeeze=False)
    for axis, comparison in zip(axes[:, 0], comparisons):
        rows = comparison["rows"]
        axis.barh([r["name"] for r in rows], [r["ratio"] for r in rows])
        axis.axvline(1.0, color="black", linewidth=1)
        axis.set_title(comparison["title"], fontsize=9)
        axis.set_xlabel("seconds / ours")
    figure.tight_layout()
    figure.savefig(path)
