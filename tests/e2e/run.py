#!/usr/bin/python3
"""Runs samples/*.tdsl and tests/e2e/cases/*.tdsl at points of the matrix (ranks, tiles, threads, windows, delays), and
compares every run with `tdslc eval` within its error bounds, and eval with NumPy. One line per program:
PASS e2e/NAME or FAIL e2e/NAME, with the failing points."""
import argparse
import os
import sys
import tempfile
import time
import traceback
import zlib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

sys.dont_write_bytecode = True

import compare
import launch
import points
import turns
from prefix import cheap_prefix, instrumented, strict_prefix
from program import Program
from session import Failed, Session

SHOWN_FAILURES = 3


def bits_repeat(case, point, seed):
    """The same executable at the same point twice, with different delays: same bits."""
    first = case.run(point, seed, "bits_a", by_statements=True)
    second = case.run(point, seed + 1, "bits_b", by_statements=True)
    for name, value in first.items():
        if not compare.same_bits(value, second[name]):
            raise Failed(f"{name}: other bits in a second run")


def builds_of(program, mode):
    """Options of `tdslc build`. Instrumented programs build slowly: each is built in one variant, as tasks or statements."""
    if mode != "sanitizer":
        return program.builds
    return [["--disable-pass", "serial_loops"]] if zlib.crc32(program.name.encode()) % 2 == 0 else [[]]


def test_program(path, is_sample, options):
    """All checks of one program: (name, failures, launches, seconds)."""
    begun, failures, launches = time.time(), [], 0
    name = Path(path).stem
    try:
        program = Program(path)
        for build_options in builds_of(program, options.mode):
            session = Session(program, options.tdslc, Path(options.work) / "-".join([name, *build_options]), options.limit, build_options,
                              options.prefix if is_cheap(name, is_sample, options.mode) else options.strict if "sparse" in Path(path).read_text() else None)
            one_form = options.mode in ("quick", "sanitizer") or (options.mode == "ci" and zlib.crc32(name.encode()) % 4 != 0)
            session.build() if one_form else session.build_both_forms()
            for index, variant in enumerate(program.variants):
                test_variant(session, index, variant, is_sample, options, failures)
            launches += session.launches
            if not failures and not options.keep:
                session.remove()
    except Failed as failure:
        failures.append(str(failure))
    except Exception:
        failures.append(traceback.format_exc())
    return name, failures, launches, time.time() - begun


def one_bit_pattern(name, mode):
    """Whether a sample runs twice at one point: a quarter of them in CI."""
    return mode == "ci" and zlib.crc32(name.encode()) % 4 == 1


def is_cheap(name, is_sample, mode):
    """Whether a program is compiled without optimisation. Samples are compiled as for users; in CI only the half that runs twice."""
    return not is_sample or mode == "sanitizer" or mode != "long" and not points.in_half(name)


def test_variant(session, index, variant, is_sample, options, failures):
    try:
        case = session.prepare(variant)
    except Failed as failure:
        failures.append(f"{variant.label}: {failure}")
        return
    chosen = points.choose(options.mode, session.program.name, index, is_sample)
    for number, point in enumerate(chosen):
        if sum(f.count("timed out") for f in failures) >= 2:
            failures.append(f"{variant.label}: given up after two hangs")
            return
        schedule = points.schedule_of(point, session.program.name, number + index, options.schedule)
        time_tile = points.time_tile_of(session.program.name, number + index)
        try:
            case.run(point, number + 1 if point.delays else 0, f"run{number}", ["--schedule", schedule, "--time-tile", time_tile], by_statements=number % 2 == 0)
        except Failed as failure:
            failures.append(f"{variant.label} {point} {schedule} time_tile={time_tile}: {failure}")
    busy = [p for p in chosen if p.ranks > 1]
    if index == 0 and busy and not failures and (options.mode == "long" or is_sample and one_bit_pattern(session.program.name, options.mode)):
        try:
            bits_repeat(case, busy[0], 100)
        except Failed as failure:
            failures.append(f"{variant.label} {busy[0]} twice: {failure}")


def chosen_programs(options):
    """(path, is a sample) of the programs to test. A smaller run takes some of them; in CI they take turns."""
    root = Path(__file__).resolve().parents[2]
    samples = [] if options.only == "cases" else sorted((root / "samples").glob("*.tdsl"))
    cases = [] if options.only == "samples" else sorted((root / "tests/e2e/cases").glob("*.tdsl"))
    if {p.stem for p in samples} & {p.stem for p in cases}:
        sys.exit("a sample and a case have one name, and would share a folder")
    if options.filter:
        samples, cases = ([p for p in paths if options.filter in f"e2e/{p.stem}"] for paths in (samples, cases))
    elif options.mode == "quick":
        samples, cases = samples[::3], cases[::6]
    elif options.mode == "ci":
        samples, cases = turns.part(samples, 3), turns.part(cases, 6)
    elif options.mode == "sanitizer":
        samples, cases = turns.part(samples[::6], 2), turns.part(cases[::18], 2)
    return [(p, True) for p in samples] + [(p, False) for p in cases]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mode", choices=("quick", "ci", "long", "sanitizer"), default="quick")
    parser.add_argument("--tdslc", default=os.environ.get("TDSLC", "tdslc"))
    parser.add_argument("--filter", default="")
    parser.add_argument("--jobs", type=int, default=4)
    parser.add_argument("--limit", type=float, default=60, help="seconds for one launch")
    parser.add_argument("--schedule", help="this one at all points; else they take turns")
    parser.add_argument("--list", action="store_true", help="print the names of the chosen cases")
    parser.add_argument("--work", help="folder to work in; kept")
    parser.add_argument("--only", choices=("samples", "cases"))
    options = parser.parse_args()
    options.keep = options.work is not None
    temporary = None if options.work else tempfile.TemporaryDirectory(prefix="tdsl-e2e-")
    options.work = options.work or temporary.name
    found = chosen_programs(options)
    if options.list:
        print(*(path.stem for path, _ in found), sep="\n")
        return 0
    options.prefix = None
    if options.mode in ("quick", "ci") or options.mode == "sanitizer" and not instrumented(options.tdslc):
        options.prefix = Path(options.work).resolve() / "prefix"
        if not options.prefix.exists():
            cheap_prefix(options.tdslc, "-O0", options.work)
    options.strict = None
    if options.mode != "sanitizer":  # instrumented code has false warnings
        options.strict = Path(options.work).resolve() / "strict" / "prefix"
        if not options.strict.exists():
            strict_prefix(options.tdslc, Path(options.work).resolve())
    failed = launches = 0
    longest = []
    with ThreadPoolExecutor(options.jobs) as pool:
        for name, failures, count, seconds in pool.map(lambda f: test_program(*f, options), found):
            launches += count
            failed += bool(failures)
            longest.append((seconds, name))
            for failure in failures[:SHOWN_FAILURES]:
                print(f"    {failure}")
            if len(failures) > SHOWN_FAILURES:
                print(f"    and {len(failures) - SHOWN_FAILURES} more failing points")
            print(f"{'FAIL' if failures else 'PASS'} e2e/{name}")
            if options.keep:
                print(f"    {count} launches, {seconds:.1f} s")
            sys.stdout.flush()
    print(f"{len(found)} programs, {launches} launches; longest: " + ", ".join(f"{name} {seconds:.0f} s" for seconds, name in sorted(longest)[:-9:-1]))
    print("seconds, all jobs together: " + ", ".join(f"{kind} {seconds:.0f}" for kind, seconds in launch.SECONDS.most_common(12)))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
