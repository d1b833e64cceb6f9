"""NPBench's programs: every spelling of ours, NumPy, the best of Numba's variants and Pythran, in alternating runs (docs/benchmarks.md)."""
import collections
import dataclasses
import functools
import hashlib
import json
import math
import os
import pathlib
import re
import statistics
import subprocess
import sys
import threading

import numpy as np

from in_memory import Executable, Failed, compared, option_text, reading_first, tool
from peers import Missing, Peers
from suite_sizes import SIZES, TOLERANCES

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path += [str(HERE / "peers"), str(ROOT / "tests/import"), str(ROOT / "tools/python")]  # behind those of this folder, some of which have the same name
import npbench  # noqa: E402
from npbench_peer import arguments, described, module_of  # noqa: E402
from tdsl.importer import source, translate, verification  # noqa: E402
from tdsl.importer.errors import TranslationError  # noqa: E402

PYTHON = "/usr/bin/python3"
NUMPY, NUMBA, PYTHRAN = "NumPy", "Numba", "Pythran"
IMPORTED, LITERAL = "imported", "literal"
ONE_THREAD = ", one thread"
LEAST_SECONDS = 0.05  # of the calls of a turn together
MOST_CALLS = 20
PATIENCE = 180        # seconds of a peer's first call, compilation included


@dataclasses.dataclass
class Spelling:
    """A program of ours. `options`: parameter of the Python function -> the program's option. `outputs`: output -> the result's number or the updated parameter."""
    name: str
    text: str
    options: dict
    outputs: dict


def imported(tdslc, folder, name):
    """The importer's programs, with idioms and without if they differ, or why there is none."""
    about, root = described(folder, name)
    script, function = source.Script(f"{root}_numpy.py"), about["func_name"]
    given = [translate.bound_arguments(getattr(script.module, function), npbench.example(folder, name, number), {}) for number in range(2)]
    found = {}
    try:
        for label, idioms in ((IMPORTED, True), (LITERAL, False)):
            made = translate.Translator(script, function, given, idioms=idioms).translate()
            if all(made.text != other.text for other in found.values()):
                found[label] = made
    except TranslationError as error:
        return [], "; ".join(sorted({place.reason for place in error.places}))
    return [Spelling(label, verification.laid_out(tdslc, made.text), made.options, {o: str(k) for k, o in enumerate(made.results)} | made.updated)
            for label, made in found.items()], ""


def by_hand(folder, name):
    """Those of suite/: NAME.tdsl and NAME.SPELLING.tdsl. Options have the parameters' names, outputs are `result`, `result0`, … and `PARAMETER_out`."""
    about, _ = described(folder, name)
    for file in sorted((HERE / "suite").glob(f"{name}.*")):
        text = file.read_text()
        declared = re.findall(r"^(?:param|input) (\w+)", text, re.MULTILINE)
        outputs = {}
        for output in re.findall(r"^output (\w+)", text, re.MULTILINE):
            outputs[output] = output.removesuffix("_out") if output.endswith("_out") else output.removeprefix("result") or "0"
        words = file.name.split(".")
        yield Spelling(words[1] if len(words) == 3 else "by hand", text, {a: a for a in about["input_args"] if a in declared}, outputs)


class Ours:
    """A spelling's executable."""

    def __init__(self, options, folder, spelling, given, threads):
        program = folder / f"{spelling.name.replace(' ', '_')}.tdsl"
        text, reads = reading_first(spelling.text)
        program.write_text(text)
        tool([options.tdslc, "build", str(program), "-o", str(program.with_suffix(""))])
        words = [word for parameter, option in spelling.options.items() for word in ("--set", f"{option}={option_text(given[parameter], folder / f'{parameter}.npy')}")]
        self.program = Executable(program.with_suffix(""), threads, reads, words, spelling.outputs, folder)
        self.outputs = spelling.outputs

    def __call__(self, calls, more=()):
        return statistics.mean(self.program.seconds(self.program.run(more)) for _ in range(calls))

    def answer(self):
        self.program.run()
        return {self.outputs[output]: value for output, value in self.program.answer().items()}


