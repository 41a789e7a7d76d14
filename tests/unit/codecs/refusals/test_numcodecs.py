"""numcodecs' and kerchunk's codecs: what their configurations and chunks may not say, and values where it is subtle."""

from __future__ import annotations

import bz2
import json
import lzma
import struct
import zlib
from typing import Any

import msgpack
import numpy as np
import pytest
from tests.unit.codecs.refusals.tables import Configuration, chain, fault, of_bytes

from byteatlas.codecs import Pipeline, build_pipeline
from byteatlas.codecs.numcodecs import kerchunk, legacy, listed
from byteatlas.codecs.numcodecs.filters import round_bits
from byteatlas.codecs.numcodecs.shuffle import _many
from byteatlas.errors import ByteatlasError, CorruptChunk, InvalidMetadata, Unsupported
from byteatlas.meta.model import CodecSpec, DataType, Encoding

LITTLE = ("bytes", {"endian": "little"})
Case = tuple[str, Configuration, str]

SENSELESS: list[Case] = [
    ("numcodecs.delta", {"dtype": "|b1"}, "dtype: Booleans have no differences"),
    ("numcodecs.delta", {"dtype": "|S3"}, "8 bytes are no whole elements of |S3"),
    ("numcodecs.delta", {}, "dtype: None is not a type string"),
    ("numcodecs.delta", {"dtype": "|O"}, "'|O' is no data type"),
    ("numcodecs.fixedscaleoffset", {"dtype": "|u1", "offset": 0, "scale": 0}, "scale: 0"),
    ("numcodecs.fixedscaleoffset", {"dtype": "|u1", "scale": 1}, "offset: None is not a finite number"),
    ("numcodecs.fixedscaleoffset", {"dtype": "|u1", "offset": True, "scale": 1}, "offset: True is not a finite number"),
    ("numcodecs.fixedscaleoffset", {"offset": 0, "scale": 1e999}, "scale: inf is not a finite number"),
    ("numcodecs.quantize", {"dtype": "<i4", "digits": 1}, "int32 as None is not floating point"),
    ("numcodecs.quantize", {"dtype": "<f4", "astype": "<i2", "digits": 1}, "float32 as int16 is not floating point"),
    ("numcodecs.quantize", {"dtype": "<f4", "digits": "x"}, "digits: 'x' is not an integer"),
    ("numcodecs.astype", {"decode_dtype": "<f4"}, "encode_dtype: None is not a type string"),
    ("numcodecs.bitround", {}, "keepbits: None is not an integer"),
    ("numcodecs.lzma", {"format": 3}, "filters: raw streams need them"),
    ("numcodecs.lzma", {"format": 4}, "format: 4 is not 1 to 3"),
    ("numcodecs.lzma", {"format": 3, "filters": "x"}, "filters: 'x'"),
    ("numcodecs.lzma", {"format": 3, "filters": [{"id": 33, "run": 1}]}, "filters: ["),
    ("numcodecs.lzma", {"format": 3, "filters": [{"id": 33}] * 5}, "filters: more than four"),
    ("numcodecs.lzma", {"format": 3, "filters": [{"id": 33, "dict_size": (1 << 30) + 1}]}, "beyond the bounds"),
    ("numcodecs.shuffle", {"elementsize": -1}, "elementsize: -1 is not 0 to 1048576"),
    ("numcodecs.shuffle", {"elementsize": (1 << 20) + 1}, "elementsize: 1048577 is not 0 to 1048576"),
    ("numcodecs.szip", {"mask": 4, "pixels-per-block": 64}, "pixels-per-block: 64 is not 2 to 32"),
    ("numcodecs.szip", {"mask": 4, "pixels-per-block": 8, "itemsize": 9}, "itemsize: 9 is not 1 to 8"),
    ("numcodecs.szip", {"mask": 4, "pixels-per-block": 8, "byteorder": "="}, "byteorder: '=' is none of"),
    ("numcodecs.imagecodecs_lzo", {"header": [1]}, "lzo: {'header': [1]}"),
    ("numcodecs.record_member", {"dtype": [["a", "<i4"]], "member": "b"}, "member: no field 'b'"),
    ("numcodecs.record_member", {"dtype": "<i4", "member": "a"}, "member: no field 'a'"),
    ("numcodecs.record_member", {"dtype": [["a", "<i4"]], "member": 0}, "member: no field 0"),
    ("numcodecs.record_member", {"dtype": [["a", "V3"]], "member": "a"}, "8 bytes are no whole elements of |V3"),
    ("numcodecs.record_member", {"dtype": "(" + "1," * 40_000 + ")", "member": "a"}, "dtype: a dtype of 80002 char"),
    ("numcodecs.record_member", {"dtype": "[('a', open('x'))]", "member": "a"}, "dtype: \"[('a', open('x'))]\""),
    ("numcodecs.record_member", {"dtype": "[" * 9000, "member": "a"}, "dtype: '[[["),
    ("numcodecs.record_member", {"dtype": [["a"]], "member": "a"}, "dtype: [['a']]"),
    ("numcodecs.record_member", {"dtype": "<q9", "member": "a"}, "dtype: '<q9'"),
    ("numcodecs.record_member", {"dtype": [["a", "V268435457"]], "member": "a"}, "elements of 268435457 bytes"),
    ("numcodecs.record_member", {"dtype": "|V0", "member": "a"}, "elements of 0 bytes"),
    ("numcodecs.FITSAscii", {"indtypes": [["a", "S8"]], "outdtypes": [["a", "<f8"], ["b", "<f4"]]}, "no whole element"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "configuration", "words"), SENSELESS)
