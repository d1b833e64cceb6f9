"""An autoencoder of two hidden layers in batches with momentum; the gradients are derived by hand."""
import numpy as np


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def layers(X, weights, biases):
    """The input of each layer, and the output of the last."""
    values = [X]
    for W, b in zip(weights[:-1], biases[:-1]):
        values.append(sigmoid(values[-1] @ W + b))
    return values, values[-1] @ weights[-1] + biases[-1]


def twin(a):
    X = (a.X - a.X.mean(0)) / np.maximum(a.X.std(0), 1e-17)
    weights = [a.W1, a.W2, a.W3, a.W4]
    biases = [np.zeros(W.shape[1]) for W in weights]
    speeds, pushes = [0 * W for W in weights], [0 * b for b in biases]
    rate = a.rate
    for _ in range(a.epochs):
        for first in range(0, a.n - a.batch + 1, a.batch):
            B = X[first:first + a.batch]
            values, out = layers(B, weights, biases)
            delta = (out - B) / a.batch
            for k in reversed(range(4)):
                G, g = values[k].T @ delta, delta.sum(0)
                delta = (delta @ weights[k].T) * values[k] * (1 - values[k])
                speeds[k] = a.momentum * speeds[k] - rate * G
                pushes[k] = a.momentum * pushes[k] - rate * g
            weights = [W + s for W, s in zip(weights, speeds)]
            biases = [b + p for b, p in zip(biases, pushes)]
        rate *= a.decay
    values, out = layers(X, weights, biases)
    return {"code": values[2], "loss": 0.5 * ((out - X) ** 2).sum() / a.n}
