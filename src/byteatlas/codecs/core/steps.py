"""A bound chain of codecs, and how its decoding is compiled to one function.

Decoding walks the chain backwards. Where the bytes of the elements are what the last byte codec gives, they are decoded
straight into the array's memory.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from byteatlas.codecs.core.checks import exactly
from byteatlas.codecs.core.contract import ArraySpec, ArrayStep, Bytes, ByteStep, SerializerStep, Writable
from byteatlas.errors import CorruptChunk
from byteatlas.meta.model import DataType
from byteatlas.values import dataclass


@dataclass(frozen=True, slots=True)
class RawLayout:
    """The chunk's bytes are the elements themselves: ``dtype`` as stored (byte order included), C or F order."""

    dtype: np.dtype[Any]
    order: Literal["C", "F"]


@dataclass(frozen=True, slots=True)
class Steps:
    """A bound chain, in encoding order."""

    spec: ArraySpec
    arrays: tuple[ArrayStep, ...]
    serializer: SerializerStep
    byte_steps: tuple[ByteStep, ...]
    cast: DataType | None = None
    """Set when what the codecs decode to still has to be converted to ``spec``'s type."""

    def raw_layout(self) -> RawLayout | None:
        raw = self.serializer.raw
        if raw is None or self.byte_steps or self.cast is not None:
            return None
        match len(self.arrays):
            case 0:
                return RawLayout(raw, "C")
            case 1 if getattr(self.arrays[0].decode, "reverses_axes", False):
                return RawLayout(raw, "F")
        return None

    def decode(self, data: Bytes) -> NDArray[Any]:
        """The general way: each step makes a new buffer or array."""
        for step in reversed(self.byte_steps):
            data = step.decode(data)
        array = self.serializer.decode(data)
        for array_step in reversed(self.arrays):
            array = array_step.decode(array)
        return array if self.cast is None else value_cast(array, self.spec.dtype)

    def encode(self, array: NDArray[Any]) -> Bytes:
        if self.cast is not None:
            array = value_cast(array, self.cast.numpy)
        for step in self.arrays:
            array = step.encode(array)
        data = self.serializer.encode(array)
        for byte_step in self.byte_steps:
            data = byte_step.encode(data)
        return data

    def compile_into(self) -> Callable[[Bytes, NDArray[Any]], None] | None:
        """Decode straight into an array, when the bytes of its elements are what the last byte codec gives."""
        serializer = self.serializer
        nbytes = serializer.nbytes
        if self.arrays or not serializer.in_place or nbytes is None or self.cast is not None or not nbytes:
            return None
        put = compile_bytes(self.byte_steps, nbytes)
        return _bind_view(put, serializer.patch, self.spec.dtype)


def _bind_view(
    put: Callable[[Bytes, Writable], None], patch: Callable[[NDArray[Any]], None] | None, dtype: np.dtype[Any]
) -> Callable[[Bytes, NDArray[Any]], None]:
    # memoryview.cast costs half of what two NumPy views do, but knows plain numbers only.
    plain = dtype.kind in "biuf" and dtype.itemsize <= 8 and dtype.char in "?bBhHiIlLqQefd"

    def into(data: Bytes, out: NDArray[Any]) -> None:
        put(data, out.data.cast("B") if plain else out.reshape(-1).view(np.uint8))
        if patch is not None:
            patch(out)

    return into


def compile_bytes(steps: tuple[ByteStep, ...], nbytes: int) -> Callable[[Bytes, Writable], None]:
    """Functions of the byte codecs, outermost first, fused where the next one can take its input in place."""
    if not steps:
        return _copier(nbytes)
    first = steps[0]
    if first.staged is not None and len(steps) > 1 and steps[1].into is not None and steps[0].nbytes is not None:
        return _fused(first.staged, steps[1].into, tuple(s.decode for s in reversed(steps[2:])))
    outer = tuple(s.decode for s in reversed(steps[1:]))
    into = first.into if first.into is not None else _through(first.decode, nbytes)
    if not outer:
        return into

    def chain(data: Bytes, out: Writable) -> None:
        for decode in outer:
            data = decode(data)
        into(data, out)

    return chain


def _fused(
    staged: Callable[[Callable[[Writable], None], Writable], None],
    inner: Callable[[Bytes, Writable], None],
    outer: tuple[Callable[[Bytes], Bytes], ...],
) -> Callable[[Bytes, Writable], None]:
    def fused(data: Bytes, out: Writable) -> None:
        for decode in outer:
            data = decode(data)
        staged(lambda body: inner(data, body), out)

    return fused


def _copier(nbytes: int) -> Callable[[Bytes, Writable], None]:
    def copy(data: Bytes, out: Writable) -> None:
        exactly("chunk", len(data), nbytes)
        # NumPy reads bytes as the text of a number: only a memoryview is copied byte by byte.
        out[:] = data if isinstance(data, memoryview) else memoryview(data)

    return copy


def _through(decode: Callable[[Bytes], Bytes], nbytes: int) -> Callable[[Bytes, Writable], None]:
    put = _copier(nbytes)

    def through(data: Bytes, out: Writable) -> None:
        put(decode(data), out)

    return through


def value_cast(array: NDArray[Any], dtype: np.dtype[Any]) -> NDArray[Any]:
    """Convert values; integers that do not fit raise instead of wrapping round."""
    if array.dtype == dtype:
        return array
    if dtype.kind in "iu" and array.dtype.kind in "iuf" and array.size:
        info = np.iinfo(dtype)
        low, high = array.min(), array.max()
        if not (low >= info.min and high <= info.max):
            raise CorruptChunk(f"values between {low} and {high} do not fit {dtype}")
    return array.astype(dtype)