def test_configurations_that_make_no_sense(name: str, configuration: Configuration, words: str) -> None:
    with fault(InvalidMetadata, f"codec '{name}': ", words):
        of_bytes((name, configuration))


MISPLACED: list[tuple[list[tuple[str, Configuration]], str, str]] = [
    ([("numcodecs.delta", {"dtype": "<i4"}), LITTLE], "vlen", "not for data type string"),
    ([("numcodecs.delta", {"dtype": "<i4"}), LITTLE], "f4", "int32 in an array of float32"),
    ([LITTLE, ("gzip", {}), ("numcodecs.bitround", {"keepbits": 3})], "f4", "follows a codec that hides the elements"),
    ([("numcodecs.packbits", {}), LITTLE], "u1", "not for data type uint8"),
    ([LITTLE, ("gzip", {}), ("numcodecs.packbits", {})], "bool", "the number of elements varies"),
    ([LITTLE, ("gzip", {}), ("numcodecs.szip", {"mask": 4, "pixels-per-block": 8})], "i2", "hides the elements"),
    ([("numcodecs.vlen-array", {"dtype": "<i4"})], "i4", "not for data type int32"),
    ([("numcodecs.categorize", {"labels": ["a"], "dtype": "U1"})], "i4", "not for data type int32"),
    ([("numcodecs.categorize", {"labels": "a"})], "U1", "labels: 'a' is not a list of strings"),
    ([("numcodecs.categorize", {"labels": [1]})], "U1", "labels: [1] is not a list of strings"),
    ([("numcodecs.categorize", {"labels": ["a"] * 128})], "U1", "labels: 128 as uint8"),
    ([("numcodecs.categorize", {"labels": ["a"], "astype": "<f4"})], "U1", "astype: '<f4' is not possible here"),
    ([("numcodecs.pcodec", {})], "u1", "not for data type uint8"),
    ([("numcodecs.FITSVarBintable", {"types": []})], "vlen", "types: [] is not an object"),
    ([("numcodecs.FITSVarBintable", {"types": {}, "dt_in": "V4", "nrow": 8})], "[x]", "8 rows of None"),
    ([("numcodecs.FITSVarBintable", {"types": {}, "dt_in": [["x", "<i4"]], "nrow": 7})], "[x]", "7 rows of ('x',)"),
    ([("numcodecs.json2", {"encoding": "idna"})], "i4", "encoding: 'idna' is none of"),
    ([("numcodecs.json2", {"encoding": 8})], "i4", "encoding: 8 is not a string"),
    ([("numcodecs.imagecodecs_lzw", {}), LITTLE], "i4", "it takes bytes, but no codec before it makes bytes"),
    ([LITTLE, ("numcodecs.vlen-array", {})], "i4", "it takes an array, but gets bytes"),
    ([LITTLE, ("gzip", {}), ("numcodecs.pcodec", {})], "i4", "it follows a codec that hides the elements"),
    ([("numcodecs.imagecodecs_png", {})], "vlen", "not for the variable-length data type string"),
]


