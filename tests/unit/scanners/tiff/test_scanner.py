"""TIFF: structure, stacks, levels, masks, sparse tiles, refusals. Values go through the engine."""

from __future__ import annotations

import io
import json
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tifffile
from fixtures.tiff.make_tiff import FILES, partial_strips, pyramid, ramp, strips_of, sub_ifds, tifffile_bytes, tiles_of
from fixtures.tiff.raw_tiff import ASCII, LONG, SHORT, Raw, gray, write
from numpy.typing import NDArray
from tests.maps import array_at
from tests.scanning import read_plain, scan_bytes

import byteatlas as ba
from byteatlas.errors import CorruptChunk, CorruptFile, FetchFailed
from byteatlas.manifest.kinds.strided import Strided
from byteatlas.manifest.model import MISSING
from byteatlas.scanning.contract import Ask, FirstBytes, ScanOptions
from byteatlas_scanners.tiff import SCANNER


@pytest.fixture
def load(tmp_path: Path) -> Any:
    """Values of one array of a file, through scan and open."""

    def values(data: bytes, path: str = "data") -> NDArray[Any]:
        file = tmp_path / "file.tif"
        file.write_bytes(data)
        root: Any = ba.open(ba.scan(str(file), on_refusal="raise"))
        return np.asarray(root[path][...])

    return values


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize("big", [False, True])
def test_four_flavours(order: str, big: bool) -> None:
    values = ramp((20, 30)).astype(f"{order}u2")
    data = write([Raw(gray(30, 20, 16, rows=7), strips_of(values, 7))], order=order, big=big)
    group = scan_bytes(SCANNER, data)
    np.testing.assert_array_equal(read_plain(array_at(group, "data"), data), values)
    assert [(i.status, i.locators) for i in group.report] == [("virtual", ("page/0",))]


def test_strips_behind_each_other_are_one_block() -> None:
    data = write([Raw(gray(30, 20, rows=7), strips_of(ramp((20, 30), "u1"), 7))])
    array = array_at(scan_bytes(SCANNER, data), "data")
    assert isinstance(array.manifest, Strided)
    assert array.manifest.grid_shape == (1, 1)
    cut = array_at(scan_bytes(SCANNER, data, ScanOptions(target_chunk=150)), "data")
    assert cut.manifest.grid_shape == (4, 1)
    np.testing.assert_array_equal(read_plain(cut, data), ramp((20, 30), "u1"))


def test_plain_strips_apart_read_over_the_end_of_the_last(load: Any) -> None:
    strips = strips_of(ramp((20, 30), "u1"), 8)
    apart = [b for s in strips for b in (s + b"\xff" * 5,)]
    tags = gray(30, 20, rows=8)
    data = bytearray(write([Raw(tags, apart)]))
    array = array_at(scan_bytes(SCANNER, bytes(data)), "data")
    assert len(array.meta.encodings) == 1
    np.testing.assert_array_equal(load(bytes(data)), ramp((20, 30), "u1"))


def test_partial_last_strip_has_its_own_encoding(load: Any) -> None:
    array = array_at(scan_bytes(SCANNER, partial_strips()), "data")
    assert array.meta.encodings[1].chunk_shape == (2, 30)
    assert array.manifest.load().encoding is not None
    np.testing.assert_array_equal(load(partial_strips()), ramp((50, 30)))


def test_sparse_tiles_read_as_nodata(load: Any) -> None:
    data = FILES["geotiff.tif"]()
    array = array_at(scan_bytes(SCANNER, data), "data")
    assert (array.manifest.load().source == MISSING).sum() == 1
    expected = ramp((40, 50), "i2")
    expected[16:32, 16:32] = -9999
    np.testing.assert_array_equal(load(data), expected)
    np.testing.assert_array_equal(tifffile.imread(io.BytesIO(data)), expected)


def test_single_strip_without_a_size_was_written(load: Any) -> None:
    data = write([Raw(gray(30, 20) | {279: (LONG, [0])}, [ramp((20, 30), "u1").tobytes()])])
    np.testing.assert_array_equal(load(data), ramp((20, 30), "u1"))


def test_pyramid_with_mask(load: Any) -> None:
    data = pyramid()
    batches: list[list[Ask]] = []
    group = scan_bytes(SCANNER, data, batches=batches)
    assert {i.path: i.locators for i in group.report} == {
        "data": ("page/0",),
        "mask": ("page/1",),
        "overview_1/data": ("page/2",),
        "overview_2/data": ("page/3",),
    }
    assert array_at(group, "data").meta.attributes["ancillary_variables"] == "mask"
    scales = group.attributes["multiscales"][0]
    assert [d["path"] for d in scales["datasets"]] == ["data", "overview_1/data", "overview_2/data"]
    assert scales["datasets"][2]["coordinateTransformations"][0]["scale"] == [4.0, 4.0]
    np.testing.assert_array_equal(load(data, "overview_2/data"), ramp((16, 24)))
    np.testing.assert_array_equal(load(data, "mask"), ramp((64, 96), "u1") > 100)
    np.testing.assert_allclose(load(data, "overview_2/x"), 500000 + 60 + 120 * np.arange(24))


