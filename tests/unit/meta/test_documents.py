"""Metadata documents of v1, v2 and v3: what is read, what is refused, and what is written back."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from tests.documents import zarray

from byteatlas.errors import InvalidMetadata, Unsupported
from byteatlas.meta import v1, v2, v3
from byteatlas.meta.dtypes import KNOWN, from_v3, to_v3
from byteatlas.meta.keys import chunk_key, chunk_keys, parse_key, parse_keys
from byteatlas.meta.model import ArrayMeta, ChunkKeys, CodecSpec, Encoding, RectilinearGrid, RegularGrid

ZARRAY = zarray([7, 5], [3, 2])
DOCUMENT = {
    "zarr_format": 3,
    "node_type": "array",
    "shape": [7, 5],
    "data_type": "int32",
    "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [3, 2]}},
    "chunk_key_encoding": {"name": "default"},
    "fill_value": 0,
    "codecs": [{"name": "bytes", "configuration": {"endian": "little"}}],
}


def read2(attributes: dict[str, Any] | None = None, **changes: object) -> ArrayMeta:
    return v2.parse_array({**ZARRAY, **changes}, attributes or {}, "a")


def read3(**changes: object) -> ArrayMeta:
    return v3.parse_array({**DOCUMENT, **changes}, "a")[0]


# ------------------------------------------------------------------------------------------------------ v2


def test_v2_model() -> None:
    meta = read2(
        {"_ARRAY_DIMENSIONS": ["y", "x"], "units": "m"},
        order="F",
        dimension_separator="/",
        compressor={"id": "zlib", "level": 1},
    )
    assert meta.dimension_names == ("y", "x")
    assert meta.attributes == {"units": "m"}
    assert meta.codecs == (
        CodecSpec("transpose", {"order": [1, 0]}),
        CodecSpec("bytes", {"endian": "little"}),
        CodecSpec("numcodecs.zlib", {"level": 1}),
    )
    zarray, zattrs = v2.dump_array(meta)
    assert zarray == {**ZARRAY, "order": "F", "dimension_separator": "/", "compressor": {"id": "zlib", "level": 1}}
    assert zattrs == {"units": "m", "_ARRAY_DIMENSIONS": ["y", "x"]}


@pytest.mark.parametrize(
    "changes",
    [
        {"shape": [-1, 5]},
        {"shape": [7.5, 5]},
        {"shape": 7},
        {"chunks": [3]},
        {"chunks": [0, 2]},
        {"order": "K"},
        {"dtype": "banana"},
        {"dtype": "<i3"},
        {"dtype": "|O"},
        {"dtype": []},
        {"dtype": [["a"]]},
        {"dtype": [["a", "<i4"], ["a", "<i4"]]},
        {"dimension_separator": "\0"},
        {"filters": {}},
        {"filters": [{}]},
        {"compressor": "zlib"},
        {"fill_value": "x"},
        {"fill_value": 1 << 40},
        {"zarr_format": 3},
        {"dtype": "<f16"},
        {"dtype": "|S99999999999"},
    ],
    ids=str,
)
def test_v2_refuses(changes: dict[str, Any]) -> None:
    with pytest.raises((InvalidMetadata, Unsupported)):
        read2(None, **changes)


@pytest.mark.parametrize(
    ("dtype", "value", "expected"),
    [
        ("<f4", "NaN", "nan"),
        ("<f4", "-Infinity", "-inf"),
        ("<f8", 3, "3.0"),
        ("<i4", 3.0, "3"),
        ("|b1", 1, "True"),
        ("<i4", [-9], "-9"),
        ("<c8", [1.0, "NaN"], "(1+nanj)"),
        ("|S3", "YWI=", "b'ab'"),
        ("|S3", "zz", "b'zz'"),
        ("<U2", "é", "é"),
        ("<U2", 0, ""),
        ("<M8[s]", -(2**63), "NaT"),
        ("<M8[s]", 60, "1970-01-01T00:01:00"),
        (">u8", 2**64 - 1, str(2**64 - 1)),
        ("|V2", "AQI=", None),
        ("<i4", True, "1"),
    ],
)
def test_v2_fill_values(dtype: str, value: object, expected: str | None) -> None:
    fill = read2(None, dtype=dtype, fill_value=value).fill_value
    if expected is None:
        assert np.asarray(fill).tobytes() == b"\1\2"
    else:
        assert str(fill) == expected


def test_v2_structured_fill_is_in_the_stored_byte_order() -> None:
    meta = read2(None, dtype=[["a", ">i2"], ["b", "<i4"]], fill_value="AAEBAAAA")
    assert np.asarray(meta.fill_value).tolist() == (1, 1)
    assert meta.codecs == (CodecSpec("byteatlas.bytes", {"dtype": [["a", ">i2"], ["b", "<i4"]]}),)
    assert v2.dump_array(meta)[0]["fill_value"] == "AAEBAAAA"


def test_nczarr() -> None:
    attributes = {
        "_nczarr_array": {"dimension_references": ["/g/time", "/x"], "storage": "chunked"},
        "_nczarr_attr": {"types": {}},
        "units": "K",
    }
    filters = [{"id": "shuffle", "elementsize": "4"}]
    meta = v2.parse_array({**ZARRAY, "filters": filters, "compressor": {"id": "zlib", "level": "4"}}, attributes)
    assert meta.dimension_names == ("time", "x")
    assert meta.attributes == {"units": "K"}
    assert meta.codecs[1:] == (
        CodecSpec("numcodecs.shuffle", {"elementsize": 4}),
        CodecSpec("numcodecs.zlib", {"level": 4}),
    )
    scalar = {"_ARRAY_DIMENSIONS": ["_scalar_"], "_nczarr_array": {"dimension_references": [], "scalar": 1}}
    assert v2.parse_array({**ZARRAY, "shape": [1], "chunks": [1]}, scalar).shape == ()
    absent = {k: v for k, v in ZARRAY.items() if k != "fill_value"}
    assert v2.parse_array(absent, {}).fill_value is None
    group = v2.parse_group({"zarr_format": 2}, {"_nczarr_group": {}, "_nczarr_superblock": {}, "title": "x"})
    assert group.attributes == {"title": "x"}


@pytest.mark.parametrize(
    "meta",
    [
        read3(chunk_grid={"name": "rectilinear", "configuration": {"chunk_shapes": [[3, 4], [5]]}}),
        read3(codecs=[{"name": "scale_offset"}, {"name": "bytes", "configuration": {"endian": "little"}}]),
        read3(dimension_names=["a", None]),
        read3(
            codecs=[
                {
                    "name": "sharding_indexed",
                    "configuration": {"chunk_shape": [3, 2], "codecs": ["bytes"], "index_codecs": ["bytes"]},
                }
            ]
        ),
        read3(),
    ],
    ids=["grid", "codec", "names", "shard", "keys"],
)
def test_what_v2_cannot_say(meta: ArrayMeta) -> None:
    with pytest.raises(Unsupported) as caught:
        v2.dump_array(meta)
    assert caught.value.reason == "zarr-v2"


# ------------------------------------------------------------------------------------------------------ v1


def test_v1() -> None:
    document = {
        "zarr_format": 1,
        "shape": [4, 4],
        "chunks": [2, 2],
        "dtype": "<f8",
        "compression": "blosc",
        "compression_opts": {"cname": "lz4", "clevel": 5, "shuffle": 1},
        "fill_value": math.nan,
        "order": "F",
    }
    meta = v1.parse_array(document, {"a": 1})
    assert meta.zarr_format == 1
    assert meta.codecs[0] == CodecSpec("transpose", {"order": [1, 0]})
    assert str(meta.fill_value) == "nan"
    # Every compressor but blosc got the chunk in C order, whatever the document says.
    zlib = v1.parse_array({**document, "compression": "zlib", "compression_opts": 1}, {})
    assert zlib.codecs == (CodecSpec("bytes", {"endian": "little"}), CodecSpec("numcodecs.zlib", {"level": 1}))
    for changes in ({"compression": "nosuch"}, {"dtype": "|O"}, {"zarr_format": 2}):
        with pytest.raises((InvalidMetadata, Unsupported)):
            v1.parse_array({**document, **changes}, {})


# ------------------------------------------------------------------------------------------------------ v3


@pytest.mark.parametrize(
    "changes",
    [
        {"zarr_format": 2},
        {"node_type": "group"},
        {"shape": [-7, 5]},
        {"data_type": "nosuch"},
        {"data_type": {"name": 3}},
        {"chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [3]}}},
        {"chunk_grid": {"name": "nosuch"}},
        {"chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [3, 0]}}},
        {"chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [3, 2]}, "must_understand": False}},
        {"chunk_grid": {"name": "rectilinear", "configuration": {"chunk_shapes": [[3, 3], [5]]}}},
        {"chunk_grid": {"name": "rectilinear", "configuration": {"chunk_shapes": [[[1, 1 << 40]], [5]]}}},
        {"chunk_key_encoding": {"name": "fanout"}},
        {"chunk_key_encoding": {"name": "default", "configuration": {"separator": "-"}}},
        {"fill_value": "banana"},
        {"fill_value": 1 << 31},
        {"fill_value": True},
        {"codecs": []},
        {"codecs": "bytes"},
        {"codecs": [{}]},
        {"storage_transformers": [{"name": "x"}]},
        {"mystery": 1},
        {"mystery": {"must_understand": True}},
        {"dimension_names": ["a"]},
        {"attributes": []},
    ],
    ids=str,
)
def test_v3_refuses(changes: dict[str, Any]) -> None:
    with pytest.raises((InvalidMetadata, Unsupported)):
        read3(**changes)


@pytest.mark.parametrize("key", ["shape", "data_type", "chunk_grid", "chunk_key_encoding", "fill_value", "codecs"])
def test_v3_needs(key: str) -> None:
    with pytest.raises(InvalidMetadata, match=key):
        v3.parse_array({k: v for k, v in DOCUMENT.items() if k != key})


def test_v3_accepts() -> None:
    assert read3(extra={"must_understand": False}, storage_transformers=[], fill_value=None).fill_value == 0
    assert read3(codecs=["bytes"], data_type={"name": "uint8", "configuration": {}}).codecs == (CodecSpec("bytes"),)
    assert read3(codecs=[{"name": "endian", "configuration": {"endian": "big"}}]).codecs[0].name == "bytes"
    assert read3(codecs=[{"name": "https://zarr.dev/numcodecs/zlib"}]).codecs[0].name == "numcodecs.zlib"
    assert read3(chunk_key_encoding="v2").keys == ChunkKeys("v2", ".")
    runs = read3(
        chunk_grid={"name": "rectilinear", "configuration": {"kind": "inline", "chunk_shapes": [[[2, 3], 4], 2]}}
    )
    assert runs.grid == RectilinearGrid(((2, 2, 2, 4), (2, 2, 2)))
    bounded = read3(chunk_grid={"name": "zarrs.regular_bounded", "configuration": {"chunk_shape": [3, 2]}})
    assert bounded.grid == RectilinearGrid(((3, 3, 1), (2, 2, 1)))


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        ("bool", True),
        ("int8", -128),
        ("uint64", 2**64 - 1),
        ("float16", "0x7e01"),
        ("float32", "0x7fc00001"),
        ("float64", "0x7ff8000000000001"),
        ("float64", "NaN"),
        ("float32", "-Infinity"),
        ("float64", -0.0),
        ("float32", 0.10000000149011612),
        ("complex64", ["0x7fc00001", 2.0]),
        ("complex128", [1.0, "-Infinity"]),
        ("r16", [1, 255]),
        ("string", "é\0"),
        ("bytes", "AP8="),
        ("variable_length_bytes", "AP8="),
        ({"name": "numpy.datetime64", "configuration": {"unit": "s", "scale_factor": 10}}, "NaT"),
        ({"name": "numpy.timedelta64", "configuration": {"unit": "ns", "scale_factor": 1}}, 5),
        ({"name": "fixed_length_utf32", "configuration": {"length_bytes": 8}}, "éx"),
        ({"name": "null_terminated_bytes", "configuration": {"length_bytes": 3}}, "YWI="),
        ({"name": "raw_bytes", "configuration": {"length_bytes": 2}}, "AQI="),
        (
            {
                "name": "struct",
                "configuration": {
                    "fields": [
                        {"name": "a", "data_type": "int8"},
                        {
                            "name": "b",
                            "data_type": {
                                "name": "struct",
                                "configuration": {"fields": [{"name": "x", "data_type": "float32"}]},
                            },
                        },
                    ]
                },
            },
            {"a": 1, "b": {"x": "NaN"}},
        ),
    ],
    ids=str,
)
def test_v3_fill_values_keep_their_bits(kind: object, value: object) -> None:
    document = {**DOCUMENT, "data_type": kind, "fill_value": value, "codecs": ["bytes"]}
    meta, _ = v3.parse_array(document)
    again = v3.dump_array(meta)
    assert again["fill_value"] == value
    if value == -0.0 and isinstance(value, float):
        assert math.copysign(1, again["fill_value"]) == -1
    assert again["data_type"] == kind


def test_v3_fill_values_of_other_writers() -> None:
    listed, _ = v3.parse_array({**DOCUMENT, "data_type": "bytes", "fill_value": [0, 255], "codecs": ["vlen-bytes"]})
    assert listed.fill_value == b"\0\xff"
    assert v3.dump_array(listed)["fill_value"] == "AP8="  # as a list zarr-python refuses it
    fields = [["a", "int16"], ["b", "uint8"]]
    kind = {"name": "structured", "configuration": {"fields": fields}}
    meta, _ = v3.parse_array({**DOCUMENT, "data_type": kind, "fill_value": "AQIF", "codecs": ["bytes"]})
    assert v3.dump_array(meta)["fill_value"] == "AQIF"
    assert v3.dump_array(meta)["data_type"] == kind


def test_numcodecs_codecs_are_written_with_a_configuration() -> None:
    codecs = [{"name": "bytes", "configuration": {"endian": "little"}}, {"name": "numcodecs.crc32"}]
    meta, _ = v3.parse_array({**DOCUMENT, "codecs": codecs})
    assert v3.dump_array(meta)["codecs"][1] == {"name": "numcodecs.crc32", "configuration": {}}


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        ("bool", 2),
        ("bool", "yes"),
        ("int8", "300"),
        ("int8", "1e9"),
        ("float32", "1_0"),
        ("int8", 128),
        ("uint8", -1),
        ("int32", 1.5),
        ("float32", "0x7fc0"),
        ("float32", 1e39),
        ("float32", "Inf"),
        ("complex64", 1.0),
        ("complex64", [1]),
        ("r16", [1]),
        ("r16", [1, 256]),
        ("string", 0),
        ("bytes", "not base64"),
        ("numpy.datetime64", "now"),
        ({"name": "fixed_length_utf32", "configuration": {"length_bytes": 4}}, "ab"),
    ],
)
def test_v3_fill_values_of_the_wrong_kind(kind: object, value: object) -> None:
    with pytest.raises(InvalidMetadata):
        read3(data_type=kind, fill_value=value)


@pytest.mark.parametrize("name", sorted(set(KNOWN)))
def test_every_data_type_has_a_round_trip(name: str) -> None:
    pytest.importorskip("ml_dtypes")
    configuration = {
        "null_terminated_bytes": {"length_bytes": 3},
        "raw_bytes": {"length_bytes": 3},
        "fixed_length_utf32": {"length_bytes": 8},
        "fixed_length_ucs4": {"length_bytes": 8},
        "numpy.datetime64": {"unit": "ms", "scale_factor": 2},
        "numpy.timedelta64": {"unit": "h", "scale_factor": 1},
        "struct": {"fields": [{"name": "a", "data_type": "int8"}]},
        "structured": {"fields": [["a", "int8"]]},
        "byteatlas.subarray": {"data_type": "int8", "shape": [2]},
        "byteatlas.vlen-array": {"data_type": "int8"},
        "zarrs.optional": {"name": "int8", "configuration": {}},
    }.get(name)
    label = "r24" if name == "r*" else name
    kind = from_v3({"name": label, "configuration": configuration} if configuration else label)
    assert from_v3(to_v3(kind)) == kind


# ------------------------------------------------------------------------------------------------------ encodings


def test_encodings_round_trip() -> None:
    plain = Encoding((CodecSpec("bytes", {"endian": "little"}),))
    other = Encoding(
        (CodecSpec("bytes", {"endian": "big"}), CodecSpec("gzip", {"level": 1})),
        (4, 2),
        from_v3("int16"),
        (CodecSpec("scale_offset", {"scale": 2}),),
    )
    base = ArrayMeta(
        (7, 5),
        from_v3("int32"),
        RegularGrid((3, 2)),
        (plain, other),
        np.int32(0),
        keys=ChunkKeys("default", "/"),
        zarr_format=3,
    )
    by_row = np.repeat(np.array([0, 1, 1], np.uint16), 3)
    scattered = np.array([0, 1, 0, 0, 0, 0, 1, 1, 0], np.uint16)
    for column in (by_row, scattered):
        document = v3.dump_array(base, column)
        (codec,) = document["codecs"]
        assert codec["name"] == "byteatlas.encodings"
        meta, found = v3.parse_array(document)
        assert meta == base
        assert found is not None
        assert (found == column).all()
    assert v3.dump_array(base, by_row)["codecs"][0]["configuration"]["map"] == {"axis": 0, "runs": [[0, 1], [1, 2]]}
    with pytest.raises(Unsupported):
        v2.dump_array(base)


@pytest.mark.parametrize(
    "mapping",
    [{"runs": [[0, 8]]}, {"runs": [[2, 9]]}, {"axis": 2, "runs": [[0, 3]]}, {"axis": 0, "runs": [[0, 2]]}, {}],
)
def test_encodings_refuse(mapping: dict[str, Any]) -> None:
    configuration = {"encodings": [{"codecs": ["bytes"]}], "map": mapping}
    with pytest.raises(InvalidMetadata):
        read3(codecs=[{"name": "byteatlas.encodings", "configuration": configuration}])


# ------------------------------------------------------------------------------------------------------ keys


@pytest.mark.parametrize(
    "keys",
    [
        ChunkKeys("default", "/"),
        ChunkKeys("default", "."),
        ChunkKeys("v2", "."),
        ChunkKeys("v2", "/"),
        ChunkKeys("default", "/", ".bin"),
    ],
)
@pytest.mark.parametrize("grid", [(), (4,), (3, 12)])
def test_keys_round_trip(keys: ChunkKeys, grid: tuple[int, ...]) -> None:
    total = math.prod(grid)
    names = chunk_keys(keys, grid, np.arange(total, dtype=np.int64))
    assert len(set(names)) == total
    for flat, index in enumerate(np.ndindex(*grid)):
        assert names[flat] == chunk_key(keys, index)
        assert parse_key(keys, names[flat], len(grid)) == index
    assert parse_keys(keys, [*names, "zarr.json", "c/99/99", "0.01", "c/-1/0"], grid) == dict(enumerate(names))


def test_documents_that_are_almost_alike() -> None:
    alike = {"shape": [78, 5], "data_type": "float64", "fill_value": 0.0}
    first, again = read3(**alike, attributes={"a": 1}), read3(**alike, attributes={"a": 2})
    assert first.encodings is again.encodings  # what they share is parsed once
    assert (first.attributes["a"], again.attributes["a"]) == (1, 2)
    minus = read3(**{**alike, "fill_value": -0.0})
    assert [math.copysign(1, float(str(m.fill_value))) for m in (first, minus)] == [1, -1]


def test_a_document_that_its_owner_changes_later() -> None:
    level: dict[str, Any] = {"level": 1}
    codecs = [{"name": "bytes", "configuration": {"endian": "little"}}, {"name": "gzip", "configuration": level}]
    first = read3(shape=[77, 5], codecs=codecs)
    level["level"] = 9
    assert first.encodings[0].codecs[1].configuration == {"level": 1}
    assert read3(shape=[77, 5], codecs=codecs).encodings[0].codecs[1].configuration == {"level": 9}
