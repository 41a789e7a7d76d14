"""Codecs for HDF5 filters and datatypes that no other reader has a codec for. They decode only.

The algorithms are in `bits` and `blocks`; element layouts in `byteatlas.meta.elements`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from byteatlas.codecs.core.checks import byte_step, decode_only, exactly
from byteatlas.codecs.core.contract import (
    ArraySpec,
    Bytes,
    ByteSpec,
    ByteStep,
    ChainContext,
    SerializerStep,
)
from byteatlas.codecs.core.options import Configuration, choice, hex_bytes, integer
from byteatlas.codecs.hdf5 import bits as hdf5_bits
from byteatlas.codecs.hdf5 import blocks as hdf5_blocks
from byteatlas.codecs.hdf5 import blosc2_frame
from byteatlas.errors import Unsupported
from byteatlas.meta.elements import ElementLayout, decode, dtype, from_json
from byteatlas.meta.place import invalid
from byteatlas.values import dataclass


@dataclass(frozen=True, slots=True)
class Nbit:
    """Numbers of fewer bits than their bytes have (filter 5)."""

    count: int
    part: hdf5_bits.PackedType

    def bind_bytes(self, spec: ByteSpec, context: ChainContext) -> ByteStep:
        size = self.count * self.part.size
        if size > spec.limit:
            raise invalid(f"n-bit chunks of {size} bytes where the array has {spec.limit}")
        return byte_step("byteatlas.hdf5-nbit", spec, lambda data: hdf5_bits.nbit(data, self.count, self.part))


@dataclass(frozen=True, slots=True)
class MinimumOffset:
    """Numbers less their minimum, in as few bits as they need; floats as decimal fractions (filter 6)."""

    what: hdf5_bits.OffsetNumbers
    count: int

    def bind_bytes(self, spec: ByteSpec, context: ChainContext) -> ByteStep:
        size = self.count * self.what.kind.itemsize
        if size > spec.limit:
            raise invalid(f"scale-offset chunks of {size} bytes where the array has {spec.limit}")
        name = "byteatlas.hdf5-scaleoffset"
        return byte_step(name, spec, lambda data: hdf5_bits.scaleoffset(data, self.what, self.count))


@dataclass(frozen=True, slots=True)
class Bitshuffle:
    """Transposed bits, block by block compressed with LZ4 or Zstandard (filter 32008)."""

    itemsize: int
    compressor: str

    def bind_bytes(self, spec: ByteSpec, context: ChainContext) -> ByteStep:
        def decode(data: Bytes) -> bytes:
            return hdf5_blocks.bitshuffle(data, self.itemsize, self.compressor, spec.limit)

        return byte_step("byteatlas.hdf5-bitshuffle", spec, decode)


@dataclass(frozen=True, slots=True)
class HeaderlessZfp:
    """ZFP streams whose header is in the configuration (filter 32013)."""

    header: bytes
    bits: int
    swap: int

    def bind_bytes(self, spec: ByteSpec, context: ChainContext) -> ByteStep:
        if spec.nbytes is None:
            raise Unsupported("filter", "ZFP inside of a filter whose size varies")
        size = spec.nbytes

        def decode(data: Bytes) -> bytes:
            out = hdf5_blocks.zfp(data, self.header, self.bits, size)
            return np.frombuffer(out, f"u{self.swap}").byteswap().tobytes() if self.swap else out

        return byte_step("byteatlas.hdf5-zfp", spec, decode)


@dataclass(frozen=True, slots=True)
class Blosc2:
    """Blosc2 frames (filter 32026)."""

    def bind_bytes(self, spec: ByteSpec, context: ChainContext) -> ByteStep:
        return byte_step("byteatlas.hdf5-blosc2", spec, lambda data: blosc2_frame.blosc2(data, spec.limit))


@dataclass(frozen=True, slots=True)
class Elements:
    """array -> bytes: elements in a layout that NumPy dtypes cannot say."""

    layout: ElementLayout

    def bind_serializer(self, spec: ArraySpec, context: ChainContext) -> SerializerStep:
        made = dtype(self.layout)
        if made != spec.dtype:
            raise invalid(f"an element layout of {made} for an array of {spec.dtype}")
        size = self.layout.size
        nbytes = spec.size * size

        def decode_elements(data: Bytes) -> NDArray[Any]:
            exactly("byteatlas.hdf5-elements", len(data), nbytes)
            rows = np.frombuffer(data, np.uint8).reshape(spec.size, size)
            return decode(self.layout, rows).reshape(spec.shape)

        return SerializerStep(nbytes, nbytes, decode_elements, decode_only("byteatlas.hdf5-elements"), itemsize=size)


def make_nbit(configuration: Configuration) -> Nbit:
    return Nbit(*hdf5_bits.parse_nbit(configuration.get("values")))


def make_scaleoffset(configuration: Configuration) -> MinimumOffset:
    return MinimumOffset(
        hdf5_bits.parse_scaleoffset(configuration), integer(configuration, "count", least=0, most=1 << 32)
    )


def make_bitshuffle(configuration: Configuration) -> Bitshuffle:
    compressor = choice(configuration, "compressor", ("lz4", "zstd"))
    return Bitshuffle(integer(configuration, "itemsize", least=1, most=1 << 20), compressor)


def make_zfp(configuration: Configuration) -> HeaderlessZfp:
    header, bits = hex_bytes(configuration, "header"), integer(configuration, "bits", least=96, most=148)
    if len(header) * 8 < bits or bits not in (96, 148) or header[:3] != b"zfp":
        raise invalid("header: not one of ZFP")
    swap = choice(configuration, "swap", (0, 4, 8), 0)
    return HeaderlessZfp(header, bits, swap)


def make_blosc2(configuration: Configuration) -> Blosc2:
    return Blosc2()


def make_elements(configuration: Configuration) -> Elements:
    return Elements(from_json(configuration.get("layout")))
