#!/usr/bin/python3
"""Wrong files, options and data, a full disk, and Ctrl-C: checks the exit code, that there is one TDSL message, and that no file is left, on one
rank and on three. One line per error: PASS errors/NAME or FAIL errors/NAME."""
import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

sys.dont_write_bytecode = True

import numpy as np

import hostile
import input_files
import launch
import numeric
import subscripts
import turns
import warned

HERE = Path(__file__).resolve().parent
LONGEST_MESSAGE_LINES = 4


class Mistake:
    """A command line and its expected outcome. `arguments` may contain {A}-like names of files in the input folder."""

    def __init__(self, name, program, arguments, code, message, **more):
        self.name, self.program, self.arguments, self.code, self.message = name, program, arguments, code, message
        self.outputs = more.get("outputs", {"product": ("C", "D"), "factorisations": ("r",), "run_time": ("early", "q", "g", "last"),
                                            "affine": ("early", "B"), "endless": ("early", "B"), "sizes": ("early", "total"), "serial": ("early", "q", "below", "steps")}[program])
        # Errors found by every rank alike come after preceding output.
        self.prints = program in ("sizes", "affine") or name.endswith("_host")
        self.interrupt, self.ranks = more.get("interrupt", False), more.get("ranks", (1, 3))


PRODUCT = "--A {A} --B {B} "


def outside(subscript, tensor, value, extent):
    """The message of executables for a subscript, or of the evaluator, which does not know its text."""
    return (rf"(the subscript `{re.escape(subscript)}` of `{tensor}` is {value} and lies outside its dimension of {extent}|"
            rf"subscript {value} is out of bounds: dimension 0 of {tensor} has extent {extent})")


