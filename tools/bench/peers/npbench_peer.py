"""npbench_peer.py NPBENCH PROGRAM IMPLEMENTATION SIZES: an implementation of a program of NPBench in a waiting process. It makes the arguments, calls the function once and prints a
line; then for each line of standard input, `run CALLS` or `answer FILE`, it calls the function on copies of the arguments and prints the mean seconds of a call."""
import contextlib
import copy
import importlib.util
import io
import json
import pathlib
import sys
import time

import numpy as np

sys.dont_write_bytecode = True


def module_of(path):
    spec = importlib.util.spec_from_file_location(pathlib.Path(path).name.split(".")[0], path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def described(folder, name):
    """What NPBench says of a program, and the path of its files without their endings."""
    about = json.loads((pathlib.Path(folder) / f"bench_info/{name}.json").read_text())["benchmark"]
    return about, pathlib.Path(folder) / "npbench/benchmarks" / about["relative_path"] / about["module_name"]


def arguments(folder, name, sizes):
    """Arguments by parameter, always the same for the same sizes."""
    about, root = described(folder, name)
    data = dict(sizes)
    np.random.seed(1)
    if init := about.get("init"):
        made = getattr(module_of(f"{root}.py"), init["func_name"])(*(sizes[a] for a in init["input_args"]))
        data.update(zip(init["output_args"], made if len(init["output_args"]) > 1 else (made,)))
    return {a: data[a] for a in about["input_args"]}


def called(function, given):
    """Seconds, the result and the arguments afterwards."""
    copies = copy.deepcopy(given)
    with contextlib.redirect_stdout(io.StringIO()):
        start = time.perf_counter()
        result = function(*copies.values())
        seconds = time.perf_counter() - start
    return seconds, result, copies


def save(path, result, after):
    """Results under their numbers, arrays under the names of their parameters."""
    results = () if result is None else result if isinstance(result, tuple) else (result,)
    np.savez(path, **{str(k): r for k, r in enumerate(results)}, **{a: value for a, value in after.items() if isinstance(value, np.ndarray)})


def main():
    folder, name, implementation, sizes = sys.argv[1], sys.argv[2], sys.argv[3], json.loads(sys.argv[4])
    given = arguments(folder, name, sizes)
    function = getattr(module_of(implementation), described(folder, name)[0]["func_name"])
    seconds = called(function, given)[0]
    print(json.dumps({"seconds": seconds}), flush=True)
    for line in sys.stdin:
        word, value = line.split()
        if word == "answer":
            seconds, result, after = called(function, given)
            save(value, result, after)
        else:
            seconds = sum(called(function, given)[0] for _ in range(int(value))) / int(value)
        print(json.dumps({"seconds": seconds}), flush=True)


if __name__ == "__main__":
    main()
