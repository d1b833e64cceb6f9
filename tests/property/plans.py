"""Random plans to impose: output of `tdslc explain --save-plan` with some assignments replaced by other legal ones."""
import collections
import random
import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "e2e"))
import launch

SCHEDULES = ("search", "eindecomp", "pattern", "lshs")
OPERATION = re.compile(r" site (\d+) +(\w+) .*?: t(\d+)\[(.*?)\] \w+(?: = \w+(?:\[(.*?)\])? ?(.*?))?(?:; ends .*)?$")
DECISION = re.compile(r'(\d+) (\w+) ("(?:\\.|[^"\\])*") (.*)')
REFUSED = re.compile(r"--use-plan .*: line (\d+): ")
READERS = re.compile(r" keep .* for ([\d ]+)$")
CHANGED = 0.4  # of the decisions


class Unusable(Exception):
    """No plan could be saved, for the given reason."""


class Site:
    """Dimensions of the result, reduced labels, and sites that read the result."""

    def __init__(self):
        self.result, self.reduced, self.readers = [], [], set()


def sites_of(region):
    """By number, from `tdslc explain --stage=region`."""
    sites, makers = collections.defaultdict(Site), {}
    for line in region.splitlines():
        found = OPERATION.search(line)
        if found is None:
            continue
        number, made = int(found[1]), found[3]
        site = sites[number]
        site.result = re.findall(r"(\S+?):\d+", found[4])
        site.reduced = re.findall(r"(\S+?):\d+", found[5] or "")
        for tensor in re.findall(r"\bt(\d+)\[", found[6] or ""):
            if tensor in makers:
                sites[makers[tensor]].readers.add(number)
        makers[made] = number
    return sites


class RandomPlan:
    """The lines of a plan file and changes to them."""

    def __init__(self, path, sites, rng):
        self.path, self.rng, self.sites, self.refused = path, rng, sites, 0
        self.lines = path.read_text().splitlines()
        self.ranks = int(re.search(r" ranks (\d+) ", self.lines[1])[1])
        self.axes = re.findall(r"\b([abc]):", self.lines[2])

    def write(self):
        self.path.write_text("\n".join(self.lines) + "\n")

    def decisions(self):
        return len(self.lines) - 3

    def leave_out(self, message):
        """Whether a message rejects a line, which is then removed from the file."""
        line = REFUSED.search(message)
        if line is None:
            return False
        del self.lines[int(line[1]) - 1]
        self.refused += 1
        self.write()
        return True

    def change_forms(self):
        """Selects variants of multi-versioned places, and keeps only their lines."""
        forms = [line[:line.rindex(" ")] + f" {self.rng.randrange(2)}" for line in self.lines[3:] if line.startswith("choose ")]
        self.lines[3:] = forms

    def change(self, decisions):
        """Random changes to these decisions, for operations of the selected variants."""
        self.change_mesh()
        for line in decisions:
            needed = [int(line.split()[0]), *map(int, (READERS.search(line) or ["", ""])[1].split())]
            if not self.sites.keys() >= set(needed):
                continue
            self.lines.append(line)
            if self.rng.random() < CHANGED:
                self.change_decision(len(self.lines) - 1)

    def change_mesh(self):
        """Permutes the order in which axes number the ranks."""
        if "*" in self.lines[2]:
            return
        sizes = [int(size) for size in re.findall(r":(\d+)/", self.lines[2])]
        strides, stride = [0] * len(sizes), 1
        for axis in self.rng.sample(range(len(sizes)), len(sizes)):
            strides[axis] = stride
            stride *= sizes[axis]
        self.lines[2] = "mesh" + "".join(f" {name}:{size}/{step}" for name, size, step in zip(self.axes, sizes, strides))

    def layout(self, names):
        """Assigns axes at random to dimensions with these names, some to none, or everything to one place."""
        if not names or self.rng.random() < 0.2:
            return self.rng.choice(("everywhere", f"home {self.rng.randrange(self.ranks)}"))
        cut = {}
        for axis in self.rng.sample(self.axes, len(self.axes)):
            if self.rng.random() < 0.85:
                cut.setdefault(self.rng.choice(names), []).append(axis)
        words = [f"{name}:{''.join(axes)}" for name, axes in cut.items()]
        if not words:
            return "everywhere"
        return " ".join(words + (["repeated"] if len(self.axes) > 1 and self.rng.random() < 0.2 else []))

    def change_decision(self, number):
        """Other layouts of the work, of combined partial results, and of a copy for the readers."""
        number_of_site, kind, name, _ = DECISION.match(self.lines[number]).groups()
        site = self.sites[int(number_of_site)]
        work, more = self.layout(site.result + site.reduced), ""
        if any(f"{label}:" in work for label in site.reduced):
            more = f" -> {self.layout(site.result)}"
        readers = sorted(site.readers)
        if readers and self.rng.random() < 0.2:
            more += f" keep {self.layout(site.result)} for {' '.join(map(str, self.rng.sample(readers, self.rng.randint(1, len(readers)))))}"
        self.lines[number] = f"{number_of_site} {kind} {name} {work}{more}"


def random_plan(explain, arguments, ranks, seed, path, limit):
    """Writes a plan for this many ranks and these arguments to `path`. `explain`: a command and its options before `--`."""
    rng = random.Random(seed)

    def told(*options):
        result = launch.run([*explain, "-n", ranks, *options, "--", *arguments], limit)
        if result.code != 0:
            raise Unusable(f"explain {options[0]}: {result.err[-500:]}")
        return result.out

    chosen = rng.choice(SCHEDULES)
    try:
        told("--schedule", chosen, "--save-plan", path)
    except Unusable:
        if chosen == "search":
            raise
        told("--schedule", "search", "--save-plan", path)
    plan = RandomPlan(path, {}, rng)
    decisions = [line for line in plan.lines[3:] if not line.startswith("choose ")]
    plan.change_forms()
    plan.write()
    plan.sites = sites_of(told("--use-plan", path, "--stage=region"))
    plan.change(decisions)
    plan.write()
    return plan
