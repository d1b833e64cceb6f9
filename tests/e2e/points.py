"""The matrix of test points, and small covers of it."""
import itertools
import random
import zlib
from typing import NamedTuple, Optional

RANKS = (1, 2, 3, 4, 5, 7)
TILES = (None, "7", "1", "1000")  # 7 divides no extent, 1000 exceeds every extent
THREADS = (1, 2)
WINDOWS = ("none", "least")
DELAYS = (False, True)
SCHEDULES = ("auto", "pattern", "lshs", "eindecomp", "greedy")
TIME_TILES = (1, 2, 5, "auto")


class Point(NamedTuple):
    ranks: int
    tile: Optional[str]
    threads: int
    window: str
    delays: bool

    def __str__(self):
        return f"ranks={self.ranks} tile={self.tile or 'auto'} threads={self.threads} window={self.window}" + (
            " delays" if self.delays else "")


def all_points():
    return [Point(*values) for values in itertools.product(RANKS, TILES, THREADS, WINDOWS, DELAYS)]


def pairs_of(point):
    return set(itertools.combinations(enumerate(point), 2))


def pairwise(seed):
    """A pairwise cover: every two values of different dimensions occur together in some point, most useful points first. The seed
    varies it, so that programs differ in the triples covered."""
    rng = random.Random(seed)
    candidates = all_points()
    rng.shuffle(candidates)
    missing = set().union(*(pairs_of(p) for p in candidates))
    chosen = []
    while missing:
        best = max(candidates, key=lambda p: len(pairs_of(p) & missing))
        missing -= pairs_of(best)
        chosen.append(best)
    return chosen


# Points at which a program once failed; part of every cover.
KEPT = {"factorising_distributed": (Point(3, "7", 2, "none", False),), "gather_in_parts": (Point(3, "2", 1, "none", False),),
        "rank_eight": (Point(2, "1", 1, "none", False), Point(4, "1", 2, "none", False))}


def schedule_of(point, program, number, wanted=None):
    """Schedules alternate over points and programs, unless one is requested."""
    if point.ranks == 1:
        return "auto"
    return wanted or SCHEDULES[(zlib.crc32(program.encode()) + number) % len(SCHEDULES)]


def time_tile_of(program, number):
    """Heights of time tiles alternate, too; they change loops of stencils alone."""
    return TIME_TILES[(zlib.crc32(f"time tiles of {program}".encode()) + number) % len(TIME_TILES)]


def in_half(program):
    """Half of the programs, always the same ones."""
    return zlib.crc32(program.encode()) % 2 == 1


def choose(mode, program, variant_index, is_sample):
    """The points for one variant of a program. The first two variants are the main ones; the others have special sizes."""
    if mode == "long" and variant_index < 2:
        return all_points()
    cover = pairwise(f"{program} {variant_index}")
    main = min(variant_index, 2)
    if mode == "ci" and zlib.crc32(f"ranks of {program}".encode()) % 4:  # many ranks on few cores dominate the run time
        cover = [p for p in cover if p.ranks <= 3]
    counts = {
        "long": (24, 24, 24),
        "ci": (2, 0, 0) if is_sample else (1, 1, 0) if in_half(program) else (1, 0, 0),
        "quick": (2, 0, 0) if is_sample else (1, 0, 0),
        "sanitizer": (1, 0, 0) if is_sample else (1, 0, 0),
    }
    kept = list(KEPT.get(program, ())) if variant_index < 2 else []
    return kept + [p for p in cover[:counts[mode][main]] if p not in kept]
