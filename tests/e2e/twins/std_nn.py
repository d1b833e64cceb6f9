"""The functions of std.nn by NumPy."""
import math

import numpy as np


def twin(t):
    X, n = t.X, len(t.labels)
    erf = np.vectorize(math.erf)

    def lse(x):
        top = x.max(axis=1)
        return top + np.log(np.exp(x - top[:, None]).sum(axis=1))

    def softmax(x):
        return np.exp(x - lse(x)[:, None])

    Y = np.eye(X.shape[1])[t.labels]
    centred = X - X.mean(axis=1, keepdims=True)
    y, s, d = np.maximum(t.t, 0), X[:, 0], X - Y
    at_labels = X[np.arange(n), t.labels]
    return {
        "o_leaky": np.where(X > 0, X, 0.1 * X), "o_elu": np.where(X > 0, X, 0.5 * np.expm1(X)),
        "o_softplus": np.logaddexp(0, 20 * X), "o_silu": X / (1 + np.exp(-X)), "o_gelu": 0.5 * X * (1 + erf(X / math.sqrt(2))),
        "o_lse": lse(900 * X), "o_softmax": softmax(X), "o_log_softmax": X - lse(X)[:, None],
        "o_linear": X @ t.W + t.b, "o_relu": np.maximum(X @ t.W + t.b, 0),
        "o_norm": centred / np.sqrt(X.var(axis=1, keepdims=True) + 1e-5) * t.scale + t.shift,
        "o_attention": softmax(X @ t.K.T / math.sqrt(X.shape[1])) @ t.V, "o_one_hot": Y, "o_predicted": X.argmax(axis=1),
        "o_accuracy": (X.argmax(axis=1) == t.labels).mean(), "o_cross": (lse(X) - at_labels).mean(),
        "o_labels": (lse(X) - at_labels).mean(), "o_binary": (np.logaddexp(0, s) - y * s).mean(), "o_squared": (d ** 2).mean(),
        "o_absolute": np.abs(d).mean(),
        "o_huber": np.where(np.abs(d) <= 0.7, d ** 2 / 2, 0.7 * (np.abs(d) - 0.35)).mean(),
        "o_hinge": np.maximum(0, 1 - t.t * X[:, 1]).mean(),
    }