@pytest.mark.parametrize(("codecs", "dtype", "words"), MISPLACED)
def test_chains_that_cannot_work(codecs: list[tuple[str, Configuration]], dtype: str, words: str) -> None:
    name = codecs[-1][0] if codecs[-1] != LITTLE else codecs[0][0]
    with fault(InvalidMetadata, f"codec '{name}': ", words):
        chain(*codecs, dtype={"vlen": "string"}.get(dtype, dtype)) if dtype != "[x]" else of_records(*codecs)


def of_records(*codecs: tuple[str, Configuration], fields: Any = (("x", "<i4"),), count: int = 8) -> Pipeline:
    """A pipeline of records, which may have objects as fields."""
    kind = DataType("struct", np.dtype(list(fields)))
    return build_pipeline(Encoding(tuple(CodecSpec(*c) for c in codecs)), kind, (count,), None)


# ------------------------------------------------------------------------------------------------------ damage


def zip_header(**change: Any) -> bytes:
    fields = {"magic": b"PK\3\4", "names": 0, "extra": 0, **change}
    return kerchunk.LOCAL_HEADER.pack(fields["magic"], 20, 0, 8, 0, 33, 0, 0, 8, fields["names"], fields["extra"])


def raw_deflate(data: bytes) -> bytes:
    engine = zlib.compressobj(6, zlib.DEFLATED, -15)
    return engine.compress(data) + engine.flush()


DAMAGED: list[tuple[str, Configuration, bytes, str]] = [
    ("numcodecs.delta", {"dtype": "|u1"}, bytes(7), "delta: 7 bytes where there should be 8"),
    ("numcodecs.delta", {"dtype": "<u2", "astype": "<u4"}, bytes(7), "delta: 7 bytes are no uint32 of this chunk"),
    ("numcodecs.delta", {"dtype": "<u2", "astype": "|u1"}, bytes(5), "delta: 5 bytes are no uint8 of this chunk"),
    ("numcodecs.packbits", {}, b"", "packbits: 0 bytes with padding -1 for 8 elements"),
    ("numcodecs.packbits", {}, b"\x08\0\0", "packbits: 3 bytes with padding 8 for 8 elements"),
    ("numcodecs.packbits", {}, b"\x01\0", "packbits: 2 bytes with padding 1 for 8 elements"),
    ("numcodecs.base64", {}, b"AA=A", "base64: "),
    ("numcodecs.base64", {}, b"AAAA", "base64: 3 bytes where there should be 8"),
    ("numcodecs.base64", {}, b"A" * 70_000, "base64: 70000 bytes where the chunk has at most 65552"),
    ("numcodecs.bz2", {}, b"BZh9", "bz2: "),
    ("numcodecs.lzma", {}, b"\xfd7zXZ\0", "lzma: "),
    ("numcodecs.lz4", {}, b"\x08\0\0", "lz4: 3 bytes where at least 4 are needed"),
    ("numcodecs.lz4", {}, b"\x09\0\0\0abc", "lz4: 9 bytes where the chunk has at most 8"),
    ("numcodecs.lz4", {}, b"\x07\0\0\0abc", "lz4: 7 bytes where there should be 8"),
    ("numcodecs.lz4", {}, b"\x08\0\0\0\xff", "lz4: "),
    ("numcodecs.imagecodecs_lzo", {}, b"\xf0\0\0\0", "lzo: "),
    ("numcodecs.imagecodecs_blosc2", {}, bytes(4) + b"\x09\0\0\0" + bytes(24), "blosc2: 9 bytes where the chunk has"),
    ("numcodecs.deflate", {}, zip_header()[:-1], "deflate: 29 bytes where at least 30 are needed"),
    ("numcodecs.deflate", {}, zip_header(magic=b"PK\1\2") + raw_deflate(bytes(8)), "deflate: no local header"),
    ("numcodecs.deflate", {}, zip_header(names=3) + raw_deflate(bytes(8)), "deflate: "),
    ("numcodecs.deflate", {}, zip_header() + raw_deflate(bytes(7)), "deflate: 7 bytes where there should be 8"),
    ("numcodecs.record_member", {"dtype": [["a", "|u1"], ["b", "<i4"]], "member": "a"}, bytes(39), "39 bytes where"),
    ("numcodecs.FITSAscii", {"indtypes": [["a", "S2"]], "outdtypes": [["a", "|i1"]]}, b"x " * 8, "FITSAscii: "),
    ("numcodecs.gzip", {}, b"\x1f\x8b" + bytes(30), "deflate: "),
    ("numcodecs.zstd", {}, b"\x28\xb5\x2f\xfd", "zstd: "),
]


