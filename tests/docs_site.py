#!/usr/bin/python3
"""Builds the site of the documents, with broken links and anchors as errors, and checks that it loads nothing from other hosts and has a search
for pages opened as files. One PASS, FAIL or SKIP line."""
import importlib.util
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LOADED = re.compile(r'<(?:script|link|img|iframe)\b[^>]*\b(?:src|href)="(https?:)?//[^"]*"')


def problem_of(site):
    done = subprocess.run([ROOT / "tools/site/build", "-o", site], capture_output=True, text=True, timeout=300)
    if done.returncode:
        return done.stdout + done.stderr
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


def main():
    if len(sys.argv) > 1 and sys.argv[1] not in "docs/site":
        return 0
    if not importlib.util.find_spec("mkdocs") or not Path("/usr/share/mkdocs/themes/material").is_dir():
        print("SKIP docs/site needs mkdocs and mkdocs-material (tools/install_packages.sh site)")
        return 0
    with tempfile.TemporaryDirectory(prefix="tdsl-site-") as name:
        problem = problem_of(Path(name))
    print(f"    {problem}\nFAIL docs/site" if problem else "PASS docs/site")
    return int(bool(problem))


if __name__ == "__main__":
    sys.exit(main())
