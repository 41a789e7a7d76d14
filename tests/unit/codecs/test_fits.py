"""FITS codecs by themselves: masks, dithering, tiles, columns; configurations and streams that make no sense."""

from __future__ import annotations

import gzip
from contextlib import suppress
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from byteatlas.codecs import Pipeline, build_pipeline
from byteatlas.codecs.fits.dither import COUNT, MODULUS, dither, random_numbers
from byteatlas.codecs.fits.hcompress import decode_hcompress
from byteatlas.codecs.fits.htransform import levels
from byteatlas.codecs.fits.plio import SHORT, decode_plio
from byteatlas.errors import ByteatlasError, CorruptChunk, InvalidMetadata
from byteatlas.meta.dtypes import from_numpy
from byteatlas.meta.model import CodecSpec, Encoding


def pipeline(shape: tuple[int, ...], dtype: str, name: str, /, **configuration: Any) -> Pipeline:
    codec = CodecSpec(f"byteatlas.fits_{name}", configuration)
    return build_pipeline(Encoding((codec,)), from_numpy(np.dtype(dtype)), shape, None)


# --------------------------------------------------------------------------------------- unsigned integers


@pytest.mark.parametrize("dtype", ["u2", "u4", "u8", "i1"])
def test_offset_integers_round_trip(dtype: str) -> None:
    limits = np.iinfo(dtype)
    values = np.array([limits.min, 0, 1, limits.max], dtype)
    pipe = pipeline((4,), dtype, "unsigned")
    data = pipe.encode(values)
    assert data[0] == (0x80 if dtype != "i1" else 0)
    assert pipe.decode(data).tolist() == values.tolist()
    assert pipe._steps.decode(data).tolist() == values.tolist()


# --------------------------------------------------------------------------------------- masks


def line_list(*instructions: tuple[int, int], old: bool = False) -> bytes:
    """A line list of (operation, number) pairs."""
    words: list[int] = []
    for operation, number in instructions:
        words.append(operation << 12 | number & 0xFFF)
        if operation == 1:
            words.append(number >> 12)
    head = [0, 0, len(words) + 3] if old else [0, 7, -100, (len(words) + 7) & 0x7FFF, (len(words) + 7) >> 15, 0, 0]
    return np.array([*head, *words], ">i4").astype(">i2").tobytes()


def by_hand(instructions: list[tuple[int, int]], count: int) -> list[int]:
    """What the pixels are, one instruction after the other."""
    level, out = 1, []
    for operation, number in instructions:
        match operation:
            case 0:
                out += [0] * number
            case 1:
                level = number
            case 2 | 3:
                level += number if operation == 2 else -number
            case 4:
                out += [level] * number
            case 5:
                out += [*[0] * (number - 1), level][:number]
            case _:
                level += number if operation == 6 else -number
                out.append(level)
    return [*out, *[0] * (count - len(out))]


@settings(deadline=None, max_examples=60)
@given(st.lists(st.tuples(st.integers(0, 7), st.integers(0, 40)), max_size=3 * SHORT), st.booleans())
def test_masks_are_what_each_instruction_says(instructions: list[tuple[int, int]], old: bool) -> None:
    count = 40 * len(instructions) + 3
    found = decode_plio(line_list(*instructions, old=old), count)
    assert found.tolist() == by_hand(instructions, count)


def test_masks_with_high_levels() -> None:
    some = [(1, 5 << 12 | 7), (4, 3), (1, 1 << 12), (5, 2), *[(6, 1)] * SHORT]
    assert decode_plio(line_list(*some), 40).tolist() == by_hand(some, 40)
    assert decode_plio(line_list(*some[:4]), 9).tolist() == by_hand(some[:4], 9)


@pytest.mark.parametrize(
    "data", [b"", b"\0" * 6, line_list((4, 10)), line_list((4, 1))[:-2], line_list((9, 1)), line_list(*[(9, 1)] * 40)]
)
def test_masks_that_are_damaged(data: bytes) -> None:
    with pytest.raises(CorruptChunk):
        decode_plio(data, 9)


# --------------------------------------------------------------------------------------- dithering


def test_the_random_numbers_are_those_of_the_standard() -> None:
    """Appendix I gives the 10,000th seed."""
    assert random_numbers()[-1] == np.float32(1043618065 / MODULUS)
    assert len(random_numbers()) == COUNT


def test_dithering_goes_on_at_the_end_of_the_numbers() -> None:
    numbers = random_numbers()
    start, first = COUNT - 1, int(numbers[COUNT - 1] * 500)
    found = dither(start, 2 * COUNT)
    assert found[: COUNT - first].tolist() == numbers[first:].tolist()
    assert found[COUNT - first] == numbers[int(numbers[0] * 500)]


