"""Linear elements on triangles: one element after the other, and preconditioned conjugate gradients."""
import numpy as np


def twin(a):
    nodes = len(a.x)
    K, f = np.zeros((nodes, nodes)), np.zeros(nodes)
    for corner in a.corner:
        points = np.column_stack([np.ones(3), a.x[corner], a.y[corner]])
        slopes = np.linalg.inv(points)[1:]  # column k: of the function that is 1 at corner k
        area = 0.5 * abs(np.linalg.det(points))
        free = ~a.fixed[corner]
        K[np.ix_(corner[free], corner[free])] += area * (slopes.T @ slopes)[np.ix_(free, free)]
        f[corner[free]] += area / 3
    K[a.fixed, a.fixed] += 1.0
    u, r, steps = np.zeros(nodes), f.copy(), 0
    p = z = r / np.diag(K)
    while np.linalg.norm(r) > a.tolerance * np.linalg.norm(f) and steps < a.max_steps:
        rz, q = r @ z, K @ p
        alpha = rz / (p @ q)
        u, r = u + alpha * p, r - alpha * q
        z = r / np.diag(K)
        p = z + r @ z / rz * p
        steps += 1
    return {"u": u}
