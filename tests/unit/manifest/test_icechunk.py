"""Virtual references in an Icechunk repository."""

from __future__ import annotations

import asyncio
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.maps import array

from byteatlas.array import open_node
from byteatlas.errors import BadRequest, Unsupported
from byteatlas.manifest.foreign.icechunk import IcechunkOptions, read_icechunk, write_icechunk
from byteatlas.manifest.model import VirtualGroup
from byteatlas.values import replace

icechunk = pytest.importorskip("icechunk")
VALUES = np.arange(24, dtype="<f4").reshape(4, 6)


@pytest.fixture
def tree(tmp_path: Path) -> VirtualGroup:
    """``x`` in four chunks of a file, one of them missing and one inline; ``g/s`` a scalar."""
    blocks = {(i, j): VALUES[2 * i : 2 * i + 2, 3 * j : 3 * j + 3].tobytes() for i in range(2) for j in range(2)}
    (tmp_path / "data").mkdir()
    path = tmp_path / "data" / "x.bin"
    path.write_bytes(bytes(10) + b"".join(blocks.values()))
    refs: dict[tuple[int, ...], Any] = {p: (str(path), 10 + 24 * n, 24) for n, p in enumerate(blocks)}
    refs[0, 1] = blocks[0, 1]
    del refs[1, 1]
    x = array((4, 6), (2, 3), references=refs, dimension_names=("a", "b"), attributes={"units": "K"})
    s = array((), (), references={(): (str(path), 10, 4)})
    return VirtualGroup(arrays={"x": x}, groups={"g": VirtualGroup(arrays={"s": s})})


def by_zarr(folder: Path, repository: Path) -> Any:
    zarr = pytest.importorskip("zarr")
    allowed = icechunk.containers_credentials({f"file://{folder}/": None})
    storage = icechunk.local_filesystem_storage(str(repository))
    opened = icechunk.Repository.open(storage, authorize_virtual_chunk_access=allowed)
    return zarr.open_group(opened.readonly_session("main").store, mode="r")


def test_written_and_read_by_zarr_python(tree: VirtualGroup, tmp_path: Path) -> None:
    expected = VALUES.copy()
    expected[2:, 3:] = 0
    for options in (IcechunkOptions(), IcechunkOptions("replace")):  # the second commit replaces the first
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            write_icechunk(tree, tmp_path / "repo", options)
            root = by_zarr(tmp_path / "data", tmp_path / "repo")
            np.testing.assert_array_equal(root["x"][...], expected)
            assert float(root["g/s"][...]) == 0
            assert dict(root["x"].attrs) == {"units": "K"}


def test_masks_are_those_that_xarray_reads(tree: VirtualGroup, tmp_path: Path) -> None:
    xarray = pytest.importorskip("xarray")
    masked = tree.arrays["x"].meta.with_attributes({"_FillValue": 5.0})
    x = replace(tree.arrays["x"], meta=replace(masked, dimension_names=("a", "b")))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        write_icechunk(VirtualGroup(arrays={"x": x}), tmp_path / "repo")
        group = by_zarr(tmp_path / "data", tmp_path / "repo")
        found = xarray.open_zarr(group.store, consolidated=False, chunks=None)
    expected = VALUES.copy()
    expected[2:, 3:] = 0
    expected[expected == 5] = np.nan
    np.testing.assert_array_equal(found.x.values, expected)


def test_written_where_an_event_loop_runs(tree: VirtualGroup, tmp_path: Path) -> None:
    """As in a notebook."""

    async def cell() -> str:
        return write_icechunk(tree, tmp_path / "repo")

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert asyncio.run(cell())
        assert by_zarr(tmp_path / "data", tmp_path / "repo")["x"].shape == (4, 6)


def test_read_back(tree: VirtualGroup, tmp_path: Path) -> None:
    write_icechunk(tree, tmp_path / "repo")
    if not hasattr(icechunk.IcechunkStore, "array_chunk_iterator"):
        with pytest.raises(Unsupported, match=r"2\.0 or later"):
            read_icechunk(tmp_path / "repo")
        return
    found = read_icechunk(tmp_path / "repo")
    expected = VALUES.copy()
    expected[2:, 3:] = 0
    root: Any = open_node(found)
    np.testing.assert_array_equal(root["x"][...], expected)
    assert isinstance(found, VirtualGroup)
    inside = tree.groups["g"].arrays["s"]
    assert found.groups["g"].arrays["s"].manifest.load().sources[0] == inside.manifest.sources[0]


def test_what_icechunk_cannot_hold(tree: VirtualGroup, tmp_path: Path) -> None:
    whole = VirtualGroup(arrays={"w": array((4,), (4,), references={(0,): (str(tmp_path / "data" / "x.bin"),)})})
    with pytest.raises(Unsupported, match="w: a whole-file reference"):
        write_icechunk(whole, tmp_path / "a")
    remote = VirtualGroup(arrays={"r": array((4,), (4,), references={(0,): ("ftp://host/x.nc", 0, 16)})})
    with pytest.raises(BadRequest, match="no container for ftp://host"):
        write_icechunk(remote, tmp_path / "b")
    with pytest.raises(BadRequest, match="storage objects"):
        write_icechunk(tree, "ftp://host/repo")


def test_converted_from_the_shell(tree: VirtualGroup, tmp_path: Path) -> None:
    from byteatlas.cli.app import run
    from byteatlas.io.kind import kind_of
    from byteatlas.manifest.references import write_references

    write_references(tree, tmp_path / "m.json")
    assert run(["convert", str(tmp_path / "m.json"), str(tmp_path / "repo"), "--format", "icechunk"]) == 0
    assert kind_of(str(tmp_path / "repo")) == "parquet"
    if hasattr(icechunk.IcechunkStore, "array_chunk_iterator"):
        assert run(["convert", str(tmp_path / "repo"), str(tmp_path / "back.json")]) == 0
