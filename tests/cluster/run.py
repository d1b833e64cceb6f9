#!/usr/bin/python3
"""Programs on a Slurm cluster (tests/cluster/lab starts one and runs this script in it): correct results with srun and mpirun; the message for
every mistake in starting them, and that the command it suggests works; cleanup after killed ranks.
One line per case: PASS cluster/NAME or FAIL cluster/NAME."""
import argparse
import os
import random
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.dont_write_bytecode = True

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "e2e"))

import turns

SOURCE = Path(__file__).resolve().parents[2]
HOSTS, RANKS = 4, 8
PROGRAMS = {"product": "tests/cluster/product.tdsl", "train": "samples/logistic_regression.tdsl", "endless": "tests/e2e/errors/endless.tdsl"}
# Lines printed by Slurm, Bash and mpirun's event library themselves.
OF_OTHERS = re.compile(r"srun: |slurmstepd|.*/slurm_script: line|\[warn\] Epoll|\[h\d\]\[\[\d+,\d+\],\d+\]\[.*btl_tcp|\[h\d:\d+\] (?:\d+ more process|Set MCA parameter)")
# Messages of Open MPI 4 if a rank connects to a peer that has already exited, or two ranks connect to each other
# simultaneously; no parameter suppresses them.
OF_PEERS = re.compile(r"(?ms)^-{20,}\n(?:WARNING: Open MPI failed to (?:TCP connect to a|handshake with a connecting) peer|An MPI communication peer process has unexpectedly)(?:(?!^-{20,}$).)*(?:^-{20,}\n?|\Z)")


class Failed(Exception):
    """A failed check, with its description."""


class Skipped(Exception):
    """The check is impossible here, for the given reason."""


def require(condition, text):
    if not condition:
        raise Failed(text)


class Result:
    def __init__(self, code, out, err):
        self.code, self.out = code, out
        self.err = [line for line in OF_PEERS.sub("", err).splitlines() if line and not OF_OTHERS.match(line)]

    def __str__(self):
        return f"exit code {self.code}" + "".join(f"\n      {line}" for line in [*self.err[:8], *self.out.splitlines()[:4]])


class Job:
    """Commands run sequentially in a batch job with the given number of tasks, in its own folder."""

    def __init__(self, folder, shape):
        self.folder, self.shape = folder, shape

    def run(self, *commands, limit=60):
        parts = [f"( {c} ) >{k}.out 2>{k}.err; echo $? >{k}.code" for k, c in enumerate(commands)]
        done = self.folder / "done"
        done.unlink(missing_ok=True)
        number = self.submit("\n".join([*parts, "touch done"]))
        # `sbatch --wait` polls every ten seconds.
        end = time.monotonic() + limit
        while not done.exists():
            if time.monotonic() > end:
                subprocess.run(["scancel", number], check=False)  # the next cases need its hosts
                said = [path.read_text(errors="replace")[-400:] for path in sorted(self.folder.glob("*.err"))]
                require(False, f"the job does not end: {self.log()} {said}")
            time.sleep(0.05)
        read = lambda k, kind: (self.folder / f"{k}.{kind}").read_text(errors="replace")
        return [Result(int(read(k, "code")), read(k, "out"), read(k, "err")) for k in range(len(commands))]

    def submit(self, script):
        (self.folder / "job.sh").write_text(f"#!/bin/bash\n{script}\n")
        submitted = subprocess.run(["sbatch", "--parsable", "--output=job.log", *self.shape, "job.sh"], cwd=self.folder, check=True, capture_output=True,
                                   text=True)
        return submitted.stdout.strip()

    def log(self):
        log = self.folder / "job.log"
        return log.read_text(errors="replace")[-500:] if log.exists() else ""