MISTAKES = [
    Mistake("missing_file", "product", "--A {nowhere} --B {B}", 1, r"nowhere\.npy.*(No such file|does not exist|not found)"),
    Mistake("file_is_folder", "product", "--A {folder} --B {B}", 1, r"folder\.npy"),
    Mistake("file_is_pipe", "product", "--A {pipe} --B {B}", 1, r"pipe\.npy` is not a regular file, but a pipe"),
    Mistake("file_is_device", "product", "--A /dev/zero --B {B}", 1, r"/dev/zero` is not a regular file, but a device"),
    Mistake("not_npy", "product", "--A {text} --B {B}", 1, r"text\.npy.*npy"),
    Mistake("empty_file", "product", "--A {nothing} --B {B}", 1, r"nothing\.npy"),
    Mistake("truncated", "product", "--A {truncated} --B {B}", 1, r"truncated\.npy"),
    Mistake("too_long", "product", "--A {longer} --B {B}", 1, r"longer\.npy"),
    Mistake("wrong_type", "product", "--A {complex} --B {B}", 1, r"complex\.npy"),
    Mistake("mtx_line", "product", "--A {wrong_line} --B {B}", 1, r"wrong_line\.mtx:5: column 6 is not one of 1 to 5"),
    Mistake("mtx_count", "product", "--A {too_few} --B {B}", 1, r"too_few\.mtx:2: the header announces 9 entries, the file has 2"),
    Mistake("mtx_clash", "product", "--A {clash} --B {B}", 1, r"(?=.*clash\.mtx).*\b6\b"),
    Mistake("npz_text", "product", "--A {text_npz} --B {B}", 1, r"text_npz\.npz` is not a sound \.npz file"),
    Mistake("narrowing", "run_time", "--x {floats} --A {A}", 1, r"i64.*floats\.npy.*f64"),
    Mistake("wrong_rank", "product", "--A {vector} --B {B}", 1, r"vector\.npy"),
    Mistake("clash", "product", "--A {A} --B {other}", 1, r"(?=.*\bA\b)(?=.*\bB\b)(?=.*\b5\b)(?=.*\b6\b).*other\.npy"),
    Mistake("clash_with_set", "product", PRODUCT + "--set n=9", 1, r"(?=.*\b9\b).*\b7\b"),
    Mistake("missing_input", "product", "--A {A}", 2, r"--B"),
    Mistake("missing_value", "product", PRODUCT + "--scale", 2, r"--scale"),
    Mistake("unknown_option", "product", PRODUCT + "--scael 2", 2, r"scael.*--scale\b"),
    Mistake("unknown_builtin", "product", PRODUCT + "--thread 2", 2, r"--thread\b.*--threads"),
    Mistake("bad_number", "product", PRODUCT + "--scale two", 2, r"scale.*two|two.*scale"),
    Mistake("bad_tile", "product", PRODUCT + "--tile 0", 2, r"tile"),
    Mistake("bad_threads", "product", PRODUCT + "--threads 0", 2, r"threads"),
    Mistake("many_threads", "product", PRODUCT + "--threads 100000", 2, r"--threads: a rank has at most 4096 threads, not 100000"),
    Mistake("given_twice", "product", PRODUCT + "--A {A}", 2, r"A is given twice"),
    Mistake("nothing_to_check", "product", PRODUCT + "--check=zeros", 2, r"--check: `zeros` is not nan, inf or bounds"),
    Mistake("plan_missing", "product", PRODUCT + "--use-plan {nowhere}", 1, r"cannot read `.*nowhere\.npy`: No such file"),
    Mistake("plan_is_pipe", "product", PRODUCT + "--use-plan {pipe}", 1, r"cannot read `.*pipe\.npy`: it is not a regular file, but a pipe"),
    Mistake("plan_is_text", "product", PRODUCT + "--use-plan {text}", 2, r"--use-plan .*text\.npy: line 1: this is no plan"),
    Mistake("plan_of_other_program", "product", PRODUCT + "--use-plan {other_plan}", 2, r"line 2: it is a plan of `ridge`, not of `product`"),
    Mistake("plan_for_other_ranks", "product", PRODUCT + "--use-plan {ranks_plan}", 2, r"line 2: it is a plan for 2 ranks, not for [13]"),
    Mistake("plan_of_other_kind", "product", PRODUCT + "--use-plan {kind_plan}", 2, r"line 4: site 1 is a load here, not a map", ranks=(3,)),
    Mistake("plan_and_place", "product", PRODUCT + "--use-plan {kind_plan} --place A=i0:3", 2, r"--place and --use-plan cannot be given together"),
    Mistake("place_unknown", "product", PRODUCT + "--place Q=i0:3", 2, r"--place Q=i0:3: nothing that is placed is called `Q`; there are A, B", ranks=(3,)),
    Mistake("place_without_axes", "product", PRODUCT + "--place A=i0:2", 2, r"3 ranks have no such layout of its dimensions: i0, i1", ranks=(3,)),
    Mistake("place_reproducible", "product", PRODUCT + "--place A=i0:3 --reproducible", 2, r"--place with --reproducible is not supported yet"),
    Mistake("plan_not_written", "product", PRODUCT + "--save-plan {nosuch}/p.plan", 1, r"cannot write `.*p\.plan`: No such file"),
    Mistake("no_such_folder", "product", PRODUCT + "--C {nosuch}/C.npy", 1, r"nosuch", outputs=("D",)),
    Mistake("output_is_folder", "product", PRODUCT + "--C {folder}", 1, r"folder\.npy", outputs=("D",)),
    Mistake("statistics_onto_input", "product", PRODUCT + "--stats {A}", 2, r"^cannot write `.*A\.npy` \(--stats\): it is input A; choose another name \[file-clash\]$"),
    Mistake("trace_onto_hard_link", "product", PRODUCT + "--trace {linked}", 2, r"linked\.npy` \(--trace\): it is input A"),
    Mistake("output_onto_input", "product", PRODUCT + "--C {B}", 2, r"B\.npy` \(output C\): it is input B", outputs=("D",)),
    Mistake("trace_onto_program", "product", PRODUCT + "--trace {product}", 2, r"product\.tdsl` \(--trace\): it is the program itself"),
    Mistake("plan_onto_executable", "product", PRODUCT + "--save-plan {executable}", 2, r"\(--save-plan\): it is the running executable"),
    Mistake("plan_onto_plan", "product", PRODUCT + "--use-plan {kind_plan} --save-plan {kind_plan}", 2, r"\(--save-plan\): it is the plan that --use-plan reads"),
    Mistake("statistics_are_pipe", "product", PRODUCT + "--stats {pipe}", 2, r"cannot write `.*pipe\.npy`: it is a pipe \(FIFO\), not a regular file"),
    Mistake("saved_plan_is_pipe", "product", PRODUCT + "--save-plan {pipe}", 2, r"cannot write `.*pipe\.npy`: it is a pipe \(FIFO\), not a regular file"),
    Mistake("small_window", "product", "--A {wide} --B {high} --window 1", 2, r"smallest legal value is --window \d+",
            ranks=(3,)),
    Mistake("failing_assert", "run_time", "--x {x} --A {A} --what 1", 1, r"run_time\.tdsl:7\b.*the sum must be negative"),
    Mistake("division_by_zero", "run_time", "--x {x} --A {A} --what 2", 1, r"run_time\.tdsl:9\b.*(division|zero)"),
    Mistake("gather_out_of_bounds", "run_time", "--x {x} --A {A} --what 3", 1, r"run_time\.tdsl:11\b.*(subscript|bounds)"),
    Mistake("gather_from_nothing", "run_time", "--x {x} --A {A} --what 7", 1,
            r"run_time\.tdsl:15\b.*subscript .x\[i\]. of `nothing` is \d+ and lies outside its dimension of 0|"
            r"run_time\.tdsl:15\b.*subscript 0 is out of bounds: .*extent 0"),
    *(Mistake(f"selected_{name}_out_of_bounds", "run_time", f"--x {{x}} --A {{A}} --what {what}", 1,
              rf"run_time\.tdsl:{line}\b.*(subscript .x\[i\]. of `K` is \d+ and lies outside its dimension of \d+|subscript \d+ is out of bounds)")
      for name, what, line in (("row", 8, 16), ("column", 9, 17))),
    Mistake("division_by_zero_index", "run_time", "--x {x} --A {A} --what 4", 1, r"run_time\.tdsl:12\b.*(division|zero)"),
    Mistake("cast_does_not_fit", "run_time", "--x {x} --A {A} --what 5", 1, r"run_time\.tdsl:13\b"),
    Mistake("division_by_zero_host", "run_time", "--x {x} --A {A} --what 6", 1, r"run_time\.tdsl:14\b.*(division|zero)"),
    Mistake("affine_out_of_bounds", "affine", "--A {A} --shift 3", 1, r"affine\.tdsl:5\b.*(subscript|bounds)"),
    Mistake("affine_below_zero", "affine", "--A {A} --shift -1", 1, r"affine\.tdsl:5\b.*(subscript|bounds)"),
    *(Mistake(f"serial_{name}", "serial", f"--x {{x}} --what {what}", 1, rf"^serial\.tdsl:{line}: {message}")
      for name, what, line, message in (
          ("write", 1, 9, outside("x[i]", "q", 7, 7)), ("read", 2, 10, outside("x[i]", "q", 7, 7)),
          ("division", 3, 11, "integer division by zero"), ("remainder", 4, 12, "integer division by zero"), ("cast", 5, 13, ""),
          ("assert", 6, 14, "assertion failed: the sum has grown"), ("reduction", 7, 15, outside("x[i] + j", "q", 7, 7)),
          ("power", 8, 16, "an integer is raised to a negative integer power"), ("condition", 9, 19, outside("steps", "q", 10, 7)))),
    Mistake("solve_singular", "factorisations", "--A {A} --what 1", 1, r"factorisations\.tdsl:6: solve: the matrix is singular"),
    Mistake("inv_singular", "factorisations", "--A {A} --what 2", 1, r"factorisations\.tdsl:7: inv: the matrix is singular"),
    Mistake("not_positive_definite", "factorisations", "--A {A} --what 3", 1, r"factorisations\.tdsl:8: cholesky: .*not positive definite"),
    Mistake("not_square", "factorisations", "--A {A} --what 4", 1, r"factorisations\.tdsl:9\b.*4.*5"),
    Mistake("topk_too_many", "factorisations", "--A {A} --k 6", 1, r"factorisations\.tdsl:10\b.*topk.*k = k"),
    Mistake("topk_negative", "factorisations", "--A {A} --k -1", 1, r"factorisations\.tdsl:10\b"),
    Mistake("svd_not_finite", "factorisations", "--A {A} --what 6", 1, r"factorisations\.tdsl:11: svd: .*not finite"),
    Mistake("singular_in_task", "factorisations", "--A {A} --what 8", 1, r"factorisations\.tdsl:14: solve: the matrix is singular \[no-solution\]"),
    Mistake("not_positive_in_task", "factorisations", "--A {A} --what 9", 1, r"factorisations\.tdsl:15: cholesky: .*not positive definite"),
    Mistake("grad_of_wide_qr", "factorisations", "--A {A} --what 7", 1, r"factorisations\.tdsl:13: .*5 columns and 3 rows.*not supported"),
    *(Mistake(f"negative_size_{name}", "sizes", f"--x {{x}} --what {what} --k -3", 1,
              rf"^sizes\.tdsl:{line}: the size k( \+ 1)? is -\d; a size cannot be negative")
      for name, what, line in (("zeros", 1, 8), ("random", 2, 9), ("iota", 3, 10), ("full", 4, 11), ("eye", 5, 12),
                               ("reshape", 6, 13), ("declared", 7, 15))),
    *(Mistake(f"too_large_{name}", "sizes", f"--x {{x}} --what {what} --k {k}", 1, rf"^sizes\.tdsl:{line}: {message}")
      for name, what, k, line, message in (
          ("square", 13, 3037000500, 23, r"Z is f64\[3037000500, 3037000500\], which is too large: a tensor has at most 2\^53 bytes"),
          ("elements_wrap", 13, 1 << 62, 23, r"Z is f64\[4611686018427387904, 4611686018427387904\], which is too large"),
          ("product", 14, 1 << 32, 24, r"the size k \* k is more than 9223372036854775807; a dimension has at most 2\^53 elements"),
          ("step", 15, (1 << 63) - 1, 25, r"a slice's step is at most 2\^53: the step is 9223372036854775807"),
          ("declared", 16, 1 << 32, 27, r"the size k \* k is more than 9223372036854775807"))),
    Mistake("range_too_long", "sizes", "--x {x} --what 17 --k -3", 1, r"^sizes\.tdsl:30: the range of `i` spans more than 2\^63 - 1 integers"),
    Mistake("slice_beyond", "sizes", "--x {x} --what 8 --k 9", 1,
            r"^sizes\.tdsl:18: slice 1:k ends at 9, beyond the last element: the length of x \(n\) is 7"),
    Mistake("slice_backwards", "sizes", "--x {x} --what 8 --k 0", 1, r"^sizes\.tdsl:18: slice 1:k starts at 1, but ends at 0"),
    Mistake("slice_before", "sizes", "--x {x} --what 9 --k -2", 1, r"^sizes\.tdsl:19: slice k:n starts at -2, before the first element"),
    Mistake("sizes_disagree", "sizes", "--x {x} --what 11 --k 3", 1,
            r"^sizes\.tdsl:21: sizes do not agree in dimension 0: the length of x \(n\) is 7, but the length of zeros\(k\) \(k\) is 3"),
    Mistake("imported_slice", "sizes", "--x {x} --what 12 --k 8", 1, r"^sizes_helper\.tdsl:3: slice k:n starts at 8, but ends at 7"),
    Mistake("imported_fault", "sizes", "--x {x} --what 12 --k 2", 1, r"^sizes_helper\.tdsl:4: "),
    Mistake("interrupt", "endless", "--A {A}", 130, r"[Ii]nterrupt", interrupt=True),
]


