#!/usr/bin/python3
"""Interrupted programs resume: at every boundary, bit-identical on the same number of ranks; on other numbers of ranks equal up to rounding, or
bit-identical with --reproducible. Signals, damaged and foreign checkpoints, full disks. PASS checkpoints/NAME or FAIL."""
import argparse
import copy
import fcntl
import json
import os
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

sys.dont_write_bytecode = True

import numpy as np

import launch
import series
import turns

HERE = Path(__file__).resolve().parent
RESUMED = "resuming from"


class Failed(Exception):
    """A failed check, with its description."""


def require(condition, text):
    if not condition:
        raise Failed(text)


class Case:
    """A program and its inputs in a folder."""

    def __init__(self, name, options, outputs):
        self.folder, self.options, self.outputs, self.runs = Path(options.work) / name, options, outputs, 0
        self.folder.mkdir()
        self.program = self.folder / name
        subprocess.run([options.tdslc, "build", HERE / "checkpoints" / f"{name}.tdsl", "-o", self.program, "--disable-pass", "serial_loops"], check=True, capture_output=True,
                       timeout=600)
        self.environment = {**os.environ, **launch.without_leaks(), "TDSL_OVERSUBSCRIBED": "1", "OMP_NUM_THREADS": "2"}
        self.arguments = []

    def command(self, ranks, *more):
        self.runs += 1
        self.into = self.folder / f"out{self.runs}"
        self.into.mkdir()
        files = [w for name in self.outputs for w in (f"--{name}", self.into / f"{name}.npy")]
        return [str(w) for w in (*launch.mpi_command(ranks), self.program, *self.arguments, *files, *more)]

    def start(self, ranks, *more, stop=None, **others):
        environment = {**self.environment, "TDSL_STOP_AT_BOUNDARY": str(stop)} if stop else self.environment
        return subprocess.Popen(self.command(ranks, *more), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=self.folder, env=environment,
                                **others)

    def end(self, child, code):
        text, errors = child.communicate(timeout=self.options.limit)
        require(child.returncode == code, f"{' '.join(child.args)}: exit code {child.returncode} instead of {code}\n{errors}")
        left = [p.name for p in self.into.iterdir() if p.name.startswith(".")]
        require(not left, f"{left} are left behind")
        return text, errors

    def run(self, ranks, *more, code=0, stop=None, **others):
        return self.end(self.start(ranks, *more, stop=stop, **others), code)

    def results(self):
        return {name: np.load(self.into / f"{name}.npy") for name in self.outputs}


def same_bits(got, wanted, where):
    for name, value in wanted.items():
        require(got[name].tobytes() == value.tobytes(), f"{where}: {name} has other bits")


def near(got, wanted, where):
    for name, value in wanted.items():
        require(np.allclose(got[name], value, rtol=1e-9, atol=1e-12), f"{where}: {name} is {got[name]}, not {value}")


def training(options):
    case = Case("training", options, ("gram", "w", "moved"))
    rng = np.random.default_rng(5)
    X = 2 * rng.standard_normal((61, 7))
    np.save(case.folder / "X.npy", X)
    np.save(case.folder / "y.npy", rng.standard_normal(61))
    case.arguments = ["--X", "X.npy", "--y", "y.npy"]
    return case


def every_boundary(options, ranks):
    """The run stops at every boundary in turn and is resumed."""
    case = training(options)
    whole, _ = case.run(ranks)
    wanted = case.results()
    text = case.run(ranks, "--checkpoint", "ck", "--resume", "ck", code=75, stop=1)[0]  # it does not exist yet
    stops = 1
    while True:
        child = case.start(ranks, "--checkpoint", "ck", "--resume", "ck", stop=1)
        more, errors = child.communicate(timeout=options.limit)
        text += more
        require(RESUMED in errors, f"nothing is said of going on:\n{errors}")
        if child.returncode != 75:
            break
        stops += 1
        require(len(list((case.folder / "ck").glob("ck-*"))) <= 3, "old checkpoints stay")
    require(child.returncode == 0, f"exit code {child.returncode}: {errors}")
    require(stops > 15, f"only {stops} boundaries")
    require(text == whole, f"prints\n{text}instead of\n{whole}")
    same_bits(case.results(), wanted, f"after {stops} interruptions")
    require((case.folder / "ck/finished").exists(), "the end is not noted")
    return case


