"""decode(encode(x)) == x, over data types, codec chains and chunk shapes; and into a given array."""

from __future__ import annotations

from typing import Any

import hypothesis.extra.numpy as hnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from byteatlas.codecs import build_pipeline
from byteatlas.errors import CorruptChunk
from byteatlas.meta.dtypes import BYTES, STRING, from_numpy, from_v3
from byteatlas.meta.model import CodecSpec, DataType, Encoding

DTYPES = (
    "b1",
    "i1",
    "u1",
    "i2",
    "u2",
    "i4",
    "u4",
    "i8",
    "u8",
    "f2",
    "f4",
    "f8",
    "c8",
    "c16",
    "M8[s]",
    "m8[us]",
    "S3",
    "U2",
    "V5",
)
STRUCT = np.dtype([("a", "i2"), ("b", [("x", "f4"), ("s", "S3")]), ("m", "u1", (2, 2))])
BYTE_CODECS = (
    CodecSpec("gzip", {"level": 1}),
    CodecSpec("zstd", {"level": 1, "checksum": True}),
    CodecSpec("blosc", {"cname": "lz4", "clevel": 5, "shuffle": "shuffle", "blocksize": 0}),
    CodecSpec("blosc", {"cname": "zstd", "clevel": 1, "shuffle": "bitshuffle", "typesize": 4, "blocksize": 0}),
    CodecSpec("crc32c"),
    CodecSpec("numcodecs.zlib", {"level": 4}),
    CodecSpec("numcodecs.shuffle", {"elementsize": 2}),
    CodecSpec("numcodecs.shuffle", {"elementsize": 4}),
    CodecSpec("numcodecs.shuffle", {"elementsize": 8}),
    CodecSpec("numcodecs.shuffle", {"elementsize": 3}),
    CodecSpec("numcodecs.shuffle", {"elementsize": 0}),
    CodecSpec("numcodecs.fletcher32"),
    CodecSpec("numcodecs.crc32"),
    CodecSpec("numcodecs.adler32", {"location": "end"}),
    CodecSpec("numcodecs.jenkins_lookup3", {"initval": 7, "prefix": "AQID"}),
    CodecSpec("numcodecs.bz2", {"level": 1}),
    CodecSpec("numcodecs.lzma", {"format": 1, "check": -1, "preset": 0, "filters": None}),
    CodecSpec("numcodecs.lzma", {"format": 3, "filters": [{"id": 3, "dist": 4}, {"id": 33, "preset": 1}]}),
    CodecSpec("numcodecs.lz4", {"acceleration": 1}),
    CodecSpec("numcodecs.base64"),
    CodecSpec("conditional", {"codecs": [{"name": "numcodecs.shuffle", "configuration": {"elementsize": 4}}, "gzip"]}),
)
SHAPES = st.one_of(
    st.just(()), hnp.array_shapes(min_dims=1, max_dims=4, max_side=5), st.sampled_from([(600,), (33, 40), (2048,)])
)


def same(a: np.ndarray[Any, Any], b: np.ndarray[Any, Any]) -> bool:
    if a.dtype.hasobject:
        return a.shape == b.shape and all(x == y and type(x) is type(y) for x, y in zip(a.flat, b.flat, strict=True))
    return a.shape == b.shape and a.dtype == b.dtype and a.tobytes() == b.tobytes()


def values(shape: tuple[int, ...], dtype: np.dtype[Any], seed: int) -> np.ndarray[Any, Any]:
    rng = np.random.default_rng(seed)
    count = int(np.prod(shape))
    if dtype.kind == "b":
        return np.asarray(rng.integers(0, 2, shape), bool)
    if dtype.kind == "U":
        return np.asarray(np.array(["a", "éx", ""], dtype)[rng.integers(0, 3, shape)], dtype)
    octets = rng.integers(0, 256, count * dtype.itemsize).astype(np.uint8)
    return octets.view(dtype).reshape(shape)


@settings(max_examples=150, deadline=None)
@given(
    shape=SHAPES,
    dtype=st.sampled_from([*map(np.dtype, DTYPES), STRUCT]),
    endian=st.sampled_from(["little", "big"]),
    chain=st.lists(st.sampled_from(BYTE_CODECS), max_size=3),
    seed=st.integers(0, 2**32 - 1),
    turn=st.booleans(),
)
def test_bytes_chains(shape: Any, dtype: Any, endian: Any, chain: Any, seed: Any, turn: Any) -> None:
    head = [CodecSpec("transpose", {"order": [*range(1, len(shape)), 0]})] if turn and shape else []
    encoding = Encoding((*head, CodecSpec("bytes", {"endian": endian}), *chain))
    pipeline = build_pipeline(encoding, from_numpy(dtype), shape, None)
    array = values(shape, dtype, seed)
    data = pipeline.encode(array)
    assert same(pipeline.decode(data), array)
    out = np.empty(shape, dtype)
    assert pipeline.decode(memoryview(data), out) is out
    assert same(out, array)