class Cluster:
    def __init__(self, tdslc, work):
        self.tdslc, self.work, self.number = tdslc, work, 0
        for name, source in PROGRAMS.items():
            subprocess.run([tdslc, "build", str(SOURCE / source), "-o", str(work / name)], check=True)
        rng = np.random.default_rng(7)
        A, B = rng.standard_normal((90, 70)), rng.standard_normal((70, 50))
        X = rng.standard_normal((400, 12))
        np.save(work / "A.npy", A)
        np.save(work / "B.npy", B)
        np.save(work / "X.npy", X)
        np.save(work / "y.npy", (X[:, 0] + 0.5 * rng.standard_normal(400) > 0).astype(float))
        self.C = A @ B
        self.product = f"{work}/product --A {work}/A.npy --B {work}/B.npy --C C.npy"
        self.train = f"{work}/train --X {work}/X.npy --y {work}/y.npy --w w.npy"
        subprocess.run(shlex.split(self.train), cwd=work, check=True, stdout=subprocess.DEVNULL)
        self.w = np.load(work / "w.npy")

    def job(self, *shape):
        self.number += 1
        folder = self.work / f"job{self.number}"
        folder.mkdir()
        return Job(folder, shape or (f"--nodes={HOSTS}", f"--ntasks-per-node={RANKS // HOSTS}"))

    def wide_job(self):
        """One task with two cores on every host."""
        return self.job(f"--nodes={HOSTS}", "--ntasks-per-node=1", "--cpus-per-task=2")

    def check_product(self, job, result):
        require(result.code == 0, f"the product: {result}")
        C = np.load(job.folder / "C.npy")
        require(np.allclose(C, self.C, rtol=1e-12, atol=1e-12), "the product is wrong")
        (job.folder / "C.npy").unlink()

    def processes(self, name):
        """Processes on the whole cluster: all hosts' processes descend from the first one of this namespace."""
        found = []
        for entry in Path("/proc").iterdir():
            if not entry.name.isdigit():
                continue
            try:
                if os.readlink(entry / "exe") == str(self.work / name) and (entry / "stat").read_text().rpartition(")")[2].split()[0] != "Z":
                    found.append(int(entry.name))
            except OSError:
                pass
        return found

    @staticmethod
    def host_of(pid):
        """Hosts are distinguished by their namespaces."""
        try:
            space = os.readlink(f"/proc/{pid}/ns/uts")
            hosts = {os.readlink(f"/proc/{path.read_text().strip()}/ns/uts"): path.stem for path in Path(os.environ["TDSL_LAB"]).glob("run/h*.pid")}
        except OSError:
            return None
        return hosts.get(space)


def warned(result, kind):
    """The warning of this kind: its text and the command it suggests."""
    lines = [line for line in result.err if line.startswith("warning:")]
    require(len(lines) == 1 and lines[0].endswith(f"[{kind}]"), f"one warning [{kind}] is expected: {result}")
    return lines[0].removesuffix(f" [{kind}]")


def command_in(text, beginning):
    found = re.search(beginning + r" (.*?)( \(TDSL_LAUNCH.*\))?( \[[a-z-]+\])?$", text)
    require(found, f"no command in: {text}")
    return found[1]


def refused(result, code, pattern):
    require(result.code == code, f"exit code {code} is expected: {result}")
    require(1 <= len(result.err) <= 4 and not result.out, f"one message is expected: {result}")
    require(re.search(pattern, result.err[-1]), f"/{pattern}/ is expected: {result}")
    return result.err[-1]


# --- cases -------------------------------------------------------------------------------------------------------------------

def right_results(c):
    job = c.job()
    commands = [f"{launcher} {program}" for launcher in ("srun --mpi=pmix", "mpirun") for program in (c.product, c.train)]
    results = job.run(*(f"{command} && mv C.npy C{k}.npy 2>/dev/null || mv w.npy w{k}.npy" for k, command in enumerate(commands)))
    for k, result in enumerate(results):
        require(result.code == 0, f"{commands[k]}: {result}")
        require(len(result.err) == 1 and re.match(r"\w+: 8 ranks x 1 thread: h1: cores .*; h4: ", result.err[0]), f"one line says where ranks sit: {result}")
        got, expected = (np.load(job.folder / f"C{k}.npy"), c.C) if k % 2 == 0 else (np.load(job.folder / f"w{k}.npy"), c.w)
        require(np.allclose(got, expected, rtol=1e-9, atol=1e-12), f"{commands[k]}: wrong result")


def without_pmix(c):
    for kind, said in (("none", "without PMIx"), ("pmi2", "--mpi=pmi2")):
        job = c.job()
        result, = job.run(f"srun --mpi={kind} {c.product}")
        text = refused(result, 2, rf"^srun {said} started 8 tasks that cannot find each other: ")
        require(len(result.err) == 1, f"one task speaks: {result}")
        require(("TDSL_LAUNCH=trust" in text) == (kind == "pmi2"), text)
        good, = job.run(command_in(text, "start them with"))
        c.check_product(job, good)


def pinned_to_too_few_cores(c):
    for launcher in ("mpirun", "srun --mpi=pmix --cpu-bind=map_cpu:0"):
        job = c.wide_job()
        result, = job.run(f"{launcher} {c.product}")
        text = warned(result, "placement")
        require("rank 0 wants 2 threads, but the launcher has pinned it to core" in text, text)
        c.check_product(job, result)
        command = command_in(text, "start with")
        require(command.startswith(launcher.split()[0]), f"the launcher in use: {command}")
        good, = job.run(command)
        require(len(good.err) == 1 and "4 ranks x 2 threads" in good.err[0], f"the command puts it right: {good}")
        c.check_product(job, good)


