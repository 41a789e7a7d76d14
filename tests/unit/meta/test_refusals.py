"""What metadata documents may not say: each refusal by its class, its place and its words."""

from __future__ import annotations

import sys
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from tests.documents import zarray
from tests.unit.codecs.refusals.tables import fault

from byteatlas.codecs import build_pipeline
from byteatlas.errors import ByteatlasError, InvalidMetadata, MissingExtra, Unsupported
from byteatlas.meta import dtypes, encodings, fill, v1, v2, v3
from byteatlas.meta.dtypes import NARROW, from_numpy, from_v2, from_v3, numpy_v2, to_v2
from byteatlas.meta.elements.layout import Plain
from byteatlas.meta.elements.values import decode
from byteatlas.meta.grid import chunk_counts
from byteatlas.meta.model import (
    MOST_ENCODINGS,
    ArrayMeta,
    ChunkKeys,
    CodecSpec,
    DataType,
    Encoding,
    GroupMeta,
    RectilinearGrid,
    RegularGrid,
)
from byteatlas.meta.zom import model as zom
from byteatlas.meta.zom import schema, versions

ZARRAY = zarray([7, 5], [3, 2])
LITTLE: Any = {"name": "bytes", "configuration": {"endian": "little"}}
DOCUMENT: dict[str, Any] = {
    "zarr_format": 3,
    "node_type": "array",
    "shape": [7, 5],
    "data_type": "int32",
    "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [3, 2]}},
    "chunk_key_encoding": {"name": "default"},
    "fill_value": 0,
    "codecs": [LITTLE],
}


def read2(**changes: Any) -> ArrayMeta:
    return v2.parse_array({**ZARRAY, **changes}, {}, "air")


def read3(**changes: Any) -> ArrayMeta:
    return v3.parse_array({**DOCUMENT, **changes}, "air")[0]


def nested(depth: int, kind: Any = "int8") -> Any:
    for _ in range(depth):
        kind = {"name": "struct", "configuration": {"fields": [["a", kind]]}}
    return kind


def nested2(depth: int) -> Any:
    kind: Any = "<i2"
    for _ in range(depth):
        kind = [["a", kind]]
    return kind


def sub(dims: Any, kind: Any = "int8") -> Any:
    return {"name": "byteatlas.subarray", "configuration": {"shape": dims, "data_type": kind}}


def sized(name: str, length: Any) -> Any:
    return {"name": name, "configuration": {"length_bytes": length}}


def timed(**configuration: Any) -> Any:
    return {"name": "numpy.datetime64", "configuration": configuration}


def rectilinear(*axes: Any, kind: str = "inline") -> Any:
    return {"name": "rectilinear", "configuration": {"kind": kind, "chunk_shapes": list(axes)}}


def fields(*given: Any) -> Any:
    return {"name": "struct", "configuration": {"fields": list(given)}}


# ------------------------------------------------------------------------------------------------------ data types

