"""Generates and checks docs/conformance.md: the sentences of docs/language.md with the cases that test them."""
import re
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "conformance.md"
SENTENCES = Path(__file__).resolve().parent / "sentences.txt"
TITLE = re.compile(r"(?m)^## (\d+)\. (.*)$")

INTRODUCTION = """# Conformance

Every sentence of sections 1 to 11 of [the language page](language.md) with the programs that show it. They stand in
[tests/conformance](../tests/conformance/README.md), each under a heading `//# NAME`; `tests/conformance/run.py --show NAME` prints one, and
`tests/conformance/run.py` runs all: by `tdslc eval` against NumPy, and compiled on several numbers of ranks and tile sizes against `tdslc eval`.
This page is written by `tests/conformance/run.py --write-page`.

A dagger (†) marks programs which the compiler still refuses with the error `not-supported`, a double dagger (‡) those that show a known fault.

{summary}
"""


def sentences():
    """(id, text) in order."""
    return [tuple(line.split("\t", 1)) for line in SENTENCES.read_text().splitlines() if line]


def order(identifier):
    return tuple(int(part) for part in identifier.split("."))


def text_of(cases):
    shown = defaultdict(list)
    for case in cases:
        for identifier in case.sentences:
            shown[identifier].append(case)
    titles = dict(TITLE.findall((ROOT / "docs" / "language.md").read_text()))
    known = sentences()
    open_ones = {c.name for c in cases if c.unsupported}
    summary = (f"{len(known)} sentences, {len(cases)} programs, of which {len(open_ones)} are not supported yet and "
               f"{sum(c.fault is not None for c in cases)} show a known fault.")
    lines, section = [INTRODUCTION.format(summary=summary)], None
    for identifier, text in known:
        if identifier.split(".")[0] != section:
            section = identifier.split(".")[0]
            lines += [f"## {section}. {titles[section]}", "", "| sentence | | shown by |", "|---|---|---|"]
        last = identifier == known[-1][0] or known[known.index((identifier, text)) + 1][0].split(".")[0] != section
        lines.append(f"| {identifier} | {cell(text)} | {', '.join(mention(c) for c in shown[identifier])} |" + ("\n" if last else ""))
    return "\n".join(lines).rstrip() + "\n"


def cell(text):
    """A sentence as a table cell."""
    text = re.sub(r"^(?:- |\| )|\s*\|$", "", " ".join(text.split())).replace("|", "\\|")
    return f"`{text.replace('`', chr(39))}`" if looks_like_code(text) else text


def looks_like_code(text):
    return re.search(r"\s//\s|^(?:let|fn|for|if|while|extern|kernel|storage|monoid|return|print|C\[|[{}])\b|^\}", text) is not None


def mention(case):
    mark = "‡" if case.fault is not None else "†" if case.unsupported else ""
    return f"{case.name}{mark}"


def write(cases):
    PAGE.write_text(text_of(cases))


# --- checks
def plain(text):
    return re.sub(r"\s+|^- |```tdsl|```", "", text, flags=re.M)


def uncovered():
    """Text of the language page that no sentence quotes, and sentences missing from it."""
    whole = (ROOT / "docs" / "language.md").read_text()
    starts = [(m[1], m.end()) for m in TITLE.finditer(whole)] + [("", len(whole))]
    messages = []
    for (section, begin), (_, end) in zip(starts, starts[1:]):
        if int(section) > 11:
            break
        rest = plain(whole[begin:whole.rfind("\n## ", begin, end) if "\n## " in whole[begin:end] else end])
        for identifier, text in sentences():
            if identifier.split(".")[0] != section:
                continue
            quote = plain(text)
            if quote not in rest:
                messages.append(f"sentence {identifier} is not in docs/language.md: {text[:60]}")
            rest = rest.replace(quote, "\n", 1)
        rest = [r for r in re.split(r"\n", rest) if r.strip("|-") and r != "|form|meaning||---|---|"]
        messages += [f"no sentence of section {section} quotes {r[:60]!r}" for r in rest]
    return messages


def check(cases):
    """Prints PASS and FAIL lines; returns the failures."""
    known = {identifier for identifier, _ in sentences()}
    shown = {s for c in cases for s in c.sentences}
    names = [c.name for c in cases]
    twice = sorted({n for n in names if names.count(n) > 1})
    checks = {
        "quotes": uncovered(),
        "sentences": [f"sentence {s} has no case" for s in sorted(known - shown, key=order)]
                     + [f"there is no sentence {s}" for s in sorted(shown - known)] + [f"two cases {n}" for n in twice],
        "page": [] if PAGE.is_file() and PAGE.read_text() == text_of(cases) else
                ["docs/conformance.md is old: run tests/conformance/run.py --write-page"],
    }
    failures = []
    for name, messages in checks.items():
        print(f"{'FAIL' if messages else 'PASS'} conformance/{name}" + "".join(f"\n      {m}" for m in messages[:10]))
        failures += messages
    return failures
