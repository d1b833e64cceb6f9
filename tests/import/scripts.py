"""Functions as scientists write them: filters of images, differential equations, statistics, finance, factorizations, automata, signals, Monte Carlo
methods with given numbers. `arguments` gives their examples."""
import math

import numpy as np

G = 6.674e-11
SOBEL_X = np.array([[-1, 0, 1], [-2, 0, 2], [-1, 0, 1]])
GAUSS_KERNEL = np.array([1, 4, 6, 4, 1]) / 16.0


# --- image filters

def sobel(image):
    gx = np.zeros_like(image)
    gy = np.zeros_like(image)
    gx[1:-1, 1:-1] = (image[:-2, 2:] + 2 * image[1:-1, 2:] + image[2:, 2:]) - (image[:-2, :-2] + 2 * image[1:-1, :-2] + image[2:, :-2])
    gy[1:-1, 1:-1] = (image[2:, :-2] + 2 * image[2:, 1:-1] + image[2:, 2:]) - (image[:-2, :-2] + 2 * image[:-2, 1:-1] + image[:-2, 2:])
    magnitude = np.sqrt(gx**2 + gy**2)
    magnitude *= 255.0 / magnitude.max()
    return magnitude


def convolve2d(image, kernel):
    kh, kw = kernel.shape
    pad_h, pad_w = kh // 2, kw // 2
    padded = np.pad(image, ((pad_h, pad_h), (pad_w, pad_w)), mode="edge")
    out = np.zeros_like(image)
    for i in range(kh):
        for j in range(kw):
            out += kernel[i, j] * padded[i:i + image.shape[0], j:j + image.shape[1]]
    return out


def gaussian_blur(image, sigma):
    radius = 4
    x = np.arange(-radius, radius + 1)
    kernel = np.exp(-x**2 / (2 * sigma**2))
    kernel /= kernel.sum()
    n, m = image.shape
    rows = np.zeros((n, m))
    padded = np.pad(image, ((0, 0), (radius, radius)), mode="reflect")
    for k in range(2 * radius + 1):
        rows += kernel[k] * padded[:, k:k + m]
    padded = np.pad(rows, ((radius, radius), (0, 0)), mode="reflect")
    result = np.zeros((n, m))
    for k in range(2 * radius + 1):
        result += kernel[k] * padded[k:k + n, :]
    return result


def median_filter3(image):
    n, m = image.shape
    out = image.copy()
    for i in range(1, n - 1):
        for j in range(1, m - 1):
            out[i, j] = np.median(image[i - 1:i + 2, j - 1:j + 2])
    return out


def otsu(image):
    hist, edges = np.histogram(image.ravel(), bins=64)
    centers = (edges[:-1] + edges[1:]) / 2
    weight1 = np.cumsum(hist)
    weight2 = np.cumsum(hist[::-1])[::-1]
    mean1 = np.cumsum(hist * centers) / weight1
    mean2 = (np.cumsum((hist * centers)[::-1]) / np.cumsum(hist[::-1]))[::-1]
    variance = weight1[:-1] * weight2[1:] * (mean1[:-1] - mean2[1:])**2
    index = np.argmax(variance)
    threshold = centers[index]
    return threshold, image > threshold


def bilateral(image, sigma_s, sigma_r):
    n, m = image.shape
    r = 2
    total = np.zeros((n, m))
    weights = np.zeros((n, m))
    padded = np.pad(image, r, mode="symmetric")
    for dy in range(-r, r + 1):
        for dx in range(-r, r + 1):
            shifted = padded[r + dy:r + dy + n, r + dx:r + dx + m]
            w = np.exp(-(dx * dx + dy * dy) / (2 * sigma_s**2)) * np.exp(-(shifted - image)**2 / (2 * sigma_r**2))
            total += w * shifted
            weights += w
    return total / weights


def histogram_equalize(image):
    levels = np.floor(image * 255).astype(int)
    hist = np.bincount(levels.ravel(), minlength=256)
    cdf = hist.cumsum()
    cdf_min = cdf[cdf > 0].min()
    lut = np.round((cdf - cdf_min) / (image.size - cdf_min) * 255)
    return lut[levels]


def rgb_to_gray(rgb):
    weights = np.array([0.2989, 0.5870, 0.1140])
    gray = rgb @ weights
    return (gray - gray.min()) / (gray.max() - gray.min())


# --- ordinary differential equations

def lorenz_step(state, sigma, rho, beta):
    x, y, z = state
    return np.array([sigma * (y - x), x * (rho - z) - y, x * y - beta * z])


def lorenz_rk4(state, dt, steps):
    trajectory = np.zeros((steps + 1, 3))
    trajectory[0] = state
    for i in range(steps):
        s = trajectory[i]
        k1 = lorenz_step(s, 10.0, 28.0, 8.0 / 3)
        k2 = lorenz_step(s + 0.5 * dt * k1, 10.0, 28.0, 8.0 / 3)
        k3 = lorenz_step(s + 0.5 * dt * k2, 10.0, 28.0, 8.0 / 3)
        k4 = lorenz_step(s + dt * k3, 10.0, 28.0, 8.0 / 3)
        trajectory[i + 1] = s + dt / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
    return trajectory


def pendulum(theta0, omega0, dt, n):
    theta = np.empty(n)
    omega = np.empty(n)
    theta[0], omega[0] = theta0, omega0
    for i in range(1, n):
        omega[i] = omega[i - 1] - 9.81 * np.sin(theta[i - 1]) * dt
        theta[i] = theta[i - 1] + omega[i] * dt
    energy = 0.5 * omega**2 + 9.81 * (1 - np.cos(theta))
    return theta, omega, energy


