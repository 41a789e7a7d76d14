"""Directories that leave to their JPEG stream what the tags should say: previews and thumbnails of cameras.

Exif's thumbnails (Exif 2.32 section 4.5.8) have JPEGInterchangeFormat and its length, and neither sizes nor strips;
some previews lack BitsPerSample only. What is missing is taken from the stream's frame header (ITU-T T.81, annex B).
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from byteatlas.errors import CorruptFile, FileFault
from byteatlas.scanning.contract import Parse
from byteatlas.scanning.parsers import gather, one
from byteatlas.types import ByteRange
from byteatlas.values import replace
from byteatlas_scanners.tiff.ifd import Directories, Ifd, TagEntry
from byteatlas_scanners.tiff.page import JPEG, JPEGS, MINISBLACK, NONE, SEPARATED, YCBCR
from byteatlas_scanners.tiff.tags import Tag

FRAMES = frozenset(range(0xC0, 0xD0)) - {0xC3, 0xC4, 0xC7, 0xC8, 0xCB, 0xCC, 0xCF}
"""Start-of-frame markers of lossy images: lossless ones are sensors' data, cut in each maker's own way."""
SOI, FILL, SCAN, END = b"\xff\xd8", 0xFF, 0xDA, 0xD9
WINDOW = 4 << 10
MOST_WINDOWS = 64
FARTHEST = 1 << 62
SHORT, LONG = 3, 4
NEEDED = (Tag.IMAGE_WIDTH, Tag.IMAGE_LENGTH, Tag.BITS_PER_SAMPLE)
PHOTOMETRICS = {1: MINISBLACK, 3: YCBCR, 4: SEPARATED}


class Frame(NamedTuple):
    """What a stream says of its image."""

    bits: int
    rows: int
    columns: int
    samples: int


def complete(directories: Directories, size: int) -> Parse[Directories]:
    """The same directories, with the tags that their streams imply. Those that need none cost nothing."""
    wanted = {id(ifd): (ifd, at) for ifd in _all(directories) if (at := _stream(ifd)) and at < min(size, FARTHEST)}
    if not wanted:
        return directories
    found = yield from gather([_frame(at, size) for _, at in wanted.values()])
    new = {
        key: _with_frame(ifd, at, frame, size)
        for (key, (ifd, at)), frame in zip(wanted.items(), found, strict=True)
        if not isinstance(frame, FileFault)
    }
    return replace(directories, ifds=tuple([_completed(ifd, new) for ifd in directories.ifds]))


def _completed(ifd: Ifd, new: Mapping[int, Ifd]) -> Ifd:
    subs = tuple([new.get(id(sub), sub) for sub in ifd.subs])
    return replace(new.get(id(ifd), ifd), subs=subs)


def _all(directories: Directories) -> Iterator[Ifd]:
    for ifd in directories.ifds:
        yield ifd
        yield from (sub for sub in ifd.subs if isinstance(sub, Ifd))


def _stream(ifd: Ifd) -> int:
    """Where the stream of an incomplete directory begins; 0 for all others."""
    if all(tag in ifd for tag in NEEDED) or Tag.TILE_OFFSETS in ifd:
        return 0
    try:
        if Tag.JPEG_INTERCHANGE_FORMAT in ifd:
            usual = JPEG if Tag.STRIP_OFFSETS not in ifd else NONE
            return ifd.first(Tag.JPEG_INTERCHANGE_FORMAT, 0) if ifd.first(Tag.COMPRESSION, usual) in JPEGS else 0
        return ifd.first(Tag.STRIP_OFFSETS, 0) if ifd.first(Tag.COMPRESSION, NONE) in JPEGS else 0
    except CorruptFile:
        return 0


def _frame(start: int, size: int) -> Parse[Frame]:
    """The frame header of the stream that begins there. Raises `CorruptFile` when there is none."""
    at, begin, data = start + len(SOI), start, b""
    for _ in range(MOST_WINDOWS):
        if at >= size:
            break
        inside = at - begin
        if inside + 10 > len(data):
            begin = at if data else start
            data = bytes((yield from one(ByteRange(begin, min(WINDOW, size - begin)))))
            if begin == start and not data.startswith(SOI):
                break
            inside = at - begin
        if data[inside : inside + 1] != b"\xff" or inside + 10 > len(data):
            break
        marker, length = data[inside + 1], int.from_bytes(data[inside + 2 : inside + 4], "big")
        if marker == FILL:
            at += 1
            continue
        if marker in FRAMES:
            frame = Frame(*struct.unpack_from(">BHHB", data, inside + 4))
            if frame.rows and frame.columns and frame.samples in PHOTOMETRICS:
                return frame
            break
        if marker in (SCAN, END):
            break
        at += 2 + length
    raise CorruptFile(start, "no frame header of a JPEG stream")


def _with_frame(ifd: Ifd, start: int, frame: Frame, size: int) -> Ifd:
    """The directory with what it lacks; without strips, the stream is its only one, as in new-style JPEG."""
    told = {
        Tag.IMAGE_WIDTH: frame.columns,
        Tag.IMAGE_LENGTH: frame.rows,
        Tag.SAMPLES_PER_PIXEL: frame.samples,
        Tag.PHOTOMETRIC: PHOTOMETRICS[frame.samples],
    }
    fields = dict(ifd.fields)
    for tag, value in told.items():
        fields.setdefault(tag, _entry(ifd, [value]))
    fields.setdefault(Tag.BITS_PER_SAMPLE, _entry(ifd, [frame.bits] * frame.samples))
    if Tag.STRIP_OFFSETS not in fields:
        length = ifd.first(Tag.JPEG_INTERCHANGE_FORMAT_LENGTH, 0)
        fields[Tag.STRIP_OFFSETS] = _entry(ifd, [start])
        fields[Tag.STRIP_BYTE_COUNTS] = _entry(ifd, [min(length, size - start) if length > 0 else size - start])
        fields[Tag.ROWS_PER_STRIP] = _entry(ifd, [frame.rows])
        fields[Tag.COMPRESSION] = _entry(ifd, [JPEG])
    return replace(ifd, fields=fields)


def _entry(ifd: Ifd, values: list[int]) -> TagEntry:
    """A tag that is not in the file."""
    kind, code = (SHORT, "H") if max(values) < 1 << 16 else (LONG, "I") if max(values) < 1 << 32 else (16, "Q")
    return TagEntry(kind, len(values), ifd.offset, struct.pack(f"{ifd.order}{len(values)}{code}", *values))
