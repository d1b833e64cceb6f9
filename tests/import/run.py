#!/usr/bin/env python3
"""The importer: every snippet equals NumPy on two examples of different sizes, every refusal has its line and id, the command line has its
exit codes, and random programs equal NumPy. One PASS or FAIL line each."""
import argparse
import ast
import os
import re
import subprocess
import sys
import tempfile
import types
from pathlib import Path

import numpy as np

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.dont_write_bytecode = True
sys.path[:0] = [str(HERE), str(ROOT / "tools/python")]
import generated  # noqa: E402
from tdsl.importer import command, source, translate  # noqa: E402
from tdsl.importer.errors import TranslationError  # noqa: E402
from tdsl.importer.verification import Different  # noqa: E402


_CALLED = ("chosen", "stepped")  # by other functions
IDS = (ROOT / "docs/import.md").read_text()


def arguments(number):
    """Values by name; the sizes of two numbers differ, and no two sizes are close in both."""
    random = np.random.RandomState(number)
    n, m, k = (9, 15, 24) if number == 0 else (11, 21, 16)
    x, y = random.randn(m), 3 * random.randn(m) + 2
    square = random.rand(m, m)
    return {"A": random.randn(n, m), "B": random.randn(m, k), "S": square @ square.T + m * np.eye(m), "x": x, "y": y, "k": random.randint(-9, 9, k),
            "p": random.randint(0, 8, k), "c": random.rand(k) < 0.5, "n": 5 + number, "a": 1.75 - number, "b": 0.5, "f": random.rand(m).astype(np.float32),
            "Z": random.randn(n, m) + 1j * random.randn(n, m), "z": random.randn(m) + 1j * random.randn(m), "T": random.randn(n, 4, 4) + 5 * np.eye(4),
            "h": (random.randn(m) - 2j * random.randn(m)).astype(np.complex64), "image": random.randint(0, 256, (n, m)).astype(np.uint8),
            "input": x, "output": y, "where": 2.0, "u": x, "v": y}


def examples(function):
    """Two examples of the arguments that a function names; those with a default have it."""
    given = len(function.args.args) - len(function.args.defaults)
    names = [argument.arg for argument in function.args.args]
    values = [ast.literal_eval(node) for node in function.args.defaults]
    return [{name: arguments(number)[name] if i < given else values[i - given] for i, name in enumerate(names)} for number in range(2)]


def translated(script, name, idioms=False):
    given = examples(script.functions[name])
    return translate.Translator(script, name, given, idioms).translate(), given


def equal(script, name, tdslc, made=None):
    """An error's text, or an empty one: the function equals its translation, and the one with idioms if that is another."""
    given = made or examples(script.functions[name])
    try:
        literal, shorter = (translate.Translator(script, name, given, idioms).translate() for idioms in (False, True))
    except TranslationError as error:
        return str(error)
    return different(script, name, tdslc, given, literal) or ("" if shorter.text == literal.text else different(script, name, tdslc, given, shorter))


def different(script, name, tdslc, given, translation):
    text = command.program_text(script, name, translation, "test")
    options = types.SimpleNamespace(verify="eval", rtol=None)
    try:
        command.verify({}, translation, script, name, given, tdslc, text, options)
    except Different as error:
        return f"{error}\n{text}"
    return ""


def refused(script, name):
    """An error's text, or an empty one: a function gives the errors that stand behind its lines."""
    node = script.functions[name]
    wanted = [(number, found[1]) for number in range(node.lineno, node.end_lineno + 1)
              if (found := re.search(r"  # (import-\w+)$", script.lines[number - 1]))]
    try:
        translated(script, name)
        got = []
    except TranslationError as error:
        got = [(place.line, place.id) for place in error.places]
    return "" if got == wanted else f"{got} instead of {wanted}"


