"""``vlen-utf8`` and ``vlen-bytes``: a count, then each element as a length and its bytes (numcodecs' format)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from byteatlas.codecs.core.checks import at_least
from byteatlas.codecs.core.contract import MOST_UNKNOWN, ArraySpec, Bytes, ChainContext, SerializerStep
from byteatlas.codecs.core.options import Configuration
from byteatlas.errors import CorruptChunk
from byteatlas.meta.place import invalid
from byteatlas.values import dataclass


@dataclass(frozen=True, slots=True)
class Vlen:
    """Text (``str`` elements) or bytes. Either may be asked for arrays of the other type."""

    is_text: bool

    def bind_serializer(self, spec: ArraySpec, context: ChainContext) -> SerializerStep:
        if not spec.dtype.hasobject or spec.dtype.names:
            raise invalid(f"not for data type {spec.data_type.name}")
        as_text = spec.data_type.name == "string" or (self.is_text and spec.data_type.name == "byteatlas.object")
        count = spec.size

        def decode(data: Bytes) -> NDArray[Any]:
            check_count(data, count)
            if not count:
                return np.empty(spec.shape, object)
            codec = _numcodecs(as_text)
            try:
                return np.asarray(codec.decode(data), object).reshape(spec.shape)
            except (ValueError, UnicodeDecodeError, OverflowError) as error:
                raise CorruptChunk(f"vlen: {error}") from error

        return SerializerStep(None, MOST_UNKNOWN, decode, _encoder(as_text))


def _numcodecs(as_text: bool) -> Any:
    from numcodecs.vlen import VLenBytes, VLenUTF8

    return VLenUTF8() if as_text else VLenBytes()


def check_count(data: Bytes, count: int) -> None:
    """The four bytes in front must say as many elements as the chunk has, and there must be room for them."""
    at_least("vlen", len(data), 4)
    found = int.from_bytes(bytes(data[:4]), "little")
    if found != count:
        raise CorruptChunk(f"vlen: {found} elements where the chunk has {count}")
    at_least("vlen", len(data), 4 + 4 * count)


def _encoder(as_text: bool) -> Callable[[NDArray[Any]], Bytes]:
    empty: Any = "" if as_text else b""

    def encode(array: NDArray[Any]) -> Bytes:
        flat = np.array([empty if x is None else x for x in array.reshape(-1)], object)
        if not flat.size:
            return b"\0\0\0\0"
        try:
            return bytes(_numcodecs(as_text).encode(flat))
        except TypeError as error:
            raise invalid(f"elements are of another type: {error}") from error

    return encode


def make_utf8(configuration: Configuration) -> Vlen:
    """``vlen-utf8``."""
    return Vlen(True)


def make_bytes(configuration: Configuration) -> Vlen:
    """``vlen-bytes``."""
    return Vlen(False)
