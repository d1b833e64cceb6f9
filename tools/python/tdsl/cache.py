"""Compiled programs on disk: a folder per program, named by a hash, in `$XDG_CACHE_HOME/tdsl/jit` (`~/.cache/tdsl/jit`)."""
import contextlib
import fcntl
import json
import os
import shutil
import tempfile
import time
import typing

LIMIT = 1 << 30  # bytes; the least recently used entries beyond it are removed
_ABANDONED = 86400  # seconds after which an unfinished entry is removed


def folder() -> str:
    """The folder of all entries."""
    return os.path.join(os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache"), "tdsl", "jit")


def clear() -> None:
    """Removes all entries. Libraries that are loaded remain usable."""
    shutil.rmtree(folder(), ignore_errors=True)


def entry(key: str, make: typing.Callable[[str], None]) -> str:
    """The folder of an entry. If there is none, `make` fills it: once, also if several processes ask for it at the same time."""
    path = os.path.join(folder(), key)
    if touched(path):
        return path
    os.makedirs(folder(), exist_ok=True)
    with _locked(path + ".lock"):
        if touched(path):
            return path
        work = tempfile.mkdtemp(prefix="making-", dir=folder())
        try:
            make(work)
            os.chmod(work, 0o755)
            if not touched(path):
                os.rename(work, path)
        finally:
            shutil.rmtree(work, ignore_errors=True)
    trim(path)
    return path


def touched(path: str) -> bool:
    """Marks an entry as used; false if there is none."""
    try:
        os.utime(path)
    except OSError:
        return False
    return True


def read(key: str) -> typing.Optional[typing.Dict[str, typing.Any]]:
    """The record of an entry made by `write`."""
    path = os.path.join(folder(), key)
    if not touched(path):
        return None
    try:
        with open(os.path.join(path, "record.json"), encoding="utf-8") as file:
            record: typing.Dict[str, typing.Any] = json.load(file)
            return record
    except (OSError, ValueError):
        return None


def write(key: str, record: typing.Dict[str, typing.Any]) -> None:
    """Replaces the record of an entry."""
    path = os.path.join(folder(), key)
    os.makedirs(path, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path)
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        json.dump(record, file)
    os.replace(name, os.path.join(path, "record.json"))


@contextlib.contextmanager
def _locked(path: str) -> typing.Iterator[None]:
    with open(path, "w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        try:
            yield
        finally:
            with contextlib.suppress(OSError):
                os.unlink(path)  # another process that waits for it finds the entry


def trim(keep: str) -> None:
    """Removes the least recently used entries until all are within LIMIT. `keep` stays."""
    found = []
    for item in os.scandir(folder()):
        with contextlib.suppress(OSError):
            if item.name.startswith("making-"):
                if time.time() - item.stat().st_mtime > _ABANDONED:
                    shutil.rmtree(item.path, ignore_errors=True)
            elif item.is_dir():
                size = sum(file.stat().st_size for file in os.scandir(item.path))
                found.append((item.stat().st_mtime, size, item.path))
    total = sum(size for _, size, _ in found)
    for _, size, path in sorted(found):
        if total <= LIMIT:
            return
        if path != keep:
            shutil.rmtree(path, ignore_errors=True)
            total -= size
