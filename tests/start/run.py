#!/usr/bin/python3
"""A user's first minutes: the transcript of README.md, `tdslc new`, `tdslc --explain`, `explain -n A..B`, `doctor`; manual pages and completions agree
with the command line. One PASS or FAIL line per test."""
import argparse
import json
import os
import pty
import re
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.dont_write_bytecode = True
HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(ROOT / "tests/e2e"), str(ROOT / "tools/manual")]

import launch
import turns

TEMPLATES = ("heat", "matmul", "regression", "graph", "sparse", "tensor")
NUMBER = re.compile(r"[+-]?\d+(?:\.\d+)?(?:e[+-]?\d+)?(?: (?:[kMGT]?B|GiB|%))?")
NAMES = re.compile(r"(?<![\w-])(--?[A-Za-z][\w-]*)")


class Failed(Exception):
    pass


def require(condition, text):
    if not condition:
        raise Failed(text)


def option_names(help_text):
    """Names in the left column of a help text."""
    heads = re.findall(r"^  (-\S.*?)(?:  |$)", help_text, re.M)
    return {name for head in heads for name in NAMES.findall(head.split(" TEXT")[0])}


def read_until(terminal, text, seconds=20):
    """Whether the terminal shows the text within this time."""
    shown, end = "", time.monotonic() + seconds
    while text not in shown and time.monotonic() < end:
        if select.select([terminal], [], [], 0.1)[0]:
            shown += os.read(terminal, 65536).decode(errors="replace")
    return text in shown


