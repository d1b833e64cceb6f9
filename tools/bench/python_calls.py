"""The time of a call of a small `@tdsl.jit` function, and of its parts: the module's call of a program, and the library's function alone."""
import os
import pathlib
import statistics
import sys
import time

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[2]
CALLS = 500


def _product(A, B):
    return A @ B


def _smoothed(x, steps):
    for _ in range(steps):
        x = 0.5 * (x + x[::-1])
    return x


def microseconds(call):
    """Of one of many calls."""
    begin = time.perf_counter()
    for _ in range(CALLS):
        call()
    return (time.perf_counter() - begin) / CALLS * 1e6


def parts(tdsl, function, arguments):
    """Calls to measure by name; the first builds the function."""
    made = tdsl.jit(function, threads=1)
    made(*arguments)
    (variant,), = made._variants.values()
    program, named = variant.program, dict(zip(made._names, arguments))
    inputs = {option: named[parameter] for parameter, option in variant._inputs}
    params = {option: named[parameter] for parameter, option in variant._params}
    boxes = {name: program._given_boxes(name, value) for name, value in inputs.items()}
    given, results = program._descriptions(boxes, dict.fromkeys(variant._wanted, []))
    keep = given.point_to([box for group in boxes.values() for box in group])

    def alone(keep=keep):
        results.reset()
        program._call["run"](program._handle, given.arrays, given.count, results.arrays, results.count)
    return {"NumPy": lambda: function(*arguments), "jit": lambda: made(*arguments), "program": lambda: program({**inputs, **params}), "library": alone}


def python_calls(options, scratch):
    os.environ.update(TDSLC=options.tdslc, XDG_CACHE_HOME=str(scratch))
    sys.path.insert(0, str(ROOT / "tools/python"))
    import tdsl

    random = np.random.RandomState(0)
    cases = {"4x4 product": (_product, (random.rand(4, 4), random.rand(4, 4))), "loop of 5 over 100": (_smoothed, (random.rand(100), 5))}
    samples = {}
    for title, (function, arguments) in cases.items():
        calls = parts(tdsl, function, arguments)
        for _ in range(options.pairs):
            for name, call in calls.items():
                samples.setdefault(f"{title}: {name}", []).append(microseconds(call) / 1e6)
    print(f"% microseconds, load {os.getloadavg()[0]:.1f}, median and least of {options.pairs} times {CALLS} calls")
    for name, seconds in samples.items():
        print(f"{name:36} {1e6 * statistics.median(seconds):9.2f} {1e6 * min(seconds):9.2f}")
    return [{"title": "python_calls", "samples": samples, "rows": []}]