def threads_left_idle(c):
    job = c.wide_job()
    right = command = "mpirun --map-by ppr:1:node:PE=2 --bind-to core"
    result, = job.run(f"OMP_NUM_THREADS=1 {right} {c.product}")
    text = warned(result, "launch")
    option = command_in(text, "start with")
    require(option == "--threads 2", text)
    good, blas = job.run(f"OMP_NUM_THREADS=1 {command} {c.product} {option}", f"OPENBLAS_NUM_THREADS=2 {command} {c.product}")
    require(len(good.err) == 1 and "x 2 threads" in good.err[0], str(good))
    require("OPENBLAS_NUM_THREADS=2 has no effect" in warned(blas, "launch"), str(blas))
    c.check_product(job, good)


def transports_that_stay_inside(c):
    job = c.job()
    for setting in ("OMPI_MCA_btl=self,vader", "OMPI_MCA_btl_tcp_if_include=lo"):
        for launcher in ("srun --mpi=pmix", "mpirun"):
            result, good = job.run(f"export {setting}; {launcher} {c.product}", f"{launcher} {c.product}", limit=120)
            text = warned(result, "launch")
            require(f"{setting} cannot reach other nodes and was ignored: unset {setting.partition('=')[0]}" in text, text)
            require(not [line for line in good.err if "warning" in line], str(good))
            c.check_product(job, result)


def fewer_ranks_than_tasks(c):
    job = c.job()
    result, = job.run(f"mpirun -n 2 {c.product}")
    text = warned(result, "launch")
    require("2 ranks run, but the job has room for 8" in text, text)
    c.check_product(job, result)
    good, = job.run(command_in(text, "start with"))
    require(len(good.err) == 1, str(good))
    c.check_product(job, good)


def different_executables(c):
    job = c.job()
    (job.folder / "pick.sh").write_text(f"#!/bin/bash\nprogram={c.work}/product\n[ \"$SLURM_PROCID\" != 5 ] || program={c.work}/other\nexec $program \"$@\"\n")
    (job.folder / "pick.sh").chmod(0o755)
    other = c.work / "other"
    other.write_bytes((c.work / "product").read_bytes() + b"\0")
    other.chmod(0o755)
    arguments = c.product.partition(" ")[2]
    by_srun, by_mpirun = job.run(f"srun --mpi=pmix ./pick.sh {arguments}", f"mpirun -n 4 {c.product} : -n 4 {c.train}")
    for result in (by_srun, by_mpirun):
        refused(result, 2, r"^the ranks run different executables: rank 0 on h1 runs .*/product, rank \d on h\d runs .*: start the same file everywhere \[launch\]$")


def instructions_of_another_machine(c):
    if "avx512_fp16" in Path("/proc/cpuinfo").read_text():
        raise Skipped("this processor has all instructions that the case could miss")
    job = c.job()
    # A compiler with a wrong idea of this machine.
    prefix, home = Path(c.tdslc).resolve().parent.parent, job.folder / "home/lib/tdsl"
    home.mkdir(parents=True)
    settings = (prefix / "lib/tdsl/toolchain.conf").read_text().replace("${PREFIX}", str(prefix))
    (home / "toolchain.conf").write_text(re.sub(r"(?m)^native_flags = .*$", "native_flags = -march=sapphirerapids", settings))
    subprocess.run([c.tdslc, "build", "--native", str(SOURCE / PROGRAMS["product"]), "-o", "native"], cwd=job.folder, check=True,
                   env={**os.environ, "TDSL_HOME": str(job.folder / "home")})
    arguments = c.product.partition(" ")[2]
    for result in job.run(f"srun --mpi=pmix ./native {arguments}", f"mpirun ./native {arguments}", f"./native {arguments}"):
        refused(result, 2, r"^the processor of rank 0 on h1 lacks .*AVX-512FP16, which this executable uses: rebuild without --native, or build on that node \[launch\]$")


def errors_speak_alone(c):
    job = c.job()
    commands = [f"{launcher} {c.product} {option}" for launcher in ("mpirun", "srun --mpi=pmix --kill-on-bad-exit=1") for option in ("--memory 4K", "--nonsense", "--set n=3")]
    for command, result in zip(commands, job.run(*commands)):
        mistake = command.partition("C.npy ")[2]
        code, pattern = {"--memory 4K": (2, "--memory 4K is too small"), "--nonsense": (2, "unknown option --nonsense"),
                         "--set n=3": (1, "A.npy")}[mistake]
        refused(result, code, pattern)
        require(not [line for line in result.err[:-1] if not line.startswith("product: 8 ranks")], f"one message: {result}")
    require(not list(job.folder.glob(".*.tmp*")) and not list(job.folder.glob("*.npy")), "a file is left")


