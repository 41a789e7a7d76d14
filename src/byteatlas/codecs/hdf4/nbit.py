"""``byteatlas.hdf4-nbit``: integers of which a field of bits is stored (HDF4's COMP_CODE_NBIT).

Configuration: ``itemsize`` in bytes; ``start``, the field's highest bit, counted from the element's lowest; ``length``
in bits; ``sign``: bits above the field repeat its highest one; ``ones``: the other bits are one, and not zero. Elements
come out with their most significant byte first, as they were compressed.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from byteatlas.codecs.core.checks import at_least, byte_step
from byteatlas.codecs.core.contract import Bytes, ByteSpec, ByteStep, ChainContext
from byteatlas.codecs.core.options import Configuration, flag, integer, only
from byteatlas.errors import CorruptChunk
from byteatlas.meta.place import invalid
from byteatlas.values import dataclass

NAME = "hdf4-nbit"
BLOCK = 1 << 16
"""Elements that are unpacked at a time."""


@dataclass(frozen=True, slots=True)
class NBit:
    """The codec."""

    itemsize: int
    start: int
    length: int
    sign: bool
    ones: bool

    def bind_bytes(self, spec: ByteSpec, context: ChainContext) -> ByteStep:
        def decode(data: Bytes) -> Bytes:
            return self._decoded(np.frombuffer(data, np.uint8), spec.limit if spec.nbytes is None else spec.nbytes)

        return byte_step(NAME, spec, decode)

    def _decoded(self, data: NDArray[np.uint8], wanted: int) -> NDArray[np.uint8]:
        count, rest = divmod(wanted, self.itemsize)
        if rest:
            raise CorruptChunk(f"{NAME}: {wanted} bytes are no elements of {self.itemsize}")
        at_least(NAME, len(data), -(-count * self.length // 8))
        out = np.empty((count, self.itemsize), np.uint8)
        for first in range(0, count, BLOCK):  # a multiple of eight elements begins on a byte
            part = out[first : first + BLOCK]
            begin, bits = first * self.length // 8, len(part) * self.length
            self._unpack(np.unpackbits(data[begin : begin + -(-bits // 8)], count=bits), part)
        return out.reshape(-1)

    def _unpack(self, bits: NDArray[np.uint8], out: NDArray[np.uint8]) -> None:
        field = bits.reshape(len(out), self.length)
        whole = 8 * self.itemsize
        first = whole - 1 - self.start
        element = np.full((len(out), whole), self.ones, np.uint8)
        element[:, first : first + self.length] = field
        if self.sign:
            element[:, :first] = field[:, :1]
        out[...] = np.packbits(element, axis=1)


def make(configuration: Configuration) -> NBit:
    """The codec from its configuration. Raises `InvalidMetadata`."""
    only(configuration, "itemsize", "start", "length", "sign", "ones")
    itemsize = integer(configuration, "itemsize", least=1, most=8)
    start = integer(configuration, "start", least=0, most=8 * itemsize - 1)
    length = integer(configuration, "length", least=1, most=8 * itemsize)
    if length > start + 1:
        raise invalid(f"length: {length} bits from bit {start} down")
    return NBit(itemsize, start, length, flag(configuration, "sign", False), flag(configuration, "ones", False))
