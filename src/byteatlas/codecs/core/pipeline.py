"""Pipelines: a chain of codecs resolved against one chunk shape and compiled to a few functions.

Resolving walks the chain forwards (each codec says what it turns its input into), so that a chain that cannot work
fails when an array is opened. Decoding walks it backwards; the size of every intermediate form is bounded by what the
forward walk found, so that nothing inflates beyond it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from byteatlas.codecs.core.contract import (
    MOST_CHUNK,
    ArrayCodec,
    ArraySpec,
    ArrayStep,
    ByteCodec,
    Bytes,
    ByteSpec,
    ByteStep,
    Make,
    Serializer,
    SerializerStep,
    ShardLayout,
    Writable,
)
from byteatlas.codecs.core.many import compile_many
from byteatlas.codecs.core.registry import default_registry, make_codec
from byteatlas.errors import CorruptChunk, InvalidMetadata, Unsupported
from byteatlas.meta.model import CodecSpec, DataType, Encoding
from byteatlas.types import Buffer, Shape

MOST_CODECS = 64
MOST_NESTING = 8


@dataclass(frozen=True, slots=True)
class RawLayout:
    """The chunk's bytes are the elements themselves: ``dtype`` as stored (byte order included), C or F order."""

    dtype: np.dtype[Any]
    order: Literal["C", "F"]


class Pipeline:
    """Decodes and encodes the chunks of one shape. Safe to use from many threads.

    Attributes:
        shape, dtype: of the decoded chunk; dtype is the array's, in native byte order.
        nbytes: bytes of the decoded chunk; None for variable-length elements.
        raw: set when the chunk's bytes are the array's bytes.
        shard: set when a chunk is a shard whose inner chunks can be read by themselves.
        encoded_nbytes: bytes that every encoded chunk takes, when that is fixed.
    """

    __slots__ = (
        "_decode",
        "_into",
        "_many",
        "_patch",
        "_steps",
        "dtype",
        "encoded_nbytes",
        "nbytes",
        "raw",
        "shape",
        "shard",
    )

    def __init__(self, steps: Steps) -> None:
        self._steps = steps
        spec = steps.spec
        self.shape, self.dtype = spec.shape, spec.dtype
        self.nbytes = None if spec.dtype.hasobject else spec.size * spec.dtype.itemsize
        self.raw = steps.raw_layout()
        self.shard: ShardLayout | None = (
            steps.serializer.shard if not steps.arrays and not steps.byte_steps and steps.cast is None else None
        )
        self.encoded_nbytes = steps.byte_steps[-1].nbytes if steps.byte_steps else steps.serializer.nbytes
        self._into = steps.compile_into()
        self._many = compile_many(steps.byte_steps, self.nbytes) if self._into is not None and self.nbytes else None
        self._patch = steps.serializer.patch
        self._decode = steps.decode

    def decode(self, data: Buffer, out: NDArray[Any] | None = None) -> NDArray[Any]:
        """One chunk's array; with ``out`` (writable, C-contiguous, of this shape and dtype) decoded into it.

        Without ``out`` the result may be a read-only view of ``data``. Raises `CorruptChunk`.
        """
        if self._into is not None:
            if out is None:
                if self.raw is not None:
                    return self._decode(data)
                out = np.empty(self.shape, self.dtype)
            self._into(data, out)
            return out
        found = self._decode(data)
        if out is None:
            return found
        out[...] = found
        return out

    def decode_many(self, values: Sequence[Buffer]) -> NDArray[Any] | None:
        """Tiny chunks together: shape (chunks, chunk shape...), perhaps read-only.

        None when these chunks have to be decoded one by one; `decode` then says what is wrong with which.
        """
        rows = None if self._many is None else self._many(values)
        if rows is None:
            return None
        if self._patch is not None:
            rows = rows if rows.flags.writeable else rows.copy()
            self._patch(rows.view(self.dtype))
        return rows.view(self.dtype).reshape(len(rows), *self.shape)

    def encode(self, array: NDArray[Any]) -> bytes:
        """The bytes of one chunk. Raises `Unsupported` when a codec cannot encode, `InvalidMetadata` for a misfit."""
        if array.shape != self.shape:
            raise InvalidMetadata("", f"a chunk of shape {array.shape} where the pipeline takes {self.shape}")
        found = self._steps.encode(array)
        return found if isinstance(found, bytes) else bytes(memoryview(found).cast("B"))


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
        if len(data) != nbytes:
            raise wrong_size(len(data), nbytes)
        # NumPy reads bytes as the text of a number: only a memoryview is copied byte by byte.
        out[:] = data if isinstance(data, memoryview) else memoryview(data)

    return copy


