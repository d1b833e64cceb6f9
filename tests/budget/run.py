#!/usr/bin/env python3
"""The build time of programs (decision 070), by counts that stand for it: every program of budget.tsv has at most what stands there. One PASS
or FAIL line each. --update writes the table anew.

    program       a sample
    kernels       functions that compute
    versions      the same, each as often as it is compiled
    units         files that the C++ compiler gets
    source_bytes  emitted

With --long every program is checked and built within the processor seconds of all (MOST_CHECK_MS, MOST_CPU_S), the median of three.
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
COUNTS = ["kernels", "versions", "units", "source_bytes"]
COLUMNS = ["program", *COUNTS]
SPREAD = {"kernels": 1.0, "versions": 1.0, "units": 1.0, "source_bytes": 1.02}
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
    """The record of a build that finds nothing in the cache."""
    return json.loads(run([tdslc, "build", path_of(program), "--no-cache", "--time-passes=json", "-o", Path(folder) / program])[0])


def require(row, name, value):
    """Within the spread of the table's number; a fifth less needs --update."""
    limit = float(row[name])
    if value > SPREAD[name] * limit:
        raise Failed(f"{value:.0f} {name}, {row[name]} in budget.tsv")
    if name in ("kernels", "versions") and value != limit or value < 0.8 * limit:
        raise Failed(f"only {value:.0f} {name}, {row[name]} in budget.tsv: --update")


def check_counts(tdslc, row, _):
    known = counts(tdslc, row["program"])
    for name in COUNTS:
        require(row, name, known[name])


def check_times(tdslc, row, folder):
    check_counts(tdslc, row, folder)
    builds = [build(tdslc, row["program"], folder) for _ in range(3)]
    check = 1e3 * statistics.median(run([tdslc, "check", path_of(row["program"])])[1] for _ in range(3))
    cpu = statistics.median(sum(step["cpu_ms"] for step in record["steps"]) for record in builds) / 1e3
    if check > MOST_CHECK_MS or cpu > MOST_CPU_S:
        raise Failed(f"check takes {check:.0f} ms (at most {MOST_CHECK_MS}), a build {cpu:.1f} s (at most {MOST_CPU_S})")


def rows():
    lines = [line.split("\t") for line in TABLE.read_text().splitlines() if line and not line.startswith("#")]
    return [dict(zip(COLUMNS, line)) for line in lines[1:]]


def short_programs():
    """Samples of at most 40 lines of code."""
    def lines(path):
        return sum(1 for line in path.read_text().splitlines() if line.strip() and not line.lstrip().startswith("//"))
    return [path.stem for path in sorted((ROOT / "samples").glob("*.tdsl")) if lines(path) <= 40]


def update(tdslc):
    texts = ["\t".join(COLUMNS)]
    for program in short_programs():
        known = counts(tdslc, program)
        texts.append("\t".join([program, *(str(known[name]) for name in COUNTS)]))
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
            return update(options.tdslc)
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
