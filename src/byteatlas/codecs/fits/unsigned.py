"""``byteatlas.fits_unsigned``: big-endian integers that are stored with an offset of half their range.

FITS has no unsigned integers of 16, 32 and 64 bits and no signed bytes: they are stored as the other kind, with
``BZERO`` of 2**15, 2**31, 2**63 or -128 (FITS 4.0, section 5.2.5, table 11). Adding it is flipping the highest bit.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from byteatlas.codecs.core.checks import exactly
from byteatlas.codecs.core.contract import ArraySpec, Bytes, ChainContext, SerializerStep
from byteatlas.codecs.core.options import Configuration, only
from byteatlas.meta.place import invalid
from byteatlas.values import dataclass


def flip(array: NDArray[Any]) -> NDArray[Any]:
    """The highest bit of each integer flipped, in place."""
    plain = array.view(f"u{array.itemsize}")
    plain ^= plain.dtype.type(1 << (8 * array.itemsize - 1))
    return array


def check_flips(dtype: np.dtype[Any]) -> None:
    """Only integers have a bit to flip. Raises `InvalidMetadata`."""
    if dtype.kind not in "iu":
        raise invalid(f"an offset of half the range is for integers, not for {dtype}")


@dataclass(frozen=True, slots=True)
class UnsignedIntegers:
    """The codec."""

    def bind_serializer(self, spec: ArraySpec, context: ChainContext) -> SerializerStep:
        check_flips(spec.dtype)
        big, nbytes = spec.dtype.newbyteorder(">"), spec.size * spec.dtype.itemsize

        def patch(array: NDArray[Any]) -> None:
            if array.itemsize > 1:
                array.byteswap(inplace=True)
            flip(array)

        def decode(data: Bytes) -> NDArray[Any]:
            exactly("byteatlas.fits_unsigned", len(data), nbytes)
            return flip(np.frombuffer(data, big).astype(spec.dtype)).reshape(spec.shape)

        def encode(array: NDArray[Any]) -> Bytes:
            return flip(np.array(array, spec.dtype)).astype(big).tobytes()

        return SerializerStep(nbytes, nbytes, decode, encode, spec.dtype.itemsize, in_place=True, patch=patch)


def make(configuration: Configuration) -> UnsignedIntegers:
    """The codec from its configuration, which has no members."""
    only(configuration)
    return UnsignedIntegers()
