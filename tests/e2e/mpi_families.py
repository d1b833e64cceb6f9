#!/usr/bin/python3
"""MPI libraries of several families under the same executables: files need none at start; the library is chosen as documented; wrong pairs give one
message; outputs have the same bits. One line per test: PASS mpi/NAME, FAIL mpi/NAME or SKIP mpi/NAME reason."""
import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.dont_write_bytecode = True

import compare
import launch
import library
from points import Point
from prefix import linked_prefix, prefix_of
from program import Program
from session import Failed, Session

ROOT = Path(__file__).resolve().parents[2]
SMOKE = ("matmul", "sparse_pagerank", "kmeans")
MPI_FUNCTION = re.compile(r"\b(P?MPI_|ompi_|MPIR_)")
LONGEST_SECONDS = {"long": 2, "ci": 15}  # until a wrong pair is refused; in CI other suites run, and a launcher alone takes seconds
NAMES = {"openmpi": r"Open MPI \d[\d.]*\S* \(libmpi\.so\.40", "mpich": r"MPICH \d[\d.]*\S* \(lib\w+\.so\.12"}


def require(condition, text):
    if not condition:
        raise Failed(str(text))


def has_family(family):
    return shutil.which(launch.LAUNCHERS[family][0]) is not None


class Families:
    def __init__(self, options, work):
        self.options, self.work = options, Path(work)
        self.families = [f for f in ("openmpi", "mpich") if has_family(f)]
        self.small = self.work / "small"
        (self.work / "small.tdsl").write_text("let a = 7;\noutput a;\n")

    def command(self, *words, **environment):
        return launch.run(words, self.options.limit, cwd=self.work, env=environment)

    def build(self):
        if not self.small.exists():
            result = self.command(self.options.tdslc, "build", "small.tdsl", "-o", self.small)
            require(result.code == 0, result)

    def both(self):
        if "mpich" not in self.families:
            raise Skipped("MPICH is not installed (mpich, libmpich-dev)")
        if not (prefix_of(self.options.tdslc) / "lib/tdsl/libtdsl_mpi_mpich.so").exists():
            raise Skipped("MPICH was not there when TDSL was built (libmpich-dev)")

    def ended_by(self, result, message):
        """One message, exit code 2."""
        lines = result.err.strip().splitlines()
        require(result.code == 2 and len(lines) == 1 and re.search(message, lines[0]) and not result.out, f"expected /{message}/: {result}\n{result.err}")

    # Files.

    def test_nothing_links_mpi(self):
        self.build()
        self.command(self.options.tdslc, "build", "--library", "small.tdsl", "-o", f"{self.work}/")
        folder = prefix_of(self.options.tdslc) / "lib/tdsl"
        shims = sorted(folder.glob("libtdsl_mpi_*.so"))
        require(shims, "no shim")
        compiler = Path(shutil.which(self.options.tdslc) or self.options.tdslc)
        files = [compiler, self.small, self.work / "libsmall.so", folder / "tdsl_links", *folder.glob("*.so")]
        for file in files:
            needed = subprocess.run(["readelf", "-d", file], capture_output=True, text=True, check=True).stdout
            others = [line for line in needed.splitlines() if "NEEDED" in line and re.search(r"libmpi|libopen-|libpmix", line)]
            require(not others, f"{file.name} needs {others}")
            shown = subprocess.run(["nm", "-D", file], capture_output=True, text=True, check=True).stdout
            if file in shims:
                own = [line.split()[-1] for line in shown.splitlines() if " T " in line]
                require(own == ["tdsl_mpi_v1"], f"{file.name} shows {own}")
            else:
                found = [line for line in shown.splitlines() if MPI_FUNCTION.search(line)]
                require(not found, f"{file.name}: {found[:5]}")

    def test_one_includes_mpi(self):
        """In the runtime and the tools only the shim includes mpi.h."""
        found = []
        for folder in ("runtime", "tools", "codegen"):
            for file in (ROOT / folder).rglob("*"):
                if file.suffix in (".c", ".cpp", ".h") and "bench" not in file.parts and re.search(r"(?m)^#include [<\"]mpi\.h", file.read_text()):
                    found.append(str(file.relative_to(ROOT)))
        require(found == ["runtime/engine/mpi/mpi_shim.c"], found)

    # The choice.

    def test_chosen(self):
        """`tdslc mpi` lists families and chooses as `tdslc run` does; a run names its library."""
        result = self.command(self.options.tdslc, "mpi", "--json")
        require(result.code == 0, result)
        told = json.loads(result.out)
        for family in told["families"]:
            if family["family"] in self.families:
                require(re.match(NAMES[family["family"]], family["name"]), family)
        require(told["chosen"] in self.families, told)
        shown = self.command(self.options.tdslc, "run", "small.tdsl", "-n", "2", "--", "--version")
        require(shown.code == 0 and re.search(r"MPI: " + NAMES[told["chosen"]], shown.out), shown)

    def test_no_launcher_no_mpi(self):
        self.build()
        for environment in ({}, {"TDSL_MPI": "openmpi"}):
            result = self.command(self.small, "--version", **environment)
            require(result.code == 0 and "MPI" not in result.out, result)
        alone = self.command(*launch.mpi_command(2), self.small, TDSL_MPI="none")
        require(alone.code == 0 and alone.out == "a: i64 = 7\n" * 2, alone)

    def test_named(self):
        """Every launcher opens its own library, and TDSL_MPI names the same one by family and by path."""
        self.both()
        self.build()
        folder = prefix_of(self.options.tdslc) / "lib/tdsl"
        told = json.loads(self.command(self.options.tdslc, "mpi", "--json").out)
        for entry in told["families"]:
            family = entry["family"]
            if family not in self.families:
                continue
            for named in ({}, {"TDSL_MPI": family}, {"TDSL_MPI": f"{folder}/libtdsl_mpi_{family}.so:{entry['library']}"}):
                result = self.command(*launch.mpi_command(2, family), self.small, "--version", **named)
                require(result.code == 0 and re.search(NAMES[family], result.out), f"{family} {named}: {result}")
            run = self.command(self.options.tdslc, "run", "small.tdsl", "-n", "2", "--", "--version", TDSL_MPI=family)
            require(run.code == 0 and re.search(NAMES[family], run.out), f"tdslc run: {run}")

    def test_site(self):
        """`mpi_family` of the installation's profile decides where nothing else does."""
        self.both()
        home = linked_prefix(self.options.tdslc, self.work / "site", lambda text: text)
        for family in self.families:
            (home / "lib/tdsl/site.conf").write_text(f"mpi_family = {family}\n")
            result = self.command(self.options.tdslc, "run", "small.tdsl", "-n", "2", "--", "--version", TDSL_HOME=str(home))
            require(result.code == 0 and re.search(NAMES[family], result.out), f"{family}: {result}")

    def test_made_by_its_compiler(self):
        """`tdslc mpi --build` makes a shim that goes before the installation's."""
        compiler = next((c for c in ("mpicc.openmpi", "mpicc.mpich") if shutil.which(c)), None)
        if compiler is None:
            raise Skipped("no mpicc is installed")
        family = compiler.split(".")[1]
        home = self.work / "home"
        home.mkdir()
        made = self.command(self.options.tdslc, "mpi", "--build", "--cc", compiler, HOME=str(home))
        file = home / f".local/lib/tdsl/mpi/libtdsl_mpi_{family}.so"
        require(made.code == 0 and file.exists() and re.search(NAMES[family], made.out), made)
        require([p.name for p in file.parent.iterdir()] == [file.name], list(file.parent.iterdir()))
        listed = json.loads(self.command(self.options.tdslc, "mpi", "--json", HOME=str(home)).out)
        require(file.samefile(next(f["shim"] for f in listed["families"] if f["family"] == family)), listed)
        self.build()
        result = self.command(*launch.mpi_command(2, family), self.small, "--version", HOME=str(home))
        require(result.code == 0 and re.search(NAMES[family], result.out), result)

    # Wrong pairs.

    def refused(self, message, *words, **environment):
        begun = time.time()
        result = self.command(*words, **environment)
        seconds = time.time() - begun
        self.ended_by(result, message)
        require(seconds < LONGEST_SECONDS[self.options.mode], f"it takes {seconds:.1f} s until /{message}/")

    def test_missing(self):
        self.build()
        two = launch.mpi_command(2)
        self.refused(r"TDSL_MPI=abi: its library is not found \(libmpi_abi\.so", *two, self.small, TDSL_MPI="abi")
        self.refused(r"`lam` is not openmpi, mpich, abi, none or the path of a shim", *two, self.small, TDSL_MPI="lam")
        self.refused(r"TDSL_MPI=/nowhere/shim\.so: /nowhere/shim\.so: cannot open", *two, self.small, TDSL_MPI="/nowhere/shim.so")
        result = self.command(self.options.tdslc, "run", "small.tdsl", "-n", "2", TDSL_MPI="none")
        self.ended_by(result, "TDSL_MPI=none: several ranks need an MPI library")

    def test_wrong_pairs(self):
        self.both()
        self.build()
        for launcher, other in (("mpich", "openmpi"), ("openmpi", "mpich")):
            self.refused("the launcher announced 2 ranks, but MPI sees 1: this launcher and " + NAMES[other], *launch.mpi_command(2, launcher), self.small, TDSL_MPI=other)

    def test_two_in_a_process(self):
        self.both()
        self.build()
        told = json.loads(self.command(self.options.tdslc, "mpi", "--json").out)
        files = [f["library"] for f in told["families"] if f["family"] in self.families]
        self.refused("two MPI libraries are in this process", *launch.mpi_command(2), "env", f"LD_PRELOAD={':'.join(files)}", self.small)

    # Runs.

    def test_errors(self):
        """Errors of programs end all ranks with one message, under every launcher."""
        self.both()
        self.build()
        for family in self.families:
            result = self.command(*launch.mpi_command(3, family), self.small, "--nonsense")
            lines = result.err.strip().splitlines()
            require(result.code == 2 and len(lines) == 1 and "nonsense" in lines[0], f"{family}: {result}\n{result.err}")

    def outputs(self, case, family, ranks, *options):
        os.environ["TDSL_TEST_MPI"] = family
        try:
            return case.run(Point(ranks, None, 1, "none", False), 0, f"run-{family}-{ranks}", options)
        finally:
            del os.environ["TDSL_TEST_MPI"]

    def same_bits(self, name):
        """The same executable under every family: the same bits, with --reproducible on any number of ranks."""
        self.both()
        paths = [p for p in (ROOT / f"samples/{name}.tdsl", ROOT / f"tests/e2e/cases/{name}.tdsl") if p.exists()]
        session = Session(Program(paths[0]), self.options.tdslc, self.work / name, self.options.limit)
        session.build()
        case = session.prepare(session.program.variants[0])
        alike = None
        for ranks in (1, 2, 3, 7):
            for options in ((), ("--reproducible",)):
                first, *others = [self.outputs(case, family, ranks, *options) for family in (self.families if ranks > 1 else self.families[:1])]
                alike = (alike or first) if options else alike
                for got in [*others, *([first] if options else [])]:
                    wanted = alike if options else first
                    for output, value in wanted.items():
                        require(compare.same_bits(value, got[output]), f"{output}: other bits on {ranks} ranks {' '.join(options)}")

    def test_runtime(self):
        """The runtime's own tests under MPICH; under Open MPI they are a suite."""
        self.both()
        tests = prefix_of(self.options.tdslc) / "bin/tdsl_runtime_tests"
        if not tests.exists():
            raise Skipped("the runtime's tests are not built")
        for ranks in (1, 2, 3, 7) if self.options.mode == "long" else (3,):
            only = [] if self.options.mode == "long" else ["--source-file=*/engine/mpi_*"]
            result = launch.run([*launch.LAUNCHERS["mpich"], "-n", ranks, tests, "--no-colors", *only], 20 * self.options.limit,
                                env={"TDSL_TEST_PROGRAMS": "1:12", "TDSL_TEST_SIMULATIONS": "1:1"})
            failed = [line for line in result.out.splitlines() if line.startswith("FAIL")]
            require(result.code == 0 and not failed, f"{ranks} ranks: {failed[:5]} {result}")

    def test_called(self):
        """A library follows its caller's MPI, here MPICH's."""
        self.both()
        if not shutil.which("mpicc.mpich"):
            raise Skipped("mpicc.mpich is not installed (libmpich-dev)")
        callers = library.Callers(argparse.Namespace(tdslc=self.options.tdslc, sanitize="", limit=self.options.limit, filter=""))
        callers.work = self.work
        callers.build("product")
        callers.c_caller("mpicc.mpich")
        callers.command(*launch.LAUNCHERS["mpich"], "-n", 3, self.work / "caller", "mpi", expected="caller: good")


