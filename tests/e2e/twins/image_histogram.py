"""Histogram, equalization and threshold of an image in bytes."""
import numpy as np


def twin(a):
    image, pixels = a.image, a.image.size
    counts = np.bincount(image.ravel(), minlength=256)
    below, sums = np.cumsum(counts), np.cumsum(counts * np.arange(256))
    inside = (below > 0) & (below < pixels)
    between = np.zeros(256, np.int64)
    between[inside] = (sums[-1] * below // pixels - sums)[inside] ** 2 // (below * (pixels - below))[inside]
    threshold = np.argmax(between)
    return {"counts": counts, "equalized": (255 * below // pixels).astype(np.uint8)[image], "threshold": threshold, "mask": image > threshold,
            "planes": np.array([((image >> b) & 1).sum(dtype=np.int64) for b in range(8)])}
