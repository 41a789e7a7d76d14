"""The source table of a map, what is checked of it, and how URLs are written."""

from __future__ import annotations

import json
import os
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.maps import array, references

from byteatlas.array import ReadOptions, open_node
from byteatlas.errors import FetchFailed, InvalidMetadata, SourceChanged
from byteatlas.io.open import SourcePool
from byteatlas.io.policy import Policy
from byteatlas.io.stamp import Check, stamp_of
from byteatlas.manifest.model import Remote, SourceInfo, VirtualArray, VirtualGroup
from byteatlas.manifest.ops.common import map_arrays
from byteatlas.manifest.ops.sources import check_sources
from byteatlas.manifest.options import MapReadOptions, MapWriteOptions
from byteatlas.manifest.references import read_references, write_references
from byteatlas.types import ByteRange

VALUES = np.arange(12, dtype="<f4")


@pytest.fixture
def indexed(tmp_path: Path) -> VirtualGroup:
    """One array in one file, with the file's size and stamp recorded."""
    path = tmp_path / "data.bin"
    path.write_bytes(bytes(100) + VALUES.tobytes())
    info = SourceInfo(str(path), path.stat().st_size, stamp_of(SourcePool()(str(path))))
    node = array((12,), (4,), url=str(path))
    manifest = replace(node.manifest.load(), sources=(info,))
    return VirtualGroup(arrays={"x": VirtualArray(node.meta, manifest)})


def read(target: Path, check: Check) -> list[float]:
    root = open_node(read_references(target), options=ReadOptions(check=check))
    values: list[float] = root["x"][...].tolist()
    return values


@pytest.mark.parametrize("name", ["m.json", "m.parquet"])
def test_sources_are_written_and_checked(indexed: VirtualGroup, tmp_path: Path, name: str) -> None:
    target, data = tmp_path / name, tmp_path / "data.bin"
    write_references(indexed, target)
    node = read_references(target)
    assert isinstance(node, VirtualGroup)
    assert node.arrays["x"].manifest.load().sources == indexed.arrays["x"].manifest.sources
    for check in ("free", "size", "stamp", "off"):
        assert read(target, check) == VALUES.tolist()
    os.utime(data, ns=(1, 1))
    assert read(target, "size") == VALUES.tolist()
    with pytest.raises(SourceChanged, match=r"data\.bin: stamp"):
        read(target, "stamp")
    with data.open("ab") as file:
        file.write(b"more")
    for check in ("free", "size", "stamp"):
        with pytest.raises(SourceChanged, match=r"data\.bin: size was 148 when indexed, is 152 now"):
            read(target, check)  # type: ignore[arg-type]
    assert read(target, "off") == VALUES.tolist()
    data.unlink()
    with pytest.raises(FetchFailed):
        read(target, "off")


def test_json_begins_and_ends_as_gdal_wants_it(indexed: VirtualGroup, tmp_path: Path) -> None:
    """GDAL knows a map by its first bytes, and its parser stops at a list that is not a reference."""
    write_references(indexed, tmp_path / "m.json")
    text = (tmp_path / "m.json").read_text()
    assert text.startswith('{"version":1,"refs":{')
    assert "templates" not in text
    assert {k for k, v in json.loads(text).items() if not isinstance(v, (str, int))} == {"refs"}
    assert all(isinstance(v, (str, list)) for v in json.loads(text)["refs"].values())


@pytest.mark.parametrize("name", ["m.json", "m.parquet"])
def test_no_table_on_request(indexed: VirtualGroup, tmp_path: Path, name: str) -> None:
    write_references(indexed, tmp_path / name, options=MapWriteOptions(sources=False))
    text = (tmp_path / name if name.endswith("json") else tmp_path / name / ".zmetadata").read_text()
    assert "byteatlas" not in json.loads(text)


@pytest.mark.parametrize("name", ["m.json", "m.parquet"])
def test_relative_maps_move_with_their_files(indexed: VirtualGroup, tmp_path: Path, name: str) -> None:
    folder = tmp_path / "maps"
    folder.mkdir()
    write_references(indexed, folder / name, options=MapWriteOptions(relative=True))
    shutil.copytree(tmp_path, tmp_path.with_name("moved"), ignore=shutil.ignore_patterns("moved"))
    moved = tmp_path.with_name("moved")
    (tmp_path / "data.bin").unlink()
    node = read_references(moved / "maps" / name)
    assert isinstance(node, VirtualGroup)
    assert [s.url for s in node.arrays["x"].manifest.load().sources] == [str(moved / "data.bin")]
    assert read(moved / "maps" / name, "size") == VALUES.tolist()
    shutil.rmtree(moved)


