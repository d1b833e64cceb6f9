"""papers.py LIBRARY WORKLOAD FOLDER JSON: runs a workload of workloads.py with NumPy, PyTorch or Dask on the inputs in FOLDER. The JSON has
`arrays` (names), `params`, and for Dask `chunks` (input -> chunk lengths) and `address`, or `threads` of this process. Prints the seconds of the
second run; writes FOLDER/answer.bin. With `waits` it prints {} after a first run, then computes and prints once per line of input."""
import gc
import json
import os
import pathlib
import sys
import time

import fusion_workloads
import numpy as np
import workloads
from digest import digest


class NumPy:
    last_two = (0, 2, 1)
    array = staticmethod(np.asarray)
    where = staticmethod(np.where)
    tensordot = staticmethod(np.tensordot)
    log = staticmethod(np.log)
    log1p = staticmethod(np.log1p)
    exp = staticmethod(np.exp)
    sqrt = staticmethod(np.sqrt)

    def __init__(self, request):
        pass

    def load(self, path, name):
        return np.load(path)

    def einsum(self, text, *operands):
        return np.einsum(text, *operands, optimize=True)

    def now(self, *values):
        return values

    def finish(self, values):
        return values

    def keep(self, *values):
        return values

    def forget(self):
        pass

    def relu(self, x):
        return np.maximum(x, 0)

    def largest(self, x):
        """Row-wise."""
        return x.max(1, keepdims=True)

    def normal(self, x):
        """Logarithm of the normal density."""
        from scipy.special import log_ndtr
        return log_ndtr(x)

    def as_numbers(self, x):
        return x.astype(np.float64)

    def sigmoid(self, x):
        return 1 / (1 + np.exp(-x))

    def share(self, true):
        return true.mean()

    def logistic_loss(self, z, y):
        return (np.maximum(z, 0) - z * y + np.log1p(np.exp(-np.abs(z)))).sum()

    def softmax(self, x):
        e = np.exp(x - x.max(-1, keepdims=True))
        return e / e.sum(-1, keepdims=True)


class PyTorch:
    last_two = (1, 2)

    def __init__(self, request):
        import torch
        self.torch = torch
        torch.set_num_threads(int(os.environ["OMP_NUM_THREADS"]))
        self.relu, self.sigmoid, self.array = torch.relu, torch.sigmoid, torch.from_numpy
        self.log, self.log1p, self.exp, self.sqrt, self.normal = torch.log, torch.log1p, torch.exp, torch.sqrt, torch.special.log_ndtr

    def load(self, path, name):
        return self.torch.from_numpy(np.load(path))

    def einsum(self, text, *operands):
        return self.torch.einsum(text, *operands)

    def tensordot(self, a, b, axes):
        return self.torch.tensordot(a, b, axes)

    def where(self, condition, a, b):
        return self.torch.where(condition, a, self.torch.zeros((), dtype=a.dtype))

    def now(self, *values):
        return [v.numpy() for v in values]

    def finish(self, values):
        return [v.numpy() if hasattr(v, "numpy") else v for v in values]

    def keep(self, *values):
        return values

    def forget(self):
        pass

    def largest(self, x):
        return x.max(1, keepdim=True).values

    def as_numbers(self, x):
        return x.double()

    def share(self, true):
        return true.double().mean()

    def logistic_loss(self, z, y):
        return self.torch.nn.functional.binary_cross_entropy_with_logits(z, y, reduction="sum")

    def softmax(self, x):
        return self.torch.softmax(x, -1)


