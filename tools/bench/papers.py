"""The papers' experiments (docs/papers.md): TDSL and peers run alternately on four ranks; results are compared."""
import json
import os
import pathlib
import statistics
import subprocess
import sys

import numpy as np

from cluster import RANKS, Cluster
from experiments import all_experiments
from fusion import fusion, fusion_experiments
from harness import run
from paper_peers import Run, checker, chunk_lengths, peer_run, python_peer
from peers import Missing, Peers
from sparse_papers import sparse_experiments, sparse_papers

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE / "peers"))
from digest import digest  # noqa: E402

GRIDS = ((2, 2), (1, 4), (4, 1))


class Ours:
    """A TDSL program on all ranks: planning and computing are timed; start-up and file I/O are not. `program`: an executable that has been built from it."""

    def __init__(self, options, scratch, experiment, cluster, program=None):
        self.experiment, self.scratch = experiment, scratch
        self.program = program or built(options, scratch, experiment)
        self.command = [*cluster.launch(["TDSL_MACHINE"]), self.program, "--threads", "1", "--quiet", "--schedule", options.schedule]
        self.command += [word for name in experiment.arrays for word in (f"--{name}", str(experiment.file(scratch, name)))]
        self.command += [word for name, value in experiment.params.items() for word in (f"--{name}", str(value))]

    def told(self, more=()):
        """Runs the program; the content of its `--stats`."""
        stats = self.scratch / "stats.json"
        run([*self.command, *more, "--stats", str(stats), *(word for o in self.experiment.outputs for word in (f"--{o}", str(self.result(o))))])
        return json.loads(stats.read_text())

    def result(self, output):
        return self.scratch / f"{output}.out.npy"

    def answer(self):
        return digest([np.load(self.result(o)) for o in self.experiment.outputs])

    def __call__(self, more=()):
        told = self.told(more)
        counts = {name: max(rank[name] for rank in told["per_rank"]) for name in ("bytes_received", "peak_block_bytes")}
        return Run(seconds_of(told), self.answer(), counts)


def built(options, scratch, experiment):
    program = str(scratch / ("tdsl_" + experiment.name))
    subprocess.run([options.tdslc, "build", str(experiment.program), "-o", program], check=True)
    return program


def seconds_of(told):
    return told["phases"]["plan"] + told["phases"]["compute"]


def candidates(options, experiment, peers, scratch, cluster, dask):
    """Name of the peer -> its settings, each a name and a runner."""
    def scalapack():
        program, environment = peers.scalapack_program("papers_scalapack", "papers_scalapack.cpp")
        sizes = [str(experiment.sizes[d]) for d in ("stu" if experiment.workload == "chain" else "nmk")]
        for rows, columns in GRIDS:
            for block in options.blocks:
                command = [*cluster.launch(["LD_LIBRARY_PATH", "OPENBLAS_CORETYPE"]), program, str(rows), str(columns), str(block), experiment.workload,
                           str(scratch), *sizes]
                yield f"{rows}x{columns} nb={block}", lambda c=command: peer_run(scratch, c, environment)

    def dask_settings():
        peers.module("distributed")
        for parts in experiment.chunks:
            request = {"address": dask(), "workers": RANKS, "chunks": chunk_lengths(experiment, parts)}
            name = "chunks " + ", ".join(f"{d}/{n}" for d, n in parts.items())
            yield name, python_peer("Dask", peers, scratch, experiment, cluster, request)

    def single(library, module):
        def settings():
            peers.module(module)
            yield "", python_peer(library, peers, scratch, experiment, cluster, {})
        return settings

    makers = {"NumPy": single("NumPy", "numpy"), "PyTorch": single("PyTorch", "torch"), "Dask": dask_settings, "ScaLAPACK": scalapack}
    return {name: makers[name] for name in experiment.peers}


