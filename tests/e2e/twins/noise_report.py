"""The log's contents by NumPy; the rows chosen by random numbers are taken from the program."""
import numpy as np


def twin(a):
    valid = ~np.isnan(a.decibel)
    x, at, when = a.decibel[valid], a.station[valid], a.hour[valid]
    m = len(x)
    powers = np.array([(10 ** (x[at == s] / 10)).sum() for s in range(a.stations)])
    loud = np.zeros((a.stations, a.hours), dtype=np.int64)
    np.add.at(loud, (at[x > a.limit], when[x > a.limit]), 1)
    picked, rows = a.out["picked"], a.out["rows"]
    assert picked.shape == (a.samples,) and picked.min() >= 0 and picked.max() <= max(m - 1, 0)
    assert (np.diff(rows) > 0).all() and (m == 0 or 0 <= rows.min(initial=0) and rows.max(initial=0) < m)
    if m > 50:
        assert 5 < len(rows) < 0.6 * m and len(set(picked)) > 10
    return {"together": 10 * np.log10(powers), "loud_hours": (loud != 0).sum(), "by_hour": loud.sum(axis=0), "picked": picked, "rows": rows,
            "median": np.sort(x[picked])[a.samples // 2] if m else 0.0, "mean_chosen": x[rows].sum() / max(len(rows), 1)}
