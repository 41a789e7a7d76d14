"""Which arrays can be passed on as they are stored: those whose encoding every reader of a Zarr version knows."""

from __future__ import annotations

from typing import Any

from byteatlas.array import Array
from byteatlas.array.reading.locating.manifest import ManifestLocator
from byteatlas.errors import InvalidMetadata, Unsupported
from byteatlas.manifest.facts import chunk_facts
from byteatlas.meta import fill
from byteatlas.meta.model import ArrayMeta, ChunkKeys, CodecSpec, RegularGrid
from byteatlas.meta.zom.versions import convert
from byteatlas.normalised.arrays import NormalisedArray
from byteatlas.types import JSON
from byteatlas.values import replace

PLAIN_V3 = frozenset({"bytes", "transpose", "gzip", "zstd", "blosc", "crc32c", "vlen-utf8"})
"""Codecs of the core specification and its registry that zarr-python, zarrita.js, GDAL and tensorstore have."""
PLAIN_V2 = frozenset({"bytes", "transpose", "vlen-utf8", "gzip", "zstd", "blosc", "crc32c"} | {
    f"numcodecs.{name}" for name in ("zlib", "gzip", "zstd", "blosc", "lz4")
})  # fmt: skip
"""Compressors of version 2 that the same readers have, as the model names them."""
FILTERS = frozenset({"numcodecs.shuffle"})
"""Filters of version 2 that zarr-python and zarrita.js have, and GDAL 3.6 has not."""
SHARDS = "sharding_indexed"
KEYS = {2: ChunkKeys("v2", "."), 3: ChunkKeys("default", "/")}


def passed_meta(source: Array, normal: NormalisedArray, *, filters: bool = False) -> ArrayMeta | None:
    """The metadata under which an array's stored chunks can be served as they are; None where they cannot.

    Args:
        normal: the same array made plain, which says its version, dimensions and shape.
        filters: pass on chunks behind filters, too.
    """
    meta, to = source.meta, normal.meta
    if meta.shape != to.shape or not _as_stored(meta):
        return None
    version = to.zarr_format
    assert version in (2, 3)
    try:
        named = replace(meta, dimension_names=to.dimension_names)
        made = convert(named, version, keys=KEYS[version])
    except (Unsupported, InvalidMetadata):
        return None
    assert isinstance(made, ArrayMeta)
    if not all(_plain(codec, version, filters) for codec in made.codecs):
        return None
    return made if version == 3 else _masked(source, made, to.fill_value)


def _as_stored(meta: ArrayMeta) -> bool:
    """Whether all chunks are what Zarr itself has: one encoding, one shape, the array's type."""
    first = meta.encodings[0]
    whole = isinstance(meta.grid, RegularGrid) and first.chunk_shape in (None, meta.grid.chunk_shape)
    return whole and len(meta.encodings) == 1 and first.data_type in (None, meta.data_type) and not first.cast


def _plain(codec: CodecSpec, version: int, filters: bool) -> bool:
    if version == 2:
        return codec.name in PLAIN_V2 or (filters and codec.name in FILTERS)
    return codec.name in PLAIN_V3 or (codec.name == SHARDS and _plain_shards(codec.configuration))


def _plain_shards(configuration: Any) -> bool:
    inner: list[JSON] = [*configuration.get("codecs", ()), *configuration.get("index_codecs", ())]
    names = [c if isinstance(c, str) else c.get("name") for c in inner if isinstance(c, (str, dict))]
    return len(names) == len(inner) and all(name in PLAIN_V3 for name in names)


def _masked(source: Array, made: ArrayMeta, mask: object) -> ArrayMeta | None:
    """Version 2 with the fill value that marks missing values, since that is what xarray takes it for.

    A chunk that was never written must read as the array's own fill value: where these differ, and such chunks may be
    there, the array is served in another way.
    """
    own = source.meta
    if fill.same(made.fill_value, mask, own.data_type):
        return made
    if isinstance(source.locator, ManifestLocator):
        zero = fill.default(own.data_type)
        alike = mask is None and fill.same(own.fill_value, zero, own.data_type)
        if alike or not chunk_facts(source.locator.manifest).missing:
            return replace(made, fill_value=mask)
        return None
    return made  # a store says itself what its fill value is
