"""Who reads: functions of what was written that give the values of the arrays that a reader shows, by path."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

Values = dict[str, Any]
PLAINLY: dict[str, Any] = {"decode_times": False, "concat_characters": False, "chunks": None}


def _store(path: Path) -> Any:
    """What was written, as a store of zarr-python."""
    zarr = pytest.importorskip("zarr")
    if path.suffix == ".zarr":
        return zarr.storage.LocalStore(path, read_only=True)
    if path.name == "repository":
        return _icechunk(path)
    fsspec = pytest.importorskip("fsspec")
    references: Any = str(path) if path.is_dir() else json.loads(path.read_text())
    system = fsspec.filesystem(
        "reference", fo=references, remote_protocol="file", asynchronous=not path.is_dir(), lazy=path.is_dir()
    )
    if path.is_dir():
        from fsspec.implementations.asyn_wrapper import AsyncFileSystemWrapper

        # fsspec's map of Parquet references is no friend of threads: two that meet in its set-up or in its cache
        # lose keys, so that the same map shows all of its groups in one run and some in the next.
        system = AsyncFileSystemWrapper(system, semaphore=asyncio.Semaphore(1))
    return zarr.storage.FsspecStore(system, read_only=True, path="")


def _icechunk(path: Path) -> Any:
    ice = pytest.importorskip("icechunk")
    config = ice.Repository.open(ice.local_filesystem_storage(str(path))).config
    here = getattr(getattr(ice, "credentials", None), "LocalFileSystemAccess", None)
    prefixes = list(config.virtual_chunk_containers or {})
    allowed = ice.containers_credentials(dict.fromkeys(prefixes, here))
    repository = ice.Repository.open(
        ice.local_filesystem_storage(str(path)), config, authorize_virtual_chunk_access=allowed
    )
    return repository.readonly_session("main").store


def zarr_python(path: Path) -> Values:
    import zarr

    root = zarr.open_group(_store(path), mode="r")
    return {name: node[...] for name, node in root.members(max_depth=None) if isinstance(node, zarr.Array)}


def xarray_zarr(path: Path) -> Values:
    xr = pytest.importorskip("xarray")
    return _of_tree(xr.open_datatree(_store(path), engine="zarr", mask_and_scale=False, **PLAINLY))


def xarray_masking(path: Path) -> Values:
    """As `xarray_zarr`, with ``mask_and_scale``: integers without a marker must stay integers."""
    xr = pytest.importorskip("xarray")
    return _of_tree(xr.open_datatree(_store(path), engine="zarr", **PLAINLY))


def _of_tree(tree: Any) -> Values:
    found = {}
    for node in tree.subtree:
        for name, variable in node.to_dataset(inherit=False).variables.items():
            found[f"{node.path}/{name}".strip("/")] = variable.to_numpy()
    return found


def xarray_kerchunk(path: Path) -> Values:
    xr = pytest.importorskip("xarray")
    pytest.importorskip("kerchunk")
    if path.suffix == ".zarr" or path.name == "repository":
        raise TypeError("no reference map")
    options = {"remote_protocol": "file"}
    dataset = xr.open_dataset(str(path), engine="kerchunk", mask_and_scale=False, storage_options=options, **PLAINLY)
    return {str(name): variable.to_numpy() for name, variable in dataset.variables.items()}


def virtualizarr(path: Path) -> Values:
    vz = pytest.importorskip("virtualizarr")
    from obspec_utils.registry import ObjectStoreRegistry
    from obstore.store import LocalStore
    from virtualizarr.parsers import KerchunkJSONParser, KerchunkParquetParser

    if path.suffix == ".zarr" or path.name == "repository":
        raise TypeError("no reference map")
    parser = KerchunkParquetParser() if path.is_dir() else KerchunkJSONParser()
    registry = ObjectStoreRegistry({"file://": LocalStore()})
    store = parser(f"file://{path}", registry)
    zarr = pytest.importorskip("zarr")
    root = zarr.open_group(store, mode="r", zarr_format=3)
    assert vz is not None
    return {name: node[...] for name, node in root.members(max_depth=None) if isinstance(node, zarr.Array)}


def tensorstore(path: Path) -> Values:
    ts = pytest.importorskip("tensorstore")
    if path.suffix != ".zarr":
        raise TypeError("no Zarr store")
    found = {}
    for document in sorted([*path.rglob("zarr.json"), *path.rglob(".zarray")]):
        third = document.name == "zarr.json"
        if third and json.loads(document.read_text())["node_type"] != "array":
            continue
        place = document.parent
        spec = {"driver": "zarr3" if third else "zarr", "kvstore": {"driver": "file", "path": str(place)}}
        opened = ts.open(spec, open=True).result()
        if opened.dtype == ts.char:
            raise TypeError("text of fixed length, which tensorstore gives as single characters")
        found[str(place.relative_to(path))] = opened.read().result()
    return found


def zarrs(path: Path) -> Values:
    """zarr-python with the codecs of zarrs alone."""
    pytest.importorskip("zarrs")
    import zarr

    if path.suffix != ".zarr":
        raise TypeError("no Zarr store")
    with zarr.config.set({"codec_pipeline.path": "zarrs.ZarrsCodecPipeline"}):
        return zarr_python(path)


READERS: Mapping[str, Callable[[Path], Values]] = {
    "zarr-python": zarr_python,
    "xarray, engine zarr": xarray_zarr,
    "the same, masking": xarray_masking,
    "xarray, engine kerchunk": xarray_kerchunk,
    "VirtualiZarr": virtualizarr,
    "tensorstore": tensorstore,
    "zarrs": zarrs,
}


def equal(found: Any, ours: Any) -> bool:
    """Whether values are the same to the bit; text by its characters."""
    one, other = np.asarray(found), np.asarray(ours)
    if one.shape != other.shape:
        return False
    if other.dtype.kind in "OSU":
        return bool((one.astype(object) == other.astype(object)).all())
    kinds = (one.dtype.newbyteorder("="), other.dtype.newbyteorder("="))
    return kinds[0] == kinds[1] and one.astype(kinds[0]).tobytes() == other.astype(kinds[1]).tobytes()
