"""The papers' workloads as typical users of array libraries write them. `lib` hides differences between the libraries: einsum, relu, sigmoid, log,
log1p, share (fraction of true elements), where, tensordot; `now(...)`: values for control flow, as NumPy arrays."""
import numpy as np


def newton(lib, a, p):
    X, y, w = a["X"], a["y"], np.zeros(a["X"].shape[1])
    for _ in range(p["steps"]):
        q = lib.sigmoid(X @ lib.array(w))
        g, H = lib.now(X.T @ (q - y), X.T @ ((q * (1 - q))[:, None] * X))
        w = w - np.linalg.solve(H + p["lambda"] * np.eye(len(w)), g + p["lambda"] * w)
    z = X @ lib.array(w)
    loss, correct = lib.now(lib.logistic_loss(z, y), lib.share((z > 0) == (y > 0.5)))
    return [w, float(loss) + 0.5 * p["lambda"] * (w @ w), correct]


def lbfgs(lib, a, p):
    X, y, w = a["X"], a["y"], np.zeros(a["X"].shape[1])
    z = X @ lib.array(w)
    g, = lib.now(X.T @ (lib.sigmoid(z) - y))
    pairs = []
    for _ in range(p["steps"]):
        q, alphas = g.copy(), []
        for s, d in reversed(pairs):
            alphas.append(s @ q / (s @ d))
            q = q - alphas[-1] * d
        q = q * (pairs[-1][0] @ pairs[-1][1] / (pairs[-1][1] @ pairs[-1][1]) if pairs else 4 / X.shape[0])
        for (s, d), alpha in zip(pairs, reversed(alphas)):
            q = q + (alpha - d @ q / (s @ d)) * s
        u = X @ lib.array(q)
        lengths = [2.0 * 0.5 ** k for k in range(p["lengths"])]
        losses = lib.now(*(lib.logistic_loss(z - t * u, y) for t in lengths))
        losses = [float(f) + 0.5 * p["lambda"] * np.sum((w - t * q) ** 2) for f, t in zip(losses, lengths)]
        length = lengths[int(np.argmin(losses))]
        w, z = w - length * q, z - length * u
        h, = lib.now(X.T @ (lib.sigmoid(z) - y))
        h = h + p["lambda"] * w
        pairs = (pairs + [(-length * q, h - g)])[-p["pairs"]:]
        g = h
    return [w]


def nearest(lib, a, p):
    F = a["X"] - a["q"]
    D, = lib.now(((F @ a["M"]) * F).sum(1))
    return [np.argmin(D), np.sqrt(D.min())]


def train(lib, a, p):
    """The weights after training, and the network's predictions."""
    X, Y, V1, V2 = a["X"], a["Y"], a["W1"], a["W2"]
    for _ in range(p["steps"]):
        A = lib.relu(X @ V1)
        E = lib.sigmoid(A @ V2) - Y
        D = lib.where(A > 0, E @ V2.T, 0.0)
        V1, V2 = V1 - p["rate"] / X.shape[0] * (X.T @ D), V2 - p["rate"] / X.shape[0] * (A.T @ E)
    return V1, V2, lib.sigmoid(lib.relu(X @ V1) @ V2)


def network(lib, a, p):
    V1, V2, P = train(lib, a, p)
    return [V1, V2, lib.share(P.argmax(1) == a["Y"].argmax(1))]


def network_loss(lib, a, p):
    V1, V2, P = train(lib, a, p)
    return [V1, V2, -(a["Y"] * lib.log(P) + (1 - a["Y"]) * lib.log1p(-P)).mean()]


def mttkrp(lib, a, p):
    return [lib.einsum("ijk,jq,kq->iq", a["X"], a["B"], a["C"])]


def contraction(lib, a, p):
    return [lib.tensordot(a["X"], a["Y"], 2)]


def chain(lib, a, p):
    return [a["A"] @ a["B"] + a["C"] @ (a["D"] @ a["E"])]


def product(lib, a, p):
    return [a["A"] @ a["B"]]


def transformer(lib, a, p):
    X = a["X"]
    Q, K, V = (lib.einsum("ia,ahc->hic", X, a[w]) for w in ("Wq", "Wk", "Wv"))
    S = Q @ K.transpose(*lib.last_two) / np.sqrt(Q.shape[2])
    O = lib.softmax(S) @ V
    Y = X + lib.einsum("hic,hca->ia", O, a["Wo"])
    return [Y + lib.relu(Y @ a["W1"]) @ a["W2"]]
