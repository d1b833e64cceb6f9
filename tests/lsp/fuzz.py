"""Random edits and requests. The server must answer every request, with positions inside the text, and the diagnostics after the last edit
must be those of the document when it is closed and opened again."""
import random
import shutil
import tempfile
from pathlib import Path

from client import Server, cut, position, units

PARTS = ["", " ", "\n", "\r\n", ";", "(", ")", "[", "]", "{", "}", "let ", "var q = ", "fn f(x) = x;\n", "for i in 0..n {\n", "import std.linalg;\n",
         "import \"helpers.tdsl\";\n", "// 𝛼 allow(", "/* ü", "*/", "\"", "sum[k](", "x", "n", "0.5", "-", "@ ", "output ", ": f64[n]", "𝛼", "é", "\t",
         "monoid m(a: f64, b: f64) { identity = 0.0; combine = a + b; }\n", "storage ", "extern \"none.hpp\" { }\n", "where ", "if ", "else ", "...", "every 2"]
REQUESTS = ["hover", "definition", "references", "documentHighlight", "prepareRename", "rename", "documentSymbol", "foldingRange", "semanticTokens/full",
            "signatureHelp", "completion", "formatting", "inlayHint", "codeAction"]
EXPECTED_ERRORS = {-32803, -32602}


def ranges(value):
    if isinstance(value, dict):
        if set(value) == {"start", "end"}:
            yield value
        for part in value.values():
            yield from ranges(part)
    elif isinstance(value, list):
        for part in value:
            yield from ranges(part)


def check_ranges(server, name, result):
    """Only the document's own: other files have other texts."""
    lines = server.texts[name].split("\n")
    for found in ranges(result):
        for end in (found["start"], found["end"]):
            assert end["line"] <= len(lines), f"line {end['line']} of {len(lines)}"
            width = units(lines[end["line"]]) if end["line"] < len(lines) else 0
            assert end["character"] <= width, f"character {end['character']} of {width} in line {end['line']}"
        if found["start"]["line"] < len(lines):
            cut(lines[found["start"]["line"]], found["start"]["character"])


def one_edit(server, name, choice):
    text = server.texts[name]
    begin = choice.randrange(len(text) + 1)
    kind = choice.random()
    if kind < 0.5:
        server.edit(name, begin, begin, choice.choice(PARTS))
    elif kind < 0.8:
        server.edit(name, begin, min(len(text), begin + choice.randrange(1, 12)), "")
    else:
        end = min(len(text), begin + choice.randrange(1, 40))
        server.edit(name, begin, end, text[choice.randrange(len(text) + 1):][:choice.randrange(40)])


def one_request(server, name, choice):
    method, text = choice.choice(REQUESTS), server.texts[name]
    where = position(text, choice.randrange(len(text) + 1))
    if choice.random() < 0.05:
        where = {"line": where["line"] + choice.randrange(3), "character": where["character"] + choice.randrange(50)}
    reply = server.request("textDocument/" + method, server.parameters(
        name, where, newName=choice.choice(["q", "n", "sum", "let", "x"]), range={"start": where, "end": where},
        context={"includeDeclaration": True, "diagnostics": []}))
    if "error" in reply:
        assert reply["error"]["code"] in EXPECTED_ERRORS, f"{method}: {reply['error']}"
    elif method not in ("definition", "references", "rename"):
        check_ranges(server, name, reply["result"])


def edits(tdslc, programs, count, seed):
    """Every program gets its share of the edits. The difference as a text, or None."""
    names = sorted(path.name for path in programs.glob("*.tdsl"))
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary).resolve() / "programs"
        shutil.copytree(programs, folder)
        server = Server(tdslc, folder)
        for number, name in enumerate(names):
            choice = random.Random(seed * 1000 + number)
            server.open(name)
            for k in range(count // len(names) + 1):
                if len(server.texts[name]) > 4000 or choice.random() < 0.02:  # back to a program that is nearly right
                    server.edit(name, 0, len(server.texts[name]), (programs / name).read_text(encoding="utf-8"))
                for _ in range(choice.choice([1, 1, 1, 4])):
                    one_edit(server, name, choice)
                if choice.random() < 0.5:
                    one_request(server, name, choice)
                if k % 10 != 9:
                    continue
                found = server.settle(name)
                server.notify("textDocument/didClose", {"textDocument": {"uri": server.uri(name)}})
                server.diagnostics.pop(server.uri(name))
                server.open(name, server.texts[name])
                wanted = server.settle(name)
                if found != wanted:
                    return f"stale diagnostics in {name} of seed {seed}: {found} instead of {wanted}"
                bugs = [m for m in server.messages if "bug" in m]
                if bugs:
                    return f"{name} of seed {seed}: {bugs[0]}"
            server.notify("textDocument/didClose", {"textDocument": {"uri": server.uri(name)}})
        code = server.end()
        return None if code == 0 else f"exit code {code}"
