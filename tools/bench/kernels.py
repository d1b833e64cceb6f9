"""Time per loop iteration of single programs: TDSL, NumPy, hand-written loops, and lower bounds, in one alternating run."""
import dataclasses
import json
import os
import pathlib
import statistics
import subprocess

import numpy as np

from harness import run
from peers import Missing, Peers

HERE = pathlib.Path(__file__).resolve().parent
OURS, EARLIER, NUMPY, HAND, BOUND = "tdsl", "tdsl, the other", "NumPy", "loop by hand", "bound"


@dataclasses.dataclass
class Program:
    """A program of programs/kernels with operands. Rows are scaled by --scale to the power of `power`, so that the work is proportional to it."""
    stem: str
    rows: int
    columns: int
    operands: dict          # name -> shape, in terms of "n", "d", "k"
    bound: str = "read_rows"
    about: str = "reading the operands"
    hand: bool = True
    numpy: bool = True
    k: int = 1
    power: float = 1

    def name(self):
        return f"{self.stem} {self.columns}" if self.stem in ("xtxv", "xtwxv") else self.stem

    def sizes(self, scale):
        return {"n": max(8, round(self.rows * scale ** self.power)), "d": self.columns, "k": self.k}


def thin(stem, columns):
    operands = {"X": "nd", "v": "d"} | ({"w": "n"} if stem == "xtwxv" else {})
    return Program(stem, 100_000_000 // columns, columns, operands)


PROGRAMS = [
    Program("sum3", 33_000_000, 1, {"X": "n", "Y": "n", "Z": "n"}, "read_three"),
    *(Program(f"aggregates{count}", 50_000_000, 1, {"X": "n", "Y": "n"}, "read_two") for count in (2, 3)),
    thin("xtxv", 10),
    *(thin("xtwxv", d) for d in (2, 10, 20, 32, 50, 100, 256, 1000)),
    Program("gradient_descent", 200_000, 1000, {"X": "nd", "y": "n"}),
    Program("softmax", 1_000_000, 32, {"X": "nd"}, "copy", "copying the operand"),
    Program("attention", 4096, 64, {"Q": "nd", "K": "nd", "V": "nd"}, "two_products", "its products through BLIS", hand=False, power=0.5),
    Program("kmeans", 1_000_000, 10, {"X": "nd", "start": "kd"}, "", k=100),
    Program("distances", 4000, 200, {"X": "nd", "Y": "nd"}, "one_product", "a product of that shape through BLIS", power=0.5),
    Program("min_plus", 2000, 2000, {"A": "nn", "B": "nn"}, "", power=1 / 3),
    Program("newton", 1_000_000, 64, {"X": "nd", "y": "n"}, "gram", "X' X in blocks of rows through BLIS", hand=False),
]


def arrays(program, sizes):
    """The operands by name."""
    rng = np.random.default_rng(1)
    made = {}
    for name, shape in program.operands.items():
        extents = [sizes[letter] for letter in shape]
        made[name] = rng.integers(0, 2, extents).astype(float) if name == "y" else rng.random(extents) - 0.25
    return made


def write(program, sizes, scratch):
    """The operands' files by name."""
    files = {}
    for name, array in arrays(program, sizes).items():
        files[name] = str(scratch / f"{name}.npy")
        np.save(files[name], array)
    return files


def loop_of(source):
    """Source lines of the program's loop."""
    lines = source.read_text().splitlines()
    first = next(number for number, line in enumerate(lines, 1) if line.startswith("for step"))
    return range(first, next(number for number, line in enumerate(lines, 1) if number > first and line == "}") + 1)


class Ours:
    """Time per iteration of a program compiled by the given tdslc, from the first task of its loop to the last."""

    def __init__(self, tdslc, source, scratch, threads, repeats, name):
        self.program = str(scratch / f"{name}_{source.stem}")
        subprocess.run([tdslc, "build", str(source), "-o", self.program], check=True)
        self.loop = loop_of(source)
        self.scratch, self.threads, self.repeats = scratch, threads, repeats

    def __call__(self, files):
        stats, answer = str(self.scratch / "stats.json"), str(self.scratch / "r.npy")
        command = [self.program, "--threads", str(self.threads), "--quiet", "--stats", stats, "--r", answer, "--repeats", str(self.repeats)]
        run(command + [word for name, file in files.items() for word in (f"--{name}", file)])
        told = json.loads(pathlib.Path(stats).read_text())
        rows = [s["measured"] for s in told["statements"] if s["line"] in self.loop and s["kind"] != "load" and s["measured"]["tasks"]]
        # Older builds report no start times: at least the duration of the longest statement.
        begin = min(m.get("begin", 0) for m in rows)
        return (max(m.get("begin", 0) + m["seconds"] for m in rows) - begin) / self.repeats, np.load(answer)


def peer(command, environment, scratch):
    """A peer's seconds per iteration and its answer; its last argument is the output file."""
    def call(files):
        answer = str(scratch / "r.bin")
        out, _, _ = run([*command(answer), *files.values()], environment)
        return json.loads(out.strip().splitlines()[-1])["seconds"], np.fromfile(answer)
    return call


def competitors(options, program, sizes, scratch, peers):
    """Name -> callable, TDSL first."""
    source = HERE / "programs" / "kernels" / f"{program.stem}.tdsl"
    threads, repeats = options.threads, options.repeats
    found = {OURS: Ours(options.tdslc, source, scratch, threads, repeats, "ours")}
    if options.against:
        found[EARLIER] = Ours(options.against, source, scratch, threads, repeats, "other")
    blas = next((folder for folder in ("openblas-pthread", "blis-openmp") if (peers.libraries / folder / "libblas.so.3").exists()), None)
    environment = peers.environment(threads, **({"LD_LIBRARY_PATH": str(peers.libraries / blas)} if blas else {}))
    if program.numpy:
        script = str(HERE / "peers" / "kernels_numpy.py")
        found[NUMPY] = peer(lambda answer: ["/usr/bin/python3", script, program.stem, str(repeats), answer], environment, scratch)
    try:
        library = peers.library("blis-serial/libblis.a", "libblis-serial-dev")
    except Missing as reason:
        print(f"% without loops by hand and bounds: {reason}")
        return found
    by_hand = peers.compile("kernels", "kernels.cpp", ["-Ofast", "-fopenmp", library, "-lm"])
    extents = [str(sizes[letter]) for letter in "ndk"]
    # As in TDSL: waiting threads yield their core, and memory is in huge pages.
    environment = peers.environment(threads, OMP_WAIT_POLICY="passive", GLIBC_TUNABLES="glibc.malloc.hugetlb=1")
    for name, case in ((HAND, program.stem if program.hand else ""), (BOUND, program.bound)):
        if case:
            found[name] = peer(lambda answer, case=case: [by_hand, case, str(repeats), answer, *extents], environment, scratch)
    return found


def check(name, got, expected):
    if name == BOUND:
        return
    if got.size != expected.size or not np.allclose(got.ravel(), expected.ravel(), rtol=1e-6, atol=1e-9 * np.abs(expected).max(initial=0.0)):
        raise SystemExit(f"{name} computed something else")


def measure(options, program, scratch, peers):
    sizes = program.sizes(options.scale)
    files = write(program, sizes, scratch)
    turn = competitors(options, program, sizes, scratch, peers)
    samples = {name: [] for name in turn}
    expected = None
    for i in range(options.pairs):
        names = list(turn)
        for name in names[i % len(names):] + names[:i % len(names)]:
            seconds, answer = turn[name](files)
            samples[name].append(seconds)
            if name != BOUND:
                expected = answer if expected is None else expected
                check(name, answer, expected)
    for file in files.values():
        pathlib.Path(file).unlink()
    return {"title": f"kernels: {program.name()}", "sizes": sizes, "bound": program.about if program.bound else "", "samples": samples}


def ratio(samples, name, other):
    """Median of the pairwise ratios, name / other."""
    if name not in samples or other not in samples:
        return None
    return statistics.median(a / b for a, b in zip(samples[name], samples[other]))


def kernels(options, scratch):
    peers = Peers(options.peers, scratch, options.mpiexec)
    wanted = [p for p in PROGRAMS if any(part in p.name() for part in options.only or [""])]
    print(f"% milliseconds of a step, medians of {options.pairs}; ratios are medians of the pairs'; scale {options.scale:g}, {options.threads} threads,"
          f" load {os.getloadavg()[0]:.1f}")
    columns = [BOUND, HAND, NUMPY] + ([EARLIER] if options.against else [])
    print(f"{'':18} {'tdsl':>9} " + " ".join(f"{name:>16}" for name in columns) + "   tdsl to " + ", to ".join(columns))
    results = []
    for program in wanted:
        result = measure(options, program, scratch, peers)
        samples = result["samples"]
        middle = {name: 1e3 * statistics.median(seconds) for name, seconds in samples.items()}
        ratios = {name: ratio(samples, OURS, name) for name in columns}
        result["ratios"] = ratios
        result["rows"] = [{"name": name, "seconds": statistics.median(seconds), "ratio": ratio(samples, name, OURS)} for name, seconds in samples.items()]
        print(f"{program.name():18} {middle[OURS]:9.2f} " + " ".join(f"{middle[name]:16.2f}" if name in middle else f"{'':16}" for name in columns)
              + "  " + " ".join("   -  " if r is None else f"{r:6.2f}" for r in ratios.values()), flush=True)
        results.append(result)
    return results
