"""Warnings: all kinds, that each is printed once, and how to suppress them.
Each check is a function of (tdslc, folder, limit) that returns a failure description or None; `errors.py` runs them."""
import re

import launch

# Loop bodies that are not transformed, and the reason given by the warning; None if there is no warning.
LOOPS = (
    ("let r = randn(200); let s = sum(r * r); keep[t] = s;", None),
    ("let r = randn(200); let s = sum(r * r); keep[t] = s; print(s);", None),
    ("x = sin(x) + 0.1; keep[t] = x;", None),  # one task
    ("x = sin(x) + 0.1; keep[t] = x; print(x);", "its body prints"),
    ("keep[t] = 0.5 * keep[t + 1 - 2 * (t / 5)] + x; print(t);", "its body prints"),
)


def said(result):
    """(line, id) of every warning."""
    return [(int(line), name) for line, name in re.findall(r"^[^\n:]+:(\d+)(?::\d+)?: warning: .*\[([a-z-]+)\]$", result.err, re.M)]


def loops_of_whole_tensors_do_not_warn(tdslc, folder, limit):
    for k, (body, reason) in enumerate(LOOPS):
        program = folder / f"loop{k}.tdsl"
        program.write_text(f"var x = 0.5;\nvar keep: f64[10] = zeros(10);\nfor t in 0..9 {{ {body} }}\noutput keep;\nprint(x);\n")
        result = launch.run([tdslc, "check", program], limit)
        wanted = [(3, "sequential-loop")] if reason else []
        if result.code != 0 or said(result) != wanted or (reason or "") not in result.err:
            return f"{body}: {result}, not {wanted}"
    shown = launch.run([tdslc, "passes", folder / "loop2.tdsl"], limit)
    if "one task on one rank" not in shown.out:
        return f"no remark of the loop that is one task: {shown.out}"
    return None


def warnings_are_left_out_by_name(tdslc, folder, limit):
    program = folder / "left_out.tdsl"
    for text, options, wanted in (
        ("let a = 1;\n", (), [(1, "unused-name")]),
        ("let a = 1;\n", ("-Wno-unused-name",), []),
        ("let a = 1;\n", ("-Wno-shadowing", "-Wno-unused-name"), []),
        ("let a = 1; // allow(unused-name)\nlet b = 2;\n", (), [(2, "unused-name")]),
        ("// allow(shadowing, unused-name): why\n// more of it\nlet a = 1;\nlet b = 2;\n", (), [(4, "unused-name")]),
        ("// allow(gathered)\nlet a = 1;\n", (), [(2, "unused-name")]),
        ('print("// allow(unused-name)"); let a = 1;\n', (), [(1, "unused-name")]),
        ("let a = 1; // allow(unused-nam)\n", (), [(1, "unused-name"), (1, "unknown-warning")]),
        ("let a = 1; // allow(syntax)\n", ("-Wno-unused-name",), [(1, "unknown-warning")]),
    ):
        program.write_text(text)
        result = launch.run([tdslc, "check", *options, program], limit)
        if result.code != 0 or said(result) != wanted:
            return f"{options} {text}: {result}, not {wanted}"
        if "unused-nam)" in text and "no warning is called `unused-nam`; did you mean `unused-name`?" not in result.err:
            return f"no nearest name: {result.err}"
    return None


def cached_runs_do_not_repeat_warnings(tdslc, folder, limit):
    program = folder / "cached.tdsl"
    program.write_text("let a = 1;\nlet b = 2;\nprint(b);\n")
    for options, wanted in ((), [(1, "unused-name")]), ((), []), (("--no-cache",), [(1, "unused-name")]):
        result = launch.run([tdslc, "run", *options, program], limit, env={"XDG_CACHE_HOME": str(folder / "cache")})
        if (result.code, result.out) != (0, "2\n") or said(result) != wanted:
            return f"run {options}: {result}, not {wanted}"
    program.write_text("let a = 1;\nlet b = 2;\nprint(c);\n")
    result = launch.run([tdslc, "run", program], limit)
    return None if result.code == 1 and "undefined-name" in result.err else f"of a wrong program: {result}"


GATHERING = """param n: i64 = 10;
let x = random(n);
let p[i]: i64[20] = i64(10.0 * random(20)[i]);
let y[i]: f64[20] = if p[i] > 5 then x[p[i]] + x[p[i] - 1] else 0.0;{allow}
var h: f64[n] = zeros(n);
for i in 0..20 { h[p[i]] += y[i]; }
let s = det(outer(random(k), random(k)) + eye(k));{allow}
print(sum(y) > 0.0, sum(h) > 0.0, s > 0.0);
"""


def what_gathers_is_said_once_where_it_is_large(tdslc, folder, limit):
    text = GATHERING.replace("let s", "param k: i64 = 3;\nlet s").replace("{ h[", "{{ h[").replace("]; }", "]; }}")
    small, large = ["--n", "10"], ["--n", "200000", "--k", "400"]
    places = [(4, "gathered"), (6, "gathered"), (8, "gathered")]
    for name, allow, choices in (("open", "", ((small, []), (large, places))), ("allowed", " // allow(gathered)", ((large, [places[1]]),))):
        program, executable = folder / f"{name}.tdsl", folder / name
        program.write_text(text.format(allow=allow))
        result = launch.run([tdslc, "build", program, "-o", executable], limit)
        if result.code != 0 or result.err:
            return f"build {name}: {result}"
        for arguments, wanted in choices:
            result = launch.run([*launch.mpi_command(2), executable, *arguments], limit)
            if result.code != 0 or sorted(said(result)) != wanted:
                return f"{name} {arguments}: {result}, not {wanted}"
    known = folder / "known.tdsl"
    known.write_text("let A = random(400, 400);\nprint(det(A) != 0.0);\n")
    result = launch.run([tdslc, "run", "-n", 2, "--no-cache", known], limit)
    return None if result.code == 0 and said(result) == [(2, "gathered")] else f"{known.read_text()}: {result}"


CHECKS = (loops_of_whole_tensors_do_not_warn, warnings_are_left_out_by_name, cached_runs_do_not_repeat_warnings,
          what_gathers_is_said_once_where_it_is_large)
