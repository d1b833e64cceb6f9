#!/usr/bin/python3
"""Generates programs, compares compiled runs with the evaluator, and shrinks failures."""
import argparse
import collections
import os
import random
import re
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

sys.dont_write_bytecode = True

import batch
import coverage
import generate
import shrink
from batch import Point, Tools, UNSUPPORTED
from prefix import cheap_prefix

FORMS = ("auto", "local", "distributed", "indirect")
SCHEDULES = ("auto", "pattern", "lshs", "eindecomp", "greedy")
TILES = (None, None, "1", "2", "3", "5", "4,3", "1000")


def choose_points(rng, ranks, launches):
    """For each number of ranks: several launches with random tiles, threads, windows and delays, and one with a random plan."""
    points = [Point(r, rng.choice(TILES), rng.choice([1, 1, 2]), rng.random() < 0.3, rng.choice([0, 0, rng.randrange(1, 10**6)]),
                    rng.choice(FORMS), rng.random() < 0.2, rng.choice(SCHEDULES))
              for r in ranks for _ in range(launches)]
    points += [Point(rng.choice((2, 3, 4)), rng.choice(TILES), 1, False, 0, rng.choice(FORMS), imposed=rng.randrange(1, 10**6)) for _ in range(launches)]
    return points


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=60, help="programs")
    parser.add_argument("--seed", type=int, help="of the first program; the others follow (default: random)")
    parser.add_argument("--ranks", default="1,2,3")
    parser.add_argument("--launches", type=int, default=1, help="launches of an executable per number of ranks")
    parser.add_argument("--batch", type=int, default=50, help="programs in one executable")
    parser.add_argument("--mode", choices=("mixed", "exact", "general", "sparse"), default="mixed", help="sparse: programs mostly of sparse tensors")
    parser.add_argument("--parts", help=f"of the parts {', '.join(generate.PARTS)} only these, and often (default: all, now and then)")
    parser.add_argument("--tdslc", default=os.environ.get("TDSLC", "tdslc"))
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--optimise", default="-O1", help="for compiling the emitted C++: 50 programs take long with -O3")
    parser.add_argument("--shrink", type=float, default=120, help="seconds for making a failing program small; 0: never")
    parser.add_argument("--shrink-most", type=int, default=3, help="how many failures are shrunk")
    parser.add_argument("--seconds-per-program", type=float, default=2.0, help="time limit of a launch, per program")
    parser.add_argument("--found", default=Path(__file__).resolve().parent / "found", type=Path, help="where failing programs go")
    parser.add_argument("--work", help="folder to work in; kept")
    parser.add_argument("--no-coverage", action="store_true")
    parser.add_argument("--stop-at-first", action="store_true", help="after the first batch that fails; no search in it, no shrinking")
    options = parser.parse_args()
    if options.seed is None:
        options.seed = random.SystemRandom().randrange(10**9)
    if options.stop_at_first:
        options.shrink = 0
    return options


