"""Object models: their three forms, their schemas, comparison, and conversion between versions."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.documents import zarray

from byteatlas.codecs import build_pipeline
from byteatlas.errors import InvalidMetadata, Unsupported
from byteatlas.meta import v2, zom
from byteatlas.meta.model import ArrayMeta, ChunkKeys, CodecSpec, GroupMeta, NodeMeta
from byteatlas.meta.zom.schema import schema
from byteatlas.meta.zom.versions import to_v2, to_v3


def array2(**changes: object) -> ArrayMeta:
    document = zarray([4, 6], [2, 3], fill_value=None, compressor={"id": "zlib", "level": 1}) | changes
    return v2.parse_array(document, {"_ARRAY_DIMENSIONS": ["y", "x"], "units": "m"})


def hierarchy() -> zom.Model:
    record = array2(dtype=[["p", "<f4"], ["q", ">i2"]])
    nodes: dict[str, NodeMeta] = {"": GroupMeta({"title": "t"}), "a": array2(), "g/b": record}
    return zom.to_model(nodes)


def test_flat_form() -> None:
    model = hierarchy()
    assert list(zom.from_model(model)) == ["", "a", "g", "g/b"]
    assert zom.to_model(zom.from_model(model)) == model
    with pytest.raises(InvalidMetadata):
        zom.to_model({"a": array2(), "a/b": array2()})
    for name in ("..", ".zattrs", "a//b"):
        with pytest.raises(InvalidMetadata):
            zom.to_model({name: GroupMeta()})


def test_json_form_and_schema() -> None:
    jsonschema = pytest.importorskip("jsonschema")
    for number in (2, 3):
        model = zom.convert(hierarchy(), number)
        document = json.loads(json.dumps(zom.to_json(model)))
        assert zom.equal(zom.from_json(document), model)
        validator = jsonschema.Draft202012Validator(schema(number))
        assert not list(validator.iter_errors(document))
        for damage in _damages(document):
            assert list(validator.iter_errors(damage))
            with pytest.raises((InvalidMetadata, Unsupported)):
                zom.from_json(damage)


def _damages(document: dict[str, Any]) -> list[dict[str, Any]]:
    out = []
    changes: list[Callable[[dict[str, Any]], Any]] = [
        lambda d: d["members"]["a"].update(shape=[-1, 2]),
        lambda d: d["members"]["a"].pop("shape" if d["zarr_format"] == 3 else "chunks"),
        lambda d: d["members"].update({"..": d["members"]["g"]}),
        lambda d: d["members"]["a"].update(members={}),
        lambda d: d.update(zarr_format=4),
    ]
    for change in changes:
        damaged = copy.deepcopy(document)
        change(damaged)
        out.append(damaged)
    return out


def test_consolidated_form() -> None:
    for number in (2, 3):
        model = zom.convert(hierarchy(), number)
        document = json.loads(json.dumps(zom.consolidate(model)))
        assert zom.diff(zom.from_consolidated(document), model) == []
    assert set(zom.consolidate(hierarchy())["metadata"]) == {
        ".zgroup",
        ".zattrs",
        "a/.zarray",
        "a/.zattrs",
        "g/.zgroup",
        "g/.zattrs",
        "g/b/.zarray",
        "g/b/.zattrs",
    }


def test_diff() -> None:
    one = hierarchy()
    flat = zom.from_model(one)
    flat["a"] = array2(chunks=[4, 3])
    del flat["g/b"]
    flat["h"] = GroupMeta()
    two = zom.to_model(flat)
    assert zom.diff(one, two) == ["/a/chunks: [2, 3] != [4, 3]", "/g/b: only in the first", "/h: only in the second"]
    assert not zom.equal(one, two)
    assert zom.equal(zom.to_model({"": array2()}), zom.to_model({"": array2(chunks=[1, 1])}), exclude=["chunks"])
    assert zom.diff(one, zom.to_model({"": array2()})) == ["/: a group != an array"]


def test_diff_tells_types_apart_in_lists_too() -> None:
    one, two = (zom.to_model({"": GroupMeta({"flags": [value]})}) for value in (1, True))
    assert zom.diff(one, two) == ["/attributes/flags: [1] != [True]"]
    assert zom.equal(one, zom.to_model({"": GroupMeta({"flags": [1]})}))


def test_consolidated_metadata_of_zarr_python(tmp_path: Path) -> None:
    zarr = pytest.importorskip("zarr")
    root = zarr.open_group(str(tmp_path / "z"), mode="w", zarr_format=2, attributes={"a": 1})
    root.create_array("x", shape=(4,), chunks=(2,), dtype="f4")
    root.create_group("g").create_array("y", shape=(), dtype="i2")
    zarr.consolidate_metadata(root.store)
    document = json.loads((tmp_path / "z" / ".zmetadata").read_text())
    model = zom.from_consolidated(document)
    assert list(zom.from_model(model)) == ["", "x", "g", "g/y"] or set(zom.from_model(model)) == {"", "x", "g", "g/y"}
    assert zom.equal(zom.from_consolidated(zom.consolidate(model)), model)


# ------------------------------------------------------------------------------------------------------ v2 <-> v3

CHAINS = [
    {"order": "F"},
    {"filters": [{"id": "delta", "dtype": "<i4", "astype": "<i2"}, {"id": "shuffle", "elementsize": 2}]},
    {"filters": [{"id": "shuffle", "elementsize": 0}]},
    {"dtype": ">i4", "compressor": {"id": "blosc", "cname": "lz4", "clevel": 5, "shuffle": -1, "blocksize": 0}},
    {"dtype": "<f8", "filters": [{"id": "fixedscaleoffset", "dtype": "<f8", "astype": ">i2", "scale": 4, "offset": 1}]},
    {"dtype": "|b1", "filters": [{"id": "packbits"}], "compressor": {"id": "gzip", "level": 2}},
    {"dtype": "|b1", "filters": [{"id": "packbits"}], "order": "F"},
    {"compressor": {"id": "zstd", "level": 3, "checksum": True}, "filters": [{"id": "crc32c"}]},
    {"dtype": [["a", ">i2"], ["b", "<f4"]], "compressor": None},
    {"dtype": "<f4", "filters": [{"id": "bitround", "keepbits": 5}]},
]


@pytest.mark.parametrize("changes", CHAINS, ids=[str(i) for i in range(len(CHAINS))])
def test_conversion_keeps_the_bytes(changes: dict[str, Any]) -> None:
    meta = array2(**changes)
    converted = to_v3(meta)
    assert converted.zarr_format == 3
    assert converted.fill_value is not None
    rng = np.random.default_rng(0)
    values = (
        rng.integers(0, 2, (2, 3)).astype(meta.data_type.numpy)
        if not meta.data_type.numpy.names
        else np.zeros((2, 3), meta.data_type.numpy)
    )
    pipelines = [build_pipeline(m.encodings[0], m.data_type, (2, 3), None) for m in (meta, converted)]
    data = pipelines[0].encode(values)
    assert (pipelines[1].decode(data) == pipelines[0].decode(data)).all()
    assert (pipelines[0].decode(pipelines[1].encode(values)) == pipelines[0].decode(data)).all()
    back = to_v2(converted)
    assert (
        build_pipeline(back.encodings[0], back.data_type, (2, 3), None).decode(data) == pipelines[0].decode(data)
    ).all()


def test_filters_move_in_front_of_bytes() -> None:
    converted = to_v3(array2(filters=[{"id": "delta", "dtype": "<i4", "astype": "<i2"}]))
    assert [c.name for c in converted.codecs] == ["numcodecs.delta", "bytes", "numcodecs.zlib"]
    # A filter that reads the bytes in another order than they are stored in cannot move.
    stuck = to_v3(array2(filters=[{"id": "delta", "dtype": ">i4"}]))
    assert [c.name for c in stuck.codecs] == ["bytes", "numcodecs.delta", "numcodecs.zlib"]


def test_what_cannot_be_converted() -> None:
    meta = to_v3(array2())
    with pytest.raises(Unsupported):
        to_v2(to_v3(array2(), keys=ChunkKeys("default", "/")))
    assert to_v2(to_v3(array2(), keys=ChunkKeys("default", "/")), keys=ChunkKeys("v2", ".")).keys == ChunkKeys(
        "v2", "."
    )
    from dataclasses import replace

    sharded = replace(meta, encodings=(replace(meta.encodings[0], codecs=(CodecSpec("sharding_indexed", {}),)),))
    with pytest.raises(Unsupported):
        to_v2(sharded)


@pytest.mark.filterwarnings("ignore")
def test_converted_arrays_read_equal_in_zarr_python(tmp_path: Path) -> None:
    zarr = pytest.importorskip("zarr")
    values = np.arange(24, dtype="i4").reshape(4, 6)
    cases: list[dict[str, Any]] = [
        {"order": "F"},
        {"compressor": {"id": "blosc", "cname": "zstd", "clevel": 1, "shuffle": 2, "blocksize": 0}},
        {"filters": [{"id": "delta", "dtype": "<i4"}], "compressor": {"id": "gzip", "level": 1}},
    ]
    for number, changes in enumerate(cases):
        meta = array2(chunks=[4, 6], **changes)
        pipeline = build_pipeline(meta.encodings[0], meta.data_type, (4, 6), None)
        folder = tmp_path / str(number)
        folder.mkdir()
        (folder / "zarr.json").write_text(json.dumps(zom.node_json(to_v3(meta))))
        (folder / "0.0").write_bytes(pipeline.encode(values))
        assert (zarr.open_array(str(folder), mode="r")[...] == values).all()
