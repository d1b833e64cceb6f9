"""The papers' experiments, scaled to four ranks on two cores: programs, sizes, inputs, and peers."""
import dataclasses
import pathlib

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
SAMPLES = HERE.parents[1] / "samples"
SHARED = ("NumPy", "PyTorch", "Dask")


@dataclasses.dataclass
class Experiment:
    name: str
    paper: str
    workload: str        # in peers/workloads.py
    program: pathlib.Path
    sizes: dict          # extents
    arrays: dict         # inputs: name -> shape, of names of extents and numbers
    outputs: list        # to be compared
    params: dict = dataclasses.field(default_factory=dict)
    peers: tuple = SHARED
    chunks: tuple = ()   # Dask settings to sweep: dimension -> number of chunks
    flops: float = 0     # per run
    tolerance: float = 1e-8  # of results, relative to the largest element
    values: dict = dataclasses.field(default_factory=dict)  # inputs that are not normally distributed: name -> function of a generator and a shape
    stored: dict = dataclasses.field(default_factory=dict)  # sparse inputs: name -> share of stored elements, if below 1, else their number per row

    def shape(self, name):
        return tuple(self.sizes.get(d, d) for d in self.arrays[name])

    def file(self, folder, name):
        return folder / f"{name}.{'npz' if name in self.stored else 'npy'}"

    def write(self, folder):
        """Writes the inputs as files for all competitors."""
        rng = np.random.default_rng(1)
        for name in self.arrays:
            if name in self.stored:
                write_stored(self.file(folder, name), rng, self.shape(name), self.stored[name])
                continue
            if name in self.values:
                np.save(folder / f"{name}.npy", self.values[name](rng, self.shape(name)))
                continue
            value = rng.standard_normal(self.shape(name))
            if name == "y":
                value = (value < 0).astype(float)
            if name == "Y" and self.workload.startswith("network"):
                value = (rng.random(value.shape) < 2 / value.shape[1]).astype(float)
            if name in ("W1", "W2") and self.workload.startswith("network"):
                value /= np.sqrt(value.shape[0])
            if name == "M":
                value = value @ value.T / value.shape[0] + np.eye(value.shape[0])
            np.save(folder / f"{name}.npy", value)


def write_stored(file, rng, shape, stored):
    """A matrix in compressed rows with uniformly placed elements, in SciPy's file format."""
    n, m = shape
    flat = np.unique(rng.integers(0, n * m, max(1, round(stored * n * m if stored < 1 else stored * n))))
    starts = np.searchsorted(flat, np.arange(n + 1, dtype=np.int64) * m)
    np.savez(file, format=b"csr", shape=np.array(shape), data=rng.uniform(0.1, 1.0, len(flat)), indices=flat % m, indptr=starts)


def newton(n, d, steps):
    return Experiment("newton", "NumS, section 8.5; figure 14", "newton", SAMPLES / "logistic_regression.tdsl", {"n": n, "d": d},
                      {"X": "nd", "y": "n"}, ["w", "loss", "correct"], {"steps": steps, "lambda": 0.5}, chunks=({"n": 4}, {"n": 8}), flops=2.0 * steps * n * d * (d + 3))


def lbfgs(n, d, steps):
    return Experiment("lbfgs", "NumS, section 8.5; figure 14", "lbfgs", SAMPLES / "logistic_lbfgs.tdsl", {"n": n, "d": d}, {"X": "nd", "y": "n"}, ["w"],
                      {"steps": steps, "pairs": 10, "lengths": 6, "lambda": 0.5}, chunks=({"n": 4}, {"n": 8}), flops=4.0 * steps * n * d,
                      tolerance=1e-6)  # differences of gradients, which scale the steps, suffer from cancellation


def nearest(name, n, d):
    return Experiment(name, "TRA, section 5.2; tables 5 and 6", "nearest", SAMPLES / "nearest_in_metric.tdsl", {"n": n, "d": d, "e": d},
                      {"X": "nd", "q": "d", "M": "de"}, ["nearest", "distance"], chunks=({"n": 4}, {"d": 4, "e": 4}, {"n": 2, "d": 2, "e": 2}),
                      flops=2.0 * n * d * (d + 2))


def network(name, workload, stem, measure, n, m, h, o, steps, chunks):
    """`measure`: the output that rates the trained network."""
    return Experiment(name, "TRA, section 5.3; tables 7 to 9. EinDecomp, experiment 2", workload, SAMPLES / f"{stem}.tdsl",
                      {"n": n, "m": m, "h": h, "o": o}, {"X": "nm", "Y": "no", "W1": "mh", "W2": "ho"}, ["V1", "V2", measure],
                      {"steps": steps, "rate": 0.05}, chunks=chunks, flops=steps * (4.0 * n * m * h + 6.0 * n * h * o) + 2.0 * n * h * (m + o))


