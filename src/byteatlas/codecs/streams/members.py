"""Compressed streams that may follow one another, read by decompressors of the standard library, within bounds."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from typing import Any, TypeAlias

from byteatlas.codecs.core.checks import at_most
from byteatlas.codecs.core.contract import Bytes
from byteatlas.errors import CorruptChunk

ReadStream: TypeAlias = Callable[[Any, int], tuple[bytes, bool, bytes]]
"""Bytes and the most that may come out -> what came out, whether the stream has ended, and what follows it."""


def read_streams(
    name: str,
    read: ReadStream,
    faults: tuple[type[Exception], ...],
    data: Bytes,
    limit: int,
    follows: Callable[[bytes], bool],
) -> bytes:
    """All streams, at most ``limit`` bytes in all; ``follows`` says whether what follows one is another.

    Raises `CorruptChunk`. Never more than one byte beyond the limit is inflated.
    """
    out: list[bytes] = []
    left, rest = limit, data
    while True:
        try:
            found, ended, rest = read(rest, left + 1)
        except faults as error:
            raise CorruptChunk(f"{name}: {error}") from error
        at_most(name, limit - left + len(found), limit)
        if not ended:
            raise CorruptChunk(f"{name}: the stream ends too early")
        out.append(found)
        left -= len(found)
        if not follows(rest):
            return out[0] if len(out) == 1 else b"".join(out)


def inflate(data: Bytes, wbits: int, limit: int) -> bytes:
    """Deflate with the wrapping that ``wbits`` stands for (zlib's). Raises `CorruptChunk`."""

    def read(stream: Any, most: int) -> tuple[bytes, bool, bytes]:
        unpacker = zlib.decompressobj(wbits)
        found = unpacker.decompress(stream, most)
        return found, unpacker.eof, unpacker.unused_data

    def follows(rest: bytes) -> bool:
        # Several members are gzip's (RFC 1952 2.2); what follows a zlib stream is padding.
        return wbits == 31 and rest.startswith(b"\x1f\x8b")

    return read_streams("deflate", read, (zlib.error,), data, limit, follows)
