"""Grids and swaths as StructMetadata describe them (HDF-EOS Library User's Guide, volume 1, appendix on metadata)."""

from __future__ import annotations

import math
from collections.abc import Mapping

from byteatlas.types import JSON
from byteatlas.values import dataclass, field
from byteatlas_scanners.eos.odl import Odl, objects, parse_odl

ORIGINS = {"HDFE_GD_UL": (1, 1), "HDFE_GD_UR": (-1, 1), "HDFE_GD_LL": (1, -1), "HDFE_GD_LR": (-1, -1)}
"""Which way x and y run from the first pixel: 1 is from the upper left point on."""


@dataclass(frozen=True, slots=True)
class EosGrid:
    """One grid.

    Attributes:
        upper_left, lower_right: outer corners, in metres (degrees of longitude and latitude when geographic); None
            where the file has no numbers.
        origin: as in `ORIGINS`.
        parameters: of the projection, as GCTP has them.
        fields: the dimensions of each field.
    """

    name: str
    columns: int
    rows: int
    upper_left: tuple[float, float] | None
    lower_right: tuple[float, float] | None
    projection: str
    parameters: tuple[float, ...]
    sphere: int
    zone: int
    origin: tuple[int, int]
    fields: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Swath:
    """One swath; its maps say how dimensions of geolocation relate to those of data: (geo, data, offset, increment)."""

    name: str
    geolocation: tuple[str, ...]
    maps: tuple[tuple[str, str, int, int], ...]
    fields: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Structure:
    """All of a file."""

    grids: tuple[EosGrid, ...] = ()
    swaths: tuple[Swath, ...] = ()


def parse_structure(text: str) -> Structure:
    """What the metadata say; grids without a size are left out."""
    found = parse_odl(text)
    grids = (_grid(each) for each in objects(found, "GridStructure"))
    return Structure(
        tuple(grid for grid in grids if grid is not None),
        tuple(_swath(each) for each in objects(found, "SwathStructure")),
    )


def _grid(each: Odl) -> EosGrid | None:
    columns, rows, name = each.get("XDim"), each.get("YDim"), each.get("GridName")
    if not isinstance(columns, int) or not isinstance(rows, int) or not isinstance(name, str):
        return None
    projection = str(each.get("Projection", "")).removeprefix("HE5_").removeprefix("GCTP_")
    corners = [_pair(each.get(key)) for key in ("UpperLeftPointMtrs", "LowerRightMtrs")]
    if projection == "GEO":
        corners = [None if c is None else (degrees(c[0]), degrees(c[1])) for c in corners]
    parameters = each.get("ProjParams")
    numbers = tuple(float(v) for v in parameters if isinstance(v, (int, float))) if isinstance(parameters, list) else ()
    return EosGrid(
        name, columns, rows, corners[0], corners[1], projection, numbers[:15] + (0.0,) * max(0, 15 - len(numbers)),
        _integer(each.get("SphereCode"), -1), _integer(each.get("ZoneCode"), 0),
        ORIGINS.get(str(each.get("GridOrigin", "")).removeprefix("HE5_"), (1, 1)),
        _fields(each, "DataField"),
    )  # fmt: skip


def _fields(each: Odl, *kinds: str) -> dict[str, tuple[str, ...]]:
    """The names of fields with their dimensions."""
    names = {"DataField": "DataFieldName", "GeoField": "GeoFieldName"}
    found: dict[str, tuple[str, ...]] = {}
    for kind in kinds:
        for one in objects(each, kind):
            dims = one.get("DimList")
            if isinstance(dims, (list, str)):
                found[str(one.get(names[kind], ""))] = (dims,) if isinstance(dims, str) else tuple(map(str, dims))
    return found


def _pair(value: JSON) -> tuple[float, float] | None:
    match value:
        case [int() | float() as x, int() | float() as y]:
            return (float(x), float(y)) if math.isfinite(x) and math.isfinite(y) else None
        case _:
            return None


def _integer(value: JSON, default: int) -> int:
    return value if isinstance(value, int) else default


def degrees(packed: float) -> float:
    """Degrees, minutes and seconds as GCTP packs them into one number: DDDMMMSSS.SS.

    >>> degrees(-103030000.0)
    -103.5
    """
    size = abs(packed)
    whole, rest = divmod(size, 1_000_000)
    minutes, seconds = divmod(rest, 1000)
    return math.copysign(whole + minutes / 60 + seconds / 3600, packed)


def _swath(each: Odl) -> Swath:
    fields = [str(one.get("GeoFieldName", "")) for one in objects(each, "GeoField")]
    maps = [_map(one) for one in objects(each, "DimensionMap")]
    dims = _fields(each, "GeoField", "DataField")
    return Swath(str(each.get("SwathName", "")), tuple(filter(None, fields)), tuple(m for m in maps if m), dims)


def _map(one: Mapping[str, JSON]) -> tuple[str, str, int, int] | None:
    geo, data = one.get("GeoDimension"), one.get("DataDimension")
    if not isinstance(geo, str) or not isinstance(data, str):
        return None
    return geo, data, _integer(one.get("Offset"), 0), _integer(one.get("Increment"), 1)
