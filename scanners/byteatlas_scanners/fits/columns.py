"""What the header says of a table's columns: names, formats, places in the row (FITS 4.0, sections 7.2.1 and 7.3.1)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from math import prod

import numpy as np

from byteatlas.errors import CorruptFile
from byteatlas.types import JSON, Shape
from byteatlas.values import dataclass
from byteatlas_scanners.fits.header import FitsHeader
from byteatlas_scanners.fits.numbers import scaling

MOST_FIELDS = 999
BINARY = re.compile(r" *(\d*) *([LXBIJKAEDCMPQ])(.*)")
VARIABLE = re.compile(r" *([LXBIJKAEDCM]) *(?:\(\d*\))?.*")
ASCII = re.compile(r" *([AIFEDJ]) *(\d+)(?:\.(\d+))?.*")
DIMENSIONS = re.compile(r" *\( *(\d+(?: *, *\d+)*) *\) *")
CODES: Mapping[str, np.dtype[np.generic]] = {
    "L": np.dtype("i1"),
    "X": np.dtype("u1"),
    "B": np.dtype("u1"),
    "I": np.dtype(">i2"),
    "J": np.dtype(">i4"),
    "K": np.dtype(">i8"),
    "A": np.dtype("S1"),
    "E": np.dtype(">f4"),
    "D": np.dtype(">f8"),
    "C": np.dtype(">c8"),
    "M": np.dtype(">c16"),
}
"""Types of elements as stored (table 18)."""
MOST_REPEAT = 1 << 40
DESCRIBED = re.compile(r"T(TYPE|FORM|UNIT|NULL|SCAL|ZERO|DISP|DIM|BCOL)(\d+)")
"""Keywords that are said of a column alone."""


@dataclass(frozen=True, slots=True)
class BinaryColumn:
    """A column of a binary table.

    Attributes:
        number: from 1, as in its keywords.
        code: the letter of its type; of the elements in the heap when ``variable`` is ``P`` or ``Q``.
        repeat: elements in each row (bits of ``X``, characters of ``A``).
        offset, width: its bytes in the row.
        dims: of TDIM, the slowest axis first; () without.
    """

    number: int
    code: str
    repeat: int
    offset: int
    width: int
    dims: Shape
    variable: str = ""

    @property
    def stored(self) -> np.dtype[np.generic]:
        return CODES[self.code]


@dataclass(frozen=True, slots=True)
class AsciiColumn:
    """A column of an ASCII table: ``width`` characters from ``offset`` on, of a format ``Tw.d``."""

    number: int
    code: str
    width: int
    decimals: int
    offset: int


def field_count(header: FitsHeader) -> int:
    """TFIELDS. Raises `CorruptFile`."""
    count = header.integer("TFIELDS")
    if not 0 <= count <= MOST_FIELDS:
        raise CorruptFile(header.at, f"TFIELDS is {count}")
    return count


def binary_columns(header: FitsHeader, stride: int) -> list[BinaryColumn]:
    """The columns of a binary table. Raises `CorruptFile` when they do not make up the row."""
    found: list[BinaryColumn] = []
    at = 0
    for number in range(1, field_count(header) + 1):
        column = _binary(header, number, at)
        found.append(column)
        at += column.width
    if at != stride:
        raise CorruptFile(header.at, f"columns of {at} bytes in rows of {stride}")
    return found


def _binary(header: FitsHeader, number: int, at: int) -> BinaryColumn:
    form = header.text(f"TFORM{number}").upper()
    match = BINARY.fullmatch(form)
    if match is None or len(match[1]) > 18 or int(match[1] or 1) > MOST_REPEAT:
        raise CorruptFile(header.at, f"TFORM{number} is {form!r}")
    repeat, code = int(match[1] or 1), match[2]
    if code in "PQ":
        inner = VARIABLE.fullmatch(match[3])
        if inner is None or repeat > 1:
            raise CorruptFile(header.at, f"TFORM{number} is {form!r}")
        return BinaryColumn(number, inner[1], repeat, at, repeat * (16 if code == "Q" else 8), (), code)
    width = -(-repeat // 8) if code == "X" else repeat * CODES[code].itemsize
    return BinaryColumn(number, code, repeat, at, width, _dimensions(header, number, repeat))


def _dimensions(header: FitsHeader, number: int, repeat: int) -> Shape:
    """TDIM, the slowest axis first; () where it is not given, or does not fit into the field (section 7.3.2)."""
    match = DIMENSIONS.fullmatch(header.text(f"TDIM{number}"))
    if match is None:
        return ()
    dims = tuple(int(n) for n in match[1].split(","))[::-1]
    return dims if prod(dims) <= repeat else ()


def ascii_columns(header: FitsHeader, stride: int) -> list[AsciiColumn]:
    """The columns of an ASCII table. Raises `CorruptFile` for one that sticks out of the row."""
    found: list[AsciiColumn] = []
    for number in range(1, field_count(header) + 1):
        form, begin = header.text(f"TFORM{number}").upper(), header.integer(f"TBCOL{number}")
        match = ASCII.fullmatch(form)
        if match is None or len(match[2]) > 9 or len(match[3] or "") > 3:
            raise CorruptFile(header.at, f"TFORM{number} is {form!r}")
        width = int(match[2])
        if begin < 1 or not width or begin - 1 + width > stride:
            raise CorruptFile(header.at, f"column {number}: {width} characters from {begin} on in rows of {stride}")
        found.append(AsciiColumn(number, match[1], width, int(match[3] or 0), begin - 1))
    return found


def column_names(header: FitsHeader, count: int) -> list[str]:
    """A name for each column: TTYPE; where there is none, or two are equal, ``column_N``."""
    names: list[str] = []
    for number in range(1, count + 1):
        name = header.text(f"TTYPE{number}")
        names.append(name if name and name not in names else f"column_{number}")
    return names


def column_attributes(header: FitsHeader, number: int, *, scaled: bool) -> dict[str, JSON]:
    """What the header says of one column; with ``scaled`` also how its numbers are to be scaled."""
    found: dict[str, JSON] = {}
    for key, name in (("TUNIT", "units"), ("TDISP", "TDISP")):
        if text := header.text(f"{key}{number}"):
            found[name] = text
    if scaled:
        found |= scaling(header.number(f"TSCAL{number}"), header.number(f"TZERO{number}"))
    return found
