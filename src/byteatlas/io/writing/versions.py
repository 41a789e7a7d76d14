"""Which state of a file is meant, so that a write can be refused when somebody else wrote meanwhile.

Object storage compares and writes in one step: ``If-Match`` and ``If-None-Match`` with an ETag (RFC 9110 13.1; Amazon
S3 and Azure), or a generation (Google).
"""

from __future__ import annotations

from byteatlas.values import dataclass


@dataclass(frozen=True, slots=True)
class FileVersion:
    """The state of a file.

    Attributes:
        size: bytes; None where there is no file.
        stamp: its ETag or time, where the storage tells.
        number: the storage's own number for this state, where it has them.
    """

    size: int | None = None
    stamp: str | None = None
    number: str | None = None

    @property
    def is_new(self) -> bool:
        """Whether it says that there is no file."""
        return self.size is None


NEW = FileVersion()
"""There is no file yet."""


class Overtaken(Exception):
    """A file is no longer in the state that was meant. Callers look again, or say so."""
