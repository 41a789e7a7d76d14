"""Values, types, fill values and filters that are refused: the reason and its words; and what just passes."""

from __future__ import annotations

import struct
from collections.abc import Callable

import numpy as np
import pytest
from tests.hdf5_parts import BASE, FORM, NOWHERE, parsed, u64
from tests.scanning import refusals, refuses

from byteatlas.errors import ByteatlasError, CorruptFile, FileFault, Unsupported
from byteatlas.manifest.model import ChunkManifest
from byteatlas.meta.model import CodecSpec
from byteatlas.values import replace
from byteatlas_scanners.hdf5.filters import message as filters
from byteatlas_scanners.hdf5.filters.message import Filter, FilterPipeline
from byteatlas_scanners.hdf5.filters.registry import codecs
from byteatlas_scanners.hdf5.format.types import Bits, Datatype, DatatypeClass, Float, Member
from byteatlas_scanners.hdf5.heaps.global_heap import GlobalHeaps
from byteatlas_scanners.hdf5.values import fillvalue
from byteatlas_scanners.hdf5.values.as_json import Context, Value, attributes_json
from byteatlas_scanners.hdf5.values.fillvalue import Fill
from byteatlas_scanners.hdf5.values.records import Records, elements
from byteatlas_scanners.hdf5.values.vlen import read_inlined
from byteatlas_scanners.hdf5.values.zarr_type import layout

INT = Datatype(DatatypeClass.INTEGER, 4, bits=Bits("<", 0, 32, True))
TEXT = Datatype(DatatypeClass.VLEN_STRING, 16, base=Datatype(DatatypeClass.STRING, 1))
LIST = Datatype(DatatypeClass.VLEN, 16, base=INT)
IEEE = Float(31, 23, 8, 0, 23, 127, 2, False)
REAL = Datatype(DatatypeClass.FLOAT, 4, bits=Bits("<", 0, 32, True), number=IEEE)


# --------------------------------------------------------------------------------------- filters


def chain(
    number: int, *values: int, size: int = 4, chunk: tuple[int, ...] = (10,)
) -> Callable[[], tuple[CodecSpec, ...]]:
    """The codecs of one filter."""
    kind = Datatype(DatatypeClass.INTEGER, size)
    return lambda: codecs(FilterPipeline((Filter(number, "name", 0, values),)), 0, kind, chunk)


def bad(number: int, values: tuple[int, ...], why: str) -> Unsupported:
    return Unsupported("filter", f"filter {number} (name) with {values}: {why}")


SZIP = "values that szip does not know"
SCALED = "only integers, and floats scaled by powers of ten, are known"
FLAGS = "flags other than 0 and 1"
SOUND = (2, 4, 10, 0, 4, 1, 0, 1, 7)


