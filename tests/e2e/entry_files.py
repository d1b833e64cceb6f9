"""Writes arrays as files of entries, unordered and with duplicates; readers must reproduce the array."""
import csv
import zlib

import numpy as np


def entries_of(array):
    """Shuffled (coordinates, value); every third integer or bool is split into two entries that combine to it."""
    rng = np.random.default_rng(zlib.crc32(array.tobytes()))
    entries = []
    for at in zip(*np.nonzero(array)):
        value = array[at].item()
        if array.dtype.kind != "f" and rng.integers(3) == 0:
            entries.append((at, value if array.dtype.kind == "b" else value - 1))
            value = 1
        entries.append((at, value))
    rng.shuffle(entries)
    return entries


def write_mtx(path, array):
    field = {"b": "pattern", "i": "integer", "f": "real"}[array.dtype.kind]
    entries = entries_of(array)
    with open(path, "w") as file:
        file.write(f"%%MatrixMarket matrix coordinate {field} general\n% in no order\n")
        file.write(" ".join(map(str, (*array.shape, len(entries)))) + "\n")
        for at, value in entries:
            words = [str(x + 1) for x in at] + ([] if field == "pattern" else [repr(value)])
            file.write(" ".join(words) + "\n")


def write_tns(path, array):
    with open(path, "w") as file:
        file.write("# tdsl shape " + " ".join(map(str, array.shape)) + "\n")
        for at, value in entries_of(array):
            file.write(" ".join([str(x + 1) for x in at] + [repr(value) if array.dtype.kind != "b" else "1"]) + "\n")


def write_csv(path, array):
    """A vector as one column among others, whose name is returned; a matrix as a table of numbers."""
    with open(path, "w", newline="") as file:
        if array.ndim == 2:
            file.writelines(",".join(map(repr, row)) + "\n" for row in array.tolist())
            return None
        rows = csv.writer(file)
        rows.writerow(["row", 'the "value", at last', "remark"])
        rows.writerows((k, value, "a, b" if k % 3 == 0 else "") for k, value in enumerate(array.tolist()))
    return f'{path.name}:the "value", at last'


WRITERS = {"npy": np.save, "mtx": write_mtx, "tns": write_tns, "csv": write_csv}
