"""More functions as scientists write them: learning, graphs, searches, lattices, control, linear algebra. `arguments` gives their examples."""
import math

import numpy as np


def lbm_step(f, omega, steps):
    ex = np.array([0, 1, 0, -1, 0, 1, -1, -1, 1])
    ey = np.array([0, 0, 1, 0, -1, 1, 1, -1, -1])
    w = np.array([4 / 9] + [1 / 9] * 4 + [1 / 36] * 4)
    for _ in range(steps):
        for i in range(9):
            f[i] = np.roll(np.roll(f[i], ex[i], axis=0), ey[i], axis=1)
        rho = np.sum(f, axis=0)
        ux = np.sum(f * ex[:, None, None], axis=0) / rho
        uy = np.sum(f * ey[:, None, None], axis=0) / rho
        for i in range(9):
            eu = ex[i] * ux + ey[i] * uy
            feq = w[i] * rho * (1 + 3 * eu + 4.5 * eu**2 - 1.5 * (ux**2 + uy**2))
            f[i] += omega * (feq - f[i])
    return f, rho


def euler_generic(y0, t):
    def f(t, y):
        return np.array([y[1], (1 - y[0]**2) * y[1] - y[0]])
    y = np.zeros((len(t), len(y0)))
    y[0] = y0
    for i in range(len(t) - 1):
        y[i + 1] = y[i] + (t[i + 1] - t[i]) * f(t[i], y[i])
    return y


def adaptive_simpson(a, b, n):
    x = np.linspace(a, b, n + 1)
    y = np.exp(-x**2)
    s = y[0] + y[-1] + 4 * np.sum(y[1:-1:2]) + 2 * np.sum(y[2:-2:2])
    return s * (b - a) / (3 * n)


def newton_sqrt(x, tol):
    g = x / 2
    n = 0
    while True:
        new = 0.5 * (g + x / g)
        n += 1
        if abs(new - g) < tol:
            break
        g = new
        if n > 100:
            raise RuntimeError("no convergence")
    return new, n


def ridge_cv(X, y, lambdas):
    n, p = X.shape
    errors = np.zeros(len(lambdas))
    for i, lam in enumerate(lambdas):
        total = 0.0
        for fold in range(3):
            test = np.arange(fold, n, 3)
            mask = np.ones(n, dtype=bool)
            mask[test] = False
            A = X * mask[:, None]
            w = np.linalg.solve(A.T @ A + lam * np.eye(p), A.T @ (y * mask))
            r = (y - X @ w) * (1 - mask)
            total += np.sum(r**2)
        errors[i] = total / n
    return errors, lambdas[np.argmin(errors)]


def perceptron(X, y, epochs):
    w = np.zeros(X.shape[1])
    b = 0.0
    mistakes = []
    for e in range(epochs):
        wrong = 0
        for xi, yi in zip(X, y):
            if yi * (np.dot(w, xi) + b) <= 0:
                w += yi * xi
                b += yi
                wrong += 1
        mistakes.append(wrong)
    return w, b, mistakes


def naive_bayes_fit(X, labels, k):
    n, d = X.shape
    means = np.zeros((k, d))
    var = np.zeros((k, d))
    priors = np.zeros(k)
    for c in range(k):
        Xc = X[labels == c]
        means[c] = Xc.mean(axis=0)
        var[c] = Xc.var(axis=0) + 1e-9
        priors[c] = Xc.shape[0] / n
    return means, var, priors


def gmm_em(x, mu, sigma, pi, iters):
    for _ in range(iters):
        p = pi * np.exp(-0.5 * ((x[:, None] - mu) / sigma)**2) / (sigma * np.sqrt(2 * np.pi))
        r = p / p.sum(axis=1, keepdims=True)
        nk = r.sum(axis=0)
        mu = (r * x[:, None]).sum(axis=0) / nk
        sigma = np.sqrt((r * (x[:, None] - mu)**2).sum(axis=0) / nk)
        pi = nk / len(x)
    return mu, sigma, pi


