"""Facts about functions as arguments: nothing is called per element, and a step of a library function takes few operations. A part of facts.py."""
import json
import re
from pathlib import Path

import numpy as np

import launch
from session import Failed

PROGRAMS = Path(__file__).resolve().parents[2] / "tools/bench/programs/everyday"
# Of `bench everyday`: functions that the program names, inputs by their numbers of dimensions, and operations of a step: rk4 one; cg p . A p, alpha, x, r,
# r . r, its root, p, and the condition with its reading. A p, a stencil, is computed in p . A p and in r, so a step reads and writes 11 tensors, as by
# hand: 3 each for x, r and p, and 1 each for the two sums.
CALLERS = {"rk4": (("f", "rk4", "rk4_step"), {"rate": 1, "start": 1}, 1), "cg": (("applied", "apply", "cg", "precondition"), {"b": 2}, 9)}


class EverydayFacts:
    """A part of Facts in facts.py."""

    # Functions and lambdas given to the library are written into its kernels.
    def test_functions_as_arguments_leave_no_calls(self):
        for name, (called, _, _) in CALLERS.items():
            result = launch.run([self.tdslc, "emit", PROGRAMS / f"{name}.tdsl"], self.options.limit)
            code = re.sub(r'//.*|"(?:[^"\\]|\\.)*"', "", result.out)
            left = [word for word in ("std::function", *called) if re.search(rf"(?<!\w){word}\s*[(<]", code)]
            if result.code != 0 or not re.search(r"(for|while)_loop", code) or left or re.search(r"\(\s*\*\s*\w+\s*\)\s*\(", code):
                raise Failed(f"{name}: {left} in\n{result.out}{result.err}")

    # A step takes the same tasks and kernels for any number of elements, one per operation where a tile holds all.
    def test_steps_of_the_library_are_few_operations(self):
        found = {}
        for name, (_, inputs, operations) in CALLERS.items():
            executable = self.session(str(PROGRAMS / f"{name}.tdsl")).executable
            for n in (400, 900):
                words = []
                for key, rank in inputs.items():
                    np.save(self.work / f"{key}-{n}.npy", np.random.default_rng(2).random((n,) * rank))
                    words += [f"--{key}", f"{key}-{n}.npy"]
                counts = [self.count_of_run(executable, [*words, "--steps", steps]) for steps in (3, 8)]
                found[name, n] = [(late - early) / 5 for early, late in zip(*counts)]
                if not 1 <= min(found[name, n]) <= max(found[name, n]) <= operations:
                    raise Failed(f"{name}, n={n}: {found[name, n]} tasks and kernels per step, {operations} are wanted at most")
            if found[name, 400] != found[name, 900]:
                raise Failed(f"{name}: tasks and kernels per step depend on the number of elements: {found}")
        return str(found)

    def count_of_run(self, executable, arguments):
        """Tasks and kernels of all statements."""
        self.run(executable, 1, [*arguments, "--tile", 10**6, "--threads", 1, "--quiet", "--stats", "everyday.json", "--r", "everyday.npy"])
        rows = [s["measured"] for s in json.loads((self.work / "everyday.json").read_text())["statements"]]
        return [sum(row[key] for row in rows) for key in ("tasks", "kernels")]
