"""Object models read from stores and maps, and hierarchies created from models."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any, Literal

import fsspec
import numpy as np
import pytest
from tests.unit.meta.test_zom import array2, hierarchy

import byteatlas as ba
from byteatlas.array.models import create_from_model
from byteatlas.array.writing.create import array_meta
from byteatlas.array.writing.write import create_array, create_group, open_writable
from byteatlas.cli.app import run
from byteatlas.errors import Conflict, InvalidMetadata, Unsupported
from byteatlas.meta import zom
from byteatlas.meta.model import CodecSpec, GroupMeta, NodeMeta
from byteatlas.meta.zom.schema import violations
from byteatlas.store.base import WritableStore
from byteatlas.store.directory import DirectoryStore
from byteatlas.store.memory import MemoryStore
from byteatlas.store.remote import RemoteStore
from byteatlas.types import Buffer

VERSIONS: tuple[Literal[2, 3], ...] = (2, 3)


def stores(tmp_path: Path) -> list[WritableStore]:
    return [
        MemoryStore(),
        DirectoryStore(tmp_path / "z", writable=True),
        RemoteStore(f"memory://models/{tmp_path.name}", writable=True),
    ]


def rich(number: Literal[2, 3]) -> zom.Model:
    nodes: dict[str, NodeMeta] = {
        "": GroupMeta({"title": "t"}, number),
        "t": array_meta((5,), "M8[s]", fill_value=np.datetime64("NaT", "s"), zarr_format=number),
        "g/s": array_meta((4, 4), [("a", "<i4"), ("b", "S3")], chunks=(2, 2), zarr_format=number),
        "g/deep/f": array_meta(
            (9,),
            "f4",
            fill_value=np.float32("nan"),
            dimension_names=("x",),
            attributes={"units": "K"},
            zarr_format=number,
        ),
    }
    if number == 3:
        nodes["sharded"] = array_meta((64, 64), "u2", chunks=(8, 8), shards=(32, 32))
    return zom.to_model(nodes)


@pytest.mark.parametrize("number", VERSIONS)
def test_round_trip_through_stores(tmp_path: Path, number: Literal[2, 3]) -> None:
    model = rich(number)
    for store in stores(tmp_path):
        for path in ("", "a/b"):
            if path:
                create_from_model(model, store, path)
            else:
                create_from_model(json.loads(json.dumps(zom.to_json(model))), store, consolidated=True)
                assert zom.diff(ba.to_model(store), model) == []
            found = ba.to_model(store, path=path)
            assert zom.diff(found, model) == []
            array = ba.open(store, path=f"{path}/g/deep/f")
            assert isinstance(array, ba.Array)
            assert np.isnan(array[...]).all()
    assert zom.diff(ba.to_model(store, path="a/b", depth=1), model) == [
        "/g/s: only in the second",
        "/g/deep: only in the second",
    ]
    fsspec.filesystem("memory").rm("/models", recursive=True)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("number", VERSIONS)
def test_zarr_python_reads_what_was_created(tmp_path: Path, number: Literal[2, 3]) -> None:
    zarr = pytest.importorskip("zarr")
    known = {path: node for path, node in zom.from_model(rich(number)).items() if path != "g/s"}
    ba.from_model(zom.to_model(known), tmp_path / "z", consolidated=True)
    for consolidated in (True, False):
        group = zarr.open_group(str(tmp_path / "z"), mode="r", use_consolidated=consolidated)
        assert dict(group.attrs) == {"title": "t"}
        assert np.isnan(group["g/deep/f"][:]).all()
        assert np.isnat(group["t"][:]).all()
    theirs = zarr.open_group(str(tmp_path / "w"), mode="w", zarr_format=number)
    theirs.create_array("x", shape=(4, 6), chunks=(2, 3), dtype="f8", attributes={"a": 1})
    model = ba.to_model(tmp_path / "w")
    ba.from_model(model, tmp_path / "again")
    assert zom.diff(ba.to_model(tmp_path / "again"), model) == []
    assert zarr.open_group(str(tmp_path / "again"), mode="r")["x"].metadata == theirs["x"].metadata


@pytest.mark.parametrize("number", VERSIONS)
def test_created_in_the_other_version(number: Literal[2, 3]) -> None:
    store = MemoryStore()
    model = rich(2)
    other: Literal[2, 3] = 3 if number == 2 else 2
    source = zom.convert(model, number)
    create_from_model(source, store, zarr_format=other)
    made = ba.to_model(store)
    assert zom.version_of(made) == other
    assert list(zom.from_model(made)) == list(zom.from_model(model))
    open_writable(store, "g/deep/f")[...] = np.arange(9)
    array = ba.open(store, path="g/deep/f")
    assert isinstance(array, ba.Array)
    assert array[...].tolist() == list(range(9))
    assert array.dims == ("x",)
    with pytest.raises(Unsupported):
        create_from_model(rich(3), MemoryStore(), zarr_format=2)  # shards


def test_nothing_is_overwritten_unless_asked(tmp_path: Path) -> None:
    for store in stores(tmp_path):
        create_array(store, "a", array_meta((4,), "i4"))[...] = [1, 2, 3, 4]
        create_group(store, "b")
        for path in ("", "a", "b"):
            with pytest.raises(Conflict, match="already"):
                create_from_model(hierarchy(), store, path)
        with pytest.raises(Conflict, match="is an array"):
            create_from_model(hierarchy(), store, "a/below")
        create_from_model(zom.to_model({"": array_meta((4,), "i4")}), store, "a", overwrite=True)
        array = ba.open(store, path="a")
        assert isinstance(array, ba.Array)
        assert array[...].tolist() == [0, 0, 0, 0]  # the old chunk is gone
        create_from_model(hierarchy(), store, overwrite=True)
        assert zom.diff(ba.to_model(store), hierarchy()) == []
        assert store.get("zarr.json") is None
    fsspec.filesystem("memory").rm("/models", recursive=True)
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "letter.txt").write_text("dear")
    ba.from_model(hierarchy(), tmp_path / "mine", overwrite=True)
    assert (tmp_path / "mine" / "letter.txt").exists()  # there was no node: nothing to remove


class _Recorder(MemoryStore):
    """Remembers in which order keys appear."""

    def __init__(self) -> None:
        super().__init__()
        self.keys: list[str] = []

    def set(self, key: str, value: Buffer) -> None:
        self.keys.append(key)
        super().set(key, value)


def test_checked_first_and_the_root_last() -> None:
    for number in VERSIONS:
        for consolidated in (False, True):
            store = _Recorder()
            create_from_model(zom.convert(hierarchy(), number), store, consolidated=consolidated)
            last = "zarr.json" if number == 3 else ".zmetadata" if consolidated else ".zgroup"
            assert store.keys[-1] == last
            assert len(set(store.keys)) == len(store.keys)
    bad = array_meta((4,), "i4", compression=(CodecSpec("nobody.knows", {}),))
    store = _Recorder()
    with pytest.raises(Unsupported):
        create_from_model(zom.to_model([("a", GroupMeta({}, 3)), ("b", bad)]), store)
    with pytest.raises(InvalidMetadata):
        create_from_model({"zarr_format": 3, "node_type": "group", "members": {"a/b": {}}}, store)
    with pytest.raises(ba.BadRequest, match="root"):
        create_from_model(hierarchy(), store, "below", consolidated=True)
    assert store.keys == []


def test_a_map_of_both_versions_becomes_version_3() -> None:
    two, three = array2(chunks=[4, 6]), array_meta((3,), "i4")
    store = MemoryStore()
    create_group(store, "", zarr_format=3)
    create_array(store, "new", three)
    create_from_model(zom.to_model({"": two}), store, "old")
    model = ba.to_model(store)
    assert zom.version_of(model) == 3
    assert list(zom.from_model(model)) == ["", "new", "old"]


def test_schema_errors_name_the_node() -> None:
    pytest.importorskip("jsonschema")
    for number in VERSIONS:
        document: Any = zom.to_json(zom.convert(hierarchy(), number))
        assert violations(document) == []
        assert violations(document, 2 if number == 3 else 3)
        document["members"]["g"]["members"]["b"]["shape"] = [-1, 6]
        document["members"][".."] = document["members"]["a"]
        found = violations(document)
        assert any(line.startswith("/g/b/shape/0: -1") for line in found)
        assert any("'..'" in line for line in found)
        assert len(found) == 2
    assert violations(7) == ["/: zarr_format None"]


def test_include_and_exclude() -> None:
    one, two = zom.to_model({"": array2()}), zom.to_model({"": array2(shape=[8, 6], chunks=[1, 1])})
    assert zom.diff(one, two, include=["dtype"]) == []
    assert zom.diff(one, two, include=["shape", "chunks"], exclude=["chunks"]) == ["/shape: [4, 6] != [8, 6]"]


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    def call(*words: object) -> tuple[int, str]:
        status = run(["model", *(str(w) for w in words)])
        return status, capsys.readouterr().out

    store = tmp_path / "z"
    ba.from_model(rich(3), store, consolidated=True)
    assert call("dump", store, "-o", tmp_path / "m.json")[0] == 0
    assert zom.diff(zom.from_json(json.loads((tmp_path / "m.json").read_text())), rich(3)) == []
    assert set(json.loads(call("dump", store, "--form", "flat", "--depth", "0")[1])) == {"/"}
    for source in (store / "zarr.json", tmp_path / "m.json", store):
        assert call("diff", source, store) == (0, "")
    assert call("create", tmp_path / "m.json", tmp_path / "new", "--group", "x/y")[0] == 0
    assert zom.diff(ba.to_model(tmp_path / "new", path="x/y"), rich(3)) == []
    assert call("create", tmp_path / "m.json", tmp_path / "new", "--group", "x/y")[0] == 5
    assert call("create", tmp_path / "m.json", tmp_path / "new", "--group", "x/y", "--overwrite")[0] == 0
    assert call("validate", tmp_path / "m.json") == (0, "")
    assert call("validate", store, "--zarr-format", "2")[0] == 1
    two = zom.to_json(rich(2))
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(json.dumps(two).encode())))
    status, text = call("dump", "-", "--form", "consolidated", "--zarr-format", "2")
    assert status == 0
    assert zom.diff(zom.from_consolidated(json.loads(text)), rich(2)) == []
    (tmp_path / "c.zmetadata").write_text(text)
    status, text = call("diff", tmp_path / "c.zmetadata", store, "--json", "--without", "attributes")
    assert status == 1
    assert "/sharded: only in the second" in json.loads(text)
    assert json.loads(call("schema", "2")[1])["title"].endswith("version 2")
    assert call("dump", tmp_path / "absent.json")[0] == 4


def test_stale_consolidated_metadata_are_found(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ba.from_model(rich(2), tmp_path / "z", consolidated=True)
    assert run(["model", "validate", str(tmp_path / "z")]) == 0
    assert capsys.readouterr().out == ""
    document = tmp_path / "z" / "t" / ".zarray"
    document.write_text(document.read_text().replace("5", "6", 1))
    assert run(["model", "validate", str(tmp_path / "z")]) == 1
    assert "consolidated metadata: /t/" in capsys.readouterr().out
