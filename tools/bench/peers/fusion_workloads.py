"""The micro-benchmarks and algorithms of the paper on fused operators, as typical users of array libraries write them; see workloads.py. `keep(...)`:
values computed now and kept; `largest`: maximum of each row; `normal`: logarithm of the normal density."""
import numpy as np


def cell(lib, a, p):
    r = 0.0
    for factor in range(1, p["repeats"] + 1):
        r = 0.5 * r + factor * float(lib.now((a["X"] * a["Y"] * a["Z"]).sum())[0])
    return [r]


def multi_aggregate(lib, a, p):
    r = t = 0.0
    for factor in range(1, p["repeats"] + 1):
        x, z = lib.now((a["X"] * a["Y"]).sum(), (a["X"] * a["Z"]).sum())
        r, t = 0.5 * r + factor * float(x), 0.5 * t + factor * float(z)
    return [r, t]


def chain(lib, a, p, start, between):
    r, = lib.now(start)
    for _ in range(p["repeats"]):
        r, = lib.now(a["X"].T @ between(a["X"] @ lib.array(r)) / a["X"].shape[0])
    return [r]


def row(lib, a, p):
    return chain(lib, a, p, a["v"], lambda u: u)


def row_weighted(lib, a, p):
    return chain(lib, a, p, a["v"], lambda u: a["w"] * u)


def row_matrix(lib, a, p):
    return chain(lib, a, p, a["V"], lambda u: u)


def outer(lib, a, p):
    r = 0.0
    for factor in range(1, p["repeats"] + 1):
        r = 0.5 * r + float(lib.now((a["X"] * lib.log((factor * a["U"]) @ a["V"].T + 1e-15)).sum())[0])
    return [r]


def l2svm(lib, a, p):
    X, y, w = a["X"], a["y"], np.zeros(a["X"].shape[1])
    z, = lib.keep(X @ lib.array(w))
    g, = lib.now(X.T @ y)
    s = g
    for _ in range(p["max_steps"]):
        u, = lib.keep(X @ lib.array(s))
        length, decrement = 0.0, np.inf
        while decrement > 1e-10:
            short = 1 - y * (z + length * u)
            slope, curvature = lib.now((lib.relu(short) * y * u).sum(), (lib.as_numbers(short > 0) * u * u).sum())
            slope = p["lambda"] * (w @ s + length * (s @ s)) - float(slope)
            curvature = p["lambda"] * (s @ s) + float(curvature)
            length, decrement = length - slope / curvature, slope * slope / curvature
        w = w + length * s
        z, = lib.keep(z + length * u)
        hinge = lib.relu(1 - y * z)
        loss, h = lib.now((hinge * hinge).sum(), X.T @ (hinge * y))
        loss, h = 0.5 * float(loss) + 0.5 * p["lambda"] * (w @ w), h - p["lambda"] * w
        s, g = h + (h @ h) / (g @ g) * s, h
    return [w, loss]


def multinomial_regression(lib, a, p):
    X, Y = a["X"], a["Y"]
    B = np.zeros((X.shape[1], Y.shape[1]))

    def loss_of(Z):
        top = lib.largest(Z)
        return (lib.log(lib.exp(Z - top).sum(1)) + top[:, 0] - (Y * Z).sum(1)).sum()

    Z, = lib.keep(X @ lib.array(B))
    P, = lib.keep(lib.softmax(Z))
    loss, G, longest = lib.now(loss_of(Z), X.T @ (P - Y), (X * X).sum(1).max())
    loss, radius = float(loss), 0.5 * np.sqrt(len(B)) / np.sqrt(float(longest))
    for _ in range(p["max_steps"]):
        S, R, V, inside = np.zeros_like(B), -G, -G, True
        rr = (R * R).sum()
        for _ in range(p["max_inner"]):
            if not inside or np.sqrt(rr) <= 0.1 * np.linalg.norm(G):
                break
            Q = P * (X @ lib.array(V))
            HV, = lib.now(X.T @ (Q - P * Q.sum(1)[:, None]))
            HV = HV + p["lambda"] * V
            sv, vv, room = (S * V).sum(), (V * V).sum(), radius ** 2 - (S * S).sum()
            alpha = rr / (V * HV).sum()
            inside = alpha * (2 * sv + alpha * vv) <= room
            alpha = alpha if inside else (np.sqrt(sv * sv + vv * room) - sv) / vv
            S, R, old = S + alpha * V, R - alpha * HV, rr
            rr = (R * R).sum()
            V = R + rr / old * V
        following, = lib.keep(Z + X @ lib.array(S))
        C = B + S
        trial, = lib.now(loss_of(following))
        trial = float(trial) + 0.5 * p["lambda"] * (C * C).sum()
        ratio = (loss - trial) / (0.5 * ((S * R).sum() - (S * G).sum()))
        radius = 0.25 * np.linalg.norm(S) if ratio < 0.25 else 2 * radius if ratio > 0.75 and not inside else radius
        if ratio > 1e-4:
            B, Z, loss = C, following, trial
            P, = lib.keep(lib.softmax(Z))
            G, = lib.now(X.T @ (P - Y))
            G = G + p["lambda"] * B
    return [B, loss]


