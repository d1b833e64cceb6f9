#!/usr/bin/python3
"""Pages of the site in headless Chromium, opened as files, at the widths of a telephone, a tablet and a screen: no message of the console, no page
wider than its window, tabs and pictures are there, the search finds a page. `site_pages.py SITE FOLDER` writes screenshots to look at."""
import base64
import sys
from pathlib import Path

sys.dont_write_bytecode = True
ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests/report"))

import browser

PAGES = ("index docs/ten_minutes docs/learn/01_heat docs/from_numpy docs/howto/spill docs/language docs/commands docs/error_index docs/gallery "
         "docs/guarantees docs/benchmarks docs/papers").split()
WIDTHS = (360, 800, 1400)
TALLEST = 1800  # pixels of a screenshot
WIDE = """[...document.querySelectorAll('.md-content *')].filter(e => !e.closest('table, pre, .headerlink')
    && e.getBoundingClientRect().right > document.documentElement.clientWidth + 1).map(e => e.tagName + ' ' + e.textContent.slice(0, 40))[0] || null"""
SEARCH = """(() => {const box = document.querySelector('.md-search__input'); box.focus(); box.value = 'shortest paths';
    box.dispatchEvent(new Event('input', {bubbles: true})); box.dispatchEvent(new KeyboardEvent('keyup', {bubbles: true}));})()"""


def show(page, file, width):
    page.call("Emulation.setDeviceMetricsOverride", width=width, height=1000, deviceScaleFactor=1, mobile=width < 500)
    page.call("Page.navigate", url=f"file://{file}")
    page.wait_for(f"document.readyState == 'complete' && location.pathname == {str(file)!r}")


def tabs_shown(page, width):
    """Waits for the tabs, which fade in."""
    if width >= 1400:
        page.wait_for("[...document.querySelectorAll('.md-tabs__link')].filter(tab => getComputedStyle(tab).opacity > 0.5).length >= 6")


def fault(page, width):
    """The first problem of the shown page, or None."""
    if page.evaluate("document.documentElement.scrollWidth > document.documentElement.clientWidth"):
        return "scrolls to the right"
    if wide := page.evaluate(WIDE):
        return f"{wide!r} is wider than the page"
    if page.evaluate("[...document.images].some(image => !image.naturalWidth)"):
        return "a picture is missing"
    tabs_shown(page, width)
    return page.errors[0] if page.errors else None


def shot(page, width, file):
    height = min(page.evaluate("document.documentElement.scrollHeight"), TALLEST)
    page.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 500)
    tabs_shown(page, width)
    file.write_bytes(base64.b64decode(page.call("Page.captureScreenshot", format="png")["data"]))


def problem_of(site, folder=None):
    """The first fault of the pages, with page and width, or None; with a folder a screenshot of each."""
    with browser.Page(site / "index.html") as page:
        for name in PAGES:
            for width in WIDTHS:
                show(page, site / f"{name}.html", width)
                if found := fault(page, width):
                    return f"{name}, {width} pixels wide: {found}"
                if folder:
                    shot(page, width, folder / f"{name.replace('/', '_')}_{width}.png")
        pictures = len(list((site / "docs/gallery").glob("*.svg")))
        show(page, site / "docs/gallery.html", WIDTHS[-1])
        if page.evaluate("document.querySelectorAll('img.picture').length") != pictures:
            return f"the gallery does not show {pictures} pictures"
        page.evaluate(SEARCH)
        page.wait_for("document.querySelector('.md-search-result__item a[href*=shortest]') !== null")
    return None


if __name__ == "__main__":
    Path(sys.argv[2]).mkdir(parents=True, exist_ok=True)
    sys.exit(problem_of(Path(sys.argv[1]).resolve(), Path(sys.argv[2])))
