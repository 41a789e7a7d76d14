"""From fields to the virtual group and its report."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from byteatlas.errors import FileFault
from byteatlas.manifest.model import ReportItem, SourceInfo, VirtualArray, VirtualGroup
from byteatlas.meta.model import GroupMeta
from byteatlas.scanning.report import refusal
from byteatlas.types import JSON
from byteatlas.values import dataclass
from byteatlas_scanners.grib.cubes.arrange import arrange
from byteatlas_scanners.grib.cubes.arrays import Storage, array_of, attributes_of, locators
from byteatlas_scanners.grib.cubes.coordinates import GroupCoordinates
from byteatlas_scanners.grib.cubes.cube import FIELD, Cube, cube_of
from byteatlas_scanners.grib.cubes.datum import Datum
from byteatlas_scanners.grib.cubes.names import Preset, place_all
from byteatlas_scanners.grib.cubes.points import computed_points
from byteatlas_scanners.grib.grids.coordinates import grid_coordinates
from byteatlas_scanners.grib.tables.centres import centres

COMPUTED = "made from the numbers of the grid when it is read"


@dataclass(frozen=True, slots=True, eq=False)
class Presentation:
    """How fields are presented."""

    preset: Preset
    dtype: np.dtype[Any]
    straight: bool = False
    stay: frozenset[str] = frozenset()


def to_group(data: list[Datum], source: SourceInfo, layout: Presentation) -> tuple[VirtualGroup, list[ReportItem]]:
    """The group of a file's fields, and an item for each array."""
    report: list[ReportItem] = []
    storage = Storage(source, layout.dtype, layout.straight)
    placed = place_all([cube_of(bundle, layout.stay) for bundle in arrange(data)], layout.preset)
    tree = _Tree()
    for path, cubes in placed.items():
        tree.add(path, _arrays(path, cubes, storage, report))
    return tree.group(_origin(data)), report


def _arrays(
    path: str, cubes: Mapping[str, Cube], storage: Storage, report: list[ReportItem]
) -> dict[str, VirtualArray]:
    """The arrays of one group: its variables, and their coordinates."""
    coordinates = GroupCoordinates(cubes)
    arrays: dict[str, VirtualArray] = {}
    others: dict[str, VirtualArray] = {}
    for name, cube in cubes.items():
        grid = grid_coordinates(cube.bundle.data[0].grid, straight=storage.straight)
        attributes = attributes_of(cube)
        points = computed_points(cube.bundle.data[0], storage)
        shown = [*coordinates.auxiliary(cube), *points]
        if shown:
            attributes["coordinates"] = " ".join(shown)
        if grid.mapping is not None:
            attributes["grid_mapping"] = grid.mapping
        bounds = coordinates.bounds(cube)
        if bounds is not None:
            attributes["step_bounds"] = bounds
        arrays[name] = array_of(cube, coordinates.dims(cube), storage, attributes)
        others = grid.arrays | points | others
        inside = f"{path}/{name}" if path else name
        report.append(ReportItem(inside, "virtual", None, detail(cube, storage), locators(cube)))
    others.update(coordinates.arrays())
    computed = [name for name, array in others.items() if name not in arrays and array.manifest.sources]
    report += [ReportItem(f"{path}/{name}" if path else name, "virtual", None, COMPUTED) for name in computed]
    return arrays | {name: array for name, array in others.items() if name not in arrays}


def detail(cube: Cube, storage: Storage) -> str:
    """What a reader of the report should know of a variable."""
    words = []
    if cube.bundle.data[0].grid.alternates and not storage.straight:
        words.append("every second row runs the other way, as stored; option rows of the scanner turns them")
    if cube.missing:
        words.append(f"{cube.missing} of {math.prod(cube.lead)} combinations of {', '.join(cube.dims)} have no field")
    if FIELD in cube.dims:
        words.append("too few combinations of its dimensions have a field: one dimension for all fields")
    if cube.bundle.twin:
        words.append("fields whose place (time, step, level ...) another field of this file has as well")
    return "; ".join(words)


def _origin(data: list[Datum]) -> dict[str, JSON]:
    """Attributes of the file."""
    found: dict[str, JSON] = {"Conventions": "CF-1.7"}
    for name in ("edition", "centre"):
        values = sorted({getattr(datum.product, name) for datum in data})
        if len(values) == 1:
            found[f"GRIB_{name}"] = values[0]
    centre = found.get("GRIB_centre")
    if isinstance(centre, int) and centre in centres():
        found |= {"GRIB_centreDescription": centres()[centre], "institution": centres()[centre]}
    return found


class _Tree:
    """Groups in the making, by path."""

    def __init__(self) -> None:
        self._arrays: dict[str, dict[str, VirtualArray]] = {"": {}}

    def add(self, path: str, arrays: dict[str, VirtualArray]) -> None:
        parts = path.split("/") if path else []
        for depth in range(len(parts)):
            self._arrays.setdefault("/".join(parts[: depth + 1]), {})
        self._arrays[path].update(arrays)

    def group(self, attributes: dict[str, JSON]) -> VirtualGroup:
        return self._group("", attributes)

    def _group(self, path: str, attributes: dict[str, JSON]) -> VirtualGroup:
        below = {
            inside.rpartition("/")[2]: self._group(inside, {})
            for inside in self._arrays
            if inside and inside.rpartition("/")[0] == path
        }
        return VirtualGroup(GroupMeta(attributes), self._arrays[path], below)


def refused_fields(refused: list[tuple[str, FileFault]]) -> list[ReportItem]:
    """An item for each message or field that is not presented."""
    return [
        refusal(f"message_{place.partition('/')[2].replace('#', '_')}", error, (place,)) for place, error in refused
    ]
