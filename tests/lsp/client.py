"""A client of `tdslc lsp`: documents, requests, and answers as short texts."""
import json
import os
import re
import select
import subprocess
import time
from urllib.parse import quote, unquote

TOKEN_TYPES = ["variable", "parameter", "function", "typeParameter", "property", "type"]
TOKEN_MODIFIERS = ["declaration", "readonly", "modification", "defaultLibrary"]
LIMIT = 60  # seconds without an answer


def units(text):
    """UTF-16 code units of a text."""
    return len(text.encode("utf-16-le")) // 2


def cut(line, begin, end=None):
    """The part of a line between two UTF-16 positions."""
    return line.encode("utf-16-le")[2 * begin:None if end is None else 2 * end].decode("utf-16-le", "replace")


class Server:
    def __init__(self, tdslc, folder, options=None):
        self.folder = str(folder)
        self.process = subprocess.Popen([tdslc, "lsp", "--stdio"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.buffer = b""
        self.number = 0
        self.texts, self.versions, self.diagnostics, self.messages = {}, {}, {}, []
        self.refreshes = 0
        self.prefix = os.path.dirname(os.path.dirname(os.path.realpath(tdslc)))
        capabilities = {"workspace": {"inlayHint": {"refreshSupport": True}}}
        self.capabilities = self.request("initialize", {"processId": None, "rootUri": self.uri(""), "capabilities": capabilities,
                                                        "initializationOptions": options or {}})["result"]["capabilities"]
        self.notify("initialized", {})

    # messages

    def send(self, message):
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        self.process.stdin.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)
        self.process.stdin.flush()

    def notify(self, method, params):
        self.send({"method": method, "params": params})

    def receive(self, limit=LIMIT):
        """The next message; None after `limit` seconds."""
        end = time.monotonic() + limit
        while True:
            head, found, rest = self.buffer.partition(b"\r\n\r\n")
            if found:
                length = int(re.search(rb"Content-Length: (\d+)", head)[1])
                if len(rest) >= length:
                    self.buffer = rest[length:]
                    return json.loads(rest[:length])
            if not select.select([self.process.stdout], [], [], max(0, end - time.monotonic()))[0]:
                return None
            more = os.read(self.process.stdout.fileno(), 65536)
            assert more, f"the server has ended with {self.process.wait()}"
            self.buffer += more

    def note(self, message):
        method = message.get("method")
        if method == "textDocument/publishDiagnostics":
            self.diagnostics[message["params"]["uri"]] = message["params"]
        elif method == "window/logMessage":
            self.messages.append(message["params"]["message"])
        elif method == "workspace/inlayHint/refresh":
            self.refreshes += 1
            self.send({"id": message["id"], "result": None})

    def request(self, method, params):
        self.number += 1
        self.send({"id": self.number, "method": method, "params": params})
        while True:
            message = self.receive()
            assert message is not None, f"no answer to {method}"
            if message.get("id") == self.number and "method" not in message:
                return message
            self.note(message)

    def settle(self, name):
        """Waits for the diagnostics of the document's version."""
        while self.diagnostics.get(self.uri(name), {}).get("version") != self.versions[name]:
            message = self.receive()
            assert message is not None, "no diagnostics"
            self.note(message)
        return self.diagnostics[self.uri(name)]["diagnostics"]

    def await_refresh(self, limit=LIMIT):
        before, end = self.refreshes, time.monotonic() + limit
        while self.refreshes == before:
            message = self.receive(end - time.monotonic())
            assert message is not None, "no plan"
            self.note(message)

    def end(self):
        self.request("shutdown", None)
        self.notify("exit", None)
        return self.process.wait(timeout=LIMIT)

    # documents

    def uri(self, name):
        return "file://" + quote(f"{self.folder}/{name}" if name else self.folder)

    def open(self, name, text=None):
        if text is None:
            with open(f"{self.folder}/{name}", encoding="utf-8", newline="") as file:
                text = file.read()
        self.texts[name], self.versions[name] = text, 1
        self.notify("textDocument/didOpen", {"textDocument": {"uri": self.uri(name), "languageId": "tdsl", "version": 1, "text": text}})

    def edit(self, name, begin, end, text):
        """Replaces the characters from `begin` to `end` of the text."""
        old = self.texts[name]
        self.versions[name] += 1
        change = {"range": {"start": position(old, begin), "end": position(old, end)}, "text": text}
        self.notify("textDocument/didChange", {"textDocument": {"uri": self.uri(name), "version": self.versions[name]}, "contentChanges": [change]})
        self.texts[name] = old[:begin] + text + old[end:]

    def at(self, name, place):
        """The position of `|` in a part of the text, such as `let G| =`."""
        snippet = place.replace("|", "", 1)
        begin = self.texts[name].find(snippet)
        assert begin >= 0, f"{name} has no `{snippet}`"
        return position(self.texts[name], begin + place.index("|"))

    def parameters(self, name, position=None, **more):
        return {"textDocument": {"uri": self.uri(name)}, **({"position": position} if position else {}), **more}

    # answers as texts

    def text_of(self, uri):
        name = self.name_of(uri)
        if name not in self.texts:
            path = unquote(uri[len("file://"):])
            with open(path, encoding="utf-8") as file:
                return file.read()
        return self.texts[name]

    def name_of(self, uri):
        path = unquote(uri[len("file://"):])
        return path[len(self.folder) + 1:] if path.startswith(self.folder + "/") else self.plain(path)

    def plain(self, text):
        """Without the paths of this machine."""
        return text.replace(self.folder + "/", "").replace(self.prefix + "/share/tdsl/stdlib/", "std/")

    def shown(self, value, uri):
        if isinstance(value, dict) and set(value) == {"start", "end"}:
            return self.range(value, uri)
        if isinstance(value, dict) and set(value) == {"line", "character"}:
            return f"{value['line'] + 1}:{value['character'] + 1}"
        if isinstance(value, dict) and set(value) == {"uri", "range"}:
            return f"{self.name_of(value['uri'])} {self.range(value['range'], value['uri'])}"
        if isinstance(value, dict) and "changes" in value:
            return {self.name_of(u): [f"{self.range(e['range'], u)} -> {e['newText']}" for e in edits] for u, edits in value["changes"].items()}
        if isinstance(value, dict):
            return {key: self.shown(v, uri) for key, v in value.items()}
        if isinstance(value, list):
            return [self.shown(v, uri) for v in value]
        return self.plain(value) if isinstance(value, str) else value

    def range(self, value, uri):
        lines = self.text_of(uri).split("\n") + [""]
        (a, b), (c, d) = ((value[k]["line"], value[k]["character"]) for k in ("start", "end"))
        place = f"{a + 1}:{b + 1}-{d + 1}" if a == c else f"{a + 1}:{b + 1}-{c + 1}:{d + 1}"
        return f"{place} `{cut(lines[a], b, d)}`" if a == c else place

    def tokens(self, data, uri):
        lines, found, line, begin = self.text_of(uri).split("\n"), [], 0, 0
        for k in range(0, len(data), 5):
            down, right, length, kind, bits = data[k:k + 5]
            line, begin = line + down, right + (0 if down else begin)
            modifiers = [m for bit, m in enumerate(TOKEN_MODIFIERS) if bits >> bit & 1]
            found.append(" ".join([f"{line + 1}:{begin + 1} `{cut(lines[line], begin, begin + length)}`", TOKEN_TYPES[kind], *modifiers]))
        return found


def position(text, offset):
    line = text.count("\n", 0, offset)
    return {"line": line, "character": units(text[text.rfind("\n", 0, offset) + 1:offset])}