def command_line(folder, tdslc):
    """Cases of the command line: arguments, exit code, expected output."""
    (folder / "heat.py").write_text("import numpy as np\n\ndef smooth(A, steps):\n    for t in range(steps):\n        A[1:-1] = A[:-2] + A[2:]\n"
                                    "    return A.sum()\n\ndef odd(x):\n    return np.unwrap(x)\n\ndef make(i):\n    return np.ones((7 + 9 * i, 5)), 3\n\n"
                                    "class Model:\n    def fit(self, x):\n        return x\n\n"
                                    "def paths(D):\n    n = len(D)\n    for k in range(n):\n        for i in range(n):\n            for j in range(n):\n"
                                    "                D[i, j] = min(D[i, j], D[i, k] + D[k, j])\n")
    call, other = "smooth(np.ones((17, 23)), 2)", "smooth(np.ones((20, 31)), 3)"
    return [
        (["heat.py::smooth", "--call", call, "-o", "-"], 0, "assumed|// 5: A\\[1:-1\\]"),
        (["heat.py::smooth", "--call", call, "--call", other], 0, "smooth.tdsl: 8 lines, all of `smooth`; 2 examples verified"),
        (["heat.py::smooth", "--shapes", "A=f64[n,m], steps=int", "-o", "s.tdsl", "--json"], 0, '"verified": true'),
        (["heat.py::smooth", "--args", "heat:make", "-o", "s.tdsl"], 0, "2 examples verified"),
        (["heat.py::smooth", "--shapes", "A=f64[n,m], steps=int", "-o", "s.tdsl", "--verify", "no"], 0, "s.tdsl: 8 lines"),
        (["heat.py::odd", "--shapes", "x=f64[n]"], 1, "heat.py:9:12: error: np.unwrap is not translated \\[import-name\\]"),
        (["heat.py", "--list"], 0, "smooth: yes\nodd: 1 place\n(.*\n)*paths: yes\nModel.fit: 1 place\n"),
        (["heat.py::paths", "--call", "paths(np.ones((17, 17)))", "-o", "-"], 0, "assert.*\n *D_now\\[i, j\\] = min"),
        (["heat.py::paths", "--call", "paths(np.ones((17, 17)))", "-o", "-", "--literal"], 0, "for j in 0..n"),
        (["heat.py::paths", "--call", "paths(1.0 - np.eye(17) * 3)", "-o", "-"], 0, "for j in 0..n"),
        (["heat.py::none", "--call", "none()"], 2, "has no function `none`"),
        (["heat.py::smooth"], 2, "--call 'smooth"),
        (["none.py::smooth", "--call", call], 2, "No such file"),
        (["heat.py::smooth", "--call", "smooth(1)"], 2, "missing a required argument"),
        (["heat.py::smooth", "--wrong"], 2, "")]


def command_cases(tdslc):
    environment = {**os.environ, "TDSLC": tdslc, "PYTHONPATH": str(ROOT / "tools/python"), "PYTHONDONTWRITEBYTECODE": "1"}
    with tempfile.TemporaryDirectory(prefix="tdsl-import-test-") as name:
        folder = Path(name)
        for words, code, pattern in command_line(folder, tdslc):
            done = subprocess.run([sys.executable, "-m", "tdsl.importer", *words], cwd=folder, env=environment, capture_output=True, text=True, timeout=120)
            good = done.returncode == code and re.search(pattern, done.stdout + done.stderr)
            yield f"command {' '.join(words)[:60]}", "" if good else f"exit {done.returncode}: {done.stdout}{done.stderr}"


def started_cases(tdslc):
    """`tdslc import` itself: it starts the importer of its prefix, and says what to install without Python."""
    with tempfile.TemporaryDirectory(prefix="tdsl-import-test-") as name:
        folder = Path(name)
        (folder / "half.py").write_text("def half(x):\n    return x / 2\n")
        command_words = [tdslc, "import", "half.py::half", "--shapes", "x=f64[n]"]
        for name, environment, code, pattern in (("starts", {}, 0, "2 examples verified"), ("no python", {"TDSL_PYTHON": "no-such-python"}, 4, "apt install")):
            environment = {**os.environ, "TDSL_PYTHON": sys.executable, **environment}
            done = subprocess.run(command_words, cwd=folder, env=environment, capture_output=True, text=True, timeout=120)
            good = done.returncode == code and pattern in done.stdout + done.stderr
            yield f"command {name}", "" if good else f"exit {done.returncode}: {done.stdout}{done.stderr}"