def make_inputs(folder):
    rng = np.random.default_rng(5)
    np.save(folder / "A.npy", rng.random((7, 5)) + 1)
    np.save(folder / "B.npy", rng.random((5, 4)))
    np.save(folder / "other.npy", rng.random((6, 4)))
    np.save(folder / "vector.npy", rng.random(7))
    np.save(folder / "wide.npy", rng.random((30, 500)))
    np.save(folder / "high.npy", rng.random((500, 200)))
    np.save(folder / "narrow.npy", rng.random((200, 30)))
    np.save(folder / "complex.npy", rng.random((7, 5)) + 1j)
    np.save(folder / "x.npy", np.array([0, 1, 2, 3, 4, 5, 7]))
    np.save(folder / "floats.npy", rng.random(7))
    banner = "%%MatrixMarket matrix coordinate real general\n"
    (folder / "wrong_line.mtx").write_text(banner + "7 5 2\n% note\n1 1 1\n2 6 1\n")
    (folder / "too_few.mtx").write_text(banner + "7 5 9\n1 1 1\n2 5 1\n")
    (folder / "clash.mtx").write_text(banner + "7 6 1\n1 1 1\n")
    (folder / "text_npz.npz").write_text("no archive, only some text that is long enough to have a zip directory\n")
    (folder / "text.npy").write_text("this is not a NumPy file at all, only some text\n")
    (folder / "nothing.npy").write_bytes(b"")
    for name, program, ranks, kind in (("other", "ridge", 3, "load"), ("ranks", "product", 2, "load"), ("kind", "product", 3, "map")):
        (folder / f"{name}_plan.plan").write_text(f'tdsl plan 1\nprogram "{program}" region 0 ranks {ranks} schedule auto\nmesh a:{ranks}/1\n1 {kind} "A" i0:a\n')
    (folder / "product.tdsl").write_text("not to be replaced\n")
    os.link(folder / "A.npy", folder / "linked.npy")
    whole = (folder / "A.npy").read_bytes()
    (folder / "truncated.npy").write_bytes(whole[:-9])
    (folder / "longer.npy").write_bytes(whole + b"x")
    (folder / "folder.npy").mkdir()
    os.mkfifo(folder / "pipe.npy")