def probit_regression(lib, a, p):
    X, w = a["X"], np.zeros(a["X"].shape[1])
    sign, = lib.keep(2 * a["y"] - 1)

    def hazard(x):
        return lib.exp(-0.5 * x * x - 0.9189385332046727 - lib.normal(x))

    z, = lib.keep(X @ lib.array(w))
    loss, = lib.now(-lib.normal(sign * z).sum())
    loss = float(loss)
    for _ in range(p["max_steps"]):
        f, = lib.keep(hazard(z) * hazard(-z))
        r, = lib.now(X.T @ (sign * hazard(sign * z)))
        r = r - p["lambda"] * w
        s, v, rr = np.zeros_like(w), r, r @ r
        enough = 1e-2 * rr
        for _ in range(p["max_inner"]):
            if rr <= enough:
                break
            q, = lib.now(X.T @ (f * (X @ lib.array(v))))
            q = q + p["lambda"] * v
            alpha = rr / (v @ q)
            s, r, old = s + alpha * v, r - alpha * q, rr
            rr = r @ r
            v = r + rr / old * v
        u, = lib.keep(X @ lib.array(s))
        length, trial = 2.0, np.inf
        while trial > loss and length > 1e-6:
            length /= 2
            there = w + length * s
            trial, = lib.now(-lib.normal(sign * (z + length * u)).sum())
            trial = float(trial) + 0.5 * p["lambda"] * (there @ there)
        w, loss = w + length * s, trial
        z, = lib.keep(z + length * u)
    return [w, loss]


def kmeans(lib, a, p):
    X, (C,) = a["X"], lib.now(a["start"])
    clusters = lib.array(np.arange(len(C)))

    def distances(C):
        """Distances without the terms that are equal for all centres."""
        return lib.array((C * C).sum(1)) - 2 * (X @ lib.array(C.T.copy()))

    nearest = None
    for _ in range(p["steps"]):
        now, = lib.keep(distances(C).argmin(1))
        if nearest is not None and int(lib.now((now != nearest).sum())[0]) == 0:
            break
        nearest = now
        P = lib.as_numbers(nearest[:, None] == clusters)
        members, sums = lib.now(P.sum(0), P.T @ X)
        C = np.where(members[:, None] > 0, sums / np.maximum(members, 1)[:, None], C)
    spread, = lib.now((X * X).sum() - lib.largest(-distances(C)).sum())
    return [C, spread]


def als_factorisation(lib, a, p):
    def improved(X, W, U, V):
        V, known = lib.array(V), W.sum(1)[:, None]
        G, known = lib.now((W * (lib.array(U) @ V.T - X)) @ V, known)
        R = -G - p["lambda"] * known * U
        S, rr = R, (R * R).sum()
        enough = 1e-9 * rr
        for _ in range(p["inner"]):
            if rr <= enough:
                break
            H, = lib.now((W * (lib.array(S) @ V.T)) @ V)
            H = H + p["lambda"] * known * S
            alpha = rr / (S * H).sum()
            U, R, old = U + alpha * S, R - alpha * H, rr
            rr = (R * R).sum()
            S = R + rr / old * S
        return U

    def loss_of(U, V):
        E = X - lib.array(U) @ lib.array(V).T
        error, rows, columns = lib.now((W * E * E).sum(), W.sum(1), W.sum(0))
        return float(error) + p["lambda"] * (rows @ (U * U).sum(1) + columns @ (V * V).sum(1))

    X, W = a["X"], a["W"]
    U, V = lib.now(a["U0"], a["V0"])
    loss = loss_of(U, V)
    for _ in range(p["max_steps"]):
        U = improved(X, W, U, V)
        V = improved(X.T, W.T, V, U)
        loss = loss_of(U, V)
    return [U, V, loss]


def autoencoder(lib, a, p):
    X = a["X"] - a["X"].mean(0)
    X, = lib.keep(X / lib.sqrt((X * X).mean(0)))
    n, batch = X.shape[0], p["batch"]
    weights = [a[name] for name in ("W1", "W2", "W3", "W4")]
    biases = [lib.array(np.zeros(W.shape[1])) for W in weights]
    speeds, pushes, rate = [0 * W for W in weights], [0 * b for b in biases], p["rate"]

    def layers(values):
        found = [values]
        for W, b in zip(weights[:-1], biases[:-1]):
            found.append(lib.sigmoid(found[-1] @ W + b))
        return found, found[-1] @ weights[-1] + biases[-1]

    for _ in range(p["epochs"]):
        for first in range(0, n - batch + 1, batch):
            B = X[first:first + batch]
            values, out = layers(B)
            delta = (out - B) / batch
            for k in reversed(range(4)):
                speeds[k] = p["momentum"] * speeds[k] - rate * (values[k].T @ delta)
                pushes[k] = p["momentum"] * pushes[k] - rate * delta.sum(0)
                if k:
                    delta = (delta @ weights[k].T) * values[k] * (1 - values[k])
            weights = [W + s for W, s in zip(weights, speeds)]
            biases = [b + s for b, s in zip(biases, pushes)]
            kept = lib.keep(*weights, *biases, *speeds, *pushes)
            weights, biases, speeds, pushes = (list(kept[k:k + 4]) for k in range(0, 16, 4))
        rate *= p["decay"]
    values, out = layers(X)
    loss, code = lib.now(0.5 * ((out - X) ** 2).sum() / n, values[2])
    return [code, loss]
