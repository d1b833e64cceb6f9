"""Calls the libraries `product` and `kinds` from this process; with the argument `mpi` on the ranks of mpi4py's world."""
import gc
import sys

import numpy as np

import kinds
import product
import scatter
from tdsl.abi import TYPES, c_words
from tdsl.arguments import Description, boxes_of, layout_of


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
        assert program(out={"C": target}, A=a, B=b)["C"] is target and np.allclose(target, a @ b, rtol=1e-13)
        assert np.array_equal(a, before)
        assert program(outputs=[], A=a, B=b) == ()
        square = np.arange(9.0).reshape(3, 3)
        squared = square @ square
        program(out={"C": square}, A=square, B=square)  # inputs must not be outputs
        assert np.array_equal(square, squared)
        halves = [product.Box(a[:30], (0, 0), a.shape), product.Box(a[30:], (30, 0), a.shape)]
        assert np.allclose(program(A=halves, B=b)["C"], a @ b, rtol=1e-13)
        assert program.layout("C", A=(70, 50), B=b) == [((0, 0), (70, 90))]
        assert program(A=np.zeros((0, 2)), B=np.zeros((2, 4)))["C"].shape == (0, 4)
        raises(product.ArgumentError, "complex", lambda: program(A=a.astype(complex), B=b))
        raises(product.ArgumentError, "no input D", lambda: program(A=a, B=b, D=b))
        raises(ValueError, "input B (f64[m, k]) is missing", lambda: program(A=a))
        raises(ValueError, "disagree about dimension m", lambda: program(A=a, B=a))
        raises(ValueError, "no rank gives the element", lambda: program(A=halves[0], B=b))
        assert np.allclose(program(A=a, B=b)["C"], a @ b, rtol=1e-13)
    raises(product.Error, "has been closed", lambda: program(A=a, B=b))
    raises(ValueError, "unknown option", lambda: product.Product(thread=2))

    sparse_alone()
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
        raises(ValueError, "no input threads; inputs: X, K, L, B, S, s; params: alpha, steps; options of the command line", lambda: program(**given, threads=2))
        assert program.layout("Y", steps=1, **{name: np.shape(value) for name, value in given.items()}) == [((0, 0), (9, 4))]
        # Like a caller in C.
        functions = program.library.functions
        boxes = boxes_of(0.5)
        described = Description([layout_of("alpha", TYPES["f64"], boxes)])
        keep = described.point_to(boxes)
        code = functions["run"](program._handle, described.arrays, 1, None, 0)
        message = functions["message"](program._handle).decode()
        assert code == 2 and "`alpha` is a param, not an input: its value goes to open, or to params before the call, as the option --alpha VALUE" in message, message
        code = functions["params"](program._handle, *c_words(["--threads", "2"]))
        message = functions["message"](program._handle).decode()
        assert code == 2 and "`--threads` is no param" in message, message
        check_kinds(program(**given, steps=2), given, 0.25, 2)


def go_on_after_failures(program):
    """A failed assertion ends the call only."""
    for rows in (50, 7, 50):
        given = arguments(rows, 3)
        raises(kinds.RunError, "kinds.tdsl:10: assertion failed: K sums to at least 0", lambda: program(**dict(given, K=np.full(rows, -1, np.int32))))
        expected = given["s"] * 0.5 + float(given["X"].sum(dtype=np.float64)) + given["S"].sum()
        assert program(outputs=["total"], **given)["total"] == expected


