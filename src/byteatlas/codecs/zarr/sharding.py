"""``sharding_indexed``: many inner chunks and an index of them in one chunk (v3 core, "sharding_indexed" codec)."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from byteatlas.codecs.core.checks import at_least
from byteatlas.codecs.core.contract import MOST_UNKNOWN, ArraySpec, Bytes, ChainContext, SerializerStep, ShardLayout
from byteatlas.codecs.core.options import Configuration, choice
from byteatlas.errors import CorruptChunk, Unsupported
from byteatlas.meta import fill
from byteatlas.meta.dtypes import from_v3
from byteatlas.meta.model import CodecSpec, Encoding
from byteatlas.meta.parts import codecs_of, shape_of
from byteatlas.meta.place import invalid
from byteatlas.types import Buffer, Shape
from byteatlas.values import dataclass, replace

EMPTY = np.uint64(2**64 - 1)
MOST_INNER = 1 << 27


@dataclass(frozen=True, slots=True)
class Sharding:
    """Inner chunks and the index each have a chain of their own."""

    chunk_shape: Shape
    codecs: tuple[CodecSpec, ...]
    index_codecs: tuple[CodecSpec, ...]
    index_location: Literal["start", "end"]

    def bind_serializer(self, spec: ArraySpec, context: ChainContext) -> SerializerStep:
        layout = self._layout(spec, context)

        def decode(data: Bytes) -> NDArray[Any]:
            return decode_shard(memoryview(data), layout, spec)

        def encode(array: NDArray[Any]) -> Bytes:
            return encode_shard(array, layout, spec, self._index(layout.counts, context))

        limit = MOST_UNKNOWN
        if layout.inner.nbytes is not None:
            limit = layout.index_nbytes + math.prod(layout.counts) * (2 * int(layout.inner.nbytes) + (1 << 16))
        return SerializerStep(None, limit, decode, encode, shard=layout)

    def _index(self, counts: Shape, context: ChainContext) -> Any:
        kind = from_v3("uint64")
        return context.pipeline(Encoding(self.index_codecs), ArraySpec((*counts, 2), kind, EMPTY))

    def _layout(self, spec: ArraySpec, context: ChainContext) -> ShardLayout:
        if len(self.chunk_shape) != len(spec.shape):
            raise invalid(f"inner chunks {self.chunk_shape} of shards {spec.shape}")
        if any(n % c for n, c in zip(spec.shape, self.chunk_shape, strict=True)):
            raise invalid(f"inner chunks {self.chunk_shape} do not divide the shard {spec.shape}")
        counts = tuple(n // c for n, c in zip(spec.shape, self.chunk_shape, strict=True))
        if math.prod(counts) > MOST_INNER:
            raise Unsupported("too-large", f"a shard of {math.prod(counts)} inner chunks")
        index = self._index(counts, context)
        if index.encoded_nbytes is None:
            raise invalid("the index codecs of a shard must give a fixed size")
        inner = context.pipeline(Encoding(self.codecs), replace(spec, shape=self.chunk_shape))
        total = math.prod(counts)

        def decode_index(data: Buffer) -> NDArray[np.uint64]:
            found: NDArray[np.uint64] = np.ascontiguousarray(index.decode(data), np.uint64).reshape(total, 2)
            return found

        missing = spec.fill if spec.fill is not None else fill.default(spec.data_type)
        return ShardLayout(
            self.chunk_shape, counts, self.index_location, index.encoded_nbytes, decode_index, inner, missing
        )


def _places(counts: Shape, chunk_shape: Shape) -> Iterator[tuple[slice, ...]]:
    for index in np.ndindex(counts):
        yield tuple(slice(i * c, (i + 1) * c) for i, c in zip(index, chunk_shape, strict=True))


def decode_shard(data: memoryview, layout: ShardLayout, spec: ArraySpec) -> NDArray[Any]:
    """All inner chunks of a shard."""
    size, index_size = len(data), layout.index_nbytes
    at_least("sharding_indexed", size, index_size)
    table = layout.decode_index(data[:index_size] if layout.index_location == "start" else data[size - index_size :])
    out = np.empty(spec.shape, spec.dtype)
    entries = table.tolist()
    empty = int(EMPTY)
    if any(offset == empty and length == empty for offset, length in entries):
        fill_with(out, layout.fill_value)
    for where, (offset, length) in zip(_places(layout.counts, layout.chunk_shape), entries, strict=True):
        if offset == empty and length == empty:
            continue
        if offset + length > size:
            raise CorruptChunk(
                f"sharding_indexed: an inner chunk at {offset}+{length} lies outside of the shard of {size} bytes"
            )
        out[where] = layout.inner.decode(data[offset : offset + length])
    return out


def encode_shard(array: NDArray[Any], layout: ShardLayout, spec: ArraySpec, index: Any) -> bytes:
    """A shard; inner chunks that hold nothing but the fill value are left out."""
    array = np.asarray(array, spec.dtype)
    table = np.full((math.prod(layout.counts), 2), EMPTY, np.uint64)
    parts: list[bytes] = []
    at = layout.index_nbytes if layout.index_location == "start" else 0
    for number, where in enumerate(_places(layout.counts, layout.chunk_shape)):
        chunk = array[where]
        if holds_only(chunk, layout.fill_value):
            continue
        parts.append(layout.inner.encode(chunk))
        table[number] = (at, len(parts[-1]))
        at += len(parts[-1])
    encoded = index.encode(table.reshape(*layout.counts, 2))
    return b"".join([encoded, *parts] if layout.index_location == "start" else [*parts, encoded])


def fill_with(out: NDArray[Any], value: object) -> None:
    """Set all elements; a value that is itself a sequence stays one element."""
    if out.dtype.hasobject and out.dtype.names is None:
        flat = out.reshape(-1)
        for i in range(flat.size):
            flat[i] = value
    else:
        out[...] = value


def holds_only(chunk: NDArray[Any], value: Any) -> bool:
    """Whether all elements are this value, bit by bit."""
    if chunk.dtype.hasobject:
        # Compared by Python: NumPy takes text and bytes that differ in trailing NULs for equal.
        if not isinstance(value, (str, bytes)):
            return False
        return all(type(x) is type(value) and x == value for x in chunk.reshape(-1).tolist())
    bits = np.dtype((np.void, chunk.dtype.itemsize))
    want = np.array(value, chunk.dtype).reshape(1).view(bits)
    return bool((np.ascontiguousarray(chunk).reshape(-1).view(bits) == want).all())


def make(configuration: Configuration) -> Sharding:
    """``sharding_indexed``."""
    return Sharding(
        shape_of(configuration.get("chunk_shape"), "chunk_shape", 1),
        codecs_of(configuration.get("codecs"), "codecs"),
        codecs_of(configuration.get("index_codecs"), "index_codecs"),
        choice(configuration, "index_location", ("start", "end"), "end"),
    )
