"""Datatype, fill value and filter messages: decoded right, and damaged ones refused in bounded time."""

from __future__ import annotations

import random
import struct
from typing import Any

import h5py
import numpy as np
import pytest
from h5py import h5t

from byteatlas.errors import ByteatlasError, CorruptFile, InvalidMetadata, Unsupported
from byteatlas.io.open import SourcePool
from byteatlas.io.sources.memory import MemorySource
from byteatlas.meta import elements
from byteatlas.scanning.driver import run
from byteatlas_scanners.hdf5.filters import message as filters
from byteatlas_scanners.hdf5.filters.blocks import Filtered, unfiltered
from byteatlas_scanners.hdf5.filters.registry import ROWS, codecs
from byteatlas_scanners.hdf5.format import datatype
from byteatlas_scanners.hdf5.format.types import Datatype, DatatypeClass
from byteatlas_scanners.hdf5.values import fillvalue
from byteatlas_scanners.hdf5.values.zarr_type import layout, to_zarr


def message(kind: Any) -> bytes:
    """The datatype message of an h5py type (its encoding begins with two bytes of its own)."""
    tid = h5t.py_create(np.dtype(kind), logical=True) if not isinstance(kind, h5t.TypeID) else kind
    return bytes(tid.encode()[2:])


def parse(kind: Any) -> Datatype:
    return datatype.parse(message(kind))


@pytest.mark.parametrize("kind", ["i1", "<u2", ">i4", "<u8", ">f2", "<f4", ">f8"])
def test_plain_numbers_are_numpy_types(kind: str) -> None:
    found = parse(kind)
    assert found.plain is not None
    assert np.dtype(found.plain) == np.dtype(kind)
    stored = to_zarr(found)
    assert stored.data_type.numpy == np.dtype(kind).newbyteorder("=")
    (codec,) = stored.codecs
    assert codec.name == "bytes"
    assert codec.configuration == ({} if kind == "i1" else {"endian": "big" if ">" in kind else "little"})


def test_members_keep_names_offsets_and_order() -> None:
    kind = np.dtype({"names": ["b", "a"], "formats": ["<f8", ">i2"], "offsets": [8, 1], "itemsize": 20})
    found = parse(kind)
    assert [(m.name, m.offset, m.type.plain) for m in found.members] == [("b", 8, "<f8"), ("a", 1, ">i2")] or [
        (m.name, m.offset, m.type.plain) for m in found.members
    ] == [("a", 1, ">i2"), ("b", 8, "<f8")]
    (codec,) = to_zarr(found).codecs
    assert codec.name == "byteatlas.bytes"
    assert codec.configuration["itemsize"] == 20


def test_packed_compounds_of_one_byte_order_are_plain_bytes() -> None:
    (codec,) = to_zarr(parse(np.dtype([("a", "<i4"), ("b", "S3")]))).codecs
    assert (codec.name, dict(codec.configuration)) == ("bytes", {"endian": "little"})


def test_array_types_give_dimensions() -> None:
    tid = h5t.array_create(h5t.array_create(h5t.STD_I16BE, (3,)), (2, 5))
    stored = to_zarr(parse(tid))
    assert stored.inner_shape == (2, 5, 3)
    assert stored.data_type.numpy == np.dtype("i2")


def test_variable_length_types() -> None:
    found = parse(h5py.vlen_dtype("f4"))
    assert found.kind is DatatypeClass.VLEN
    assert found.variable
    text = parse(h5py.string_dtype())
    assert (text.kind, text.charset) == (DatatypeClass.VLEN_STRING, 1)
    with pytest.raises(Unsupported):
        layout(text)


@pytest.mark.parametrize("tid", [h5t.UNIX_D32LE, h5t.STD_REF_OBJ])
def test_types_without_values_are_refused(tid: h5t.TypeID) -> None:
    with pytest.raises(Unsupported) as caught:
        to_zarr(parse(tid))
    assert caught.value.reason == "datatype"


def test_version_1_compound_with_dimensions() -> None:
    """Files of HDF5 1.0 and 1.2 put array dimensions into the member."""
    integer = struct.pack("<BBHI", 0x10, 0x08, 0, 4) + struct.pack("<HH", 0, 32)
    member = b"ab\0\0\0\0\0\0" + struct.pack("<IB3xII4I", 4, 2, 0, 0, 2, 3, 0, 0) + integer
    found = datatype.parse(struct.pack("<BBHI", 0x16, 1, 0, 28) + member)
    assert found.members[0].type.dims == (2, 3)
    assert found.members[0].offset == 4