def single(options):
    case = every_boundary(options, 1)
    # Saving takes no extra memory: the minimum without checkpoints is sufficient.
    _, errors = case.run(1, "--memory", "1", code=2)
    least = re.search(r"at least --memory (\d+)", errors)[1]
    case.run(1, "--memory", least)
    wanted = case.results()
    _, errors = case.run(1, "--memory", least, "--checkpoint", "tight", "--checkpoint-every", "0")
    require("warning" not in errors, errors)
    same_bits(case.results(), wanted, f"saved at every boundary with --memory {least}")


def ranks3(options):
    case = every_boundary(options, 3)
    # Two checkpoints of an interrupted run, for the checks below.
    case.run(3)
    wanted = case.results()
    case.run(3, "--reproducible")
    exact = case.results()
    rng = random.Random(3)
    for ranks in (1, 2, 4):
        boundary = rng.randrange(3, 12)
        case.run(3, "--checkpoint", f"r{ranks}", "--checkpoint-every", "0", code=75, stop=boundary)
        case.run(ranks, "--resume", f"r{ranks}")
        near(case.results(), wanted, f"boundary {boundary}, {ranks} ranks")
    case.run(3, "--reproducible", "--checkpoint", "exact", code=75, stop=6)
    case.run(2, "--reproducible", "--resume", "exact")
    same_bits(case.results(), exact, "--reproducible on 2 ranks")
    refusals(case, "r2", wanted)


def refusals(case, folder, wanted):
    """Checkpoints of a different run, or damaged ones."""
    for more, said in ((["--wanted", "0.2"], "param wanted was 0.1, is now 0.2"), (["--seed", "7"], "--seed was 0, is now 7")):
        _, errors = case.run(3, "--resume", folder, *more, code=2)
        require(said in errors and "was written by a different run" in errors, errors)
    X = np.load(case.folder / "X.npy")
    np.save(case.folder / "X.npy", X + 1)
    _, errors = case.run(3, "--resume", folder, code=2)
    np.save(case.folder / "X.npy", X)
    require("input X was " in errors, errors)
    _, errors = case.run(1, "--checkpoint", folder, code=2)
    require("holds checkpoints of another run" in errors, errors)
    _, errors = case.run(1, "--resume", "nowhere", code=2)
    require("there is no directory `nowhere`" in errors, errors)
    newest, older = sorted((case.folder / folder).glob("ck-*"), reverse=True)[:2]
    unreadable(case, folder, newest, older, wanted)
    of_another_version(case, folder)
    base = min((case.folder / folder).glob("base-*/rank-00001.bin"))
    damage(base, 2)
    _, errors = case.run(3, "--resume", folder, code=1)
    require(f"{base.parent.name}/rank-00001.bin`: " in errors and "is damaged" in errors and "none of its checkpoints can be used" in errors, errors)
    damage(base, 2)
    damage(newest / "rank-00000.bin", 3)
    _, errors = case.run(3, "--resume", folder)
    require("is damaged" in errors and older.name in errors and len(errors.strip().splitlines()) == 2, errors)
    same_bits(case.results(), wanted, "from the one before")
    damage(older / "manifest", 40)
    _, errors = case.run(3, "--resume", folder, code=1)
    require("none of its checkpoints can be used" in errors, errors)
    (case.folder / "empty").mkdir()
    _, errors = case.run(3, "--checkpoint", "empty", "--resume", "empty")
    require("no checkpoint in `" in errors, errors)
    same_bits(case.results(), wanted, "from an empty directory")


