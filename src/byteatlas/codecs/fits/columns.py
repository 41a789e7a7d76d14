"""``byteatlas.fits_column``: one field of records of fixed length, as in binary tables and random groups.

A chunk is whole records (rows); the field is a strided part of them (FITS 4.0, sections 6.1 and 7.3). Configuration:
``stride``, bytes of a record; ``offset``, where the field begins in it; ``dtype``, the type of its elements as stored;
``form``, what they become:

- ``number``: the same elements in native byte order (characters are bytes);
- ``unsigned``: integers with an offset of half their range (`byteatlas.codecs.fits.unsigned`);
- ``bits``: Booleans, eight of each byte, the most significant bit first;
- ``logical``: Booleans, true where the byte is ``T``.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from byteatlas.codecs.core.checks import decode_only, exactly
from byteatlas.codecs.core.contract import ArraySpec, Bytes, ChainContext, SerializerStep
from byteatlas.codecs.core.options import Configuration, choice, integer, only, type_string
from byteatlas.codecs.fits.unsigned import check_flips, flip
from byteatlas.meta.place import invalid
from byteatlas.types import Shape
from byteatlas.values import dataclass

NAME = "byteatlas.fits_column"
MOST_STRIDE = 1 << 40
TRUE = ord("T")

Convert: TypeAlias = Callable[[NDArray[Any]], NDArray[Any]]
"""Stored elements of shape (records, ...) to the chunk's values."""


@dataclass(frozen=True, slots=True)
class FitsColumn:
    """The codec."""

    stride: int
    offset: int
    stored: np.dtype[Any]
    form: str

    def bind_serializer(self, spec: ArraySpec, context: ChainContext) -> SerializerStep:
        if not spec.shape or spec.dtype.hasobject:
            raise invalid(f"not for {spec.data_type.name} of shape {spec.shape}")
        rows, inner = spec.shape[0], self._inner(spec.shape[1:])
        convert = self._convert(spec)
        width = prod(inner) * self.stored.itemsize
        if self.offset + width > self.stride:
            raise invalid(f"a field of {width} bytes at {self.offset} in records of {self.stride}")
        nbytes, stored = rows * self.stride, self.stored
        strides = (self.stride, *(stored.itemsize * prod(inner[k + 1 :]) for k in range(len(inner))))

        def decode(data: Bytes) -> NDArray[Any]:
            exactly(NAME, len(data), nbytes)
            return convert(np.ndarray((rows, *inner), stored, data, self.offset, strides))

        return SerializerStep(nbytes, nbytes, decode, decode_only(NAME), self.stride)

    def _inner(self, shape: Shape) -> Shape:
        """The shape of one record's elements as stored."""
        if self.form != "bits":
            return shape
        if len(shape) != 1:
            raise invalid(f"bits of shape {shape}")
        return (-(-shape[0] // 8),)

    def _convert(self, spec: ArraySpec) -> Convert:
        dtype, shape, stored = spec.dtype, spec.shape, self.stored
        match self.form:
            case "bits" | "logical" if dtype != np.bool_ or stored.itemsize != 1:
                raise invalid(f"{self.form} of {stored} as {dtype}")
            case "bits":
                return lambda found: np.unpackbits(found, axis=1, count=shape[1]).view(np.bool_)
            case "logical":
                return lambda found: found == TRUE
        if dtype.itemsize != stored.itemsize or (self.form == "number" and dtype.kind != stored.kind):
            raise invalid(f"{stored} as {dtype}")
        if self.form == "number":
            return lambda found: found.astype(dtype)
        check_flips(dtype)
        return lambda found: flip(found.astype(stored.newbyteorder("=")).view(dtype))


def make(configuration: Configuration) -> FitsColumn:
    """The codec from its configuration. Raises `InvalidMetadata`."""
    only(configuration, "stride", "offset", "dtype", "form")
    stride = integer(configuration, "stride", least=1, most=MOST_STRIDE)
    offset = integer(configuration, "offset", 0, least=0, most=stride)
    form = choice(configuration, "form", ("number", "unsigned", "bits", "logical"), "number")
    return FitsColumn(stride, offset, type_string(configuration, "dtype", kinds="iufcSV"), form)
