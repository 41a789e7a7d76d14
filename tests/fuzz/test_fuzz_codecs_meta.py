"""Any bytes and any documents give a value or a `ByteatlasError`."""

from __future__ import annotations

import contextlib
import copy
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from byteatlas.codecs import build_pipeline
from byteatlas.codecs.core.table import BUILTIN
from byteatlas.errors import ByteatlasError
from byteatlas.meta import v1, v2, v3, zom
from byteatlas.meta.dtypes import BYTES, OBJECT, STRING, from_v3
from byteatlas.meta.model import CodecSpec, DataType, Encoding
from byteatlas.meta.parts import codecs_of

LITTLE = {"name": "bytes", "configuration": {"endian": "little"}}
SHARD: dict[str, Any] = {
    "name": "sharding_indexed",
    "configuration": {"chunk_shape": [2, 3], "codecs": [LITTLE, "gzip"], "index_codecs": [LITTLE, "crc32c"]},
}
CHAINS: dict[str, tuple[list[Any], DataType]] = {
    **{
        name: ([LITTLE, name], from_v3("int32"))
        for name in (
            "gzip",
            "zstd",
            "blosc",
            "crc32c",
            "numcodecs.zlib",
            "numcodecs.bz2",
            "numcodecs.lzma",
            "numcodecs.lz4",
            "numcodecs.base64",
            "numcodecs.shuffle",
            "numcodecs.fletcher32",
            "numcodecs.jenkins_lookup3",
            "numcodecs.deflate",
            "numcodecs.imagecodecs_lz4f",
            "numcodecs.imagecodecs_snappy",
            "numcodecs.imagecodecs_brotli",
            "numcodecs.imagecodecs_png",
            "numcodecs.imagecodecs_qoi",
            "numcodecs.imagecodecs_bmp",
            "numcodecs.imagecodecs_webp",
        )
    },
    "shard": ([SHARD], from_v3("int32")),
    "shard of text": ([{**SHARD, "configuration": {**SHARD["configuration"], "codecs": ["vlen-utf8"]}}], STRING),
    "vlen": (["vlen-utf8"], STRING),
    "vlen zstd": (["vlen-bytes", "zstd"], BYTES),
    "vlen-array": ([{"name": "vlen-array", "configuration": {"dtype": "<i4"}}], OBJECT),
    "json2": (["numcodecs.json2"], OBJECT),
    "msgpack2": (["numcodecs.msgpack2"], OBJECT),
    "packbits": ([{"name": "packbits", "configuration": {"padding_encoding": "first_byte"}}], from_v3("bool")),
    "zfp": ([{"name": "zfp", "configuration": {"mode": "reversible"}}], from_v3("float32")),
    "zfpy": (["numcodecs.zfpy"], from_v3("float32")),
    "pcodec": (["numcodecs.pcodec"], from_v3("float64")),
    "conditional": (
        [LITTLE, {"name": "conditional", "configuration": {"codecs": ["gzip", "crc32c"]}}],
        from_v3("int32"),
    ),
    "n5": (
        [
            {
                "name": "n5_default",
                "configuration": {"codecs": [{"name": "transpose", "configuration": {"order": [1, 0]}}, LITTLE]},
            }
        ],
        from_v3("int32"),
    ),
    "zarrs.vlen": (
        [{"name": "zarrs.vlen", "configuration": {"index_codecs": [LITTLE], "data_codecs": ["bytes"]}}],
        STRING,
    ),
    "optional": (
        [{"name": "zarrs.optional", "configuration": {"mask_codecs": ["packbits"], "data_codecs": [LITTLE]}}],
        from_v3({"name": "zarrs.optional", "configuration": {"name": "int32"}}),
    ),
    "categorize": ([{"name": "numcodecs.categorize", "configuration": {"labels": ["a"]}}], STRING),
}


def example(kind: DataType) -> np.ndarray[Any, Any]:
    values = np.arange(24).reshape(4, 6)
    if kind is STRING:
        return values.astype(str).astype(object)
    if kind is BYTES:
        return np.array([b"x" * int(n) for n in values.flat] + [None], object)[:-1].reshape(4, 6)
    if kind is OBJECT:
        out = np.empty((4, 6), object)
        for i in np.ndindex(4, 6):
            out[i] = [1, 2]
        return out
    if kind.numpy.hasobject:
        return values.astype(object)
    return (values % 2).astype(kind.numpy)


