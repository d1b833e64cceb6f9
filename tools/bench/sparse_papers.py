"""The papers' experiments with sparse matrices (docs/papers.md), on one rank with all cores: TDSL, SciPy and hand-written loops run alternately;
results are compared. Values that the compiler still stores dense are counted from its warnings."""
import dataclasses
import json
import os
import pathlib
import statistics
import subprocess
import sys

import numpy as np

from experiments import HERE, SAMPLES
from harness import run
from kernels import loop_of
from paper_peers import PYTHON, Run, checker
from peers import Peers
from sparse import rmat, write_raw

sys.path.insert(0, str(HERE / "peers"))
from digest import digest  # noqa: E402

PROGRAMS = HERE / "programs" / "sparse"
HAND = "loop by hand"


@dataclasses.dataclass
class Sparse:
    """A program, generators of its matrices (name -> shape and density), and shapes of its dense operands."""
    name: str
    paper: str
    program: pathlib.Path
    matrices: dict
    dense: dict
    outputs: tuple = ("r",)
    repeats: int = 3
    params: dict = dataclasses.field(default_factory=dict)
    case: str = ""
    hand: bool = True
    forms: tuple = ("sparse",)   # SciPy variants
    graph: bool = False
    steps: str = "repeats"       # the param with the number of steps

    def size_text(self):
        parts = [f"{k} {n} x {m}, {100 * d:g} %" for k, (n, m, d) in self.matrices.items()]
        return "; ".join(parts + [f"{k} {' x '.join(map(str, s))}" for k, s in self.dense.items()])


