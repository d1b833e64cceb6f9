#!/usr/bin/python3
"""Programs as libraries: called from C, with and without MPI, and from Python, alone and with mpi4py. One line per caller: PASS library/NAME,
FAIL library/NAME or SKIP library/NAME reason. The libraries themselves check that stores are empty at the end of a run."""
import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

sys.dont_write_bytecode = True

FOLDER = Path(__file__).resolve().parent / "library"


class Failed(Exception):
    pass


class Callers:
    def __init__(self, options):
        self.options = options
        self.sanitize = [f"-fsanitize={options.sanitize}", "-fno-sanitize-recover=all"] if options.sanitize else []

    def command(self, *words, expected="", folder=None, **environment):
        # Makes small programs distribute their work, as in the other tests (launch.py).
        environment = {"TDSL_MACHINE": str(Path(__file__).resolve().parent / "sharing.machine"), **os.environ, **environment}
        done = subprocess.run([str(w) for w in words], cwd=folder or self.work, env=environment, text=True, capture_output=True, timeout=self.options.limit)
        if done.returncode != 0 or expected not in done.stdout:
            raise Failed(f"{' '.join(map(str, words))}: exit code {done.returncode}\n{done.stdout}{done.stderr}")
        return done.stdout

    def build(self, name):
        self.command(self.options.tdslc, "build", "--library", FOLDER / f"{name}.tdsl", "-o", f"{self.work}/")

    def c_caller(self, compiler="mpicc"):
        self.command(compiler, "-std=c11", "-Wall", "-Wextra", "-Werror", *self.sanitize, "-I", self.work, FOLDER / "caller.c", "-L", self.work, "-lproduct",
                     f"-Wl,-rpath,{self.work}", "-o", "caller")
        self.command("g++", "-std=c++20", "-Wall", "-Wextra", "-Werror", "-fsyntax-only", "-x", "c++", self.work / "product.h")

    def test_c(self):
        self.command(self.work / "caller", expected="caller: good")

    def test_c_with_mpi(self):
        self.command("mpiexec", "-n", 3, self.work / "caller", "mpi", expected="caller: good")

    def test_python(self):
        self.command(sys.executable, FOLDER / "caller.py", expected="caller: good", PYTHONPATH=str(self.work), PYTHONDONTWRITEBYTECODE="1")

    def test_mpi4py(self):
        self.command("mpiexec", "-n", 3, sys.executable, FOLDER / "caller.py", "mpi", expected="caller: good", PYTHONPATH=str(self.work), PYTHONDONTWRITEBYTECODE="1")

    def test_only_its_functions(self):
        """Two libraries in one process must not bind to each other's functions."""
        shown = self.command("nm", "-D", "--defined-only", self.work / "libproduct.so").split("\n")
        others = [line for line in shown if line and "product_" not in line and " _ZNSt" not in line and " _ZNKSt" not in line]
        if others:
            raise Failed("the library shows more than its functions:\n" + "\n".join(others[:10]))

    def test_names(self):
        done = subprocess.run([self.options.tdslc, "build", "--library", str(FOLDER / "product.tdsl"), "-o", f"{self.work}/2nd"], capture_output=True, text=True)
        if done.returncode != 2 or "cannot be a part of names in C" not in done.stderr:
            raise Failed(f"a name that C has not: exit code {done.returncode}\n{done.stderr}")

    def run(self):
        tests = ["c", "c_with_mpi", "names"]
        if not self.sanitize:  # an instrumented library cannot be loaded by an uninstrumented interpreter
            tests += ["python", "mpi4py", "only_its_functions"]
        tests = [t for t in tests if self.options.filter in f"library/{t}"]
        if not tests:
            return 0
        failures = 0
        with tempfile.TemporaryDirectory(prefix="tdsl-library-") as work:
            self.work = Path(work)
            try:
                self.build("product")
                if any(t in tests for t in ("python", "mpi4py")):
                    self.build("kinds")
                    self.build("scatter")
                    self.command("grep", "-F", "input S: f64[n, sparse m]", self.work / "kinds.h")
                    self.command("grep", "-F", "param steps: i64, --steps VALUE of kinds_open or kinds_params", self.work / "kinds.h")
                if any(t.startswith("c") for t in tests):
                    self.c_caller()
            except (Failed, subprocess.TimeoutExpired) as failure:
                print(f"FAIL library/build\n{failure}")
                return 1
            for test in tests:
                if test == "mpi4py" and subprocess.run([sys.executable, "-c", "import mpi4py"], capture_output=True).returncode != 0:
                    print("SKIP library/mpi4py mpi4py is not installed (python3-mpi4py)")
                    continue
                try:
                    getattr(self, f"test_{test}")()
                    print(f"PASS library/{test}", flush=True)
                except (Failed, subprocess.TimeoutExpired) as failure:
                    failures += 1
                    print(f"FAIL library/{test}\n{failure}", flush=True)
        return 1 if failures else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tdslc", default=os.environ.get("TDSLC", "tdslc"))
    parser.add_argument("--filter", default="")
    parser.add_argument("--sanitize", default="")
    parser.add_argument("--limit", type=float, default=240)
    sys.exit(Callers(parser.parse_args()).run())


if __name__ == "__main__":
    main()