def test_damaged_datatypes_are_corrupt_and_nothing_else() -> None:
    nested = np.dtype([("a", "i4"), ("b", [("c", "S5"), ("d", "f4", (2, 2))]), ("e", h5py.vlen_dtype("i8"))])
    good = [message(k) for k in ("f8", nested, h5py.enum_dtype({"A": 1, "B": 2}))]
    rng = random.Random(1)
    for _ in range(3000):
        raw = bytearray(rng.choice(good))
        for _ in range(rng.randint(1, 4)):
            raw[rng.randrange(len(raw))] = rng.randrange(256)
        cut = raw[: rng.randint(0, len(raw))] if rng.random() < 0.3 else raw
        try:
            found = datatype.parse(bytes(cut))
            layout(found)
        except ByteatlasError:
            pass


def test_nesting_is_bounded() -> None:
    integer = struct.pack("<BBHI", 0x10, 0x08, 0, 4) + struct.pack("<HH", 0, 32)
    with pytest.raises(CorruptFile):
        datatype.parse(struct.pack("<BBHI", 0x19, 0, 0, 16) * 1000 + integer)


def test_the_cache_gives_the_same_object() -> None:
    cache: datatype.Cache = {}
    assert datatype.parse(message("i4"), 0, cache) is datatype.parse(message("i4"), 0, cache)


@pytest.mark.parametrize(
    ("body", "fill"),
    [
        (bytes([1, 2, 2, 1]) + struct.pack("<I", 2) + b"ab", fillvalue.Fill(True, b"ab", 2)),
        (bytes([1, 2, 0, 0]) + struct.pack("<I", 0), fillvalue.Fill(False, None, 0)),
        (bytes([2, 2, 1, 1]) + struct.pack("<I", 1) + b"x", fillvalue.Fill(True, b"x", 1)),
        (bytes([2, 2, 2, 0]), fillvalue.Fill(False, None, 2)),
        (bytes([3, 0x09]), fillvalue.Fill(True, None, 2)),
        (bytes([3, 0x19]), fillvalue.Fill(False, None, 2)),
        (bytes([3, 0x29]) + struct.pack("<I", 3) + b"abc", fillvalue.Fill(True, b"abc", 2)),
    ],
)
def test_fill_value_messages(body: bytes, fill: fillvalue.Fill) -> None:
    assert fillvalue.parse(body) == fill


def test_old_fill_value_message() -> None:
    assert fillvalue.parse_old(struct.pack("<I", 2) + b"ab").value == b"ab"
    assert fillvalue.parse_old(struct.pack("<I", 0)).value is None
    for body in (b"", b"\x01", struct.pack("<I", 9) + b"ab"):
        with pytest.raises(CorruptFile):
            fillvalue.parse_old(body)
    for body in (b"", b"\x04\0", bytes([3, 0x29]) + struct.pack("<I", 9)):
        with pytest.raises(CorruptFile):
            fillvalue.parse(body)


def test_filter_messages_of_both_versions() -> None:
    v1 = bytes([1, 2]) + bytes(6) + struct.pack("<HHHH", 1, 8, 1, 1) + b"deflate\0" + struct.pack("<II", 6, 0)
    v1 += struct.pack("<HHHH", 32015, 0, 0, 0)
    v2 = bytes([2, 2]) + struct.pack("<HHHI", 1, 1, 1, 6) + struct.pack("<HHHH", 32015, 0, 0, 0)
    old, new = filters.parse(v1), filters.parse(v2)
    assert [(f.id, f.flags, f.values) for f in old.filters] == [(1, 1, (6,)), (32015, 0, ())]
    assert [(f.id, f.flags, f.values) for f in new.filters] == [(1, 1, (6,)), (32015, 0, ())]
    assert old.filters[0].name == "deflate"
    assert [f.id for f in new.applied(1)] == [32015]
    for body in (v1[:-3], v2[:5], bytes([3, 1]), bytes([2, 33])):
        with pytest.raises(CorruptFile):
            filters.parse(body)


def test_refused_filters_say_number_and_name() -> None:
    kind = parse("f4")
    for number, words in ((32002, "MAFISC"), (32014, "fpzip"), (40000, "not a registered name")):
        pipeline = filters.FilterPipeline((filters.Filter(number, "", 0, ()),))
        with pytest.raises(Unsupported) as caught:
            codecs(pipeline, 0, kind, (4,))
        assert caught.value.reason == "filter"
        assert str(number) in caught.value.detail
        assert words in caught.value.detail


