"""The functions of std.signal by NumPy."""
import numpy as np


def dct_matrix(n):
    k, i = np.meshgrid(np.arange(n), np.arange(n), indexing="ij")
    matrix = np.cos(np.pi * k * (i + 0.5) / n) * np.sqrt(2 / n)
    matrix[0] /= np.sqrt(2)
    return matrix


def twin(t):
    x, w, X, W = t.x, t.w, t.X, t.W
    windows = np.lib.stride_tricks.sliding_window_view(X, W.shape)
    i = np.arange(len(x))
    angle = 2 * np.pi / len(x) * (np.outer(i, i) % len(x))
    re, im = np.cos(angle) @ x, -np.sin(angle) @ x
    assert np.allclose(re + 1j * im, np.fft.fft(x))
    full = np.fft.ifft2(np.fft.fft2(X, np.add(X.shape, W.shape) - 1) * np.fft.fft2(W, np.add(X.shape, W.shape) - 1)).real
    return {
        "o_correlate": np.correlate(x, w, "valid"), "o_convolve": np.convolve(x, w, "valid"), "o_full": np.convolve(x, w),
        "o_correlate2": np.einsum("ijab,ab->ij", windows, W), "o_convolve2": np.einsum("ijab,ab->ij", windows, W[::-1, ::-1]),
        "o_average": np.convolve(x, np.ones(4) / 4, "valid"), "o_auto": np.correlate(x, x, "full")[len(x) - 1:][:6],
        "o_hann": np.hanning(8), "o_hamming": np.hamming(8), "o_dct": dct_matrix(len(x)) @ x,
        "o_back": np.ones(len(x), bool), "o_dct2": dct_matrix(X.shape[0]) @ X @ dct_matrix(X.shape[1]).T,
        "o_fft": np.convolve(x, w), "o_fft_integers": np.convolve([1.0, 2, 3], [4.0, 5]),
        "o_fft_complex": np.convolve(x + 2j * x, 1j * w), "o_fft2": full,
        "o_circular": np.fft.ifft(np.fft.fft(x) * np.fft.fft(2 * x - 1)).real, "o_re": re, "o_im": im, "o_power": re * re + im * im,
    }
