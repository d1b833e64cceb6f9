"""The split-step method with NumPy's transforms."""
import numpy as np


def twin(a):
    n, m = a.start.shape
    kx, ky = (2 * np.pi * np.fft.fftfreq(k, d=0.5) for k in (n, m))
    free = np.exp(-0.5j * a.dt * (kx[:, None] ** 2 + ky ** 2))
    half = np.exp(-0.5j * a.dt * a.potential)
    psi = a.start
    for _ in range(int(a.steps)):
        psi = half * np.fft.ifft2(free * np.fft.fft2(half * psi))
    return {"psi": psi, "density": np.abs(psi) ** 2, "kept": np.linalg.norm(psi) / np.linalg.norm(a.start)}