@refusals(
    (chain(2, 0), bad(2, (0,), "no element size")),
    (chain(2), bad(2, (), "no element size")),
    (chain(4, 1, 8, 8), bad(4, (1, 8, 8), "four values are needed")),
    *[
        (chain(4, *values), bad(4, values, SZIP))
        for values in [
            (1, 8, 0, 64), (1, 8, 65, 64), (1, 0, 8, 64), (1, 34, 8, 64), (1, 7, 8, 64), (1, 8, 8, 6), (1, 8, 8, 4097),
            (1, 1, 8, 64),
        ]
    ],
    (chain(5, 1, 0, 3, 4), bad(5, (1, 0, 3, 4), "too few values")),
    (chain(6, *SOUND[:7]), bad(6, SOUND[:7], "too few values")),
    *[
        (chain(6, *changed), bad(6, changed, why))
        for place, value, why in [
            (0, 1, SCALED), (0, 3, SCALED), (3, 2, SCALED), (4, 3, SCALED), (4, 0, SCALED), (5, 2, FLAGS),
            (6, 2, FLAGS), (7, 2, FLAGS), (3, 1, SCALED),
        ]
        for changed in [(*SOUND[:place], value, *SOUND[place + 1 :])]
    ],
    (chain(6, 0, 4, 10, 1, 2, 1, 0, 0), bad(6, (0, 4, 10, 1, 2, 1, 0, 0), SCALED)),
    (chain(32008, 0, 3, 0, 0, 2), bad(32008, (0, 3, 0, 0, 2), "not a compression that bitshuffle knows")),
    (chain(32008, 0, 3), bad(32008, (0, 3), "not a compression that bitshuffle knows")),
    (chain(32008, 0, 3, 4, 7, 2), bad(32008, (0, 3, 4, 7, 2), "not a compression that bitshuffle knows")),
    (chain(32008, 0, 3, 4, 0, 1), bad(32008, (0, 3, 4, 0, 1), "not a compression that bitshuffle knows")),
    (chain(32013, 1, 2, 3, 4), bad(32013, (1, 2, 3, 4), "no zfp header")),
    (chain(32013), bad(32013, (), "no zfp header")),
    (chain(32013, 1, 0x0070667A, 0), bad(32013, (1, 0x0070667A, 0), "no zfp header")),
    (chain(32018, 1, 1, size=4), bad(32018, (1, 1), "elements of 4 bytes")),
    (chain(32018, 1, 3, size=2), bad(32018, (1, 3), "images of 3 components")),
    (chain(32019, 90, 5, 2, 0, size=2), bad(32019, (90, 5, 2, 0), "only bytes, with four values, are known")),
    (chain(32019, 90, 5, 2, size=1), bad(32019, (90, 5, 2), "only bytes, with four values, are known")),
    (chain(32019, 90, 5, 3, 0, size=1), bad(32019, (90, 5, 3, 0), "an image that is not one chunk")),
    (chain(32019, 90, 5, 2, 1, size=1), bad(32019, (90, 5, 2, 1), "an image that is not one chunk")),
    (chain(999), Unsupported("filter", "filter 999 (name) is not known")),
    (chain(32009), Unsupported("filter", "filter 32009 (SPDP): no decoder")),
    (chain(305), Unsupported("filter", "filter 305 (LZO): PyTables' framing is not documented")),
    (
        lambda: codecs(FilterPipeline((Filter(7, "", 0, ()),)), 0, INT, ()),
        Unsupported("filter", "filter 7 (not a registered name) is not known"),
    ),
    (lambda: filters.parse(b"\3\1" + bytes(20)), CorruptFile(0, "a filter pipeline of version 3 with 1 filters")),
    (lambda: filters.parse(b"\2\x21" + bytes(20)), CorruptFile(0, "a filter pipeline of version 2 with 33 filters")),
    (lambda: filters.parse(b"\2\1\1\0"), CorruptFile(0, "a filter pipeline message is cut off")),
    (lambda: filters.parse(b"\2"), CorruptFile(0, "a filter pipeline message is cut off")),
    (
        lambda: filters.parse(b"\2\1" + struct.pack("<HHHI", 1, 0, 2, 5)),
        CorruptFile(8, "a filter sticks out of its message"),
    ),
    (
        lambda: filters.parse(b"\1\1" + bytes(6) + struct.pack("<HHHH", 1, 9, 0, 0) + bytes(8)),
        CorruptFile(16, "a filter sticks out of its message"),
    ),
)  # fmt: skip
def test_filters(act: Callable[[], object], error: ByteatlasError) -> None:
    refuses(error, act)


ZFP = 0x05_70667A
"""The first four bytes of a zfp header, as a little-endian number."""