def sir_model(beta, gamma, days):
    S, I, R = [0.99], [0.01], [0.0]
    for _ in range(days):
        new_inf = beta * S[-1] * I[-1]
        new_rec = gamma * I[-1]
        S.append(S[-1] - new_inf)
        I.append(I[-1] + new_inf - new_rec)
        R.append(R[-1] + new_rec)
    return np.array(S), np.array(I), np.array(R)


def n_body(pos, vel, mass, dt, steps):
    n = len(mass)
    for step in range(steps):
        acc = np.zeros_like(pos)
        for i in range(n):
            for j in range(n):
                if i != j:
                    r = pos[j] - pos[i]
                    d = np.sqrt((r**2).sum() + 0.01)
                    acc[i] += mass[j] * r / d**3
        vel += acc * dt
        pos += vel * dt
    kinetic = 0.5 * np.sum(mass * np.sum(vel**2, axis=1))
    return pos, vel, kinetic


def n_body_vector(pos, mass, softening):
    dx = pos[:, None, :] - pos[None, :, :]
    r2 = np.sum(dx**2, axis=-1) + softening**2
    inv = r2**(-1.5)
    np.fill_diagonal(inv, 0.0)
    acc = -np.einsum("ijk,ij,j->ik", dx, inv, mass)
    return acc


def verlet_lennard_jones(x, v, dt, steps):
    def force(x):
        f = np.zeros_like(x)
        for i in range(len(x)):
            d = x[i] - x
            r2 = d * d
            r2[i] = 1.0
            inv6 = 1.0 / r2**3
            pair = 24 * (2 * inv6**2 - inv6) / r2 * d
            pair[i] = 0.0
            f[i] = pair.sum()
        return f
    f = force(x)
    for _ in range(steps):
        v = v + 0.5 * dt * f
        x = x + dt * v
        f = force(x)
        v = v + 0.5 * dt * f
    return x, v


def heat_crank_nicolson(u, alpha, dx, dt, steps):
    n = u.size
    r = alpha * dt / (2 * dx**2)
    A = np.diag((1 + 2 * r) * np.ones(n)) + np.diag(-r * np.ones(n - 1), 1) + np.diag(-r * np.ones(n - 1), -1)
    B = np.diag((1 - 2 * r) * np.ones(n)) + np.diag(r * np.ones(n - 1), 1) + np.diag(r * np.ones(n - 1), -1)
    for _ in range(steps):
        u = np.linalg.solve(A, B @ u)
    return u


def thomas(a, b, c, d):
    n = len(d)
    cp = np.zeros(n)
    dp = np.zeros(n)
    cp[0] = c[0] / b[0]
    dp[0] = d[0] / b[0]
    for i in range(1, n):
        m = b[i] - a[i] * cp[i - 1]
        cp[i] = c[i] / m
        dp[i] = (d[i] - a[i] * dp[i - 1]) / m
    x = np.zeros(n)
    x[-1] = dp[-1]
    for i in range(n - 2, -1, -1):
        x[i] = dp[i] - cp[i] * x[i + 1]
    return x


def wave_equation(u0, c, dx, dt, steps):
    u_prev = u0.copy()
    u = u0.copy()
    r2 = (c * dt / dx)**2
    for n in range(steps):
        u_next = np.zeros_like(u)
        u_next[1:-1] = 2 * u[1:-1] - u_prev[1:-1] + r2 * (u[2:] - 2 * u[1:-1] + u[:-2])
        u_prev, u = u, u_next
    return u


def burgers(u, nu, dx, dt, nt):
    for n in range(nt):
        un = u.copy()
        u[1:-1] = un[1:-1] - un[1:-1] * dt / dx * (un[1:-1] - un[:-2]) + nu * dt / dx**2 * (un[2:] - 2 * un[1:-1] + un[:-2])
        u[0] = un[0] - un[0] * dt / dx * (un[0] - un[-2]) + nu * dt / dx**2 * (un[1] - 2 * un[0] + un[-2])
        u[-1] = u[0]
    return u


def poisson_jacobi(f, h, tol, max_iter):
    u = np.zeros_like(f)
    for it in range(max_iter):
        u_new = u.copy()
        u_new[1:-1, 1:-1] = 0.25 * (u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - h**2 * f[1:-1, 1:-1])
        err = np.max(np.abs(u_new - u))
        u = u_new
        if err < tol:
            break
    return u, it


def gray_scott(U, V, F, k, steps):
    for i in range(steps):
        Lu = np.roll(U, 1, axis=0) + np.roll(U, -1, axis=0) + np.roll(U, 1, axis=1) + np.roll(U, -1, axis=1) - 4 * U
        Lv = np.roll(V, (1, 0), axis=(0, 1)) + np.roll(V, (-1, 0), axis=(0, 1)) + np.roll(V, (0, 1), axis=(0, 1)) + np.roll(V, (0, -1), axis=(0, 1)) - 4 * V
        uvv = U * V * V
        U += 0.16 * Lu - uvv + F * (1 - U)
        V += 0.08 * Lv + uvv - (F + k) * V
    return U, V


def laplacian(Z):
    Ztop = Z[0:-2, 1:-1]
    Zleft = Z[1:-1, 0:-2]
    Zbottom = Z[2:, 1:-1]
    Zright = Z[1:-1, 2:]
    Zcenter = Z[1:-1, 1:-1]
    return Ztop + Zleft + Zbottom + Zright - 4 * Zcenter


