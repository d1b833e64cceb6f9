"""Calls the libraries `product` and `kinds` from this process; with the argument `mpi` on the ranks of mpi4py's world."""
import gc
import sys

import numpy as np

import kinds
import product


def raises(kind, text, action):
    try:
        action()
    except kind as error:
        assert text in str(error), f"{error}, not {text}"
    else:
        raise AssertionError(f"no {kind.__name__} with `{text}`")


def arguments(n, m, seed=0):
    random = np.random.default_rng(seed)
    return {"X": random.integers(-4, 5, (n, m)).astype(np.float32), "K": np.arange(n, dtype=np.int32), "L": np.arange(n) * 10**12, "B": random.random((n, m)) < 0.5,
            "S": np.eye(n, m), "s": 3.0}


def check_kinds(results, a, alpha, steps=3):
    y = a["X"] * np.float32(2) + np.float32(1)
    expected = {"Y": y, "Z": a["X"] + np.float32(steps) * y, "count": a["B"].sum(axis=1), "M": ~a["B"], "KL": a["K"] + a["L"]}
    for name, value in expected.items():
        assert results[name].dtype == (np.float32 if value.dtype == np.float32 else value.dtype), (name, results[name].dtype)
        assert np.array_equal(results[name], value), name
    assert results["total"] == a["s"] * alpha + float(a["X"].sum(dtype=np.float64)) + a["S"].sum(), results["total"]


def alone():
    random = np.random.default_rng(1)
    a, b = random.random((70, 50)), random.random((50, 90))
    with product.Product(threads=2) as program:
        for _ in range(2):
            c = program(A=a, B=b)["C"]
            assert type(c) is np.ndarray and np.allclose(c, a @ b, rtol=1e-13)
        # Arbitrary strides, widening integers, and a given output array.
        before = a.copy()
        c = program(A=a.T[::-1].T[::2], B=np.asfortranarray(b)[::-1])["C"]
        assert np.allclose(c, a.T[::-1].T[::2] @ b[::-1], rtol=1e-13)
        assert np.array_equal(program(A=np.ones((3, 2), np.int32), B=np.ones((2, 2), ">f8"))["C"], np.full((3, 2), 2.0))
        target = np.zeros((90, 70)).T
        assert program({"C": target}, A=a, B=b)["C"] is target and np.allclose(target, a @ b, rtol=1e-13)
        assert np.array_equal(a, before)
        assert program(outputs=[], A=a, B=b) == {}
        square = np.arange(9.0).reshape(3, 3)
        squared = square @ square
        program({"C": square}, A=square, B=square)  # inputs must not be outputs
        assert np.array_equal(square, squared)
        halves = [product.Box(a[:30], (0, 0), a.shape), product.Box(a[30:], (30, 0), a.shape)]
        assert np.allclose(program(A=halves, B=b)["C"], a @ b, rtol=1e-13)
        assert program.layout("C", A=(70, 50), B=b) == [((0, 0), (70, 90))]
        assert program(A=np.zeros((0, 2)), B=np.zeros((2, 4)))["C"].shape == (0, 4)
        raises(TypeError, "complex", lambda: program(A=a.astype(complex), B=b))
        raises(TypeError, "no input D", lambda: program(A=a, B=b, D=b))
        raises(ValueError, "input B (f64[m, k]) is missing", lambda: program(A=a))
        raises(ValueError, "disagree about dimension m", lambda: program(A=a, B=a))
        raises(ValueError, "no rank gives the element", lambda: program(A=halves[0], B=b))
        assert np.allclose(program(A=a, B=b)["C"], a @ b, rtol=1e-13)
    raises(product.Error, "closed", lambda: program(A=a, B=b))
    raises(ValueError, "unknown option", lambda: product.Product(thread=2))

    assert kinds.INPUTS["S"] == "f64[n, sparse m]" and "input S: f64[n, sparse m]" in kinds.__doc__
    assert "param steps: i64, the keyword steps of the program or of a call" in kinds.__doc__
    params()

    # Results outlive the program, and two programs share a process.
    with product.Product() as first, kinds.Kinds(alpha=0.25, steps=3, threads=1) as second:
        given = arguments(33, 7)
        check_kinds(second(**given), given, 0.25)
        c = first(A=a, B=b)["C"]
        check_kinds(second(**given), given, 0.25)
    del first, second, program
    gc.collect()
    assert np.allclose(c, a @ b, rtol=1e-13)

    with kinds.Kinds(steps=3) as failing:
        go_on_after_failures(failing)


