"""Damaged and hostile chunks: `CorruptChunk`, never more memory than the chunk has, never wrong values."""

from __future__ import annotations

import bz2
import gzip
import lzma
import struct
import tracemalloc
import zlib
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from byteatlas.codecs import Pipeline, build_pipeline
from byteatlas.codecs.core import registry as registry_module
from byteatlas.codecs.core.registry import Registry, default_registry
from byteatlas.errors import CorruptChunk, InvalidMetadata, Unsupported
from byteatlas.meta.dtypes import BYTES, OBJECT, STRING, from_numpy, from_v3
from byteatlas.meta.model import CodecSpec, Encoding
from byteatlas.meta.parts import codecs_of

LITTLE = CodecSpec("bytes", {"endian": "little"})


def pipeline(*codecs: CodecSpec, dtype: str = "i4", shape: tuple[int, ...] = (8,), fill: object = 0) -> Pipeline:
    return build_pipeline(Encoding((LITTLE, *codecs)), from_numpy(np.dtype(dtype)), shape, fill)


WHOLE = np.arange(8, dtype="<i4").tobytes()
COMPRESSED: dict[str, tuple[CodecSpec, Callable[[bytes], bytes]]] = {
    "gzip": (CodecSpec("gzip", {"level": 1}), gzip.compress),
    "zlib": (CodecSpec("numcodecs.zlib"), zlib.compress),
    "bz2": (CodecSpec("numcodecs.bz2"), bz2.compress),
    "lzma": (CodecSpec("numcodecs.lzma"), lzma.compress),
}


@pytest.mark.parametrize("name", COMPRESSED)
def test_bombs_are_stopped_at_the_chunk_size(name: str) -> None:
    codec, compress = COMPRESSED[name]
    bomb = compress(bytes(64 << 20))
    nested = compress(bomb)
    target = pipeline(codec)
    out = np.empty(8, np.int32)
    tracemalloc.start()
    try:
        for into in (None, out):
            with pytest.raises(CorruptChunk):
                target.decode(bomb, into)
        twice = pipeline(codec, codec)
        with pytest.raises(CorruptChunk):
            twice.decode(nested)
        assert tracemalloc.get_traced_memory()[1] < 16 << 20
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("name", COMPRESSED)
@pytest.mark.parametrize("size", [0, 31, 33])
def test_the_decoded_size_must_be_exact(name: str, size: int) -> None:
    codec, compress = COMPRESSED[name]
    with pytest.raises(CorruptChunk):
        pipeline(codec).decode(compress(bytes(size)))
    with pytest.raises(CorruptChunk):
        pipeline(codec).decode(compress(bytes(size)), np.empty(8, np.int32))


@pytest.mark.parametrize("name", COMPRESSED)
def test_every_cut_of_a_stream_is_an_error(name: str) -> None:
    codec, compress = COMPRESSED[name]
    data = compress(WHOLE)
    for end in range(len(data) - 1):
        with pytest.raises(CorruptChunk):
            pipeline(codec).decode(data[:end], np.empty(8, np.int32))


@pytest.mark.parametrize(
    "codec", ["zstd", "blosc", "numcodecs.lz4", "crc32c", "numcodecs.fletcher32", "numcodecs.adler32"]
)
def test_every_cut_of_other_forms(codec: str) -> None:
    target = pipeline(CodecSpec(codec))
    data = target.encode(np.arange(8, dtype=np.int32))
    for end in range(len(data)):
        with pytest.raises(CorruptChunk):
            target.decode(data[:end])


def test_members_and_frames_are_joined() -> None:
    half = [WHOLE[:12], WHOLE[12:]]
    members = b"".join(gzip.compress(h) for h in half)
    zstd = pipeline(CodecSpec("zstd"), dtype="u1", shape=(12,)), pipeline(CodecSpec("zstd"), dtype="u1", shape=(20,))
    frames = b"".join(p.encode(np.frombuffer(h, np.uint8)) for p, h in zip(zstd, half, strict=True))
    for codec, data in (("gzip", members), ("zstd", frames)):
        out = np.empty(8, np.int32)
        pipeline(CodecSpec(codec)).decode(data, out)
        assert out.tolist() == list(range(8))


def test_checksums_are_checked() -> None:
    for name in ("crc32c", "numcodecs.crc32", "numcodecs.fletcher32", "numcodecs.jenkins_lookup3"):
        target = pipeline(CodecSpec(name))
        data = bytearray(target.encode(np.arange(8, dtype=np.int32)))
        data[9] ^= 4
        with pytest.raises(CorruptChunk, match="checksum"):
            target.decode(bytes(data))


