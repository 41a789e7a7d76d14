"""Fields with their meaning: product, parameter, grid."""

from __future__ import annotations

import math
from typing import NamedTuple

from byteatlas.errors import CorruptFile, FileFault, Unsupported
from byteatlas.scanning.grib import fingerprint
from byteatlas.scanning.reasons import Reason
from byteatlas.types import Shape
from byteatlas.values import replace
from byteatlas_scanners.grib.grids.edition1 import grid1
from byteatlas_scanners.grib.grids.edition2 import grid2
from byteatlas_scanners.grib.grids.model import Grid
from byteatlas_scanners.grib.messages.read import Placed
from byteatlas_scanners.grib.products import edition1, edition2
from byteatlas_scanners.grib.products.model import Product
from byteatlas_scanners.grib.tables.parameters import Parameter, parameter_of

MOST_POINTS = 1 << 31
"""Points of a field; no model has as many, a damaged file may say so."""


class Datum(NamedTuple):
    """One field and what it is of."""

    placed: Placed
    product: Product
    parameter: Parameter
    grid: Grid


class MeaningReader:
    """Makes data of fields; what many fields share is looked into once."""

    __slots__ = ("_grids", "_sections")

    def __init__(self) -> None:
        self._sections: dict[tuple[int, bytes], Grid] = {}
        self._grids: dict[tuple[str, Shape], Grid] = {}

    def datum(self, placed: Placed) -> Datum:
        """The meaning of a field. Raises `Unsupported` and `CorruptFile`."""
        try:
            grid = self._grid(placed)
            if placed.message.edition == 1:
                product = edition1.product_of(placed.field)
            else:
                product = edition2.product_of(placed.field, placed.message.discipline)
        except CorruptFile as error:
            raise CorruptFile(placed.message.offset, error.why) from error
        return Datum(placed, product, parameter_of(product), grid)

    def _grid(self, placed: Placed) -> Grid:
        field, edition = placed.field, placed.message.edition
        grid = self._sections.get((edition, field.grid))
        if grid is None:
            grid = grid1(field) if edition == 1 else grid2(field.grid)
            key = fingerprint(edition, field)
            grid = self._grids.setdefault((key, grid.shape), replace(grid, key=key))
            if edition == 2 or grid.ni:  # else the section does not say how many points there are
                self._sections[edition, field.grid] = grid
        points = math.prod(grid.shape)
        if points > MOST_POINTS:
            raise Unsupported(Reason.TOO_LARGE, f"a field of {points} points; at most {MOST_POINTS}")
        if not points:
            raise Unsupported(Reason.DATASPACE, "a field without points, or with an unknown number of them")
        return grid


def read_data(fields: list[Placed]) -> tuple[list[Datum], list[tuple[Placed, FileFault]]]:
    """The meanings of all fields, and the fields that have none, with the reason."""
    reader = MeaningReader()
    found: list[Datum] = []
    refused: list[tuple[Placed, FileFault]] = []
    for placed in fields:
        try:
            found.append(reader.datum(placed))
        except FileFault as error:
            refused.append((placed, error))
    return found, refused
