"""Chains of codecs, resolved against one chunk shape.

Resolving walks the chain forwards (each codec says what it turns its input into), so that a chain that cannot work
fails when an array is opened. The size of every intermediate form is bounded by what the forward walk found, so that
nothing inflates beyond it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from byteatlas.codecs.core.contract import (
    MOST_CHUNK,
    ArraySpec,
    ArrayStep,
    ByteSpec,
    ByteStep,
    Make,
    encoded_limit,
    is_array_codec,
    is_byte_codec,
    is_serializer,
)
from byteatlas.codecs.core.pipeline import Pipeline
from byteatlas.codecs.core.registry import default_registry, make_codec
from byteatlas.codecs.core.steps import Steps
from byteatlas.errors import Unsupported
from byteatlas.meta.dtypes import MOST_AXES, axes_of
from byteatlas.meta.model import CodecSpec, DataType, Encoding
from byteatlas.meta.place import InMember, invalid
from byteatlas.types import Shape
from byteatlas.values import dataclass

MOST_CODECS = 64
MOST_NESTING = 8


@dataclass(frozen=True, slots=True)
class Binder:
    """Binds chains; codecs that hold chains of their own get it as their context."""

    registry: Mapping[str, Make]
    depth: int = 0

    def pipeline(self, encoding: Encoding, spec: ArraySpec) -> Pipeline:
        if self.depth >= MOST_NESTING:
            raise invalid("codecs nested too deep")
        return Pipeline(Binder(self.registry, self.depth + 1).bind(encoding.codecs, spec))

    def byte_codecs(self, codecs: tuple[CodecSpec, ...], spec: ByteSpec) -> list[ByteStep]:
        if self.depth >= MOST_NESTING:
            raise invalid("codecs nested too deep")
        return Binder(self.registry, self.depth + 1)._bytes(codecs, spec)

    def bind(self, codecs: tuple[CodecSpec, ...], spec: ArraySpec) -> Steps:
        """The whole chain. Errors say which codec they are about."""
        if len(codecs) > MOST_CODECS:
            raise invalid(f"a chain of {len(codecs)} codecs")
        first = spec
        arrays: list[ArrayStep] = []
        for number, item in enumerate(codecs):
            with InMember(f"codec {item.name!r}"):
                codec = make_codec(item, self.registry)
                if codec is not None and is_array_codec(codec):
                    arrays.append(codec.bind_array(spec, self))
                    spec = arrays[-1].spec
                    continue
                serializer = codec.bind_serializer(spec, self) if codec is not None and is_serializer(codec) else None
                if codec is not None and serializer is None:
                    raise invalid("it takes bytes, but no codec before it makes bytes")
            if serializer is not None:
                inner = ByteSpec(serializer.nbytes, serializer.limit, serializer.itemsize, serializer.raw, spec.shape)
                return Steps(first, tuple(arrays), serializer, tuple(self._bytes(codecs[number + 1 :], inner)))
        raise invalid("no array -> bytes codec")

    def _bytes(self, codecs: tuple[CodecSpec, ...], spec: ByteSpec) -> list[ByteStep]:
        steps: list[ByteStep] = []
        # Not twice as much for each codec more: what is compressed several times does not grow each time.
        most = encoded_limit(encoded_limit(spec.limit))
        for item in codecs:
            with InMember(f"codec {item.name!r}"):
                codec = make_codec(item, self.registry)
                if codec is None:
                    continue
                if not is_byte_codec(codec):
                    raise invalid("it takes an array, but gets bytes")
                steps.append(codec.bind_bytes(spec, self))
            nbytes = steps[-1].nbytes
            spec = ByteSpec(nbytes, max(nbytes or 0, min(steps[-1].limit, most)), steps[-1].itemsize)
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
        raise invalid(f"an encoding of chunks {encoding.chunk_shape} used for {chunk_shape}")
    spec = ArraySpec(chunk_shape, data_type, fill_value)
    axes = len(chunk_shape) + axes_of(data_type.numpy)
    if axes > MOST_AXES:
        raise Unsupported("too-large", f"chunks of {axes} axes, those of their elements among them")
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
