"""Facts about plans as tensor relations: derivations by the rules of the paper, and relations as plans."""
import itertools
import json
import re
from pathlib import Path

import numpy as np

import launch
from session import Failed

ROOT = Path(__file__).resolve().parents[2]
# Derivations: arguments of `explain --stage=rules`, and text that its output has in this order.
DERIVED = {
    # The filter is below every communication. Both diagonals lie on the same sites, so that the model's 400 floats do not move.
    "diagonal": ("tests/e2e/cases/diagonal_of_sum.tdsl -n 4 --set n=400 --place X=i0:4 --place Y=i1:4",
                 ("= join %0, %1 on [0, 1], [0, 1] by add", "= filter %2 where k0 == k1", "= rekey %3 [k0]", "= map %4 by diag", "; Table 1 on 4 sites",
                  "; costs 640000", "bcast %0", ", R1-6: filter(join(L, R), p) is", "- %", "+ %", "; the cheapest of ", "; costs 400; 0 elements arrive",
                  "mesh a:4/1", "part [0]", "local filter", "shuf", 'result "d"')),
    # Horizontal: the metric and the query are broadcast, s D^2 + s D; minima add a few floats.
    "nearest": ("samples/nearest_in_metric.tdsl -n 8 --set n=1500000 --set d=6000 --place X=i0:8 --place q=i0:8 --place M=i0:8",
                ("by matmul", "; Table 1 on 8 sites", ", R2-6: join(L [at D], R [at P]) is", "; the cheapest of ", "; costs 2880480", "bcast")),
    # Data-parallel: both weights are broadcast, both gradients shuffled, 2 s (D H + H L).
    "network": ("tests/e2e/cases/network_step.tdsl -n 5 --set n=10000 --set d=1600 --set h=100000 --set l=10 --place X=i0:5 --place Y=i0:5 --place W1=i0:5 "
                "--place W2=i0:5", ("; Table 1 on 5 sites", "R2-6", "; the cheapest of ", "; costs 1610000000;", "bcast", "shuf"))}
# Tables 6 and 9 of the paper: the program, its sizes by column, and for every plan of tests/e2e/relations the floats of the paper's model, with s sites.
# Printed are 2.9e8, 8.0e10; 7.2e10, 4.8e9; 9.7e8, 1.5e9, 1.9e9, 3.7e9, 1.1e10, 1.8e10, 2.6e10 (gradients charged once) and half of the last row.
TABLES = (
    ("tests/e2e/relations/distances.tdsl", 8, [{"n": 1_500_000, "d": 6000}, {"n": 6000, "d": 100_000}],
     {"horizontal": lambda s, n, d: s * d * d + s * d, "vertical": lambda s, n, d: s * n * d + s * n}),
    ("tests/e2e/cases/network_step.tdsl", 5, [*({"n": 10_000, "d": 1600, "h": h, "l": 10} for h in (100_000, 150_000, 200_000)),
                                              *({"n": 1000, "d": 597_540, "h": h, "l": 14_588} for h in (1000, 3000, 5000, 7000))],
     {"data_parallel": lambda s, n, d, h, l: 2 * s * (d * h + h * l), "model_parallel": lambda s, n, d, h, l: 4 * s * n * h}))
ARRIVE = re.compile(r"(\d+) elements arrive")
# A product with B broadcast, on 4 sites: 3 of its 4 quarters arrive at every site.
BROADCAST = """mesh a:4/1
%0 = input "A" keys [4, 4] block [24, 24] part [0]
%1 = input "B" keys [4, 4] block [24, 24] part [0]
%2 = bcast %1
%3 = local join %0, %2 on [1], [0] by matmul
%4 = local aggregate %3 keep [0, 2] by add
result "C" %4
"""


