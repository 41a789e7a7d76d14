"""Attributes that list the levels of a group: OME-NGFF's ``multiscales``, and the Zarr convention of that name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from byteatlas.array.levels.options import Resampling
from byteatlas.meta.conventions import MULTISCALES, X_NAMES, Y_NAMES
from byteatlas.types import JSON

METHODS: Mapping[Resampling, str] = {"nearest": "nearest", "mean": "average", "mode": "mode"}
"""Resampling by the convention's names, which are GDAL's."""
TIMES = ("t", "time")
CONVENTION = {
    "uuid": MULTISCALES,
    "name": "multiscales",
    "schema_url": "https://raw.githubusercontent.com/zarr-conventions/multiscales/refs/tags/v1/schema.json",
    "spec_url": "https://github.com/zarr-conventions/multiscales/blob/v1/README.md",
    "description": "Multiscale layout of zarr datasets",
}


def level_path(path: str, number: int) -> str:
    """Where a level of an array lies.

    >>> level_path("land/t2m", 0), level_path("land/t2m", 2)
    ('land/t2m', 'land/overview_2/t2m')
    """
    if not number:
        return path
    folder, slash, name = path.rpartition("/")
    return f"{folder}{slash}overview_{number}/{name}"


def described(
    rasters: Mapping[str, tuple[tuple[str | None, ...], Sequence[int]]], resampling: Resampling, zarr_format: int
) -> dict[str, JSON]:
    """The attributes of a group.

    Args:
        rasters: names of its arrays -> their dimensions, and the factors of their levels.
    """
    images: list[JSON] = [_image(name, dims, factors, resampling) for name, (dims, factors) in rasters.items()]
    if zarr_format == 2:
        return {"multiscales": [{"version": "0.4", **i} for i in images if isinstance(i, dict)]}
    found: dict[str, JSON] = {"ome": {"version": "0.5", "multiscales": images}}
    if len(rasters) == 1:
        [(name, (dims, factors))] = rasters.items()
        found["multiscales"] = {
            "layout": _layout(name, len(dims), factors),
            "resampling_method": METHODS[resampling],
        }
        found["zarr_conventions"] = [dict(CONVENTION)]
    return found


def _image(name: str, dims: tuple[str | None, ...], factors: Sequence[int], resampling: Resampling) -> JSON:
    axes: list[JSON] = [{"name": d or f"dim_{i}", "type": _kind(d, i, len(dims))} for i, d in enumerate(dims)]
    datasets: list[JSON] = []
    outer = [1.0] * (len(dims) - 2)
    none = [0.0] * (len(dims) - 2)
    for number, factor in enumerate((1, *factors)):
        scale: JSON = {"type": "scale", "scale": [*outer, float(factor), float(factor)]}
        shift: JSON = {"type": "translation", "translation": [*none, (factor - 1) / 2, (factor - 1) / 2]}
        steps: list[JSON] = [scale, shift] if number else [scale]
        datasets.append({"path": level_path(name, number), "coordinateTransformations": steps})
    return {"name": name, "axes": axes, "datasets": datasets, "type": METHODS[resampling]}


def _kind(dim: str | None, axis: int, count: int) -> str:
    """The type of an axis; OME has one time, one channel, and axes of space."""
    if axis >= count - 2:
        return "space"
    return "time" if dim in TIMES else "channel"


def _layout(name: str, ndim: int, factors: Sequence[int]) -> list[JSON]:
    found: list[JSON] = [{"asset": name, "transform": {"scale": [1.0] * ndim, "translation": [0.0] * ndim}}]
    for number, factor in enumerate(factors, 1):
        scale = [*[1.0] * (ndim - 2), float(factor), float(factor)]
        found.append(
            {
                "asset": level_path(name, number),
                "derived_from": name,
                "transform": {"scale": scale, "translation": [0.0] * ndim},
            }
        )
    return found


def is_raster(dims: tuple[str | None, ...] | None, attributes: Mapping[str, JSON]) -> bool:
    """Whether the last two axes of an array are y and x."""
    if dims is None or len(dims) < 2:
        return False
    named = attributes.get("spatial:dimensions")
    if isinstance(named, list) and named[-2:] == list(dims[-2:]):
        return True
    y, x = ((name or "").lower() for name in dims[-2:])
    return y in Y_NAMES and x in X_NAMES