def mttkrp(n, r):
    return Experiment("mttkrp", "NumS, section 8.4; figure 13 (b)", "mttkrp", SAMPLES / "mttkrp.tdsl", {"n": n, "m": n, "l": n, "r": r},
                      {"X": "nml", "B": "mr", "C": "lr"}, ["M"], chunks=({"m": 4}, {"n": 4}, {"m": 2, "l": 2}), flops=2.0 * n**3 * r)


def contraction(n, r):
    return Experiment("contraction", "NumS, section 8.4; figure 13 (a)", "contraction", SAMPLES / "double_contraction.tdsl", {"n": n, "m": n, "l": n, "r": r},
                      {"X": "nml", "Y": "mlr"}, ["Z"], chunks=({"m": 4}, {"n": 4}, {"m": 2, "l": 2}), flops=2.0 * n**3 * r)


def chain(name, s, t, u):
    return Experiment(name, "EinDecomp, experiment 1; figures 7 to 9", "chain", HERE / "programs" / "chain.tdsl", {"s": s, "t": t, "u": u, "v": s},
                      {"A": "st", "B": "tv", "C": "st", "D": "tu", "E": "uv"}, ["R"], peers=("NumPy", "PyTorch", "Dask", "ScaLAPACK"),
                      chunks=({"s": 2, "v": 2}, {"s": 2, "v": 2, "u": 4}, {"s": 4}), flops=2.0 * s * s * t * 2 + 2.0 * t * u * s)


def product(name, n, k, m):
    return Experiment(name, "TRA, section 5.1; tables 3 and 4. TensorPlanner, figure 7", "product", SAMPLES / "matmul.tdsl", {"n": n, "m": k, "k": m},
                      {"A": "nm", "B": "mk"}, ["C"], peers=("NumPy", "Dask", "ScaLAPACK"), chunks=({"n": 2, "k": 2}, {"m": 4}, {"n": 4}),
                      flops=2.0 * n * k * m)


def transformer(n, d, heads, f):
    return Experiment("transformer", "EinDecomp, experiment 3; figure 11", "transformer", SAMPLES / "transformer_block.tdsl",
                      {"n": n, "d": d, "heads": heads, "e": d // heads, "f": f},
                      {"X": "nd", "Wq": ("d", "heads", "e"), "Wk": ("d", "heads", "e"), "Wv": ("d", "heads", "e"), "Wo": ("heads", "e", "d"), "W1": "df",
                       "W2": "fd"}, ["Z"], peers=("NumPy", "PyTorch"), flops=8.0 * n * d * d + 4.0 * n * n * d + 4.0 * n * d * f)


def all_experiments(tiny):
    """Experiments by name; tiny: sizes for a smoke test."""
    def pick(make, small, full):
        return make(*(small if tiny else full))

    wide = ({"h": 4}, {"n": 4}), ({"m": 4, "o": 4}, {"h": 4})
    found = [
        pick(newton, (800, 6, 3), (200000, 64, 5)),
        pick(lbfgs, (800, 6, 3), (200000, 64, 10)),
        pick(lambda *s: nearest("nearest", *s), (700, 20), (60000, 500)),
        pick(lambda *s: nearest("nearest_wide", *s), (60, 120), (1000, 4000)),
        pick(lambda *s: network("network", "network", "wide_hidden_network", "correct", *s, wide[0]), (40, 16, 200, 4, 2), (1000, 160, 10000, 10, 2)),
        pick(lambda *s: network("network_wide_input", "network_loss", "wide_input_network", "loss", *s, wide[1]), (20, 300, 24, 12, 1), (100, 40000, 500, 1000, 1)),
        pick(mttkrp, (24, 8), (256, 100)),
        pick(contraction, (24, 8), (256, 100)),
        pick(lambda *s: chain("chain", *s), (64, 64, 64), (2000, 2000, 2000)),
        pick(lambda *s: chain("chain_skewed", *s), (80, 8, 400), (2000, 200, 20000)),
        pick(lambda *s: product("product", *s), (90, 90, 90), (2400, 2400, 2400)),
        pick(lambda *s: product("product_inner", *s), (40, 900, 40), (800, 40000, 800)),
        pick(lambda *s: product("product_outer", *s), (160, 20, 160), (4800, 600, 4800)),
        pick(transformer, (32, 24, 4, 48), (1024, 512, 8, 2048)),
    ]
    return {e.name: e for e in found}
