"""A combined archive of five encodings and packings in the tools that people have, equal to ours to the bit."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.differential.interoperation.archive import EVEN, UNEVEN, combined

import byteatlas as ba

zarr = pytest.importorskip("zarr")
xr = pytest.importorskip("xarray")
fsspec = pytest.importorskip("fsspec")

pytestmark = [
    pytest.mark.filterwarnings("ignore:Numcodecs codecs are not"),
    pytest.mark.filterwarnings("ignore:.*does not have a Zarr V3 specification"),
    pytest.mark.filterwarnings("ignore:.*unstable.*"),
]
ACCESS = "LocalFileSystemAccess"
"""What icechunk has from version 2 on."""
RECTILINEAR = "array.rectilinear_chunks"
THIRD = ba.MapWriteOptions(zarr_format=3)


def knows_uneven_chunks() -> bool:
    """Whether this zarr-python reads grids whose chunks have different lengths."""
    try:
        zarr.config.get(RECTILINEAR)
    except KeyError:
        return False
    return True


def by_references(vg: Any, folder: Path) -> Any:
    """The map written as JSON, through fsspec's file system of references."""
    ba.write(vg, folder / "map.json", options=THIRD)
    references = json.loads((folder / "map.json").read_text())
    file_system = fsspec.filesystem("reference", fo=references, remote_protocol="file", asynchronous=True)
    return zarr.storage.FsspecStore(file_system, read_only=True)


def by_icechunk(vg: Any, folder: Path) -> Any:
    """The map written into an Icechunk repository, through its own store."""
    ice = pytest.importorskip("icechunk")
    ba.write(vg, folder / "repository", format="icechunk")
    container = f"file://{folder}/"
    config = ice.RepositoryConfig.default()
    config.set_virtual_chunk_container(ice.VirtualChunkContainer(container, ice.local_filesystem_store(str(folder))))
    here = getattr(getattr(ice, "credentials", None), ACCESS, None)
    allowed = ice.containers_credentials({container: here})
    storage = ice.local_filesystem_storage(str(folder / "repository"))
    repository = ice.Repository.open(storage, config, authorize_virtual_chunk_access=allowed)
    return repository.readonly_session("main").store


WAYS: dict[str, Any] = {
    "fsspec references": by_references,
    "icechunk": by_icechunk,
    "our store": lambda vg, folder: ba.zarr_store(third(vg)),
    "normalised": lambda vg, folder: ba.zarr_store(vg, normalise=True),
}


def third(vg: Any) -> Any:
    from byteatlas.manifest.ops.version3 import as_version3

    return as_version3(vg)


def same(found: Any, ours: Any) -> None:
    assert set(found.variables) == set(ours.variables)
    for name in ours.variables:
        one, other = found[name], ours[name]
        assert one.dims == other.dims
        assert one.dtype == other.dtype
        assert one.to_numpy().tobytes() == other.to_numpy().tobytes()
        assert one.attrs == other.attrs


@pytest.fixture(params=[EVEN, UNEVEN], ids=["even", "uneven"])
def archive(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Any, Path, bool]:
    return combined(tmp_path, request.param), tmp_path, request.param == UNEVEN


@pytest.mark.parametrize("way", WAYS)
def test_opens_with_xarray(way: str, archive: tuple[Any, Path, bool]) -> None:
    vg, folder, uneven = archive
    meta = vg["t"].meta
    assert len(meta.encodings) == 5
    ours = vg.to_xarray()
    if uneven and way == "icechunk" and not hasattr(pytest.importorskip("icechunk").credentials, ACCESS):
        with pytest.raises(Exception, match="bad metadata"):
            by_icechunk(vg, folder)  # versions before 2 take no such grids
        return
    store = WAYS[way](vg, folder)
    if uneven and way != "normalised":
        if not knows_uneven_chunks():
            with pytest.raises(Exception, match="rectilinear"):
                xr.open_zarr(store, consolidated=False, chunks=None)
            return
        with pytest.raises(Exception, match="rectilinear"):
            xr.open_zarr(store, consolidated=False, chunks=None)
    with zarr.config.set({RECTILINEAR: True}):
        same(xr.open_zarr(store, consolidated=False, chunks=None), ours)


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    distributed = pytest.importorskip("distributed")
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as found,
        distributed.Client(found) as client,
    ):
        yield client


@pytest.mark.slow
@pytest.mark.parametrize("way", ["fsspec references", "icechunk", "normalised"])
@pytest.mark.filterwarnings("ignore")
def test_on_a_dask_cluster(way: str, tmp_path: Path, cluster: Any) -> None:
    vg = combined(tmp_path, EVEN)
    ours = vg.to_xarray()
    lazy = xr.open_zarr(WAYS[way](vg, tmp_path), consolidated=False, chunks={"time": 30})
    assert lazy["t"].data.npartitions == 5
    found = cluster.compute(lazy["t"].data, sync=True)
    assert np.asarray(found).tobytes() == ours["t"].to_numpy().tobytes()


def test_many_requests_are_few_plans(tmp_path: Path) -> None:
    """Chunks that zarr-python asks for together are read together."""
    vg = combined(tmp_path, EVEN)
    store = ba.zarr_store(vg, normalise=True)
    plans: list[int] = []
    inner = store.view.chunks

    def counted(keys: Any) -> Any:
        plans.append(sum(map(store.view.has_chunk, keys)))
        return inner(keys)

    store._batches._answer = counted
    with zarr.config.set({"async.concurrency": 32}):
        zarr.open_group(store, mode="r")["t"][...]
    assert [n for n in plans if n] == [5]
    assert asyncio.run(store.exists("t/c/0/0/0"))
