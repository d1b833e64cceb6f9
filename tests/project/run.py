#!/usr/bin/python3
"""The output of `tdslc emit --project` builds without tdslc, and gives the bits of `tdslc build` on 1 and 3 ranks: PASS project/builds with
the CPU seconds of building (target: 150), or FAIL project/builds: why. Without --long: PASS project/tree, if the tree is
complete, can be configured, and its program compiles."""
import argparse
import os
import re
import resource
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

HERE = Path(__file__).resolve().parent
SAMPLES = HERE.parents[1] / "samples"
KARATE = SAMPLES / "data/karate.mtx"
MOST_SECONDS = 300  # on a slow machine; 150 is the target


def matrices(**shapes):
    rng = np.random.default_rng(3)
    return {name: rng.standard_normal(shape) for name, shape in shapes.items()}


# Program, inputs, outputs. The first one's tree is built; the others are added to it.
PROGRAMS = [
    (HERE / "everything.tdsl", matrices(A=(200, 200), b=200), ("C", "x", "y", "s", "w", "R", "L", "I", "E")),
    (SAMPLES / "matmul.tdsl", matrices(A=(190, 70), B=(70, 130)), ("C",)),
    (SAMPLES / "two_layer_network.tdsl", matrices(X=(150, 40), Y=(150, 7), W1=(40, 30), W2=(30, 7)), ("V1", "V2", "loss")),
    (SAMPLES / "sparse_pagerank.tdsl", {"A": KARATE}, ("r", "links")),
]
ADDED = """
add_executable({0} {0}.cpp)
target_link_libraries({0} PRIVATE tdsl_runtime)
target_compile_options({0} PRIVATE $<TARGET_PROPERTY:everything,COMPILE_OPTIONS>)
target_link_options({0} PRIVATE -Wl,--as-needed)
"""


def require(condition, text):
    if not condition:
        raise AssertionError(text)


def run(command, **options):
    done = subprocess.run(command, capture_output=True, text=True, check=False, **options)
    require(done.returncode == 0, f"{' '.join(map(str, command[:4]))}: exit code {done.returncode}: {(done.stdout + done.stderr)[-600:]}")
    return done.stdout


def results(program, ranks, folder, inputs, outputs):
    folder.mkdir(parents=True)
    words = [word for name in outputs for word in (f"--{name}", f"{folder}/{name}.npy")]
    for name, value in inputs.items():
        file = value if isinstance(value, Path) else folder / f"{name}.npy"
        if not isinstance(value, Path):
            np.save(file, value)
        words += [f"--{name}", str(file)]
    launcher = [] if ranks == 1 else ["mpirun", "-q", "-n", str(ranks)]
    run([*launcher, program, *words], timeout=300)
    return [(folder / f"{name}.npy").read_bytes() for name in outputs]


def compare(built, other, work, inputs, outputs):
    for ranks in (1, 3):
        ours, theirs = (results(program, ranks, work / f"{built.name}-{ranks}-{k}", inputs, outputs) for k, program in enumerate((built, other)))
        for name, mine, its in zip(outputs, ours, theirs):
            require(mine == its, f"{built.name}: {name} has other bits on {ranks} ranks")


def without_tdslc():
    return {key: value for key, value in os.environ.items() if not key.startswith("TDSL")}


def check_build(tdslc, work, jobs):
    """Returns the CPU seconds."""
    tree, out = work / "tree", work / "out"
    run([tdslc, "emit", PROGRAMS[0][0], "--project", tree])
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    run(["cmake", "-S", tree, "-B", out], env=without_tdslc())
    run(["cmake", "--build", out, "-j", str(jobs)], env=without_tdslc())
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    for source, _, _ in PROGRAMS[1:]:
        run([tdslc, "emit", source, "-o", tree / f"{source.stem}.cpp"])
        with open(tree / "CMakeLists.txt", "a") as cmake:
            cmake.write(ADDED.format(source.stem))
    run(["cmake", "--build", out, "-j", str(jobs)], env=without_tdslc())
    for source, inputs, outputs in PROGRAMS:
        run([tdslc, "build", source, "-o", work / source.stem])
        compare(work / source.stem, out / source.stem, work / "results", inputs, outputs)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def check_tree(tdslc, work):
    """Checks that take only seconds."""
    source = SAMPLES / "own_kernels.tdsl"  # includes a header of its own
    tree = work / "tree"
    run([tdslc, "emit", source, "--project", tree])
    files = {str(p.relative_to(tree)) for p in tree.rglob("*") if p.is_file()}
    for needed in ("CMakeLists.txt", "README.md", "LICENSE", "job.sbatch", "own_kernels.cpp", "own/own_kernels.hpp", "own/tdsl/tile.h"):
        require(needed in files, f"no {needed}")
    for name in files:
        text = (tree / name).read_text()
        require(not re.search(r"@[A-Z]+@", text), f"{name} has an empty place")
        for included in re.findall(r'(?m)^#include "([^"]+)"', text):
            require({included, f"own/{included}", str(Path(name).parent / included)} & files or included == "blis.h", f"{name} includes {included}, which is not there")
    if shutil.which("shellcheck"):
        run(["shellcheck", tree / "job.sbatch"])
    out = work / "out"
    run(["cmake", "-S", tree, "-B", out, "-DCMAKE_EXPORT_COMPILE_COMMANDS=ON"], env=without_tdslc())
    commands = (out / "compile_commands.json").read_text()
    found = re.search(r'"command": "([^"]* -c [^"]*own_kernels\.cpp)"', commands)
    require(found, "own_kernels.cpp is not compiled")
    run(["sh", "-c", found[1].replace('\\"', '"') + " -fsyntax-only"], cwd=out)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tdslc", required=True)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--long", action="store_true")
    options = parser.parse_args()
    test = "builds" if options.long else "tree"
    with tempfile.TemporaryDirectory(prefix="tdsl-project-") as work:
        try:
            if options.long:
                seconds = check_build(options.tdslc, Path(work), options.jobs)
                require(seconds <= MOST_SECONDS, f"building takes {seconds:.0f} s of processor time, more than {MOST_SECONDS}")
                print(f"PASS project/builds ({seconds:.0f} CPU seconds)")
            else:
                check_tree(options.tdslc, Path(work))
                print("PASS project/tree")
            return 0
        except (AssertionError, subprocess.SubprocessError, OSError) as error:
            print(f"FAIL project/{test}: {error}")
            return 1


if __name__ == "__main__":
    sys.exit(main())
