"""Filters of HDF5: what their configurations and chunks may not say, and the values of those that are right."""

from __future__ import annotations

import struct
from typing import Any

import imagecodecs
import numpy as np
import pytest
from tests.unit.codecs.refusals.tables import Configuration, chain, fault, of_bytes

from byteatlas.codecs.hdf5 import bits, plugins
from byteatlas.errors import ByteatlasError, CorruptChunk, InvalidMetadata, MissingExtra, Unsupported

NBIT, OFFSET, SHUFFLED = "byteatlas.hdf5-nbit", "byteatlas.hdf5-scaleoffset", "byteatlas.hdf5-bitshuffle"
ZFP, BLOSC2, PLUGIN = "byteatlas.hdf5-zfp", "byteatlas.hdf5-blosc2", "byteatlas.hdf5-plugin"
NUMBERS: Configuration = {"class": "integer", "signed": True, "size": 2, "order": "<", "scale": 0, "count": 4}
SZIP: Configuration = {
    "options_mask": 141, "pixels_per_block": 8, "bits_per_pixel": 8, "pixels_per_scanline": 8,
}  # fmt: skip


def n_bit(*element: int, count: int = 1) -> Configuration:
    return {"values": [0, 0, count, *element]}


def nested(depth: int) -> list[int]:
    """Arrays of one element in each other, and a byte in the innermost."""
    return [2, 1] * depth + [4, 1]


