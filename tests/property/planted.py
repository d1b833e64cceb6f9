#!/usr/bin/python3
"""Plants each bug of planted/ in a copy of the sources, one at a time, and checks that generated programs find it. Bugs in file readers
(runtime/io/) must be found by their tests: generated files in any number of parts.

A file of planted/ has the source file, a sentence, and the text to replace:

    passes/fusion/fusion.cpp
    the effect of the bug
    <<<<
    old lines, found exactly once
    ====
    new lines
    >>>>
"""
import argparse
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.dont_write_bytecode = True

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
FORM = re.compile(r"(.*?)\n(.*?)\n<<<<\n(.*?)\n====\n(.*?)\n>>>>\n", re.S)
# The search for a bug ends after this many programs.
MOST_PROGRAMS = 600


class Bug:
    def __init__(self, path):
        self.name = path.stem
        match = FORM.fullmatch(path.read_text())
        if match is None:
            raise SystemExit(f"{path}: not of the form described in planted.py")
        self.file, self.what, self.old, self.new = match.groups()

        # Layout is the formatter's: blanks do not count.
        self.found = re.compile(r"\s*".join(re.escape(token) for token in re.findall(r"\w+|[^\w\s]", self.old)))

    def applies(self, root):
        return (root / self.file).exists() and len(self.found.findall((root / self.file).read_text())) == 1

    @property
    def in_readers(self):
        return self.file.startswith("runtime/io/")

    def plant(self, root):
        path = root / self.file
        original = path.read_text()
        path.write_text(self.found.sub(lambda _: self.new, original))
        return original


class Scratch:
    """A copy of the repository with its own build."""

    def __init__(self, folder, log):
        self.folder, self.log = Path(folder), log
        # At the same depth as a developer's build, so that a compiler cache recognises its files.
        self.build_folder = self.folder / "build" / "release"

    def copy(self):
        shutil.copytree(ROOT, self.folder, dirs_exist_ok=True, ignore=shutil.ignore_patterns("build", ".git", "found"))

    def configure(self):
        launcher = ["-DCMAKE_CXX_COMPILER_LAUNCHER=ccache"] if shutil.which("ccache") else []
        return self.run(["cmake", "--preset", "release", "-B", self.build_folder, *launcher], 300)

    def build(self, *targets):
        return self.run(["cmake", "--build", self.build_folder, "-j", str(os.cpu_count()), "--target", *(targets or ("tdslc", "tdsl_rt"))], 3600)

    def readers_agree(self):
        """Whether the tests of readers pass, and their output."""
        tests = [str(self.build_folder / "bin" / "tdsl_runtime_tests"), "--no-colors", "--test-case=io*"]
        result = subprocess.run(tests, capture_output=True, text=True, timeout=600)
        with open(self.log, "a") as log:
            log.write(result.stdout + result.stderr)
        failed = re.findall(r"^FAIL (.*)", result.stdout, re.M)
        return result.returncode == 0, ", ".join(failed)[:200]

    def run(self, command, limit):
        with open(self.log, "a") as log:
            log.write(f"$ {' '.join(map(str, command))}\n")
            log.flush()
            return subprocess.run([str(c) for c in command], cwd=self.folder, stdout=log, stderr=log, timeout=limit).returncode == 0

    def keep_clean(self):
        """Installs the compiler without bugs next to the scratch build."""
        return self.run(["cmake", "--install", self.build_folder, "--prefix", self.folder / "clean"], 300)

    @property
    def tdslc(self):
        return self.build_folder / "bin" / "tdslc"

    @property
    def clean_tdslc(self):
        return self.folder / "clean" / "bin" / "tdslc"


def look(scratch, tdslc, seed, step):
    """Failures of the compiler on generated programs, or None."""
    command = [HERE / "run.py", "--tdslc", tdslc, "--seed", seed, "--count", step, "--batch", step, "--ranks", "1,2,3",
               "--launches", "2", "--stop-at-first", "--jobs", "1", "--no-coverage", "--found", scratch.folder / "found",
               "--seconds-per-program", "0.5", "--optimise=-O0"]
    result = subprocess.run([str(c) for c in command], capture_output=True, text=True)
    with open(scratch.log, "a") as log:
        log.write(result.stdout + result.stderr)
    if result.returncode not in (0, 1):
        raise SystemExit(f"run.py ended with {result.returncode}: {result.stderr[-300:]}")
    if result.returncode == 0:
        return None
    lines = result.stdout.splitlines()
    place = next((k for k, x in enumerate(lines) if re.match(r"  \d+ x ", x)), None)
    if place is None:
        raise SystemExit(f"run.py failed itself: {result.stderr[-300:]}")
    return " ".join(x.strip() for x in lines[place:place + 2])[:200]


