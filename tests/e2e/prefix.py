"""A compiler prefix for tests of many programs: emitted C++ is compiled with little optimisation."""
import re
import shutil
from pathlib import Path


def cheap_prefix(tdslc, optimise, folder):
    """A copy of the compiler's prefix, made of links, whose emitted programs are compiled with other optimisation."""
    prefix = Path(shutil.which(tdslc) or tdslc).resolve().parents[1]
    own = Path(folder) / "prefix"
    (own / "lib" / "tdsl").mkdir(parents=True)
    for path in [*prefix.iterdir(), *(prefix / "lib" / "tdsl").iterdir()]:
        if path.name not in ("lib", "toolchain.conf"):
            (own / path.relative_to(prefix)).symlink_to(path)
    text = (prefix / "lib" / "tdsl" / "toolchain.conf").read_text()
    (own / "lib" / "tdsl" / "toolchain.conf").write_text(re.sub(r"(?m)^(compile_flags = .*?)-O\d", rf"\g<1>{optimise}", text))
    return own