class Dask(NumPy):
    """`address`: of a scheduler whose workers compute; otherwise `threads` of this process do."""

    def __init__(self, request):
        import dask
        import dask.array as da
        self.dask, self.da, self.wait, self.chunks, self.client = dask, da, lambda _: None, request["chunks"], None
        if "address" in request:
            self.connect(request)
        else:
            dask.config.set(scheduler="threads", num_workers=request["threads"])
        self.where, self.tensordot, self.log, self.log1p, self.exp, self.sqrt = da.where, da.tensordot, da.log, da.log1p, da.exp, da.sqrt

    def connect(self, request):
        from distributed import Client, wait
        self.wait = wait
        self.dask.config.set({"distributed.comm.timeouts.connect": "60s"})
        self.client = Client(request["address"])
        self.client.wait_for_workers(request["workers"])

    def load(self, path, name):
        """Every worker reads its chunks before timing starts."""
        shape, chunks = np.load(path, mmap_mode="r").shape, tuple(self.chunks[name])
        blocks = self.da.map_blocks(read_block, path, chunks=self.da.core.normalize_chunks(chunks, shape), dtype=np.float64, meta=np.empty((0,) * len(shape)))
        blocks = blocks.persist()
        self.wait(blocks)
        return blocks

    def einsum(self, text, *operands):
        return self.da.einsum(text, *operands, optimize=True)

    def now(self, *values):
        return self.dask.compute(*values)

    def finish(self, values):
        values = self.dask.persist(*values)
        self.wait(values)
        return values

    def forget(self):
        """Waits until the workers hold nothing: while they do, equal expressions are not recomputed, and chunks stay where they were sent."""
        gc.collect()
        for _ in range(100 if self.client else 0):
            if not any(self.client.has_what().values()):
                return
            time.sleep(0.05)
        if self.client:
            raise SystemExit("Dask holds unreferenced results")

    def keep(self, *values):
        """Computes the starting values of later steps; otherwise every step would recompute all preceding ones."""
        values = self.dask.persist(*values)
        self.wait(values)
        return values

    def normal(self, x):
        return x.map_blocks(super().normal)

    def relu(self, x):
        return self.da.maximum(x, 0)

    def sigmoid(self, x):
        return 1 / (1 + self.da.exp(-x))

    def logistic_loss(self, z, y):
        return (self.da.maximum(z, 0) - z * y + self.da.log1p(self.da.exp(-abs(z)))).sum()


def read_block(path, block_info=None):
    return np.array(np.load(path, mmap_mode="r")[tuple(slice(a, b) for a, b in block_info[None]["array-location"])])


def timed(lib, workload, folder, request):
    """Seconds and results of a run on freshly read inputs."""
    lib.forget()
    arrays = {name: lib.load(str(folder / f"{name}.npy"), name) for name in request["arrays"]}
    start = time.perf_counter()
    result = lib.finish(workload(lib, arrays, request["params"]))
    return time.perf_counter() - start, result


def wait(lib, library, workload, folder, request):
    """When the first line is printed, inputs have been read and the workload has run once."""
    arrays = {name: lib.load(str(folder / f"{name}.npy"), name) for name in request["arrays"]}
    lib.finish(workload(lib, arrays, request["params"]))
    print("{}", flush=True)
    for _ in sys.stdin:
        start = time.perf_counter()
        result = lib.finish(workload(lib, arrays, request["params"]))
        seconds = time.perf_counter() - start
        digest([np.asarray(r) for r in result]).tofile(folder / f"answer.{library}.bin")
        print(json.dumps({"seconds": seconds}), flush=True)


def main():
    library, name, folder, request = sys.argv[1], sys.argv[2], pathlib.Path(sys.argv[3]), json.loads(sys.argv[4])
    lib = {"NumPy": NumPy, "PyTorch": PyTorch, "Dask": Dask}[library](request)
    workload = getattr(workloads, name, None) or getattr(fusion_workloads, name)
    if request.get("waits"):
        wait(lib, library, workload, folder, request)
        return
    timed(lib, workload, folder, request)
    seconds, result = timed(lib, workload, folder, request)
    digest([np.asarray(r) for r in result]).tofile(folder / "answer.bin")
    print(json.dumps({"seconds": seconds}))


if __name__ == "__main__":
    main()
