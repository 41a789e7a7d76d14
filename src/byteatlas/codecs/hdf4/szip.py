"""``byteatlas.hdf4-szip``: szip as HDF4 frames it (COMP_CODE_SZIP).

Five bytes come first: whether the data are stored as they are, and how many bytes follow. Files of HDF 4.2r0 have none
(``preamble`` false). The other members of the configuration are those of szip itself.
"""

from __future__ import annotations

import numpy as np

from byteatlas.codecs.core.checks import at_least, byte_step
from byteatlas.codecs.core.contract import Bytes, ByteSpec, ByteStep, ChainContext
from byteatlas.codecs.core.options import Configuration, flag, integer, only
from byteatlas.codecs.streams.compression import imagecodecs_function
from byteatlas.values import dataclass

NAME = "hdf4-szip"
PREAMBLE = 5
STORED = 1


@dataclass(frozen=True, slots=True)
class FramedSzip:
    """The codec."""

    mask: int
    block: int
    bits: int
    line: int
    preamble: bool

    def bind_bytes(self, spec: ByteSpec, context: ChainContext) -> ByteStep:
        def decode(data: Bytes) -> Bytes:
            view = memoryview(data)
            if self.preamble:
                at_least(NAME, len(view), PREAMBLE)
                stored, length = view[0] == STORED, int.from_bytes(view[1:PREAMBLE], "big")
                at_least(NAME, len(view) - PREAMBLE, length)
                view = view[PREAMBLE : PREAMBLE + length]
                if stored:
                    return view[: spec.limit]
            wanted = spec.limit if spec.nbytes is None else spec.nbytes
            out = np.empty(wanted, np.uint8)
            found = imagecodecs_function("szip_decode")(
                bytes(view), self.mask, self.block, self.bits, self.line, header=False, out=out
            )
            return np.frombuffer(found, np.uint8)

        return byte_step(NAME, spec, decode)


def make(configuration: Configuration) -> FramedSzip:
    """The codec from its configuration. Raises `InvalidMetadata`."""
    only(configuration, "options_mask", "pixels_per_block", "bits_per_pixel", "pixels_per_scanline", "preamble")
    return FramedSzip(
        integer(configuration, "options_mask", least=0, most=255),
        integer(configuration, "pixels_per_block", least=2, most=32),
        integer(configuration, "bits_per_pixel", least=1, most=64),
        integer(configuration, "pixels_per_scanline", least=1, most=4096),
        flag(configuration, "preamble", True),
    )
