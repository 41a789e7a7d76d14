"""Codecs of Zarr's specifications and registry, and those of zarrs: what they refuse, and values where it is subtle."""

from __future__ import annotations

import struct
from typing import Any

import imagecodecs
import numpy as np
import pytest
from tests.unit.codecs.refusals.tables import LITTLE, Configuration, chain, fault, of_bytes

from byteatlas.codecs import Pipeline, build_pipeline
from byteatlas.codecs.core.contract import MOST_CHUNK
from byteatlas.codecs.streams import zfp as zfp_streams
from byteatlas.codecs.zarr.blosc import EncoderOptions
from byteatlas.codecs.zarr.sharding import holds_only
from byteatlas.errors import ByteatlasError, CorruptChunk, InvalidMetadata, Unsupported
from byteatlas.meta.dtypes import from_numpy, from_v3
from byteatlas.meta.model import CodecSpec, Encoding

Step = tuple[str, Configuration]
BYTES: Step = ("bytes", {"endian": "little"})
PLAIN = [{"name": "bytes", "configuration": {"endian": "little"}}]


def casts(**configuration: Any) -> list[Step]:
    return [("cast_value", configuration), BYTES]


def scales(**configuration: Any) -> list[Step]:
    return [("scale_offset", configuration), BYTES]


def shards(inner: list[int], **change: Any) -> list[Step]:
    return [("sharding_indexed", {"chunk_shape": inner, "codecs": PLAIN, "index_codecs": PLAIN, **change})]


def reshapes(shape: Any) -> list[Step]:
    return [("reshape", {"shape": shape}), BYTES]


def n5(order: Any, *more: Any) -> list[Step]:
    return [("n5_default", {"codecs": [{"name": "transpose", "configuration": {"order": order}}, *PLAIN, *more]})]


