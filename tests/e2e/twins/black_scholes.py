"""The Black-Scholes formula; the estimate, whose random paths NumPy does not reproduce, must be close to it."""
import math

import numpy as np


def twin(a):
    d1 = (math.log(a.spot / a.strike) + (a.rate + a.volatility ** 2 / 2) * a.years) / (a.volatility * math.sqrt(a.years))
    normal = lambda x: (1 + math.erf(x / math.sqrt(2))) / 2
    exact = a.spot * normal(d1) - a.strike * math.exp(-a.rate * a.years) * normal(d1 - a.volatility * math.sqrt(a.years))
    assert abs(a.out["price"] - exact) < 5 * a.out["deviation"]
    return {"exact": np.float64(exact)}
