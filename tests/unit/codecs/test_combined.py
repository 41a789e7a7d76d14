"""The codecs of combined arrays, and what they refuse."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from byteatlas.codecs import build_pipeline
from byteatlas.errors import ByteatlasError, CorruptChunk, InvalidMetadata, Unsupported
from byteatlas.meta.dtypes import from_numpy
from byteatlas.meta.model import CodecSpec, Encoding

BYTES = CodecSpec("bytes", {"endian": "little"})


def decode(encoding: Encoding, dtype: str, shape: tuple[int, ...], data: bytes) -> NDArray[Any]:
    return build_pipeline(encoding, from_numpy(np.dtype(dtype)), shape, None).decode(data)


def unpack(stored: str, **settings: Any) -> Encoding:
    kind = from_numpy(np.dtype(stored))
    cast = (CodecSpec("byteatlas.unpack", {"data_type": kind.name, **settings}),)
    return Encoding((BYTES,), data_type=kind, cast=cast)


def test_unpack() -> None:
    stored = np.array([1, 2, -99, 4], "<i2")
    got = decode(unpack("i2", scale_factor=0.1, add_offset=5.0, mask=[-99]), "f8", (4,), stored.tobytes())
    want = stored.astype("f8") * 0.1 + 5.0
    want[2] = np.nan
    np.testing.assert_array_equal(got, want)


def test_unsigned() -> None:
    stored = np.array([-1, 1, -128], "i1")
    got = decode(unpack("i1", scale_factor=2.0, mask=[-1], unsigned=True), "f4", (3,), stored.tobytes())
    np.testing.assert_array_equal(got, np.array([np.nan, 2, 256], "f4"))


def test_float_masks_are_rounded_as_stored() -> None:
    stored = np.array([1e20, 1], "<f4")
    got = decode(unpack("f4", mask=[1e20]), "f8", (2,), stored.tobytes())
    np.testing.assert_array_equal(got, [np.nan, 1])


def test_widening_without_settings() -> None:
    assert decode(unpack("i2"), "i4", (2,), np.array([-5, 7], "<i2").tobytes()).tolist() == [-5, 7]


@pytest.mark.parametrize(
    "settings",
    [
        {"scale_factor": "1"}, {"scale_factor": float("nan")}, {"add_offset": True}, {"mask": 3}, {"mask": ["x"]},
        {"mask": [1] * 1000}, {"unsigned": 1}, {"other": 1}, {"data_type": "no such"}, {"data_type": None},
    ],
)  # fmt: skip
def test_unpack_refuses(settings: dict[str, Any]) -> None:
    with pytest.raises(ByteatlasError):
        decode(unpack("i2", **settings), "f8", (1,), b"\0\0")


def test_unpack_to_integers_does_not_scale() -> None:
    with pytest.raises(InvalidMetadata):
        decode(unpack("i2", scale_factor=2.0), "i4", (1,), b"\0\0")


def test_unpack_does_not_encode() -> None:
    pipeline = build_pipeline(unpack("i2"), from_numpy(np.dtype("f8")), (1,), None)
    with pytest.raises(Unsupported):
        pipeline.encode(np.zeros(1))


def constant(text: Any) -> Encoding:
    return Encoding((CodecSpec("byteatlas.constant", {"value": text}),))


def test_constant() -> None:
    value = np.array(-7.5, "<f4").tobytes().hex()
    got = decode(constant(value), "f4", (2, 3), b"\0")
    np.testing.assert_array_equal(got, np.full((2, 3), -7.5, "f4"))
    with pytest.raises(CorruptChunk):
        build_pipeline(constant(value), from_numpy(np.dtype("f4")), (2,), None).decode(b"\0\0\0", np.zeros(2, "f4"))


@pytest.mark.parametrize("text", ["", "00", "zz", None, 3, "0" * 10])
def test_constant_refuses(text: Any) -> None:
    with pytest.raises(InvalidMetadata):
        decode(constant(text), "f4", (2,), b"\0")


def crop(origin: Any, shape: Any) -> Encoding:
    return Encoding((CodecSpec("byteatlas.crop", {"origin": origin, "shape": shape}), BYTES))


def test_crop() -> None:
    whole = np.arange(12, dtype="<i4").reshape(3, 4)
    np.testing.assert_array_equal(decode(crop([1, 2], [3, 4]), "i4", (2, 2), whole.tobytes()), whole[1:, 2:])


@pytest.mark.parametrize(
    ("origin", "shape"),
    [([0], [2, 2]), ([0, 1], [2, 2]), ([-1, 0], [4, 4]), ([0, 0], [0, 4]), ("00", [2, 2]), ([0, 0], [2**62, 2**62])],
)
def test_crop_refuses(origin: Any, shape: Any) -> None:
    with pytest.raises(ByteatlasError):
        decode(crop(origin, shape), "i4", (2, 2), bytes(64))
