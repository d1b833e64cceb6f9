#!/usr/bin/env python3
"""The documents against the repository: every diagnostic id is in docs/errors.md, every option of an executable in docs/running.md, every
folder of code has a README that docs/architecture.md links, every decision is in its list, every relative link of a page, every file it
names, every file in a README's table and every home in docs/glossary.md exist, no table has a blank line inside, docs/benchmarks.md is what
tools/bench renders, pages that are meant to be short are, pages use none of the words of ODD_WORDS, every sample is in samples/README.md,
editors know every word of the language, every function of the library is explained and tested, factors equal those of the headers, the
version has a section of the changelog, no folder and no class that was cut has grown too large, and no two classes have one name. One PASS or FAIL line per check."""
import collections
import pathlib
import re
import sys

sys.dont_write_bytecode = True
ROOT = pathlib.Path(__file__).resolve().parent.parent
FOLDERS = ("frontend ir passes codegen runtime/plan runtime/engine runtime/kernels runtime/routines runtime/io runtime/hdf5 runtime/app runtime/library stdlib samples tests tools "
           "runtime/plan/search runtime/plan/schedules runtime/plan/workflow tests/conformance tests/e2e tests/property tools/tdslc tools/links").split()
SHORT_PAGES = {"README.md": 500, "docs/architecture.md": 2500, "docs/guarantees.md": 1500, "docs/howto/*.md": 300, "docs/learn/*.md": 450}  # words
ODD_WORDS = r"\b(?:whoever|nobody|everybody|somebody|so many|put by|the design)\b"
TOPS = "frontend ir passes codegen runtime stdlib samples tests tools".split()


def readmes():
    return sorted(page for top in TOPS for page in (ROOT / top).rglob("README.md"))


def pages():
    return [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *readmes()]


def missing_ids():
    ids = re.findall(r'^TDSL_(?:DIAGNOSTIC|WARNING)\(\w+, "([^"]+)"', (ROOT / "frontend/diagnostics/diagnostics.def").read_text(), re.MULTILINE)
    page = (ROOT / "docs/errors.md").read_text()
    return [i for i in ids if f"`{i}`" not in page] + run_errors(page)


# A run-time error has an id, or passes on a message that has one.
PASSED_ON = re.compile(r'\[[a-z-]+\]"|with_id\(|unreadable\(|what\(\)|^\((?:rt::)?(?:(?:place, )?(?:message|text)|[a-z_>.-]*text(?:\.substr\(1\))?|error_?|\*lost|const .*|SourceLine place, const .*|at\(line\), message|place, with_sizes\(.*)[,)]', re.DOTALL)


def run_errors(page):
    wrong = []
    for path in sorted(p for pattern in ("*.cpp", "*.h") for p in (ROOT / "runtime").rglob(pattern)):
        source = path.read_text()
        for found in re.finditer(r"(?<!class )(?<!explicit )\b(?:RunError|ProgramError|LaunchError)(?=\()", source):
            statement = re.match(r'(?:"(?:\\.|[^"\\])*"|[^";])*', source[found.end():])[0]
            if "//" not in source[source.rfind("\n", 0, found.start()):found.start()] and not PASSED_ON.search(statement):
                wrong.append(f"{path.relative_to(ROOT)}:{source.count(chr(10), 0, found.start()) + 1}: an error without an id")
        wrong += [f"{path.relative_to(ROOT)}: [{i}] has no section" for i in set(re.findall(r'[ "]\[([a-z]+(?:-[a-z]+)*)\]"', source)) if f"### `{i}`" not in page]
    return wrong


def missing_options():
    source = (ROOT / "runtime/app/options/options.cpp").read_text()
    table = source[source.index("kBuiltins[] = {"):]
    names = re.findall(r'^    \{"([\w-]+)", OptionValue', table[:table.index("\n};")], re.MULTILINE)
    page = (ROOT / "docs/running.md").read_text()
    listed = re.findall(r"^\| `--([\w-]+)", page, re.MULTILINE)
    return [f"--{n} is not in docs/running.md" for n in names if n not in listed] + [f"docs/running.md: there is no --{n}" for n in listed if n not in names]


