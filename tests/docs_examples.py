#!/usr/bin/python3
"""Tests the examples of the documents. Every block of TDSL in docs/language.md and README.md is put into its frame in tests/docs/,
evaluated, compiled and run on several ranks; docs/explain.md must show the output of `explain`; every block of docs/errors.md must
give the message above it, at the line and column it states, and nothing else; every command of docs/papers.md must print what the page
shows, and its table of fusions the bytes. One PASS or FAIL line per example."""
import argparse
import itertools
import json
import os
import re
import shlex
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

sys.dont_write_bytecode = True
ROOT = Path(__file__).resolve().parent.parent
FRAMES = ROOT / "tests/docs"
sys.path.insert(0, str(ROOT / "tests/e2e"))

import launch
import points
from program import Program
from session import Failed, Session

PAGES = {"ten_minutes": "docs/ten_minutes.md", "language": "docs/language.md", "sparse": "docs/sparse.md", "README": "README.md"}
HEADER = re.compile(r"^```cpp ([^\n]+)\n(.*?)^```", re.M | re.S)
BLOCK = re.compile(r"^```tdsl *([^\n]*)\n(.*?)^```", re.M | re.S)


def report(name, problem):
    if problem:
        print(f"    {problem}")
    print(f"{'FAIL' if problem else 'PASS'} {name}", flush=True)
    return bool(problem)


# --- docs/errors.md
def error_examples():
    """(id, line, column, text, files) of every example; the text is bytes, since one is not UTF-8. A C++ block of the section becomes a file next to it."""
    page = (ROOT / "docs/errors.md").read_text()
    for section in re.split(r"^### ", page, flags=re.M)[1:]:
        identifier = re.match(r"`([^`]+)`", section)[1]
        files = dict(HEADER.findall(section))
        for place, text in BLOCK.findall(section):
            where, *flags = place.split()
            if "expanded" in flags:  # {3*x} is xxx
                text = re.sub(r"\{(\d+)\*(.)\}", lambda m: int(m[1]) * m[2], text)
            data = text.encode()
            if "escaped" in flags:  # \xE9 is that byte
                data = re.sub(rb"\\x([0-9A-F]{2})", lambda m: bytes([int(m[1], 16)]), data)
            yield identifier, *map(int, where.split(":")), data, files


def check_error(tdslc, identifier, line, column, data, files, limit):
    with tempfile.TemporaryDirectory(prefix="tdsl-docs-") as work:
        (Path(work) / "example.tdsl").write_bytes(data)
        for name, text in files.items():
            (Path(work) / name).write_text(text)
        result = launch.run([tdslc, "check", "--json", "example.tdsl"], limit, cwd=work)
    if result.err:
        return f"text on stderr: {result.err[:200]!r}"
    got = [(d["id"], d["line"], d["column"]) for d in json.loads(result.out)]
    if got != [(identifier, line, column)]:
        return f"wanted [{identifier}] at {line}:{column}, got " + ", ".join(f"[{i}] at {y}:{x}" for i, y, x in got)
    warning = all(d["severity"] == "warning" for d in json.loads(result.out))
    return None if result.code == (0 if warning else 1) else f"exit code {result.code}"


def ids_without_example(found):
    ids = re.findall(r'^TDSL_(?:DIAGNOSTIC|WARNING)\(\w+, "([^"]+)"', (ROOT / "frontend/diagnostics/diagnostics.def").read_text(), re.M)
    missing, strangers = sorted(set(ids) - found), sorted(found - set(ids))
    return (f"no example of {', '.join(missing)}" if missing else "") + (f"no such id: {', '.join(strangers)}" if strangers else "")


# --- docs/explain.md
NUMBER = re.compile(r"\b[0-9a-f]{16}\b|[+-]?\d+(?:\.\d+)?(?:e[+-]?\d+)?(?: (?:[kMGT]?B|k|M|G)\b)?")