@pytest.mark.parametrize(("name", "configuration", "data", "words"), DAMAGED)
def test_chunks_that_are_damaged(name: str, configuration: Configuration, data: bytes, words: str) -> None:
    with fault(CorruptChunk, words):
        of_bytes((name, configuration)).decode(data)


SERIALIZED: list[tuple[str, Configuration, str, bytes, str]] = [
    ("numcodecs.vlen-array", {"dtype": "<i4"}, "object", b"\2\0\0\0\4\0\0\0abcd\4\0\0", "ends within an element"),
    ("numcodecs.vlen-array", {"dtype": "<i4"}, "object", b"\2\0\0\0\5\0\0\0abcd", "an element of 5 bytes sticks out"),
    ("numcodecs.vlen-array", {"dtype": "<i4"}, "object", b"\2\0\0\0\3\0\0\0abc\0\0\0\0", "3 bytes are no int32"),
    ("numcodecs.vlen-array", {"dtype": "<i4"}, "object", b"\3\0\0\0" + bytes(12), "3 elements where the chunk has 2"),
    ("numcodecs.vlen-array", {"dtype": "<i4"}, "object", b"\2\0\0\0" + bytes(7), "11 bytes where at least 12"),
    ("numcodecs.categorize", {"labels": ["a"]}, "<U1", b"\1\1\1", "categorize: 3 bytes where there should be 2"),
    ("numcodecs.pcodec", {}, "i4", b"pco?\3", "pcodec: not a standalone stream"),
    ("numcodecs.pcodec", {}, "i4", b"pco!", "pcodec: not a standalone stream"),
    ("numcodecs.pcodec", {}, "i4", b"pco!\2\x9f\x01", "pcodec: 6 numbers announced where the chunk has 2"),
    ("numcodecs.pcodec", {}, "i4", b"pco!\3\3\x9f\x01", "pcodec: 6 numbers announced where the chunk has 2"),
    ("numcodecs.pcodec", {}, "i4", b"pco!\1\0", "pcodec: "),
    ("numcodecs.json2", {}, "i4", b"[1, 2]", "json2: not a list that ends with a type and a shape"),
    ("numcodecs.json2", {}, "i4", b'[1, 2, "<f4", [2]]', "elements of type '<f4' where the chunk has int32"),
    ("numcodecs.json2", {}, "i4", b'[1, 2, {}, [2]]', "elements of type '{}' where the chunk has int32"),
    ("numcodecs.json2", {}, "i4", b'[1, 2, 3, "<i4", [3]]', "json2: 3 elements where the chunk has 2"),
    ("numcodecs.json2", {}, "i4", b'[1, 2, "<i4", [1, 2]]', "the elements do not have the shape (1, 2)"),
    ("numcodecs.json2", {}, "i4", b'[[1, 2], "<i4", [2]]', "the elements do not have the shape (2,)"),
    ("numcodecs.json2", {}, "i4", b'[1, 2, "<i4", ["2"]]', "json2: shape ('2',)"),
    ("numcodecs.json2", {}, "i4", b'[1, 2, "<i4", [-2]]', "json2: shape (-2,)"),
    ("numcodecs.json2", {}, "i4", b'[1, 2, "<i4", ' + json.dumps([1] * 65).encode() + b"]", "json2: shape (1, 1"),
    ("numcodecs.json2", {}, "i4", b'[1, "x", "<i4", [2]]', "json2: elements are not int32: "),
    ("numcodecs.json2", {}, "i4", b'[1, 4294967296, "<i4", [2]]', "json2: elements are not int32: "),
    ("numcodecs.json2", {}, "i4", b"\xff", "json2: "),
    ("numcodecs.msgpack2", {}, "i4", msgpack.packb([1, 2, "<f4", [2]]), "msgpack2: elements of type '<f4'"),
    ("numcodecs.msgpack2", {}, "i4", msgpack.packb({"a": 1}), "msgpack2: not a list that ends with a type"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "configuration", "dtype", "data", "words"), SERIALIZED)