@pytest.mark.parametrize(
    ("number", "values", "configuration"),
    [
        (1, (12,), {"level": 9}),
        (1, (), {"level": 6}),
        (2, (4,), {"elementsize": 4}),
        (4, (141, 2, 1, 4096), {"options_mask": 141, "pixels_per_block": 2, "bits_per_pixel": 1,
                                "pixels_per_scanline": 4096, "header": True}),
        (4, (141, 32, 64, 32), {"options_mask": 141, "pixels_per_block": 32, "bits_per_pixel": 64,
                                "pixels_per_scanline": 32, "header": True}),
        (5, (5, 0, 10, 1, 4), {"values": [5, 0, 10, 1, 4]}),
        (6, (2, 4, 10, 0, 4, 1, 1, 1, 7, 9), {"class": "integer", "size": 4, "signed": True, "order": ">", "count": 10,
                                              "scale": 4, "fill": "07000000"}),
        (6, (0, 2**32 - 1, 10, 1, 8, 0, 0, 1, 7, 9), {"class": "float", "size": 8, "signed": False, "order": "<",
                                                      "count": 10, "scale": -1, "fill": "0700000009000000"}),
        (6, (0, 2**31 - 1, 10, 1, 4, 0, 0, 0), {"class": "float", "size": 4, "signed": False, "order": "<",
                                                "count": 10, "scale": 2**31 - 1}),
        (307, (12,), {"level": 9}),
        (307, (0,), {"level": 1}),
        (32001, (2, 2, 4, 40, 7, 3, 9), {"cname": "zstd", "clevel": 7, "shuffle": 2, "blocksize": 0}),
        (32001, (), {"cname": "blosclz", "clevel": 5, "shuffle": 1, "blocksize": 0}),
        (32008, (0, 3, 4, 64, 0), {"itemsize": 4, "blocksize": 64}),
        (32008, (0, 3, 4, 64, 2), {"itemsize": 4, "compressor": "lz4"}),
        (32008, (0, 3, 1, 0, 3), {"itemsize": 1, "compressor": "zstd"}),
        (32013, (1, ZFP, 1, 2), {"header": struct.pack("<III", ZFP, 1, 2).hex(), "bits": 96}),
        (32013, (1, ZFP, 1, 2, 3, 4), {"header": struct.pack("<IIIII", ZFP, 1, 2, 3, 4).hex(), "bits": 148}),
        (32013, (1, 0x7A667005, 1, 2), {"header": struct.pack(">III", 0x7A667005, 1, 2).hex(), "bits": 96, "swap": 4}),
        (32015, (22,), {"level": 22}),
        (32015, (23,), {"level": 3}),
    ],
)  # fmt: skip
def test_filters_and_their_codecs(number: int, values: tuple[int, ...], configuration: dict[str, object]) -> None:
    (found,) = chain(number, *values)()
    assert dict(found.configuration) == configuration


@pytest.mark.parametrize(("number", "values"), [(2, (1,)), (5, (5, 1, 10, 1, 4)), (32022, ())])
def test_filters_that_need_no_codec(number: int, values: tuple[int, ...]) -> None:
    assert chain(number, *values)() == ()


def test_images() -> None:
    assert [c.name for c in chain(32018, 1, 1, size=2)()] == ["numcodecs.imagecodecs_jpegls"]
    assert [c.name for c in chain(32018, size=1)()] == ["numcodecs.imagecodecs_jpegls"]
    assert [c.name for c in chain(32019, 90, 5, 2, 0, size=1)()] == ["numcodecs.imagecodecs_jpeg"]
    assert [c.name for c in chain(32019, 90, 5, 2, 1, size=1, chunk=(2, 5, 3))()] == ["numcodecs.imagecodecs_jpeg"]


def test_filter_messages_of_both_versions() -> None:
    old = b"\1\1" + bytes(6) + struct.pack("<HHHH8sIII", 1, 5, 1, 1, b"defl", 6, 0, 0)[:-4]
    assert filters.parse(old).filters == (Filter(1, "defl", 1, (6,)),)
    new = b"\2\2" + struct.pack("<HHHI", 1, 0, 1, 6) + struct.pack("<HHHH5s", 400, 5, 1, 0, b"other")
    assert filters.parse(new).filters == (Filter(1, "", 0, (6,)), Filter(400, "other", 1, ()))
    assert filters.parse(new).applied(0b01) == (Filter(400, "other", 1, ()),)
    assert filters.parse(b"\2\x20" + struct.pack("<HHH", 2, 0, 0) * 32).applied(0)


# --------------------------------------------------------------------------------------- types and fill values


def shaped(dt: Datatype) -> Callable[[], object]:
    return lambda: layout(dt)


def unsupported(detail: str) -> Unsupported:
    return Unsupported("datatype", detail)


VAX = replace(REAL, number=IEEE._replace(vax=True))
ARRAY = Datatype(DatatypeClass.ARRAY, 8, dims=(2,), base=INT)


