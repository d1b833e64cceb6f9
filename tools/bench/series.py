#!/usr/bin/python3
"""Cost of a series of records relative to one output of as many bytes, in alternating pairs; at most 1.1 is wanted."""
import argparse
import os
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

SERIES = """param n: i64;
param records: i64;
var U = zeros(n, 1000);
for t in 0..records { U = U + 1.0; output snap = U; }
"""
ONE = """param n: i64;
param records: i64;
var U = zeros(n, 1000);
for t in 0..records { U = U + 1.0; }
output snap[t, i, j] = U[i, j] - f64(t) for t in 0..records;
"""


def built(tdslc, folder, name, text):
    (folder / f"{name}.tdsl").write_text(text)
    subprocess.run([tdslc, "build", folder / f"{name}.tdsl", "-o", folder / name, "--disable-pass", "serial_loops"], check=True)
    return folder / name


def timed(command, written):
    begin = time.monotonic()
    subprocess.run([str(c) for c in command], check=True, capture_output=True)
    seconds = time.monotonic() - begin
    subprocess.run(["rm", "-rf", written], check=True)
    return seconds


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tdslc", default=os.environ.get("TDSLC", "tdslc"))
    parser.add_argument("--folder", default=".")
    parser.add_argument("--ranks", type=int, default=4)
    parser.add_argument("--records", type=int, default=100)
    parser.add_argument("--megabytes", type=float, default=10, help="of a record")
    parser.add_argument("--format", default="npy")
    parser.add_argument("--pairs", type=int, default=5)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.folder, prefix="tdsl-series-") as name:
        folder, ratios = Path(name), []
        series, one = built(options.tdslc, folder, "series", SERIES), built(options.tdslc, folder, "one", ONE)
        run = ["mpiexec", "-q", "--bind-to", "none", "-n", options.ranks]
        sizes = ["--n", int(options.megabytes * 125), "--records", options.records, "--quiet"]
        for _ in range(options.pairs):
            files = folder / f"s.{options.format}", folder / f"o.{options.format}"
            times = [timed([*run, program, *sizes, "--snap", file], file) for program, file in zip((series, one), files)]
            ratios.append(times[0] / times[1])
            print(f"{options.records} records of {options.megabytes} MB: {times[0]:.2f} s, one output {times[1]:.2f} s, ratio {ratios[-1]:.2f}", flush=True)
    print(f"median ratio {statistics.median(ratios):.2f}")


if __name__ == "__main__":
    main()
