"""Pairs of plans compared in the papers, imposed on four simulated machines: is the plan predicted to be faster actually faster?"""
import dataclasses
import json
import os
import statistics
import subprocess

from cluster import RANKS, Cluster
from experiments import HERE, chain, mttkrp, nearest, network, product, transformer
from paper_peers import checker
from papers import Ours


@dataclasses.dataclass
class Pair:
    name: str
    experiment: object
    plans: dict          # two names -> layouts to impose: name -> layout


def everywhere(names, layout):
    return {name: layout for name in names.split()}


def step(n, m, h, o):
    experiment = network("network_step", "network", "", "", n, m, h, o, 1, ())
    return dataclasses.replace(experiment, outputs=["V1", "V2"], program=HERE / "programs" / "network_step.tdsl", params={"rate": 0.05})


DATA = {**everywhere("Z A P E Q D", "i:4"), "G1": "i:4", "G2": "i:4"}
HIDDEN = {**everywhere("Z A Q D G1 G2", "j:4"), "P": "j:4"}
WIDE_INPUT = {"Z": "f:4", "G1": "f:4", "P": "l:4", "E": "l:4", "G2": "l:4", "Q": "l:4"}
ATTENTION, ROWS = "Q K V S T P O", {"Y": "i:4", "U": "i:4", "Z": "i:4"}
MEGATRON = {**everywhere(ATTENTION, "h:4"), "U": "b:4"}
SEQUENCE = {**everywhere(ATTENTION, "i:4"), **ROWS}
HEADS = {**everywhere(ATTENTION, "h:4"), **ROWS}


def pairs(tiny):
    """Sizes at which one plan moves at least a few megabytes more than the other; tiny: sizes for a smoke test."""
    def of(make, small, full):
        return make(*(small if tiny else full))

    points = of(lambda *s: nearest("nearest", *s), (700, 20), (60000, 450))
    coordinates = of(lambda *s: nearest("nearest_wide", *s), (60, 120), (600, 5000))
    block = of(transformer, (32, 24, 4, 48), (2048, 512, 8, 2048))
    horizontal, vertical = everywhere("F P D", "i:4"), {"F": "k:4", "P": "k:4"}
    return [
        Pair("wide hidden layer", of(step, (40, 16, 200, 4), (1200, 320, 16000, 10)), {"data-parallel": DATA, "model-parallel": HIDDEN}),
        Pair("wide input", of(step, (20, 300, 24, 12), (800, 20000, 300, 1000)), {"data-parallel": DATA, "model-parallel": WIDE_INPUT}),
        Pair("long inner dimension", of(lambda *s: product("product_inner", *s), (40, 900, 40), (800, 30000, 800)),
             {"broadcast": {"C": "i:4"}, "cross-product": {"C": "k:4"}}),
        Pair("two long outer dimensions", of(lambda *s: product("product_outer", *s), (160, 20, 160), (4000, 600, 4000)),
             {"broadcast": {"C": "i:4"}, "cross-product": {"C": "k:4"}}),
        Pair("many points", points, {"horizontal": horizontal, "vertical": vertical}),
        Pair("many coordinates", coordinates, {"horizontal": horizontal, "vertical": vertical}),
        Pair("transformer, Megatron", block, {"Megatron": MEGATRON, "sequence": SEQUENCE}),
        Pair("transformer, heads", block, {"heads": HEADS, "sequence": SEQUENCE}),
        Pair("MTTKRP", of(mttkrp, (24, 8), (200, 800)), {"rows": {"M": "i:4"}, "columns": {"M": "q:4"}}),
        Pair("skewed chain", of(lambda *s: chain("chain_skewed", *s), (80, 8, 400), (1600, 160, 16000)),
             {"inner": {"D @ E": "k:4"}, "rows": {"D @ E": "i:4"}}),
    ]


def placed(plan):
    return [word for name, layout in plan.items() for word in ("--place", f"{name}={layout}")]


def predicted(options, experiment, plan):
    """Predicted seconds and received bytes of the busiest rank, from `explain` with this cluster's constants."""
    sizes = [word for d, n in experiment.sizes.items() if d in declared(experiment) for word in ("--set", f"{d}={n}")]
    params = [word for name, value in experiment.params.items() for word in (f"--{name}", str(value))]
    command = [options.tdslc, "explain", str(experiment.program), "--json", "-n", str(RANKS), "--per-node", "1", *sizes, *placed(plan), "--", *params]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(command)}\n{done.stdout}{done.stderr}")
    told = json.loads(done.stdout)
    return told["alternatives"][0]["predicted"]


def declared(experiment):
    """The program's dimensions among these names: dimensions of equal length share a name."""
    text = experiment.program.read_text()
    return [d for d in experiment.sizes if any(d in line.split("[", 1)[-1].split("]")[0].replace(" ", "").split(",")
                                               for line in text.splitlines() if line.startswith("input "))]


def one(options, scratch, cluster, pair):
    pair.experiment.write(scratch)
    ours = Ours(options, scratch, pair.experiment, cluster)
    plans = {**pair.plans, "auto": {}}
    foreseen = {name: predicted(options, pair.experiment, plan) for name, plan in plans.items()}
    check, samples, counts = None, {name: [] for name in plans}, {}
    names = list(plans)
    for turn in range(options.pairs):
        for name in names[turn % 3:] + names[:turn % 3]:
            result = ours(placed(plans[name]))
            check = check or checker(result.answer, pair.experiment.tolerance)
            check(name, result.answer)
            samples[name].append(result.seconds)
            counts[name] = result.counts["bytes_received"]
    first, second = pair.plans
    medians = {name: statistics.median(seconds) for name, seconds in samples.items()}
    agree = (foreseen[first]["seconds"] < foreseen[second]["seconds"]) == (medians[first] < medians[second])
    quicker = min(pair.plans, key=medians.get)
    behind = statistics.median(a / b for a, b in zip(samples["auto"], samples[quicker]))
    print(f"% {pair.name} {pair.experiment.sizes}, load {os.getloadavg()[0]:.1f}: the order is {'as predicted' if agree else 'NOT as predicted'}, auto to the quicker {behind:.3f}")
    for name in plans:
        print(f"{name:20} predicted {foreseen[name]['seconds']:9.4f} s {foreseen[name]['bytes_received_max']:12.0f} B   measured {medians[name]:9.4f} s "
              f"{min(samples[name]):9.4f} {counts[name]:12.0f} B", flush=True)
    return {"title": pair.name, "agree": agree, "auto_to_quicker": behind, "predicted": foreseen, "received": counts, "samples": samples,
            "rows": [{"name": name, "ratio": medians[name] / medians["auto"]} for name in plans]}


def forced(options, scratch):
    with Cluster(None if options.local else options.rate, options.mpiexec) as cluster:
        os.environ["TDSL_MACHINE"] = cluster.constants(options.tdslc, scratch)
        results = []
        for number, pair in enumerate(pairs(options.tiny)):
            if options.only and pair.name not in options.only:
                continue
            folder = scratch / str(number)
            folder.mkdir(exist_ok=True)
            results.append(one(options, folder, cluster, pair))
            for file in folder.glob("*.npy"):
                file.unlink()
    print(f"% predicted order = measured order in {sum(r['agree'] for r in results)} of {len(results)} pairs; "
          f"auto at most {max(r['auto_to_quicker'] for r in results):.3f} of the quicker one")
    return results
