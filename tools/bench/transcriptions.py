#!/usr/bin/python3
"""Programs transcribed from NumPy: their values, and CPU time of NumPy relative to TDSL (including start-up and reading), two threads each.

Usage: transcriptions.py TDSLC [NAME...]
"""
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time

os.environ["OPENBLAS_NUM_THREADS"] = os.environ["OMP_NUM_THREADS"] = "2"

import numpy as np  # noqa: E402  (after the number of threads)

from transcribed import PROGRAMS  # noqa: E402


def run(command, inputs, folder, output=None):
    """CPU time of one run."""
    for name, value in inputs.items():
        path = f"{folder}/{name}.npy"
        np.save(path, value)
        command = [*command, f"--{name}", path]
    if output:
        command += output
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def measure(tdslc, name, folder):
    source, make, reference = PROGRAMS[name]
    program, executable, answer = f"{folder}/{name}.tdsl", f"{folder}/{name}", f"{folder}/answer.npy"
    with open(program, "w") as file:
        file.write(source.replace("; ", ";\n") + "\n")
    subprocess.run([tdslc, "build", program, "-o", executable], check=True, stderr=subprocess.DEVNULL)
    command = [executable, "--threads", "2", "--quiet"]
    output = "--y" if "output y" in source else "--o"
    for inputs in (make(0), make(1)):
        run(command, inputs, folder, [output, answer])
        np.testing.assert_allclose(np.load(answer), reference(*inputs.values()), rtol=1e-9, atol=1e-9)
    ours, numpy = [], []
    for _ in range(3):
        ours.append(run(command, inputs, folder))
        begin = time.process_time()
        reference(*inputs.values())
        numpy.append(time.process_time() - begin)
    ours, numpy = statistics.median(ours), statistics.median(numpy)
    print(f"{name:18} ours {ours:.3f}  NumPy {numpy:.3f}  ratio {numpy / ours:.2f}", flush=True)


def main():
    for name in sys.argv[2:] or PROGRAMS:
        with tempfile.TemporaryDirectory() as folder:
            measure(os.path.abspath(sys.argv[1]), name, folder)


if __name__ == "__main__":
    main()