def params():
    """Params of the program, or of one call."""
    given = arguments(9, 4)
    with kinds.Kinds(alpha=0.25) as program:
        raises(ValueError, "param steps (i64) is missing", lambda: program(**given))
        for alpha, steps in ((0.5, 3), (0.75, 1), (0.25, 0)):
            check_kinds(program(**given, alpha=alpha, steps=steps), given, alpha, steps)
        check_kinds(program(**given, steps=2), given, 0.25, 2)
        raises(ValueError, "steps", lambda: program(**given, steps=1.5))
        raises(TypeError, "no input threads; inputs: X, K, L, B, S, s; params: alpha, steps; options of the command line go to Kinds(...)", lambda: program(**given, threads=2))
        assert program.layout("Y", steps=1, **{name: np.shape(value) for name, value in given.items()}) == [((0, 0), (9, 4))]
        # Like a caller in C.
        keep = []
        array = kinds._described("alpha", kinds._boxes(0.5), "f64", False, keep)
        code = kinds._library.kinds_run(program._handle, array, 1, None, 0)
        message = kinds._library.kinds_message(program._handle).decode()
        assert code == 2 and "`alpha` is a param, not an input: its value goes to open, or to params before the call, as the option --alpha VALUE" in message, message
        code = kinds._library.kinds_params(program._handle, *kinds._c_words(["--threads", "2"]))
        message = kinds._library.kinds_message(program._handle).decode()
        assert code == 2 and "`--threads` is no param" in message, message
        check_kinds(program(**given, steps=2), given, 0.25, 2)


def go_on_after_failures(program):
    """A failed assertion ends the call only."""
    for rows in (50, 7, 50):
        given = arguments(rows, 3)
        raises(kinds.Error, "kinds.tdsl:10: assertion failed: K sums to at least 0", lambda: program(**dict(given, K=np.full(rows, -1, np.int32))))
        expected = given["s"] * 0.5 + float(given["X"].sum(dtype=np.float64)) + given["S"].sum()
        assert program(outputs=["total"], **given)["total"] == expected


def with_mpi():
    from mpi4py import MPI

    world = MPI.COMM_WORLD
    rank, ranks = world.rank, world.size
    random = np.random.default_rng(1)
    a, b = random.random((70, 50)), random.random((50, 90))
    c = a @ b
    with product.Product(world, threads=1) as program:
        # Whole arrays on all ranks, then a band per rank; results by rows, then as requested by the rank.
        band = slice(70 * rank // ranks, 70 * (rank + 1) // ranks)
        for given in (a, product.Box(a[band], (band.start, 0), a.shape)):
            result = program(A=given, B=b)["C"]
            lo = result.lo[0]
            assert result.shape == (70, 90) and (lo, len(result.array)) == (band.start, band.stop - band.start)
            assert np.allclose(result.array, c[lo:lo + len(result.array)], rtol=1e-13)
        columns = np.zeros((70, 30))
        program({"C": product.Box(columns, (0, 30 * ((rank + 1) % 3)), (70, 90))}, A=product.Box(a[band], (band.start, 0), a.shape), B=b)
        assert np.allclose(columns, c[:, 30 * ((rank + 1) % 3):][:, :30], rtol=1e-13)
        boxes = program.layout("A", A=a, B=b)
        placed = [product.Box(np.ascontiguousarray(a[lo[0]:hi[0], lo[1]:hi[1]]), lo, a.shape) for lo, hi in boxes]
        assert np.allclose(program(A=placed, B=b)["C"].array, c[band], rtol=1e-13)
        raises(ValueError, "rank 1 gives other arrays", lambda: program(A=a[: 70 - rank], B=b))
        raises(ValueError, "disagree about dimension m", lambda: program(A=a, B=a))
        assert np.allclose(program(A=a, B=b)["C"].array, c[band], rtol=1e-13)
    # A failing run ends with the same message on all ranks; MPI and the program remain usable.
    with kinds.Kinds(world, steps=3) as failing:
        go_on_after_failures(failing)
    assert world.allreduce(1) == ranks
    with kinds.Kinds(world, steps=3) as again, kinds.Kinds(MPI.COMM_SELF, steps=3) as own:
        given = arguments(12, 5)
        check_kinds(own(**given), given, 0.5)
        assert again(outputs=["total"], **given)["total"] == given["s"] * 0.5 + float(given["X"].sum()) + given["S"].sum()
        whole = {name: np.empty(shape, dtype) for name, shape, dtype in (("Y", (12, 5), np.float32), ("Z", (12, 5), np.float32), ("count", (12,), np.int64),
                                                                            ("M", (12, 5), bool), ("KL", (12,), np.int64), ("total", (), np.float64))}
        check_kinds(again(whole, **given), given, 0.5)
    world.barrier()


if __name__ == "__main__":
    with_mpi() if sys.argv[1:] == ["mpi"] else alone()
    print("caller: good")
