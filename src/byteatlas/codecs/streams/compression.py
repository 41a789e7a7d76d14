"""Compressions of plain bytes, each around two functions of imagecodecs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np

from byteatlas.codecs.core.checks import IMAGECODECS_FAULTS, Decoding, at_least, at_most, byte_step, exactly
from byteatlas.codecs.core.contract import Bytes, ByteSpec, ByteStep, ChainContext, Writable
from byteatlas.errors import CorruptChunk

Decode: TypeAlias = Callable[[Any, Any], Any]
"""Encoded bytes, and where to decode to: a writable buffer, or the most bytes that may come out."""


def functions(name: str) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """imagecodecs' decoder and encoder of this name; it is imported when one is first called."""

    def decode(*args: Any, **options: Any) -> Any:
        import imagecodecs

        return getattr(imagecodecs, f"{name}_decode")(*args, **options)

    def encode(*args: Any, **options: Any) -> Any:
        import imagecodecs

        return getattr(imagecodecs, f"{name}_encode")(*args, **options)

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
    decode: Decode
    encode: Callable[[Bytes], Bytes]
    measure: Callable[[Bytes], int] | None = None
    surplus: Callable[[Any, int], Any] | None = None
    in_place: bool = True

    def bind_bytes(self, spec: ByteSpec, context: ChainContext) -> ByteStep:
        def decode(data: Bytes) -> Bytes:
            if self.measure is not None:
                at_most(self.name, self.measure(data), spec.limit)
            return self._run(data, spec.limit, spec.limit)

        def into(data: Bytes, out: Writable) -> None:
            target = np.frombuffer(out, np.uint8)
            if self.measure is not None:
                exactly(self.name, self.measure(data), len(target))
            found = self._run(data, target, len(target))
            exactly(self.name, len(found), len(target))
            if not np.shares_memory(target, np.frombuffer(found, np.uint8)):
                target[:] = np.frombuffer(found, np.uint8)

        step = byte_step(self.name, spec, decode, self.encode)
        return replace(step, into=into) if self.in_place and spec.nbytes is not None else step

    def _run(self, data: Bytes, out: Any, wanted: int) -> Any:
        at_least(self.name, len(data), 1)
        try:
            return self.decode(as_bytes(data), out)
        except IMAGECODECS_FAULTS as error:
            if self.surplus is None:
                raise CorruptChunk(f"{self.name}: {error}") from error
        with Decoding(self.name):
            return memoryview(self.surplus(as_bytes(data), wanted))[:wanted]


def compression(name: str, surplus: Callable[[Any, int], Any] | None = None) -> Compression:
    """A codec whose functions take no options. They are imported when they are first called."""
    decode, encode = functions(name)
    return Compression(name, lambda data, out: decode(data, out=out), encode, surplus=surplus)
