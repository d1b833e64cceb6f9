"""Costs of the table between the runtime and MPI: two ranks exchange messages directly and through the shim, in turns, under every family found."""
import json
import os
import pathlib
import statistics
import subprocess

import numpy as np

from harness import run

HERE = pathlib.Path(__file__).resolve().parent
TABLE = HERE.parents[1] / "runtime" / "engine" / "mpi"
COMPILERS = {"openmpi": "mpicc.openmpi", "mpich": "mpicc.mpich"}
TURNS = {8: 20000, 65536: 4000}


def programs_of(family, entry, options, scratch):
    """The two commands of a family, without turns and bytes."""
    source, direct, shim = HERE / "peers" / "exchange.c", scratch / f"direct-{family}", scratch / f"shim-{family}"
    subprocess.run([COMPILERS[family], "-std=gnu11", "-O2", "-DDIRECT", source, "-o", direct], check=True)
    subprocess.run(["cc", "-std=gnu11", "-O2", "-I", TABLE, source, "-o", shim], check=True)
    return {"direct": (str(direct), []), "shim": (str(shim), [entry["library"], entry["shim"]])}


def mpi_shim(options, scratch):
    told, _, _ = run([options.tdslc, "mpi", "--json"])
    results = []
    for entry in json.loads(told)["families"]:
        family = entry["family"]
        if family not in COMPILERS or not entry["library"] or not entry["launcher"]:
            continue
        commands = programs_of(family, entry, options, scratch)
        for size, turns in TURNS.items():
            samples = {name: [] for name in commands}
            for pair in range(options.pairs):
                for name in sorted(commands, reverse=pair % 2 == 1):
                    program, more = commands[name]
                    out, _, _ = run([entry["launcher"], "-n", "2", program, str(turns), str(size), *more])
                    samples[name].append(json.loads(out)["seconds"])
            ratios = [shim / direct for shim, direct in zip(samples["shim"], samples["direct"])]
            quartiles = np.quantile(ratios, (0.25, 0.75))
            print(f"% {entry['name']}, exchange of {size} bytes, microseconds, load {os.getloadavg()[0]:.1f}, median and least of {options.pairs}")
            for name, seconds in samples.items():
                print(f"{name:8} {1e6 * statistics.median(seconds):9.3f} {1e6 * min(seconds):9.3f}")
            print(f"% shim to direct: {statistics.median(ratios):.3f}, quartiles {quartiles[0]:.3f}-{quartiles[1]:.3f}")
            results.append({"title": f"mpi_shim, {entry['name']}, {size} bytes", "samples": samples, "ratios": ratios,
                            "rows": [{"name": name, "ratio": statistics.median(seconds) / statistics.median(samples["direct"])} for name, seconds in samples.items()]})
    return results
