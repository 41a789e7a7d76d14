"""Which members of a codec's configuration matter when encoding only: decoders ignore them.

Chunks of two files decode alike when their chains differ in nothing else.
"""

from __future__ import annotations

from collections.abc import Mapping

from byteatlas.codecs.core.registry import default_registry
from byteatlas.codecs.core.table import BUILTIN

NOTHING: frozenset[str] = frozenset()
_LEVEL = frozenset({"level"})
_ZSTD = frozenset({"level", "checksum"})  # the frame header says whether there is a checksum (RFC 8878 3.1.1.1)
_BLOSC = frozenset({"cname", "clevel", "shuffle", "typesize", "blocksize"})  # all of them are in the buffer's header

ENCODING_ONLY: Mapping[str, frozenset[str]] = {
    "gzip": _LEVEL,
    "zstd": _ZSTD,
    "blosc": _BLOSC,
    "numcodecs.zlib": _LEVEL,
    "numcodecs.gzip": _LEVEL,
    "numcodecs.zstd": _ZSTD,
    "numcodecs.blosc": _BLOSC,
    "numcodecs.bz2": _LEVEL,
    "numcodecs.lzma": frozenset({"check", "preset"}),
    "numcodecs.lz4": frozenset({"acceleration"}),
    "numcodecs.imagecodecs_zlib": _LEVEL,
    "numcodecs.imagecodecs_zstd": _LEVEL,
    "numcodecs.imagecodecs_deflate": _LEVEL,  # not ``raw``: a raw stream has no header
}
"""Built-in codecs that are not here have no such members."""


def encoding_only(name: str) -> frozenset[str]:
    """The members of this codec's configuration that decoding ignores.

    A codec of another package names its own in an attribute ``encoding_only`` of its maker.
    """
    if name in BUILTIN:
        return ENCODING_ONLY.get(name, NOTHING)
    registry = default_registry()
    return frozenset(getattr(registry[name], "encoding_only", NOTHING)) if name in registry else NOTHING