def complaint(mistake, ranks, result, folder, old):
    """The first defect of the program's end, or None."""
    if result.timed_out:
        return "timed out"
    if result.code != mistake.code:
        return f"exit code {result.code}, not {mistake.code}: {result.err.strip()[:300]!r}"
    lines = result.err.strip().splitlines()
    if not re.search(mistake.message, result.err.strip(), re.DOTALL):
        return f"stderr does not say {mistake.message!r}: {result.err.strip()[:400]!r}"
    strangers = re.search(r"MPI_ABORT|mpiexec|mpirun" + ("" if mistake.interrupt else "|interrupted"), result.err)
    if len(lines) > LONGEST_MESSAGE_LINES or len(set(lines)) < len(lines) or strangers:
        return f"more than one message: {result.err.strip()[:600]!r}"
    if mistake.prints and not result.out.startswith("reached "):
        return f"earlier output is lost: {result.out.strip()[:200]!r}"
    left = sorted(p.name for p in folder.iterdir())
    if left != sorted(old):
        return f"files left: {left}"
    for name, content in old.items():
        if (folder / name).read_bytes() != content:
            return f"the older file {name} was changed"
    return None


def run_mistake(mistake, ranks, executable, inputs, options):
    """Output paths name existing files, which must not change. Ctrl-C reaches several ranks through
    `tdslc run`, because launchers have their own exit code."""
    with tempfile.TemporaryDirectory(prefix="tdsl-errors-") as work:
        folder = Path(work)
        old = {f"{o}.npy": b"an older result" for o in mistake.outputs[1:]}
        for name, content in old.items():
            (folder / name).write_bytes(content)
        names = {p.stem: str(p) for p in inputs.iterdir()}
        names |= {"nowhere": str(inputs / "nowhere.npy"), "nosuch": str(folder / "nosuch"), "executable": str(executable)}
        arguments = mistake.arguments.format_map(names).split()
        for output in mistake.outputs:
            arguments += ["--" + output, str(folder / f"{output}.npy")]
        command = [*launch.mpi_command(ranks), executable, *arguments]
        if mistake.interrupt and ranks > 1:
            command = [options.tdslc, "run", HERE / "errors" / f"{mistake.program}.tdsl", "-n", ranks, "--", *arguments]
        result = launch.run(command, options.limit, env={"TDSL_OVERSUBSCRIBED": "1"},
                            interrupt_after=5.0 if mistake.interrupt else None)
        return complaint(mistake, ranks, result, folder, old)


