#!/usr/bin/python3
"""Directories of tiles and datasets of HDF5 files as inputs and outputs, on one rank and three, with `tdslc run` and `tdslc eval`: files of other
programs are read, and other programs read ours. PASS files/NAME, FAIL files/NAME or SKIP files/NAME reason."""
import argparse
import itertools
import json
import os
import sys
import tempfile
from pathlib import Path

import launch
import numpy as np

sys.dont_write_bytecode = True
PROGRAM = Path(__file__).resolve().parent / "library" / "product.tdsl"
STORED = PROGRAM.with_name("stored.tdsl")


def write_zarr(path, array, tile, separator=".", fill=0):
    path.mkdir()
    head = {"zarr_format": 2, "shape": array.shape, "chunks": tile, "dtype": array.dtype.str, "compressor": None, "filters": None, "order": "C", "fill_value": fill,
            "dimension_separator": separator}
    (path / ".zarray").write_text(json.dumps(head))
    for at in itertools.product(*(range(-(-n // t)) for n, t in zip(array.shape, tile))):
        part = array[tuple(slice(k * t, (k + 1) * t) for k, t in zip(at, tile))]
        if (part == fill).all():
            continue
        whole = np.full(tile, fill, array.dtype)
        whole[tuple(slice(0, n) for n in part.shape)] = part
        file = path / separator.join(map(str, at))
        file.parent.mkdir(exist_ok=True)
        file.write_bytes(whole.tobytes())


def read_zarr(path):
    head = json.loads((path / ".zarray").read_text())
    assert head["compressor"] is None and head["order"] == "C", head
    tile = head["chunks"]
    array = np.full([-(-n // t) * t for n, t in zip(head["shape"], tile)], head["fill_value"], head["dtype"])
    for file in path.iterdir():
        if file.name == ".zarray":
            continue
        at = tuple(int(k) for k in file.name.split("."))
        array[tuple(slice(k * t, (k + 1) * t) for k, t in zip(at, tile))] = np.frombuffer(file.read_bytes(), head["dtype"]).reshape(tile)
    return array[tuple(slice(0, n) for n in head["shape"])]


class Test:
    def __init__(self, tdslc, work, limit):
        self.tdslc, self.work, self.limit = tdslc, work, limit
        random = np.random.default_rng(2)
        self.a, self.b = random.integers(-9, 9, (130, 70)).astype(np.float32), random.random((70, 1700))
        self.a[40:80, 20:40] = 2
        write_zarr(work / "a.zarr", self.a, (40, 20), "/", 2)
        np.save(work / "b.npy", self.b)

    def run(self, *words, code=0, **environment):
        done = launch.run(words, self.limit, cwd=self.work, env=environment)
        assert done.code == code and not done.timed_out, f"{words}: exit code {done.code}\n{done.out}{done.err}"
        return done.err

    def zarr(self):
        expected = self.a.astype(float) @ self.b
        files = ["--", "--A", "a.zarr", "--B", "b.npy", "--C", "c.zarr"]
        for command in (["run", PROGRAM], ["run", PROGRAM, "-n", "3"], ["eval", PROGRAM]):
            self.run(self.tdslc, *command, *files)
            c = read_zarr(self.work / "c.zarr")
            assert c.shape == expected.shape and np.allclose(c, expected, rtol=1e-12, atol=1e-9), command
        left = sorted(p.name for p in self.work.iterdir())
        assert left == ["a.zarr", "b.npy", "c.zarr"], left
        head = json.loads((self.work / "a.zarr/.zarray").read_text())
        (self.work / "a.zarr/.zarray").write_text(json.dumps({**head, "compressor": {"id": "blosc", "cname": "lz4"}}))
        for ranks in (["-n", "3"], []):
            error = self.run(self.tdslc, "run", PROGRAM, *ranks, *files, code=1)
            assert error.count("input A") == 1 and "product.tdsl:2: input A: `a.zarr` cannot be read as a Zarr array: its tiles are compressed (blosc)" in error, error
        with (self.work / "a.zarr/.zarray").open("a") as file:
            file.truncate(1 << 40)
        error = self.run(self.tdslc, "run", PROGRAM, "-n", "2", *files, code=1)
        assert "its .zarray is longer than 1 MiB" in error, error
        (self.work / "a.zarr/.zarray").write_text(json.dumps(head))
        (self.work / "real.zarr").symlink_to("c.zarr")
        self.run(self.tdslc, "run", PROGRAM, *files[:-1], "real.zarr")
        assert (self.work / "real.zarr").is_symlink() and np.allclose(read_zarr(self.work / "c.zarr"), expected)
        (self.work / "real.zarr").unlink()
        (self.work / "d.zarr").mkdir()
        error = self.run(self.tdslc, "run", PROGRAM, *files[:-1], "d.zarr", code=1)
        assert "this directory is no Zarr array" in error, error

    def zarr_package(self):
        import dask.array
        import zarr

        zarr.save_array(str(self.work / "b.zarr"), self.b, chunks=(30, 400), compressor=None)
        self.run(self.tdslc, "run", PROGRAM, "-n", "2", "--", "--A", "a.zarr", "--B", "b.zarr", "--C", "e.zarr")
        expected = self.a.astype(float) @ self.b
        for read in (zarr.open(str(self.work / "e.zarr"), mode="r")[:], dask.array.from_zarr(str(self.work / "e.zarr")).compute()):
            assert np.allclose(read, expected, rtol=1e-12, atol=1e-9), read

    def rows(self):
        """Short runs of a file in C order are combined where they are expensive: counted, as predicted, with the same bytes."""
        import h5py

        n, m = 1100, 1300
        random = np.random.default_rng(3)
        np.save(self.work / "l.npy", random.random((n, 40)))
        np.save(self.work / "r.npy", random.random((40, m)))
        (self.work / "pieces.conf").write_text("write_call = 1e-3\n")
        files = ["--", "--A", "l.npy", "--B", "r.npy", "--threads", "1", "--place", "C=i:2,j:2", "--stats", "s.json", "--C"]
        bytes_of = {}
        for output, constants, writes in (("blocks.npy", "", n * 2), ("rows.npy", "pieces.conf", 4), ("rows.h5:/C", "pieces.conf", 4)):
            self.run(self.tdslc, "run", PROGRAM, "-n", "4", *files, output, TDSL_MACHINE=constants)
            (store,) = [s for s in json.loads((self.work / "s.json").read_text())["statements"] if s["kind"] == "store"]
            foreseen, done = store["predicted"], store["measured"]
            assert foreseen["writes"] == done["writes"] == writes and done["mean_write_bytes"] == 8 * n * m / writes, (output, store)
            # Each rank has half of its rows.
            assert foreseen["bytes_received"] == done["bytes_received"] == (0 if not constants else 4 * n * m), (output, store)
            bytes_of[output] = np.load(self.work / output).tobytes() if output.endswith(".npy") else h5py.File(self.work / "rows.h5")["C"][()].tobytes()
        assert len(set(bytes_of.values())) == 1, "different bytes"

    def refused(self, error, *words, code=1):
        said = self.run(self.tdslc, *words, code=code)
        assert error in said and said.count("\n") == 1, (words, error, said)

    def hdf5(self):
        """Datasets in every storage layout, read by one rank, three ranks, and the evaluator; all outputs in one file."""
        import h5py

        names, (n, m) = "BPWTu", self.a.shape
        truth, whole, s = self.a > 0, np.arange(m, dtype=">i4") - 7, 0.3
        double = {"B": self.a + self.a, "P": truth, "W": 2 * whole.astype(np.int64), "T": self.a.T.astype(float) * s, "u": np.float64(0.6)}
        sparse = np.full((n, m), 2.5, np.float32)
        sparse[50:70, 10:45] = 1
        with h5py.File(self.work / "in.h5", "w", userblock_size=512) as file:
            file["truth"], file["deep/er/whole"], file["s"] = truth, whole, s
            file.create_dataset("packed", data=self.a, chunks=(33, 21), compression="gzip", shuffle=True)
            file.create_dataset("summed", data=self.a, chunks=(33, 21), compression="gzip", fletcher32=True)
            file["long"], file["text"], file["half"] = self.a.astype(np.longdouble), "hello", self.a.astype(np.float16)
        with h5py.File(self.work / "chunks.hdf5", "w") as file:
            file.create_dataset("A", data=self.a, chunks=(33, 21))
            file.create_dataset("bytes", data=self.a.astype(np.int8), chunks=(1, 1))
            file.create_dataset("sparse", (n, m), ">f4", chunks=(33, 21), fillvalue=2.5)[50:70, 10:45] = 1
            file.create_dataset("M", data=truth, chunks=(33, 21), compression="gzip")
        inputs = ["--M", "in.h5:/truth", "--V", "in.h5:deep/er//whole", "--s", "in.h5:/s"]
        outputs = [word for name in names for word in (f"--{name}", f"out.h5:/run/{name}" if name != "u" else "out.h5:u")]
        for k, command in enumerate((["run", STORED], ["run", STORED, "-n", "3"], ["eval", STORED])):
            # The second time the file exists, with the same datasets.
            for a, given in (("in.h5:/packed", self.a), ("chunks.hdf5:A", self.a), ("chunks.hdf5:/bytes", self.a), ("chunks.hdf5:sparse", sparse), ("in.h5:/summed", self.a),
                             ("in.h5:half", self.a.astype(np.float16).astype(np.float32)))[2 * k:2 * k + 2]:
                self.run(self.tdslc, *command, "--", "--A", a, *[w if k != 1 or w != "in.h5:/truth" else "chunks.hdf5:/M" for w in inputs], *outputs, HDF5_USE_FILE_LOCKING="TRUE")
                with h5py.File(self.work / "out.h5") as file:
                    assert sorted(file) == ["run", "u"] and sorted(file["run"]) == sorted(names[:-1]), sorted(file)
                    for name in names:
                        found = file[f"run/{name}" if name != "u" else name][()]
                        expected = {**double, "B": given + given, "T": given.T.astype(float) * s}[name]
                        assert found.dtype == expected.dtype and np.array_equal(found, expected), (command, a, name, found)
        # A file that is read cannot be written, even if all its datasets would be.
        before = (self.work / "out.h5").read_bytes()
        self.refused("cannot write `out.h5:/run/B` (output B): it is input A; choose another name", "eval", STORED, "--", "--A", "out.h5:/run/B", *inputs, *outputs, code=2)
        assert (self.work / "out.h5").read_bytes() == before, "out.h5 was changed"
        left = [p.name for p in self.work.iterdir() if ".tmp-" in p.name]
        assert not left, left
        self.hdf5_errors(inputs)

    def hdf5_errors(self, inputs):
        data = ["--", "--A", "chunks.hdf5:/A", *inputs]
        for k, (error, *words) in enumerate((
                ("stored.tdsl:7: cannot write `out.h5:/run/P`: the file is replaced whole, and its dataset `/run/B`, which this run does not write, would be lost", *data, "--P", "out.h5:/run/P"),
                ("input A: `in.h5:/nowhere/A` cannot be read: there is no dataset `/nowhere/A` in the file; it has `/deep/er/whole`, `/half`, `/long`, `/packed`", "--", "--A", "in.h5:/nowhere/A", *inputs),
                ("input A: `in.h5:long` cannot be read: it holds floating-point numbers of 128 bits", "--", "--A", "in.h5:long", *inputs),
                ("input A: `in.h5:text` cannot be read: it holds strings", "--", "--A", "in.h5:text", *inputs),
                ("input A is declared f32, but `in.h5:s` holds f64", "--", "--A", "in.h5:s", *inputs),
                ("input A: `in.h5`: a dataset of the file is to be named, as in `in.h5:/NAME`", "--", "--A", "in.h5", *inputs),
                ("cannot write `x.h5:/B`: another output goes to the same dataset", *data, "--B", "x.h5:/B", "--P", "x.h5:B"),
                ("cannot write `x.h5:/B`: it is no group, but another output goes to `/B/P` in this file", *data, "--B", "x.h5:/B", "--P", "x.h5:/B/P"))):
            self.refused(error.removeprefix("stored.tdsl:7: ") if k else error, "run" if k == 0 else "eval", STORED, *(["-n", "3"] if k == 0 else []), *words)
        assert not (self.work / "x.h5").exists(), "x.h5"
        np.save(self.work / "s.npy", 0.3)
        for name, wanted in (("s.npy", False), ("in.h5:/s", True)):  # without HDF5 file names there is no cost
            said = self.run(self.tdslc, "eval", PROGRAM.with_name("scalar.tdsl"), "--", "--s", name, LD_DEBUG="files")
            assert ("libhdf5" in said) == wanted, name


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tdslc", default=os.environ.get("TDSLC", "tdslc"))
    parser.add_argument("--filter", default="")
    parser.add_argument("--limit", type=float, default=240)
    options = parser.parse_args()
    status = 0
    with tempfile.TemporaryDirectory(prefix="tdsl-files-") as work:
        names = [name for name in ("zarr", "zarr_package", "rows", "hdf5") if options.filter in f"files/{name}"]
        test = Test(options.tdslc, Path(work), options.limit) if names else None
        for name in names:
            try:
                getattr(test, name)()
                print(f"PASS files/{name}", flush=True)
            except ModuleNotFoundError as missing:
                print(f"SKIP files/{name} {missing.name} is not installed (python3-{missing.name})")
            except AssertionError as failure:
                status = 1
                print(f"FAIL files/{name}\n{failure}", flush=True)
    sys.exit(status)


if __name__ == "__main__":
    main()