def unreadable(case, folder, newest, older, wanted):
    """A temporary read error ends the search, a missing file does not."""
    for name in ("rank-00000.bin", "manifest"):
        file, kept = newest / name, case.folder / "kept"
        file.rename(kept)
        file.symlink_to(name)
        _, errors = case.run(3, "--resume", folder, code=1)
        require("Too many levels of symbolic links" in errors and f"{newest.name}` may be good" in errors and "warning" not in errors, errors)
        file.unlink()
        _, errors = case.run(3, "--resume", folder)
        require(f"{newest.name}/{name}`: No such file or directory; trying the previous checkpoint" in errors and f"{RESUMED} `{folder}/{older.name}`" in errors, errors)
        same_bits(case.results(), wanted, f"without {name}")
        kept.rename(file)


def of_another_version(case, folder):
    """Checkpoints of another format version are rejected, and nothing in their directory is removed."""
    shutil.copytree(case.folder / folder, case.folder / "other")
    for manifest in (case.folder / "other").glob("ck-*/manifest"):
        content = manifest.read_bytes()
        require(content.startswith(b"tdsl-checkpoint 7\n"), content[:40])
        manifest.write_bytes(content.replace(b"tdsl-checkpoint 7\n", b"tdsl-checkpoint 5\nwhatever that has\n"))
    for name in (".ck-000099.left", "base-000099"):
        (case.folder / "other" / name).mkdir()
    (case.folder / "other/finished").touch()
    files = lambda: sorted(str(p) for p in (case.folder / "other").rglob("*") if p.name != ".lock")
    before = files()
    for more in ([], ["--checkpoint", "other"]):
        _, errors = case.run(3, "--resume", "other", *more, code=2)
        require("was written by another version of TDSL: its manifest has format 5, and this program reads format 7" in errors and "warning" not in errors, errors)
        require(files() == before, f"{set(before) - set(files())} are gone")


def locked(options):
    """A resumed run waits for the lock of a run whose host was lost, without its ranks being reported as lost; another run is rejected."""
    case = training(options)
    case.run(2)
    wanted = case.results()
    case.run(2, "--checkpoint", "ck", code=75, stop=3)
    (case.folder / "new").mkdir()
    with open(case.folder / "ck/.lock", "a") as lock, open(case.folder / "new/.lock", "a") as fresh:
        fcntl.flock(lock, fcntl.LOCK_EX)
        fcntl.flock(fresh, fcntl.LOCK_EX)
        refused = case.start(1, "--checkpoint", "new")
        waiting = case.start(2, "--checkpoint", "ck", "--resume", "ck", "--heartbeat", "3")
        _, errors = case.end(refused, 2)
        require("another run is writing checkpoints to `new`" in errors, errors)
        time.sleep(3)
        require(waiting.poll() is None, "it does not wait")
    _, errors = case.end(waiting, 0)
    require(errors.count("waiting for the lock of `ck`, for up to 120 s") == 1, errors)
    same_bits(case.results(), wanted, "after waiting")


def damage(path, at):
    content = bytearray(path.read_bytes())
    content[at] ^= 4
    path.write_bytes(content)


def signals(options):
    """A signal at any time, to any rank; a full disk."""
    case = training(options)
    case.arguments += ["--steps", "200"]
    case.run(3)
    wanted = case.results()
    rng = random.Random(9)
    for number, what in enumerate((signal.SIGUSR1, signal.SIGTERM, signal.SIGUSR1)):
        folder = f"s{number}"
        child = case.start(3, "--checkpoint", folder)
        child.stdout.readline()
        time.sleep(rng.random() / 4)
        ranks = subprocess.run(["pgrep", "-f", f"^{case.program} .*--checkpoint {folder}"], capture_output=True, text=True, check=False).stdout.split()
        if ranks:
            os.kill(int(rng.choice(ranks)), what)
        child.communicate(timeout=options.limit)
        if child.returncode == 0:
            continue  # too late
        require(child.returncode == 75, f"exit code {child.returncode}")
        case.run(3, "--resume", folder)
        same_bits(case.results(), wanted, f"{what.name}")
    case.arguments = case.arguments[:-2]
    _, errors = case.run(1, "--checkpoint", "full", "--checkpoint-every", "0",
                         preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096)))
    require("no checkpoint was written" in errors, errors)
    require(not list((case.folder / "full").glob("*ck-*")), "an unfinished checkpoint stays")


