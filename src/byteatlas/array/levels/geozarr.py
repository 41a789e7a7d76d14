"""Where an array lies, as the Zarr conventions ``spatial:`` and ``proj:`` say it."""

from __future__ import annotations

from byteatlas.array.geo import georeference_of
from byteatlas.array.group import Node
from byteatlas.array.levels.multiscales import is_raster
from byteatlas.meta.conventions import PROJ, SPATIAL, CRSKind
from byteatlas.meta.model import ArrayMeta
from byteatlas.types import JSON
from byteatlas.values import replace

CRS_NAMES: dict[CRSKind, str] = {"wkt": "proj:wkt2", "projjson": "proj:projjson", "code": "proj:code"}
URL = "https://github.com/zarr-conventions"


def placed(root: Node, path: str, meta: ArrayMeta) -> ArrayMeta:
    """The metadata with attributes of the conventions; as it is where the array is no raster, or nothing is known."""
    if not is_raster(meta.dimension_names, meta.attributes):
        return meta
    where = georeference_of(root, path)
    found: dict[str, JSON] = {}
    conventions: list[JSON] = []
    if where.transform is not None:
        t = where.transform
        found["spatial:dimensions"] = [str(name) for name in (meta.dimension_names or ())[-2:]]
        found["spatial:transform"] = [t.a, t.b, t.c, t.d, t.e, t.f]
        found["spatial:shape"] = list(meta.shape[-2:])
        found["spatial:registration"] = "pixel"
        conventions.append(_convention("spatial", "spatial:", SPATIAL))
    if where.crs is not None and where.crs.kind in CRS_NAMES:
        found[CRS_NAMES[where.crs.kind]] = where.crs.value
        conventions.append(_convention("geo-proj", "proj:", PROJ))
    if not conventions:
        return meta
    own = meta.attributes.get("zarr_conventions")
    named = [c for c in own if c not in conventions] if isinstance(own, list) else []
    return replace(meta, attributes={**meta.attributes, **found, "zarr_conventions": [*named, *conventions]})


def _convention(repository: str, name: str, uuid: str) -> JSON:
    return {"uuid": uuid, "name": name, "spec_url": f"{URL}/{repository}/blob/v1/README.md"}
