"""numcodecs' object codecs ``vlen-array`` and ``categorize``. Pickle is refused: see `table.REFUSED`."""

from __future__ import annotations

import struct
from typing import Any

import numpy as np
from numpy.typing import NDArray

from byteatlas.codecs.core.checks import exactly
from byteatlas.codecs.core.contract import MOST_UNKNOWN, ArraySpec, Bytes, ChainContext, SerializerStep
from byteatlas.codecs.core.options import Configuration, type_string
from byteatlas.codecs.zarr.vlen import check_count
from byteatlas.errors import CorruptChunk
from byteatlas.meta.place import invalid
from byteatlas.values import dataclass


@dataclass(frozen=True, slots=True)
class VlenArray:
    """A count, then each element as its number of bytes and the bytes of a one-dimensional array."""

    dtype: np.dtype[Any] | None

    def bind_serializer(self, spec: ArraySpec, context: ChainContext) -> SerializerStep:
        if not spec.dtype.hasobject or spec.dtype.names:
            raise invalid(f"not for data type {spec.data_type.name}")
        count, dtype = spec.size, self.dtype
        native = None if dtype is None else dtype.newbyteorder("=")

        def element(data: memoryview) -> Any:
            if dtype is None or native is None:
                return data.tobytes()
            if len(data) % dtype.itemsize:
                raise CorruptChunk(f"vlen-array: {len(data)} bytes are no {dtype}")
            return np.frombuffer(data, dtype).astype(native)

        def decode(data: Bytes) -> NDArray[Any]:
            check_count(data, count)
            flat = np.empty(count, object)
            view, at = memoryview(data), 4
            for i in range(count):
                if at + 4 > len(view):
                    raise CorruptChunk("vlen-array: the chunk ends within an element")
                (length,) = struct.unpack_from("<I", view, at)
                at += 4
                if at + length > len(view):
                    raise CorruptChunk(f"vlen-array: an element of {length} bytes sticks out of the chunk")
                flat[i] = element(view[at : at + length])
                at += length
            return flat.reshape(spec.shape)

        def encode(array: NDArray[Any]) -> Bytes:
            parts = [struct.pack("<I", count)]
            for value in array.reshape(-1):
                item = value if dtype is None else np.asarray([] if value is None else value).astype(dtype).tobytes()
                parts += [struct.pack("<I", len(item)), item]
            return b"".join(parts)

        return SerializerStep(None, MOST_UNKNOWN, decode, encode)


def make_vlen_array(configuration: Configuration) -> VlenArray:
    """``numcodecs.vlen-array``; without a dtype the elements are bytes."""
    return VlenArray(type_string(configuration, "dtype") if configuration.get("dtype") is not None else None)


@dataclass(frozen=True, slots=True)
class Categorize:
    """Labels by number; 0 is none of them and reads as the empty string."""

    labels: tuple[str, ...]
    astype: np.dtype[Any]

    def bind_serializer(self, spec: ArraySpec, context: ChainContext) -> SerializerStep:
        if spec.dtype.kind not in "OU" or spec.dtype.names:
            raise invalid(f"not for data type {spec.data_type.name}")
        nbytes = spec.size * self.astype.itemsize
        table = np.empty(len(self.labels) + 1, object)
        table[:] = ["", *self.labels]

        def decode(data: Bytes) -> NDArray[Any]:
            exactly("categorize", len(data), nbytes)
            codes = np.frombuffer(data, self.astype).astype(np.int64)
            codes[(codes < 0) | (codes >= len(table))] = 0
            return table[codes].astype(spec.dtype).reshape(spec.shape)

        def encode(array: NDArray[Any]) -> Bytes:
            codes = np.zeros(array.shape, self.astype)
            for number, label in enumerate(self.labels):
                codes[array == label] = number + 1
            return codes.tobytes()

        return SerializerStep(nbytes, nbytes, decode, encode, self.astype.itemsize)


def make_categorize(configuration: Configuration) -> Categorize:
    """``numcodecs.categorize``."""
    labels = configuration.get("labels")
    if not isinstance(labels, list) or not all(isinstance(x, str) for x in labels):
        raise invalid(f"labels: {labels!r} is not a list of strings")
    astype = type_string(configuration, "astype", "|u1", "iu")
    if len(labels) >= 1 << (8 * astype.itemsize - 1):
        raise invalid(f"labels: {len(labels)} as {astype}")
    return Categorize(tuple(labels), astype)
