"""Codecs of the Rust crate zarrs that no registry has: ``zarrs.vlen``, ``zarrs.optional``."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from byteatlas.codecs.core.checks import at_least, at_most, exactly
from byteatlas.codecs.core.contract import MOST_UNKNOWN, ArraySpec, Bytes, ChainContext, SerializerStep
from byteatlas.codecs.core.options import Configuration, choice
from byteatlas.errors import CorruptChunk
from byteatlas.meta import dtypes
from byteatlas.meta.model import CodecSpec, Encoding
from byteatlas.meta.parts import codecs_of
from byteatlas.meta.place import invalid
from byteatlas.values import dataclass, replace


@dataclass(frozen=True, slots=True)
class OffsetVlen:
    """An array of offsets and all data, each with codecs of their own; the offsets' length in eight bytes."""

    index_codecs: tuple[CodecSpec, ...]
    data_codecs: tuple[CodecSpec, ...]
    index_type: str
    at_start: bool

    def bind_serializer(self, spec: ArraySpec, context: ChainContext) -> SerializerStep:
        as_text = spec.data_type.name == "string"
        if not as_text and spec.data_type.name not in ("bytes", "binary", "variable_length_bytes"):
            raise invalid(f"not for data type {spec.data_type.name}")
        index = context.pipeline(
            Encoding(self.index_codecs), ArraySpec((spec.size + 1,), dtypes.from_v3(self.index_type))
        )

        def data_pipeline(size: int) -> Any:
            return context.pipeline(Encoding(self.data_codecs), ArraySpec((size,), dtypes.from_v3("uint8")))

        def decode(data: Bytes) -> NDArray[Any]:
            encoded, body = self._parts(memoryview(data))
            offsets = [int(x) for x in index.decode(encoded)]
            if offsets[0] != 0 or any(a > b for a, b in pairwise(offsets)):
                raise CorruptChunk("zarrs.vlen: offsets do not rise")
            at_most("zarrs.vlen", offsets[-1], MOST_UNKNOWN)
            octets = data_pipeline(offsets[-1]).decode(body).tobytes() if offsets[-1] else b""
            flat = np.empty(spec.size, object)
            try:
                for i, (a, b) in enumerate(pairwise(offsets)):
                    flat[i] = octets[a:b].decode() if as_text else octets[a:b]
            except UnicodeDecodeError as error:
                raise CorruptChunk(f"zarrs.vlen: {error}") from error
            return flat.reshape(spec.shape)

        def encode(array: NDArray[Any]) -> Bytes:
            items = [(x or "").encode() if as_text else bytes(x or b"") for x in array.reshape(-1)]
            offsets = np.cumsum([0, *(len(x) for x in items)]).astype(index.dtype)
            octets = np.frombuffer(b"".join(items), np.uint8)
            encoded = index.encode(offsets)
            body = data_pipeline(len(octets)).encode(octets) if len(octets) else b""
            size = len(encoded).to_bytes(8, "little")
            return size + encoded + body if self.at_start else body + encoded + size

        return SerializerStep(None, MOST_UNKNOWN, decode, encode)

    def _parts(self, view: memoryview) -> tuple[memoryview, memoryview]:
        at_least("zarrs.vlen", len(view), 8)
        size = int.from_bytes(view[:8] if self.at_start else view[-8:], "little")
        at_least("zarrs.vlen", len(view), 8 + size)
        if self.at_start:
            return view[8 : 8 + size], view[8 + size :]
        return view[len(view) - 8 - size : len(view) - 8], view[: len(view) - 8 - size]


def make_vlen(configuration: Configuration) -> OffsetVlen:
    """``zarrs.vlen``."""
    return OffsetVlen(
        codecs_of(configuration.get("index_codecs"), "index_codecs"),
        codecs_of(configuration.get("data_codecs"), "data_codecs"),
        choice(configuration, "index_data_type", ("uint32", "uint64"), "uint64"),
        choice(configuration, "index_location", ("start", "end"), "start") == "start",
    )


@dataclass(frozen=True, slots=True)
class Optional:
    """A mask of the elements that exist, and the values of those, each with codecs of their own."""

    mask_codecs: tuple[CodecSpec, ...]
    data_codecs: tuple[CodecSpec, ...]

    def bind_serializer(self, spec: ArraySpec, context: ChainContext) -> SerializerStep:
        if spec.data_type.name != dtypes.OPTIONAL:
            raise invalid(f"not for data type {spec.data_type.name}")
        inner = dtypes.inner_type(spec.data_type)
        mask_of = context.pipeline(
            Encoding(self.mask_codecs), replace(spec, data_type=dtypes.from_v3("bool"), fill=np.False_)
        )

        def values_of(count: int) -> Any:
            return context.pipeline(Encoding(self.data_codecs), ArraySpec((count,), inner))

        values_of(1)

        def decode(data: Bytes) -> NDArray[Any]:
            view = memoryview(data)
            at_least("zarrs.optional", len(view), 16)
            mask_size, size = (int.from_bytes(view[i : i + 8], "little") for i in (0, 8))
            exactly("zarrs.optional", len(view), 16 + mask_size + size)
            mask = mask_of.decode(view[16 : 16 + mask_size]).reshape(-1)
            out = np.full(spec.size, None, object)
            count = int(mask.sum())
            if count:
                out[mask] = values_of(count).decode(view[16 + mask_size :]).astype(object)
            return out.reshape(spec.shape)

        def encode(array: NDArray[Any]) -> Bytes:
            flat = array.reshape(-1)
            mask = np.array([x is not None for x in flat], bool)
            encoded = mask_of.encode(mask.reshape(spec.shape))
            values = np.array(flat[mask].tolist(), inner.numpy)
            body = values_of(len(values)).encode(values) if len(values) else b""
            return len(encoded).to_bytes(8, "little") + len(body).to_bytes(8, "little") + encoded + body

        return SerializerStep(None, MOST_UNKNOWN, decode, encode)


def make_optional(configuration: Configuration) -> Optional:
    """``zarrs.optional``."""
    return Optional(
        codecs_of(configuration.get("mask_codecs"), "mask_codecs"),
        codecs_of(configuration.get("data_codecs"), "data_codecs"),
    )