@settings(max_examples=60, deadline=None)
@given(
    counts=st.lists(st.integers(1, 3), min_size=1, max_size=3),
    inner=st.lists(st.integers(1, 3), min_size=3, max_size=3),
    location=st.sampled_from(["start", "end"]),
    index=st.sampled_from([["crc32c"], []]),
    endian=st.sampled_from(["little", "big"]),
    chain=st.sampled_from([[], ["gzip"], [{"name": "zstd", "configuration": {"level": 1}}, "crc32c"]]),
    zeros=st.booleans(),
    seed=st.integers(0, 1000),
)
def test_shards(
    counts: Any, inner: Any, location: str, index: Any, endian: str, chain: Any, zeros: bool, seed: int
) -> None:
    chunk = inner[: len(counts)]
    shape = tuple(a * b for a, b in zip(counts, chunk, strict=True))
    plain = {"name": "bytes", "configuration": {"endian": endian}}
    spec = CodecSpec(
        "sharding_indexed",
        {"chunk_shape": chunk, "codecs": [plain, *chain], "index_codecs": [plain, *index], "index_location": location},
    )
    pipeline = build_pipeline(Encoding((spec,)), from_numpy(np.dtype("f4")), shape, np.float32(0))
    array = values(shape, np.dtype("f4"), seed)
    if zeros:
        array = array.copy()
        array[tuple(slice(0, c) for c in chunk)] = 0
    data = pipeline.encode(array)
    assert same(pipeline.decode(data), array)
    layout = pipeline.shard
    assert layout is not None
    assert layout.counts == tuple(counts)
    part = data[: layout.index_nbytes] if location == "start" else data[len(data) - layout.index_nbytes :]
    table = layout.decode_index(part)
    assert table.shape == (int(np.prod(counts)), 2)
    if zeros:
        assert table[0].tolist() == [2**64 - 1] * 2
    for row, where in zip(table, np.ndindex(*counts), strict=True):
        if row[0] != 2**64 - 1:
            box = tuple(slice(i * c, (i + 1) * c) for i, c in zip(where, chunk, strict=True))
            got = layout.inner.decode(data[int(row[0]) : int(row[0] + row[1])])
            assert same(got, np.ascontiguousarray(array[box]))


def objects(items: list[Any], shape: tuple[int, ...]) -> np.ndarray[Any, Any]:
    out = np.empty(len(items), object)
    for i, item in enumerate(items):
        out[i] = item
    return out.reshape(shape)


@settings(max_examples=60, deadline=None)
@given(
    items=st.lists(st.text(max_size=8), min_size=1, max_size=12),
    name=st.sampled_from(["vlen-utf8", "vlen", "json2", "msgpack2"]),
)
def test_text(items: Any, name: Any) -> None:
    codec = {
        "vlen-utf8": CodecSpec("vlen-utf8"),
        "vlen": CodecSpec(
            "zarrs.vlen",
            {
                "index_codecs": [{"name": "bytes", "configuration": {"endian": "little"}}],
                "data_codecs": ["bytes", "gzip"],
            },
        ),
        "json2": CodecSpec("numcodecs.json2", {"encoding": "utf-16"}),
        "msgpack2": CodecSpec("numcodecs.msgpack2", {}),
    }[name]
    array = objects(items, (len(items),))
    pipeline = build_pipeline(Encoding((codec, CodecSpec("zstd"))), STRING, array.shape, "")
    assert same(pipeline.decode(pipeline.encode(array)), array)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.binary(max_size=9), min_size=6, max_size=6))
def test_byte_strings(items: Any) -> None:
    array = objects(items, (2, 3))
    for name in ("vlen-bytes", "vlen-array", "zarrs.vlen_v2"):
        pipeline = build_pipeline(Encoding((CodecSpec(name),)), BYTES, (2, 3), b"")
        assert same(pipeline.decode(pipeline.encode(array)), array)


NARROW = (
    "int2",
    "uint4",
    "bfloat16",
    "float8_e4m3",
    "float6_e2m3fn",
    "float4_e2m1fn",
    "complex_float8_e5m2",
    "complex_bfloat16",
)


@pytest.mark.parametrize("name", [*NARROW, "bool", "int16", "float32", "complex64", "complex128", "numpy.datetime64"])
@pytest.mark.parametrize("padding", ["none", "first_byte", "last_byte"])
def test_packbits(name: str, padding: str) -> None:
    pytest.importorskip("ml_dtypes")
    kind = from_v3({"name": name, "configuration": {"unit": "s", "scale_factor": 1}} if "." in name else name)
    rng = np.random.default_rng(1)
    array = (
        rng.integers(0, 2, (3, 5)).astype(np.float32).astype(kind.numpy)
        if kind.numpy.kind not in "M"
        else rng.integers(0, 99, (3, 5)).astype(kind.numpy)
    )
    for codec in (CodecSpec("packbits", {"padding_encoding": padding}), CodecSpec("bytes", {"endian": "big"})):
        pipeline = build_pipeline(Encoding((codec,)), kind, (3, 5), None)
        found = pipeline.decode(pipeline.encode(array))
        assert found.dtype == array.dtype
        assert (found == array).all()


