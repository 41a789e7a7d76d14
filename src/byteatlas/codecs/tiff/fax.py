"""CCITT fax compressions of TIFF (TIFF 6.0 sections 10 and 11; ITU-T T.4 and T.6). They decode only."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from byteatlas.codecs.core.checks import at_least, byte_step
from byteatlas.codecs.core.contract import Bytes, ByteSpec, ByteStep, ChainContext
from byteatlas.codecs.core.options import Configuration, integer
from byteatlas.codecs.streams.compression import imagecodecs_function
from byteatlas.errors import CorruptChunk
from byteatlas.meta.place import invalid
from byteatlas.values import dataclass


@dataclass(frozen=True, slots=True)
class Fax:
    """CCITT fax compression of one-bit images, as bytes of 0 and 1 (a run of white is 0; MinIsWhite is not undone)."""

    name: str
    height: int
    width: int
    extra: Mapping[str, int]

    def bind_bytes(self, spec: ByteSpec, context: ChainContext) -> ByteStep:
        if spec.nbytes != self.height * self.width:
            raise invalid(f"{self.height} x {self.width} pixels in a chunk of {spec.nbytes} bytes")

        def decode(data: Bytes) -> Bytes:
            at_least(self.name, len(data), 1)
            found = imagecodecs_function(f"{self.name}_decode")(
                bytes(data), height=self.height, width=self.width, **self.extra
            )
            if found.shape != (self.height, self.width) or found.dtype.itemsize != 1:
                raise CorruptChunk(f"{self.name}: {found.shape} pixels decoded, not {(self.height, self.width)}")
            return np.ascontiguousarray(found).reshape(-1).view(np.uint8)

        return byte_step(self.name, spec, decode)


def _fax(name: str, configuration: Configuration, **extra: int) -> Fax:
    height, width = (integer(configuration, key, least=1, most=(1 << 31) - 1) for key in ("height", "width"))
    return Fax(name, height, width, extra)


def make_ccittrle(configuration: Configuration) -> Fax:
    return _fax("ccittrle", configuration)


def make_ccittfax3(configuration: Configuration) -> Fax:
    options = integer(configuration, "t4options", 0, least=0, most=(1 << 32) - 1)
    return _fax("ccittfax3", configuration, t4options=options)


def make_ccittfax4(configuration: Configuration) -> Fax:
    return _fax("ccittfax4", configuration)