class Skipped(Exception):
    """A test cannot run here, and why."""


def chosen_tests(options):
    names = [name.removeprefix("test_") for name in dir(Families) if name.startswith("test_")]
    bits = list(SMOKE)
    if options.mode == "long":
        samples = sorted(p.stem for p in (ROOT / "samples").glob("*.tdsl"))
        bits = sorted({*SMOKE, *samples[::2], *sorted(p.stem for p in (ROOT / "tests/e2e/cases").glob("*.tdsl"))[::12]})
    if not all(has_family(f) for f in ("openmpi", "mpich")):
        bits = bits[:1]  # skipped, with one line
    return [n for n in (*names, *(f"bits_{name}" for name in bits)) if options.filter in f"mpi/{n}"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mode", choices=("ci", "long"), default="ci")
    parser.add_argument("--tdslc", default=os.environ.get("TDSLC", "tdslc"))
    parser.add_argument("--filter", default="")
    parser.add_argument("--limit", type=float, default=60)
    options = parser.parse_args()
    failures = 0
    with tempfile.TemporaryDirectory(prefix="tdsl-mpi-") as work:
        families = Families(options, work)
        for name in chosen_tests(options):
            try:
                families.same_bits(name.removeprefix("bits_")) if name.startswith("bits_") else getattr(families, f"test_{name}")()
                print(f"PASS mpi/{name}", flush=True)
            except Skipped as reason:
                print(f"SKIP mpi/{name} {reason}", flush=True)
            except (Failed, library.Failed, subprocess.SubprocessError) as failure:
                failures += 1
                print(f"    {failure}\nFAIL mpi/{name}", flush=True)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
