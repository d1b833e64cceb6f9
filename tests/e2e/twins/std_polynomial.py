"""The functions of std.polynomial by NumPy."""
import numpy as np


def twin(t):
    return {
        "o_values": np.polyval(t.w, t.X), "o_product": np.polymul(t.w, t.x), "o_derivative": np.polyder(t.w), "o_integral": np.polyint(t.w),
        "o_fit": np.polyfit(t.x, t.y, 3),
    }
