"""A STAC Item (STAC 1.1.0, "Item Specification") of what can be opened."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import TypeGuard

from byteatlas.api.indexing import load
from byteatlas.api.opening import Openable, how_for
from byteatlas.api.opening import open as open_target
from byteatlas.api.targets import is_references
from byteatlas.arguments import VERBS, accept
from byteatlas.array import Array, Group, Node
from byteatlas.errors import BadRequest
from byteatlas.io.access import Access
from byteatlas.io.kind import kind_of
from byteatlas.io.policy import Policy
from byteatlas.io.urls import last_link
from byteatlas.manifest.model import VirtualArray, VirtualGroup, VirtualNode
from byteatlas.masking import without_secrets
from byteatlas.stac import times
from byteatlas.stac.assets import main_asset, source_assets
from byteatlas.stac.cube import dimensions_of, helpers, variables_of
from byteatlas.stac.extent import DegreeBox, box_of, geometry_of, stated
from byteatlas.stac.options import StacOptions
from byteatlas.stac.projection import RasterGrid, fields_of, grid_of, projected_box
from byteatlas.types import JSON

VERSION = "1.1.0"
EXTENSIONS = "https://stac-extensions.github.io"
DATACUBE, PROJECTION = f"{EXTENSIONS}/datacube/v2.2.0/schema.json", f"{EXTENSIONS}/projection/v2.0.0/schema.json"


def stac_item(
    target: Openable | Node,
    *,
    href: str | None = None,
    options: StacOptions | None = None,
    access: Access | None = None,
    storage_options: Mapping[str, JSON] | None = None,
    policy: Policy | None = None,
) -> dict[str, JSON]:
    """A STAC 1.1 Item of a map, an archive or a store, as plain JSON.

    It has ``cube:dimensions`` and ``cube:variables`` (datacube extension), ``proj:code``, ``proj:shape`` and
    ``proj:transform`` where all rasters share a grid (projection extension), a bounding box and a geometry from
    longitudes and latitudes, and times from CF time coordinates. Coordinates are read, other values are not.

    Args:
        target: what `open` takes, or a `Group`.
        href: where others find it; None = ``target``, where that is a path or URL.
        access: how bytes may be reached; ``storage_options`` and ``policy`` are short for one.

    Raises `BadRequest` where something cannot be told (a time, the place of a projected grid without pyproj): the
    message says which option gives it. What `open` raises.

    >>> where = ba.StacOptions(bbox=(-10, 40, 30, 60))
    >>> item = ba.stac_item("jan.nc", href="https://example.org/jan.nc", options=where)
    >>> item["id"], item["bbox"]
    ('jan', [-10, 40, 30, 60])
    """
    options = options or StacOptions()
    if not isinstance(options, StacOptions):
        raise BadRequest(f"options is {type(options).__name__}, StacOptions was expected")
    accept(VERBS, href=href)
    root, virtual = _opened(target, how_for(target, access, storage_options, policy), options)
    arrays = {path: node for path, node in root.walk() if isinstance(node, Array)}
    place = href or _place(target)
    grid = grid_of(root, {p: a for p, a in arrays.items() if p not in helpers(arrays)})
    box = options.bbox or _box(root, arrays, grid)
    assets: dict[str, JSON] = {"map": main_asset(place, _text(root, "title"))}
    if options.sources:
        if virtual is None:
            raise BadRequest("only a map or an archive leads to files that can be assets")
        assets |= source_assets(virtual, options.most_sources)
    properties = _properties(root, arrays, grid, options)
    return {
        "type": "Feature",
        "stac_version": VERSION,
        "stac_extensions": [DATACUBE, *([PROJECTION] if any(key.startswith("proj:") for key in properties) else [])],
        "id": options.id or _stem(place),
        "geometry": None if box is None else geometry_of(box),
        **({} if box is None else {"bbox": [*box]}),
        "properties": properties,
        "links": [],
        "assets": assets,
    }


def _opened(target: Openable | Node, access: Access, options: StacOptions) -> tuple[Group, VirtualNode | None]:
    """The root, and the virtual tree where it is one and its files are asked for."""
    virtual: VirtualNode | None = None
    root: object = target
    if not isinstance(target, (Group, Array)):
        if isinstance(target, (VirtualArray, VirtualGroup)):
            virtual = target
        elif (isinstance(target, dict) and is_references(target)) or (options.sources and _is_map(target, access)):
            virtual = load(target, access=access)
        root = open_target(target if virtual is None else virtual, access=access)
    if not isinstance(root, Group):
        raise BadRequest("an item describes a group of arrays with their coordinates, and this is one array")
    return root, virtual


def _is_map(target: object, access: Access) -> TypeGuard[str | os.PathLike[str]]:
    """Whether a place has a map or an archive, which leads to files."""
    return isinstance(target, (str, os.PathLike)) and kind_of(os.fspath(target), access) != "zarr"


def _properties(
    root: Group, arrays: Mapping[str, Array], grid: RasterGrid | None, options: StacOptions
) -> dict[str, JSON]:
    found: dict[str, JSON] = {}
    for name, attribute in (("title", "title"), ("description", "summary")):
        text = _text(root, attribute)
        if text:
            found[name] = text
    found |= _times(root, arrays, options)
    found |= {} if grid is None else fields_of(grid)
    found |= {"cube:dimensions": dimensions_of(arrays), "cube:variables": variables_of(arrays)}
    return {**found, **options.properties}


def _times(root: Group, arrays: Mapping[str, Array], options: StacOptions) -> dict[str, JSON]:
    """What is given, else what time coordinates say, else what the data set states of itself (ACDD 1.3)."""
    given = options.start or options.end
    if given is not None:
        found = times.overall([(options.start or given, options.end or given)])
    else:
        spans = [times.span(array) for array in arrays.values() if times.describes(array)]
        found = times.overall([s for s in spans if s is not None]) or _stated_times(root)
    if found is None:
        raise BadRequest("no time coordinate says when the data are of: give start (and end), or --start")
    return found


def _stated_times(root: Group) -> dict[str, JSON] | None:
    start, end = (_text(root, f"time_coverage_{name}") for name in ("start", "end"))
    try:
        known = StacOptions(start=start or end or "none", end=end or start or "none")
    except BadRequest:
        return None
    return times.overall([(str(known.start), str(known.end))])


def _box(root: Group, arrays: Mapping[str, Array], grid: RasterGrid | None) -> DegreeBox | None:
    """From longitudes and latitudes, else what the data set states, else of the grid; None where nothing is placed."""
    found = box_of(arrays) or stated(root.attrs)
    if found is not None or grid is None:
        return found
    return projected_box(grid)


def _place(target: object) -> str:
    if not isinstance(target, (str, os.PathLike)):
        raise BadRequest("give href: where others find what the item describes")
    text = os.fspath(target)
    return text if "://" in text or text.startswith("icechunk:") else str(Path(text).absolute())


def _stem(href: str) -> str:
    name = last_link(without_secrets(href)).partition("?")[0].rstrip("/").rpartition("/")[2]
    return re.sub(r"[^\w.-]+", "-", name.partition(".")[0] or name) or "item"


def _text(root: Group, name: str) -> str:
    found = root.attrs.get(name)
    return found if isinstance(found, str) else ""
