"""Pages made of the repository's text: the functions of stdlib/*.tdsl with their comments, and the ids of docs/errors.md with their first sentences."""
import re

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
        rows.append((heading.split("`")[1], anchor(heading), re.sub(":$", ".", first).replace("|", "\\|")))
    return "\n".join(["# Index of messages", "", "The ids of the compiler's messages. `tdslc --explain ID` prints a section of [errors.md](errors.md).", "", "| id | meaning |", "|---|---|",
                      *(f"| [{name}](errors.md#{place}) | {first} |" for name, place, first in sorted(rows))]) + "\n"
