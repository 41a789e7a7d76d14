"""Encoding with imagecodecs: whole images without loss, compressors of plain bytes; and image codecs as serializers.

Not every image format keeps every element type, and many lose something unless told not to. An encoded chunk is
decoded again before it is given away: values that do not come back as they were are refused, never written.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from byteatlas.codecs.core.checks import decode_only
from byteatlas.codecs.core.contract import (
    Bytes,
    ByteSpec,
)
from byteatlas.codecs.core.imagecodecs_table import COMPRESSORS, ENCODERS
from byteatlas.codecs.core.options import Configuration
from byteatlas.errors import ByteatlasError, Unsupported
from byteatlas.meta.place import invalid
from byteatlas.types import JSON, Shape

ENCODE_FAULTS = (RuntimeError, ValueError, TypeError, NotImplementedError, AttributeError, OverflowError, ImportError)
"""What imagecodecs raises for values, shapes, types and options that a format cannot have, or that a build lacks."""


LOSSY = "it has no encoder here that keeps all values"


def options_of(name: str, keys: tuple[str, ...], configuration: Configuration) -> dict[str, Any]:
    """The members of a configuration that an encoder takes. Raises `InvalidMetadata` for any that are no scalars."""
    given = {key: configuration[key] for key in keys if configuration.get(key) is not None}
    if not all(isinstance(v, (bool, int, float, str)) for v in given.values()):
        raise invalid(f"not numbers, strings or Booleans: {given!r}")
    return given


def image_encoder(
    name: str, configuration: Configuration, spec: ByteSpec, decode: Callable[[Bytes], Bytes]
) -> Callable[[Bytes], Bytes]:
    """An encoder for chunks that are images; ``decode`` is used to check that nothing is lost.

    A chunk's axes of length 1 do not count, as in imagecodecs' own classes (``squeeze`` says which ones do not).
    The encoder raises `Unsupported` for what the format cannot hold.
    """
    if name not in ENCODERS:
        return decode_only(f"imagecodecs_{name}", LOSSY)
    squeeze = configuration.get("squeeze")

    def encode(data: Bytes) -> Bytes:
        options = options_of(name, ENCODERS[name], configuration)
        if name == "webp" and not {"level", "lossless"} & set(options):
            options["lossless"] = True
        if spec.dtype is None or spec.shape is None:
            raise Unsupported("codec", f"{name} after a codec that hides the elements")
        import imagecodecs

        array = np.frombuffer(data, spec.dtype).reshape(spec.shape)
        try:
            packed = bytes(getattr(imagecodecs, f"{name}_encode")(_picture(array, squeeze), **options))
        except ENCODE_FAULTS as error:
            raise Unsupported("codec", f"{name} cannot hold {array.dtype}{list(array.shape)}: {error}") from error
        try:
            back = memoryview(decode(packed)).cast("B")
        except ByteatlasError as error:
            raise Unsupported("codec", f"{name} cannot hold {array.dtype}{list(array.shape)}: {error}") from error
        if back != memoryview(data).cast("B"):
            raise Unsupported("codec", f"{name} with {options} does not keep these values exactly")
        return packed

    return encode


def _picture(array: NDArray[Any], squeeze: JSON) -> NDArray[Any]:
    if squeeze is None:
        return np.ascontiguousarray(np.atleast_2d(np.squeeze(array)))
    if isinstance(squeeze, list) and len(squeeze) == array.ndim:
        shape: Shape = tuple(n for n, gone in zip(array.shape, squeeze, strict=True) if not gone)
        return array.reshape(shape)
    return array


def bytes_encoder(
    name: str, configuration: Configuration, fixed: Mapping[str, Any], itemsize: int
) -> Callable[[Bytes], Bytes]:
    """An encoder for plain bytes; ``fixed``: options that decoding has too."""
    if name not in COMPRESSORS:
        return decode_only(f"imagecodecs_{name}", LOSSY)
    if name == "snappy":
        return _snappy

    def encode(data: Bytes) -> Bytes:
        import imagecodecs

        options = {**options_of(name, COMPRESSORS[name], configuration), **fixed}
        if name in ("blosc", "blosc2"):
            options = {"typesize": itemsize if 0 < itemsize < 256 else 1, "numthreads": 1, **options}
        try:
            return bytes(getattr(imagecodecs, f"{name}_encode")(bytes(data), **options))
        except ENCODE_FAULTS as error:
            raise Unsupported("codec", f"{name}: {error}") from error

    return encode


def _snappy(data: Bytes) -> Bytes:
    # imagecodecs' own function takes other arguments from one version to the next.
    import pyarrow as pa

    return bytes(pa.compress(bytes(data), codec="snappy", asbytes=True))