@refusals(
    (shaped(Datatype(DatatypeClass.TIME, 4)), unsupported("the time class (which libhdf5 itself does not convert)")),
    (shaped(Datatype(DatatypeClass.REFERENCE, 8)), unsupported("references inside of fixed-size data")),
    (shaped(TEXT), unsupported("variable-length values inside of fixed-size data")),
    (shaped(Datatype(DatatypeClass.INTEGER, 9, bits=Bits("<", 0, 72, True))), unsupported("an integer of 9 bytes")),
    (shaped(replace(VAX, size=4)), unsupported("a floating-point number of 4 bytes, VAX")),
    (
        shaped(Datatype(DatatypeClass.FLOAT, 16, bits=Bits("<", 0, 80, True), number=IEEE)),
        unsupported("a floating-point number of 16 bytes"),
    ),
    (shaped(Datatype(DatatypeClass.COMPLEX, 8, base=VAX)), unsupported("a complex type of uncommon floats")),
    (shaped(Datatype(DatatypeClass.COMPLEX, 8)), unsupported("a complex type of uncommon floats")),
    (
        shaped(Datatype(DatatypeClass.OPAQUE, 8, tag="NUMPY:M8[hours]")),
        unsupported("opaque data with the tag 'NUMPY:M8[hours]'"),
    ),
    (
        shaped(Datatype(DatatypeClass.OPAQUE, 4, tag="NUMPY:M8[s]")),
        unsupported("opaque data with the tag 'NUMPY:M8[s]'"),
    ),
    (shaped(Datatype(DatatypeClass.COMPOUND, 8)), unsupported("a compound without members")),
    (lambda: fillvalue.parse_old(b"\1\0"), CorruptFile(0, "a fill value message is cut off")),
    (lambda: fillvalue.parse_old(b"\5\0\0\0abcd"), CorruptFile(4, "a fill value is cut off")),
    (lambda: fillvalue.parse(b""), CorruptFile(0, "a fill value message is cut off")),
    (lambda: fillvalue.parse(b"\2\2\2\1\0\0"), CorruptFile(0, "a fill value message is cut off")),
    (lambda: fillvalue.parse(b"\3\x20\0"), CorruptFile(0, "a fill value message is cut off")),
    (lambda: fillvalue.parse(b"\4\0\0\0"), CorruptFile(0, "a fill value message of version 4")),
    (lambda: fillvalue.parse(b"\2\2\2\1\5\0\0\0abcd"), CorruptFile(8, "a fill value is cut off")),
    (lambda: fillvalue.parse(b"\3\x20\5\0\0\0abcd"), CorruptFile(6, "a fill value is cut off")),
    (lambda: fillvalue.resolve(Fill(value=b"abc"), INT), CorruptFile(0, "a fill value of 3 bytes for elements of 4")),
    (
        lambda: fillvalue.resolve(Fill(value=b"abcd"), ARRAY),
        CorruptFile(0, "a fill value of 4 bytes for elements of 8"),
    ),
    (
        lambda: fillvalue.resolve(Fill(value=b"abcdabce"), ARRAY),
        unsupported("an array datatype whose fill value is not the same in all places"),
    ),
)
def test_types_and_fill_values(act: Callable[[], object], error: ByteatlasError) -> None:
    refuses(error, act)


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        (b"\1\2\0\1\4\0\0\0abcd", Fill(True, b"abcd", 0)),
        (b"\1\2\0\0\4\0\0\0abcd", Fill(False, b"abcd", 0)),
        (b"\2\2\2\0", Fill(False, None, 2)),
        (b"\2\2\1\1\xff\xff\xff\xff", Fill(False, None, 1)),
        (b"\2\2\2\1\0\0\0\0", Fill(True, None, 2)),
        (b"\3\x24\4\0\0\0abcd", Fill(True, b"abcd", 1)),
        (b"\3\x18", Fill(False, None, 2)),
        (b"\3\x08", Fill(True, None, 2)),
    ],
)
def test_fill_values_of_all_versions(message: bytes, expected: Fill) -> None:
    assert fillvalue.parse(message) == expected


def test_what_fill_values_mean() -> None:
    seven = struct.pack("<i", 7)
    assert fillvalue.parse_old(b"\4\0\0\0" + seven) == Fill(value=seven)
    assert fillvalue.resolve(Fill(value=seven), INT) == 7
    assert fillvalue.resolve(Fill(value=seven * 2), ARRAY) == 7
    assert fillvalue.resolve(Fill(), ARRAY) == 0
    assert fillvalue.resolve(Fill(value=seven, when=fillvalue.NEVER), INT) == 0
    assert fillvalue.resolve(Fill(False, seven), INT) == 0


