"""Coded columns (docs/papers.md, figure 9 of the paper on fused operators): the same programs with coded columns,
with their elements (`--disable-pass coding`), and with a dense X run alternately on matrices generated with the shapes and distinct values of Airline78 and Mnist8m."""
import json
import os
import pathlib
import statistics
import subprocess

import numpy as np

from harness import run
from kernels import loop_of

HERE = pathlib.Path(__file__).resolve().parent
# Distinct values and the share of nonzero rows of the columns of Airline78; 0.73 of all elements are nonzero.
AIRLINE = [(2, 1), (12, 1), (31, 1), (7, 1), (1440, 0.98), (1200, 1), (1440, 0.98), (1400, 1), (20, 1), (7500, 1), (5400, 1), (700, 0.98), (500, 1), (650, 0.98),
           (1100, 0.95), (1100, 0.85), (310, 1), (310, 1), (1400, 1), (190, 0.97), (350, 0.97), (1, 0.02), (4, 0.02), (1, 0.002), (900, 0.07), (600, 0.01),
           (700, 0.1), (200, 0.001), (700, 0.08)]
PIXELS, GREYS, MNIST_SHARE = 28, 255, 0.25


def airline(rng, rows):
    columns = [np.where(rng.random(rows) < share, rng.integers(1, values + 1, rows), 0) for values, share in AIRLINE]
    return np.stack(columns, axis=1).astype(np.float64)


def mnist(rng, rows):
    """Pixels are inked with a probability that falls from the center, and never at the border."""
    at = np.arange(PIXELS) - (PIXELS - 1) / 2
    share = np.clip(1.2 - np.hypot(at[:, None], at[None]) / 11.0, 0, 1).ravel()
    share *= MNIST_SHARE / share.mean()
    inked = rng.random((rows, PIXELS * PIXELS)) < np.clip(share, 0, 1)
    return np.where(inked, rng.integers(1, GREYS + 1, inked.shape), 0).astype(np.float64)


DATA = {"airline": (airline, 1_000_000), "mnist": (mnist, 40_000)}
FORMS = {"coded": ((), False), "elements": (("--disable-pass", "coding"), False), "dense": ((), True)}


class Form:
    """A program in one form, timed from the first task of its loop to the last."""

    def __init__(self, options, scratch, source, name):
        flags, dense = FORMS[name]
        self.answer, self.stats = scratch / f"{name}.npy", scratch / f"{name}.json"
        path, program = scratch / f"{name}_{source.name}", str(scratch / f"{name}_{source.stem}")
        path.write_text(source.read_text().replace("sparse ", "") if dense else source.read_text())
        subprocess.run([options.tdslc, "build", str(path), "-o", program, *flags], check=True, capture_output=True, text=True)
        self.loop, self.repeats = loop_of(path), options.repeats
        self.command = [program, "--threads", str(options.threads), "--quiet", "--repeats", str(options.repeats), "--stats", str(self.stats), "--r", str(self.answer)]

    def __call__(self, files):
        run([*self.command, *(word for name, file in files.items() for word in (f"--{name}", str(file)))])
        told = json.loads(self.stats.read_text())
        rows = [s["measured"] for s in told["statements"] if s["line"] in self.loop and s["kind"] != "load" and s["measured"]["tasks"]]
        seconds = max(m["begin"] + m["seconds"] for m in rows) - min(m["begin"] for m in rows)
        return seconds / self.repeats, np.load(self.answer), told["per_rank"][0]["peak_block_bytes"]


def one(options, scratch, data, source):
    make, rows = DATA[data]
    rng = np.random.default_rng(3)
    x = make(rng, max(2000, int(rows * options.scale)))
    files = {"X": scratch / "X.npy"}
    np.save(files["X"], x)
    if source.stem == "row":
        files["v"] = scratch / "v.npy"
        np.save(files["v"], rng.random(x.shape[1]))
    forms = {name: Form(options, scratch, source, name) for name in FORMS}
    samples, held, names = {name: [] for name in forms}, {}, list(forms)
    for turn in range(options.pairs):
        answers = {}
        for name in names[turn % len(names):] + names[:turn % len(names)]:
            seconds, answers[name], held[name] = forms[name](files)
            samples[name].append(seconds)
        for name, answer in answers.items():
            if not np.allclose(answer, answers["dense"], rtol=1e-9):
                raise SystemExit(f"{data} {source.stem}: {name} and dense computed different things")
    title = (f"coded columns: {source.stem}, {data} {x.shape[0]} x {x.shape[1]}, {100 * np.count_nonzero(x) / x.size:.0f} % nonzero, "
             f"{options.threads} threads, load {os.getloadavg()[0]:.1f}")
    print(f"% {title}: milliseconds of a step, median of {options.pairs}; over that of coded columns; MB held, and the share of coded columns in it")
    table = []
    for name, seconds in samples.items():
        ratio = statistics.median(other / own for other, own in zip(seconds, samples["coded"], strict=True))
        table.append({"name": name, "seconds": statistics.median(seconds), "ratio": ratio, "peak_block_bytes": held[name]})
        print(f"{name:20} {1e3 * table[-1]['seconds']:9.2f} {ratio:9.2f} {held[name] / 1e6:9.1f} {held['coded'] / held[name]:9.3f}", flush=True)
    return {"title": title, "samples": samples, "rows": table}


def coded(options, scratch):
    results = []
    for data in DATA:
        for stem in ("cell", "row"):
            if options.only and not any(part in f"{stem}_{data}" for part in options.only):
                continue
            folder = pathlib.Path(scratch) / f"{stem}_{data}"
            folder.mkdir(exist_ok=True)
            results.append(one(options, folder, data, HERE / "programs" / "coded" / f"{stem}.tdsl"))
            for file in folder.iterdir():
                file.unlink()
    return results
