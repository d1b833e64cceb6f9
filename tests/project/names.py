#!/usr/bin/python3
"""The runtime's files can be compiled as a few large ones, like the tree of `tdslc emit --project`: names in unnamed namespaces of one part
are distinct, and differ from those of types in headers. Takes a second, instead of the compilation done by `run.py`.
One line: PASS project/names, or FAIL project/names: why."""
import re
import sys
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TYPE = re.compile(r"(?:template <.*> )?(?:struct|class|enum class|enum|union)(?: \[\[\w+\]\])? (\w+)(?!\w*;)|using (\w+) =")
VALUE = re.compile(r"(?:(?:static|const|constexpr|inline|thread_local|volatile) )*[\w:]+(?:<.*>)?[ *&]+(\w+)(?:\[\w*\])?(?: = |\{|;)")
FUNCTION = re.compile(r"[\w:<>,&*\[\] ]*?[\w>\]][ *&]+(\w+)\((.*)")


def parameters(text):
    """Types of a function's parameters, as far as they are on its first line."""
    return ",".join(re.sub(r"\s*\w+(?: = .*)?$", "", word.split("{")[0].rstrip(") ")) for word in text.split(", "))


def named(path):
    """(namespace, unnamed or not, kind, name) of a file's definitions at the left margin."""
    inside, before = [], ""
    for line in path.read_text().splitlines():
        if opened := re.match(r"(?:inline )?namespace ?([\w:]*) ?\{", line):
            inside.append(opened[1])
        elif re.match(r"\}  // namespace", line) and inside:
            inside.pop()
        elif inside and line[:1] not in (" ", "}", "#", "/", ""):
            where, unnamed = "::".join(word for word in inside if word), "" in inside
            template = before.startswith("template") and not before.startswith("template <>")
            if found := TYPE.match(line):
                if not line.endswith(";") or found[2]:
                    if "<" not in line.split(found[1] or found[2])[1][:1]:  # a specialisation
                        yield where, unnamed, "type", found[1] or found[2]
            elif found := FUNCTION.match(line):
                if line.rstrip().endswith(("{", "}")):
                    yield where, unnamed, "function", f"{found[1]}({parameters(found[2])})" + (" of a template" if template else "")
            elif found := VALUE.match(line):
                yield where, unnamed, "value", found[1]
        if line:
            before = line


def parts(cmake):
    """Parts of the sources, as in the tree's CMake file."""
    text = cmake.read_text()
    left_out = re.search(r'EXCLUDE REGEX "(.*)"', text)[1].replace("\\\\", "\\")
    rest = sorted(p for p in (ROOT / "runtime").rglob("*.cpp") if not re.search(left_out, str(p.relative_to(ROOT))))
    for part in re.search(r"set\(parts (.*)\)", text)[1].split():
        pattern = re.search(rf'set\(in_{part} "(.*)"\)', text)[1].replace("\\\\", "\\")
        own = [p for p in rest if re.search(pattern, str(p.relative_to(ROOT)))]
        rest = [p for p in rest if p not in own]
        yield part, own
    assert not rest, rest


def clashes():
    # A using-directive of a file also applies to the files after it.
    used = {name for path in (ROOT / "runtime").rglob("*.cpp") for name in re.findall(r"(?m)^using namespace (\w+);", path.read_text())}
    seen_as = lambda where: "::".join(word for word in where.split("::") if word not in used)
    of_headers = defaultdict(list)
    for path in (ROOT / "runtime").rglob("*.h"):
        for where, _, what, name in named(path):
            if what == "type":
                of_headers[seen_as(where), name].append(path)
    for part, files in parts(ROOT / "tools/tdslc/project/CMakeLists.txt"):
        assert files, f"the part {part} has no files"
        seen = {}
        for path in files:
            for where, unnamed, what, name in named(path):
                if not unnamed:
                    continue
                key = seen_as(where), what == "function", name
                others = [seen[key]] if seen.get(key, path) != path else of_headers[seen_as(where), name] if what != "function" else []
                seen.setdefault(key, path)
                for other in others:
                    yield f"{name} in {path.relative_to(ROOT)} and {other.relative_to(ROOT)}"


def main():
    found = list(clashes())
    print(f"FAIL project/names: {'; '.join(found)}" if found else "PASS project/names")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
