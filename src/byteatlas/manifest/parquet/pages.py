"""What a Parquet file says that it expands to, from the headers of its pages: before Arrow takes memory for it.

The footer's own totals are not compared with anything by Arrow, so a small file may hold pages of gigabytes. Page
headers are structures in Thrift's compact protocol (parquet.thrift: ``PageHeader``, fields 2 and 3 are its sizes).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeAlias

from byteatlas.errors import InvalidMetadata

TRUE, FALSE, BYTE, I16, I32, I64, DOUBLE, BINARY, LIST, SET, MAP, STRUCT = range(1, 13)
UNCOMPRESSED, COMPRESSED = 2, 3
ROWS, ROW_GROUPS = 3, 4
GROUP_COLUMNS, GROUP_ROWS = 1, 3
COLUMN_META = 3
PATH, VALUES, PACKED, DATA_PAGE, DICTIONARY_PAGE = 3, 5, 7, 9, 11
MOST_NESTING = 16
MOST_EXPANDED = 2 << 30
"""Bytes that one part file may expand to."""
LEAST_LIMIT = 256 << 20
"""Bytes that any file may expand to; a large one to more, in proportion (`RATIO`)."""
RATIO = 64
COLUMNS = ("path", "offset", "size", "raw")


Struct: TypeAlias = dict[int, Any]
"""A structure: values by field number."""


class _Compact:
    """Reads structures. Raises `IndexError` at the end of the bytes, `ValueError` for what makes no sense."""

    __slots__ = ("at", "data")

    def __init__(self, data: memoryview, at: int = 0) -> None:
        self.data, self.at = data, at

    def byte(self) -> int:
        self.at += 1
        return self.data[self.at - 1]

    def varint(self) -> int:
        found = shift = 0
        while True:
            byte = self.byte()
            found |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return found
            if shift > 63:
                raise ValueError("a number without an end")

    def zigzag(self) -> int:
        found = self.varint()
        return found >> 1 ^ -(found & 1)

    def struct(self, depth: int = 0) -> Struct:
        if depth > MOST_NESTING:
            raise ValueError("nested too deeply")
        number, found = 0, {}
        while head := self.byte():
            number = number + (head >> 4) if head >> 4 else self.zigzag()
            kind = head & 15
            found[number] = kind == TRUE if kind in (TRUE, FALSE) else self._value(kind, depth)
        return found

    def _value(self, kind: int, depth: int) -> Any:
        if kind in (TRUE, FALSE, BYTE):
            return self.byte()
        if kind in (I16, I32, I64):
            return self.zigzag()
        if kind in (BINARY, DOUBLE):
            size = 8 if kind == DOUBLE else self.varint()
            self.at += size
            return bytes(self.data[self.at - size : self.at])
        if kind == STRUCT:
            return self.struct(depth + 1)
        if kind not in (LIST, SET) or depth > MOST_NESTING:
            raise ValueError(f"a field of type {kind}")
        head = self.byte()
        count = head >> 4 if head >> 4 < 15 else self.varint()
        return [self._value(head & 15, depth + 1) for _ in range(count)]


def _footer(data: memoryview) -> Struct:
    size = int.from_bytes(data[-8:-4], "little")
    if size + 8 > len(data):
        raise ValueError(f"a footer of {size} bytes")
    return _Compact(data[-8 - size : -8]).struct()


def _pages(data: memoryview, begin: int, end: int) -> int:
    """Bytes that the pages between two places expand to."""
    total = 0
    if not 0 <= begin <= end <= len(data):
        raise ValueError("pages outside of the file")
    while begin < end:
        header = _Compact(data[:end], begin)
        fields = header.struct()
        size, held = fields[UNCOMPRESSED], fields[COMPRESSED]
        if size < 0 or held < 0 or header.at + held > end:
            raise ValueError(f"a page of {held} bytes that expand to {size}")
        total += size
        begin = header.at + held
    return total


def check_expanded(data: memoryview, where: str) -> int:
    """The number of rows; a file that is small and expands far is refused.

    The footer is read here: pyarrow ends the process where it describes a column that cannot be.

    Raises `InvalidMetadata`.
    """
    try:
        return _checked(data, where)
    except (ValueError, IndexError, KeyError, TypeError, AttributeError) as error:
        why = "a structure is cut off" if isinstance(error, IndexError) else f"{type(error).__name__}: {error}"
        raise InvalidMetadata(where, f"not a readable Parquet file ({why})"[:300]) from error


def _checked(data: memoryview, where: str) -> int:
    limit = min(MOST_EXPANDED, max(LEAST_LIMIT, RATIO * len(data)))
    footer = _footer(data)
    total = rows = 0
    for group in footer[ROW_GROUPS]:
        rows += group[GROUP_ROWS]
        for column in group[GROUP_COLUMNS]:
            meta = column[COLUMN_META]
            if meta[PATH] not in ([name.encode()] for name in COLUMNS):
                continue
            if meta[VALUES] != group[GROUP_ROWS]:
                raise InvalidMetadata(where, f"{meta[VALUES]} values in {group[GROUP_ROWS]} rows")
            begin, first = meta[DATA_PAGE], meta.get(DICTIONARY_PAGE, 0)
            begin = first if 0 < first < begin else begin
            total += _pages(data, begin, begin + meta[PACKED])
            if total > limit:
                raise InvalidMetadata(where, f"expands to {total} bytes or more, more than the limit of {limit}")
    return int(max(rows, footer[ROWS]))


def check_types(fields: Iterable[Any], where: str) -> None:
    """Refuse columns of types that need no bytes for each value, or many values for each row.

    Raises `InvalidMetadata`.
    """
    import pyarrow as pa

    for field in fields:
        kind = field.type.value_type if pa.types.is_dictionary(field.type) else field.type
        texts = (pa.types.is_string, pa.types.is_large_string, pa.types.is_binary, pa.types.is_large_binary)
        numbers = (pa.types.is_integer, pa.types.is_floating)
        known = numbers if field.name in ("offset", "size") else texts
        if field.name in COLUMNS and not any(is_one(kind) for is_one in (*known, pa.types.is_null)):
            raise InvalidMetadata(where, f"column {field.name} has type {field.type}")
