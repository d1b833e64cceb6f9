"""A copy of the compiler's prefix for tests."""
import re
import shutil
import subprocess
from pathlib import Path


def linked_prefix(tdslc, own, change, leave_out=()):
    """A copy of the compiler's prefix, made of links, with a changed toolchain.conf, whose text it gives."""
    prefix = Path(shutil.which(tdslc) or tdslc).resolve().parents[1]
    (own / "lib" / "tdsl").mkdir(parents=True)
    for path in [*prefix.iterdir(), *(prefix / "lib" / "tdsl").iterdir()]:
        if path.name not in ("lib", "toolchain.conf", *leave_out):
            (own / path.relative_to(prefix)).symlink_to(path)
    text = change((prefix / "lib" / "tdsl" / "toolchain.conf").read_text())
    (own / "lib" / "tdsl" / "toolchain.conf").write_text(text)
    return prefix, text


def cheap_prefix(tdslc, optimise, folder):
    """A prefix whose emitted programs are compiled with other optimisation. Its headers are precompiled for that: reading them takes longer
    than most programs."""
    def change(text):
        if re.search(r"(?m)^sanitize = \S", text):  # instrumented code is not optimised at all
            return text
        return re.sub(r"(?m)^(compile_flags = .*?)-O\d", rf"\g<1>{optimise}", text)

    own = Path(folder) / "prefix"
    prefix, text = linked_prefix(tdslc, own, change, ["precompiled"])
    if (prefix / "lib" / "tdsl" / "precompiled").exists():
        precompile(own, text)
    return own


def strict_prefix(tdslc, folder):
    """A prefix whose emitted programs are compiled as users do, and where every warning is an error."""
    own = Path(folder) / "strict"
    linked_prefix(tdslc, own, lambda text: re.sub(r"(?m)^compile_flags = (.*)$", r"compile_flags = \1 " + re.search(r"(?m)^warning_flags = (.*)$", text)[1] + " -Werror", text))
    return own


def precompile(prefix, toolchain):
    value = dict(re.findall(r"(?m)^(\w+) = (.*?)\s*$", toolchain.replace("${PREFIX}", str(prefix))))
    folder = prefix / "lib" / "tdsl" / "precompiled" / "runtime"
    folder.mkdir(parents=True)
    subprocess.run([value["compiler"], *value["compile_flags"].split(), *value["include_flags"].split(), "-x", "c++-header",
                    prefix / "include" / "tdsl" / "runtime" / "precompiled.h", "-o", folder / "emitted.h.gch"], check=True)