TYPES: list[tuple[Any, type[ByteatlasError], str]] = [
    (nested(17), InvalidMetadata, "a data type nested too deep"),
    (5, InvalidMetadata, "5 is no data type"),
    ({"name": "int8", "must_understand": False}, InvalidMetadata, "is no data type"),
    ({"name": "int8", "configuration": [1]}, InvalidMetadata, "is no data type"),
    ({}, InvalidMetadata, "{} is no data type"),
    ("int128", Unsupported, "unknown data type 'int128' [datatype]"),
    ("complex_int8", Unsupported, "unknown data type 'complex_int8' [datatype]"),
    ("complex_int4", Unsupported, "unknown data type 'complex_int4' [datatype]"),
    ("r7", InvalidMetadata, "data type 'r7': bits must be a multiple of 8"),
    (f"r{(1 << 31) + 8}", InvalidMetadata, "bits must be a multiple of 8"),
    ("r0", Unsupported, "unknown data type 'r0' [datatype]"),
    (sized("null_terminated_bytes", 0), InvalidMetadata, "length_bytes 0"),
    (sized("null_terminated_bytes", True), InvalidMetadata, "length_bytes True"),
    (sized("raw_bytes", (1 << 28) + 1), InvalidMetadata, "length_bytes 268435457"),
    (sized("fixed_length_utf32", 6), InvalidMetadata, "length_bytes 6"),
    (sized("fixed_length_utf32", None), InvalidMetadata, "length_bytes None"),
    (timed(unit="eon"), InvalidMetadata, "numpy.datetime64 of unit 'eon', scale_factor 1"),
    (timed(unit="s", scale_factor=0), InvalidMetadata, "scale_factor 0"),
    (timed(unit="s", scale_factor=True), InvalidMetadata, "scale_factor True"),
    (timed(unit="s", scale_factor=1 << 31), InvalidMetadata, "scale_factor 2147483648"),
    (fields(), InvalidMetadata, "struct without fields"),
    ("struct", InvalidMetadata, "struct without fields"),
    (fields(["a"]), InvalidMetadata, "struct: field ['a']"),
    (fields({"name": "a"}), InvalidMetadata, "struct: field {'name': 'a'}"),
    (fields(["a", "int8"], ["a", "int8"]), InvalidMetadata, "struct: fields need names, each its own"),
    (fields(["", "int8"]), InvalidMetadata, "struct: fields need names, each its own"),
    (fields(["a", "string"]), Unsupported, "struct with a field 'a' of string [datatype]"),
    (fields(["a", "int4"]), Unsupported, "struct with a field 'a' of int4 [datatype]"),
    (fields(["a", "complex_float16"]), Unsupported, "struct with a field 'a' of complex_float16 [datatype]"),
    (
        fields(*[[f"f{k}", sized("raw_bytes", 1 << 28)] for k in range(2)]),
        InvalidMetadata,
        "elements of 536870912 bytes",
    ),
    (sub([0]), InvalidMetadata, "byteatlas.subarray of shape [0]"),
    (sub([True]), InvalidMetadata, "byteatlas.subarray of shape [True]"),
    (sub("2"), InvalidMetadata, "byteatlas.subarray of shape '2'"),
    (sub([1] * 65), InvalidMetadata, "elements of 65 axes and 1 bytes"),
    (sub([1] * 33, sub([1] * 32)), InvalidMetadata, "elements of 65 axes and 1 bytes"),
    (sub([1 << 28, 1 << 28]), InvalidMetadata, "elements of 2 axes and 72057594037927936 bytes"),
    (sub([2], "string"), Unsupported, "byteatlas.subarray of string [datatype]"),
    (sub([2], "complex_float16"), Unsupported, "byteatlas.subarray of complex_float16 [datatype]"),
    (sub([2], "uint4"), Unsupported, "byteatlas.subarray of uint4 [datatype]"),
    ({"name": "zarrs.optional", "configuration": {}}, InvalidMetadata, "zarrs.optional without an inner data type"),
    ("byteatlas.vlen-array", InvalidMetadata, "None is no data type"),
]


@pytest.mark.parametrize(("document", "kind", "words"), TYPES)
def test_data_types_of_version_3(document: Any, kind: type[ByteatlasError], words: str) -> None:
    with fault(kind, words):
        from_v3(document)
    with fault(kind, "air: ", words):
        read3(data_type=document)


TYPES2: list[tuple[Any, type[ByteatlasError], str]] = [
    (nested2(17), InvalidMetadata, "a dtype nested too deep"),
    (None, InvalidMetadata, "None is no data type"),
    ([], InvalidMetadata, "[] is no data type"),
    ("<i3", InvalidMetadata, "'<i3' is no data type"),
    ("<f32", InvalidMetadata, "'<f32' is no data type"),
    ("|S268435457", InvalidMetadata, "'|S268435457' is no data type"),
    ("<U268435456", InvalidMetadata, "'<U268435456': elements of 1073741824 bytes"),
    ("<M8[0s]", InvalidMetadata, "'<M8[0s]' is no data type"),
    ("<M8[99999999999s]", InvalidMetadata, "'<M8[99999999999s]' is no data type"),
    ("<f16", Unsupported, "dtype '<f16': extended precision differs between machines [datatype]"),
    ([["a", "|O"]], InvalidMetadata, "'|O' is no data type"),
    ([["a"]], InvalidMetadata, "field ['a']"),
    ([["a", "<i2", 1, 2]], InvalidMetadata, "field ['a', '<i2', 1, 2]"),
    ([["", "<i2"]], InvalidMetadata, "field ['', '<i2']"),
    ([[5, "<i2"]], InvalidMetadata, "field [5, '<i2']"),
    (["<i2"], InvalidMetadata, "fields of a structured dtype need names, each its own"),
    ([["a", "<i2"], ["a", "<i2"]], InvalidMetadata, "fields of a structured dtype need names, each its own"),
    ([["a", "<i2", [0]]], InvalidMetadata, "field ['a', '<i2', [0]]"),
    ([["a", "<i2", [True]]], InvalidMetadata, "field ['a', '<i2', [True]]"),
    ([["a", "<i2", [1] * 65]], InvalidMetadata, "elements of 65 axes and 2 bytes"),
    ([["a", [["b", "<i2", [1] * 33]], [1] * 32]], InvalidMetadata, "elements of 65 axes and 2 bytes"),
    ([["a", "<i2", [1 << 28, 8]]], InvalidMetadata, "elements of 2 axes and 4294967296 bytes"),
    ([["a", "|S268435456"], ["b", "|i1"]], InvalidMetadata, "elements of 268435457 bytes"),
]


