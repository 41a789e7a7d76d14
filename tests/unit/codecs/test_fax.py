"""CCITT fax images: what libtiff writes, the standard's two-dimensional rows, damage."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import pytest
import tifffile
from numpy.typing import NDArray
from PIL import Image

from byteatlas.codecs import Pipeline, build_pipeline
from byteatlas.errors import CorruptChunk
from byteatlas.meta.dtypes import from_numpy
from byteatlas.meta.model import CodecSpec, Encoding

HEIGHT, WIDTH = 40, 150
NAMES = {"ccittrle": "tiff_ccitt", "ccittfax3": "group3", "ccittfax4": "group4"}
TWO_DIMENSIONAL = bytes.fromhex("001c2700170" + "01c27001" + "2c0")
"""Four rows of six pixels, one and two dimensions in turn; the last has black one pixel earlier."""


def picture(kind: str) -> NDArray[np.bool_]:
    rng = np.random.default_rng(5)
    if kind == "noise":
        return np.asarray(rng.random((HEIGHT, WIDTH)) < 0.5)
    image = np.zeros((HEIGHT, WIDTH), bool)
    for row, column in rng.integers(0, (HEIGHT - 8, WIDTH - 20), (30, 2)).tolist():
        image[row : row + 8, column : column + 20] ^= True
    return image


def encoded(name: str, image: NDArray[np.bool_]) -> bytes:
    """The only strip that libtiff writes."""
    out = io.BytesIO()
    Image.fromarray(image).save(out, "TIFF", compression=NAMES[name], tiffinfo={278: len(image)})
    with tifffile.TiffFile(io.BytesIO(out.getvalue())) as tif:
        page: Any = tif.pages[0]
        start, length = page.dataoffsets[0], page.databytecounts[0]
    return out.getvalue()[start : start + length]


def fax(name: str, shape: tuple[int, int] = (HEIGHT, WIDTH), **more: int) -> Pipeline:
    conf = {"height": shape[0], "width": shape[1], **more}
    chain = (CodecSpec("bytes", {}), CodecSpec(f"numcodecs.imagecodecs_{name}", conf))
    return build_pipeline(Encoding(chain), from_numpy(np.dtype("u1")), shape, None)


@pytest.mark.parametrize("kind", ["boxes", "noise"])
@pytest.mark.parametrize("name", NAMES)
def test_what_libtiff_writes(name: str, kind: str) -> None:
    image = picture(kind)
    data = encoded(name, image)
    np.testing.assert_array_equal(fax(name).decode(data), image)
    np.testing.assert_array_equal(fax(name).decode(data + b"\0\0"), image)


@pytest.mark.parametrize(("name", "shape"), [(n, s) for n in NAMES for s in ((1, 1), (3, 5000), (64, 1))])
def test_odd_sizes(name: str, shape: tuple[int, int]) -> None:
    image = np.random.default_rng(1).random(shape) < 0.002
    image[0, 0] = True
    np.testing.assert_array_equal(fax(name, shape).decode(encoded(name, image)), image)


def test_group_3_of_two_dimensions() -> None:
    rows = [[0, 0, 0, 1, 0, 0]] * 3 + [[0, 0, 1, 1, 0, 0]]
    assert fax("ccittfax3", (4, 6), t4options=1).decode(TWO_DIMENSIONAL).tolist() == rows
    with pytest.raises(CorruptChunk):
        fax("ccittfax3", (4, 6), t4options=0).decode(TWO_DIMENSIONAL)
    with pytest.raises(CorruptChunk):
        fax("ccittfax3", t4options=1).decode(encoded("ccittfax3", picture("boxes")))


@pytest.mark.parametrize("name", NAMES)
def test_damage_is_never_white(name: str) -> None:
    data = encoded(name, picture("boxes"))
    rng = np.random.default_rng(0)
    for damaged in (b"", b"\0", data[: len(data) // 2], bytes(len(data)), rng.bytes(len(data))):
        with pytest.raises(CorruptChunk):
            fax(name).decode(damaged)


@pytest.mark.parametrize("name", NAMES)
def test_changed_bits_are_found_or_give_whole_rows(name: str) -> None:
    """A changed bit may give another valid image; most do not."""
    data, rng = encoded(name, picture("noise")), np.random.default_rng(2)
    found = 0
    for _ in range(60):
        changed = bytearray(data)
        changed[rng.integers(len(data) // 2)] ^= 1 << rng.integers(8)
        try:
            assert fax(name).decode(bytes(changed)).max() <= 1
        except CorruptChunk as error:
            found += "ccitt" in str(error)
    assert found > 40
