"""The cost of decisions: every form, fusion policy, grain, schedule and number of threads imposed on programs, in turns with the choices of compiler and planner."""
import dataclasses
import math
import os
import pathlib
import re
import statistics
import sys

import numpy as np

import kernels
from in_memory import Executable, Failed, compared, option_text, reading_first, tool
from transcribed import PROGRAMS as TRANSCRIBED

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.append(str(ROOT / "tests/e2e"))
from program import Program as Sample  # noqa: E402

CHOSEN, CONTROL = "chosen", "chosen again"
FUSION = ("all", "no-redundancy", "none")
GRAINS = (64, 512, 4096, 32768, 262144)   # edges of tiles
MOST_TASKS = 4096                         # of an operation over the largest extents
MOST_FORMS = 8
MOST_RECORDED = 20                        # rows on docs/benchmarks.md
LIMIT = 1.10                              # chosen / best
TOLERANCE = 1e-6


@dataclasses.dataclass
class Subject:
    """A program with its inputs and params by name."""
    name: str
    text: str
    inputs: dict

    def extents(self):
        return [extent for value in self.inputs.values() for extent in np.shape(value)]


def from_kernels(options):
    for program in kernels.PROGRAMS:
        def make(program=program):
            sizes = program.sizes(options.scale)
            return Subject(f"kernels/{program.name()}", (HERE / "programs/kernels" / f"{program.stem}.tdsl").read_text(),
                           kernels.arrays(program, sizes) | {"repeats": options.repeats})
        yield f"kernels/{program.name()}", make


def from_transcriptions(options):
    for name, (source, make_inputs, _) in TRANSCRIBED.items():
        def make(name=name, source=source, make_inputs=make_inputs):
            return Subject(f"transcribed/{name}", source.strip() + "\n", make_inputs(0 if options.scale < 0.1 else 1))
        yield f"transcribed/{name}", make


def from_samples(options):
    """Samples whose inputs can be made at other sizes; the fewer dimensions, the larger."""
    for path in sorted((ROOT / "samples").glob("*.tdsl")):
        def make(path=path):
            sample = Sample(path)
            variant = sample.variants[0]
            deepest = max((len(i.dims) for i in sample.inputs), default=1)
            first, factor = variant.sizes, 1 if options.scale < 0.1 else {0: 64, 1: 4096, 2: 24, 3: 6}.get(deepest, 3)
            variant.sizes = {d: n * factor for d, n in first.items()}
            params = dict(zip((word.removeprefix("--") for word in variant.args[::2]), variant.args[1::2]))
            return Subject(f"samples/{path.stem}", sample.text, sample.make_inputs(variant) | params)
        yield f"samples/{path.stem}", make


class Built:
    """The executables of a subject."""

    def __init__(self, options, subject, folder):
        self.options, self.folder = options, folder
        self.program = folder / "program.tdsl"
        text, self.reads = reading_first(subject.text)
        self.program.write_text(text)
        self.outputs = re.findall(r"^output (\w+)", text, re.MULTILINE)
        self.given = []
        for name, value in subject.inputs.items():
            self.given += ["--set", f"{name}={value if isinstance(value, str) else option_text(np.asarray(value), folder / f'{name}.npy')}"]
        self.texts = {}

    def build(self, *flags):
        """None if the flags change nothing."""
        emitted = re.sub(r"//.*", "", tool([self.options.tdslc, "emit", str(self.program), *flags]))
        if emitted in self.texts.values():
            return None
        self.texts[flags] = emitted
        target = self.folder / ("program" + "".join(flags))
        tool([self.options.tdslc, "build", str(self.program), "-o", str(target), *flags])
        return Executable(target, self.options.threads, self.reads, self.given, self.outputs, self.folder)


def imposed(executable, head, forms, plan):
    """Options that impose these forms by site, or None if the first site has no such form. Sites within other forms may disappear."""
    site, *others = forms
    while True:
        plan.write_text("\n".join([*head, *(f"choose {s} {forms[s]}" for s in (site, *others))]) + "\n")
        try:
            executable.run(("--use-plan", str(plan)))
            return "--use-plan", str(plan)
        except Failed as error:
            if "has forms 0 to" in str(error):
                return None
            gone = re.search(r"site (\d+) has no forms", str(error))
            if not gone or int(gone[1]) not in others:
                raise
            others.remove(int(gone[1]))


def other_forms(executable, folder):
    """Options that impose another form at one site each: name -> options."""
    saved = folder / "chosen.plan"
    executable.run(("--save-plan", str(saved)))
    lines = saved.read_text().splitlines()
    # The header and the forms: layouts are those of the chosen forms, and follow from the sizes on one rank.
    head, chosen = lines[:3], {int(line.split()[1]): int(line.split()[2]) for line in lines if line.startswith("choose ")}
    found = {}
    for site in chosen:
        for form in range(MOST_FORMS):
            words = form != chosen[site] and imposed(executable, head, {site: form} | {s: f for s, f in chosen.items() if s != site}, folder / f"{site}.{form}.plan")
            if words is None:
                break
            found |= {f"form {form} at site {site}, not {chosen[site]}": words} if words else {}
    return found


