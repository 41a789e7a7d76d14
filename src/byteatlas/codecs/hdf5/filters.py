"""Codecs for HDF5 filters and datatypes that no other reader has a codec for. They decode only.

The algorithms are in `hdf5_bits` and `hdf5_blocks`; element layouts in `byteatlas.meta.elements`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from byteatlas.codecs.core.contract import (
    ArraySpec,
    Bytes,
    ByteSpec,
    ByteStep,
    Context,
    SerializerStep,
    encoded_limit,
)
from byteatlas.codecs.hdf5 import bits as hdf5_bits
from byteatlas.codecs.hdf5 import blocks as hdf5_blocks
from byteatlas.errors import CorruptChunk, InvalidMetadata, Unsupported
from byteatlas.meta.elements import Layout, decode, dtype, from_json
from byteatlas.types import JSON


def _no_encoder(name: str) -> Callable[[Any], Any]:
    def encode(data: Any) -> Any:
        raise Unsupported("codec", f"codec {name!r} only decodes")

    return encode


def _byte_step(name: str, spec: ByteSpec, decode: Callable[[Bytes], bytes]) -> ByteStep:
    """A step whose result has exactly the bytes that are expected, where that is known."""

    def checked(data: Bytes) -> bytes:
        out = decode(data)
        if len(out) > spec.limit or (spec.nbytes is not None and len(out) != spec.nbytes):
            raise CorruptChunk(f"{name}: {len(out)} bytes decoded where {spec.nbytes or spec.limit} are expected")
        return out

    return ByteStep(None, encoded_limit(spec.limit), checked, _no_encoder(name), itemsize=spec.itemsize)


def _count(configuration: Mapping[str, JSON], name: str, least: int, most: int) -> int:
    value = configuration.get(name)
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
        raise InvalidMetadata("", f"{name} {value!r} is not between {least} and {most}")
    return value


@dataclass(frozen=True, slots=True)
class Nbit:
    """Numbers of fewer bits than their bytes have (filter 5)."""

    count: int
    part: hdf5_bits.Part

    def bind_bytes(self, spec: ByteSpec, context: Context) -> ByteStep:
        size = self.count * self.part.size
        if size > spec.limit:
            raise InvalidMetadata("", f"n-bit chunks of {size} bytes where the array has {spec.limit}")
        return _byte_step("byteatlas.hdf5-nbit", spec, lambda data: hdf5_bits.nbit(data, self.count, self.part))


@dataclass(frozen=True, slots=True)
class ScaleOffset:
    """Numbers less their minimum, in as few bits as they need; floats as decimal fractions (filter 6)."""

    what: hdf5_bits.ScaleOffset
    count: int

    def bind_bytes(self, spec: ByteSpec, context: Context) -> ByteStep:
        size = self.count * self.what.kind.itemsize
        if size > spec.limit:
            raise InvalidMetadata("", f"scale-offset chunks of {size} bytes where the array has {spec.limit}")
        name = "byteatlas.hdf5-scaleoffset"
        return _byte_step(name, spec, lambda data: hdf5_bits.scaleoffset(data, self.what, self.count))


@dataclass(frozen=True, slots=True)
class Bitshuffle:
    """Transposed bits, block by block compressed with LZ4 or Zstandard (filter 32008)."""

    itemsize: int
    compressor: str

    def bind_bytes(self, spec: ByteSpec, context: Context) -> ByteStep:
        def decode(data: Bytes) -> bytes:
            return hdf5_blocks.bitshuffle(data, self.itemsize, self.compressor, spec.limit)

        return _byte_step("byteatlas.hdf5-bitshuffle", spec, decode)


@dataclass(frozen=True, slots=True)
class Zfp:
    """ZFP streams whose header is in the configuration (filter 32013)."""

    header: bytes
    bits: int
    swap: int

    def bind_bytes(self, spec: ByteSpec, context: Context) -> ByteStep:
        if spec.nbytes is None:
            raise Unsupported("filter", "ZFP inside of a filter whose size varies")
        size = spec.nbytes

        def decode(data: Bytes) -> bytes:
            out = hdf5_blocks.zfp(data, self.header, self.bits, size)
            return np.frombuffer(out, f"u{self.swap}").byteswap().tobytes() if self.swap else out

        return _byte_step("byteatlas.hdf5-zfp", spec, decode)


@dataclass(frozen=True, slots=True)
class Blosc2:
    """Blosc2 frames (filter 32026)."""

    def bind_bytes(self, spec: ByteSpec, context: Context) -> ByteStep:
        return _byte_step("byteatlas.hdf5-blosc2", spec, lambda data: hdf5_blocks.blosc2(data, spec.limit))


@dataclass(frozen=True, slots=True)
class Elements:
    """array -> bytes: elements in a layout that NumPy dtypes cannot say."""

    layout: Layout

    def bind_serializer(self, spec: ArraySpec, context: Context) -> SerializerStep:
        made = dtype(self.layout)
        if made != spec.dtype:
            raise InvalidMetadata("", f"an element layout of {made} for an array of {spec.dtype}")
        size = self.layout.size
        nbytes = spec.size * size

        def decode_elements(data: Bytes) -> NDArray[Any]:
            if len(data) != nbytes:
                raise CorruptChunk(f"{len(data)} bytes decoded where the chunk has {nbytes}")
            rows = np.frombuffer(data, np.uint8).reshape(spec.size, size)
            return decode(self.layout, rows).reshape(spec.shape)

        return SerializerStep(nbytes, nbytes, decode_elements, _no_encoder("byteatlas.hdf5-elements"), itemsize=size)


def make_nbit(configuration: Mapping[str, JSON]) -> Nbit:
    return Nbit(*hdf5_bits.parse_nbit(configuration.get("values")))


def make_scaleoffset(configuration: Mapping[str, JSON]) -> ScaleOffset:
    return ScaleOffset(hdf5_bits.parse_scaleoffset(configuration), _count(configuration, "count", 0, 1 << 32))


def make_bitshuffle(configuration: Mapping[str, JSON]) -> Bitshuffle:
    compressor = configuration.get("compressor")
    if compressor not in ("lz4", "zstd"):
        raise InvalidMetadata("", f"bitshuffle with compressor {compressor!r}")
    return Bitshuffle(_count(configuration, "itemsize", 1, 1 << 20), compressor)


def make_zfp(configuration: Mapping[str, JSON]) -> Zfp:
    try:
        header = bytes.fromhex(configuration["header"])
    except (KeyError, TypeError, ValueError) as error:
        raise InvalidMetadata("", f"a ZFP header: {error}") from error
    bits = _count(configuration, "bits", 96, 148)
    if len(header) * 8 < bits or bits not in (96, 148) or header[:3] != b"zfp":
        raise InvalidMetadata("", "not a ZFP header")
    swap = configuration.get("swap", 0)
    if swap not in (0, 4, 8):
        raise InvalidMetadata("", f"swap {swap!r}")
    return Zfp(header, bits, swap)


def make_blosc2(configuration: Mapping[str, JSON]) -> Blosc2:
    return Blosc2()


def make_elements(configuration: Mapping[str, JSON]) -> Elements:
    return Elements(from_json(configuration.get("layout")))
