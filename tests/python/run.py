#!/usr/bin/env python3
"""The Python module `tdsl`: functions under jit, programs, the cache, magics, the lexer, the wheel. One PASS or FAIL line each; with --long also the
importer's snippets under jit, types by mypy, and the cost of calls as printed numbers."""
import argparse
import importlib.util
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
import traceback
import warnings

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
MODULE = ROOT / "tools/python"
sys.dont_write_bytecode = True
sys.path[:0] = [str(HERE), str(ROOT / "tests/import"), str(MODULE)]
import functions  # noqa: E402
import tdsl  # noqa: E402

RANDOM = np.random.default_rng(1)


class Absent(Exception):
    """A package that a test needs is missing: the reason of a SKIP line."""


def raises(kind, text, action):
    try:
        action()
    except kind as error:
        assert re.search(text, str(error)), f"{error}, not {text}"
        return error
    raise AssertionError(f"no {kind.__name__} with `{text}`")


def test_jit():
    """Results, arrays changed in place, free sizes, one program per types and equalities of extents."""
    smooth = tdsl.jit(functions.smooth)
    raises(tdsl.Error, "has not been called", lambda: smooth.source)
    for shape, steps in (((9, 14), 3), ((9, 14), 0), ((20, 31), 6)):
        a = RANDOM.random(shape)
        wanted = a.copy()
        total = functions.smooth(wanted, steps)
        assert np.isclose(smooth(a, steps), total, rtol=1e-13) and np.allclose(a, wanted, rtol=1e-13)
    assert len(smooth._variants) == 1 and len(next(iter(smooth._variants.values()))) == 1
    assert "// 8: for t in range(steps):" in smooth.source and "input A: f64[" in smooth.source
    a = RANDOM.random((9, 14))
    assert smooth.verify(a, 4) < 1e-12 and smooth(a, steps=2) == smooth(a.copy(), 0)
    # Extents that are equal by chance: another program when they are not.
    other = tdsl.jit(functions.smooth)
    for array, steps in ((RANDOM.random((14, 14)), 14), (RANDOM.random((14, 14)), 3), (RANDOM.random((6, 14)), 2)):
        functions.smooth(wanted := array.copy(), steps)
        other(array, steps)
        assert np.allclose(array, wanted, rtol=1e-13)
    assert [variant.translated.text.count("[steps, steps]") for variant in next(iter(other._variants.values()))] == [1, 0, 0]
    plan = smooth.explain(np.empty((4000, 5000)), 9, ranks=4, memory="4KiB")
    assert not plan.fits and plan["ranks"] == 4 and smooth.explain(a, 9, ranks=2).fits
    # A constant of the module.
    functions.FACTOR = 0.5
    try:
        functions.smooth(wanted := a.copy(), 2)
        tdsl.jit(functions.smooth)(a, 2)
        assert np.allclose(a, wanted, rtol=1e-13)
    finally:
        functions.FACTOR = 0.25


def test_arrays():
    """Strides, orders, bytes, types and extents of arguments; tuples as results."""
    product = tdsl.jit(threads=2)(functions.product)
    a, b = RANDOM.random((30, 20)), RANDOM.random((20, 40))
    for left, right in ((a, b), (np.asfortranarray(a), b[:, ::-1]), (a[::2], np.ascontiguousarray(b.T).T), (a.astype(">f8"), b), (a[:1], b[:, :1])):
        c, root = product(left, right)
        assert np.allclose(c, left @ right, rtol=1e-13) and np.isclose(root, np.sqrt(left).sum(), rtol=1e-13) and c.flags.writeable
    assert product(np.zeros((0, 20)), b)[0].shape == (0, 40)
    scaled = tdsl.jit(functions.scaled)
    for x, a in ((RANDOM.random(7), 3.0), (np.arange(5.0)[::-2], np.float64(2)), (np.array(4.0), 2.0), (RANDOM.random((2, 3)), np.array(1.5))):
        assert np.allclose(scaled(x, a), a * x, rtol=1e-15)
    assert scaled(np.arange(4.0))[3] == 6.0 and "param a: f64 = 2.0;" in scaled.source
    single = scaled(np.ones(3, np.float32))
    assert single.dtype == np.float32, single.dtype


