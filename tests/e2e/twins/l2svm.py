"""L2-regularised squared hinge loss: Fletcher-Reeves directions, Newton's method for the step length."""
import numpy as np


def twin(a):
    penalty = getattr(a, "lambda")

    def hinge(w):
        return np.maximum(1 - a.y * (a.X @ w), 0)

    def loss(w):
        return 0.5 * hinge(w) @ hinge(w) + 0.5 * penalty * w @ w

    def downhill(w):
        return a.X.T @ (a.y * hinge(w)) - penalty * w

    w = np.zeros(a.d)
    g = downhill(w)
    s, steps = g, 0
    for steps in range(1, a.max_steps + 1):
        length = 0.0
        for _ in range(50):
            at = w + length * s
            slope = -s @ downhill(at)
            active = a.X[hinge(at) > 0] @ s
            curvature = active @ active + penalty * s @ s
            length -= slope / curvature
            if slope ** 2 / curvature <= 1e-10:
                break
        w = w + length * s
        if length * (s @ g) < a.tolerance * loss(w):
            break
        h = downhill(w)
        s, g = h + (h @ h) / (g @ g) * s, h
    return {"w": w, "loss": loss(w), "steps": steps}
