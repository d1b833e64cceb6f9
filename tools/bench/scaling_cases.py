"""The workloads of `bench scaling`: the papers' programs, their sizes on one rank, and the extents that grow with the number of ranks."""
import dataclasses

import numpy as np

from experiments import HERE, SAMPLES, Experiment, chain, mttkrp, newton, product
from fusion import classes, fusion_experiments

PROGRAMS = HERE / "programs" / "scaling"
SPARSE = HERE / "programs" / "sparse"


@dataclasses.dataclass
class Workload:
    """`grow`: extent -> power of the number of ranks by which it grows in weak scaling, so that the data per rank stay the same. `reads`: input -> how
    often it is read from memory at least."""
    experiment: Experiment
    grow: dict
    reads: dict = dataclasses.field(default_factory=dict)

    def at(self, ranks, mode):
        """The experiment on that many ranks; mode: `strong` or `weak`."""
        powers = self.grow if mode == "weak" else {}
        sizes = {d: max(1, round(n * ranks ** powers.get(d, 0))) for d, n in self.experiment.sizes.items()}
        return dataclasses.replace(self.experiment, sizes=sizes)


def with_spectrum_one(rng, shape):
    return rng.standard_normal(shape) / np.sqrt(shape[0])


def small(rng, shape):
    return rng.random(shape) / 10.0


def near_one(rng, shape):
    return 1.0 + 0.1 * rng.standard_normal(shape)


def weights(rng, shape):
    """Of a layer: shape is layers, then inputs, then outputs."""
    return rng.standard_normal(shape) / np.sqrt(np.prod(shape[1:]) ** 0.5)


def planner(name, figure, program, sizes, arrays, outputs, params, **more):
    return Experiment(name, f"TensorPlanner, figure {figure}", more.pop("workload", name), program, sizes, arrays, outputs, params, **more)


def products(tiny):
    n, inner, outer = ((90,), (40, 900, 40), (160, 20, 160)) if tiny else ((2000,), (800, 16000, 800), (4000, 500, 4000))
    square = {"n": 60} if tiny else {"n": 900}
    yield Workload(product("product", *n * 3), {"n": 1 / 2, "m": 1 / 2, "k": 1 / 2})
    yield Workload(product("product_inner", *inner), {"m": 1})
    yield Workload(product("product_outer", *outer), {"n": 1 / 2, "k": 1 / 2})
    yield Workload(chain("chain_skewed", *((80, 8, 400) if tiny else (2000, 200, 20000))), {"s": 1 / 2, "t": 1 / 2, "u": 1 / 2, "v": 1 / 2})
    yield Workload(mttkrp(*((24, 8) if tiny else (256, 100))), {"n": 1})
    yield Workload(planner("iterated_chain", "7 (c)", PROGRAMS / "iterated_chain.tdsl", square, {"A": "nn", "B": "nn"}, ["C"], {"steps": 10},
                           values={"B": with_spectrum_one}), {"n": 1 / 2})


def models(tiny):
    steps = 2 if tiny else 10
    rows = {"n": 800, "d": 12} if tiny else {"n": 100_000, "d": 128}
    network = {"n": 80, "m": 24, "h": 20, "o": 2} if tiny else {"n": 8000, "m": 400, "h": 300, "o": 2}
    yield Workload(planner("regression", "8 (a)", SAMPLES / "linear_regression.tdsl", rows, {"X": "nd", "y": "n"}, ["w", "loss"], {"steps": steps, "rate": 0.1}),
                   {"n": 1}, {"X": steps})
    yield Workload(planner("binary_network", "8 (b)", PROGRAMS / "binary_network.tdsl", network, {"X": "nm", "Y": "no", "W1": "mh", "W2": "ho"},
                           ["V1", "V2", "loss"], {"steps": steps, "rate": 0.05}, workload="network", values={"Y": classes}), {"n": 1}, {"X": steps, "Y": steps})
    yield Workload(newton(*((800, 6, 3) if tiny else (100_000, 64, 5))), {"n": 1}, {"X": 3 if tiny else 5})


def factorisations(tiny):
    rows, numbers = ({"n": 900, "d": 6} if tiny else {"n": 100_000, "d": 64}), "NumS, section 8.3; figures 11 and 12"
    tall = {"X": "nd", "y": "n"}
    yield Workload(Experiment("qr", numbers, "qr", SAMPLES / "tall_qr.tdsl", rows, tall, ["R", "w"], {"factorise": "distributed"}), {"n": 1}, {"X": 2})
    yield Workload(Experiment("qr_indirect", numbers, "qr", SAMPLES / "tall_qr.tdsl", rows, tall, ["R", "w"], {"factorise": "indirect"}), {"n": 1}, {"X": 2})
    yield Workload(Experiment("svd", "NumS, section 8.3", "svd", PROGRAMS / "tall_svd.tdsl", rows, {"X": "nd"}, ["s", "projected"]), {"n": 1}, {"X": 2})


