"""Compressions of plain bytes, each around two functions of imagecodecs."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, TypeAlias

import numpy as np

from byteatlas.codecs.core.checks import IMAGECODECS_FAULTS, DamageGuard, at_least, at_most, byte_step, exactly
from byteatlas.codecs.core.contract import Bytes, ByteSpec, ByteStep, ChainContext, Writable
from byteatlas.errors import CorruptChunk
from byteatlas.values import dataclass, replace

StreamDecoder: TypeAlias = Callable[[Any, Any], Any]
"""Encoded bytes, and where to decode to: a writable buffer, or the most bytes that may come out."""


@cache
def imagecodecs_function(name: str) -> Callable[..., Any]:
    """A function of imagecodecs, which is imported by the first call."""
    import imagecodecs

    found: Callable[..., Any] = getattr(imagecodecs, name)
    return found


def functions(name: str) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """imagecodecs' decoder and encoder of this name; it is imported when one is first called."""
    decoder, encoder = f"{name}_decode", f"{name}_encode"

    def decode(*args: Any, **options: Any) -> Any:
        return imagecodecs_function(decoder)(*args, **options)

    def encode(*args: Any, **options: Any) -> Any:
        return imagecodecs_function(encoder)(*args, **options)

    return decode, encode


def as_bytes(data: Bytes) -> bytes | memoryview:
    """Something that all of imagecodecs' decoders take."""
    return data if isinstance(data, (bytes, memoryview)) else memoryview(data)


@dataclass(frozen=True, slots=True)
class Compression:
    """A compression of plain bytes.

    Attributes:
        measure: encoded bytes -> the decoded size that they claim; None: they claim none.
        surplus: how to decode a stream that has more bytes than the number wanted, or fewer; None: as any other.
        in_place: ``decode`` writes into a buffer that it is given.
    """

    name: str
    decode: StreamDecoder
    encode: Callable[[Bytes], Bytes]
    measure: Callable[[Bytes], int] | None = None
    surplus: Callable[[Any, int], Any] | None = None
    in_place: bool = True

    def bind_bytes(self, spec: ByteSpec, context: ChainContext) -> ByteStep:
        def decode(data: Bytes) -> Bytes:
            if self.measure is not None:
                at_most(self.name, self.measure(data), spec.limit)
            try:
                return self._decode(data, spec.limit)
            except IMAGECODECS_FAULTS as error:
                return self._again(data, spec.limit, error)

        def into(data: Bytes, out: Writable) -> None:
            target = np.frombuffer(out, np.uint8)
            if self.measure is not None:
                exactly(self.name, self.measure(data), len(target))
            try:
                exactly(self.name, len(self._decode(data, target)), len(target))
            except IMAGECODECS_FAULTS as error:
                found = self._again(data, len(target), error)
                exactly(self.name, len(found), len(target))
                target[:] = found

        step = byte_step(self.name, spec, decode, self.encode)
        return replace(step, into=into) if self.in_place and spec.nbytes is not None else step

    def _decode(self, data: Bytes, out: Any) -> Any:
        at_least(self.name, len(data), 1)
        return self.decode(as_bytes(data), out)

    def _again(self, data: Bytes, wanted: int, error: Exception) -> memoryview:
        """The way for streams of another length; raises `CorruptChunk` when there is none, or when it fails too."""
        if self.surplus is None:
            raise CorruptChunk(f"{self.name}: {error}") from error
        with DamageGuard(self.name):
            return memoryview(self.surplus(as_bytes(data), wanted))[:wanted]


def compression(name: str, surplus: Callable[[Any, int], Any] | None = None) -> Compression:
    """A codec whose functions take no options. They are imported when they are first called."""
    decode, encode = functions(name)
    return Compression(name, lambda data, out: decode(data, out=out), encode, surplus=surplus)