def same_texts(names):
    """The order of Python's sets does not show in the text."""
    code = ("import sys; sys.path[:0] = sys.argv[1:3]; import run\n"
            "script = run.source.Script(sys.argv[1] + '/snippets.py')\n"
            "for name in sys.argv[3:]: print(run.translated(script, name)[0])")
    texts = [subprocess.run([sys.executable, "-c", code, str(HERE), str(ROOT / "tools/python"), *names], env={**os.environ, "PYTHONHASHSEED": seed},
                            capture_output=True, text=True, timeout=120) for seed in ("1", "2")]
    if texts[0].returncode or not texts[0].stdout:
        return texts[0].stderr
    return "" if texts[0].stdout == texts[1].stdout else "the texts differ"


def unclear(error, script, name):
    """An error's text, or an empty one: each place of a refusal has a line of the functions, a reason, and an id of the page."""
    node, helpers = script.functions[name], [script.functions[helper] for helper in generated.HELPERS]
    for place in error.places:
        within = any(function.lineno <= place.line <= function.end_lineno for function in (node, *helpers))
        if not within or not place.reason or f"`{place.id}`" not in IDS:
            return f"an unclear refusal: {place.line}: {place.reason} [{place.id}]"
    return "" if error.places else "a refusal without a place"


def generated_cases(tdslc, count, seed):
    """Random programs that the importer translates equal NumPy; those it refuses are counted, and name a line and a reason."""
    refusals = 0
    with tempfile.TemporaryDirectory(prefix="tdsl-import-test-") as folder:
        path = Path(folder) / "random_programs.py"
        path.write_text(generated.module(seed, count))
        script = source.Script(str(path))
        for name in script.functions:
            if name in generated.HELPERS:
                continue
            given = [generated.arguments(number) for number in range(2)]
            try:
                translate.Translator(script, name, given).translate()
                error = equal(script, name, tdslc, given)
            except TranslationError as refusal:
                refusals += 1
                error = unclear(refusal, script, name)
            if error:
                lines = script.functions[name]
                error += "\n" + "\n".join(script.lines[lines.lineno - 1:lines.end_lineno])
            yield f"generated {seed}/{name}", error
    yield f"generated {seed}/most are translated", f"{refusals} of {count} are refused" if 2 * refusals > count else ""


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tdslc", default=str(ROOT / "build/release/bin/tdslc"))
    parser.add_argument("--filter", default="")
    parser.add_argument("--every", type=int, default=1, help="of single.py, scripts.py and models.py every N-th function")
    parser.add_argument("--generated", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    snippets, refusals = source.Script(str(HERE / "snippets.py")), source.Script(str(HERE / "refusals.py"))
    np.seterr(all="ignore")
    failed = 0

    def tell(name, error):
        nonlocal failed
        failed += bool(error)
        if error:
            print("    " + error.replace("\n", "\n    "))
        print(f"{'FAIL' if error else 'PASS'} import/{name}", flush=True)

    def chosen(name):
        return options.filter in f"import/{name}"
    single, loops = source.Script(str(HERE / "single.py")), source.Script(str(HERE / "loops.py"))
    for kind, script, every in (("snippets", snippets, 1), ("loops", loops, 1), ("single", single, options.every)):
        for name in [name for name in script.functions if name not in _CALLED][::every]:
            if chosen(f"{kind}/{name}"):
                tell(f"{kind}/{name}", equal(script, name, options.tdslc))
    for kind in ("scripts", "models"):
        script = source.Script(str(HERE / f"{kind}.py"))
        arguments_of = script.module.arguments
        for name in list(arguments_of(0))[::options.every]:
            if chosen(f"{kind}/{name}"):
                made = [translate.bound_arguments(getattr(script.module, name), arguments_of(number)[name], {}) for number in range(2)]
                tell(f"{kind}/{name}", equal(script, name, options.tdslc, made))
    for name in refusals.functions:
        if chosen(f"refusals/{name}") and name not in ("fill", "change", "helper"):
            tell(f"refusals/{name}", refused(refusals, name))
    if chosen("command"):
        for name, error in (*command_cases(options.tdslc), *started_cases(options.tdslc)):
            tell(name, error)
        tell("command same text", same_texts(list(snippets.functions)))
    if chosen("generated"):
        for name, error in generated_cases(options.tdslc, options.generated, options.seed):
            tell(name, error)
    sys.exit(bool(failed))


if __name__ == "__main__":
    main()
