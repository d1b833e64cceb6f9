"""Fourier transforms in loops, alternating with SciPy's (pocketfft) and, where its library is installed, with FFTW's measured plans."""
import ctypes
import ctypes.util
import json
import os
import pathlib
import time

import numpy as np

from everyday import alternate, rows_of
from harness import run, seconds_in_memory

HERE = pathlib.Path(__file__).resolve().parent
OURS, SCIPY, FFTW = "tdsl", "SciPy", "FFTW"
# Title: program, steps, shape.
CASES = {"2^20": ("line", 20, (2 ** 20,)), "10^6": ("line", 20, (10 ** 6,)), "999983": ("line", 6, (999983,)),
         "1000 x 1000": ("square", 20, (1000, 1000)), "128^3": ("cube", 10, (128, 128, 128))}


class Ours:
    """The loop from the end of reading to its last task, planning included."""

    def __init__(self, options, scratch, program, steps, file):
        executable, self.stats, self.answer = scratch / f"fourier_{program}", scratch / "fourier.json", scratch / "r.npy"
        run([options.tdslc, "build", str(HERE / "programs" / "fourier" / f"{program}.tdsl"), "-o", str(executable)])
        self.command = [str(executable), "--threads", str(options.threads), "--quiet", "--steps", str(steps), "--stats", str(self.stats),
                        "--A", str(file), "--r", str(self.answer)]

    def __call__(self):
        run(self.command)
        return seconds_in_memory(json.loads(self.stats.read_text())), np.load(self.answer)


def scipy_loop(options, array, steps):
    from scipy import fft

    def call():
        start, r = time.perf_counter(), array
        for _ in range(steps):
            r = fft.fftn(r, norm="ortho", workers=options.threads)
        return time.perf_counter() - start, r
    return call


def fftw_loop(array, steps):
    """A measured plan on one thread, between two arrays of its own; None without the library."""
    name = ctypes.util.find_library("fftw3")
    if name is None:
        return None
    library = ctypes.CDLL(name)
    library.fftw_plan_dft.restype = ctypes.c_void_p
    x, y = np.empty_like(array), np.empty_like(array)
    shape = (ctypes.c_int * array.ndim)(*array.shape)
    forward, measured = -1, 0
    at = [ctypes.c_void_p(a.ctypes.data) for a in (x, y)]
    plans = [ctypes.c_void_p(library.fftw_plan_dft(array.ndim, shape, at[k], at[1 - k], forward, measured)) for k in (0, 1)]

    def call():
        x[...] = array
        start = time.perf_counter()
        for step in range(steps):
            library.fftw_execute(plans[step % 2])
            if step % 4 == 3:  # before elements overflow
                (x, y)[(step + 1) % 2][...] *= array.size ** -2.0
        seconds = time.perf_counter() - start
        return seconds, (x, y)[steps % 2] * array.size ** (-0.5 * (steps % 4))
    return call


def against_peers(options, scratch, name):
    program, steps, shape = CASES[name]
    rng = np.random.default_rng(1)
    array = rng.standard_normal(shape) + 1j * rng.standard_normal(shape)
    file = scratch / "A.npy"
    np.save(file, array)

    def check(who, answer, expected):
        if not np.allclose(answer, expected, rtol=0, atol=1e-8 * np.abs(expected).max()):
            raise SystemExit(f"{name}: {who} computed something else")
    turn = {OURS: Ours(options, scratch, program, steps, file), SCIPY: scipy_loop(options, array, steps), FFTW: fftw_loop(array, steps)}
    samples = alternate({who: call for who, call in turn.items() if call is not None}, options.pairs, check)
    return rows_of(f"fft of {name}, {steps} steps, {options.threads} threads, load {os.getloadavg()[0]:.1f}", samples)


def fourier(options, scratch):
    return [against_peers(options, pathlib.Path(scratch), name) for name in CASES if any(part in name for part in options.only or [""])]
