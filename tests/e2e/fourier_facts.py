"""Facts about Fourier transforms on several ranks. A part of facts.py."""
import json

import numpy as np

import launch
from session import Failed, interval

CUBE = "input A: c128[n, n, n];\noutput B = fftn(A);\n"
FILTERED = ("param n: i64 = 64;\ninput A: c128[n, n, n];\nlet k = fftfreq(n);\n"
            "let keep[i, j, l] = if abs(k[i]) + abs(k[j]) + abs(k[l]) < 0.5 then 1.0 else 0.0;\noutput B = ifftn(keep * fftn(A));\n")
SQUARE = ("param n: i64 = 512;\ninput A: c128[n, n];\nlet k = fftfreq(n);\nlet keep[i, j] = if abs(k[i]) + abs(k[j]) < 0.4 then 1.0 else 0.0;\n"
          "output B = ifft2(keep * fft2(A));\n")
ELEMENT = 16
HEADERS = 4096


class FourierFacts:
    """A part of Facts in facts.py."""

    # A transform of a cube exchanges slabs once: a rank receives at most n^3 (1 - 1/p) / p elements and headers, exactly as predicted.
    def test_cubes_are_exchanged_once(self):
        n, told = 24, []
        path = self.work / "cube_of_fourier.tdsl"
        path.write_text(CUBE)
        np.save(self.work / "A.npy", np.random.default_rng(1).standard_normal((n, n, n)) + 0j)
        executable = self.work / "cube_of_fourier"
        built = launch.run([self.tdslc, "build", path, "-o", executable], self.options.limit)
        if built.code != 0:
            raise Failed(f"building: {built}")
        for ranks in (2, 3, 4):
            self.run(executable, ranks, ["--A", "A.npy", "--B", "B.npy", "--threads", "1", "--stats", "fourier.json"])
            largest = 0
            for rank in json.loads((self.work / "fourier.json").read_text())["per_rank"]:
                low, high = interval(rank["predicted"]["bytes_received"])
                if low != high or rank["bytes_received"] != low:
                    raise Failed(f"{ranks} ranks: rank {rank['rank']} received {rank['bytes_received']}, predicted {low} to {high}")
                largest = max(largest, rank["bytes_received"])
            bound = ELEMENT * n ** 3 * (1 - 1 / ranks) / ranks + HEADERS
            if largest > bound:
                raise Failed(f"{ranks} ranks: a rank receives {largest} bytes, more than {bound:.0f}")
            if not np.allclose(np.load(self.work / "B.npy"), np.fft.fftn(np.load(self.work / "A.npy"))):
                raise Failed(f"{ranks} ranks: other values")
            told.append(f"{ranks}: {largest}")
        return ", ".join(told)

    # A transform, a filter and the inverse transform have two exchanges: the filtered tensor stays in the layout of the last axis.
    def test_filters_have_two_exchanges(self):
        told = []
        for name, text, elements in (("cube", FILTERED, 64 ** 3), ("square", SQUARE, 512 ** 2)):
            path = self.work / f"filter_of_{name}.tdsl"
            path.write_text(text)
            for ranks in (2, 4):
                rows = [r for r in self.explain(path, "-n", ranks, "--threads", 1)["statements"] if r["kind"] != "collect"]
                received = sum(r["predicted"]["bytes_received_max"] for r in rows)
                bound = 2 * ELEMENT * elements * (1 - 1 / ranks) / ranks + HEADERS
                if received > bound:
                    raise Failed(f"{name} on {ranks} ranks: {received} bytes, more than {bound:.0f}")
                told.append(f"{name} {ranks}: {received}")
        return ", ".join(told)

    # The gates of a circuit exchange nothing: a step receives the state twice, in the transpositions between them.
    def test_circuits_exchange_their_state_twice(self):
        told, steps, elements = [], 10, 2 ** 20
        for ranks in (2, 4):
            rows = [r for r in self.explain("quantum_circuit", "-n", ranks, "--threads", 1)["statements"] if r["kind"] != "collect"]
            received = sum(r["predicted"]["bytes_received_max"] for r in rows)
            bound = 2 * steps * ELEMENT * elements * (1 - 1 / ranks) / ranks + HEADERS * steps
            if received > bound:
                raise Failed(f"{ranks} ranks: {received} bytes, more than {bound:.0f}")
            told.append(f"{ranks}: {received}")
        return ", ".join(told)
