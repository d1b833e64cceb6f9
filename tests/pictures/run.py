#!/usr/bin/python3
"""--picture and `tdslc plot`: the same bytes on 1, 3 and 7 ranks, pixels as NumPy computes them, text summaries, messages. PASS pictures/NAME or FAIL pictures/NAME."""
import argparse
import json
import os
import pty
import re
import struct
import subprocess
import sys
import tempfile
import zlib
from pathlib import Path

sys.dont_write_bytecode = True
ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "e2e"))

import launch
import numpy as np

PROGRAM = """// Outputs of every kind of picture.
input A: f64[n, m];
param steps: i64 = 3;
var u = A;
for t in 0..steps {
  u[1:n-1, :] = 0.5 * u[1:n-1, :] + 0.25 * (A[0:n-2, :] + A[2:n, :]);
}
let S = sprandom(n, m, 0.01);
let kinds[i, j] = i32(mod(i * j, 7)) + i32(u[i, j] > 1e9);
let scales = iota(3);
let cube[i, j, k] = u[i, j] * f64(scales[k] + 1);
output line = sum(u, axis=1) / f64(m);
output small = u[0:5, 0:4];
output field = u;
output flags = u > 0.5;
output kinds;
output cube;
output entries = S;
"""
NAMES = ["line", "small", "field", "flags", "kinds", "cube[:, :, -1]", "cube[7, :, 0]", "entries"]
VIRIDIS = [0x440154, 0x482475, 0x414487, 0x355F8D, 0x2A788E, 0x21918C, 0x22A884, 0x44BF70, 0x7AD151, 0xBDDF26, 0xFDE725]
DIVERGING = [0x053061, 0x2166AC, 0x4393C3, 0x92C5DE, 0xD1E5F0, 0xF7F7F7, 0xFDDBC7, 0xF4A582, 0xD6604D, 0xB2182B, 0x67001F]


class Failed(Exception):
    pass


def require(condition, text):
    if not condition:
        raise Failed(text)


def read_png(path):
    """The pixels and the description of a PNG file without filters."""
    data, at, chunks = path.read_bytes(), 8, {}
    require(data[:8] == b"\x89PNG\r\n\x1a\n", f"{path} is not a PNG file")
    while at < len(data):
        size, kind = struct.unpack(">I4s", data[at:at + 8])
        body = data[at + 8:at + 8 + size]
        require(struct.unpack(">I", data[at + 8 + size:at + 12 + size])[0] == zlib.crc32(kind + body), f"{path}: checksum of {kind}")
        chunks[kind] = body
        at += 12 + size
    width, height = struct.unpack(">II", chunks[b"IHDR"][:8])
    rows = np.frombuffer(zlib.decompress(chunks[b"IDAT"]), np.uint8).reshape(height, 3 * width + 1)
    require(not rows[:, 0].any(), f"{path} has filters")
    return rows[:, 1:].reshape(height, width, 3), chunks[b"tEXt"].split(b"\0")[1].decode()


def colours(levels, stops):
    """As runtime/picture/colours.cpp."""
    stops = np.array([[s >> 16, s >> 8 & 255, s & 255] for s in stops])
    at = np.clip(levels, 0, 1) * (len(stops) - 1)
    first = np.minimum(at.astype(int), len(stops) - 2)
    part = np.floor((at - first) * 256 + 0.5).astype(int)[..., None]
    return (stops[first] * (256 - part) + stops[first + 1] * part + 128) // 256


def heat_map(array, edge=512):
    """The largest magnitudes per pixel, in colours; nan and infinities magenta. Magnitudes have 21 bits."""
    rows, columns = (min(extent, edge) for extent in array.shape)
    lines = np.arange(array.shape[0]) * rows // array.shape[0]
    ranks = np.arange(array.shape[1]) * columns // array.shape[1]
    bits = (array + 0.0).view(np.uint64) >> np.uint64(32)
    keys = ((bits << np.uint64(1)) & np.uint64(0xFFFFFFFF)) | (np.uint64(1) - (bits >> np.uint64(31)))
    best = np.zeros((rows, columns), np.uint64)
    np.maximum.at(best, (lines[:, None], ranks[None, :]), keys)
    values = ((best >> np.uint64(1) | (np.uint64(1) - (best & np.uint64(1))) << np.uint64(31)) << np.uint64(32)).view(np.float64)
    finite = array[np.isfinite(array)]
    low, high = finite.min(), finite.max()
    stops = VIRIDIS
    if low < 0 < high:
        high = max(-low, high)
        low, stops = -high, DIVERGING
    good = np.where(np.isfinite(values), values, low)
    pixels = colours((good / 2 - low / 2) / (high / 2 - low / 2), stops)
    pixels[~np.isfinite(values)] = (255, 0, 255)
    return pixels


def shrunk(pixels, shape):
    """Without the enlargement of small images."""
    down, across = pixels.shape[0] // shape[0], pixels.shape[1] // shape[1]
    require((np.repeat(np.repeat(pixels[::down, ::across], down, 0), across, 1) == pixels).all(), "pixels of an enlarged image differ")
    return pixels[::down, ::across]


