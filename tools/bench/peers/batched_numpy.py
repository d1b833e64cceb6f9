"""batched_numpy.py NAME FOLDER STEPS: the loops of batched.py in NumPy."""
import json
import sys
import time

import numpy as np

name, folder, steps = sys.argv[1], sys.argv[2], int(sys.argv[3])
A, b = np.load(f"{folder}/A.npy"), np.load(f"{folder}/b.npy")
shift = 1e-3 * np.eye(A.shape[1])
STEP = {"solve": lambda x, t: np.linalg.solve(A, x[..., None])[..., 0],
        "inv": lambda x, t: x + np.linalg.inv(A + t * shift)[:, 0, :],
        "det": lambda x, t: x + np.linalg.det(A + t * shift)[:, None],
        "cholesky": lambda x, t: x + np.linalg.cholesky(A + t * shift)[:, 0, :],
        "eigh": lambda x, t: x + np.linalg.eigh(A + t * shift)[0],
        "svd": lambda x, t: x + np.linalg.svd(A + t * shift)[1]}[name]
STEP(b, 0)
start = time.perf_counter()
x = b
for t in range(steps):
    x = STEP(x, t)
answer = float(np.sum(x))
print(json.dumps({"seconds": time.perf_counter() - start, "answer": answer}))
