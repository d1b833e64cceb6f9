#!/usr/bin/python3
"""Faults at random times in runs on 2 to 4 ranks: killed and suspended ranks, full disks, failing or partial system calls, damaged inputs and
checkpoints. No wrong result, no hang, one TDSL message, no partial file, nothing left behind; checkpoints resume with the same bits.
One line per fault: PASS faults/KIND-N or FAIL; `--seed S --filter KIND-N` repeats it."""
import argparse
import errno
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.dont_write_bytecode = True

import numpy as np

import launch
import processes

HERE = Path(__file__).resolve().parent
MARK = "TDSL_TEST_FAULT"
# Foreign output: lines and boxes of Open MPI and its event library.
OF_OTHERS = re.compile(r"\[warn\] Epoll|\[\S+:\d+\]|\[\S+\]\[\[\d+,\d+\]")
BOXES = re.compile(r"(?ms)^-{20,}$.*?^-{20,}$\n?")
WARNING = re.compile(r"warning: .*\[\w+\]$")
REMARK = re.compile(r"resuming from `|stopped: checkpoint written to|no checkpoint in `\S+` yet")
PARTIAL = re.compile(r"(?m)^interrupted; (?:no output file was|output files had been) written\n")


class Failed(Exception):
    """A failed check, with its description."""


def require(condition, text):
    if not condition:
        raise Failed(text)


class Workload:
    """A program, its inputs, and its undisturbed results on a given number of ranks."""

    def __init__(self, name, source, outputs, inputs, options, more=()):
        self.name, self.outputs, self.options, self.more = name, outputs, options, list(more)
        self.program, self.folder = Path(options.work) / name, Path(options.work) / f"{name}.in"
        self.folder.mkdir()
        self.inputs = list(inputs)
        for input, array in inputs.items():
            np.save(self.folder / f"{input}.npy", array)
        built = launch.run([options.tdslc, "build", HERE / source, "-o", self.program, "--disable-pass", "serial_loops"], 600)
        require(built.code == 0, f"{source}: {built}")
        self.undisturbed = {}

    def on(self, ranks):
        """Its results, output and duration."""
        if ranks not in self.undisturbed:
            with Attempt(self, ranks) as attempt:
                begun = time.monotonic()
                attempt.run(code=0)
                self.undisturbed[ranks] = attempt.results(), attempt.out, time.monotonic() - begun
        return self.undisturbed[ranks]