def sparse(tiny):
    n, filled, graph, factors = (300, 120, 2000, 20) if tiny else (4000, 800, 400_000, 200)
    square, repeats = {"n": n}, {"repeats": 2 if tiny else 3}
    yield Workload(planner("sparse_product", "8 (c)", SPARSE / "product.tdsl", square, {"A": "nn", "B": "nn"}, ["r"], repeats, stored={"A": 0.01, "B": 0.01}),
                   {"n": 1 / 2}, repeats_of("AB", repeats))
    yield Workload(planner("sparse_chain", "8 (d)", SPARSE / "chain.tdsl", {"n": filled}, {"A": "nn"}, ["r"], {"repeats": 4 if tiny else 10}, stored={"A": 0.01}),
                   {"n": 1 / 2}, {"A": 4 if tiny else 10})
    yield Workload(planner("sparse_pagerank", "8 (e)", SPARSE / "pagerank.tdsl", {"n": graph}, {"A": "nn", "v": "n"}, ["r"], {"repeats": 4 if tiny else 10},
                           stored={"A": 16}, values={"v": small}), {"n": 1}, {"A": 4 if tiny else 10})
    yield Workload(planner("sparse_factorisation", "8 (f)", SAMPLES / "sparse_factorisation.tdsl", {"n": n, "m": n, "d": factors},
                           {"R": "nm", "P0": "nd", "Q0": "dm"}, ["P", "Q"], {"steps": 3, "rate": 0.0005, "lambda": 0.02}, stored={"R": 0.01},
                           values={"P0": small, "Q0": small}), {"n": 1 / 2, "m": 1 / 2}, {"R": 3, "P0": 3, "Q0": 3})


def repeats_of(names, params):
    return {name: params["repeats"] for name in names}


def algorithms(tiny):
    """The six algorithms of the paper on fused operators, with a quarter of the rows."""
    grow = {"als_factorisation": {"n": 1 / 2, "m": 1 / 2}}
    for name in ("l2svm", "multinomial_regression", "probit_regression", "kmeans", "als_factorisation", "autoencoder"):
        experiment = fusion_experiments(tiny)[name]
        rows = experiment.sizes["n"] if tiny else experiment.sizes["n"] // 4
        steps = next(experiment.params[p] for p in ("max_steps", "steps", "epochs") if p in experiment.params)
        yield Workload(dataclasses.replace(experiment, sizes=experiment.sizes | {"n": rows}), grow.get(name, {"n": 1}), {"X": steps})
        if "k" in experiment.sizes:  # figure 13: with the number of classes or centers the operations become the bound
            many = experiment.sizes | {"n": max(1, rows // 5), "k": 6 if tiny else 50}
            yield Workload(dataclasses.replace(experiment, name=f"{name}_many", paper="SystemML, figure 13", sizes=many), {"n": 1}, {"X": steps})


def llama(name, layers, n, d, heads, f):
    head = ("layers", "d", "heads", 2, "e")
    arrays = {"X": "nd", "G1": ("layers", "d"), "G2": ("layers", "d"), "Wq": head, "Wk": head, "Wv": head, "Wo": ("layers", "heads", 2, "e", "d"),
              "W1": ("layers", "d", "f"), "W3": ("layers", "d", "f"), "W2": ("layers", "f", "d")}
    values = {w: weights for w in ("Wq", "Wk", "Wv", "Wo", "W1", "W2", "W3")} | {"G1": near_one, "G2": near_one}
    sizes = {"layers": layers, "n": n, "d": d, "heads": heads, "e": d // heads // 2, "f": f}
    return Workload(Experiment(name, "EinDecomp, experiments 3 and 4; figures 11 and 12", "llama", SAMPLES / "llama_layer.tdsl", sizes, arrays, ["Z"], values=values),
                    {"n": 1})


def workloads(tiny):
    """All workloads by name; tiny: sizes for a smoke test."""
    layers = [llama("llama_layer", 1, *((24, 24, 3, 40) if tiny else (512, 1024, 8, 2752))), llama("llama_32_layers", 32, *((8, 8, 2, 12) if tiny else (128, 256, 4, 688)))]
    groups = products(tiny), models(tiny), factorisations(tiny), sparse(tiny), algorithms(tiny), layers
    return {w.experiment.name: w for group in groups for w in group}


def ablations(tiny):
    """Operations of NumS's ablation (figure 9), and its three applications."""
    d = {"n": 600, "d": 20} if tiny else {"n": 20_000, "d": 400}
    two, cube = {"X": "nd", "Y": "nd"}, ({"n": 16, "m": 20, "l": 24} if tiny else {"n": 64, "m": 500, "l": 400})
    wide = {"n": 200, "d": 30} if tiny else {"n": 3000, "d": 600}
    every = workloads(tiny)

    def one(name, sizes, arrays, outputs=("r",)):
        return Experiment(name, "NumS, figure 9", name, PROGRAMS / f"{name}.tdsl", sizes, arrays, list(outputs))

    found = [one("add", d, two), one("inner", d, two), one("outer", wide, two), one("matrix_vector", d, {"X": "nd", "v": "d", "w": "n"}, ("r", "s")),
             one("sum", cube, {"X": "nml"}), *(every[name].experiment for name in ("product", "qr", "newton"))]
    return {e.name: e for e in found}
