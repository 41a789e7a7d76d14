"""``byteatlas.grib_grid``: latitudes or longitudes of all points, made from the numbers of a message's grid section.

The chunk is a message, or only its beginning: no more is read than its sections up to the grid's. Nothing of the values
is needed, so that a range of some hundred bytes makes the coordinates of a grid of millions of points.

Configuration: ``which``: ``latitude`` or ``longitude``; ``field``, ``grid`` and ``dtype`` as for ``byteatlas.grib2``.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from byteatlas.codecs.core.adapters import AsCompressor
from byteatlas.codecs.core.checks import decode_only
from byteatlas.codecs.core.contract import MOST_UNKNOWN, ArraySpec, Bytes, ChainContext, SerializerStep
from byteatlas.codecs.core.options import Configuration, choice, only
from byteatlas.codecs.grib.codec import Chosen, chosen, float_type, rounded
from byteatlas.codecs.grib.fields import corrupt
from byteatlas.codecs.grib.grids.points import points
from byteatlas.codecs.grib.sections.fingerprint import fingerprint_of
from byteatlas.codecs.grib.sections.message import grid_section
from byteatlas.errors import CorruptChunk, CorruptFile
from byteatlas.values import dataclass

NAME = "byteatlas.grib_grid"


@dataclass(frozen=True, slots=True)
class GridCodec(AsCompressor):
    """The codec."""

    which: Literal["latitude", "longitude"]
    chosen: Chosen

    def bind_serializer(self, spec: ArraySpec, context: ChainContext) -> SerializerStep:
        float_type(spec, self.chosen.dtype)
        shape, size, grid = spec.shape, spec.size, self.chosen.grid

        def decode(data: Bytes) -> NDArray[Any]:
            try:
                edition, section, identification = grid_section(data, self.chosen.field)
                if grid and fingerprint_of(edition, section, identification) != grid:
                    raise CorruptChunk(f"{NAME}: the message's grid is not that of its array")
                found = points(edition, section, size)
            except CorruptFile as error:
                raise corrupt(error) from error
            array = found[0 if self.which == "latitude" else 1]
            return rounded(np.ascontiguousarray(array), spec.dtype).reshape(shape)

        return SerializerStep(None, MOST_UNKNOWN, decode, decode_only(NAME, "coordinates follow from the grid"))


def make(configuration: Configuration) -> GridCodec:
    """The codec from its configuration. Raises `InvalidMetadata`."""
    only(configuration, "which", "field", "grid", "dtype")
    return GridCodec(choice(configuration, "which", ("latitude", "longitude")), chosen(configuration))
