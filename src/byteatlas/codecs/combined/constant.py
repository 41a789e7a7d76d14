"""``byteatlas.constant``: a chunk that is one value throughout, whatever its bytes.

It stands for chunks that were never written, in arrays whose files have different fill values. Configuration:
``value``, the element's bytes (little endian) as hexadecimal digits.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from byteatlas.codecs.core.checks import exactly
from byteatlas.codecs.core.contract import ArraySpec, Bytes, ChainContext, SerializerStep
from byteatlas.codecs.core.options import Configuration, hex_bytes, only
from byteatlas.meta.place import invalid
from byteatlas.values import dataclass

PLACEHOLDER = b"\0"
"""What the chunk's bytes are: not empty, because some readers take empty for absent."""


@dataclass(frozen=True, slots=True)
class Constant:
    """The codec."""

    element: bytes

    def bind_serializer(self, spec: ArraySpec, context: ChainContext) -> SerializerStep:
        dtype = spec.dtype
        if dtype.hasobject or len(self.element) != dtype.itemsize:
            raise invalid(f"{len(self.element)} bytes for an element of {spec.data_type.name}")
        stored = np.frombuffer(self.element, dtype.newbyteorder("<"))
        value = stored.astype(dtype)[0] if dtype.fields is None else stored.astype(dtype).reshape(())[()]
        shape = spec.shape

        def decode(data: Bytes) -> NDArray[Any]:
            exactly("byteatlas.constant", len(data), len(PLACEHOLDER))
            return np.broadcast_to(np.asarray(value, dtype), shape)

        return SerializerStep(len(PLACEHOLDER), len(PLACEHOLDER), decode, lambda array: PLACEHOLDER)


def make(configuration: Configuration) -> Constant:
    """The codec from its configuration. Raises `InvalidMetadata`."""
    only(configuration, "value")
    return Constant(hex_bytes(configuration, "value"))
