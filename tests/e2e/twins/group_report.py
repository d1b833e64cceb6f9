"""Statistics per group, and rows beyond a limit, group by group."""
import numpy as np


def twin(a):
    keys = a.shop * 7 + a.day % 7
    of = [a.amount[keys == g] for g in range(a.shops * 7)]
    sales = np.array([len(v) for v in of])
    kept = a.amount > a.limit
    return {"sales": sales, "total": np.array([v.sum() for v in of]),
            "least": np.array([v.min(initial=np.inf) for v in of]), "largest": np.array([v.max(initial=-np.inf) for v in of]),
            "mean": np.array([v.mean() if len(v) else 0.0 for v in of]),
            "busiest": np.int64(np.argmax(sales.reshape(a.shops, 7).sum(axis=0))),
            "ordered": np.sort(a.amount[kept]), "large_by": np.bincount(a.shop[kept], minlength=a.shops)}
