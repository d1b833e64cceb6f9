"""The gallery: samples by community, each with a picture of its result, the program of a peer and a measurement. Pictures are drawn when the
site is made: `tdslc eval` computes inputs, results and views of them at a small size, `tdslc plot` draws them."""
import json
import re
import subprocess
import tempfile
from pathlib import Path
from typing import NamedTuple, Optional

LIMIT = 120  # seconds of a command


class Entry(NamedTuple):
    community: str
    sample: str
    need: str
    inputs: str  # a program, whose outputs are the inputs of the sample; empty: it has none
    options: str  # of the sample
    picture: str  # the output that is drawn
    caption: str
    view: str = ""  # a program from outputs and inputs of the sample to the picture, where no output is one
    peer: Optional[tuple] = None  # (title, file, functions); else the sample's twin in NumPy
    measured: Optional[tuple] = None  # (file of tools/bench/results, words at the beginning of the row)


GALLERY = (
    Entry("Seismic", "acoustic_wave", "A pressure wave in a closed box, on a staggered grid: dimensions of n and n + 1 points in one statement.",
          "output start[i, j] = exp(-(f64(i - 45) ** 2 + f64(j - 40) ** 2) / 16.0) for i in 0..100, j in 0..140;\n",
          "--steps 95 --p p.npy", "p", "Pressure after 95 steps of a pulse; reflections at two walls."),
    Entry("Eigenproblems", "power_iteration", "The largest eigenvalue of a symmetric matrix and its vector; the number of iterations depends on the data.",
          "output A[i, j] = exp(-(f64(i - j) / 40.0) ** 2) * (1.0 + 0.5 * sin(f64(i + j) / 27.0)) for i in 0..200, j in 0..200;\n",
          "--tolerance 1e-6 --v v.npy", "v", "The eigenvector of the covariance of 200 points of a line."),
    Entry("Graphs", "sparse_pagerank", "The rank of pages by their links: a sparse matrix, whose absent elements win as numerators.",
          "let chance = random(200, 200);\noutput A[i, j] = f64(i64(chance[i, j] * f64(j + 4) < 1.5)) for i in 0..200, j in 0..200;\n",
          "--levels 1 --r r.npy", "r", "Ranks of 200 pages, of which early ones have more links.",
          peer=("SuiteSparse:GraphBLAS, a step", "tools/bench/peers/sparse_programs_graphblas.c", ("page_rank_step",)), measured=("40_sparse_programs", "PageRank")),
    Entry("Recommenders", "sparse_factorisation", "A sparse matrix of ratings as a product of two thin ones: differences at stored elements only.",
          "let chance = random(120, 160);\noutput R[i, j] = if chance[i, j] < 0.3 then 3.0 + 2.0 * sin(f64(i) / 15.0) * cos(f64(j) / 20.0) else 0.0 for i in 0..120, j in 0..160;\n"
          "output P0 = random(120, 4);\noutput Q0 = random(4, 160);\n",
          "--steps 60 --rate 0.002 --P P.npy --Q Q.npy", "known", "Above: the known ratings, a third of all. Below: the product of the factors, all ratings.",
          view="input R: f64[n, m];\ninput P: f64[n, d];\ninput Q: f64[d, m];\noutput known = concat(R, P @ Q, axis=0);\n",
          peer=("SciPy", "tools/bench/peers/sparse_papers_scipy.py", ("sampled", "rest", "factorisation")), measured=("41_sparse_papers", "`sparse_factorisation`")),
    Entry("Statistics", "kmeans", "Clusters by Lloyd's algorithm: nearest centres by `argmin`, a loop that ends when no point moves.",
          "let a = randn(3000, 2);\nlet angle = 6.283 * f64(iota(3000) % 5) / 5.0;\n"
          "output X[i, j] = 0.22 * a[i, j] + (if j == 0 then cos(angle[i]) else sin(angle[i])) for i in 0..3000, j in 0..2;\noutput start = X[0:5, :];\n",
          "--steps 20 --nearest nearest.npy", "clusters", "The cluster of each of 3000 points of the plane.",
          view="input X: f64[n, d];\ninput nearest: i64[n];\nlet row[i] = clip(i64(50.0 * (X[i, 0] + 1.8)), 0, 179);\nlet column[i] = clip(i64(50.0 * (X[i, 1] + 1.8)), 0, 179);\n"
               "let last[row[i], column[i]]: i64[180, 180] max= nearest[i] + 1;\noutput clusters = max(last, 0);\n",
          peer=("NumPy, PyTorch or Dask", "tools/bench/peers/fusion_workloads.py", ("kmeans",)), measured=("42_fused_papers", "`kmeans`")),
    Entry("Fluids", "periodic_heat", "Diffusion on a torus, with snapshots and an energy as series.",
          "output start = randn(90, 130);\n", "--steps 40 --interval 10 --U U.npy", "U", "Noise after 40 steps."),
    Entry("Quantum computing", "quantum_circuit", "A circuit on all amplitudes of a register of qubits: gates in index notation, phases from bit operators.",
          "", "--qubits 9 --steps 80 --z z.npy", "z", "The mean spin of 9 qubits (columns) after each of 80 steps (rows), one qubit flipped at the start."),
    Entry("Tensors", "cp_decomposition", "A tensor of rank 3 as a sum of outer products: alternating least squares.",
          "let noise = randn(60, 80, 10);\n"
          "output X[i, j, k] = exp(-(f64(i - 15) / 6.0) ** 2 - (f64(j - 20) / 9.0) ** 2) * f64(k) + exp(-(f64(i - 42) / 8.0) ** 2 - (f64(j - 55) / 7.0) ** 2) * f64(10 - k) + 0.5 * noise[i, j, k]\n"
          "    for i in 0..60, j in 0..80, k in 0..10;\noutput A0 = random(60, 2);\noutput B0 = random(80, 2);\noutput C0 = random(10, 2);\n",
          "--steps 15 --A A.npy --B B.npy --C C.npy", "slice", "A slice of a noisy tensor, left, and of two outer products, right.",
          view="input X: f64[n, m, l];\ninput A: f64[n, r];\ninput B: f64[m, r];\ninput C: f64[l, r];\n"
               "let fit[i, j] = sum[q](A[i, q] * B[j, q] * C[4, q]);\noutput slice = concat(X[:, :, 4], fit, axis=1);\n",
          measured=("20_papers", "MTTKRP")),
)


