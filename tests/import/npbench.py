#!/usr/bin/env python3
"""The importer on NPBench's programs, which are not part of this repository: `npbench.py FOLDER [NAME...]` translates each with two
examples of different sizes, compares both with NumPy, and prints a line per program. PASS if at least 50 are verified."""
import argparse
import os
import sys
import tempfile
import time
import types
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.dont_write_bytecode = True
sys.path[:0] = [str(ROOT / "tools/python")]
sys.path.append(str(ROOT / "tools/bench/peers"))  # last: some of its names are common ones
from npbench_peer import arguments, described  # noqa: E402
from tdsl.importer import command, source, translate, verification  # noqa: E402
from tdsl.importer.errors import TranslationError  # noqa: E402

LEAST = 50
SIZES = ((17, 29, 41, 53, 67, 79, 97, 109), (19, 34, 37, 58, 61, 84, 101, 115))
# Programs whose sizes depend on each other, or whose loops are long.
OWN = {"gramschmidt": ({"M": 41, "N": 29}, {"M": 37, "N": 31}), "lenet": ({"N": 2, "H": 24, "W": 28}, {"N": 3, "H": 28, "W": 36}),
       "resnet": ({"N": 2, "H": 14, "W": 17, "C1": 20, "C2": 5}, {"N": 3, "H": 15, "W": 13, "C1": 22, "C2": 6}),
       "conv2d_bias": ({"N": 5, "C_in": 4, "C_out": 6, "K": 3, "H": 19, "W": 23}, {"N": 4, "C_in": 5, "C_out": 7, "K": 3, "H": 17, "W": 26}),
       "mlp": ({"C_in": 3, "N": 17, "S0": 29, "S1": 23, "S2": 37}, {"C_in": 4, "N": 19, "S0": 31, "S1": 26, "S2": 41}),
       "nbody": ({"N": 23, "tEnd": 0.5, "dt": 0.1}, {"N": 27, "tEnd": 0.3, "dt": 0.1}), "nussinov": ({"N": 31}, {"N": 26}),
       "stockham_fft": ({"R": 2, "K": 5}, {"R": 2, "K": 6}), "channel_flow": ({"ny": 17, "nx": 23, "nit": 5}, {"ny": 19, "nx": 26, "nit": 7}),
       "cavity_flow": ({"ny": 17, "nx": 23, "nt": 6, "nit": 5}, {"ny": 19, "nx": 28, "nt": 5, "nit": 7}),
       "scattering_self_energies": ({"Nkz": 3, "NE": 5, "Nqz": 3, "Nw": 2, "N3D": 3, "NA": 7, "NB": 4, "Norb": 4},) * 2, "crc16": ({"N": 40}, {"N": 53}),
       "spmv": ({"M": 23, "N": 29, "nnz": 80}, {"M": 26, "N": 33, "nnz": 95}), "hdiff": ({"I": 17, "J": 29, "K": 41}, {"I": 19, "J": 26, "K": 45}),
       "softmax": ({"N": 2, "H": 3, "SM": 17}, {"N": 3, "H": 4, "SM": 19})}


def small_sizes(folder, name, number):
    """The sizes of one of two examples."""
    sizes, place = dict(described(folder, name)[0]["parameters"]["S"]), 0
    for parameter, value in sizes.items():
        if isinstance(value, int):
            sizes[parameter] = SIZES[number][place % 8] if value >= 10 else max(2, value // 2 + 1)
            place += 1
    return sizes | OWN.get(name, ({}, {}))[number]


def example(folder, name, number):
    return list(arguments(folder, name, small_sizes(folder, name, number)).values())


def outcome(folder, name, tdslc, keep, literal):
    about, root = described(folder, name)
    script = source.Script(f"{root}_numpy.py")
    function = about["func_name"]
    given = [translate.bound_arguments(getattr(script.module, function), example(folder, name, n), {}) for n in range(2)]
    try:
        translation = translate.Translator(script, function, given, idioms=not literal).translate()
    except TranslationError as error:
        return False, "; ".join(f"line {p.line}: {p.reason}" for p in error.places)
    text = verification.laid_out(tdslc, command.program_text(script, function, translation, "test"))
    if keep:
        (keep / f"{name}.tdsl").write_text(text)
    options = types.SimpleNamespace(verify="eval", rtol=1e-6 if "f32" in text else None)
    record = {}
    try:
        command.verify(record, translation, script, function, given, tdslc, text, options)
    except verification.Different as error:
        return False, str(error)
    warned = sorted({w["id"] for w in record["warnings"]})
    return True, f"{record['largest_difference']:.1e} {' '.join(warned)}"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--tdslc", default=os.environ.get("TDSLC", str(ROOT / "build/release/bin/tdslc")))
    parser.add_argument("--keep", type=Path, help="a folder for the programs")
    parser.add_argument("--literal", action="store_true", help="without idioms")
    options = parser.parse_intermixed_args()
    names = options.names or sorted(path.stem for path in (options.folder / "bench_info").glob("*.json"))
    good = 0
    for name in names:
        begin = time.perf_counter()
        try:
            verified, text = outcome(options.folder, name, options.tdslc, options.keep, options.literal)
        except Exception as error:  # of the importer: a line like the others
            verified, text = False, f"EXCEPTION {type(error).__name__}: {error}"
        good += verified
        print(f"{'verified' if verified else 'not     '} {name:26} {time.perf_counter() - begin:5.1f} s  {text}", flush=True)
    passed = good >= (LEAST if not options.names else len(names))
    print(f"{'PASS' if passed else 'FAIL'} import/npbench: {good} of {len(names)} verified")
    sys.exit(not passed)


if __name__ == "__main__":
    main()