def fitzhugh_nagumo(U, V, dt, n):
    for i in range(n):
        deltaU = laplacian(U)
        deltaV = laplacian(V)
        Uc = U[1:-1, 1:-1]
        Vc = V[1:-1, 1:-1]
        U[1:-1, 1:-1], V[1:-1, 1:-1] = Uc + dt * (2.8e-4 * deltaU + Uc - Uc**3 - Vc - 0.005), Vc + dt * (5e-3 * deltaV + Uc - Vc) / 0.1
        for Z in (U, V):
            Z[0, :] = Z[1, :]
            Z[-1, :] = Z[-2, :]
            Z[:, 0] = Z[:, 1]
            Z[:, -1] = Z[:, -2]
    return U


# --- statistics

def linear_fit(x, y):
    n = len(x)
    sx, sy = np.sum(x), np.sum(y)
    sxx, sxy = np.sum(x * x), np.sum(x * y)
    slope = (n * sxy - sx * sy) / (n * sxx - sx**2)
    intercept = (sy - slope * sx) / n
    residual = y - (slope * x + intercept)
    r2 = 1 - np.sum(residual**2) / np.sum((y - y.mean())**2)
    return slope, intercept, r2


def polynomial_fit(x, y, degree):
    V = np.vander(x, degree + 1)
    coeff, res, rank, sv = np.linalg.lstsq(V, y, rcond=None)
    return coeff


def standardize(X):
    mu = X.mean(axis=0)
    sd = X.std(axis=0, ddof=1)
    sd[sd == 0] = 1.0
    return (X - mu) / sd


def pca(X, k):
    Xc = X - np.mean(X, axis=0)
    C = Xc.T @ Xc / (len(X) - 1)
    w, V = np.linalg.eigh(C)
    order = np.argsort(w)[::-1]
    w = w[order]
    return w[:k], w[:k].sum() / w.sum()


def kmeans(X, centers, iterations):
    k = centers.shape[0]
    for _ in range(iterations):
        d = ((X[:, None, :] - centers[None, :, :])**2).sum(axis=2)
        labels = np.argmin(d, axis=1)
        for j in range(k):
            members = X[labels == j]
            if len(members) > 0:
                centers[j] = members.mean(axis=0)
    return centers, labels


def logistic_regression(X, y, lr, epochs):
    n, p = X.shape
    w = np.zeros(p)
    b = 0.0
    losses = []
    for epoch in range(epochs):
        z = X @ w + b
        prob = 1 / (1 + np.exp(-z))
        grad = X.T @ (prob - y) / n
        w -= lr * grad
        b -= lr * np.mean(prob - y)
        losses.append(-np.mean(y * np.log(prob + 1e-12) + (1 - y) * np.log(1 - prob + 1e-12)))
    return w, b, np.array(losses)


def autocorrelation(x, max_lag):
    x = x - x.mean()
    c0 = np.dot(x, x)
    acf = np.array([np.dot(x[:len(x) - k], x[k:]) / c0 for k in range(max_lag)])
    return acf


def moving_average(x, window):
    c = np.cumsum(np.insert(x, 0, 0.0))
    return (c[window:] - c[:-window]) / window


def ewma(x, alpha):
    out = np.empty_like(x)
    out[0] = x[0]
    for t in range(1, len(x)):
        out[t] = alpha * x[t] + (1 - alpha) * out[t - 1]
    return out


def gaussian_kde(data, grid, bandwidth):
    u = (grid[:, np.newaxis] - data[np.newaxis, :]) / bandwidth
    k = np.exp(-0.5 * u**2) / np.sqrt(2 * np.pi)
    return k.mean(axis=1) / bandwidth


def mahalanobis(X):
    mu = X.mean(axis=0)
    cov = np.cov(X, rowvar=False)
    inv = np.linalg.inv(cov)
    diff = X - mu
    return np.sqrt(np.sum(diff @ inv * diff, axis=1))


def spearman(x, y):
    rx = np.argsort(np.argsort(x)).astype(float)
    ry = np.argsort(np.argsort(y)).astype(float)
    return np.corrcoef(rx, ry)[0, 1]


def bootstrap_means(data, indices):
    samples = data[indices]
    means = samples.mean(axis=1)
    lo, hi = np.percentile(means, [2.5, 97.5])
    return means, lo, hi


def ks_statistic(a, b):
    a = np.sort(a)
    b = np.sort(b)
    both = np.concatenate([a, b])
    cdf1 = np.searchsorted(a, both, side="right") / len(a)
    cdf2 = np.searchsorted(b, both, side="right") / len(b)
    return np.abs(cdf1 - cdf2).max()


def zscore_outliers(x, limit):
    z = np.abs((x - np.mean(x)) / np.std(x))
    keep = z < limit
    cleaned = np.where(keep, x, np.median(x))
    return cleaned, np.sum(~keep)


# --- finance

def monte_carlo_option(Z, S0, K, r, sigma, T):
    n_paths, n_steps = Z.shape
    dt = T / n_steps
    S = np.zeros((n_paths, n_steps + 1))
    S[:, 0] = S0
    for t in range(1, n_steps + 1):
        S[:, t] = S[:, t - 1] * np.exp((r - 0.5 * sigma**2) * dt + sigma * np.sqrt(dt) * Z[:, t - 1])
    payoff = np.maximum(S[:, -1] - K, 0)
    price = np.exp(-r * T) * payoff.mean()
    stderr = payoff.std() / np.sqrt(n_paths)
    return price, stderr


def binomial_tree(S0, K, r, sigma, T, N):
    dt = T / N
    u = np.exp(sigma * np.sqrt(dt))
    d = 1 / u
    p = (np.exp(r * dt) - d) / (u - d)
    S = S0 * d**np.arange(N, -1, -1) * u**np.arange(0, N + 1)
    V = np.maximum(K - S, 0)
    for i in range(N, 0, -1):
        V[:i] = np.exp(-r * dt) * (p * V[1:i + 1] + (1 - p) * V[:i])
    return V[0]


