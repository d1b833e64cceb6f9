"""Two-dimensional turbulence with NumPy's transforms."""
import numpy as np


def twin(a):
    n = a.vorticity.shape[0]
    k = n * np.fft.fftfreq(n)
    kx, ky = np.meshgrid(k, k, indexing="ij")
    k2 = kx ** 2 + ky ** 2
    inverse = np.where(k2 > 0, 1 / np.where(k2 > 0, k2, 1), 0)
    kept = np.where((3 * abs(kx) < n - 0.5) & (3 * abs(ky) < n - 0.5), 1.0, 0.0)

    def change(w):
        stream = w * inverse
        u, v = np.fft.ifft2(1j * ky * stream).real, np.fft.ifft2(-1j * kx * stream).real
        return -kept * np.fft.fft2(u * np.fft.ifft2(1j * kx * w).real + v * np.fft.ifft2(1j * ky * w).real)

    w = kept * np.fft.fft2(a.vorticity)
    for _ in range(int(a.steps)):
        middle = w + 0.5 * a.dt * (change(w) - a.viscosity * k2 * w)
        w = w + a.dt * (change(middle) - a.viscosity * k2 * middle)
    return {"final": np.fft.ifft2(w).real, "energy": 0.5 * np.sum(np.abs(w) ** 2 * inverse) / n ** 4}