def test_sub_ifds_stack_level_by_level(load: Any) -> None:
    group = scan_bytes(SCANNER, sub_ifds())
    assert array_at(group, "data").meta.dimension_names == ("page", "y", "x")
    assert group.report[1].locators == ("page/0/sub/0", "page/1/sub/0")
    np.testing.assert_array_equal(load(sub_ifds(), "overview_1/data"), np.stack([ramp((16, 24)), ramp((16, 24)) + 1]))


def test_pages_that_differ_stay_apart(load: Any) -> None:
    pages = [ramp((8, 9)), ramp((8, 9)) + 1, ramp((5, 6), "u1"), ramp((8, 9)) + 2]
    data = tifffile_bytes(*pages, metadata=None)
    group = scan_bytes(SCANNER, data)
    assert [i.locators for i in group.report] == [("page/0", "page/1", "page/3"), ("page/2",)]
    np.testing.assert_array_equal(load(data, "image_0/data"), np.stack([pages[0], pages[1], pages[3]]))
    np.testing.assert_array_equal(load(data, "image_1/data"), pages[2])


def test_axes_of_imagej_ome_and_tifffile(load: Any) -> None:
    hyper, ome = FILES["hyperstack.tif"](), FILES["ome.ome.tif"]()
    assert array_at(scan_bytes(SCANNER, hyper), "data").meta.dimension_names == ("t", "z", "c", "y", "x")
    assert array_at(scan_bytes(SCANNER, ome), "data").meta.dimension_names == ("t", "c", "y", "x")
    np.testing.assert_array_equal(load(hyper), ramp((2, 3, 4, 10, 12)))
    np.testing.assert_array_equal(load(ome), ramp((2, 3, 10, 12)))
    shaped = tifffile_bytes(ramp((2, 3, 10, 12)), photometric="minisblack", metadata={"axes": "ZCYX"})
    assert array_at(scan_bytes(SCANNER, shaped), "data").meta.dimension_names == ("z", "c", "y", "x")
    np.testing.assert_array_equal(load(shaped), ramp((2, 3, 10, 12)))


def test_ome_planes_in_another_order(load: Any) -> None:
    planes = [ramp((8, 9)) + i for i in range(6)]
    order = [3, 4, 5, 0, 1, 2]
    data = "".join(
        f'<TiffData IFD="{p}" FirstZ="{k % 3}" FirstT="{k // 3}" PlaneCount="1"/>' for k, p in enumerate(order)
    )
    xml = (
        '<?xml version="1.0"?><OME xmlns="http://www.openmicroscopy.org/Schemas/OME/2016-06"><Image ID="Image:0">'
        '<Pixels ID="Pixels:0" DimensionOrder="XYZTC" Type="uint16" SizeX="9" SizeY="8" SizeZ="3" SizeT="2" SizeC="1">'
        f"{data}</Pixels></Image></OME>"
    )
    out = io.BytesIO()
    with tifffile.TiffWriter(out) as tif:
        for i, plane in enumerate(planes):
            tif.write(plane, metadata=None, description=xml if i == 0 else None)
    got = load(out.getvalue())
    np.testing.assert_array_equal(got, np.stack([planes[p] for p in order]).reshape(2, 3, 8, 9))
    np.testing.assert_array_equal(got, tifffile.imread(io.BytesIO(out.getvalue())))


@pytest.mark.parametrize("xml", ["<!DOCTYPE x><OME></OME>", "<OME><Pixels/></OME>", "<OME", "<OME><Image></OME>"])
def test_useless_ome_is_ignored(xml: str) -> None:
    tags = gray(4, 4) | {270: (ASCII, xml)}
    group = scan_bytes(SCANNER, write([Raw(tags, [bytes(16)])]))
    assert list(group.arrays) == ["data"]


def test_planar_and_chunky_samples(load: Any) -> None:
    rgb = ramp((20, 30, 3), "u1")
    chunky = tifffile_bytes(rgb, photometric="rgb", metadata=None, rowsperstrip=8, compression="zlib")
    planar = tifffile_bytes(
        np.moveaxis(rgb, 2, 0).copy(), photometric="rgb", planarconfig="separate", metadata=None, rowsperstrip=8,
        compression="zlib",
    )  # fmt: skip
    assert array_at(scan_bytes(SCANNER, chunky), "data").meta.dimension_names == ("y", "x", "band")
    assert array_at(scan_bytes(SCANNER, planar), "data").meta.dimension_names == ("band", "y", "x")
    np.testing.assert_array_equal(load(chunky), rgb)
    np.testing.assert_array_equal(load(planar), np.moveaxis(rgb, 2, 0))


