"""Parquet files taken apart into footer and pages, and put together again with other numbers in them.

Footer and page headers are structures in Thrift's compact protocol (parquet.thrift of Apache Parquet). A structure is a
dict of field numbers here, each with its type and value, so that it can be written as it was read.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any, TypeAlias

Struct: TypeAlias = dict[int, tuple[int, Any]]
TRUE, FALSE, BYTE, I16, I32, I64, DOUBLE, BINARY, LIST, SET, MAP, STRUCT = range(1, 13)
ROW_GROUPS, COLUMNS, META = 4, 1, 3
TOTAL, PACKED, DATA_PAGE, DICTIONARY_PAGE = 6, 7, 9, 11
UNCOMPRESSED, COMPRESSED, OF_DATA, OF_DICTIONARY, OF_DATA2 = 2, 3, 5, 7, 8
"""Fields of a page's header: its sizes, and what is said of a page of data or of a dictionary (first: values in it)."""
NUMBERS = (0, 1, -1, 127, 1 << 15, (1 << 16) + 1, 1 << 24, (1 << 30) - 1, (1 << 31) - 1, -(1 << 31))


class Reader:
    """Goes through a structure."""

    def __init__(self, data: bytes, at: int = 0) -> None:
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

    def zigzag(self) -> int:
        found = self.varint()
        return found >> 1 ^ -(found & 1)

    def struct(self) -> Struct:
        found: Struct = {}
        number = 0
        while head := self.byte():
            number = number + (head >> 4) if head >> 4 else self.zigzag()
            found[number] = head & 15, self.value(head & 15)
        return found

    def value(self, kind: int) -> Any:
        match kind:
            case _ if kind in (TRUE, FALSE):
                return kind == TRUE
            case _ if kind == BYTE:
                return self.byte()
            case _ if kind in (I16, I32, I64):
                return self.zigzag()
            case _ if kind in (BINARY, DOUBLE):
                size = self.varint() if kind == BINARY else 8
                self.at += size
                return self.data[self.at - size : self.at]
            case _ if kind == STRUCT:
                return self.struct()
        head = self.byte()
        of, count = head & 15, head >> 4 if head >> 4 < 15 else self.varint()
        return of, [self.byte() == TRUE if of in (TRUE, FALSE) else self.value(of) for _ in range(count)]


def varint(value: int) -> bytes:
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes((*out, value))


def written(kind: int, value: Any) -> bytes:
    match kind:
        case _ if kind == BYTE:
            return bytes((value,))
        case _ if kind in (I16, I32, I64):
            return varint((value << 1 ^ value >> 63) & (1 << 64) - 1)
        case _ if kind == DOUBLE:
            return bytes(value)
        case _ if kind == BINARY:
            return varint(len(value)) + bytes(value)
        case _ if kind == STRUCT:
            return structure(value)
    of, items = value
    head = bytes((len(items) << 4 | of,)) if len(items) < 15 else bytes((0xF0 | of,)) + varint(len(items))
    return head + b"".join(bytes((TRUE if i else FALSE,)) if of in (TRUE, FALSE) else written(of, i) for i in items)


def structure(fields: Struct) -> bytes:
    out, last = b"", 0
    for number, (kind, value) in fields.items():
        kind = (TRUE if value else FALSE) if kind in (TRUE, FALSE) else kind
        out += bytes((number - last << 4 | kind,)) if 0 < number - last < 16 else bytes((kind,)) + varint(number << 1)
        out += b"" if kind in (TRUE, FALSE) else written(kind, value)
        last = number
    return out + b"\0"


class Page:
    """A page: what its header says, and its bytes."""

    def __init__(self, data: bytes, at: int) -> None:
        reader = Reader(data, at)
        self.header = reader.struct()
        self.body = data[reader.at : reader.at + self.header[COMPRESSED][1]]
        self.end = reader.at + len(self.body)

    def numbers(self) -> Iterator[tuple[Struct, int]]:
        """Where whole numbers stand: structures and fields."""
        yield from numbers(self.header)


def numbers(fields: Struct) -> Iterator[tuple[Struct, int]]:
    """All whole numbers in a structure and those in it."""
    for number, (kind, value) in fields.items():
        if kind in (I16, I32, I64):
            yield fields, number
        elif kind == STRUCT:
            yield from numbers(value)
        elif kind in (LIST, SET) and value[0] == STRUCT:
            for inner in value[1]:
                yield from numbers(inner)


class ParquetFile:
    """A file: its footer, and the pages of each column chunk."""

    def __init__(self, data: bytes) -> None:
        size = int.from_bytes(data[-8:-4], "little")
        self.footer = Reader(data[-8 - size : -8]).struct()
        self.chunks: list[tuple[Struct, list[Page]]] = []
        for group in self.footer[ROW_GROUPS][1][1]:
            for chunk in group[COLUMNS][1][1]:
                meta = chunk[META][1]
                at = meta.get(DICTIONARY_PAGE, meta[DATA_PAGE])[1]
                end = at + meta[PACKED][1]
                pages = []
                while at < end:
                    pages.append(Page(data, at))
                    at = pages[-1].end
                self.chunks.append((meta, pages))

    def assembled(self) -> bytes:
        """The file with the places of its pages as they are now; other numbers as they were said to be."""
        out = b"PAR1"
        for meta, pages in self.chunks:
            begin = len(out)
            for page in pages:
                field = DICTIONARY_PAGE if OF_DICTIONARY in page.header else DATA_PAGE
                if field == DICTIONARY_PAGE or page is pages[DICTIONARY_PAGE in meta]:
                    meta[field] = I64, len(out)
                out += structure(page.header) + page.body
            meta[PACKED] = I64, len(out) - begin
        footer = structure(self.footer)
        return out + footer + len(footer).to_bytes(4, "little") + b"PAR1"

    def pages(self) -> list[Page]:
        return [page for _, pages in self.chunks for page in pages]


def mutant(data: bytes, rng: random.Random) -> bytes:
    """One to three numbers of page headers or of the footer changed; everything still parses."""
    file = ParquetFile(data)
    for _ in range(rng.choice((1, 1, 2, 3))):
        page = rng.choice(file.pages())
        if rng.random() < 0.2 and page.body:
            body = bytearray(page.body)
            body[rng.randrange(len(body))] ^= 1 << rng.randrange(8)
            page.body = bytes(body)
            continue
        places = list(page.numbers() if rng.random() < 0.8 else numbers(file.footer))
        fields, number = rng.choice(places)
        kind, value = fields[number]
        fields[number] = kind, rng.choice((*NUMBERS, value + 1, value - 1, value * 2, value ^ 1 << rng.randrange(31)))
    return file.assembled()
