"""Programs over compressed sparse matrices with TDSL, SciPy and GraphBLAS, alternately: seconds per loop iteration, operands in memory."""
import os
import statistics

import numpy as np

from kernels import Ours, peer, HERE
from peers import Missing
from sparse import compile_graphblas, rmat, uniform, write_raw

CONTROL = "SciPy, again"
BY_GRAPHBLAS = ("spmv", "spmv_transposed", "pagerank")


def cases(options):
    """Name -> program, matrix, and shapes of its dense operands or the generator of another matrix; `--scale` scales the number of rows."""
    import scipy.sparse as sp
    rng = np.random.default_rng(1)
    rows = lambda n: max(64, int(n * options.scale))
    shrink = int(round(np.log2(1 / options.scale))) if options.scale < 1 else 0
    graph = lambda: rmat(sp, rng, max(6, 20 - shrink), 16)
    small_graph = lambda: rmat(sp, rng, max(6, 15 - shrink), 8)
    million = lambda: uniform(sp, rng, rows(1_000_000), 10)
    thousandth = lambda: uniform(sp, rng, rows(20_000), max(1, rows(20_000) // 1000))
    hundredth = lambda: uniform(sp, rng, rows(5_000), max(1, rows(5_000) // 100))

    def upwards():
        edges = small_graph()
        edges = sp.triu(edges + edges.T, 1).tocsr()
        edges.data[:] = 1.0
        return edges
    return {"SpMV 1e6 x 10": ("spmv", million, {"v": None}),
            "SpMV' 1e6 x 10": ("spmv_transposed", million, {"v": None}),
            "PageRank 1e6 x 10": ("pagerank", million, {"v": None}),
            "PageRank RMAT 20 x 16": ("pagerank", graph, {"v": None}),
            "X V, X' U, 16 columns": ("both_ways", lambda: uniform(sp, rng, rows(200_000), 20), {"V": 16}),
            "loss 20000^2, 1 %, rank 100": ("loss", lambda: uniform(sp, rng, rows(20_000), max(1, rows(20_000) // 100)), {"U": 100, "V": 100}),
            "A + B 20000^2, 0.1 %": ("add", thousandth, {"B": thousandth}),
            "A + B 5000^2, 1 %": ("add", hundredth, {"B": hundredth}),
            "A * B 20000^2, 0.1 %": ("multiply", thousandth, {"B": thousandth}),
            "A * B 5000^2, 1 %": ("multiply", hundredth, {"B": hundredth}),
            "A @ B 20000^2, 0.1 %": ("spgemm", thousandth, {"B": thousandth}),
            "A @ B 5000^2, 1 %": ("spgemm", hundredth, {"B": hundredth}),
            "A @ B RMAT 15 x 8": ("spgemm", small_graph, {"B": small_graph}),
            "A @ B 1e6 x 4": ("spgemm", lambda: uniform(sp, rng, rows(1_000_000), 4), {"B": lambda: uniform(sp, rng, rows(1_000_000), 4)}),
            "triangles RMAT 15 x 8": ("triangles", upwards, {})}


def graphblas(options, scratch):
    """The peer's program; None if it is not available on this machine."""
    try:
        return compile_graphblas("sparse_programs_graphblas", options, scratch)
    except Missing as reason:
        print(f"% without GraphBLAS: {reason}")
        return None


def write_operands(matrix, vector, scratch):
    """The input files of the GraphBLAS program."""
    files = {"A": str(scratch / "A.raw"), "v": str(scratch / "v.raw")}
    write_raw(files["A"], matrix)
    vector.tofile(files["v"])
    return files


def sparse_programs(options, scratch):
    import scipy.io
    import scipy.sparse as sp
    results = []
    rng = np.random.default_rng(2)
    by_graphblas = graphblas(options, scratch)
    for name, (stem, make, dense) in cases(options).items():
        if options.only and not any(part.lower() in name.lower() for part in options.only):
            continue
        matrix = make()
        matrix.sum_duplicates()
        files = {"A": str(scratch / "A.npz")}
        sp.save_npz(files["A"], matrix, compressed=False)
        for operand, columns in dense.items():
            if callable(columns):
                files[operand] = str(scratch / f"{operand}.npz")
                other = columns()
                other.sum_duplicates()
                sp.save_npz(files[operand], other, compressed=False)
                continue
            files[operand] = str(scratch / f"{operand}.npy")
            np.save(files[operand], rng.random(matrix.shape[0] if columns is None else (matrix.shape[0], columns)))
        script = str(HERE / "peers" / "sparse_programs_scipy.py")
        by_scipy = peer(lambda answer: ["/usr/bin/python3", script, stem, str(options.repeats), answer], dict(os.environ), scratch)
        turn = {"tdsl": Ours(options.tdslc, HERE / "programs" / "sparse" / f"{stem}.tdsl", scratch, options.threads, options.repeats, "ours"),
                "SciPy": by_scipy, CONTROL: by_scipy}
        if by_graphblas and stem in BY_GRAPHBLAS:
            raw = write_operands(matrix, np.load(files["v"]), scratch)
            call = peer(lambda answer: [by_graphblas, stem, str(options.repeats), str(options.threads), answer], dict(os.environ), scratch)
            turn["GraphBLAS"] = lambda files, call=call, raw=raw: call(raw)
        samples = {who: [] for who in turn}
        for pair in range(options.pairs):
            order = list(turn)
            answers = {}
            for who in order[pair % len(order):] + order[:pair % len(order)]:
                seconds, answers[who] = turn[who](files)
                samples[who].append(seconds)
            for who, answer in answers.items():
                if not np.allclose(answer.ravel(), answers["SciPy"].ravel(), rtol=1e-9, atol=1e-9 * np.abs(answers["SciPy"]).max(initial=0.0)):
                    raise SystemExit(f"{name}: {who} and SciPy computed different things")
        print(f"% {name}, {matrix.nnz} stored, {options.threads} threads, load {os.getloadavg()[0]:.1f}: milliseconds of a step, median of {options.pairs}; "
              "a peer's time over ours; of the control, over SciPy's")
        rows = []
        for who, seconds in samples.items():
            ratio = statistics.median(other / own for other, own in zip(seconds, samples["SciPy" if who == CONTROL else "tdsl"], strict=True))
            rows.append({"name": who, "seconds": statistics.median(seconds), "ratio": ratio})
            print(f"{who:20} {1e3 * statistics.median(seconds):9.2f} {ratio:9.2f}", flush=True)
        results.append({"title": f"sparse program: {name}", "samples": samples, "rows": rows})
    return results