@pytest.mark.parametrize("rows", [[7, 4], [20, 7], [5, 4], [0, 7], [7, 0], [20, 0]])
def test_plain_pages_stored_in_different_pieces(rows: list[int], tmp_path: Path) -> None:
    """Strips of several heights, or tiles (0): every page reads."""
    out = io.BytesIO()
    values = ramp((2, 20, 30), "u1")
    with tifffile.TiffWriter(out) as writer:
        for page, height in zip(values, rows, strict=True):
            how: dict[str, Any] = {"rowsperstrip": height} if height else {"tile": (16, 16)}
            writer.write(page, contiguous=False, metadata=None, **how)
    (tmp_path / "a.tif").write_bytes(out.getvalue())
    virtual = ba.scan(str(tmp_path / "a.tif"), on_refusal="raise")
    root: Any = ba.open(virtual)
    got = {place: plane for i in virtual.report for place, plane in zip(
        i.locators, root[i.path][...] if len(i.locators) > 1 else [root[i.path][...]], strict=True)}  # fmt: skip
    for i in range(2):
        np.testing.assert_array_equal(got[f"page/{i}"], values[i])


@pytest.mark.parametrize("tag", [258, 339, 530])
def test_text_where_numbers_belong(tag: int) -> None:
    tags = gray(6, 5, samples=3, photometric=6) | {258: (SHORT, [8, 8, 8]), 530: (SHORT, [1, 1])}
    group = scan_bytes(SCANNER, write([Raw(tags | {tag: (ASCII, b"\x08\x08\x08")}, [bytes(90)])]))
    assert [i.status for i in group.report] == ["virtual" if tag == 530 else "refused"]


def test_bad_pages_do_not_spoil_their_neighbours(load: Any) -> None:
    good = Raw(gray(6, 5), [ramp((5, 6), "u1").tobytes()])
    mixed = Raw(gray(6, 5, samples=3) | {258: (SHORT, [5, 6, 5])}, [bytes(60)])
    unknown = Raw(gray(6, 5, compression=34715), [bytes(10)])
    empty = Raw(gray(0, 5), [bytes(10)])
    data = write([good, mixed, unknown, empty])
    group = scan_bytes(SCANNER, data)
    refused = {i.locators: i.reason for i in group.report if i.status == "refused"}
    assert refused == {("page/1",): "samples", ("page/2",): "compression", ("page/3",): "corrupt"}
    assert read_plain(array_at(group, "data"), data).tolist() == ramp((5, 6), "u1").tolist()


def test_circular_and_cut_chains_keep_what_was_read() -> None:
    data = bytearray(write([Raw(gray(6, 5), [bytes(30)]), Raw(gray(3, 2), [bytes(6)])]))
    first = int.from_bytes(data[4:8], "little")
    count = int.from_bytes(data[first : first + 2], "little")
    link = first + 2 + 12 * count
    second = int.from_bytes(data[link : link + 4], "little")
    data[second + 2 + 12 * int.from_bytes(data[second : second + 2], "little") :][:4] = b""
    circle = bytearray(data)
    circle[link : link + 4] = first.to_bytes(4, "little")
    for broken in (circle, bytearray(data[: second + 1])):
        group = scan_bytes(SCANNER, bytes(broken))
        assert [i.status for i in group.report] == ["virtual", "refused"]


@pytest.mark.parametrize(
    "data",
    [b"II*\0", b"MM\0*\xff\xff\xff\xff", b"II*\0\0\0\0\0", b"II+\0\4\0\0\0" + bytes(8), b"II*\0\x08\0\0\0\xff\xff"],
)
def test_unreadable_files(data: bytes) -> None:
    with pytest.raises(CorruptFile):
        scan_bytes(SCANNER, data)


def test_tiles_beyond_the_end_fail_when_read(load: Any) -> None:
    whole = write(
        [Raw(gray(32, 16, tile_width=16, tile_length=16), [bytes(256)] * 2, tiled=True)], directories_first=True
    )
    cut = whole[:-10]
    group = scan_bytes(SCANNER, cut)
    assert "beyond the end" in group.report[0].detail
    with pytest.raises(FetchFailed):
        load(cut)


def test_small_images_are_copied_into_the_map_when_asked() -> None:
    whole = FILES["packed12.tif"]()
    group = scan_bytes(SCANNER, whole, ScanOptions(inline_below=1000))
    assert group.report[0].status == "inlined"
    cut = write(
        [Raw(gray(32, 16, tile_width=16, tile_length=16), [bytes(256)] * 2, tiled=True)], directories_first=True
    )
    assert scan_bytes(SCANNER, cut[:-10], ScanOptions(inline_below=1000)).report[0].status == "virtual"


