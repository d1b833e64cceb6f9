"""Runs of programs whose inputs are read before they are timed."""
import json
import pathlib
import re
import subprocess

import numpy as np

READ = "operands are read before"
UNTIMED = ("store", "collect")


class Failed(Exception):
    """A program that is not compiled, fails, or computes something else."""


def reading_first(text):
    """The program with a branch on all elements of its inputs behind their declarations, so that they are read before the rest begins, and that line's number;
    0 without inputs."""
    lines = text.splitlines()
    for number, line in enumerate(lines, 1):
        if READ in line:
            return text, number
    inputs = [found[1] for line in lines if (found := re.match(r"input (\w+): (?!bool)\w+ ?\[", line))]
    if not inputs:
        return text, 0
    last = max(number for number, line in enumerate(lines, 1) if line.startswith("input "))
    counts = " + ".join(f"count({name} > 1.0e300)" for name in inputs)
    lines.insert(last, f'if {counts} > 0 {{ print("{READ}", 0.0); }}')
    return "\n".join(lines) + "\n", last + 1


def option_text(value, path):
    """The value of an option: a number, or the file of an array."""
    if isinstance(value, np.ndarray) and value.ndim:
        narrow = value.dtype.kind in "iu" and value.dtype.name not in ("int32", "int64")
        np.save(path, value.astype(np.int64) if narrow else np.ascontiguousarray(value))
        return str(path)
    number = np.asarray(value).item()
    return str(number).lower() if isinstance(number, bool) else repr(number)


def tool(command):
    """Output of a command of the compiler; raises Failed with its last line."""
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise Failed("; ".join(line for line in done.stderr.splitlines() if "error" in line)[:300] or f"{command[1]} ended with {done.returncode}")
    return done.stdout


class Executable:
    """A built program with its options. `reads`: the line behind which it is timed."""

    def __init__(self, program, threads, reads, options, outputs, folder):
        self.threads, self.reads, self.outputs = threads, reads, {output: folder / f"{output}.out.npy" for output in outputs}
        self.stats = folder / "stats.json"
        self.command = [str(program), "--quiet", "--stats", str(self.stats), *options]
        for output, file in self.outputs.items():
            self.command += ["--set", f"{output}={file}"]

    def run(self, more=()):
        """The statistics of a run with more options, among them perhaps another number of threads."""
        threads = () if "--threads" in more else ("--threads", str(self.threads))
        done = subprocess.run([*self.command, *threads, *more], capture_output=True, text=True)
        if done.returncode:
            raise Failed(done.stderr.strip()[:300] or f"it ended with {done.returncode}")
        return json.loads(pathlib.Path(self.stats).read_text())

    def answer(self):
        """The outputs of the last run."""
        return {output: np.load(file) for output, file in self.outputs.items()}

    def rows(self, told):
        """Statements that are timed, and those that read. The branch is timed, too, where a scan of it also computes something of the program."""
        ran = [s for s in told["statements"] if s["measured"]["tasks"] and s["kind"] not in UNTIMED]
        shared = any(s["line"] == self.reads and ", " in s["name"] for s in ran)
        first = [s for s in ran if s["kind"] == "load" or s["line"] == self.reads and not shared]
        return [s for s in ran if s not in first], first

    def seconds(self, told):
        """From the last task that reads to the last one of all."""
        timed, first = (max((s["measured"]["begin"] + s["measured"]["seconds"] for s in rows), default=0.0) for rows in self.rows(told))
        return max(timed - first, 1e-9)

    def predicted(self, told):
        """Seconds that the plan predicts for the timed statements, by its upper ends."""
        def upper(seconds):
            return seconds[1] if isinstance(seconds, list) else seconds
        return sum(upper(s["predicted"]["seconds"]) for s in self.rows(told)[0])


def compared(got, expected, tolerance):
    """Compares the arrays that both have; raises Failed."""
    for key in sorted(got.keys() & expected.keys()):
        a, b = np.asarray(got[key], float), np.asarray(expected[key], float)
        scale = np.abs(b[np.isfinite(b)]).max(initial=0.0)
        if a.shape != b.shape or not np.allclose(a, b, rtol=tolerance, atol=tolerance * scale, equal_nan=True):
            raise Failed(f"computes something else: {key}")
