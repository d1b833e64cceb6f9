#!/usr/bin/python3
"""Tests the language page sentence by sentence: every case is evaluated and compiled, and docs/conformance.md is checked."""
import argparse
import os
import re
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple, Optional

sys.dont_write_bytecode = True

import case as cases_of
import page
from evaluate import COMPILE_TIME, REFUSED, Pending, Reference, Wrong, launch
from join import Joined
import turns
from prefix import cheap_prefix

HERE = Path(__file__).resolve().parent
LINE = re.compile(r"joined\.tdsl:(\d+):")


class Point(NamedTuple):
    ranks: int
    tile: Optional[str] = None
    threads: int = 1

    def options(self):
        return ["--threads", str(self.threads)] + (["--tile", self.tile] if self.tile else [])

    def __str__(self):
        return f"ranks={self.ranks} tile={self.tile or 'auto'} threads={self.threads}"


POINTS = (Point(1), Point(3, "2"), Point(7, "1"), Point(2, "1000"), Point(2, "3,2", 2), Point(5), Point(4, "1"), Point(7, "3"))


def points_of(mode, number):
    """Points at which the executable of this number runs: one rank, and others that vary between executables."""
    if mode == "long":
        return POINTS
    count = {"ci": 2, "quick": 2, "sanitizer": 1}[mode]
    others = POINTS[1:]
    return (POINTS[:1] + tuple(others[(number + k * 3) % len(others)] for k in range(count)))[-count:]


class Suite:
    def __init__(self, options, work, cases):
        self.options, self.work, self.cases = options, Path(work), cases
        self.references, self.wrong, self.pending = {}, {}, {}

    def all(self):
        with ThreadPoolExecutor(self.options.jobs) as pool:
            list(pool.map(self.evaluate, self.cases))
            list(pool.map(self.guarded, enumerate(self.groups())))
            list(pool.map(self.alone, enumerate(self.built_alone())))

    def note(self, case, error):
        if isinstance(error, Pending):
            self.pending[case.name] = str(error)
        else:
            self.wrong.setdefault(case.name, str(error))

    def left(self, cases):
        return [c for c in cases if c.name not in self.wrong and c.name not in self.pending]

    # --- evaluation
    def evaluate(self, case):
        try:
            reference = self.references[case.name] = Reference(case, self.work / case.name, self.options.tdslc, self.options.limit)
            if not case.commands:
                reference.evaluate()
            elif self.options.mode != "sanitizer":
                reference.command()
        except (Wrong, Pending) as error:
            self.note(case, error)
        except Exception as error:  # an error in the expectation itself
            self.note(case, Wrong(f"{type(error).__name__}: {error}"))

    # --- many cases in one executable
    def groups(self):
        good = [c for c in self.left(self.cases) if c.good and not c.alone]
        groups = [good[i:i + self.options.size] for i in range(0, len(good), self.options.size)]
        return groups[:{"quick": 2, "sanitizer": 2}.get(self.options.mode, len(groups))]

    def guarded(self, numbered):
        number, group = numbered
        self.together(group, number, str(number))

    def together(self, group, number, name):
        """Builds and runs the cases as one program; if that fails without identifying a case, in two halves."""
        try:
            group = self.build(group, self.work / "joined" / name)
            for point in points_of(self.options.mode, number) if group else ():
                self.launch(group, self.work / "joined" / name, point)
        except Wrong as error:
            if len(group) == 1:
                self.note(group[0], error)
                return
            half = len(group) // 2
            self.together(group[:half], number, name + "a")
            self.together(group[half:], number, name + "b")

    def build(self, group, folder):
        folder.mkdir(parents=True, exist_ok=True)
        while group:
            joined = Joined(group)
            (folder / "joined.tdsl").write_text(joined.text)
            result = launch.run([self.options.tdslc, "build", "joined.tdsl", "-o", "joined"], 10 * self.options.limit, cwd=folder)
            if result.code == 0 and not result.timed_out:
                break
            culprits = self.blame(joined, result)
            if not culprits:
                raise Wrong(f"build: {result}")
            group = [c for c in group if c not in culprits]
        return group

    def blame(self, joined, result):
        """Records the cases whose lines occur in the messages."""
        culprits = {}
        for line in result.err.splitlines():
            if found := LINE.search(line):
                if COMPILE_TIME.search(line):
                    culprits.setdefault(joined.owners[int(found[1]) - 1], []).append(line)
        for number, lines in culprits.items():
            case = joined.cases[number]
            refused = all(REFUSED in line for line in lines) and case.pending is not None
            self.note(case, Pending(case.pending) if refused else Wrong("build: " + lines[0]))
        return [joined.cases[n] for n in culprits]

    def launch(self, group, folder, point):
        joined, out = Joined(group), folder / f"run{point.ranks}"
        out.mkdir(exist_ok=True)
        command = [*launch.mpi_command(point.ranks), folder / "joined", *joined.arguments(lambda c: self.references[c.name].folder),
                   *joined.outputs(out), *point.options()]
        result = launch.run(command, 2 * self.options.limit, cwd=folder, env={"TDSL_OVERSUBSCRIBED": "1"})
        if result.code != 0 or result.timed_out:
            raise Wrong(f"at {point}: {result}")
        for number, (case, printed) in enumerate(zip(group, joined.printed(result.out))):
            try:
                self.references[case.name].check_results(out, joined.prefix(number), printed, f"compiled, at {point}")
            except Wrong as error:
                self.note(case, error)

    # --- separate executables
    def built_alone(self):
        """Cases that are expected to fail, and those that cannot share a program."""
        chosen = [c for c in self.left(self.cases) if c.error is None and not c.commands and (c.alone or not c.good)]
        step = {"long": 1, "ci": 6, "quick": 40, "sanitizer": 20}[self.options.mode]
        return chosen[::step] if not self.options.filter else chosen

    def alone(self, numbered):
        number, case = numbered
        reference = self.references[case.name]
        try:
            reference.build()
            for point in points_of(self.options.mode, number)[-2:]:
                reference.run(point)
        except (Wrong, Pending) as error:
            self.note(case, error)

    def report(self):
        for case in self.cases:
            name = f"conformance/{case.name}"
            if case.name in self.wrong and case.fault is None:
                print(f"FAIL {name}\n      {case.source.name}:{case.line}: {self.wrong[case.name]}")
            else:
                print(f"PASS {name}")
            if case.fault is not None and case.name not in self.wrong:
                print(f"      {name} works now: take its line `// fault` out of {case.source.name}")
            if case.pending is not None and case.name not in self.pending and case.name not in self.wrong and self.options.mode == "long":
                print(f"      {name} works now: take its line `// pending` out of {case.source.name}")
        return [c for c in self.cases if c.name in self.wrong and c.fault is None]


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="*", type=Path, default=sorted(HERE.glob("*.tdsl")))
    parser.add_argument("--mode", choices=("quick", "ci", "long", "sanitizer"), default="ci")
    parser.add_argument("--filter", default="", help="only cases whose name contains this text")
    parser.add_argument("--list", action="store_true", help="print the names of the chosen cases")
    parser.add_argument("--tdslc", default=os.environ.get("TDSLC", "tdslc"))
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--size", type=int, default=48, help="cases in one executable")
    parser.add_argument("--limit", type=float, default=60, help="seconds for one step of one case")
    parser.add_argument("--work", help="folder to work in; kept")
    parser.add_argument("--write-page", action="store_true", help="write docs/conformance.md and end")
    parser.add_argument("--show", metavar="NAME", help="print the program of a case")
    return parser.parse_args()