def test_chunks_of_serializers_that_are_damaged(
    name: str, configuration: Configuration, dtype: str, data: bytes, words: str
) -> None:
    target = chain((name, configuration), dtype="byteatlas.object" if dtype == "object" else dtype, shape=(2,))
    with fault(CorruptChunk, name.removeprefix("numcodecs.").split("-")[0], words):
        target.decode(data)


def test_too_many_lists_of_a_document(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listed, "MOST_LISTS", 3)
    target = chain(("numcodecs.json2", {}), dtype="byteatlas.object", shape=(2,))
    assert target.decode(b'[[], 1, "|O", [2]]').tolist() == [[], 1]
    with fault(CorruptChunk, "json2: 4 bytes where the chunk has at most 3"):
        target.decode(b'[[], {}, "|O", [2]]')


def test_tiny_shuffled_chunks_of_different_lengths() -> None:
    many = _many(8, 4)
    assert np.asarray(many([bytes(range(8)), bytes(8)]))[0].tolist() == [0, 2, 4, 6, 1, 3, 5, 7]
    with fault(CorruptChunk, "shuffle: a chunk has not 8 bytes"):
        many([bytes(8), bytes(7)])


# ------------------------------------------------------------------------------------------------------ encoders


class Unwritable:
    pass


@pytest.mark.parametrize("name", ["numcodecs.json2", "numcodecs.msgpack2"])
def test_objects_that_no_document_holds(name: str) -> None:
    target = chain((name, {}), dtype="byteatlas.object", shape=(1,))
    with fault(InvalidMetadata, f"{name.partition('.')[2]}: "):
        target.encode(np.array([Unwritable()], object))


ENCODERS: list[tuple[str, Configuration, type[ByteatlasError], str]] = [
    ("numcodecs.lzma", {"preset": 99}, InvalidMetadata, "Invalid"),
    ("numcodecs.bz2", {"level": 10}, InvalidMetadata, "level: 10 is not 1 to 9"),
    ("numcodecs.bz2", {"level": 0}, InvalidMetadata, "level: 0 is not 1 to 9"),
    ("numcodecs.gzip", {"level": 10}, InvalidMetadata, "level: 10 is not -1 to 9"),
    ("numcodecs.blosc", {"cname": "lz4", "shuffle": -2}, InvalidMetadata, "shuffle: -2 is not -1 to 2"),
    ("numcodecs.blosc", {"clevel": 10}, InvalidMetadata, "clevel: 10 is not 0 to 9"),
    ("numcodecs.zstd", {"checksum": "maybe"}, InvalidMetadata, "checksum: 'maybe' is not true or false"),
    ("numcodecs.imagecodecs_png", {"level": [1]}, InvalidMetadata, "not numbers, strings or Booleans: {'level': [1]}"),
    ("numcodecs.imagecodecs_blosc2", {"compressor": "nosuch"}, Unsupported, "blosc2: "),
    ("numcodecs.record_member", {"dtype": [["a", "|u1"]], "member": "a"}, Unsupported, "only decodes [codec]"),
    ("numcodecs.FITSAscii", {"indtypes": "|u1", "outdtypes": "|u1"}, Unsupported, "only decodes [codec]"),
    ("numcodecs.imagecodecs_gif", {}, Unsupported, "only decodes: it has no encoder here that keeps all values"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "configuration", "kind", "words"), ENCODERS)
def test_what_encoders_refuse(name: str, configuration: Configuration, kind: type[ByteatlasError], words: str) -> None:
    with fault(kind, words):
        of_bytes((name, configuration), shape=(4, 8)).encode(np.zeros((4, 8), np.uint8))


def test_images_after_a_codec_that_hides_the_elements() -> None:
    target = of_bytes(("numcodecs.shuffle", {"elementsize": 2}), ("numcodecs.imagecodecs_qoi", {}), shape=(4, 8))
    with fault(Unsupported, "qoi after a codec that hides the elements", "[codec]"):
        target.encode(np.zeros((4, 8), np.uint8))


def test_a_compressor_that_imagecodecs_lacks(monkeypatch: pytest.MonkeyPatch) -> None:
    import imagecodecs

    monkeypatch.setattr(imagecodecs.LZO, "available", False)
    with fault(Unsupported, "imagecodecs was built without lzo", "[codec]"):
        of_bytes(("numcodecs.imagecodecs_lzo", {}))