SENSELESS: list[tuple[list[Step], str, tuple[int, ...], str]] = [
    (
        [
            ("bytes", {}),
        ],
        "<i2",
        (2,),
        "endian: needed for data type int16",
    ),
    ([("bytes", {"endian": "little"})], "string", (2,), "not for the variable-length data type string"),
    (
        [("byteatlas.bytes", {"dtype": [["a", "<i2"]]})],
        "<i2",
        (2,),
        "stored fields ('a',) of an array with fields None",
    ),
    ([("byteatlas.bytes", {"dtype": "|O"})], "<i2", (2,), "dtype: '|O' is no data type"),
    ([("byteatlas.bytes", {"dtype": [["a", "|O"]]})], "<i2", (2,), "dtype: '|O' is no data type"),
    ([("byteatlas.bytes", {"dtype": [["a", "<i2"]], "offsets": [0]})], "<i2", (2,), "offsets and itemsize go together"),
    ([("byteatlas.bytes", {"dtype": [["a", "<i2"]], "itemsize": 2})], "<i2", (2,), "offsets and itemsize go together"),
    ([("byteatlas.bytes", {"dtype": [["a", "<i2"]], "offsets": [0, 2], "itemsize": 4})], "<i2", (2,), "one offset per"),
    (
        [("byteatlas.bytes", {"dtype": [["a", "<i2"]], "offsets": [3], "itemsize": 4})],
        "<i2",
        (2,),
        "'a' at 3 of 4 bytes",
    ),
    ([("byteatlas.bytes", {"dtype": [["a", "<i2"]], "offsets": [-1], "itemsize": 4})], "<i2", (2,), "'a' at -1 of 4"),
    (
        [("byteatlas.bytes", {"dtype": [["a", "<i2"]], "offsets": [0], "itemsize": 1 << 29})],
        "<i2",
        (2,),
        "itemsize: elements of 536870912",
    ),
    (
        [("byteatlas.bytes", {"dtype": [["a", "<i2"]], "offsets": [1 << 40], "itemsize": 1 << 70})],
        "<i2",
        (2,),
        "elements of 1180",
    ),
    (
        [("byteatlas.bytes", {"dtype": [["a", "<i2"]], "offsets": [], "itemsize": 0})],
        "<i2",
        (2,),
        "one offset per field",
    ),
    (
        [("byteatlas.bytes", {"dtype": [["a", "<i2"]], "offsets": [0], "itemsize": 0})],
        "<i2",
        (2,),
        "elements of 0 bytes",
    ),
    (
        [("byteatlas.bytes", {"dtype": [["a", "<i2"]], "offsets": [True], "itemsize": 4})],
        "<i2",
        (2,),
        "'a' at True of 4",
    ),
    ([("transpose", {"order": [0, 2]}), BYTES], "u1", (2, 4), "order: [0, 2] of an array of 2 dimensions"),
    ([("transpose", {"order": [0]}), BYTES], "u1", (2, 4), "order: [0] of an array of 2 dimensions"),
    ([("transpose", {"order": [True, 0]}), BYTES], "u1", (2, 4), "order: [True, 0] is not a list of axes"),
    ([("transpose", {"order": "A"}), BYTES], "u1", (2, 4), "order: 'A' is not a list of axes"),
    (reshapes("8"), "u1", (2, 4), "shape: '8' is not a list"),
    (reshapes([0]), "u1", (2, 4), "shape: 0 is no length"),
    (reshapes([True]), "u1", (2, 4), "shape: True is no length"),
    (reshapes([[True]]), "u1", (2, 4), "shape: [True] is no length"),
    (reshapes([-1, -1]), "u1", (2, 4), "shape: -1 more than once"),
    (reshapes([[2]]), "u1", (2, 4), "shape: input dimensions [2] of 2"),
    (reshapes([[-1]]), "u1", (2, 4), "shape: input dimensions [-1] of 2"),
    (reshapes([[1], [0]]), "u1", (2, 4), "shape: input dimensions [1, 0] of 2"),
    (reshapes([[0], [0]]), "u1", (2, 4), "shape: input dimensions [0, 0] of 2"),
    (reshapes([3, -1]), "u1", (2, 4), "shape: [3, -1] of a chunk (2, 4)"),
    (reshapes([7]), "u1", (2, 4), "shape: [7] of a chunk (2, 4)"),
    (reshapes([4, [0]]), "u1", (2, 4), "shape: [4, (0,)] mixes the axes of a chunk (2, 4)"),
    (reshapes([[1], 2]), "u1", (2, 4), "shape: [(1,), 2] mixes the axes of a chunk (2, 4)"),
    (scales(scale=0), "i4", (2,), "scale: 0"),
    (scales(scale=1), "S2", (2,), "not for data type null_terminated_bytes"),
    (scales(scale=1.5), "i4", (2,), "scale: "),
    (scales(scale=1, step=2), "i4", (2,), "unknown members ['step']"),
    (casts(data_type="string"), "i4", (2,), "not for data type string"),
    (casts(data_type="int8"), "S2", (2,), "not for data type null_terminated_bytes"),
    (casts(data_type=5), "i4", (2,), "data_type: 5 is no data type"),
    (casts(data_type="float32", out_of_range="wrap"), "i4", (2,), "out_of_range: wrap to float32"),
    (casts(data_type="int8", out_of_range="cut"), "i4", (2,), "out_of_range: 'cut' is none of"),
    (casts(data_type="int8", rounding="up"), "i4", (2,), "rounding: 'up' is none of"),
    (casts(data_type="int8", scalar_map=[1]), "i4", (2,), "scalar_map: [1] is not an object"),
    (casts(data_type="int8", scalar_map={"both": []}), "i4", (2,), "scalar_map: unknown members ['both']"),
    (casts(data_type="int8", scalar_map={"encode": [[1]]}), "i4", (2,), "scalar_map: [[1]] is not a list of pairs"),
    (casts(data_type="int8", scalar_map={"decode": {}}), "i4", (2,), "scalar_map: {} is not a list of pairs"),
    (casts(data_type="int8", scalar_map={"encode": [[1, 999]]}), "i4", (2,), "scalar_map: "),
    (shards([2, 2]), "u1", (4,), "inner chunks (2, 2) of shards (4,)"),
    (shards([3]), "u1", (4,), "inner chunks (3,) do not divide the shard (4,)"),
    (shards([0]), "u1", (4,), "chunk_shape"),
    (shards([2], index_location="middle"), "u1", (4,), "index_location: 'middle' is none of"),
    ([("vlen-utf8", {})], "i4", (4,), "not for data type int32"),
    ([("packbits", {"padding_encoding": "some"})], "u1", (4,), "padding_encoding: 'some' is none of"),
    ([("packbits", {})], "string", (4,), "not for data type string"),
    ([("packbits", {"first_bit": 5, "last_bit": 4})], "u1", (4,), "bits 5 to 4 of 8"),
    ([("packbits", {"first_bit": -1})], "u1", (4,), "bits -1 to 7 of 8"),
    ([("packbits", {"last_bit": 8})], "u1", (4,), "bits 0 to 8 of 8"),
    (
        [BYTES, ("conditional", {"codecs": [{"name": "gzip"}] * 3, "header_bits": 4})],
        "u1",
        (4,),
        "header_bits: 4 for 3",
    ),
    (
        [BYTES, ("conditional", {"codecs": [{"name": "gzip"}] * 9, "header_bits": 8})],
        "u1",
        (4,),
        "header_bits: 8 for 9",
    ),
    ([BYTES, ("conditional", {"codecs": [{"name": "gzip"}], "header_bits": 1032})], "u1", (4,), "header_bits: 1032"),
    ([("n5_default", {"codecs": [{"name": "gzip"}, *PLAIN]})], "u1", (4,), "transpose and bytes must be first"),
    (n5([0, 0]), "u1", (2, 2), "order: [0, 0] of an array of 2 dimensions"),
    (n5("X"), "u1", (2, 2), "order: 'X'"),
    ([("zarrs.vlen", {"index_codecs": PLAIN, "data_codecs": PLAIN})], "i4", (4,), "not for data type int32"),
    (
        [("zarrs.vlen", {"index_codecs": PLAIN, "data_codecs": PLAIN, "index_data_type": "int8"})],
        "string",
        (4,),
        "'int8'",
    ),
    ([("zarrs.optional", {"mask_codecs": PLAIN, "data_codecs": PLAIN})], "i4", (4,), "not for data type int32"),
    ([("zfp", {"mode": "lossless"})], "f4", (4,), "zfp: mode 'lossless'"),
    ([("zfp", {"mode": []})], "f4", (4,), "zfp: mode []"),
    ([("zfp", {"mode": "reversible"})], "c8", (4,), "not for data type complex64"),
    ([("zfp", {"mode": "reversible"})], "f4", (1, 1, 1, 2, 2), "chunks of 5 dimensions"),
    ([("zfp", {"mode": "fixed_rate"})], "f4", (4,), "rate: None is not a finite number"),
    ([("zfp", {"mode": "fixed_rate", "rate": 2049})], "f4", (4,), "rate: 2049.0 is not between 1e-09 and 2048.0"),
    ([("zfp", {"mode": "fixed_precision", "precision": 0})], "f4", (4,), "precision: 0.0 is not between 1 and 128"),
    ([("zfp", {"mode": "fixed_accuracy", "tolerance": -1})], "f4", (4,), "tolerance: -1.0 is not between"),
    ([("numcodecs.zfpy", {})], "u1", (4,), "not for data type uint8"),
    ([BYTES, ("blosc", {"cname": "lzo"})], "u1", (4,), "cname: 'lzo' is none of"),
    ([BYTES, ("blosc", {"shuffle": "some"})], "u1", (4,), "shuffle: 'some' is not an integer"),
    ([BYTES, ("blosc", {"typesize": "x"})], "u1", (4,), "typesize: 'x' is not an integer"),
    ([BYTES, ("gzip", {"level": 1.5})], "u1", (4,), "level: 1.5 is not an integer"),
    ([BYTES, ("gzip", {"level": True})], "u1", (4,), "level: True is not an integer"),
    ([("byteatlas.constant", {"value": "00"})], "i2", (4,), "1 bytes for an element of int16"),
    ([("byteatlas.constant", {"value": "0"})], "u1", (4,), "value: not hexadecimal digits"),
    ([("byteatlas.crop", {"origin": [1], "shape": [4]}), BYTES], "u1", (4,), "(4,) at (1,) is not inside (4,)"),
    ([("byteatlas.crop", {"origin": [0], "shape": [4, 1]}), BYTES], "u1", (4,), "have different lengths"),
    ([("byteatlas.unpack", {"data_type": "string"}), BYTES], "f4", (4,), "it is for numbers, not string to float32"),
    ([("byteatlas.unpack", {"data_type": "int8"}), BYTES], "c8", (4,), "it is for numbers, not int8 to complex64"),
    (
        [("byteatlas.unpack", {"data_type": "int8", "scale_factor": 2}), BYTES],
        "i4",
        (4,),
        "floating-point numbers, not int32",
    ),
    (
        [("byteatlas.unpack", {"data_type": "int8", "mask": [0]}), BYTES],
        "i4",
        (4,),
        "floating-point numbers, not int32",
    ),
    (
        [("byteatlas.unpack", {"data_type": "int8", "mask": [0] * 65}), BYTES],
        "f4",
        (4,),
        "mask: not a list of at most 64",
    ),
    ([("byteatlas.unpack", {"data_type": "int8", "unsigned": 1}), BYTES], "f4", (4,), "unsigned: 1 is none of"),
]


