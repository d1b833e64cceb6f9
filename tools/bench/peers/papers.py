"""papers.py LIBRARY WORKLOAD FOLDER JSON: a workload of workloads.py by NumPy, PyTorch or Dask on the inputs in FOLDER. The JSON has `arrays`
(names), `params`, and for Dask `address` and `chunks` (input -> chunk lengths). Prints the seconds of a second run; writes FOLDER/answer.bin."""
import gc
import json
import os
import pathlib
import sys
import time

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

    def forget(self):
        pass

    def relu(self, x):
        return np.maximum(x, 0)

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
        self.log, self.log1p = torch.log, torch.log1p

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

    def forget(self):
        pass

    def share(self, true):
        return true.double().mean()

    def logistic_loss(self, z, y):
        return self.torch.nn.functional.binary_cross_entropy_with_logits(z, y, reduction="sum")

    def softmax(self, x):
        return self.torch.softmax(x, -1)


class Dask(NumPy):
    def __init__(self, request):
        import dask
        import dask.array as da
        from distributed import Client, wait
        self.dask, self.da, self.wait, self.chunks = dask, da, wait, request["chunks"]
        dask.config.set({"distributed.comm.timeouts.connect": "60s"})
        self.client = Client(request["address"])
        self.client.wait_for_workers(request["workers"])
        self.where, self.tensordot, self.log, self.log1p = da.where, da.tensordot, da.log, da.log1p

    def load(self, path, name):
        """Every worker reads its chunks before anything is timed."""
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
        """Until no worker holds anything: what has the same expression is not computed again as long as one does, and chunks stay where they were sent."""
        gc.collect()
        for _ in range(100):
            if not any(self.client.has_what().values()):
                return
            time.sleep(0.05)
        raise SystemExit("Dask holds results that nobody wants")

    def relu(self, x):
        return self.da.maximum(x, 0)

    def sigmoid(self, x):
        return 1 / (1 + self.da.exp(-x))

    def logistic_loss(self, z, y):
        return (self.da.maximum(z, 0) - z * y + self.da.log1p(self.da.exp(-abs(z)))).sum()


def read_block(path, block_info=None):
    return np.array(np.load(path, mmap_mode="r")[tuple(slice(a, b) for a, b in block_info[None]["array-location"])])


def main():
    library, workload, folder, request = sys.argv[1], sys.argv[2], pathlib.Path(sys.argv[3]), json.loads(sys.argv[4])
    lib = {"NumPy": NumPy, "PyTorch": PyTorch, "Dask": Dask}[library](request)
    for _ in range(2):
        arrays = result = None
        lib.forget()
        arrays = {name: lib.load(str(folder / f"{name}.npy"), name) for name in request["arrays"]}
        start = time.perf_counter()
        result = lib.finish(getattr(workloads, workload)(lib, arrays, request["params"]))
        seconds = time.perf_counter() - start
    digest([np.asarray(r) for r in result]).tofile(folder / "answer.bin")
    print(json.dumps({"seconds": seconds}))


if __name__ == "__main__":
    main()
