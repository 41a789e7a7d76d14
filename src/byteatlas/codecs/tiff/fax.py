"""CCITT fax compressions of TIFF (TIFF 6.0 sections 10 and 11; ITU-T T.4 and T.6). They decode only.

They are registered under the names that imagecodecs gives to numcodecs. imagecodecs' own decoders leave the rest of a
damaged image white, so rows are decoded here.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from byteatlas.codecs.core.checks import at_least, byte_step
from byteatlas.codecs.core.contract import Bytes, ByteSpec, ByteStep, ChainContext
from byteatlas.codecs.core.options import Configuration, integer
from byteatlas.codecs.tiff.fax_rows import decode_group_3, decode_group_4, decode_modified_huffman
from byteatlas.meta.place import invalid
from byteatlas.values import dataclass


@dataclass(frozen=True, slots=True)
class Fax:
    """CCITT fax compression of one-bit images, as bytes of 0 and 1 (a run of white is 0; MinIsWhite is not undone)."""

    name: str
    height: int
    width: int
    decoder: Callable[[Bytes, int, int], NDArray[np.uint8]]

    def bind_bytes(self, spec: ByteSpec, context: ChainContext) -> ByteStep:
        if spec.nbytes != self.height * self.width:
            raise invalid(f"{self.height} x {self.width} pixels in a chunk of {spec.nbytes} bytes")

        def decode(data: Bytes) -> Bytes:
            at_least(self.name, len(data), 1)
            return self.decoder(data, self.height, self.width).reshape(-1)

        return byte_step(self.name, spec, decode)


def _fax(name: str, configuration: Configuration, decoder: Callable[[Bytes, int, int], NDArray[np.uint8]]) -> Fax:
    height, width = (integer(configuration, key, least=1, most=(1 << 31) - 1) for key in ("height", "width"))
    return Fax(name, height, width, decoder)


def make_ccittrle(configuration: Configuration) -> Fax:
    return _fax("ccittrle", configuration, decode_modified_huffman)


TWO_DIMENSIONAL = 1
"""Bit of T4Options."""


def make_ccittfax3(configuration: Configuration) -> Fax:
    options = integer(configuration, "t4options", 0, least=0, most=(1 << 32) - 1)

    def decoder(data: Bytes, height: int, width: int) -> NDArray[np.uint8]:
        return decode_group_3(data, height, width, bool(options & TWO_DIMENSIONAL))

    return _fax("ccittfax3", configuration, decoder)


def make_ccittfax4(configuration: Configuration) -> Fax:
    return _fax("ccittfax4", configuration, decode_group_4)