@pytest.mark.parametrize("name", ["numcodecs.imagecodecs_nosuch", "imagecodecs_nosuch"])
def test_an_unknown_one_of_imagecodecs(name: str) -> None:
    with fault(Unsupported, f"unknown codec '{name}'", "[codec]"):
        of_bytes((name, {}))


def test_a_zip_member_beyond_its_sizes(monkeypatch: pytest.MonkeyPatch) -> None:
    assert kerchunk.MOST_MEMBER == 2**32 - 1
    monkeypatch.setattr(kerchunk, "MOST_MEMBER", 19)
    assert len(kerchunk.zip_member(bytes(19))) > 30
    for data in (bytes(20), np.random.default_rng(0).bytes(18)):
        with fault(Unsupported, f"a zip member of {len(data)} bytes", "[too-large]"):
            kerchunk.zip_member(data)


# ------------------------------------------------------------------------------------------------------ values


def test_differences_wrap_as_their_type_does() -> None:
    target = of_bytes(("numcodecs.delta", {"dtype": "|u1"}))
    assert target.decode(bytes([250, 10, 255, 1, 0, 0, 0, 0])).tolist() == [250, 4, 3, 4, 4, 4, 4, 4]
    values = np.array([3, 250, 0, 7, 7, 1, 2, 255], np.uint8)
    assert list(target.encode(values)) == [3, 247, 6, 7, 0, 250, 1, 253]
    array = chain(("numcodecs.delta", {"dtype": "<i2", "astype": "|i1"}), LITTLE, dtype="i2", shape=(3,))
    assert array.encode(np.array([5, 3, 9], "i2")) == b"\x05\xfe\x06"
    assert array.decode(b"\x05\xfe\x06").tolist() == [5, 3, 9]


def test_scales_and_offsets() -> None:
    configuration = {"dtype": "<f4", "astype": "|u1", "offset": 10, "scale": 2}
    target = of_bytes(("numcodecs.fixedscaleoffset", configuration), dtype="f4", shape=(3,))
    assert target.decode(bytes([0, 1, 255])).tolist() == [10.0, 10.5, 137.5]
    assert list(target.encode(np.array([10, 10.74, 137.5], "f4"))) == [0, 1, 255]


def test_quantize_keeps_the_digits() -> None:
    target = of_bytes(("numcodecs.quantize", {"dtype": "<f8", "digits": 1}), dtype="f8", shape=(3,))
    assert np.frombuffer(target.encode(np.array([1.234, -0.06, 7.0])), "<f8").tolist() == [1.25, -0.0625, 7.0]


@pytest.mark.parametrize(
    ("dtype", "keep", "values", "wanted"),
    [
        ("f4", 1, [1.0, 1.25, 1.75, np.inf, -3.3], [1.0, 1.0, 2.0, np.inf, -3.0]),
        ("f4", 23, [1.1], [np.float32(1.1)]),
        ("i4", 2, [7, -7, 5, 6, 0], [8, -8, 4, 6, 0]),
        ("i1", 1, [127, -128, 3], [127, -128, 4]),
        ("u8", 3, [2**64 - 1, 9], [2**64 - 1, 8]),
        ("c8", 1, [1.25 + 1.75j], [1 + 2j]),
        ("M8[s]", 2, [7], [8]),
    ],
)
def test_bits_are_rounded_to_even(dtype: str, keep: int, values: list[Any], wanted: list[Any]) -> None:
    found = round_bits(np.array(values, dtype), keep)
    assert found.dtype == np.dtype(dtype)
    assert found.tolist() == np.array(wanted, dtype).tolist()
    assert np.isnan(round_bits(np.array([np.nan], "f4"), 1)).all()


def test_text_has_no_bits_to_round() -> None:
    with fault(InvalidMetadata, "not for data type"):
        round_bits(np.array([b"x"]), 3)


def test_booleans_in_bits() -> None:
    target = of_bytes(("numcodecs.packbits", {}), dtype="bool", shape=(10,))
    values = np.array([1, 0, 0, 0, 0, 0, 0, 1, 1, 0], bool)
    assert target.encode(values) == b"\x06\x81\x80"
    assert target.decode(b"\x06\x81\x80").tolist() == values.tolist()
    array = chain(("numcodecs.packbits", {}), LITTLE, dtype="bool", shape=(10,))
    assert array.encode(values) == b"\x06\x81\x80"
    assert array.decode(b"\x06\x81\x80").tolist() == values.tolist()


