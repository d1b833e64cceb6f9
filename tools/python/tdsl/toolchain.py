"""Finds and runs `tdslc`."""
import functools
import hashlib
import json
import os
import re
import shutil
import subprocess
import typing

from .errors import CompileError, underlined


def compiler() -> str:
    """The tdslc that runs this, that of TDSL_HOME, of the same prefix, or in PATH."""
    if os.environ.get("TDSLC"):
        return os.environ["TDSLC"]
    own = os.path.abspath(os.path.join(os.path.dirname(__file__), *[".."] * 4))
    for prefix in (os.environ.get("TDSL_HOME"), own):
        path = os.path.join(prefix, "bin", "tdslc") if prefix else ""
        if path and os.access(path, os.X_OK):
            return path
    return shutil.which("tdslc") or "tdslc"


@functools.lru_cache(maxsize=None)
def stamp(tdslc: str) -> str:
    """What changes with the compiler and its runtime, read without running it."""
    path = os.path.realpath(shutil.which(tdslc) or tdslc)
    prefix = os.environ.get("TDSL_HOME") or os.path.dirname(os.path.dirname(path))
    text = path
    for file in (path, os.path.join(prefix, "lib/tdsl/libtdsl_rt.a"), os.path.join(prefix, "lib/tdsl/toolchain.conf")):
        try:
            status = os.stat(file)
            text += f"\n{status.st_size} {status.st_mtime_ns}"
        except OSError:
            text += "\n-"
    return hashlib.sha256(text.encode()).hexdigest()


def run(words: typing.Sequence[str], folder: typing.Optional[str] = None) -> "subprocess.CompletedProcess[str]":
    """Runs tdslc. Raises CompileError if there is none."""
    try:
        return subprocess.run([compiler(), *words], cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    except OSError as error:
        raise CompileError(f"{compiler()} cannot be run: {error.strerror}; name tdslc in the variable TDSLC, or its prefix in TDSL_HOME") from None


def build_library(program: str, folder: str, name: str, native: bool) -> None:
    """`tdslc build --library` of a program file into a folder. Raises CompileError."""
    words = ["build", "--library", program, "-o", os.path.join(folder, name)]
    done = run(words + (["--native"] if native else []))
    if done.returncode:
        raise rejection(program, done.stderr)


def rejection(program: str, message: str) -> CompileError:
    """The error for a program that was not built, with the compiler's diagnostics."""
    done = run(["check", "--json", program])
    try:
        found = [record for record in json.loads(done.stdout or "[]") if record["severity"] == "error"]
    except ValueError:
        found = []
    if not found:
        return CompileError(re.sub(r"\s+$", "", message))
    texts = []
    for record in found:
        file = record.get("file", program)
        try:
            with open(file if os.path.isabs(file) else os.path.join(os.path.dirname(program), file), encoding="utf-8") as source:
                lines = source.read().splitlines()
        except (OSError, UnicodeDecodeError):
            lines = []
        end = record.get("end_column") if record.get("end_line", record["line"]) == record["line"] else None
        texts.append(f"{os.path.basename(file)}:{record['line']}:{record['column']}: error: {record['message']} [{record['id']}]"
                     + underlined(lines, record["line"], record["column"], end))
    return CompileError("\n".join(texts), found)
