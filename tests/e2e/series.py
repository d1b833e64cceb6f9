"""Series in interrupted runs: files are cut back to the checkpoint, and end as those of an unbroken run. Run by checkpoints.py."""
import json
import os
import resource
import signal
import subprocess
import time

import numpy as np

FILES = {"states": "states.npy", "sums": "sums.csv", "rows": "rows.npy", "tiles": "tiles.zarr", "passed": "passed.npy"}
# AddressSanitizer's dlopen ignores the executable's library path for the plug-in.
if os.environ.get("TDSL_TEST_PRESET", "release") == "release":
    FILES["heat"] = "heat.h5:/run/heat"


def zarr(path):
    """An uncompressed Zarr array of version 2."""
    head = json.loads((path / ".zarray").read_text())
    shape, chunks = head["shape"], head["chunks"]
    whole = np.zeros([-(-n // c) * c for n, c in zip(shape, chunks)], head["dtype"])
    for place in np.ndindex(*(n // c for n, c in zip(whole.shape, chunks))):
        file = path / ".".join(map(str, place))
        if file.exists():
            whole[tuple(slice(p * c, p * c + c) for p, c in zip(place, chunks))] = np.fromfile(file, head["dtype"]).reshape(chunks)
    return whole[tuple(slice(n) for n in shape)]


def hdf5(path):
    if not path.exists():
        return None
    import h5py
    with h5py.File(path, "r") as file:
        return file["run/heat"].maxshape, file["run/heat"][()].tobytes()


def contents(folder):
    """All records, as bytes."""
    whole = {name: np.load(folder / file) for name, file in FILES.items() if file.endswith(".npy")}
    return {**{name: (value.shape, value.tobytes()) for name, value in whole.items()}, "tiles": zarr(folder / "tiles.zarr").tobytes(),
            "heat": hdf5(folder / "heat.h5"), "sums": (folder / "sums.csv").read_text(), "chunks": len(list((folder / "tiles.zarr").iterdir()))}


def series(options, Case, require):
    case = Case("series", options, ("U",))
    rng = np.random.default_rng(8)
    X = rng.standard_normal((37, 5))
    np.save(case.folder / "X.npy", X)
    case.arguments = ["--X", "X.npy", *(w for name, file in FILES.items() for w in (f"--{name}", file))]
    for ranks in (1, 3):
        whole, _ = case.run(ranks)
        wanted = contents(case.folder)
        check_values(X, case.folder, require)
        for stop in (1, 5, 9):
            name = f"ck{ranks}-{stop}"
            text, errors = case.run(ranks, "--checkpoint", name, code=75, stop=stop)
            require("states.npy` holds" in errors and " complete record" in errors, errors)
            more, _ = case.run(ranks, "--resume", name)  # cuts back nothing: the run ended at the checkpoint
            require(text + more == whole and contents(case.folder) == wanted, f"{ranks} ranks, boundary {stop}: other records")
            more, _ = case.run(ranks, "--resume", name)  # cuts back the complete files
            require(text + more == whole and contents(case.folder) == wanted, f"{ranks} ranks, boundary {stop}: other records the second time")
    refusals(case, name, wanted, require)
    killed(case, options, require)
    full(case, require)


def check_values(X, folder, require):
    states, U = [], X
    for t in range(12):
        states.append(U)
        U = 0.5 * U + t
    require(np.array_equal(np.load(folder / "states.npy"), states[::3]), "states.npy has other values")
    require(np.array_equal(zarr(folder / "tiles.zarr"), states), "tiles.zarr has other values")
    require(np.allclose(np.loadtxt(folder / "sums.csv"), [s.sum() for s in states]), "sums.csv has other values")


def refusals(case, name, wanted, require):
    """Files that are missing or shorter than at the checkpoint."""
    for file in ("states.npy", "sums.csv", "tiles.zarr"):
        (case.folder / file).rename(case.folder / "away")
        _, errors = case.run(2, "--resume", name, code=1)
        require("cannot continue the series" in errors and f"{file}`: it is missing" in errors, errors)
        (case.folder / "away").rename(case.folder / file)
    short = np.load(case.folder / "rows.npy")[:1]
    np.save(case.folder / "rows.npy", short)
    _, errors = case.run(2, "--resume", name, code=1)
    require("cannot continue the series" in errors, errors)
    (case.folder / "sums.csv").write_text("1\n2\n")
    case.run(3)
    require(contents(case.folder) == wanted, "a file that a new run begins")


def killed(case, options, require):
    """All ranks are killed at some moment: the files are valid, and the run continues from its last checkpoint."""
    case.arguments += ["--steps", "400"]
    case.run(3)
    wanted = contents(case.folder)
    for pause in (0.3, 0.6):
        name = f"killed{pause}"
        child = case.start(3, "--checkpoint", name, "--checkpoint-every", "0.1", start_new_session=True)
        time.sleep(pause)
        subprocess.run(["pkill", "-KILL", "-s", str(child.pid)], check=False)
        child.send_signal(signal.SIGKILL)
        child.communicate(timeout=options.limit)
        if (case.folder / "states.npy").exists():
            contents(case.folder)
        case.run(3, "--checkpoint", name, "--resume", name)
        require(contents(case.folder) == wanted, f"killed after {pause} s: other records")


def full(case, require):
    """A file that cannot grow ends the run: the complete records stay, and the message names the line and counts them."""
    wanted = np.load(case.folder / "states.npy")
    for name, line, steps, limit in (("states", 7, 400, 100_000), ("sums", 8, 2000, 4096)):
        file = FILES[name]
        case.arguments = ["--X", "X.npy", "--steps", str(steps), f"--{name}", file]
        _, errors = case.run(1, code=1, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)))
        text = (case.folder / file).read_text() if name == "sums" else ""
        found = text.splitlines() if name == "sums" else np.load(case.folder / file)
        require(0 < len(found) < steps and f"`{file}` holds {len(found)} complete records" in errors, errors)
        require(f"series.tdsl:{line}: cannot write `" in errors and f"{file}`: File too large" in errors, errors)
        require(text.endswith("\n") if name == "sums" else found.tobytes() == wanted[:len(found)].tobytes(), f"{file} has an incomplete record")
