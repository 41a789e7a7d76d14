"""What codecs are.

A codec is a frozen object made from its configuration. It is *bound* once, when an array is opened, to what it works
on (`ArraySpec` or `ByteSpec`); binding checks everything that can be checked without data and returns a step: a few
plain functions. A chunk is then decoded by calling those functions in order.

A codec has one or more of three methods, one for each kind in the specification: ``bind_array`` (array -> array),
``bind_serializer`` (array -> bytes) and ``bind_bytes`` (bytes -> bytes). Steps decode and encode from many threads at
once. DamageGuard raises `CorruptChunk`; binding raises `Unsupported` and `InvalidMetadata`.

A codec's module has a frozen class and a maker, and the table has a row for it::

    @dataclass(frozen=True, slots=True)
    class Snappy:
        level: int

        def bind_bytes(self, spec: ByteSpec, context: ChainContext) -> ByteStep:
            def decode(data: Bytes) -> Bytes:
                import snappy  # imported by the first chunk, not by the first array

                return snappy.decompress(data, spec.limit)  # never more than the chunk can have

            return byte_step("snappy", spec, decode)  # checks the size, turns faults into CorruptChunk


    def make(configuration: Configuration) -> Snappy:
        return Snappy(integer(configuration, "level", 1, least=0, most=9))  # `core.options` reads all members
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, Protocol, TypeAlias, TypeGuard, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from byteatlas.meta.model import CodecSpec, DataType, Encoding
from byteatlas.types import JSON, Buffer, Shape
from byteatlas.values import dataclass

MOST_UNKNOWN = 1 << 30
"""Bytes that a chunk of variable-length elements may decode to."""
MOST_CHUNK = 1 << 46
"""Bytes of a chunk beyond which an array is refused."""

Bytes: TypeAlias = Any
"""Anything with the buffer protocol, one-dimensional, of single bytes."""
Writable: TypeAlias = Any
"""The same, writable (a memoryview of bytes or a ``uint8`` array)."""


@dataclass(frozen=True, slots=True)
class ArraySpec:
    """An array that a codec sees: its shape, data type (in memory: ``data_type.numpy``) and fill value.

    ``fill`` is the fill value after the codecs before this one; None where it is not defined.
    """

    shape: Shape
    data_type: DataType
    fill: object = None

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.data_type.numpy

    @property
    def size(self) -> int:
        return math.prod(self.shape)


@dataclass(frozen=True, slots=True)
class ByteSpec:
    """Bytes that a codec sees: how many (None: varies), at most how many, and how many make one element."""

    nbytes: int | None
    limit: int
    itemsize: int = 1
    dtype: np.dtype[Any] | None = None
    shape: Shape | None = None
    """Type and shape of the array that the bytes are, while they are no more than that (for lossy v2 compressors)."""


@dataclass(frozen=True, slots=True)
class ArrayStep:
    """A bound array -> array codec; ``spec`` is what it encodes to."""

    spec: ArraySpec
    decode: Callable[[NDArray[Any]], NDArray[Any]]
    encode: Callable[[NDArray[Any]], NDArray[Any]]


@dataclass(frozen=True, slots=True)
class ShardLayout:
    """How a shard is laid out, for readers that fetch only some of its inner chunks.

    Attributes:
        chunk_shape: of the inner chunks.
        counts: inner chunks along each axis.
        index_location, index_nbytes: where the encoded index is, and how many bytes it takes.
        decode_index: encoded index -> uint64 array of shape (inner chunks, 2), C order; both 2**64-1: empty.
        inner: the pipeline of one inner chunk.
        fill_value: what an empty inner chunk decodes to.
    """

    chunk_shape: Shape
    counts: Shape
    index_location: Literal["start", "end"]
    index_nbytes: int
    decode_index: Callable[[Buffer], NDArray[np.uint64]]
    inner: Any
    fill_value: object


@dataclass(frozen=True, slots=True)
class SerializerStep:
    """A bound array -> bytes codec.

    Attributes:
        nbytes: bytes that every chunk takes, None when that varies.
        limit: the most bytes that a chunk may take.
        itemsize: bytes of one element, 1 when there are no elements of one size.
        raw: the dtype of the elements as stored (byte order included), when the bytes are nothing but the elements in C
            order and NumPy converts that dtype to the array's own.
        in_place: the bytes can be put into the memory of an array of the right dtype; then ``patch`` does what is left
            to do (swap bytes, clear spare bits; None: nothing).
        shard: how inner chunks can be read by themselves.
    """

    nbytes: int | None
    limit: int
    decode: Callable[[Bytes], NDArray[Any]]
    encode: Callable[[NDArray[Any]], Bytes]
    itemsize: int = 1
    raw: np.dtype[Any] | None = None
    in_place: bool = False
    patch: Callable[[NDArray[Any]], None] | None = None
    shard: ShardLayout | None = None


@dataclass(frozen=True, slots=True)
class ByteStep:
    """A bound bytes -> bytes codec.

    Attributes:
        nbytes, limit: bytes of the encoded form; None when that varies; at most.
        decode: never returns more than the bound spec's limit.
        into: decode straight into a writable buffer of exactly the bound spec's ``nbytes``; None = not possible.
        staged: like ``into``, but the encoded bytes are put in place by a callback: ``staged(fill, out)`` calls
            ``fill(buffer)`` with a buffer of ``nbytes`` bytes.
        many: ``decode`` of a list of tiny chunks; may give an array (n, bytes) and need not check lengths. Raises
            `CorruptChunk` when the list had better be decoded one by one.
    """

    nbytes: int | None
    limit: int
    decode: Callable[[Bytes], Bytes]
    encode: Callable[[Bytes], Bytes]
    into: Callable[[Bytes, Writable], None] | None = None
    staged: Callable[[Callable[[Writable], None], Writable], None] | None = None
    itemsize: int = 1
    many: Callable[[Sequence[Bytes]], Sequence[Bytes]] | None = None


@runtime_checkable
class ArrayCodec(Protocol):
    """array -> array."""

    def bind_array(self, spec: ArraySpec, context: ChainContext) -> ArrayStep: ...


@runtime_checkable
class Serializer(Protocol):
    """array -> bytes."""

    def bind_serializer(self, spec: ArraySpec, context: ChainContext) -> SerializerStep: ...


@runtime_checkable
class ByteCodec(Protocol):
    """bytes -> bytes."""

    def bind_bytes(self, spec: ByteSpec, context: ChainContext) -> ByteStep: ...


Codec: TypeAlias = ArrayCodec | Serializer | ByteCodec


def is_array_codec(codec: Codec) -> TypeGuard[ArrayCodec]:
    """Whether a codec is an `ArrayCodec`. Its class is asked, which is remembered: ``isinstance`` takes longer."""
    return issubclass(type(codec), ArrayCodec)


def is_serializer(codec: Codec) -> TypeGuard[Serializer]:
    """Whether a codec is a `Serializer`; see `is_array_codec`."""
    return issubclass(type(codec), Serializer)


def is_byte_codec(codec: Codec) -> TypeGuard[ByteCodec]:
    """Whether a codec is a `ByteCodec`; see `is_array_codec`."""
    return issubclass(type(codec), ByteCodec)


Make: TypeAlias = Callable[[Mapping[str, JSON]], Codec]
"""A codec from its configuration. Raises `InvalidMetadata`, `Unsupported`, `MissingExtra`."""


class ChainContext(Protocol):
    """What a codec that contains others needs for binding them."""

    def pipeline(self, encoding: Encoding, spec: ArraySpec) -> Any:
        """A pipeline for inner chunks."""
        ...

    def byte_codecs(self, codecs: tuple[CodecSpec, ...], spec: ByteSpec) -> list[ByteStep]:
        """Bound bytes -> bytes codecs, innermost first."""
        ...


def encoded_limit(limit: int) -> int:
    """More than any compressor makes of ``limit`` bytes: what an outer codec may decode to."""
    return 2 * limit + (1 << 16)
