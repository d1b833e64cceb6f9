"""csv_regression.py X.csv y.csv W STEPS: a logistic regression on a table in text files. Prints seconds as JSON and writes the weights to W."""
import json
import sys
import time

import numpy as np

try:
    import pandas
    READER = "pandas"
except ImportError:
    READER = "NumPy"
try:
    from sklearn.linear_model import LogisticRegression
    SOLVER = "scikit-learn"
except ImportError:
    SOLVER = "NumPy"


def read(path):
    if READER == "pandas":
        return pandas.read_csv(path, header=None).to_numpy()
    return np.loadtxt(path, delimiter=",")


def newton(X, y, steps, ridge=0.5):
    w = np.zeros(X.shape[1])
    for _ in range(steps):
        p = 1 / (1 + np.exp(-(X @ w)))
        hessian = (X * (p * (1 - p))[:, None]).T @ X + ridge * np.eye(len(w))
        w = w - np.linalg.solve(hessian, X.T @ (p - y) + ridge * w)
    return w


def train(X, y, steps):
    if SOLVER == "NumPy":
        w = newton(X, y, steps)
        return w, lambda: X @ w > 0
    model = LogisticRegression(C=2.0, fit_intercept=False).fit(X, y)
    return model.coef_[0], lambda: model.predict(X) > 0.5


def main():
    x_file, y_file, answer, steps = sys.argv[1:]
    marks = [time.perf_counter()]
    X, y = read(x_file), read(y_file).ravel()
    marks.append(time.perf_counter())
    w, predict = train(X, y, int(steps))
    predict()
    marks.append(time.perf_counter())
    w.tofile(answer)
    print(json.dumps({"stack": f"{READER} and {SOLVER}", "load": marks[1] - marks[0], "train": marks[2] - marks[1], "same_model": SOLVER == "NumPy"}))


main()