def entropy(labels, k):
    counts = np.array([np.sum(labels == c) for c in range(k)])
    p = counts / counts.sum()
    p = p[p > 0]
    return -np.sum(p * np.log2(p))


def confusion_matrix(y_true, y_pred, k):
    M = np.zeros((k, k), dtype=int)
    for t, p in zip(y_true, y_pred):
        M[t, p] += 1
    accuracy = np.trace(M) / np.sum(M)
    precision = np.diag(M) / np.maximum(M.sum(axis=0), 1)
    return M, accuracy, precision


def roc_auc(scores, labels):
    order = np.argsort(-scores)
    sorted_labels = labels[order]
    tps = np.cumsum(sorted_labels)
    fps = np.cumsum(1 - sorted_labels)
    tpr = tps / tps[-1]
    fpr = fps / fps[-1]
    return np.trapz(tpr, fpr)


def bubble_sort(a):
    a = a.copy()
    n = len(a)
    for i in range(n):
        swapped = False
        for j in range(0, n - i - 1):
            if a[j] > a[j + 1]:
                a[j], a[j + 1] = a[j + 1], a[j]
                swapped = True
        if not swapped:
            break
    return a


def binary_search(a, target):
    lo, hi = 0, len(a) - 1
    while lo <= hi:
        mid = (lo + hi) // 2
        if a[mid] == target:
            return mid
        elif a[mid] < target:
            lo = mid + 1
        else:
            hi = mid - 1
    return -1


def prefix_max(x):
    best = -np.inf
    out = np.empty(len(x))
    for i, v in enumerate(x):
        best = max(best, v)
        out[i] = best
    return out


def longest_increasing(x):
    n = len(x)
    L = [1] * n
    for i in range(1, n):
        for j in range(i):
            if x[j] < x[i] and L[i] < L[j] + 1:
                L[i] = L[j] + 1
    return max(L)


def fibonacci_mod(n, m):
    a, b = 0, 1
    for _ in range(n):
        a, b = b, (a + b) % m
    return a


def collatz(n):
    steps = 0
    while n != 1:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        steps += 1
    return steps


def laplace_sor(u, omega, tol):
    it = 0
    err = 1.0
    while err > tol and it < 200:
        err = 0.0
        for i in range(1, u.shape[0] - 1):
            for j in range(1, u.shape[1] - 1):
                new = 0.25 * (u[i + 1, j] + u[i - 1, j] + u[i, j + 1] + u[i, j - 1])
                d = omega * (new - u[i, j])
                u[i, j] += d
                err = max(err, abs(d))
        it += 1
    return u, it


def advection_rk3(q, c, dx, dt, steps):
    def rhs(q):
        return -c * (q - np.roll(q, 1)) / dx
    for _ in range(steps):
        q1 = q + dt * rhs(q)
        q2 = 0.75 * q + 0.25 * (q1 + dt * rhs(q1))
        q = q / 3 + 2 / 3 * (q2 + dt * rhs(q2))
    return q


def heat3d(T, alpha, steps):
    for _ in range(steps):
        Tn = T.copy()
        T[1:-1, 1:-1, 1:-1] = Tn[1:-1, 1:-1, 1:-1] + alpha * (
            Tn[2:, 1:-1, 1:-1] + Tn[:-2, 1:-1, 1:-1] + Tn[1:-1, 2:, 1:-1] + Tn[1:-1, :-2, 1:-1]
            + Tn[1:-1, 1:-1, 2:] + Tn[1:-1, 1:-1, :-2] - 6 * Tn[1:-1, 1:-1, 1:-1])
    return T


