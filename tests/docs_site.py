#!/usr/bin/python3
"""Builds the site of the documents, with broken links and anchors as errors, and checks that it loads nothing from other hosts and has a search
for pages opened as files. With TDSL_TEST_MODE=long also with the pictures of the gallery, in a browser (site_pages.py). One PASS, FAIL or SKIP
line per check."""
import importlib.util
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

sys.dont_write_bytecode = True
ROOT = Path(__file__).resolve().parent.parent
LOADED = re.compile(r'<(?:script|link|img|iframe)\b[^>]*\b(?:src|href)="(https?:)?//[^"]*"')


def built(site, *options):
    """The problem of a build, or None."""
    done = subprocess.run([ROOT / "tools/site/build", "-o", site, *options], capture_output=True, text=True, timeout=900)
    return done.stdout + done.stderr if done.returncode else None


def problem_of(site):
    pages = list(site.rglob("*.html"))
    for page in pages:
        text = page.read_text()
        loaded = LOADED.search(text)
        if loaded and 'rel="canonical"' not in loaded[0]:
            return f"{page.relative_to(site)} loads {loaded[0]}"
        if page.name != "404.html" and "search/offline.js" not in text:
            return f"{page.relative_to(site)} has no search for files"
    if len(pages) < 150 or not (site / "search/offline.js").stat().st_size:
        return f"{len(pages)} pages"
    home = (site / "index.html").read_text()
    return None if home.count('class="highlight"') >= 3 else "blocks of the first page are not coloured"


def report(name, problem):
    print(f"    {problem}\nFAIL {name}" if problem else f"PASS {name}", flush=True)
    return int(bool(problem))


def main():
    wanted = sys.argv[1] if len(sys.argv) > 1 else ""
    long = os.environ.get("TDSL_TEST_MODE") == "long"
    names = [name for name in ("docs/site", "docs/site_in_browser") if wanted in name and (long or name == "docs/site")]
    if not names:
        return 0
    if not importlib.util.find_spec("mkdocs") or not Path("/usr/share/mkdocs/themes/material").is_dir():
        print("SKIP docs/site needs mkdocs and mkdocs-material (tools/install_packages.sh site)")
        return 0
    failed = 0
    with tempfile.TemporaryDirectory(prefix="tdsl-site-") as folder:
        site = Path(folder)
        problem = built(site, *(("--tdslc", os.environ["TDSLC"]) if long else ()))
        if "docs/site" in names:
            failed |= report("docs/site", problem or problem_of(site))
        if "docs/site_in_browser" in names:
            import site_pages
            if site_pages.browser.command():
                failed |= report("docs/site_in_browser", problem or site_pages.problem_of(site))
            else:
                print("SKIP docs/site_in_browser needs Chromium (tools/install_packages.sh browser)")
    return failed


if __name__ == "__main__":
    sys.exit(main())
