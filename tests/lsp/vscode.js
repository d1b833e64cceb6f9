// Run by editors.py: vscode.js EXTENSION TDSLC PROGRAM. Activates the extension with a module that stands in for the editor, opens the
// program, and waits for its diagnostics.
const fs = require("fs");
const Module = require("module");
const path = require("path");

const [bundle, tdslc, program] = process.argv.slice(2);
const settings = { path: tdslc, plan: null };

class Disposable {
  constructor(call) { this.call = call; }
  dispose() { if (this.call) this.call(); }
  static from() { return new Disposable(); }
}
class EventEmitter {
  constructor() { this.listeners = []; this.event = (l) => (this.listeners.push(l), new Disposable()); }
  fire(value) { for (const l of this.listeners) l(value); }
  dispose() {}
}
class Uri {
  constructor(p) { this.scheme = "file"; this.path = p; this.fsPath = p; this.authority = ""; this.query = ""; this.fragment = ""; }
  toString() { return "file://" + this.path; }
  with() { return this; }
  static file(p) { return new Uri(p); }
  static parse(text) { return new Uri(decodeURIComponent(text.replace("file://", ""))); }
}
class Position { constructor(line, character) { Object.assign(this, { line, character }); } }
class Range {
  constructor(a, b, c, d) {
    this.start = d === undefined ? a : new Position(a, b);
    this.end = d === undefined ? b : new Position(c, d);
  }
}
class Diagnostic { constructor(range, message, severity) { Object.assign(this, { range, message, severity }); } }

class CancellationTokenSource {
  constructor() { this.token = { isCancellationRequested: false, onCancellationRequested: () => new Disposable() }; }
  cancel() { this.token.isCancellationRequested = true; }
  dispose() {}
}

const shown = [];
const document = {
  uri: Uri.file(program), fileName: program, languageId: "tdsl", version: 1, isClosed: false,
  getText: () => fs.readFileSync(program, "utf8"),
};
const known = {
  CancellationTokenSource, Disposable, EventEmitter, Uri, Position, Range, Diagnostic, Location: class {}, version: "1.82.0",
  DiagnosticSeverity: { Error: 0, Warning: 1, Information: 2, Hint: 3 },
  workspace: {
    textDocuments: [document], notebookDocuments: [], workspaceFolders: undefined,
    getConfiguration: () => ({ get: (name) => settings[name], inspect: () => undefined }),
  },
  languages: {
    match: () => 10,
    createDiagnosticCollection: () => ({
      set: (uri, found) => shown.push(...(found || [])), delete() {}, clear() {}, dispose() {}, forEach() {}, get() {}, has() {},
    }),
  },
  window: {
    showErrorMessage: (text) => { console.error(text); process.exit(1); }, visibleTextEditors: [], tabGroups: { all: [] },
    createOutputChannel: () => ({ append() {}, appendLine() {}, show() {}, clear() {}, dispose() {}, replace() {} }),
  },
  env: { appName: "stub", language: "en" },
};

/// What is not listed above: classes, functions and events without effect.
function standIn(values) {
  return new Proxy(values, {
    get(target, name) {
      if (name in target || typeof name === "symbol") return target[name];
      const first = String(name)[0];
      if (first === first.toUpperCase()) return (target[name] = class {});
      return (target[name] = () => standIn(new Disposable()));
    },
  });
}
for (const part of ["workspace", "languages", "window"]) known[part] = standIn(known[part]);
known.commands = standIn({ registerCommand: () => new Disposable() });
const load = Module._load;
Module._load = (request, ...rest) => (request === "vscode" ? standIn(known) : load(request, ...rest));

const extension = require(path.resolve(bundle));
const subscriptions = [];
extension.activate({ subscriptions }).then(() => {
  const end = Date.now() + 30000;
  const timer = setInterval(async () => {
    const found = shown.some((d) => /missing `;`/.test(d.message));
    if (!found && Date.now() < end) return;
    clearInterval(timer);
    await extension.deactivate();
    if (!found) console.error("no diagnostic: " + JSON.stringify(shown));
    process.exit(found ? 0 : 1);
  }, 50);
}).catch((error) => { console.error(error); process.exit(1); });
