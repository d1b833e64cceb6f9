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
    return {"X": random.integers(-4, 5, (n, m)).astype(np.float32), "K": np.arange(n, dtype=np.int32), "L": np.arange(n) * 10**12, "B": random.random((n, m)) < 0.5, "s": 3.0}


def check_kinds(results, a, lam):
    y = a["X"] * np.float32(2) + np.float32(1)
    expected = {"Y": y, "Z": a["X"] + 3 * y, "count": a["B"].sum(axis=1), "M": ~a["B"], "KL": a["K"] + a["L"]}
    for name, value in expected.items():
        assert results[name].dtype == (np.float32 if value.dtype == np.float32 else value.dtype), (name, results[name].dtype)
        assert np.array_equal(results[name], value), name
    assert results["total"] == a["s"] * lam + float(a["X"].sum(dtype=np.float64)), results["total"]


def alone():
    random = np.random.default_rng(1)
    a, b = random.random((70, 50)), random.random((50, 90))
    with product.Product(threads=2) as program:
        for _ in range(2):
            c = program(A=a, B=b)["C"]
            assert type(c) is np.ndarray and np.allclose(c, a @ b, rtol=1e-13)
        # Strides of any kind, integers that widen, an array to be written to.
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
        program({"C": square}, A=square, B=square)  # what is read is not written meanwhile
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

    # Results outlive the program, and two programs share a process.
    with product.Product() as first, kinds.Kinds(**{"lambda": 0.25}, threads=1) as second:
        given = arguments(33, 7)
        check_kinds(second(**given), given, 0.25)
        c = first(A=a, B=b)["C"]
        check_kinds(second(**given), given, 0.25)
    del first, second, program
    gc.collect()
    assert np.allclose(c, a @ b, rtol=1e-13)

    failing = kinds.Kinds()
    bad = dict(arguments(5, 3), K=np.full(5, -1, np.int32))
    raises(kinds.Error, "kinds.tdsl:8: assertion failed: K sums to at least 0", lambda: failing(**bad))
    raises(kinds.Error, "failed before", lambda: failing(**arguments(5, 3)))
    failing.close()
    with kinds.Kinds() as again:
        given = arguments(6, 2)
        check_kinds(again(**given), given, 0.5)


def with_mpi():
    from mpi4py import MPI

    world = MPI.COMM_WORLD
    rank, ranks = world.rank, world.size
    random = np.random.default_rng(1)
    a, b = random.random((70, 50)), random.random((50, 90))
    c = a @ b
    with product.Product(world, threads=1) as program:
        # Whole arrays everywhere, then each rank a band of its own; results by rows, then as the rank wants them.
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
    # A failing run ends with the same message everywhere, and MPI goes on.
    failing = kinds.Kinds(world)
    raises(kinds.Error, "kinds.tdsl:8: assertion failed: K sums to at least 0", lambda: failing(**dict(arguments(50, 3), K=np.full(50, -1, np.int32))))
    raises(kinds.Error, "failed before", lambda: failing(**arguments(50, 3)))
    failing.close()
    assert world.allreduce(1) == ranks
    with kinds.Kinds(world) as again, kinds.Kinds(MPI.COMM_SELF) as own:
        given = arguments(12, 5)
        check_kinds(own(**given), given, 0.5)
        assert again(outputs=["total"], **given)["total"] == given["s"] * 0.5 + float(given["X"].sum())
        whole = {name: np.empty(shape, dtype) for name, shape, dtype in (("Y", (12, 5), np.float32), ("Z", (12, 5), np.float32), ("count", (12,), np.int64),
                                                                            ("M", (12, 5), bool), ("KL", (12,), np.int64), ("total", (), np.float64))}
        check_kinds(again(whole, **given), given, 0.5)
    world.barrier()


if __name__ == "__main__":
    with_mpi() if sys.argv[1:] == ["mpi"] else alone()
    print("caller: good")
