"""What a scan report says of an error: one rule for all scanners."""

from __future__ import annotations

from byteatlas.errors import (
    Absent,
    ByteatlasError,
    CorruptChunk,
    CorruptFile,
    Forbidden,
    InvalidMetadata,
    Unsupported,
)
from byteatlas.manifest.model import ReportItem
from byteatlas.scanning.reasons import Reason

INCOMPLETE = "incomplete"
"""The status of a group that is presented without some of its attributes."""


def refusal(path: str, error: ByteatlasError, locators: tuple[str, ...] = ()) -> ReportItem:
    """The report item of a dataset that is not presented because of an error."""
    return ReportItem(path, "refused", reason_of(error), detail_of(error), locators)


def reason_of(error: ByteatlasError) -> str:
    """The stable code of a refusal."""
    match error:
        case Unsupported(reason=reason):
            return str(reason)
        case CorruptFile() | CorruptChunk() | InvalidMetadata():
            return Reason.CORRUPT.value
        case Forbidden():
            return Reason.FORBIDDEN.value
        case Absent():
            return Reason.LINK.value
        case _:
            return Reason.LINK.value


def detail_of(error: ByteatlasError) -> str:
    """The sentence of a refusal. The scanned file itself is not named: the report is about it."""
    match error:
        case Unsupported(detail=detail):
            return str(detail)
        case CorruptFile(offset=offset, why=why, url=None):
            return f"byte {offset}: {why}"
        case _:
            return str(error)


def left_out(what: str, names: list[str]) -> str:
    """A detail that says what is missing from something that is presented.

    >>> left_out("attributes", ["units (byte 12: cut off)", "axis"])
    'attributes left out: units (byte 12: cut off), axis'
    """
    return f"{what} left out: {', '.join(names)}" if names else ""
