"""Codecs around other codecs: ``conditional`` and ``n5_default`` (Zarr extensions registry)."""

from __future__ import annotations

import math
import struct
from typing import Any

import numpy as np
from numpy.typing import NDArray

from byteatlas.codecs.core.checks import at_least, fits
from byteatlas.codecs.core.contract import (
    MOST_CHUNK,
    ArraySpec,
    Bytes,
    ByteSpec,
    ByteStep,
    ChainContext,
    SerializerStep,
    encoded_limit,
)
from byteatlas.codecs.core.options import Configuration, integer
from byteatlas.codecs.zarr.sharding import fill_with
from byteatlas.errors import CorruptChunk
from byteatlas.meta import fill
from byteatlas.meta.model import CodecSpec, Encoding
from byteatlas.meta.parts import codecs_of
from byteatlas.meta.place import invalid
from byteatlas.types import Shape
from byteatlas.values import dataclass, replace


@dataclass(frozen=True, slots=True)
class Conditional:
    """A bit per codec, in front of each chunk, says whether the codec was applied to it."""

    codecs: tuple[CodecSpec, ...]
    header: int

    def bind_bytes(self, spec: ByteSpec, context: ChainContext) -> ByteStep:
        # Which codecs a chunk went through is known when it is read: sizes in between are bounded, not known.
        loose = replace(spec, nbytes=None) if len(self.codecs) > 1 else spec
        steps = []
        for item in self.codecs:
            step = context.byte_codecs((item,), loose)
            if step:
                loose = ByteSpec(None, max(loose.limit, step[0].limit), spec.itemsize)
            steps.append(step[0] if step else None)
        mask_limit = 1 << len(steps)

        def decode(data: Bytes) -> Bytes:
            at_least("conditional", len(data), self.header)
            view = memoryview(data)
            mask = int.from_bytes(view[: self.header], "little")
            if mask >= mask_limit:
                raise CorruptChunk(f"conditional: bits {mask:#x} for {len(steps)} codecs")
            found: Bytes = view[self.header :]
            for number in reversed(range(len(steps))):
                step = steps[number]
                if mask >> number & 1 and step is not None:
                    found = step.decode(found)
            fits("conditional", len(found), spec)
            return found

        def encode(data: Bytes) -> Bytes:
            mask, found = 0, data
            for number, step in enumerate(steps):
                if step is not None:
                    found = step.encode(found)
                    mask |= 1 << number
            if len(found) >= len(data):
                mask, found = 0, data
            return mask.to_bytes(self.header, "little") + bytes(found)

        return ByteStep(None, self.header + encoded_limit(loose.limit), decode, encode)


def make_conditional(configuration: Configuration) -> Conditional:
    """``conditional``."""
    codecs = codecs_of(configuration.get("codecs"), "codecs")
    bits = integer(configuration, "header_bits", -(-len(codecs) // 8) * 8)
    if bits % 8 or not len(codecs) <= bits <= 1024:
        raise invalid(f"header_bits: {bits} for {len(codecs)} codecs")
    return Conditional(codecs, bits // 8)


@dataclass(frozen=True, slots=True)
class N5Default:
    """A block with its own shape in front (N5 specification, "default" mode); cropped or padded to the chunk.

    The header has the lengths of the axes from the fastest varying on. The transposition before ``bytes`` reverses the
    axes, so that these are the chunk's own axes in their order.
    """

    codecs: tuple[CodecSpec, ...]

    def bind_serializer(self, spec: ArraySpec, context: ChainContext) -> SerializerStep:
        ndim = len(spec.shape)
        axes = self._axes(ndim)
        whole = context.pipeline(Encoding(self.codecs), spec)
        head = struct.Struct(f">HH{ndim}I")
        missing = spec.fill if spec.fill is not None else fill.default(spec.data_type)

        def decode(data: Bytes) -> NDArray[Any]:
            at_least("n5_default", len(data), head.size)
            mode, dims, *lengths = head.unpack_from(data)
            if mode or dims != ndim:
                raise CorruptChunk(f"n5_default: a block of mode {mode} with {dims} dimensions")
            shape = tuple(lengths[axes.index(i)] for i in range(ndim))
            body = memoryview(data)[head.size :]
            if shape == spec.shape:
                found: NDArray[Any] = whole.decode(body)
                return found
            return _fit(self._other(body, shape, spec, context), spec, missing)

        def encode(array: NDArray[Any]) -> Bytes:
            body: bytes = whole.encode(array)
            return head.pack(0, ndim, *(spec.shape[i] for i in axes)) + body

        limit = head.size + encoded_limit(whole.nbytes or 0)
        return SerializerStep(None, limit, decode, encode)

    def _axes(self, ndim: int) -> tuple[int, ...]:
        """The chunk's axes in the order in which the header gives their lengths: as they are stored, fastest first."""
        first = self.codecs[0]
        if first.name != "transpose":
            return tuple(reversed(range(ndim)))
        order = first.configuration.get("order")
        stored = {"C": list(range(ndim)), "F": list(range(ndim))[::-1]}.get(order) if isinstance(order, str) else order
        if not isinstance(stored, list) or sorted(stored) != list(range(ndim)):
            raise invalid(f"order: {order!r} of an array of {ndim} dimensions")
        return tuple(reversed(stored))

    def _other(self, body: memoryview, shape: Shape, spec: ArraySpec, context: ChainContext) -> NDArray[Any]:
        most = max(1, spec.size) * spec.dtype.itemsize
        if any(n == 0 for n in shape) or math.prod(shape) * spec.dtype.itemsize > min(MOST_CHUNK, 64 * most):
            raise CorruptChunk(f"n5_default: a block of shape {shape} for a chunk of {spec.shape}")
        found: NDArray[Any] = context.pipeline(Encoding(self.codecs), replace(spec, shape=shape)).decode(body)
        return found


def _fit(block: NDArray[Any], spec: ArraySpec, missing: object) -> NDArray[Any]:
    """The block truncated, or padded with the fill value, to the chunk's shape."""
    out = np.empty(spec.shape, spec.dtype)
    fill_with(out, missing)
    common = tuple(slice(0, min(a, b)) for a, b in zip(block.shape, spec.shape, strict=True))
    out[common] = block[common]
    return out


def make_n5(configuration: Configuration) -> N5Default:
    """``n5_default``."""
    codecs = codecs_of(configuration.get("codecs"), "codecs")
    names = [c.name for c in codecs]
    if names[:2] != ["transpose", "bytes"] and names[:1] != ["bytes"]:
        raise invalid(f"codecs: {names}; transpose and bytes must be first")
    return N5Default(codecs)
