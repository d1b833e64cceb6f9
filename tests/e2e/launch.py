"""Starts programs, with and without ranks, with a time limit, never leaving processes behind."""
import collections
import contextlib
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from typing import NamedTuple

# Open MPI's event library, if the launcher closes the pipe of a rank that has exited.
OF_A_HURRIED_LAUNCHER = re.compile(r"(?m)^\[warn\] Epoll .*\n?")


# Constants with which the small test programs distribute their work: with real ones a single rank would do most of it.
os.environ.setdefault("TDSL_MACHINE", os.path.join(os.path.dirname(os.path.abspath(__file__)), "sharing.machine"))


# Wall seconds per kind of command, summed over threads.
SECONDS = collections.Counter()


def kind_of(command):
    name = os.path.basename(str(command[0]))
    if is_launcher(command):
        return f"{command[command.index('-n') + 1]} ranks" if "-n" in command else "launchers"
    return f"tdslc {command[1]}" if name == "tdslc" and len(command) > 1 else "1 rank"


class Result(NamedTuple):
    code: int
    out: str
    err: str
    timed_out: bool

    def __str__(self):
        what = "timed out" if self.timed_out else f"exit code {self.code}"
        lines = (self.err.strip() or self.out.strip()).splitlines()
        # Open MPI's stack traces are not helpful.
        return what + "".join(f"\n      {line}" for line in [s for s in lines if not re.match(r"\[\S+:\d+\]", s)][:6])


# Launchers of MPI families. TDSL_TEST_MPI selects one for all tests; otherwise mpiexec, which is Open MPI's.
LAUNCHERS = {"": ["mpiexec", "-q", "--bind-to", "none"], "openmpi": ["mpiexec.openmpi", "-q", "--bind-to", "none"], "mpich": ["mpiexec.hydra"]}


def mpi_command(ranks, family=None):
    """No launcher for one rank, as users start it."""
    if family is None:
        family = os.environ.get("TDSL_TEST_MPI", "")
    return [] if ranks == 1 else [*LAUNCHERS[family], "-n", str(ranks)]


def without_leaks():
    """Variables for runs without leak checks: killed processes leak."""
    return {"ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", "") + ":detect_leaks=0"}


def is_launcher(command):
    return os.path.basename(str(command[0])) in ("mpirun", *(words[0] for words in LAUNCHERS.values()))


def other_region(explain, ranks, arguments, region, limit):
    """How the region surveyed by a run differs from that of `tdslc explain`; None if it does not."""
    result = run([*explain, "-n", ranks, "--stage=region", "--", *arguments], limit)
    found = re.match(r"region ([0-9a-f]{16}): (\d+) operations", result.out)
    if result.code != 0 or not found:
        return f"tdslc explain --stage=region: exit code {result.code}: {' '.join(result.err.strip().splitlines()[-1:])}"
    if int(found[1], 16) != int(region["hash"]):
        return f"the survey found {region['operations']} operations, {region['hash']}, but explain {found[2]}, {int(found[1], 16)}"
    return None


@contextlib.contextmanager
def session_folder(command):
    """Variables that give a launcher its own session folder. Concurrent launchers create and remove the one they
    share, and occasionally one of them fails: exit code 1, without a message."""
    if not is_launcher(command):
        yield {}
        return
    with tempfile.TemporaryDirectory(prefix="tdsl-mpi-", ignore_cleanup_errors=True) as folder:
        yield {"OMPI_MCA_orte_tmpdir_base": folder}


def run(command, limit, cwd=None, env=None, interrupt_after=None, out_to=None):
    """Runs a command in its own process group. interrupt_after: seconds until the group is sent Ctrl-C's signal. out_to: destination of
    standard output, which is not checked then."""
    with open(out_to, "w+b", buffering=0) if out_to else tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err, session_folder(command) as own:
        child = subprocess.Popen([str(c) for c in command], stdout=out, stderr=err, stdin=subprocess.DEVNULL, cwd=cwd,
                                 env={**os.environ, **own, **(env or {})}, start_new_session=True)
        timed_out = False
        begun = time.time()
        try:
            if interrupt_after:
                try:
                    child.wait(interrupt_after)
                except subprocess.TimeoutExpired:
                    os.killpg(child.pid, signal.SIGINT)
            child.wait(limit)
        except subprocess.TimeoutExpired:
            timed_out = True
        finally:
            end(child)
            SECONDS[kind_of(command)] += time.time() - begun
        out.seek(0)
        err.seek(0)
        said = OF_A_HURRIED_LAUNCHER.sub("", err.read().decode(errors="replace"))
        return Result(child.returncode, "" if out_to else out.read().decode(errors="replace"), said, timed_out)


def end(child):
    """Ends the rest of a process group; a launcher first gets the chance to end its ranks, which are in groups of
    their own."""
    for number, patience in ((signal.SIGTERM, 5), (signal.SIGKILL, None)):
        try:
            os.killpg(child.pid, number)
        except ProcessLookupError:
            break
        try:
            child.wait(patience)
        except subprocess.TimeoutExpired:
            pass
    child.wait()


def measured(command):
    """A command's exit code, peak resident MiB and CPU seconds."""
    # A child's peak includes its parent's memory at the fork, and other tests run children too: hence a small
    # intermediate process.
    measure = ("import resource, subprocess, sys; code = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL).returncode; "
               "used = resource.getrusage(resource.RUSAGE_CHILDREN); print(code, used.ru_maxrss / 1024, used.ru_utime + used.ru_stime)")
    result = subprocess.run([sys.executable, "-c", measure, *map(str, command)], capture_output=True, text=True, check=True)
    return tuple(map(float, result.stdout.split()))