def matrices(n, m, seed):
    """Random sparse matrices in several forms, with equal values."""
    import scipy.sparse as sp

    csr = sp.random(n, m, 0.3, format="csr", random_state=seed)
    csr.data = np.round(8 * csr.data) + 1
    shuffled = csr.copy()
    for row in range(n):
        part = slice(*shuffled.indptr[row:row + 2])
        shuffled.indices[part], shuffled.data[part] = shuffled.indices[part][::-1].copy(), shuffled.data[part][::-1].copy()
    long = sp.csr_matrix((csr.data, csr.indices.astype(np.int64), csr.indptr.astype(np.int64)), shape=csr.shape)
    twice = sp.coo_matrix((np.concatenate([csr.tocoo().data] * 2), (np.tile(csr.tocoo().row, 2), np.tile(csr.tocoo().col, 2))), shape=csr.shape)
    return csr, [csr, sp.csr_array(csr), csr.tocoo(), csr.tocsc(), shuffled, long, csr.astype(np.float32), csr.toarray()], twice


def sparse_alone():
    """Matrices of SciPy, in and out."""
    with scatter.Scatter() as program:
        for n, m in ((30, 20), (1, 7), (5, 1)):
            csr, forms, twice = matrices(n, m, n)
            dense = csr.toarray()
            for form in forms:
                result = program(S=form)
                assert type(result.T).__name__ == "csr_array" and result.T.has_sorted_indices and np.array_equal(result.T.toarray(), 2 * dense.T)
                assert np.array_equal(result.D, dense + 1) and result.nnz_of == csr.nnz and result.T.indices.dtype == np.int32
            assert np.array_equal(program(S=twice, outputs=["D"]).D, 2 * dense + 1)
        target = np.full((1, 5), 7.0)
        assert program(S=csr, out={"T": target}).T is target and np.array_equal(target, 2 * dense.T)
        empty = csr[:0]
        assert program(S=empty, outputs=["T"]).T.shape == (1, 0)
        bad = csr.copy()
        bad.indices[0] = 9
        raises(ValueError, "an element in column 9 of 1", lambda: program(S=bad))
        raises(ValueError, "no input A", lambda: program(A=csr))
        assert program.layout("S", S=csr) == [((0, 0), csr.shape)]


def sparse_with_mpi(world):
    rank, ranks = world.rank, world.size
    csr, _, _ = matrices(30, 20, 1)
    dense = csr.toarray()
    band = slice(30 * rank // ranks, 30 * (rank + 1) // ranks)
    with scatter.Scatter(world, threads=1) as program:
        overlapping = slice(max(0, band.start - 3), band.stop)
        for given in (csr, scatter.Box(csr[band], (band.start, 0), csr.shape), scatter.Box(csr[overlapping], (overlapping.start, 0), csr.shape)):
            result = program(S=given)
            lo, part = result.T.lo[0], result.T.array
            assert result.T.shape == (20, 30) and np.array_equal(part.toarray(), 2 * dense.T[lo:lo + part.shape[0]])
            assert sum(world.allgather(part.shape[0])) == 20 and np.array_equal(result.D.array, dense[band] + 1)
        raises(ValueError, "no rank gives the element", lambda: program(S=scatter.Box(csr[:5], (0, 0), csr.shape)))


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
        program(out={"C": product.Box(columns, (0, 30 * ((rank + 1) % 3)), (70, 90))}, A=product.Box(a[band], (band.start, 0), a.shape), B=b)
        assert np.allclose(columns, c[:, 30 * ((rank + 1) % 3):][:, :30], rtol=1e-13)
        boxes = program.layout("A", A=a, B=b)
        placed = [product.Box(np.ascontiguousarray(a[lo[0]:hi[0], lo[1]:hi[1]]), lo, a.shape) for lo, hi in boxes]
        assert np.allclose(program(A=placed, B=b)["C"].array, c[band], rtol=1e-13)
        raises(ValueError, "rank 1 gives other arrays", lambda: program(A=a[: 70 - rank], B=b))
        raises(ValueError, "disagree about dimension m", lambda: program(A=a, B=a))
        assert np.allclose(program(A=a, B=b)["C"].array, c[band], rtol=1e-13)
    sparse_with_mpi(world)
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
        check_kinds(again(out=whole, **given), given, 0.5)
    world.barrier()


if __name__ == "__main__":
    with_mpi() if sys.argv[1:] == ["mpi"] else alone()
    print("caller: good")
