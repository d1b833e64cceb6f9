#!/usr/bin/python3
"""Runs the pages of docs/learn, docs/howto and docs/from as a reader would, each in an empty folder: blocks with a title are written as files,
`sh` blocks are executed, `python` blocks, too, and the output of each command of a `console` block is the one below it. A block with
norun="REASON" is skipped. Numbers agree within 1e-3; in plans and reports, which depend on the machine, only the words count, and a line
`…` stands for any lines; a page shows a plan in part. One PASS or FAIL line per page. --write puts the output that commands gave into the pages."""
import argparse
import os
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

sys.dont_write_bytecode = True
ROOT = Path(__file__).resolve().parent.parent
FOLDERS = ("learn", "howto", "from")
BLOCK = re.compile(r"^```(\w*) *([^\n]*)\n(.*?)^```$", re.M | re.S)
LANGUAGES = ("tdsl", "sh", "python", "console", "cpp", "c", "fortran", "matlab", "text", "make")
NUMBER = re.compile(r"[+-]?\d[\d,]*(?:\.\d+)?(?:e[+-]?\d+)?")
# Commands whose numbers, and the units that follow from them, belong to a machine.
ROW = re.compile(r" +\d+  .{20} \w+ +[\d.]+(?: [kM])? +[\d.e+]+ [kMGT]?B +([\d.e+-]+)(?: |$)")
TABLE_ROW = re.compile(r"^\| `.+?` \| `(.+?)` \|$", re.M)
MACHINE = ("tdslc explain", "tdslc submit", "tdslc report", "tdslc doctor", "tdslc verify")


class Wrong(Exception):
    pass


def attributes(info):
    found = dict(re.findall(r'(\w+)="([^"]*)"', info))
    rest = re.sub(r'\w+="[^"]*"', "", info).strip()
    if rest or set(found) - {"title", "norun"}:
        raise Wrong(f"a block has the attributes {info!r}")
    return found


def commands(text):
    """(command, output) of a console block; a command continues behind a backslash."""
    for part in re.split(r"^\$ ", text, flags=re.M)[1:]:
        lines = part.splitlines(keepends=True)
        last = next(k for k, line in enumerate(lines) if not line.endswith("\\\n"))
        yield "".join(lines[:last + 1]).strip(), "".join(lines[last + 1:])


def execute(command, folder, limit, tool):
    environment = dict(os.environ, PATH=f"{tool.parent}:{os.environ['PATH']}", LC_ALL="C.UTF-8", OMP_NUM_THREADS="1", TDSL_MACHINE="")
    done = subprocess.run(command, cwd=folder, env=environment, timeout=limit, text=True, stdin=subprocess.DEVNULL, capture_output=True)
    if done.returncode:
        raise Wrong(f"{' '.join(command)[:200]}: exit code {done.returncode}: {done.stderr[-600:]}")
    return done.stdout


def same(told, shown, exact):
    if not exact:
        told, shown = (line[:36] if re.match(r" +(line|\d+)  ", line) else line for line in (told, shown))
        told, shown = (re.sub(r"[#: ]*\b(?:[kMGT]?i?B|bytes|k|M|G|m?s|min|h|d)\b", "", NUMBER.sub("0", line)).replace("-", "") for line in (told, shown))
        return told.split() == shown.split()
    if NUMBER.sub("0", told).split() != NUMBER.sub("0", shown).split():
        return False
    values = ([float(number.replace(",", "")) for number in NUMBER.findall(line)] for line in (told, shown))
    return all(abs(a - b) <= 1e-3 * max(abs(a), abs(b)) + 1e-12 for a, b in zip(*values))


def excerpt(command, shown):
    """The lines of a plan that a page shows: its head, the two lines that take longest, and rank 0."""
    lines = shown.splitlines()
    head = next((k for k, line in enumerate(lines) if line.startswith(" line  statement")), None)
    if not command.startswith("tdslc explain") or head is None:
        return shown
    rows = [k for k, line in enumerate(lines) if ROW.match(line)]
    longest = sorted(rows, key=lambda k: -float(ROW.match(lines[k])[1]))[:2]
    width = lines[head].index("received") + len("received")
    kept = [lines[k][:width].rstrip() for k in (head, *sorted(longest))] + [line for line in lines if line.startswith("rank 0:")]
    return "\n".join(kept) + "\n"


