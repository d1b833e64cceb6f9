"""Planted or damaged files, and user texts that would be code: `tdslc` ignores them or rejects them.
Each check is a function of (tdslc, folder, limit) that returns a failure description or None; `errors.py` runs them."""
import os
import re
import shutil
from pathlib import Path

import launch

# Comments whose last character would extend them over the next emitted line, and line breaks in C++ that are none in
# TDSL.
ENDINGS = "\\\t", "\\ \t ", "\\\v", "\\\f", "\\\\", "??/", "??/ \t", "\\\0", "\r#error", "\r s = 0.0; //", "\\??/\t\\"


def is_release():
    return os.environ.get("TDSL_TEST_PRESET", "release") == "release"


def comments_stay_comments(tdslc, folder, limit):
    program = folder / "comments.tdsl"
    comments = [f"// C:\\tmp{ending}\n" for ending in ENDINGS]
    lines = "".join(f'print("{k}??/"); {comment}' for k, comment in enumerate(comments))
    program.write_text(f"{lines}var s = 0.0625;\nfor i in 0..8 {{\n  s = s + 1.0; {comments[0]}}}\noutput s;\n", newline="")
    expected = "".join(f"{k}??/\n" for k in range(len(ENDINGS))) + "s: f64 = 8.0625\n"
    for command in ("eval", "run"):
        result = launch.run([tdslc, command, program], limit, env={"XDG_CACHE_HOME": str(folder / "cache")})
        if (result.code, result.out) != (0, expected):
            return f"{command}: {result.out!r}, {result}"
    return None


def damaged_executables_are_built_again(tdslc, folder, limit):
    program = folder / "damaged.tdsl"
    program.write_text("let a = 7;\noutput a;\n")
    run = [tdslc, "run", program]
    environment = {"XDG_CACHE_HOME": str(folder / "cache")}
    results = [launch.run(run, limit, env=environment)]
    executable, = (folder / "cache" / "tdsl").glob("*/damaged")
    whole = executable.read_bytes()
    middle = len(whole) // 2
    for damaged in b"", whole[:middle] + bytes([whole[middle] ^ 1]) + whole[middle + 1:]:
        executable.write_bytes(damaged)
        results.append(launch.run(run, limit, env=environment))
    return next((str(r) for r in results if (r.code, r.out) != (0, "a: i64 = 7\n")), None)


def other_caches_are_refused(tdslc, folder, limit):
    """Without HOME the cache has a predictable name."""
    program = folder / "refused.tdsl"
    program.write_text("let a = 7;\noutput a;\n")
    theirs = folder / "theirs"
    theirs.mkdir(0o700)
    cache = folder / f"tdsl-{os.geteuid()}"
    environment = {"HOME": "", "XDG_CACHE_HOME": "", "TMPDIR": str(folder)}

    def refusal(reason):
        result = launch.run([tdslc, "run", program], limit, env=environment)
        wanted = f"tdslc: cannot keep executables in {cache}: {reason}; remove it, or set XDG_CACHE_HOME to a folder of yours\n"
        return None if (result.code, result.err) == (4, wanted) else f"{reason}: {result}"

    cache.symlink_to(theirs)
    problem = refusal("it is a symbolic link")
    cache.unlink()
    cache.mkdir()
    cache.chmod(0o770)
    problem = problem or refusal("others may write to it")
    cache.rmdir()
    if os.geteuid() == 0:
        cache.mkdir(0o700)
        os.chown(cache, 1, -1)
        problem = problem or refusal("it belongs to another user")
        cache.rmdir()
    if not problem and list(theirs.iterdir()):
        problem = "a planted link was followed"
    return problem


def other_things_in_the_cache_are_built_over(tdslc, folder, limit):
    """Directories and pipes in place of cache files."""
    program = folder / "strange.tdsl"
    program.write_text("let a = 7;\noutput a;\n")
    run = lambda: launch.run([tdslc, "run", program], limit, env={"XDG_CACHE_HOME": str(folder / "cache")})
    results = [run()]
    executable, = (folder / "cache" / "tdsl").glob("*/strange")
    kept = {suffix: executable.with_name("strange" + suffix) for suffix in ("", ".cpp", ".sum")}
    for strange in ({"": Path.mkdir, ".sum": os.mkfifo}, {"": os.mkfifo, ".cpp": Path.mkdir, ".sum": Path.mkdir}):
        for suffix, make in strange.items():
            kept[suffix].unlink()
            make(kept[suffix])
        results.append(run())
    for path in kept.values():
        path.unlink()
    executable.parent.rmdir()
    os.mkfifo(executable.parent)
    results.append(run())
    return next((str(r) for r in results if (r.code, r.out) != (0, "a: i64 = 7\n")), None)


