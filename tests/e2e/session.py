"""One program's test: build, reference by the evaluator, runs at points of the matrix."""
import json
import re
import shutil
from pathlib import Path

import numpy as np

import compare
import entry_files
import launch

LEAST_MEMORY = re.compile(r"give at least --memory (\d+)")
TASK_FORM = re.compile(r"serial_loops: applied: (in two forms|the loop over small tensors)")
TOO_MANY_TASKS = re.compile(r"--schedule=\w+: the task workflow has more than ")
LEAST_WINDOW = re.compile(r"smallest legal value is --window (\d+)")


class Failed(Exception):
    """A failed check, with its description."""


class Session:
    """A built program in its own folder."""

    def __init__(self, program, tdslc, folder, limit, build_options=(), prefix=None):
        self.program, self.tdslc, self.limit, self.build_options = program, tdslc, limit, build_options
        self.environment = {"TDSL_HOME": str(prefix)} if prefix else {}  # compiler prefix for programs, if not the default
        self.folder = Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        self.executable = self.folder / self.program.name
        self.statements = None  # the executable that runs loops statement by statement instead of as one task
        self.launches = 0

    def build(self):
        result = launch.run([self.tdslc, "build", self.program.path, "-o", self.executable, *self.build_options], 3 * self.limit, env=self.environment)
        if result.code != 0 or not self.executable.exists():
            raise Failed(f"tdslc build: {result}")

    def build_both_forms(self):
        """Loops over tensors as small as a test's are one task; the other variant is for large ones, and is tested too."""
        self.build()
        passes = launch.run([self.tdslc, "passes", self.program.path, *self.build_options], self.limit)
        if not TASK_FORM.search(passes.out + passes.err):
            return
        self.statements = self.folder / f"{self.program.name}-statements"
        result = launch.run([self.tdslc, "build", self.program.path, "-o", self.statements, "--disable-pass", "serial_loops",
                             *self.build_options], 3 * self.limit, env=self.environment)
        if result.code != 0 or not self.statements.exists():
            raise Failed(f"tdslc build --disable-pass serial_loops: {result}")

    def prepare(self, variant):
        """Writes inputs, computes the evaluator's outputs with bounds, and compares the NumPy twin with them."""
        return Case(self, variant)

    def remove(self):
        shutil.rmtree(self.folder, ignore_errors=True)


