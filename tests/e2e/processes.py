"""Processes of a test from /proc: descendants, survivors, and ranks."""
import os
import time
from pathlib import Path
from typing import NamedTuple


class Process(NamedTuple):
    """A process id with its start time, since ids are reused."""
    pid: int
    started: str
    name: str

    def runs(self):
        """Zombies do not count as running."""
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
    """All current descendants of the process, excluding itself."""
    found = [entry for p in os.listdir("/proc") if p.isdigit() and (entry := look(p))]
    result, parents = [], {pid}
    while True:
        fresh = [process for process, parent, _ in found if parent in parents and process not in result]
        if not fresh:
            return result
        result += fresh
        parents = {process.pid for process in fresh}


def wait_until(condition, limit):
    """Polls a condition; returns its first true value, or its last value at the time limit."""
    end = time.monotonic() + limit
    while not (value := condition()) and time.monotonic() < end:
        time.sleep(0.02)
    return value
