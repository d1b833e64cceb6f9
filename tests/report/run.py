#!/usr/bin/python3
"""--profile, --trace and `tdslc report` agree with the statistics, and the page draws every view."""
import argparse
import json
import os
import random
import re
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from pathlib import Path

sys.dont_write_bytecode = True
ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "e2e"))

import browser
import launch
import numpy as np

EVENTS = 1_000_000
SMALL_TASKS = """// Tasks of a hundredth of a millisecond.
param n: i64 = 1536;
param steps: i64 = 8;
let A = random(n, n);
var W = A;
for t in 0..steps {
  W = 0.5 * W + (A @ W) / f64(n);
}
print(sum(W));
"""
PAIRS = 5
PROGRAM = """// Two products in a loop, with names that would end a script.
param n: i64 = 96;
param steps: i64 = 6;
let A = random(n, n);
let v = random(n);
var w = v;
for t in 0..steps {  // </script><b>not bold</b>
  let Y = A @ A;
  w = Y @ w / sum(w);
}
output w;
print("done", sum(w));
"""


class Failed(Exception):
    pass


def require(condition, text):
    if not condition:
        raise Failed(text)


class Reports:
    """The tests `test_NAME`, in source order."""

    def __init__(self, options, work):
        self.options, self.work, self.tdslc = options, Path(work), options.tdslc
        self.stats, self.trace = self.work / "stats.json", self.work / "trace.json"
        self.traced = None

    def tool(self, *arguments):
        result = launch.run([self.tdslc, *map(str, arguments)], self.options.limit)
        if result.code != 0:
            raise Failed(f"tdslc {arguments}: {result}")

    def run_traced(self):
        if self.traced:
            return self.traced
        source = self.work / "steps.tdsl"
        source.write_text(PROGRAM)
        self.tool("build", source, "-o", self.work / "steps", "--disable-pass", "serial_loops")
        self.traced = launch.run([*launch.mpi_command(3), self.work / "steps", "--threads", "2", "--tile", "16", "--profile", "--trace", self.trace,
                                  "--stats", self.stats, "--w", self.work / "w.npy"], self.options.limit, cwd=self.work, env={"TDSL_OVERSUBSCRIBED": "1"})
        if self.traced.code != 0:
            raise Failed(f"steps: {self.traced}")
        return self.traced

    # Every task and byte of the statistics is in the trace; the table's times are those of the statistics.
    def test_trace_agrees_with_statistics(self):
        table = self.run_traced().err
        stats, trace = json.loads(self.stats.read_text()), json.loads(self.trace.read_text())
        events = [e for e in trace["traceEvents"] if e["ph"] == "X"]
        tasks = Counter(e["args"]["site"] for e in events if e["cat"] == "task")
        for s in stats["statements"]:
            require(tasks[s["site"]] == s["measured"]["tasks"], f"site {s['site']}: {tasks[s['site']]} tasks in the trace, {s['measured']['tasks']} counted")
        for kind, count in (("receive", "bytes_received"), ("send", "bytes_sent")):
            for rank in range(3):
                traced = sum(e["args"].get("bytes", 0) for e in events if e["cat"] == kind and e["pid"] == rank)
                require(traced == stats["per_rank"][rank][count], f"rank {rank}: {traced} bytes in the trace, {stats['per_rank'][rank][count]} {count}")
        matrix = stats["traffic"]["received_bytes"]
        require([sum(row) for row in matrix] == [r["bytes_received"] for r in stats["per_rank"]], f"{matrix} are not the bytes received")
        require([sum(column) for column in zip(*matrix)] == [r["bytes_sent"] for r in stats["per_rank"]], f"{matrix} are not the bytes sent")
        self.check_times(stats, events)
        self.check_arrows(trace["traceEvents"])
        rows = re.findall(r"^ +(\d+|-) +([\d.]+) +([\d.]+) ", table, re.M)
        require({"8", "9", "-"} <= {line for line, _, _ in rows}, f"lines are missing: {table}")
        whole = sum(float(wall) for _, wall, _ in rows)
        said = float(re.search(r"profile of steps: ([\d.]+) s on 3 ranks x 2 threads", table)[1])
        require(abs(whole - said) < 0.002 * len(rows), f"the lines' {whole} s are not the run's {said} s")
        return f"{len(events)} events"

    def check_times(self, stats, events):
        end = stats["phases"]["total"] * 1e6
        require(all(-1e3 < e["ts"] and e["ts"] + e["dur"] < end + 1e5 for e in events), "an event lies outside of the run")
        kernel = sum(s["measured"]["kernel_seconds"] for s in stats["statements"])
        traced = sum(e["dur"] for e in events if e["cat"] == "task") * 1e-6
        require(abs(kernel - traced) <= 0.01 * kernel + 1e-5, f"tasks lasted {traced} s in the trace, {kernel} s in the statistics")
        for rank in stats["per_rank"]:
            walls = rank["wall_between_steps"] + sum(s["per_rank"][rank["rank"]]["measured"]["wall"] for s in stats["statements"])
            require(walls <= stats["phases"]["total"], f"rank {rank['rank']}: {walls} s at all lines, of {stats['phases']['total']} s")

    # Clocks are aligned: no reply precedes its request.
    def check_arrows(self, events):
        asked, arrows = {}, 0
        for e in events:
            if e["ph"] == "s":
                asked[e["id"]] = e["ts"]
            if e["ph"] in "tf":
                arrows += 1
                require(e["ts"] > asked[e["id"]] - 2e3, f"request {e['id']} has an answer or a task {asked[e['id']] - e['ts']} us before it was made")
        require(arrows > 0, "no message is joined to its answer")

    # Spilling appears on the lanes of the disk threads: exact bytes, by rank and by the line that wrote the data.
    def test_disk_is_seen(self):
        n, ranks, stats_file, trace_file, page = 700, 2, self.work / "disk.json", self.work / "disk-trace.json", self.work / "disk.html"
        for name in "AB":
            np.save(self.work / f"{name}.npy", np.random.default_rng(6).integers(-9, 9, (n, n)).astype(float))
        self.tool("build", ROOT / "samples" / "matmul.tdsl", "-o", self.work / "matmul")
        run = launch.run([*launch.mpi_command(ranks), self.work / "matmul", "--A", "A.npy", "--B", "B.npy", "--C", "C.npy", "--threads", "2", "--spill", ".",
                          "--memory", 3 * n * n * 8 // 4 // ranks, "--profile", "--trace", trace_file, "--stats", stats_file],
                         self.options.limit, cwd=self.work, env={"TDSL_OVERSUBSCRIBED": "1"})
        require(run.code == 0 and "received  disk s        read     written  what" in run.err, str(run))
        stats, trace = json.loads(stats_file.read_text()), json.loads(trace_file.read_text())
        events = [e for e in trace["traceEvents"] if e["ph"] == "X"]
        transfers = [e for e in events if e["cat"].startswith("disk")]
        for cat, figure in (("disk read", "disk_read"), ("disk write", "disk_written")):
            for rank in range(ranks):
                traced = sum(e["args"]["bytes"] for e in transfers if e["cat"] == cat and e["pid"] == rank)
                require(traced == stats["per_rank"][rank][figure] > 0, f"rank {rank}: {traced} bytes in the trace, {stats['per_rank'][rank][figure]} {figure}")
        for s in stats["statements"]:
            traced = sum(e["args"]["bytes"] for e in transfers if e["cat"] == "disk write" and e["args"]["site"] == s["site"])
            require(traced == s["measured"].get("disk_written", 0), f"{s['name']}: {traced} bytes written in the trace, {s['measured']}")
        for kind, count in (("receive", "bytes_received"), ("send", "bytes_sent")):  # disk threads also handle messages
            traced = sum(e["args"].get("bytes", 0) for e in events if e["cat"] == kind)
            require(traced == sum(r[count] for r in stats["per_rank"]), f"{traced} bytes in the trace, not the statistics' {count}")
        lanes = defaultdict(list)
        for e in transfers:
            lanes[e["pid"], e["tid"]].append((e["ts"], e["ts"] + e["dur"]))
        require({tid for _, tid in lanes} <= {9000, 9001}, f"lanes {set(lanes)}")
        for lane, spans in lanes.items():
            spans.sort()
            # Start times come from a clock that is corrected afterwards, durations do not.
            late = [b for a, b in zip(spans, spans[1:]) if a[1] > b[0] + 5 + 0.01 * (a[1] - a[0])]
            require(not late, f"transfers of the thread {lane} overlap: {late[:3]}")
        waited = [s["measured"].get("disk_waiting_seconds", 0) for s in stats["statements"]]
        require(all(w <= s["measured"]["waiting_seconds"] + 1e-9 for w, s in zip(waited, stats["statements"])) and sum(waited) > 0, f"waited for the disk: {waited}")
        self.tool("report", stats_file, trace_file, "-o", page)
        if browser.command():
            with browser.Page(page, self.options.limit) as shown:
                shown.wait_for("document.readyState === 'complete' && window.tdslReady !== undefined")
                shown.evaluate("window.tdslReady")
                require("read from disk" in shown.evaluate("document.getElementById('lines').textContent"), "the source lines have no bytes of disks")
                said = shown.evaluate("(() => { const t = window.tdslTimeline; return t.describe(t.events.kind.findIndex((k) => k === 8)); })()")
                require("disk read on rank 0" in said and re.search(r"`[ABC]`", said) and "iB" in said, f"a transfer: {said}")
                require(shown.evaluate("window.tdslTimeline.rows().some((lane) => lane.thread === 9000)"), "the disk has no row")
                require(not shown.errors, f"the console says: {shown.errors}")
        return f"{len(transfers)} transfers"

    def test_unwritable_trace_is_said_before_the_run(self):
        self.run_traced()
        result = launch.run([self.work / "steps", "--trace", self.work / "no" / "t.json"], self.options.limit, cwd=self.work)
        require(result.code == 1 and "no/t.json" in result.err and "done" not in result.out and len(result.err.splitlines()) == 1, str(result))
        mixed = launch.run([self.tdslc, "report", self.trace, "-o", self.work / "x.html"], self.options.limit)
        require(mixed.code == 2 and "not what --plan or --stats writes" in mixed.err and not (self.work / "x.html").exists(), str(mixed))

    VIEWS = ("timeline", "memory", "matrix")

    # Number of different colours drawn in a canvas.
    COLOURS = """(name => { const c = document.getElementById(name); const p = c.getContext('2d').getImageData(0, 0, c.width, c.height).data;
                 const seen = new Set(); for (let i = 0; i < p.length; i += 4) seen.add((p[i] << 16) | (p[i + 1] << 8) | p[i + 2]); return seen.size; })"""

    def open(self, page):
        with browser.Page(page, self.options.limit) as shown:
            shown.wait_for("document.readyState === 'complete' && window.tdslReady !== undefined")
            seconds = shown.evaluate("window.tdslReady")
            for view in self.VIEWS:
                require(shown.evaluate(f"{self.COLOURS}('{view}')") > 3, f"{view} is not drawn")
            require(shown.evaluate("document.querySelectorAll('#lines tr').length") > 3, "there are no source lines")
            require(shown.evaluate("document.querySelectorAll('#phases span').length") > 3, "there are no phases")
            require(shown.evaluate("document.querySelectorAll('b').length") == 0, "text of the program has become markup")
            drawn = shown.evaluate("window.tdslTimeline.drawn")
            require(drawn > 10, f"the timeline shows {drawn} events")
            # Zoom, messages, and an arrow from a request to its task.
            joined = shown.evaluate("""(() => { const t = window.tdslTimeline; document.getElementById('with-messages').click();
                const i = t.events.kind.findIndex((k, n) => k === 0 && t.related(n).every((r) => r >= 0)); if (i < 0) return 'no arrow';
                t.show(Math.max(0, t.events.start[i] - 1000), 5000); t.select(i); return document.getElementById('event').textContent; })()""")
            require(joined.count("\n") == 2 and all(word in joined for word in ("receive on", "send on", "task on")), f"arrows: {joined}")
            legend = shown.evaluate("document.getElementById('timeline-legend').textContent")
            require("line 8: " in legend and "wait" in legend, f"the legend says {legend}")
            require("rank 2" in shown.evaluate("document.getElementById('memory-legend').textContent"), "ranks' colours are not said")
            self.check_what_is_said(shown)
            require(not shown.errors, f"the console says: {shown.errors}")
            return seconds

    # From artificial statistics: a loop as one task, ranks without tasks, a limit far above the use.
    @staticmethod
    def check_what_is_said(shown):
        loop = shown.evaluate("""loopText(["let a = 1;", "  for i in 1..n {  // {", "    y[i] = y[i - 1];", "  }", "print(y);"], 2).join("|")""")
        require(loop == "  for i in 1..n {  // {|    y[i] = y[i - 1];|  }", f"a loop's lines: {loop}")
        one = '{"line": 4, "name": "y", "kind": "loop", "measured": {"wall": 2}, "per_rank": [{"measured": {"tasks": 1}}, {"measured": {"tasks": 0}}, {"measured": {"tasks": 0}}]}'
        said = shown.evaluate(f"(() => {{ const s = stats.statements; stats.statements = [{one}]; const t = idleText(); stats.statements = s; return t; }})()")
        require(said == "Ranks 1 and 2 had no task; one rank alone computes line 4 (y) on rank 0: a loop over single elements is one task.", said)
        scale = shown.evaluate("(() => { const l = stats.memory_limit; stats.memory_limit = 2 ** 60; const m = memoryScale(1000); stats.memory_limit = l; "
                               "return JSON.stringify([m.top < 2 ** 40, m.levels.length, m.beyond]); })()")
        require(json.loads(scale) == [True, 1, "; the limit, 1024.0 PiB, lies above the plot"], scale)

    def test_page_draws_every_view(self):
        self.run_traced()
        page, other = self.work / "run.html", self.work / "other.html"
        self.tool("report", self.stats, self.trace, "-o", page)
        self.tool("report", self.trace, self.stats, "-o", other)
        require(page.read_bytes() == other.read_bytes(), "the page depends on the order of the files")
        text = page.read_text()
        require("<b>not bold" not in text and "http" not in text, "the page has markup of the program, or an address")
        if not browser.command():
            return "SKIP report/page_draws_every_view needs chromium"
        return f"opened in {self.open(page):.2f} s"

    # The maximum number of events in a trace. CI only runs the operations that are fast elsewhere.
    def test_a_million_events(self):
        if not self.options.long:
            return None
        self.run_traced()
        trace, page = self.work / "million.json", self.work / "million.html"
        self.write_million(trace)
        begun = time.monotonic()
        self.tool("report", self.stats, trace, "-o", page)
        made = time.monotonic() - begun
        size = page.stat().st_size
        require(size < 8_000_000, f"the page has {size} bytes")
        if not browser.command():
            return "SKIP report/a_million_events needs chromium"
        seconds = self.open(page)
        require(seconds < 3, f"opened in {seconds:.2f} s")
        return f"{size / 1e6:.1f} MB, made in {made:.1f} s, opened in {seconds:.2f} s"

    # CPU seconds of runs with and without --trace, alternately.
    def test_tracing_is_cheap(self):
        if not self.options.long:
            return None
        source = self.work / "small.tdsl"
        source.write_text(SMALL_TASKS)
        self.tool("build", source, "-o", self.work / "small")
        extra = {"plain": [], "traced": ["--trace", str(self.work / "small-trace.json")]}
        spent = {name: [] for name in extra}
        for pair in range(PAIRS):
            for name in sorted(extra, reverse=pair % 2 == 1):
                process = subprocess.Popen([self.work / "small", "--threads", "2", "--tile", "48", *extra[name]], stdout=subprocess.DEVNULL)
                _, status, usage = os.wait4(process.pid, 0)
                process.returncode = os.waitstatus_to_exitcode(status)
                require(process.returncode == 0, f"{name}: {status}")
                spent[name].append(usage.ru_utime + usage.ru_stime)
        shares = [t / p - 1 for t, p in zip(spent["traced"], spent["plain"])]
        middle = sorted(shares)[PAIRS // 2]
        least = min(spent["traced"]) / min(spent["plain"]) - 1
        tasks = sum(e.get("cat") == "task" for e in json.loads((self.work / "small-trace.json").read_text())["traceEvents"])
        said = f"{tasks} tasks, {min(spent['plain']):.2f} s: {100 * middle:.1f} % more in the middle of {PAIRS} pairs, {100 * least:.1f} % of the least"
        require(min(middle, least) < 0.03, said)
        return said

    def write_million(self, path):
        """Repeats the events of the small trace with other times and sizes."""
        small = json.loads(self.trace.read_text())
        kinds = [e for e in small["traceEvents"] if e["ph"] in "XC"]
        rng = random.Random(1)
        span = 1.05 * max(e["ts"] + e.get("dur", 0) for e in kinds)
        with open(path, "w") as out:
            out.write('{"displayTimeUnit": "ms", "otherData": ' + json.dumps(small["otherData"]) + ', "traceEvents": [\n')
            for i in range(EVENTS):
                turn, k = divmod(i, len(kinds))
                e = dict(kinds[k])
                e["ts"] = round(e["ts"] + turn * span + rng.random(), 3)
                if e["ph"] == "X":
                    e["dur"] = round(e["dur"] * (0.8 + 0.4 * rng.random()), 3)
                if "op" in e["args"]:
                    e["args"] = {**e["args"], "op": e["args"]["op"] + 40 * turn}
                if "request" in e["args"]:
                    e["args"] = {**e["args"], "request": (e["args"]["request"] + 1000 * turn) % (1 << 24)}
                out.write(("" if i == 0 else ",\n") + json.dumps(e, separators=(",", ":")))
            out.write("\n]}\n")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--tdslc", default=os.environ.get("TDSLC"))
    parser.add_argument("--filter", default="")
    parser.add_argument("--long", action="store_true")
    parser.add_argument("--limit", type=float, default=120)
    options = parser.parse_args()
    failed = 0
    with tempfile.TemporaryDirectory(prefix="tdsl-report-") as work:
        reports = Reports(options, work)
        for name in [n for n in vars(Reports) if n.startswith("test_")]:
            shown = f"report/{name[5:]}"
            if options.filter not in shown:
                continue
            try:
                text = getattr(reports, name)()
                if text is not None and text.startswith("SKIP"):
                    print(text, flush=True)
                elif text is not None or not name.endswith(("million_events", "is_cheap")):
                    print(f"PASS {shown}" + (f"  ({text})" if text else ""), flush=True)
            except (Failed, OSError, TimeoutError, subprocess.SubprocessError) as error:
                failed += 1
                print(f"FAIL {shown}: {error}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