class Attempt:
    """Runs of a workload in its own folder."""

    def __init__(self, workload, ranks):
        self.workload, self.ranks, self.options = workload, ranks, workload.options
        self.mounted = []

    def __enter__(self):
        self.work = tempfile.TemporaryDirectory(prefix="tdsl-faults-", ignore_cleanup_errors=True)
        self.mark = f"{os.getpid()}-{Path(self.work.name).name}"
        self.folder, self.session = (Path(self.work.name) / name for name in ("files", "session"))
        self.into, self.saved = self.folder / "out", self.folder / "ck"
        for folder in (self.folder, self.session, self.into):
            folder.mkdir()
        shutil.copytree(self.workload.folder, self.folder / "in")
        return self

    def __exit__(self, *_):
        for process in self.alive():
            os.kill(process.pid, signal.SIGKILL)
        for folder in self.mounted:
            subprocess.run(["umount", "-l", folder], check=False)
        self.work.cleanup()

    def mount(self, folder, size):
        """Mounts a small file system on the folder."""
        folder.mkdir(exist_ok=True)
        done = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", folder], capture_output=True, check=False)
        if done.returncode == 0:
            self.mounted.append(folder)
        return done.returncode == 0

    def start(self, *more, environment=None, ranks=None):
        w = self.workload
        files = [x for name in w.inputs for x in (f"--{name}", f"{self.folder}/in/{name}.npy")] + [x for name, file in w.outputs.items() for x in (f"--{name}", self.into / file)]
        command = [*launch.mpi_command(ranks or self.ranks), w.program, *files, *w.more, *more]
        with open(self.session / "stdout", "wb") as out, open(self.session / "stderr", "wb") as err:
            self.child = subprocess.Popen([str(c) for c in command], stdout=out, stderr=err, stdin=subprocess.DEVNULL, cwd=self.folder, start_new_session=True,
                                          env={**os.environ, **launch.without_leaks(), "TDSL_OVERSUBSCRIBED": "1", "OMP_NUM_THREADS": "1", MARK: self.mark,
                                               "OMPI_MCA_orte_tmpdir_base": str(self.session), **(environment or {})})

    def alive(self):
        found = [entry[0] for pid in os.listdir("/proc") if pid.isdigit() and (entry := processes.look(pid)) and entry[2] not in "ZX"]
        return [p for p in found if p.variable(MARK) == self.mark]

    def rank(self, number):
        """A rank's process, once it exists; None if the run is over."""
        while self.child.poll() is None:
            for process in processes.below(self.child.pid):
                if process.variable("OMPI_COMM_WORLD_RANK") == str(number) and process.name == self.workload.name:
                    return process
            time.sleep(0.01)
        return None

    def is_last(self, stopped):
        """Whether a rank was suspended after all had announced their end: the others exit, and none remains to detect it."""
        ranks = lambda: [p.pid for p in self.alive() if p.name == self.workload.name]
        processes.wait_until(lambda: ranks() in ([], [stopped.pid]), self.options.limit)
        if not ranks():
            return False
        time.sleep(5)  # if it was detected, the launcher ends it
        return ranks() == [stopped.pid]

    def end(self):
        """Waits for the end, and checks the remaining files and processes. On a busy machine everything takes longer, including undisturbed runs."""
        usual = self.workload.undisturbed.get(self.ranks, (0, 0, 10))[2]
        limit = self.options.limit + 15 * usual
        try:
            self.code = self.child.wait(limit)
        except subprocess.TimeoutExpired:
            where = "".join(f"\n      {p.name} of rank {p.variable('OMPI_COMM_WORLD_RANK')}: state {(processes.look(p.pid) or 'Z')[-1]}" for p in self.alive())
            raise Failed(f"it does not end within {limit:.0f} s: {self.text('stderr')[-800:]}{where}") from None
        self.out, self.err = self.text("stdout"), self.text("stderr")
        left = processes.wait_until(lambda: not self.alive(), 10)
        require(left, f"processes are left: {[p.name for p in self.alive()]}")
        odd = sorted(p.name for p in self.into.iterdir() if p.name not in self.workload.outputs.values())
        require(not odd, f"left behind: {odd} (exit code {self.code}, {self.err!r})")

    def run(self, *more, code=None, environment=None, ranks=None):
        self.start(*more, environment=environment, ranks=ranks)
        self.end()
        require(code is None or self.code == code, f"exit code {self.code}, not {code}: {self.err}")

    def text(self, name):
        return (self.session / name).read_text(errors="replace")

    def results(self):
        """Of the existing checkpoints."""
        files = {name: self.into / file for name, file in self.workload.outputs.items()}
        return {name: path.read_bytes() for name, path in files.items() if path.exists()}

    def messages(self):
        lines = [line for line in BOXES.sub("", self.err).splitlines() if line.strip() and not OF_OTHERS.match(line)]
        return [line for line in lines if not WARNING.match(line) and not REMARK.match(line)]

    def check(self, codes, silent=()):
        """After a fault: results are correct or missing, and there is one message."""
        wanted = self.workload.on(self.ranks)[0]
        got, said = self.results(), self.messages()
        for name, content in got.items():
            require(content == wanted[name], f"{name} is wrong (exit code {self.code}): {self.err!r}")
        require(self.code in codes, f"exit code {self.code}: {self.err!r}")
        if self.code == 0:
            require(len(got) == len(wanted), f"results are missing: {sorted(got)}")
            require(not said, f"a good run says {said}")
        elif self.code not in silent:
            require(1 <= len(said) <= 4, f"one message is expected (exit code {self.code}): {self.err!r}")
        else:
            require(len(said) <= 2, f"at most one message is expected (exit code {self.code}): {self.err!r}")

    def go_on(self):
        """The checkpoint resumes, with the bits of an undisturbed run."""
        if self.workload.name != "training":
            return
        self.run("--checkpoint", "ck", "--resume", "ck", code=0)
        require(self.results() == self.workload.on(self.ranks)[0], f"other bits after going on: {self.err!r}")
        self.check_folder()

    def check_folder(self):
        odd = sorted(p.name for p in self.saved.iterdir() if not re.fullmatch(r"(ck|base)-\d+|newest|finished|\.lock", p.name))
        require(not odd, f"left behind in the checkpoints: {odd}")