def black_scholes(S, K, T, r, sigma):
    def cdf(x):
        return 0.5 * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))
    d1 = (np.log(S / K) + (r + 0.5 * sigma**2) * T) / (sigma * np.sqrt(T))
    d2 = d1 - sigma * np.sqrt(T)
    call = S * cdf(d1) - K * np.exp(-r * T) * cdf(d2)
    put = call - S + K * np.exp(-r * T)
    return call, put


def portfolio(returns, weights):
    mean = np.mean(returns, axis=0) * 252
    cov = np.cov(returns.T) * 252
    ret = weights @ mean
    vol = np.sqrt(weights.T @ cov @ weights)
    return ret, vol, ret / vol


def max_drawdown(prices):
    peak = prices[0]
    worst = 0.0
    for p in prices:
        if p > peak:
            peak = p
        dd = (peak - p) / peak
        if dd > worst:
            worst = dd
    return worst


def drawdown_series(prices):
    running = np.maximum.accumulate(prices)
    dd = prices / running - 1.0
    return dd, dd.min(), np.argmin(dd)


def rsi(prices, period):
    delta = np.diff(prices)
    gain = np.where(delta > 0, delta, 0.0)
    loss = np.where(delta < 0, -delta, 0.0)
    out = np.full(len(prices), np.nan)
    avg_gain = gain[:period].mean()
    avg_loss = loss[:period].mean()
    for i in range(period, len(delta)):
        avg_gain = (avg_gain * (period - 1) + gain[i]) / period
        avg_loss = (avg_loss * (period - 1) + loss[i]) / period
        out[i + 1] = 100 - 100 / (1 + avg_gain / avg_loss)
    return out


def present_value(cashflows, rate):
    return sum(cf / (1 + rate)**t for t, cf in enumerate(cashflows))


def irr_newton(cashflows, guess):
    t = np.arange(len(cashflows))
    rate = guess
    for _ in range(50):
        f = np.sum(cashflows / (1 + rate)**t)
        df = np.sum(-t * cashflows / (1 + rate)**(t + 1))
        step = f / df
        rate = rate - step
        if abs(step) < 1e-12:
            break
    return rate


# --- linear algebra, factorisations

def nmf(V, W, H, iterations):
    eps = 1e-9
    for i in range(iterations):
        H *= (W.T @ V) / (W.T @ W @ H + eps)
        W *= (V @ H.T) / (W @ H @ H.T + eps)
    error = np.linalg.norm(V - W @ H, 'fro')
    return W, H, error


def gram_schmidt(A):
    m, n = A.shape
    Q = np.zeros((m, n))
    R = np.zeros((n, n))
    for j in range(n):
        v = A[:, j].copy()
        for i in range(j):
            R[i, j] = Q[:, i] @ A[:, j]
            v -= R[i, j] * Q[:, i]
        R[j, j] = np.linalg.norm(v)
        Q[:, j] = v / R[j, j]
    return Q, R


def power_method(A, v, iters):
    for _ in range(iters):
        w = A @ v
        v = w / np.linalg.norm(w)
    eigenvalue = v @ A @ v
    return eigenvalue, v


def conjugate_gradient(A, b, tol):
    x = np.zeros_like(b)
    r = b - A @ x
    p = r.copy()
    rs = r @ r
    for i in range(len(b)):
        Ap = A @ p
        alpha = rs / (p @ Ap)
        x += alpha * p
        r -= alpha * Ap
        rs_new = r @ r
        if np.sqrt(rs_new) < tol:
            break
        p = r + (rs_new / rs) * p
        rs = rs_new
    return x


def lu_decompose(A):
    n = A.shape[0]
    U = A.copy()
    L = np.eye(n)
    for k in range(n - 1):
        for i in range(k + 1, n):
            L[i, k] = U[i, k] / U[k, k]
            U[i, k:] = U[i, k:] - L[i, k] * U[k, k:]
    return L, U


def gauss_seidel(A, b, iterations):
    n = len(b)
    x = np.zeros(n)
    for it in range(iterations):
        for i in range(n):
            s = 0.0
            for j in range(n):
                if j != i:
                    s += A[i, j] * x[j]
            x[i] = (b[i] - s) / A[i, i]
    return x


def als_factorise(R, U, V, lam, iterations):
    k = U.shape[1]
    I = lam * np.eye(k)
    for _ in range(iterations):
        U = np.linalg.solve(V.T @ V + I, V.T @ R.T).T
        V = np.linalg.solve(U.T @ U + I, U.T @ R).T
    rmse = np.sqrt(np.mean((R - U @ V.T)**2))
    return U, V, rmse


def jacobi_rotation(A, sweeps):
    A = A.copy()
    n = A.shape[0]
    for _ in range(sweeps):
        for p in range(n - 1):
            for q in range(p + 1, n):
                if abs(A[p, q]) < 1e-12:
                    continue
                theta = 0.5 * math.atan2(2 * A[p, q], A[q, q] - A[p, p])
                c, s = math.cos(theta), math.sin(theta)
                row_p = c * A[p, :] - s * A[q, :]
                row_q = s * A[p, :] + c * A[q, :]
                A[p, :], A[q, :] = row_p, row_q
                col_p = c * A[:, p] - s * A[:, q]
                col_q = s * A[:, p] + c * A[:, q]
                A[:, p], A[:, q] = col_p, col_q
    return np.sort(np.diag(A))


# --- cellular automata, lattices

