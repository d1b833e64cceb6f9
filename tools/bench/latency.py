"""Overhead per task and per iteration with nearly empty kernels, a loop of slices on one and on two threads, and one-way latency between two
ranks of the same MPI."""
import json
import os
import pathlib
import statistics
import subprocess

import numpy as np

from harness import run

HERE = pathlib.Path(__file__).resolve().parent
STEPS = 5000
TURNS = 20000
SLICED = (1400, 1000)


def measured(program, launcher, scratch, *options):
    """Seconds of one run, including planning, and its number of tasks. Kernels perform one or two operations, so the rest is overhead."""
    stats, answer = str(scratch / "stats.json"), str(scratch / "c.npy")
    run([*launcher, program, "--threads", "1", "--tile", "1", "--quiet", "--set", f"steps={STEPS}", "--stats", stats, "--c", answer, *options])
    if float(np.load(answer)) != 2.0:
        raise SystemExit(f"{program} computed {np.load(answer)} instead of 2")
    told = json.loads(pathlib.Path(stats).read_text())
    wall = told["phases"]["plan"] + told["phases"]["compute"]
    return wall, sum(s["measured"]["tasks"] for s in told["statements"])


def sliced(program, threads, scratch):
    """Seconds of one iteration of slices, including planning."""
    X, stats, answer = scratch / "X.npy", scratch / "stats.json", scratch / "c.npy"
    if not X.exists():
        np.save(X, np.random.default_rng(1).random(SLICED))
    run([program, "--threads", str(threads), "--quiet", "--X", str(X), "--stats", str(stats), "--c", str(answer)])
    data = np.load(X)
    if not np.isclose(float(np.load(answer)), float((data.T @ data).sum()) / SLICED[0]):
        raise SystemExit(f"{program} computed {np.load(answer)}")
    told = json.loads(stats.read_text())
    return (told["phases"]["plan"] + told["phases"]["compute"]) / SLICED[1]


def latency(options, scratch):
    programs = {}
    for name in ("iterations", "until"):
        programs[name] = str(scratch / name)
        subprocess.run([options.tdslc, "build", str(HERE / "programs" / f"{name}.tdsl"), "-o", programs[name],
                        "--disable-pass", "serial_loops"], check=True)  # otherwise each loop would be a single task
    slices = str(scratch / "slices")
    subprocess.run([options.tdslc, "build", str(HERE / "programs" / "slices.tdsl"), "-o", slices], check=True)
    ping_pong = str(scratch / "ping_pong")
    subprocess.run(["mpicxx", "-O2", str(HERE / "peers" / "ping_pong.cpp"), "-o", ping_pong], check=True)
    two = [options.mpiexec, "-n", "2"]
    sharing = scratch / "sharing.machine"  # with real constants the plan would put so little work on one rank
    sharing.write_text("latency = 1e-12\nexchange_overhead = 1e-12\ntask_overhead = 1e-12\nflop_rate = 1\n")
    samples = {"a task, one rank": [], "a task, one rank, --no-replay": [], "an iteration of 'for', two ranks": [], "an iteration of 'while', two ranks": [], "one way": [],
               "an iteration of slices, one thread": [], "an iteration of slices, two threads": []}
    for _ in range(options.pairs):
        samples["an iteration of slices, one thread"].append(sliced(slices, 1, scratch))
        samples["an iteration of slices, two threads"].append(sliced(slices, 2, scratch))
    os.environ["TDSL_MACHINE"] = str(sharing)
    for _ in range(options.pairs):
        for name, more in (("a task, one rank", ()), ("a task, one rank, --no-replay", ("--no-replay",))):
            wall, tasks = measured(programs["iterations"], [], scratch, *more)
            samples[name].append(wall / tasks)
        for name, word in (("iterations", "for"), ("until", "while")):
            samples[f"an iteration of '{word}', two ranks"].append(measured(programs[name], two, scratch)[0] / STEPS)
        out, _, _ = run([*two, ping_pong, str(TURNS)])
        samples["one way"].append(json.loads(out)["seconds"])
    print(f"% microseconds, load {os.getloadavg()[0]:.1f}, median and least of {options.pairs}")
    for name, seconds in samples.items():
        print(f"{name:36} {1e6 * statistics.median(seconds):9.2f} {1e6 * min(seconds):9.2f}")
    bounds = [3 * way + 50e-6 for way in samples["one way"]]
    rows = []
    for name in samples:
        if "ranks" in name:
            ratio = statistics.median(bound / own for bound, own in zip(bounds, samples[name]))
            rows.append({"name": name, "ratio": ratio})
            print(f"% {name}: 3 ways + 50 us are {ratio:.2f} of it")
    one, two_threads = samples["an iteration of slices, one thread"], samples["an iteration of slices, two threads"]
    ratio = statistics.median(a / b for a, b in zip(one, two_threads))
    rows.append({"name": "slices, one thread to two", "ratio": ratio})
    print(f"% slices: one thread takes {ratio:.2f} of two")
    return [{"title": "latency", "samples": samples, "rows": rows}]