def matrix(rng, shape, density, graph):
    """Uniform, or a graph with skewed degrees; rows sorted, without duplicates."""
    import scipy.sparse as sp
    n, m = shape
    if graph:
        result = rmat(sp, rng, int(np.log2(n)), max(1, round(density * n)))
        result.sum_duplicates()
        result.data[:] = 1.0
    else:
        count = max(1, round(density * n * m))
        flat = np.unique(rng.integers(0, n * m, count))
        result = sp.csr_matrix((rng.uniform(0.1, 1.0, len(flat)), (flat // m, flat % m)), shape=shape)
    result.sort_indices()
    return result


def sparse_experiments(tiny):
    """Experiments by name; tiny: sizes for a smoke test."""
    planner, fusion = "TensorPlanner, figure 8 ", "SystemML, figure 8 "
    n, chain, graph = (300, 150, 512) if tiny else (5000, 2000, 1 << 18)
    rank = 20 if tiny else 1000
    rows, columns = (400, 60) if tiny else (20_000, 1000)
    square = 300 if tiny else 8000
    three = {k: (rows, columns, 0.1) for k in "XYZ"}
    outer = {"U": (square, 100), "V": (square, 100)}
    found = [
        Sparse("sparse_product", planner + "C", PROGRAMS / "product.tdsl", {"A": (n, n, 0.01), "B": (n, n, 0.01)}, {}, case="product", hand=False),
        Sparse("sparse_chain", planner + "D", PROGRAMS / "chain.tdsl", {"A": (chain, chain, 0.01)}, {}, repeats=10, case="chain", hand=False,
               forms=("sparse", "dense")),
        Sparse("sparse_pagerank", planner + "E", PROGRAMS / "pagerank.tdsl", {"A": (graph, graph, 16 / graph)}, {"v": (graph,)}, repeats=10,
               case="pagerank", graph=True),
        Sparse("sparse_factorisation", planner + "F", SAMPLES / "sparse_factorisation.tdsl", {"R": (n, n, 0.01)}, {"P0": (n, rank), "Q0": (rank, n)},
               outputs=("P", "Q"), params={"rate": 0.0005, "lambda": 0.02}, case="factorisation", hand=False, forms=("sparse", "dense"), steps="steps"),
        Sparse("sparse_cell", fusion + "(b)", PROGRAMS / "cell.tdsl", three, {}, case="cell"),
        Sparse("sparse_multi_aggregate", fusion + "(d)", PROGRAMS / "multi_aggregate.tdsl", three, {}, outputs=("r", "t"), case="multi_aggregate"),
        Sparse("sparse_row", fusion + "(f)", PROGRAMS / "row.tdsl", {"X": (rows, columns, 0.1)}, {"v": (columns,)}, case="row"),
    ]
    for density in (0.01, 0.001):
        less = {k: (rows, columns, density) for k in "XYZ"}
        found.append(Sparse(f"sparse_cell_{density:g}", fusion + "(b)", PROGRAMS / "cell.tdsl", less, {}, case="cell"))
        found.append(Sparse(f"sparse_multi_aggregate_{density:g}", fusion + "(d)", PROGRAMS / "multi_aggregate.tdsl", less, {}, outputs=("r", "t"),
                            case="multi_aggregate"))
        found.append(Sparse(f"sparse_row_{density:g}", fusion + "(f)", PROGRAMS / "row.tdsl", {"X": (rows, columns, density)}, {"v": (columns,)}, case="row"))
    for density in (0.1, 0.01, 0.001):
        found.append(Sparse(f"sparse_als_{density:g}", "SystemML, expression (1)", PROGRAMS / "als.tdsl", {"W": (square, square, density)},
                            {"S": (square, 20), "V": (square, 20)}, case="als"))
        found.append(Sparse(f"sparse_outer_{density:g}", fusion + "(h)", PROGRAMS / "outer.tdsl", {"X": (square, square, density)}, outer, case="outer"))
    return {e.name: e for e in found}


class Ours:
    """A program, timed from the first task of its loop to the last."""

    def __init__(self, options, scratch, experiment):
        self.experiment, self.scratch = experiment, scratch
        program = str(scratch / "tdsl")
        built = subprocess.run([options.tdslc, "build", str(experiment.program), "-o", program], check=True, capture_output=True, text=True)
        self.kept_dense = built.stderr.count("[dense-")
        self.loop = loop_of(experiment.program)
        self.command = [program, "--threads", str(options.threads), "--quiet", *(w for k in experiment.matrices for w in (f"--{k}", str(scratch / f"{k}.npz"))),
                        *(w for k in experiment.dense for w in (f"--{k}", str(scratch / f"{k}.npy"))), *(w for k, v in experiment.params.items() for w in (f"--{k}", str(v)))]

    def processor_seconds(self):
        """Of a run without steps: reading and start-up."""
        return run([*self.command, f"--{self.experiment.steps}", "0"])[2]

    def __call__(self):
        stats, files = self.scratch / "stats.json", {o: self.scratch / f"{o}.out.npy" for o in self.experiment.outputs}
        _, _, cpu = run([*self.command, f"--{self.experiment.steps}", str(self.experiment.repeats), "--stats", str(stats),
                         *(w for o, f in files.items() for w in (f"--{o}", str(f)))])
        told = json.loads(stats.read_text())
        rows = [s["measured"] for s in told["statements"] if s["line"] in self.loop and s["kind"] != "load" and s["measured"]["tasks"]]
        seconds = max(m["begin"] + m["seconds"] for m in rows) - min(m["begin"] for m in rows)
        return Run(seconds, digest([np.load(f) for f in files.values()]), {"peak_block_bytes": told["per_rank"][0]["peak_block_bytes"], "cpu": cpu})


def peer(command, environment, scratch):
    def call():
        told = json.loads(run(command, environment)[0].strip().splitlines()[-1])
        return Run(told["seconds"], np.fromfile(scratch / "answer.bin"), {"cpu": told["cpu"]})
    return call


def competitors(options, scratch, experiment, peers):
    """SciPy's variants and the hand-written loop."""
    found, answer = {}, str(scratch / "answer.bin")
    files = [str(scratch / f"{k}.npz") for k in experiment.matrices] + [str(scratch / f"{k}.npy") for k in experiment.dense]
    script = str(HERE / "peers" / "sparse_papers_scipy.py")
    for form in experiment.forms:
        name = "SciPy" if form == "sparse" else "SciPy, dense where full"
        command = [PYTHON, script, form, experiment.case, str(experiment.repeats), answer, json.dumps(experiment.params), *files]
        found[name] = peer(command, peers.python_environment(options.threads), scratch)
    if experiment.hand:
        program = peers.compile("sparse_papers", "sparse_papers.cpp", ["-Ofast", "-fopenmp"])
        width = next((str(s[1]) for s in experiment.dense.values() if len(s) == 2), "1")
        command = [program, experiment.case, str(experiment.repeats), answer, width, *(f.replace(".npz", ".raw") for f in files)]
        found[HAND] = peer(command, peers.environment(options.threads, OMP_WAIT_POLICY="passive"), scratch)
    return {name: call for name, call in found.items() if any(part.lower() in name.lower() for part in options.peer or [""])}


def write(experiment, scratch):
    """Writes the operands' files; returns the number of stored elements."""
    import scipy.sparse as sp
    rng, stored = np.random.default_rng(1), 0
    for name, (n, m, density) in experiment.matrices.items():
        made = matrix(rng, (n, m), density, experiment.graph)
        stored += made.nnz
        sp.save_npz(scratch / f"{name}.npz", made, compressed=False)
        write_raw(scratch / f"{name}.raw", made)
    for name, shape in experiment.dense.items():
        np.save(scratch / f"{name}.npy", rng.random(shape) / (shape[0] if len(shape) == 1 else 10.0))
    return stored


def one(options, scratch, experiment, peers):
    stored = write(experiment, scratch)
    ours = Ours(options, scratch, experiment)
    first = ours()
    check = checker(first.answer, 1e-8)
    calls = {"tdsl": ours, **competitors(options, scratch, experiment, peers)}
    samples, cpu, names = {name: [] for name in calls}, {name: [] for name in calls}, list(calls)
    idle = []
    for turn in range(options.pairs):
        for name in names[turn % len(names):] + names[:turn % len(names)]:
            result = calls[name]()
            check(name, result.answer)
            samples[name].append(result.seconds)
            cpu[name].append(result.counts["cpu"])
        idle.append(ours.processor_seconds())
    cpu = {name: max(min(seconds) - (min(idle) if name == "tdsl" else 0.0), 0.0) for name, seconds in cpu.items()}
    title = (f"{experiment.name}: {experiment.size_text()}; {stored} stored, {experiment.repeats} steps, one rank, {options.threads} threads, "
             f"load {os.getloadavg()[0]:.1f}, median of {options.pairs}")
    print(f"% {title}")
    print(f"{'':28} {'seconds':>9} {'best':>9} {'to ours':>8} {'cpu':>9}")
    rows = []
    for name, seconds in samples.items():
        ratio = statistics.median(peer / own for peer, own in zip(seconds, samples["tdsl"]))
        rows.append({"name": name, "seconds": statistics.median(seconds), "best": min(seconds), "ratio": ratio, "cpu": cpu[name], "all_seconds": seconds})
        print(f"{name:28} {rows[-1]['seconds']:9.4f} {rows[-1]['best']:9.4f} {ratio:8.2f} {cpu[name]:9.4f}", flush=True)
    print(f"% tdsl: at most {first.counts['peak_block_bytes'] / 1e6:.1f} MB of blocks, {ours.kept_dense} warnings of dense storage", flush=True)
    return {"title": title, "experiment": experiment.name, "paper": experiment.paper, "stored": stored, "threads": options.threads, "rows": rows,
            "kept_dense": ours.kept_dense, "peak_block_bytes": first.counts["peak_block_bytes"]}


def sparse_papers(options, scratch, experiments, peers):
    results = []
    for experiment in experiments:
        folder = pathlib.Path(scratch) / experiment.name
        folder.mkdir(exist_ok=True)
        results.append(one(options, folder, experiment, peers))
        for file in folder.iterdir():
            file.unlink()
    return results