SENSELESS: list[tuple[str, Configuration, type[ByteatlasError], str]] = [
    (NBIT, {}, InvalidMetadata, "not a list of counts"),
    (NBIT, {"values": [1, -1]}, InvalidMetadata, "not a list of counts"),
    (NBIT, {"values": [1 << 32]}, InvalidMetadata, "not a list of counts"),
    (NBIT, {"values": [0, 0, 8]}, InvalidMetadata, "cut off"),
    (NBIT, n_bit(1, 1, 0, 8), InvalidMetadata, "cut off"),
    (NBIT, n_bit(*nested(33)), InvalidMetadata, "nested too deep"),
    (NBIT, n_bit(4, 0), InvalidMetadata, "an n-bit element of 0 bytes"),
    (NBIT, n_bit(4, 1 << 31), InvalidMetadata, "an n-bit element of 2147483648 bytes"),
    (NBIT, n_bit(1, 9, 0, 8, 0), InvalidMetadata, "8 bits at bit 0 of 9 bytes, order 0"),
    (NBIT, n_bit(1, 1, 2, 8, 0), InvalidMetadata, "8 bits at bit 0 of 1 bytes, order 2"),
    (NBIT, n_bit(1, 1, 0, 0, 0), InvalidMetadata, "0 bits at bit 0 of 1 bytes"),
    (NBIT, n_bit(1, 1, 0, 5, 4), InvalidMetadata, "5 bits at bit 4 of 1 bytes"),
    (NBIT, n_bit(2, 7, 4, 2), InvalidMetadata, "an array of 7 bytes of elements of 2"),
    (NBIT, n_bit(3, 4, 1, 3, 4, 2), InvalidMetadata, "outside of its compound"),
    (NBIT, n_bit(3, 4, 10_002, *[0, 4, 1] * 10_002), InvalidMetadata, "outside of its compound"),
    (NBIT, n_bit(5, 1), InvalidMetadata, "an n-bit type of class 5"),
    (NBIT, n_bit(0, 1), InvalidMetadata, "an n-bit type of class 0"),
    (NBIT, n_bit(4, 1, count=9), InvalidMetadata, "n-bit chunks of 9 bytes where the array has 8"),
    (OFFSET, {**NUMBERS, "count": 5}, InvalidMetadata, "scale-offset chunks of 10 bytes where the array has 8"),
    (OFFSET, {**NUMBERS, "count": -1}, InvalidMetadata, "count: -1 is not 0 to"),
    (OFFSET, {**NUMBERS, "size": 3}, InvalidMetadata, "scale-offset: "),
    (OFFSET, {**NUMBERS, "class": "float", "size": 16}, InvalidMetadata, "scale-offset of float128"),
    (OFFSET, {**NUMBERS, "order": "|"}, InvalidMetadata, "scale-offset of int16"),
    (OFFSET, {**NUMBERS, "fill": "00"}, InvalidMetadata, "with a fill value of b'\\x00'"),
    (OFFSET, {**NUMBERS, "fill": "0"}, InvalidMetadata, "scale-offset: "),
    (OFFSET, {k: v for k, v in NUMBERS.items() if k != "scale"}, InvalidMetadata, "scale-offset: 'scale'"),
    (OFFSET, {**NUMBERS, "scale": None}, InvalidMetadata, "scale-offset: int()"),
    (SHUFFLED, {"itemsize": 4, "compressor": "gzip"}, InvalidMetadata, "compressor: 'gzip' is none of 'lz4', 'zstd'"),
    (SHUFFLED, {"itemsize": 4}, InvalidMetadata, "compressor: None"),
    (SHUFFLED, {"itemsize": 0, "compressor": "lz4"}, InvalidMetadata, "itemsize: 0 is not 1 to"),
    (ZFP, {"header": "7a6670", "bits": 96}, InvalidMetadata, "header: not one of ZFP"),
    (ZFP, {"header": "7a6670" + "00" * 9, "bits": 97}, InvalidMetadata, "header: not one of ZFP"),
    (ZFP, {"header": "00" * 12, "bits": 96}, InvalidMetadata, "header: not one of ZFP"),
    (ZFP, {"header": "zz", "bits": 96}, InvalidMetadata, "header: not hexadecimal digits"),
    (ZFP, {"header": 5, "bits": 96}, InvalidMetadata, "header: not hexadecimal digits"),
    (ZFP, {"header": "7a6670" + "00" * 9, "bits": 95}, InvalidMetadata, "bits: 95 is not 96 to 148"),
    (ZFP, {"header": "7a6670" + "00" * 9, "bits": 96, "swap": 2}, InvalidMetadata, "swap: 2 is none of"),
    (PLUGIN, {"filter": "blosc", "values": []}, InvalidMetadata, "filter: 'blosc' is none of"),
    (PLUGIN, {"filter": "sz3", "values": [0] * 65}, InvalidMetadata, "values: not a list of at most 64 integers"),
    (PLUGIN, {"filter": "sz3"}, InvalidMetadata, "values: not a list of at most 64 integers"),
    (PLUGIN, {"filter": "sz3", "values": [1 << 32]}, InvalidMetadata, "values: 4294967296 is not 0 to"),
    ("numcodecs.imagecodecs_bitshuffle", {"blocksize": 12}, InvalidMetadata, "blocksize: blocks of 12 elements"),
    ("numcodecs.imagecodecs_szip", {**SZIP, "options_mask": 256}, InvalidMetadata, "options_mask: 256 is not 0 to 255"),
    ("numcodecs.imagecodecs_szip", {**SZIP, "pixels_per_block": 33}, InvalidMetadata, "pixels_per_block: 33"),
    ("numcodecs.imagecodecs_szip", {**SZIP, "bits_per_pixel": 0}, InvalidMetadata, "bits_per_pixel: 0"),
    ("numcodecs.imagecodecs_szip", {**SZIP, "pixels_per_scanline": 4097}, InvalidMetadata, "pixels_per_scanline: 4097"),
]


@pytest.mark.parametrize(("name", "configuration", "kind", "words"), SENSELESS)
def test_configurations_that_make_no_sense(
    name: str, configuration: Configuration, kind: type[ByteatlasError], words: str
) -> None:
    with fault(kind, f"codec '{name}': ", words):
        of_bytes((name, configuration))


def test_n_bit_types_just_within_the_bounds() -> None:
    assert bits.parse_nbit([0, 0, 1, *nested(32)])[0] == 1
    assert bits.parse_nbit([0, 0, 1, 1, 8, 1, 64, 0])[1] == bits.Atom(8, True, 64, 0)
    assert bits.parse_nbit([0, 0, 1, 1, 1, 0, 4, 4])[1] == bits.Atom(1, False, 4, 4)