def game_of_life(grid, generations):
    for _ in range(generations):
        neighbours = sum(np.roll(np.roll(grid, i, 0), j, 1) for i in (-1, 0, 1) for j in (-1, 0, 1) if (i, j) != (0, 0))
        grid = ((neighbours == 3) | ((grid == 1) & (neighbours == 2))).astype(int)
    return grid


def game_of_life_slices(Z, steps):
    for _ in range(steps):
        N = (Z[0:-2, 0:-2] + Z[0:-2, 1:-1] + Z[0:-2, 2:] + Z[1:-1, 0:-2] + Z[1:-1, 2:] + Z[2:, 0:-2] + Z[2:, 1:-1] + Z[2:, 2:])
        birth = (N == 3) & (Z[1:-1, 1:-1] == 0)
        survive = ((N == 2) | (N == 3)) & (Z[1:-1, 1:-1] == 1)
        Z[...] = 0
        Z[1:-1, 1:-1][birth | survive] = 1
    return Z


def elementary_automaton(rule, state, steps):
    history = np.zeros((steps, len(state)), dtype=np.int64)
    for t in range(steps):
        history[t] = state
        code = 4 * np.roll(state, 1) + 2 * state + np.roll(state, -1)
        state = (rule >> code) & 1
    return history


def ising_checkerboard(spins, uniforms, beta):
    n, m = spins.shape
    i, j = np.indices((n, m))
    for parity in (0, 1):
        mask = (i + j) % 2 == parity
        nb = np.roll(spins, 1, 0) + np.roll(spins, -1, 0) + np.roll(spins, 1, 1) + np.roll(spins, -1, 1)
        dE = 2 * spins * nb
        flip = mask & (uniforms < np.exp(-beta * dE))
        spins = np.where(flip, -spins, spins)
    return spins, abs(spins.mean())


def sandpile(grid, max_steps):
    for _ in range(max_steps):
        over = grid >= 4
        if not over.any():
            break
        grid -= 4 * over
        grid[1:, :] += over[:-1, :]
        grid[:-1, :] += over[1:, :]
        grid[:, 1:] += over[:, :-1]
        grid[:, :-1] += over[:, 1:]
    return grid


def forest_fire(forest, lightning, growth):
    burning = forest == 2
    neighbour = np.zeros_like(burning)
    neighbour[1:] |= burning[:-1]
    neighbour[:-1] |= burning[1:]
    neighbour[:, 1:] |= burning[:, :-1]
    neighbour[:, :-1] |= burning[:, 1:]
    new = forest.copy()
    new[burning] = 0
    new[(forest == 1) & (neighbour | lightning)] = 2
    new[(forest == 0) & growth] = 1
    return new


# --- signals

