"""Errors in metadata say which node and which member they are about."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import byteatlas as ba
from byteatlas.codecs import build_pipeline
from byteatlas.errors import InvalidMetadata, Unsupported
from byteatlas.meta import v1, v2, v3
from byteatlas.meta.dtypes import from_numpy
from byteatlas.meta.model import CodecSpec, Encoding
from byteatlas.types import JSON

V3: Mapping[str, JSON] = {
    "zarr_format": 3,
    "node_type": "array",
    "shape": [4],
    "data_type": "int32",
    "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [2]}},
    "chunk_key_encoding": {"name": "default"},
    "fill_value": 0,
    "codecs": [{"name": "bytes", "configuration": {"endian": "little"}}],
}
V2: Mapping[str, JSON] = {
    "zarr_format": 2, "shape": [4], "chunks": [2], "dtype": "<i4", "fill_value": 0, "order": "C", "filters": None,
    "compressor": None,
}  # fmt: skip


@pytest.mark.parametrize(
    ("member", "value", "also"),
    [
        ("shape", [-1], "out of range"),
        ("shape", None, "None"),
        ("data_type", 5, "5"),
        ("chunk_grid", {"name": "regular", "configuration": {"chunk_shape": [0]}}, "chunk_shape"),
        ("chunk_key_encoding", {"name": "default", "configuration": {"separator": "-"}}, "'-'"),
        ("fill_value", "banana", "int32"),
        ("codecs", [], "at least one codec"),
        ("codecs", ["bytes", {"configuration": {}}], "codec 1"),
        ("codecs", [{"name": "byteatlas.encodings", "configuration": {"encodings": []}}], "byteatlas.encodings"),
        ("dimension_names", ["a", "b"], "1 dimensions"),
        ("attributes", 1, "not an object"),
        ("storage_transformers", 1, "not a list"),
    ],
)
def test_version_3_names_node_and_member(member: str, value: JSON, also: str) -> None:
    with pytest.raises(InvalidMetadata) as caught:
        v3.parse_array({**V3, member: value}, "s3://bucket/store/air")
    assert str(caught.value).startswith(f"s3://bucket/store/air: {member}")
    assert also in str(caught.value)
    assert caught.value.where == "s3://bucket/store/air"


@pytest.mark.parametrize(
    ("member", "value", "also"),
    [
        ("shape", "x", "'x'"),
        ("chunks", [2, 2], "1 dimensions"),
        ("chunks", [0], "length 0"),
        ("dtype", "<q9", "'<q9'"),
        ("fill_value", "banana", "int32"),
        ("order", "A", "'A'"),
        ("dimension_separator", "-", "'-'"),
        ("filters", {}, "not a list"),
        ("filters", [{}], "no id"),
        ("compressor", {"level": 1}, "no id"),
        ("compressor", 5, "not an object"),
    ],
)
def test_version_2_names_node_and_member(member: str, value: JSON, also: str) -> None:
    with pytest.raises(InvalidMetadata) as caught:
        v2.parse_array({**V2, member: value}, {}, "air")
    assert str(caught.value).startswith(f"air: {member}: ")
    assert also in str(caught.value)


def test_version_1_names_the_node() -> None:
    with pytest.raises(InvalidMetadata, match=r"^old/air: zarr_format 2"):
        v1.parse_array({"zarr_format": 2}, {}, "old/air")
    with pytest.raises(InvalidMetadata, match=r"^old/air: 'shape' is missing"):
        v1.parse_array({"zarr_format": 1}, {}, "old/air")


def test_what_is_not_supported_gets_the_path() -> None:
    for document in ({**V3, "data_type": "quaternion"}, {**V3, "chunk_grid": {"name": "hexagons"}}):
        with pytest.raises(Unsupported) as caught:
            v3.parse_array(document, "air")
        assert caught.value.path == "air"
        assert str(caught.value).startswith("air: ")


@pytest.mark.parametrize(
    ("codec", "words"),
    [
        (CodecSpec("gzip", {"level": 9.5}), ("codec 'gzip'", "level", "9.5", "not an integer")),
        (CodecSpec("blosc", {"cname": "xz"}), ("codec 'blosc'", "cname", "'xz'", "'zstd'")),
        (CodecSpec("zstd", {"level": "high"}), ("codec 'zstd'", "level", "'high'")),
        (CodecSpec("transpose", {"order": [0]}), ("codec 'transpose'", "takes an array")),
        (CodecSpec("numcodecs.shuffle", {"elementsize": -1}), ("codec 'numcodecs.shuffle'", "elementsize", "-1")),
        (CodecSpec("numcodecs.lzma", {"filters": [1]}), ("codec 'numcodecs.lzma'", "filters")),
        (
            CodecSpec("conditional", {"codecs": [{"name": "gzip", "configuration": {"level": "x"}}]}),
            ("codec 'conditional'", "codec 'gzip'", "level"),
        ),
    ],
)
def test_configurations_name_codec_and_member(codec: CodecSpec, words: tuple[str, ...]) -> None:
    chain = Encoding((CodecSpec("bytes", {"endian": "little"}), codec))
    with pytest.raises(InvalidMetadata) as caught:
        build_pipeline(chain, from_numpy(np.dtype("i4")), (4,), 0)
    found = str(caught.value)
    places = [found.index(word) for word in words]
    assert places == sorted(places), found


def test_reading_an_array_of_a_store_names_it_and_its_codec(tmp_path: Path) -> None:
    chain: list[Any] = [*V3["codecs"], {"name": "gzip", "configuration": {"level": 9.5}}]
    array = tmp_path / "air"
    array.mkdir()
    (tmp_path / "zarr.json").write_text(json.dumps({"zarr_format": 3, "node_type": "group", "attributes": {}}))
    (array / "zarr.json").write_text(json.dumps({**V3, "codecs": chain}))
    root = ba.open(str(tmp_path))
    assert isinstance(root, ba.Group)
    with pytest.raises(InvalidMetadata, match=r"air: codec 'gzip': level: 9.5 is not an integer"):
        root.arrays()["air"][...]
