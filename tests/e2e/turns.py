#!/usr/bin/python3
"""Rotation of slow suites in CI: TDSL_TEST_TURN, an integer that grows from commit to commit, selects part TURN mod N of N. Without it everything runs.
In shell: `turns.py N WORD...` prints the words of the part. `turns.py --check`: all turns together run every case. PASS turns/NAME or FAIL turns/NAME."""
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

TESTS = Path(__file__).resolve().parents[1]
# Runners and the number of turns in which they run everything. With --list they print the names of the chosen cases.
RUNNERS = {"e2e": ("e2e/run.py --mode ci", 6), "e2e_sanitized": ("e2e/run.py --mode sanitizer", 2), "errors": ("e2e/errors.py", 2),
           "endings": ("e2e/endings.py", 2), "reproducible": ("e2e/reproducible.py --mode ci", 4), "checkpoints": ("e2e/checkpoints.py", 2), "facts": ("e2e/facts.py --mode ci", 2),
           "conformance": ("conformance/run.py", 4), "cluster": ("cluster/run.py --tdslc none", 4)}


def part(cases, parts):
    """The cases of the current turn, in order: those whose position mod `parts` is the turn's. No turn is without cases, unless there are none."""
    turn, parts = os.environ.get("TDSL_TEST_TURN"), min(parts, len(cases))
    return cases[int(turn) % parts::parts] if turn and cases else cases


def chosen_by(runner, turn):
    file, *options = runner.split()
    command = [sys.executable, str(TESTS / file), *options, "--list"]
    return subprocess.run(command, env={**os.environ, "TDSL_TEST_TURN": turn}, capture_output=True, text=True, check=True).stdout.split()


def problem_of(runner, count):
    """The first defect of a runner's parts: a case that no turn runs, or a turn without a case. None if there is none."""
    every, *chosen = (chosen_by(runner, turn) for turn in ("", *map(str, range(count))))
    if not all(chosen):
        return f"turn {next(k for k, names in enumerate(chosen) if not names)} runs nothing"
    differing = set(every) ^ set().union(*chosen)
    return f"{sorted(differing)} of {len(every)} cases" if differing else None


def main():
    if sys.argv[1:2] != ["--check"]:
        print(*part(sys.argv[2:], int(sys.argv[1])))
        return 0
    chosen = [name for name in RUNNERS if "".join(sys.argv[2:]) in f"turns/{name}"]
    failed = 0
    with ThreadPoolExecutor(2) as pool:
        for name, problem in zip(chosen, pool.map(lambda name: problem_of(*RUNNERS[name]), chosen)):
            print(f"    {problem}\nFAIL turns/{name}" if problem else f"PASS turns/{name}", flush=True)
            failed += problem is not None
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
