"""``vlen-utf8`` and ``vlen-bytes``: a count, then each element as a length and its bytes (numcodecs' format)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numcodecs.vlen import VLenBytes, VLenUTF8
from numpy.typing import NDArray

from byteatlas.codecs.core.contract import MOST_UNKNOWN, ArraySpec, Bytes, Context, SerializerStep
from byteatlas.errors import CorruptChunk, InvalidMetadata
from byteatlas.types import JSON


@dataclass(frozen=True, slots=True)
class Vlen:
    """Text (``str`` elements) or bytes. Either may be asked for arrays of the other type."""

    is_text: bool

    def bind_serializer(self, spec: ArraySpec, context: Context) -> SerializerStep:
        if not spec.dtype.hasobject or spec.dtype.names:
            raise InvalidMetadata("", f"vlen-{'utf8' if self.is_text else 'bytes'} for {spec.data_type.name}")
        as_text = spec.data_type.name == "string" or (self.is_text and spec.data_type.name == "byteatlas.object")
        codec = VLenUTF8() if as_text else VLenBytes()
        count = spec.size

        def decode(data: Bytes) -> NDArray[Any]:
            check_count(data, count)
            if not count:
                return np.empty(spec.shape, object)
            try:
                return np.asarray(codec.decode(data), object).reshape(spec.shape)
            except (ValueError, UnicodeDecodeError, OverflowError) as error:
                raise CorruptChunk(f"vlen: {error}") from error

        empty: Any = "" if as_text else b""
        encode = _encoder(codec, empty)
        return SerializerStep(None, MOST_UNKNOWN, decode, encode)


def check_count(data: Bytes, count: int) -> None:
    """The four bytes in front must say as many elements as the chunk has, and there must be room for them."""
    if len(data) < 4:
        raise CorruptChunk(f"vlen: {len(data)} bytes have no count of elements")
    found = int.from_bytes(bytes(data[:4]), "little")
    if found != count:
        raise CorruptChunk(f"vlen: {found} elements where the chunk has {count}")
    if len(data) < 4 + 4 * count:
        raise CorruptChunk(f"vlen: {len(data)} bytes cannot hold {count} elements")


def _encoder(codec: Any, empty: Any) -> Callable[[NDArray[Any]], Bytes]:
    def encode(array: NDArray[Any]) -> Bytes:
        flat = np.array([empty if x is None else x for x in array.reshape(-1)], object)
        if not flat.size:
            return b"\0\0\0\0"
        try:
            return bytes(codec.encode(flat))
        except TypeError as error:
            raise InvalidMetadata("", f"vlen: {error}") from error

    return encode


def make_utf8(configuration: Mapping[str, JSON]) -> Vlen:
    """``vlen-utf8``."""
    return Vlen(True)


def make_bytes(configuration: Mapping[str, JSON]) -> Vlen:
    """``vlen-bytes``."""
    return Vlen(False)