class Peer:
    """An implementation of NPBench in a process of its own that waits for its turns."""

    def __init__(self, peers, npbench_folder, name, implementation, sizes, threads, folder):
        command = [PYTHON, str(HERE / "peers/npbench_peer.py"), str(npbench_folder), name, str(implementation), json.dumps(sizes)]
        self.file, self.errors = folder / "peer.npz", open(folder / "peer.log", "w+")
        environment = peers.python_environment(threads, NUMBA_NUM_THREADS=str(threads), GLIBC_TUNABLES="glibc.malloc.hugetlb=1")
        self.process = subprocess.Popen(command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.errors, text=True)
        self.told()

    def told(self):
        limit = threading.Timer(PATIENCE, self.process.kill)
        limit.start()
        line = self.process.stdout.readline()
        limit.cancel()
        if not line:
            self.errors.seek(0)
            trouble = self.errors.read().strip().splitlines()[-1:] or [f"no answer within {PATIENCE} s"]
            self.close()
            raise Failed(trouble[0][:200])
        return json.loads(line)["seconds"]

    def ask(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        return self.told()

    def __call__(self, calls):
        return self.ask(f"run {calls}")

    def answer(self):
        self.ask(f"answer {self.file}")
        with np.load(self.file) as found:
            return dict(found)

    def close(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self.errors.close()


def pythran_module(root, flags):
    """The compiled module of a program, kept in the cache."""
    file = pathlib.Path(f"{root}_pythran.py")
    if not file.exists():
        raise Missing("NPBench has no such program")
    key = hashlib.sha256(file.read_bytes() + " ".join(flags).encode()).hexdigest()[:16]
    target = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "tdsl-bench" / key / f"{file.stem}.so"
    if not target.exists():
        target.parent.mkdir(parents=True, exist_ok=True)
        done = subprocess.run(["pythran", *flags, str(file), "-o", str(target)], capture_output=True, text=True)
        if done.returncode:
            raise Missing(f"it is not compiled: {done.stderr.strip().splitlines()[-1:]}")
    return target


class Program:
    """A program of NPBench at its size, and its competitors."""

    def __init__(self, options, name, scratch):
        self.options, self.name, self.npbench = options, name, pathlib.Path(options.npbench)
        self.about, self.root = described(self.npbench, name)
        self.sizes = npbench.small_sizes(self.npbench, name, 0) if options.tiny else dict(self.about["parameters"]["S"]) | SIZES.get(name, {})
        self.folder = scratch / name
        self.folder.mkdir(exist_ok=True)
        self.peers = Peers(options.peers, scratch, options.mpiexec)
        self.tolerance = TOLERANCES.get(name, 1e-7)
        self.expected, self.notes, self.failed, self.started, self.ours = None, [], False, [], {}

    def say(self, who, what, failed=False):
        self.notes.append(f"{who}: {what}")
        self.failed = self.failed or failed
        print(f"% {self.name}: {who}: {what}", flush=True)

    def admitted(self, who, make, ours=False):
        """The competitor that `make` returns if it computes what NumPy does."""
        try:
            made = make()
            answer = made.answer()
            if self.expected is None:
                self.expected = answer
                if any(np.asarray(a).dtype == np.float32 for a in answer.values()):
                    self.tolerance = max(self.tolerance, 1e-3)
            compared(answer, self.expected if ours else self.told(), self.tolerance)
        except (Failed, Missing) as error:
            self.say(who, str(error), ours and who != IMPORTED)  # the importer compares its idioms with NumPy and drops those that differ
            return None
        return made

    def told(self):
        """What NPBench compares: results and outputs; all arrays of a function without results."""
        silent = "0" not in self.expected
        return {key: value for key, value in self.expected.items() if silent or key.isdigit() or key in self.about["output_args"]}

    def implementation(self, file):
        self.started.append(Peer(self.peers, self.npbench, self.name, file, self.sizes, self.options.threads, self.folder))
        return self.started[-1]

    def best_numba(self):
        """The quickest of its variants, and its name."""
        best, least, label = None, math.inf, NUMBA
        for file in sorted(self.root.parent.glob(f"{self.root.name}_numba_*.py")):
            kind = file.stem.removeprefix(f"{self.root.name}_numba_")
            found = self.admitted(f"{NUMBA} {kind}", lambda file=file: self.implementation(file))
            if found is None:
                continue
            seconds = min(found(1) for _ in range(2))
            if seconds < least:
                best, found, least, label = found, best, seconds, f"{NUMBA} {kind}"
            if found is not None:
                found.close()
        return best, label

    def spellings(self):
        """Ours by name, if they compute what NumPy does."""
        found, reason = imported(self.options.tdslc, self.npbench, self.name)
        found += by_hand(self.npbench, self.name)
        if not found:
            self.say("tdsl", f"not translated: {reason}")
            return {}
        function = getattr(module_of(f"{self.root}_numpy.py"), self.about["func_name"])
        given = translate.bound_arguments(function, list(arguments(self.npbench, self.name, self.sizes).values()), {})
        made = {s.name: self.admitted(s.name, lambda s=s: Ours(self.options, self.folder, s, given, self.options.threads), ours=True) for s in found}
        return {who: ours for who, ours in made.items() if ours}

    def competitors(self):
        """Name -> competitor: NumPy, other peers, ours by spelling; none if NumPy or ours cannot run."""
        found = {NUMPY: self.admitted(NUMPY, lambda: self.implementation(f"{self.root}_numpy.py"))}
        self.ours = self.spellings() if self.expected is not None else {}
        if not self.ours:
            return {}
        if NUMBA in self.options.offered:
            best, label = self.best_numba()
            found[label] = best
        if PYTHRAN in self.options.offered:
            found[PYTHRAN] = self.admitted(PYTHRAN, lambda: self.implementation(pythran_module(self.root, self.options.pythran_flags.split())))
        return {who: c for who, c in found.items() if c} | self.ours

    def measured(self):
        """Samples by name, over turns in rotating order."""
        try:
            return self.alternated(self.competitors())
        finally:
            for peer in self.started:
                peer.close()

    def alternated(self, turn):
        if not turn:
            return {}
        first = {who: competitor(1) for who, competitor in turn.items()}
        best = min(self.ours, key=first.get)
        if self.options.threads > 1:
            single = best + ONE_THREAD
            turn[single] = functools.partial(self.ours[best], more=("--threads", "1"))
            first[single] = first[best]
        calls = {who: 1 if self.options.tiny else max(1, min(MOST_CALLS, math.ceil(LEAST_SECONDS / max(s, 1e-9)))) for who, s in first.items()}
        samples, names = {who: [] for who in turn}, list(turn)
        for i in range(self.options.pairs):
            for who in names[i % len(names):] + names[:i % len(names)]:
                samples[who].append(turn[who](calls[who]))
        return samples


def ratio(samples, other, own):
    """Median over the turns of other / own: above 1, `own` is faster."""
    return statistics.median(a / b for a, b in zip(samples[other], samples[own]))


def reduced(program, samples):
    """The result of a program: medians, ratios, spellings in order of time."""
    middle = {who: statistics.median(seconds) for who, seconds in samples.items()}
    spellings = sorted((who for who in samples if who in program.ours), key=middle.get)
    peers = [who for who in samples if who.split()[0] in (NUMPY, NUMBA, PYTHRAN)]
    best = spellings[0]
    single = next((who for who in samples if who.endswith(ONE_THREAD)), None)
    return {"name": program.name, "sizes": program.sizes, "samples": samples, "notes": program.notes, "best": best,
            "to_numpy": {who: ratio(samples, NUMPY, who) for who in spellings},
            "to_peers": {who: ratio(samples, who, best) for who in peers},
            "to_best_peer": ratio(samples, min(peers, key=middle.get), best),
            "spread": middle[spellings[-1]] / middle[best],
            "one_thread": ratio(samples, single, single.removesuffix(ONE_THREAD)) if single else None,
            "short": [who for who in samples if middle[who] * MOST_CALLS < LEAST_SECONDS]}


def geometric(values):
    return math.exp(statistics.mean(math.log(v) for v in values)) if values else math.nan


def measure_row(name, ratios):
    """A row of the table of measures."""
    row = {"measure": name, "rows": len(ratios), "geometric mean": geometric(list(ratios.values()))}
    row |= {f"below {limit:g}": sum(r < limit for r in ratios.values()) for limit in (1, 0.95, 0.9, 0.7)}
    least = min(ratios, key=ratios.get, default="")
    return row | {"least": f"{ratios[least]:.3g} ({least})" if ratios else ""}


def measures(results):
    """The table of acceptance: all spellings, the best one against the best peer, slowest against fastest spelling, one thread against two."""
    def each(pick):
        return {r["name"]: pick(r) for r in results if pick(r) is not None}
    rows = [measure_row("all spellings, NumPy / ours", {f"{r['name']}, {who}": value for r in results for who, value in r["to_numpy"].items()}),
            measure_row("best spelling, NumPy / ours", each(lambda r: r["to_numpy"][r["best"]])),
            measure_row("best spelling, best of the peers / ours", each(lambda r: r["to_best_peer"]))]
    for peer in (NUMBA, PYTHRAN):
        rows.append(measure_row(f"best spelling, {peer} / ours", each(lambda r, peer=peer: next((v for who, v in r["to_peers"].items() if who.split()[0] == peer), None))))
    rows.append(measure_row("best spelling, one thread / all", each(lambda r: r["one_thread"])))
    spreads = each(lambda r: r["spread"] if len(r["to_numpy"]) > 1 else None)
    worst = sorted(spreads, key=spreads.get, reverse=True)[:3]
    rows.append({"measure": "slowest / fastest spelling of a program", "rows": len(spreads), "geometric mean": geometric(list(spreads.values())),
                 "least": "most: " + ", ".join(f"{spreads[w]:.3g} ({w})" for w in worst)})
    return rows


def rows_of(result):
    """A row per spelling, for the recorded table."""
    middle = {who: 1e3 * statistics.median(seconds) for who, seconds in result["samples"].items()}
    peers = {NUMPY: NUMPY} | {who.split()[0]: who for who in result["to_peers"]}
    for who, value in result["to_numpy"].items():
        row = {"program": result["name"], "spelling": who, "ours, ms": middle[who]}
        row |= {f"{peer}, ms": middle[peers[peer]] if peer in peers else "" for peer in (NUMPY, NUMBA, PYTHRAN)}
        yield row | {"NumPy / ours": value, "best peer / ours": min(middle[p] for p in result["to_peers"]) / middle[who], "short": "*" if who in result["short"] else ""}


def folder_of(options):
    """NPBench's folder: --npbench, TDSL_NPBENCH, or beside the repository."""
    place = options.npbench or os.environ.get("TDSL_NPBENCH") or ROOT.parent / "shared/npbench"
    if not (pathlib.Path(place) / "bench_info").is_dir():
        raise SystemExit(f"{place} is not a checkout of NPBench: name one by --npbench or TDSL_NPBENCH")
    return str(place)


def offered(options, scratch):
    """The wanted peers this machine has, apart from NumPy; says which it lacks."""
    peers = Peers(options.peers, scratch, options.mpiexec)
    found = []
    for who in (NUMBA, PYTHRAN):
        try:
            if any(part.lower() in who.lower() for part in options.peer or [""]):
                peers.module(who.lower())
                found.append(who)
        except Missing as reason:
            print(f"% without {who}: {reason}")
    return found


def suite(options, scratch):
    options.npbench, options.offered = folder_of(options), offered(options, scratch)
    names = sorted(file.stem for file in (pathlib.Path(options.npbench) / "bench_info").glob("*.json"))
    results, without, failed = [], [], []
    print(f"% milliseconds, medians of {options.pairs}; {options.threads} threads, load {os.getloadavg()[0]:.1f}; * the calls of a turn take less than {1e3 * LEAST_SECONDS:.0f} ms")
    print(f"{'% program':18} {'spelling':18} {'ours':>10} {NUMPY:>10} {NUMBA:>10} {PYTHRAN:>10} {'to NumPy':>10} {'to best':>10}")
    for name in names:
        if options.only and name not in options.only:
            continue
        program = Program(options, name, scratch)
        try:
            samples = program.measured()
        except Failed as error:
            program.say("a turn", str(error), True)
            samples = {}
        failed += [name] if program.failed else []
        for file in program.folder.glob("*.np[yz]"):
            file.unlink()
        if not samples:
            without.append(name)
            continue
        result = reduced(program, samples)
        results.append(result)
        for row in rows_of(result):
            print(" ".join(f"{value:10.3f}" if isinstance(value, float) else f"{value or '-':>10}" if "ms" in key else f"{value:18}" for key, value in row.items()), flush=True)
    table = measures(results)
    print()
    for row in table:
        print("  ".join(f"{key} {value:.3g}" if isinstance(value, float) else f"{key} {value}" for key, value in row.items()))
    print(f"% without ours: {', '.join(without) or 'none'}")
    notes = collections.Counter(note for r in results for note in r["notes"])
    return [{"title": "Measures", "rows": table, "without": without, "notes": dict(notes), "failed": failed},
            {"title": "Programs", "rows": [row for r in results for row in rows_of(r)], "programs": results}]
