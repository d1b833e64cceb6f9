#!/usr/bin/python3
"""Structural facts: `explain` for equivalent programs, counted and predicted bytes, random numbers independent of the plan, equal bits
under random delays, costs of building and starting. PASS facts/NAME or FAIL facts/NAME."""
import argparse
import json
import os
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

sys.dont_write_bytecode = True

import launch
import turns
from bits_facts import BitsFacts
from boundary_facts import BoundaryFacts
from build_facts import BuildFacts
from everyday_facts import EverydayFacts
from explain_facts import ExplainFacts
from found_facts import FoundFacts
from fourier_facts import FourierFacts
from masked_facts import MaskedFacts
from memory_facts import MemoryFacts
from operation_facts import OperationFacts
from plan_facts import PlanFacts
from program import Program
from relation_facts import RelationFacts
from session import Failed, Session
from sparse_facts import SparseFacts

ROOT = Path(__file__).resolve().parents[2]
# Slow tests that take turns in CI, half of them per commit.
IN_TURNS = ("test_forms_stay_sparse", "test_walks_receive_operands_once", "test_reads_of_few_elements_take_few_operations", "test_patterns_turn_in_loops", "test_tile_major_products_are_plain_products",
            "test_loops_over_small_tensors_are_tasks", "test_coded_columns_take_few_bytes", "test_vectors_of_graphs_are_fetched_by_lists", "test_product_holds_its_share_and_the_window")
# Instrumented compilers and executables are slow: only checks that run ranks.
WITH_SANITIZERS = ("test_received_bytes_are_as_predicted", "test_same_bits_under_delays")


class Facts(PlanFacts, ExplainFacts, MemoryFacts, SparseFacts, OperationFacts, BuildFacts, BitsFacts, RelationFacts, BoundaryFacts, EverydayFacts, MaskedFacts, FourierFacts, FoundFacts):
    """The tests of the files *_facts.py; each method `test_NAME` raises Failed or returns text to show."""

    def __init__(self, options, work):
        self.options, self.work, self.tdslc = options, Path(work), options.tdslc
        self.long = options.mode == "long"
        self.quick = not self.long
        self.sessions = {}

    def explain(self, program, *arguments):
        path = program if isinstance(program, Path) else ROOT / "samples" / f"{program}.tdsl"
        result = launch.run([self.tdslc, "explain", path, "--json", *arguments], self.options.limit)
        if result.code != 0:
            raise Failed(f"tdslc explain {program} {arguments}: {result}")
        return json.loads(result.out)

    # Loops over such small tensors would be one task; the counts are about statements of large ones.
    def session(self, path, build_options=("--disable-pass", "serial_loops")):
        if path not in self.sessions:
            program = Program(ROOT / path)
            self.sessions[path] = Session(program, self.tdslc, self.work / program.name, self.options.limit, build_options)
            self.sessions[path].build()
        return self.sessions[path]

    def run(self, executable, ranks, arguments, environment=None):
        result = launch.run([*launch.mpi_command(ranks), executable, *arguments], self.options.limit, cwd=self.work,
                            env={"TDSL_OVERSUBSCRIBED": "1", **(environment or {})})
        if result.code != 0 or result.timed_out:
            raise Failed(f"ranks={ranks} {arguments}: {result}")
        return result

    def received(self, executable, ranks, arguments, environment=None):
        """Received bytes of every rank."""
        self.run(executable, ranks, [*arguments, "--stats", "walk.json"], environment)
        return [r["bytes_received"] for r in json.loads((self.work / "walk.json").read_text())["per_rank"]]


def run_tests(options, work, waiting, seconds):
    """Runs tests until none is left; returns the number of failures."""
    facts, failed = Facts(options, work), 0
    while True:
        try:
            method = waiting.pop(0)
        except IndexError:
            return failed
        name, begin = "facts/" + method[5:], time.monotonic()
        try:
            text = getattr(facts, method)()
            print(f"    {text}\nPASS {name}" if text else f"PASS {name}", flush=True)
        except Failed as failure:
            failed += 1
            print(f"    {failure}\nFAIL {name}", flush=True)
        seconds[method[5:]] = time.monotonic() - begin


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mode", choices=("quick", "ci", "long", "sanitizer"), default="quick")
    parser.add_argument("--tdslc", default=os.environ.get("TDSLC", "tdslc"))
    parser.add_argument("--filter", default="")
    parser.add_argument("--limit", type=float, default=120)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--list", action="store_true", help="only names")
    options = parser.parse_args()
    every = [m for part in Facts.__mro__ for m in vars(part) if m.startswith("test_") and options.filter in "facts/" + m[5:] and (options.mode != "sanitizer" or m in WITH_SANITIZERS)]
    left_out = set(IN_TURNS) - set(turns.part(IN_TURNS, 2))
    waiting = [m for m in every if m not in left_out]
    if options.list:
        print("\n".join("facts/" + m[5:] for m in waiting))
        return 0
    seconds = {}
    with tempfile.TemporaryDirectory(prefix="tdsl-facts-") as work, ThreadPoolExecutor(options.jobs) as pool:
        folders = [Path(work) / str(job) for job in range(options.jobs)]
        for folder in folders:
            folder.mkdir()
        failed = sum(pool.map(lambda folder: run_tests(options, folder, waiting, seconds), folders))
    longest = sorted(seconds, key=seconds.get, reverse=True)[:8]
    print("longest: " + ", ".join(f"{name} {seconds[name]:.0f} s" for name in longest))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