class Run:
    def __init__(self, options, work):
        self.options, self.work = options, Path(work)
        self.tools = Tools(options.tdslc, options.seconds_per_program)
        self.coverage, self.failures, self.totals = coverage.Coverage(), [], collections.Counter()
        self.failed = False

    def tools_of(self, seed):
        """Build options of the batch with this program: every second one without loops as tasks."""
        number = (seed - self.options.seed) // self.options.batch
        by_statements = (number + self.options.seed) % 2
        return self.tools._replace(extra=("--disable-pass", "serial_loops")) if by_statements else self.tools

    def one_batch(self, first):
        options = self.options
        if self.failed and options.stop_at_first:
            return [], {}
        exact = {"exact": True, "general": False}.get(options.mode)
        seeds = range(first, min(first + options.batch, options.seed + options.count))
        programs = [generate.generate(s, exact, options.mode == "sparse", options.parts and options.parts.split(",")) for s in seeds]
        rng = random.Random(first)
        points = choose_points(rng, [int(r) for r in options.ranks.split(",")], options.launches)
        failures, counters = batch.run_batch(programs, self.work / f"b{first}", self.tools_of(first), points, self.log,
                                             not options.stop_at_first)
        self.failed = self.failed or any(f.kind != UNSUPPORTED for f in failures)
        return failures, counters

    def log(self, text):
        print(f"    {text}", flush=True)

    def all(self):
        options = self.options
        firsts = range(options.seed, options.seed + options.count, options.batch)
        with ThreadPoolExecutor(options.jobs) as pool:
            for first, (failures, counters) in zip(firsts, pool.map(self.one_batch, firsts)):
                self.failures += failures
                self.totals.update(counters)
                if not options.no_coverage:
                    for path in self.work.glob(f"b{first}/**/batch.tdsl"):
                        self.coverage.add(options.tdslc, path)

    def report(self):
        """Groups failures by symptom; the first of each is shrunk and written to a file. Returns their number."""
        groups = collections.defaultdict(list)
        for failure in self.failures:
            if failure.kind != UNSUPPORTED:
                groups[shrink.symptom(failure)].append(failure)
        for number, (name, failures) in enumerate(groups.items()):
            self.report_group(name, failures, number)
        unsupported = collections.Counter(shrink_words(f) for f in self.failures if f.kind == UNSUPPORTED)
        for words, count in unsupported.most_common(12):
            print(f"  not supported yet, {count} programs: {words}")
        return sum(map(len, groups.values()))

    def report_group(self, name, failures, number):
        failure = min(failures, key=lambda f: len(f.program) if isinstance(f.program, list) else 0)
        seeds = [p.seed for f in failures for p in (f.program if isinstance(f.program, list) else [f.program])]
        print(f"  {len(failures)} x {name}; seeds {seeds[:8]}")
        print("      " + failure.text.replace("\n", "\n      ") + (f"\n      at {failure.point}" if failure.point else ""))
        if isinstance(failure.program, list):
            return
        program, seed = failure.program, failure.program.seed
        if self.options.shrink > 0 and number < self.options.shrink_most:
            program, failure = shrink.Shrinker(failure, self.work / "shrink", self.tools_of(seed), self.options.shrink).run()
        self.options.found.mkdir(parents=True, exist_ok=True)
        path = self.options.found / f"{failure.kind}_{seed}.tdsl"
        path.write_text(shrink.report_text(program, failure, failure.point, seed))
        print(f"      {path}{''.join(' ' + word for word in self.tools_of(seed).extra)}")
        for line in program.text().splitlines():
            print(f"      | {line}")


def shrink_words(failure):
    text = failure.text.splitlines()[0]
    text = text.split("error: ", 1)[-1]
    return re.sub(r"'[^']*'", "…", text)[:110]


def main():
    options = parse_arguments()
    begun = time.time()
    print(f"seed {options.seed}, {options.count} programs, ranks {options.ranks}", flush=True)
    temporary = None if options.work else tempfile.TemporaryDirectory(prefix="tdsl-property-")
    work = options.work or temporary.name
    # The many emitted programs are never reused, so they stay out of the user's cache. Open MPI refuses to run as root,
    # or with more ranks than cores, unless told otherwise.
    os.environ["XDG_CACHE_HOME"] = str(Path(work).resolve() / "cache")
    for name in ("OMPI_ALLOW_RUN_AS_ROOT", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "OMPI_MCA_rmaps_base_oversubscribe"):
        os.environ.setdefault(name, "1")
    os.environ.setdefault("OMPI_MCA_pml", "ob1")  # the default without a fabric, found 0.2 s faster
    os.environ["TDSL_HOME"] = str(cheap_prefix(options.tdslc, options.optimise, work))
    run = Run(options, work)
    run.all()
    failed = run.report()
    if not options.no_coverage:
        print(run.coverage.report())
    skipped = sum(f.kind == UNSUPPORTED for f in run.failures)
    t = run.totals
    print(f"{options.count} programs, {t['launches']} launches, {t['compared']} outputs compared, {t['open']} outputs left open by "
          f"their bounds, {t['inexact']} bounds in exact programs, {t['decisions']} decisions imposed, {t['refused']} refused, {t['unplanned']} launches without a plan to change, {skipped} not supported yet, {failed} failed, {time.time() - begun:.0f} s")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
