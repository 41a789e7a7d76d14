"""``byteatlas.grib1`` and ``byteatlas.grib2``: a chunk is a whole message, decoded to the values of one of its fields.

Configuration, all of it optional:

- ``field``: the field's place in the message, from 0 (default: 0).
- ``grid``: `fingerprint` of the grid section; a message with another grid is an error.
- ``dtype``: the array's type as NumPy writes it, ``<f8`` or ``<f4``. It has to be the array's data type: values are
  made in double precision and rounded once.
- ``rows``: ``straight`` (default): every second row is turned where the message stores rows to and fro (flag 4 of the
  scanning mode, edition 2), so that an array with one coordinate for each axis is right. ``stored``: the order of the
  message, which is what ecCodes' key ``values`` has.

Points without a value are NaN. Everything else is in the message, so that packings may change from one to the next.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from byteatlas.codecs.core.adapters import AsCompressor
from byteatlas.codecs.core.checks import decode_only
from byteatlas.codecs.core.contract import MOST_UNKNOWN, ArraySpec, Bytes, ChainContext, SerializerStep, encoded_limit
from byteatlas.codecs.core.options import Configuration, choice, integer, only, text, type_string
from byteatlas.codecs.grib.fields import field_of, message, values
from byteatlas.codecs.grib.sections.fingerprint import DIGITS, fingerprint
from byteatlas.codecs.grib.sections.values import MOST_FIELDS
from byteatlas.errors import CorruptChunk
from byteatlas.meta.place import invalid
from byteatlas.values import dataclass


@dataclass(frozen=True, slots=True)
class Chosen:
    """Which field of a message, of which grid (empty: any), as which type (None: the array's)."""

    field: int = 0
    grid: str = ""
    dtype: str | None = None


@dataclass(frozen=True, slots=True)
class GribCodec(AsCompressor):
    """The codec; ``edition`` None: any."""

    name: str
    edition: int | None
    chosen: Chosen = Chosen()
    rows: Literal["straight", "stored"] = "straight"

    def bind_serializer(self, spec: ArraySpec, context: ChainContext) -> SerializerStep:
        float_type(spec, self.chosen.dtype)
        shape, size = spec.shape, spec.size

        def decode(data: Bytes) -> NDArray[Any]:
            found = message(data)
            if self.edition is not None and found.edition != self.edition:
                raise CorruptChunk(f"{self.name}: a message of edition {found.edition}")
            field = field_of(found, self.chosen.field)
            if self.chosen.grid and fingerprint(found.edition, field) != self.chosen.grid:
                raise CorruptChunk(f"{self.name}: the message's grid is not that of its array")
            array = values(data, found.edition, field, size, self.rows == "stored")
            return rounded(array, spec.dtype).reshape(shape)

        limit = max(MOST_UNKNOWN, encoded_limit(size * spec.dtype.itemsize))
        return SerializerStep(None, limit, decode, decode_only(self.name, "messages are never written"))


def float_type(spec: ArraySpec, wanted: str | None) -> None:
    """The array's type is a floating-point one, and the one that the configuration names. Raises `InvalidMetadata`."""
    if spec.dtype.kind != "f" or spec.dtype.itemsize not in (4, 8):
        raise invalid(f"it decodes to float32 and float64, not to {spec.data_type.name}")
    if wanted is not None and np.dtype(wanted).newbyteorder("=") != spec.dtype.newbyteorder("="):
        raise invalid(f"dtype {wanted} for an array of {spec.data_type.name}")


def rounded(array: NDArray[np.float64], dtype: np.dtype[Any]) -> NDArray[Any]:
    """The same in the array's type; numbers beyond single precision become infinite."""
    with np.errstate(over="ignore"):
        return array.astype(dtype, copy=False)


def make1(configuration: Configuration) -> GribCodec:
    """``byteatlas.grib1``. Raises `InvalidMetadata`."""
    return _make("byteatlas.grib1", 1, configuration)


def make2(configuration: Configuration) -> GribCodec:
    """``byteatlas.grib2``. Raises `InvalidMetadata`."""
    return _make("byteatlas.grib2", 2, configuration)


def _make(name: str, edition: int, configuration: Configuration) -> GribCodec:
    only(configuration, "field", "grid", "dtype", "rows")
    rows = choice(configuration, "rows", ("straight", "stored"), "straight")
    return GribCodec(name, edition, chosen(configuration), rows)


def chosen(configuration: Configuration) -> Chosen:
    """``field``, ``grid`` and ``dtype`` of a configuration. Raises `InvalidMetadata`."""
    grid = text(configuration, "grid", "")
    if grid and (len(grid) != DIGITS or set(grid) - set("0123456789abcdef")):
        raise invalid(f"grid: not {DIGITS} hexadecimal digits")
    dtype = type_string(configuration, "dtype", kinds="f").str if configuration.get("dtype") is not None else None
    return Chosen(integer(configuration, "field", 0, least=0, most=MOST_FIELDS), grid, dtype)
