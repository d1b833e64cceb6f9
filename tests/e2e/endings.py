#!/usr/bin/python3
"""External termination of programs and the compiler: signals, killed ranks and launchers, outputs that cannot be written, changing inputs. Checks the
exit code, that there is at most one message, and that no process or file is left. One line per case: PASS errors/NAME or FAIL errors/NAME."""
import argparse
import os
import re
import signal
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

sys.dont_write_bytecode = True

import numpy as np

import launch
import prefix
import processes
import turns

HERE = Path(__file__).resolve().parent
PROGRAM = HERE / "errors" / "endless.tdsl"
OLD = {"early.npy": b"an older result"}
SIGNALS = ("HUP", "INT", "QUIT", "PIPE", "TERM", "USR1", "KILL")


class Failed(Exception):
    """A failed check, with its description."""


class Skipped(Exception):
    """The check is impossible here, for the given reason."""


def require(condition, text):
    if not condition:
        raise Failed(text)


class Run:
    """A command in its own folder, with its own temporary files, started and awaited until its first line of output or,
    if it compiles, until the compiler runs."""

    def __init__(self, command, options, compiles=False, environment=None):
        self.limit = options.limit
        self.work = tempfile.TemporaryDirectory(prefix="tdsl-endings-", ignore_cleanup_errors=True)
        self.folder, self.temporary, self.cache = (Path(self.work.name) / name for name in ("files", "temporary", "cache"))
        for folder in (self.folder, self.temporary, self.cache):
            folder.mkdir()
        np.save(self.folder / "A.npy", np.ones((7, 5)))
        for name, content in OLD.items():
            (self.folder / name).write_bytes(content)
        self.kept = {p.name: p.read_bytes() for p in self.folder.iterdir()}
        environment = {**os.environ, **launch.without_leaks(), "TDSL_OVERSUBSCRIBED": "1", "TMPDIR": str(self.temporary), **(environment or {})}
        if launch.is_launcher(command):
            environment["OMPI_MCA_btl_vader_backing_directory"] = str(self.temporary)
        if os.environ.get("TDSL_TEST_PRESET", "release") != "release" and "TDSL_HOME" not in environment:  # libasan ignores the executable's library path for plug-ins
            environment["TDSL_HOME"] = str(Path(options.tdslc).resolve().parents[1])
        if compiles:
            environment["XDG_CACHE_HOME"] = str(self.cache)
        self.child = subprocess.Popen([str(c) for c in command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL,
                                      cwd=self.folder, env=environment, start_new_session=True)
        self.tree = []
        if compiles:
            began = processes.wait_until(lambda: any(p.name != "tdslc" for p in processes.below(self.child.pid)), self.limit)
        else:
            began = self.child.stdout.readline().startswith(b"reached")
        self.tree = processes.below(self.child.pid)
        shared = {p.variable("OMPI_MCA_btl_vader_backing_directory") for p in self.tree} - {None}
        self.shared = [Path(s) for s in shared]
        if not began:
            self.close()
            raise Failed(f"it did not begin: {self.err!r}")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
        self.work.cleanup()

    def rank(self, number):
        """A rank's process."""
        return next(p for p in self.tree if p.variable("OMPI_COMM_WORLD_RANK") == str(number))

    def launcher(self):
        """The process that started the ranks."""
        return next(p for p in self.tree if p.name in ("mpiexec", "mpirun", "orterun"))

    def wait(self, launcher_files=False):
        """Exit code and standard error; everything that belongs to this run must be gone. launcher_files: except files of a
        killed launcher that the user started."""
        try:
            self.code = self.child.wait(self.limit)
        except subprocess.TimeoutExpired:
            self.close()
            raise Failed("it does not end") from None
        left = lambda: [p.name for p in self.tree if p.runs()]
        own = [] if launcher_files else [self.temporary, *self.shared]
        others = lambda: [str(p) for p in [*self.cache.glob("tdsl/build-*"), *(p for folder in own for p in folder.glob("*"))]]
        processes.wait_until(lambda: not left() and not others(), self.limit / 3)
        names = left()
        self.close()
        require(not names, f"processes left: {names}")
        require(not others(), f"temporary files left: {others()}")
        files = {p.name: p.read_bytes() if p.is_file() else None for p in self.folder.iterdir()}
        require(files == self.kept, f"files left or changed: {sorted(files)}")

    def close(self):
        """Cleans up after a failed check."""
        for process in [*self.tree, *processes.below(self.child.pid)]:
            if process.runs():
                os.kill(process.pid, signal.SIGKILL)
        self.child.kill()
        self.child.wait()
        if not self.child.stderr.closed:
            self.err = self.child.stderr.read().decode(errors="replace")
            self.child.stdout.close()
            self.child.stderr.close()

    def expect(self, code, message):
        require(self.code == code, f"exit code {self.code}, not {code}: {self.err[:300]!r}")
        require(re.fullmatch(message, self.err.strip()), f"stderr does not say {message!r}: {self.err[:400]!r}")


class Product:
    """A @ B with its inputs, in its own folder."""

    def __init__(self, executable, options):
        self.executable, self.options = executable, options

    def __enter__(self):
        self.work = tempfile.TemporaryDirectory(prefix="tdsl-endings-")
        self.folder = Path(self.work.name)
        np.save(self.folder / "A.npy", np.arange(35.0).reshape(7, 5))
        np.save(self.folder / "B.npy", np.ones((5, 4)))
        return self

    def __exit__(self, *_):
        self.work.cleanup()

    def run(self, ranks=1, through_tdslc=False, more=(), out_to=None):
        command = [*launch.mpi_command(ranks), self.executable]
        if through_tdslc:
            command = [self.options.tdslc, "run", HERE / "errors" / "product.tdsl", "-n", ranks, "--"]
        return launch.run([*command, "--A", "A.npy", "--B", "B.npy", "--C", "C.npy", *more], self.options.limit, cwd=self.folder, out_to=out_to)

    def files(self):
        return sorted(p.name for p in self.folder.iterdir())


def number_of(name):
    return getattr(signal, "SIG" + name)


def expect_ended_by(run, name):
    """128 + the signal's number; KILL cannot be reported, and a closed pipe should not be."""
    message = "" if name in ("KILL", "PIPE") else "interrupted; no output file was written"
    run.expect(-9 if name == "KILL" else 128 + number_of(name), message)


def program_arguments():
    return ["--A", "A.npy", "--early", "early.npy", "--B", "B.npy"]


def require_unnamed_files():
    """On a file system without unnamed files, the file of a killed process remains."""
    try:
        os.close(os.open(tempfile.gettempdir(), os.O_RDWR | os.O_TMPFILE))
    except OSError as reason:
        raise Skipped(f"no unnamed files: {reason}") from None


def end_executable(name, executables, options):
    if name == "KILL":
        require_unnamed_files()
    with Run([executables["endless"], *program_arguments()], options) as run:
        run.child.send_signal(number_of(name))
        run.wait()
        expect_ended_by(run, name)


def end_run(name, executables, options):
    with Run([options.tdslc, "run", PROGRAM, "-n", "2", "--", *program_arguments()], options) as run:
        run.child.send_signal(number_of(name))
        run.wait()
        expect_ended_by(run, name)


def end_by_many(name, executables, options):
    """Signals handled simultaneously by several threads give one message."""
    with Run([executables["endless"], *program_arguments(), "--threads", "4"], options) as run:
        for number in (signal.SIGSTOP, signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGUSR1, signal.SIGCONT):
            run.child.send_signal(number)
        run.wait()
        require(run.code in [128 + number_of(n) for n in ("TERM", "HUP", "INT", "USR1")], f"exit code {run.code}")
        run.expect(run.code, "interrupted; no output file was written")


STUBBORN = """#!/bin/sh
trap '' HUP INT TERM USR1
for rank in 0 1 2; do setsid sh -c 'sleep 600 & sleep 600' & done
sleep 0.3
echo reached
wait
"""


def end_stubborn(name, executables, options):
    """A launcher, and ranks with sessions of their own, that ignore termination requests."""
    with tempfile.TemporaryDirectory(prefix="tdsl-endings-") as folder:
        launcher, program = Path(folder) / "mpirun", Path(folder) / "small.tdsl"
        launcher.write_text(STUBBORN)
        launcher.chmod(0o755)
        program.write_text("let a = 1;\noutput a;\n")
        home = prefix.linked_prefix(options.tdslc, folder, lambda text: re.sub(r"(?m)^mpiexec = .*", f"mpiexec = {launcher}", text))
        with Run([options.tdslc, "run", program, "-n", "3"], options, environment={"TDSL_HOME": str(home)}) as run:
            asleep = lambda: sum(p.name == "sleep" for p in processes.below(run.child.pid)) == 6
            require(processes.wait_until(asleep, run.limit), f"not all began: {[p.name for p in run.tree]}")
            run.tree = processes.below(run.child.pid)
            run.child.send_signal(number_of(name))
            run.wait()
            expect_ended_by(run, name)


def end_compilation(name, executables, options):
    with Run([options.tdslc, "build", PROGRAM, "-o", "endless"], options, compiles=True) as run:
        run.child.send_signal(number_of(name))
        run.wait()
        expect_ended_by(run, name)


def lose_rank(name, executables, options):
    with Run([options.tdslc, "run", PROGRAM, "-n", "3", "--", *program_arguments()], options) as run:
        score = lambda pid: int(Path(f"/proc/{pid}/oom_score_adj").read_text())
        require(all(score(run.rank(r).pid) > score(run.child.pid) for r in range(3)), "where memory runs out, the system would take tdslc first")
        os.kill(run.rank(1).pid, number_of(name))
        run.wait()
        hint = ", as the system does when memory runs out" if name == "KILL" else ""
        # On a busy machine the launcher may kill other ranks before they have exited.
        named = r"(rank 1 was|ranks (\d, )*1(, \d)* were)" if name == "KILL" else "rank 1 was"
        run.expect(128 + number_of(name), rf"{named} ended by signal {number_of(name)} \(\w+\){hint}")


def end_launcher(name, executables, options):
    """Launchers then have their own exit code; tdslc's is that of the signal sent to the ranks."""
    with Run([options.tdslc, "run", PROGRAM, "-n", "2", "--", *program_arguments()], options) as run:
        os.kill(run.launcher().pid, number_of(name))
        run.wait()
        run.expect(128 + signal.SIGTERM, r"\S+ was told to end, and ended the ranks by signal 15 \(Terminated\)")


def memory_group(limit):
    """The folder of a control group."""
    own = re.search(r"(?m)^\d+:memory:(.*)$", Path("/proc/self/cgroup").read_text())
    if own is None:
        raise Skipped("no control groups of version 1")
    path = Path(f"/sys/fs/cgroup/memory{own[1]}") / f"tdsl-endings-{os.urandom(6).hex()}"
    try:
        path.mkdir()
        (path / "memory.limit_in_bytes").write_text(str(limit))
    except OSError as reason:
        raise Skipped(f"control groups cannot be made: {reason}") from None
    return path


# Uses up a group's memory, in processes smaller than the ranks, until the given number of them has been killed.
HOG = """import os, re, signal, sys, time
group, score, kills, children = sys.argv[1], sys.argv[2], int(sys.argv[3]), []
with open("/proc/self/oom_score_adj", "w") as own:
    own.write(score)
with open(group + "/cgroup.procs", "w") as processes:
    processes.write("0")
def goes_on():
    time.sleep(0.004)
    return int(re.search(r"(?m)^oom_kill (\\d+)", open(group + "/memory.oom_control").read())[1]) < kills
while goes_on():
    children.append(os.fork())
    if children[-1] == 0:
        taken = [bytearray(1 << 20) for step in range(16) if goes_on()]
        signal.pause()
    time.sleep(0.1)
for child in children:
    os.kill(child, signal.SIGKILL)
"""


def use_up_group(whose, executables, options):
    """A control group runs out of memory: the kernel kills a rank, or another process, which is not attributed to the run."""
    if os.environ.get("TDSL_TEST_PRESET", "release") != "release":
        return
    group = memory_group(400 << 20)
    inside = ["sh", "-c", f'echo 0 >{group}/cgroup.procs; exec "$0" "$@"']
    try:
        if whose == "rank":
            with Run([*inside, options.tdslc, "run", PROGRAM, "-n", "2", "--", *program_arguments()], options) as run:
                subprocess.run([sys.executable, "-c", HOG, group, "0", "1"], check=False, timeout=options.limit)
                run.wait()
                run.expect(137, r"ranks? (0|1|0, 1) (was|were) ended by signal 9 \(Killed\), because memory ran out: the limit of the control group \S+ is 400\.0 MiB, for all ranks here; --memory gives ranks less")
        else:
            with Run([*inside, *launch.mpi_command(2), executables["endless"], *program_arguments()], options) as run:
                subprocess.run([sys.executable, "-c", HOG, group, "1000", "3"], check=False, timeout=options.limit)
                run.child.send_signal(signal.SIGTERM)
                run.wait(launcher_files=True)
                run.err = launch.OF_A_HURRIED_LAUNCHER.sub("", run.err)
                run.expect(run.code, "interrupted; no output file was written")
    finally:
        processes.wait_until(lambda: not (group / "cgroup.procs").read_text(), 10)
        group.rmdir()


def lose_launcher(name, executables, options):
    """Under `tdslc run`, which reports it, and with a launcher started by the user."""
    with Run([options.tdslc, "run", PROGRAM, "-n", "2", "--", *program_arguments()], options) as run:
        os.kill(run.launcher().pid, signal.SIGKILL)
        run.wait()
        run.expect(137, r"\S+ was ended by signal 9 \(Killed\)")
    with Run([*launch.mpi_command(2), executables["endless"], *program_arguments()], options) as run:
        run.child.kill()
        run.wait(launcher_files=True)
        run.expect(-9, "")


def lose_named(file, executables, options):
    """Named temporary outputs: of a run that is ended by a signal, and of one that loses a rank."""
    arguments = [*program_arguments()[:2], "--early", file]
    with Run([options.tdslc, "run", PROGRAM, "-n", "3", "--", *arguments], options) as run:
        require(any(p.name.startswith(".early") for p in run.folder.iterdir()), "the output is not there while it is written")
        if file.endswith(".zarr"):
            run.child.send_signal(signal.SIGTERM)
        else:
            os.kill(run.rank(1).pid, signal.SIGKILL)
        run.wait()
        require(run.code in (128 + signal.SIGTERM, 128 + signal.SIGKILL), f"exit code {run.code}")


def lose_all(name, executables, options):
    """All processes are killed, so nothing is removed."""
    require_unnamed_files()
    with Run([options.tdslc, "run", PROGRAM, "-n", "2", "--", *program_arguments()], options) as run:
        for process in [p for p in run.tree if p.variable("OMPI_COMM_WORLD_RANK")] + [run.launcher()]:
            os.kill(process.pid, signal.SIGKILL)
        run.wait()
        require(run.code == 137, f"exit code {run.code}, not 137")


FULL = "cannot write to standard output: No space left on device"
TDSLC_TO_FULL_DEVICE = ("--version", "build --help", "check --types {program}", "check --json {program}", "eval {program} -- --n 3 --D {folder}/D.npy", "emit {program}",
                        "explain {program} -n 2", "passes {program} --dump-after all", "fmt --check {untidy}")


def write_to_full_device(through_tdslc, executables, options):
    """Failing to print is an error like failing to write a file; then no output file is created, unless the launcher has accepted the
    text and the program has succeeded."""
    with Product(executables["product"], options) as product:
        for more in (["--D", "D.npy", "--help"], ["--dry-run"], []):
            result = product.run(2 if through_tdslc else 1, through_tdslc, more, "/dev/full")
            # The launcher's event library sometimes complains about the closed output.
            said = "\n".join(line for line in result.err.splitlines() if not line.startswith("[warn] Epoll ")).strip()
            require((result.code, said) == (1, FULL + " [cannot-write]"), f"{more}: exit code {result.code}: {result.err[:300]!r}")
            require(through_tdslc or product.files() == ["A.npy", "B.npy"], f"{more}: files left: {product.files()}")


def write_answers_to_full_device(name, executables, options):
    with tempfile.TemporaryDirectory(prefix="tdsl-endings-") as folder:
        program, untidy = Path(folder) / "p.tdsl", Path(folder) / "untidy.tdsl"
        untidy.write_text("let  a=1;")
        program.write_text('param n: i64 = 2;\nprint("n is", n);\noutput D = zeros(n, n);\n')
        for command in TDSLC_TO_FULL_DEVICE:
            words = [w.format(program=program, untidy=untidy, folder=folder) for w in command.split()]
            result = launch.run([options.tdslc, *words], options.limit, out_to="/dev/full")
            require((result.code, result.err.strip()) == (1, "tdslc: " + FULL), f"{command}: exit code {result.code}: {result.err[:300]!r}")
        require(not (Path(folder) / "D.npy").exists(), "eval has written a file")


def change_input(how, executables, options):
    """The machine constants come from a pipe: the program blocks there, between checking its inputs and first using them."""
    for ranks in (1, 3):
        with Product(executables["product"], options) as product:
            pipe = product.folder / "machine"
            os.mkfifo(pipe)
            before = np.load(product.folder / "A.npy")
            environment = {**os.environ, "TDSL_MACHINE": str(pipe)}
            command = [*launch.mpi_command(ranks), executables["product"], "--A", "A.npy", "--B", "B.npy", "--C", "C.npy", "--D", "D.npy"]
            with tempfile.TemporaryDirectory() as session, subprocess.Popen([str(c) for c in command], cwd=product.folder, stderr=subprocess.PIPE, start_new_session=True,
                    env={**environment, "OMPI_MCA_orte_tmpdir_base": session}) as child:
                try:
                    change_when_checked(how, product.folder, pipe, options.limit)
                    lines = child.communicate(timeout=options.limit)[1].decode().splitlines()
                    err = "\n".join(line for line in lines if not line.startswith("[warn] Epoll"))  # a launcher that exits hurriedly
                finally:
                    launch.end(child)
            if how == "replace":
                require(child.returncode == 0, f"{ranks} ranks: exit code {child.returncode}: {err[:300]!r}")
                require((np.load(product.folder / "C.npy") == before @ np.ones((5, 4))).all(), f"{ranks} ranks: not the file that was checked")
            else:
                require(child.returncode == 1 and re.fullmatch(r"`A\.npy` was changed after its header had been read: .*", err),
                        f"{ranks} ranks: exit code {child.returncode}: {err[:300]!r}")
                require(product.files() == ["A.npy", "B.npy", "machine"], f"{ranks} ranks: files left: {product.files()}")


def change_when_checked(how, folder, pipe, limit):
    def opened():
        try:
            return os.open(pipe, os.O_WRONLY | os.O_NONBLOCK)
        except OSError:  # no reader yet
            return None
    end = processes.wait_until(opened, limit)
    require(end is not None, "the program does not ask for the machine's constants")
    if how == "replace":
        np.save(folder / "new.npy", np.zeros((7, 5)))
        os.replace(folder / "new.npy", folder / "A.npy")
    else:
        np.save(folder / "A.npy", np.zeros((7, 5) if how == "write" else (9, 5)))
    os.close(end)


def use_up_memory(name, executables, options):
    """Any failing allocation, including those of BLIS, gives a one-line message and no trace."""
    if os.environ.get("TDSL_TEST_PRESET", "release") != "release":
        return  # sanitizers reserve terabytes
    ends = {0: 0, 1: 0}
    with Product(executables["product"], options) as product:
        np.save(product.folder / "A.npy", np.ones((700, 700)))
        np.save(product.folder / "B.npy", np.ones((700, 700)))
        starts = 48_000  # with less, the libraries cannot be loaded
        while launch.run(["sh", "-c", f"ulimit -v {starts}; exec \"$0\" --version", executables["product"]], options.limit).code != 0:
            starts += 8_000
            require(starts < 2_000_000, "the program does not start")
        for kib in range(starts, starts + 80_000, 5_000):
            words = ["sh", "-c", f"ulimit -v {kib}; exec \"$0\" \"$@\"", executables["product"], "--A", "A.npy", "--B", "B.npy", "--C", "C.npy", "--threads", 1]
            result = launch.run(words, options.limit, cwd=product.folder)
            require(result.code in ends, f"{kib} KiB: exit code {result.code}: {result.err[-300:]!r}")
            said = [line for line in result.err.splitlines() if line.strip() and not line.startswith(("libblis: ", "warning: "))]
            require(result.code == 0 or len(said) == 1 and (said[0].startswith("out of memory") or said[0].endswith("on disk: out of memory [spill]")), f"{kib} KiB: {result.err[-300:]!r}")
            ends[result.code] += 1
            (product.folder / "C.npy").unlink(missing_ok=True)
            require(product.files() == ["A.npy", "B.npy"], f"{kib} KiB: files left: {product.files()}")
    require(min(ends.values()) > 0, f"all end alike: {ends}")


CASES = {
    "full_device_executable": (write_to_full_device, False),
    "full_device_run": (write_to_full_device, True),
    "full_device_tdslc": (write_answers_to_full_device, None),
    "input_replaced": (change_input, "replace"),
    "input_written_to": (change_input, "write"),
    "input_grown": (change_input, "grow"),
    **{f"{name.lower()}_executable": (end_executable, name) for name in SIGNALS},
    **{f"{name.lower()}_run": (end_run, name) for name in SIGNALS},
    **{f"{name.lower()}_compiling": (end_compilation, name) for name in ("TERM", "KILL")},
    **{f"rank_lost_by_{name.lower()}": (lose_rank, name) for name in ("KILL", "TERM")},
    "launcher_lost": (lose_launcher, "KILL"),
    **{f"launcher_ended_by_{name.lower()}": (end_launcher, name) for name in ("TERM", "HUP")},
    **{f"stubborn_launcher_{name.lower()}": (end_stubborn, name) for name in ("TERM", "KILL")},
    "many_signals": (end_by_many, None),
    "rank_killed_for_memory": (use_up_group, "rank"),
    "other_killed_for_memory": (use_up_group, "other"),
    "named_output_zarr": (lose_named, "early.zarr"),
    "named_output_hdf5": (lose_named, "early.h5:/early"),
    "all_lost": (lose_all, "KILL"),
    "memory_used_up": (use_up_memory, None),
}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tdslc", default=os.environ.get("TDSLC", "tdslc"))
    parser.add_argument("--filter", default="")
    parser.add_argument("--limit", type=float, default=60)
    parser.add_argument("--list", action="store_true", help="print the names of the chosen cases")
    parser.add_argument("--jobs", type=int, default=3)
    options = parser.parse_args()
    signal.signal(signal.SIGHUP, signal.SIG_DFL)  # the test runner's parent may ignore it
    chosen = turns.part([name for name in CASES if options.filter in f"errors/{name}"], 2)
    if options.list:
        print(*chosen, sep="\n")
        return 0
    failed = 0
    with tempfile.TemporaryDirectory(prefix="tdsl-endings-") as work, ThreadPoolExecutor(options.jobs) as pool:
        executables = {name: Path(work) / name for name in ("endless", "product")}
        for name, executable in executables.items():
            built = launch.run([options.tdslc, "build", HERE / "errors" / f"{name}.tdsl", "-o", executable], 4 * options.limit)
            if built.code != 0:
                print(f"    {built}\nFAIL errors/build_{name}")
                return 1

        def outcome_of(name):
            case, argument = CASES[name]
            try:
                case(argument, executables, options)
            except Failed as problem:
                return f"    {problem}\nFAIL errors/{name}"
            except Skipped as reason:
                return f"SKIP errors/{name} {reason}"
            return f"PASS errors/{name}"

        for outcome in pool.map(outcome_of, chosen):
            print(outcome, flush=True)
            failed += "\nFAIL " in outcome
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