def test_zfp_needs_to_know_what_it_decodes_to() -> None:
    header = {"header": "7a6670" + "00" * 9, "bits": 96}
    with fault(Unsupported, "ZFP inside of a filter whose size varies", "[filter]"):
        of_bytes(("gzip", {}), (ZFP, header))


ELEMENTS = "byteatlas.hdf5-elements"
INTEGER = {"kind": "integer", "size": 4, "order": "<", "offset": 3, "precision": 12, "signed": True}
REAL = {"kind": "float", "size": 4, "order": "<", "sign": 31, "exponent_at": 23, "exponent": 8, "mantissa_at": 0,
        "mantissa": 23, "bias": 127, "implied": True}  # fmt: skip


def arrays(depth: int) -> Any:
    layout: Any = "|u1"
    for _ in range(depth):
        layout = {"kind": "array", "dims": [1], "base": layout}
    return layout


LAYOUTS: list[tuple[Any, str]] = [
    ("<i4", "an element layout of int32 for an array of uint8"),
    (arrays(33), "an element layout nested too deep"),
    (None, "not an element layout: "),
    ({}, "not an element layout: 'kind'"),
    ("|O", "not an element layout: type '|O'"),
    ("i4,i4", "not an element layout: type 'i4,i4'"),
    ("(2,)i4", "not an element layout: type '(2,)i4'"),
    ({"kind": "bool", "size": 0}, "an element layout of 0 bytes"),
    ({"kind": "bool", "size": True}, "True where a count should be"),
    ({"kind": "bool", "size": (1 << 32) + 1}, "4294967297 where a count should be"),
    ({"kind": "array", "dims": [1 << 31, 2], "base": "<i2"}, "an element layout of 8589934592 bytes"),
    ({"kind": "array", "dims": [-1], "base": "<i2"}, "-1 where a count should be"),
    ({"kind": "record", "size": 4, "fields": []}, "a record's fields do not fit it"),
    ({"kind": "record", "size": 4, "fields": [["a", 1, "<i4"]]}, "a record's fields do not fit it"),
    ({"kind": "text", "size": 4, "padding": 3}, "padding 3"),
    ({**INTEGER, "size": 9}, "a number of 9 bytes, order '<'"),
    ({**INTEGER, "order": "="}, "a number of 4 bytes, order '='"),
    ({**INTEGER, "offset": 21}, "12 bits at bit 21 of 4 bytes"),
    ({**INTEGER, "precision": 0}, "0 bits at bit 3 of 4 bytes"),
    ({**INTEGER, "kind": "complex"}, "kind 'complex'"),
    ({**REAL, "sign": 32}, "1 bits at bit 32 of 4 bytes"),
    ({**REAL, "exponent": 10}, "10 bits at bit 23 of 4 bytes"),
    ({**REAL, "mantissa": 33}, "33 bits at bit 0 of 4 bytes"),
]


@pytest.mark.parametrize(("layout", "words"), LAYOUTS)
def test_layouts_of_elements(layout: Any, words: str) -> None:
    with fault(InvalidMetadata, f"codec '{ELEMENTS}': ", words):
        chain((ELEMENTS, {"layout": layout}))


def test_elements_that_numpy_has_no_types_for() -> None:
    target = chain((ELEMENTS, {"layout": INTEGER}), dtype="i4", shape=(2,))
    assert target.decode(struct.pack("<II", 5 << 3, 0xFFF << 3 | 0xF0000007)).tolist() == [5, -1]
    with fault(CorruptChunk, f"{ELEMENTS}: 7 bytes where there should be 8"):
        target.decode(bytes(7))
    with fault(Unsupported, "only decodes", "[codec]"):
        target.encode(np.zeros(2, "i4"))
    real = chain((ELEMENTS, {"layout": REAL}), dtype="f4", shape=(3,))
    values = np.array([1.5, -0.0, np.inf], "<f4")
    assert real.decode(values.tobytes()).tobytes() == values.tobytes()


def test_a_plugin_that_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plugins, "find_spec", lambda name: None)
    with fault(MissingExtra, "the HDF5 filter sz3 needs an extra", "byteatlas[hdf5-plugins]"):
        of_bytes((PLUGIN, {"filter": "sz3", "values": []}))


