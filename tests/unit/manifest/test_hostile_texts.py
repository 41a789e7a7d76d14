"""Hostile and broken maps: every refusal with its class, its place in the map and its reason."""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from tests.documents import zarray

from byteatlas.errors import InvalidMetadata
from byteatlas.io.sources.memory import MemorySource
from byteatlas.manifest.json.compressed import decompressed
from byteatlas.manifest.json.documents import consolidated, document, source_infos
from byteatlas.manifest.json.text.reader import Reader, unescape
from byteatlas.manifest.json.text.structure import DocumentSink, map_structure
from byteatlas.manifest.json.values import decode_text
from byteatlas.manifest.model import VirtualGroup
from byteatlas.manifest.options import MapReadOptions
from byteatlas.manifest.references import read_references
from byteatlas.manifest.sharing import SharedDocuments

ARRAY = json.dumps(zarray([4], [2]))
MAP: Mapping[str, Any] = {".zgroup": '{"zarr_format":2}', "x/.zarray": ARRAY}


def refused(target: Any, **how: Any) -> InvalidMetadata:
    """What reading a map, and all of its references, raises."""
    with pytest.raises(InvalidMetadata) as found:
        read_whole(target, **how)
    return found.value


def read_whole(target: Any, **how: Any) -> None:
    node = read_references(target, **how)
    assert isinstance(node, VirtualGroup)
    for array in node.arrays.values():
        array.manifest.load()


DOCUMENTS: Mapping[str, tuple[Any, str]] = {
    "number": (3, "metadata must be text or an object"),
    "list": ([], "metadata must be text or an object"),
    "null": (None, "metadata must be text or an object"),
    "no JSON": ("{", "not JSON ("),
    "list in text": ("[]", "metadata must be an object"),
    "nested": ("[" * 100_000, "nested too deeply"),
    "base64": ("base64:A", "inline data that do not decode ("),
    "no UTF-8": ("base64:" + base64.b64encode(b"\xff").decode(), "not JSON ("),
}


@pytest.mark.parametrize("name", DOCUMENTS)
def test_metadata_that_are_none(name: str) -> None:
    value, why = DOCUMENTS[name]
    with pytest.raises(InvalidMetadata) as found:
        document(value, "m.json: .zgroup")
    assert found.value.where == "m.json: .zgroup"
    assert found.value.why.startswith(why)
    if name not in ("nested", "null"):
        error = refused({**MAP, "x/.zarray": value})
        assert "x/.zarray" in error.where


@pytest.mark.parametrize("value", [[], ["s3://b/a"], ["s3://b/a", 0, 10], [1]])
@pytest.mark.parametrize("key", ["x/.zarray", ".zgroup", "x/.zattrs", "y/zarr.json", ".zmetadata"])
@pytest.mark.parametrize("small_text", [0, 1 << 24])
def test_metadata_that_lie_elsewhere(value: Any, key: str, small_text: int) -> None:
    """Left out, an array would be missing, and nobody would know."""
    chunks = {f"x/{i}": ["s3://b/a", i, 4] for i in range(2)}
    for refs in ({**MAP, **chunks, key: value}, {**chunks, key: value, **MAP} | {key: value}):
        for whole in (refs, {"version": 1, "refs": refs}):
            error = refused(json.dumps(whole).encode(), options=MapReadOptions(small_text=small_text))
            assert error.where.endswith(f": {key}")
            assert error.why.startswith("metadata must be text or an object")


def test_metadata_may_have_a_mark_of_byte_order() -> None:
    assert document("\ufeff{}", "m") == {}
    assert document("base64:eyJhIjoxfQ==", "m") == {"a": 1}


@pytest.mark.parametrize("whole", [{}, {"metadata": 3}, {"metadata": []}, {"metadata": "{}"}])
def test_consolidated_metadata_without_any(whole: Any) -> None:
    with pytest.raises(InvalidMetadata) as found:
        consolidated({".zmetadata": whole}, "m.json")
    assert (found.value.where, found.value.why) == ("m.json: .zmetadata", "no metadata inside")
    assert refused({**MAP, ".zmetadata": json.dumps(whole)}).why == "no metadata inside"


