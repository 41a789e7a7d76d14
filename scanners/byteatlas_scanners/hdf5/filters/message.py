"""The filter pipeline message (format specification IV.A.2.l). What undoes its filters is said in `registry`."""

from __future__ import annotations

import struct

from byteatlas.errors import CorruptFile
from byteatlas.values import dataclass

MOST_FILTERS = 32
"""H5Z_MAX_NFILTERS."""
MOST_VALUES = 1 << 16

DEFLATE, SHUFFLE, FLETCHER32, SZIP, NBIT, SCALEOFFSET = range(1, 7)

OPTIONAL = 1


@dataclass(frozen=True, slots=True)
class Filter:
    """One filter: its registered number, the name in the file (may be empty), flags and client data values."""

    id: int
    name: str
    flags: int
    values: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class FilterPipeline:
    """Filters in the order in which they were applied when writing."""

    filters: tuple[Filter, ...] = ()

    def applied(self, mask: int) -> tuple[Filter, ...]:
        """The filters that a chunk with this mask went through (bit i set: filter i was skipped)."""
        if not mask:
            return self.filters
        return tuple(f for i, f in enumerate(self.filters) if not mask >> i & 1)


def parse(body: bytes) -> FilterPipeline:
    """The filter pipeline message, versions 1 and 2. Raises `CorruptFile`."""
    try:
        version, count = body[0], body[1]
        if version not in (1, 2) or count > MOST_FILTERS:
            raise CorruptFile(0, f"a filter pipeline of version {version} with {count} filters")
        at = 8 if version == 1 else 2
        filters = []
        for _ in range(count):
            found, at = _filter(body, at, version)
            filters.append(found)
    except (struct.error, IndexError) as error:
        raise CorruptFile(0, "a filter pipeline message is cut off") from error
    return FilterPipeline(tuple(filters))


def _filter(body: bytes, at: int, version: int) -> tuple[Filter, int]:
    (number,) = struct.unpack_from("<H", body, at)
    at += 2
    length = 0
    if version == 1 or number >= 256:
        (length,) = struct.unpack_from("<H", body, at)
        at += 2
    flags, count = struct.unpack_from("<HH", body, at)
    at += 4
    if version == 1:
        length = -(-length // 8) * 8
    if at + length + 4 * count > len(body) or count > MOST_VALUES:
        raise CorruptFile(at, "a filter sticks out of its message")
    name = body[at : at + length].split(b"\0")[0].decode("latin-1")
    at += length
    values = struct.unpack_from(f"<{count}I", body, at)
    at += 4 * count
    if version == 1 and count % 2:
        at += 4
    return Filter(number, name, flags, values), at
