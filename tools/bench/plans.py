"""Cost of whole-program planning: samples on 64 ranks, and generated programs with many operations on 4096. And its benefit: received bytes of the
samples relative to the greedy plan."""
import json
import os
import pathlib
import random
import resource
import statistics
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(ROOT / "tests" / "e2e"))
from program import Program  # noqa: E402

SAMPLE_RANKS, GRAPH_RANKS = 64, 4096
COMPARED_RANKS = (2, 3, 4, 5, 7, 8, 12, 16)
LIMIT = 60  # CPU seconds per command


def measured(command, scratch):
    """The JSON answer, None if the limit is exceeded, and peak resident bytes."""
    answer = scratch / "plan.json"
    process = subprocess.Popen([*command[:2], "--json", "-o", str(answer), *command[2:]], stderr=subprocess.PIPE, preexec_fn=limited)
    trouble = process.stderr.read().decode()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = status
    if status != 0:
        print("\n".join(f"% {line}" for line in trouble.splitlines() if "warning" not in line))
        return None, usage.ru_maxrss * 1024
    return json.loads(answer.read_text()), usage.ru_maxrss * 1024


def limited():
    resource.setrlimit(resource.RLIMIT_CPU, (LIMIT, LIMIT))


def sizes_of(program):
    """The first sizes of a sample's test, scaled up so that every rank has work; tensors of rank 3 and more are scaled less."""
    deepest = max((len(i.dims) for i in program.inputs), default=1)
    factor = {0: 64, 1: 64, 2: 64, 3: 16}.get(deepest, 4)
    sizes = {d: n * factor for d, n in program.variants[0].sizes.items()}
    return [word for d, n in sizes.items() for word in ("--set", f"{d}={n}")]


def graph_text(operations, seed):
    """A program of products, transposes and sums of square matrices, each using recent results."""
    rng = random.Random(seed)
    lines = [f"input M{k}: f64[n, n];" for k in range(4)]
    names = [f"M{k}" for k in range(4)]
    for k in range(operations):
        a, b = rng.choice(names[-8:]), rng.choice(names[-8:])
        form = rng.choices(("{a} @ {b}", "{a}' @ {b}", "{a} + {b}", "0.5 * {a}'"), (4, 2, 3, 1))[0]
        names.append(f"T{k}")
        lines.append(f"let T{k} = {form.format(a=a, b=b)};")
    lines += [f"output {name};" for name in names[-8:]]
    return "\n".join(lines) + "\n"


def row(name, times, operations, memory, best):
    print(f"{name:28} {operations:10d} {1e3 * statistics.median(times):10.2f} {1e3 * min(times):10.2f} {memory / 2**20:8.0f}  {best}", flush=True)
    return {"name": name, "operations": operations, "seconds": statistics.median(times), "best": min(times), "peak_bytes": memory, "plan": best, "all_seconds": times}


def planned(options, scratch, name, source, ranks, arguments):
    """Seconds of survey and search for one program. Peak memory is that of the whole command, including the compiler."""
    command = [options.tdslc, "explain", str(source), "-n", str(ranks), "--time-plan", "--schedule", options.schedule, *arguments]
    times, memory = [], 0
    for _ in range(options.pairs):
        told, resident = measured(command, scratch)
        if told is None:
            print(f"% {name}: not planned within {LIMIT} s")
            return None
        times.append(told["planning_seconds"])
        memory = max(memory, resident)
    chosen = told.get("alternatives", [{"schedule": "greedy"}])[0]
    best = f"{chosen['schedule']}, {chosen['predicted']['bytes_received_max']:.3g} bytes" if "predicted" in chosen else "no plan"
    return row(name, times, len(told["statements"]), memory, best)


def predictions(options, scratch, path, program, ranks):
    """Schedule -> received bytes of the busiest rank, and seconds; the chosen plan is called auto."""
    told, _ = measured([options.tdslc, "explain", str(path), "-n", str(ranks), *sizes_of(program), "--", *program.variants[0].args], scratch)
    alternatives = [a for a in told["alternatives"] if "predicted" in a]
    found = {a["schedule"]: (a["predicted"]["bytes_received_max"], a["predicted"]["seconds"]) for a in alternatives}
    return found | {"auto": found[alternatives[0]["schedule"]]}


def against_greedy(options, scratch, samples):
    """Received bytes of every sample with the chosen plan relative to the greedy one. A star: more bytes, but predicted to be faster."""
    print(f"\n{'% received, auto / greedy':28}" + "".join(f"{f'{p} ranks':>10}" for p in COMPARED_RANKS))
    rows, worse = [], []
    for path, program in samples:
        cells, ratios = [], {}
        for ranks in COMPARED_RANKS:
            found = predictions(options, scratch, path, program, ranks)
            (bytes_of_auto, seconds_of_auto), (bytes_of_greedy, seconds_of_greedy) = found["auto"], found["greedy"]
            more = bytes_of_auto > bytes_of_greedy
            if more and not seconds_of_auto < seconds_of_greedy:
                worse.append(f"{path.stem} on {ranks}")
            ratios[ranks] = bytes_of_auto / bytes_of_greedy if bytes_of_greedy else float(more) + 1
            cells.append(f"{ratios[ranks]:.3f}{'*' if more else ' '}")
        print(f"{path.stem:28}" + "".join(f"{cell:>10}" for cell in cells), flush=True)
        rows.append({"name": path.stem, "ratio": statistics.median(ratios.values()), "received_to_greedy": ratios})
    print(f"% more bytes than greedily without being predicted faster: {', '.join(worse) or 'none'}")
    return {"title": "received bytes, auto to greedy", "rows": rows, "worse": worse}


def plan(options, scratch):
    print(f"{'% load ' + format(os.getloadavg()[0], '.1f'):28} {'statements':>10} {'ms':>10} {'best':>10} {'MiB':>8}")
    rows = []
    samples = [(path, Program(path)) for path in sorted((ROOT / "samples").glob("*.tdsl")) if path.stem in (options.only or [path.stem])]
    for path, program in samples:
        rows.append(planned(options, scratch, path.stem, path, SAMPLE_RANKS, [*sizes_of(program), "--", *program.variants[0].args]))
    for operations in options.operations if not options.only or "graph" in options.only else ():
        source = scratch / f"graph{operations}.tdsl"
        source.write_text(graph_text(operations, 1))
        rows.append(planned(options, scratch, source.stem, source, GRAPH_RANKS, ["--set", "n=65536"]))
    rows = [r for r in rows if r]
    title = f"planning, samples on {SAMPLE_RANKS} ranks, graphs on {GRAPH_RANKS}"
    return [{"title": title, "rows": [dict(r, ratio=r["seconds"]) for r in rows]}, against_greedy(options, scratch, samples)]