def test_lzma_of_all_forms() -> None:
    values = np.arange(8, dtype=np.uint8)
    for form in (lzma.FORMAT_XZ, lzma.FORMAT_ALONE):
        assert of_bytes(("numcodecs.lzma", {"format": form})).decode(
            lzma.compress(values.tobytes(), form)
        ).tolist() == [*values]
    filters = [{"id": lzma.FILTER_LZMA2, "preset": 1, "dict_size": None}]
    target = of_bytes(("numcodecs.lzma", {"format": 3, "filters": filters}))
    assert target.decode(target.encode(values)).tolist() == values.tolist()


def test_padding_behind_streams_is_no_damage() -> None:
    data = bz2.compress(bytes(4)) + bz2.compress(bytes([1, 2, 3, 4]))
    target = of_bytes(("numcodecs.bz2", {}))
    assert target.decode(data + bytes(5)).tolist() == [0, 0, 0, 0, 1, 2, 3, 4]
    with fault(CorruptChunk, "bz2: "):
        target.decode(data + b"junk")


def test_dictionaries_of_streams_are_bounded() -> None:
    big = lzma.compress(bytes(8), lzma.FORMAT_ALONE, filters=[{"id": lzma.FILTER_LZMA1, "dict_size": 1 << 20}])
    huge = big[:1] + ((1 << 31) - 1).to_bytes(4, "little") + big[5:]
    with fault(CorruptChunk, "lzma: ", "emory usage limit"):
        of_bytes(("numcodecs.lzma", {"format": lzma.FORMAT_ALONE})).decode(huge)
    assert legacy.MOST_MEMORY == 1 << 30


def test_labels_by_number() -> None:
    target = chain(("numcodecs.categorize", {"labels": ["b", "cc"], "astype": "<i2"}), dtype="<U2", shape=(4,))
    assert target.decode(np.array([1, 2, 3, -1], "<i2").tobytes()).tolist() == ["b", "cc", "", ""]
    assert target.encode(np.array(["cc", "b", "x", ""], "<U2")) == np.array([2, 1, 0, 0], "<i2").tobytes()


def test_pcodec_of_complex_numbers() -> None:
    values = np.array([1 + 2j, -3j], "c16")
    target = chain(("numcodecs.pcodec", {}), dtype="c16", shape=(2,))
    assert target.decode(target.encode(values)).tolist() == values.tolist()
    other = chain(("numcodecs.pcodec", {}), dtype="c16", shape=(3,))
    with fault(CorruptChunk, "pcodec: "):
        other.decode(target.encode(values))


def test_a_release_of_pcodec_that_gives_fewer_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    import imagecodecs

    target = chain(("numcodecs.pcodec", {}), dtype="i4", shape=(2,))
    data = target.encode(np.array([1, 2], "i4"))
    monkeypatch.setattr(imagecodecs, "pcodec_decode", lambda data, shape, dtype: np.zeros(1, dtype))
    with fault(CorruptChunk, "pcodec: 1 elements where the chunk has 2"):
        target.decode(data)


# ------------------------------------------------------------------------------------------------------ kerchunk


def test_strings_of_hdf5_heaps() -> None:
    ids = {"a" * 16: "first", "b" * 16: "second"}
    target = chain(
        ("numcodecs.fill_hdf_strings", {"dtype": "|S16", "id_map": ids}), dtype="byteatlas.object", shape=(2,)
    )
    data = b"b" * 16 + b"a" * 16
    assert target.decode(data).tolist() == ["second", "first"]
    with fault(CorruptChunk, "fill_hdf_strings: no string for 'cccccccccccccccc'"):
        target.decode(b"b" * 16 + b"c" * 16)
    with fault(CorruptChunk, "fill_hdf_strings: 31 bytes where there should be 32"):
        target.decode(data[:-1])
    with fault(Unsupported, "only decodes", "[codec]"):
        target.encode(np.array(["x", "y"], object))
    same = chain(("numcodecs.fill_hdf_strings", {"dtype": "|S16", "id": "all"}), dtype="byteatlas.object", shape=(2,))
    assert same.decode(data).tolist() == ["all", "all"]
    objects = chain(("numcodecs.fill_hdf_strings", {"dtype": "|O"}), dtype="byteatlas.object", shape=(2,))
    with fault(InvalidMetadata, "stored elements cannot be objects"):
        objects.decode(data)