@pytest.mark.parametrize("table", [3, [], {}, {"sources": 3}, {"sources": {}}, "[]", "{}"])
def test_tables_of_sources_that_are_none(table: Any) -> None:
    with pytest.raises(InvalidMetadata) as found:
        source_infos(table, "m.json", MapReadOptions())
    assert found.value.where.startswith("m.json: byteatlas")
    assert found.value.why in ("no list of sources", "metadata must be an object")


@pytest.mark.parametrize("row", [
    3, [], ["a"], ["a", 1], ["a", "1", None], ["a", 1, 2], [1, 1, None], ["a", 1.5, None], ["a", 1, None, None],
])  # fmt: skip
def test_rows_of_the_table_that_are_none(row: Any) -> None:
    with pytest.raises(InvalidMetadata) as found:
        source_infos({"sources": [["a.nc", 1, None], row]}, "m.json", MapReadOptions())
    assert (found.value.where, found.value.why) == ("m.json: byteatlas", f"not a source: {row!r}")
    assert source_infos({"sources": [["a.nc", 1, "x"]]}, "m.json", MapReadOptions())["a.nc"].size == 1


@pytest.mark.parametrize("version", [2, -1, "1", True, None, [1], 1.5])
def test_versions_that_nobody_knows(version: Any) -> None:
    error = refused(json.dumps({"version": version, "refs": dict(MAP)}).encode())
    assert error.why == f"version {version!r} of the format is not known"


VERSIONED: Mapping[str, tuple[dict[str, Any], str]] = {
    "templates": ({"templates": []}, "templates must be an object of texts"),
    "no texts": ({"templates": {"u": 3}}, "templates must be an object of texts"),
    "long": ({"templates": {"u": "a" * 2_000_000}}, "a template is longer than "),
    "endless": ({"templates": {"u": "{{u}}"}, "more": {"x/0": ["{{u}}"]}}, "templates call each other without end"),
    "gen": ({"gen": {"a": 1}}, "gen must be a list"),
    "entry": ({"gen": [3]}, "an entry needs key, url and dimensions"),
    "axes": (
        {"gen": [{"key": "x/{{i0}}", "url": "a", "dimensions": {f"i{n}": {"stop": 1} for n in range(65)}}]},
        "an entry with more than ",
    ),
    "offset": ({"gen": [{"key": "x/0", "url": "a", "offset": "0", "dimensions": {}}]}, "offset and length go together"),
}


@pytest.mark.parametrize("name", VERSIONED)
@pytest.mark.parametrize("small_text", [0, 1 << 24])
def test_templates_and_generated_references(name: str, small_text: int) -> None:
    top, why = VERSIONED[name]
    refs = {**MAP, **top.get("more", {})}
    text = json.dumps({"version": 1, **{k: v for k, v in top.items() if k != "more"}, "refs": refs}).encode()
    error = refused(text, options=MapReadOptions(small_text=small_text))
    assert why in error.why
    assert error.where.startswith("map")


TEXTS: Mapping[str, tuple[bytes, str]] = {
    "list": (b"[]", "a reference map is a JSON object"),
    "nothing": (b"", "a reference map is a JSON object"),
    "empty": (b" { } ", "the map is empty"),
    "number as a key": (b'{3: "a"}', "a member was expected"),
    "rest": (b'{".zgroup": {}} x', "text behind the end of the map"),
    "no refs": (b'{"version": 1}', "no member 'refs'"),
    "refs twice": (b'{"version": 1, "refs": {"a": "b"}, "refs": {"a": "b"}}', "two members 'refs'"),
    "version twice": (b'{"version": 1, "version": 1, "refs": {"a": "b"}}', "two members 'version'"),
    "no member": (b'{"version": 1, 3: 4}', "a member was expected"),
    "no colon": (b'{"version" 1}', "a member was expected"),
    "no comma": (b'{"version": 1 "refs": {"a": "b"}}', "',' or '}' was expected"),
    "rest of version 1": (b'{"version": 1, "refs": {"a": "b"}} x', "text behind the end of the map"),
    "no object": (b'{"version": 1, "refs": []}', "an object was expected"),
    "no key": (b'{"version": 1, "refs": {3: "b"}}', "a key was expected"),
    "key without a colon": (b'{"version": 1, "refs": {"a" "b"}}', "':' was expected"),
    "entries without a comma": (b'{"version": 1, "refs": {"a": {} "b": {}}}', "',' or '}' was expected"),
    "metadata twice": (b'{"version": 1, "refs": {".zgroup": "{}", ".zgroup": "{}"}}', "two entries '.zgroup'"),
    "nested": (b'{"version": 1, "refs": {"a": ' + b"[" * 100_000, "nested too deeply"),
    "no UTF-8": (b'{"version": "\xff", "refs": {"a": "b"}}', "not UTF-8"),
}  # fmt: skip