def test_halves():
    """Floats of two bytes: bf16 as raw bytes, as ml_dtypes stores it."""
    with tdsl.compile(source="input h: f16[n];\ninput b: bf16[m];\noutput stored = h;\noutput total = sum(h);\noutput wide = f32(b);\noutput narrow = bf16(h);\n") as program:
        h, b = np.float16([0.1, -2.5, 65504.0]), np.array([0x3F80, 0xC049], np.uint16).view("V2")
        result = program(h=h, b=b)
        assert result.stored.dtype == np.float16 and np.array_equal(result.stored, h) and np.isclose(result.total, h.astype(np.float64).sum(), rtol=1e-6)
        assert np.array_equal(result.wide, np.float32([1.0, -3.140625])) and result.narrow.view(np.uint16).tolist() == [0x3DCD, 0xC020, 0x4780]
        raises(tdsl.ArgumentError, "declared bf16, but the array holds float32", lambda: program(h=h, b=np.float32([1.0, 2.0])))
        raises(tdsl.ArgumentError, "declared f16, but the array holds float32", lambda: program(h=np.float32([1.0]), b=b))


def test_repeated_calls():
    """Calls of one layout: other elements and addresses, arrays that cannot be written, other numbers of iterations; every result has its own memory."""
    product = tdsl.jit(threads=1)(functions.product)
    pool, b = RANDOM.random((50, 20)), RANDOM.random((20, 40))
    frozen = pool[4:34].copy()
    frozen.flags.writeable = False
    lefts = [pool[:30], pool[1:31], frozen, pool[:30], pool[9:39]]
    results = [product(left, b) for left in lefts]
    for left, (c, root) in zip(lefts, results):
        assert np.allclose(c, left @ b, rtol=1e-13) and np.isclose(root, np.sqrt(left).sum(), rtol=1e-13)
    results[0][0][:] = 0.0
    assert np.allclose(results[3][0], lefts[3] @ b, rtol=1e-13)
    scaled, smooth = tdsl.jit(threads=1)(functions.scaled), tdsl.jit(threads=1)(functions.smooth)
    for call in range(9):
        x, factor, a = RANDOM.random(5), (3.0, 0.5, 3.0)[call % 3], RANDOM.random((6, 7))
        assert np.allclose(scaled(x, factor), factor * x, rtol=1e-15) and np.allclose(scaled(x, np.array(x[0])), x[0] * x, rtol=1e-15)
        total = functions.smooth(wanted := a.copy(), call % 2)
        assert np.isclose(smooth(a, call % 2), total, rtol=1e-13) and np.allclose(a, wanted, rtol=1e-13)
    raises(tdsl.RunError, "a is positive", lambda: scaled(x, -1.0))
    assert np.allclose(scaled(x, 3.0), 3.0 * x, rtol=1e-15)
    halved = tdsl.compile(source="input x: f64[n];\nvar y = x;\nwhile max(y) > 1.0 { y = 0.5 * y; }\noutput y;\n", threads=1)
    for largest in (8.0, 8.0, 100.0, 0.5, 8.0, 100.0):
        x = np.array([0.25, largest, -3.0])
        y = halved(x=x).y
        assert y.max() <= 1.0 and np.array_equal(y, x / 2 ** max(0, int(np.ceil(np.log2(largest))))), (largest, y)
    assert halved(x=np.array([0.5])).y.shape == (1,) and all(halved(x=np.zeros(3)).y == 0.0)


