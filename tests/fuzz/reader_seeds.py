"""reader_seeds.py FOLDER: small valid files of entries, each preceded by the byte that selects its format."""
import io
import sys
import zipfile
from pathlib import Path

import numpy as np


def npz(method, dtype):
    indices, pointers = np.array([0, 2, 1], np.int32), np.array([0, 2, 2, 3], np.int32)
    members = {"indices": indices, "indptr": pointers, "format": np.array(b"csr"), "shape": np.array([3, 4]), "data": np.array([1, 2, 3], dtype)}
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", method) as archive:
        for name, array in members.items():
            content = io.BytesIO()
            np.save(content, array)
            archive.writestr(name + ".npy", content.getvalue())
    return file.getvalue()


HEAD = b"%%MatrixMarket matrix "
SEEDS = {
    "general": b"\0" + HEAD + b"coordinate real general\n% note\n3 4 2\n1 2 0.5\n3 4 -1e3\n",
    "symmetric": b"\0" + HEAD + b"coordinate integer symmetric\r\n3 3 2\r\n1 1 5\r\n3 2 -7",
    "skew": b"\0" + HEAD + b"array real skew-symmetric\n3 3\n1\n2\n3\n",
    "pattern": b"\0" + HEAD + b"coordinate pattern general\n2 2 2\n1 2\n\n2 1\n",
    "tns": b"\1# note\n1 2 3 0.5\n4 5 6 7\n",
    "shaped": b"\1# tdsl shape 5 5 9\n1 2 3 0.5 # half\n4 5 6 7\n",
    "empty": b"\1# tdsl shape 3 0\n",
    "array": b"\0" + HEAD + b"array real general\n2 2\n-0.0\n1\n2\n-0\n",
    "table": b'\3\xef\xbb\xbfid,"a ""b""",c\r\n1, 2.5 ,true\r\n\r\n3,"4",\r\n',
    "numbers": b"\0031,2\n3,nan\n-4,1e3",
    "column": b"\3x\n1\n\n2\n",
    "stored": b"\2" + npz(zipfile.ZIP_STORED, np.float64),
    "deflated": b"\2" + npz(zipfile.ZIP_DEFLATED, np.int32),
}
for name, content in SEEDS.items():
    (Path(sys.argv[1]) / name).write_bytes(content)
