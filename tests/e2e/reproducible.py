#!/usr/bin/python3
"""`--reproducible`: every program gives the same bits at 1, 2, 3, 4, 7 ranks and 1, 2, 3 threads. Small inputs are cut by
--tile and also compared with the evaluator; large ones are cut as the option chooses. PASS reproducible/NAME or FAIL."""
import argparse
import itertools
import os
import random
import sys
import tempfile
import traceback
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

sys.dont_write_bytecode = True

import compare
import turns
from points import Point
from program import Program, Variant
from session import Failed, Session, Unchecked

ROOT = Path(__file__).resolve().parents[2]
RANKS, THREADS, TILES = (1, 2, 3, 4, 7), (1, 2, 3), (None, "7")
# Sizes at which the option cuts operands and sums itself.
LARGE = {
    "cp_decomposition": ("n=90 m=80 l=70 r=12", ["--steps", "2"]),
    "attention": ("heads=3 n=400 d=30 e=50", []),
    "conjugate_gradient": ("n=600", ["--tolerance", "0.05"]),
    "heat": ("n=700 m=500", ["--steps", "10"]),
    "histogram": ("n=400000", ["--bins", "7"]),
    "kmeans": ("n=40000 d=6 k=5", ["--steps", "4"]),
    "logistic_regression": ("n=9000 d=40", ["--steps", "4", "--lambda", "0.5"]),
    "matmul": ("n=700 m=900 k=500", []),
    "matrix_chain": ("s=700 t=300", []),
    "pagerank": ("n=700", ["--steps", "12"]),
    "power_iteration": ("n=900", ["--tolerance", "1e-6"]),
    "ridge_regression": ("n=30000 d=60", ["--lambda", "0.5"]),
    "shortest_paths": ("n=300", []),
    "tall_qr": ("n=40000 d=12", []),
    "two_layer_network": ("n=3000 m=90 h=70 o=20", ["--steps", "3", "--rate", "0.05"]),
}


def points_of(mode, name, tile):
    """The first point is the reference for all others."""
    rest = [Point(p, tile, t, "none", False) for p, t in itertools.product(RANKS, THREADS)][1:]
    if mode == "long":
        chosen = rest
    else:
        # All numbers of ranks in CI, few in a quick run; random numbers of threads.
        rng = random.Random(f"{name} {tile}")
        chosen = [rng.choice([q for q in rest if q.ranks == p]) for p in (RANKS[1:] if mode == "ci" else rng.sample(RANKS[1:], 1))]
    return [Point(1, tile, 1, "none", False), *chosen]


def compare_points(case, chosen, by_statements=False):
    first = text = None
    for number, point in enumerate(chosen):
        try:
            got = case.run(point, 17 * number, f"p{number}", ["--reproducible"], by_statements)
        except Failed as failure:
            raise Failed(f"{case.variant.label} {point}: {failure}") from None
        if first is None:
            first, text = got, case.text
        for name, value in got.items():
            if not compare.same_bits(value, first[name]):
                raise Failed(f"{case.variant.label} {point}: {name} has other bits than at one rank with one thread")
        if case.text != text:
            raise Failed(f"{case.variant.label} {point}: prints something else than one rank with one thread")


def test_program(path, options):
    name, session = path.stem, None
    try:
        session = Session(Program(path), options.tdslc, Path(options.work) / name, options.limit)
        session.build_both_forms()
        # The second variant has small integers, whose sums are exact in any order, so its bits mean little.
        variants = session.program.variants[:2 if options.mode == "long" else 1]
        for variant, tile in itertools.product(variants, TILES):
            # The planner's default tiles are larger than small inputs.
            mode = "quick" if tile is None and options.mode == "ci" else options.mode
            if tile is None and (options.mode == "quick" or options.mode == "ci" and name in LARGE):
                continue
            case = session.prepare(variant)
            compare_points(case, points_of(mode, name, tile), by_statements=True)
            if session.statements:  # there is a second variant: loops over small tensors as one task
                compare_points(case, points_of("long" if mode == "long" else "quick", name, tile))
        if name in LARGE and path.parent.name == "samples":
            sizes, arguments = LARGE[name]
            variant = Variant("large", {k: int(v) for k, v in (w.split("=") for w in sizes.split())}, False, arguments)
            compare_points(Unchecked(session, variant), points_of(options.mode, name, None))
        return name, None, session.launches
    except Failed as failure:
        return name, str(failure), session.launches
    except Exception:
        return name, traceback.format_exc(), 0


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mode", choices=("quick", "ci", "long"), default="quick")
    parser.add_argument("--tdslc", default=os.environ.get("TDSLC", "tdslc"))
    parser.add_argument("--filter", default="")
    parser.add_argument("--list", action="store_true", help="print the names of the chosen cases")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--limit", type=float, default=60)
    options = parser.parse_args()
    found = sorted((ROOT / "samples").glob("*.tdsl"))
    if options.mode == "long" or options.filter:
        found += sorted((ROOT / "tests/e2e/cases").glob("*.tdsl"))
    found = [p for p in found if options.filter in f"reproducible/{p.stem}"]
    found = turns.part(found, 4)
    if options.list:
        print(*(p.stem for p in found), sep="\n")
        return 0
    failed = launches = 0
    with tempfile.TemporaryDirectory(prefix="tdsl-reproducible-") as options.work:
        with ThreadPoolExecutor(options.jobs) as pool:
            for name, failure, count in pool.map(lambda p: test_program(p, options), found):
                launches += count
                failed += failure is not None
                print(f"    {failure}\nFAIL reproducible/{name}" if failure else f"PASS reproducible/{name}", flush=True)
    print(f"{len(found)} programs, {launches} launches")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
