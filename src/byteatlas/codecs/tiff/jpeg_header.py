"""The frame header of a JPEG stream (ITU-T T.81, annex B)."""

from __future__ import annotations

import struct

from byteatlas.errors import CorruptChunk

FRAMES = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}
"""Start-of-frame markers (ITU-T T.81 table B.1)."""
LOSSLESS = 0xC3
"""The marker of lossless JPEG."""
SEQUENTIAL = frozenset((0xC0, 0xC1))
"""The markers of sequential JPEG with Huffman codes."""
MOST_SCANS = 16


def jpeg_size(data: bytes | memoryview) -> tuple[int, int, int]:
    """Rows, columns and components from the frame header. Raises `CorruptChunk`."""
    return jpeg_frame(data)[1:]


def jpeg_frame(data: bytes | memoryview) -> tuple[int, int, int, int]:
    """The frame's marker, then rows, columns and components. Raises `CorruptChunk`."""
    at, view = 0, memoryview(data)
    while at + 4 <= len(view):
        if view[at] != 0xFF:
            at += 1
            continue
        marker = view[at + 1]
        if marker in (0xFF, 0x00, 0x01) or 0xD0 <= marker <= 0xD8:
            at += 1 if marker == 0xFF else 2
            continue
        if marker in FRAMES and at + 10 <= len(view):
            rows, columns, components = struct.unpack_from(">HHB", view, at + 5)
            return marker, rows, columns, components
        if marker in (0xD9, 0xDA):
            break
        at += 2 + int(struct.unpack_from(">H", view, at + 2)[0])
    raise CorruptChunk("jpeg: no frame header")


def is_plain(data: bytes | memoryview) -> bool:
    """Whether an image is of the kind that decoders handle safely: sequential, of a few scans.

    Each scan of a progressive image may go over all of its samples, and lossless ones have decoders of their own.
    """
    return jpeg_frame(data)[0] in SEQUENTIAL and bytes(data).count(b"\xff\xda") <= MOST_SCANS
