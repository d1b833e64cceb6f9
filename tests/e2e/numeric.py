"""Numeric debugging: `--check` reports the element where a nan or infinity first occurs, `tdslc verify` finds values that depend on
the number of ranks. Functions as in input_files.py; `errors.py` runs them."""
import re

import numpy as np

import launch
from input_files import OVERSUBSCRIBED
from prefix import cheap_prefix

ROOTS = """input X: f64[n, m];
input v: f64[m];
let z = X @ v;
let far = z / v[0];
let y = sqrt(z);
let s = sum(y);
if s > 0.0 { print("positive"); }
output s;
output f = sum(far);
"""


def check_names_the_element(tdslc, folder, limit):
    """The first element in program order, the same on every number of ranks, also before a value controls the program."""
    (folder / "program.tdsl").write_text(ROOTS)
    build = launch.run([tdslc, "build", folder / "program.tdsl", "-o", folder / "program", "--fusion", "none"], 4 * limit)
    executable, problem = folder / "program", None if build.code == 0 else f"build: {build}"
    X, v = np.random.default_rng(5).random((40, 6)), np.ones(6)
    good, minus, far = X.copy(), X.copy(), X.copy()
    minus[[17, 30], 3], far[21, 2] = -50, np.inf
    for name, array in {"good": good, "minus": minus, "far": far, "v": v, "zero": np.where(np.arange(6) == 0, 0, v)}.items():
        np.save(folder / f"{name}.npy", array)
    wanted = (("good", "v", "nan,inf", None), ("minus", "v", "nan", "program.tdsl:5: --check: `y` at [17] is nan"), ("minus", "v", "inf", None),
              ("far", "v", "nan,inf", "program.tdsl:1: --check: `X` at [21, 2] is inf"), ("minus", "zero", "nan,inf", "program.tdsl:4: --check: `far` at [0] is inf"))
    for (x, w, kinds, message), ranks in ((case, ranks) for case in wanted for ranks in (1, 3)):
        result = launch.run([*launch.mpi_command(ranks), executable, "--X", f"{x}.npy", "--v", f"{w}.npy", "--tile", "7", f"--check={kinds}", "--s", "s.npy"],
                            limit, cwd=folder, env=OVERSUBSCRIBED)
        if message is None and result.code == 0:
            (folder / "s.npy").unlink()
        elif message is None or result.code != 1 or not result.err.startswith(message) or (folder / "s.npy").exists():
            problem = problem or f"{x}, {w}, {kinds}, ranks={ranks}: {result}"
    return problem or check_knows_its_limits(tdslc, folder, limit)


def check_knows_its_limits(tdslc, folder, limit):
    """Kernels of several lines are reported as such; `tdslc run` avoids them for --check. Out-of-core inputs are checked as they are read."""
    build = launch.run([tdslc, "build", folder / "program.tdsl", "-o", folder / "fused"], 4 * limit)
    arguments = ["--X", "minus.npy", "--v", "v.npy", "--check=nan", "--s", "s.npy"]
    fused = launch.run([folder / "fused", *arguments], limit, cwd=folder)
    lines = fused.err.splitlines()
    if build.code != 0 or fused.code != 1 or len(lines) != 2 or not lines[0].startswith("warning: --check does not see values of line") or not lines[0].endswith("[check]"):
        return f"fused: {build}, {fused}"
    if not re.match(r"program\.tdsl:6: --check: `s` is nan \(rank 0\); its operands are not; its kernel also computes values of lines? [0-9, and-]*5, which only", lines[1]):
        return f"fused: {lines[1]}"
    large = np.ones((1, 1 << 18))
    np.save(folder / "ones.npy", large[0])
    large[0, 200000] = np.nan
    np.save(folder / "large.npy", large)
    spilled = launch.run([folder / "fused", "--X", "large.npy", "--v", "ones.npy", "--check=nan", "--s", "s.npy", "--memory", "3000000"], limit, cwd=folder)
    wanted = "program.tdsl:1: --check: `X` at [0, 200000] is nan (rank 0); so it is in the file it was read from [check]"
    if spilled.code != 1 or "`X` (2.0 MiB) stays in its file" not in spilled.err or spilled.err.splitlines()[-1] != wanted:
        return f"an input that stays in its file: {spilled}"
    found = launch.run([tdslc, "run", "program.tdsl", "--", *arguments], 4 * limit, cwd=folder)
    return None if found.code == 1 and found.err == "program.tdsl:5: --check: `y` at [17] is nan (rank 0); its operands are not [check]\n" else f"run: {found}"


# A launcher that falsifies one value on three ranks.
LAUNCHER = """#!/bin/sh
mpiexec "$@" || exit
for word; do
    case "$word" in y=*/3-y.npy) /usr/bin/python3 -c 'import sys, numpy as np; y = np.load(sys.argv[1]); y[4] *= 1 + 1e-9; np.save(sys.argv[1], y)' "${word#y=}" ;; esac
done
"""


def verify_finds_other_values(tdslc, folder, limit):
    """Outputs on several numbers of ranks compared with the evaluator's; a difference is reported."""
    prefix = cheap_prefix(tdslc, "-O0", folder)
    toolchain = prefix / "lib/tdsl/toolchain.conf"
    toolchain.write_text(re.sub(r"(?m)^mpiexec = .*$", f"mpiexec = {folder}/launcher", toolchain.read_text()))
    (folder / "launcher").write_text(LAUNCHER)
    (folder / "launcher").chmod(0o755)
    (folder / "program.tdsl").write_text("input x: f64[n];\noutput y = exp(x);\noutput k = count(x > 0.5);\n")
    np.save(folder / "x.npy", np.random.default_rng(6).random(50))
    same = launch.run([tdslc, "verify", "program.tdsl", "--", "--x", "x.npy", "--reproducible"], 8 * limit, cwd=folder)
    lines = same.out.splitlines()
    if same.code != 0 or [line.split(":")[0] for line in lines] != ["1 rank", "2 ranks", "3 ranks", "7 ranks"] or not lines[3].endswith("the bits of 1 rank"):
        return f"same: {same}"
    other = launch.run([tdslc, "verify", "program.tdsl", "--", "--x", "x.npy"], 8 * limit, cwd=folder, env={"TDSL_HOME": str(prefix)})
    if other.code != 1 or [": y[4] is " in line for line in other.out.splitlines()] != [False, False, True, False]:
        return f"other: {other}"
    written = launch.run([tdslc, "verify", "program.tdsl", "--", "--x", "x.npy", "--y", "y.npy"], limit, cwd=folder)
    return None if written.code == 2 and "leave --y out" in written.err else f"written: {written}"


CHECKS = (check_names_the_element, verify_finds_other_values)