class RelationFacts:
    """A part of Facts in facts.py."""

    def shown(self, *arguments):
        result = launch.run([self.tdslc, "explain", *arguments], self.options.limit, cwd=ROOT)
        if result.code != 0:
            raise Failed(f"tdslc explain {arguments}: {result}")
        return result.out

    # The paper's three examples, from Table 1 to their cheapest plans.
    def test_rules_derive_the_plans_of_the_paper(self):
        for name, (arguments, wanted) in DERIVED.items():
            text, at = self.shown(*arguments.split(), "--stage=rules"), 0
            for line in wanted:
                found = text.find(line, at)
                if found < 0:
                    raise Failed(f"{name}: `{line}` is missing, or in another order:\n{text}")
                at = found + len(line)

    # The paper's plans, given as relations, cost what its model says.
    def test_tables_of_the_paper(self):
        for program, sites, columns, plans in TABLES:
            for (name, cost), sizes in itertools.product(plans.items(), columns):
                given = [word for key, size in sizes.items() for word in ("--set", f"{key}={size}")]
                text = self.shown(program, "-n", str(sites), *given, "--use-plan", f"tests/e2e/relations/{name}.ia", "--costs=papers")
                if f"TRA: {cost(sites, **sizes)} in total for this plan\n" not in text:
                    raise Failed(f"{name} at {sizes}: not {cost(sites, **sizes)}:\n{text}")

    # Relations that `explain` prints, or that a user writes, run as a plan; the bytes that ranks receive are those of the relations.
    def test_relations_are_plans(self):
        n, product = 96, ROOT / "samples/matmul.tdsl"
        a, b = (np.random.default_rng(seed).integers(-3, 4, (n, n)).astype(float) for seed in (1, 2))
        np.save(self.work / "ia-A.npy", a)
        np.save(self.work / "ia-B.npy", b)
        sizes, output = [word for name in "nmk" for word in ("--set", f"{name}={n}")], ["--", "--C", self.work / "ia-C.npy"]
        texts = {"written": BROADCAST,
                 "algebra": self.shown(product, "-n", "4", *sizes, "--place", "A=i0:2,i1:2", "--stage=algebra", *output),
                 "rules": self.shown(product, "-n", "4", *sizes, "--place", "A=i1:4", "--place", "B=i0:4", "--stage=rules", *output)}
        for name, text in texts.items():
            plan = self.work / f"{name}.ia"
            plan.write_text(text)
            arrive = sum(map(int, ARRIVE.findall(self.shown(product, "-n", "4", *sizes, "--use-plan", plan, "--stage=algebra", *output))))
            predicted = sum(rank["bytes_received"] for rank in json.loads(self.shown(product, "-n", "4", *sizes, "--use-plan", plan, "--json", *output))["per_rank"])
            files = [word for tensor in "ABC" for word in (f"--{tensor}", f"ia-{tensor}.npy")]
            run = launch.run([self.tdslc, "run", product, "-n", 4, "--", *files, "--use-plan", plan, "--stats", "ia.json", "--quiet"], self.options.limit,
                             cwd=self.work, env={"TDSL_OVERSUBSCRIBED": "1"})
            if run.code != 0:
                raise Failed(f"{name}: {run}")
            received = sum(rank["bytes_received"] for rank in json.loads((self.work / "ia.json").read_text())["per_rank"])
            printed = sum(map(int, ARRIVE.findall(text))) if name != "written" else 3 * n * n
            if not 8 * printed == 8 * arrive == received == predicted:
                raise Failed(f"{name}: {printed} elements, {arrive} as a plan, {predicted} bytes predicted, {received} received")
            if not np.array_equal(np.load(self.work / "ia-C.npy"), a @ b):
                raise Failed(f"{name}: another product")

    # Relations that are no plan of the program, or none that it can execute.
    def test_relations_that_are_no_plan(self):
        product = ROOT / "samples/matmul.tdsl"
        wrong = {"kernel": ("by matmul", "by matmul_nt", "line 5: "), "input": ('"B"', '"D"', "line 3: the program has `input"),
                 "result": ('result "C"', 'result "E"', 'line 6: there is no result "C"'), "ranks": ("a:4/1", "a:2/1", "line 1: it is a plan for 2 ranks, not for 4"),
                 "sites": ("bcast %1", "shuf %1 part [1]", "line 5: joined blocks may lie on different sites"), "word": ("bcast", "brdcast", "line 4:")}
        for name, (old, new, message) in wrong.items():
            plan = self.work / f"no-{name}.ia"
            plan.write_text(BROADCAST.replace(old, new))
            result = launch.run([self.tdslc, "explain", product, "-n", "4", "--set", "n=96", "--use-plan", plan], self.options.limit)
            if result.code != 2 or f"--use-plan {plan}: {message}" not in result.err:
                raise Failed(f"{name}: {result}")
        # Rows that there are too few of, in a plan that is imposed whole.
        few = self.work / "few.ia"
        few.write_text(BROADCAST)
        result = launch.run([self.tdslc, "explain", product, "-n", "4", "--set", "n=2", "--set", "m=96", "--set", "k=96", "--use-plan", few], self.options.limit)
        if result.code != 2 or "few.ia: line " not in result.err:
            raise Failed(f"few rows: {result}")