def competitors(options, makers, check):
    """The requested peers, each with its fastest setting."""
    found = {}
    for name, settings in makers.items():
        if not any(part.lower() in name.lower() for part in options.peer or [""]):
            continue
        try:
            offers = list(settings())
        except Missing as reason:
            print(f"% without {name}: {reason}")
            continue
        if len(offers) > 1:
            seconds = {}
            for setting, call in offers:
                runs = [call() for _ in range(options.sweeps)]
                check(f"{name} {setting}", runs[0].answer)
                seconds[setting] = min(r.seconds for r in runs)
                print(f"% sweep: {name} {setting}: {seconds[setting]:.3f} s")
            best = min(seconds, key=seconds.get)
            offers = [offer for offer in offers if offer[0] == best]
        setting, call = offers[0]
        found[f"{name} {setting}".strip()] = call
    return found


def one(options, scratch, experiment, peers, cluster, dask):
    experiment.write(scratch)
    ours = Ours(options, scratch, experiment, cluster)
    first = ours()
    check = checker(first.answer, experiment.tolerance)
    calls = {"tdsl": ours, **competitors(options, candidates(options, experiment, peers, scratch, cluster, dask), check)}
    samples, counts = {name: [] for name in calls}, first.counts
    names = list(calls)
    for turn in range(options.pairs):
        for name in names[turn % len(names):] + names[:turn % len(names)]:
            result = calls[name]()
            check(name, result.answer)
            samples[name].append(result.seconds)
    sizes = {k: v for k, v in experiment.sizes.items() if k != "v"}
    where = f"links of {cluster.rate}" if cluster.rate else "one machine"
    title = f"{experiment.name} {sizes}, {RANKS} ranks, {where}, load {os.getloadavg()[0]:.1f}, median of {options.pairs}"
    print(f"% {title}")
    print(f"{'':28} {'seconds':>9} {'best':>9} {'Gop/s':>7} {'to ours':>8}")
    rows = []
    for name, seconds in samples.items():
        ratio = statistics.median(peer / own for peer, own in zip(seconds, samples["tdsl"]))
        rows.append({"name": name, "seconds": statistics.median(seconds), "best": min(seconds), "ratio": ratio, "all_seconds": seconds})
        print(f"{name:28} {rows[-1]['seconds']:9.4f} {rows[-1]['best']:9.4f} {experiment.flops / rows[-1]['seconds'] / 1e9:7.1f} {ratio:8.2f}")
    print(f"% tdsl: the busiest rank received {counts['bytes_received']:.0f} bytes", flush=True)
    return {"title": title, "experiment": experiment.name, "paper": experiment.paper, "sizes": sizes, "rate": cluster.rate, "rows": rows, **counts}


def chosen(options):
    """The requested experiments: on four machines, and, for fused operators and sparse matrices, on this machine."""
    groups = all_experiments(options.tiny), fusion_experiments(options.tiny), sparse_experiments(options.tiny)
    if not options.only:
        return [list(group.values()) for group in groups]
    names = [name for group in groups for name in group]
    whole = {"systemml": groups[1], "sparse": groups[2]}
    for name in options.only:
        if name not in names and name not in whole:
            raise SystemExit(f"no experiment is called {name}; there are {', '.join(names)}; {' and '.join(whole)} stand for groups")
    wanted = set(options.only).union(*(whole[name] for name in options.only if name in whole))
    return [[e for name, e in group.items() if name in wanted] for group in groups]


def on_machines(options, scratch, wanted, peers):
    with Cluster(None if options.local else options.rate, options.mpiexec) as cluster:
        os.environ["TDSL_MACHINE"] = cluster.constants(options.tdslc, scratch)
        started = []

        def dask():
            if not started:
                started.append(cluster.start_dask(scratch, peers.python_environment(1)))
            return started[0]

        results = []
        for experiment in wanted:
            folder = scratch / experiment.name
            folder.mkdir(exist_ok=True)
            results.append(one(options, folder, experiment, peers, cluster, dask))
            for file in folder.glob("*.npy"):
                file.unlink()
        return results


def papers(options, scratch):
    distributed, fused, sparse = chosen(options)
    peers = Peers(options.peers, scratch, options.mpiexec)
    results = on_machines(options, scratch, distributed, peers) if distributed else []
    results += fusion(options, scratch, fused, peers) if fused else []
    return results + (sparse_papers(options, scratch, sparse, peers) if sparse else [])