def changelog_gaps():
    """The version of CMakeLists.txt has a section; sections have headings of the page's kinds."""
    version = re.search(r"project\(tdsl VERSION ([\d.]+)", (ROOT / "CMakeLists.txt").read_text())[1]
    page = (ROOT / "docs/CHANGELOG.md").read_text()
    kinds = "Added Changed Deprecated Removed Fixed Security Language Performance".split()
    wrong = [f"unknown kind {kind}" for kind in re.findall(r"^### (.*)$", page, re.MULTILINE) if kind not in kinds]
    sections = re.findall(r"^## (.*)$", page, re.MULTILINE)
    wrong += [f"section {s}" for s in sections if not re.fullmatch(r"\[Unreleased\]|\[\d+\.\d+\.\d+\] - \d{4}-\d\d-\d\d", s)]
    return wrong + ([] if any(s.startswith(f"[{version}] ") for s in sections) else [f"no section [{version}]"])


def missing_readmes():
    tour = (ROOT / "docs/architecture.md").read_text()
    unlisted = [page.relative_to(ROOT) for page in readmes() if f"(../{page.relative_to(ROOT)})" not in tour]
    return [f for f in FOLDERS if not (ROOT / f / "README.md").is_file()] + [f"{page} is not in docs/architecture.md" for page in unlisted]


def unlisted_decisions():
    index = (ROOT / "docs/decisions/README.md").read_text()
    return [page.name for page in sorted(ROOT.glob("docs/decisions/0*.md")) if f"({page.name}) {page.read_text().splitlines()[0][6:]}\n" not in index]


def long_pages():
    words = [(page.relative_to(ROOT), len(re.findall(r"\S*\w\S*", page.read_text())), most) for pattern, most in SHORT_PAGES.items() for page in sorted(ROOT.glob(pattern))]
    return [f"{page}: {count} words, at most {most}" for page, count, most in words if count > most]


def odd_words():
    """Words that the pages of docs/ avoid; the language page and its sentences are quoted to the letter."""
    found = []
    for page in {ROOT / "README.md", *ROOT.glob("docs/**/*.md")} - {ROOT / "docs/language.md", ROOT / "docs/conformance.md"}:
        for number, line in enumerate(page.read_text().splitlines(), 1):
            found += [f"{page.relative_to(ROOT)}:{number}: {word}" for word in re.findall(ODD_WORDS, line, re.IGNORECASE)]
    return sorted(found)


def stale_benchmarks():
    sys.path.insert(0, str(ROOT / "tools/bench"))
    import record
    return [] if record.PAGE.read_text() == record.rendered() else ["run tools/bench/bench pages"]


def broken_tables():
    """A blank line ends a table: the rest would be shown as text."""
    broken = []
    for page in pages():
        lines = re.sub(r"```.*?```", lambda block: "\n" * block[0].count("\n"), page.read_text(), flags=re.DOTALL).splitlines()
        for number, (above, line) in enumerate(zip([""] + lines, lines), 1):
            if line.startswith("|") and not above.startswith("|") and not re.match(r"\|[-:| ]+\|$", lines[number] if number < len(lines) else ""):
                broken.append(f"{page.relative_to(ROOT)}:{number}")
    return broken