def test_text_that_numpy_would_read_as_a_number() -> None:
    """Assigning bytes to a uint8 array parses them as a decimal number: they must be copied byte by byte."""
    for codecs in ((), (CodecSpec("numcodecs.zlib"),), (CodecSpec("crc32c"),), (CodecSpec("numcodecs.bz2"),)):
        target = pipeline(*codecs, dtype="S1", shape=(1,))
        out = np.zeros(1, "S1")
        target.decode(target.encode(np.array([b"7"])), out)
        assert out.tolist() == [b"7"]


def test_shuffle_leaves_trailing_bytes() -> None:
    data = np.random.default_rng(0).integers(0, 256, 5003).astype(np.uint8)
    target = pipeline(
        CodecSpec("numcodecs.shuffle", {"elementsize": 4}), CodecSpec("numcodecs.zlib"), dtype="u1", shape=(5003,)
    )
    stored = np.concatenate([data[:5000].reshape(-1, 4).T.reshape(-1), data[5000:]])
    out = np.empty(5003, np.uint8)
    target.decode(zlib.compress(stored.tobytes()), out)
    assert (out == data).all()
    assert (target.decode(target.encode(data)) == data).all()


@pytest.mark.parametrize("size", [3, 4])
def test_shuffle_twice(size: int) -> None:
    """Both steps work in a buffer of their own, though the buffers are kept between chunks by size."""
    twice = (CodecSpec("numcodecs.shuffle", {"elementsize": size}),) * 2
    target = pipeline(*twice, dtype="i2", shape=(600,))
    data = np.random.default_rng(0).integers(-9999, 9999, 600).astype("i2")
    out = np.empty(600, "i2")
    for _ in range(2):
        assert (target.decode(target.encode(data), out) == data).all()


def test_shuffle_of_no_size_is_that_of_the_items_and_of_size_zero_nothing() -> None:
    target = pipeline(CodecSpec("numcodecs.shuffle"))
    plain = pipeline(CodecSpec("numcodecs.shuffle", {"elementsize": 0}))
    assert plain.decode(WHOLE).tolist() == list(range(8))
    stored = np.frombuffer(WHOLE, np.uint8).reshape(-1, 4).T.tobytes()
    assert target.decode(stored).tolist() == list(range(8))


# ------------------------------------------------------------------------------------------------------ chains


BYTES4 = {"name": "bytes", "configuration": {"endian": "little"}}


@pytest.mark.parametrize(
    ("codecs", "error"),
    [
        (["gzip"], InvalidMetadata),
        (["bytes"], InvalidMetadata),
        ([{"name": "bytes", "configuration": {"endian": "middle"}}], InvalidMetadata),
        ([{"name": "transpose", "configuration": {"order": [0, 0]}}, BYTES4], InvalidMetadata),
        (["vlen-utf8"], InvalidMetadata),
        ([BYTES4, "nosuch"], Unsupported),
        ([{"name": "nosuch", "must_understand": True}, BYTES4], Unsupported),
        ([BYTES4, "numcodecs.pickle"], Unsupported),
        ([BYTES4, {"name": "gzip", "configuration": {"level": "high"}}], InvalidMetadata),
        ([BYTES4, {"name": "reshape", "configuration": {"shape": [-1]}}], InvalidMetadata),
        ([{"name": "reshape", "configuration": {"shape": [3, -1]}}, BYTES4], InvalidMetadata),
        ([{"name": "packbits", "configuration": {"last_bit": 40}}], InvalidMetadata),
    ],
)
def test_chains_that_cannot_work_fail_without_data(codecs: Any, error: Any) -> None:
    chain = Encoding(codecs_of(codecs, ""))
    kind = from_v3("int32")
    with pytest.raises(error):
        build_pipeline(chain, kind, (8,), 0)


def test_a_codec_that_need_not_be_understood_is_left_out() -> None:
    chain = codecs_of(
        [{"name": "bytes", "configuration": {"endian": "little"}}, {"name": "nosuch", "must_understand": False}], ""
    )
    assert build_pipeline(Encoding(chain), from_v3("int32"), (8,), 0).decode(WHOLE).tolist() == list(range(8))


