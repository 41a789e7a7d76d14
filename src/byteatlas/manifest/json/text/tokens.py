"""The entries of a reference map's JSON object, found with NumPy: a million of them without a Python object each.

The text is read in windows. In a window all unescaped quotes are found at once; in the regular case strings then
alternate between a key and a value (a URL in a list, or text), which is *checked* for every entry. An entry that does
not fit (an object, ``[null, ...]``, unusual white space) is parsed by `json` alone, and the scan goes on behind it. So
the outcome is exact for every JSON text; only its speed depends on the regularity.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from byteatlas.manifest.json.text.reader import CLOSE, COLON, COMMA, OPEN, QUOTE, SPACE, WINDOW, Reader, unescape
from byteatlas.types import JSON
from byteatlas.values import dataclass


@dataclass(frozen=True, slots=True)
class Entries:
    """Entries of one kind in a window, as columns of positions into ``data``.

    Attributes:
        base: where ``data`` begins in the whole text.
        key, key_end: the raw (still escaped) key, without its quotes.
        value, value_end: the raw URL or text, without its quotes.
        tail, tail_end: for lists, what stands between the URL's quote and the closing bracket.
    """

    data: bytes
    base: int
    view: NDArray[np.uint8]
    key: NDArray[np.int64]
    key_end: NDArray[np.int64]
    value: NDArray[np.int64]
    value_end: NDArray[np.int64]
    tail: NDArray[np.int64]
    tail_end: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.key)


class EntrySink(Protocol):
    """What is done with the entries."""

    def lists(self, entries: Entries) -> None:
        """``"key":["url"...]`` entries."""
        ...

    def text(self, key: str, raw: bytes) -> None:
        """A ``"key":"..."`` entry, the value still escaped."""
        ...

    def other(self, key: str, value: JSON, begin: int, end: int) -> None:
        """An entry that was parsed by itself; its value lies at ``begin`` to ``end`` of the whole text."""
        ...


class EntriesSink(EntrySink, Protocol):
    """What also takes entries that were parsed."""

    def parsed(self, entries: Mapping[str, JSON]) -> None:
        """All entries of a map."""
        ...


class Irregular(Exception):
    """The text is too irregular for the fast scan; parse it as a whole."""


def scan_object(reader: Reader, at: int, sink: EntrySink, *, patience: int = 64) -> int:
    """Feed all entries of the object whose brace opens at ``at`` to the sink; the position behind its end.

    Raises `Irregular` when more than ``patience`` entries, and a quarter of all, had to be parsed singly *with* odd
    white space, `InvalidMetadata` when the text is not JSON.
    """
    if reader.byte(at) != ord("{"):
        raise reader.fail(at, "an object was expected")
    at = reader.skip(at + 1)
    if reader.byte(at) == ord("}"):
        return at + 1
    fast = slow = 0
    while True:
        if not reader.base <= at < reader.base + len(reader.data) - (WINDOW >> 3) and not (
            reader.at_end and reader.base <= at
        ):
            reader.move(at)
        at, count = _window(reader, at, sink)
        fast += count
        at, done = _single(reader, at, sink)
        slow += 1
        if done:
            return at
        if slow > patience and slow * 3 > fast:
            raise Irregular


def _single(reader: Reader, at: int, sink: EntrySink) -> tuple[int, bool]:
    """One entry by itself; where the next begins, and whether the object ended here."""
    at = reader.skip(at)
    if reader.byte(at) != QUOTE:
        raise reader.fail(at, "a key was expected")
    key, end = reader.value(at)
    colon = reader.skip(end)
    if reader.byte(colon) != COLON:
        raise reader.fail(colon, "':' was expected")
    begin = reader.skip(colon + 1)
    value, end = reader.value(begin)
    sink.other(key, value, begin, end)
    stop = reader.skip(end)
    mark = reader.byte(stop)
    if mark == ord("}"):
        return stop + 1, True
    if mark != COMMA:
        raise reader.fail(stop, "',' or '}' was expected")
    return reader.skip(stop + 1), False


def _window(reader: Reader, at: int, sink: EntrySink) -> tuple[int, int]:
    """Feed the regular entries of the window from ``at`` on; where the first other one begins, and how many."""
    first = at - reader.base
    quotes = reader.quotes
    quotes = quotes[int(np.searchsorted(quotes, first)) :]
    if not len(quotes) or quotes[0] != first:
        return at, 0
    done, total, step = 0, 0, 512
    while True:
        part = quotes[done : done + 4 * step + 1]
        pairs = (len(part) - 1) // 4
        if pairs <= 0:
            break
        good = _check(reader, part, pairs, sink)
        done += 4 * good
        total += good
        if good < pairs:
            break
        step = min(step * 4, 1 << 15)
    return reader.base + int(quotes[done]), total


def _check(reader: Reader, quotes: NDArray[np.int64], pairs: int, sink: EntrySink) -> int:
    """Feed the entries up to the first that is not regular; how many were."""
    view = reader.view
    grid = quotes[: 4 * pairs].reshape(pairs, 4)
    _, key_end, value, value_end = (grid[:, i] for i in range(4))
    following = quotes[4 : 4 * pairs + 1 : 4]
    # Three more quotes follow a key's end, so none of these places lies behind the window.
    begin = key_end + 2
    if spaced := view[begin[0]] == SPACE:
        begin = begin + 1
    opening = view[begin]
    is_list = opening == OPEN
    good = (view[key_end + 1] == COLON) & (begin + is_list == value)
    if spaced:
        good &= view[begin - 1] == SPACE
    good &= is_list | (opening == QUOTE)
    end = following - 1
    if view[end[0]] == SPACE:
        good &= view[end] == SPACE
        end = end - 1
    good &= view[end] == COMMA
    if is_list.all():
        end = end - 1
        good &= view[end] == CLOSE
    else:
        end = end - is_list
        good &= np.where(is_list, view[end] == CLOSE, end == value_end + 1)
    count = pairs if good.all() else int(np.argmin(good))
    if count:
        _feed(reader, grid[:count], end[:count], is_list[:count], sink)
    return count


def _feed(
    reader: Reader, grid: NDArray[np.int64], end: NDArray[np.int64], is_list: NDArray[np.bool_], sink: EntrySink
) -> None:
    data, view = reader.data, reader.view
    chosen = grid if is_list.all() else grid[is_list]
    if len(chosen):
        stop = end if len(chosen) == len(grid) else end[is_list]
        sink.lists(
            Entries(
                data,
                reader.base,
                view,
                chosen[:, 0] + 1,
                chosen[:, 1],
                chosen[:, 2] + 1,
                chosen[:, 3],
                chosen[:, 3] + 1,
                stop,
            )
        )
    if len(chosen) < len(grid):
        for a, b, c, d in grid[~is_list].tolist():
            sink.text(unescape(data[a + 1 : b], reader.where), data[c + 1 : d])