class Pictures:
    """The tests `test_NAME`, in source order."""

    def __init__(self, options, work):
        self.options, self.work, self.tdslc = options, Path(work), options.tdslc
        random = np.random.default_rng(1)
        self.array = random.normal(size=(60, 700)) * np.linspace(0, 1, 700)
        self.array[30, 100], self.array[31, 400] = np.nan, np.inf
        np.save(self.work / "A.npy", self.array)
        (self.work / "kinds.tdsl").write_text(PROGRAM)
        result = launch.run([self.tdslc, "build", self.work / "kinds.tdsl", "-o", self.work / "kinds"], options.limit)
        if result.code != 0:
            raise Failed(f"build: {result}")

    def run_program(self, ranks, folder, *arguments):
        (self.work / folder).mkdir(exist_ok=True)
        start = launch.mpi_command(ranks) if ranks > 1 else []
        return launch.run([*start, self.work / "kinds", "--A", self.work / "A.npy", "--threads", "1", *map(str, arguments)], self.options.limit,
                          cwd=self.work / folder, env={"TDSL_OVERSUBSCRIBED": "1"})

    def pictures(self, ranks):
        """Files and statistics of a run; the pictures of other numbers of ranks come from other tiles."""
        folder, options = f"ranks{ranks}", []
        for number, name in enumerate(NAMES):
            for suffix in ("png", "svg"):
                options += ["--picture", f"{name}=p{number}.{suffix}"]
            options += ["--picture", name]
        tile = [] if ranks == 1 else ["--tile", str(3 * ranks)]
        result = self.run_program(ranks, folder, *options, *tile, "--stats", "s.json", "--field", "field.npy", "--cube", "cube.npy", "--line", "line.npy")
        require(result.code == 0, str(result))
        return result, {path.name: path.read_bytes() for path in sorted((self.work / folder).glob("p*"))}, json.loads((self.work / folder / "s.json").read_text())

    def test_ranks_give_the_same_bytes(self):
        one, files, stats = self.pictures(1)
        require(len(files) == 2 * len(NAMES) and len(stats["pictures"]) == len(NAMES), f"pictures: {sorted(files)}, {len(stats['pictures'])}")
        for ranks in (3, 7):
            result, theirs, their_stats = self.pictures(ranks)
            differing = [name for name in files if files[name] != theirs.get(name)]
            require(not differing, f"on {ranks} ranks these differ: {differing}")
            require(stats["pictures"] == their_stats["pictures"], f"on {ranks} ranks the statistics have other pictures")
            require(sorted(result.err.splitlines()) == sorted(one.err.splitlines()), f"captions: {result.err} and {one.err}")
            require(all(rank["blocks_at_exit"] == 0 for rank in their_stats["per_rank"]), "blocks are left")
        for picture in stats["pictures"]:
            require(picture["svg"].startswith("<svg") and picture["caption"].split("; ")[0] in picture["svg"], f"picture: {picture['caption']}")
            labels = re.findall(r'text-anchor="end">([^<]*)<', picture["svg"])
            require(labels and all(len(label) <= 10 for label in labels), f"labels of axes: {labels}")
        return f"{len(files)} files of {sum(map(len, files.values()))} bytes"

    def test_pixels_are_those_of_numpy(self):
        folder = self.work / "ranks1"
        if not (folder / "field.npy").exists():
            self.pictures(1)
        field, cube = np.load(folder / "field.npy"), np.load(folder / "cube.npy")
        for number, array in ((1, field[:5, :4]), (2, field), (5, np.ascontiguousarray(cube[:, :, -1]))):
            wanted = heat_map(np.ascontiguousarray(array))
            pixels, text = read_png(folder / f"p{number}.png")
            pixels = shrunk(pixels, wanted.shape)
            require((pixels == wanted).all(), f"picture of {NAMES[number]}: {(pixels != wanted).any(-1).sum()} pixels differ")
            finite = array[np.isfinite(array)]
            require(f"{finite.min()} to {finite.max()}" in text, f"caption: {text}")
        _, text = read_png(folder / "p2.png")
        require(f"{np.isnan(field).sum()} nan; {np.isinf(field).sum()} infinite; a pixel shows the largest magnitude of up to 1 x 2 elements" in text, f"caption: {text}")
        return "3 pictures"

    # The same pixel code draws outputs and files.
    def test_plot_draws_files(self):
        folder = self.work / "ranks1"
        if not (folder / "field.npy").exists():
            self.pictures(1)
        for number, words in ((2, ["field.npy"]), (5, ["cube.npy", "[:, :, -1]"]), (6, ["cube.npy", "7, :, 0"]), (0, ["line.npy"])):
            result = launch.run([self.tdslc, "plot", *words, "-o", "plot.png"], self.options.limit, cwd=folder)
            require(result.code == 0 and len(result.out.splitlines()) == 1, str(result))
            pixels, text = read_png(folder / "plot.png")
            wanted, caption = read_png(folder / f"p{number}.png")
            require((pixels == wanted).all(), f"{words}: other pixels than --picture")
            require(text == result.out.strip() and text.split(": ", 1)[1] == caption.split(": ", 1)[1], f"{text} and {caption}")
        same = launch.run([self.tdslc, "plot", "field.npy", "--against", "field.npy"], self.options.limit, cwd=folder)
        require(same.code == 0 and same.out.strip().endswith("; equal"), str(same))
        other = np.load(folder / "field.npy")
        other[17, 333] += 2.0
        np.save(folder / "other.npy", other)
        differs = launch.run([self.tdslc, "plot", "other.npy", "--against", "field.npy", "--log", "-o", "d.svg"], self.options.limit, cwd=folder)
        require(differs.code == 0 and "largest difference 2.0 at [17, 333]" in differs.out, str(differs))
        (folder / "m.mtx").write_text("%%MatrixMarket matrix coordinate real general\n100 100 2\n1 1 2.5\n100 100 -1\n")
        entries = launch.run([self.tdslc, "plot", "m.mtx"], self.options.limit, cwd=folder)
        require(entries.code == 0 and "2 of 10000 elements stored; -1.0 to 2.5" in entries.out, str(entries))

    def drawn_on_terminal(self, *words, **environment):
        master, slave = pty.openpty()
        process = subprocess.Popen([self.tdslc, "plot", *words], stdout=slave, stderr=slave, cwd=self.work, env={**os.environ, **environment})
        os.close(slave)
        text = b""
        try:
            while part := os.read(master, 65536):
                text += part
        except OSError:  # the other end is closed
            pass
        os.close(master)
        require(process.wait() == 0, text.decode(errors="replace"))
        return text.decode().replace("\r\n", "\n").splitlines()

    def test_terminals_show_characters(self):
        blocks = self.drawn_on_terminal("A.npy", LC_ALL="C.UTF-8")
        require(len(blocks) == 31 and all(line.count("\u2580") == 80 for line in blocks[:-1]), f"{len(blocks)} lines")
        plain = self.drawn_on_terminal("A.npy", LC_ALL="C")
        require(len(plain) == 31 and all(len(line) == 80 and line.isascii() for line in plain[:-1]) and plain[-1].startswith("A.npy: f64[60, 700]"), "\n".join(plain))

    def test_messages(self):
        for option, words in ((["--picture", "fild=u.png"], "kinds has no output `fild`; did you mean `field`?"),
                              (["--picture", "cube=u.png"], "`cube` has 3 dimensions; show two of them, for example cube[:, :, 0]"),
                              (["--picture", "field=u.gif"], "`u.gif` is not a .png or .svg file"),
                              (["--picture", "field"], "--picture field needs a file, field=field.png, or --stats FILE"),
                              (["--picture", "field=a.png", "--picture", "small=a.png"], "would both be written to `a.png`"),
                              (["--picture", f"field={self.work / 'none' / 'u.png'}"], "none/u.png"),
                              (["--progress=yaml"], "--progress: `yaml` is not json")):
            result = self.run_program(1, "messages", *option)
            require(result.code in (1, 2) and words in result.err and len(result.err.splitlines()) == 1 and result.out == "", f"{option}: {result}")
        outside = self.run_program(1, "messages", "--picture", "cube[:, :, 3]=u.png")
        require(outside.code == 2 and re.match(r"kinds.tdsl:17: .*subscript 3 is outside of dimension 2, which has 3 elements", outside.err), str(outside))
        dry = self.run_program(1, "messages", "--picture", "field=dry.png", "--dry-run")
        require(dry.code == 0 and not (self.work / "messages" / "dry.png").exists(), str(dry))
        for words, said in ((["none.npy"], "none.npy"), (["A.npy", "[:, x]"], "is not a slice"), (["A.npy", "1, 2"], "shows 0"), (["A.npy", "-o", "A.npy"], "A.npy")):
            result = launch.run([self.tdslc, "plot", *words], self.options.limit, cwd=self.work)
            require(result.code == 2 and said in result.err, f"plot {words}: {result}")

    # Lines come once a second: a short run may have none.
    def test_progress_as_json(self):
        result = self.run_program(1, "progress", "--progress=json", "--steps", "2000", "--set", "n=60")
        require(result.code == 0, str(result))
        for line in result.err.splitlines():
            state = json.loads(line)
            require(state["program"] == "kinds" and state.get("iterations", 2000) == 2000 and state["live_bytes"] >= 0, line)
        return f"{len(result.err.splitlines())} lines"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--tdslc", default=os.environ.get("TDSLC"))
    parser.add_argument("--filter", default="")
    parser.add_argument("--limit", type=float, default=120)
    options = parser.parse_args()
    names = [name for name in vars(Pictures) if name.startswith("test_") and options.filter in f"pictures/{name[5:]}"]
    failed = 0
    with tempfile.TemporaryDirectory(prefix="tdsl-pictures-") as work:
        pictures = Pictures(options, work) if names else None
        for name in names:
            try:
                text = getattr(pictures, name)()
                print(f"PASS pictures/{name[5:]}" + (f"  ({text})" if text else ""), flush=True)
            except (Failed, OSError, TimeoutError, subprocess.SubprocessError) as error:
                failed += 1
                print(f"FAIL pictures/{name[5:]}: {error}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