@pytest.mark.parametrize("damaged", [5, 6, 7])
def test_scaleoffset_flags_other_than_0_and_1_are_refused(damaged: int) -> None:
    """libhdf5 compares them with 1: any other "fill value is defined" means that it is not."""
    values = [2, 0, 3, 0, 8, 1, 0, 1, *([0] * 12)]
    plain = filters.FilterPipeline((filters.Filter(6, "", 1, tuple(values)),))
    number = datatype.parse(h5t.STD_I64LE.encode()[2:])
    assert [c.name for c in codecs(plain, 0, number, (3,))] == ["byteatlas.hdf5-scaleoffset"]
    values[damaged] |= 1 << 29
    pipeline = filters.FilterPipeline((filters.Filter(6, "", 1, tuple(values)),))
    with pytest.raises(Unsupported, match="flags"):
        codecs(pipeline, 0, number, (3,))


def test_rows_are_in_order_and_unique() -> None:
    numbers = [row.id for row in ROWS]
    assert numbers == sorted(set(numbers))
    assert all(row.codecs is None or row.decoder for row in ROWS)


def test_undoing_filters_is_bounded() -> None:
    import zlib

    def plain(mask: int, data: bytes, size: int) -> bytes:
        found = run(unfiltered(pipeline, [Filtered(mask, data, size, 77)]), MemorySource(b"file"), SourcePool())
        return bytes(found[0])

    pipeline = filters.FilterPipeline((filters.Filter(1, "deflate", 0, (6,)),))
    with pytest.raises(CorruptFile, match="byte 77"):
        plain(0, zlib.compress(bytes(10_000_000)), 1000)
    with pytest.raises(CorruptFile, match=r"1 bytes .* 1000"):
        plain(0, zlib.compress(b"x"), 1000)
    assert plain(0, zlib.compress(b"x" * 1000), 1000) == b"x" * 1000
    assert plain(1, b"raw", 3) == b"raw"


LAYOUTS: list[elements.ElementLayout] = [
    elements.Plain("<i4"),
    elements.Integer(3, ">", 2, 17, True),
    elements.Real(2, "<", 15, 7, 8, 0, 7, 127, True),
    elements.Truth(4),
    elements.Text(7, elements.SPACEPAD),
    elements.Sub((2, 3), elements.Text(2, elements.NULLTERM)),
    elements.Record(12, (elements.Field("a", 4, elements.Plain(">f4")), elements.Field("b", 0, elements.Plain("|b1")))),
]


@pytest.mark.parametrize("which", LAYOUTS)
def test_element_layouts_survive_json(which: elements.ElementLayout) -> None:
    assert elements.from_json(elements.to_json(which)) == which


@pytest.mark.parametrize(
    "document",
    [
        None, "O", "i4,f4", 3, {}, {"kind": "integer"}, {"kind": "text", "size": -1, "padding": "nullpad"},
        {"kind": "text", "size": 2, "padding": "x"}, {"kind": "record", "size": 2, "fields": [["a", 0, "<i4"]]},
        {"kind": "integer", "size": 2, "order": "<", "offset": 9, "precision": 9, "signed": True},
        {"kind": "array", "dims": [1 << 40], "base": "<i8"},
    ],
)  # fmt: skip
def test_bad_element_layouts_are_refused(document: object) -> None:
    with pytest.raises(InvalidMetadata):
        elements.from_json(document)


def test_element_layout_nesting_is_bounded() -> None:
    document: object = "<i4"
    for _ in range(100):
        document = {"kind": "array", "dims": [1], "base": document}
    with pytest.raises(InvalidMetadata):
        elements.from_json(document)


@pytest.mark.parametrize("width", range(1, 65))
def test_packed_numbers(width: int) -> None:
    from byteatlas.codecs.hdf5.bits import unpack

    rng = random.Random(width)
    numbers = [rng.getrandbits(width) for _ in range(67)]
    packed = "".join(f"{n:0{width}b}" for n in numbers)
    packed += "0" * (-len(packed) % 8)
    raw = bytes(int(packed[i : i + 8], 2) for i in range(0, len(packed), 8))
    assert unpack(raw, 67, width).tolist() == numbers