class Tests:
    """The tests `test_NAME`, in source order."""

    def __init__(self, options, work):
        self.options, self.work, self.tdslc = options, Path(work), Path(options.tdslc).resolve()
        self.made = None

    def run(self, *command, code=0, **more):
        result = launch.run([str(word) for word in command], self.options.limit, **more)
        require(result.code == code, f"{' '.join(map(str, command))}: {result}")
        return result

    def tool(self, *arguments, code=0, **more):
        return self.run(self.tdslc, *arguments, code=code, **more)

    def tree(self):
        return json.loads(self.tool("--options-json").out)

    def share(self):
        if self.made is None:
            self.made = self.work / "share"
            self.run(sys.executable, ROOT / "tools/manual/manual", "--tdslc", self.tdslc, "-o", self.made)
        return self.made

    # --- messages
    def test_explain_ids(self):
        ids = re.findall(r'^TDSL_(?:DIAGNOSTIC|WARNING)\(\w+, "([^"]+)"', (ROOT / "frontend/diagnostics/diagnostics.def").read_text(), re.M)
        # Messages of runs, of the evaluator and of tdslc, and the importer's errors.
        for folder, pattern in (("runtime", "*.cpp"), ("ir/eval", "*.cpp"), ("tools/tdslc", "*.cpp")):
            for path in (ROOT / folder).rglob(pattern):
                ids += re.findall(r'\[([a-z][a-z-]+)\]"', path.read_text())
        ids += re.findall(r"`(import-[a-z]+)`", (ROOT / "docs/import.md").read_text())
        page = (ROOT / "docs/errors.md").read_text()
        for name in sorted(set(ids)):
            told = self.tool("--explain", name).out
            require(told.startswith(f"[{name}]\n\n") and len(told.split()) > 4, f"{name}: {told!r}")
            if section := re.search(rf"^### `{name}`\n\n(.*?)(?=^##|\Z)", page, re.M | re.S):
                parts = re.split(r"^```.*\n", section[1], flags=re.M)  # prose, example, prose, …
                parts[::2] = [re.sub(r"(`[^`]*`)|\[([^\[\]]*)\]\([^)]*\)", lambda m: m[1] or m[2], prose) for prose in parts[::2]]
                words = re.findall(r"[A-Za-z]+", " ".join(parts))
                require(words == re.findall(r"[A-Za-z]+", told[len(name) + 4:]), f"{name}: not what the page says: {told!r}")

    def test_explain_unknown_id(self):
        told = self.tool("--explain", "sequentail-loop", code=2)
        require("`sequential-loop`" in told.err and not told.out, str(told))
        self.tool("--explain", "[sequential-loop]")
        require("required" in self.tool("--explain", code=2).err, "--explain without an id")

    # --- one option tree
    def test_option_tree_is_help(self):
        tree = self.tree()
        for command in tree["commands"]:
            shown = option_names(self.tool(command["name"], "--help").out)
            if command["name"] == "import":
                import tree as option_tree
                command["options"] = option_tree.importer_options()[0]
            names = {name for option in command["options"] for name in option["names"]}
            require(shown == names, f"{command['name']}: help and tree differ by {shown ^ names}")
        shown = option_names(self.tool("--help").out)
        require(shown == {n for o in tree["options"] for n in o["names"]}, f"tdslc: {shown}")
        program = self.work / "one.tdsl"
        program.write_text("print(1);\n")
        text = self.tool("run", program, "--", "--help").out
        shown = option_names(text[text.index("Built-in options"):text.index("Examples:")]) | {"-h"}
        require(shown == {n for o in tree["program"] for n in o["names"]}, f"executables: {shown}")

    def test_manual_pages(self):
        tree, pages = self.tree(), {path.name: path for path in (self.share() / "man").rglob("*.[17]")}
        wanted = {"tdslc.1", "tdsl-program.1", "tdsl.7", *(f"tdslc-{c['name']}.1" for c in tree["commands"])}
        require(pages.keys() == wanted, f"pages {pages.keys() ^ wanted}")
        for command, page in [(tree, "tdslc.1"), ({"options": tree["program"]}, "tdsl-program.1"), *((c, f"tdslc-{c['name']}.1") for c in tree["commands"])]:
            text = pages[page].read_text().replace("\\-", "-")
            missing = [n for o in command["options"] for n in o["names"] if f"\\fB{n}\\fR" not in text]
            require(not missing, f"{page} lacks {missing}")
        for page in pages.values():
            if shutil.which("mandoc"):
                told = launch.run(["mandoc", "-Tlint", "-W", "warning", page], 60)
            elif shutil.which("man"):
                told = launch.run(["man", "--warnings", "-E", "UTF-8", "-l", "-Tutf8", page], 60, env={"LC_ALL": "C.UTF-8", "MANROFFSEQ": ""})
                require(len(told.out.split()) > 40, f"{page.name} is short: {told.out}")
                told = told._replace(out="")
            else:
                continue
            require(not told.err.strip() and not told.out.strip(), f"{page.name}: {told.out[:300]}{told.err[:300]}")

    def test_commands_page(self):
        shown = self.run(sys.executable, ROOT / "tools/manual/manual", "--tdslc", self.tdslc, "--tables").out
        require(shown == (ROOT / "docs/commands.md").read_text(), "docs/commands.md is stale: tools/manual/manual --tables > docs/commands.md")

    def complete(self, shell, line):
        """The words that the shell offers at the end of the line."""
        share, folder = self.share(), self.work / "complete"
        folder.mkdir(exist_ok=True)
        (folder / "heat.tdsl").write_text("param rate: f64 = 0.2;\ninput start: f64[n];\noutput s = sum(start);\n")
        (folder / "other.txt").write_text("")
        (folder / "sub").mkdir(exist_ok=True)
        if shell == "fish":
            told = launch.run(["fish", "--no-config", "-c", f"source {share}/fish/vendor_completions.d/tdslc.fish; complete -C '{line}'"], 60, cwd=folder)
            return {word.split("\t")[0] for word in told.out.splitlines()}
        words = " ".join(f"'{word}'" for word in re.findall(r"=|[^\s=]+", line)) + (" ''" if line.endswith(" ") else "")
        script = f"source {share}/bash-completion/completions/tdslc; COMP_WORDS=({words}); COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1)); _tdslc; printf '%s\\n' \"${{COMPREPLY[@]}}\""
        told = launch.run(["bash", "--norc", "-c", script], 60, cwd=folder)
        require(told.code == 0 and not told.err, f"bash: {told}")
        return set(told.out.split())

    def complete_in_zsh(self, line, wanted):
        """Whether zsh, in a terminal, completes the line to one that contains the text."""
        child, terminal = pty.fork()
        if child == 0:
            os.chdir(self.work)
            os.environ.update(TERM="dumb", PS1="% ")
            os.execvp("zsh", ["zsh", "-f", "-i"])
        setup = f"fpath=({self.share()}/zsh/site-functions $fpath); autoload -Uz compinit; compinit -u -d {self.work}/zcompdump; print rea''dy\n"
        try:
            os.write(terminal, setup.encode())
            read_until(terminal, "ready")
            os.write(terminal, f"{line}\t".encode())
            return read_until(terminal, wanted)
        finally:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            os.close(terminal)

    def test_completions(self):
        tree = self.tree()
        for shell in ("bash", "fish"):
            if not shutil.which(shell):
                continue
            offered = self.complete(shell, "tdslc ")
            require({c["name"] for c in tree["commands"]} <= offered, f"{shell}: commands {offered}")
            for command in tree["commands"]:
                if command["name"] != "import":
                    long_names = {n for o in command["options"] for n in o["names"] if n.startswith("--")}
                    offered = self.complete(shell, f"tdslc {command['name']} --")
                    require({word for word in offered if word.startswith("--")} == long_names, f"{shell}: {command['name']} offers {offered ^ long_names}")
            for line, wanted, others in (("tdslc run ", {"heat.tdsl"}, {"other.txt"}), ("tdslc run --fusion ", {"cost", "all", "none"}, set()),
                                         ("tdslc run --disable-pass fus", {"fusion"}, set()), ("tdslc run heat.tdsl -- --", {"--rate", "--start", "--s", "--tile"}, {"--fusion"}),
                                         ("tdslc new ripple --from ", set(TEMPLATES), set()), ("tdslc emit heat.tdsl --project ", set(), {"heat.tdsl"})):
                offered = {word.rstrip("/") for word in self.complete(shell, line)}
                # fish offers files with other extensions, too, after the right ones.
                require(wanted <= offered and (shell == "fish" or not others & offered), f"{shell}: `{line}` offers {sorted(offered)}")
        require("all" in self.complete("bash", "tdslc run --fusion="), "bash: --fusion=")
        if shutil.which("zsh"):
            for line, wanted in (("tdslc expl", "tdslc explain "), ("tdslc new ripple --from mat", "--from matmul "), ("tdslc run --nat", "--native ")):
                require(self.complete_in_zsh(line, wanted), f"zsh: `{line}` does not become {wanted!r}")
        for shell, name in (("bash", "bash-completion/completions/tdslc"), ("zsh", "zsh/site-functions/_tdslc")):
            if shutil.which(shell):
                self.run(shell, "-n", self.share() / name)

    # --- sizes without a machine
    def is_of_turn(self, name):
        """One of the two slow tests runs in CI."""
        return self.options.mode != "ci" or name in turns.part(["ranges", "nodes"], 2)

    def test_ranges(self):
        if not self.is_of_turn("ranges"):
            return
        heat = ROOT / "samples/heat.tdsl"
        sizes = ("--set", "n=20000", "--set", "m=20000", "--set", "steps=3")
        memory = ("--memory", "700MiB")
        shown = json.loads(self.tool("explain", heat, "-n", "2..64", *sizes, *memory, "--json").out)
        require([row["ranks"] for row in shown["rows"]] == [2, 4, 8, 16, 32, 64], str(shown))
        for row in shown["rows"]:
            alone = json.loads(self.tool("explain", heat, "-n", row["ranks"], "--per-node", 1, *sizes, *memory, "--json", "--", "--spill", "none").out)
            require(alone["memory"]["fits"] == row["fits"], f"{row} {alone['memory']}")
            if row["fits"]:
                received = sum(s["predicted"]["bytes_received_max"] for s in alone["statements"])
                require(received == row["predicted"]["bytes_received_max"], f"{row}: {received}")
            else:
                require(alone["memory"]["needed_bytes"] == row["needed_bytes"], f"{row} {alone['memory']}")
        enough = shown["fits_from_ranks"]
        require(shown["rows"][0]["fits"] is False and 2 < enough < 64, str(enough))
        for ranks, fits in ((enough, True), (enough - 1, False)):
            alone = json.loads(self.tool("explain", heat, "-n", ranks, "--per-node", 1, *sizes, *memory, "--json", "--", "--spill", "none").out)
            require(alone["memory"]["fits"] == fits, f"{ranks} ranks: {alone['memory']}")
        first = self.tool("explain", heat, "-n", "2..64", *sizes, *memory).out.splitlines()[0]
        require(first == f"fits from {enough} ranks with --memory 700MiB each", first)

    def test_ranges_of_nodes(self):
        if not self.is_of_turn("nodes"):
            return
        matmul, none = ROOT / "samples/matmul.tdsl", {"TDSL_SITE": "", "XDG_CONFIG_HOME": str(self.work / "none")}
        # Few panels of the reduction: plans for too little memory try single ones.
        sizes = ["--set", "n=150000", "--set", "m=1000", "--set", "k=150000"]
        lines = self.tool("explain", matmul, "-n", "1..32", *sizes, env=none).out.splitlines()
        found = re.fullmatch(r"fits from (\d+) nodes of 64 GiB", lines[0])
        require(found and 1 < int(found[1]) < 32, lines[0])
        require([line.split()[0] for line in lines[2:8]] == ["1", "2", "4", "8", "16", "32"], str(lines))
        # Two ranks share a node: rows are whole nodes, and as many nodes are needed, or nearly.
        shown = json.loads(self.tool("explain", matmul, "-n", "2..32", "--per-node", 2, *sizes, "--json", env=none).out)
        require([row["nodes"] for row in shown["rows"]] == [1, 2, 4, 8, 16], str(shown))
        require(shown["node_bytes"] == 64 << 30 and shown["fits_from_ranks"] % 2 == 0, str(shown))
        small = [word for name in "nmk" for word in ("--set", f"{name}=1000")]
        require(self.tool("explain", matmul, "-n", "2..4", *small, env=none).out.startswith("fits from 2 nodes of 64 GiB, the first of the range\n"), "all fit")
        large = ["--set", "n=1000000", "--set", "m=1000", "--set", "k=1000000"]
        require(self.tool("explain", matmul, "-n", "1..2", *large, env=none).out.startswith("does not fit on 2 nodes of 64 GiB: line "), "none fits")

    def test_ranges_refused(self):
        matmul = ROOT / "samples/matmul.tdsl"
        for words, message in ((("-n", "8..4"), "neither a number"), (("-n", "0..4"), "neither a number"), (("-n", "x"), "neither a number"), (("-n", "4.."), "neither a number"),
                               (("-n", "2..4", "--why", "C"), "--why: one number of ranks"), (("-n", "2..4", "--save-plan", "p"), "--save-plan: one number of ranks"),
                               (("-n", "3..6", "--per-node", "2"), "3 ranks do not fill nodes of 2")):
            told = self.tool("explain", matmul, "--set", "n=10", *words, code=2)
            require(message in told.err, f"{words}: {told}")

    # --- folders
    def test_new(self):
        chosen = {"quick": TEMPLATES[:1], "ci": turns.part(list(TEMPLATES), 3), "long": TEMPLATES}[self.options.mode]
        planned = [] if self.options.mode == "long" else ["PLANNED_RANKS=4..8"]  # test_ranges compares ranges
        for template in TEMPLATES:
            folder = self.work / f"my-{template}"
            self.tool("new", folder, "--from", template)
            files = {str(p.relative_to(folder)) for p in folder.rglob("*") if p.is_file()}
            wanted = {f"my-{template}.tdsl", "make_inputs.tdsl", "Makefile", "CMakeLists.txt", "README.md", ".vscode/tasks.json", ".vscode/settings.json"}
            require(files == wanted, f"{template}: {files ^ wanted}")
            left = [name for name in files if re.search(r"@[A-Z]+@", (folder / name).read_text())]
            require(not left, f"{template}: placeholders in {left}")
            for name in (".vscode/tasks.json", ".vscode/settings.json"):
                json.loads((folder / name).read_text())
            self.tool("check", folder / f"my-{template}.tdsl")
            self.tool("fmt", "--check", folder / f"my-{template}.tdsl", folder / "make_inputs.tdsl")
            if template in chosen:
                self.run("make", "-s", "-C", folder, f"TDSLC={self.tdslc}", *planned, "test", "plan")
        told = self.tool("new", self.work / "my-heat", code=2)
        require("exists already" in told.err, str(told))
        require("cannot name a program" in self.tool("new", self.work / "2d", code=2).err, "2d")
        require("heat" in self.tool("new", self.work / "x", "--from", "snow", code=2).err, "snow")
        require(not (self.work / "2d").exists() and not (self.work / "x").exists(), "refused, but made")

    def test_new_makes_reports(self):
        if self.options.mode == "quick":
            return
        folder = self.work / "flow"
        self.tool("new", folder)
        self.run("make", "-s", "-C", folder, f"TDSLC={self.tdslc}", "report", "flow")
        require((folder / "run.html").stat().st_size > 10000 and os.access(folder / "flow", os.X_OK), "files of make report")
        self.run("make", "-s", "-C", folder, "clean")
        require(not (folder / "run.html").exists(), "make clean")

    # --- the installation
    def test_doctor(self):
        home = self.work / "home"
        home.mkdir()
        told = launch.run([self.tdslc, "doctor", "--json"], self.options.limit, env={"HOME": str(home), "XDG_CACHE_HOME": str(home / "cache"), "TDSL_PYTHON": "/nowhere/python3"})
        parts = {part["what"]: part for part in json.loads(told.out)["installation"]}
        require({"toolchain", "C++ compiler", "MPI launcher", "headers", "header", "fast linker", "Python", "editor", "build cache"} <= parts.keys(), str(parts))
        require(told.code == 0 and all(part["good"] for part in parts.values() if part["needed"]), str(parts))
        require(parts["Python"] == {"what": "Python", "good": False, "needed": False, "detail": "/nowhere/python3 or its NumPy is missing: no `tdslc import`",
                                    "repair": "apt-get install python3 python3-numpy"}, str(parts["Python"]))

    # --- the front page
    def transcript(self):
        """[(command, lines of its output)] of README.md."""
        block = re.search(r"^```console\n(.*?)^```", (ROOT / "README.md").read_text(), re.M | re.S)[1]
        return commands_of(block)

    def test_panes(self):
        readme, sample = (ROOT / "README.md").read_text(), ROOT / "samples/quickstart"
        python = re.search(r"^```python\n(.*?)^```", readme, re.M | re.S)[1]
        require(python in (sample / "heat.py").read_text(), "the Python of README.md is not that of heat.py")
        tdsl = re.search(r"^```tdsl\n(.*?)^```", readme, re.M | re.S)[1]
        program = re.sub(r"^ *(//.*)?\n", "", (sample / "heat.tdsl").read_text(), flags=re.M)
        require(tdsl.split() == program.split(), "the TDSL of README.md is not that of heat.tdsl, without its comments")

    def test_transcript(self):
        folder = self.work / "quickstart"
        told = self.run(ROOT / "tools/transcript", self.tdslc, folder, env={"TDSL_SITE": "", "XDG_CONFIG_HOME": str(self.work / "none")})
        shown = commands_of(told.out)
        for (command, wanted), (ran, lines) in zip(self.transcript(), shown):
            require(command == ran, f"README.md has `{command}`, `{ran}` ran")
            got = [NUMBER.sub("0", " ".join(line.split())) for line in lines]
            for line in wanted:
                require(NUMBER.sub("0", " ".join(line.split())) in got, f"`{command}` does not print {line!r}, but {lines}")
        require(len(shown) == len(self.transcript()), "commands are missing")
        require((folder / "run.html").stat().st_size > 10000, "no report")
        without_version = lambda path: re.sub(r"by tdslc import .*", "", path.read_text())
        require(without_version(folder / "heat.tdsl") == without_version(ROOT / "samples/quickstart/heat.tdsl"), "samples/quickstart/heat.tdsl is not what the importer writes")


def commands_of(text):
    found = []
    for line in text.splitlines():
        if line.startswith("$ "):
            found.append((line[2:], []))
        elif line.strip() and found:
            found[-1][1].append(line)
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tdslc", default=os.environ.get("TDSLC", "tdslc"))
    parser.add_argument("--mode", choices=("quick", "ci", "long"), default="ci")
    parser.add_argument("--filter", default="")
    parser.add_argument("--limit", type=float, default=240)
    options = parser.parse_args()
    os.environ.setdefault("TDSL_PYTHON", sys.executable)
    failed = 0
    with tempfile.TemporaryDirectory(prefix="tdsl-start-") as work:
        tests = Tests(options, work)
        for name in [n for n in vars(Tests) if n.startswith("test_")]:
            shown = "start/" + name.removeprefix("test_")
            if options.filter not in shown:
                continue
            try:
                getattr(tests, name)()
                print(f"PASS {shown}", flush=True)
            except (Failed, subprocess.CalledProcessError, OSError, KeyError, ValueError) as problem:
                print(f"    {problem}\nFAIL {shown}", flush=True)
                failed += 1
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