@pytest.mark.parametrize(("document", "kind", "words"), TYPES2)
def test_data_types_of_version_2(document: Any, kind: type[ByteatlasError], words: str) -> None:
    with fault(kind, words):
        from_v2(document)
    with fault(kind, "air: ", words):
        read2(dtype=document)


def test_data_types_just_within_the_bounds() -> None:
    assert from_v3(sub([1] * 64)).numpy.subdtype is not None
    assert from_v3(nested(16)).numpy.itemsize == 1
    assert numpy_v2(nested2(16)).itemsize == 2
    assert numpy_v2([["a", "|S268435455"], ["b", "|i1"]]).itemsize == 1 << 28
    assert from_v3(timed(unit="s", scale_factor=(1 << 31) - 1)).numpy == np.dtype("M8[2147483647s]")


def test_axes_of_arrays_and_their_elements_count_together() -> None:
    chain = Encoding((CodecSpec("bytes", {"endian": "little"}),))
    kind = from_v3(sub([1] * 60))
    assert build_pipeline(chain, kind, (1,) * 4, None).decode(b"\5").reshape(-1).tolist() == [5]
    with fault(Unsupported, "chunks of 65 axes, those of their elements among them", "[too-large]"):
        build_pipeline(chain, kind, (1,) * 5, None)
    inside = from_v2([["a", "<i2", [1] * 60]])
    with fault(Unsupported, "chunks of 65 axes", "[too-large]"):
        build_pipeline(chain, inside, (1,) * 5, None)


def test_objects_among_fields() -> None:
    heap = [{"id": "fill_hdf_strings", "dtype": "|S16"}]
    meta = read2(dtype=[["a", "|O"], ["b", "<i4", [2]]], filters=heap, fill_value=None)
    assert meta.data_type.numpy == np.dtype([("a", "O"), ("b", "<i4", (2,))])
    for entry in (["a", "|O", [2]], ["", "|O"], ["a"], [5, "|O"], "a"):
        with fault(InvalidMetadata, "air: ", "dtype: field "):
            read2(dtype=[entry], filters=heap)
    with fault(InvalidMetadata, "dtype: fields of a structured dtype need names, each its own"):
        read2(dtype=[["a", "|O"], ["a", "<i4"]], filters=heap)
    with fault(InvalidMetadata, "dtype: elements of 268435457 bytes"):
        read2(dtype=[["a", "|S268435449"], ["b", "|O"]], filters=heap)
    with fault(Unsupported, "dtype |O without a known object codec as first filter", "[object-codec]"):
        read2(dtype="|O")


def test_types_that_are_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    with fault(Unsupported, "NumPy type object has no Zarr data type", "[datatype]"):
        from_numpy(np.dtype(object))
    monkeypatch.delattr(ml_dtypes, "float4_e2m1fn")
    with fault(Unsupported, "data type float4_e2m1fn needs a newer ml_dtypes", "[datatype]"):
        from_v3("float4_e2m1fn")
    monkeypatch.setitem(sys.modules, "ml_dtypes", None)
    with fault(MissingExtra, "data type bfloat16 needs an extra", "byteatlas[dtypes]"):
        from_v3("bfloat16")


def test_types_that_version_2_has_not() -> None:
    gaps = np.dtype({"names": ["a"], "formats": ["<i2"], "offsets": [1], "itemsize": 3})
    tail = np.dtype({"names": ["a"], "formats": ["<i2"], "offsets": [0], "itemsize": 3})
    for kind, words in (
        (DataType("x", np.dtype([("a", "O")])), "no structured types with variable-length fields"),
        (from_v3("complex_float16"), "no data type complex_float16"),
        (DataType("x", gaps), "gaps between the fields"),
        (DataType("x", tail), "gaps after the fields"),
    ):
        with fault(Unsupported, "Zarr v2 has ", words, "[datatype]"):
            to_v2(kind)


def test_elements_of_another_size() -> None:
    with fault(InvalidMetadata, "elements of (3,) bytes where the layout has 4"):
        decode(Plain("<i4"), np.zeros((2, 3), np.uint8))


# ------------------------------------------------------------------------------------------------------ fill values

