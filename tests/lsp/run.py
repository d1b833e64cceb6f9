#!/usr/bin/env python3
"""Replays the sessions of sessions/*.json against `tdslc lsp`; edits programs at random; with --latency measures. One PASS or FAIL line
each. `--update` writes the answers of this server into the sessions: read the difference before committing it."""
import argparse
import json
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.dont_write_bytecode = True
sys.path.insert(0, str(HERE))
import fuzz  # noqa: E402
from client import Server, position  # noqa: E402

METHODS = {"hover": "hover", "definition": "definition", "references": "references", "highlight": "documentHighlight", "rename": "rename",
           "prepare": "prepareRename", "symbols": "documentSymbol", "folding": "foldingRange", "tokens": "semanticTokens/full",
           "signature": "signatureHelp", "completion": "completion", "formatting": "formatting", "hints": "inlayHint", "fixes": "codeAction"}


def whole(text):
    return {"start": {"line": 0, "character": 0}, "end": position(text, len(text))}


def asked(server, name, step):
    """The answer to a step as a short value."""
    where = server.at(name, step["at"]) if "at" in step else None
    more = {"newName": step["name"]} if "name" in step else {}
    if step["ask"] in ("hints", "fixes"):
        more["range"] = {"start": where, "end": where} if where else whole(server.texts[name])
    if step["ask"] == "fixes":
        more["context"] = {"diagnostics": []}
    if step["ask"] == "references":
        more["context"] = {"includeDeclaration": step.get("declaration", True)}
    reply = server.request("textDocument/" + METHODS[step["ask"]], server.parameters(name, where, **more))
    if "error" in reply:
        return {"error": server.plain(reply["error"]["message"])}
    result, uri = reply["result"], server.uri(name)
    if step["ask"] == "hover" and result:
        return {"range": server.range(result["range"], uri), "text": server.plain(result["contents"]["value"]).split("\n")}
    if step["ask"] == "completion":
        starts = step.get("starts", "")
        return sorted(f"{i['label']}: {server.plain(i.get('detail', ''))}" for i in result if i["label"].startswith(starts))
    if step["ask"] == "tokens":
        return server.tokens(result["data"], uri)
    if step["ask"] == "symbols":
        return [outline(server, s, uri) for s in result]
    if step["ask"] == "folding":
        return [f"{f['startLine'] + 1}-{f['endLine'] + 1} {f.get('kind', 'block')}" for f in result]
    if step["ask"] == "hints":
        # Costs are compared with `explain`: they change with the planner.
        return [f"{h['position']['line'] + 1}:{h['position']['character'] + 1} {h['label']}" for h in result if h.get("kind") == 1]
    if step["ask"] == "highlight":
        return [f"{server.range(h['range'], uri)} {'write' if h['kind'] == 3 else 'read'}" for h in result]
    if step["ask"] == "references":
        return sorted(server.shown(result, uri))
    if step["ask"] == "formatting":
        return [e["newText"].split("\n") for e in result]
    return server.shown(result, uri)


def outline(server, symbol, uri):
    text = f"{server.range(symbol['selectionRange'], uri)} {symbol['detail']}"
    return {text: [outline(server, s, uri) for s in symbol["children"]]} if "children" in symbol else text


def diagnosed(server, name):
    found, uri = [], server.uri(name)
    for d in server.settle(name):
        notes = [f"{server.shown(n['location'], uri)}: {server.plain(n['message'])}" for n in d.get("relatedInformation", [])]
        text = f"{server.range(d['range'], uri)} {['error', 'warning', 'note'][d['severity'] - 1]} [{d['code']}] {server.plain(d['message'])}"
        found.append({text: notes} if notes else text)
    return found


def replay(tdslc, session, update):
    """The first difference as a text, or None. Steps: {"edit": old, "to": new}, {"open": file}, {"ask": …, "at": …}, {"ask": "diagnostics"}."""
    with tempfile.TemporaryDirectory() as folder:
        shutil.copytree(HERE / "programs", f"{folder}/programs")
        folder = str(Path(folder).resolve() / "programs")
        server = Server(tdslc, folder, session.get("options"))
        name = session["program"]
        server.open(name)
        for step in session["steps"]:
            if "open" in step:
                server.open(step["open"])
                continue
            if "edit" in step:
                begin = server.texts[name].find(step["edit"])
                assert begin >= 0, f"{name} has no `{step['edit']}`"
                server.edit(name, begin, begin + len(step["edit"]), step["to"])
                continue
            if step["ask"] == "plan":
                server.settle(name)
                server.await_refresh()
                different = unlike_explain(server, name, session["options"]["plan"], tdslc)
                if different:
                    server.process.kill()
                    return different
                continue
            answer = diagnosed(server, step.get("of", name)) if step["ask"] == "diagnostics" else asked(server, name, step)
            if update:
                step["answer"] = answer
            elif answer != step.get("answer"):
                server.process.kill()
                return f"{step['ask']} at {step.get('at', '-')}: {json.dumps(answer, ensure_ascii=False)} instead of " \
                       f"{json.dumps(step.get('answer'), ensure_ascii=False)}"
        code = server.end()
        return None if code == 0 else f"exit code {code}"


def costs(server, name):
    """The hints with costs, by line."""
    hints = server.request("textDocument/inlayHint", server.parameters(name, range=whole(server.texts[name])))["result"]
    return {h["position"]["line"] + 1: h["label"] for h in hints if "steps of" in h["label"]}


