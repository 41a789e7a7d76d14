"""Headers: cards of 80 characters, in blocks of 2,880 bytes, as values by keyword (FITS 4.0, sections 4.1 and 4.2)."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping

from byteatlas.errors import CorruptFile
from byteatlas.types import JSON
from byteatlas.values import dataclass

BLOCK, CARD = 2880, 80
COMMENTARY = frozenset({b"COMMENT", b"HISTORY", b""})
LISTED = frozenset({"COMMENT", "HISTORY", "blank"})
STRING = re.compile(rb" *'((?:[^']|'')*)'")
INTEGER = re.compile(rb" *([+-]?[0-9]+) *(?:/|$)")
REAL = re.compile(rb" *([+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[EDed][+-]?[0-9]+)?) *(?:/|$)")
LOGICAL = re.compile(rb" *([TF]) *(?:/|$)")
PAIR = re.compile(rb" *\( *([^,()]+?) *, *([^,()]+?) *\) *(?:/|$)")
EMPTY = re.compile(rb" *(?:/|$)")
MOST_DIGITS = 300
"""Digits of a number that are believed."""
LAST = re.compile(rb"END(?:[^A-Z0-9_-]|$)")
"""The END card, whatever stands behind the keyword: readers pass over it."""


@dataclass(frozen=True, slots=True)
class FitsHeader:
    """One header.

    Attributes:
        first: the value of each keyword; the first one of those that are given several times.
        all: every value of each keyword, in the order of the cards; texts of COMMENT, HISTORY and blank keywords.
        at: file offset of its first card, for messages.
    """

    first: Mapping[str, JSON]
    all: Mapping[str, list[JSON]]
    at: int

    def integer(self, key: str, default: int | None = None) -> int:
        """An integer. Raises `CorruptFile` when it is another value, or not there and without a default."""
        value = self.first.get(key, default)
        if isinstance(value, bool) or not isinstance(value, int):
            raise CorruptFile(self.at, f"{key} is {value!r}, not an integer")
        return value

    def text(self, key: str) -> str:
        """A string, the empty one when it is another value or not there."""
        value = self.first.get(key)
        return value.strip() if isinstance(value, str) else ""

    def number(self, key: str) -> float | int | None:
        """A number, None when it is another value or not there."""
        value = self.first.get(key)
        return value if isinstance(value, (int, float)) and not isinstance(value, bool) else None

    def attributes(self, leave: re.Pattern[str]) -> dict[str, JSON]:
        """All keywords but those that match. A keyword that has several values has a list of them."""
        found: dict[str, JSON] = {}
        for key, values in self.all.items():
            if leave.fullmatch(key) is not None:
                continue
            if key in LISTED or (len(values) > 1 and any(v != values[0] for v in values)):
                found[key] = list(values)
            else:
                found[key] = values[0]
        return found


def header_end(data: bytes | memoryview) -> int | None:
    """Where a header that these bytes begin with ends: after the block with its END card; None: not in them."""
    view, at = bytes(data), 0
    while (at := view.find(b"END", at)) >= 0:
        if at % CARD == 0 and LAST.match(view, at, at + CARD):
            return -(-(at + CARD) // BLOCK) * BLOCK
        at += 1
    return None


def parse_header(data: bytes, at: int) -> FitsHeader:
    """The header in these bytes (whole blocks). ``at``: where it is in the file."""
    found: dict[str, list[JSON]] = {}
    for key, value in _cards(data):
        found.setdefault(key, []).append(value)
    return FitsHeader({key: values[0] for key, values in found.items()}, found, at)


def _cards(data: bytes) -> Iterator[tuple[str, JSON]]:
    """Keywords and values; strings that go on in CONTINUE cards are whole (section 4.2.1.2)."""
    held: tuple[str, str] | None = None
    for begin in range(0, len(data), CARD):
        card = data[begin : begin + CARD]
        key = card[:8].rstrip()
        if held is not None:
            match = STRING.match(card, 8) if key == b"CONTINUE" else None
            if match is not None:
                text = held[1][:-1] + _text(match[1])
                held = held[0], text
                if text.endswith("&"):
                    continue
            yield held
            held = None
            if match is not None:
                continue
        if LAST.match(card):
            break
        if card[8:9] == b"=" and key not in COMMENTARY:
            name, value = key.decode("latin-1"), _value(card[9:].lstrip(b"=") if card[9:10] == b"=" else card[9:])
        elif key == b"HIERARCH" and b"=" in card:
            long, _, rest = card[8:].partition(b"=")
            name, value = " ".join(long.decode("latin-1").split()), _value(rest)
        elif key in COMMENTARY:
            text = card[8:].rstrip(b" \0").decode("latin-1")
            if key or text:
                yield key.decode("latin-1") or "blank", text
            continue
        else:
            continue
        if isinstance(value, str) and value.endswith("&"):
            held = name, value
        else:
            yield name, value
    if held is not None:
        yield held


def _text(raw: bytes) -> str:
    """Trailing blanks are not significant; two apostrophes are one (section 4.2.1.1)."""
    return raw.replace(b"''", b"'").rstrip(b" ").decode("latin-1")


def _value(field: bytes) -> JSON:
    """The value of a card from the text after the equals sign; None where it is not defined."""
    match = STRING.match(field)
    if match is not None:
        return _text(match[1])
    field = field.rstrip(b" \0")
    match = INTEGER.match(field)
    if match is not None and len(match[1]) <= MOST_DIGITS:
        return int(match[1])
    match = REAL.match(field)
    if match is not None:
        return _real(match[1])
    match = LOGICAL.match(field)
    if match is not None:
        return match[1] == b"T"
    if EMPTY.match(field):
        return None
    match = PAIR.match(field)
    if match is not None:
        parts = [REAL.match(part) for part in match.groups()]
        if all(parts):
            return [_real(p[1]) for p in parts if p is not None]
    return field.partition(b"/")[0].strip().decode("latin-1")


def _real(digits: bytes) -> JSON:
    """A number; the text of one that is too large for double precision."""
    value = float(digits.upper().replace(b"D", b"E"))
    return value if math.isfinite(value) else digits.decode("latin-1")