@settings(max_examples=60, deadline=None)
@given(
    kind=st.sampled_from(["int8", "uint16", "int32", "uint64", "int64"]),
    first=st.integers(0, 3),
    width=st.integers(1, 5),
    seed=st.integers(0, 99),
)
def test_packbits_of_some_bits(kind: Any, first: Any, width: Any, seed: Any) -> None:
    codec = CodecSpec("packbits", {"first_bit": first, "last_bit": first + width - 1})
    low, high = (-(1 << (width - 1)), 1 << (width - 1)) if kind.startswith("i") else (0, 1 << width)
    array = (np.random.default_rng(seed).integers(low, high, 11) << first).astype(kind)
    pipeline = build_pipeline(Encoding((codec,)), from_v3(kind), (11,), None)
    assert pipeline.encoded_nbytes == -(-11 * width // 8)
    assert (pipeline.decode(pipeline.encode(array)) == array).all()


@pytest.mark.parametrize(
    "name", ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "float32", "float64"]
)
@pytest.mark.parametrize("shape", [(7,), (4, 6), (3, 4, 5), (2, 3, 2, 5), ()])
def test_zfp_reversible(name: str, shape: tuple[int, ...]) -> None:
    kind: DataType = from_v3(name)
    # Promotion to 31 bits loses nothing; integers of full width must stay within zfp's 30 or 62 bits.
    rng = np.random.default_rng(3)
    array = (
        rng.integers(0, 100, shape).astype(kind.numpy)
        if kind.numpy.kind != "f"
        else rng.normal(size=shape).astype(kind.numpy)
    )
    array = np.asarray(array)
    pipeline = build_pipeline(Encoding((CodecSpec("zfp", {"mode": "reversible"}),)), kind, shape, None)
    assert same(pipeline.decode(pipeline.encode(array)), array)


@pytest.mark.parametrize("name", ["int16", "uint16", "int32", "uint64", "float16", "float32", "float64", "complex64"])
def test_pcodec(name: str) -> None:
    array = np.random.default_rng(5).integers(0, 50, (4, 6)).astype(name)
    pipeline = build_pipeline(Encoding((CodecSpec("numcodecs.pcodec"),)), from_v3(name), (4, 6), None)
    assert same(pipeline.decode(pipeline.encode(array)), array)


@pytest.mark.parametrize("kind", ["float32", "float64", "int32", "int64"])
@pytest.mark.parametrize("shape", [(9,), (5, 6), (3, 4, 5), (2, 3, 2, 5)])
@pytest.mark.parametrize(
    "configuration",
    [
        {"mode": "fixed_rate", "rate": 24.0},
        {"mode": "fixed_rate", "rate": 18.5},
        {"mode": "fixed_precision", "precision": 26},
        {"mode": "fixed_accuracy", "tolerance": 0.001},
        {"mode": "fixed_accuracy", "tolerance": 0.75},
    ],
    ids=str,
)
def test_zfp_headers(kind: str, shape: tuple[int, ...], configuration: dict[str, Any]) -> None:
    """The header made from the configuration is the one that the compressor writes for it."""
    if configuration["mode"] == "fixed_accuracy" and kind.startswith("int"):
        pytest.skip("accuracy is for floating point")
    unit = {"int32": 2**20, "int64": 2**52}.get(kind, 0.25)
    array = (np.add.reduce(np.indices(shape)) * unit).astype(kind)
    target = build_pipeline(Encoding((CodecSpec("zfp", configuration),)), from_v3(kind), shape, None)
    found = target.decode(target.encode(array))
    error = np.abs(found.astype("f8") - array.astype("f8")).max()
    assert error <= (unit / 8 if kind.startswith("int") else configuration.get("tolerance", 0.05))


@pytest.mark.parametrize(
    "configuration", [{"mode": 4, "tolerance": 0.01}, {"mode": 2, "rate": 20}, {"mode": 3, "precision": 30}]
)
def test_zfpy(configuration: dict[str, Any]) -> None:
    array = np.add.reduce(np.indices((5, 6))).astype("f4") / 8
    target = build_pipeline(Encoding((CodecSpec("numcodecs.zfpy", configuration),)), from_v3("float32"), (5, 6), None)
    data = target.encode(array)
    assert np.abs(target.decode(data) - array).max() <= 0.01
    other = build_pipeline(Encoding((CodecSpec("numcodecs.zfpy", configuration),)), from_v3("float32"), (6, 5), None)
    with pytest.raises(CorruptChunk):
        other.decode(data)


def test_bitround_keeps_narrow_complex_types() -> None:
    pytest.importorskip("ml_dtypes")
    kind = from_v3("complex_bfloat16")
    chain = (CodecSpec("bitround", {"keepbits": 3}), CodecSpec("bytes", {"endian": "little"}))
    target = build_pipeline(Encoding(chain), kind, (4,), None)
    assert target.encoded_nbytes == 16
    array = np.array([1 + 2j, 0.5, -3j, 8], np.complex64)
    assert same(target.decode(target.encode(array)), array)