def anchors(page):
    headings = re.findall(r"^#+ (.*)$", re.sub(r"```.*?```", "", page.read_text(), flags=re.DOTALL), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def broken_links():
    broken = []
    for page in pages():
        prose = re.sub(r"```.*?```|`[^`]*`", "", page.read_text(), flags=re.DOTALL)
        prose = re.sub(r"^    .*$", "", prose, flags=re.MULTILINE)
        for target, anchor in re.findall(r"\]\(([^)#:]*)(?:#([^)]*))?\)", prose):
            file = page.parent / target if target else page
            if not file.exists() or (anchor and anchor not in anchors(file)):
                broken.append(f"{page.relative_to(ROOT)}: {target}#{anchor}")
    return broken


def stale_glossary():
    """Terms whose home, the last column of docs/glossary.md, is neither a path nor a type."""
    homes = re.findall(r"^\| ([^|]+) \| [^|]+ \| `([^`]+)` \|$", (ROOT / "docs/glossary.md").read_text(), re.MULTILINE)
    headers = "\n".join(file.read_text() for top in TOPS[:5] for file in (ROOT / top).rglob("*.h"))
    types = set(re.findall(r"(?:struct|class) (\w+)", headers))
    return [f"{term}: {home}" for term, home in homes if home.split("::")[-1] not in types and not (ROOT / home).exists()]


def missing_files():
    """Files in the first column of a README's table of files: beside the page, or in the folder of the last row that names one (**`space/`**)."""
    missing = []
    for page in readmes():
        for table in re.findall(r"^\| files? \|.*\n\|.*\n((?:\|.*\n)+)", page.read_text(), re.MULTILINE):
            folder = page.parent
            for cell in re.findall(r"^\| ([^|]*) \|", table, re.MULTILINE):
                heading = re.match(r"\*\*`([^`]+)`\*\*", cell)
                folder = page.parent / heading[1] if heading else folder
                for name in [] if heading else re.findall(r"`([^`]+)`", cell):
                    head, *tail = re.split(r"[{}]", name)
                    names = [head + part + tail[1] for part in tail[0].split(",")] if tail else [name]
                    missing += [f"{page.relative_to(ROOT)}: {n}" for n in names if not any(list((folder / n).parent.glob((folder / n).name + end)) for end in ("", ".*"))]
    return missing


def missing_paths():
    """Files named with their folder on a page: relative to the repository, the page, or the folders that pages omit."""
    missing = []
    for page in pages():
        text = re.sub(r"```.*?```", "", page.read_text(), flags=re.DOTALL)
        for name in re.findall(r"`([\w./-]*/[\w.-]+\.(?:h|cpp|py|sh|txt|tdsl|def|js))`", text):
            places = [ROOT, page.parent, ROOT / "runtime", ROOT / "runtime/plan"]
            if not re.match(r"lib/|tdsl/|.*(NAME|NN)", name) and not any((place / name).exists() for place in places):
                missing.append(f"{page.relative_to(ROOT)}: {name}")
    return missing


def missing_samples():
    page = (ROOT / "samples/README.md").read_text()
    return [s.name for s in ROOT.glob("samples/*.tdsl") if s.name not in page]


def words_unknown_to_editors():
    lexer = (ROOT / "frontend/syntax/lexer_state.cpp").read_text()
    words = set(re.findall(r'\{"(\w+)", +Kind::', lexer))
    builtins = (ROOT / "frontend/lower/builtins.cpp").read_text()
    words |= set(re.findall(r'\{"(\w+)", ', builtins))
    missing = []
    for path in ("tools/editors/vim/syntax/tdsl.vim", "tools/editors/vscode/syntaxes/tdsl.tmLanguage.json", "tools/python/tdsl/pygments.py",
                 "tests/fuzz/frontend.dict"):
        known = set(re.findall(r"\w+", (ROOT / path).read_text().replace("\\b", " ")))
        missing += [f"{path}: {word}" for word in sorted(words - known)]
    return missing


def other_numbers():
    """Factors stated both on a page and in a header."""
    header, page = (ROOT / "tools/tdslc/job/size.h").read_text(), (ROOT / "docs/cluster.md").read_text()
    slower, margin = (float(re.search(rf"{name} = ([\d.]+)", header)[1]) for name in ("kSlower", "kTimeMargin"))
    return [] if f"| {slower * margin:g} x the predicted seconds" in page else [f"docs/cluster.md: {slower * margin:g} x the predicted seconds"]


def library_gaps():
    gaps = []
    for module in sorted(ROOT.glob("stdlib/*.tdsl")):
        lines = module.read_text().splitlines()
        case = ROOT / f"tests/e2e/cases/std_{module.stem}.tdsl"
        called = set(re.findall(r"(\w+)\(", case.read_text() if case.is_file() else ""))
        called |= {inner for line in lines for inner in re.findall(r"(\w+)\(", line.split("=", 1)[-1])} if called else set()
        for above, line in zip(lines, lines[1:]):
            name = re.match(r"(?:fn|monoid) (\w+)", line)
            if name and not above.startswith("//"):
                gaps.append(f"{module.name}: {name[1]} is not explained")
            if name and name[1] not in called:
                gaps.append(f"{module.name}: {name[1]} is not tested")
        if module.name not in (ROOT / "stdlib/README.md").read_text():
            gaps.append(f"{module.name} is not in stdlib/README.md")
    return gaps


# Files that may define members of a class: (folder, class) of those that have been cut by state.
CUT_CLASSES = {("frontend", "Lowerer"): 4, ("runtime/engine", "Engine::State"): 4}
LARGEST_FOLDER = 40  # C++ files


def large_folders_and_classes():
    found = []
    for top in TOPS:
        for folder in [ROOT / top, *(f for f in (ROOT / top).rglob("*") if f.is_dir())]:
            count = sum(f.suffix in (".cpp", ".h") for f in folder.iterdir())
            if count > LARGEST_FOLDER:
                found.append(f"{folder.relative_to(ROOT)} has {count} C++ files, more than {LARGEST_FOLDER}")
    for (folder, name), limit in CUT_CLASSES.items():
        member = re.compile(rf"^[\w:<>&*, \[\]]+\b{name}::~?\w+\(", re.M)
        files = [f for f in (ROOT / folder).rglob("*.cpp") if member.search(f.read_text())]
        if len(files) > limit:
            found.append(f"members of {name} are in {len(files)} files, more than {limit}")
    return found


def classes_of_one_name():
    """Classes defined in two files under one name and namespace: the linker keeps one of each of their functions."""
    files = collections.defaultdict(set)
    for top in ("frontend", "ir", "passes", "codegen", "runtime", "tools"):
        for path in (ROOT / top).rglob("*.[ch]*"):
            scopes = []
            for line in path.read_text(errors="replace").splitlines() if path.suffix in (".h", ".cpp") else ():
                if opened := re.match(r"namespace ?([\w:]*) ?\{", line):
                    scopes.append(opened[1])
                elif line.startswith("}  // namespace") and scopes:
                    scopes.pop()
                elif (named := re.match(r"(?:class|struct) (\w+)(?: final)?(?: ?: ?[^:;].*)? ?\{", line)) and "" not in scopes:
                    files["::".join([*scopes, named[1]])].add(str(path.relative_to(ROOT)))
    return [f"{name} in {' and '.join(sorted(found))}" for name, found in sorted(files.items()) if len(found) > 1]


def main():
    wanted = sys.argv[1] if len(sys.argv) > 1 else ""
    checks = {"docs/error_ids": missing_ids, "docs/options": missing_options, "docs/readmes": missing_readmes, "docs/changelog": changelog_gaps, "docs/decisions": unlisted_decisions,
              "docs/sizes": long_pages, "docs/words": odd_words, "docs/benchmarks": stale_benchmarks, "docs/tables": broken_tables,
              "docs/links": broken_links, "docs/glossary": stale_glossary, "docs/paths": missing_paths, "docs/files": missing_files,
              "docs/samples": missing_samples, "docs/editors": words_unknown_to_editors, "docs/library": library_gaps, "docs/numbers": other_numbers,
              "docs/structure": large_folders_and_classes, "docs/classes": classes_of_one_name}
    failed = False
    for name, check in checks.items():
        if wanted not in name:
            continue
        found = check()
        failed = failed or bool(found)
        print(f"FAIL {name}: {', '.join(found)}" if found else f"PASS {name}")
    return 1 if failed else 0


sys.exit(main())
