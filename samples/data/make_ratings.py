#!/usr/bin/python3
"""make_ratings.py > ratings.csv: 720 ratings of 40 movies by 60 users, 1 to 5 in halves, as MovieLens has them: drawn from tastes in three
directions, with popular movies seen by many."""
import numpy as np

USERS, MOVIES, RATINGS = 60, 40, 720
rng = np.random.default_rng(7)
popular = 1.0 / np.arange(2, MOVIES + 2) ** 0.7
seen = set()
while len(seen) < RATINGS:
    seen.add((int(rng.integers(USERS)), int(rng.choice(MOVIES, p=popular / popular.sum()))))
taste, kind = rng.normal(0.0, 0.7, (USERS, 3)), rng.normal(0.0, 0.7, (MOVIES, 3))
print("user,movie,rating")
for user, movie in rng.permutation(sorted(seen)):
    score = 3.4 + taste[user] @ kind[movie] + rng.normal(0.0, 0.3)
    print(f"{user},{movie},{np.clip(round(2.0 * score) / 2.0, 1.0, 5.0)}")