def eval_differs(mistake, inputs, options):
    """`tdslc eval` reports run-time errors of the program with the executable's words."""
    with tempfile.TemporaryDirectory(prefix="tdsl-errors-") as work:
        arguments = mistake.arguments.format_map({p.stem: str(p) for p in inputs.iterdir()}).split()
        result = launch.run([options.tdslc, "eval", HERE / "errors" / f"{mistake.program}.tdsl", "--", *arguments], options.limit, cwd=work)
        if result.code != mistake.code:
            return f"eval: exit code {result.code}, not {mistake.code}: {result.err.strip()[:300]!r}"
        if not re.search(mistake.message, result.err.strip(), re.DOTALL):
            return f"eval: stderr does not say {mistake.message!r}: {result.err.strip()[:400]!r}"
    return None


def mount_small_disk(image, folder):
    """1 MiB, on ext4 if possible: it keeps the space taken by a failed reservation; tmpfs releases it."""
    commands = [["truncate", "-s", "1M", image], ["mkfs.ext4", "-q", "-O", "^has_journal", image], ["mount", "-o", "loop", image, folder]]
    if shutil.which("mkfs.ext4") and all(subprocess.run(c, capture_output=True).returncode == 0 for c in commands):
        (folder / "lost+found").rmdir()
    elif subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", folder], capture_output=True).returncode != 0:
        raise PermissionError("cannot mount a small file system")


def disk_full(ranks, executable, inputs, limit):
    """A small file system, large enough for the output alone, but not together with existing files. The message
    reports the free space, none of which has been taken."""
    with tempfile.TemporaryDirectory(prefix="tdsl-full-") as work:
        folder = Path(work) / "disk"
        folder.mkdir()
        mount_small_disk(Path(work) / "image", folder)
        try:
            old = {"older": bytes(400_000)}
            (folder / "older").write_bytes(old["older"])
            arguments = ["--A", inputs / "narrow.npy", "--B", inputs / "wide.npy", "--C", folder / "C.npy"]
            result = launch.run([*launch.mpi_command(ranks), executable, *arguments], limit)
            mistake = Mistake("disk_full", "product", "", 1, r"C\.npy`: it needs 781\.\d KiB, the disk has [1-9]\d+\.\d KiB left", outputs=("C",))
            return complaint(mistake, ranks, result, folder, old)
        finally:
            subprocess.run(["umount", folder], check=True)


