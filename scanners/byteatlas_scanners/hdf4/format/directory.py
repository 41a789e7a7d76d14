"""The file's data descriptors: which elements there are, and where (HDF 4.2 specification, chapter 1)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from byteatlas.errors import CorruptFile
from byteatlas.scanning.contract import Parse
from byteatlas.scanning.parsers import one
from byteatlas.types import ByteRange
from byteatlas.values import dataclass
from byteatlas_scanners.hdf4.format.tags import EXTENDED, MAGIC, SPECIAL, ElementTag

HEAD = 4 << 10
BLOCK_HEAD, ENTRY = 6, 12
MOST_BLOCKS = 1 << 16
MOST_ENTRIES = 1 << 22
NOWHERE = 2**32 - 1

MANY = (ElementTag.LINKED, ElementTag.CHUNK, ElementTag.COMPRESSED)
"""Tags that a file may have very many elements of."""

ENTRIES = np.dtype([("tag", ">u2"), ("ref", ">u2"), ("offset", ">u4"), ("length", ">u4")])


class TagRef(NamedTuple):
    """What names an element: its tag, without the mark of special elements, and its reference number."""

    tag: int
    ref: int


class ElementPlace(NamedTuple):
    """Where an element's bytes are; for a special one, those of its description."""

    offset: int
    length: int
    special: bool

    @property
    def range(self) -> ByteRange:
        return ByteRange(self.offset, self.length)


@dataclass(frozen=True, slots=True, eq=False)
class Directory:
    """All descriptors as columns, in the file's order.

    Attributes:
        keys: tag << 16 | reference number.
        rows: by key, the row of the first descriptor that has it; without those of `MANY`.
        many: the keys of `MANY`, in order, each once; ``many_rows`` are their rows.
    """

    size: int
    keys: NDArray[np.int64]
    offsets: NDArray[np.int64]
    lengths: NDArray[np.int64]
    special: NDArray[np.bool_]
    rows: dict[int, int]
    many: NDArray[np.int64]
    many_rows: NDArray[np.int64]

    def row(self, tag: int, ref: int) -> int | None:
        key = tag << 16 | ref
        if tag not in MANY:
            return self.rows.get(key)
        at = int(np.searchsorted(self.many, key))
        return int(self.many_rows[at]) if at < len(self.many) and self.many[at] == key else None

    def rows_of(self, keys: NDArray[np.int64]) -> NDArray[np.int64]:
        """The rows of many elements with tags of `MANY`; -1 for those that are not there."""
        if not len(self.many):
            return np.full(len(keys), -1, np.int64)
        at = np.minimum(np.searchsorted(self.many, keys), len(self.many) - 1)
        return np.where(self.many[at] == keys, self.many_rows[at], -1)

    def find(self, tag: int, ref: int) -> ElementPlace | None:
        """None for an element that is not there, or has no data."""
        row = self.row(tag, ref)
        if row is None or self.offsets[row] == NOWHERE or self.lengths[row] == NOWHERE:
            return None
        return ElementPlace(int(self.offsets[row]), int(self.lengths[row]), bool(self.special[row]))

    def of_tags(self, *tags: int) -> list[TagRef]:
        """The keys of all elements with one of these tags."""
        mine = self.keys[np.isin(self.keys >> 16, tags)]
        return [TagRef(key >> 16, key & 0xFFFF) for key in dict.fromkeys(mine.tolist())]


def read_directory(size: int) -> Parse[Directory]:
    """All blocks of descriptors. Raises `CorruptFile`."""
    head = bytes((yield from one(ByteRange(0, min(HEAD, size)))))
    if not head.startswith(MAGIC):
        raise CorruptFile(0, "not an HDF4 file")
    blocks: list[NDArray[np.void]] = []
    seen: set[int] = set()
    at, total = len(MAGIC), 0
    while at:
        if at in seen or len(seen) > MOST_BLOCKS or total > MOST_ENTRIES:
            raise CorruptFile(at, "the chain of descriptor blocks is a circle or has no end")
        seen.add(at)
        if at + BLOCK_HEAD > size:
            raise CorruptFile(at, f"a block of descriptors lies outside of the file ({size} bytes)")
        raw = head[at : at + BLOCK_HEAD]
        if len(raw) < BLOCK_HEAD:
            raw = bytes((yield from one(ByteRange(at, BLOCK_HEAD))))
        count, following = int.from_bytes(raw[:2], "big"), int.from_bytes(raw[2:], "big")
        begin, length = at + BLOCK_HEAD, count * ENTRY
        if begin + length > size:
            raise CorruptFile(at, f"a block of {count} descriptors does not fit into the file")
        body = head[begin : begin + length]
        if len(body) < length:
            body = bytes((yield from one(ByteRange(begin, length))))
        blocks.append(np.frombuffer(body, ENTRIES))
        total += count
        at = following
    return _directory(np.concatenate(blocks), size)


def _directory(entries: NDArray[np.void], size: int) -> Directory:
    tags = entries["tag"].astype(np.int64)
    special = (tags & (SPECIAL | EXTENDED)) == SPECIAL
    tags = np.where(special, tags & ~SPECIAL, tags)
    used = (tags != ElementTag.NULL) & (tags != ElementTag.FREE) & (tags != 0)
    keys = (tags << 16 | entries["ref"].astype(np.int64))[used]
    often = np.isin(keys >> 16, MANY)
    numbers = np.flatnonzero(~often)[::-1]
    rows = dict(zip(keys[numbers].tolist(), numbers.tolist(), strict=True))
    many, first = np.unique(keys[often], return_index=True)
    offsets, lengths = (entries[name].astype(np.int64)[used] for name in ("offset", "length"))
    return Directory(size, keys, offsets, lengths, special[used], rows, many, np.flatnonzero(often)[first])
