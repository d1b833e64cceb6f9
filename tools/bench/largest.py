"""Products whose operands and result are up to eight times the memory of all ranks (TensorPlanner, figure 6): ours spills to disk. NumPy in a process that may
have as much memory as all ranks together fails where the data are larger."""
import os
import statistics
import subprocess

import numpy as np

from experiments import product
from paper_peers import PYTHON
from papers import Ours, built, seconds_of

SHARES = (0.5, 1, 2, 4, 8)   # data relative to the memory of all ranks
NUMPY = """
import resource, sys, time
import numpy as np
np.ones((300, 300)) @ np.ones((300, 300))  # the library allocates its buffers
limit = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize() + int(sys.argv[1]) + (4 << 20)
resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
A, B = np.load(sys.argv[2]), np.load(sys.argv[3])
begun = time.perf_counter()
C = A @ B
print(time.perf_counter() - begun)
"""


def numpy_seconds(memory, scratch):
    """None: there was not enough memory."""
    done = subprocess.run([PYTHON, "-c", NUMPY, str(memory), str(scratch / "A.npy"), str(scratch / "B.npy")], capture_output=True, text=True)
    if done.returncode != 0 and "emory" not in done.stderr:
        raise SystemExit(done.stderr)
    return float(done.stdout) if done.returncode == 0 else None


def is_product(scratch):
    """Freivalds' test: C v = A (B v)."""
    A, B, C = (np.load(scratch / f"{name}.npy", mmap_mode="r") for name in ("A", "B", "C.out"))
    v = np.cos(np.arange(C.shape[1]))
    expected = A @ (B @ v)
    return bool(np.abs(C @ v - expected).max() <= 1e-9 * np.abs(expected).max())


def largest(options, scratch, cluster):
    each, results = (1 << 21 if options.tiny else 1 << 24), []
    program = built(options, scratch, product("product", 1, 1, 1))
    for ranks in sorted({min(options.counts), max(options.counts)}):
        cluster.ranks, memory, rows = ranks, each * ranks, []
        os.environ["TDSL_MACHINE"] = cluster.constants(options.tdslc, scratch.parent)
        title = f"largest product, {ranks} ranks of {each >> 20} MiB"
        print(f"% {title}, load {os.getloadavg()[0]:.1f}\n{'data / memory':>14} {'n':>6} {'seconds':>9} {'disk read':>12} {'written':>12} {'held / memory':>14} {'NumPy':>9}")
        for share in SHARES[:3 if options.tiny else None]:
            n = int((share * memory / 24) ** 0.5)
            experiment = product("product", n, n, n)
            experiment.write(scratch)
            ours = Ours(options, scratch, experiment, cluster, program)
            runs = [ours.told(["--memory", str(each), "--spill", str(scratch)]) for _ in range(options.pairs)]
            if not is_product(scratch):
                raise SystemExit(f"the product of {n} x {n} matrices in {each} bytes is wrong")
            told, alone = runs[-1]["per_rank"], numpy_seconds(memory, scratch)
            row = {"data / memory": share, "n": n, "seconds": statistics.median(map(seconds_of, runs)), "disk read": sum(r["disk_read"] for r in told),
                   "disk written": sum(r["disk_written"] for r in told), "held / memory": max(r["peak_block_bytes"] for r in told) / each,
                   "NumPy, seconds": "fails" if alone is None else alone}
            rows.append(row)
            shown = "fails" if alone is None else f"{alone:.4f}"
            print(f"{share:14g} {n:6} {row['seconds']:9.4f} {row['disk read']:12.0f} {row['disk written']:12.0f} {row['held / memory']:14.3f} {shown:>9}", flush=True)
        results.append({"title": title, "experiment": "largest", "paper": "TensorPlanner, figure 6", "rows": rows})
    return results