def test_a_registry_can_be_passed_in() -> None:
    registry = default_registry().with_codec("mine", default_registry()["gzip"])
    assert isinstance(registry, Registry)
    chain = Encoding((LITTLE, CodecSpec("mine")))
    assert build_pipeline(chain, from_v3("int32"), (8,), 0, registry).decode(gzip.compress(WHOLE)).tolist() == list(
        range(8)
    )
    with pytest.raises(Unsupported):
        build_pipeline(chain, from_v3("int32"), (8,), 0)


def test_nested_shards_are_bounded() -> None:
    inner: object = {"name": "bytes", "configuration": {"endian": "little"}}
    for _ in range(12):
        inner = {
            "name": "sharding_indexed",
            "configuration": {
                "chunk_shape": [8],
                "codecs": [inner],
                "index_codecs": [{"name": "bytes", "configuration": {"endian": "little"}}],
            },
        }
    with pytest.raises(InvalidMetadata, match="nested"):
        build_pipeline(Encoding(codecs_of([inner], "")), from_v3("int32"), (8,), 0)


def shard(entries: list[tuple[int, int]], body: bytes) -> bytes:
    return body + b"".join(struct.pack("<QQ", *e) for e in entries)


@pytest.mark.parametrize("entry", [(1 << 63, 16), (2**64 - 8, 16), (0, 1 << 63), (60, 16), (0, 2**64 - 1)])
def test_shard_entries_outside_of_the_shard(entry: tuple[int, int]) -> None:
    spec = codecs_of(
        [
            {
                "name": "sharding_indexed",
                "configuration": {
                    "chunk_shape": [4],
                    "codecs": [{"name": "bytes", "configuration": {"endian": "little"}}],
                    "index_codecs": [{"name": "bytes", "configuration": {"endian": "little"}}],
                },
            }
        ],
        "",
    )
    target = build_pipeline(Encoding(spec), from_v3("int32"), (8,), 0)
    good = shard([(0, 16), (16, 16)], WHOLE)
    assert target.decode(good).tolist() == list(range(8))
    with pytest.raises(CorruptChunk):
        target.decode(shard([(0, 16), entry], WHOLE))


def test_index_codecs_of_varying_size() -> None:
    spec = codecs_of(
        [
            {
                "name": "sharding_indexed",
                "configuration": {
                    "chunk_shape": [4],
                    "codecs": [{"name": "bytes", "configuration": {"endian": "little"}}],
                    "index_codecs": [{"name": "bytes", "configuration": {"endian": "little"}}, "gzip"],
                },
            }
        ],
        "",
    )
    with pytest.raises(InvalidMetadata, match="fixed size"):
        build_pipeline(Encoding(spec), from_v3("int32"), (8,), 0)


@pytest.mark.parametrize(
    ("codec", "data"),
    [
        ("vlen-utf8", b""),
        ("vlen-utf8", b"\2\0\0\0"),
        ("vlen-utf8", b"\1\0\0\0\xff\xff\xff\xff"),
        ("vlen-utf8", b"\1\0\0\0\1\0\0\0\xff"),
        ("vlen-bytes", b"\xff\xff\xff\xff"),
        ("vlen-array", b"\1\0\0\0\2\0\0\0x"),
        ("numcodecs.json2", b"[1"),
        ("numcodecs.json2", b'{"a": 1}'),
        ("numcodecs.json2", b'["a", "|O", [9999999999]]'),
        ("numcodecs.json2", b"[" * 100_000),
        ("numcodecs.msgpack2", b"\x91" * 1000),
        ("numcodecs.msgpack2", b"\xdd\xff\xff\xff\xff"),
        ("numcodecs.msgpack2", b"\xc7\x01\x01x"),
        ("numcodecs.msgpack2", b"\x93\xc7\x00\x05\xa2|O\x91\x01"),
        ("numcodecs.msgpack2", b"\x93\x81\x90\x01\xa2|O\x91\x01"),
        ("numcodecs.msgpack2", b"\x93\xa1\xff\xa2|O\x91\x01"),
        ("numcodecs.msgpack2", b"\x93\x01\xa2|O\x91\x01\x00"),
        ("numcodecs.msgpack2", b""),
    ],
)
def test_damaged_objects(codec: str, data: bytes) -> None:
    kind = STRING if codec == "vlen-utf8" else BYTES if codec.startswith("vlen") else OBJECT
    target = build_pipeline(Encoding((CodecSpec(codec),)), kind, (1,), None)
    with pytest.raises(CorruptChunk):
        target.decode(data)