def test_errors():
    """Places in Python with carets, in the program, arguments; NumPy as a fallback."""
    error = raises(tdsl.TranslationError, r"functions.py:\d+:9: error: np.unwrap is not translated \[import-name\]\n.*np.unwrap\(x\)\n +\| +\^",
                   lambda: tdsl.jit(functions.turned)(np.arange(4.0)))
    assert error.places[0].line == functions.turned.__code__.co_firstlineno + 1
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        turned = tdsl.jit(functions.turned, fallback=True)
        assert np.array_equal(turned(np.arange(4.0)), functions.turned(np.arange(4.0))) and turned(np.arange(3.0)) is not None
    assert len(caught) == 1 and "functions.py:" in str(caught[0].message)
    raises(tdsl.TranslationError, "only a function at the top level", lambda: tdsl.jit(functions.outer())(np.ones(3)))
    error = raises(tdsl.RunError, "a is positive.*functions.py:", lambda: tdsl.jit(functions.scaled)(np.ones(3), -1.0))
    assert error.id == "assertion" and error.line > 0 and error.python_line == functions.scaled.__code__.co_firstlineno + 1
    error = raises(tdsl.CompileError, r"program.tdsl:2:\d+: error: .*\n +2 \| let b = c;\n +\| +\^", lambda: tdsl.compile(source="input a: f64[n];\nlet b = c;\noutput b;\n"))
    assert error.diagnostics[0]["line"] == 2
    raises(TypeError, "a file, or source", lambda: tdsl.compile())
    raises(tdsl.CompileError, "No such file", lambda: tdsl.compile("none.tdsl"))
    a = RANDOM.random((9, 14))
    smooth = tdsl.jit(functions.smooth)
    a.flags.writeable = False
    raises(tdsl.ArgumentError, "cannot be written", lambda: smooth(a, 1))


def test_compile():
    """Named results, params, chosen outputs, given arrays, files."""
    text = "param lambda_: f64 = 0.5;\ninput X: f64[n, m];\nlet G[i, j] = sum[k](X[k, i] * X[k, j]) * lambda_;\noutput G;\noutput keys = sum(X);\noutput count = sum(X, axis=0);\n"
    x = RANDOM.random((12, 5))
    with tdsl.compile(source=text, threads=1) as program:
        result = program(X=x)
        assert np.allclose(result.G, 0.5 * x.T @ x, rtol=1e-13) and result["G"] is result[0] and np.allclose(result.count, x.sum(axis=0))
        assert set(dict(result)) == {"G", "keys", "count"} and len(result) == 3 and np.isclose(result["keys"], x.sum())
        raises(AttributeError, "there is no result H; results: G, keys, count", lambda: result.H)
        assert np.allclose(program({"X": x}, params={"lambda_": 1.0}, outputs=["G"]).G, x.T @ x) and program(X=x, outputs=["count"]).names == ("count",)
        target = np.empty((5, 5), order="F")
        assert program(X=x, lambda_=2.0, out={"G": target}).G is target and np.allclose(target, 2 * x.T @ x)
        raises(tdsl.ArgumentError, "no output H", lambda: program(X=x, outputs=["H"]))
        raises(tdsl.ArgumentError, "convert it with astype", lambda: program(X=x.astype(complex)))
        raises(tdsl.ArgumentError, "the array for it holds float32", lambda: program(X=x, out={"G": np.empty((5, 5), np.float32)}))
        raises(tdsl.OutOfMemory, "--memory|memory", lambda: tdsl.compile(source=text, memory="1KiB")(X=RANDOM.random((400, 300))))
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "twice.tdsl"
        path.write_text("input x: f64[n];\noutput y = 2.0 * x;\n")
        assert np.array_equal(tdsl.compile(path)(x=np.arange(3.0)).y, [0, 2, 4])
        path.write_text("input x: f64[n];\noutput y = 3.0 * x;\n")
        assert np.array_equal(tdsl.compile(path)(x=np.arange(3.0)).y, [0, 3, 6])


