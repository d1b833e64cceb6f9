"""The papers' programs on 1, 2, 4 and 8 ranks, weak and strong, on emulated machines of one rank each. A time is also given as a multiple of a lower bound,
the largest of three: operations at BLAS's peak, bytes of inputs and results at the rate of memory, received bytes at the rate of a link. Where it is more
than 1.3 times the bound the counters say where the time goes."""
import os
import pathlib
import statistics

from cluster import Cluster
from csv_tables import tables
from largest import largest
from paper_peers import checker
from papers import Ours, built, seconds_of
from scaling_cases import ablations, workloads

CLOSE = 1.3   # multiples of the bound up to here need no reason
WORTH = 0.1   # parts of the time that a reason mentions
SCHEDULES = ("auto", "lshs", "eindecomp", "pattern", "sqrt", "greedy")
OTHERS = {"largest": "TensorPlanner, figure 6", "ablation": "NumS, figures 9 and 15", "csv": "NumS, table 3 and figure 16"}


def bounds_of(told, memory_bytes):
    """Lower bounds in seconds, by name. `memory_bytes`: read and written by all ranks together."""
    constants, ranks = told["constants"], told["ranks"]
    flops = sum(s["measured"]["flops"] for s in told["statements"])
    link = constants["bandwidth" if told["ranks_per_node"] == 1 and ranks > 1 else "near_bandwidth"]
    workers = ranks * told["threads"]
    return {"compute": flops / (workers * constants["flop_rate"]), "memory": memory_bytes / (workers * constants["stream_rate"]),
            "network": max(rank["bytes_received"] for rank in told["per_rank"]) / link}


def reasons(told):
    """Parts of the time of planning and computing, largest first, from the counters of all ranks."""
    constants, workers = told["constants"], told["ranks"] * told["threads"]
    total = workers * seconds_of(told)
    parts = {"planning": workers * told["phases"]["plan"] / total,
             "waiting": (sum(s["measured"]["waiting_seconds"] for s in told["statements"]) + sum(r["waiting_between_steps"] for r in told["per_rank"])) / total}
    for statement in told["statements"]:
        measured = statement["measured"]
        if statement["kind"] == "load" or measured["kernel_seconds"] <= 0:
            continue
        peak = measured["flops"] / constants["flop_rate"] / measured["kernel_seconds"]
        parts[f"line {statement['line']} `{statement['name']}` ({peak:.2f} of the peak)"] = measured["kernel_seconds"] / total
    flops = [sum(s["per_rank"][r]["measured"]["flops"] for s in told["statements"]) for r in range(told["ranks"])]
    told_parts = [f"{name} {100 * share:.0f} %" for name, share in sorted(parts.items(), key=lambda part: -part[1]) if share >= WORTH]
    balance = max(flops) * len(flops) / max(1.0, sum(flops))
    return "; ".join(told_parts[:4] + ([f"the busiest rank computes {balance:.1f} times the mean"] if balance > 1 + WORTH else []))


def data_bytes(ours, reads):
    """Bytes of input files, each as often as it is read, and of results."""
    inputs = sum(reads.get(name, 1) * os.path.getsize(ours.experiment.file(ours.scratch, name)) for name in ours.experiment.arrays)
    return inputs + sum(os.path.getsize(ours.result(output)) for output in ours.experiment.outputs)


def point(options, ours, check, reads):
    """One number of ranks: a row of the table, and the answer."""
    runs, answer = [], None
    for _ in range(options.pairs):
        runs.append(ours.told())
        answer = ours.answer()
        if check:
            check(f"{ours.experiment.name} on {runs[0]['ranks']} ranks", answer)
    seconds = [seconds_of(told) for told in runs]
    middle = statistics.median_low(seconds)
    told = runs[seconds.index(middle)]
    bounds = bounds_of(told, data_bytes(ours, reads))
    multiple = middle / max(bounds.values())
    row = {"ranks": told["ranks"], "seconds": middle, "best": min(seconds), **bounds, "multiple": multiple,
           "received": max(rank["bytes_received"] for rank in told["per_rank"]), "held": max(rank["peak_block_bytes"] for rank in told["per_rank"]),
           "reason": reasons(told) if multiple > CLOSE else ""}
    return row, answer


def header(title, columns):
    print(f"% {title}, load {os.getloadavg()[0]:.1f}\n" + " ".join(f"{c:>{w}}" for c, w in columns))


