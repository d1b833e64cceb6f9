"""A translation against NumPy: both on the example arguments."""
import contextlib
import copy
import io
import json
import math
import os
import re
import subprocess
import time

import numpy as np

from ..errors import Different
_LIMIT = 600  # seconds of one program
_CANCELLED = 1e-6  # of the arguments: results below it are what rounding leaves of a difference
TOLERANCE = {"f32": 1e-4, "f64": 1e-9}


def line_of(text, number):
    """The script's line of a line of the program: that of the last comment `// 12: …` in front of it."""
    for line in reversed(text.splitlines()[:number]):
        if found := re.match(r"\s*// (\d+): ", line):
            return int(found[1])
    return 0


def _run(tdslc, arguments, folder):
    command = [tdslc, *arguments]
    try:
        return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=_LIMIT, stdin=subprocess.DEVNULL)
    except OSError as error:
        raise Different(f"{tdslc}: {error.strerror}") from None
    except subprocess.TimeoutExpired:
        raise Different(f"`tdslc {arguments[0]}` takes more than {_LIMIT} s: use smaller examples") from None


def laid_out(tdslc, text):
    """The program in the layout of `tdslc fmt`."""
    try:
        done = subprocess.run([tdslc, "fmt", "-"], input=text, capture_output=True, text=True, timeout=60)
    except (OSError, subprocess.TimeoutExpired):
        return text
    return done.stdout if done.returncode == 0 else text


def checked(tdslc, folder, text):
    """The compiler's warnings, as records. Raises Different for errors."""
    done = _run(tdslc, ["check", "program.tdsl", "--json"], folder)
    try:
        found = json.loads(done.stdout or "[]")
    except ValueError:
        raise Different(f"`tdslc check` fails: {done.stderr.strip()[-300:]}") from None
    errors = [record for record in found if record["severity"] == "error"]
    if errors:
        first = errors[0]
        raise Different(f"line {line_of(text, first['line'])}: the compiler rejects the translation: {first['message']} [{first['id']}]")
    return [{**record, "line": line_of(text, record["line"])} for record in found if record["severity"] == "warning" and record["id"] != "unused-name"]


def reference(function, arguments):
    """What NumPy gives: results and the arguments afterwards, and seconds."""
    given = copy.deepcopy(arguments)
    begin = time.perf_counter()
    with contextlib.redirect_stdout(io.StringIO()):
        result = function(**given) if not _positional(function) else function(*given.values())
    seconds = time.perf_counter() - begin
    return (() if result is None else result if isinstance(result, tuple) else (result,)), given, seconds


def _positional(function):
    code = getattr(function, "__code__", None)
    return code is not None and code.co_posonlyargcount > 0


def compare(translation, function, arguments, tdslc, folder, mode, tolerance):
    """The largest relative difference of one example, seconds of NumPy and of TDSL. Raises Different."""
    try:
        results, after, numpy_seconds = reference(function, arguments)
    except Exception as error:  # whatever the user's function raises
        raise Different(f"the script itself fails: {type(error).__name__}: {error}") from None
    if len(results) != len(translation.results):
        raise Different(f"{len(translation.results)} results instead of {len(results)}")
    for name, given in arguments.items():
        told = name in translation.lost or name in translation.updated.values()
        if isinstance(given, np.ndarray) and not told and not np.array_equal(given, after[name], equal_nan=given.dtype.kind in "fc"):
            raise Different(f"the script changes the array of `{name}`, the translation does not")
    wanted = dict(zip(translation.results, results))
    wanted.update({output: after[parameter] for output, parameter in translation.updated.items()})
    options = []
    for parameter, option in translation.options.items():
        options += ["--set", f"{option}={_given(arguments[parameter], os.path.join(folder, option + '.npy'))}"]
    for output in wanted:
        options += ["--set", f"{output}={os.path.join(folder, output + '.result.npy')}"]
    begin = time.perf_counter()
    done = _run(tdslc, [mode, "program.tdsl", "--", *options], folder)
    seconds = time.perf_counter() - begin
    if done.returncode:
        lines = [line for line in done.stderr.splitlines() if line.strip()] or [f"exit code {done.returncode}"]
        number = next((int(found[1]) for line in lines if (found := re.search(r"program\.tdsl:(\d+)", line))), 0)
        at = f"line {line_of(open(os.path.join(folder, 'program.tdsl')).read(), number)}: " if number else ""
        raise Different(f"{at}`tdslc {mode}` stops: {lines[0][-300:]}")
    worst = 0.0
    for output, want in wanted.items():
        got = np.load(os.path.join(folder, output + ".result.npy"))
        worst = max(worst, difference(output, got, np.asarray(want), tolerance, rounding(arguments)))
    return worst, numpy_seconds, seconds


def rounding(arguments):
    """What rounding may leave of a difference of numbers like these arguments."""
    return _CANCELLED * max((float(np.abs(a[np.isfinite(a)]).max(initial=0.0)) for a in map(np.asarray, arguments.values()) if a.dtype.kind in "fc"), default=0.0)


def _given(value, path):
    """The text of an option: a number, or the file of an array."""
    if isinstance(value, np.ndarray) and value.ndim:
        np.save(path, np.ascontiguousarray(value).astype(value.dtype.newbyteorder("=")))
        return path
    number = np.asarray(value).item()
    if isinstance(number, complex):
        return f"{number.real!r}{'-' if math.copysign(1.0, number.imag) < 0 else '+'}{abs(number.imag)!r}i"
    return str(number).lower() if isinstance(number, bool) else repr(number)


def difference(name, got, want, tolerance, least=0.0):
    """The largest difference relative to the largest element, or to `least` if that is larger."""
    if got.shape != want.shape:
        raise Different(f"`{name}` has shape {got.shape}, not {want.shape}")
    if want.dtype.kind not in "biufc":
        raise Different(f"`{name}` is of type {want.dtype} in NumPy")
    if not want.size:
        return 0.0
    if any((got.dtype.kind == kind) != (want.dtype.kind == kind) for kind in "bfc"):
        raise Different(f"`{name}` is of type {got.dtype}, not {want.dtype}")
    parts = complex if want.dtype.kind == "c" else float
    a, b = got.astype(parts), want.astype(parts)
    special = ~np.isfinite(b)
    same = not np.isfinite(a[special]).any() if parts is complex else np.array_equal(a[special], b[special], equal_nan=True)
    if not same or not np.isfinite(a[~special]).all():
        raise Different(f"`{name}` is infinite or nan in other places")
    scale = max(np.abs(b[~special]).max(initial=0.0), least)
    error = float(np.abs(a - b)[~special].max(initial=0.0) / scale) if scale else float(np.abs(a[~special]).max(initial=0.0))
    limit = tolerance if tolerance is not None else TOLERANCE["f32" if {"float32", "complex64"} & {got.dtype.name, want.dtype.name} else "f64"]
    if want.dtype.kind in "biu":
        limit = 0.0
    if error > limit:
        place = tuple(int(i) for i in np.unravel_index(np.argmax(np.where(special, 0.0, np.abs(a - b))), want.shape))
        raise Different(f"`{name}` differs by {error:.3g}, at {list(place)}: {got[place]!r}, not {want[place]!r}")
    return error
