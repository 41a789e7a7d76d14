"""Where messages begin and end: the chain from the beginning of the file to its end.

After a message follows the next one, or anything: padding, a bulletin's heading, rubbish. Then the next place is
searched at which a message begins that is whole: its length fits into the file and it ends with ``7777``. What looks
like a message and is not whole (cut off, or its length is damaged) is reported, and the search goes on behind its
first bytes, so that a bad length costs one message and not all that follow.
"""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

from byteatlas.errors import CorruptFile, FileFault, Unsupported
from byteatlas.scanning.contract import Parse
from byteatlas.scanning.reasons import Reason
from byteatlas.values import dataclass, field
from byteatlas_scanners.grib.messages.indicator import END, MAGIC, NEEDED, Indicator, indicator, large_length
from byteatlas_scanners.grib.messages.window import Window

SEARCHED = 1 << 20
"""Bytes that are searched at a time."""
HEAD = 1024
"""Bytes of a message that are kept for reading its sections; mostly they hold all of them but the data."""
MOST_DAMAGED = 1000
"""Damaged messages of one file that are reported; then the search is given up."""
MOST_SECTION = 1 << 26


class FoundMessage(NamedTuple):
    """One message that is whole.

    Attributes:
        head: its first bytes, some hundred mostly.
    """

    offset: int
    length: int
    edition: int
    discipline: int
    head: bytes

    @property
    def end(self) -> int:
        return self.offset + self.length


class Damaged(NamedTuple):
    """What looks like a message and is not whole."""

    offset: int
    error: FileFault


@dataclass(slots=True)
class MessageChain:
    """What a chain holds. ``skipped`` are bytes between messages, padding included."""

    messages: list[FoundMessage] = field(default_factory=list)
    damaged: list[Damaged] = field(default_factory=list)
    skipped: int = 0


Known: TypeAlias = dict[int, FoundMessage | Damaged | None]
"""What `next_message` gives for places."""


def walk(found: MessageChain, window: Window, begin: int, stop: int, known: Known) -> Parse[int]:
    """Add the messages that begin in ``[begin, stop)``; the place behind the last of them, or the file's end.

    Args:
        known: looked into before the file is asked, and completed.
    """
    at = begin
    while at < stop:
        if at not in known:
            known[at] = yield from next_message(window, at)
        step = known[at]
        match step:
            case FoundMessage():
                known[step.offset] = step  # also where it was met from the middle of something else
                found.messages.append(step)
                found.skipped += step.offset - at
                window.count(step.length)
                at = step.end
            case Damaged():
                found.damaged.append(step)
                if len(found.damaged) >= MOST_DAMAGED:
                    why = f"more than {MOST_DAMAGED} damaged messages; nothing behind this one was looked at"
                    found.damaged[-1] = Damaged(step.offset, Unsupported(Reason.TOO_LARGE, why))
                    return window.size
                at = step.offset + len(MAGIC)
            case None:
                found.skipped += window.size - at
                return window.size
    return at


def next_message(window: Window, at: int, stop: int | None = None) -> Parse[FoundMessage | Damaged | None]:
    """The first message, whole or damaged, that begins at a place or behind it; None when there is none.

    Args:
        stop: nothing that begins here or behind is looked at. None: the file's end.
    """
    stop = window.size if stop is None else stop
    while at < stop:
        data = yield from window.at(at, HEAD)
        here = indicator(data)
        if here is not None:
            return (yield from _whole(window, at, here, bytes(data[:HEAD])))
        if bytes(data[:4]) == MAGIC and len(data) < NEEDED:
            return Damaged(at, CorruptFile(at, "the file ends in the head of a message"))
        at = yield from _search(window, at + 1, stop)
    return None


def _search(window: Window, at: int, stop: int) -> Parse[int]:
    """The next place before ``stop`` with the four letters; the file's end when there is none."""
    while at < stop:
        data = yield from window.at(at, min(SEARCHED, window.size - at))
        place = bytes(data).find(MAGIC)
        if place >= 0:
            return at + place
        at += max(1, len(data) - len(MAGIC) + 1)
    return window.size


def _whole(window: Window, at: int, here: Indicator, head: bytes) -> Parse[FoundMessage | Damaged]:
    """The message at a place, after a look at its end: the next message is there too, so this costs no request."""
    try:
        length = (yield from _large(window, at, here)) if here.large else here.length
        end = at + length
        if end > window.size:
            raise CorruptFile(at, f"a message of {length} bytes is cut off: the file has {window.size - at} of them")
        if length < NEEDED + len(END):
            raise CorruptFile(at, f"a message of {length} bytes")
        if length <= len(head):
            last = head[length - len(END) : length]
        else:
            last = bytes((yield from window.at(end - len(END), len(END) + HEAD))[: len(END)])
        if last != END:
            raise CorruptFile(
                at, f"a message of {length} bytes does not end with 7777: its length is wrong, or its data"
            )
    except FileFault as error:
        return Damaged(at, error)
    return FoundMessage(at, length, here.edition, here.discipline, head[:length])


def _large(window: Window, at: int, here: Indicator) -> Parse[int]:
    """Bytes of a large message of edition 1: its sections are followed up to the length of the data section."""
    place = at + 8
    product = yield from window.at(place, 8)
    flags = product[7]
    place += int.from_bytes(product[:3], "big")
    for present in (0x80, 0x40):  # the grid, the bitmap
        if flags & present:
            place += int.from_bytes((yield from _three(window, place)), "big")
    return large_length(here.length, int.from_bytes((yield from _three(window, place)), "big"))


def _three(window: Window, place: int) -> Parse[bytes]:
    """The length of a section of edition 1. Raises `CorruptFile` beyond the end of the file."""
    if place + 3 > window.size:
        raise CorruptFile(place, "a section begins beyond the end of the file")
    return bytes((yield from window.at(place, 3))[:3])