def scaled(options, scratch, cluster, workload):
    """Strong, then weak scaling of one workload; a row of the result is one number of ranks."""
    name, all_rows = workload.experiment.name, []
    program = built(options, scratch, workload.experiment)
    for mode in ("strong", "weak"):
        sizes = ", ".join(f"{d}={n}{'' if mode == 'strong' or d not in workload.grow else f' p^{workload.grow[d]:g}'}" for d, n in workload.experiment.sizes.items())
        title = f"{name}, {mode} scaling: {sizes} ({workload.experiment.paper})"
        header(title, (("ranks", 5), ("seconds", 9), ("best", 9), ("speedup" if mode == "strong" else "efficiency", 10), ("compute", 8), ("memory", 8),
                       ("network", 8), ("multiple", 8), ("received", 12)))
        rows, expected = [], None
        for ranks in options.counts:
            cluster.ranks = ranks
            os.environ["TDSL_MACHINE"] = cluster.constants(options.tdslc, scratch.parent)
            experiment = workload.at(ranks, mode)
            experiment.write(scratch)
            check = checker(expected, experiment.tolerance) if expected is not None else None
            row, answer = point(options, Ours(options, scratch, experiment, cluster, program), check, workload.reads)
            expected = answer if mode == "strong" and expected is None else expected
            rows.append({"mode": mode, "sizes": experiment.sizes, **row, "gain": rows[0]["seconds"] / row["seconds"] if rows else 1.0})
            r = rows[-1]
            print(f"{ranks:5} {r['seconds']:9.4f} {r['best']:9.4f} {r['gain']:10.2f} {r['compute']:8.4f} {r['memory']:8.4f} {r['network']:8.4f} "
                  f"{r['multiple']:8.2f} {r['received']:12.0f}  {r['reason']}", flush=True)
        all_rows += rows
    return [{"title": f"{name}: {workload.experiment.sizes}", "experiment": name, "paper": workload.experiment.paper, "rows": all_rows}]


def ablation(options, scratch, cluster):
    """The same operation under every schedule: seconds, bytes received and held by the busiest rank, and the share of the least busy one."""
    cluster.ranks, results = max(options.counts), []
    os.environ["TDSL_MACHINE"] = cluster.constants(options.tdslc, scratch.parent)
    for experiment in ablations(options.tiny).values():
        experiment.write(scratch)
        program, expected, rows = built(options, scratch, experiment), None, []
        title = f"ablation, {experiment.name} {experiment.sizes}, {cluster.ranks} ranks"
        header(title, (("schedule", 10), ("seconds", 9), ("received, most", 15), ("least", 12), ("held, most", 12), ("least", 12)))
        for schedule in SCHEDULES:
            ours = Ours(options, scratch, experiment, cluster, program)
            ours.command[ours.command.index("--schedule") + 1] = schedule
            runs = [ours.told() for _ in range(options.pairs)]
            answer = ours.answer()
            expected = answer if expected is None else expected
            checker(expected, experiment.tolerance)(f"{experiment.name} by {schedule}", answer)
            ranks = runs[-1]["per_rank"]
            row = {"schedule": schedule, "seconds": statistics.median(map(seconds_of, runs))}
            for name, key in (("received", "bytes_received"), ("held", "peak_block_bytes")):
                row |= {f"{name}, most": max(r[key] for r in ranks), f"{name}, least": min(r[key] for r in ranks)}
            rows.append(row)
            print(f"{schedule:>10} {row['seconds']:9.4f} {row['received, most']:15.0f} {row['received, least']:12.0f} {row['held, most']:12.0f} "
                  f"{row['held, least']:12.0f}", flush=True)
        results.append({"title": title, "experiment": "ablation", "paper": OTHERS["ablation"], "rows": rows})
    return results


def chosen(options):
    names = [*workloads(options.tiny), *OTHERS]
    for name in options.only or ():
        if name not in names:
            raise SystemExit(f"no experiment is called {name}; there are {', '.join(names)}")
    return [name for name in names if not options.only or name in options.only]


def scaling(options, scratch):
    found, results = workloads(options.tiny), []
    if options.list:
        papers = {name: w.experiment.paper for name, w in found.items()} | OTHERS
        print("\n".join(f"{name:24} {paper}" for name, paper in papers.items()))
        return []
    others = {"largest": largest, "ablation": ablation, "csv": tables}
    with Cluster(None if options.local else options.rate, options.mpiexec, max(options.counts)) as cluster:
        for name in chosen(options):
            folder = pathlib.Path(scratch) / name
            folder.mkdir(exist_ok=True)
            results += others[name](options, folder, cluster) if name in others else scaled(options, folder, cluster, found[name])
            for file in folder.glob("*.np?"):
                file.unlink()
    multiples = [row["multiple"] for result in results for row in result["rows"] if "multiple" in row]
    print(f"% {sum(m > CLOSE for m in multiples)} of {len(multiples)} rows take more than {CLOSE} of their bound")
    return results