# --------------------------------------------------------------------------------------- attributes


def collection(data: bytes) -> bytes:
    held = struct.pack("<HHIQ", 1, 1, 0, len(data)) + data.ljust(-(-len(data) // 8) * 8, b"\0")
    free = struct.pack("<HHIQ", 0, 0, 0, 4080 - len(held))
    return (b"GCOL\1\0\0\0" + u64(4096) + held + free).ljust(4096, b"\0")


def element(length: int, address: int = 8192, index: int = 1) -> bytes:
    return struct.pack("<IQI", length, address, index)


def attribute(dt: Datatype, shape: tuple[int, ...], data: bytes, heap: bytes = b"abc") -> object:
    """An attribute's value, or why there is none."""
    context = Context(FORM, GlobalHeaps(FORM), lambda address: f"/{address}")
    (found,) = parsed(attributes_json([Value(dt, shape, data)], context), {8192: collection(heap)})
    return found


def raising(dt: Datatype, shape: tuple[int, ...], data: bytes, heap: bytes = b"abc") -> Callable[[], object]:
    def act() -> object:
        found = attribute(dt, shape, data, heap)
        if isinstance(found, FileFault):
            raise found
        return found

    return act


WIDE = replace(TEXT, size=20)
OBJECT = Datatype(DatatypeClass.REFERENCE, 8)
REGION = Datatype(DatatypeClass.REFERENCE, 12, reference=1)
CUT = CorruptFile(BASE, "an attribute's value is cut off")
LONG = CorruptFile(BASE, "a variable-length value of another length than its object")


@refusals(
    (raising(INT, (), b"abc"), CUT),
    (raising(INT, (1,), b"abc"), CUT),
    (raising(INT, (2,), b"abcdefg"), CUT),
    (raising(INT, (0, 70000), b""), CorruptFile(BASE, "an attribute of shape (0, 70000)")),
    (raising(WIDE, (2,), element(3) * 2 + bytes(8)), CorruptFile(BASE, "2 variable-length elements in 40 bytes")),
    (raising(TEXT, (), element(4)), LONG),
    (raising(TEXT, (), element(2)), LONG),
    (raising(TEXT, (), element(0)), LONG),
    (raising(TEXT, (), element(3, NOWHERE)), CorruptFile(BASE + NOWHERE, "an address outside of the file")),
    (raising(TEXT, (), element(3, index=2)), LONG),
    (raising(LIST, (), element(1)), LONG),
    (raising(TEXT, (), element(3, 9000)), CorruptFile(BASE + 9000, "no global heap collection")),
    (raising(replace(OBJECT, size=12), (), bytes(12)), unsupported("references of kind 0, 12 bytes")),
    (raising(replace(REGION, size=8), (), bytes(8)), unsupported("references of kind 1, 8 bytes")),
    (raising(REGION, (), struct.pack("<QI", 8192, 5)), CorruptFile(BASE + 8192, "no object 5 in the global heap")),
)
def test_attributes(act: Callable[[], object], error: ByteatlasError) -> None:
    refuses(error, act)


def test_attributes_that_are_sound() -> None:
    assert attribute(INT, (0, 65536), b"") == []
    assert attribute(TEXT, (2,), element(3) + element(3, 0)) == ["abc", ""]
    assert attribute(TEXT, (2,), element(0) + element(0, 0), b"") == ["", ""]
    assert attribute(LIST, (), element(2), struct.pack("<ii", 5, -6)) == [5, -6]
    assert attribute(OBJECT, (3,), u64(7, 0, NOWHERE)) == ["/7", None, None]
    assert attribute(REGION, (2,), struct.pack("<QIQI", 8192, 1, 0, 0), u64(9)) == ["/9", None]
    assert attribute(INT, (), struct.pack("<i", -7)) == -7


# --------------------------------------------------------------------------------------- datasets


def records(dt: Datatype, data: bytes, *, chunk: int = 2, nbytes: int | None = None, shape: int = 2) -> Records:
    """A dataset of one chunk, at 1024."""
    length = len(data) if nbytes is None else nbytes
    place = np.array([BASE + 1024], np.uint64)
    manifest = ChunkManifest((1,), (FORM.source,), np.zeros(1, np.int32), place, np.array([length], np.uint64))
    return Records(dt, (shape,), (chunk,), FilterPipeline(), (0,), Fill(), manifest)


def inlined(
    dt: Datatype, data: bytes, heap: bytes = b"abc", most: int = 1 << 20, **fields: int
) -> Callable[[], object]:
    def act() -> object:
        context = Context(FORM, GlobalHeaps(FORM), lambda address: f"/{address}")
        found = records(dt, data)
        return parsed(read_inlined(found, context, most), {1024: data, 8192: collection(heap)}).data

    return act


def compound(of: Datatype) -> Datatype:
    return Datatype(DatatypeClass.COMPOUND, of.size, members=(Member("a", 0, of),))


TWICE = element(3) * 2


@refusals(
    (
        lambda: parsed(elements(records(INT, bytes(7))), {}),
        CorruptFile(BASE + 1024, "a chunk of 7 bytes instead of 8"),
    ),
    (inlined(TEXT, TWICE, most=31), Unsupported("vlen-large", "32 bytes of variable-length elements, more than 31")),
    (
        inlined(TEXT, element(30) * 2, most=59),
        Unsupported("vlen-large", "60 bytes of variable-length values, more than 59"),
    ),
    (
        inlined(LIST, element(8) * 2, most=63),
        Unsupported("vlen-large", "64 bytes of variable-length values, more than 63"),
    ),
    (inlined(WIDE, bytes(40)), CorruptFile(BASE, "variable-length elements of 20 bytes")),
    (inlined(compound(WIDE), bytes(40)), CorruptFile(BASE, "2 variable-length elements in 40 bytes")),
    (inlined(compound(LIST), TWICE), unsupported("a compound with variable-length sequences")),
    (
        inlined(compound(Datatype(DatatypeClass.ARRAY, 32, dims=(2,), base=LIST)), TWICE * 2),
        unsupported("a compound with variable-length sequences"),
    ),
    (
        inlined(replace(LIST, base=Datatype(DatatypeClass.OPAQUE, 4)), TWICE),
        unsupported("sequences of opaque data or of times"),
    ),
    (
        inlined(replace(LIST, base=compound(Datatype(DatatypeClass.TIME, 4))), TWICE),
        unsupported("sequences of opaque data or of times"),
    ),
    (
        inlined(replace(LIST, base=replace(INT, bits=Bits(">", 0, 32, True))), TWICE),
        unsupported("big-endian sequences, which h5py and libhdf5 read differently"),
    ),
    (inlined(TEXT, element(4) * 2), LONG),
)
def test_datasets(act: Callable[[], object], error: ByteatlasError) -> None:
    refuses(error, act)


def test_datasets_that_are_sound() -> None:
    assert inlined(TEXT, TWICE, most=32)() == struct.pack("<II3sI3s", 2, 3, b"abc", 3, b"abc")
    assert inlined(TEXT, TWICE, b"\xff\0c")() == struct.pack("<II1sI1s", 2, 1, b"\xff", 1, b"\xff")
    assert inlined(compound(TEXT), element(3) + element(0, 0))() == b"abc\0\0\0"
    whole = parsed(elements(records(INT, bytes(range(8)), chunk=2, shape=1)), {1024: bytes(range(8))})
    assert whole == bytes(range(4))  # the chunk sticks out


def test_nested_sequences_are_bounded() -> None:
    """Each level lies in a collection of its own; so many rounds of reading are too many."""

    def nested(depth: int) -> object:
        dt = INT
        for _ in range(depth):
            dt = Datatype(DatatypeClass.VLEN, 16, base=dt)
        places = {8192 + 128 * n: collection(element(1, 8192 + 128 * (n + 1)))[:128] for n in range(depth)}
        places[8192 + 128 * (depth - 1)] = collection(struct.pack("<i", 7))
        data = element(1)
        context = Context(FORM, GlobalHeaps(FORM), lambda address: None)
        found = Records(dt, (1,), (1,), FilterPipeline(), (0,), Fill(), records(dt, data).manifest)
        return parsed(read_inlined(found, context, 1 << 20), {1024: data, **places}).data

    assert nested(12) == b"[" * 13 + b"7" + b"]" * 12 + b',"|O",[1]]'
    refuses(CorruptFile(BASE, "variable-length values nested too deep"), lambda: nested(20))
