"""Cases of a conformance file: small programs, each under a heading `//# NAME: SENTENCES`, with their expected results."""
import re
import sys
from pathlib import Path

import numpy as np

DTYPES = {"bool": np.bool_, "i32": np.int32, "i64": np.int64, "f32": np.float32, "f64": np.float64, "c64": np.complex64,
          "c128": np.complex128, "i8": np.int8, "u8": np.uint8, "i16": np.int16, "u16": np.uint16, "u32": np.uint32, "u64": np.uint64, "f16": np.float16}
HEADING = re.compile(r"//# (\w+): *(.*)")
DIRECTIVE = re.compile(r"// (in|np|args|prints|error|warns|stops|usage|file|alone|pending|fault|tolerance|command|shows|exits|absent)(?::(?: |$)(.*))?$")
INPUT = re.compile(r"^\s*input\s+(\w+)\s*:\s*(?:sparse\s+)?(\w+)", re.M)
OUTPUT = re.compile(r"(?:^|[{;])\s*output\s+(\w+)", re.M)
PARAM = re.compile(r"^\s*param\s+(\w+)\s*:\s*(\w+)\s*(?:=\s*(.*?))?;", re.M)


class Case:
    """One program and its expectations."""

    def __init__(self, name, sentences, source, line):
        self.name, self.sentences, self.source, self.line = name, sentences, source, line
        self.given, self.twin, self.args, self.prints, self.warns = [], [], [], [], []
        self.error = self.stops = self.usage = self.pending = self.fault = None
        self.files, self.alone, self.tolerance = {}, False, 0.0
        self.commands, self.shows, self.exits, self.absent = [], [], 0, []
        self.lines = []

    def add(self, line):
        found = DIRECTIVE.fullmatch(line.rstrip()) if not self.lines else None
        if not found:
            self.lines.append(line.rstrip())
            return
        key, value = found[1], found[2] or ""
        if key == "in":
            self.given.append(value)
        elif key == "np":
            self.twin.append(value)
        elif key == "args":
            self.args += value.split()
        elif key == "prints":
            self.prints.append(value)
        elif key == "warns":
            self.warns.append(value)
        elif key in ("error", "stops", "usage", "pending", "fault"):
            setattr(self, key, value)
        elif key == "file":
            name, _, text = value.partition(" ")
            self.files[name] = self.files.get(name, "") + text + "\n"
        elif key in ("shows", "absent"):
            getattr(self, key).append(value)
        elif key == "command":
            self.commands.append(value)
        elif key == "exits":
            self.exits = int(value)
        elif key == "tolerance":
            self.tolerance = float(value)
        else:
            self.alone = True

    @property
    def text(self):
        return "\n".join(self.lines).strip("\n") + "\n"

    @property
    def good(self):
        """Whether the program is expected to finish, so that its values are compared."""
        return not self.commands and self.error is None and self.stops is None and self.usage is None

    @property
    def unsupported(self):
        """Whether the compiler may, or must, reject it for now."""
        return self.pending is not None or self.error == "not-supported"

    @property
    def outputs(self):
        return OUTPUT.findall(self.text)

    def inputs(self):
        """Contents of its input files. Lists take the declared type; arrays keep their own."""
        scope = {"np": np}
        for line in self.given:
            exec(line, scope)
        result = {}
        for name, kind in INPUT.findall(self.text):
            if name in scope:
                value = scope[name]
                result[name] = value if isinstance(value, (np.ndarray, np.generic)) else np.asarray(value, DTYPES[kind])
        return result

    def params(self):
        given = dict(zip((a[2:] for a in self.args[0::2]), self.args[1::2]))
        values = {}
        for name, kind, default in PARAM.findall(self.text):
            text = given.get(name, default)
            try:
                values[name] = text == "true" if kind == "bool" else DTYPES[kind](text.replace("_", ""))
            except ValueError:
                pass
        return values

    def expected(self, inputs):
        """NumPy's results by output."""
        scope = {"np": np, **self.params(), **{k: np.copy(v) if np.ndim(v) else v for k, v in inputs.items()}}
        with np.errstate(all="ignore"):
            exec("\n".join(self.twin), scope)
        return {o: scope[o] for o in self.outputs if o in scope}


def read(path):
    """The cases of a file."""
    path, result = Path(path), []
    for number, line in enumerate(path.read_text().splitlines(), 1):
        found = HEADING.fullmatch(line.rstrip())
        if found:
            result.append(Case(f"{path.stem}/{found[1]}", found[2].split(), path, number + 1))
        elif line.startswith("//#"):
            sys.exit(f"{path}:{number}: a heading is `//# NAME: SENTENCES`")
        elif result:
            result[-1].add(line)
    return result


def read_all(folder):
    return [case for path in sorted(Path(folder).glob("*.tdsl")) for case in read(path)]
