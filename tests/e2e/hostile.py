"""What others planted, what was damaged, and text of the user's that would be code: `tdslc` works as if it were not there, or refuses.
Each check is a function of (tdslc, folder, limit) that gives what is wrong, or None; `errors.py` runs them."""
import os
from pathlib import Path

import launch

# Comments whose last character would make the next emitted line a comment, and a line break for C++ that is none for TDSL.
ENDINGS = "\\\t", "\\ \t ", "\\\v", "\\\f", "\\\\", "??/", "??/ \t", "\\\0", "\r#error", "\r s = 0.0; //", "\\??/\t\\"


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
    """Without HOME the cache has a name that others can foresee."""
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


CHECKS = comments_stay_comments, damaged_executables_are_built_again, other_caches_are_refused
