import numpy as np


def twin(p):
    n, x, k, W = p.n, p.x, p.k, p.W
    prefix = x.copy()
    for i in range(1, n):
        prefix[i] = prefix[:i].sum() * 0.1 + x[i]
    climb, c = x.copy(), 1
    while c < n and np.abs(climb[:c]).sum() < 3:
        climb[c] = climb[c - 1] + abs(x[c])
        c += 1
    back = x.copy()
    for r in range(1, n):
        back[r] = sum(back[max(r - j - 1, 0)] for j in range(k[r] % 5)) * 0.25 + x[r]
    rising = np.ones(n, np.int64)
    for r in range(n):
        rising[r] = max([rising[j] for j in range(r) if x[j] < x[r]], default=0) + 1
    coins = np.full(n + 1, 1000)
    coins[0] = 0
    for s in range(1, n + 1):
        coins[s] = min(coins[s - q] + 1 for q in range(1, 4) if s >= q)
    low = x.copy()
    for r in range(3, n):
        if low[:r].max() > 1:
            low[r] = 0.5
    after = np.zeros(n, bool)
    for r in range(n):
        after[r] = x[r] > 1 or any(after[r - j - 1] and x[r] > 0 for j in range(3) if r - j - 1 >= 0)
    far, done = np.full(n, np.inf), np.zeros(n, bool)
    far[0] = 0
    for _ in range(n):
        u = int(np.argmin(np.where(done, np.inf, far)))
        done[u] = True
        far = np.minimum(far, far[u] + W[u])
    return dict(prefix=prefix, climb=climb, stop=np.int64(c), back=back, rising=rising, coins=coins, low=low, after=after, far=far)