class Endless:
    """A run that continues until it is ended, in a job that lives until its script's last command has ended."""

    def __init__(self, c, launcher, after="", options=""):
        self.c, self.job = c, c.job()
        # An older result exists, and must remain.
        (self.job.folder / "early.npy").write_bytes(b"older")
        command = f"{launcher} {c.work}/endless --A {c.work}/A.npy --early early.npy --B B.npy {options}"
        self.id = self.job.submit(f"{command} >0.out 2>0.err\necho $? >0.code\n{after}")
        self.wait(lambda: "reached" in self.text("0.out"), 30, "it did not begin")

    def text(self, name):
        path = self.job.folder / name
        return path.read_text(errors="replace") if path.exists() else ""

    def wait(self, condition, seconds, text):
        end = time.monotonic() + seconds
        while not condition():
            require(time.monotonic() < end, f"{text}: {self.text('0.err')} {self.job.log()}")
            time.sleep(0.05)

    def pids(self):
        return self.c.processes("endless")

    def temporaries(self):
        return sorted(p.name for p in self.job.folder.glob(".*.tmp*"))

    def end(self):
        subprocess.run(["scancel", self.id], check=False)
        self.wait(lambda: not self.pids(), 20, "it does not end")


def killed_rank(c):
    for launcher in ("srun --mpi=pmix --kill-on-bad-exit=1", "mpirun"):
        run = Endless(c, launcher)
        try:
            run.wait(lambda: len(run.pids()) == RANKS, 10, "all ranks")
            require(run.temporaries() == [f".B.npy.tmp-{run.id}-0", f".early.npy.tmp-{run.id}-0"], f"temporary outputs: {run.temporaries()}")
            os.kill(run.pids()[3], signal.SIGKILL)
            run.wait(lambda: not run.pids(), 10, f"{launcher}: ranks are left")
            run.wait(lambda: run.text("0.code"), 10, f"{launcher} does not end")
            require(run.text("0.code").strip() == "137", f"{launcher}: exit code {run.text('0.code')}")
            files = sorted(p.name for p in run.job.folder.iterdir() if ".npy" in p.name)
            require(files == ["early.npy"] and (run.job.folder / "early.npy").read_bytes() == b"older", f"files: {files}")
        finally:
            run.end()


def leftovers_of_a_killed_attempt(c):
    again = f"srun --mpi=pmix {c.work}/endless --A {c.work}/A.npy --early early.npy --nonsense 2>2.err; ls -A >2.out; " \
            f"srun --mpi=pmix {c.work}/endless --A {c.work}/A.npy --early early.npy --B B.npy >1.out 2>1.err"
    run = Endless(c, "srun --mpi=pmix --kill-on-bad-exit=1", again)
    try:
        (run.job.folder / ".early.npy.tmp-999999-0").write_bytes(b"of another job")
        first = run.temporaries()
        for pid in run.pids():
            os.kill(pid, signal.SIGSTOP)  # prevents any cleanup
        for pid in run.pids():
            os.kill(pid, signal.SIGKILL)
        run.wait(lambda: "reached" in run.text("1.out"), 30, "the second attempt did not begin")
        require(f".early.npy.tmp-{run.id}-0" in run.text("2.out"), "the killed attempt left no file: this case tests nothing")
        require(run.temporaries() == first and len(first) == 3, f"before {first}, after {run.temporaries()}")
    finally:
        run.end()


class MemoryGroup:
    """A control group for two ranks of one host, removed at the end."""

    def __init__(self, limit):
        own = re.search(r"^\d+:memory:(.*)$", Path("/proc/self/cgroup").read_text(), re.MULTILINE)
        if own is None:
            raise Skipped("no control groups of version 1")
        self.path = Path(f"/sys/fs/cgroup/memory{own[1]}") / f"tdsl-cluster-{os.urandom(6).hex()}"
        try:
            self.path.mkdir()
            (self.path / "memory.limit_in_bytes").write_text(str(limit))
        except OSError as error:
            raise Skipped(f"control groups cannot be made: {error.strerror}") from None

    def __enter__(self):
        return self.path

    def __exit__(self, *_):
        for _ in range(100):
            try:
                return self.path.rmdir()
            except OSError:  # the last process is still exiting
                time.sleep(0.1)


HUNGRY = """var b = random(64, 64);
print("begun");
for t in 0..40000 { b = b * 0.999; }
let L = random(6000, 6000) * b[0, 0];
let C = L @ L;
print(sum(C * C));
"""