def main():
    options = parse_arguments()
    cases = [c for path in options.files for c in cases_of.read(path)]
    if options.write_page:
        page.write(cases)
        return 0
    if options.show:
        print("".join(c.text for c in cases if c.name.endswith(options.show)), end="")
        return 0
    if options.mode in ("quick", "sanitizer") and not options.filter:
        checked, cases = cases, cases[::2 if options.mode == "quick" else 24]
    else:
        checked, cases = cases, turns.part(cases, 4)
    if options.list:
        print(*(c.name for c in cases), sep="\n")
        return 0
    begun = time.time()
    for name in ("OMPI_ALLOW_RUN_AS_ROOT", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "OMPI_MCA_rmaps_base_oversubscribe"):
        os.environ.setdefault(name, "1")
    os.environ.setdefault("OMPI_MCA_pml", "ob1")  # the default without a fabric, found 0.2 s faster
    temporary = None if options.work else tempfile.TemporaryDirectory(prefix="tdsl-conformance-")
    work = Path(options.work or temporary.name)
    work.mkdir(parents=True, exist_ok=True)
    if not (work / "prefix").exists():
        cheap_prefix(options.tdslc, "-O1" if options.mode == "long" else "-O0", work)
    os.environ["TDSL_HOME"] = str((work / "prefix").resolve())
    suite = Suite(options, work, [c for c in cases if options.filter in f"conformance/{c.name}"])
    suite.all()
    failed = suite.report()
    if len(options.files) > 1 and options.filter in "conformance/page":
        failed += page.check(checked)
    print(f"{len(suite.cases)} cases, {len(suite.pending)} not supported yet, {len(failed)} failed, {time.time() - begun:.0f} s")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
