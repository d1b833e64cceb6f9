"""Many programs in one file: evaluated, built and launched together, compared individually."""
import json
import re
import shutil
import sys
from pathlib import Path
from typing import NamedTuple, Optional

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "e2e"))
import compare
import launch
import plans

ERROR_LINE = re.compile(r"batch\.tdsl:(\d+)(?::\d+)?: ?(.*)")
TOO_MANY_TASKS = re.compile(r"--schedule=\w+: the task workflow has more than ")
LEAST_WINDOW = re.compile(r"smallest legal value is --window (\d+)")
# A size in some program depends on computed data.
NO_PLAN = "there is no plan before the program runs"
# Failures without a verdict: the compiler reports that it does not support the program yet.
UNSUPPORTED = "unsupported"


class Point(NamedTuple):
    """One launch."""
    ranks: int
    tile: Optional[str] = None
    threads: int = 1
    window: bool = False  # the least legal one
    delays: int = 0
    factorise: str = "auto"
    reproducible: bool = False
    schedule: str = "auto"
    imposed: int = 0  # seed of a random plan; 0: none

    def __str__(self):
        return (f"ranks={self.ranks} tile={self.tile or 'auto'} threads={self.threads}"
                f" window={'least' if self.window else 'none'} delays={self.delays}"
                f" factorise={self.factorise}{' reproducible' if self.reproducible else ''} schedule={self.schedule}"
                f"{f' imposed={self.imposed}' if self.imposed else ''}")


class Failure(NamedTuple):
    """kind: front, eval, build, plan, run, hang, difference, statistics, survey, or `unsupported`."""
    program: object
    kind: str
    text: str
    point: Optional[Point] = None


class Tools(NamedTuple):
    tdslc: str
    seconds_per_program: float = 2.0
    extra: tuple = ()  # options for `tdslc build`


class Stuck(Exception):
    """A step failed as a whole, and no line identifies the program."""

    def __init__(self, kind, text, point=None):
        super().__init__(text)
        self.kind, self.text, self.point = kind, text, point