# ------------------------------------------------------------------------------------------------------ n-bit


def test_n_bit_numbers() -> None:
    """Written by hand: three bits each, most significant first; behind them a member stored as it is."""
    atom = of_bytes((NBIT, n_bit(1, 1, 0, 3, 2, count=8)))
    packed = int("".join(f"{k:03b}" for k in range(8)), 2).to_bytes(3, "big")
    assert atom.decode(packed).tolist() == [k << 2 for k in range(8)]
    with fault(CorruptChunk, "packed numbers: 2 bytes where at least 3 are needed"):
        atom.decode(packed[:2])
    pair = n_bit(3, 4, 2, 0, 1, 2, 1, 12, 0, 3, 4, 1, count=2)
    record = of_bytes((NBIT, pair))
    stored = int(f"{0xABC:012b}{0x77:08b}{0x123:012b}{0x55:08b}", 2).to_bytes(5, "big")
    assert record.decode(stored).tobytes() == bytes([0x0A, 0xBC, 0, 0x77, 0x01, 0x23, 0, 0x55])
    with fault(CorruptChunk, "byteatlas.hdf5-nbit: 4 bytes where at least 5 are needed"):
        record.decode(stored[:4])
    several = of_bytes((NBIT, n_bit(2, 4, 1, 2, 0, 9, 0, count=2)))
    stored = int("".join(f"{k:09b}" for k in (1, 2, 300, 511)) + "0000", 2).to_bytes(5, "big")
    assert several.decode(stored).view("<u2").tolist() == [1, 2, 300, 511]


