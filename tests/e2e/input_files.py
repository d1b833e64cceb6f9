"""Special cases of input and output files: `.tns` files without shape, copies on several nodes, shapes beyond all memory, formats that cannot
hold the output. Each check is a function of (tdslc, folder, limit) that returns a failure description or None; `errors.py` runs them."""
import re

import numpy as np

import launch

OVERSUBSCRIBED = {"TDSL_OVERSUBSCRIBED": "1"}


def built(tdslc, folder, limit, text):
    program = folder / "program.tdsl"
    program.write_text(text)
    result = launch.run([tdslc, "build", program, "-o", folder / "program"], 4 * limit)
    return program, folder / "program", None if result.code == 0 else f"build: {result}"


def everywhere(tdslc, program, executable, arguments, folder, limit):
    """Results of the evaluator and of the executable on 1 and 3 ranks, with labels."""
    yield "eval", launch.run([tdslc, "eval", program, "--", *arguments], limit, cwd=folder)
    for ranks in 1, 3:
        yield f"ranks={ranks}", launch.run([*launch.mpi_command(ranks), executable, *arguments], limit, cwd=folder, env=OVERSUBSCRIBED)


def tns_extents_are_bounds(tdslc, folder, limit):
    """Other inputs, --set and declared extents may exceed the entries' range, but not the reverse."""
    program, executable, problem = built(tdslc, folder, limit, """input A: f64[n, sparse m];
input C: f64[4, 5];
input x: f64[m];
output y = A @ x;
output B = A;
output c = C;
""")
    (folder / "A.tns").write_text("1 2 3.5 # the first\n3 1 -2\n")
    (folder / "C.tns").write_text("2 3 1.5\n")
    np.save(folder / "x.npy", np.arange(1.0, 6.0))
    np.save(folder / "short.npy", np.arange(1.0, 2.0))
    A, C = np.zeros((6, 5)), np.zeros((4, 5))
    A[0, 1], A[2, 0], C[1, 2] = 3.5, -2, 1.5
    arguments = "--A A.tns --C C.tns --x x.npy --set n=6 --y y.npy --B B.tns --c c.npy".split()
    for where, result in everywhere(tdslc, program, executable, arguments, folder, limit):
        problem = problem or (f"{where}: {result}" if result.code != 0 else None)
        if problem:
            return problem
        if not np.array_equal(np.load(folder / "y.npy"), A @ np.arange(1.0, 6.0)) or not np.array_equal(np.load(folder / "c.npy"), C):
            return f"{where}: other values"
        if (folder / "B.tns").read_text() != "# tdsl shape 6 5\n1 2 3.5\n3 1 -2\n":
            return f"{where}: B.tns is {(folder / 'B.tns').read_text()!r}"
    for words, message in (("--x short.npy", r"dimension m: dimension 1 of A \(`A.tns`\) has an entry at 1, from 0 on, but dimension 0 of x \(`short.npy`\) has 1 \[wrong-shape\]$"),
                           ("--x x.npy --set n=2", r"dimension n: dimension 0 of A \(`A.tns`\) has an entry at 2, from 0 on, but --set n=2 fixes it \[wrong-shape\]$"),
                           ("--x x.npy --C B.tns", r"input C should have shape \[4, 5\], but the array in `B.tns` has shape \[6, 5\] \[wrong-shape\]$"),
                           ("--x x.npy --C far.tns", r"input C should have shape \[4, 5\], but the array in `far.tns` has entries beyond it: they need at least \[4, 6\] \[wrong-shape\]$")):
        (folder / "far.tns").write_text("4 6 1\n")
        arguments = ["--A", "A.tns", *words.split()] + ([] if "--C" in words else ["--C", "C.tns"])
        for where, result in everywhere(tdslc, program, executable, arguments, folder, limit):
            if result.code != 1 or not re.search(message, result.err.strip()):
                return f"{where}: {words}: {result}"
    explained = launch.run([tdslc, "explain", program, "-n", "2", "--set", "n=6", "--", "--A", "A.tns", "--C", "C.tns", "--x", "x.npy"], limit, cwd=folder)
    return None if explained.code == 0 else f"explain: {explained}"


