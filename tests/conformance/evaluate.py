"""Runs one case with `tdslc eval` and as a separate executable: exit codes, messages, printed lines, values compared with NumPy."""
import re
import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "e2e"))
import compare
import launch

COMPILE_TIME = re.compile(r":\d+:\d+: (?:error|unsupported): ")
REFUSED = "[not-supported]"


class Wrong(Exception):
    """A failed check, with its description."""


class Pending(Exception):
    """The compiler reports that it does not support this yet, and the case expects so."""


class Reference:
    """A case in its own folder, with its files, the evaluator's results, and their error bounds."""

    def __init__(self, case, folder, tdslc, limit=60):
        self.case, self.folder, self.tdslc, self.limit = case, Path(folder), tdslc, limit
        self.folder.mkdir(parents=True, exist_ok=True)
        self.path.write_text(case.text)
        for name, text in case.files.items():
            (self.folder / name).write_text(text)
        self.inputs = case.inputs()
        for name, value in self.inputs.items():
            np.save(self.folder / f"{name}.npy", value)
        self.values = self.bounds = self.printed = None

    @property
    def path(self):
        return self.folder / "p.tdsl"

    def arguments(self):
        return self.case.args + [w for name in self.inputs for w in (f"--{name}", f"{name}.npy")]

    def outputs(self, folder):
        return [w for name in self.case.outputs for w in (f"--{name}", f"{folder}/{name}.npy")]

    # --- arbitrary commands
    def command(self):
        """Runs the case's own `tdslc` commands and checks the output of the last; the others succeed."""
        case, last = self.case, self.case.commands[-1]
        for words in case.commands:
            result = launch.run([self.tdslc, *words.split()], 5 * self.limit, cwd=self.folder)
            code = case.exits if words is last else 0
            if result.timed_out or result.code != code:
                raise Wrong(f"tdslc {words}: expected exit code {code}, got {result}")
        for text in case.shows:
            if text not in result.out + result.err:
                raise Wrong(f"tdslc {last}: {text!r} is not in {(result.out + result.err)[:600]!r}")
        if case.prints and result.out.splitlines() != case.prints:
            raise Wrong(f"tdslc {last}: printed {result.out.splitlines()}, not {case.prints}")
        for name in case.absent:
            if (self.folder / name).exists():
                raise Wrong(f"tdslc {last}: there is a file {name}")

    # --- evaluation
    def evaluate(self):
        """Runs `tdslc eval` and checks all expectations of the case."""
        command = [self.tdslc, "eval", "p.tdsl", "--bounds", "eval", "--", *self.arguments(), *self.outputs("eval")]
        (self.folder / "eval").mkdir(exist_ok=True)
        result = launch.run(command, self.limit, cwd=self.folder)
        self.check(result, "eval")
        if not self.case.good:
            return
        self.check_warnings(result)
        self.values = {o: np.load(self.folder / "eval" / f"{o}.npy") for o in self.case.outputs}
        self.bounds = {o: np.load(self.folder / "eval" / f"{o}.bounds.npy") for o in self.case.outputs}
        self.printed = result.out.splitlines()
        if self.case.prints and self.printed != self.case.prints:
            raise Wrong(f"eval prints {self.printed}, not {self.case.prints}")
        expected = self.case.expected(self.inputs)
        for name in self.case.outputs:
            if name not in expected:
                raise Wrong(f"the case does not say what {name} is")
            self.compare_with_numpy(name, expected[name])

    def compare_with_numpy(self, name, want):
        got, bound = self.values[name], self.bounds[name]
        # Plain Python numbers and lists have no element type.
        want = np.asarray(want, got.dtype) if isinstance(want, (bool, int, float, list)) else np.asarray(want)
        if want.dtype.kind in "fc":
            bound = np.where(np.isinf(bound), 1e-9, bound) + self.case.tolerance
        message = compare.difference(name, got, want, bound)
        if message:
            raise Wrong(f"eval and NumPy differ: {message}")

    def check_warnings(self, result):
        """Checks that the expected warnings are present, and no others except those about unused names."""
        found = set(re.findall(r": warning: .*\[([a-z-]+)\]", result.err))
        missing = set(self.case.warns) - found - {"sequential-loop"}
        if missing:
            raise Wrong(f"no warning {sorted(missing)}")
        surprising = found - set(self.case.warns) - {"unused-name", "sequential-loop", "gathered", "dense-storage", "dense-copy"}
        if surprising:
            raise Wrong(f"an unexpected warning {sorted(surprising)}: {result.err[:200]}")

    # --- checks common to all runs
    def check(self, result, what):
        case = self.case
        if result.timed_out:
            raise Wrong(f"{what} does not end")
        compile_time = COMPILE_TIME.search(result.err)
        if case.error is not None:
            if result.code != 1 or f"[{case.error}]" not in result.err:
                raise Wrong(f"{what}: expected the error [{case.error}], got {result}")
            return
        if compile_time:
            self.refused(result, what)
        if case.stops is not None or case.usage is not None:
            code, text = (1, case.stops) if case.stops is not None else (2, case.usage)
            if result.code != code or text not in result.err:
                raise Wrong(f"{what}: expected exit code {code} and {text!r}, got {result}")
            left = [p.name for name in case.outputs for p in self.folder.glob(f"*/{name}.npy*")]
            if left:
                raise Wrong(f"{what}: files left: {left}")
        elif result.code != 0:
            raise Wrong(f"{what}: {result}")

    def refused(self, result, what):
        if self.case.pending is not None and REFUSED in result.err:
            raise Pending(self.case.pending)
        raise Wrong(f"{what}: {result}")

    # --- separate executable
    def build(self):
        """None, or the compiler's messages."""
        result = launch.run([self.tdslc, "build", "p.tdsl", "-o", "p"], 10 * self.limit, cwd=self.folder)
        if result.code == 0:
            for warning in self.case.warns:
                if f"[{warning}]" not in result.err:
                    raise Wrong(f"build: no warning [{warning}]")
            return
        if COMPILE_TIME.search(result.err):
            if self.case.stops is not None and REFUSED not in result.err:
                raise Wrong(f"build refuses what eval runs: {result}")
            self.refused(result, "build")
        raise Wrong(f"build: {result}")

    def run(self, point):
        folder = self.folder / "run"
        folder.mkdir(exist_ok=True)
        result = launch.run([*launch.mpi_command(point.ranks), "./p", *self.arguments(), *self.outputs("run"), *point.options()],
                            self.limit, cwd=self.folder, env={"TDSL_OVERSUBSCRIBED": "1"})
        what = f"the executable at {point}"
        self.check(result, what)
        if self.case.good:
            self.check_results(folder, "", result.out.splitlines(), what)

    def check_results(self, folder, prefix, printed, what):
        """Compares values and printed lines of a compiled run with the evaluator's."""
        for name in self.case.outputs:
            path = folder / f"{prefix}{name}.npy"
            if not path.exists():
                raise Wrong(f"{what}: {name} was not written")
            message = compare.difference(name, np.load(path), self.values[name], self.bounds[name])
            if message:
                raise Wrong(f"{what}: {message}")
        if not all(self.near(g, w) for g, w in zip(printed, self.printed)) or len(printed) != len(self.printed):
            raise Wrong(f"{what}: printed {printed}, not {self.printed}")

    def near(self, got, want):
        """Printed floats may differ by the error bound of a scalar output with that value, and by the case's tolerance."""
        scalars = [(float(self.values[o]), float(self.bounds[o])) for o in self.case.outputs
                   if self.values[o].ndim == 0 and self.values[o].dtype.kind == "f"]
        scalars += [(float(word), self.case.tolerance) for word in want.split() if self.case.tolerance and compare.NUMBER.match(word)]
        return compare.difference_of_prints(got, want, scalars) is None