FILLS: list[tuple[Any, Any]] = [
    ("int8", 128),
    ("int8", -129),
    ("int8", 1.5),
    ("int8", True),
    ("int8", "NaN"),
    ("int8", "x"),
    ("int8", [0]),
    ("bool", 2),
    ("bool", "true"),
    ("float32", 1e39),
    ("float32", "1e9999"),
    ("float32", 10**400),
    ("float32", True),
    ("float32", "nan"),
    ("float32", "0x7fc0000"),
    ("float32", "0x7fc000000"),
    ("float32", "0xzzzzzzzz"),
    ("float32", "0X-fc00000"),
    ("float64", {}),
    ("complex64", [1]),
    ("complex64", 1),
    ("complex64", [1, "x"]),
    ("complex_float16", [1, 2, 3]),
    ("complex_float16", [1e9, 0]),
    ("int4", 8),
    ("int4", True),
    ("int4", 1.0),
    ("uint2", -1),
    ("bfloat16", 1e40),
    ("bfloat16", 10**400),
    ("bfloat16", True),
    ("bfloat16", "x"),
    ("bfloat16", "0x7f"),
    ("float8_e4m3fn", "Infinity"),
    ("float8_e4m3fn", 449),
    ("float4_e2m1fn", "NaN"),
    ("float8_e5m2", -57345),
    (timed(unit="s"), 1 << 63),
    (timed(unit="s"), True),
    (timed(unit="s"), "NAT"),
    (timed(unit="s"), 1.5),
    (sized("null_terminated_bytes", 2), [1, 2, 3]),
    (sized("null_terminated_bytes", 2), [256]),
    (sized("null_terminated_bytes", 2), [True]),
    (sized("null_terminated_bytes", 2), "?"),
    (sized("null_terminated_bytes", 2), 5),
    (sized("raw_bytes", 2), [1]),
    (sized("fixed_length_utf32", 8), "abc"),
    (sized("fixed_length_utf32", 8), 0),
    ("r16", [1]),
    (sub([2]), [1]),
    (sub([2]), [1, 2, 3]),
    (sub([2]), 0),
    (fields(["a", "int8"]), 0),
    (fields(["a", "int8"]), {}),
    (fields(["a", "int8"]), {"a": 128}),
    (fields(["a", "int8"]), "AQI="),
    ("string", 0),
    ("bytes", 0),
    ("bytes", "?"),
    ({"name": "zarrs.optional", "configuration": {"name": "int8"}}, 5),
    ({"name": "zarrs.optional", "configuration": {"name": "int8"}}, [300]),
    ({"name": "byteatlas.vlen-array", "configuration": {"data_type": "int8"}}, 0),
    ({"name": "byteatlas.vlen-array", "configuration": {"data_type": "int8"}}, [300]),
]


@pytest.mark.parametrize(("kind", "value"), FILLS, ids=str)
def test_fill_values_that_do_not_fit(kind: Any, value: Any) -> None:
    with fault(InvalidMetadata, "air: fill_value: ", " does not fit data type "):
        read3(data_type=kind, fill_value=value)


@pytest.mark.parametrize(
    ("kind", "value", "wanted"),
    [
        ("int8", -128, -128), ("int8", 127.0, 127), ("int8", "-5", -5), ("bool", 1, True), ("float32", "1.5", 1.5),
        ("float32", "-0", -0.0), ("float32", "0x3fc00000", 1.5), ("complex64", [1, "Infinity"], complex(1, np.inf)),
        ("int4", -8, -8), ("uint4", 15, 15), ("bfloat16", "-Infinity", -np.inf), ("float8_e4m3fn", 448, 448.0),
        ("float8_e5m2", -57344, -57344.0), ("float4_e2m1fn", 6, 6.0), ("bfloat16", "0x3fc0", 1.5), ("int8", None, 0),
        (sized("null_terminated_bytes", 2), [97, 98], b"ab"), (sized("fixed_length_utf32", 8), "ab", "ab"),
        ("string", "x", "x"), ("bytes", [1, 2], b"\1\2"), ("binary", "AQI=", b"\1\2"),
        ({"name": "zarrs.optional", "configuration": {"name": "int8"}}, [5], 5),
    ],
)  # fmt: skip
def test_fill_values_that_fit(kind: Any, value: Any, wanted: Any) -> None:
    found: Any = read3(data_type=kind, fill_value=value).fill_value
    assert found == wanted
    assert np.signbit(found) == np.signbit(wanted) if isinstance(wanted, float) else True


@pytest.mark.parametrize("name", [n for n in NARROW if n.startswith(("float", "bfloat"))])
def test_the_greatest_number_of_each_narrow_type_fits(name: str) -> None:
    most = float(ml_dtypes.finfo(name).max)
    found: Any = fill.from_v3(most, from_v3(name))
    assert float(found) == most
    with fault(InvalidMetadata, f"does not fit data type {name}"):
        fill.from_v3(most * 1.01, from_v3(name))


