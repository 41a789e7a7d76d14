"""A look at the first bytes of JPEG streams: whether they carry a JFIF marker, and where old-style ones begin.

Old-style JPEG (compression 6, TIFF 6.0 section 22) leaves open how tables and data lie. Nearly all writers put one JPEG
stream into the file, and strips somewhere inside of it: that stream is then the image's only chunk.
"""

from __future__ import annotations

from collections.abc import Mapping

from byteatlas.errors import CorruptFile
from byteatlas.scanning.contract import Parse
from byteatlas.scanning.parsers import read
from byteatlas.types import ByteRange
from byteatlas.values import dataclass
from byteatlas_scanners.tiff.ifd import Directories, Ifd
from byteatlas_scanners.tiff.tags import Tag

SOI = b"\xff\xd8"
JFIF = slice(6, 10)
LOOK = 10
FARTHEST = 2**62
OLD_JPEG, JPEGS, RGB = 6, frozenset({7, 34892}), 2


@dataclass(frozen=True, slots=True)
class Peek:
    """What was seen of one directory's streams.

    Attributes:
        jfif: the first stream carries a JFIF marker, so its colour space is its own affair.
        start: where an old-style stream begins, or None when it was not found.
        streams: all places where a stream begins, of those that were looked at.
    """

    jfif: bool
    start: int | None = None
    streams: frozenset[int] = frozenset()


def peek(directories: Directories, size: int) -> Parse[Mapping[str, Peek]]:
    """Look at the streams of all directories that need it, in one batch."""
    wanted: dict[str, list[ByteRange]] = {}
    for ifd in directories.ifds:
        for one in (ifd, *(s for s in ifd.subs if isinstance(s, Ifd))):
            places = [ByteRange(at, LOOK) for at in _places(one) if 0 < at <= min(size - LOOK, FARTHEST)]
            if places:
                wanted[one.name] = places
    if not wanted:
        return {}
    answers = yield from read([where for places in wanted.values() for where in places])
    seen = iter(answers)
    found: dict[str, Peek] = {}
    for name, places in wanted.items():
        heads = [(where.offset, bytes(next(seen))) for where in places]
        start = next(((at, head) for at, head in heads if head.startswith(SOI)), None)
        streams = frozenset(at for at, head in heads if head.startswith(SOI))
        jfif = start is not None and start[1][JFIF] == b"JFIF"
        found[name] = Peek(jfif, None if start is None else start[0], streams)
    return found


def _places(ifd: Ifd) -> list[int]:
    """Where a stream of this directory may begin; empty when nobody needs to know."""
    try:
        compression = ifd.first(Tag.COMPRESSION, 1)
        first = ifd.first(Tag.TILE_OFFSETS, 0) or ifd.first(Tag.STRIP_OFFSETS, 0)
        if compression == OLD_JPEG:
            places = ifd.array(Tag.TILE_OFFSETS if Tag.TILE_OFFSETS in ifd else Tag.STRIP_OFFSETS)
            two = [] if places is None or places.dtype.kind != "u" else [int(at) for at in places.ravel()[:2]]
            return [ifd.first(Tag.JPEG_INTERCHANGE_FORMAT, 0), *two]
        return [first] if compression in JPEGS and ifd.first(Tag.PHOTOMETRIC, 0) == RGB else []
    except CorruptFile:
        return []
