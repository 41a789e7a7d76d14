"""How a variable is stored, in the words of xarray's own engines: what writes it again can do the same."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from byteatlas.array import Array
from byteatlas.errors import Unsupported
from byteatlas.meta import v2, v3

FILTERS = frozenset({"shuffle", "fletcher32", "zstd", "blosc", "bz2", "imagecodecs_szip", "imagecodecs_lzf"})


def encoding_of(array: Array, dims: tuple[str, ...], shape: tuple[int, ...], *, stored: bool) -> dict[str, Any]:
    """An array's encoding: of a Zarr store as the engine ``zarr`` has it, of a file's array as ``netcdf4`` has it."""
    found: dict[str, Any] = {
        "chunks": array.chunks,
        "preferred_chunks": dict(zip(dims, array.chunks, strict=True)),
        "dtype": str if array.meta.data_type.name == "string" else array.dtype,
    }
    return found | (_of_zarr(array) if stored else _of_file(array, shape))


def _of_file(array: Array, shape: tuple[int, ...]) -> dict[str, Any]:
    """What netCDF-4 says of a variable. A map does not tell one chunk without filters from a contiguous dataset."""
    names = {c.name.removeprefix("numcodecs."): c.configuration for c in array.meta.encodings[0].codecs}
    deflate = names.get("zlib", names.get("gzip"))
    filtered = bool(FILTERS & set(names)) or deflate is not None
    contiguous = not filtered and array.chunks == array.shape
    found: dict[str, Any] = {
        "original_shape": shape,
        "contiguous": contiguous,
        "chunksizes": None if contiguous else array.chunks,
        "zlib": deflate is not None,
        "complevel": 0 if deflate is None else deflate.get("level", 1),
        "shuffle": "shuffle" in names,
        "fletcher32": "fletcher32" in names,
    }
    if "zstd" in names:
        found |= {"zstd": True, "complevel": names["zstd"].get("level", 0)}
    if "imagecodecs_lzf" in names:
        found |= {"compression": "lzf", "compression_opts": None}
    if "blosc" in names:
        blosc = names["blosc"]
        compressor = f"blosc_{str(blosc.get('cname')).removeprefix('blosc')}"
        found |= {"blosc": {"compressor": compressor, "shuffle": blosc.get("shuffle")}}
        found["complevel"] = blosc.get("clevel", 0)
    return found


def _of_zarr(array: Array) -> dict[str, Any]:
    """zarr-python's own objects, which `to_zarr` takes; nothing where it is not installed or does not know a codec."""
    found: dict[str, Any] = {"fill_value": array.fill_value} if array.meta.zarr_format == 3 else {}
    try:
        import zarr
        from zarr.storage import MemoryStore, StorePath
    except ImportError:
        return found
    try:
        made = zarr.AsyncArray(_document(array), StorePath(MemoryStore(), ""))
        found |= {"compressors": made.compressors, "filters": made.filters, "shards": made.shards}
        if array.meta.zarr_format == 3:
            found["serializer"] = made.serializer
    except (Unsupported, ValueError, KeyError, TypeError, NotImplementedError):  # a codec that only we know
        return found
    return found


def _document(array: Array) -> Mapping[str, Any]:
    if array.meta.zarr_format == 3:
        return dict(v3.dump_array(array.meta, None), attributes={})
    document, _ = v2.dump_array(array.meta)
    return dict(document, attributes={})
