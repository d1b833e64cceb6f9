#!/usr/bin/python3
"""Folders include only folders below them: the parts of the compiler, and those of `codegen`.
One line: PASS project/layers, or FAIL project/layers: why."""
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PARTS = {
    "runtime": set(),
    "ir": {"runtime"},
    "frontend": {"ir", "runtime"},
    "passes": {"ir", "runtime"},
    "codegen": {"ir", "runtime"},
}
CODEGEN = ["plugin", "clang", "operations", "walk", "nest", "loops", "lower", "print", "relations"]  # lowest first


def upward(path):
    """Includes of a file that name a folder above its own."""
    part, folder = path.parts[0], path.parts[1]
    for included in re.findall(r'(?m)^#include "([^"]+)"', (ROOT / path).read_text()):
        other = included.split("/")
        if other[0] in PARTS and other[0] != part and other[0] not in PARTS[part]:
            yield f"{path} includes {included}"
        if part == other[0] == "codegen" and folder in CODEGEN and len(other) > 2:
            if CODEGEN.index(other[1]) > CODEGEN.index(folder):
                yield f"{path} includes {included}"


def main():
    files = [p.relative_to(ROOT) for part in PARTS for p in sorted((ROOT / part).rglob("*")) if p.suffix in (".h", ".cpp")]
    assert files
    found = [line for path in files for line in upward(path)]
    print(f"FAIL project/layers: {'; '.join(found)}" if found else "PASS project/layers")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
