#!/usr/bin/python3
"""Programs as libraries, called from Fortran: alone, on the ranks of a communicator, and their errors. One line per test: PASS fortran/NAME,
FAIL fortran/NAME or SKIP fortran/NAME reason. With --mode long also under MPICH, under valgrind and with gfortran's checks."""
import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

sys.dont_write_bytecode = True

import launch
from library import FOLDER, Callers, Failed
from prefix import prefix_of

WARNINGS = ["-Wall", "-Wextra", "-Wno-compare-reals", "-Werror"]
MPI_COMPILERS = {"openmpi": "mpifort.openmpi", "mpich": "mpifort.mpich"}


class FortranCallers(Callers):
    def __init__(self, options, work):
        super().__init__(options)
        self.work = Path(work)
        self.built = set()

    def build(self, name):
        if name not in self.built:
            self.command(self.options.tdslc, "build", "--library", "--fortran", FOLDER / f"{name}.tdsl", "-o", f"{self.work}/")
            self.built.add(name)

    def compile(self, compiler, caller, library, executable, *flags):
        """The module and its caller; .mod files of several compilers are apart."""
        modules = self.work / f"modules_{executable}"
        modules.mkdir()
        self.command(compiler, *WARNINGS, *flags, "-J", modules, self.work / f"{library}_tdsl.f90", FOLDER / f"{caller}.f90", "-L", self.work, f"-l{library}",
                     f"-Wl,-rpath,{self.work}", "-o", executable)
        return self.work / executable

    def test_alone(self):
        self.build("fields")
        caller = self.compile("gfortran", "caller", "fields", "alone", "-O2")
        self.command(caller, expected="caller: good")
        stopped = subprocess.run([caller, "stop"], capture_output=True, text=True, timeout=self.options.limit)
        if stopped.returncode != 1 or "the program is not open" not in stopped.stderr:
            raise Failed(f"an error without stat: exit code {stopped.returncode}\n{stopped.stdout}{stopped.stderr}")

    def on_ranks(self, family, *counts):
        if not shutil.which(MPI_COMPILERS[family]):
            raise Skipped(f"{MPI_COMPILERS[family]} is not installed")
        if not (prefix_of(self.options.tdslc) / f"lib/tdsl/libtdsl_mpi_{family}.so").exists():
            raise Skipped(f"{family} was not there when TDSL was built")
        self.build("ocean")
        caller = self.compile(MPI_COMPILERS[family], "ranks", "ocean", family, "-g")
        for count in counts:
            self.command(*launch.LAUNCHERS[family], "-n", count, caller, expected="caller: good")

    def test_ranks(self):
        self.on_ranks("openmpi", *((1, 2, 3) if self.options.mode == "long" else (3,)))

    def test_mpich(self):
        self.on_ranks("mpich", 1, 2, 3)

    def test_checked(self):
        self.build("fields")
        self.command(self.compile("gfortran", "caller", "fields", "checked", "-g", "-fcheck=all", "-std=f2018"), expected="caller: good")

    def test_valgrind(self):
        if not shutil.which("valgrind"):
            raise Skipped("valgrind is not installed")
        self.build("fields")
        caller = self.compile("gfortran", "caller", "fields", "valgrind", "-g")
        self.command("valgrind", "-q", "--error-exitcode=9", caller, expected="caller: good", TDSL_SIMD="avx2")

    def refused(self, text, source, *options):
        program = self.work / "refused.tdsl"
        program.write_text(source)
        done = subprocess.run([self.options.tdslc, "build", "--fortran", *options, program, "-o", f"{self.work}/"], capture_output=True, text=True)
        if done.returncode != 2 or text not in done.stderr:
            raise Failed(f"not refused with `{text}`: exit code {done.returncode}\n{done.stderr}")

    def test_refused(self):
        long_name = "x" * 58
        self.refused("--library", "output a = 1;\n")
        self.refused(f"`{long_name}` is too long for a name in Fortran", f"input {long_name}: f64[n];\noutput a = sum({long_name});\n", "--library")


class Skipped(Exception):
    """A test cannot run here, and why."""


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tdslc", default=os.environ.get("TDSLC", "tdslc"))
    parser.add_argument("--filter", default="")
    parser.add_argument("--mode", choices=("quick", "ci", "long"), default="ci")
    parser.add_argument("--sanitize", default="", help=argparse.SUPPRESS)
    parser.add_argument("--limit", type=float, default=240)
    options = parser.parse_args()
    tests = ["refused", "alone", "ranks"] + (["mpich", "checked", "valgrind"] if options.mode == "long" else [])
    failures = 0
    with tempfile.TemporaryDirectory(prefix="tdsl-fortran-") as work:
        callers = FortranCallers(options, work)
        for test in (t for t in tests if options.filter in f"fortran/{t}"):
            if test != "refused" and not shutil.which("gfortran"):
                print(f"SKIP fortran/{test} gfortran is not installed (tools/install_packages.sh fortran)")
                continue
            try:
                getattr(callers, f"test_{test}")()
                print(f"PASS fortran/{test}", flush=True)
            except Skipped as reason:
                print(f"SKIP fortran/{test} {reason}")
            except (Failed, subprocess.TimeoutExpired) as failure:
                failures += 1
                print(f"FAIL fortran/{test}\n{failure}", flush=True)
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