@pytest.mark.parametrize("name", CHAINS)
def test_damaged_chunks(name: str) -> None:
    codecs, kind = CHAINS[name]
    target = build_pipeline(Encoding(codecs_of(codecs, "")), kind, (4, 6), None)
    rng = np.random.default_rng(len(name))
    seeds = [b"", b"\0", bytes(200), rng.integers(0, 256, 300).astype(np.uint8).tobytes()]
    with contextlib.suppress(ByteatlasError):  # not every codec encodes
        seeds.append(target.encode(example(kind)))
    for data in seeds:
        for _ in range(120):
            damaged = bytearray(data)
            for _ in range(int(rng.integers(0, 4))):
                if damaged:
                    damaged[int(rng.integers(len(damaged)))] = int(rng.integers(256))
            if rng.integers(3) == 0 and damaged:
                del damaged[int(rng.integers(len(damaged))) :]
            with contextlib.suppress(ByteatlasError):
                found = target.decode(bytes(damaged))
                assert found.shape == (4, 6)


SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**70), 2**70),
    st.floats(),
    st.text(max_size=4),
    st.sampled_from(["<i4", "|O", "bytes", "gzip", "regular", "default", "NaN", "0x7fc00000", "r24", "C", "F", "end"]),
)
JSONS = st.recursive(
    SCALARS,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.dictionaries(
            st.sampled_from(["name", "configuration", "id", "shape", "codecs", "fields", "x"]), inner, max_size=4
        ),
    ),
    max_leaves=8,
)


@settings(max_examples=300, deadline=None)
@given(
    name=st.sampled_from(sorted(BUILTIN)),
    value=JSONS,
    key=st.sampled_from(
        [
            "level",
            "dtype",
            "order",
            "shape",
            "codecs",
            "mode",
            "chunk_shape",
            "data_type",
            "keepbits",
            "elementsize",
            "scale",
            "astype",
            "offset",
            "index_codecs",
            "layout",
            "options",
            "filters",
        ]
    ),
    more=JSONS,
)
def test_any_configuration(name: str, value: Any, key: str, more: Any) -> None:
    configuration = {key: value, **(more if isinstance(more, dict) else {})}
    for chain in (
        (CodecSpec(name, configuration),),
        (CodecSpec("bytes", {"endian": "little"}), CodecSpec(name, configuration)),
    ):
        with contextlib.suppress(ByteatlasError):
            build_pipeline(Encoding(chain), from_v3("int32"), (4, 6), np.int32(0))


DOCUMENT3 = {
    "zarr_format": 3,
    "node_type": "array",
    "shape": [7, 5],
    "data_type": {"name": "struct", "configuration": {"fields": [{"name": "a", "data_type": "int8"}]}},
    "chunk_grid": {"name": "rectilinear", "configuration": {"kind": "inline", "chunk_shapes": [[[3, 2], 1], 5]}},
    "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
    "fill_value": {"a": 1},
    "codecs": [
        {
            "name": "byteatlas.encodings",
            "configuration": {
                "encodings": [{"codecs": ["bytes"]}, {"codecs": ["bytes"], "chunk_shape": [3, 5]}],
                "map": {"axis": 0, "runs": [[0, 2], [1, 1]]},
            },
        }
    ],
    "attributes": {},
    "dimension_names": ["y", None],
}
DOCUMENT2 = {
    "zarr_format": 2,
    "shape": [7, 5],
    "chunks": [3, 2],
    "dtype": [["a", "<i4"], ["b", [["c", "|S3"]], [2]]],
    "fill_value": None,
    "order": "F",
    "filters": [{"id": "delta", "dtype": "<i4"}],
    "compressor": {"id": "zlib", "level": 1},
    "dimension_separator": "/",
}
DOCUMENT1 = {
    "zarr_format": 1,
    "shape": [4],
    "chunks": [2],
    "dtype": "<f8",
    "compression": "blosc",
    "compression_opts": {"cname": "lz4"},
    "fill_value": 0,
    "order": "C",
}


def places(document: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    items: Any = (
        document.items() if isinstance(document, dict) else enumerate(document) if isinstance(document, list) else ()
    )
    return [path, *(p for key, item in items for p in places(item, (*path, key)))]


def changed(document: Any, path: tuple[Any, ...], value: Any) -> Any:
    if not path:
        return value
    made = copy.deepcopy(document)
    inner = made
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = value
    return made


@settings(max_examples=400, deadline=None)
@given(data=st.data(), value=JSONS, which=st.sampled_from([1, 2, 3]))
def test_any_document(data: Any, value: Any, which: int) -> None:
    document = {1: DOCUMENT1, 2: DOCUMENT2, 3: DOCUMENT3}[which]
    damaged = changed(document, data.draw(st.sampled_from(places(document))), value)
    with contextlib.suppress(ByteatlasError):
        if which == 1:
            v1.parse_array(damaged, {}, "x")
        elif which == 2:
            meta = v2.parse_array(damaged, {"_ARRAY_DIMENSIONS": value, "_nczarr_array": value}, "x")
            v2.dump_array(meta)
        else:
            meta, _ = v3.parse_array(damaged, "x")
            v3.dump_array(meta)
    with contextlib.suppress(ByteatlasError):
        zom.from_json({"zarr_format": which, "node_type": "group", "members": {"a": damaged}})
