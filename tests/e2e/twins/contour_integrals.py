"""The trapezoid rule on circles."""
import numpy as np


def twin(a):
    points, radius = int(a.points), float(a.radius)
    turn = radius * np.exp(2j * np.pi * (np.arange(points) + 0.5) / points)
    z = a.centre[:, None] + turn
    f, slope = np.polyval(a.c[::-1], z), np.polyval(np.polyder(a.c[::-1]), z)
    weight = slope / f * turn
    winding, moment = weight.mean(axis=1), (weight * z).mean(axis=1)
    return {"zeros_inside": np.round(1e6 * winding.real) / 1e6, "sum_of_zeros": moment,
            "residual": np.abs(winding - np.round(winding.real)) < 0.5}
