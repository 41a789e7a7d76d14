"""A tree as Zarr version 3 throughout, in the form that the most readers decode."""

from __future__ import annotations

from byteatlas.manifest.model import VirtualArray, VirtualGroup, VirtualNode
from byteatlas.meta.model import ArrayMeta, ChunkKeys, CodecSpec, Encoding, GroupMeta, RegularGrid
from byteatlas.values import replace

ALONE = frozenset(
    {
        *("bytes", "transpose", "sharding_indexed", "gzip", "zstd", "blosc", "crc32c", "vlen-utf8", "vlen-bytes"),
        *("numcodecs.zlib", "numcodecs.shuffle", "numcodecs.zstd", "numcodecs.blosc", "numcodecs.bz2"),
        *("numcodecs.lz4", "numcodecs.lzma", "numcodecs.gzip", "numcodecs.fletcher32", "numcodecs.crc32"),
        *("byteatlas.bytes", "byteatlas.constant", "byteatlas.hdf5-elements", "byteatlas.hdf5-nbit"),
        *("byteatlas.grib1", "byteatlas.grib2", "byteatlas.grib_grid"),
        *("byteatlas.fits_unsigned", "byteatlas.fits_column", "byteatlas.fits_ascii", "byteatlas.fits_heap"),
        "byteatlas.fits_tile",
    }
)
"""Codecs that zarr-python decodes one by one: its own, and ours that need to know no more than the chunk's array."""
PLAIN_KEYS = ChunkKeys("default", "/")


def as_version3(node: VirtualNode) -> VirtualNode:
    """The tree as version 3 throughout, with the default chunk keys.

    A chain with a codec that cannot decode by itself in zarr-python is said as ``byteatlas.encodings``, which decodes
    the chain as a whole.
    """
    if isinstance(node, VirtualArray):
        return replace(node, meta=_array(node.meta))
    return _group(node)


def _group(node: VirtualGroup) -> VirtualGroup:
    arrays = {name: replace(array, meta=_array(array.meta)) for name, array in node.arrays.items()}
    groups = {name: _group(group) for name, group in node.groups.items()}
    return replace(node, meta=GroupMeta(node.meta.attributes, 3), arrays=arrays, groups=groups)


def _array(meta: ArrayMeta) -> ArrayMeta:
    encodings = tuple(map(_as_third, meta.encodings))
    first = encodings[0]
    if len(encodings) == 1 and isinstance(meta.grid, RegularGrid) and not {c.name for c in first.codecs} <= ALONE:
        encodings = (replace(first, chunk_shape=first.chunk_shape or meta.grid.chunk_shape),)
    return replace(meta, encodings=encodings, zarr_format=3, keys=PLAIN_KEYS)


def _as_third(encoding: Encoding) -> Encoding:
    """Text and bytes of any length have core codecs in version 3, of the same form."""
    return replace(encoding, codecs=tuple(map(_renamed, encoding.codecs)))


def _renamed(spec: CodecSpec) -> CodecSpec:
    name = {"numcodecs.vlen-utf8": "vlen-utf8", "numcodecs.vlen-bytes": "vlen-bytes"}.get(spec.name, spec.name)
    return spec if name == spec.name else CodecSpec(name, {}, spec.must_understand)