def human(number):
    """As tdslc prints a number of bytes."""
    units = 0
    while number >= 1000 and units < 6:
        number, units = number / 1000, units + 1
    return f"{int(number)} B" if units == 0 and number == int(number) else f"{number:.3g} {'kMGTPE'[units - 1] if units else ''}B"


def unlike_explain(server, name, plan, tdslc):
    """The difference between the costs and those that `tdslc explain` prints, or None."""
    sizes = [word for size in plan["set"].items() for word in ("--set", "{}={}".format(size[0], int(size[1])))]
    done = subprocess.run([tdslc, "explain", name, "-n", str(plan["ranks"]), "--json", *sizes], cwd=server.folder, capture_output=True, text=True, timeout=60)
    lines = {}
    for row in json.loads(done.stdout)["statements"]:
        known = lines.setdefault(row["line"], [0.0, 0.0])
        known[0] += row["predicted"]["bytes_received_max"]
        known[1] = max(known[1], row["predicted"]["step_bytes_max"])
    wanted = {line: (human(received), human(step)) for line, (received, step) in lines.items() if line < 1 << 20}
    found = {line: tuple(re.fullmatch(r"(.*) received · .* · steps of (.*)", text).groups()) for line, text in costs(server, name).items()}
    return None if wanted == found else f"costs {found} instead of {wanted}"


def protocol(tdslc):
    """Errors of the protocol, which need no document. The first difference as a text, or None."""
    def raw(data):
        done = subprocess.run([tdslc, "lsp"], input=data, capture_output=True, timeout=60)
        return done.returncode, done.stdout.decode(), done.stderr.decode()

    def framed(*messages):
        texts = [m if isinstance(m, str) else json.dumps({"jsonrpc": "2.0", **m}) for m in messages]
        return b"".join(b"Content-Length: %d\r\n\r\n%s" % (len(t.encode()), t.encode()) for t in texts)

    start, stop, leave = {"id": 1, "method": "initialize", "params": {}}, {"id": 9, "method": "shutdown"}, {"method": "exit"}
    cases = [(framed(start, stop, leave), 0, '"result":null'), (framed(start, leave), 1, "capabilities"), (framed(start), 1, "capabilities"),
             (b"Hello\r\n\r\n", 1, "-32700"), (framed("{"), 1, "-32700"), (framed({"id": 1, "method": "textDocument/hover"}), 1, "-32002"),
             (framed(start, {"id": 2, "method": "no/such"}), 1, "-32601"), (framed(start, start), 1, "-32600"),
             (framed(start, {"id": 2, "method": "textDocument/hover", "params": {}}), 1, "-32602"),
             (framed(start, {"id": 2, "method": "textDocument/hover", "params": {"textDocument": {"uri": "file:///x"}}}), 1, "-32602"),
             (framed(start, stop, {"id": 10, "method": "textDocument/hover"}, leave), 0, "-32600"), (b"", 1, "")]
    for number, (data, code, part) in enumerate(cases):
        found = raw(data)
        if found[0] != code or part not in found[1] or found[2]:
            return f"case {number}: {found}"
    return None


def latency(tdslc):
    """Prints the time from an edit to its diagnostics, and the memory, for a program of 300 lines."""
    with tempfile.TemporaryDirectory() as folder:
        server = Server(tdslc, str(Path(folder).resolve()))
        lines = ["input x0: f64[n];"] + [f"let x{k} = 0.5 * x{k - 1} + {k}.0; // step {k}" for k in range(1, 299)] + ["output x298;"]
        server.open("long.tdsl", "\n".join(lines) + "\n")
        server.settle("long.tdsl")
        times = []
        for k in range(100):
            begin = server.texts["long.tdsl"].index("0.5", 40 * k)
            start = time.perf_counter()
            server.edit("long.tdsl", begin, begin + 3, f"0.{k % 10}")
            server.settle("long.tdsl")
            times.append(time.perf_counter() - start)
        status = Path(f"/proc/{server.process.pid}/status").read_text()
        peak = int(status.split("VmHWM:")[1].split()[0]) / 1000
        server.end()
        print(f"lsp: 300 lines, 95 of 100 edits within {1e3 * sorted(times)[94]:.1f} ms; {peak:.0f} MB")


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--tdslc", required=True)
    options.add_argument("--filter", default="")
    options.add_argument("--edits", type=int, default=300)
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--latency", action="store_true")
    options.add_argument("--update", action="store_true")
    given = options.parse_args()
    failed = False

    def report(name, difference):
        nonlocal failed
        failed = failed or difference is not None
        print(f"PASS lsp/{name}" if difference is None else f"FAIL lsp/{name}: {difference}", flush=True)

    def attempt(name, test):
        if given.filter and given.filter not in f"lsp/{name}":
            return
        try:
            report(name, test())
        except (AssertionError, KeyError, OSError, ValueError, subprocess.TimeoutExpired) as error:
            report(name, f"{type(error).__name__}: {error}")

    for path in sorted((HERE / "sessions").glob("*.json")):
        sessions = json.loads(path.read_text())
        for session in sessions:
            attempt(session["name"], lambda s=session: replay(given.tdslc, s, given.update))
        if given.update:
            path.write_text(json.dumps(sessions, ensure_ascii=False, indent=1) + "\n")
    if given.update:
        return 0
    attempt("protocol", lambda: protocol(given.tdslc))
    attempt("edits", lambda: fuzz.edits(given.tdslc, HERE / "programs", given.edits, given.seed))
    if given.latency:
        latency(given.tdslc)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
