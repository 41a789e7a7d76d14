"""Pages: what comes from files is text, whatever it looks like; bars and pictures show what is there."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import imagecodecs
import numpy as np
import pytest
from tests.archives import small_archive
from tests.places import ROOT
from tests.serving import get

import byteatlas as ba
from byteatlas.errors import NotFound
from byteatlas.manifest.model import ChunkManifest, SourceInfo
from byteatlas.pages import pictures, rendering
from byteatlas.pages.bytemap import BINS, byte_map, colours_of
from byteatlas.serving import app

EVIL = "<script>alert(1)</script>\"'><img src=x onerror=alert(2)>{{ 7*7 }}"


def evil_map() -> dict[str, Any]:
    zarray = {"zarr_format": 2, "shape": [2], "chunks": [2], "dtype": "|u1", "compressor": None, "filters": None,
              "fill_value": 0, "order": "C"}  # fmt: skip
    name = EVIL.replace("/", "_")
    return {".zgroup": '{"zarr_format": 2}', ".zattrs": json.dumps({EVIL: EVIL}), f"{name}/.zarray": json.dumps(zarray),
            f"{name}/.zattrs": json.dumps({"long_name": EVIL, "units": EVIL, "_ARRAY_DIMENSIONS": [name]}),
            f"{name}/0": [f"https://h.org/{name}", 0, 2]}  # fmt: skip


def test_everything_from_files_is_escaped() -> None:
    server = app({"evil": ba.load(evil_map())})
    page = get(server, "/evil/")
    assert page.status_code == 200
    assert "&lt;script&gt;alert(1)" in page.text
    assert "<script>alert" not in page.text
    assert "<img" not in page.text
    assert "49" not in page.text.replace(page.headers["etag"], "")
    assert "{{ 7*7 }}" in page.text
    policy = page.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert page.headers["x-content-type-options"] == "nosniff"


def test_pages_ask_nothing_of_other_servers() -> None:
    folder = ROOT / "src/byteatlas/pages"
    for path in [*folder.glob("templates/*"), *folder.glob("assets/*")]:
        text = path.read_text(encoding="utf-8").replace("http://www.w3.org/2000/svg", "")
        assert "//" not in text.replace("http://localhost:8000/", "").replace("// ", ""), path.name


def test_the_page_of_an_archive() -> None:
    server = app({"sea": str(small_archive()[0])})
    text = get(server, "/sea/").text
    for word in (
        "atmosphere/",
        "sst",
        "sea surface temperature",
        "zlib",
        "encoded again",
        "stored bytes",
        "ocean_2024-01.nc",
    ):
        assert word.lower() in text.lower(), word
    assert "sea" in get(server, "/").text


def test_levels_and_refusals_are_shown() -> None:
    server = app({"p": str(ROOT / "fixtures/tiff/pyramid_be.tif"), "h": str(ROOT / "fixtures/hdf5/types.h5")})
    assert "overview_2/data" in get(server, "/p/").text.partition("Levels")[2].partition("</table>")[0]
    refused = [item for item in ba.scan(ROOT / "fixtures/hdf5/types.h5", on_refusal="ignore").report if item.reason]
    page = get(server, "/h/").text
    assert all(item.reason in page for item in refused if item.reason)


def image_of(answer: dict[str, Any]) -> Any:
    return imagecodecs.png_decode(base64.b64decode(answer["image"].partition(",")[2]))


def test_quick_looks() -> None:
    file = small_archive()[0]
    server, sst = app({"sea": str(file)}), ba.open(file, path="sst")
    assert isinstance(sst, ba.Array)
    found = get(server, "/sea/look?array=sst&at=2").json()
    image = image_of(found)
    values = pictures.numbers(sst[2], sst.attrs)
    assert values is not None
    assert image.shape == (36, 72, 4)
    assert np.array_equal(image[..., 3] > 0, np.isfinite(values)[::-1]), "the north is on top; missing is transparent"
    low, high = np.nanpercentile(values, [2, 98])
    assert float(found["low"]) == pytest.approx(low, rel=1e-4)
    assert float(found["high"]) == pytest.approx(high, rel=1e-4)
    assert found["at"] == ["2024-01-11 00:00"]
    line = get(server, "/sea/look?array=lat").json()
    assert len(line["line"]) == 36
    assert (line["low"], line["high"]) == ("-87.5", "87.5")
    assert get(server, "/sea/look?array=crs").json()["text"]


def test_large_planes_are_thinned_out_and_cut(tmp_path: Path) -> None:
    meta = ba.array_meta((40_000, 40_000), "u1", chunks=(1000, 1000), dimension_names=("y", "x"))
    ba.create_group(tmp_path / "a.zarr")
    ba.create_array(tmp_path / "a.zarr", "big", meta)
    found = get(app({"a": str(tmp_path / "a.zarr")}), "/a/look?array=big").json()
    assert max(image_of(found).shape) <= 512
    assert found["note"] == "the middle of it"


def test_colours_and_numbers() -> None:
    table = pictures.colour_table()
    assert (tuple(table[0]), tuple(table[-1])) == ((0x44, 0x01, 0x54), (0xFD, 0xE7, 0x25))
    values = np.array([-99, 0, 5, 7], "i2")
    found = pictures.numbers(values, {"_FillValue": -99, "missing_value": [5], "scale_factor": 0.5, "add_offset": 1})
    assert found is not None
    np.testing.assert_array_equal(found, [np.nan, 1.0, np.nan, 4.5])
    assert pictures.numbers(np.array(["a"]), {}) is None
    points, low, high = pictures.line(np.array([1.0, np.nan, 3.0]))
    assert (points, low, high) == ([[0.0, 1.0], [], [1.0, 0.0]], 1.0, 3.0)
    flat = pictures.plane(np.full((2, 2), 4.0))
    assert (flat.low, flat.high) == (4.0, 4.0)
    assert pictures.plane(np.full((2, 2), np.nan)).png[:4] == b"\x89PNG"


def test_bars_show_where_bytes_lie() -> None:
    def manifest(offset: list[int], length: list[int]) -> ChunkManifest:
        n = len(offset)
        source = (SourceInfo("/d/a.nc", 2400),)
        return ChunkManifest((n,), source, np.zeros(n, np.int32), np.array(offset, "u8"), np.array(length, "u8"))

    arrays = {"a": manifest([600, 0], [600, 300]), "b": manifest([1200], [1200])}
    assert colours_of({"a": 900, "b": 1200, "c": 0}) == {"b": 0, "a": 1}
    found = byte_map(arrays, {"b": 0, "a": 1})
    assert found is not None
    (bar,) = found.bars
    assert [(p.begin, p.end, p.colour) for p in bar.parts] == [(0, 30, 1), (60, 120, 1), (120, BINS, 0)]
    assert (bar.covered, bar.size) == (88, "2.4 kB")
    assert byte_map({}, {}) is None


def test_assets_are_those_that_are_known() -> None:
    assert rendering.asset("page.css")[1].startswith("text/css")
    with pytest.raises(NotFound):
        rendering.asset("../rendering.py")


@pytest.mark.filterwarnings("error")
def test_values_as_large_as_there_are_make_pictures() -> None:
    most = float(np.finfo("f8").max)
    seen = pictures.plane(np.array([[-most, most], [0.0, np.nan]]))
    assert seen.low is not None
    assert seen.high is not None
    assert -most <= seen.low < 0 < seen.high <= most
    image = imagecodecs.png_decode(seen.png)
    assert len({tuple(image[0, 0]), tuple(image[0, 1]), tuple(image[1, 0])}) == 3
    assert pictures.line(np.array([most, 0.0, -most])) == ([[0.0, 0.0], [0.5, 0.5], [1.0, 1.0]], -most, most)