def sparse(options):
    case = Case("sparse", options, ("x",))
    rng = np.random.default_rng(2)
    n = 83
    A = np.where(rng.random((n, n)) < 0.04, rng.standard_normal((n, n)), 0.0)
    np.save(case.folder / "A.npy", A)
    np.save(case.folder / "b.npy", rng.standard_normal(n))
    case.arguments = ["--A", "A.npy", "--b", "b.npy"]
    whole, _ = case.run(3)
    wanted = case.results()
    for stop in (1, 3):
        text, _ = case.run(3, "--checkpoint", f"c{stop}", code=75, stop=stop)
        more, _ = case.run(3, "--resume", f"c{stop}")
        require(text + more == whole, f"prints {text + more}")
        same_bits(case.results(), wanted, f"boundary {stop}")
    for ranks in (1, 2):
        case.run(ranks, "--resume", "c3")
        near(case.results(), wanted, f"{ranks} ranks")


def decided(options):
    """Decisions that depended on the original number of ranks are preserved, also after several changes of it."""
    case = Case("decided", options, ("x", "z"))
    rng = np.random.default_rng(4)
    A = rng.standard_normal((400, 400))
    np.save(case.folder / "A.npy", A @ A.T + 400 * np.eye(400))
    np.save(case.folder / "T.npy", rng.standard_normal((600, 5)))
    case.arguments = ["--A", "A.npy", "--T", "T.npy"]
    case.run(1)
    wanted = case.results()
    for first, second, third in ((1, 2, 2), (3, 1, 3)):
        name = f"ck{first}"
        case.run(first, "--checkpoint", name, code=75, stop=2)
        case.run(second, "--checkpoint", name, "--resume", name, code=75, stop=1)
        case.run(third, "--checkpoint", name, "--resume", name)
        near(case.results(), wanted, f"{first}, {second} and {third} ranks")


def counted(case, memory):
    """Checks the ranks' disk and memory statistics against predictions; returns the bytes read."""
    read = 0
    for number, rank in enumerate(json.loads((case.folder / "stats.json").read_text())["per_rank"]):
        for figure in ("disk_read", "disk_written"):
            low, high = np.broadcast_to(rank["predicted"].get(figure, 0), 2)
            require(low <= rank[figure] <= high, f"rank {number}: {figure} {rank[figure]}, predicted {low} to {high}")
        require(rank["peak_block_bytes"] <= memory and rank["disk_bytes_at_exit"] == 0, f"rank {number} of {memory} bytes: {rank}")
        read += rank["disk_read"]
    return read


def on_memory(folder):
    return subprocess.run(["stat", "-f", "-c", "%T", folder], capture_output=True, text=True, check=True).stdout.strip() in ("tmpfs", "ramfs")