@pytest.mark.parametrize("width", [1, 5, 8, 13, 16, 27, 32, 33, 41, 63, 64])
def test_packed_numbers_of_any_width(width: int) -> None:
    numbers = [(k * 0x9E3779B97F4A7C15) % (1 << width) for k in range(1, 20)]
    digits = "".join(f"{n:0{width}b}" for n in numbers)
    data = int(digits + "0" * (-len(digits) % 8), 2).to_bytes(-(-len(digits) // 8), "big")
    assert bits.unpack(data, 19, width).tolist() == numbers
    assert bits.unpack(data, 0, width).tolist() == []
    with fault(CorruptChunk, "packed numbers"):
        bits.unpack(data[:-1], 19, width)


def test_wide_numbers_beyond_one_slice() -> None:
    count, width = (1 << 16) + 5, 33
    numbers = np.arange(count, dtype=np.uint64) + (1 << 32)
    wide = np.unpackbits(numbers.astype(">u8").view(np.uint8)).reshape(count, 64)[:, 64 - width :]
    assert (bits.unpack(np.packbits(wide.reshape(-1)).tobytes(), count, width) == numbers).all()


# ------------------------------------------------------------------------------------------------------ scale-offset


def offset_chunk(width: int, least: int, packed: bytes) -> bytes:
    return width.to_bytes(4, "little") + b"\x08" + least.to_bytes(8, "little", signed=True) + bytes(8) + packed


def test_numbers_less_their_minimum() -> None:
    target = of_bytes((OFFSET, {**NUMBERS, "fill": "ff7f"}))
    packed = int("0001" + "1111" + "0010" + "1110", 2).to_bytes(2, "big")
    assert target.decode(offset_chunk(4, -5, packed)).view("<i2").tolist() == [-4, 32767, -3, 9]
    big = of_bytes((OFFSET, {**NUMBERS, "order": ">"}))
    assert big.decode(offset_chunk(4, -5, packed)).view(">i2").tolist() == [-4, 10, -3, 9]
    plain = np.array([1, -2, 3, -4], "<i2").tobytes()
    assert target.decode(offset_chunk(16, 9, plain)).view("<i2").tolist() == [1, -2, 3, -4]
    assert target.decode(offset_chunk(0, 7, b"")).view("<i2").tolist() == [32767] * 4  # no bits: all are the highest
    for cut, words in ((offset_chunk(16, 0, plain)[:-1], "7 bytes"), (offset_chunk(4, 0, packed)[:-1], "1 bytes")):
        with fault(CorruptChunk, words):
            target.decode(cut)
    with fault(CorruptChunk, "hdf5-scaleoffset: 20 bytes where at least 21 are needed"):
        target.decode(bytes(20))


def test_decimal_fractions() -> None:
    target = of_bytes((OFFSET, {**NUMBERS, "class": "float", "size": 4, "scale": 2, "count": 2}))
    least = np.array(1.5, "<f4").tobytes() + bytes(4)
    chunk = (8).to_bytes(4, "little") + b"\x08" + least + bytes(8) + bytes([0, 25])
    assert target.decode(chunk).view("<f4").tolist() == [1.5, 1.75]


# ------------------------------------------------------------------------------------------------------ bitshuffle


def shuffled(values: np.ndarray[Any, Any], compressor: str, block: int, stored: bool = False) -> bytes:
    """As the filter writes it: blocks of ``block`` bytes, the last elements that are no eight as they are."""
    raw, item = values.tobytes(), values.dtype.itemsize
    whole = len(raw) // (8 * item) * (8 * item)
    data = struct.pack(">QI", len(raw), block)
    for at in range(0, whole, block):
        part = np.frombuffer(raw[at : min(whole, at + block)], values.dtype)
        body = bytes(imagecodecs.bitshuffle_encode(part.tobytes(), itemsize=item, blocksize=len(part)))
        body = body if stored else bytes(getattr(imagecodecs, f"{compressor}_encode")(body))
        data += struct.pack(">I", len(body)) + body
    return data + raw[whole:]


@pytest.mark.parametrize("compressor", ["lz4", "zstd"])
@pytest.mark.parametrize("count", [5, 64, 150])
def test_bitshuffle_in_blocks(compressor: str, count: int) -> None:
    values = np.arange(count, dtype="<u2")
    target = of_bytes((SHUFFLED, {"itemsize": 2, "compressor": compressor}), dtype="u2", shape=(count,))
    data = shuffled(values, compressor, 64)
    assert target.decode(data).tolist() == values.tolist()
    for end in range(len(data)):
        with fault(CorruptChunk, SHUFFLED):
            target.decode(data[:end])


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "0 bytes where at least 12 are needed"),
        (struct.pack(">QI", 17, 16), "a chunk of 17 bytes in blocks of 16, where 16 are expected"),
        (struct.pack(">QI", 16, 0), "a chunk of 16 bytes in blocks of 0"),
        (struct.pack(">QI", 16, 24), "in blocks of 24"),
        (struct.pack(">QI", 16, 16), "where at least 16 are needed"),
        (struct.pack(">QII", 16, 16, 1 << 31) + bytes(40), "where at least 2147483664 are needed"),
        (struct.pack(">QII", 16, 16, 4) + b"\0\0\0\0", SHUFFLED),
    ],
)
def test_bitshuffle_that_is_damaged(data: bytes, words: str) -> None:
    target = of_bytes((SHUFFLED, {"itemsize": 2, "compressor": "zstd"}), dtype="u2")
    with fault(CorruptChunk, words):
        target.decode(data)


def test_too_many_blocks_of_a_chunk() -> None:
    target = of_bytes((SHUFFLED, {"itemsize": 1, "compressor": "lz4"}), shape=((1 << 27) + 8,))
    with fault(CorruptChunk, "16777217 blocks in one chunk"):
        target.decode(struct.pack(">QI", (1 << 27) + 8, 8) + bytes(64))


def test_a_block_that_gives_less_than_it_should() -> None:
    half = bytes(imagecodecs.zstd_encode(bytes(8)))
    target = of_bytes((SHUFFLED, {"itemsize": 2, "compressor": "zstd"}), dtype="u2")
    with fault(CorruptChunk, "8 bytes where there should be 16"):
        target.decode(struct.pack(">QII", 16, 16, len(half)) + half)


# ------------------------------------------------------------------------------------------------------ Blosc2


