"""``zstd`` (v3 registry; numcodecs' ``zstd``): any number of frames, with or without their sizes."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from byteatlas.codecs.core.checks import exactly
from byteatlas.codecs.core.contract import Bytes, ByteSpec, ByteStep, ChainContext, Writable, encoded_limit
from byteatlas.codecs.core.options import Configuration, EncoderSetting, flag, setting
from byteatlas.errors import CorruptChunk
from byteatlas.types import JSON
from byteatlas.values import dataclass

FIRST_GUESS = 1 << 16
LEAST_LEVEL, MOST_LEVEL = -131072, 22


@dataclass(frozen=True, slots=True)
class Zstd:
    level: EncoderSetting
    checksum: JSON

    def bind_bytes(self, spec: ByteSpec, context: ChainContext) -> ByteStep:
        limit, nbytes = spec.limit, spec.nbytes

        def decode(data: Bytes) -> Bytes:
            if nbytes is not None:
                out = np.empty(nbytes, np.uint8)
                _into(data, out, nbytes)
                return out
            return _grow(data, limit)

        def encode(data: Bytes) -> Bytes:
            from numcodecs.zstd import Zstd as Encoder

            # Zstandard takes its highest level for one beyond it.
            level = min(self.level.value(), MOST_LEVEL)
            return bytes(Encoder(level, flag({"checksum": self.checksum}, "checksum", False)).encode(data))

        into = None if nbytes is None else _bound(nbytes)
        return ByteStep(None, encoded_limit(limit), decode, encode, into)


def _bound(nbytes: int) -> Callable[[Bytes, Writable], None]:
    def into(data: Bytes, out: Writable) -> None:
        _into(data, out, nbytes)

    return into


def _into(data: Bytes, out: Writable, nbytes: int) -> None:
    import imagecodecs

    try:
        found = imagecodecs.zstd_decode(data, out=out)
    except imagecodecs.ZstdError as error:
        raise CorruptChunk(f"zstd: {error}") from error
    exactly("zstd", len(found), nbytes)


def _grow(data: Bytes, limit: int) -> Bytes:
    """Decode to a size that is not known: try larger and larger buffers, up to the limit."""
    import imagecodecs

    size = min(limit, max(FIRST_GUESS, 4 * len(data)))
    while True:
        out = np.empty(size, np.uint8)
        try:
            return np.frombuffer(imagecodecs.zstd_decode(data, out=out), np.uint8)
        except imagecodecs.ZstdError as error:
            if "too small" not in str(error) or size >= limit:
                raise CorruptChunk(f"zstd: {error}") from error
        size = min(limit, 4 * size)


def make(configuration: Configuration) -> Zstd:
    """``zstd`` and ``numcodecs.zstd``."""
    return Zstd(setting(configuration, "level", 0, least=LEAST_LEVEL), configuration.get("checksum"))
