"""A copy of the compiler's prefix for tests."""
import os
import re
import shutil
import subprocess
from pathlib import Path


def prefix_of(tdslc):
    """The compiler's prefix: TDSL_HOME, or the parent of its folder."""
    return Path(os.environ.get("TDSL_HOME") or Path(shutil.which(tdslc) or tdslc).resolve().parents[1])


def instrumented(tdslc):
    """Whether emitted programs are compiled with sanitizers."""
    return re.search(r"(?m)^sanitize = \S", (prefix_of(tdslc) / "lib" / "tdsl" / "toolchain.conf").read_text()) is not None


def linked_prefix(tdslc, folder, change, without=()):
    """A copy of the compiler's prefix, made of links, with a toolchain.conf obtained by applying `change` to the original text."""
    prefix = prefix_of(tdslc)
    own = Path(folder) / "prefix"
    (own / "lib" / "tdsl").mkdir(parents=True)
    for path in [*prefix.iterdir(), *(prefix / "lib" / "tdsl").iterdir()]:
        if path.name not in ("lib", "toolchain.conf", *without):
            (own / path.relative_to(prefix)).symlink_to(path)
    (own / "lib" / "tdsl" / "toolchain.conf").write_text(change((prefix / "lib" / "tdsl" / "toolchain.conf").read_text()))
    return own


def cheap_prefix(tdslc, optimise, folder):
    """A copy whose emitted programs are compiled with another optimisation level. Its headers are precompiled for it: parsing them takes
    longer than most programs."""
    def changed(text):
        if instrumented(tdslc):  # not optimised at all
            return text
        return re.sub(r"(?m)^(compile_flags = .*?)-O\d", rf"\g<1>{optimise}", text)
    own = linked_prefix(tdslc, folder, changed, without=("precompiled",))
    if (prefix_of(tdslc) / "lib" / "tdsl" / "precompiled").exists():
        subprocess.run([tdslc, "--configure", "-o", own / "lib" / "tdsl" / "precompiled"], check=True, stdout=subprocess.DEVNULL,
                       env={**os.environ, "TDSL_HOME": str(own)})
    return own


def strict_prefix(tdslc, folder):
    """A prefix whose emitted programs are compiled as for users, with warnings as errors."""
    def strict(text):
        flags = re.search(r"(?m)^warning_flags = (.*)$", text)[1]
        return re.sub(r"(?m)^compile_flags = (.*)$", rf"compile_flags = \1 {flags} -Werror", text)
    return linked_prefix(tdslc, Path(folder) / "strict", strict)
