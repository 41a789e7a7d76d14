"""How often a server is asked until a map or a store is open: exactly, since each round is a wait."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from tests.array_support import RAW, virtual
from tests.http_server import Served, serve

import byteatlas as ba
from byteatlas.array import Array, Group
from byteatlas.errors import FetchFailed
from byteatlas.io.access import Access
from byteatlas.manifest.model import VirtualArray, VirtualGroup
from byteatlas.manifest.options import MapWriteOptions
from byteatlas.meta.model import Encoding, RegularGrid

zarr = pytest.importorskip("zarr")
DATA = np.arange(1000, dtype="i4")


def _store(path: Path, version: int, *, consolidated: bool) -> None:
    root = zarr.open_group(path, mode="w", zarr_format=version)
    for name in ("a", "b"):
        root.create_array(name, data=DATA, chunks=(100,))
    if consolidated:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that version 3 does not have it yet
            zarr.consolidate_metadata(path)


def _array(url: str, access: Access | None = None) -> VirtualArray:
    root = ba.load(url, access=access)
    assert isinstance(root, VirtualGroup)
    node = root["a"]
    assert isinstance(node, VirtualArray)
    return node


@pytest.fixture(scope="module")
def web(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("served")
    node, _, _ = virtual(DATA, RegularGrid((10,)), [Encoding(RAW)], missing=0, inline=0, url="http://host/a.bin")
    tree = VirtualGroup(arrays={"a": node})
    for name in ("m.json", "m.json.gz", "m.parquet"):
        ba.write(tree, folder / name)
    ba.write(tree, folder / "many.parquet", options=MapWriteOptions(record_size=10))
    for version in (2, 3):
        _store(folder / f"plain{version}.zarr", version, consolidated=False)
        _store(folder / f"whole{version}.zarr", version, consolidated=True)
    files = {f"/{f.relative_to(folder)}": f.read_bytes() for f in folder.rglob("*") if f.is_file()}
    files["/nameless"] = files["/m.json?signature=1"] = files["/m.json"]
    files["/tiny"] = b'{"refs": []}'
    with serve(files, latency=0.2) as served:
        yield served


@pytest.mark.parametrize("name", ["m.json", "m.json.gz", "m.json?signature=1"])
def test_a_json_map_is_one_request(web: Served, name: str) -> None:
    web.requests.clear()
    access = Access()
    root = ba.open(f"{web.url}/{name}", access=access)
    assert isinstance(root, Group)
    array = root["a"]
    assert isinstance(array, Array)
    assert array.shape == (1000,)
    assert web.requests == [("GET", f"/{name}", None)]
    assert (access.counters.requests, access.counters.rounds) == (1, 1)


def test_a_map_whose_name_says_nothing_is_looked_at_once(web: Served) -> None:
    web.requests.clear()
    ba.open(f"{web.url}/nameless")
    assert web.requests == [("GET", "/nameless", "bytes=0-15"), ("GET", "/nameless", None)]


def test_a_file_with_less_than_is_looked_at(web: Served) -> None:
    with pytest.raises(ba.errors.ByteatlasError, match="tiny") as caught:
        ba.open(f"{web.url}/tiny")
    assert not isinstance(caught.value, FetchFailed)


def test_a_parquet_map_is_one_request_and_one_for_its_first_chunks(web: Served) -> None:
    web.requests.clear()
    found = ba.load(f"{web.url}/m.parquet")
    assert isinstance(found, VirtualGroup)
    assert web.requests == [("GET", "/m.parquet/.zmetadata", None)]
    web.requests.clear()
    node = found["a"]
    assert isinstance(node, VirtualArray)
    assert len(node.manifest.rows(np.arange(100)).offset) == 100
    assert web.requests == [("GET", "/m.parquet/a/refs.0.parq", None)]


@pytest.mark.parametrize("load", [True, False])
def test_part_files_come_together(web: Served, load: bool) -> None:
    access = Access()
    found = _array(f"{web.url}/many.parquet", access=access)
    web.requests.clear()
    before = access.counters
    rows = found.manifest.load() if load else found.manifest.rows(np.arange(100))
    whole = _array(f"{web.url}/m.parquet")
    np.testing.assert_array_equal(rows.offset, whole.manifest.rows(np.arange(100)).offset)
    assert len([path for _, path, _ in web.requests if path.startswith("/many")]) == 10
    assert access.counters.minus(before).rounds == 1


def test_a_part_file_that_is_gone_is_named(web: Served, tmp_path: Path) -> None:
    node, _, _ = virtual(DATA, RegularGrid((10,)), [Encoding(RAW)], missing=0, inline=0, url="http://host/a.bin")
    ba.write(VirtualGroup(arrays={"a": node}), tmp_path / "m.parquet", options=MapWriteOptions(record_size=10))
    files = {f"/{f.relative_to(tmp_path)}": f.read_bytes() for f in tmp_path.rglob("*") if f.is_file()}
    del files["/m.parquet/a/refs.7.parq"]
    with serve(files) as other:
        found = _array(f"{other.url}/m.parquet")
        with pytest.raises(FetchFailed, match=r"refs\.7\.parq.*no such part file"):
            found.manifest.load()
        lenient = _array(f"{other.url}/m.parquet", access=Access(absent_parts="missing"))
        assert int((lenient.manifest.load().source < 0).sum()) == 10


@pytest.mark.parametrize("version", [2, 3])
def test_a_consolidated_store_is_one_round(web: Served, version: int) -> None:
    web.requests.clear()
    access = Access()
    root = ba.open(f"{web.url}/whole{version}.zarr", access=access)
    assert isinstance(root, Group)
    array = root["b"]
    assert isinstance(array, Array)
    assert array.shape == (1000,)
    assert sorted(path.rpartition("/")[2] for _, path, _ in web.requests) == [".zmetadata", "zarr.json"]
    assert access.counters.rounds == 1
    np.testing.assert_array_equal(array[:], DATA)


def test_a_store_that_is_not_consolidated(web: Served) -> None:
    web.requests.clear()
    access = Access()
    root = ba.open(f"{web.url}/plain3.zarr", access=access)
    assert isinstance(root, Group)
    array = root["a"]
    assert isinstance(array, Array)
    assert array.shape == (1000,)
    assert len(web.requests) == 3
    assert access.counters.rounds == 2