def machine_constants_are_a_file(tdslc, folder, limit):
    """If the file of `doctor`'s constants is not a regular file, executables and doctor itself reject it immediately."""
    program, cache = folder / "machine.tdsl", folder / "cache" / "tdsl"
    program.write_text("let a = 7;\noutput a;\n")
    environment = {"XDG_CACHE_HOME": str(folder / "cache")}
    launch.run([tdslc, "run", program], limit, env=environment)
    for make, kind in ((Path.mkdir, "a directory"), (os.mkfifo, r"a pipe (FIFO)")):
        make(cache / "machine.conf")
        for command in (["run", program], ["explain", program, "-n", "2"], ["doctor"]):
            result = launch.run(["env", "-u", "TDSL_MACHINE", tdslc, *command], limit, env=environment)
            if result.code != 1 or f"it is not a regular file, but {kind}" not in result.err or len(result.err.splitlines()) > 1:
                return f"{command[0]}: {result}"
        (cache / "machine.conf").rmdir() if kind == "a directory" else (cache / "machine.conf").unlink()
    return None


def the_owner_keeps_access(tdslc, folder, limit):
    """With a umask that removes all permissions."""
    program, cache = folder / "masked.tdsl", folder / "cache"
    program.write_text("let a = 7;\noutput a;\n")
    for ranks in ("1", "2"):
        result = launch.run(["sh", "-c", 'umask 777; exec "$0" "$@"', tdslc, "run", program, "-n", ranks], limit, env={"XDG_CACHE_HOME": str(cache)})
        if (result.code, result.out, result.err) != (0, "a: i64 = 7\n", ""):
            return f"{ranks} ranks: {result}"
    modes = {p.name: p.stat().st_mode & 0o777 for p in cache.rglob("*")}
    return next((f"{name} has mode {mode:o}" for name, mode in modes.items() if mode & 0o600 != 0o600 or mode & 0o077), None)


def a_cache_that_can_only_be_read_is_used(tdslc, folder, limit):
    """Cached programs run; others report why they cannot be cached."""
    cache = folder / "cache"
    known, unknown = folder / "known.tdsl", folder / "unknown.tdsl"
    known.write_text("let a = 7;\noutput a;\n")
    unknown.write_text("let a = 8;\noutput a;\n")
    environment = {"XDG_CACHE_HOME": str(cache)}
    launch.run([tdslc, "run", known], limit, env=environment)
    if os.geteuid() == 0:  # modes do not restrict root
        only = ["unshare", "-m", "sh", "-c", 'mount --bind "$0" "$0" && mount -o remount,bind,ro "$0" && exec "$@"', cache]
        if launch.run([*only, "true"], limit).code != 0:
            raise PermissionError("cannot mount a folder for reading only")
    else:
        only = []
        for path in (*cache.rglob("*"), cache):
            path.chmod(path.stat().st_mode & ~0o222)
    results = [launch.run([*only, tdslc, "run", program], limit, env=environment) for program in (known, unknown)]
    for path in (cache, *cache.rglob("*")) if not only else ():
        path.chmod(path.stat().st_mode | 0o200)
    if (results[0].code, results[0].out) != (0, "a: i64 = 7\n"):
        return f"warm: {results[0]}"
    if results[1].code != 4 or not results[1].err.startswith(f"tdslc: cannot keep executables in {cache}/tdsl: ") or len(results[1].err.splitlines()) > 1:
        return f"cold: {results[1]}"
    return None


def a_relative_folder_for_temporary_files_is_found(tdslc, folder, limit):
    """Also with launchers, which change the working directory."""
    program = folder / "relative.tdsl"
    program.write_text("let a = 7;\noutput a;\n")
    (folder / "there").mkdir()
    for relative in ("there", "nowhere"):
        result = launch.run([tdslc, "run", program, "-n", "2"], limit, cwd=folder, env={"TMPDIR": relative})
        if (result.code, result.out, result.err) != (0, "a: i64 = 7\n", ""):
            return f"TMPDIR={relative}: {result}"
    return None


def it_starts_without_mpi(tdslc, folder, limit):
    """Login nodes may have no MPI. With sanitizers the runtime is a single shared library."""
    if not is_release():
        return None
    loaded = launch.run(["ldd", shutil.which(tdslc) or tdslc], limit).out
    found = [line.split()[0] for line in loaded.splitlines() if "mpi" in line.split()[0] or "open-rte" in line or "pmix" in line]
    return f"it loads {found}" if found else None


