"""The codecs ``grib`` of kerchunk and ``gribberish``, so that maps made for them open without their libraries.

Both take a whole message and give the values of its first field, or, for the arrays ``latitude`` and ``longitude``, the
coordinates of all points. Configuration: ``var``, the array's name; ``dtype`` (kerchunk's default: float64 for
coordinates, else float32); gribberish: ``north_up`` and ``adjust_longitude_range``.

Values are those of ecCodes in double precision, rounded once. Where the libraries differ from that we do not follow
them: kerchunk turns genuine values of 9999 into NaN, and gribberish's last bits may differ.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from byteatlas.codecs.core.adapters import AsCompressor
from byteatlas.codecs.core.contract import ArraySpec, Bytes, ChainContext, SerializerStep
from byteatlas.codecs.core.options import Configuration, flag, only, type_string
from byteatlas.codecs.grib.codec import Chosen, GribCodec
from byteatlas.codecs.grib.coordinates import GridCodec
from byteatlas.codecs.grib.fields import field_of, message
from byteatlas.codecs.grib.grids.rows import scanning_mode
from byteatlas.errors import Unsupported
from byteatlas.meta.place import invalid
from byteatlas.values import dataclass, replace

J_POSITIVE = 0x40


def make_kerchunk(configuration: Configuration) -> GribCodec | GridCodec:
    """kerchunk's ``grib``: rows that run to and fro stay as they are, as ecCodes' key ``values`` has them."""
    only(configuration, "var", "dtype")
    return _codec("grib", configuration, GribCodec("grib", None, rows="stored"))


def make_gribberish(configuration: Configuration) -> GribCodec | GridCodec | NorthUp:
    """``gribberish``."""
    only(configuration, "var", "dtype", "north_up", "adjust_longitude_range")
    if flag(configuration, "adjust_longitude_range", False):
        raise Unsupported("codec", "gribberish with adjust_longitude_range: the columns are in another order")
    made = _codec("gribberish", configuration, GribCodec("gribberish", None))
    if not flag(configuration, "north_up", False):
        return made
    if isinstance(made, GridCodec):
        raise Unsupported("codec", "gribberish with north_up for coordinates")
    return NorthUp(made)


def _codec(name: str, configuration: Configuration, values: GribCodec) -> GribCodec | GridCodec:
    var = configuration.get("var")
    if var is not None and not isinstance(var, str):
        raise invalid(f"var: {var!r} is not a string")
    dtype = type_string(configuration, "dtype", kinds="f").str if configuration.get("dtype") is not None else None
    wanted = Chosen(dtype=dtype)
    if var == "latitude" or var == "longitude":
        return GridCodec("latitude" if var == "latitude" else "longitude", wanted)
    return replace(values, chosen=wanted)


@dataclass(frozen=True, slots=True)
class NorthUp(AsCompressor):
    """Values with the northernmost row first."""

    inner: GribCodec

    def bind_serializer(self, spec: ArraySpec, context: ChainContext) -> SerializerStep:
        if len(spec.shape) < 2:
            raise invalid("north_up is for arrays of rows and columns")
        step = self.inner.bind_serializer(spec, context)

        def decode(data: Bytes) -> NDArray[Any]:
            array, found = step.decode(data), message(data)
            grid = field_of(found, 0).grid
            return np.flip(array, -2) if scanning_mode(found.edition, grid) & J_POSITIVE else array

        return replace(step, decode=decode)