class Hungry:
    """A program that needs much memory after a while; two of its ranks are in a control group on h3."""

    def __init__(self, c, group):
        self.job, self.group = c.job(), group
        (self.job.folder / "hungry.tdsl").write_text(HUNGRY)
        subprocess.run([c.tdslc, "build", "hungry.tdsl", "-o", "hungry"], cwd=self.job.folder, check=True)
        (self.job.folder / "limited.sh").write_text(f'#!/bin/bash\n[ "$(hostname)" != h3 ] || echo $$ >{group}/cgroup.procs\nexec ./hungry "$@"\n')
        (self.job.folder / "limited.sh").chmod(0o755)

    def limit(self, bytes):
        (self.group / "memory.limit_in_bytes").write_text(str(bytes))

    def run_and_lower(self, command, bytes):
        """Lowers the limit once the program has read it and is computing."""
        for name in ("0.out", "0.err", "0.code"):
            (self.job.folder / name).unlink(missing_ok=True)
        self.job.submit(f"{command} >0.out 2>0.err; echo $? >0.code.new; mv 0.code.new 0.code")
        text = lambda name: (self.job.folder / name).read_text(errors="replace") if (self.job.folder / name).exists() else ""
        end = time.monotonic() + 180
        lowered = False
        while not text("0.code"):
            require(time.monotonic() < end, f"{command} does not end: {text('0.err')} {self.job.log()}")
            if not lowered and "begun" in text("0.out"):
                self.limit(bytes)
                lowered = True
            time.sleep(0.05)
        return Result(int(text("0.code")), text("0.out"), text("0.err"))


LAUNCHERS = ("srun --mpi=pmix --kill-on-bad-exit=1", "mpirun -q")


def refused_for_memory(c):
    """A program that cannot fit the control group of one host is rejected on all hosts before it computes; the suggested memory is sufficient."""
    with MemoryGroup(300 << 20) as group:
        hungry = Hungry(c, group)
        launcher = LAUNCHERS[0]
        result, = hungry.job.run(f"{launcher} ./limited.sh --spill none", limit=120)
        require(result.code == 2 and "begun" not in result.out, f"{launcher}: {result}")
        told = [line for line in result.err if "`C` does not fit into memory: it needs at least" in line]
        require(len(told) == 1 and "is 300.0 MiB for 2 ranks; give at least " in told[0], f"{launcher}: {result}")
        hungry.limit(int(re.search(r"give at least (\d+) MiB for the 2 ranks of a node", told[0])[1]) << 20)
        result, = hungry.job.run(f"{launcher} ./limited.sh --dry-run", limit=120)
        require(result.code == 0, f"with as much as was said to be enough: {result}")


def killed_for_memory(c):
    with MemoryGroup(4 << 30) as group:
        hungry = Hungry(c, group)
        for launcher in LAUNCHERS:
            # The kernel may also kill the other rank of the host before it prints anything.
            for attempt in range(6):
                hungry.limit(4 << 30)
                result = hungry.run_and_lower(f"{launcher} ./limited.sh", 120 << 20)
                # 255 is Open MPI's own code, used if a peer notices the killed rank before it is terminated.
                require(result.code in (137, 255), f"{launcher}: {result}")
                told = [line for line in result.err if "the system killed a process of this run on h3 because memory ran out" in line]
                require(len(told) <= 1 and all("is 4.0 GiB" in line for line in told), f"{launcher}: {result}")
                # Open MPI prints its own text for vanished peers.
                require(sum("no output file was written" in line for line in result.err) <= 2, f"{launcher}: {result}")
                if told:
                    break
            require(told, f"{launcher}: no message in six attempts that memory ran out: {result}")


def stopped_rank(c):
    """SIGUSR2 prints the state of the ranks; a hanging rank is detected, and the run ends."""
    for launcher in LAUNCHERS:
        run = Endless(c, launcher, options="--heartbeat 4")
        try:
            run.wait(lambda: len(run.pids()) == RANKS, 10, "all ranks")
            victim = run.pids()[4]
            os.kill(run.pids()[2], signal.SIGUSR2)
            run.wait(lambda: "  rank 7: " in run.text("0.err"), 10, f"{launcher}: no rank reports its position")
            answers = re.findall(r"^  rank \d: h\d: .*", run.text("0.err"), re.MULTILINE)
            require(len(answers) == RANKS and "line 5, `B`: " in "".join(answers), f"{launcher}: {run.text('0.err')}")
            os.kill(victim, signal.SIGSTOP)
            run.wait(lambda: run.text("0.code"), 30, f"{launcher} does not end")
            told = re.findall(r"^no sign of life from rank \d for \d+ s; it said last: h\d: .*", run.text("0.err"), re.MULTILINE)
            require(len(told) == 1, f"{launcher}: one message is expected: {run.text('0.err')}")
            run.wait(lambda: not run.pids(), 10, f"{launcher}: ranks are left")
            require(sorted(p.name for p in run.job.folder.iterdir() if ".npy" in p.name)[-1] == "early.npy", "a file is left")
        finally:
            run.end()


def submit(c, job, *arguments, limit=90):
    done = subprocess.run([c.tdslc, "submit", *arguments], cwd=job.folder, capture_output=True, text=True, timeout=limit, check=False)
    return Result(done.returncode, done.stdout, done.stderr)