FILLS2: list[tuple[Any, Any]] = [
    ("|V2", "AQ=="),
    ("|V2", 5),
    ("|S2", 5),
    ("|S2", "YWJj"),
    ("|S2", "a?c"),
    ("<c8", [1]),
    ("<f4", 10**400),
    ("<U2", "abc"),
    ([["a", "<i2"]], "AQ=="),
]


@pytest.mark.parametrize(("dtype", "value"), FILLS2, ids=str)
def test_fill_values_of_version_2_that_do_not_fit(dtype: Any, value: Any) -> None:
    with fault(InvalidMetadata, "air: fill_value: ", " does not fit data type "):
        read2(dtype=dtype, fill_value=value)


# ------------------------------------------------------------------------------------------------------ documents

DOCUMENTS: list[tuple[dict[str, Any], type[ByteatlasError], str]] = [
    ({"shape": [10**400, 5]}, InvalidMetadata, "shape: 1000"),
    ({"shape": [1 << 63, 5]}, InvalidMetadata, "shape: 9223372036854775808 is out of range"),
    ({"shape": [-1, 5]}, InvalidMetadata, "shape: -1 is out of range"),
    ({"shape": [True, 5]}, InvalidMetadata, "shape: True is not an integer"),
    ({"shape": [float("nan"), 5]}, InvalidMetadata, "shape: nan is not an integer"),
    ({"shape": [float("inf"), 5]}, InvalidMetadata, "shape: inf is not an integer"),
    ({"shape": [1] * 65}, InvalidMetadata, "is not a list of at most 64 lengths"),
    ({"chunk_grid": {"name": "hexagonal"}}, Unsupported, "unknown chunk grid 'hexagonal' [chunk-grid]"),
    ({"chunk_grid": {"name": "regular", "must_understand": False}}, InvalidMetadata, "must_understand is not allowed"),
    ({"chunk_grid": {"name": ""}}, InvalidMetadata, "chunk_grid {'name': ''} has no name"),
    ({"chunk_grid": {"name": "regular", "configuration": 5}}, InvalidMetadata, "the configuration is not an object"),
    ({"chunk_grid": {"name": "regular", "more": 5}}, InvalidMetadata, "unknown member 'more'"),
    (
        {"chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [3]}}},
        InvalidMetadata,
        "chunk_shape [3] of an",
    ),
    (
        {"chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [0, 1]}}},
        InvalidMetadata,
        "0 is out of range",
    ),
    ({"chunk_grid": rectilinear(3, 2, kind="file")}, Unsupported, "rectilinear grid of kind 'file' [chunk-grid]"),
    ({"chunk_grid": rectilinear(3)}, InvalidMetadata, "chunk_shapes needs one entry per dimension"),
    ({"chunk_grid": rectilinear([3], 2)}, InvalidMetadata, "chunks of 3 in all do not cover an axis of length 7"),
    ({"chunk_grid": rectilinear([[3, 2, 1]], 2)}, InvalidMetadata, "run [3, 2, 1] is not [length, count]"),
    ({"chunk_grid": rectilinear([[0, 2]], 2)}, InvalidMetadata, "chunk length: 0 is out of range"),
    ({"chunk_grid": rectilinear([[1, 1 << 40]], 2)}, Unsupported, "1099511627776 chunks along one axis of a rect"),
    ({"chunk_grid": rectilinear([[1, 1 << 24], 1], 2)}, Unsupported, "16777217 chunks along one axis of a rectilinear"),
    ({"shape": [1 << 40, 5], "chunk_grid": rectilinear(1, 2)}, Unsupported, "1099511627776 chunks along one axis"),
    ({"chunk_key_encoding": "hashed"}, Unsupported, "unknown chunk key encoding 'hashed' [chunk-keys]"),
    ({"chunk_key_encoding": {"name": "default", "must_understand": False}}, InvalidMetadata, "must_understand"),
    ({"chunk_key_encoding": {"name": "v2", "configuration": {"separator": "-"}}}, InvalidMetadata, "separator '-'"),
    (
        {"chunk_key_encoding": {"name": "zarrs.default_suffix", "configuration": {"suffix": "a/b"}}},
        InvalidMetadata,
        "chunk",
    ),
    ({"codecs": []}, InvalidMetadata, "codecs: [] is not a list of at least one codec"),
    ({"codecs": [5]}, InvalidMetadata, "codecs: codec 0 is not an object"),
    ({"codecs": [{"name": "x", "must_understand": 1}]}, InvalidMetadata, "has no name"),
    ({"dimension_names": ["a"]}, InvalidMetadata, "dimension_names: ['a'] of an array of 2 dimensions"),
    ({"dimension_names": ["a", 5]}, InvalidMetadata, "dimension_names"),
    ({"storage_transformers": {"x": 1}}, InvalidMetadata, "is not a list"),
    ({"storage_transformers": ["zip"]}, Unsupported, "unknown storage transformer 'zip' [storage-transformer]"),
    ({"attributes": []}, InvalidMetadata, "attributes is not an object"),
    ({"node_type": "group"}, InvalidMetadata, "node_type"),
    ({"zarr_format": 2}, InvalidMetadata, "zarr_format"),
    ({"surprise": 1}, InvalidMetadata, "surprise"),
]


@pytest.mark.parametrize(("changes", "kind", "words"), DOCUMENTS)
def test_documents_of_version_3(changes: dict[str, Any], kind: type[ByteatlasError], words: str) -> None:
    with fault(kind, "air: ", words):
        read3(**changes)


def test_documents_of_version_1() -> None:
    document = {"zarr_format": 1, "shape": [4], "chunks": [2], "dtype": "<i4", "fill_value": 0, "order": "C"}
    good = {**document, "compression": "zlib", "compression_opts": 1}
    assert v1.parse_array(good, {}, "air").zarr_format == 1
    for changes, kind, words in (
        ({"zarr_format": 2}, InvalidMetadata, "meta: zarr_format 2 in a version 1 document"),
        ({"dtype": "|O"}, Unsupported, "version 1 object arrays hold pickles [datatype]"),
        ({"compression": "lz77"}, Unsupported, "compression 'lz77' with options 1 [codec]"),
        ({"compression_opts": {}}, Unsupported, "compression 'zlib' with options {} [codec]"),
    ):
        with pytest.raises(kind) as caught:
            v1.parse_array({**good, **changes}, {}, "air")
        assert words.split(": ")[-1] in str(caught.value)


RUNS: list[tuple[Any, type[ByteatlasError], str]] = [
    ({}, InvalidMetadata, "encodings: not a list of 1 to 65535 encodings"),
    ({"encodings": []}, InvalidMetadata, "encodings: not a list of 1 to 65535 encodings"),
    ({"encodings": [{}], "more": 1}, InvalidMetadata, "unknown members ['more']"),
    ({"encodings": [5]}, InvalidMetadata, "encoding is not an object"),
    ({"encodings": [{"codecs": [LITTLE], "level": 1}]}, InvalidMetadata, "encoding: unknown members ['level']"),
    ({"encodings": [{"codecs": [LITTLE], "chunk_shape": [1]}]}, InvalidMetadata, "chunk_shape [1] of an encoding in 2"),
    ({"map": {}}, InvalidMetadata, "map: runs are missing"),
    ({"map": {"runs": [], "axis": 2}}, InvalidMetadata, "map: axis 2 of 2"),
    ({"map": {"runs": [[0]]}}, InvalidMetadata, "map: run [0]"),
    ({"map": {"runs": [[0, 0]]}}, InvalidMetadata, "run: 0 is out of range"),
    ({"map": {"runs": [[0, 5]]}}, InvalidMetadata, "map: runs cover 5 of 6 chunks, or name unknown encodings"),
    ({"map": {"runs": [[2, 6]]}}, InvalidMetadata, "map: runs cover 6 of 6 chunks, or name unknown encodings"),
    ({"map": {"runs": [[0, 1], [1, 1]], "axis": 1}}, InvalidMetadata, "map: runs cover 2 of 3 chunks"),
    (
        {"map": {"runs": [[0, (1 << 63) - 1], [0, (1 << 63) - 1]]}},
        InvalidMetadata,
        "map: runs cover 18446744073709551614",
    ),
]


@pytest.mark.parametrize(("configuration", "kind", "words"), RUNS)
def test_arrays_of_several_encodings(configuration: Any, kind: type[ByteatlasError], words: str) -> None:
    base = {"encodings": [{"codecs": [LITTLE]}] * 2} if "map" in configuration else {}
    with fault(kind, words):
        encodings.parse({**base, **configuration}, (2, 3))


def test_maps_of_encodings() -> None:
    both = [{"codecs": [LITTLE]}, {"codecs": [LITTLE], "chunk_shape": [1, 1], "data_type": "int8"}]
    found, column = encodings.parse({"encodings": both, "map": {"axis": 1, "runs": [[0, 1], [1, 2]]}}, (2, 3))
    assert column is not None
    assert column.tolist() == [0, 1, 1, 0, 1, 1]
    assert found[1].chunk_shape == (1, 1)
    assert encodings.parse({"encodings": both[:1]}, (2, 3))[1] is None
    with fault(Unsupported, "4294967296 chunks of several encodings", "[too-large]"):
        encodings.parse({"encodings": both, "map": {"axis": 0, "runs": [[0, 1 << 16]]}}, (1 << 16, 1 << 16))
    plain = Encoding((CodecSpec("bytes"),))
    with fault(Unsupported, f"{MOST_ENCODINGS + 1} encodings of one array", "[zarr-v3]"):
        encodings.dump((plain,) * (MOST_ENCODINGS + 1), None, (1,))
    with fault(InvalidMetadata, "codecs: byteatlas.encodings is a chain by itself"):
        read3(codecs=[{"name": encodings.NAME, "configuration": {"encodings": both}}, "gzip"])


# ------------------------------------------------------------------------------------------------------ writing


def meta2(*codecs: CodecSpec, kind: str = "int32", **changes: Any) -> ArrayMeta:
    known: dict[str, Any] = {
        "shape": (7, 5), "data_type": from_v3(kind), "grid": RegularGrid((3, 2)), "fill_value": None,
        "encodings": (Encoding(codecs or (CodecSpec("bytes", {"endian": "little"}),)),), "keys": ChunkKeys("v2", "."),
    }  # fmt: skip
    return ArrayMeta(**{**known, **changes})


BYTES = CodecSpec("bytes", {"endian": "little"})
UNWRITABLE: list[tuple[ArrayMeta, str]] = [
    (meta2(grid=RectilinearGrid(((3, 4), (5,)))), "chunks of different lengths along an axis"),
    (meta2(encodings=(Encoding((BYTES,)),) * 2), "chunks that are stored in different ways"),
    (meta2(encodings=(Encoding((BYTES,), data_type=from_v3("int8")),)), "chunks of another data type than the array's"),
    (meta2(encodings=(Encoding((BYTES,), cast=(BYTES,)),)), "chunks of another data type than the array's"),
    (meta2(encodings=(Encoding((BYTES,), chunk_shape=(1, 1)),)), "chunks stored in another shape than the grid's"),
    (meta2(keys=ChunkKeys("default", "/")), "chunk keys of version 3"),
    (meta2(keys=ChunkKeys("v2", ".", ".x")), "chunk keys of version 3"),
    (meta2(dimension_names=("y", None)), "dimensions of which only some have names"),
    (meta2(CodecSpec("transpose", {"order": [1]}), BYTES), "transpose [1]"),
    (meta2(CodecSpec("sharding_indexed"), kind="int32"), "the array -> bytes codec sharding_indexed"),
    (meta2(CodecSpec("byteatlas.bytes", {"dtype": "<i2"})), "fields stored in other widths than they have in memory"),
    (meta2(CodecSpec("byteatlas.bytes", {"dtype": "<i4", "offsets": []})), "the array -> bytes codec byteatlas.bytes"),
    (meta2(BYTES, CodecSpec("blosc", {"typesize": 2})), "a blosc typesize that is not the item size"),
    (meta2(BYTES, CodecSpec("zfp")), "the codec zfp"),
]


@pytest.mark.parametrize(("meta", "words"), UNWRITABLE, ids=[words for _, words in UNWRITABLE])
def test_what_version_2_cannot_express(meta: ArrayMeta, words: str) -> None:
    with fault(Unsupported, f"Zarr v2 cannot express {words} [zarr-v2]"):
        v2.dump_array(meta)


def test_chains_that_are_none() -> None:
    with fault(InvalidMetadata, "no array -> bytes codec"):
        v2.dump_array(meta2(encodings=(Encoding(()),)))
    with fault(InvalidMetadata, "codec bytes for data type string"):
        v2.dump_array(meta2(kind="string"))


def test_blosc_shuffles_of_version_2() -> None:
    """-1 chooses by the size of the elements; version 3 has words for what was chosen."""
    for dtype, numbers in (
        ("<i4", {-1: "shuffle", 0: "noshuffle", 1: "shuffle", 2: "bitshuffle"}),
        ("|u1", {-1: "bitshuffle"}),
    ):
        for number, word in numbers.items():
            compressor = {"id": "blosc", "cname": "lz4", "clevel": 5, "shuffle": number, "blocksize": 0}
            three = versions.to_v3(read2(dtype=dtype, compressor=compressor))
            blosc = three.encodings[0].codecs[-1]
            assert (blosc.name, blosc.configuration["shuffle"]) == ("blosc", word)
            assert blosc.configuration["typesize"] == np.dtype(dtype).itemsize
            two = v2.dump_array(versions.to_v2(three, keys=ChunkKeys("v2", ".")))[0]["compressor"]
            assert two == {**compressor, "shuffle": {"noshuffle": 0, "shuffle": 1, "bitshuffle": 2}[word]}


def test_filters_in_another_byte_order() -> None:
    delta = CodecSpec("numcodecs.delta", {"dtype": "<i4", "astype": "<i2"})
    with fault(Unsupported, "Zarr v2 cannot express numcodecs.delta in another byte order than its own", "[zarr-v2]"):
        versions.to_v2(meta2(delta, CodecSpec("bytes", {"endian": "big"})))
    with fault(Unsupported, "Zarr v2 cannot express chunks that are stored in different ways", "[zarr-v2]"):
        versions.to_v2(meta2(encodings=(Encoding((BYTES,)),) * 2))


# ------------------------------------------------------------------------------------------------------ models

GROUP: dict[str, Any] = {"zarr_format": 3, "node_type": "group"}


def deep(levels: int) -> Any:
    document: Any = dict(GROUP)
    for _ in range(levels):
        document = {**GROUP, "members": {"a": document}}
    return document


MODELS: list[tuple[Any, str]] = [
    (5, "node is not an object"),
    (deep(257), "a hierarchy more than 256 levels deep"),
    ({**GROUP, "zarr_format": 4}, "zarr_format 4"),
    ({**DOCUMENT, "members": {}}, "an array cannot have members"),
    ({**GROUP, "members": {"..": GROUP}}, "..: not a legal node name"),
    ({**GROUP, "members": {"a/b": GROUP}}, "a/b: not a legal node name"),
    ({**GROUP, "members": [1]}, "members is not an object"),
    ({**GROUP, "members": {"old": {"zarr_format": 2}}}, "old: a node of another version than its group (3)"),
]


@pytest.mark.parametrize(("document", "words"), MODELS, ids=[words for _, words in MODELS])
def test_models_that_are_refused(document: Any, words: str) -> None:
    with fault(InvalidMetadata, words):
        zom.from_json(document)


def test_maps_of_encodings_are_no_part_of_a_model() -> None:
    both = {"encodings": [{"codecs": [LITTLE]}, {"codecs": [LITTLE, "gzip"]}], "map": {"runs": [[0, 5], [1, 4]]}}
    with fault(InvalidMetadata, "a map of encodings belongs to the data and not to a model"):
        zom.from_json({**DOCUMENT, "codecs": [{"name": encodings.NAME, "configuration": both}]})


def test_hierarchies_that_are_refused() -> None:
    array, two = read3(), GroupMeta({}, 2)
    refused: list[tuple[dict[str, ArrayMeta | GroupMeta], str]] = [
        ({"": array, "a": GroupMeta({}, 3)}, "an array cannot have members"),
        ({"a": array, "a/b": GroupMeta({}, 3)}, "an array cannot have members"),
        ({"a": GroupMeta({}, 3), "b": two}, "nodes of versions 2 and 3 in one model"),
        ({"a/../b": GroupMeta()}, "not a legal node name"),
        ({"/".join("a" * 258): GroupMeta()}, "a hierarchy more than 256 levels deep"),
    ]
    for nodes, words in refused:
        with fault(InvalidMetadata, words):
            zom.to_model(nodes)
    assert len(zom.from_model(zom.to_model({"/".join("a" * 256): GroupMeta()}))) == 257


def test_consolidated_metadata_that_is_none() -> None:
    for document, words in (
        ([], "consolidated metadata is not an object"),
        ({"metadata": []}, "metadata is not an object"),
        ({**GROUP, "consolidated_metadata": None}, "consolidated_metadata is not an object"),
        ({**GROUP, "consolidated_metadata": {"metadata": {"a": 5}}}, "a: zarr.json is not an object"),
    ):
        with fault(InvalidMetadata, words):
            zom.from_consolidated(document)


def test_validation_needs_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    assert schema.violations({**GROUP, "members": {"x": DOCUMENT}}) == []
    assert schema.violations({"zarr_format": 5}) == ["/: zarr_format 5"]
    monkeypatch.setitem(sys.modules, "jsonschema", None)
    with fault(MissingExtra, "validating a model needs an extra", "byteatlas[model]"):
        schema.violations(dict(GROUP))


def test_grids_without_chunks() -> None:
    assert chunk_counts((7, 0), RegularGrid((3, 2))) == (3, 0)
    assert chunk_counts((7,), RectilinearGrid(((3, 3, 3),))) == (3,)
    with fault(Unsupported, "a rectilinear grid without axes", "[zarr-v3]"):
        v3.dump_array(meta2(shape=(), grid=RectilinearGrid(()), keys=ChunkKeys("default", "/"), fill_value=np.int32(0)))
    assert dtypes.MOST_AXES == 64
