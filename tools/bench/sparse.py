"""Sparse kernels on blocks in memory, single-threaded: TDSL's runtime, SciPy and SuiteSparse:GraphBLAS, alternately."""
import json
import os
import pathlib
import statistics
import subprocess

import numpy as np

from harness import run
from peers import Missing, Peers

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
AGAIN = "SciPy, again"


def uniform(sp, rng, n, per_row):
    count = n * per_row
    return sp.csr_matrix((rng.integers(1, 9, count).astype(float), (rng.integers(0, n, count), rng.integers(0, n, count))), shape=(n, n))


def rmat(sp, rng, scale, per_row):
    """An R-MAT graph with skewed degrees (0.57, 0.19, 0.19, 0.05)."""
    count = per_row << scale
    i, j = np.zeros(count, np.int64), np.zeros(count, np.int64)
    for _ in range(scale):
        quarter = rng.choice(4, count, p=(0.57, 0.19, 0.19, 0.05))
        i, j = 2 * i + quarter // 2, 2 * j + quarter % 2
    return sp.csr_matrix((np.ones(count), (i, j)), shape=(1 << scale, 1 << scale))


def cases(options):
    """Name, operation, matrix; `--scale` scales the number of rows."""
    import scipy.sparse as sp
    rng = np.random.default_rng(1)
    rows = lambda n: max(64, int(n * options.scale))
    shrink = int(round(np.log2(1 / options.scale))) if options.scale < 1 else 0
    square = lambda n, density: uniform(sp, rng, rows(n), max(1, round(density * rows(n))))
    return {"SpMV 1e6 x 10": ("spmv", lambda: uniform(sp, rng, rows(1_000_000), 10)),
            "SpMV' 1e6 x 10": ("spmv_transposed", lambda: uniform(sp, rng, rows(1_000_000), 10)),
            "SpGEMM 20000, 0.1 %": ("spgemm", lambda: square(20_000, 0.001)),
            "SpGEMM 5000, 1 %": ("spgemm", lambda: square(5_000, 0.01)),
            "SpGEMM RMAT 15 x 8": ("spgemm", lambda: rmat(sp, rng, max(6, 15 - shrink), 8)),
            "SpGEMM 1e6 x 4": ("spgemm", lambda: uniform(sp, rng, rows(1_000_000), 4))}


def blocks_program(options, scratch):
    prefix = pathlib.Path(options.tdslc).resolve().parents[1] / "lib" / "tdsl"
    target = scratch / "sparse_blocks"
    subprocess.run(["g++", "-std=c++20", "-O3", "-march=native", "-ffp-contract=off", f"-I{ROOT}", str(HERE / "peers" / "sparse_blocks.cpp"),
                    str(prefix / "libtdsl_rt.a"), str(prefix / "libtdsl_plan.a"), "-lz", "-lpthread", "-fopenmp", "-o", str(target)], check=True)
    return str(target)


def compile_graphblas(stem, options, scratch):
    """A peer program that uses SuiteSparse:GraphBLAS."""
    library = Peers(options.peers, scratch, options.mpiexec).library("libgraphblas.so", "libgraphblas-dev")
    include = next((p for p in ("/usr/include/suitesparse", "/usr/include") if (pathlib.Path(options.peers) / p.lstrip("/") / "GraphBLAS.h").exists()), None)
    if include is None:
        raise Missing("no GraphBLAS.h (package libgraphblas-dev)")
    target = scratch / stem
    subprocess.run(["gcc", "-O3", f"-I{pathlib.Path(options.peers) / include.lstrip('/')}", str(HERE / "peers" / f"{stem}.c"), library, "-o", str(target)], check=True)
    return str(target)


def write_raw(path, a):
    with open(path, "wb") as file:
        for part in (np.array([*a.shape, a.nnz], np.uint64), a.indptr.astype(np.uint64), a.indices.astype(np.uint64), a.data.astype(float)):
            part.tofile(file)


def sparse(options, scratch):
    import scipy.sparse as sp
    programs = {"tdsl": [blocks_program(options, scratch)], "SciPy": ["/usr/bin/python3", str(HERE / "peers" / "sparse_scipy.py")]}
    try:
        programs["GraphBLAS"] = [compile_graphblas("sparse_graphblas", options, scratch)]
    except Missing as reason:
        print(f"% without GraphBLAS: {reason}")
    programs[AGAIN] = programs["SciPy"]
    results = []
    for name, (operation, make) in cases(options).items():
        if options.only and not any(part.lower() in name.lower() for part in options.only):
            continue
        matrix = make()
        matrix.sum_duplicates()
        files = {"npz": str(scratch / "A.npz"), "raw": str(scratch / "A.raw")}
        sp.save_npz(files["npz"], matrix, compressed=False)
        write_raw(files["raw"], matrix)
        samples = {who: [] for who in programs}
        for pair in range(options.pairs):
            order = list(programs)
            answers = {}
            for who in order[pair % len(order):] + order[:pair % len(order)]:
                told = json.loads(run([*programs[who], operation, str(options.repeats), files["raw" if who == "GraphBLAS" else "npz"]])[0])
                samples[who].append(told["seconds"])
                answers[who] = told["answer"]
            for who, answer in answers.items():
                if not abs(answer - answers["SciPy"]) <= 1e-9 * max(1.0, abs(answers["SciPy"])):
                    raise SystemExit(f"{name}: {who} computed {answer} instead of {answers['SciPy']}")
        print(f"% {name}, {matrix.nnz} stored, load {os.getloadavg()[0]:.1f}: milliseconds, median and least of {options.pairs}, to ours; the control is SciPy against itself")
        rows = []
        for who, seconds in samples.items():
            ratio = statistics.median(other / own for other, own in zip(seconds, samples["SciPy" if who == AGAIN else "tdsl"]))
            rows.append({"name": who, "ratio": ratio})
            print(f"{who:20} {1e3 * statistics.median(seconds):9.3f} {1e3 * min(seconds):9.3f} {ratio:9.2f}")
        results.append({"title": f"sparse: {name}", "samples": samples, "rows": rows})
    return results