class Case:
    """A variant of a program with its inputs and reference."""

    def __init__(self, session, variant):
        self.session, self.variant = session, variant
        self.folder = session.folder / variant.label
        self.folder.mkdir(parents=True, exist_ok=True)
        self.inputs = session.program.make_inputs(variant)
        self.arguments = list(variant.args)
        for name, value in self.inputs.items():
            kind = session.program.file_kinds.get(name, "npy")
            written = entry_files.WRITERS[kind](self.folder / f"{name}.{kind}", value)
            self.arguments += ["--" + name, written or f"{name}.{kind}"]  # programs run in this folder
        self.evaluate()
        self.compare_with_twin()

    def outputs_into(self, name):
        (self.folder / name).mkdir(exist_ok=True)
        return [word for o in self.session.program.outputs for word in ("--" + o, f"{name}/{o}.npy")]

    def read(self, folder, suffix=""):
        result = {}
        for output in self.session.program.outputs:
            path = folder / f"{output}{suffix}.npy"
            if not path.exists():
                raise Failed(f"{path.name} was not written")
            result[output] = np.load(path)
        return result

    def evaluate(self):
        folder = self.folder / "eval"
        command = [self.session.tdslc, "eval", self.session.program.path, "--bounds", "eval", "--", *self.arguments,
                   *self.outputs_into("eval")]
        result = launch.run(command, 3 * self.session.limit, cwd=self.folder)
        if result.code != 0:
            raise Failed(f"tdslc eval: {result}")
        self.reference, self.bounds, self.printed = self.read(folder), self.read(folder, ".bounds"), result.out
        self.scalars = [(float(self.reference[o]), float(self.bounds[o])) for o in self.session.program.outputs
                        if self.reference[o].ndim == 0 and self.reference[o].dtype.kind == "f"]
        program = self.session.program
        for name, bound in self.bounds.items():
            if np.isinf(bound).any() and not program.open:
                raise Failed(f"the evaluator gives {name} an infinite bound: the test says nothing")
            if self.variant.label == "small" and program.exact and bound.any():
                raise Failed(f"the evaluator gives {name} the bound {np.max(bound):.3g} where sums are exact")

    def compare_with_twin(self):
        program = self.session.program
        twin = program.twin(self.variant, self.inputs, self.reference)
        for name, value in (twin or {}).items():
            value = np.asarray(value, dtype=self.reference[name].dtype) if np.asarray(value).dtype.kind == "i" else value
            message = compare.difference(name, value, self.reference[name], self.bounds[name])
            if message:
                raise Failed(f"NumPy and eval differ: {message}")

    def run(self, point, delay_seed, folder_name, options=(), by_statements=False):
        """Runs at a point; returns the outputs. A window of "least" is determined by a trial run."""
        folder = self.folder / folder_name
        executable = by_statements and self.session.statements or self.session.executable
        command = [*launch.mpi_command(point.ranks), executable, *self.arguments,
                   *self.outputs_into(folder_name), "--threads", point.threads, "--stats", f"{folder_name}/stats.json", *options]
        if point.tile:
            command += ["--tile", point.tile]
        environment = {"TDSL_OVERSUBSCRIBED": "1"}
        if delay_seed:
            environment["TDSL_DELAYS"] = str(delay_seed)
        window = 1 if point.window == "least" else None
        while True:
            self.session.launches += 1
            extra = ["--window", window] if window else []
            result = launch.run(command + extra, self.session.limit, cwd=self.folder, env=environment)
            if result.code == 2 and TOO_MANY_TASKS.search(result.err) and "--schedule" in command:
                command[command.index("--schedule") + 1] = "auto"
                continue
            asked = LEAST_WINDOW.search(result.err) if window and result.code == 2 else None
            if not asked:
                break
            if int(asked[1]) <= window:
                raise Failed(f"window {window} is refused, and the smallest legal one is said to be {asked[1]}")
            window = int(asked[1])
        try:
            if result.code != 0 or result.timed_out:
                raise Failed(str(result))
            self.check(folder, result)
            self.statistics = json.loads((folder / "stats.json").read_text())
            self.check_statistics(self.statistics)
            return self.read(folder)
        except Failed as failure:
            raise Failed(f"{failure}\n      {self.repeat(command + extra, environment)}") from None
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def run_in_least_memory(self, point, delay_seed, folder_name):
        """Determines the least --memory, runs with it, and checks that no rank exceeds it. Returns it."""
        memory = 1
        for _ in range(10):
            try:
                self.run(point, delay_seed, folder_name, ["--memory", memory, "--spill", "none"])
            except Failed as failure:
                asked = LEAST_MEMORY.search(str(failure))
                if not asked or int(asked[1]) <= memory:
                    raise
                memory = int(asked[1])
                continue
            held = max(r["peak_block_bytes"] for r in self.statistics["per_rank"])
            if held > memory:
                raise Failed(f"{point}: a rank held {held} bytes with --memory {memory}")
            return memory
        raise Failed(f"{point}: --memory {memory} is not enough, either")

    @staticmethod
    def repeat(command, environment):
        return "command: " + " ".join([f"{k}={v}" for k, v in environment.items()] + [str(c) for c in command])

    def check(self, folder, result):
        program = self.session.program
        self.text = result.out
        got = self.read(folder)
        for name in program.outputs:
            message = compare.difference(name, got[name], self.reference[name], self.bounds[name])
            if message:
                raise Failed(message)
        message = compare.difference_of_prints(result.out, self.printed, self.scalars)
        if message:
            raise Failed(message)
        if result.err:
            raise Failed(f"text on stderr: {result.err[:200]!r}")
        left = {p.name for p in folder.iterdir()} - {f"{o}.npy" for o in program.outputs} - {"stats.json"}
        if left:
            raise Failed(f"files left: {sorted(left)}")

    @staticmethod
    def check_statistics(statistics):
        """No block is left, bytes sent equal bytes received, and counts are within predictions."""
        ranks = statistics["per_rank"]
        if any(r["blocks_at_exit"] for r in ranks):
            raise Failed(f"blocks at exit: {[r['blocks_at_exit'] for r in ranks]}")
        region = statistics.get("region", {"whole": False})  # one rank makes no survey
        if region["whole"] and region["unsurveyed"]:
            raise Failed(f"{region['unsurveyed']} recorded operations were not surveyed")
        for row in statistics["statements"]:
            low, high = interval(row["predicted"]["messages"])
            if not low <= row["measured"]["messages"] <= high:
                raise Failed(f"line {row['line']}: {row['measured']['messages']} messages, predicted {low} to {high}")
        if sum(r["bytes_received"] for r in ranks) != sum(r["bytes_sent"] for r in ranks):
            raise Failed("bytes sent and received differ")
        for rank in ranks:
            low, high = interval(rank["predicted"]["bytes_received"])
            if not low <= rank["bytes_received"] <= high:
                raise Failed(f"rank {rank['rank']} received {rank['bytes_received']} bytes, predicted {low} to {high}")
            low, high = interval(rank["predicted"]["bytes_sent"])
            if not low <= rank["bytes_sent"] <= high:
                raise Failed(f"rank {rank['rank']} sent {rank['bytes_sent']} bytes, predicted {low} to {high}")


class Unchecked(Case):
    """A case too large for the evaluator: runs are compared with each other only."""

    def evaluate(self):
        pass

    def compare_with_twin(self):
        pass

    def check(self, folder, result):
        self.text = result.out


def interval(value):
    return value if isinstance(value, list) else (value, value)
