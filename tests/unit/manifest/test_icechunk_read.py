"""Reading Icechunk repositories: what its store tells of chunks, played by one of our own."""

from __future__ import annotations

import json
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from tests.maps import array

from byteatlas.errors import BadRequest, CorruptFile, FetchFailed, InvalidMetadata
from byteatlas.manifest.foreign.icechunk import read_icechunk, write_icechunk
from byteatlas.manifest.model import Inline, Missing, Remote, VirtualGroup, reference_at
from byteatlas.types import ByteRange

pytest.importorskip("zarr")
pytestmark = pytest.mark.filterwarnings("ignore")
GROUP = {"zarr_format": 3, "node_type": "group", "attributes": {"title": "t"}}
ARRAY = {
    "zarr_format": 3,
    "node_type": "array",
    "shape": [4],
    "data_type": "float32",
    "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [1]}},
    "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
    "fill_value": 0,
    "codecs": [{"name": "bytes", "configuration": {"endian": "little"}}],
    "attributes": {},
}
NATIVE, VIRTUAL, IN_MANIFEST = 1, 2, 3


class Store:
    """What icechunk's store says."""

    def __init__(self, documents: dict[str, Any], batches: list[Any]) -> None:
        self.documents, self.batches = documents, batches

    async def list_dir(self, path: str) -> AsyncIterator[str]:
        assert not path  # the chunks of arrays are not listed
        for name in ("zarr.json", "x"):
            yield name

    async def get(self, key: str, prototype: object) -> Any:
        value = self.documents.get(key)
        if value is None:
            return None
        data = value if isinstance(value, bytes) else json.dumps(value).encode()
        return SimpleNamespace(to_bytes=lambda: data)

    async def array_chunk_iterator(self, path: str) -> AsyncIterator[Any]:
        assert path == "/x"
        for batch in self.batches:
            yield batch


def played(monkeypatch: pytest.MonkeyPatch, batches: list[Any], documents: dict[str, Any] | None = None) -> None:
    store = Store(documents or {"zarr.json": GROUP, "x/zarr.json": ARRAY}, batches)
    session = SimpleNamespace(store=store)
    opened = SimpleNamespace(readonly_session=lambda branch: session)
    module = SimpleNamespace(
        Repository=SimpleNamespace(open=lambda storage: opened), local_filesystem_storage=lambda path: path
    )
    monkeypatch.setitem(sys.modules, "icechunk", module)


def batch(*rows: tuple[int, int, str, int, int], inline: dict[int, bytes] | None = None) -> Any:
    place, kind, path, offset, length = zip(*rows, strict=True)
    return np.array(place)[:, None], np.array(kind), list(path), np.array(offset), np.array(length), inline or {}


def x_of(where: Any, **how: Any) -> Any:
    node = read_icechunk(where, **how)
    assert isinstance(node, VirtualGroup)
    return node.arrays["x"].manifest


def test_chunks_of_every_kind(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    first = batch((0, VIRTUAL, "file:///data/a%20b.nc", 8, 4), (1, NATIVE, "CHUNK", 0, 4))
    second = batch((2, IN_MANIFEST, "", 0, 0), (9, VIRTUAL, "s3://b/c", 0, 4), inline={0: b"1234", 1: b"5678"})
    played(monkeypatch, [first, second])
    node = read_icechunk(tmp_path)
    assert isinstance(node, VirtualGroup)
    found = node.arrays["x"].manifest
    assert dict(node.attributes) == {"title": "t"}
    assert reference_at(found, (0,)) == Remote("file:///data/a%20b.nc", ByteRange(8, 4))
    assert reference_at(found, (1,)) == Remote(f"{tmp_path}/chunks/CHUNK", ByteRange(0, 4))
    assert reference_at(found, (2,)) == Inline(b"1234")
    assert reference_at(found, (3,)) == Missing()
    assert [s.url for s in found.sources] == ["file:///data/a%20b.nc", f"{tmp_path}/chunks/CHUNK"]


@pytest.mark.parametrize(("url", "plain"), [("file:///d/a.nc", "/d/a.nc"), ("file://host/a", None), ("s3://b/a", None)])
def test_local_files_by_their_paths(monkeypatch: pytest.MonkeyPatch, url: str, plain: str | None) -> None:
    played(monkeypatch, [batch((0, VIRTUAL, url, 1, 2))])
    node = read_icechunk(object())
    assert isinstance(node, VirtualGroup)
    assert reference_at(node.arrays["x"].manifest, (0,)) == Remote(plain or url, ByteRange(1, 2))


def test_native_chunks_lie_in_the_repository(monkeypatch: pytest.MonkeyPatch) -> None:
    played(monkeypatch, [batch((0, NATIVE, "CHUNK", 0, 4))])
    with pytest.raises(BadRequest, match=r"x: native chunks; say where the repository lies \(url=\.\.\.\)"):
        x_of(object()).load()
    node = read_icechunk(object(), url="s3://b/repo/")
    assert isinstance(node, VirtualGroup)
    assert reference_at(node.arrays["x"].manifest, (0,)) == Remote("s3://b/repo/chunks/CHUNK", ByteRange(0, 4))


def test_a_chunk_of_unknown_kind(monkeypatch: pytest.MonkeyPatch) -> None:
    played(monkeypatch, [batch((0, 7, "CHUNK", 0, 4))])
    with pytest.raises(CorruptFile) as refused:
        x_of(object(), url="s3://b/repo").load()
    assert (refused.value.why, refused.value.url) == ("a chunk of unknown kind 7", "x")


def test_a_chunk_that_is_told_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    row = (0, VIRTUAL, "s3://b/a", 0, 4)
    played(monkeypatch, [batch(row), batch(row)])
    with pytest.raises(InvalidMetadata, match="x: two references"):
        x_of(object()).load()


def test_a_document_that_is_no_json(monkeypatch: pytest.MonkeyPatch) -> None:
    played(monkeypatch, [], {"zarr.json": b"{"})
    with pytest.raises(InvalidMetadata) as refused:
        read_icechunk(object())
    assert refused.value.where == "zarr.json"


def test_local_sources_share_a_folder(tmp_path: Path) -> None:
    pytest.importorskip("icechunk")
    both = array((2,), (1,), references={(0,): ("/data/a.nc", 0, 4), (1,): ("/other/b.nc", 0, 4)})
    with pytest.raises(BadRequest, match="the local sources share no folder; Icechunk needs one to allow access to"):
        write_icechunk(VirtualGroup(arrays={"x": both}), tmp_path / "repo")
    assert not (tmp_path / "repo").exists()


def test_a_file_is_no_repository(tmp_path: Path) -> None:
    pytest.importorskip("icechunk")
    (tmp_path / "map.json").write_bytes(b"{}")
    with pytest.raises(FetchFailed, match=r"map\.json"):
        read_icechunk(tmp_path / "map.json")
