"""Three-dimensional flow with NumPy's transforms."""
import numpy as np


def twin(s):
    n = s.u0.shape[0]
    k = np.array(np.meshgrid(*[n * np.fft.fftfreq(n)] * 3, indexing="ij"))
    k2 = np.sum(k ** 2, axis=0)
    inverse = np.where(k2 > 0, 1 / np.where(k2 > 0, k2, 1), 0)
    velocity = np.array([np.fft.fftn(x) for x in (s.u0, s.v0, s.w0)])
    back = lambda x: np.fft.ifftn(x, axes=(1, 2, 3)).real
    for _ in range(int(s.steps)):
        force = np.cross(back(velocity), back(1j * np.cross(k, velocity, axis=0)), axis=0)
        velocity = np.exp(-s.viscosity * s.dt * k2) * (velocity + s.dt * np.fft.fftn(force, axes=(1, 2, 3)))
        velocity = velocity - k * (np.sum(k * velocity, axis=0) * inverse)
    return {"final": back(velocity)[0], "divergence": np.max(np.abs(np.sum(k * velocity, axis=0))), "energy": 0.5 * np.sum(np.abs(velocity) ** 2) / n ** 6}
