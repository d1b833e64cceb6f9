"""A copy of the compiler's prefix for tests."""
import re
import shutil
import subprocess
from pathlib import Path


def cheap_prefix(tdslc, optimise, folder):
    """A copy of the compiler's prefix, made of links, whose emitted programs are compiled with other optimisation. Its headers are
    precompiled for that: reading them takes longer than most programs."""
    prefix = Path(shutil.which(tdslc) or tdslc).resolve().parents[1]
    own = Path(folder) / "prefix"
    (own / "lib" / "tdsl").mkdir(parents=True)
    for path in [*prefix.iterdir(), *(prefix / "lib" / "tdsl").iterdir()]:
        if path.name not in ("lib", "toolchain.conf", "precompiled"):
            (own / path.relative_to(prefix)).symlink_to(path)
    text = (prefix / "lib" / "tdsl" / "toolchain.conf").read_text()
    if not re.search(r"(?m)^sanitize = \S", text):  # instrumented code is not optimised at all
        text = re.sub(r"(?m)^(compile_flags = .*?)-O\d", rf"\g<1>{optimise}", text)
    (own / "lib" / "tdsl" / "toolchain.conf").write_text(text)
    if (prefix / "lib" / "tdsl" / "precompiled").exists():
        precompile(own, text)
    return own


def precompile(prefix, toolchain):
    value = dict(re.findall(r"(?m)^(\w+) = (.*?)\s*$", toolchain.replace("${PREFIX}", str(prefix))))
    folder = prefix / "lib" / "tdsl" / "precompiled" / "runtime"
    folder.mkdir(parents=True)
    subprocess.run([value["compiler"], *value["compile_flags"].split(), *value["include_flags"].split(), "-x", "c++-header",
                    prefix / "include" / "tdsl" / "runtime" / "precompiled.h", "-o", folder / "emitted.h.gch"], check=True)