class Batch:
    """Programs under the prefixes p0_, p1_, … in a folder."""

    def __init__(self, programs, folder, tools):
        self.folder, self.tools = Path(folder), tools
        self.members = dict(enumerate(programs))
        self.failures = []
        self.open_outputs = self.inexact = self.compared = self.decisions = self.refused = self.unplanned = 0
        self.folder.mkdir(parents=True, exist_ok=True)
        for index, program in self.members.items():
            for i in program.used_inputs():
                i.save(self.folder / f"{self.prefix(index)}{i.name}")

    def prefix(self, index):
        return f"p{index}_"

    @property
    def path(self):
        return self.folder / "batch.tdsl"

    @property
    def limit(self):
        return 20 + self.tools.seconds_per_program * len(self.members)

    def write(self):
        self.owners, lines = [], []
        for index, program in self.members.items():
            own = program.lines(self.prefix(index))
            lines += own
            self.owners += [index] * len(own)
        self.path.write_text("\n".join(lines) + "\n")

    def arguments(self):
        result = []
        for index, program in self.members.items():
            prefix = self.prefix(index)
            for i in program.used_inputs():
                result += [f"--{prefix}{i.name}", i.argument(self.folder / f"{prefix}{i.name}")]
            for name, text in program.used_params():
                result += [f"--{prefix}{name}", text]
        return result

    def outputs(self):
        return [(index, name) for index, program in self.members.items() for name in program.declared_outputs()]

    def output_arguments(self, folder):
        folder.mkdir(parents=True, exist_ok=True)
        return [word for index, name in self.outputs()
                for word in (f"--{self.prefix(index)}{name}", folder / f"{self.prefix(index)}{name}.npy")]

    # --- failures with a known program
    def blame(self, kind, text, point=None):
        """Removes the programs whose lines a message contains from the batch; returns whether there were any."""
        found = {}
        for line in text.splitlines():
            match = ERROR_LINE.search(line)
            if match and "warning:" not in line and 0 < int(match[1]) <= len(self.owners):
                found.setdefault(self.owners[int(match[1]) - 1], []).append(line.strip())
        for index, lines in found.items():
            what = UNSUPPORTED if all("not-supported" in x or "not supported yet" in x for x in lines) else kind
            self.fail(index, what, "\n".join(lines[:3]), point)
        return bool(found)

    def fail(self, index, kind, text, point=None):
        self.failures.append(Failure(self.members.pop(index), kind, text, point))

    def step(self, kind, command, limit):
        """Runs a command on the batch; programs named by an error are removed, and it runs again."""
        while self.members:
            self.write()
            result = launch.run(command(), limit)
            if result.code == 0 and not result.timed_out:
                return result
            text = result.err + result.out
            if result.timed_out:
                raise Stuck("hang", f"{kind}: nothing after {limit:.0f} s")
            if not self.blame(kind, text):
                raise Stuck(kind, f"exit code {result.code}: {tail(text)}")
        return None

    # --- steps
    def evaluate(self):
        """The evaluator's values, bounds and printed lines."""
        folder = self.folder / "eval"
        shutil.rmtree(folder, ignore_errors=True)
        command = lambda: [self.tools.tdslc, "eval", self.path, "--bounds", folder, "--", *self.arguments(),
                           *self.output_arguments(folder)]
        result = self.step("eval", command, 3 * self.limit)
        if result is None:
            return
        self.want, self.bounds, self.open_outputs, self.inexact = {}, {}, 0, 0
        for index, name in self.outputs():
            key = self.prefix(index) + name
            self.want[key] = np.load(folder / f"{key}.npy")
            self.bounds[key] = np.load(folder / f"{key}.bounds.npy")
            self.open_outputs += bool(np.isinf(self.bounds[key]).any())
            self.inexact += self.members[index].exact and bool(self.bounds[key].any())
        self.printed = printed_values(result.out)

    def build(self):
        executable = self.folder / "batch"
        command = lambda: [self.tools.tdslc, "build", self.path, "-o", executable, *self.tools.extra]
        self.step("build", command, 300 + 3 * self.limit)

    def run(self, point):
        """One launch; failures of individual programs are recorded, others raise Stuck."""
        folder = self.folder / "run"
        shutil.rmtree(folder, ignore_errors=True)
        statistics = self.folder / "stats.json"
        command = [*launch.mpi_command(point.ranks), self.folder / "batch", *self.arguments(), *self.output_arguments(folder),
                   "--threads", point.threads, "--stats", statistics]
        if point.tile:
            command += ["--tile", point.tile]
        command += ["--factorise", point.factorise]
        plan = self.random_plan(point, command[command.index("--threads"):]) if point.imposed else None
        if plan:
            command += ["--use-plan", plan.path]
        else:
            command += ["--reproducible"] if point.reproducible else ["--schedule", point.schedule]
        environment = {"TDSL_OVERSUBSCRIBED": "1"} | ({"TDSL_DELAYS": str(point.delays)} if point.delays else {})
        window = 1 if point.window else None
        while True:
            result = launch.run(command + (["--window", window] if window else []), self.limit, env=environment)
            if result.code == 2 and TOO_MANY_TASKS.search(result.err) and "--schedule" in command:
                command[command.index("--schedule") + 1] = "auto"
                continue
            asked = LEAST_WINDOW.search(result.err) if window and result.code == 2 else None
            if plan and result.code == 2 and plan.leave_out(result.err):
                continue
            if not asked or int(asked[1]) <= window:
                break
            window = int(asked[1])
        if plan:
            self.decisions += plan.decisions()
            self.refused += plan.refused
        if result.timed_out:
            raise Stuck("hang", f"nothing after {self.limit:.0f} s", point)
        if result.code != 0:
            if self.blame("run", result.err + result.out, point):
                return self.rebuild_and_run(point)
            raise Stuck("run", f"exit code {result.code}: {tail(result.err + result.out)}", point)
        self.compare(folder, printed_values(result.out), point)
        self.check_statistics(json.loads(statistics.read_text()), point)
        if point.ranks > 1:
            self.check_survey(json.loads(statistics.read_text())["region"], point, command[command.index("--threads"):])
        return None

    def random_plan(self, point, options):
        options = options[:options.index("--stats")] + options[options.index("--stats") + 2:]
        arguments = [*self.arguments(), *self.output_arguments(self.folder / "run"), *options]
        explain = [self.tools.tdslc, "explain", self.path, *self.tools.extra]
        try:
            return plans.random_plan(explain, arguments, point.ranks, point.imposed, self.folder / "imposed.plan", self.limit)
        except plans.Unusable as unusable:
            if NO_PLAN in str(unusable):
                self.unplanned += 1
                return None  # planned step by step
            raise Stuck("plan", str(unusable), point)

    def build_and_evaluate(self):
        """Removes programs that cannot be built and reevaluates the others: random numbers depend on their position."""
        before = len(self.members)
        if before:
            self.build()
        if 0 < len(self.members) < before:
            self.evaluate()

    def rebuild_and_run(self, point):
        self.evaluate()
        self.build_and_evaluate()
        if self.members:
            self.run(point)

    def compare(self, folder, printed, point):
        wrong = {}
        for index, name in self.outputs():
            key = self.prefix(index) + name
            path = folder / f"{key}.npy"
            if not path.exists():
                wrong.setdefault(index, f"{name} was not written")
                continue
            self.compared += 1
            message = compare.difference(name, np.load(path), self.want[key], self.bounds[key])
            message = message or self.difference_of_prints(key, printed)
            if message:
                wrong.setdefault(index, message)
        for index, message in wrong.items():
            # It stays in the executable; its results are ignored from now on.
            self.failures.append(Failure(self.members[index], "difference", message, point))
        self.ignore(set(wrong))

    def ignore(self, indices):
        for index in indices:
            self.members[index] = self.members[index].copy()
            self.members[index].outputs = []

    def difference_of_prints(self, key, printed):
        want, got = self.printed.get(key), printed.get(key)
        if want == got:
            return None
        if want is None or got is None or len(want) != len(got):
            return f"printed {got}, not {want}"
        array, bound = self.want[key], self.bounds[key]
        if array.ndim == 0 and array.dtype.kind == "f":
            near = all(abs(float(g) - float(w)) <= float(bound) + abs(float(w)) * np.finfo(array.dtype).eps for g, w in zip(got, want))
            if near or np.isinf(bound):
                return None
        elif np.isinf(bound).any():
            return None
        return f"printed {got}, not {want}"

    def check_survey(self, region, point, options):
        """The initial survey found what `explain` finds, and all sites of the run if it covered the whole program."""
        options = [*self.arguments(), *self.output_arguments(self.folder / "run"), *options]
        explain = [self.tools.tdslc, "explain", self.path, *self.tools.extra]
        message = launch.other_region(explain, point.ranks, options, region, self.limit)
        if message or region["whole"] and region["unsurveyed"]:
            raise Stuck("survey", message or f"{region['unsurveyed']} operations were not surveyed", point)

    def check_statistics(self, statistics, point):
        """No block is left, bytes sent equal bytes received, and counts are within predictions."""
        ranks = statistics["per_rank"]
        if any(r["blocks_at_exit"] for r in ranks):
            raise Stuck("statistics", f"blocks at exit: {[r['blocks_at_exit'] for r in ranks]}", point)
        if sum(r["bytes_received"] for r in ranks) != sum(r["bytes_sent"] for r in ranks):
            raise Stuck("statistics", "bytes sent and received differ", point)
        for rank in ranks:
            predicted = rank["predicted"]["bytes_received"]
            low, high = predicted if isinstance(predicted, list) else (predicted, predicted)
            if not low <= rank["bytes_received"] <= high:
                raise Stuck("statistics", f"rank {rank['rank']} received {rank['bytes_received']} bytes, predicted {low} to {high}", point)