def test_relative_sources_are_those_of_the_working_folder_when_written(
    indexed: VirtualGroup, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "sub").mkdir()

    def here(path: str, old: VirtualArray) -> VirtualArray:
        return VirtualArray(old.meta, replace(old.manifest.load(), sources=(SourceInfo("data.bin"),)))

    write_references(map_arrays(indexed, here), "sub/m.json")
    monkeypatch.chdir("/")
    assert read(tmp_path / "sub" / "m.json", "off") == VALUES.tolist()


def test_an_interrupted_write_leaves_the_old_map(indexed: VirtualGroup, tmp_path: Path) -> None:
    class Broken:
        grid_shape = (3,)
        sources = indexed.arrays["x"].manifest.sources

        def rows(self, chunks: object) -> object:
            raise FetchFailed("far away", "gone")

    for name in ("m.json", "m.json.gz", "m.parquet"):
        write_references(indexed, tmp_path / name)
        before = sorted(p.name for p in tmp_path.iterdir())
        arrays = {"x": VirtualArray(indexed.arrays["x"].meta, Broken())}  # type: ignore[arg-type]
        with pytest.raises(FetchFailed, match="gone"):
            write_references(VirtualGroup(arrays=arrays), tmp_path / name)
        assert read(tmp_path / name, "off") == VALUES.tolist()
        assert sorted(p.name for p in tmp_path.iterdir()) == before


def test_a_new_parquet_map_replaces_all_of_the_old_one(indexed: VirtualGroup, tmp_path: Path) -> None:
    write_references(VirtualGroup(arrays={"old": indexed.arrays["x"]}), tmp_path / "m.parquet")
    write_references(indexed, tmp_path / "m.parquet")
    assert sorted(p.name for p in (tmp_path / "m.parquet").iterdir()) == [".zmetadata", "x"]


def test_a_target_that_cannot_be_written(indexed: VirtualGroup, tmp_path: Path) -> None:
    for name in ("no/such/m.json", "no/such/m.parquet"):
        with pytest.raises(FetchFailed):
            write_references(indexed, tmp_path / name)


def test_the_state_of_every_source(indexed: VirtualGroup, tmp_path: Path) -> None:
    states = [s.state for s in check_sources(indexed, SourcePool())]
    assert states == ["same"]
    other = array((8,), (4,), references={(0,): (str(tmp_path / "gone.bin"), 0, 16), (1,): ("s3://b/x", 0, 16)})
    (tmp_path / "data.bin").write_bytes(b"other")
    plain = array((4,), (4,), url=str(tmp_path / "data.bin"))
    tree = VirtualGroup(arrays={**indexed.arrays, "other": other})
    found = {
        s.url.rpartition("/")[2]: s.state for s in check_sources(tree, SourcePool(policy=Policy(deny=("s3://b",))))
    }
    assert found == {"data.bin": "changed", "gone.bin": "vanished", "x": "forbidden"}
    assert [s.state for s in check_sources(plain, SourcePool())] == ["there"]


def test_references_without_a_url_mean_the_target() -> None:
    zarray = {"zarr_format": 2, "shape": [2], "chunks": [1], "dtype": "|u1", "compressor": None, "filters": None}
    zarray |= {"order": "C", "fill_value": 0}
    document = {"version": 1, "refs": {"x/.zarray": json.dumps(zarray), "x/0": [None, 5, 1], "x/1": [None]}}
    node = read_references(document, options=MapReadOptions(target="s3://b/one"))
    assert isinstance(node, VirtualGroup)
    found = references(node.arrays["x"])
    assert found == {(0,): Remote("s3://b/one", ByteRange(5, 1)), (1,): Remote("s3://b/one", None)}
    with pytest.raises(InvalidMetadata, match="target="):
        read_references(document).arrays["x"].manifest.load()  # type: ignore[union-attr]