def test_cache():
    """One build for many askers; the least recently used go; a second process neither translates nor builds."""
    made = []

    def make(work):
        made.append(work)
        time.sleep(0.2)
        pathlib.Path(work, "x").write_bytes(bytes(1000))

    threads = [threading.Thread(target=lambda: tdsl.cache.entry("one", make)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(made) == 1 and os.path.isfile(os.path.join(tdsl.cache.folder(), "one", "x"))
    folder, limit = os.environ["XDG_CACHE_HOME"], tdsl.cache.LIMIT
    with tempfile.TemporaryDirectory() as other:
        os.environ["XDG_CACHE_HOME"], tdsl.cache.LIMIT = other, 2500
        try:
            paths = []
            for number in range(3):
                paths.append(tdsl.cache.entry(str(number), make))
                os.utime(paths[-1], (number, number))
            assert [os.path.exists(path) for path in paths] == [False, True, True]
            raises(OSError, "full", lambda: tdsl.cache.entry("bad", _failing))
            assert sorted(os.listdir(tdsl.cache.folder())) == ["1", "2"]
            tdsl.cache.clear()
            assert not os.path.exists(tdsl.cache.folder())
        finally:
            os.environ["XDG_CACHE_HOME"], tdsl.cache.LIMIT = folder, limit
    code = ("import sys, numpy as np, tdsl, functions, time\n"
            "begin = time.perf_counter()\n"
            "tdsl.jit(functions.smooth)(np.ones((9, 14)), 3)\n"
            "print(time.perf_counter() - begin, [name for name in sys.modules if name.startswith('tdsl.importer')])")
    shown = [subprocess.run([sys.executable, "-c", code], env={**os.environ, "PYTHONPATH": f"{HERE}:{MODULE}"}, capture_output=True, text=True) for _ in range(2)]
    assert shown[1].stdout.strip().endswith("[]"), shown[1].stdout + shown[1].stderr
    return f"first call of a second process: {1000 * float(shown[1].stdout.split()[0]):.0f} ms"


def test_interrupt():
    """Ctrl-C ends a run, and the program goes on."""
    text = "param steps: i64;\ninput A: f64[n, n];\nvar X = A;\nfor t in 0..steps { X = 0.5 * (X @ A); }\noutput X;\n"
    a = np.eye(200)
    with tdsl.compile(source=text) as program:
        program(A=a, steps=1)
        timer = threading.Timer(0.5, lambda: os.kill(os.getpid(), signal.SIGINT))
        timer.start()
        raises(KeyboardInterrupt, "", lambda: program(A=a, steps=10**9))
        timer.join()
        assert np.array_equal(program(A=a, steps=2).X, a / 4)


def _failing(work):
    raise OSError("full")


def test_magic():
    """Cells with the notebook's arrays, in this process and on ranks."""
    class Shell:
        user_ns = {"x": RANDOM.random(6), "a": 3}

        def register_magic_function(self, function, magic_kind):
            setattr(self, f"{magic_kind}_{function.__name__}", function)

    shell = Shell()
    tdsl.load_ipython_extension(shell)
    cell = "param a: i64 = 1;\ninput x: f64[n];\noutput y = f64(a) * x;\noutput total = sum(x);\n"
    raises(tdsl.Error, "no %%tdsl cell", lambda: shell.line_tdsl_explain(""))
    shell.cell_tdsl("", cell)
    assert np.allclose(shell.user_ns["y"], 3 * shell.user_ns["x"]) and np.isclose(shell.user_ns["total"], shell.user_ns["x"].sum())
    shell.cell_tdsl("-n 2 --in x --out y", cell)
    assert np.allclose(shell.user_ns["y"], shell.user_ns["x"])
    shell.line_tdsl_explain("-n 2")
    raises(tdsl.ArgumentError, "the notebook has no z", lambda: shell.cell_tdsl("--in z", cell))


def test_lexer():
    """Colours of samples: no character is an error."""
    try:
        from pygments.token import Error
    except ImportError:
        raise Absent("pygments is not installed (python3-pygments)") from None
    from tdsl.pygments import TdslLexer

    for sample in sorted((ROOT / "samples").glob("*.tdsl")):
        wrong = [text for kind, text in TdslLexer().get_tokens(sample.read_text()) if kind is Error]
        assert not wrong, f"{sample.name}: {wrong}"


def test_version():
    found = re.search(r"project\(tdsl VERSION ([\d.]+)", (ROOT / "CMakeLists.txt").read_text())
    assert found and tdsl.__version__ == found[1], f"{tdsl.__version__} is not that of CMakeLists.txt"


def test_wheel():
    """A wheel that any interpreter installs, with all modules."""
    for module in ("setuptools", "wheel", "pip"):
        if importlib.util.find_spec(module) is None:
            raise Absent(f"{module} is not installed (python3-{module})")
    with tempfile.TemporaryDirectory() as folder:
        copy = pathlib.Path(folder) / "source"
        subprocess.run(["cp", "-rL", str(MODULE), str(copy)], check=True)
        done = subprocess.run([sys.executable, "-m", "pip", "wheel", "--no-index", "--no-build-isolation", "--no-deps", "-w", folder, str(copy)], capture_output=True, text=True)
        wheels = list(pathlib.Path(folder).glob("tdsl-*-py3-none-any.whl"))
        assert done.returncode == 0 and len(wheels) == 1, done.stdout + done.stderr
        target = pathlib.Path(folder) / "site"
        done = subprocess.run([sys.executable, "-m", "pip", "install", "--no-index", "--no-deps", "--target", str(target), str(wheels[0])], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        assert (target / "tdsl/py.typed").is_file() and {p.name for p in (MODULE / "tdsl/importer").glob("*.py")} <= {p.name for p in (target / "tdsl/importer").iterdir()}


def test_types():
    """`mypy --strict` on the module."""
    mypy = os.environ.get("TDSL_MYPY", "mypy")
    try:
        done = subprocess.run([mypy, "--config-file", "pyproject.toml", "--cache-dir", os.devnull, "-p", "tdsl"], cwd=MODULE, capture_output=True, text=True)
    except OSError:
        raise Absent("mypy is not installed") from None
    assert done.returncode == 0, done.stdout + done.stderr


def snippet_cases():
    spec = importlib.util.spec_from_file_location("import_run", ROOT / "tests/import/run.py")
    importer_tests = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(importer_tests)
    import snippets

    for name, node in importer_tests.source.Script(snippets.__file__).functions.items():
        def test(name=name, node=node):
            compiled = tdsl.jit(getattr(snippets, name))
            for arguments in importer_tests.examples(node):
                for values in functions.varied(arguments):
                    compiled.verify(**values)
        yield f"snippets/{name}", test


def cost_of_calls():
    """Microseconds of a call, for a person to read."""
    product = tdsl.jit(functions.product)
    a, b = RANDOM.random((4, 4)), RANDOM.random((4, 4))
    product(a, b)
    seconds = []
    for _ in range(300):
        begin = time.perf_counter()
        product(a, b)
        seconds.append(time.perf_counter() - begin)
    print(f"    a call of a 4x4 product: {1e6 * sorted(seconds)[len(seconds) // 2]:.0f} us")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tdslc", default=str(ROOT / "build/release/bin/tdslc"))
    parser.add_argument("--filter", default="")
    parser.add_argument("--long", action="store_true")
    options = parser.parse_args()
    os.environ["TDSLC"] = options.tdslc
    np.seterr(all="ignore")
    cases = [(name[5:], test) for name, test in sorted(globals().items()) if name.startswith("test_")]
    if not options.long:
        cases = [(name, test) for name, test in cases if name not in ("types", "wheel")]
    failed = False
    with tempfile.TemporaryDirectory(prefix="tdsl-python-") as folder:
        os.environ["XDG_CACHE_HOME"] = folder
        for name, test in [*cases, *(snippet_cases() if options.long else ())]:
            if options.filter not in f"python/{name}":
                continue
            try:
                told = test()
                print(f"PASS python/{name}" + (f"\n    {told}" if told else ""), flush=True)
            except Absent as reason:
                print(f"SKIP python/{name} {reason}", flush=True)
            except Exception as error:
                failed = True
                line = traceback.extract_tb(error.__traceback__)[-1]
                print(f"FAIL python/{name}\n    {type(error).__name__}: {error}\n    {line.filename}:{line.lineno}: {line.line}", flush=True)
        if options.long:
            cost_of_calls()
    sys.exit(failed)


if __name__ == "__main__":
    main()
