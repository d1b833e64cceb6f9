#!/usr/bin/python3
"""Evaluates both columns of every row of docs/from_numpy.md, compares the results, and counts NumPy's most used names in the rows that agree. One PASS or FAIL
line per row and one for the count."""
import argparse
import re
import sys
import tempfile
from pathlib import Path

import numpy as np

sys.dont_write_bytecode = True
ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests/e2e"))

import launch

PAGE = ROOT / "docs/from_numpy.md"
NAMES = ROOT / "tests/numpy_names.txt"
STATED = re.compile(r"The rows contain (\d+) of NumPy's 100 most used names")
ROW = re.compile(r"^\| `(.+?)` \| `(.+?)` \|$", re.M)
DECLARATION = re.compile(r"let \w+(\[.*?\]) = (.*);")
TYPES = {"f": "f64", "i": "i64"}
LIBRARY = ("calculus", "optimise", "linalg", "polynomial", "random", "signal", "stats")


def rows(text):
    return [(left, right.replace("\\|", "|")) for left, right in ROW.findall(text)]


def program(values, lines):
    """The program that computes the right column from inputs with these values."""
    text = [f"input {name}: {TYPES[value.dtype.kind]}[{', '.join(map(str, value.shape))}];" for name, value in values.items()
            if value.ndim]
    text += [f"import std.{name};" for name in LIBRARY]
    text += [f"let {name} = {value};" for name, value in values.items() if not value.ndim]
    return "\n".join(text + [output(k, line) for k, line in enumerate(lines)]) + "\n"


def output(k, line):
    """The statement for an expression or an index declaration."""
    declared = DECLARATION.fullmatch(line)
    return f"output r{k}{declared[1]} = {declared[2]};" if declared else f"output r{k} = {line};"


def counted(text, lines):
    """Whether these lines of NumPy contain as many of its 100 most used names as the page states."""
    names = [name for line in NAMES.read_text().splitlines() if not line.startswith("#") for name in line.split()]
    missing = [name for name in names if not any(re.search(rf"\bnp\.{re.escape(name)}\(", line) for line in lines)]
    good = len(set(names)) == 100 and int(STATED.search(text)[1]) == 100 - len(missing)
    print(f"{'PASS' if good else 'FAIL'} docs/from_numpy {100 - len(missing)} of NumPy's 100 most used names; not {', '.join(missing)}")
    return good


def evaluated(tdslc, folder, values, lines):
    (folder / "p.tdsl").write_text(program(values, lines))
    given = {name: value for name, value in values.items() if value.ndim}
    for name, value in given.items():
        np.save(folder / f"{name}.npy", value)
    command = [tdslc, "eval", "p.tdsl", "--", *(w for name in given for w in (f"--{name}", f"{name}.npy")),
               *(w for k in range(len(lines)) for w in (f"--r{k}", f"r{k}.npy"))]
    result = launch.run(command, 120, cwd=folder)
    if result.code:
        sys.exit(f"FAIL docs/from_numpy: {result.err}")
    return [np.load(folder / f"r{k}.npy") for k in range(len(lines))]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tdslc", default=str(ROOT / "build/release/bin/tdslc"))
    parser.add_argument("--filter", default="")
    options = parser.parse_args()
    if options.filter not in "docs/from_numpy":
        return
    text = PAGE.read_text()
    scope = {"np": np}
    exec(re.search(r"```python\n(.*?)```", text, re.S)[1], scope)
    values = {name: np.asarray(value) for name, value in scope.items() if isinstance(value, (np.ndarray, int))}
    table = rows(text)
    if len(table) != sum(line.startswith("| `") for line in text.splitlines()):
        sys.exit("FAIL docs/from_numpy: a row is not of the form | `NumPy` | `TDSL` |")
    with tempfile.TemporaryDirectory(prefix="tdsl-numpy-") as folder:
        results = evaluated(options.tdslc, Path(folder), values, [right for _, right in table])
    failed, agree = 0, []
    for (left, right), got in zip(table, results):
        want = np.asarray(eval(left, dict(scope)))
        good = got.shape == want.shape and got.dtype == want.dtype and np.allclose(got, want, 1e-13, 1e-13)
        failed += not good
        if good:
            agree.append(left)
        else:
            print(f"    {right} is {got!r}, not {want!r}")
        print(f"{'PASS' if good else 'FAIL'} docs/from_numpy {left}")
    sys.exit(bool(failed) or not counted(text, agree))


if __name__ == "__main__":
    main()
