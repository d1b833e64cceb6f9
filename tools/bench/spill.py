"""Programs with four times as much data as memory, compared with the same programs in memory: a product, and a loop that scans its input."""
import json
import mmap
import os
import pathlib
import statistics
import subprocess
import time

import numpy as np

from harness import run

HERE = pathlib.Path(__file__).resolve().parent
SCANS = 12


def inputs(scratch, scale):
    """Programs with their arguments, data sizes in bytes, and answers."""
    rng = np.random.default_rng(1)
    n, rows = int(4096 * scale), int(65536 * scale)
    A, B = rng.standard_normal((n, n)), rng.standard_normal((n, n))
    X, v = rng.standard_normal((rows, 2048)), rng.standard_normal(2048)
    for name, array in (("A", A), ("B", B), ("X", X), ("v", v)):
        np.save(scratch / f"{name}.npy", array)
    w = v
    for _ in range(SCANS):
        w = X.T @ (X @ w)
        w = w / np.sqrt(w @ w)
    yield "product", HERE.parents[1] / "samples" / "matmul.tdsl", {"A": "A", "B": "B"}, "C", 3 * A.nbytes, A @ B
    yield "scans", HERE / "programs" / "scans.tdsl", {"X": "X", "v": "v"}, "w", X.nbytes, w


def ours(command, scratch, output):
    """Seconds of planning and computing until the result is on disk, the answer, and each rank's statistics."""
    stats, answer = scratch / "stats.json", scratch / f"{output}.npy"
    run([*command, "--quiet", "--stats", str(stats), f"--{output}", str(answer)])
    begun = time.perf_counter()
    with open(answer, "rb") as file:
        os.fsync(file.fileno())
    synced = time.perf_counter() - begun
    told = json.loads(stats.read_text())
    phases = told["phases"]
    return phases["plan"] + phases["compute"] + phases["write"] + synced, np.load(answer), told["per_rank"]


def disk_rate(path):
    """Throughput of reading the file in 8 MiB pieces, bypassing the page cache, in bytes per second."""
    buffer = mmap.mmap(-1, 8 << 20)
    file = os.open(path, os.O_RDONLY | os.O_DIRECT)
    begun, total = time.perf_counter(), 0
    while got := os.readv(file, [buffer]):
        total += got
    os.close(file)
    return total / (time.perf_counter() - begun)


def spill(options, scratch):
    return [spilled(options, scratch, ranks, name, *others) for name, *others in inputs(scratch, options.scale) for ranks in (1, 2)]


def spilled(options, scratch, ranks, name, source, files, output, data, wanted):
    """One program on the given number of ranks, which share the threads and memory for a quarter of the data."""
    program, share = str(scratch / name), data // (4 * ranks)
    subprocess.run([options.tdslc, "build", str(source), "-o", program], check=True)
    launcher = [options.mpiexec or "mpiexec", "-n", str(ranks)] if ranks > 1 else []
    given = [*launcher, program, "--threads", str(max(1, options.threads // ranks)), *(word for option, f in files.items() for word in (f"--{option}", str(scratch / f"{f}.npy")))]
    limit = ["--memory", str(share), "--spill", str(scratch)]
    samples, figures = {"in memory": [], "a quarter of it": []}, None
    for pair in range(options.pairs):
        for who in sorted(samples, reverse=pair % 2 == 1):
            seconds, answer, told = ours(given + (limit if who == "a quarter of it" else []), scratch, output)
            if not np.allclose(answer, wanted, rtol=1e-8, atol=1e-8 * np.abs(wanted).max()):
                raise SystemExit(f"{name}, {who}: a wrong answer")
            samples[who].append(seconds)
            figures = told if who == "a quarter of it" else figures
    ratio = statistics.median(a / b for a, b in zip(samples["a quarter of it"], samples["in memory"]))
    print(f"% {name}, {data / 1e9:.2f} GB of data, ranks: {ranks}, load {os.getloadavg()[0]:.1f}: seconds, median and least of {options.pairs}")
    for who, seconds in samples.items():
        print(f"{who:20} {statistics.median(seconds):9.2f} {min(seconds):9.2f}")
    read = sum(rank["disk_read"] for rank in figures)
    rate = disk_rate(scratch / f"{next(iter(files.values()))}.npy")
    print(f"its bytes at {rate / 1e9:.2f} GB/s, the rate at which the disk is read past the page cache: {read / rate:.2f}")
    for rank in figures:
        print(f"resident: {rank['peak_rss_bytes'] / 1e6:.1f} MB at most, {rank['start_rss_bytes'] / 1e6:.1f} at the start, limit {share / 1e6:.1f}")
        print(f"disk {rank['disk_read'] / 1e9:.3f} GB read, {rank['disk_written'] / 1e9:.3f} GB written, predicted {rank['predicted']['disk_read']} and "
              f"{rank['predicted']['disk_written']}; blocks {rank['peak_block_bytes']} of {share} bytes")
    print(f"ratio {ratio:.2f}")
    return {"title": f"spill: {name}, ranks: {ranks}", "samples": samples, "rows": [{"name": "a quarter of it", "ratio": ratio}], "figures": figures}
