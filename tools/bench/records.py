"""A series of records against one file of as many bytes: a loop that appends each of its states, the same loop by hand in MPI, and one output of all states, if
these fit in memory. Each run's file is checked and deleted before the next run begins, and dirty pages are on the disk by then."""
import os
import pathlib
import shutil
import statistics
import subprocess

import numpy as np

from harness import run

HERE = pathlib.Path(__file__).resolve().parent
OURS, HAND, ONE = "series", "by hand", "one output"
COLUMNS = 1000
SOURCES = {OURS: "for t in 0..records { U = U + 1.0; output snap = U; }\n",
           ONE: "for t in 0..records { U = U + 1.0; }\noutput snap[t, i, j] = U[i, j] - f64(records - 1 - t) for t in 0..records;\n"}
HEAD = f"param n: i64;\nparam records: i64;\nvar U = zeros(n, {COLUMNS});\n"


def check(name, path, records, rows):
    """Record t holds t + 1 everywhere; the first, the last and some others are read."""
    if path.suffix == ".npy":
        states = np.load(path, mmap_mode="r")
        chosen = {0, records // 3, records // 2, records - 1}
        if states.shape != (records, rows, COLUMNS) or not all(np.all(states[t] == t + 1) for t in chosen):
            raise SystemExit(f"{name} wrote something else to {path}")
    elif not path.exists():
        raise SystemExit(f"{name} wrote no {path}")


def remove(path):
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


class Writer:
    """A program on the ranks, timed as a whole: `arguments` of a path."""

    def __init__(self, name, launcher, arguments, path, records, rows):
        self.name, self.command, self.path, self.sizes = name, [*launcher, *arguments(path)], path, (records, rows)

    def __call__(self):
        os.sync()
        try:
            _, seconds, _ = run(self.command)
            check(self.name, self.path, *self.sizes)
        finally:
            remove(self.path)
        return seconds


def writers(options, scratch, records, rows):
    launcher = [options.mpiexec, "-q", "--bind-to", "none", "--oversubscribe", "-n", str(options.ranks)]
    bytes_of_all = 8 * records * rows * COLUMNS
    free, memory = shutil.disk_usage(scratch).free, os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_AVPHYS_PAGES")
    if free < 1.05 * bytes_of_all:
        raise SystemExit(f"{scratch} has {free / 1e9:.1f} GB left, and a file {bytes_of_all / 1e9:.1f} GB (--scratch DIR chooses another disk)")
    found = {}
    for name, loop in SOURCES.items():
        if name == ONE and 1.5 * bytes_of_all > memory:
            print(f"% without {ONE}: {bytes_of_all / 1e9:.1f} GB are too many for {memory / 1e9:.1f} GB of memory")
            continue
        source, program = scratch / f"{name.split()[0]}.tdsl", scratch / name.split()[0]
        source.write_text(HEAD + loop)
        run([options.tdslc, "build", str(source), "-o", str(program), "--disable-pass", "serial_loops"])
        found[name] = Writer(name, launcher, lambda path, program=program: [str(program), "--n", str(rows), "--records", str(records), "--threads", "1", "--quiet",
                                                                            "--snap", str(path)], scratch / f"{source.stem}.{options.format}", records, rows)
    program = scratch / "records"
    subprocess.run(["mpicxx", "-O2", "-std=c++20", str(HERE / "peers" / "records.cpp"), "-o", str(program)], check=True)
    found[HAND] = Writer(HAND, launcher, lambda path: [str(program), str(rows), str(COLUMNS), str(records), str(path)], scratch / "by_hand.npy", records, rows)
    return found


def series(options, scratch):
    scratch, rows = pathlib.Path(scratch), max(1, round(options.mb * 1e6 / 8 / COLUMNS))
    turn = writers(options, scratch, options.records, rows)
    samples, names = {name: [] for name in turn}, list(turn)
    for i in range(options.pairs):
        for name in names[i % len(names):] + names[:i % len(names)]:
            samples[name].append(turn[name]())
    title = f"{options.records} records of {8e-6 * rows * COLUMNS:g} MB, {options.format}, {options.ranks} ranks, load {os.getloadavg()[0]:.1f}"
    print(f"% {title}: median and least seconds of {options.pairs}, the series to the other")
    table = []
    for name, seconds in samples.items():
        ratio = statistics.median(own / other for own, other in zip(samples[OURS], seconds, strict=True))
        table.append({"name": name, "seconds": statistics.median(seconds), "best": min(seconds), "ratio": ratio})
        print(f"{name:12} {table[-1]['seconds']:9.2f} {table[-1]['best']:9.2f} {ratio:8.3f}", flush=True)
    return [{"title": title, "samples": samples, "rows": table}]