def copies_on_nodes_are_compared(tdslc, folder, limit):
    """Nodes may have their own copies: with the same size, and the same shape if it is known."""
    _, executable, problem = built(tdslc, folder, limit, "input A: f64[n, m];\noutput s = sum(A);\n")
    contents = {"A.tns": ("1 2 3.5\n3 1 -2\n", "1 2 3.5\n3 1 -2\n4 1 1\n"), "B.tns": ("# tdsl shape 3 2\n1 1 5\n", "# tdsl shape 2 3\n1 1 5\n")}
    for node in "here", "there":
        (folder / node).mkdir()
        for name, (same, _) in contents.items():
            (folder / node / name).write_text(same)

    def run(name):
        one = ["-n", "1", "-wdir"]
        command = ["mpiexec", "-q", "--bind-to", "none", *one, folder / "here", executable, "--A", name, ":", *one, folder / "there", executable, "--A", name]
        return launch.run(command, limit, env={**OVERSUBSCRIBED, "TDSL_RANKS_PER_NODE": "1"})

    for name, (_, other) in contents.items():
        result = run(name)
        if not problem and (result.code, result.err) != (0, ""):
            problem = f"equal copies of {name}: {result}"
        (folder / "there" / name).write_text(other)
        result = run(name)
        wanted = r"`A.tns` is another file on rank 1 than on rank 0: one of 21 bytes, not 15" if name == "A.tns" else r"`B.tns` is another file on rank 1 than on rank 0: one of another shape"
        if not problem and (result.code != 1 or not re.search(wanted, result.err)):
            problem = f"other copies of {name}: {result}"
    return problem


def refused_for_room(tdslc, folder, limit, text, name, content, shape):
    """The program (its path) and the problem with its runs: a dense A exceeds the memory, or no plan is found before."""
    program, executable, problem = built(tdslc, folder, limit, text)
    (folder / name).write_text(content)
    for where, result in everywhere(tdslc, program, executable, ["--A", name], folder, limit):
        said = {1: rf"A is sparse f64\[{shape}, but this machine has .* of memory", 2: r"`cumsum` does not fit into memory: it needs at least [0-9.]+ TiB on a rank"}
        if not problem and not re.search(said.get(result.code, "no such code"), result.err):
            problem = f"{where}: {result}"
    return program, problem


def sparse_shapes_beyond_memory_are_refused(tdslc, folder, limit):
    """Sparse tensors that are stored dense: the kernel would kill the program."""
    text = "input A: f64[sparse n, sparse m, sparse k];\noutput s = sum(cumsum(A, axis=0));\n"
    program, problem = refused_for_room(tdslc, folder, limit, text, "A.tns", "# tdsl shape 30000 30000 30000\n1 2 3 3.5\n",
                                        r"30000, 30000, 30000\], stored dense here: 196.5 TiB")
    explained = launch.run([tdslc, "explain", program, "-n", "2", "--", "--A", "A.tns"], limit, cwd=folder)
    return problem or (None if explained.code == 0 else f"explain: {explained}")


def dense_copies_beyond_memory_are_refused(tdslc, folder, limit):
    """Compressed matrices that fit, of which an operation needs a dense copy."""
    text = "input A: f64[n, sparse n];\noutput y = sum(A, axis=1);\noutput s = sum(cumsum(A, axis=0));\n"
    content = "%%MatrixMarket matrix coordinate real general\n3000000 3000000 2\n1 2 3.5\n2999999 7 1.0\n"
    return refused_for_room(tdslc, folder, limit, text, "A.mtx", content, r"3000000, 3000000\], stored dense here: 65.5 TiB")[1]


def outputs_are_checked_at_start(tdslc, folder, limit):
    """Outputs that the file format cannot hold are detected before anything is computed."""
    program, executable, problem = built(tdslc, folder, limit, 'print("begun");\nlet x = random(5);\noutput s = sum(x);\noutput x;\n')
    for arguments, message in (("--s s.mtx", r"cannot write `s.mtx`: a scalar has no coordinates"), ("--x x.npz", r"cannot write `x.npz`: .npz files hold matrices, and this tensor has 1 dimension;"),
                               ("--x x.dat", r"`x.dat`: the extension says how a file is written"), ("--s s.csv", r"cannot write `s.csv`: a scalar has no coordinates")):
        for where, result in everywhere(tdslc, program, executable, arguments.split(), folder, limit):
            if not problem and (result.code != 1 or result.out or not re.search(message, result.err)):
                problem = f"{where}: {arguments}: {result}, printed {result.out!r}"
    return problem


CHECKS = tns_extents_are_bounds, copies_on_nodes_are_compared, sparse_shapes_beyond_memory_are_refused, dense_copies_beyond_memory_are_refused, outputs_are_checked_at_start
