"""``bytes``: elements as they are, one after the other (v3 core, "bytes" codec), and ``byteatlas.bytes``.

``byteatlas.bytes`` is for element layouts that ``bytes`` has no words for: structured types whose fields differ in byte
order, have gaps between them, or are stored in other widths than they have in memory. Its configuration is a v2-style
``dtype`` (fields as lists), and ``offsets`` and ``itemsize`` when the fields are not packed.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from byteatlas.codecs.core.checks import exactly
from byteatlas.codecs.core.contract import ArraySpec, Bytes, ChainContext, SerializerStep
from byteatlas.codecs.core.options import Configuration, choice
from byteatlas.meta import dtypes
from byteatlas.meta.place import InMember, invalid
from byteatlas.values import dataclass

NATIVE = {"little": "<", "big": ">"}[sys.byteorder]


@dataclass(frozen=True, slots=True)
class BytesCodec:
    """``endian`` is None where elements are single bytes."""

    endian: str | None

    def bind_serializer(self, spec: ArraySpec, context: ChainContext) -> SerializerStep:
        if spec.dtype.hasobject:
            raise invalid(f"not for the variable-length data type {spec.data_type.name}")
        memory = dtypes.stored_dtype(spec.data_type)
        # zarr-python writes no byte order with its older name of structured types; the bytes are little endian.
        if self.endian is None and dtypes.byte_orders(memory) and spec.data_type.name != "structured":
            raise invalid(f"endian: needed for data type {spec.data_type.name}")
        stored = memory.newbyteorder("<" if self.endian in ("little", None) else ">")
        return bind_stored(spec, stored)


@dataclass(frozen=True, slots=True)
class StoredBytes:
    """Elements stored as any NumPy dtype that can be assigned to the array's."""

    stored: np.dtype[Any]

    def bind_serializer(self, spec: ArraySpec, context: ChainContext) -> SerializerStep:
        if spec.dtype.names != self.stored.names:
            raise invalid(f"stored fields {self.stored.names} of an array with fields {spec.dtype.names}")
        return bind_stored(spec, self.stored)


def make_bytes(configuration: Configuration) -> BytesCodec:
    """``bytes``."""
    return BytesCodec(choice(configuration, "endian", ("little", "big", None)))


def make_stored(configuration: Configuration) -> StoredBytes:
    """``byteatlas.bytes``."""
    with InMember("dtype"):
        packed = dtypes.numpy_v2(configuration.get("dtype"))
    offsets, itemsize = configuration.get("offsets"), configuration.get("itemsize")
    if offsets is None and itemsize is None:
        return StoredBytes(packed)
    names = packed.names or ()
    if not isinstance(offsets, list) or len(offsets) != len(names) or type(itemsize) is not int:
        raise invalid("offsets and itemsize go together, one offset per field")
    if not 0 < itemsize <= dtypes.MOST_ITEMSIZE:
        raise invalid(f"itemsize: elements of {itemsize} bytes")
    for name, at in zip(names, offsets, strict=True):
        if type(at) is not int or not 0 <= at <= itemsize - packed[name].itemsize:
            raise invalid(f"offsets: field {name!r} at {at!r} of {itemsize} bytes")
    formats = [packed[name] for name in names]
    return StoredBytes(np.dtype({"names": list(names), "formats": formats, "offsets": offsets, "itemsize": itemsize}))


def bind_stored(spec: ArraySpec, stored: np.dtype[Any]) -> SerializerStep:
    """The step for elements stored as a dtype."""
    nbytes = spec.size * stored.itemsize
    part = dtypes.complex_part(spec.data_type)
    bits = dtypes.BITS.get(spec.dtype.name)
    if part is not None:
        return _narrow_complex(spec, stored, nbytes)
    swapped = stored.newbyteorder("=") == spec.dtype and stored.newbyteorder("=") != stored
    same = stored == spec.dtype
    patch: Callable[[NDArray[Any]], None] | None = None
    if swapped and spec.dtype.names is None:
        patch = _swap
    elif bits is not None:
        patch = _spare_bits(spec.dtype)
    in_place = same or patch is not None

    def decode(data: Bytes) -> NDArray[Any]:
        exactly("bytes", len(data), nbytes)
        found = np.frombuffer(data, stored).reshape(spec.shape) if nbytes else np.empty(spec.shape, stored)
        if patch is not None and patch is not _swap:
            found = found.copy()
            patch(found)
        return found if same else found.astype(spec.dtype)

    def encode(array: NDArray[Any]) -> Bytes:
        if array.dtype != spec.dtype:
            array = array.astype(spec.dtype)
        return np.ascontiguousarray(array).astype(stored, copy=False).tobytes()

    raw = stored if bits is None else None
    return SerializerStep(nbytes, nbytes, decode, encode, stored.itemsize, raw, in_place, patch)


def _swap(array: NDArray[Any]) -> None:
    # Complex numbers are swapped half by half by NumPy itself.
    array.byteswap(inplace=True)


def _spare_bits(dtype: np.dtype[Any]) -> Callable[[NDArray[Any]], None]:
    """Only the low bits of a byte are the number; what the others hold is not defined."""
    bits = dtypes.BITS[dtype.name]
    signed = dtype.name.startswith("int")

    def patch(array: NDArray[Any]) -> None:
        octets = array.reshape(-1).view(np.uint8)
        if signed:
            spare = np.uint8(8 - bits)
            octets[:] = ((octets << spare).view(np.int8) >> spare.astype(np.int8)).view(np.uint8)
        else:
            octets &= np.uint8((1 << bits) - 1)

    return patch


def _narrow_complex(spec: ArraySpec, stored: np.dtype[Any], nbytes: int) -> SerializerStep:
    def decode(data: Bytes) -> NDArray[Any]:
        exactly("bytes", len(data), nbytes)
        pairs = np.frombuffer(data, stored)
        out = np.empty((spec.size, 2), np.float32)
        out[:, 0], out[:, 1] = pairs["real"].astype(np.float32), pairs["imag"].astype(np.float32)
        return out.view(np.complex64).reshape(spec.shape)

    def encode(array: NDArray[Any]) -> Bytes:
        pairs = np.empty(spec.size, stored)
        flat = np.ascontiguousarray(array).reshape(-1)
        pairs["real"], pairs["imag"] = flat.real.astype(stored["real"]), flat.imag.astype(stored["imag"])
        return pairs.tobytes()

    return SerializerStep(nbytes, nbytes, decode, encode, stored.itemsize)
