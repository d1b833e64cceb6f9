"""Counts per bin and statistics per group."""
import numpy as np


def twin(a):
    of = [a.x[a.group == g] for g in range(a.groups)]
    return {"H": np.histogram(a.x, a.bins, (0, 1))[0], "members": np.array([len(v) for v in of]),
            "average": np.array([v.mean() if len(v) else 0.0 for v in of]),
            "largest": np.array([v.max() if len(v) else -np.inf for v in of])}