COMMAND_MISTAKES = [
    ("tdslc_no_command", "", 2, r"(?i)usage|command"),
    ("tdslc_unknown_command", "chekc x.tdsl", 2, r"chekc"),
    ("tdslc_unknown_option", "check {good} --dump-afer x", 2, r"dump-afer"),
    ("tdslc_missing_file", "check {work}/nowhere.tdsl", 2, r"nowhere\.tdsl"),
    ("tdslc_program_is_pipe", "check pipe", 2, r"pipe: it is a pipe \(FIFO\), not a regular file"),
    ("tdslc_program_is_device", "check /dev/zero", 2, r"/dev/zero: it is a device, not a regular file"),
    ("tdslc_import_is_pipe", "check {piped}", 1, r"piped\.tdsl:1:\d+: error: cannot read `.*pipe`: it is not a regular file"),
    ("tdslc_program_error", "check {bad}", 1, r"bad\.tdsl:3:\d+: error: .*\[undefined-name\]"),
    ("tdslc_build_program_error", "build {bad} -o {work}/bad", 1, r"bad\.tdsl:3:\d+: error: .*\[undefined-name\]"),
    ("tdslc_not_supported", "check {storage}", 1, r"storage\.tdsl:3:\d+: .*not supported"),
    ("tdslc_too_large", "check {large}", 1, r"large\.tdsl:2:9: error: `random\(n, n\)` is f64\[3037000500, 3037000500\], which is too large.*\[too-large\]"),
    ("tdslc_explain_too_large", "explain {square} --set n=4611686018427387904", 1,
     r"square\.tdsl:1: A is f64\[4611686018427387904, 4611686018427387904\], which is too large"),
    ("tdslc_explain_product", "explain {product} --set n=4294967296", 1, r"product\.tdsl:2: the size n \* n is more than"),
    *((f"tdslc_{stage}_without_sizes", f"explain {{square}} --stage={stage}", 1, r"square\.tdsl:1: the extent of n is not known: give a file, or --set n=N")
      for stage in ("region", "workflow", "algebra", "kernels")),
    ("tdslc_rules_without_sizes", "explain {square} -n 2 --stage=rules", 1, r"square\.tdsl:1: the extent of n is not known: give a file, or --set n=N"),
    ("tdslc_rules_of_one_rank", "explain {square} --set n=8 --stage=rules", 2, r"--stage=rules: one site moves nothing; give -n"),
    ("tdslc_launcher_fails", "run {good} --ranks 2", 1, r"could not start 2 ranks \(exit code 1\)",
     {"OMPI_MCA_orte_tmpdir_base": "/proc/nowhere"}),
    # Kept out of other lists, in case one of them does start ranks.
    ("tdslc_absurd_ranks", "run {good} -n 1000000", 2, r"1000000 ranks are more than 64 for each of the \d+ cores of this machine.*--oversubscribe",
     {"OMPI_MCA_orte_tmpdir_base": "/proc/nowhere"}),
    ("tdslc_verify_absurd_ranks", "verify {good} -n 1000000", 2, r"1000000 ranks are more than 64", {"OMPI_MCA_orte_tmpdir_base": "/proc/nowhere"}),
    ("tdslc_absurd_ranks_insisted", "run {good} -n 1000000 --oversubscribe", 1, r"could not start 1000000 ranks", {"OMPI_MCA_orte_tmpdir_base": "/proc/nowhere"}),
    ("tdslc_machine_is_device", "explain {good} -n 2", 1, r"cannot read `/dev/zero`, the machine's constants: it is not a regular file, but a device \(TDSL_MACHINE\)", {"TDSL_MACHINE": "/dev/zero"}),
    ("tdslc_line_break_in_name", "emit {line_break}", 2, r"line\\nbreak\.tdsl` has control characters in its name"),
    ("tdslc_build_onto_program", "build {bare}", 2, r"cannot write `bare` \(-o\): it is the program itself"),
    ("tdslc_build_onto_hard_link", "build {good} -o hard_link", 2, r"cannot write `hard_link` \(-o\): it is the program itself"),
    ("tdslc_build_onto_symbolic_link", "build {good} -o symbolic_link", 2, r"cannot write `symbolic_link` \(-o\): it is the program itself"),
    ("tdslc_build_onto_import", "build {importing} -o {imported}", 2, r"imported\.tdsl` \(-o\): it is a file that the program imports"),
    ("tdslc_build_onto_pipe", "build {good} -o pipe", 2, r"cannot write pipe: it is not a regular file"),
    ("tdslc_build_into_nowhere", "build {good} -o nowhere/good", 2, r"cannot write nowhere/good: No such file"),
    ("tdslc_emit_onto_program", "emit {good} -o {good}", 2, r"good\.tdsl` \(-o\): it is the program itself"),
    ("tdslc_emit_onto_pipe", "emit {good} -o pipe", 2, r"cannot write `pipe`: it is a pipe \(FIFO\), not a regular file"),
    ("tdslc_explain_onto_program", "explain {good} -o hard_link", 2, r"cannot write `hard_link` \(-o\): it is the program itself"),
    ("tdslc_explain_onto_input", "explain {square} -o {good} -- --A {good}", 2, r"good\.tdsl` \(-o\): it is input A"),
    ("tdslc_plan_onto_program", "explain {good} --save-plan {good}", 2, r"good\.tdsl` \(--save-plan\): it is the program itself"),
    ("tdslc_saved_plan_onto_program", "run {good} -- --save-plan={good}", 2, r"good\.tdsl` \(--save-plan\): it is the program itself"),
    ("tdslc_trace_onto_link", "run {good} -- --trace hard_link", 2, r"cannot write `hard_link` \(--trace\): it is the program itself"),
    ("tdslc_eval_onto_link", "eval {good} -- --trace symbolic_link", 2, r"cannot write `symbolic_link` \(--trace\): it is the program itself"),
    ("tdslc_plan_missing", "explain {good} -n 2 --use-plan nowhere", 1, r"cannot read `nowhere`: No such file"),
    ("tdslc_plan_is_program", "explain {good} -n 2 --use-plan {good}", 2, r"--use-plan .*good\.tdsl: line 1: this is no plan"),
    ("tdslc_compare_one_file", "compare {good}", 2, r"2 required"),
    ("tdslc_compare_no_json", "compare {good} {good}", 2, r"good\.tdsl: this is no JSON"),
    ("tdslc_compare_missing", "compare nowhere nowhere", 2, r"cannot read `nowhere`: No such file"),
    ("tdslc_compare_other_json", "compare {figures} {figures}", 2, r"figures\.tdsl: this is not what --plan or --stats writes"),
    ("tdslc_compare_infinite", "compare {infinite} {infinite}", 2, r"infinite\.tdsl: it has a number that no double can hold"),
    ("tdslc_compare_other_types", "compare {odd} {odd}", 2, r"odd\.tdsl: one of them has values of other types"),
    ("tdslc_report_onto_statistics", "report {statistics} -o {statistics}", 2, r"statistics\.tdsl` \(-o\): it is a file of the run"),
    ("tdslc_no_such_warning", "check -Wno-gatherd {good}", 2, r"-Wno-gatherd: no warning is called `gatherd`; did you mean `gathered`\?"),
    ("tdslc_no_warning", "check -Wno-syntax {good}", 2, r"-Wno-syntax: `syntax` is an error, which cannot be left out"),
    ("tdslc_warning_option", "check -Wall {good}", 2, r"-Wall: warnings are left out by -Wno-ID"),
    ("tdslc_unknown_beside_short", "run -n2 -Wno-gathered --natve {good}", 2, r"unknown option `--natve`; did you mean `--native`\?"),
    ("tdslc_statistics_onto_program", "run {good} -- --stats={good}", 2, r"good\.tdsl` \(--stats\): it is the program itself"),
]