def saving(rng, workload):
    return ["--checkpoint", "ck", "--checkpoint-every", rng.choice(["0", "0.05", "0.3"])] if workload.name == "training" else []


def sleep_until_instant(rng, a):
    time.sleep(rng.random() * 1.05 * a.workload.on(a.ranks)[2])


# --- faults --------------------------------------------------------------------------------------------------------------------

def killed(rng, a):
    a.start(*saving(rng, a.workload))
    sleep_until_instant(rng, a)
    victims = rng.sample(range(a.ranks), rng.choice([1, 1, 1, a.ranks]))
    for victim in victims:
        if process := a.rank(victim):
            os.kill(process.pid, signal.SIGKILL)
    a.end()
    a.check({0, 137, 255}, silent={137, 255})
    a.go_on()


def ended(rng, a):
    """TERM, INT, HUP or USR1 to a rank or to the launcher."""
    number = rng.choice([signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGUSR1])
    a.start(*saving(rng, a.workload))
    sleep_until_instant(rng, a)
    victim = rng.randrange(-1, a.ranks)
    a.what = f"{number.name} to {f'rank {victim}' if victim >= 0 else 'the launcher'}"
    process = a.rank(victim) if victim >= 0 else None
    if victim < 0:
        a.child.send_signal(number)
    elif process:
        os.kill(process.pid, number)
    a.end()
    a.check({0, 75, 128 + number, 1, -number}, silent={75, 128 + number, -number} | ({1} if victim < 0 else set()))
    a.go_on()


def stopped(rng, a):
    """A suspension shorter than the heartbeat has no effect; a longer one ends the run."""
    short = rng.random() < 0.4
    a.start(*saving(rng, a.workload), "--heartbeat", "30" if short else "3")
    processes.wait_until(lambda: a.child.poll() is not None or a.text("stdout"), a.options.limit)  # MPI is up, and the run has started
    time.sleep(rng.random() * 0.3 * a.workload.on(a.ranks)[2])
    victim = rng.randrange(a.ranks)
    a.what = f"rank {victim}{', shortly' if short else ''}"
    process = a.rank(victim)
    if process:
        os.kill(process.pid, signal.SIGSTOP)
    last = False
    if process and short:
        time.sleep(1)
        os.kill(process.pid, signal.SIGCONT)
    elif process:
        last = a.is_last(process)
        if last:
            os.kill(process.pid, signal.SIGCONT)
    a.end()
    if victim == 0:  # resumed to be ended, rank 0 reports it
        a.err = PARTIAL.sub("", a.err)
    a.check({0} if short or last else {0, 69, 137, 255}, silent={137, 255})
    a.go_on()