def hann_spectrum(x):
    n = len(x)
    w = 0.5 - 0.5 * np.cos(2 * np.pi * np.arange(n) / (n - 1))
    k = np.arange(n // 2 + 1)
    angle = 2 * np.pi * np.outer(k, np.arange(n)) / n
    re = np.cos(angle) @ (x * w)
    im = -np.sin(angle) @ (x * w)
    return np.sqrt(re**2 + im**2)


def windows(n):
    t = np.linspace(0, 1, n)
    hamming = 0.54 - 0.46 * np.cos(2 * np.pi * t)
    blackman = 0.42 - 0.5 * np.cos(2 * np.pi * t) + 0.08 * np.cos(4 * np.pi * t)
    return hamming, blackman, np.hanning(n), np.bartlett(n)


def fir_filter(x, taps):
    n, m = len(x), len(taps)
    y = np.zeros(n)
    for i in range(n):
        for j in range(m):
            if i - j >= 0:
                y[i] += taps[j] * x[i - j]
    return y


def fir_convolve(x, taps):
    return np.convolve(x, taps, mode="same")


def butterworth_like(x, a, b):
    y = np.zeros_like(x)
    for n in range(2, len(x)):
        y[n] = b[0] * x[n] + b[1] * x[n - 1] + b[2] * x[n - 2] - a[1] * y[n - 1] - a[2] * y[n - 2]
    return y


def rms_frames(x, frame, hop):
    count = 1 + (len(x) - frame) // hop
    out = np.zeros(count)
    for i in range(count):
        seg = x[i * hop:i * hop + frame]
        out[i] = np.sqrt(np.mean(seg**2))
    return out


def zero_crossings(x):
    signs = np.sign(x)
    crossings = np.where(np.diff(signs) != 0)[0]
    return len(crossings)


def lms_filter(x, d, mu, order):
    w = np.zeros(order)
    y = np.zeros(len(x))
    e = np.zeros(len(x))
    for n in range(order, len(x)):
        u = x[n - order:n][::-1]
        y[n] = np.dot(w, u)
        e[n] = d[n] - y[n]
        w += 2 * mu * e[n] * u
    return w, e


# --- Monte Carlo with given numbers

def estimate_pi(points):
    inside = np.sum(points[:, 0]**2 + points[:, 1]**2 <= 1.0)
    return 4.0 * inside / len(points)


def metropolis(proposals, uniforms, x0):
    n = len(proposals)
    chain = np.zeros(n)
    x = x0
    accepted = 0
    for i in range(n):
        cand = x + proposals[i]
        ratio = math.exp(-0.5 * (cand**2 - x**2))
        if uniforms[i] < ratio:
            x = cand
            accepted += 1
        chain[i] = x
    return chain, accepted / n


def random_walks(steps):
    positions = np.cumsum(steps, axis=0)
    msd = np.mean(np.sum(positions**2, axis=2), axis=1)
    return positions[-1], msd


def importance_sampling(u, n_bins):
    x = -np.log(1 - u * (1 - np.exp(-1.0)))
    weights = np.exp(-x**2) / (np.exp(-x) / (1 - np.exp(-1.0)))
    estimate = weights.mean()
    err = weights.std(ddof=1) / np.sqrt(u.size)
    counts, edges = np.histogram(x, bins=n_bins, range=(0.0, 1.0))
    return estimate, err, counts


# --- others

def haversine(lat1, lon1, lat2, lon2):
    R = 6371.0
    p1, p2 = np.radians(lat1), np.radians(lat2)
    dphi = np.radians(lat2 - lat1)
    dlambda = np.radians(lon2 - lon1)
    a = np.sin(dphi / 2)**2 + np.cos(p1) * np.cos(p2) * np.sin(dlambda / 2)**2
    return 2 * R * np.arctan2(np.sqrt(a), np.sqrt(1 - a))


def trapezoid_rule(y, x):
    return np.trapz(y, x), np.sum((x[1:] - x[:-1]) * (y[1:] + y[:-1])) / 2


def simpson(f_values, h):
    n = len(f_values) - 1
    return h / 3 * (f_values[0] + 4 * f_values[1:n:2].sum() + 2 * f_values[2:n - 1:2].sum() + f_values[n])


def mandelbrot(xmin, xmax, ymin, ymax, n, max_iter):
    x = np.linspace(xmin, xmax, n)
    y = np.linspace(ymin, ymax, n)
    cr, ci = np.meshgrid(x, y)
    zr = np.zeros_like(cr)
    zi = np.zeros_like(ci)
    count = np.zeros(cr.shape, dtype=int)
    for _ in range(max_iter):
        inside = zr * zr + zi * zi <= 4
        new_r = zr * zr - zi * zi + cr
        new_i = 2 * zr * zi + ci
        zr[inside] = new_r[inside]
        zi[inside] = new_i[inside]
        count[inside] += 1
    return count


def bisection(a, b, tol):
    def f(x):
        return x**3 - 2 * x - 5
    while (b - a) / 2 > tol:
        mid = (a + b) / 2
        if f(mid) == 0:
            return mid
        if f(a) * f(mid) < 0:
            b = mid
        else:
            a = mid
    return (a + b) / 2


def levenshtein(a, b):
    n, m = len(a), len(b)
    D = np.zeros((n + 1, m + 1), dtype=int)
    D[:, 0] = np.arange(n + 1)
    D[0, :] = np.arange(m + 1)
    for i in range(1, n + 1):
        for j in range(1, m + 1):
            cost = 0 if a[i - 1] == b[j - 1] else 1
            D[i, j] = min(D[i - 1, j] + 1, D[i, j - 1] + 1, D[i - 1, j - 1] + cost)
    return D[n, m]


def pairwise_distances(X, Y):
    xx = np.sum(X**2, axis=1)[:, None]
    yy = np.sum(Y**2, axis=1)[None, :]
    d2 = xx + yy - 2 * X @ Y.T
    return np.sqrt(np.maximum(d2, 0))


def softmax_cross_entropy(logits, labels):
    shifted = logits - logits.max(axis=1, keepdims=True)
    logsum = np.log(np.exp(shifted).sum(axis=1))
    picked = shifted[np.arange(len(labels)), labels]
    return np.mean(logsum - picked)


def mlp_forward(X, W1, b1, W2, b2):
    h = np.maximum(0, X @ W1 + b1)
    out = h @ W2 + b2
    e = np.exp(out - np.max(out, axis=1, keepdims=True))
    p = e / np.sum(e, axis=1, keepdims=True)
    return p, np.argmax(p, axis=1)


def knn_classify(train, labels, test, k, n_classes):
    d = np.sqrt(((test[:, None, :] - train[None, :, :])**2).sum(-1))
    nearest = np.argsort(d, axis=1, kind="stable")[:, :k]
    votes = labels[nearest]
    counts = np.zeros((len(test), n_classes), dtype=int)
    for c in range(n_classes):
        counts[:, c] = (votes == c).sum(axis=1)
    return counts.argmax(axis=1)


def pagerank(M, d, tol):
    N = M.shape[1]
    v = np.ones(N) / N
    M_hat = d * M + (1 - d) / N
    diff = 1.0
    while diff > tol:
        v_old = v
        v = M_hat @ v
        diff = np.linalg.norm(v - v_old, 1)
    return v


def kalman_1d(z, q, r, x0, p0):
    n = len(z)
    xs = np.zeros(n)
    ps = np.zeros(n)
    x, p = x0, p0
    for k in range(n):
        p = p + q
        K = p / (p + r)
        x = x + K * (z[k] - x)
        p = (1 - K) * p
        xs[k] = x
        ps[k] = p
    return xs, ps


def hmm_forward(A, B, pi, obs):
    T, N = len(obs), A.shape[0]
    alpha = np.zeros((T, N))
    alpha[0] = pi * B[:, obs[0]]
    for t in range(1, T):
        alpha[t] = (alpha[t - 1] @ A) * B[:, obs[t]]
    return alpha, alpha[-1].sum()


def viterbi(A, B, pi, obs):
    T, N = obs.shape[0], A.shape[0]
    delta = np.zeros((T, N))
    psi = np.zeros((T, N), dtype=int)
    delta[0] = np.log(pi) + np.log(B[:, obs[0]])
    for t in range(1, T):
        for j in range(N):
            scores = delta[t - 1] + np.log(A[:, j])
            psi[t, j] = np.argmax(scores)
            delta[t, j] = scores.max() + np.log(B[j, obs[t]])
    path = np.zeros(T, dtype=int)
    path[-1] = np.argmax(delta[-1])
    for t in range(T - 2, -1, -1):
        path[t] = psi[t + 1, path[t + 1]]
    return path


def upwind_advection(u, a, dx, dt, nt):
    c = a * dt / dx
    for n in range(nt):
        if a > 0:
            u[1:] = u[1:] - c * (u[1:] - u[:-1])
        else:
            u[:-1] = u[:-1] - c * (u[1:] - u[:-1])
    return u


def shallow_water(h, u, v, g, dx, dt, steps):
    for _ in range(steps):
        dhdx = (np.roll(h, -1, axis=1) - np.roll(h, 1, axis=1)) / (2 * dx)
        dhdy = (np.roll(h, -1, axis=0) - np.roll(h, 1, axis=0)) / (2 * dx)
        u = u - dt * g * dhdx
        v = v - dt * g * dhdy
        div = (np.roll(u, -1, 1) - np.roll(u, 1, 1) + np.roll(v, -1, 0) - np.roll(v, 1, 0)) / (2 * dx)
        h = h - dt * h.mean() * div
    return h, u, v


def gradient_magnitude(f, dx):
    gy, gx = np.gradient(f, dx)
    return np.hypot(gx, gy)


def interpolate_bilinear(grid, xs, ys):
    x0 = np.floor(xs).astype(int)
    y0 = np.floor(ys).astype(int)
    x1 = np.minimum(x0 + 1, grid.shape[1] - 1)
    y1 = np.minimum(y0 + 1, grid.shape[0] - 1)
    fx, fy = xs - x0, ys - y0
    top = grid[y0, x0] * (1 - fx) + grid[y0, x1] * fx
    bottom = grid[y1, x0] * (1 - fx) + grid[y1, x1] * fx
    return top * (1 - fy) + bottom * fy


def cubic_spline_m(x, y):
    n = len(x)
    h = np.diff(x)
    A = np.zeros((n, n))
    b = np.zeros(n)
    A[0, 0] = A[-1, -1] = 1
    for i in range(1, n - 1):
        A[i, i - 1] = h[i - 1]
        A[i, i] = 2 * (h[i - 1] + h[i])
        A[i, i + 1] = h[i]
        b[i] = 3 * ((y[i + 1] - y[i]) / h[i] - (y[i] - y[i - 1]) / h[i - 1])
    return np.linalg.solve(A, b)


def horner(coeffs, x):
    result = np.zeros_like(x)
    for c in coeffs[::-1]:
        result = result * x + c
    return result


def legendre(x, n):
    p0 = np.ones_like(x)
    p1 = x
    if n == 0:
        return p0
    for k in range(1, n):
        p0, p1 = p1, ((2 * k + 1) * x * p1 - k * p0) / (k + 1)
    return p1


def floyd_warshall(D):
    n = D.shape[0]
    for k in range(n):
        D = np.minimum(D, D[:, k][:, None] + D[k, :][None, :])
    return D


def knapsack(weights, values, capacity):
    best = np.zeros(capacity + 1)
    for i in range(len(weights)):
        for c in range(capacity, weights[i] - 1, -1):
            best[c] = max(best[c], best[c - weights[i]] + values[i])
    return best[capacity]


def sieve(n):
    prime = np.ones(n + 1, dtype=bool)
    prime[:2] = False
    for i in range(2, int(n**0.5) + 1):
        if prime[i]:
            prime[i * i::i] = False
    return prime.sum()


def dtw(a, b):
    n, m = len(a), len(b)
    D = np.full((n + 1, m + 1), np.inf)
    D[0, 0] = 0
    for i in range(1, n + 1):
        for j in range(1, m + 1):
            cost = abs(a[i - 1] - b[j - 1])
            D[i, j] = cost + min(D[i - 1, j], D[i, j - 1], D[i - 1, j - 1])
    return D[n, m]


def adam(x, steps, lr):
    m = np.zeros_like(x)
    v = np.zeros_like(x)
    beta1, beta2, eps = 0.9, 0.999, 1e-8
    for t in range(1, steps + 1):
        g = 2 * (x - 3.0) + 0.1 * np.sin(5 * x)
        m = beta1 * m + (1 - beta1) * g
        v = beta2 * v + (1 - beta2) * g**2
        m_hat = m / (1 - beta1**t)
        v_hat = v / (1 - beta2**t)
        x = x - lr * m_hat / (np.sqrt(v_hat) + eps)
    return x


# --- examples

def arguments(i):
    """Function -> positional arguments of its example `i`."""
    r = np.random.RandomState(5 + i)
    n, m, k = ((13, 19, 6), (17, 24, 7))[i]
    img = r.rand(n, m); x = r.randn(m + 20); y = r.randn(m + 20)
    S = r.rand(m, m); S = S @ S.T + m * np.eye(m)
    P = r.rand(n, n); P /= P.sum(axis=0)
    pos3 = r.randn(n, 3)
    return dict(
        sobel=(img,), convolve2d=(img, r.rand(5, 3)), gaussian_blur=(img, 1.3), median_filter3=(img,), otsu=(img,), bilateral=(img, 1.0, 0.2),
        histogram_equalize=(img,), rgb_to_gray=(r.rand(n, m, 3),),
        lorenz_rk4=(np.array([1.0, 1.0, 1.0]), 0.01, 20 + i), pendulum=(0.5, 0.0, 0.01, 50 + i), sir_model=(0.4, 0.1, 30 + i),
        n_body=(pos3, r.randn(n, 3), r.rand(n), 0.01, 3), n_body_vector=(pos3, r.rand(n), 0.1), verlet_lennard_jones=(np.arange(n) * 1.2, r.randn(n) * .1, 0.001, 4),
        heat_crank_nicolson=(r.rand(m), 0.1, 0.1, 0.01, 5), thomas=(r.rand(m), 4 + r.rand(m), r.rand(m), r.rand(m)), wave_equation=(r.rand(m), 1.0, 0.1, 0.05, 7),
        burgers=(1 + r.rand(m), 0.05, 0.1, 0.01, 5), poisson_jacobi=(img, 0.1, 1e-4, 40), gray_scott=(img, r.rand(n, m), 0.04, 0.06, 4),
        fitzhugh_nagumo=(img, r.rand(n, m), 0.001, 5),
        linear_fit=(x, y), polynomial_fit=(r.rand(m), r.rand(m), 3), standardize=(r.randn(m, 5),), pca=(r.randn(m, 5), 2), kmeans=(r.randn(40 + i, 3), r.randn(4, 3), 3),
        logistic_regression=(r.randn(m, 5), (r.rand(m) > .5).astype(float), 0.1, 9 + i), autocorrelation=(x, 7 + i), moving_average=(x, 4), ewma=(x, 0.3),
        gaussian_kde=(x, np.linspace(-2, 2, 25 + i), 0.4), mahalanobis=(r.randn(m, 4),), spearman=(x, y), bootstrap_means=(x, r.randint(0, len(x), (30 + i, len(x)))),
        ks_statistic=(x, r.randn(m)), zscore_outliers=(x, 1.5),
        monte_carlo_option=(r.randn(n, m), 100.0, 105.0, 0.02, 0.3, 1.0), binomial_tree=(100.0, 100.0, 0.03, 0.2, 1.0, 30 + i),
        black_scholes=(90 + 20 * r.rand(m), 100.0, 1.0, 0.03, 0.2), portfolio=(0.01 * r.randn(m, 4), np.array([.1, .2, .3, .4])), max_drawdown=(100 + x,),
        drawdown_series=(100 + x,), rsi=(100 + np.cumsum(x), 14), present_value=(np.array([-100., 30, 40, 50, 20, 10])[:5 + i], 0.05), irr_newton=(np.array([-100., 30, 40, 50, 20, 10])[:5 + i], 0.1),
        nmf=(img, r.rand(n, k), r.rand(k, m), 5), gram_schmidt=(r.randn(m, n),), power_method=(S, r.rand(m), 10), conjugate_gradient=(S, r.rand(m), 1e-8), lu_decompose=(S,),
        gauss_seidel=(S, r.rand(m), 4), als_factorise=(img, r.rand(n, k), r.rand(m, k), 0.1, 3), jacobi_rotation=(S[:8 + i, :8 + i].copy(), 4),
        game_of_life=(r.randint(0, 2, (n, m)), 4), game_of_life_slices=(r.randint(0, 2, (n, m)), 4), elementary_automaton=(110, r.randint(0, 2, m), 9 + i),
        ising_checkerboard=(2 * r.randint(0, 2, (n, m)) - 1, r.rand(n, m), 0.4), sandpile=(r.randint(0, 8, (n, m)), 6), forest_fire=(r.randint(0, 3, (n, m)), r.rand(n, m) < .1, r.rand(n, m) < .3),
        hann_spectrum=(x,), windows=(33 + i,), fir_filter=(x, r.rand(5 + i)), fir_convolve=(x, r.rand(5 + 2 * i)), butterworth_like=(x, r.rand(3) * .3, r.rand(3)), rms_frames=(x, 8, 3),
        zero_crossings=(x,), lms_filter=(x, y, 0.01, 5),
        estimate_pi=(r.rand(50 + i, 2),), metropolis=(r.randn(m), r.rand(m), 0.3), random_walks=(r.randn(m, n, 2),), importance_sampling=(r.rand(60 + i), 12),
        haversine=(r.rand(m), r.rand(m), r.rand(m), r.rand(m)), trapezoid_rule=(r.rand(m), np.sort(r.rand(m))), simpson=(r.rand(21 + 2 * i), 0.1), mandelbrot=(-2.0, 0.5, -1.2, 1.2, 21 + i, 12),
        bisection=(2.0, 3.0, 1e-8), levenshtein=(r.randint(0, 4, n), r.randint(0, 4, m)), pairwise_distances=(r.rand(n, 4), r.rand(m, 4)),
        softmax_cross_entropy=(r.randn(m, 5), r.randint(0, 5, m)), mlp_forward=(r.randn(n, 9), r.randn(9, 12 + i), r.randn(12 + i), r.randn(12 + i, 4), r.randn(4)),
        knn_classify=(r.randn(30 + i, 2), r.randint(0, 3, 30 + i), r.randn(n, 2), 5, 3), pagerank=(P, 0.85, 1e-6), kalman_1d=(x, 0.01, 0.1, 0.0, 1.0),
        hmm_forward=(P.T.copy()[:5, :5], r.rand(5, 4), r.rand(5), r.randint(0, 4, m)), viterbi=(.1 + r.rand(5, 5), .1 + r.rand(5, 4), .1 + r.rand(5), r.randint(0, 4, m)),
        upwind_advection=(r.rand(m), 1.0, 0.1, 0.05, 4), shallow_water=(1 + r.rand(n, m), r.rand(n, m), r.rand(n, m), 9.8, 1.0, 0.01, 3), gradient_magnitude=(img, 0.5),
        interpolate_bilinear=(img, r.rand(30 + i) * (m - 1), r.rand(30 + i) * (n - 1)), cubic_spline_m=(np.cumsum(.1 + r.rand(m)), r.rand(m)), horner=(r.rand(5 + i), x), legendre=(r.rand(m), 5 + i),
        floyd_warshall=(r.rand(n, n),), knapsack=(r.randint(1, 8, 9 + i), r.rand(9 + i), 30 + i), sieve=(100 + 7 * i,), dtw=(x, y[:m]), adam=(x, 6, 0.1))