def tail(text):
    lines = [x for x in text.strip().splitlines() if "warning:" not in x and x.strip()]
    errors = [x for x in lines if re.search(r"error|Error|ERROR|check failed|internal|Assert|Signal:|pointer|corrupt", x)]
    return "\n".join((errors or lines)[:4])[:800]


def printed_values(text):
    """{name: [values]} of lines `name value`."""
    result = {}
    for line in text.splitlines():
        name, _, value = line.partition(" ")
        result.setdefault(name, []).append(value)
    return result


def run_batch(programs, folder, tools, points, log=lambda text: None, bisect=True):
    """Failures of the programs at the points, and the batches' counters. Failures without a line are bisected."""
    batch = Batch(programs, folder, tools)
    counters = dict.fromkeys(("compared", "open", "inexact", "launches", "decisions", "refused", "unplanned"), 0)
    failures, pending = [], list(points)

    def finish():
        counters["compared"] += batch.compared
        counters["open"] += batch.open_outputs
        counters["inexact"] += batch.inexact
        counters["decisions"] += batch.decisions
        counters["refused"] += batch.refused
        counters["unplanned"] += batch.unplanned
        return failures + batch.failures, counters

    try:
        batch.evaluate()
        batch.build_and_evaluate()
        while pending and batch.members:
            counters["launches"] += 1
            batch.run(pending[0])
            pending.pop(0)
        return finish()
    except Stuck as stuck:
        # Programs with identified failures are done; the rest is bisected.
        left = [p for p in batch.members.values() if p.outputs]
        done, counters = finish()
        if len(left) <= 1 or not bisect:
            done += [Failure(p, stuck.kind, stuck.text, stuck.point) for p in left[:1]]
            return done, counters
        log(f"{stuck.kind} in a batch of {len(left)}, looking for the program: {stuck.text.splitlines()[0][:150]}")
        half, found = len(left) // 2, 0
        wanted = pending or list(points)
        for number, part in enumerate((left[:half], left[half:])):
            more, count = run_batch(part, Path(folder) / str(number), tools, wanted, log)
            found += sum(f.kind != UNSUPPORTED for f in more)
            done += more
            for key, value in count.items():
                counters[key] += value
        if not found:
            done.append(Failure(left, stuck.kind, f"only together ({len(left)} programs): {stuck.text}", stuck.point))
        return done, counters
