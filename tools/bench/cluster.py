"""Placement of ranks: simulated machines of one rank each with rate-limited links, or ranks on this machine."""
import os
import pathlib
import shlex
import signal
import subprocess
import time

HERE = pathlib.Path(__file__).resolve().parent
HOSTS = str(HERE / "hosts")
RANKS = 4


class Cluster:
    """`rate`: bandwidth of the links between machines; None: all ranks on this machine. A context manager: `machines` machines are up inside, and programs
    run on the first `ranks` of them."""

    def __init__(self, rate, mpiexec, machines=RANKS):
        self.rate, self.mpiexec, self.machines, self.ranks, self.running, self.up = rate, mpiexec, machines, machines, [], False

    def __enter__(self):
        if self.rate:
            if subprocess.run([HOSTS, "up", str(self.machines), self.rate]).returncode != 0:
                raise SystemExit(1)
            self.up = True
        return self

    def __exit__(self, *_):
        for process in self.running:
            os.killpg(process.pid, signal.SIGTERM)
        for process in self.running:
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
        self.running = []
        if self.up:
            subprocess.run([HOSTS, "down"], check=True)
            self.up = False

    def launch(self, variables=()):
        """Prefix of a command that starts the ranks; the named environment variables are passed on to them."""
        passed = [word for name in variables for word in ("-x", name)]
        if self.rate:
            return [HOSTS, "run", "--quiet", *passed, "-np", str(self.ranks)]
        return [self.mpiexec, "--oversubscribe", "--bind-to", "none", *passed, "-n", str(self.ranks)]

    def address(self, machine):
        return f"10.78.0.{machine + 1}" if self.rate else "127.0.0.1"

    def on(self, machine, command):
        """The command wrapped to run on that machine, counted from 0, with its environment."""
        return [HOSTS, f"h{machine + 1}", shlex.join(command)] if self.rate else command

    def start(self, machine, command, environment, log):
        with open(log, "a") as out:
            self.running.append(subprocess.Popen(self.on(machine, command), env=environment, stdout=out, stderr=out, stdin=subprocess.DEVNULL,
                                                 start_new_session=True))

    def start_dask(self, scratch, environment):
        """Starts a scheduler, and a worker with one thread per machine; returns the scheduler's address."""
        python, log, port = "/usr/bin/python3", scratch / "dask.log", "8786"
        address = f"tcp://{self.address(0)}:{port}"
        self.start(0, [python, "-m", "distributed.cli.dask_scheduler", "--host", self.address(0), "--port", port, "--no-dashboard"], environment, log)
        for machine in range(self.ranks):
            self.start(machine, [python, "-m", "distributed.cli.dask_worker", address, "--nthreads", "1", "--no-nanny", "--no-dashboard", "--host",
                                 self.address(machine), "--local-directory", str(scratch)], environment, log)
        time.sleep(1)
        return address

    def constants(self, tdslc, scratch):
        """This cluster's machine file, measured once by `tdslc doctor`; rates are divided among the ranks, because they share the cores."""
        measured = scratch / "cache" / "tdsl" / "machine.conf"
        if not measured.exists():
            self.measure(tdslc, scratch)
        share = min(1.0, os.cpu_count() / self.ranks)
        lines = []
        for line in measured.read_text().splitlines():
            name, _, value = line.partition(" = ")
            lines.append(f"{name} = {float(value) * share:.9g}" if name in ("flop_rate", "row_product_rate", "loop_rate", "stream_rate") else line)
        file = scratch / f"cluster{self.ranks}.machine"
        file.write_text("\n".join(lines) + "\n")
        return str(file)

    def measure(self, tdslc, scratch):
        environment = dict(os.environ, XDG_CACHE_HOME=str(scratch / "cache"), OMPI_MCA_plm="rsh", OMPI_MCA_plm_rsh_agent=HOSTS)
        command = [tdslc, "doctor", *(["--hosts", "h1,h2"] if self.rate and self.machines > 1 else [])]
        done = subprocess.run(self.on(0, command), env=environment, capture_output=True, text=True)
        if done.returncode != 0:
            raise SystemExit(f"{' '.join(command)}\n{done.stdout}{done.stderr}")