def spilled(options):
    """Matrices on disk are saved and restored block by block: same bits, within the same memory, and with the predicted bytes."""
    case = Case("spilled", options, ("C", "s"))
    rng = np.random.default_rng(8)
    n = 400
    matrix = 8 * n * n
    np.save(case.folder / "A.npy", rng.standard_normal((n, n)))
    np.save(case.folder / "w.npy", rng.standard_normal(n))
    case.arguments = ["--A", "A.npy", "--w", "w.npy", "--stats", "stats.json"]
    little = lambda ranks: ["--memory", str((3 + ranks // 2) * matrix // 4), "--spill", "."]
    # The folder of an output is that of its file, not of a name inside it.
    (case.folder / "made").mkdir()
    case.outputs, case.environment = ("s",), {name: value for name, value in case.environment.items() if name not in ("TMPDIR", "SLURM_TMPDIR")}
    # AddressSanitizer's dlopen ignores the executable's library path for the plug-in.
    if not on_memory(case.folder) and os.environ.get("TDSL_TEST_PRESET", "release") == "release":
        _, errors = case.run(1, *little(1)[:2], "--dry-run", "--C", "made/run.h5:/model/C")
        require(" on disk in made, because memory is too small" in errors, errors)
    case.outputs = ("C", "s")
    wanted = {}
    for ranks in (1, 2):
        memory = int(little(ranks)[1])
        whole, errors = case.run(ranks, *little(ranks))
        require(errors.count("[spill]") == 1, errors)
        wanted[ranks], read = case.results(), counted(case, memory)
        _, errors = case.run(ranks, *little(ranks), "--checkpoint", f"all{ranks}", "--checkpoint-every", "0")
        require("; a checkpoint reads up to " in errors, errors)
        same_bits(case.results(), wanted[ranks], f"saved at every boundary on {ranks} ranks")
        more = counted(case, memory) - read
        require(more >= 5 * matrix, f"five checkpoints read {more} bytes")
        text, _ = case.run(ranks, *little(ranks), "--checkpoint", f"r{ranks}", code=75, stop=3)
        for again in (["--checkpoint", f"r{ranks}"], []):
            rest, errors = case.run(ranks, *little(ranks), *again, "--resume", f"r{ranks}", code=75 if again else 0, stop=2 if again else None)
            text += rest
            require(RESUMED in errors and errors.count("[spill]") == 1 and "replanned" not in errors, errors)
        require(text == whole, f"prints\n{text}instead of\n{whole}")
        same_bits(case.results(), wanted[ranks], f"interrupted twice on {ranks} ranks")
        counted(case, memory)
    near(wanted[2], wanted[1], "2 ranks")
    # Tensors move from disk to memory and back, and to other ranks.
    case.run(1, "--checkpoint", "roomy", code=75, stop=3)
    for ranks, limit, folder in ((1, little(1), "roomy"), (3, [], "r2"), (1, little(1), "r2"), (2, little(2), "r1")):
        _, errors = case.run(ranks, *limit, "--resume", folder)
        require("replanned" in errors and errors.count("[spill]") == (1 if limit else 0), errors)
        near(case.results(), wanted[1], f"{folder} on {ranks} ranks with {limit}")
        counted(case, int(limit[1]) if limit else 1 << 40)


CASES = {"series": lambda options: series.series(options, Case, require), "single": single, "spilled": spilled, "decided": decided, "ranks3": ranks3, "locked": locked, "signals": signals, "sparse": sparse}


def passes(name, options):
    with tempfile.TemporaryDirectory(prefix="tdsl-checkpoints-") as options.work:
        try:
            CASES[name](options)
        except Failed as failure:
            print(f"    {failure}\nFAIL checkpoints/{name}", flush=True)
        except Exception:
            print(f"    {traceback.format_exc()}\nFAIL checkpoints/{name}", flush=True)
        else:
            print(f"PASS checkpoints/{name}", flush=True)
            return True
    return False


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tdslc", default=os.environ.get("TDSLC", "tdslc"))
    parser.add_argument("--filter", default="")
    parser.add_argument("--limit", type=float, default=60)
    parser.add_argument("--list", action="store_true", help="print the names of the chosen cases")
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    chosen = turns.part([name for name in CASES if options.filter in f"checkpoints/{name}"], 2)
    if options.list:
        print(*chosen, sep="\n")
        return 0
    with ThreadPoolExecutor(options.jobs) as pool:  # they mostly wait
        passed = list(pool.map(lambda name: passes(name, copy.copy(options)), chosen))
    return 0 if all(passed) else 1


if __name__ == "__main__":
    sys.exit(main())
