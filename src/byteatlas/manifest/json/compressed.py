"""Compressed JSON maps, known by their first bytes when read and by their suffix when written."""

from __future__ import annotations

import io
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any

from byteatlas.errors import InvalidMetadata
from byteatlas.io.forms import CompressionName, compression_of_bytes, compression_of_name
from byteatlas.io.output import Sink
from byteatlas.io.source import Source
from byteatlas.io.sources.memory import MemorySource
from byteatlas.types import ByteRange

MOST_EXPANDED = 16 << 30
_RATIO = 2000
"""Text that expands further than this is taken for a bomb (1 MiB of it is always allowed)."""


def _zstd(data: bytes) -> Any:
    import pyarrow as pa

    return pa.CompressedInputStream(pa.BufferReader(data), "zstd")


def _gzip(data: bytes) -> Any:
    import gzip

    return gzip.GzipFile(fileobj=io.BytesIO(data))


def _bz2(data: bytes) -> Any:
    import bz2

    return bz2.BZ2File(io.BytesIO(data))


def _xz(data: bytes) -> Any:
    import lzma

    return lzma.LZMAFile(io.BytesIO(data))


OPENERS: Mapping[CompressionName, Callable[[bytes], Any]] = {"gzip": _gzip, "zstd": _zstd, "bz2": _bz2, "xz": _xz}


def decompressed(source: Source, where: str) -> Source:
    """The source itself, or its text when it is compressed.

    Raises:
        InvalidMetadata: a damaged stream, or one that expands beyond all measure.
    """
    size = source.size()
    head = bytes(source.read([ByteRange(0, min(size, 8))])[0]) if size else b""
    name = compression_of_bytes(head)
    if name is None:
        return source
    from lzma import LZMAError

    most = min(MOST_EXPANDED, max(1 << 20, _RATIO * size))
    out = bytearray()
    try:
        with OPENERS[name](bytes(source.read_all())) as stream:
            while piece := stream.read(1 << 20):
                out += piece
                if len(out) > most:
                    raise InvalidMetadata(where, f"expands to more than {most} bytes")
    except (OSError, EOFError, ValueError, zlib.error, LZMAError) as error:
        raise InvalidMetadata(where, f"a damaged compressed stream ({error})") from error
    return MemorySource(out, where)


class _KeptOpen:
    """A sink as a file that closing does not close: Arrow closes what it writes into."""

    closed = False

    def __init__(self, sink: Sink) -> None:
        self.write = sink.write

    def flush(self) -> None:
        """Nothing is held back here."""

    def close(self) -> None:
        """The owner closes the sink."""


@contextmanager
def compressing(sink: Sink, url: str) -> Iterator[Sink]:
    """A sink that compresses as the URL's suffix says."""
    stream: Any
    raw: Any = sink
    match compression_of_name(url):
        case "gzip":
            import gzip

            stream = gzip.GzipFile(fileobj=raw, mode="wb", compresslevel=6, mtime=0)
        case "bz2":
            import bz2

            stream = bz2.BZ2File(raw, "wb")
        case "xz":
            import lzma

            stream = lzma.LZMAFile(raw, "wb")  # noqa: SIM115 - closed below, behind the block
        case "zstd":
            import pyarrow as pa

            stream = pa.CompressedOutputStream(pa.PythonFile(_KeptOpen(sink), "w"), "zstd")
        case None:
            yield sink
            return
    try:
        yield stream
    except BaseException:
        # What is half written will be thrown away; a stream that is not closed would write its end at any time.
        with suppress(OSError, ValueError):
            stream.close()
        raise
    stream.close()
