"""Facts about emitted code: short programs, nothing for unused functions, costs of building and starting. A part of facts.py."""
import re
import time
from pathlib import Path

import numpy as np

import launch
from prefix import prefix_of
from session import Failed

ROOT = Path(__file__).resolve().parents[2]


class BuildFacts:
    """A part of Facts in facts.py."""

    # Emitted programs are readable: routines are called, not copied, an operation is one statement, a simple kernel one
    # expression.
    def test_emitted_programs_are_short(self):
        for program, limit in (("kmeans", 252), ("game_of_life", 124), ("logistic_regression", 156), ("two_layer_network", 236), ("sparse_cp", 244),
                               ("cp_decomposition", 109), ("matmul", 31), ("tall_qr", 91)):
            result = launch.run([self.tdslc, "emit", ROOT / f"samples/{program}.tdsl"], self.options.limit)
            lines = result.out.count("\n")
            if result.code != 0 or lines >= limit:
                raise Failed(f"{program}: {lines} lines, where fewer than {limit} are wanted" if result.code == 0 else str(result))

    # Functions of the library that a program does not call leave no trace but the names of their files.
    def test_unused_functions_cost_nothing(self):
        text = (ROOT / "samples" / "two_layer_network.tdsl").read_text()
        path = self.work / "two_layer_network.tdsl"
        emitted = []
        for imports in ("", "".join(f"import std.{name};\n" for name in ("calculus", "linalg", "nn", "ode", "optimise", "polynomial", "random", "signal", "solvers", "stats"))):
            path.write_text(text + imports)
            result = launch.run([self.tdslc, "emit", path], self.options.limit)
            emitted.append(re.sub(r"(?m)^ *info\.file\(.*\n", "", result.out))
            if result.code != 0 or len(emitted[-1]) < 1000:
                raise Failed(f"emit: {result}")
        if emitted[0] != emitted[1]:
            raise Failed("imported functions change the emitted program")

    # Costs of building and starting depend on the machine, so they are only shown.
    def test_build_and_start(self):
        source = ROOT / "samples" / "matmul.tdsl"
        times = []
        for more in (["--no-cache"], [], []):
            code, _, used = launch.measured([self.tdslc, "build", source, "-o", self.work / "timed", *more])
            if code != 0:
                raise Failed(f"exit code {code:.0f}")
            times.append(used)
        np.save(self.work / "tiny.npy", np.ones((2, 2)))
        starts = []
        for _ in range(10):
            begun = time.perf_counter()
            self.run(self.work / "timed", 1, ["--A", "tiny.npy", "--B", "tiny.npy", "--C", "tinyC.npy"])
            starts.append(time.perf_counter() - begun)
        return (f"build: {times[0]:.2f} s of CPU, from the cache {times[2]:.2f} s; a whole tiny run without a launcher: "
                f"{1000 * min(starts):.1f} ms")

    # Parsing the runtime's headers dominates the build of a small program: g++ uses precompiled ones ("! PATH" of -H).
    def test_headers_are_precompiled(self):
        prefix = str(prefix_of(self.tdslc))
        text = Path(prefix, "lib/tdsl/toolchain.conf").read_text().replace("${PREFIX}", prefix)
        keys = dict(re.findall(r"(?m)^(\w+) = (.*)$", text))
        if not keys["precompiled"]:
            return "not with this compiler"
        folders = [f"-I{folder}" for folder in Path(prefix, "lib/tdsl/precompiled").iterdir()]
        source = self.work / "precompiled.cpp"
        emitted = launch.run([self.tdslc, "emit", ROOT / "samples" / "kmeans.tdsl", "-o", source], self.options.limit)
        flags = [*keys["compile_flags"].split(), *folders, *keys["include_flags"].split()]
        parsed = launch.run([keys["compiler"], *flags, "-Winvalid-pch", "-H", "-fsyntax-only", source], self.options.limit)
        if emitted.code != 0 or parsed.code != 0 or "! " + prefix not in parsed.err or "elements.h" in parsed.err:
            raise Failed(f"the headers are parsed: {emitted}, {parsed}")
