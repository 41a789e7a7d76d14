"""Directories that leave to their JPEG stream what the tags should say, and images below pages that are refused."""

from __future__ import annotations

import io
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fixtures.tiff.raw_tiff import LONG, SHORT, Raw, gray, write
from numpy.typing import NDArray
from PIL import Image
from tests.scanning import scan_bytes

import byteatlas as ba
from byteatlas_scanners.tiff import SCANNER

STREAM, LENGTH = 513, 514


def jpeg(mode: str, before: int = 0) -> tuple[bytes, NDArray[np.uint8]]:
    """A stream with so many bytes of Exif in front of its frame header, and its pixels."""
    ramp = np.stack(np.broadcast_arrays(*np.ogrid[0:60, 0:80], np.int64(90)), -1).astype("u1")
    out = io.BytesIO()
    exif = {"exif": b"Exif\0\0" + bytes(before)} if before else {}
    Image.fromarray(ramp if mode == "RGB" else ramp[..., 0]).save(out, "JPEG", quality=90, **exif)
    return out.getvalue(), np.asarray(Image.open(io.BytesIO(out.getvalue())))


def with_thumbnail(stream: bytes, order: str, tags: dict[int, Any] | None = None) -> bytes:
    """A small image and a second directory that names a stream at the end of the file, as Exif has it."""
    named = {259: (SHORT, [6]), STREAM: (LONG, [0]), LENGTH: (LONG, [len(stream)])} if tags is None else tags
    data = bytearray(write([Raw(gray(6, 5), [bytes(30)]), Raw(named)], order=order))
    entry = data.index(struct.pack(order + "HHI", STREAM, LONG, 1))
    struct.pack_into(order + "I", data, entry + 8, len(data))
    return bytes(data) + stream


def values(data: bytes, path: str, folder: Path) -> NDArray[Any]:
    (folder / "a.tif").write_bytes(data)
    found: Any = ba.open(ba.scan(folder / "a.tif", on_refusal="raise"))[path]
    return np.asarray(found[...])


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize("mode", ["RGB", "L"])
@pytest.mark.parametrize("before", [0, 30_000])
def test_thumbnails_without_any_size(order: str, mode: str, before: int, tmp_path: Path) -> None:
    stream, pixels = jpeg(mode, before)
    np.testing.assert_array_equal(values(with_thumbnail(stream, order), "image_1/data", tmp_path), pixels)


@pytest.mark.parametrize("compression", [6, 7])
def test_previews_without_bits_per_sample(compression: int, tmp_path: Path) -> None:
    stream, pixels = jpeg("L")
    tags = {256: (SHORT, [80]), 257: (SHORT, [60]), 259: (SHORT, [compression]), 262: (SHORT, [1]), 278: (SHORT, [60])}
    np.testing.assert_array_equal(values(write([Raw(tags, [stream])]), "data", tmp_path), pixels)


@pytest.mark.parametrize("stream", [b"", b"\xff\xd8\xff\xda", b"\xff\xd8" + b"\xff\xe0\0\0" * 20, bytes(500)])
def test_streams_without_a_frame_are_refused(stream: bytes) -> None:
    report = scan_bytes(SCANNER, with_thumbnail(stream, "<")).report
    assert [(i.path, i.status, i.reason) for i in report] == [
        ("data", "virtual", None), ("page/1", "refused", "corrupt"),
    ]  # fmt: skip


def test_lossless_streams_tell_no_size() -> None:
    stream, _ = jpeg("L")
    lossless = stream.replace(b"\xff\xc0", b"\xff\xc3")
    assert [i.status for i in scan_bytes(SCANNER, with_thumbnail(lossless, "<")).report] == ["virtual", "refused"]


def test_images_below_a_refused_page(tmp_path: Path) -> None:
    large, small, other = (Raw(gray(w, 4), [bytes(range(4 * w))]) for w in (8, 4, 6))
    reduced = Raw(gray(4, 2, subfile=1), [bytes(8)])
    raw = Raw(gray(9, 9, compression=34713), [bytes(10)], subs=[large, reduced, small])
    data = write([raw, other])
    group = scan_bytes(SCANNER, data)
    assert [(i.path, i.status, i.locators) for i in group.report] == [
        ("image_0/data", "virtual", ("page/0/sub/0",)),
        ("image_0/overview_1/data", "virtual", ("page/0/sub/2",)),
        ("image_0/overview_2/data", "virtual", ("page/0/sub/1",)),
        ("image_1/data", "virtual", ("page/1",)),
        ("page/0", "refused", ("page/0",)),
    ]
