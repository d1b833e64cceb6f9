"""Processes of a test as the system shows them: a tree below one of ours, who is left of it, which rank is which."""
import os
import time
from pathlib import Path
from typing import NamedTuple


class Process(NamedTuple):
    """A process is its number and the moment it started: numbers are used again."""
    pid: int
    started: str
    name: str

    def runs(self):
        """One that has ended but that nobody has asked for its exit code does not run."""
        now = look(self.pid)
        return now is not None and now[0].started == self.started and now[2] not in "ZX"

    def variable(self, name):
        """A variable of its environment, or None."""
        try:
            entries = Path(f"/proc/{self.pid}/environ").read_bytes().split(b"\0")
        except OSError:
            return None
        values = dict(e.split(b"=", 1) for e in entries if b"=" in e)
        value = values.get(name.encode())
        return None if value is None else value.decode()


def look(pid):
    """(process, parent, state), or None."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return None
    name, _, rest = text.partition("(")[2].rpartition(")")
    fields = rest.split()
    return Process(int(pid), fields[19], name), int(fields[1]), fields[0]


def below(pid):
    """All processes that descend from it now, itself excluded."""
    found = [entry for p in os.listdir("/proc") if p.isdigit() and (entry := look(p))]
    result, parents = [], {pid}
    while True:
        fresh = [process for process, parent, _ in found if parent in parents and process not in result]
        if not fresh:
            return result
        result += fresh
        parents = {process.pid for process in fresh}


def wait_until(condition, limit):
    """What the condition gives once it is true, or its last value when the limit is over."""
    end = time.monotonic() + limit
    while not (value := condition()) and time.monotonic() < end:
        time.sleep(0.02)
    return value
