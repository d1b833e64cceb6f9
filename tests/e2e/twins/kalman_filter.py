"""The Kalman filter with explicit inverses."""
import numpy as np


def twin(a):
    F = np.array([[1.0, 0.1], [0.0, 1.0]])
    Q = np.array([[0.0001, 0.001], [0.001, 0.01]])
    x, P, misfit, path = np.zeros(2), np.eye(2), 0.0, []
    for z in a.Z:
        x, P = F @ x, F @ P @ F.T + Q
        S = P + 0.25 * np.eye(2)
        d, inverse = z - x, np.linalg.inv(S)
        misfit += d @ inverse @ d + np.log(np.linalg.det(S))
        K = P @ inverse
        x, P = x + K @ d, P - K @ S @ K.T
        path.append(x)
    return {"path": np.array(path), "P": P, "misfit": np.array(misfit)}