def submitted(c):
    job = c.job()
    profile = job.folder / "site.conf"
    subprocess.run([c.tdslc, "doctor", "--site", "-o", str(profile)], check=True)
    checked = subprocess.run([c.tdslc, "doctor", "--site", "--profile", str(profile)], check=True, capture_output=True, text=True).stdout
    require(checked == f"{profile} agrees with the cluster\n" and "launcher = srun\n" in profile.read_text(), f"{checked}{profile.read_text()}")
    product = [str(SOURCE / PROGRAMS["product"]), "--site", str(profile), "--nodes", str(HOSTS), "--wait", "--", *c.product.split()[1:]]
    result = submit(c, job, *product)
    c.check_product(job, result)
    require(f"product: {RANKS} ranks x 1 thread: h1: cores 0 | 1; h2" in result.out, str(result))
    require([line.partition(": ")[2] for line in result.err[1:]][-1] == "COMPLETED", str(result))
    script = (job.folder / "product.sbatch").read_text()
    require(f"#SBATCH --nodes={HOSTS} --ntasks-per-node=2 --cpus-per-task=1 --mem=" in script, script)
    # Tests mpirun, ranks that do not fill the nodes, and the job's exit code.
    other = job.folder / "mpirun.conf"
    other.write_text(profile.read_text().replace("launcher = srun", "launcher = mpirun"))
    train = [str(SOURCE / PROGRAMS["train"]), "--site", str(other), "-n", "7", "--wait", "--", *c.train.split()[1:]]
    result = submit(c, job, *train)
    require(result.code == 0 and "train: 7 ranks" in result.out.replace("logistic_regression", "train"), str(result))
    require(np.allclose(np.load(job.folder / "w.npy"), c.w, rtol=1e-9, atol=1e-12), "the training is wrong")
    other.write_text(profile.read_text() + "setup = exit 42\n")
    result = submit(c, job, *product[:1], "--site", str(other), *product[3:])
    require(result.code == 42 and result.err[-1].endswith("FAILED, exit code 42"), str(result))


def swept(c):
    job = c.job()
    subprocess.run([c.tdslc, "doctor", "--site", "-o", "site.conf"], cwd=job.folder, check=True)
    sweep = [str(SOURCE / PROGRAMS["train"]), "--site", "site.conf", "-o", "train", "--sweep", "lambda=0.01,0.5", "--wait", "--",
             "--X", f"{c.work}/X.npy", "--y", f"{c.work}/y.npy", "--w"]
    result = submit(c, job, *sweep, "w.npy")
    refused(result, 2, r"^--w w.npy: elements 0 and 1 of the sweep write this file: name it w-\{lambda\}.npy \[file-clash\]$")
    result = submit(c, job, *sweep, "w-{lambda}.npy")
    require(result.code == 0 and re.search(r"(?m)^\[1\] .*loss", result.out), str(result))
    subprocess.run([*shlex.split(c.train), "--lambda", "0.5"], cwd=job.folder, check=True, stdout=subprocess.DEVNULL)
    for file, expected in (("w-0.01.npy", c.w), ("w-0.5.npy", np.load(job.folder / "w.npy"))):
        require(np.allclose(np.load(job.folder / file), expected, rtol=1e-9, atol=1e-12), f"{file} is wrong")


# A data-dependent condition: a `for` loop would be recorded up to ten seconds ahead, and stop only after that.
ITERATE = """input A: f64[n, n];
input B: f64[n, n];
param steps: i64 = 200;
var M = B;
var step = 0;
while step < steps && M[0, 0] < 1e300 {
  M = A @ M + 0.01 * B;
  print("at", step, M[0, 0]);
  step += 1;
}
output M;
"""


