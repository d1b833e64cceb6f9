"""Programs that pass functions to the library, and loops by hand, in alternating runs; and the time to build programs with library files that they do not use."""
import json
import os
import pathlib
import statistics
import time

import numpy as np

from harness import run, seconds_in_memory
from peers import Peers

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
OURS, HAND = "tdsl", "loop by hand"
# Program: steps, and the shape of its operands. A step of each passes some 20 to 80 MB through memory.
CASES = {"rk4": (50, (1_000_000, 1)), "cg": (30, (2000, 1500))}
SAMPLES = ("matmul", "kmeans", "heat")
ALONE, IMPORTS = "as it is", "with all of std"


def operands(name, shape, scratch):
    """Files by input."""
    rng = np.random.default_rng(1)
    arrays = {"b": rng.standard_normal(shape)} if name == "cg" else {"rate": rng.random(shape[0]), "start": rng.random(shape[0])}
    files = {key: scratch / f"{name}_{key}.npy" for key in arrays}
    for key, array in arrays.items():
        np.save(files[key], array)
    return files


class Ours:
    """A program, timed from the end of reading to its last task, all steps and planning included."""

    def __init__(self, options, scratch, name, steps, files):
        program, self.stats, self.answer = scratch / name, scratch / "stats.json", scratch / "r.npy"
        run([options.tdslc, "build", str(HERE / "programs" / "everyday" / f"{name}.tdsl"), "-o", str(program)])
        self.command = [str(program), "--threads", str(options.threads), "--quiet", "--steps", str(steps), "--stats", str(self.stats), "--r", str(self.answer)]
        self.command += [word for key, file in files.items() for word in (f"--{key}", str(file))]

    def __call__(self):
        run(self.command)
        return seconds_in_memory(json.loads(self.stats.read_text())), np.load(self.answer).ravel()


def by_hand(options, scratch, name, steps, shape, files):
    peers = Peers(options.peers, scratch, options.mpiexec)
    program, answer = peers.compile("everyday", "everyday.cpp", ["-Ofast", "-fopenmp"]), scratch / "r.bin"
    # As in TDSL: waiting threads yield their core, and memory is in huge pages.
    environment = peers.environment(options.threads, OMP_WAIT_POLICY="passive", GLIBC_TUNABLES="glibc.malloc.hugetlb=1")
    command = [program, name, str(steps), str(answer), *map(str, shape), *map(str, files.values())]

    def call():
        out, _, _ = run(command, environment)
        return json.loads(out.strip().splitlines()[-1])["seconds"], np.fromfile(answer)
    return call


def alternate(turn, pairs, check):
    """Seconds by name; `turn`: name -> callable that returns seconds and an answer."""
    samples, names, expected = {name: [] for name in turn}, list(turn), None
    for i in range(pairs):
        for name in names[i % len(names):] + names[:i % len(names)]:
            seconds, answer = turn[name]()
            samples[name].append(seconds)
            expected = answer if expected is None else expected
            check(name, answer, expected)
    return samples


def rows_of(title, samples):
    """Medians, and the medians of the pairs' ratios to the first row, the first one's over the others'."""
    first = next(iter(samples))
    print(f"% {title}: median seconds, {first} to the other")
    rows = []
    for name, seconds in samples.items():
        ratio = statistics.median(own / other for own, other in zip(samples[first], seconds, strict=True))
        rows.append({"name": name, "seconds": statistics.median(seconds), "ratio": ratio})
        print(f"{name:20} {rows[-1]['seconds']:9.4f} {ratio:8.3f}", flush=True)
    return {"title": title, "samples": samples, "rows": rows}


def against_hand(options, scratch, name):
    steps, shape = CASES[name]
    shape = (max(8, round(shape[0] * options.scale)), shape[1])
    files = operands(name, shape, scratch)

    def check(who, answer, expected):
        if answer.shape != expected.shape or not np.allclose(answer, expected, rtol=1e-6, atol=1e-9 * np.abs(expected).max()):
            raise SystemExit(f"{name}: {who} computed something else")
    turn = {OURS: Ours(options, scratch, name, steps, files), HAND: by_hand(options, scratch, name, steps, shape, files)}
    samples = alternate(turn, options.pairs, check)
    return rows_of(f"{name}, {' x '.join(map(str, shape))}, {steps} steps, {options.threads} threads, load {os.getloadavg()[0]:.1f}", samples)


def build_times(options, scratch, sample):
    """Seconds of `tdslc build`, the C++ compiler included, of a sample, and with imports that it does not use."""
    text = (ROOT / "samples" / f"{sample}.tdsl").read_text()
    names = [file.stem for file in sorted((ROOT / "stdlib").glob("*.tdsl")) if f"import std.{file.stem};" not in text]
    imports = "".join(f"import std.{name};\n" for name in names)

    def form(name, added):
        source, program = scratch / name / f"{sample}.tdsl", scratch / name / sample
        source.parent.mkdir(exist_ok=True)
        source.write_text(text + added)

        def call():
            start = time.perf_counter()
            run([options.tdslc, "build", "--no-cache", str(source), "-o", str(program)])
            return time.perf_counter() - start, None
        return call
    samples = alternate({IMPORTS: form("all", imports), ALONE: form("alone", "")}, options.pairs, lambda *_: None)
    return rows_of(f"building {sample}, load {os.getloadavg()[0]:.1f}", samples)


def everyday(options, scratch):
    def wanted(names):
        return [name for name in names if any(part in name for part in options.only or [""])]
    scratch = pathlib.Path(scratch)
    return [*(against_hand(options, scratch, name) for name in wanted(CASES)), *(build_times(options, scratch, name) for name in wanted(SAMPLES))]