def frame(chunks: list[bytes], size: int, itemsize: int, chunksize: int, **change: Any) -> bytes:
    """A contiguous frame, after README_CFRAME_FORMAT: header, chunks, the chunk of their places."""
    meta = change.get("meta", b"")
    places, at = [], 0
    for chunk in chunks:
        places.append(at)
        at += len(chunk)
    places = change.get("places", places)
    index = bytes(imagecodecs.blosc2_encode(np.array(places, "<i8").tobytes(), typesize=8))
    head = bytearray(98 + len(meta))
    head[:10] = b"\x9e\xa8b2frame\0"
    head[98:] = meta
    body = b"".join(chunks) + index
    struct.pack_into(">I", head, 11, change.get("header", len(head)))
    struct.pack_into(">Q", head, 16, change.get("total", len(head) + len(body)))
    struct.pack_into(">q", head, 30, change.get("nbytes", size))
    struct.pack_into(">q", head, 39, change.get("stored", at))
    struct.pack_into(">i", head, 48, itemsize)
    struct.pack_into(">i", head, 58, chunksize)
    return bytes(head) + body


def b2nd(shape: list[int], chunk: list[int], block: list[int], mark: int = 0xC6, base: int = 98) -> bytes:
    """The metalayer of arrays at byte ``base`` of a header: its name and place, and what is there."""
    rank = len(shape)
    inner = bytes([0x97, 0, rank, 0x90 + rank])
    inner += b"".join(b"\xd3" + n.to_bytes(8, "big", signed=True) for n in shape)
    for sizes in (chunk, block):
        inner += bytes([0x90 + rank]) + b"".join(b"\xd2" + n.to_bytes(4, "big", signed=True) for n in sizes)
    name = b"\xa4b2nd\xd2" + (base + 10).to_bytes(4, "big")
    return name + bytes([mark]) + len(inner).to_bytes(4, "big") + inner


def packed(data: bytes, itemsize: int = 2) -> bytes:
    return bytes(imagecodecs.blosc2_encode(data, typesize=itemsize))


VALUES = np.arange(8, dtype="<u2")
HALVES = [packed(VALUES[:4].tobytes()), packed(VALUES[4:].tobytes())]


def blosc2() -> Any:
    return of_bytes((BLOSC2, {}), dtype="u2")


def test_blosc2_chunks_and_frames() -> None:
    assert blosc2().decode(packed(VALUES.tobytes())).tolist() == VALUES.tolist()
    assert blosc2().decode(frame(HALVES, 16, 2, 8)).tolist() == VALUES.tolist()
    zeros = [0, -(0x7F << 56)]  # the highest bit and the number 1: a chunk of zeros
    assert blosc2().decode(frame(HALVES[:1], 16, 2, 8, places=zeros)).tolist() == [0, 1, 2, 3, 0, 0, 0, 0]
    whole = frame([packed(VALUES.tobytes())], 16, 2, 16)
    for end in range(11, len(whole)):
        with fault(CorruptChunk, BLOSC2):
            blosc2().decode(whole[:end])