def program(sample):
    """A sample without the comments at its top."""
    return re.sub(r"\A(?://.*\n)+", "", sample).strip()


def function(text, name, language):
    """A function of a peer's program, with the comment above it."""
    if language == "python":
        return re.search(rf"^def {name}\(.*?\n(?=^\S|\Z)", text, re.M | re.S)[0].strip()
    return re.search(rf"^(?://[^\n]*\n)*[\w ]+\b{name}\([^\n]*\n.*?^}}", text, re.M | re.S)[0]


def peer(root, entry):
    """(title, language, text) of the program beside a sample."""
    if not entry.peer:
        twin = (root / f"tests/e2e/twins/{entry.sample}.py").read_text()
        return "NumPy", "python", re.sub(r'\A""".*?"""\n', "", twin, flags=re.S).strip()
    title, file, names = entry.peer
    language = "python" if file.endswith(".py") else "c"
    text = (root / file).read_text()
    return title, language, "\n\n\n".join(function(text, name, language) for name in names)


def measurement(root, entry):
    """The row of docs/benchmarks.md as a sentence."""
    file, row = entry.measured
    section = json.loads((root / f"tools/bench/results/{file}.json").read_text())
    for table in section["tables"]:
        for cells in table["rows"]:
            if cells[0].startswith(row):
                values = [f"{name} {value}" for name, value in zip(table["columns"][1:], cells[1:]) if value not in ("", "-") and name != "target"]
                anchor = re.sub(r"\s+", "-", re.sub(r"[^\w\s-]", "", section["title"]).lower())
                return f"Measured ([{section['title']}](benchmarks.md#{anchor}), {section['date']}), {cells[0]}: {'; '.join(values)}."
    raise SystemExit(f"site: {file}.json has no row {row}")


def page(root, drawn):
    """The page; `drawn` are the samples with a picture in gallery/."""
    lines = ["---", "hide: [navigation, toc]", "---", "", "# Gallery", "", "Programs of [samples](../samples/README.md) by community, with a result at a small size and the program of a peer. A program of TDSL runs on any number of ranks."]
    for entry in GALLERY:
        title, language, text = peer(root, entry)
        sample = (root / f"samples/{entry.sample}.tdsl").read_text()
        lines += ["", f"## {entry.community}", "", entry.need, ""]
        if entry.sample in drawn:
            lines += [f'![{entry.caption}](gallery/{entry.sample}.svg){{.picture}}', "", entry.caption, ""]
        lines += ['<div class="pair" markdown="1">', "", f'```tdsl title="samples/{entry.sample}.tdsl"', program(sample), "```", "", f'```{language} title="{title}"', text, "```", "", "</div>", ""]
        if entry.measured:
            lines += [measurement(root, entry)]
    return "\n".join(lines) + "\n"


def execute(tdslc, folder, *arguments):
    done = subprocess.run([tdslc, *arguments], cwd=folder, capture_output=True, text=True, timeout=LIMIT)
    if done.returncode:
        raise SystemExit(f"site: tdslc {' '.join(map(str, arguments))}: {done.stderr or done.stdout}")


def names(kind, text):
    return re.findall(rf"^{kind} (\w+)", text, re.M)


def draw(root, entry, tdslc, picture):
    with tempfile.TemporaryDirectory(prefix="tdsl-gallery-") as work:
        folder = Path(work)
        (folder / "inputs.tdsl").write_text(entry.inputs)
        inputs = [word for name in names("output", entry.inputs) for word in (f"--{name}", f"{name}.npy")]
        if inputs:
            execute(tdslc, folder, "eval", "inputs.tdsl", "--", *inputs)
        execute(tdslc, folder, "eval", root / f"samples/{entry.sample}.tdsl", "--", *inputs, *entry.options.split())
        if entry.view:
            (folder / "view.tdsl").write_text(entry.view)
            of_view = [word for name in names("input", entry.view) for word in (f"--{name}", f"{name}.npy")]
            execute(tdslc, folder, "eval", "view.tdsl", "--", *of_view, f"--{entry.picture}", f"{entry.picture}.npy")
        execute(tdslc, folder, "plot", f"{entry.picture}.npy", "-o", picture)


def pictures(root, tdslc, folder):
    """Draws the pictures into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for entry in GALLERY:
        draw(root, entry, tdslc.absolute(), folder / f"{entry.sample}.svg")
    return {entry.sample for entry in GALLERY}
