"""Pages made of the repository's text: the functions of stdlib/*.tdsl with their comments, the ids of docs/errors.md with their first sentences, and samples
beside their twins in NumPy."""
import re

# (community, sample, need)
GALLERY = (
    ("Seismic", "acoustic_wave", "A pressure wave in a closed box, on a staggered grid: dimensions of n and n + 1 points in one statement."),
    ("Eigenproblems", "power_iteration", "The largest eigenvalue of a symmetric matrix; the number of iterations depends on the data."),
    ("Graphs", "connected_components", "The connected components of a sparse graph: labels propagate by `min` along links."),
    ("Recommenders", "sparse_factorisation", "A sparse matrix of ratings as a product of two thin ones: differences at stored elements only."),
    ("Statistics", "poisson_regression", "Counts whose log-mean is linear: iteratively reweighted least squares."),
    ("Fluids", "periodic_heat", "Diffusion on a torus, with snapshots and an energy as series."),
    ("Tensors", "cp_decomposition", "A tensor of rank 3 as a sum of outer products: alternating least squares."),
)

DECLARATION = re.compile(r"(?:fn|monoid) (\w+)")


def signature(text):
    """The text up to the body, which begins with `{` or `=` outside of brackets."""
    depth = 0
    for at, letter in enumerate(text):
        depth += (letter in "([") - (letter in ")]")
        if depth == 0 and letter in "{=":
            return text[:at].strip()
    return text


def functions(text):
    """(name, signature, comment) of every function or monoid with a comment right above it."""
    comment = []
    lines = text.splitlines(keepends=True)
    for number, line in enumerate(lines):
        if line.startswith("//"):
            comment.append(line[2:].strip())
            continue
        found = DECLARATION.match(line)
        if found and comment:
            yield found[1], signature("".join(lines[number:])), " ".join(comment)
        comment = []


def escaped(text):
    return re.sub(r"([*_\[\]<|])", r"\\\1", text)


def library(root):
    lines = ["# Library", "", "Functions of the standard library, made of the comments of [stdlib](../stdlib/README.md). `import std.NAME;` brings those of a module into a program."]
    for module in sorted((root / "stdlib").glob("*.tdsl")):
        text = module.read_text()
        purpose = re.match(r"((?://.*\n)+)", text)[1]
        purpose = " ".join(line[2:].strip() for line in purpose.splitlines()).removeprefix(f"std.{module.stem}: ")
        lines += ["", f"## std.{module.stem}", "", escaped(purpose[:1].upper() + purpose[1:])]
        for name, signature, comment in functions(text):
            lines += ["", f"### {name}", "", "```tdsl", signature, "```", "", escaped(comment)]
    return "\n".join(lines) + "\n"


def anchor(heading):
    return re.sub(r"[\s-]+", "-", re.sub(r"[^\w\s-]", "", heading).strip().lower())


def error_index(root):
    rows = []
    for section in re.split(r"^### ", (root / "docs/errors.md").read_text(), flags=re.M)[1:]:
        heading, _, body = section.partition("\n")
        prose = re.sub(r"```.*?```", "", body, flags=re.S).strip().split("\n\n")[0]
        first = re.split(r"(?<=[.:]) ", " ".join(prose.split()))[0]
        rows.append((heading.split("`")[1], anchor(heading), first.replace("|", "\\|")))
    return "\n".join(["# Index of messages", "", "The ids of the compiler's messages. `tdslc --explain ID` prints a section of [errors.md](errors.md).", "", "| id | meaning |", "|---|---|",
                      *(f"| [{name}](errors.md#{place}) | {first} |" for name, place, first in sorted(rows))]) + "\n"


def program(sample):
    """A sample without the comments at its top."""
    return re.sub(r"\A(?://.*\n)+", "", sample)


def twin(root, name, sample):
    """The NumPy program that tests compare a sample with: a function, or the lines `// np:` of the sample."""
    path = root / f"tests/e2e/twins/{name}.py"
    if path.is_file():
        return re.sub(r'\A""".*?"""\n', "", path.read_text(), flags=re.S).strip()
    lines = re.findall(r"^// np: (.*)$", sample, re.M)
    return "\n".join(line.replace("; ", "\n") if not line.startswith("for ") else line.replace(": ", ":\n    ", 1).replace("; ", "\n    ") for line in lines)


def gallery(root):
    lines = ["# Gallery", "", "Programs of [samples](../samples/README.md) by community, each with the NumPy program that tests compare it with. The program of TDSL runs on any number of ranks."]
    for community, name, need in GALLERY:
        sample = (root / f"samples/{name}.tdsl").read_text()
        lines += ["", f"## {community}", "", need, "", f'```tdsl title="samples/{name}.tdsl"', program(sample).strip(), "```", "", '```python title="NumPy"', twin(root, name, sample), "```"]
    return "\n".join(lines) + "\n"