class Saved:
    """A job of 200 iterations with checkpoints, written and submitted by `tdslc submit`, and its uninterrupted result."""

    def __init__(self, c, *more, launcher="srun"):
        self.c, self.job = c, c.job()
        self.program, self.options = self.prepare(c)
        shutil.copy(c.work / "iterate.tdsl", self.job.folder)
        (self.job.folder / "site.conf").write_text((c.work / "site.conf").read_text().replace("launcher = srun", f"launcher = {launcher}"))
        result = submit(c, self.job, "iterate.tdsl", "--site", "site.conf", "--nodes", str(HOSTS), "--checkpoint", "--time", "30:00", "--", *self.options, "--M", "M.npy", *more)
        number = re.match(r"job (\d+): ", "\n".join(result.err) + result.out)
        require(result.code == 0 and number, str(result))
        self.id, self.checkpoints = number[1], self.job.folder / f"iterate-{number[1]}.ck"

    @staticmethod
    def prepare(c):
        program, files, n = c.work / "iterate", [c.work / f"iterate-{name}.npy" for name in "AB"], 700
        if not program.exists():
            (c.work / "iterate.tdsl").write_text(ITERATE)
            subprocess.run([c.tdslc, "build", "iterate.tdsl", "-o", "iterate"], cwd=c.work, check=True)
            subprocess.run([c.tdslc, "doctor", "--site", "-o", "site.conf"], cwd=c.work, check=True)
            rng = np.random.default_rng(n)
            np.save(files[0], rng.standard_normal((n, n)) / n**0.5)
            np.save(files[1], rng.standard_normal((n, n)))
        return program, ["--A", str(files[0]), "--B", str(files[1])]

    def text(self):
        log = self.job.folder / f"iterate-{self.id}.log"
        return log.read_text(errors="replace") if log.exists() else ""

    def ranks(self):
        return self.c.processes(f"{self.job.folder.name}/iterate")

    def said(self):
        """Output without the lines of all iterations but the last."""
        lines = self.text().splitlines()
        return "\n".join([line for line in lines if not line.startswith("at ")] + lines[-1:])

    def is_over(self):
        return (self.checkpoints / "finished").exists()

    def state(self):
        shown = subprocess.run(["scontrol", "show", "job", "-o", self.id], capture_output=True, text=True, check=False)
        return dict(re.findall(r"(\w+)=(\S+)", shown.stdout))

    def wait(self, what, done, limit=240):
        """Waits while the job is queued or running: a requeued one first waits for the credentials of the last attempt to expire."""
        end = time.monotonic() + limit
        while not done():
            state = self.state()
            alive = state.get("JobState") in ("PENDING", "CONFIGURING", "RUNNING", "SIGNALING", "COMPLETING", "REQUEUED") and time.monotonic() < end
            if not alive and not done():
                shown = {key: state.get(key) for key in ("JobState", "Reason", "Restarts", "ExitCode", "SubmitTime", "EligibleTime", "StartTime", "EndTime")}
                left = sorted(p.name for p in self.checkpoints.iterdir()) if self.checkpoints.exists() else "no checkpoints"
                raise Failed(f"{what}: {shown}, {left}: {self.said()}")
            time.sleep(0.1)

    def reach(self, step):
        self.wait(f"the job does not come to iteration {step}", lambda: f"at {step} " in self.text())

    def stop(self):
        """Stops it with the signal that Slurm sends before the time limit. False: it had already ended."""
        subprocess.run(["scancel", "-b", "-s", "USR1", self.id], check=True)
        return self.stopped()

    def stopped(self):
        self.wait("the job does not stop", lambda: "stopped: checkpoint written to" in self.text() or self.is_over())
        return "stopped: checkpoint written to" in self.text()

    def undisturbed(self, name="alone"):
        """The uninterrupted result, computed once."""
        path = self.c.work / f"iterate-{name}.npy"
        if not path.exists():
            self.by_hand(HOSTS, path, *(["--reproducible"] if name == "exact" else []))
        return path.read_bytes()

    def by_hand(self, hosts, path, *more):
        ran = subprocess.run(["srun", "--mpi=pmix", f"-N{hosts}", f"-n{hosts * RANKS // HOSTS}", self.program, *self.options, "--M", str(path), *more], cwd=self.job.folder,
                             capture_output=True, text=True, timeout=240, check=False)
        require(ran.returncode == 0, f"by hand on {hosts} hosts: {Result(ran.returncode, ran.stdout, ran.stderr)}")
        return path.read_bytes()

    def goes_on(self, name="alone"):
        self.wait("the job does not go on", lambda: "resuming from" in self.text())
        self.ends(name)

    def ends(self, name="alone"):
        self.wait("the job does not end", self.is_over)
        # Its last files are closed after the script has ended.
        require((self.job.folder / "M.npy").read_bytes() == self.undisturbed(name), "other bits than without an interruption")