FAULTY_HEADER = """#include <cstdint>
#include <tdsl/tile.h>
inline double at_of(double x) {
  static const double table[4] = {1, 2, 3, 4};
  return table[static_cast<std::int64_t>(x)];
}
inline std::int64_t quotient(std::int64_t a, std::int64_t b) { return a / b; }
inline std::int64_t depth(std::int64_t n) { return n <= 0 ? 1 : depth(n - depth(n - 1)); }
inline void stray(tdsl::Tile<const double, 1> x, tdsl::Tile<double, 1> y) {
  for (std::int64_t i = 0; i < y.extent(0); ++i) y(i) = x(i << 40);
}
"""
FAULTY_PROGRAM = """extern "faults.hpp" { fn at_of(x: f64) -> f64; fn quotient(a: i64, b: i64) -> i64; fn depth(n: i64) -> i64; kernel stray(x: in f64[n], y: out f64[n]); }
param which: i64 = 0;
fn both(n: i64) = at_of(f64(n)) + f64(quotient(7, n));
if which == 0 { print(quotient(7, which)); }
if which == 1 { let y[i] = at_of(f64(i) * 1e13) for i in 1..9; print(sum(y)); }
if which == 2 { let y = stray(ones(9)); print(y[1]); }
if which == 3 { let y[i] = depth(1000000000 + i) for i in 0..9; print(sum(y)); }
if which == 4 { let y[i] = both(i) for i in 0..9; print(y[1]); }
if which == 5 { print(both(2)); }
"""
INVALID = "SIGSEGV \\(invalid memory access, or the stack is full\\) in"
DIVIDED = "SIGFPE \\(integer division by zero, or its result does not fit\\) in"
QUOTIENT, AT_OF, STRAY, DEPTH = (f"`{name}` of faults.hpp" for name in ("quotient", "at_of", "stray", "depth"))


def signals_in_functions_of_headers_are_reported(tdslc, folder, limit):
    """With the function's name, as a run-time error; in `eval` and executables alike. A kernel with several calls names all functions. Sanitizers
    report such functions themselves."""
    if not is_release():
        return None
    (folder / "faults.hpp").write_text(FAULTY_HEADER)
    program = folder / "faults.tdsl"
    program.write_text(FAULTY_PROGRAM)
    cases = (DIVIDED, QUOTIENT, QUOTIENT), (INVALID, AT_OF, AT_OF), (INVALID, STRAY, STRAY), (INVALID, DEPTH, DEPTH), (DIVIDED, QUOTIENT, f"{AT_OF}, {QUOTIENT}")
    environment = {"XDG_CACHE_HOME": str(folder / "cache"), **launch.without_leaks()}
    for command in (["eval"], ["run"], ["run", "-n", "2"]):
        run = lambda which: launch.run([tdslc, *command, program, "--", "--which", str(which)], limit, env=environment)
        for which, (signal, function, functions) in enumerate(cases):
            named = function if command == ["eval"] else functions
            one = "the C\\+\\+ function" if "," not in named else "one of the C\\+\\+ functions"
            line = "[38]" if which == 4 else which + 4  # eval reports the line of the calling function
            result = run(which)
            if result.code != 1 or result.out or not re.fullmatch(rf"\S*faults.tdsl:{line}[:\d]*: (error: )?signal {signal} {one} {named} \[function-signal\]\n", result.err):
                return f"{command}, {which}: {result.err!r}, {result}"
        if (good := run(5)).out != "6.0\n":
            return f"{command}: {good}"
    return None


def macros_of_one_header_do_not_rewrite_another(tdslc, folder, limit):
    (folder / "shared.hpp").write_text("#pragma once\n#define TWICE(x) ((x) + (x))\n")
    (folder / "first.hpp").write_text('#include "shared.hpp"\ninline double first(double x) { return TWICE(x); }\n#define lo hi\n#define PI 3.0\n')
    second = '#include "shared.hpp"\n#define PI 3.0\ninline double second(double x) { double lo = PI * x, hi = 1.0; return TWICE(lo) + hi; }\n'
    program = folder / "headers.tdsl"
    program.write_text('extern "second.hpp" { fn second(x: f64) -> f64; }\nextern "first.hpp" { fn first(x: f64) -> f64; }\nprint(first(2.0) + second(1.0));\n')
    (folder / "second.hpp").write_text(second)
    # The compiler loads the functions: those of its own prefix, not of one with sanitizers.
    refused = launch.run([tdslc, "check", program], limit, env={"TDSL_HOME": ""})
    if refused.code != 1 or not re.search(r"first\.hpp:3:9: error: the macro `lo` is left defined and would rewrite \S*second\.hpp: .*\[header-effect\]", refused.err):
        return f"{refused}: {refused.err!r}"
    (folder / "second.hpp").write_text(second.replace("lo", "low"))
    good = launch.run([tdslc, "eval", program], limit, env={"XDG_CACHE_HOME": str(folder / "cache"), "TDSL_HOME": ""})
    return None if good.out == "11.0\n" else str(good)


CHECKS = (comments_stay_comments, damaged_executables_are_built_again, other_caches_are_refused, other_things_in_the_cache_are_built_over,
          machine_constants_are_a_file, the_owner_keeps_access, a_cache_that_can_only_be_read_is_used,
          a_relative_folder_for_temporary_files_is_found, it_starts_without_mpi,
          signals_in_functions_of_headers_are_reported, macros_of_one_header_do_not_rewrite_another)