def grains(extents):
    """Tile edges that cut the largest extents, but not into too many tasks."""
    largest = sorted(extents, reverse=True)[:2]
    return {f"tiles of {edge}": ("--tile", str(edge)) for edge in GRAINS
            if largest and edge < largest[0] and math.prod(-(-extent // edge) for extent in largest) <= MOST_TASKS}


def alternatives(options, subject, folder):
    """Name -> (executable, options): the chosen one first."""
    built = Built(options, subject, folder)
    chosen = built.build()
    found = {CHOSEN: (chosen, ()), CONTROL: (chosen, ())}
    for policy in FUSION:
        other = built.build("--fusion", policy)
        found |= {f"--fusion {policy}": (other, ())} if other else {}
    more = other_forms(chosen, folder) | grains(subject.extents()) | {"--schedule greedy": ("--schedule", "greedy")}
    if options.threads > 1:
        more["one thread"] = ("--threads", "1")
    return found | {name: (chosen, words) for name, words in more.items()}


def sampled(options, subject, turn):
    """Seconds and predictions by name; alternatives that fail are left out, with the reason."""
    samples, predicted, reasons, expected = {}, {}, {}, None
    for name, (executable, words) in turn.items():
        try:
            predicted[name] = executable.predicted(executable.run(words))
            expected = executable.answer() if expected is None else expected
            compared(executable.answer(), expected, TOLERANCE)
            samples[name] = []
        except Failed as error:
            if name == CHOSEN or "computes something else" in str(error):
                raise
            reasons[name] = str(error).splitlines()[0]
    names = list(samples)
    for i in range(options.pairs):
        for name in names[i % len(names):] + names[:i % len(names)]:
            executable, words = turn[name]
            samples[name].append(executable.seconds(executable.run(words)))
    return samples, predicted, reasons


def reduced(subject, samples, predicted, reasons):
    """The row of a subject: chosen / best with the control's deviation, and both predictions."""
    middle = {name: statistics.median(seconds) for name, seconds in samples.items()}
    best = min((name for name in samples if name != CONTROL), key=middle.get)
    ratio = statistics.median(a / b for a, b in zip(samples[CHOSEN], samples[best]))
    noise = statistics.median(abs(math.log(a / b)) for a, b in zip(samples[CHOSEN], samples[CONTROL]))
    return {"program": subject.name, "chosen / best": max(ratio, 1.0), "noise": math.exp(noise), "best": best, "chosen, ms": 1e3 * middle[CHOSEN],
            "best, ms": 1e3 * middle[best], "chosen predicted, ms": 1e3 * predicted[CHOSEN], "best predicted, ms": 1e3 * predicted[best],
            "alternatives": len(samples) - 2, "samples": samples, "predicted": predicted, "refused": reasons}


def measured(options, make, folder):
    folder.mkdir(parents=True, exist_ok=True)
    try:
        subject = make()
        row = reduced(subject, *sampled(options, subject, alternatives(options, subject, folder)))
    finally:
        for file in folder.glob("*.np[yz]"):
            file.unlink()
    return row


def line_of(row):
    return (f"{row['program']:36} {row['chosen / best']:7.2f} {row['noise']:6.2f} {row['chosen, ms']:10.2f} {row['best, ms']:10.2f} "
            f"{row['chosen predicted, ms']:10.2f} {row['best predicted, ms']:10.2f}  {row['best']} of {row['alternatives']}")


def regret(options, scratch):
    head = f"{'%':36} {'regret':>7} {'noise':>6} {'ms':>10} {'best':>10} {'predicted':>10} {'of best':>10}"
    print(f"% one rank, {options.threads} threads, medians of {options.pairs}, load {os.getloadavg()[0]:.1f}; regret: chosen / best\n{head}")
    rows, skipped = [], {}
    for name, make in [*from_kernels(options), *from_transcriptions(options), *from_samples(options)]:
        if not any(part in name for part in options.only or [""]):
            continue
        try:
            rows.append(measured(options, make, scratch / name.replace(" ", "_")))
            print(line_of(rows[-1]), flush=True)
        except (Failed, ValueError) as error:  # ValueError: inputs that cannot be made at these sizes
            skipped[name] = str(error).splitlines()[0] if str(error) else type(error).__name__
            print(f"% {name}: {skipped[name]}", flush=True)
    rows.sort(key=lambda row: row["chosen / best"] / row["noise"], reverse=True)
    behind = [row for row in rows if row["chosen / best"] > LIMIT * row["noise"]]
    print(f"\n% worst first\n{head}")
    for row in behind:
        print(line_of(row))
    if rows:
        print(f"% median regret {statistics.median(r['chosen / best'] for r in rows):.3f}, {len(behind)} of {len(rows)} above {LIMIT:g} beyond noise, "
              f"{sum(r['chosen predicted, ms'] <= r['best predicted, ms'] for r in behind)} of them predicted the other way")
    counts = f"{len(behind)} of {len(rows)} programs above {LIMIT:g} beyond noise"
    return [{"title": f"Chosen / best, worst first: {counts}", "rows": rows[:MOST_RECORDED], "programs": rows, "skipped": skipped}]
