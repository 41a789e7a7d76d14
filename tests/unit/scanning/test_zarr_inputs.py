"""Zarr stores as virtual inputs."""

from __future__ import annotations

import json
import os
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import byteatlas as ba
from byteatlas.cli.app import run
from byteatlas.meta.model import ChunkKeys
from byteatlas.scanning.stores.keys import flat_chunks

zarr = pytest.importorskip("zarr")
pytestmark = pytest.mark.filterwarnings("ignore")
VALUES = np.arange(35, dtype="i4").reshape(5, 7)


def made(root: Path, version: Any, **more: Any) -> Path:
    group = zarr.open_group(root, mode="w", zarr_format=version)
    group.create_array("g/x", shape=(5, 7), chunks=(2, 3), dtype="i4", fill_value=7, **more)[:3] = VALUES[:3]
    group.create_array("s", shape=(), dtype="f8")[...] = 3
    return root


def check(node: Any) -> None:
    wanted = np.full((5, 7), 7, "i4")
    wanted[:3] = VALUES[:3]
    root: Any = ba.open(node)
    np.testing.assert_array_equal(root["g/x"][...], wanted)
    assert float(root["s"][...]) == 3


@pytest.mark.parametrize("version", [2, 3])
def test_stores_in_folders(version: int, tmp_path: Path) -> None:
    root = made(tmp_path / "s.zarr", version)
    node: Any = ba.load(root)
    check(node)
    manifest = node["g/x"].manifest
    assert len(manifest.sources) == 6  # the last rows were not written
    first = manifest.sources[0]
    facts = Path(first.url).stat()
    assert (first.size, first.stamp) == (facts.st_size, str(facts.st_mtime_ns))
    assert list(manifest.sources) == list(manifest.load().sources)
    ba.write(node, tmp_path / "m.json")
    check(tmp_path / "m.json")
    check(ba.scan(str(root)))
    Path(first.url).write_bytes(b"other")
    with pytest.raises(ba.SourceChanged):
        check(node)


@pytest.mark.parametrize("version", [2, 3])
def test_consolidated_sharded_and_other_separators(version: Any, tmp_path: Path) -> None:
    more: dict[str, Any] = {"chunk_key_encoding": {"name": "v2", "separator": "/"}}
    if version == 3:
        more = {"shards": (4, 6), "chunk_key_encoding": {"name": "default", "separator": "."}}
    root = made(tmp_path / "s.zarr", version, **more)
    zarr.consolidate_metadata(root)
    check(ba.load(root))


@pytest.mark.parametrize("version", [2, 3])
def test_zip_files(version: int, tmp_path: Path) -> None:
    root = made(tmp_path / "s.zarr", version)
    for compression in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        with zipfile.ZipFile(tmp_path / f"{compression}.zarr.zip", "w", compression) as archive:
            for path in root.rglob("*"):
                archive.write(path, path.relative_to(root))
    node: Any = ba.load(tmp_path / "0.zarr.zip")
    check(node)
    assert {s.url for s in node["g/x"].manifest.sources} == {str(tmp_path / "0.zarr.zip")}
    with pytest.raises(ba.Unsupported, match="g/x: the ZIP member"):
        ba.load(tmp_path / "8.zarr.zip")


@pytest.mark.parametrize("version", [2, 3])
def test_object_storage(version: int, tmp_path: Path) -> None:
    fsspec = pytest.importorskip("fsspec")
    root = made(tmp_path / "s.zarr", version)
    url = f"memory://virtual-{version}-{os.getpid()}.zarr"
    fsspec.filesystem("memory").put(f"{root}/", url.removeprefix("memory:/"), recursive=True)
    node: Any = ba.load(url)
    check(node)
    assert node["g/x"].manifest.sources[0].size


def test_a_listing_that_fails_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = made(tmp_path / "s.zarr", 3)
    plain = os.scandir

    def denied(path: Any) -> Any:
        if str(path).endswith("/c/1"):
            raise PermissionError(13, "Permission denied")
        return plain(path)

    monkeypatch.setattr(os, "scandir", denied)
    with pytest.raises(ba.FetchFailed, match="c/1: Permission denied"):
        ba.load(root)


def test_a_link_out_of_the_store(tmp_path: Path) -> None:
    root = made(tmp_path / "s.zarr", 3)
    secret = tmp_path / "secret"
    secret.write_bytes(b"1234")
    (root / "g" / "x" / "c" / "2").mkdir(exist_ok=True)
    (root / "g" / "x" / "c" / "2" / "0").symlink_to(secret)
    with pytest.raises(ba.Forbidden, match="leads out of the store"):
        ba.load(root)
    (root / "g" / "x" / "c" / "2" / "0").unlink()
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "0").write_bytes(b"1234")
    (root / "g" / "x" / "c" / "2").rmdir()
    (root / "g" / "x" / "c" / "2").symlink_to(outside)
    with pytest.raises(ba.Forbidden, match="leads out of the store"):
        ba.load(root)


@pytest.mark.parametrize("name", ["01.0", "0", "0.0.0", "-1.0", "a.b", "0.", "5.0", "9" * 30 + ".0", "٣.0"])
def test_keys_that_are_no_chunks(name: str) -> None:
    assert flat_chunks(ChunkKeys("v2", "."), [name, "1.2"], (5, 4)).tolist() == [-1, 6]
    assert flat_chunks(ChunkKeys("v2", "."), ["0.3", "4.0"], (5, 4)).tolist() == [3, 16]


def test_an_archive_that_went_over_to_zarr(tmp_path: Path) -> None:
    xarray = pytest.importorskip("xarray")
    h5py = pytest.importorskip("h5py")
    with h5py.File(tmp_path / "a.nc", "w") as f:
        f["v"] = np.arange(12, dtype="f4").reshape(2, 6)
        f["time"] = np.arange(2.0)
        f["x"] = np.arange(6.0)
        for name in ("time", "x"):
            f[name].make_scale(name)
        f["v"].dims[0].attach_scale(f["time"])
        f["v"].dims[1].attach_scale(f["x"])
    first = xarray.open_dataset(tmp_path / "a.nc", engine="byteatlas").load()
    second = first.assign_coords(time=[2.0, 3.0]) + 12
    second.to_zarr(tmp_path / "b.zarr", zarr_format=2)
    whole: Any = ba.open(ba.combine([tmp_path / "a.nc", tmp_path / "b.zarr"], "time"))
    wanted = xarray.concat([first, second], "time")
    np.testing.assert_array_equal(whole["v"][...], wanted.v.values)
    np.testing.assert_array_equal(whole["time"][...], wanted.time.values)
    out = tmp_path / "all.json"
    assert run(["combine", f"{tmp_path}/a.nc", f"{tmp_path}/b.zarr", "-c", "time", "-o", str(out)]) == 0
    assert run(["scan", f"{tmp_path}/b.zarr", "-o", f"{tmp_path}/b.json"]) == 0
    assert "v/.zarray" in json.loads((tmp_path / "b.json").read_text())["refs"]
