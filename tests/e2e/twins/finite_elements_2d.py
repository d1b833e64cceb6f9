"""Linear elements on triangles: one element after the other, and preconditioned conjugate gradients."""
import numpy as np
from finite_elements_1d import conjugate_gradients


def twin(a):
    nodes = len(a.x)
    K, f = np.zeros((nodes, nodes)), np.zeros(nodes)
    for corner in a.corner:
        points = np.stack([a.x[corner], a.y[corner]], axis=1)
        shape = np.linalg.inv(np.column_stack([np.ones(3), points]))  # column k: the function that is 1 at corner k
        area = 0.5 * abs(np.linalg.det(np.column_stack([np.ones(3), points])))
        free = ~a.fixed[corner]
        K[np.ix_(corner[free], corner[free])] += area * (shape[1:].T @ shape[1:])[np.ix_(free, free)]
        f[corner[free]] += area / 3
    K[a.fixed, a.fixed] += 1.0
    return {"u": conjugate_gradients(K, f, a.tolerance, a.max_steps)}