def requeued(c):
    """A job with checkpoints reaches its time limit: it is requeued, resumes, and ends with the bits of an uninterrupted run. On three hosts the
    checkpoint is resumed with results equal up to rounding."""
    step = 40
    run = Saved(c)
    run.reach(step)
    while not run.stop():  # a fast machine may finish before the signal
        require(step := step // 4, f"the job does not heed the signal: {run.said()}")
        run = Saved(c)
        run.reach(step)
    shutil.copytree(run.checkpoints, run.job.folder / "copy")
    three = run.by_hand(3, run.job.folder / "three.npy", "--resume", "copy")
    run.goes_on()
    require(run.text().count("stopped: checkpoint written to") == 1, run.said())
    require(np.allclose(np.load(run.job.folder / "three.npy"), np.load(run.job.folder / "M.npy"), rtol=1e-9, atol=1e-12) and three, "three hosts come to something else")


def requeued_exactly(c):
    """With --reproducible three hosts give the same bits."""
    run = Saved(c, "--reproducible")
    run.reach(c.random.randrange(5, 100))
    require(run.stop(), "the run was over too early")
    shutil.copytree(run.checkpoints, run.job.folder / "copy")
    three = run.by_hand(3, run.job.folder / "three.npy", "--reproducible", "--resume", "copy")
    run.goes_on("exact")
    require(three == run.undisturbed("exact"), "three hosts come to other bits")


def at_the_time_limit(c):
    """Slurm itself sends the signal; the limit is reduced during the run. Ranks are suspended until the signal arrives: Slurm checks every half minute."""
    run = Saved(c)
    run.reach(c.random.randrange(1, 30))
    ranks = run.ranks()
    require(len(ranks) == RANKS, "the run was over too early")
    for pid in ranks:
        os.kill(pid, signal.SIGSTOP)
    hours, minutes, seconds = map(int, run.state()["RunTime"].split(":"))
    subprocess.run(["scontrol", "update", f"JobId={run.id}", f"TimeLimit={60 * hours + minutes + (seconds + 119) // 60 + 1}"], check=True)
    pending = lambda pid: int(re.search(r"ShdPnd:\s*(\w+)", Path(f"/proc/{pid}/status").read_text())[1], 16) & 1 << signal.SIGUSR1 - 1
    run.wait("no signal comes", lambda: all(pending(pid) for pid in ranks))
    for pid in ranks:
        os.kill(pid, signal.SIGCONT)
    require(run.stopped(), f"the signal is forgotten: {run.said()}")
    run.goes_on()


def pulled_plug(c):
    """A host becomes unreachable: the run ends, the job is requeued, by Slurm or by its script, and ends with the same bits; with and without an
    earlier checkpoint, and for the host of rank 0."""
    for host, every, launcher in ((3, "0", "srun"), (2, "30m", "srun"), (4, "0.3", "mpirun"), (1, "0.3", "srun")):
        run = Saved(c, "--checkpoint-every", every, launcher=launcher)
        run.reach(c.random.randrange(5, 100))
        subprocess.run(["ip", "link", "set", f"v{host}", "down"], check=True)
        try:
            others = lambda: [pid for pid in run.ranks() if c.host_of(pid) != f"h{host}"]
            run.wait(f"host {host}, {launcher}: ranks are left on other hosts", lambda: not others() or int(run.state().get("Restarts", 0)) > 0, 30)
            run.wait(f"host {host}, {launcher}: the job is not queued again", lambda: int(run.state().get("Restarts", 0)) > 0)
        finally:
            subprocess.run(["ip", "link", "set", f"v{host}", "up"], check=True)
        run.ends()


LONG = [requeued_exactly, at_the_time_limit, pulled_plug]
CASES = [right_results, submitted, swept, requeued, without_pmix, pinned_to_too_few_cores, threads_left_idle, transports_that_stay_inside, fewer_ranks_than_tasks,
         different_executables, instructions_of_another_machine, errors_speak_alone, refused_for_memory, killed_for_memory, killed_rank, stopped_rank, leftovers_of_a_killed_attempt]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tdslc", required=True)
    parser.add_argument("--filter", default="")
    parser.add_argument("--long", action="store_true", help="time limits, lost hosts and the like too")
    parser.add_argument("--seed", type=int, default=random.randrange(10**6))
    parser.add_argument("--list", action="store_true", help="the names of the cases")
    options = parser.parse_args()
    cases = [case for case in [*CASES, *(LONG if options.long else [])] if options.filter in f"cluster/{case.__name__}"]
    cases = turns.part(cases, 4)
    if options.list:
        print(*(f"cluster/{case.__name__}" for case in cases), sep="\n")
        return 0
    # Settings for tests on a single machine would be wrong here.
    for name in [n for n in os.environ if n.startswith(("OMPI_MCA_", "TDSL_")) and n != "TDSL_LAB"]:
        del os.environ[name]
    os.environ["TDSL_MPI"] = "openmpi"  # MPICH may be installed, too
    os.environ["SLURM_PMIX_FENCE"] = "ring"  # as set by the scripts of `tdslc submit`
    os.environ["OMPI_ALLOW_RUN_AS_ROOT"] = os.environ["OMPI_ALLOW_RUN_AS_ROOT_CONFIRM"] = "1"
    failed = False
    with tempfile.TemporaryDirectory(prefix="tdsl-cluster-", dir=os.environ.get("TMPDIR")) as work:
        cluster = Cluster(options.tdslc, Path(work))
        cluster.random = random.Random(options.seed)
        if options.long:
            print(f"cluster: seed {options.seed}", flush=True)
        for case in cases:
            begun = time.monotonic()
            try:
                case(cluster)
                print(f"PASS cluster/{case.__name__} ({time.monotonic() - begun:.1f} s)", flush=True)
            except Skipped as reason:
                print(f"SKIP cluster/{case.__name__} {reason}", flush=True)
            except (Failed, subprocess.SubprocessError, OSError) as error:
                failed = True
                print(f"FAIL cluster/{case.__name__}: {' | '.join(str(error).splitlines())}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
