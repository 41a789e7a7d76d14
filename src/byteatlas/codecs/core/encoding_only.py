"""Which members of a codec's configuration decoding ignores: what the codec's row in the table says."""

from __future__ import annotations

from byteatlas.codecs.core import imagecodecs_table
from byteatlas.codecs.core.table import BUILTIN, FAMILIES

NOTHING: frozenset[str] = frozenset()


def decoding_ignores(codec_name: str) -> frozenset[str]:
    """Members that change what the encoder writes, and never what a decoder makes of it.

    Two configurations of one codec that differ in these alone decode every chunk alike. Of a codec that is not built
    in, nothing is known: nothing is ignored. No codec's module is imported.

    >>> sorted(decoding_ignores("zstd"))
    ['checksum', 'level']
    >>> decoding_ignores("numcodecs.imagecodecs_deflate")  # ``raw`` says how the stream is read
    frozenset({'level'})
    """
    row = BUILTIN.get(codec_name)
    if row is not None:
        return row.encoding_only
    for prefix in FAMILIES:
        if codec_name.startswith(prefix):
            own = codec_name.removeprefix(prefix)
            row = BUILTIN.get(f"numcodecs.imagecodecs_{own}")
            return imagecodecs_table.encoding_only(own) if row is None else row.encoding_only
    return NOTHING
