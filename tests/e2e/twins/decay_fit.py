"""A decay fitted by the method of Gauss and Newton."""
import numpy as np


def twin(a):
    p = np.array([2.0, 1.3, 0.5])
    for _ in range(100):
        decay = np.exp(-p[1] * a.t)
        slope = np.stack([decay, -p[0] * a.t * decay, np.ones_like(a.t)], axis=1)
        p = p - np.linalg.lstsq(slope, p[0] * decay + p[2] - a.y, rcond=None)[0]
    area = p[0] * (1 - np.exp(-4.0 * p[1])) / p[1]
    return {"fitted": np.round(p, 4), "half_life": np.round(np.log(2) / p[1], 4), "area": np.round(area, 4)}