COMMAND_FILES = {
    "good.tdsl": "let a = 1;\noutput a;\n", "bad.tdsl": "param p: i64 = 1;\nlet q = p;\nlet a = q + nosuchname;\noutput a;\n",
    "storage.tdsl": "storage diagonal(n) { stored[n]; to[i, j] = i where i == j; from[i] = (i, i); }\nvar A: f64[3, 3] storage diagonal(3) = eye(3);\nA[0:2, :] = 0.0;\noutput A;\n", "bare": "let a = 1;\noutput a;\n",
    "importing.tdsl": 'import "imported.tdsl";\noutput a = f(1);\n', "imported.tdsl": "fn f(x) = x + 1;\n",
    "large.tdsl": "let n = 3037000500;\nlet A = random(n, n);\noutput s = sum(A);\n", "square.tdsl": "input A: f64[n, n];\noutput s = sum(A);\n",
    "product.tdsl": "param n: i64 = 9;\nlet A = random(n * n);\noutput s = sum(A);\n",
    "figures.tdsl": '{"version": 1}\n', "infinite.tdsl": '{"version": 1e999}\n',
    "odd.tdsl": '{"version": 1, "plan_hash": "0", "statements": [{"site": 1, "predicted": 5, "measured": 5}], "per_rank": []}\n',
    "statistics.tdsl": '{"version": 1, "plan_hash": "0", "statements": [], "per_rank": [], "phases": {}}\n', "piped.tdsl": 'import "pipe";\noutput a = 1;\n', "line\nbreak.tdsl": "let a = 1;\noutput a;\n",
}


