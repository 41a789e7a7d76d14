"""``byteatlas.hdf4-rle``: run lengths of bytes (HDF4's COMP_CODE_RLE), and the older form of raster images.

A byte with its high bit set stands for a run of the byte behind it, any other one for so many bytes as they are. The
newer form counts from three and from one; the older one (tag DFTAG_RLE of the HDF specification) from nothing.
Configuration: ``form``, ``data`` or ``raster``.
"""

from __future__ import annotations

from byteatlas.codecs.core.checks import byte_step
from byteatlas.codecs.core.contract import Bytes, ByteSpec, ByteStep, ChainContext
from byteatlas.codecs.core.options import Configuration, choice, only
from byteatlas.errors import CorruptChunk
from byteatlas.values import dataclass

NAME = "hdf4-rle"
RUN, COUNT = 0x80, 0x7F
LEAST = {"data": (3, 1), "raster": (0, 0)}
"""What is added to the counts of runs and of bytes as they are."""


@dataclass(frozen=True, slots=True)
class RunLengths:
    """The codec."""

    run: int
    plain: int

    def bind_bytes(self, spec: ByteSpec, context: ChainContext) -> ByteStep:
        def decode(data: Bytes) -> Bytes:
            return self._decoded(bytes(data), spec.limit if spec.nbytes is None else spec.nbytes)

        return byte_step(NAME, spec, decode)

    def _decoded(self, data: bytes, wanted: int) -> bytes:
        out = bytearray()
        at, end = 0, len(data)
        while len(out) < wanted:
            if at + 1 >= end:
                raise CorruptChunk(f"{NAME}: {len(out)} bytes decoded where there should be {wanted}")
            code = data[at]
            if code & RUN:
                out += data[at + 1 : at + 2] * ((code & COUNT) + self.run)
                at += 2
            else:
                length = code + self.plain
                out += data[at + 1 : at + 1 + length]
                at += 1 + length
                if at > end:
                    raise CorruptChunk(f"{NAME}: the data end inside of a run")
        del out[wanted:]
        return bytes(out)


def make(configuration: Configuration) -> RunLengths:
    """The codec from its configuration. Raises `InvalidMetadata`."""
    only(configuration, "form")
    return RunLengths(*LEAST[choice(configuration, "form", ("data", "raster"), "data")])
