"""Facts about extents found by data, and about long lines on several ranks. A part of facts.py."""
import json

import numpy as np

import launch
from session import Failed, interval

FILTER = "input x: f64[n];\nlet y: f64[m] = filter(x, x > 0.5);\noutput z[k] = 2.0 * y[k];\n"
LINES = "input x: f64[n];\nlet X = rfft(x);\noutput X;\noutput y = irfft(X, norm=ortho);\noutput odd = rfft(x[1:]);\n"


class FoundFacts:
    """A part of Facts in facts.py."""

    def compiled(self, name, text):
        path, executable = self.work / f"{name}.tdsl", self.work / name
        path.write_text(text)
        built = launch.run([self.tdslc, "build", path, "-o", executable], self.options.limit)
        if built.code != 0:
            raise Failed(f"building {name}: {built}")
        return executable

    def counts(self, executable, ranks, *arguments, width=0):
        """The statistics of a run, whose received bytes are those predicted; `width`: of the predicted interval, at most."""
        self.run(executable, ranks, [*arguments, "--threads", "1", "--stats", "found.json"])
        told = json.loads((self.work / "found.json").read_text())
        for rank in told["per_rank"]:
            low, high = interval(rank["predicted"]["bytes_received"])
            if high - low > width or not low <= rank["bytes_received"] <= high:
                raise Failed(f"{ranks} ranks: rank {rank['rank']} received {rank['bytes_received']}, predicted {low} to {high}")
        return told

    # filter copies elements: no positions are computed, and a rank receives no more than the other ranks' elements and conditions.
    def test_filters_have_no_positions(self):
        executable, told = self.compiled("filtered", FILTER), []
        x = np.random.default_rng(1).random(300_000)
        np.save(self.work / "x.npy", x)
        for ranks in (1, 2, 3):
            stats = self.counts(executable, ranks, "--x", "x.npy", "--z", "z.npy")
            names = {s["name"] for s in stats["statements"]}
            if "topk_positions" in names:
                raise Failed(f"positions are computed: {names}")
            largest = max(rank["bytes_received"] for rank in stats["per_rank"])
            if largest > 9 * x.size * (1 - 1 / ranks) + 64 * 1024:
                raise Failed(f"{ranks} ranks: a rank receives {largest} bytes")
            if not np.array_equal(np.load(self.work / "z.npy"), 2 * x[x > 0.5]):
                raise Failed(f"{ranks} ranks: other values")
            told.append(f"{ranks}: {largest}")
        return ", ".join(told)

    # rfft and irfft of a vector are distributed: all ranks take part, and receive no more than their shares of the exchanges. On one rank
    # they would receive less where ranks are few.
    def test_real_lines_are_distributed(self):
        executable, told, n = self.compiled("real_lines", LINES), [], 2 ** 18
        x = np.random.default_rng(1).standard_normal(n)
        np.save(self.work / "x.npy", x)
        for ranks in (2, 3):
            # Three reads of one vector share boxes: up to two elements at the ends.
            stats = self.counts(executable, ranks, "--x", "x.npy", "--X", "X.npy", "--y", "y.npy", "--odd", "odd.npy", width=2 * 16)
            received = [rank["bytes_received"] for rank in stats["per_rank"]]
            largest = max(received)
            if min(received) < largest / 2:
                raise Failed(f"{ranks} ranks received {received} bytes: some have no part")
            # Two transforms with four exchanges of n / 2 complex elements each, and the mirrored ones; one with three of n.
            if largest > (10 + 8) * 8 * n * (1 - 1 / ranks) / ranks + 64 * 1024:
                raise Failed(f"{ranks} ranks: a rank receives {largest} bytes")
            for name, wanted in (("X", np.fft.rfft(x)), ("y", x * np.sqrt(n)), ("odd", np.fft.rfft(x[1:]))):
                if np.abs(np.load(self.work / f"{name}.npy") - wanted).max() > 1e-12 * np.abs(wanted).max():
                    raise Failed(f"{ranks} ranks: {name} has other values")
            told.append(f"{ranks}: {largest}")
        return ", ".join(told)
