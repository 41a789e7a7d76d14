"""What a form of maps cannot say is refused, and not passed over."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from byteatlas.combining.chunks.small_arrays import inline_array
from byteatlas.errors import BadRequest
from byteatlas.manifest.model import VirtualGroup
from byteatlas.manifest.options import MapWriteOptions
from byteatlas.manifest.references import write_references
from byteatlas.meta.model import CodecSpec, RectilinearGrid
from byteatlas.values import replace


def test_version_3_in_parquet(tmp_path: Path) -> None:
    group = VirtualGroup(arrays={"x": inline_array(np.arange(3.0), ("x",), {})})
    with pytest.raises(BadRequest, match="Parquet maps have no form for version 3"):
        write_references(group, tmp_path / "m.parquet", options=MapWriteOptions(zarr_format=3))
    assert not (tmp_path / "m.parquet").exists()
    write_references(group, tmp_path / "m.json", options=MapWriteOptions(zarr_format=3))


def mixed(grid: object = None) -> VirtualGroup:
    """An array that version 2 can say, and one of two encodings that it cannot."""
    plain = inline_array(np.arange(4.0), ("x",), {})
    meta = plain.meta
    shifted = replace(meta.encodings[0], codecs=(*meta.encodings[0].codecs, CodecSpec("numcodecs.zlib", {"level": 1})))
    two = replace(plain, meta=replace(meta, encodings=(meta.encodings[0], shifted)))
    if isinstance(grid, RectilinearGrid):
        two = replace(plain, meta=replace(meta, grid=grid))
    return VirtualGroup(arrays={"x": plain}, groups={"g": VirtualGroup(arrays={"y": two})})


def keys_of(group: VirtualGroup, path: Path, **more: Any) -> set[str]:
    write_references(group, path, options=MapWriteOptions(**more))
    refs = json.loads(path.read_text())["refs"]
    return {key for key in refs if key.rpartition("/")[2] in (".zarray", ".zgroup", "zarr.json", ".zmetadata")}


def test_a_tree_is_of_one_version(tmp_path: Path) -> None:
    """Readers show the nodes of one version, and say nothing of the others."""
    three = {"zarr.json", "x/zarr.json", "g/zarr.json", "g/y/zarr.json"}
    assert keys_of(mixed(), tmp_path / "m.json") == three
    root = json.loads(json.loads((tmp_path / "m.json").read_text())["refs"]["zarr.json"])
    assert set(root["consolidated_metadata"]["metadata"]) == {"x", "g", "g/y"}
    two = {".zgroup", "x/.zarray", "g/.zgroup", "g/y/zarr.json"}
    assert keys_of(mixed(), tmp_path / "m2.json", zarr_format=2) == two
    assert keys_of(mixed(RectilinearGrid(((1, 3),))), tmp_path / "m3.json") == two
    assert keys_of(VirtualGroup(arrays={"x": mixed().arrays["x"]}), tmp_path / "m4.json") == {".zgroup", "x/.zarray"}