def test_quantised_numbers() -> None:
    stored = np.array([5, -7, -99], ">i4")
    pipe = pipeline((3,), "f4", "tile", algorithm="GZIP_1", scale=0.5, zero=10.0, blank=-99)
    np.testing.assert_array_equal(pipe.decode(gzip.compress(stored.tobytes())), np.array([12.5, 6.5, np.nan], "f4"))
    zero = np.array([-2147483646, 4], ">i4")
    pipe = pipeline((2,), "f8", "tile", algorithm="GZIP_1", scale=2.0, zero=1.0, dither=2, start=0)
    wanted = [0.0, (4 - random_numbers()[int(random_numbers()[0] * 500) + 1] + 0.5) * 2 + 1]
    assert pipe.decode(gzip.compress(zero.tobytes())).tolist() == wanted


# --------------------------------------------------------------------------------------- tiles


def test_shuffled_and_plain_tiles() -> None:
    values = np.array([[1, -2, 3]], "i4")
    big = values.astype(">i4")
    shuffled = np.ascontiguousarray(big.view("u1").reshape(-1, 4).T).tobytes()
    assert (
        pipeline((1, 3), "i4", "tile", algorithm="GZIP_2").decode(gzip.compress(shuffled)).tolist() == values.tolist()
    )
    assert pipeline((1, 3), "i4", "tile", algorithm="NOCOMPRESS").decode(big.tobytes()).tolist() == values.tolist()


def test_tiles_behind_each_other() -> None:
    parts = [(np.arange(3) + k).astype(">i4") for k in (0, 10, 20)]
    packed = [gzip.compress(p.tobytes()) for p in parts]
    lengths = [{"length": len(p), "scale": float(k + 1)} for k, p in enumerate(packed)]
    pipe = pipeline((3, 3), "f8", "tile", algorithm="GZIP_1", axis=0, step=1, parts=lengths)
    assert pipe.decode(b"".join(packed)).tolist() == [[0, 1, 2], [20, 22, 24], [60, 63, 66]]
    with pytest.raises(CorruptChunk):
        pipe.decode(b"".join(packed)[:-1])


DAMAGED = (b"", b"\0", b"\xff" * 50, gzip.compress(b"\0" * 7), b"\xdd\x99" + bytes(60))


@pytest.mark.parametrize("algorithm", ["RICE_1", "GZIP_1", "GZIP_2", "PLIO_1", "HCOMPRESS_1", "NOCOMPRESS"])
@pytest.mark.parametrize("which", range(len(DAMAGED)))
def test_tiles_that_are_damaged(algorithm: str, which: int) -> None:
    pipe = pipeline((8, 8), "i2", "tile", algorithm=algorithm)
    try:
        found = pipe.decode(DAMAGED[which])
    except CorruptChunk:
        return
    assert found.shape == (8, 8)


@settings(deadline=None, max_examples=100)
@given(st.binary(max_size=200), st.lists(st.integers(0, 12), min_size=3, max_size=3))
def test_hcompress_of_anything(data: bytes, planes: list[int]) -> None:
    head = b"\xdd\x99" + np.array([9, 7, 1], ">i4").tobytes() + bytes(8) + bytes(planes)
    with suppress(CorruptChunk):
        assert decode_hcompress(head + data, 9, 7, False).shape == (9, 7)


def test_halvings() -> None:
    for n in range(1, 300):
        k, left = 0, n
        while left > 1:
            left, k = (left + 1) // 2, k + 1
        assert levels(n) == k


@pytest.mark.parametrize(
    ("name", "configuration", "dtype", "shape"),
    [
        ("unsigned", {}, "f4", (2,)),
        ("unsigned", {"x": 1}, "u2", (2,)),
        ("column", {"stride": 4, "offset": 3, "dtype": ">i2"}, "i2", (2,)),
        ("column", {"stride": 4, "dtype": ">i4"}, "f4", (2,)),
        ("column", {"stride": 4, "dtype": "|u1", "form": "bits"}, "u1", (2, 8)),
        ("column", {"stride": 0, "dtype": "|u1"}, "u1", (2,)),
        ("ascii", {"stride": 4, "width": 5}, "f8", (2,)),
        ("ascii", {"stride": 8, "width": 5}, "u2", (2,)),
        ("heap", {"stride": 4, "heap": 0}, "f8", (2,)),
        ("tile", {"algorithm": "LZW"}, "i2", (2,)),
        ("tile", {"algorithm": "RICE_1"}, "f4", (2,)),
        ("tile", {"algorithm": "GZIP_1", "scale": 1.0}, "i4", (2,)),
        ("tile", {"algorithm": "GZIP_1", "unsigned": True}, "f4", (2,)),
        ("tile", {"algorithm": "RICE_1", "bytepix": 8}, "i4", (2,)),
        ("tile", {"algorithm": "GZIP_1", "parts": [], "axis": 0, "step": 1}, "i4", (2,)),
        ("tile", {"algorithm": "GZIP_1", "parts": [{"length": 1}], "axis": 0, "step": 1}, "i4", (2,)),
        ("tile", {"algorithm": "GZIP_1", "parts": [{"length": 1}], "axis": 3, "step": 2}, "i4", (2,)),
    ],
)
def test_configurations_that_make_no_sense(
    name: str, configuration: dict[str, Any], dtype: str, shape: tuple[int, ...]
) -> None:
    with pytest.raises(ByteatlasError) as caught:
        pipeline(shape, dtype, name, **configuration)
    assert isinstance(caught.value, InvalidMetadata)
