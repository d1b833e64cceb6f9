"""Plans: `tdslc explain` for arguments of this process."""
import json
import os
import re
import tempfile
import typing

import numpy as np

from . import toolchain
from .errors import ArgumentError


class Plan(typing.Dict[str, typing.Any]):
    """The JSON of `tdslc explain`. `str()` is its text."""

    text = ""

    @property
    def fits(self) -> bool:
        """Whether the program fits into memory."""
        return bool(self.get("memory", {}).get("fits", True))

    def __str__(self) -> str:
        return self.text


def plan(source: str, given: typing.Mapping[str, typing.Any], ranks: int, memory: typing.Optional[str]) -> Plan:
    """The plan of a program for these inputs and params."""
    words = ["-n", str(ranks)]
    for name, value in sizes(source, given).items():
        words += ["--set", f"{name}={value}"]
    if memory is not None:
        words += ["--memory", memory]
    with tempfile.TemporaryDirectory(prefix="tdsl-explain-") as folder:
        path = os.path.join(folder, "program.tdsl")
        with open(path, "w", encoding="utf-8") as file:
            file.write(source)
        done = toolchain.run(["explain", path, *words, "--json"], folder)
        if done.returncode and not done.stdout.startswith("{"):
            raise ArgumentError(done.stderr.strip())
        result = Plan(json.loads(done.stdout))
        result.text = toolchain.run(["explain", path, *words], folder).stdout
    return result


def sizes(source: str, given: typing.Mapping[str, typing.Any]) -> typing.Dict[str, str]:
    """Params, and the dimensions that arrays have by name."""
    found = {}
    for name, value in given.items():
        if np.ndim(value) == 0:
            found[name] = str(np.asarray(value).item()).lower() if isinstance(value, (bool, np.bool_)) else repr(np.asarray(value).item())
            continue
        declared = re.search(rf"^\s*input {re.escape(name)}\s*:\s*\w+\s*\[([^\]]*)\]", source, re.MULTILINE)
        for extent, actual in zip(declared[1].split(",") if declared else (), np.shape(value)):
            word = extent.replace("sparse", "").strip()
            if re.fullmatch(r"[A-Za-z_]\w*", word):
                found.setdefault(word, str(actual))
    return found
