"""``kerchunk.tiff``: references to one TIFF file."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from byteatlas.api.indexing import scan
from byteatlas.errors import BadRequest
from byteatlas.kerchunk.arguments import refuse
from byteatlas.kerchunk.references import RefDict, access_to
from byteatlas.kerchunk.single import references_to
from byteatlas.kerchunk.utils import class_factory
from byteatlas.manifest.model import VirtualArray, VirtualGroup
from byteatlas.meta.conventions import levels
from byteatlas.meta.model import GroupMeta
from byteatlas.types import JSON
from byteatlas.values import replace


def tiff_to_zarr(
    urlpath: str,
    remote_options: Mapping[str, Any] | None = None,
    target: str | None = None,
    target_options: Mapping[str, Any] | None = None,
    inline_threshold: float | None = 0,
    storage_options: Mapping[str, Any] | None = None,
    **misspelt: object,
) -> RefDict:
    """References (version 0) to a TIFF file, with kerchunk's arguments and layout.

    An image with overviews is a group of arrays ``0`` (the finest), ``1`` ... with ``multiscales``; one without is an
    array at the root; a file of several images the tree that `byteatlas.scan` gives. Where pixels lie stands in the
    root's attributes ``ModelPixelScale`` and ``ModelTiepoint``, for `generate_coords`.
    """
    refuse(misspelt, tiff_to_zarr)
    options = remote_options or storage_options
    found = scan(urlpath, format="tiff", access=access_to(options))
    refs = references_to(_as_kerchunk(found), urlpath, options, inline_threshold or 0)
    if target is not None:
        import fsspec

        with fsspec.open(target, "wt", **dict(target_options or {})) as file:
            json.dump(refs, file)
    return refs


def _as_kerchunk(found: VirtualGroup) -> VirtualGroup | VirtualArray:
    paths = [level.path for level in levels(found.meta.attributes)]
    arrays = [node for node in map(found.__getitem__, paths) if isinstance(node, VirtualArray)]
    images = [name for name, array in found.arrays.items() if array.meta.ndim > 1]
    if not arrays and (len(images) != 1 or found.groups):
        return found
    first = arrays[0] if arrays else found.arrays[images[0]]
    tags = _tags(found, first)
    if not arrays:
        return replace(first, meta=first.meta.with_attributes({**first.meta.attributes, **tags}))
    datasets: list[JSON] = [{"path": str(i)} for i in range(len(arrays))]
    scales: list[JSON] = [{"datasets": datasets, "metadata": {}, "name": "", "version": "0.1"}]
    numbered = {str(i): _own_dims(array, i) for i, array in enumerate(arrays)}
    return replace(found, meta=GroupMeta({**tags, "multiscales": scales}), arrays=numbered, groups={}, report=())


def _own_dims(array: VirtualArray, level: int) -> VirtualArray:
    """Levels differ in length, so the dimensions of one group have names of their own."""
    if not level:
        return array
    names = tuple(None if n is None else f"{n}_{level}" for n in array.meta.dimension_names or ())
    return replace(array, meta=replace(array.meta, dimension_names=names or None))


def _tags(found: VirtualGroup, image: VirtualArray) -> dict[str, JSON]:
    """GeoTIFF's scale and tie point, where pixels are upright; and the CRS as the scanner found it."""
    name = image.meta.attributes.get("grid_mapping")
    mapping = found.arrays.get(name) if isinstance(name, str) else None
    if mapping is None:
        return {}
    attributes = dict(mapping.meta.attributes)
    transform = attributes.pop("spatial:transform", None)
    tags: dict[str, JSON] = {k: v for k, v in attributes.items() if k in ("crs_wkt", "geokeys", "GeoTransform")}
    if isinstance(transform, list) and len(transform) == 6:
        a, b, c, d, e, f = (float(n) for n in transform if isinstance(n, (int, float)))
        if b == d == 0 and e < 0:
            tags.update(ModelPixelScale=[a, -e, 0.0], ModelTiepoint=[0.0, 0.0, 0.0, c, f, 0.0])
    return tags


TiffToZarr = class_factory(tiff_to_zarr)


def generate_coords(attrs: Mapping[str, Any], shape: tuple[int, ...]) -> dict[str, NDArray[np.float64]]:
    """Coordinates of pixel centres, from ``ModelPixelScale`` and ``ModelTiepoint``.

    Args:
        shape: of the array; its last two axes are y and x.
    """
    for name in ("ModelPixelScale", "ModelTiepoint"):
        if name not in attrs:
            raise BadRequest(f"no {name}: pixels are not upright, or nothing says where they lie")
    height, width = shape[-2:]
    dx, dy, dz = attrs["ModelPixelScale"][:3]
    x, y, z = attrs["ModelTiepoint"][3:6]
    out = {"x": np.arange(width) * dx + x + dx / 2, "y": np.arange(height) * -dy + y - dy / 2}
    if len(shape) > 2:
        out["z"] = np.arange(shape[-3]) * dz + z + dz / 2
    return out
