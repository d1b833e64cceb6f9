"""Compares results with the evaluator's, within its error bounds."""
import re

import numpy as np

NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*(?:[eE][-+]?\d+)?|inf|nan)$")


def difference(name, got, want, bound, bits=False):
    """A message if `got` differs from `want` by more than `bound`, else None. Types, shapes, integers and bools must be equal."""
    got, want = np.asarray(got), np.asarray(want)
    if got.dtype != want.dtype:
        return f"{name}: type {got.dtype}, not {want.dtype}"
    if got.shape != want.shape:
        return f"{name}: shape {got.shape}, not {want.shape}"
    if want.dtype.kind not in "fc" or bits:
        wrong = got != want
        if want.dtype.kind in "fc":
            wrong &= ~(np.isnan(got) & np.isnan(want))
    elif want.dtype.kind == "c":
        # The bound is the radius of a disc. Which part of a result is inf and which nan is open.
        with np.errstate(invalid="ignore", over="ignore"):
            near = np.abs(got.astype(np.complex128) - want.astype(np.complex128)) <= bound
        wrong = ~(near | (got == want) | (~np.isfinite(got) & ~np.isfinite(want)) | np.isinf(bound))
    else:
        with np.errstate(invalid="ignore"):
            near = np.abs(got.astype(np.float64) - want.astype(np.float64)) <= bound
        wrong = ~(near | (got == want) | (np.isnan(got) & np.isnan(want)) | np.isinf(bound))
    if bound is not None and want.dtype.kind not in "fc":
        wrong &= ~np.isinf(bound)
    if not wrong.any():
        return None
    place = tuple(int(i) for i in np.argwhere(wrong)[0])
    allowed = "" if bound is None or want.dtype.kind not in "fc" else f" +- {bound[place] if bound.shape else float(bound):.3g}"
    return (f"{name}{list(place) if place else ''}: {got[place]!r}, not {want[place]!r}{allowed}"
            f" ({int(wrong.sum())} of {wrong.size} elements)")


def same_bits(first, second):
    return first.dtype == second.dtype and first.shape == second.shape and first.tobytes() == second.tobytes()


def difference_of_prints(got, want, scalars):
    """Printed lines must be equal, except that a float which is the value of a scalar output may differ by that
    output's bound. `scalars`: (value, bound) of those outputs."""
    got_lines, want_lines = got.splitlines(), want.splitlines()
    if len(got_lines) != len(want_lines):
        return f"printed {len(got_lines)} lines, not {len(want_lines)}: {got_lines[:3]} / {want_lines[:3]}"
    for g, w in zip(got_lines, want_lines):
        if g == w:
            continue
        g_words, w_words = g.split(" "), w.split(" ")
        if len(g_words) != len(w_words) or not all(same_word(a, b, scalars) for a, b in zip(g_words, w_words)):
            return f"printed {g!r}, not {w!r}"
    return None


def same_word(got, want, scalars):
    if got == want:
        return True
    if not (NUMBER.match(got) and NUMBER.match(want)):
        return False
    return any(float(want) == value and abs(float(got) - value) <= bound for value, bound in scalars)