def outcome_in_readers(scratch, bug, begun):
    if not scratch.build("tdsl_runtime_tests"):
        return f"FAIL planted/{bug.name}: does not compile (log: {scratch.log})"
    agree, seen = scratch.readers_agree()
    if agree:
        return f"FAIL planted/{bug.name}: not found by the tests of readers: {bug.what}"
    return f"PASS planted/{bug.name}\n    {bug.what}: found, {time.time() - begun:.0f} s: {seen}"


def outcome_in_programs(scratch, bug, begun, options):
    if not scratch.build():
        return f"FAIL planted/{bug.name}: does not compile (log: {scratch.log})"
    found, programs, seen = hunt(scratch, options.seed, options.count, options.step)
    if not found:
        return f"FAIL planted/{bug.name}: not found by {programs} programs: {bug.what}{seen}"
    return f"PASS planted/{bug.name}\n    {bug.what}: found within {programs} programs, {time.time() - begun:.0f} s: {seen}"


def hunt(scratch, seed, count, step):
    """(found, programs tried, symptom). Programs that also fail without the bug do not count."""
    done, own = 0, []
    while done < count:
        seen = look(scratch, scratch.tdslc, seed + done, step)
        if seen is not None:
            clean = look(scratch, scratch.clean_tdslc, seed + done, step)
            if clean is None:
                return True, done + step, seen
            own.append(clean)
        done += step
    return False, done, f" (fails without it too: {own[0]})" if own else ""


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="only whether every bug can still be planted")
    parser.add_argument("--only", help="bugs whose name contains this")
    parser.add_argument("--from", dest="first", default="", help="bugs from this name on")
    parser.add_argument("--seed", type=int, default=100000)
    parser.add_argument("--count", type=int, default=MOST_PROGRAMS, help="programs per bug at most")
    parser.add_argument("--step", type=int, default=25, help="programs in one executable")
    parser.add_argument("--work", help="scratch folder; kept, and built upon when it is there")
    options = parser.parse_args()
    bugs = [b for b in map(Bug, sorted((HERE / "planted").glob("*.txt"))) if b.name >= options.first and (not options.only or options.only in b.name)]
    stale = [b for b in bugs if not b.applies(ROOT)]
    for b in stale:
        print(f"FAIL planted/{b.name}: its text is not found exactly once in {b.file}; rewrite the bug")
    if options.check:
        for b in bugs:
            if b not in stale:
                print(f"PASS planted/{b.name} applies")
        return 1 if stale else 0
    # Termination also removes the planted bug.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    temporary = None if options.work else tempfile.TemporaryDirectory(prefix="tdsl-planted-")
    folder = Path(options.work or temporary.name)
    folder.mkdir(parents=True, exist_ok=True)
    scratch = Scratch(folder, folder / "planted.log")
    if not (options.work and scratch.clean_tdslc.exists()):
        scratch.copy()
        if not scratch.configure() or not scratch.build() or not scratch.keep_clean():
            print(f"FAIL planted/build (log: {scratch.log})")
            return 1
    failed = len(stale)
    if any(b.in_readers for b in bugs) and not (scratch.build("tdsl_runtime_tests") and scratch.readers_agree()[0]):
        print(f"FAIL planted/readers: their tests fail without a bug (log: {scratch.log})")
        return 1
    for bug in bugs:
        if bug in stale or not bug.applies(scratch.folder):
            continue
        begun, original = time.time(), bug.plant(scratch.folder)
        try:
            outcome = outcome_in_readers(scratch, bug, begun) if bug.in_readers else outcome_in_programs(scratch, bug, begun, options)
        finally:
            (scratch.folder / bug.file).write_text(original)
        failed += outcome.startswith("FAIL")
        print(outcome, flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
