"""Products of matrices that are stored tile by tile, and the same products of plain ones, on one rank and on several ranks of one thread, in alternating runs."""
import json
import os
import pathlib
import statistics

import numpy as np

from harness import run, seconds_in_memory

TILE = 100
TILED = """param n: i64 = 1000;
param b: i64 = 100;
storage tiled(t, b) {
  stored[t, t, b, b];
  to[i, j] = (i / b, j / b, i % b, j % b);
  from[io, jo, ii, ji] = (io * b + ii, jo * b + ji);
}
input A: f64[n, n] storage tiled(n / b, b);
input B: f64[n, n] storage tiled(n / b, b);
let C: f64[n, n] storage tiled(n / b, b) = A @ B;
output C;
"""
PLAIN = "param n: i64 = 1000;\ninput A: f64[n, n];\ninput B: f64[n, n];\nlet C = A @ B;\noutput C;\n"


def form(options, scratch, name, text, n, ranks):
    """A callable that runs a program with files of its storage: seconds in memory, the product as a plain matrix, bytes received."""
    source, program, stats, answer = scratch / f"{name}.tdsl", scratch / name, scratch / "stats.json", scratch / "c.npy"
    if not program.exists():
        source.write_text(text)
        run([options.tdslc, "build", str(source), "-o", str(program)])
    threads = options.threads if ranks == 1 else 1
    command = [options.mpiexec, "--oversubscribe", "-n", str(ranks), str(program), "--threads", str(threads), "--quiet", "--n", str(n), "--stats", str(stats), "--C", str(answer)]
    command += [word for key in "AB" for word in (f"--{key}", str(scratch / f"{key}_{n}_{name}.npy"))]

    def call():
        run(command)
        told = json.loads(stats.read_text())
        array = np.load(answer)
        return seconds_in_memory(told), array if array.ndim == 2 else array.transpose(0, 2, 1, 3).reshape(n, n), sum(rank["bytes_received"] for rank in told["per_rank"])
    return call


def compared(options, scratch, n, ranks):
    turn = {"plain": form(options, scratch, "plain", PLAIN, n, ranks), "tile by tile": form(options, scratch, "tiles", TILED, n, ranks)}
    samples, received, expected = {name: [] for name in turn}, {}, None
    for pair in range(options.pairs):
        for name in list(turn)[::1 if pair % 2 == 0 else -1]:
            seconds, answer, received[name] = turn[name]()
            expected = answer if expected is None else expected
            if not np.allclose(answer, expected, rtol=1e-12, atol=1e-12 * np.abs(expected).max()):
                raise SystemExit(f"{name} computed something else")
            samples[name].append(seconds)
    title = f"product of {n}^3, {ranks} rank{'s of one thread' if ranks > 1 else f' x {options.threads} threads'}, load {os.getloadavg()[0]:.1f}"
    print(f"% {title}: median seconds, ratio to plain, bytes received")
    rows = []
    for name, seconds in samples.items():
        ratio = statistics.median(own / plain for own, plain in zip(seconds, samples["plain"], strict=True))
        rows.append({"name": name, "seconds": statistics.median(seconds), "ratio": ratio, "received": received[name]})
        print(f"{name:14} {rows[-1]['seconds']:9.4f} {ratio:7.3f} {received[name]:14.0f}", flush=True)
    return {"title": title, "samples": samples, "rows": rows}


def tile_major(options, scratch):
    scratch, sizes = pathlib.Path(scratch), [int(size) for size in options.size or ["1000", "4000"]]
    for n in sizes:
        for key, seed in (("A", 1), ("B", 2)):
            array = np.random.default_rng(seed).standard_normal((n, n))
            np.save(scratch / f"{key}_{n}_plain.npy", array)
            np.save(scratch / f"{key}_{n}_tiles.npy", np.ascontiguousarray(array.reshape(n // TILE, TILE, n // TILE, TILE).transpose(0, 2, 1, 3)))
    return [compared(options, scratch, n, ranks) for n in sizes for ranks in (1, 4)]
