"""Common parts of the papers' comparisons: runs, result checks, and Python libraries."""
import dataclasses
import json
import os
import pathlib
import subprocess
import sys

import numpy as np

from harness import run

HERE = pathlib.Path(__file__).resolve().parent
PYTHON = "/usr/bin/python3"
SCRIPT = str(HERE / "peers" / "papers.py")


@dataclasses.dataclass
class Run:
    seconds: float
    answer: np.ndarray
    counts: dict = dataclasses.field(default_factory=dict)


def peer_run(scratch, command, environment):
    told = json.loads(run(command, environment)[0].strip().splitlines()[-1])
    return Run(told["seconds"], np.fromfile(scratch / "answer.bin"))


def python_peer(library, peers, scratch, experiment, cluster, request):
    """A Python library: Dask with one thread on each machine, the others in one process with all cores."""
    request = json.dumps(dict(request, arrays=list(experiment.arrays), params=experiment.params))
    command = [PYTHON, SCRIPT, library, experiment.workload, str(scratch), request]
    threads = 1 if library == "Dask" else os.cpu_count()
    command, environment = cluster.on(0, command) if library == "Dask" else command, peers.python_environment(threads)
    return lambda: peer_run(scratch, command, environment)


class WaitingPeer:
    """A Python library in a process that has read its inputs and computed once, and computes again on each call. A context manager."""

    def __init__(self, library, peers, scratch, experiment, threads, request):
        self.scratch, self.library = scratch, library
        request = json.dumps(dict(request, arrays=list(experiment.arrays), params=experiment.params, threads=threads, waits=True))
        command = [PYTHON, SCRIPT, library, experiment.workload, str(scratch), request]
        # Dask parallelises over chunks, so its BLAS is single-threaded. As in TDSL: waiting threads yield their core,
        # and memory is in huge pages.
        environment = peers.python_environment(1 if library == "Dask" else threads, OMP_WAIT_POLICY="passive", GLIBC_TUNABLES="glibc.malloc.hugetlb=1")
        self.errors = open(scratch / f"{library}.log", "w+")
        self.process = subprocess.Popen(command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.errors, text=True)
        self.told()

    def told(self):
        line = self.process.stdout.readline()
        if not line:
            self.errors.seek(0)
            raise SystemExit(f"{self.library} ended with {self.process.wait()}\n{self.errors.read()}")
        return json.loads(line)

    def __call__(self):
        self.process.stdin.write("again\n")
        self.process.stdin.flush()
        seconds = self.told()["seconds"]
        return Run(seconds, np.fromfile(self.scratch / f"answer.{self.library}.bin"))

    def close(self):
        self.process.stdin.close()
        self.process.wait()
        self.errors.close()


def chunk_lengths(experiment, parts):
    """Chunk lengths of each input, when its dimensions are divided into the given numbers of chunks."""
    return {name: [-(-experiment.sizes[d] // parts.get(d, 1)) for d in dims] for name, dims in experiment.arrays.items()}


def checker(expected, tolerance):
    def check(name, answer):
        worst = np.abs(answer - expected).max() if answer.shape == expected.shape else np.inf
        if not worst <= tolerance * np.abs(expected).max():
            raise SystemExit(f"{name} computed something else: {worst:g} apart where the largest is {np.abs(expected).max():g}")
    return check