def run_command_mistake(arguments, code, message, tdslc, limit, env=None):
    with tempfile.TemporaryDirectory(prefix="tdsl-errors-") as work:
        for file, text in COMMAND_FILES.items():
            (Path(work) / file).write_text(text)
        os.link(Path(work) / "good.tdsl", Path(work) / "hard_link")
        os.symlink(Path(work) / "good.tdsl", Path(work) / "symbolic_link")
        os.mkfifo(Path(work) / "pipe")
        before = sorted(Path(work).iterdir())
        names = {"work": work} | {file.removesuffix(".tdsl").replace("\n", "_"): f"{work}/{file}" for file in COMMAND_FILES}
        result = launch.run([tdslc, *(a.format_map(names) for a in arguments.split())], limit, cwd=work, env=env)
        if result.timed_out or result.code != code:
            return f"{result}, not exit code {code}"
        if not re.search(message, result.err):
            return f"stderr does not say {message!r}: {result.err[:400]!r}"
        if sorted(Path(work).iterdir()) != before:
            return f"files left: {sorted(p.name for p in Path(work).iterdir())}"
        changed = [file for file, text in COMMAND_FILES.items() if (Path(work) / file).read_text() != text]
        if changed or not (Path(work) / "pipe").is_fifo():
            return f"files changed: {changed or 'pipe'}"
    return None


def report(name, problems):
    for problem in problems:
        print(f"    {problem}")
    print(f"{'FAIL' if problems else 'PASS'} errors/{name}", flush=True)
    return bool(problems)


def build(name, executable, options):
    return launch.run([options.tdslc, "build", HERE / "errors" / f"{name}.tdsl", "-o", executable], 4 * options.limit)


def problems_of(mistake, executable, inputs, options):
    ranks = [r for r in mistake.ranks if options.ranks in (None, r)]
    problems = [f"ranks={r}: {p}" for r in ranks if (p := run_mistake(mistake, r, executable, inputs, options))]
    said_alike = mistake.program in ("sizes", "run_time", "serial") and mistake.name != "narrowing" or mistake.name.startswith("clash")
    if said_alike and (problem := eval_differs(mistake, inputs, options)):
        problems.append(problem)
    return problems


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tdslc", default=os.environ.get("TDSLC", "tdslc"))
    parser.add_argument("--filter", default="")
    parser.add_argument("--limit", type=float, default=60)
    parser.add_argument("--ranks", type=int, help="only this many, for slow executables")
    parser.add_argument("--every", type=int, default=1,
                        help="only every Nth mistake of programs, 10 times as many of commands, and only checks of hostile input and subscripts: for slow executables")
    parser.add_argument("--list", action="store_true", help="print the names of the chosen cases")
    parser.add_argument("--jobs", type=int, default=3)
    options = parser.parse_args()
    name_of = lambda case: getattr(case, "name", None) or getattr(case, "__name__", None) or case[0]
    of_messages = () if options.every > 10 else (*input_files.CHECKS, *numeric.CHECKS, *warned.CHECKS)
    chosen, wrong, checks = (turns.part([case for case in cases if options.filter in f"errors/{name_of(case)}"], 2) for cases in (
        MISTAKES[::options.every], COMMAND_MISTAKES[::max(1, options.every // 10)], (*hostile.CHECKS, *subscripts.CHECKS, *of_messages)))
    if options.list:
        print(*map(name_of, (*chosen, *wrong, *checks)), sep="\n")
        return 0
    failed = 0
    with tempfile.TemporaryDirectory(prefix="tdsl-errors-") as work, ThreadPoolExecutor(options.jobs) as pool:
        inputs = Path(work) / "inputs"
        inputs.mkdir()
        make_inputs(inputs)
        fills_disk = options.filter in "errors/disk_full"
        names = sorted({m.program for m in chosen} | ({"product"} if fills_disk else set()))
        executables = {name: Path(work) / name for name in names}
        for name, result in zip(names, pool.map(lambda name: build(name, executables[name], options), names)):
            if result.code != 0:
                failed += report(f"build_{name}", [str(result)])
        chosen = [m for m in chosen if executables[m.program].exists()]
        for mistake, problems in zip(chosen, pool.map(lambda m: problems_of(m, executables[m.program], inputs, options), chosen)):
            failed += report(mistake.name, problems)
        if fills_disk and executables["product"].exists():
            try:
                failed += report("disk_full", [f"ranks={r}: {p}" for r in (1, 3) if (
                    p := disk_full(r, executables["product"], inputs, options.limit))])
            except PermissionError as reason:
                print(f"SKIP errors/disk_full {reason}")
        run = lambda arguments, code, message, *env: run_command_mistake(arguments, code, message, options.tdslc, options.limit, *env)
        for mistake, problem in zip(wrong, pool.map(lambda m: run(*m[1:]), wrong)):
            failed += report(mistake[0], [problem] if problem else [])
        for check in checks:
            (Path(work) / check.__name__).mkdir()
        def outcome_of(check):
            try:
                return check(options.tdslc, Path(work) / check.__name__, options.limit)
            except PermissionError as reason:
                return reason
        for check, problem in zip(checks, pool.map(outcome_of, checks)):
            if isinstance(problem, PermissionError):
                print(f"SKIP errors/{check.__name__} {problem}")
            else:
                failed += report(check.__name__, [problem] if problem else [])
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