def maxpool2x2(x):
    n, m = x.shape
    return x[:n // 2 * 2, :m // 2 * 2].reshape(n // 2, 2, m // 2, 2).max(axis=(1, 3))


def conv_layer(x, w, b):
    N, H, W, C = x.shape
    K = w.shape[0]
    out = np.zeros((N, H - K + 1, W - K + 1, w.shape[3]))
    for i in range(H - K + 1):
        for j in range(W - K + 1):
            patch = x[:, i:i + K, j:j + K, :, None]
            out[:, i, j, :] = np.sum(patch * w[None], axis=(1, 2, 3))
    return np.maximum(out + b, 0)


def layer_norm(x, gamma, beta):
    mu = x.mean(axis=-1, keepdims=True)
    var = x.var(axis=-1, keepdims=True)
    return gamma * (x - mu) / np.sqrt(var + 1e-5) + beta


def attention(Q, K, V):
    scores = Q @ K.T / np.sqrt(K.shape[-1])
    mask = np.triu(np.ones_like(scores), k=1).astype(bool)
    scores = np.where(mask, -1e9, scores)
    scores -= scores.max(axis=-1, keepdims=True)
    w = np.exp(scores)
    w /= w.sum(axis=-1, keepdims=True)
    return w @ V


def rnn(x, Wx, Wh, b):
    h = np.zeros(Wh.shape[0])
    hs = []
    for t in range(x.shape[0]):
        h = np.tanh(Wx @ x[t] + Wh @ h + b)
        hs.append(h)
    return np.stack(hs)


def one_hot(labels, k):
    out = np.zeros((labels.size, k))
    out[np.arange(labels.size), labels] = 1
    return out


def sgd_linear(X, y, order, lr):
    w = np.zeros(X.shape[1])
    for i in order:
        err = X[i] @ w - y[i]
        w -= lr * err * X[i]
    return w


def savgol5(y):
    c = np.array([-3, 12, 17, 12, -3]) / 35
    out = y.copy()
    for i in range(2, len(y) - 2):
        out[i] = np.dot(c, y[i - 2:i + 3])
    return out


def find_peaks(y, height):
    peak = (y[1:-1] > y[:-2]) & (y[1:-1] > y[2:]) & (y[1:-1] > height)
    idx = np.where(peak)[0] + 1
    return len(idx), y[idx].sum()


def detrend(y):
    t = np.arange(len(y))
    p = np.polyfit(t, y, 1)
    return y - np.polyval(p, t)


def cross_correlation(a, b):
    a = (a - a.mean()) / (a.std() * len(a))
    b = (b - b.mean()) / b.std()
    return np.correlate(a, b, mode="full")


def goertzel(x, k):
    n = len(x)
    w = 2 * math.pi * k / n
    c = 2 * math.cos(w)
    s1 = s2 = 0.0
    for v in x:
        s0 = v + c * s1 - s2
        s2 = s1
        s1 = s0
    return s1 * s1 + s2 * s2 - c * s1 * s2


def dijkstra_dense(W, source):
    n = W.shape[0]
    dist = np.full(n, np.inf)
    done = np.zeros(n, dtype=bool)
    dist[source] = 0
    for _ in range(n):
        u = np.argmin(np.where(done, np.inf, dist))
        done[u] = True
        for v in range(n):
            if not done[v] and dist[u] + W[u, v] < dist[v]:
                dist[v] = dist[u] + W[u, v]
    return dist


def bellman_ford(src, dst, w, n):
    d = np.full(n, 1e18)
    d[0] = 0
    for _ in range(n - 1):
        for e in range(len(w)):
            if d[src[e]] + w[e] < d[dst[e]]:
                d[dst[e]] = d[src[e]] + w[e]
    return d


def triangle_count(A):
    return int(np.trace(A @ A @ A)) // 6


def degree_stats(A):
    deg = A.sum(axis=1)
    return deg.mean(), deg.max(), np.bincount(deg, minlength=len(A))


def label_propagation(A, labels, iters, k):
    for _ in range(iters):
        votes = np.zeros((A.shape[0], k))
        for c in range(k):
            votes[:, c] = A @ (labels == c)
        labels = votes.argmax(axis=1)
    return labels


def inverse_power(A, x, shift, n):
    B = A - shift * np.identity(len(A))
    for _ in range(n):
        x = np.linalg.solve(B, x)
        x /= np.linalg.norm(x, ord=2)
    return x @ A @ x


def householder(A):
    R = A.copy()
    m, n = R.shape
    for k in range(n):
        x = R[k:, k]
        e = np.zeros_like(x)
        e[0] = np.copysign(np.linalg.norm(x), x[0])
        v = x + e
        v = v / np.linalg.norm(v)
        R[k:, k:] -= 2.0 * np.outer(v, v @ R[k:, k:])
    return R


def pivoted_solve(A, b):
    A = A.astype(float)
    b = b.astype(float)
    n = len(b)
    for k in range(n):
        p = k + np.argmax(np.abs(A[k:, k]))
        if p != k:
            A[[k, p]] = A[[p, k]]
            b[[k, p]] = b[[p, k]]
        for i in range(k + 1, n):
            f = A[i, k] / A[k, k]
            A[i, k:] -= f * A[k, k:]
            b[i] -= f * b[k]
    x = np.zeros(n)
    for i in reversed(range(n)):
        x[i] = (b[i] - A[i, i + 1:] @ x[i + 1:]) / A[i, i]
    return x


def lanczos(A, v, m):
    n = len(v)
    V = np.zeros((m, n))
    alpha, beta = np.zeros(m), np.zeros(m)
    V[0] = v / np.linalg.norm(v)
    w = A @ V[0]
    alpha[0] = w @ V[0]
    w -= alpha[0] * V[0]
    for j in range(1, m):
        beta[j] = np.linalg.norm(w)
        V[j] = w / beta[j]
        w = A @ V[j] - beta[j] * V[j - 1]
        alpha[j] = w @ V[j]
        w -= alpha[j] * V[j]
    return np.diag(alpha) + np.diag(beta[1:], 1) + np.diag(beta[1:], -1)


def quaternion_rotate(q, v):
    w, x, y, z = q
    R = np.array([[1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
                  [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
                  [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)]])
    return v @ R.T


def convex_area(px, py):
    return 0.5 * abs(np.dot(px, np.roll(py, 1)) - np.dot(py, np.roll(px, 1)))


def point_in_polygon(x, y, px, py):
    inside = False
    j = len(px) - 1
    for i in range(len(px)):
        if (py[i] > y) != (py[j] > y) and x < (px[j] - px[i]) * (y - py[i]) / (py[j] - py[i]) + px[i]:
            inside = not inside
        j = i
    return inside


def radial_profile(image):
    n, m = image.shape
    y, x = np.indices(image.shape)
    r = np.sqrt((x - m // 2)**2 + (y - n // 2)**2).astype(int)
    total = np.bincount(r.ravel(), weights=image.ravel(), minlength=n + m)
    count = np.bincount(r.ravel(), minlength=n + m)
    return total / np.maximum(count, 1)


def downsample(x, k):
    n = len(x) // k
    return x[:n * k].reshape(n, k).mean(axis=1)


def erosion(mask):
    padded = np.pad(mask, 1, mode="constant", constant_values=False)
    return padded[:-2, 1:-1] & padded[2:, 1:-1] & padded[1:-1, :-2] & padded[1:-1, 2:] & mask


def integral_image(img, y0, x0, y1, x1):
    S = np.zeros((img.shape[0] + 1, img.shape[1] + 1))
    S[1:, 1:] = img.cumsum(axis=0).cumsum(axis=1)
    return S[y1, x1] - S[y0, x1] - S[y1, x0] + S[y0, x0]


def bond_price(face, coupon, rate, years):
    times = np.arange(1, years + 1)
    cash = np.full(years, face * coupon)
    cash[-1] += face
    disc = (1 + rate)**-times
    price = (cash * disc).sum()
    duration = (times * cash * disc).sum() / price
    return price, duration


def garch(returns, omega, alpha, beta):
    T = len(returns)
    var = np.empty(T)
    var[0] = returns.var()
    for t in range(1, T):
        var[t] = omega + alpha * returns[t - 1]**2 + beta * var[t - 1]
    loglik = -0.5 * np.sum(np.log(2 * np.pi) + np.log(var) + returns**2 / var)
    return var, loglik


def sma_crossover(prices, short, long):
    cs = np.concatenate(([0.0], np.cumsum(prices)))
    s = (cs[short:] - cs[:-short]) / short
    l = (cs[long:] - cs[:-long]) / long
    s = s[-len(l):]
    signal = np.sign(s - l)
    trades = np.count_nonzero(np.diff(signal))
    return signal, trades


def mpc_pid(setpoint, kp, ki, kd, n):
    y, integral, prev = 0.0, 0.0, 0.0
    log = np.zeros((n, 2))
    for k in range(n):
        e = setpoint - y
        integral += e * 0.1
        u = kp * e + ki * integral + kd * (e - prev) / 0.1
        u = min(max(u, -1.0), 1.0)
        y += 0.1 * (u - 0.5 * y)
        prev = e
        log[k] = [y, u]
    return log


def double_pendulum_energy(th1, th2, w1, w2, m1=1.0, m2=1.0, l1=1.0, l2=1.0, g=9.81):
    T = 0.5 * m1 * (l1 * w1)**2 + 0.5 * m2 * ((l1 * w1)**2 + (l2 * w2)**2 + 2 * l1 * l2 * w1 * w2 * np.cos(th1 - th2))
    V = -(m1 + m2) * g * l1 * np.cos(th1) - m2 * g * l2 * np.cos(th2)
    return T + V


def resample_linear(t, y, t_new):
    idx = np.searchsorted(t, t_new) - 1
    idx = np.clip(idx, 0, len(t) - 2)
    frac = (t_new - t[idx]) / (t[idx + 1] - t[idx])
    return y[idx] + frac * (y[idx + 1] - y[idx])


def cellular_majority(grid, steps):
    for s in range(steps):
        p = np.pad(grid, 1, mode="wrap")
        n = sum(p[1 + di:p.shape[0] - 1 + di, 1 + dj:p.shape[1] - 1 + dj] for di in (-1, 0, 1) for dj in (-1, 0, 1))
        grid = (n > 4).astype(grid.dtype)
    return grid


def quicksum(values, power=2):
    total = 0
    for v in values:
        if v < 0:
            continue
        total += v**power
    print("total:", total)
    return total


def running_stats(x):
    mean = 0.0
    m2 = 0.0
    for k, v in enumerate(x, start=1):
        delta = v - mean
        mean += delta / k
        m2 += delta * (v - mean)
    return mean, m2 / (len(x) - 1)


def wilcoxon_ranks(d):
    a = np.abs(d)
    order = a.argsort()
    ranks = np.empty(len(d))
    ranks[order] = np.arange(1, len(d) + 1)
    return ranks[d > 0].sum(), ranks[d < 0].sum()


def chi_square(observed):
    total = observed.sum()
    expected = np.outer(observed.sum(axis=1), observed.sum(axis=0)) / total
    return ((observed - expected)**2 / expected).sum(), expected


def permutation_test(x, y, perms):
    pooled = np.concatenate([x, y])
    diff = x.mean() - y.mean()
    count = 0
    for p in perms:
        s = pooled[p]
        if abs(s[:len(x)].mean() - s[len(x):].mean()) >= abs(diff):
            count += 1
    return (count + 1) / (len(perms) + 1)


# --- examples

def arguments(i):
    """Function -> positional arguments of its example `i`."""
    r = np.random.RandomState(25 + i)
    n, m, k = ((13, 19, 6), (17, 24, 7))[i]
    img = r.rand(n, m); x = r.randn(m + 20); y = r.randn(m + 20)
    S = r.rand(m, m); S = S @ S.T + m * np.eye(m)
    G = (r.rand(n, n) < .4).astype(int); G = np.triu(G, 1); G = G + G.T
    q = r.randn(4); q /= np.linalg.norm(q)
    return dict(lbm_step=(r.rand(9, n, m) + 1, 0.6, 3), euler_generic=(np.array([2.0, 0.0]), np.linspace(0, 1, 20 + i)), adaptive_simpson=(0.0, 1.0, 20 + 2 * i), newton_sqrt=(7.0 + i, 1e-10),
        ridge_cv=(r.randn(30 + 3 * i, 4), r.randn(30 + 3 * i), np.array([.1, 1, 10, 20, 40][:4 + i])), perceptron=(r.randn(m, 5), np.sign(r.randn(m)), 4 + i), naive_bayes_fit=(r.randn(40 + i, 5), r.randint(0, 3, 40 + i), 3),
        gmm_em=(x, np.array([-1., 1.]), np.array([1., 1.]), np.array([.5, .5]), 5), entropy=(r.randint(0, 5, m), 5), confusion_matrix=(r.randint(0, 4, m), r.randint(0, 4, m), 4), roc_auc=(x, r.randint(0, 2, m + 20)),
        bubble_sort=(x,), binary_search=(np.arange(m) * 2, 2 * (5 + i)), prefix_max=(x,), longest_increasing=(x,), fibonacci_mod=(50 + i, 1000), collatz=(27 + i,), laplace_sor=(img, 1.5, 1e-3),
        advection_rk3=(x, 1.0, 0.1, 0.02, 4), heat3d=(r.rand(n, m, k + 5), 0.05, 3), maxpool2x2=(r.rand(14 + 2 * i, 20 + 4 * i),), conv_layer=(r.rand(2, 8 + i, 9 + 2 * i, 3), r.rand(3, 3, 3, 4), r.rand(4)),
        layer_norm=(img, r.rand(m), r.rand(m)), attention=(r.rand(n, k), r.rand(n, k), r.rand(n, k)), rnn=(r.randn(n, k), r.randn(m, k) * .3, r.randn(m, m) * .1, r.randn(m)), one_hot=(r.randint(0, 5, m), 5),
        sgd_linear=(r.randn(m, 5), r.randn(m), r.permutation(m), 0.01), savgol5=(x,), find_peaks=(x, 0.2), detrend=(x,), cross_correlation=(x, y), goertzel=(x, 3), dijkstra_dense=(r.rand(n, n), 2),
        bellman_ford=(r.randint(0, n, 60 + i), r.randint(0, n, 60 + i), r.rand(60 + i), n), triangle_count=(G,), degree_stats=(G,), label_propagation=(G, r.randint(0, 3, n), 3, 3), inverse_power=(S, r.rand(m), 0.5, 4),
        householder=(r.randn(m, n),), pivoted_solve=(r.randn(n, n), r.randn(n)), lanczos=(S, r.rand(m), 5 + i), quaternion_rotate=(q, r.randn(n, 3)), convex_area=(r.rand(n), r.rand(n)),
        point_in_polygon=(0.3, 0.4, r.rand(n), r.rand(n)), radial_profile=(img,), downsample=(x, 4), erosion=(r.rand(n, m) < .7,), integral_image=(img, 2, 3, 8, 10), bond_price=(100.0, 0.05, 0.03, 10 + i),
        garch=(0.01 * x, 1e-6, 0.1, 0.8), sma_crossover=(100 + np.cumsum(x), 3, 8), mpc_pid=(1.0, 2.0, 0.5, 0.1, 40 + i), double_pendulum_energy=(x, y, x * y, y), resample_linear=(np.cumsum(.1 + r.rand(m)), r.rand(m), 1 + r.rand(20 + i) * 5),
        cellular_majority=(r.randint(0, 2, (n, m)), 3), quicksum=(x,), running_stats=(x,), wilcoxon_ranks=(x,), chi_square=(r.randint(1, 20, (n, k)).astype(float),),
        permutation_test=(x[:m], y[:m], np.array([r.permutation(2 * m) for _ in range(9 + i)])))
