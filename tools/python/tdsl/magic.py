"""IPython: `%load_ext tdsl`, then `%%tdsl` runs a cell as a program, and `%tdsl_explain` shows its plan."""
import argparse
import os
import re
import shlex
import tempfile
import typing

import numpy as np

from . import compiled, explained, toolchain
from .errors import ArgumentError, Error, RunError

_DECLARED = r"^\s*{}\s+([A-Za-z_]\w*)"
_last = ""


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> typing.NoReturn:
        raise ArgumentError(f"{self.prog}: {message}")


def _options(line: str) -> argparse.Namespace:
    parser = _Parser(prog="%%tdsl", add_help=False)
    parser.add_argument("-n", type=int, default=1)
    parser.add_argument("--in", dest="inputs")
    parser.add_argument("--out", dest="outputs")
    parser.add_argument("--threads", type=int)
    return parser.parse_args(shlex.split(line))


def _declared(source: str, word: str) -> typing.List[str]:
    return re.findall(_DECLARED.format(word), source, re.MULTILINE)


def _given(source: str, listed: typing.Optional[str], names: typing.Mapping[str, typing.Any]) -> typing.Dict[str, typing.Any]:
    """The notebook's values of the program's inputs and params, or of the listed ones. Params that the notebook has not keep their defaults."""
    if listed is not None:
        wanted = [name for name in listed.split(",") if name]
    else:
        wanted = [*_declared(source, "input"), *(name for name in _declared(source, "param") if name in names)]
    missing = [name for name in wanted if name not in names]
    if missing:
        raise ArgumentError(f"the notebook has no {', '.join(missing)}")
    return {name: names[name] for name in wanted}


def run_cell(line: str, cell: str, names: typing.MutableMapping[str, typing.Any]) -> None:
    """`%%tdsl [-n RANKS] [--in A,b] [--out C] [--threads T]`: inputs and params are the notebook's values of these names (default: all that the program
    declares), outputs become values of the notebook (default: all)."""
    global _last
    options = _options(line)
    _last = cell
    given = _given(cell, options.inputs, names)
    wanted = options.outputs.split(",") if options.outputs is not None else None
    if options.n > 1:
        names.update(_on_ranks(options.n, options.threads, cell, given, wanted if wanted is not None else _declared(cell, "output")))
        return
    with compiled.compile(source=cell, threads=options.threads) as program:
        names.update(program(given, outputs=wanted).items())


def _on_ranks(ranks: int, threads: typing.Optional[int], source: str, given: typing.Mapping[str, typing.Any], wanted: typing.Iterable[str]
              ) -> typing.Dict[str, typing.Any]:
    """A run of `tdslc run` with files."""
    with tempfile.TemporaryDirectory(prefix="tdsl-cell-") as folder:
        path = os.path.join(folder, "program.tdsl")
        with open(path, "w", encoding="utf-8") as file:
            file.write(source)
        words = [] if threads is None else ["--threads", str(threads)]
        for name, value in given.items():
            words += ["--set", f"{name}={_file_of(value, os.path.join(folder, name))}"]
        for name in wanted:
            words += ["--set", f"{name}={os.path.join(folder, name + '.result.npy')}"]
        done = toolchain.run(["run", path, "-n", str(ranks), "--", *words], folder)
        if done.returncode:
            checked = toolchain.rejection(path, done.stderr)
            raise checked if checked.diagnostics else RunError(done.stderr.strip())
        print(done.stdout, end="")
        return {name: np.load(os.path.join(folder, name + ".result.npy"))[()] for name in wanted}


def _file_of(value: typing.Any, path: str) -> str:
    """The text of an option: a number, or the file that the value is written to."""
    if hasattr(value, "tocsr") and not isinstance(value, np.ndarray):
        import scipy.sparse

        scipy.sparse.save_npz(path + ".npz", value.tocsr(), compressed=False)
        return path + ".npz"
    if np.ndim(value):
        np.save(path + ".npy", value)
        return path + ".npy"
    number = np.asarray(value).item()
    return str(number).lower() if isinstance(number, bool) else repr(number)


def explain_line(line: str, names: typing.Mapping[str, typing.Any]) -> explained.Plan:
    """`%tdsl_explain [-n RANKS]`: the plan of the last `%%tdsl` cell for the notebook's arrays."""
    if not _last:
        raise Error("there has been no %%tdsl cell")
    options = _options(line)
    return explained.plan(_last, _given(_last, options.inputs, names), options.n, None)


def register(shell: typing.Any) -> None:
    """Adds the magics to an IPython shell."""
    def tdsl(line: str, cell: str) -> None:
        run_cell(line, cell, shell.user_ns)

    def tdsl_explain(line: str) -> None:
        print(explain_line(line, shell.user_ns))

    tdsl.__doc__, tdsl_explain.__doc__ = run_cell.__doc__, explain_line.__doc__
    shell.register_magic_function(tdsl, magic_kind="cell")
    shell.register_magic_function(tdsl_explain, magic_kind="line")