def _through(decode: Callable[[Bytes], Bytes], nbytes: int) -> Callable[[Bytes, Writable], None]:
    put = _copier(nbytes)

    def through(data: Bytes, out: Writable) -> None:
        put(decode(data), out)

    return through


def wrong_size(have: int, want: int) -> CorruptChunk:
    """A decoded chunk of the wrong length."""
    return CorruptChunk(f"{have} bytes decoded where the chunk has {want}")


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


# ------------------------------------------------------------------------------------------------------ resolving


@dataclass(frozen=True, slots=True)
class Binder:
    """Binds chains; codecs that hold chains of their own get it as their context."""

    registry: Mapping[str, Make]
    depth: int = 0

    def pipeline(self, encoding: Encoding, spec: ArraySpec) -> Pipeline:
        if self.depth >= MOST_NESTING:
            raise InvalidMetadata("", "codecs nested too deep")
        return Pipeline(Binder(self.registry, self.depth + 1).bind(encoding.codecs, spec))

    def byte_codecs(self, codecs: tuple[CodecSpec, ...], spec: ByteSpec) -> list[ByteStep]:
        if self.depth >= MOST_NESTING:
            raise InvalidMetadata("", "codecs nested too deep")
        return Binder(self.registry, self.depth + 1)._bytes(codecs, spec)

    def bind(self, codecs: tuple[CodecSpec, ...], spec: ArraySpec) -> Steps:
        if len(codecs) > MOST_CODECS:
            raise InvalidMetadata("", f"a chain of {len(codecs)} codecs")
        first = spec
        arrays: list[ArrayStep] = []
        for number, item in enumerate(codecs):
            codec = make_codec(item, self.registry)
            if codec is None:
                continue
            if isinstance(codec, ArrayCodec):
                step = codec.bind_array(spec, self)
                arrays.append(step)
                spec = step.spec
            elif isinstance(codec, Serializer):
                serializer = codec.bind_serializer(spec, self)
                inner = ByteSpec(serializer.nbytes, serializer.limit, serializer.itemsize, serializer.raw, spec.shape)
                steps = self._bytes(codecs[number + 1 :], inner)
                return Steps(first, tuple(arrays), serializer, tuple(steps))
            else:
                raise InvalidMetadata("", f"codec {item.name!r} takes bytes, but no codec before it makes bytes")
        raise InvalidMetadata("", "no array -> bytes codec")

    def _bytes(self, codecs: tuple[CodecSpec, ...], spec: ByteSpec) -> list[ByteStep]:
        steps: list[ByteStep] = []
        for item in codecs:
            codec = make_codec(item, self.registry)
            if codec is None:
                continue
            if not isinstance(codec, ByteCodec):
                raise InvalidMetadata("", f"codec {item.name!r} takes an array, but gets bytes")
            step = codec.bind_bytes(spec, self)
            steps.append(step)
            spec = ByteSpec(step.nbytes, step.limit, step.itemsize)
        return steps


def build_pipeline(
    encoding: Encoding,
    data_type: DataType,
    chunk_shape: Shape,
    fill_value: object,
    registry: Mapping[str, Any] | None = None,
) -> Pipeline:
    """The pipeline of chunks of this shape in an array of this type.

    Raises `Unsupported` (unknown codec, chunk too large), `InvalidMetadata` (a chain that cannot work), `MissingExtra`.
    """
    binder = Binder(default_registry() if registry is None else registry)
    if encoding.chunk_shape is not None and encoding.chunk_shape != chunk_shape:
        raise InvalidMetadata("", f"an encoding of chunks {encoding.chunk_shape} used for {chunk_shape}")
    spec = ArraySpec(chunk_shape, data_type, fill_value)
    if not data_type.numpy.hasobject and spec.size * max(1, data_type.numpy.itemsize) > MOST_CHUNK:
        raise Unsupported("too-large", f"a chunk of {spec.size * data_type.numpy.itemsize} bytes")
    stored = encoding.data_type
    if stored is None and not encoding.cast:
        return Pipeline(binder.bind(encoding.codecs, spec))
    if not encoding.cast and stored is not None:
        steps = binder.bind(encoding.codecs, ArraySpec(chunk_shape, stored, None))
        cast = stored if stored.numpy != data_type.numpy else None
        return Pipeline(Steps(spec, steps.arrays, steps.serializer, steps.byte_steps, cast))
    steps = binder.bind((*encoding.cast, *encoding.codecs), spec)
    return Pipeline(steps)
