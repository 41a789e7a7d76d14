"""Windows over the text of a JSON map, and the JSON values and quotes in them."""

from __future__ import annotations

import json

import numpy as np
from numpy.typing import NDArray

from byteatlas.errors import InvalidMetadata
from byteatlas.io.source import Source
from byteatlas.types import JSON, ByteRange

WINDOW = 4 << 20
QUOTE, BACKSLASH, COLON, COMMA, SPACE, OPEN, CLOSE = (ord(c) for c in '"\\:, []')
WHITE = b" \t\r\n"
DECODER = json.JSONDecoder(strict=False)


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
            self._quotes = unescaped_quotes(self.view)
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
            left = piece.lstrip(WHITE)
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
                _, end = DECODER.raw_decode(piece.decode("latin-1"))
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


def unescaped_quotes(view: NDArray[np.uint8]) -> NDArray[np.int64]:
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