def test_image_of_another_size_inside_a_tile_is_an_error(load: Any) -> None:
    big = tifffile_bytes(ramp((64, 64), "u1"), tile=(64, 64), compression="jpeg", metadata=None)
    with tifffile.TiffFile(io.BytesIO(big)) as tif:
        page = tif.pages.first
        stream = big[page.dataoffsets[0] : page.dataoffsets[0] + page.databytecounts[0]]
    data = write([Raw(gray(32, 32, compression=7, tile_width=32, tile_length=32), [stream], tiled=True)])
    with pytest.raises(CorruptChunk, match="jpeg"):
        load(data)


def test_surplus_rows_of_a_jpeg_strip_are_cut(load: Any) -> None:
    whole = tifffile_bytes(ramp((16, 64), "u1"), tile=(16, 64), compression="jpeg", metadata=None)
    with tifffile.TiffFile(io.BytesIO(whole)) as tif:
        page = tif.pages.first
        stream = whole[page.dataoffsets[0] : page.dataoffsets[0] + page.databytecounts[0]]
        expected = page.asarray()
    data = write([Raw(gray(64, 24, compression=7, rows=16), [stream, stream])])
    np.testing.assert_array_equal(load(data), np.concatenate([expected, expected[:8]]))


def test_lengths_of_plain_data_that_cannot_be_right() -> None:
    tags = gray(30, 20, tile_width=16, tile_length=16) | {325: (LONG, [256, 9, 256, 256])}
    group = scan_bytes(SCANNER, write([Raw(tags, tiles_of(ramp((20, 30), "u1"), 16), tiled=True)]))
    assert group.report[0].reason == "corrupt"
    assert "shorter than their samples" in group.report[0].detail


def test_fill_order_two_and_packed_bits(load: Any) -> None:
    bits = ramp((9, 13), "u1") > 120
    packed = np.packbits(bits, axis=1)
    reversed_ = np.packbits(np.unpackbits(packed).reshape(-1, 8)[:, ::-1].reshape(-1)).tobytes()
    np.testing.assert_array_equal(load(write([Raw(gray(13, 9, 1), [packed.tobytes()])])), bits)
    np.testing.assert_array_equal(load(write([Raw(gray(13, 9, 1, fill_order=2), [reversed_])])), bits)


def test_complex_integers(load: Any) -> None:
    pairs = np.random.default_rng(0).integers(-(2**15), 2**15, (5, 6, 2)).astype(">i2")
    got = load(write([Raw(gray(6, 5, 32, format=5), [pairs.tobytes()])], order=">"))
    assert got.dtype == np.complex64
    np.testing.assert_array_equal(got, pairs[..., 0] + 1j * pairs[..., 1])


def test_photometric_and_palette_are_attributes() -> None:
    palette = list(range(768))
    tags = gray(4, 4, photometric=3) | {320: (SHORT, palette)}
    meta = array_at(scan_bytes(SCANNER, write([Raw(tags, [bytes(16)])])), "data").meta
    assert meta.attributes["photometric"] == "palette"
    assert meta.attributes["palette"][5] == [5, 261, 517]
    json.dumps(dict(meta.attributes))


def test_sniff() -> None:
    for make in FILES.values():
        assert SCANNER.sniff(FirstBytes(make()[:64]))
    assert not SCANNER.sniff(FirstBytes(b"II\0*"))


@pytest.mark.parametrize("sidecar", ["whole", "broken", "absent"])
def test_sidecar_masks_when_asked(sidecar: str, tmp_path: Path) -> None:
    file = tmp_path / "image.tif"
    file.write_bytes(write([Raw(gray(30, 20), [ramp((20, 30), "u1").tobytes()])]))
    mask = (ramp((20, 30), "u1") > 100).astype("u1") * 255
    if sidecar != "absent":
        whole = write([Raw(gray(30, 20, subfile=4), [mask.tobytes()])])
        (tmp_path / "image.tif.msk").write_bytes(whole if sidecar == "whole" else whole[:50])
    assert "mask" not in ba.scan(str(file)).arrays
    options = ScanOptions(extra={"tiff": {"sidecar_masks": True}})
    with pytest.warns(ba.RefusalWarning, match="msk") if sidecar == "broken" else nullcontext():
        virtual = ba.scan(str(file), options=options)
    root: Any = ba.open(virtual)
    np.testing.assert_array_equal(root["data"][...], ramp((20, 30), "u1"))
    assert ("mask" in virtual.arrays) == (sidecar == "whole")
    if sidecar == "whole":
        np.testing.assert_array_equal(root["mask"][...], mask)
        assert root["data"].attrs["ancillary_variables"] == "mask"