@pytest.mark.parametrize("name", TEXTS)
def test_texts_that_are_no_map(name: str) -> None:
    text, why = TEXTS[name]
    source = MemorySource(text, "m.json")
    with pytest.raises(InvalidMetadata) as found:
        map_structure(Reader(source, "m.json"), DocumentSink("m.json", SharedDocuments()))
    assert found.value.where.startswith("m.json")
    assert why in found.value.why
    refused(text)  # and so it is for those who read a map


def test_keys_that_are_no_text() -> None:
    with pytest.raises(InvalidMetadata) as found:
        unescape(b"\xff", "m.json")
    assert found.value.where == "m.json"
    assert found.value.why.startswith("not a JSON string in UTF-8: ")


@pytest.mark.parametrize("text", ["base64:A", "base64:\u00e9", "base64:AA=A", "\udcff"])
def test_inline_data_that_do_not_decode(text: str) -> None:
    with pytest.raises(InvalidMetadata) as found:
        decode_text(text, "m.json: x/0")
    assert found.value.where == "m.json: x/0"
    assert found.value.why.startswith("inline data that do not decode (")


@pytest.mark.parametrize("damage", [lambda data: data[:-9], lambda data: data[:20] + b"\xff\xff\xff" + data[23:]])
def test_damaged_compressed_streams(damage: Any) -> None:
    data = gzip.compress(json.dumps(MAP).encode())
    assert json.loads(bytes(decompressed(MemorySource(data, "m"), "m").read_all())) == MAP
    with pytest.raises(InvalidMetadata) as found:
        decompressed(MemorySource(damage(data), "m.json.gz"), "m.json.gz")
    assert found.value.where == "m.json.gz"
    assert found.value.why.startswith("a damaged compressed stream (")


PATHS: Mapping[str, tuple[dict[str, Any], str]] = {
    "deep": ({"a/" * 300 + ".zgroup": '{"zarr_format":2}'}, " levels"),
    "dots": ({"a/../.zgroup": '{"zarr_format":2}'}, "'a/..' is not a node path"),
    "empty": ({"a//.zgroup": '{"zarr_format":2}'}, "'a/' is not a node path"),
    "inside": ({"x/y/.zarray": ARRAY}, "array 'x/y' lies inside array 'x'"),
    "inside of the root": ({".zarray": ARRAY}, "array 'x' lies inside array ''"),
}


@pytest.mark.parametrize("name", PATHS)
def test_nodes_in_impossible_places(name: str) -> None:
    more, why = PATHS[name]
    assert why in refused({**MAP, **more}).why


@pytest.mark.parametrize("key", ["x/0/0", "x/0.0", "x/00"])
def test_keys_of_another_encoding(key: str) -> None:
    """Such a chunk would read as the fill value without a word."""
    error = refused({**MAP, key: "base64:AAAAAAAAAAA="})
    assert f"key {key!r} does not fit the array's chunk key encoding" in error.why
    assert read_references({**MAP, "x/7": "base64:AAAAAAAAAAA="}), "one that a shrunk array leaves behind"


PARQUET: Mapping[str, tuple[str, str]] = {
    "no JSON": ("{", "not JSON ("),
    "list": ("[]", "no member 'metadata'"),
    "other": ('{"metadata": 3, "record_size": 10}', "no member 'metadata'"),
    "nothing": ('{"metadata": {}, "record_size": 10}', "no Zarr metadata in the map"),
    "no documents": ('{"metadata": {"a": {}}, "record_size": 10}', "no Zarr metadata in the map"),
}


@pytest.mark.parametrize("name", PARQUET)
def test_parquet_maps_without_metadata(name: str, tmp_path: Path) -> None:
    text, why = PARQUET[name]
    folder = tmp_path / "m.parquet"
    folder.mkdir()
    (folder / ".zmetadata").write_text(text)
    error = refused(folder)
    assert error.why.startswith(why)
    assert error.where.startswith(str(folder))