def full(rng, a):
    """The file system of the outputs or checkpoints has room for a part of them."""
    checkpoints = a.workload.name == "training" and rng.random() < 0.7
    whole = sum(map(len, a.workload.on(a.ranks)[0].values()))
    size = 4096 * rng.randrange(1, 2 + (30 if checkpoints else whole // 4096 + 4))
    if not a.mount(a.saved if checkpoints else a.into, size):
        return "cannot mount"
    a.start(*saving(rng, a.workload))
    a.end()
    a.check({0, 1})
    if checkpoints:
        require(a.code == 0, f"a run ends for a checkpoint (exit code {a.code}): {a.err!r}")
        a.check_folder()
    if a.code == 0 and checkpoints and list(a.saved.glob("ck-*")):
        subprocess.run(["mount", "-o", "remount,size=64m", a.saved], check=True)
        a.go_on()
    return None


def preloaded(rng, a, call, at, how, *more):
    mark, rank = a.session / "happened", rng.randrange(a.ranks)
    a.what = f"{call} {at} of rank {rank}: {errno.errorcode[int(how)] if how.isdecimal() else how}"
    a.start(*saving(rng, a.workload), *more, environment={"LD_PRELOAD": str(a.options.calls), "FAULT_FOLDER": str(a.folder), "FAULT_CALL": call, "FAULT_AT": str(at), "FAULT_HOW": how,
                                                   "FAULT_RANK": str(rank), "FAULT_MARK": str(mark)})
    a.end()
    if not mark.exists():
        a.what += " did not happen"


def failing_call(rng, a):
    call = rng.choice(["read", "pread", "write", "pwrite", "pwrite", "fsync", "rename", "link", "ftruncate", "fallocate", "open"])
    how = rng.choice([errno.EIO, errno.ENOSPC, errno.EDQUOT, errno.EROFS])
    preloaded(rng, a, call, rng.choice([1, 1, 2, rng.randrange(1, 30)]), str(how))
    a.check({0, 1, 2})
    a.go_on()


def stopped_at_call(rng, a):
    """While ranks open inputs or finish outputs, where they wait for each other outside the engine, or at any other time."""
    preloaded(rng, a, *rng.choice([("open", 1), ("pread", 2), ("fsync", 1), ("fsync", 2), ("rename", 1), ("link", 1), ("MPI_Finalize", 1)]), "stop", "--heartbeat", "3")
    a.err = PARTIAL.sub("", a.err)  # a rank that is resumed to be ended
    a.check({0, 69, 137, 255}, silent={137, 255})
    a.go_on()


def less_than_asked(rng, a):
    """Short transfers and interrupted calls have no effect."""
    call = rng.choice(["read", "pread", "write", "pwrite"])
    how = rng.choice(["short", str(errno.EINTR)])
    preloaded(rng, a, call, rng.choice([1, 2, rng.randrange(1, 20)]), how)
    a.check({0})
    a.go_on()


def mutate(rng, path, first=0, last=None):
    """Modified, missing or extra bytes."""
    content = bytearray(path.read_bytes())
    last = len(content) if last is None else min(last, len(content))
    how = rng.choice(["flip", "flip", "cut", "more", "zero"])
    if how == "flip" and content:
        at = rng.randrange(first, last)
        content[at] ^= 1 << rng.randrange(8)
        how = f"flip {at}"
    elif how == "cut":
        del content[rng.randrange(len(content) + 1):]
    elif how == "more":
        content += rng.randbytes(rng.randrange(1, 5000))
    elif content:
        at = rng.randrange(first, last)
        content[at:at + 16] = bytes(len(content[at:at + 16]))
        how = f"zero {at}"
    path.write_bytes(content)
    return f"{path.name}: {how}"


def damaged_input(rng, a):
    """A file that NumPy reads as a different array, or not at all, must be rejected; one that it reads as the same array is valid."""
    path = a.folder / f"in/{rng.choice(a.workload.inputs)}.npy"
    content, before = path.read_bytes(), np.load(path)
    while True:
        path.write_bytes(content)
        a.what = mutate(rng, path, last=128)
        try:
            after = np.load(path)
        except Exception:
            alike = True  # a program may ignore bytes after the header's braces
            break
        alike = after.dtype == before.dtype and after.shape == before.shape
        if not alike or after.tobytes() == before.tobytes():
            break  # otherwise it is a valid input
    a.run(*saving(rng, a.workload))
    a.check({0, 1, 2} if alike else {1, 2})
    return None


def input_cut_while_read(rng, a):
    """If it has not been read yet, the run ends."""
    a.start(*saving(rng, a.workload))
    sleep_until_instant(rng, a)
    path = a.folder / f"in/{rng.choice(a.workload.inputs)}.npy"
    os.truncate(path, rng.randrange(path.stat().st_size))
    a.end()
    a.check({0, 1, 2})


def damaged_checkpoint(rng, a):
    """Resumes from another checkpoint, or reports why not."""
    a.run("--checkpoint", "ck", "--checkpoint-every", "0", environment={"TDSL_STOP_AT_BOUNDARY": str(rng.randrange(2, 40))}, code=75)
    files = [p for p in a.saved.rglob("*") if p.is_file() and p.name != ".lock"]
    a.what = ""
    for path in rng.sample(files, min(len(files), rng.choice([1, 1, 2, 3]))):
        if rng.random() < 0.2:
            path.unlink()
            a.what += f"{path.relative_to(a.saved)}: gone "
        elif rng.random() < 0.2:
            shutil.copy(rng.choice(files), path) if path.exists() and (other := rng.choice(files)).exists() and other != path else None
            a.what += f"{path.relative_to(a.saved)}: another's "
        else:
            a.what += mutate(rng, path) + f" of {path.parent.name} "
    a.run("--checkpoint", "ck", "--resume", "ck")
    a.check({0, 1, 2})


KINDS = {"killed": killed, "ended": ended, "stopped": stopped, "stopped_at_call": stopped_at_call, "full": full, "failing_call": failing_call, "less_than_asked": less_than_asked, "damaged_input": damaged_input,
         "input_cut": input_cut_while_read, "damaged_checkpoint": damaged_checkpoint}
TURNS = ("killed", "failing_call", "damaged_checkpoint", "full", "stopped", "failing_call", "damaged_input", "less_than_asked", "ended", "killed", "input_cut", "failing_call", "stopped_at_call")


def inject(number, kind, seed, workloads):
    rng = random.Random(f"{seed}-{number}")
    workload = workloads["training"] if kind == "damaged_checkpoint" else rng.choice(list(workloads.values()))
    with Attempt(workload, rng.choice([2, 3, 4])) as attempt:
        attempt.what = ""
        name = f"faults/{kind}-{number}"
        try:
            skipped = KINDS[kind](rng, attempt)
        except Failed as problem:
            print(f"FAIL {name}: {workload.name} on {attempt.ranks} ranks, {attempt.what} (seed {seed}): {' | '.join(str(problem).splitlines())}", flush=True)
            return False
        if skipped is None:
            print(f"PASS {name}", flush=True)
        else:
            print(f"SKIP {name} {skipped}", flush=True)
        if workload.options.verbose:
            print(f"    {workload.name} on {attempt.ranks} ranks, {attempt.what}: {attempt.code if hasattr(attempt, 'code') else '-'} {attempt.messages() if hasattr(attempt, 'err') else ''}",
                  flush=True)
        return True


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tdslc", default=os.environ.get("TDSLC", "tdslc"))
    parser.add_argument("--filter", default="")
    parser.add_argument("--count", type=int, default=20)
    parser.add_argument("--seed", type=int, default=random.randrange(10**6))
    parser.add_argument("--limit", type=float, default=30)
    parser.add_argument("--slow", type=float, default=1, help="factor by which the code is slower than a release build")
    parser.add_argument("--verbose", action="store_true")
    options = parser.parse_args()
    options.limit *= options.slow
    chosen = [(k, TURNS[k % len(TURNS)]) for k in range(options.count) if options.filter in f"faults/{TURNS[k % len(TURNS)]}-{k}"]
    if not chosen:
        return 0
    print(f"faults: seed {options.seed}", flush=True)
    rng = np.random.default_rng(1)
    with tempfile.TemporaryDirectory(prefix="tdsl-faults-") as options.work:
        options.calls = Path(options.work) / "calls.so"
        subprocess.run(["gcc", "-shared", "-fPIC", "-O1", HERE / "faults" / "calls.c", "-o", options.calls, "-ldl"], check=True)
        try:
            workloads = {"training": Workload("training", "checkpoints/training.tdsl", {name: f"{name}.npy" for name in ("gram", "w", "moved")},
                                              {"X": 2 * rng.standard_normal((61, 7)), "y": rng.standard_normal(61)}, options, ("--steps", "30")),
                         "product": Workload("product", "faults/product.tdsl", {"C": "C.npy", "D": "D.mtx", "E": "E.npy"},
                                             {"A": rng.standard_normal((600, 150)), "B": rng.standard_normal((150, 200))}, options)}
            good = [inject(number, kind, options.seed, workloads) for number, kind in chosen]
        except Failed as problem:
            print(f"FAIL faults/undisturbed: {problem}", flush=True)
            return 1
    return 0 if all(good) else 1


if __name__ == "__main__":
    sys.exit(main())
