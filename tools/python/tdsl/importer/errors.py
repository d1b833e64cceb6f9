"""What goes wrong in a translation."""
from ..errors import TranslationError

__all__ = ["Place", "Restart", "Skip", "TranslationError", "UsageError"]


class Place(Exception):
    """A place of the script that is not translated: line from 1, column from 1, an id and a reason."""

    def __init__(self, node, id_, reason):
        super().__init__(reason)
        self.line = getattr(node, "lineno", 0)
        self.column = getattr(node, "col_offset", -1) + 1
        self.id = id_
        self.reason = reason

    def text(self, file):
        return f"{file}:{self.line}:{self.column}: error: {self.reason} [{self.id}]"

    def record(self, file):
        return {"file": file, "line": self.line, "column": self.column, "id": self.id, "message": self.reason}


class UsageError(Exception):
    """The command line, an example, or a script that cannot be loaded."""


class Restart(Exception):
    """Something was learnt that an earlier statement depends on: translate again."""


class Skip(Exception):
    """A statement that uses a name whose own statement is not translated."""