def check_explain(tdslc, limit):
    """The page's output, except for numbers that depend on machine constants; every word of the table's head must be explained."""
    page = (ROOT / "docs/explain.md").read_text()
    command, wanted = re.search(r"^```\n\$ tdslc ([^\n]*)\n(.*?)^```", page, re.M | re.S).groups()
    with tempfile.TemporaryDirectory(prefix="tdsl-docs-") as work:
        (Path(work) / "product.tdsl").write_text(BLOCK.search(page)[2])
        result = launch.run([tdslc, *command.split()], limit, cwd=work)
    if result.code != 0 or result.err:
        return str(result)
    masked = [[" ".join(NUMBER.sub("0", line).split()) for line in text.splitlines()] for text in (wanted, result.out)]
    for told, shown in itertools.zip_longest(*masked):
        if told != shown:
            return f"the page says {told!r}, explain {shown!r}"
    head = next(line for line in result.out.splitlines() if line.lstrip().startswith("line "))
    kinds = re.findall(r'return "(\w+)";', re.search(r"name_of\(OpClass.*?^}", (ROOT / "runtime/plan/steps/steps.cpp").read_text(), re.M | re.S)[0])
    cells = {word for row in re.findall(r"^\| ([^|]*) \|", page, re.M) for word in re.findall(r"`([^`]*)`", row)}
    missing = [word for word in [*head.split(), *kinds] if word not in cells]
    return f"not explained: {', '.join(missing)}" if missing else None


# --- docs/papers.md
SHOWN = re.compile(r"`(tdslc|tdsl_unit_tests) ([^`…]+)`(?:: `([^`]+)`)?|the same with `([^`]+\.tdsl)`(?:: `([^`]+)`)?|the same, [^`|:]+: `([^`]+)`")
COMMAND = re.compile(r"`((?:tdslc|tdsl_unit_tests|(?:tools/bench/)?bench|tools/test)(?= )[^`]*)`")
# Commands of the page that this suite does not run, and why.
ELSEWHERE = {
    "bench papers": "minutes an experiment, on emulated machines",
    "bench papers --only systemml": "minutes; its programs are tests of e2e",
    "bench scaling": "minutes, on emulated machines",
    "bench scaling --only NAME": "minutes",
    "bench forced": "minutes, and it compares times",
    "bench coded": "minutes; its programs are tests of e2e",
    "bench latency": "times",
    "bench plan": "minutes; tests/unit/plan has the plans",
    "tdslc build --time-passes": "an option, without a program",
    "tdslc passes": "other rows run it, with programs",
    "tools/test --filter e2e": "it is this test run",
    "tdslc explain samples/wide_hidden_network.tdsl -n 4 --fusion P --set …": "docs/papers_fusion runs it, by the rows of its table",
}


def paper_commands():
    """(program, arguments, words) of every command with output: `tdslc explain P -n 4`: `words`. P is the program on the page; "the same with `FILE`"
    is the last command with that program, "the same, last lines: `words`" the last command itself; `..` stands for any text."""
    page = (ROOT / "docs/papers.md").read_text()
    whole = re.search(r"`P` stands for `([^`]+)`", page)[1]
    last = None
    for tool, arguments, words, other, other_words, more in SHOWN.findall(page):
        if f"{tool} {arguments}" in ELSEWHERE:
            continue
        if more:
            tool, arguments, words = *last[:2], more
        elif other:
            tool, arguments, words = last[0], re.sub(r"\S+\.tdsl", other, last[1], count=1), other_words or last[2]
        last = tool, re.sub(r"\bP\b", whole, arguments), words
        yield last


def commands_not_run():
    """Commands that are neither run nor in ELSEWHERE, and entries of ELSEWHERE that are none of the page."""
    page = (ROOT / "docs/papers.md").read_text()
    written = {command.removeprefix("tools/bench/") for command in COMMAND.findall(page)}
    run = {f"{tool} {arguments}" for tool, arguments, *_ in SHOWN.findall(page) if tool}
    return ", ".join(sorted((written - run - ELSEWHERE.keys()) | (ELSEWHERE.keys() - written)))


def check_paper_command(command, arguments, words, limit):
    if not words:
        return f"the page does not say what {arguments} shows"
    result = launch.run([command, *shlex.split(arguments)], limit, cwd=ROOT)
    shown = re.search(".*".join(re.escape(part) for part in words.split("..")), result.out)
    return None if shown and result.code == 0 else f"{command} {arguments} does not show {words!r}: {result}"