def test_blosc2_arrays_are_put_into_order() -> None:
    """Eight numbers as 2 rows of 4, stored in two blocks of 2 by 2."""
    blocks = VALUES.reshape(2, 2, 2).transpose(1, 0, 2)
    data = frame([packed(blocks.tobytes())], 16, 2, 16, meta=b2nd([2, 4], [2, 4], [2, 2]))
    assert blosc2().decode(data).tolist() == VALUES.tolist()
    data = frame([packed(blocks.tobytes())], 16, 2, 16, meta=b2nd([2, 3], [2, 4], [2, 2]))
    small = of_bytes((BLOSC2, {}), dtype="u2", shape=(6,))
    assert small.decode(data).tolist() == [0, 1, 2, 4, 5, 6]


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "0 bytes where at least 16 are needed"),
        (packed(bytes(18)), "18 decoded, where 16 are expected"),
        (packed(bytes(16))[:12] + b"\xff\xff\0\0", "a chunk of 65535 bytes, 16 decoded"),
        (packed(bytes(16))[:12] + b"\x0f\0\0\0" + bytes(20), "a chunk of 15 bytes"),
        (packed(bytes(16))[:4] + b"\xff\xff\xff\xff" + bytes(40), "-1 decoded, where 16 are expected"),
        (frame(HALVES, 16, 2, 8)[:40], "a frame is cut off"),
        (frame(HALVES, 16, 2, 8, total=9999), "a frame of 9999 bytes, 16 decoded"),
        (frame(HALVES, 16, 2, 8, nbytes=17), "17 decoded, where 16 are expected"),
        (frame(HALVES, 16, 2, 8, nbytes=-1), "-1 decoded, where 16 are expected"),
        (frame(HALVES, 16, 0, 8), "16 decoded, where 16 are expected"),
        (frame(HALVES, 16, 2, 0), "impossible sizes, or of variable chunks"),
        (frame(HALVES, 16, 2, 8, stored=-1), "impossible sizes"),
        (frame(HALVES, 16, 2, 8, stored=1 << 40), "impossible sizes"),
        (frame(HALVES, 16, 2, 8, places=[0]), "a frame of 2 chunks with 1 places"),
        (frame(HALVES, 16, 2, 8, places=[0, -(0x7E << 56)]), "an unknown special value"),
        (frame([HALVES[0], packed(bytes(6))], 16, 2, 8), "6 bytes where there should be 8"),
        (frame([HALVES[0]], 8, 2, 8), "8 bytes where there should be 16"),
        (frame(HALVES, 16, 2, 8, meta=b2nd([8], [8], [8], 0xC4)), "a metalayer of an unknown form"),
        (frame(HALVES, 16, 2, 8, meta=b2nd([], [], [])), "0 dimensions"),
        (frame(HALVES, 16, 2, 8, meta=b2nd([8], [8], [9])), "blocks (9,)"),
        (frame(HALVES, 16, 2, 8, meta=b2nd([8], [8], [0])), "blocks (0,)"),
        (frame(HALVES, 16, 2, 8, meta=b2nd([0], [8], [8])), "shape (0,)"),
        (frame(HALVES, 16, 2, 8, meta=b2nd([9], [8], [8])), "that is not one chunk"),
        (frame(HALVES, 16, 2, 8, meta=b2nd([8], [16], [8])), "that is not one chunk"),
        (frame(HALVES, 16, 2, 8, meta=b2nd([8], [1 << 30], [8])), "where 16 are expected"),
        (frame(HALVES, 16, 2, 8, meta=b2nd([8], [8], [8])[:14]), "a frame is cut off"),
    ],
)
def test_blosc2_that_is_damaged(data: bytes, words: str) -> None:
    with fault(CorruptChunk, BLOSC2, words):
        blosc2().decode(data)


# ------------------------------------------------------------------------------------------------------ JPEG-LS


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "jpegls: no frame header"),
        (b"\xff\xf7\0\x0b\x08\0\x04", "jpegls: no frame header"),
        (b"\xff\xd8\xff\xf7\0\x0b\x08\0\x03\0\x03\x01" + bytes(9), "jpegls: 9 bytes where the chunk has at most 8"),
        (b"\xff\xd8\xff\xf7\0\x0b\x10\0\x02\0\x03\x01" + bytes(9), "jpegls: 12 bytes where the chunk has at most 8"),
    ],
)
def test_jpegls_headers(data: bytes, words: str) -> None:
    with fault(CorruptChunk, words):
        of_bytes(("numcodecs.imagecodecs_jpegls", {}), shape=(2, 4)).decode(data)


@pytest.mark.parametrize("name", ["lzf", "lz4h5", "szip"])
def test_sizes_that_streams_claim(name: str) -> None:
    """The decoded size in front is compared before anything is decoded."""
    codec = (f"numcodecs.imagecodecs_{name}", SZIP if name == "szip" else {})
    target, values = of_bytes(codec, shape=(64,)), np.zeros(64, np.uint8)
    data = bytearray(target.encode(values))
    assert target.decode(bytes(data)).tolist() == values.tolist()
    place = 7 if name == "lz4h5" else 0
    data[place] += 1
    for out in (None, values):
        with fault(CorruptChunk, name, "65 bytes"):
            target.decode(bytes(data), out)