def test_strings_in_records_of_hdf5() -> None:
    stored = "[('name', 'S4'), ('n', '<i4'), ('at', '<f4', (2,))]"
    wanted = [("name", "O"), ("n", "<i4"), ("at", "<f4", (2,))]
    target = of_records(
        ("numcodecs.fill_hdf_strings", {"dtype": stored, "id_map": {"aaaa": "x", "bbbb": "yy"}}),
        fields=wanted,
        count=2,
    )
    data = b"bbbb" + struct.pack("<iff", 7, 0.5, 1) + b"aaaa" + struct.pack("<iff", -8, 2, 3)
    found = target.decode(data)
    assert found["name"].tolist() == ["yy", "x"]
    assert found["n"].tolist() == [7, -8]
    assert found["at"].tolist() == [[0.5, 1.0], [2.0, 3.0]]


def test_fields_of_records() -> None:
    member = {"dtype": [["a", "|u1"], ["b", [["c", ">i2"]]]], "member": "a"}
    assert of_bytes(("numcodecs.record_member", member), shape=(2,)).decode(b"\x05xx\x06yy").tolist() == [5, 6]
    columns = {"indtypes": [["x", "S3"], ["y", "S2"]], "outdtypes": [["x", "<f4"], ["y", "<i2"]]}
    target = of_records(LITTLE, ("numcodecs.FITSAscii", columns), fields=[("x", "<f4"), ("y", "<i2")], count=2)
    assert target.decode(b"1.5 72e1-3").tolist() == [(1.5, 7), (20.0, -3)]


def test_lists_of_lists_in_dtypes_are_shapes() -> None:
    found = kerchunk.numpy_type({"t": [["a", "<i4", [2, 3]], ["b", [["c", "|u1"]]]]}, "t")
    assert found == np.dtype([("a", "<i4", (2, 3)), ("b", [("c", "|u1")])])


def heap_table(rows: int = 2, types: Any = None) -> Any:
    configuration = {"dt_in": [["v", ">i4", [2]], ["n", "|u1"]], "nrow": rows, "types": types or {"v": "I"}}
    return of_records(("numcodecs.FITSVarBintable", configuration), fields=[("v", "O"), ("n", "|u1")], count=rows)


def row(count: int, offset: int, number: int) -> bytes:
    return struct.pack(">iiB", count, offset, number)


def test_variable_columns_of_fits() -> None:
    heap = np.array([5, -6, 7], ">i2").tobytes()
    found = heap_table().decode(row(1, 4, 1) + row(2, 0, 2) + heap)
    assert [v.tolist() for v in found["v"]] == [[7], [5, -6]]
    assert found["v"][0].dtype == np.dtype("=i2")
    assert found["n"].tolist() == [1, 2]


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (row(1, 4, 1), "FITSVarBintable: 9 bytes where at least 18 are needed"),
        (row(1, 4, 1) + row(2, 0, 2), "1 elements at 4 lie outside of the heap"),
        (row(0, 0, 1) + row(-1, 0, 2) + bytes(6), "-1 elements at 0 lie outside of the heap"),
        (row(1, -2, 1) + row(0, 0, 2) + bytes(6), "1 elements at -2 lie outside of the heap"),
        (row(2, 3, 1) + row(0, 0, 2) + bytes(6), "2 elements at 3 lie outside of the heap"),
    ],
)
def test_heaps_that_are_damaged(data: bytes, words: str) -> None:
    with fault(CorruptChunk, words):
        heap_table().decode(data)


@pytest.mark.parametrize("types", [{"v": "X"}, {"w": "I"}])
def test_heap_columns_of_unknown_types(types: Configuration) -> None:
    with fault(Unsupported, "FITSVarBintable: column 'v' of type", "[codec]"):
        heap_table(types=types).decode(row(0, 0, 1) + row(0, 0, 2))


def test_members_of_zip_files() -> None:
    target, values = of_bytes(("numcodecs.deflate", {})), np.arange(8, dtype=np.uint8)
    assert target.decode(target.encode(values)).tolist() == values.tolist()
    named = zip_header(names=3, extra=2) + b"a/bxx" + raw_deflate(values.tobytes())
    assert target.decode(named).tolist() == values.tolist()
