#!/usr/bin/env python3
"""The documents against the repository: every diagnostic id is in docs/errors.md, every folder of code has a README, every
relative link of a page leads somewhere, and every sample is in samples/README.md. One PASS or FAIL line per check."""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
FOLDERS = ("frontend ir passes codegen runtime/plan runtime/engine runtime/kernels runtime/routines runtime/io runtime/app stdlib samples tests tools "
           "tests/conformance tests/e2e tests/property tools/tdslc").split()


def missing_ids():
    ids = re.findall(r'^TDSL_DIAGNOSTIC\(\w+, "([^"]+)"', (ROOT / "frontend/diagnostics.def").read_text(), re.MULTILINE)
    page = (ROOT / "docs/errors.md").read_text()
    return [i for i in ids if f"`{i}`" not in page]


def missing_readmes():
    return [f for f in FOLDERS if not (ROOT / f / "README.md").is_file()]


def broken_links():
    broken = []
    for page in [*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), *(ROOT / f / "README.md" for f in FOLDERS)]:
        if not page.is_file():
            continue
        prose = re.sub(r"```.*?```|`[^`]*`", "", page.read_text(), flags=re.DOTALL)
        prose = re.sub(r"^    .*$", "", prose, flags=re.MULTILINE)
        for target in re.findall(r"\]\(([^)#:]+)\)", prose):
            if not (page.parent / target).exists():
                broken.append(f"{page.relative_to(ROOT)}: {target}")
    return broken


def missing_samples():
    page = (ROOT / "samples/README.md").read_text()
    return [s.name for s in ROOT.glob("samples/*.tdsl") if s.name not in page]


def main():
    wanted = sys.argv[1] if len(sys.argv) > 1 else ""
    checks = {"docs/error_ids": missing_ids, "docs/readmes": missing_readmes, "docs/links": broken_links, "docs/samples": missing_samples}
    failed = False
    for name, check in checks.items():
        if wanted not in name:
            continue
        found = check()
        failed = failed or bool(found)
        print(f"FAIL {name}: {', '.join(found)}" if found else f"PASS {name}")
    return 1 if failed else 0


sys.exit(main())
