#!/usr/bin/env python3
"""The build time of programs (decision 070): every program of budget.tsv has the counts that stand there, and with --long takes no longer
than its limits. One PASS or FAIL line each. --update writes the table anew.

    program       a sample
    kernels       functions that compute
    versions      the same, each as often as it is compiled
    object_kB     of the compiled program, without the library; `-`: not compiled in CI
    check_ms      tdslc check; the following columns are limits for --long, the median of three, user and system time
    tdslc_s       frontend, passes, code generation
    g++_s         compiler
    link_s        linker
    program_kB    the executable
"""
import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
TABLE = HERE / "budget.tsv"
COLUMNS = ["program", "kernels", "versions", "object_kB", "check_ms", "tdslc_s", "g++_s", "link_s", "program_kB"]
SPREAD = 1.15  # of times and sizes
MOST_CHECK_MS, MOST_CPU_S = 100, 3.0


class Failed(Exception):
    pass


def run(command):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    result = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=600)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if result.returncode != 0:
        raise Failed(f"{' '.join(map(str, command))}: exit code {result.returncode}\n{result.stderr[:500]}")
    return result.stdout, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def path_of(program):
    return ROOT / "samples" / f"{program}.tdsl"


def counts(tdslc, program):
    return json.loads(run([tdslc, "emit", path_of(program), "--counts"])[0])


def build(tdslc, program, folder):
    """The record of a build that finds nothing in the cache, and the size of the executable."""
    executable = Path(folder) / program
    record = json.loads(run([tdslc, "build", path_of(program), "--no-cache", "--time-passes=json", "-o", executable])[0])
    return record, executable.stat().st_size


def seconds(record, *names):
    """Processor time of these steps."""
    return sum(step["cpu_ms"] for step in record["steps"] if step["name"] in names) / 1e3


def own_seconds(record):
    """Of tdslc itself."""
    return sum(step["cpu_ms"] for step in record["steps"] if step["name"] not in ("compile", "link")) / 1e3


def measured(tdslc, program, folder):
    """The whole row."""
    known = counts(tdslc, program)
    checks = [run([tdslc, "check", path_of(program)])[1] for _ in range(3)]
    builds = [build(tdslc, program, folder) for _ in range(3)]
    median = statistics.median
    return {"program": program, "kernels": known["kernels"], "versions": known["versions"],
            "object_kB": builds[0][0]["object_bytes"] / 1e3, "check_ms": 1e3 * median(checks),
            "tdslc_s": median([own_seconds(record) for record, _ in builds]),
            "g++_s": median([seconds(record, "compile") for record, _ in builds]),
            "link_s": median([seconds(record, "link") for record, _ in builds]), "program_kB": builds[0][1] / 1e3}


def check_counts(tdslc, row, folder):
    known = counts(tdslc, row["program"])
    for name in ("kernels", "versions"):
        if known[name] != int(row[name]):
            raise Failed(f"{known[name]} {name}, {row[name]} in budget.tsv")
    if row["object_kB"] != "-":
        size = build(tdslc, row["program"], folder)[0]["object_bytes"] / 1e3
        if size > SPREAD * float(row["object_kB"]):
            raise Failed(f"{size:.0f} kB are compiled, {row['object_kB']} kB in budget.tsv")


def check_times(tdslc, row, folder):
    now = measured(tdslc, row["program"], folder)
    for name in ("check_ms", "tdslc_s", "g++_s", "link_s", "program_kB"):
        if now[name] > SPREAD * float(row[name]) + (10 if name == "check_ms" else 0.05):
            raise Failed(f"{name}: {now[name]:.2f}, {row[name]} in budget.tsv")
    cpu = now["tdslc_s"] + now["g++_s"] + now["link_s"]
    if now["check_ms"] > MOST_CHECK_MS or cpu > MOST_CPU_S:
        raise Failed(f"check takes {now['check_ms']:.0f} ms (at most {MOST_CHECK_MS}), a build {cpu:.1f} s (at most {MOST_CPU_S})")


def rows():
    lines = [line.split("\t") for line in TABLE.read_text().splitlines() if line and not line.startswith("#")]
    return [dict(zip(COLUMNS, line)) for line in lines[1:]]


def short_programs():
    """Samples of at most 40 lines of code."""
    def lines(path):
        return sum(1 for line in path.read_text().splitlines() if line.strip() and not line.lstrip().startswith("//"))
    return [path.stem for path in sorted((ROOT / "samples").glob("*.tdsl")) if lines(path) <= 40]


def update(tdslc, folder):
    compiled = {row["program"] for row in rows() if row["object_kB"] != "-"} if TABLE.exists() else set()
    texts = ["\t".join(COLUMNS)]
    for program in short_programs():
        row = measured(tdslc, program, folder)
        if program not in compiled:
            row["object_kB"] = "-"
        texts.append("\t".join(f"{row[c]:.2f}" if c.endswith("_s") else f"{row[c]:.0f}" if isinstance(row[c], float) else str(row[c]) for c in COLUMNS))
        print(texts[-1], flush=True)
    TABLE.write_text("\n".join(texts) + "\n")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--tdslc", default=os.environ.get("TDSLC", "tdslc"))
    parser.add_argument("--filter", default="")
    parser.add_argument("--long", action="store_true")
    parser.add_argument("--update", action="store_true")
    options = parser.parse_args()
    failures = 0
    with tempfile.TemporaryDirectory() as folder:
        os.environ["XDG_CACHE_HOME"] = folder
        if options.update:
            return update(options.tdslc, folder)
        missing = set(short_programs()) - {row["program"] for row in rows()}
        tests = [("table", lambda: missing)] + [(row["program"], lambda row=row: (check_times if options.long else check_counts)(options.tdslc, row, folder))
                                               for row in rows()]
        for name, test in tests:
            if options.filter not in f"budget/{name}":
                continue
            try:
                if found := test():
                    raise Failed(f"no row for {', '.join(sorted(found))}; --update adds it")
                print(f"PASS budget/{name}")
            except Failed as failure:
                failures += 1
                print(f"FAIL budget/{name}: {failure}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
