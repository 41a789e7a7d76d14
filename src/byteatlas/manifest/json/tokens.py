"""The entries of a reference map's JSON object, found with NumPy: a million of them without a Python object each.

The text is read in windows. In a window all unescaped quotes are found at once; in the regular case strings then
alternate between a key and a value (a URL in a list, or text), which is *checked* for every entry. An entry that does
not fit (an object, ``[null, ...]``, unusual white space) is parsed by `json` alone, and the scan goes on behind it. So
the outcome is exact for every JSON text; only its speed depends on the regularity.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from byteatlas.errors import InvalidMetadata
from byteatlas.io.source import Source
from byteatlas.types import JSON, ByteRange

WINDOW = 4 << 20
QUOTE, BACKSLASH, COLON, COMMA, SPACE, OPEN, CLOSE = (ord(c) for c in '"\\:, []')
_WHITE = b" \t\r\n"
_DECODER = json.JSONDecoder(strict=False)


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


class Irregular(Exception):
    """The text is too irregular for the fast scan; parse it as a whole."""


def unescape(raw: bytes, where: str) -> str:
    """The text of a raw JSON string."""
    try:
        if b"\\" not in raw:
            return raw.decode()
        text = json.loads(b'"' + raw + b'"', strict=False)
        text.encode()
        return str(text)
    except (ValueError, UnicodeError) as error:
        raise InvalidMetadata(where, f"not a JSON string in UTF-8: {raw[:60]!r} ({error})") from error


class Reader:
    """Windows over a source: `data` begins at `base` of the text."""

    def __init__(self, source: Source, where: str) -> None:
        self.source, self.where, self.size = source, where, source.size()
        self.base, self.data = 0, b""
        self.view: NDArray[np.uint8] = np.empty(0, np.uint8)
        self._quotes: NDArray[np.int64] | None = None

    def move(self, begin: int, length: int | None = None) -> None:
        """Put the window at ``begin``."""
        length = min(WINDOW if length is None else length, self.size - begin)
        found = self.source.read([ByteRange(begin, length)])[0] if length > 0 else b""
        self.base, self.data = begin, bytes(found)
        self.view = np.frombuffer(self.data, np.uint8)
        self._quotes = None

    @property
    def quotes(self) -> NDArray[np.int64]:
        """Positions in the window of its unescaped quotes. (A window never begins inside a string.)"""
        if self._quotes is None:
            self._quotes = _quotes(self.view)
        return self._quotes

    @property
    def at_end(self) -> bool:
        return self.base + len(self.data) >= self.size

    def fail(self, at: int, why: str) -> InvalidMetadata:
        return InvalidMetadata(self.where, f"byte {at}: {why}")

    def skip(self, at: int) -> int:
        """The first position from ``at`` of the text that is not white space."""
        step = 64
        while True:
            if not self.base <= at < self.base + len(self.data):
                if at >= self.size:
                    return at
                self.move(at)
            piece = self.data[at - self.base : at - self.base + step]
            left = piece.lstrip(_WHITE)
            at += len(piece) - len(left)
            if left:
                return at
            step = min(step * 4, 1 << 20)

    def byte(self, at: int) -> int:
        """The byte at a position of the text, -1 behind its end."""
        if at >= self.size:
            return -1
        if not self.base <= at < self.base + len(self.data):
            self.move(at)
        return self.data[at - self.base]

    def value(self, at: int) -> tuple[JSON, int]:
        """The JSON value that begins at ``at``, and the position behind it."""
        length = 4096
        while True:
            if at < self.base or (at + length > self.base + len(self.data) and not self.at_end):
                self.move(at, max(length, WINDOW))
            piece = self.data[at - self.base : at - self.base + length]
            # Latin-1 keeps positions; the piece is decoded as UTF-8 once its end is known.
            try:
                _, end = _DECODER.raw_decode(piece.decode("latin-1"))
                complete = end < len(piece) or at + end >= self.size
                if complete:
                    return json.loads(piece[:end], strict=False), at + end
            except RecursionError as error:
                raise self.fail(at, "nested too deeply") from error
            except UnicodeDecodeError as error:
                raise self.fail(at + error.start, "not UTF-8") from error
            except ValueError as error:
                if at + length >= self.size:
                    raise self.fail(at, f"not JSON ({error})") from error
            length *= 4


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


def _quotes(view: NDArray[np.uint8]) -> NDArray[np.int64]:
    """Positions of the quotes that no backslash escapes."""
    found = np.flatnonzero(view == QUOTE)
    if not len(found):
        return found
    after = view[found - 1] == BACKSLASH
    if found[0] == 0:
        after[0] = False
    if not after.any():
        return found
    # A quote is escaped when the run of backslashes before it is odd.
    doubtful = found[after]
    run = np.ones(len(doubtful), np.int64)
    active = np.arange(len(doubtful))
    for _ in range(64):
        place = doubtful[active] - run[active] - 1
        active = active[(place >= 0) & (view[place] == BACKSLASH)]
        if not len(active):
            break
        run[active] += 1
    else:
        for i in active.tolist():
            piece = view[: doubtful[i]]
            others = np.flatnonzero(piece != BACKSLASH)
            run[i] = doubtful[i] - 1 - (others[-1] if len(others) else -1)
    keep = np.ones(len(found), np.bool_)
    keep[np.flatnonzero(after)[run % 2 == 1]] = False
    return found[keep]


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
