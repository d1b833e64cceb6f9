"""A logistic regression by Newton's method on a table in a text file (NumS, table 3 and figure 16): loading, training and predicting; in Python by pandas and
scikit-learn where they are installed, else by NumPy."""
import json
import os
import statistics

import numpy as np

from experiments import newton
from harness import run
from paper_peers import PYTHON, checker
from papers import Ours, built

PEER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "peers", "csv_regression.py")


def loaded_trained(told):
    """Seconds of loading and of everything after it, the predictions included."""
    return told["phases"]["read"], told["phases"]["plan"] + told["phases"]["compute"]


def tables(options, scratch, cluster):
    cluster.ranks, results = max(options.counts), []
    os.environ["TDSL_MACHINE"] = cluster.constants(options.tdslc, scratch.parent)
    n, d, steps = (800, 6, 3) if options.tiny else (200_000, 28, 8)
    for share in (1,) if options.tiny else (1 / 16, 1 / 4, 1):
        experiment = newton(round(n * share), d, steps)
        experiment.write(scratch)
        for name in experiment.arrays:
            np.savetxt(scratch / f"{name}.csv", np.load(experiment.file(scratch, name)), delimiter=",", fmt="%.12g")
        ours = Ours(options, scratch, experiment, cluster, built(options, scratch, experiment))
        ours.command = [word.replace(".npy", ".csv") for word in ours.command]
        runs = [loaded_trained(ours.told()) for _ in range(options.pairs)]
        told = [json.loads(run([PYTHON, PEER, str(scratch / "X.csv"), str(scratch / "y.csv"), str(scratch / "w.bin"), str(steps)])[0]) for _ in range(options.pairs)]
        if told[0]["same_model"]:
            checker(np.load(ours.result("w")), 1e-6)(told[0]["stack"], np.fromfile(scratch / "w.bin"))
        load, train = (statistics.median(parts) for parts in zip(*runs))
        rows = [{"stack": f"tdsl, {cluster.ranks} ranks", "load": load, "train and predict": train, "total": load + train}]
        load, train = (statistics.median(t[part] for t in told) for part in ("load", "train"))
        rows.append({"stack": told[0]["stack"], "load": load, "train and predict": train, "total": load + train})
        title = f"csv of {experiment.sizes['n']} x {d + 1}, {(os.path.getsize(scratch / 'X.csv')) / 1e6:.1f} MB, {steps} steps"
        print(f"% {title}, load {os.getloadavg()[0]:.1f}\n{'':34} {'load':>9} {'train':>9} {'total':>9}")
        for row in rows:
            print(f"{row['stack']:34} {row['load']:9.4f} {row['train and predict']:9.4f} {row['total']:9.4f}", flush=True)
        results.append({"title": title, "experiment": "csv", "paper": "NumS, table 3 and figure 16", "rows": rows})
    return results