def compare(command, told, shown):
    """Every line of the page is one of the command's, in order; in plans and after a line `…` others may be between."""
    exact, skip = not command.startswith(MACHINE), False
    shown, at = shown.splitlines(), 0
    for line in told.splitlines():
        skip = skip or command.startswith("tdslc explain")
        if line.strip() == "…":
            skip = True
            continue
        while skip and at < len(shown) and not same(line, shown[at], exact):
            at += 1
        if at == len(shown) or not same(line, shown[at], exact):
            raise Wrong(f"`{command}`: the page says {line!r}, the command {shown[at] if at < len(shown) else 'nothing more'!r}")
        at, skip = at + 1, False
    if told and not skip and at < len(shown) and not command.startswith("tdslc explain"):
        raise Wrong(f"`{command}` prints more: {shown[at]!r}")


def run_block(language, info, text, folder, options):
    """The block's text with the output that its commands gave."""
    if language not in LANGUAGES:
        raise Wrong(f"a block of language {language!r}")
    found = attributes(info)
    if "norun" in found:
        if not found["norun"]:
            raise Wrong("norun without a reason")
        return text
    if "title" in found:
        (folder / found["title"]).write_text(text)
    elif language == "sh":
        execute(["sh", "-euc", text], folder, options.limit, options.tdslc)
    elif language == "python":
        execute(["/usr/bin/python3", "-c", text], folder, options.limit, options.tdslc)
    elif language == "console":
        written = ""
        for command, told in commands(text):
            shown = execute(["sh", "-euc", command], folder, options.limit, options.tdslc)
            if not options.write:
                compare(command, told, shown)
            written += f"$ {command}\n{excerpt(command, shown)}"
        return written
    else:
        raise Wrong(f"a block of {language} has neither title nor norun")
    return text


def check_rows(text, folder, options):
    """The right column of a page with values.tdsl: one program has all rows as outputs."""
    rows = TABLE_ROW.findall(text)
    program = (folder / "values.tdsl").read_text() + "".join(f"output r{k} = {row};\n" for k, row in enumerate(rows))
    (folder / "rows.tdsl").write_text(program)
    execute(["tdslc", "eval", "rows.tdsl"], folder, options.limit, options.tdslc)


def problem_of(page, options):
    text = page.read_text()
    with tempfile.TemporaryDirectory(prefix="tdsl-pages-") as name:
        folder = Path(name)
        (folder / "samples").symlink_to(ROOT / "samples")
        try:
            done = BLOCK.sub(lambda b: f"```{b[1]}{' ' * bool(b[2])}{b[2]}\n{run_block(b[1], b[2], b[3], folder, options)}```", text)
            if (folder / "values.tdsl").exists():
                check_rows(text, folder, options)
        except (Wrong, subprocess.TimeoutExpired) as problem:
            return str(problem)
    if options.write and done != text:
        page.write_text(done)
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tdslc", type=Path, default=Path(os.environ.get("TDSLC", "build/release/bin/tdslc")))
    parser.add_argument("--mode", choices=("quick", "ci", "long"), default="ci")
    parser.add_argument("--filter", default="")
    parser.add_argument("--limit", type=float, default=120)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    options.tdslc = options.tdslc.absolute()
    pages = {f"docs/{folder}/{page.stem}": page for folder in FOLDERS for page in sorted((ROOT / "docs" / folder).glob("*.md"))}
    pages = {name: page for name, page in pages.items() if options.filter in name}
    if options.mode == "quick" and not options.filter:  # the others run in CI
        pages = {name: page for name, page in pages.items() if "/learn/0" in name}
    turn = os.environ.get("TDSL_TEST_TURN")
    if options.mode == "ci" and turn and not options.filter:  # a quarter, the others run in other turns
        pages = dict(list(pages.items())[int(turn) % 4::4])
    failed = False
    with ThreadPoolExecutor(options.jobs) as pool:
        for name, problem in zip(pages, pool.map(lambda page: problem_of(page, options), pages.values())):
            if problem:
                print(f"    {problem}")
            print(f"{'FAIL' if problem else 'PASS'} {name}", flush=True)
            failed = failed or bool(problem)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