def test_lists_of_a_message_are_not_allocated_before_their_elements_are_there() -> None:
    announced = b"\xdd\x00\x0f\xff\xff" * 500 + b"\x00" * 100_000  # 500 lists in each other, of a million elements each
    target = build_pipeline(Encoding((CodecSpec("numcodecs.msgpack2"),)), OBJECT, (1,), None)
    tracemalloc.start()
    try:
        with pytest.raises(CorruptChunk):
            target.decode(announced)
        assert tracemalloc.get_traced_memory()[1] < 4 << 20
    finally:
        tracemalloc.stop()


def test_cast_value_rules() -> None:
    def cast(configuration: dict[str, Any], values: list[float], dtype: str = "float64") -> list[Any]:
        chain = (CodecSpec("cast_value", configuration), CodecSpec("bytes", {"endian": "little"}))
        target = build_pipeline(Encoding(chain), from_v3(dtype), (len(values),), None)
        stored = np.frombuffer(target.encode(np.array(values, dtype)), configuration["data_type"])
        found: list[Any] = stored.tolist()
        return found

    assert cast({"data_type": "uint8"}, [0.5, 1.5, 2.5, 255.4]) == [0, 2, 2, 255]
    assert cast({"data_type": "int8", "rounding": "towards-zero"}, [-1.7, 1.7]) == [-1, 1]
    assert cast({"data_type": "int8", "rounding": "towards-negative"}, [-1.2, 1.7]) == [-2, 1]
    assert cast({"data_type": "int8", "rounding": "towards-positive"}, [-1.7, 1.2]) == [-1, 2]
    assert cast({"data_type": "int8", "rounding": "nearest-away"}, [-2.5, 2.5]) == [-3, 3]
    assert cast({"data_type": "int8", "out_of_range": "clamp"}, [128, -500, np.inf]) == [127, -128, 127]
    assert cast({"data_type": "int8", "out_of_range": "wrap"}, [128, 129, -129]) == [-128, -127, 127]
    assert cast({"data_type": "uint8", "scalar_map": {"encode": [["NaN", 7]]}}, [np.nan, 1]) == [7, 1]
    for values in ([256.0], [-1.0], [np.nan], [np.inf]):
        with pytest.raises(CorruptChunk):
            cast({"data_type": "uint8"}, values)


def test_fill_values_go_through_the_chain() -> None:
    """An empty inner chunk reads as the fill value after scaling and casting back."""
    chain = codecs_of(
        [
            {"name": "scale_offset", "configuration": {"offset": 10, "scale": 0.5}},
            {
                "name": "cast_value",
                "configuration": {
                    "data_type": "int16",
                    "scalar_map": {"encode": [["NaN", -1]], "decode": [[-1, "NaN"]]},
                },
            },
            {
                "name": "sharding_indexed",
                "configuration": {
                    "chunk_shape": [2],
                    "codecs": [{"name": "bytes", "configuration": {"endian": "little"}}],
                    "index_codecs": [{"name": "bytes", "configuration": {"endian": "little"}}, "crc32c"],
                },
            },
        ],
        "",
    )
    target = build_pipeline(Encoding(chain), from_v3("float64"), (4,), np.float64("nan"))
    data = target.encode(np.array([np.nan, np.nan, 14.0, np.nan]))
    assert len(data) == 4 + 32 + 4
    found = target.decode(data)
    assert np.isnan(found[[0, 1, 3]]).all()
    assert found[2] == 14.0


class _Point:
    def __init__(self, name: str, value: str) -> None:
        self.name, self.value, self.dist = name, value, None


def test_entry_points_add_codecs(monkeypatch: pytest.MonkeyPatch) -> None:
    points = [_Point("theirs", "byteatlas.codecs.zarr.deflate:make_gzip")]
    given = {"byteatlas.codecs": points}
    monkeypatch.setattr("importlib.metadata.entry_points", lambda group: given.get(group, []))
    own = {"bytes": "byteatlas.codecs.zarr.raw:make_bytes"}
    found = registry_module.Registry(own, registry_module.announced.__wrapped__)
    assert set(found) == {"bytes", "theirs"}
    chain = Encoding((LITTLE, CodecSpec("theirs")))
    target = build_pipeline(chain, from_v3("int32"), (8,), 0, found)
    assert target.decode(gzip.compress(WHOLE)).tolist() == list(range(8))
    points.append(_Point("gzip", "byteatlas.codecs.zarr.deflate:make_gzip"))
    with pytest.raises(InvalidMetadata, match="twice"):
        _ = found["unknown"]