@pytest.mark.parametrize(("steps", "dtype", "shape", "words"), SENSELESS)
def test_configurations_that_make_no_sense(steps: list[Step], dtype: str, shape: tuple[int, ...], words: str) -> None:
    with fault(InvalidMetadata, "codec '", words):
        chain(*steps, dtype=dtype, shape=shape)


TOO_LARGE: list[tuple[list[Step], str, tuple[int, ...], str]] = [
    (shards([1]), "u1", ((1 << 27) + 1,), "a shard of 134217729 inner chunks"),
    ([("zfp", {"mode": "reversible"})], "f4", (2, 2, 2, (1 << 12) + 1), "zfp for a chunk of shape (2, 2, 2, 4097)"),
    ([BYTES], "u1", (MOST_CHUNK + 1,), "a chunk of 70368744177665 bytes"),
    ([BYTES], "<i8", (MOST_CHUNK // 8 + 1,), "a chunk of 70368744177672 bytes"),
    ([("byteatlas.crop", {"origin": [0], "shape": [MOST_CHUNK + 1]}), BYTES], "u1", (1,), "a chunk of shape (703"),
]


@pytest.mark.parametrize(("steps", "dtype", "shape", "words"), TOO_LARGE)
def test_chunks_that_are_too_large(steps: list[Step], dtype: str, shape: tuple[int, ...], words: str) -> None:
    with fault(Unsupported, words, "[too-large]"):
        chain(*steps, dtype=dtype, shape=shape)


def test_chunks_just_within_the_bounds() -> None:
    assert chain(BYTES, dtype="u1", shape=(MOST_CHUNK,)).nbytes == MOST_CHUNK
    assert chain(*shards([1 << 13]), dtype="u1", shape=(1 << 20,)).shard is not None


def test_chains_are_short() -> None:
    assert of_bytes(*[("gzip", {})] * 63).shape == (8,)
    with fault(InvalidMetadata, "a chain of 65 codecs"):
        of_bytes(*[("gzip", {})] * 64)


def test_nesting_of_byte_codecs_is_bounded() -> None:
    def inner(depth: int) -> Step:
        document: Any = {"name": "gzip"}
        for _ in range(depth):
            document = {"name": "conditional", "configuration": {"codecs": [document]}}
        return document["name"], document["configuration"]

    assert of_bytes(inner(8)).shape == (8,)
    with fault(InvalidMetadata, "codecs nested too deep"):
        of_bytes(inner(9))


def test_an_encoding_of_other_chunks() -> None:
    with fault(InvalidMetadata, "an encoding of chunks (4,) used for (8,)"):
        build_pipeline(Encoding((LITTLE,), chunk_shape=(4,)), from_v3("int8"), (8,), 0)


def test_a_chain_without_a_codec_that_makes_bytes() -> None:
    for steps in ([], [("transpose", {"order": [0]})]):
        with fault(InvalidMetadata, "no array -> bytes codec"):
            chain(*steps)


def test_chunks_of_another_shape_are_not_encoded() -> None:
    with fault(InvalidMetadata, "a chunk of shape (7,) where the pipeline takes (8,)"):
        chain(BYTES).encode(np.zeros(7, np.uint8))


def test_stored_integers_that_do_not_fit() -> None:
    target = build_pipeline(Encoding((LITTLE,), data_type=from_v3("int32")), from_v3("int8"), (2,), 0)
    assert target.decode(struct.pack("<ii", -128, 127)).tolist() == [-128, 127]
    for values in ((-129, 0), (0, 128)):
        with fault(CorruptChunk, f"values between {min(values)} and {max(values)} do not fit int8"):
            target.decode(struct.pack("<ii", *values))


@pytest.mark.parametrize(
    ("name", "kind", "words"),
    [
        ("numcodecs.pickle", Unsupported, "codec 'numcodecs.pickle' is refused: unpickling runs code"),
        ("nosuch", Unsupported, "unknown codec 'nosuch'"),
    ],
)
def test_names_that_are_refused(name: str, kind: type[ByteatlasError], words: str) -> None:
    with fault(kind, words, "[codec]"):
        of_bytes((name, {}))


# ------------------------------------------------------------------------------------------------------ damage


def sharded(*entries: tuple[int, int], body: bytes = bytes(range(4)), start: bool = False) -> bytes:
    index = b"".join(struct.pack("<QQ", *e) for e in entries)
    return index + body if start else body + index


EMPTY = (2**64 - 1, 2**64 - 1)
VLEN: Configuration = {"index_codecs": PLAIN, "data_codecs": [{"name": "bytes"}], "index_data_type": "uint32"}


def vlen(*offsets: int, body: bytes, size: int | None = None) -> bytes:
    index = struct.pack(f"<{len(offsets)}I", *offsets)
    return (len(index) if size is None else size).to_bytes(8, "little") + index + body


DAMAGED: list[tuple[list[Step], str, tuple[int, ...], bytes, str]] = [
    (
        shards([2]),
        "u1",
        (4,),
        sharded((0, 2), (3, 2), body=bytes(4))[:31],
        "sharding_indexed: 31 bytes where at least 32",
    ),
    (shards([2]), "u1", (4,), b"", "sharding_indexed: 0 bytes where at least 32 are needed"),
    (shards([2]), "u1", (4,), sharded((0, 2), (35, 2)), "an inner chunk at 35+2 lies outside of the shard of 36 bytes"),
    (shards([2]), "u1", (4,), sharded((0, 2), (1 << 63, 2)), "an inner chunk at 9223372036854775808+2 lies outside"),
    (shards([2]), "u1", (4,), sharded((0, 2), (2, 2**64 - 1)), "an inner chunk at 2+18446744073709551615 lies outside"),
    (shards([2]), "u1", (4,), sharded((0, 2), (2**64 - 1, 2)), "an inner chunk at 18446744073709551615+2 lies outside"),
    (shards([2]), "u1", (4,), sharded((0, 2), (2, 1)), "bytes: 1 bytes where there should be 2"),
    (shards([2]), "u1", (4,), sharded((0, 2), (2, 0)), "bytes: 0 bytes where there should be 2"),
    ([("vlen-bytes", {})], "binary", (1,), b"\1\0\0\0\5\0\0\0abc", "vlen: "),
    ([("vlen-utf8", {})], "string", (1,), b"\1\0\0\0\1\0\0\0\xff", "vlen: "),
    ([("vlen-utf8", {})], "string", (2,), b"\1\0\0\0\1\0\0\0a", "vlen: 1 elements where the chunk has 2"),
    ([("vlen-utf8", {})], "string", (2,), b"\2\0\0\0\1\0\0\0a", "vlen: 9 bytes where at least 12 are needed"),
    (
        [("packbits", {"padding_encoding": "first_byte", "last_bit": 2})],
        "u1",
        (4,),
        b"\5\0\0",
        "5 bits of padding where the chunk has 4",
    ),
    (
        [("packbits", {"padding_encoding": "last_byte", "last_bit": 2})],
        "u1",
        (4,),
        b"\0\0\3",
        "3 bits of padding where the chunk has 4",
    ),
    ([("packbits", {"last_bit": 2})], "u1", (4,), b"\0\0\0", "packbits: 3 bytes where there should be 2"),
    (
        [BYTES, ("conditional", {"codecs": [{"name": "gzip"}]})],
        "u1",
        (4,),
        b"",
        "conditional: 0 bytes where at least 1",
    ),
    (
        [BYTES, ("conditional", {"codecs": [{"name": "gzip"}]})],
        "u1",
        (4,),
        b"\2abcd",
        "conditional: bits 0x2 for 1 codecs",
    ),
    (
        [BYTES, ("conditional", {"codecs": [{"name": "gzip"}]})],
        "u1",
        (4,),
        b"\0abc",
        "conditional: 3 bytes where there",
    ),
    (n5([1, 0]), "u1", (2, 2), struct.pack(">HHI", 0, 2, 2), "n5_default: 8 bytes where at least 12 are needed"),
    (n5([1, 0]), "u1", (2, 2), struct.pack(">HHII", 1, 2, 2, 2) + bytes(4), "a block of mode 1 with 2 dimensions"),
    (n5([1, 0]), "u1", (2, 2), struct.pack(">HHII", 0, 3, 2, 2) + bytes(4), "a block of mode 0 with 3 dimensions"),
    (n5([1, 0]), "u1", (2, 2), struct.pack(">HHII", 0, 2, 0, 2), "a block of shape (0, 2) for a chunk of (2, 2)"),
    (n5([1, 0]), "u1", (2, 2), struct.pack(">HHII", 0, 2, 257, 1) + bytes(257), "a block of shape (257, 1)"),
    (n5([1, 0]), "u1", (2, 2), struct.pack(">HHII", 0, 2, 1, 2) + bytes(3), "bytes: 3 bytes where there should be 2"),
    ([("zarrs.vlen", VLEN)], "string", (2,), bytes(7), "zarrs.vlen: 7 bytes where at least 8 are needed"),
    (
        [("zarrs.vlen", VLEN)],
        "string",
        (2,),
        vlen(0, 1, 2, body=b"", size=13),
        "zarrs.vlen: 20 bytes where at least 21",
    ),
    ([("zarrs.vlen", VLEN)], "string", (2,), vlen(1, 1, 2, body=b"ab"), "zarrs.vlen: offsets do not rise"),
    ([("zarrs.vlen", VLEN)], "string", (2,), vlen(0, 2, 1, body=b"ab"), "zarrs.vlen: offsets do not rise"),
    (
        [("zarrs.vlen", VLEN)],
        "string",
        (2,),
        vlen(0, 1, (1 << 30) + 1, body=b"ab"),
        "1073741825 bytes where the chunk has at most",
    ),
    ([("zarrs.vlen", VLEN)], "string", (2,), vlen(0, 1, 2, body=b"abc"), "bytes: 3 bytes where there should be 2"),
    ([("zarrs.vlen", VLEN)], "string", (2,), vlen(0, 1, 2, body=b"a\xff"), "zarrs.vlen: 'utf-8' codec can't decode"),
    ([("zarrs.vlen", VLEN)], "string", (2,), vlen(0, 1, 2, 3, body=b"abc"), "bytes: 16 bytes where there should be 12"),
    ([("numcodecs.zfpy", {})], "f4", (4,), b"zfp\4" + bytes(20), "zfpy: the header does not describe this chunk"),
    ([("numcodecs.zfpy", {})], "f4", (4,), b"zfp\5" + bytes(20), "zfpy: the header does not describe this chunk"),
    ([("numcodecs.zfpy", {})], "f4", (4,), b"zfp\5", "zfpy: the header does not describe this chunk"),
    ([BYTES, ("blosc", {})], "u1", (4,), bytes(15), "blosc: 15 bytes where at least 16 are needed"),
    (
        [BYTES, ("blosc", {})],
        "u1",
        (4,),
        bytes([2, 1, 0, 1]) + struct.pack("<III", 5, 5, 16),
        "blosc: 5 bytes where the chunk has",
    ),
    (
        [BYTES, ("blosc", {})],
        "u1",
        (4,),
        bytes([2, 1, 0, 1]) + struct.pack("<III", 3, 3, 16),
        "blosc: 3 bytes where there should be 4",
    ),
    (
        [BYTES, ("blosc", {})],
        "u1",
        (4,),
        bytes([2, 1, 0, 1]) + struct.pack("<III", 4, 4, 17),
        "blosc: 16 bytes where at least 17",
    ),
    ([BYTES, ("blosc", {})], "u1", (4,), bytes([2, 1, 0, 1]) + struct.pack("<III", 4, 4, 16), "blosc: "),
    ([BYTES, ("zstd", {})], "u1", (4,), bytes(imagecodecs.zstd_encode(bytes(5))), "zstd: "),
    (
        [BYTES, ("zstd", {})],
        "u1",
        (4,),
        bytes(imagecodecs.zstd_encode(bytes(3))),
        "zstd: 3 bytes where there should be 4",
    ),
    ([BYTES, ("crc32c", {}), ("zstd", {})], "u1", (4,), bytes(imagecodecs.zstd_encode(bytes(9))), "zstd: "),
    ([BYTES, ("crc32c", {})], "u1", (4,), bytes(8), "crc32c: "),
    ([("byteatlas.constant", {"value": "07"})], "u1", (4,), b"", "byteatlas.constant: 0 bytes where there should be 1"),
    (scales(scale=3), "i4", (1,), struct.pack("<i", 7), "scale_offset: a stored integer is no multiple of the scale"),
    (scales(offset=1), "i1", (1,), b"\x7f", "scale_offset: a value is outside of the data type's range"),
    (scales(scale=1e-30), "f4", (1,), np.array([1e30], "<f4").tobytes(), "outside of the data type's range"),
    (
        casts(data_type="float64"),
        "i4",
        (1,),
        np.array([np.nan]).tobytes(),
        "cast_value: NaN or infinity has no integer",
    ),
    (casts(data_type="float64"), "i4", (1,), np.array([2.0**31]).tobytes(), "a value is outside of the range of int32"),
    (casts(data_type="int32"), "u1", (1,), struct.pack("<i", -1), "a value is outside of the range of uint8"),
    (casts(data_type="float64"), "f4", (1,), np.array([1e39]).tobytes(), "a value is outside of the range of float32"),
    (
        casts(data_type="float64"),
        "float8_e4m3fn",
        (1,),
        np.array([np.inf]).tobytes(),
        "float8_e4m3fn cannot hold a value",
    ),
]


@pytest.mark.parametrize(("steps", "dtype", "shape", "data", "words"), DAMAGED)
def test_chunks_that_are_damaged(
    steps: list[Step], dtype: str, shape: tuple[int, ...], data: bytes, words: str
) -> None:
    with fault(CorruptChunk, words):
        chain(*steps, dtype=dtype, shape=shape, fill=0 if dtype in ("u1", "i4", "f4", "i1") else None).decode(data)


def optional(mask: bytes, body: bytes, mask_size: int = 1, size: int | None = None) -> bytes:
    sizes = mask_size, len(body) if size is None else size
    return b"".join(n.to_bytes(8, "little") for n in sizes) + mask + body


def optionals() -> Pipeline:
    kind = from_v3({"name": "zarrs.optional", "configuration": {"name": "int16", "configuration": {}}})
    codecs = {"mask_codecs": [{"name": "packbits"}], "data_codecs": PLAIN}
    return build_pipeline(Encoding((CodecSpec("zarrs.optional", codecs),)), kind, (3,), None)


def test_elements_that_may_be_missing() -> None:
    assert optionals().decode(optional(b"\5", struct.pack("<2h", 7, -8))).tolist() == [7, None, -8]
    assert optionals().decode(optional(b"\0", b"")).tolist() == [None] * 3
    assert optionals().encode(np.array([None, 3, None], object)) == optional(b"\2", b"\3\0")
    for data, words in (
        (bytes(15), "zarrs.optional: 15 bytes where at least 16 are needed"),
        (optional(b"\5", b"ab", size=3), "zarrs.optional: 19 bytes where there should be 20"),
        (optional(b"\5", b"ab", mask_size=2), "zarrs.optional: 19 bytes where there should be 20"),
        (optional(b"\5", b"ab"), "bytes: 2 bytes where there should be 4"),
    ):
        with fault(CorruptChunk, words):
            optionals().decode(data)


def test_offsets_at_either_end() -> None:
    for place in ("start", "end"):
        target = chain(("zarrs.vlen", {**VLEN, "index_location": place}), dtype="string", shape=(3,))
        values = np.array(["a", "", "bcd"], object)
        assert target.decode(target.encode(values)).tolist() == values.tolist()
        nothing = np.array([""] * 3, object)
        assert target.decode(target.encode(nothing)).tolist() == nothing.tolist()


# ------------------------------------------------------------------------------------------------------ values


def test_reshaping_keeps_the_axes() -> None:
    target = chain(*reshapes([[0, 1], -1]), dtype="u1", shape=(2, 3, 4))
    values = np.arange(24, dtype=np.uint8).reshape(2, 3, 4)
    assert target.encode(values) == values.tobytes()
    assert target.decode(values.tobytes()).tolist() == values.tolist()
    assert chain(*reshapes([[0], 12]), dtype="u1", shape=(2, 3, 4)).shape == (2, 3, 4)
    squeezed = chain(("zarrs.squeeze", {}), ("transpose", {"order": [1, 0]}), BYTES, dtype="u1", shape=(2, 1, 3))
    assert squeezed.decode(bytes(range(6))).tolist() == [[[0, 2, 4]], [[1, 3, 5]]]


def test_empty_inner_chunks_are_the_fill_value() -> None:
    target = chain(*shards([2]), dtype="u1", shape=(4,), fill=np.uint8(9))
    assert target.decode(sharded((1, 2), EMPTY)).tolist() == [1, 2, 9, 9]
    assert target.encode(np.array([9, 9, 9, 9], "u1")) == sharded(EMPTY, EMPTY, body=b"")
    assert target.encode(np.array([9, 9, 1, 9], "u1")) == sharded(EMPTY, (0, 2), body=b"\1\t")
    first = chain(*shards([2], index_location="start"), dtype="u1", shape=(4,), fill=np.uint8(9))
    data = sharded(EMPTY, (32, 2), body=b"\1\t", start=True)
    assert first.encode(np.array([9, 9, 1, 9], "u1")) == data
    assert first.decode(data).tolist() == [9, 9, 1, 9]


def test_what_holds_only_the_fill_value() -> None:
    assert holds_only(np.array([np.nan] * 2), np.nan)
    assert not holds_only(np.array([0.0, -0.0]), 0.0)
    assert holds_only(np.array(["", ""], object), "")
    assert not holds_only(np.array(["", b""], object), "")
    assert not holds_only(np.array([None], object), None)


def test_blocks_of_n5_are_cut_and_filled_up() -> None:
    target = chain(*n5([1, 0]), dtype="u1", shape=(2, 3), fill=np.uint8(7))
    assert target.decode(struct.pack(">HHII", 0, 2, 2, 2) + bytes([1, 2, 3, 4])).tolist() == [[1, 3, 7], [2, 4, 7]]
    whole = struct.pack(">HHII", 0, 2, 2, 3) + bytes(range(6))
    assert target.decode(whole).tolist() == [[0, 2, 4], [1, 3, 5]]
    assert target.encode(np.array([[0, 2, 4], [1, 3, 5]], "u1")) == whole
    longer = struct.pack(">HHII", 0, 2, 3, 3) + bytes(range(9))
    assert target.decode(longer).tolist() == [[0, 3, 6], [1, 4, 7]]
    plain = chain(("n5_default", {"codecs": PLAIN}), dtype="u1", shape=(2, 3), fill=np.uint8(7))
    assert plain.decode(struct.pack(">HHII", 0, 2, 2, 2) + bytes([1, 2, 3, 4])).tolist() == [[1, 2, 7], [3, 4, 7]]
    for order in ("C", "F"):
        named = chain(*n5(order), dtype="u1", shape=(2, 3), fill=np.uint8(7))
        values = np.arange(6, dtype="u1").reshape(2, 3)
        assert named.decode(named.encode(values)).tolist() == values.tolist()


def test_conditions_are_bits() -> None:
    target = of_bytes(("conditional", {"codecs": [{"name": "gzip"}, {"name": "crc32c"}]}), shape=(64,))
    values = np.zeros(64, np.uint8)
    packed = target.encode(values)
    assert packed[0] == 3
    assert target.decode(packed).tolist() == values.tolist()
    assert target.decode(b"\0" + values.tobytes()).tolist() == values.tolist()
    noise = np.random.default_rng(0).integers(0, 256, 64).astype(np.uint8)
    assert target.encode(noise) == b"\0" + noise.tobytes()


def test_packed_bits_are_lowest_first() -> None:
    target = chain(
        ("packbits", {"first_bit": 1, "last_bit": 3, "padding_encoding": "first_byte"}), dtype="u1", shape=(3,)
    )
    assert target.decode(target.encode(np.array([0b1010, 0b1100, 0b0110], "u1"))).tolist() == [10, 12, 6]
    assert target.encode(np.array([0b1010, 0b1100, 0b0110], "u1")) == b"\x07" + (0b011_110_101).to_bytes(2, "little")
    signed = chain(("packbits", {"last_bit": 3}), dtype="i1", shape=(2,))
    assert signed.decode(b"\x7f").tolist() == [-1, 7]


def test_blosc_shuffles_by_number_and_by_name() -> None:
    wanted = {
        -1: (2, 1),
        0: (0, 0),
        1: (1, 1),
        2: (2, 2),
        "noshuffle": (0, 0),
        "shuffle": (1, 1),
        "bitshuffle": (2, 2),
        "auto": (2, 1),
        "NONE": (0, 0),
        "BYTE": (1, 1),
        "BIT": (2, 2),
        None: (1, 1),
    }
    for given, (of_one, of_four) in wanted.items():
        assert EncoderOptions.of({"shuffle": given}, 1).shuffle == of_one
        assert EncoderOptions.of({"shuffle": given}, 4).shuffle == of_four
    assert EncoderOptions.of({"typesize": 300}, 4).typesize == 1
    assert EncoderOptions.of({}, 4) == EncoderOptions("lz4", 5, 1, 0, 4)
    for key, value in (("typesize", 0), ("blocksize", -1), ("clevel", 10), ("shuffle", 3)):
        with fault(InvalidMetadata, f"{key}: {value} is not "):
            EncoderOptions.of({key: value}, 4)


def test_a_compressor_that_numcodecs_lacks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("numcodecs.blosc.list_compressors", lambda: ["blosclz"])
    with fault(Unsupported, "blosc cannot compress with 'zstd' here", "[codec]"):
        of_bytes(("blosc", {"cname": "zstd"})).encode(np.zeros(8, np.uint8))


def test_zfp_that_wrote_another_mode(monkeypatch: pytest.MonkeyPatch) -> None:
    mode = zfp_streams.Mode("fixed_precision", (9.0,))
    assert zfp_streams.compress(np.zeros(4, "f4"), mode, header=False)
    monkeypatch.setattr(zfp_streams.Mode, "header", lambda self, kind, shape: (0, 96))
    with fault(Unsupported, "zfp wrote another mode than fixed_precision", "[codec]"):
        zfp_streams.compress(np.zeros(4, "f4"), mode, header=False)


def test_zfp_that_decodes_to_another_array() -> None:
    stream = zfp_streams.compress(np.zeros((4, 4), "f4"), zfp_streams.Mode("reversible"), header=True)
    assert zfp_streams.decompress(stream, np.dtype("f4"), (4, 4)).shape == (4, 4)
    with fault(CorruptChunk, "zfp: float32[4, 4] decoded where there should be float32[16]"):
        zfp_streams.decompress(stream, np.dtype("f4"), (16,))


def test_zfpy_needs_a_mode_for_encoding() -> None:
    for configuration in ({"mode": 4, "tolerance": -1}, {"mode": 5}, {"mode": 2}):
        with fault(Unsupported, "zfpy cannot compress without a mode", "[codec]"):
            chain(("numcodecs.zfpy", configuration), dtype="f4", shape=(4,)).encode(np.zeros(4, "f4"))


@pytest.mark.parametrize("dtype", ["i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f2", "f4", "f8", "M8[s]"])
def test_zfp_keeps_all_values_when_reversible(dtype: str) -> None:
    rng = np.random.default_rng(0)
    values = rng.integers(0, 100, 16).astype(dtype).reshape(4, 4)
    target = chain(("zfp", {"mode": "reversible"}), dtype=dtype, shape=(4, 4))
    assert target.decode(target.encode(values)).tolist() == values.tolist()


def test_scaling_of_integers_is_exact() -> None:
    target = chain(*scales(scale=3, offset=2**62), dtype="i8", shape=(2,), fill=np.int64(2**62))
    values = np.array([2**62 + 5, 2**62 - 7])
    assert np.frombuffer(target.encode(values), "<i8").tolist() == [15, -21]
    assert target.decode(target.encode(values)).tolist() == values.tolist()
    with fault(CorruptChunk, "scale_offset: a value is outside of the data type's range"):
        target.encode(np.array([-(2**62), 0]))
    plain = chain(*scales(offset=10), dtype="u1", shape=(2,))
    assert plain.decode(b"\0\5").tolist() == [10, 15]
    with fault(CorruptChunk, "scale_offset: "):
        plain.encode(np.array([9, 20], "u1"))


def cast(values: Any, source: str, target: str, **configuration: Any) -> list[Any]:
    pipe = chain(*casts(data_type=target, **configuration), dtype=source, shape=(len(values),))
    stored = np.frombuffer(pipe.encode(np.array(values, source)), from_v3(target).numpy)
    found: list[Any] = stored.tolist()
    return found


@pytest.mark.parametrize(
    ("rounding", "wanted"),
    [
        ("nearest-even", [1.0, np.float32(1 + 2**-23), -1.0]),
        ("towards-positive", [np.float32(1 + 2**-23), np.float32(1 + 2**-23), -1.0]),
        ("towards-negative", [1.0, 1.0, np.float32(-1 - 2**-23)]),
        ("towards-zero", [1.0, 1.0, -1.0]),
    ],
)
def test_floats_are_rounded_as_asked(rounding: str, wanted: list[float]) -> None:
    values = [1 + 2**-26, 1 + 2**-23 - 2**-26, -1 - 2**-26]
    assert cast(values, "f8", "float32", rounding=rounding) == wanted


def test_floats_that_no_rule_covers() -> None:
    assert cast([1e39, np.inf], "f8", "float32", out_of_range="clamp") == [np.inf, np.inf]
    for rounding in ("nearest-away", "towards-zero"):
        to = "float32" if rounding == "nearest-away" else "bfloat16"
        with fault(CorruptChunk, f"cast_value: rounding {rounding} to {to} is not supported"):
            cast([1 + 2**-26], "f8", to, rounding=rounding)
        assert cast([1.5], "f8", to, rounding=rounding) == [1.5]
    assert cast([2**53 + 1], "i8", "float64", rounding="towards-positive") == [2.0**53 + 2]
    assert cast([2**53 + 1], "i8", "float64", rounding="towards-negative") == [2.0**53]
    with fault(CorruptChunk, "NaN or infinity has no integer"):
        cast([np.nan], "f8", "int8", out_of_range="clamp")


def test_integers_beyond_their_type() -> None:
    assert cast([300, -1], "i4", "uint8", out_of_range="wrap") == [44, 255]
    assert cast([300, -1], "i4", "uint8", out_of_range="clamp") == [255, 0]
    assert cast([200, 5], "u1", "int8", out_of_range="wrap") == [-56, 5]
    assert cast([2**64 - 1], "u8", "int64", out_of_range="clamp") == [2**63 - 1]
    assert cast([2**63], "u8", "uint64") == [2**63]
    assert cast([7, -8], "i4", "int4") == [7, -8]
    with fault(CorruptChunk, "outside of the range of int4"):
        cast([8], "i4", "int4")


def test_fill_values_that_cannot_be_cast() -> None:
    with fault(InvalidMetadata, "the fill value cannot be cast: cast_value: a value is outside of the range of uint8"):
        chain(*casts(data_type="uint8"), dtype="i4", shape=(1,), fill=np.int32(-1))


def test_scalars_are_mapped_before_rules() -> None:
    found = cast([np.nan, 7, np.inf], "f8", "uint8", scalar_map={"encode": [["NaN", 0], ["+Infinity", 255], [7, 1]]})
    assert found == [0, 1, 255]


def test_types_with_spare_bits() -> None:
    for name, wanted in (("int4", [-1, 7]), ("uint4", [15, 7]), ("int2", [-1, -1]), ("uint2", [3, 3])):
        assert [int(x) for x in chain(BYTES, dtype=name, shape=(2,)).decode(b"\xff\x77")] == wanted


def test_layouts_with_gaps() -> None:
    stored: Step = ("byteatlas.bytes", {"dtype": [["a", ">i2"], ["b", "|u1"]], "offsets": [2, 1], "itemsize": 5})
    kind = from_numpy(np.dtype([("a", "<i2"), ("b", "u1")]))
    target = build_pipeline(Encoding((CodecSpec(*stored),)), kind, (2,), None)
    assert target.decode(bytes([9, 1, 0, 5, 9, 9, 2, 1, 0, 9])).tolist() == [(5, 1), (256, 2)]
    with fault(CorruptChunk, "bytes: 9 bytes where there should be 10"):
        target.decode(bytes(9))


def test_zstd_of_an_unknown_size_grows() -> None:
    values = np.zeros(1 << 20, np.uint8)
    target = of_bytes(("gzip", {}), ("zstd", {}), shape=(1 << 20,))
    assert (target.decode(target.encode(values)) == 0).all()
    data = bytes(imagecodecs.zstd_encode(bytes(3 << 20)))
    with fault(CorruptChunk, "zstd: "):
        target.decode(data)