def check_fusion_table(tdslc, row, limit):
    """A row of the page's table: sizes, and MB that a rank receives for each way of fusion."""
    cells = [float(cell.replace(",", "")) for cell in re.findall(r"[\d.,]*\d", row)]
    sizes = [word for name, size in zip("nmho", cells) for word in ("--set", f"{name}={size:.0f}")]
    for fusion, wanted in zip(([], ["--fusion", "all"], ["--fusion", "no-redundancy"], ["--fusion", "none"]), cells[4:]):
        result = launch.run([tdslc, "explain", "samples/wide_hidden_network.tdsl", "-n", "4", *fusion, *sizes, "--json"], limit, cwd=ROOT)
        if result.code != 0:
            return str(result)
        received = max(float(rank["predicted"]["bytes_received"]) for rank in json.loads(result.out)["per_rank"]) / 1e6
        if abs(received - wanted) > max(0.051, 0.01 * wanted):
            return f"{sizes} {fusion}: {received:g} MB a rank, not {wanted:g}"
    return None


# --- pages with programs
def framed(frame, block):
    """The frame with the block in place of its `//@ block` line. `// without: WORD…` drops the block's lines that begin
    with such a word, for unsupported features; each `…` of the block becomes the next text of `// dots: TEXT | TEXT`."""
    text = frame.read_text()
    words = re.findall(r"^// without: (.*)$", text, re.M)
    for word in (words[0].split() if words else []):
        block = re.sub(rf"^ *{word}\b.*\n", "", block, flags=re.M)
    dots = re.findall(r"^// dots: (.*)$", text, re.M)
    for piece in (dots[0].split(" | ") if dots else []):
        block = block.replace("…", piece, 1)
    if "//@ block\n" not in text:
        raise Failed(f"{frame.name} has no line '//@ block'")
    return text.replace("//@ block\n", block)


def run_example(tdslc, name, text, chosen, limit):
    with tempfile.TemporaryDirectory(prefix="tdsl-docs-") as work:
        path = Path(work) / f"{name}.tdsl"
        path.write_text(text)
        program = Program(path)
        session = Session(program, tdslc, Path(work) / "run", limit)
        try:
            session.build()
        except Failed as failure:
            # Correct and evaluated, but compilation may not be supported yet.
            if "// pending" not in text or "[not-supported]" not in str(failure):
                raise
            chosen = []
        for variant in program.variants:
            case = session.prepare(variant)
            for number, point in enumerate(chosen):
                case.run(point, 0, f"run{number}")


def problem_of(name, block, chosen, options):
    frame = FRAMES / f"{name}.tdsl"
    if not frame.is_file():
        return f"the example has no frame tests/docs/{frame.name}"
    try:
        run_example(options.tdslc, name, framed(frame, block), chosen, options.limit)
    except Failed as failure:
        return str(failure)
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tdslc", default=os.environ.get("TDSLC", "tdslc"))
    parser.add_argument("--mode", choices=("quick", "ci", "long"), default="ci")
    parser.add_argument("--filter", default="")
    parser.add_argument("--limit", type=float, default=60)
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    ranks = {"quick": (2,), "ci": (1, 3), "long": (1, 2, 3, 7)}[options.mode]
    chosen = [points.Point(r, tile, 1, "none", False) for r in ranks for tile in (("3",) if options.mode == "quick" else (None, "3"))]
    examples = list(error_examples())
    checks = [("docs/errors", lambda: ids_without_example({e[0] for e in examples}))]
    checks += [(f"docs/errors/{example[0]}", partial(check_error, options.tdslc, *example, options.limit)) for example in examples]
    checks += [("docs/explain", lambda: check_explain(options.tdslc, options.limit)), ("docs/papers_commands", commands_not_run)]
    tools = {"tdslc": options.tdslc, "tdsl_unit_tests": Path(options.tdslc).with_name("tdsl_unit_tests")}
    checks += [(f"docs/papers_{number}", partial(check_paper_command, tools[tool], arguments, words, options.limit))
               for number, (tool, arguments, words) in enumerate(paper_commands(), 1)]
    rows = re.findall(r"^\| [\d,]+, [\d,]+, [\d,]+, [\d,]+ \|.*", (ROOT / "docs/papers.md").read_text(), re.M)
    checks += [(f"docs/papers_fusion_{number}", partial(check_fusion_table, options.tdslc, row, options.limit)) for number, row in enumerate(rows, 1)]
    checks += [(f"docs/{page}_{number}", partial(problem_of, f"{page}_{number}", block, chosen, options))
               for page, path in PAGES.items() for number, (_, block) in enumerate(BLOCK.findall((ROOT / path).read_text()), 1)]
    checks = [(name, check) for name, check in checks if options.filter in name]
    failed = 0
    with ThreadPoolExecutor(options.jobs) as pool:
        for (name, _), problem in zip(checks, pool.map(lambda entry: entry[1](), checks)):
            failed += report(name, problem)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
