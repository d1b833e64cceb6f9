#!/usr/bin/env python3
"""NPBench's programs, which are not part of this repository, under jit: `npbench_jit.py FOLDER [NAME...]` calls each function with two examples of
different sizes and compares results and changed arrays with NumPy's. PASS if at least 45 are equal."""
import argparse
import os
import sys
import time
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
sys.dont_write_bytecode = True
sys.path[:0] = [str(ROOT / "tests/import"), str(ROOT / "tools/python")]
import functions  # noqa: E402
import npbench  # noqa: E402
from npbench_peer import described, module_of  # noqa: E402
import tdsl  # noqa: E402


def outcome(folder, name):
    about, root = described(folder, name)
    function = tdsl.jit(getattr(module_of(f"{root}_numpy.py"), about["func_name"]))
    worst = 0.0
    for number in range(2):
        arguments = npbench.example(folder, name, number)
        single = any(getattr(value, "dtype", None) == np.float32 for value in arguments)
        for values in functions.varied(dict(enumerate(arguments))):
            worst = max(worst, function.verify(*values.values(), rtol=1e-6 if single else None))
    return f"{worst:.1e}, {sum(map(len, function._variants.values()))} programs"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--tdslc", default=os.environ.get("TDSLC", str(ROOT / "build/release/bin/tdslc")))
    options = parser.parse_intermixed_args()
    os.environ["TDSLC"] = options.tdslc
    names = options.names or sorted(path.stem for path in (options.folder / "bench_info").glob("*.json"))
    good = 0
    for name in names:
        begin = time.perf_counter()
        try:
            text, equal = outcome(options.folder, name), True
        except Exception as error:  # a line like the others
            text, equal = f"{type(error).__name__}: {error}".split("\n")[0], False
        good += equal
        print(f"{'equal' if equal else 'not  '} {name:26} {time.perf_counter() - begin:5.1f} s  {text}", flush=True)
    passed = good >= (npbench.LEAST if not options.names else len(names))
    print(f"{'PASS' if passed else 'FAIL'} python/npbench: {good} of {len(names)} equal")
    sys.exit(not passed)


if __name__ == "__main__":
    main()
