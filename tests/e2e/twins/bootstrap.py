"""The bootstrap with the generator of docs/decisions/061 written out in Python."""
import math

import numpy as np

WORD = (1 << 64) - 1
UNIFORM, NORMAL, BITS = 0x6A09E667F3BCC909, 0xBB67AE8584CAA73B, 0x3C6EF372FE94F82B


def mixed(x):
    x = (x + 0x9E3779B97F4A7C15) & WORD
    x = ((x ^ x >> 30) * 0xBF58476D1CE4E5B9) & WORD
    x = ((x ^ x >> 27) * 0x94D049BB133111EB) & WORD
    return x ^ x >> 31


def philox(key, index, function):
    key = mixed(mixed(key & WORD) ^ function)
    a, b, c, d = index & 0xFFFFFFFF, index >> 32, 0, 0
    low, high = key & 0xFFFFFFFF, key >> 32
    for _ in range(10):
        p, q = 0xD2511F53 * a, 0xCD9E8D57 * c
        a, b, c, d = q >> 32 ^ b ^ low, q & 0xFFFFFFFF, p >> 32 ^ d ^ high, p & 0xFFFFFFFF
        low, high = (low + 0x9E3779B9) & 0xFFFFFFFF, (high + 0xBB67AE85) & 0xFFFFFFFF
    return a, b, c, d


def unit(low, high):
    return ((high << 32 | low) >> 11) * 2.0 ** -53


def uniform(key, index):
    return unit(*philox(key, index, UNIFORM)[:2])


def normal(key, index):
    words = philox(key, index, NORMAL)
    return math.sqrt(-2.0 * math.log(1.0 - unit(*words[:2]))) * math.cos(2.0 * math.pi * unit(*words[2:]))


def bits(key, index):
    words = philox(key, index, BITS)
    return words[1] << 32 | words[0]


def below(word, count):
    while (word * count & WORD) < (1 << 64) % count:
        word = mixed(word ^ BITS)
    return word * count >> 64


def permutation(n, key):
    network = bits(key, 0x7065726D75746564)
    b = int(math.sqrt(n)) + 1
    a = -(-n // b)
    a += a % 2
    places = []
    for place in range(n):
        while True:
            row, column = divmod(place, b)
            for r in range(12 if n < 1024 else 4):
                row = (row + int(uniform(network + 2 * r * (a + b) + column, 0) * a)) % a
                column = (column + int(uniform(network + (2 * r + 1) * (a + b) + row, 0) * b)) % b
            place = row * b + column
            if place < n:
                break
        places.append(place)
    return np.array(places)


def twin(t):
    n, key = len(t.x), int(t.key)
    picked = np.array([below(bits(key, k), n) for k in range(t.resamples * n)]).reshape(t.resamples, n)
    means = t.x[picked].mean(axis=1)
    noise = [abs((t.x + 0.1 * np.array([normal(key + s, i) for i in range(n)])).mean() - t.x.mean()) for s in range(3)]
    return {"error": means.std(), "low": np.quantile(means, 0.025), "high": np.quantile(means, 0.975),
            "mean_of_half": t.x[permutation(n, key)[:(n + 1) // 2]].mean(), "noise": max(noise)}
