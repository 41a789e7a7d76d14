"""Verify finds what it has to find: differences, damage, losses; and nothing where all is well."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from fixtures.tiff.raw_tiff import LONG, SHORT, Raw, gray, write
from tests.archives import small_archive
from tests.places import FIXTURES, ROOT

import byteatlas as ba
from byteatlas.errors import FetchFailed
from byteatlas.importing import object_named
from byteatlas.io.local import LocalSource
from byteatlas.io.sources.layers import Counting
from byteatlas.io.sources.memory import MemorySource
from byteatlas.manifest.model import ChunkManifest, VirtualArray, VirtualGroup
from byteatlas.scanning.plugins import installed
from byteatlas.types import Buffer, ByteRange
from byteatlas.verifying import VerifyOptions, VerifyReport
from byteatlas.verifying.compare import first_difference, same_attribute
from byteatlas.verifying.native.place import BLOCK

h5py = pytest.importorskip("h5py")
netcdf4 = pytest.importorskip("netCDF4")


def status(report: VerifyReport, path: str) -> tuple[str, str]:
    return next((item.status, item.detail) for item in report.items if item.path == path)


def changed(group: VirtualGroup, name: str, array: VirtualArray | None) -> VirtualGroup:
    arrays = {k: v for k, v in group.arrays.items() if k != name}
    return replace(group, arrays={**arrays, name: array} if array is not None else arrays)


def sst(group: VirtualGroup) -> tuple[VirtualArray, ChunkManifest]:
    array = group.arrays["sst"]
    return array, array.manifest.load()


def test_scans_and_maps(tmp_path: Path) -> None:
    file = small_archive()[0]
    for suffix in ("json", "parquet"):
        ba.write(ba.scan(file), tmp_path / f"m.{suffix}")
        report = ba.verify(tmp_path / f"m.{suffix}")
        assert report.ok
        assert report.counts == {"equal": 9}
        assert report.values == sum(np.size(h5py.File(file)[i.path]) for i in report.items)


def test_combined(tmp_path: Path) -> None:
    files = small_archive()
    combined = ba.combine(files, concat="time", inline_uneven=0)
    report = ba.verify(combined)
    assert report.counts == {"equal": 9}
    assert next(i for i in report.items if i.path == "sst").files == len(files)
    assert ba.verify(combined, options=VerifyOptions(sample=5)).ok


def packed(path: Path, day: int, kind: str, scale: float, offset: float, fill: int) -> Path:
    import netCDF4

    with netCDF4.Dataset(path, "w") as file:
        file.createDimension("time", None)
        file.createDimension("x", 10)
        file.createVariable("time", "f8", ("time",)).setncatts({"units": "days since 2000-01-01"})
        file["time"][:] = [day, day + 1]
        made = file.createVariable("a", kind, ("time", "x"), fill_value=fill, zlib=True, chunksizes=(1, 10))
        made.setncatts({"scale_factor": np.float64(scale), "add_offset": np.float64(offset)})
        made.set_auto_maskandscale(False)
        made[:] = np.arange(20).reshape(2, 10) * 3 + day
        made[0, 0] = fill
    return path


def test_packed_in_different_ways(tmp_path: Path) -> None:
    files = [
        packed(tmp_path / "1.nc", 0, "i2", 0.01, 5.0, -9),
        packed(tmp_path / "2.nc", 2, "i2", 0.25, 1.0, -9),
        packed(tmp_path / "3.nc", 4, "i4", 0.01, 5.0, 7),
    ]
    combined = ba.combine(files, concat="time", inline_uneven=0)
    report = ba.verify(combined)
    assert report.ok, report
    assert status(report, "a") == ("equal", "packed in several ways: unpacked values compared")
    array = combined.arrays["a"]
    manifest = array.manifest.load()
    assert manifest.encoding is not None
    wrong = replace(manifest, encoding=manifest.encoding[::-1].copy())
    assert not ba.verify(changed(combined, "a", replace(array, manifest=wrong))).ok


def test_shifted_references_are_different() -> None:
    """A wrong map: the chunks of two time steps are exchanged."""
    group = ba.scan(small_archive()[0])
    array, manifest = sst(group)
    order = np.arange(manifest.nchunks)
    order[[0, 4]] = order[[4, 0]]
    wrong = replace(manifest, offset=manifest.offset[order], length=manifest.length[order])
    report = ba.verify(changed(group, "sst", replace(array, manifest=wrong)))
    assert not report.ok
    assert status(report, "sst")[0] == "different"
    assert "the library reads" in status(report, "sst")[1]


def test_missing_chunks_are_different() -> None:
    group = ba.scan(small_archive()[0])
    array, manifest = sst(group)
    source = manifest.source.copy()
    source[0] = -1
    report = ba.verify(changed(group, "sst", replace(array, manifest=replace(manifest, source=source))))
    assert status(report, "sst")[0] == "different"


def test_lost_and_changed_attributes() -> None:
    group = ba.scan(small_archive()[0])
    assert status(ba.verify(changed(group, "sst", None)), "sst")[0] == "lost"
    array, _ = sst(group)
    other = array.meta.with_attributes({**array.meta.attributes, "units": "kelvin"})
    report = ba.verify(changed(group, "sst", replace(array, meta=other)))
    assert status(report, "sst") == ("different", "attribute 'units' is 'kelvin', the library reads 'degree_Celsius'")
    assert ba.verify(changed(group, "sst", replace(array, meta=other)), options=VerifyOptions(attributes=False)).ok
    dims = replace(array.meta, dimension_names=("time", "x", "lon"))
    assert status(ba.verify(changed(group, "sst", replace(array, meta=dims))), "sst")[0] == "different"


def test_unreadable_is_an_error(tmp_path: Path) -> None:
    group = ba.scan(small_archive()[0])
    array, manifest = sst(group)
    half = replace(array, manifest=replace(manifest, length=manifest.length // 2))
    assert status(ba.verify(changed(group, "sst", half)), "sst")[0] == "error"


@pytest.mark.parametrize("fixture", sorted(ROOT.glob("fixtures/netcdf3/*.nc")), ids=lambda p: p.name)
def test_netcdf3(fixture: Path) -> None:
    report = ba.verify(fixture)
    assert report.ok
    # The netCDF library itself cannot count the records of a file that was written as a stream.
    assert report.counts.get("unchecked" if fixture.stem == "streaming" else "equal")


def test_tiff(tmp_path: Path) -> None:
    tifffile = pytest.importorskip("tifffile")
    path = tmp_path / "a.tif"
    with tifffile.TiffWriter(path) as file:
        for k in range(3):
            file.write(np.arange(35 * 47, dtype="u2").reshape(35, 47) + k, tile=(16, 16), compression="zlib")
    report = ba.verify(path)
    assert report.ok
    assert report.values == 3 * 35 * 47


def test_hdf5_kinds(tmp_path: Path) -> None:
    path = tmp_path / "kinds.h5"
    with h5py.File(path, "w") as file:
        file["text"] = ["a", "bc", ""]
        file["fixed"] = np.array([b"ab", b"c"])
        file["flags"] = np.array([True, False])
        file["big"] = np.arange(5, dtype=">i4")
        file["pair"] = np.array([(1, 2.5), (3, np.nan)], [("a", "i2"), ("b", "f8")])
        file["complex"] = np.array([1 + 2j, complex(np.nan, 0)])
        file["scalar"] = 5
        file["empty"] = np.zeros((0, 3))
        file.create_dataset("vectors", (4,), np.dtype(("f4", (2, 3))))[:] = np.arange(24).reshape(4, 2, 3)
        file.attrs["list"] = [1, 2]
        file["big"].attrs.update({"one": [7], "nan": np.nan, "words": ["x", "y"], "float": np.float32(0.1)})
    report = ba.verify(path)
    assert report.ok, [i for i in report.items if i.status != "equal"]


def test_damage(tmp_path: Path) -> None:
    """A chunk that neither of both can decode."""
    data = bytearray(small_archive()[0].read_bytes())
    at = int(sst(ba.scan(small_archive()[0]))[1].offset[0])
    data[at : at + 40] = bytes(40)
    path = tmp_path / "damaged.nc"
    path.write_bytes(data)
    report = ba.verify(path)
    assert status(report, "sst")[0] == "damaged"
    assert not report.ok
    assert report.counts == {"equal": 8, "damaged": 1}


def test_data_elsewhere(tmp_path: Path) -> None:
    """Values in the map and in other files than the archive itself."""
    path = tmp_path / "a.h5"
    with h5py.File(tmp_path / "b.h5", "w") as other:
        other["part"] = np.arange(6.0)
    with h5py.File(path, "w") as file:
        file["words"] = ["a", "b"]
        file["link"] = file["words"].ref
        layout = h5py.VirtualLayout((6,), "f8")
        layout[:] = h5py.VirtualSource("b.h5", "part", (6,))
        file.create_virtual_dataset("virtual", layout)
        file.create_dataset("outside", (4,), "i4", external=[(str(tmp_path / "raw.bin"), 0, 16)])[:] = [1, 2, 3, 4]
        file["refs"] = np.array([file["words"].ref, file["virtual"].ref], h5py.ref_dtype)
    report = ba.verify(path)
    assert report.ok, report
    assert report.counts.get("unchecked") is None
    ba.write(ba.scan(path), tmp_path / "m.json")
    assert ba.verify(tmp_path / "m.json").ok


@pytest.mark.parametrize(
    ("format", "fixture", "path", "locator"),
    [("hdf5", "hdf5/types.h5", "bool_4_bytes_be", ()), ("tiff", "tiff/geotiff.tif", "data", ("page/0",))],
)
def test_libraries_read_files_that_are_not_local(
    format: str, fixture: str, path: str, locator: tuple[str, ...]
) -> None:
    """By ranges of the source; a range that fails is an error, and not an array that is not there."""
    data = (FIXTURES / fixture).read_bytes()
    source = Counting(MemorySource(data, "memory://far"))
    name = installed()[format].verify
    assert name is not None
    reader = object_named(name)
    with reader(LocalSource(str(FIXTURES / fixture))) as near, reader(source) as far:
        wanted, found = near.array(path, locator), far.array(path, locator)
        assert wanted is not None
        assert found is not None
        np.testing.assert_array_equal(found.read(()), wanted.read(()))
    assert source.counts.requests <= 1 + len(data) // BLOCK

    class Broken(MemorySource):
        def read(self, ranges: Sequence[ByteRange]) -> list[Buffer]:
            raise FetchFailed(self.url, "connection lost")

    with pytest.raises(FetchFailed, match="connection lost"), reader(Broken(data, "memory://far")) as broken:
        broken.array(path, locator)


def test_text_that_is_no_utf8(tmp_path: Path) -> None:
    with h5py.File(tmp_path / "a.h5", "w") as file:
        text = h5py.string_dtype()
        data = file.create_dataset("x", data=np.arange(3.0))
        data.attrs.create("long", b"km\xb2", dtype=text)
        data.attrs["fixed"] = np.array([b"km\xb2", b"ab"], "S3")
        data.attrs[b"n\xb2"] = 3
    with netcdf4.Dataset(tmp_path / "a.nc", "w", format="NETCDF3_CLASSIC") as dataset:
        dataset.createDimension("x", 3)
        variable = dataset.createVariable("x", "f4", ("x",))
        variable.units, variable.other = "kmQ", "\u20acQ"
    raw = (tmp_path / "a.nc").read_bytes()
    (tmp_path / "a.nc").write_bytes(raw.replace(b"kmQ", b"km\xb2").replace(b"\x82\xacQ", b"\x82\xac\xff"))
    for name in ("a.h5", "a.nc"):
        assert [(i.status, i.detail) for i in ba.verify(tmp_path / name).items] == [("equal", "")]


def test_names_that_are_no_utf8(tmp_path: Path) -> None:
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file[b"lat\xb2"] = np.arange(3.0)
        file[b"lat\xb2"].make_scale()
        data = file.create_dataset("\u00e9/x", data=np.arange(3))
        data.dims[0].attach_scale(file[b"lat\xb2"])
        file.create_group(b"g\xff").create_dataset("y", data=np.arange(4))
    report = ba.verify(tmp_path / "a.h5")
    assert {(i.path, i.status) for i in report.items} == {
        ("lat\xb2", "equal"), ("\u00e9/x", "equal"), ("g\xff/y", "equal"),
    }  # fmt: skip


@pytest.mark.parametrize("space", ["RGB", "YCBCR"])
def test_old_jpeg_tagged_rgb(space: str, tmp_path: Path) -> None:
    imagecodecs = pytest.importorskip("imagecodecs")
    ramp = np.stack(np.broadcast_arrays(*np.ogrid[0:48, 0:64], np.int64(90)), -1).astype("u1")
    data = imagecodecs.jpeg_encode(ramp, level=95, colorspace="RGB", outcolorspace=space, subsampling="444")
    tags = {258: (SHORT, [8, 8, 8]), 262: (SHORT, [2]), 513: (LONG, [8]), 514: (LONG, [len(data)])}
    (tmp_path / "a.tif").write_bytes(write([Raw(gray(64, 48, compression=6, samples=3, rows=48) | tags, [data])]))
    assert [i.status for i in ba.verify(tmp_path / "a.tif").items] == ["equal"]


def test_group_3_of_two_dimensions(tmp_path: Path) -> None:
    data = bytes.fromhex("001c270017001c270012c0")
    tags = gray(6, 4, 1, compression=3, photometric=0, rows=4) | {292: (LONG, [1])}
    (tmp_path / "a.tif").write_bytes(write([Raw(tags, [data])]))
    assert [i.status for i in ba.verify(tmp_path / "a.tif").items] == ["equal"]


def test_differences() -> None:
    assert first_difference(np.array([b"a\0"]), np.array(["a"], object)) is None
    assert first_difference(np.zeros(2), np.zeros(3)) == "shape (2,), the library has (3,)"
    assert first_difference(np.ones(1), np.ones(1, np.float32)) is None
    assert first_difference(np.array([0], "i4"), np.array([0.0])) is not None
    assert first_difference(np.array([-0.0]), np.array([0.0])) is None
    fields = np.array([(1, 2)], [("a", "i4"), ("b", "i4")])
    assert first_difference(fields, np.array([(1, 3)], fields.dtype)) is not None


def test_same_attributes() -> None:
    assert same_attribute([5], 5)
    assert same_attribute("NaN", float("nan"))
    assert same_attribute(1, 1.0)
    assert not same_attribute("a", "b")
    assert not same_attribute([1, 2], [1])


def test_a_part_of_one_file_is_no_difference(tmp_path: Path) -> None:
    values = np.random.default_rng(0).random((6, 500), "f4")
    with netcdf4.Dataset(tmp_path / "a.nc", "w") as file:
        file.createDimension("t", 6)
        file.createDimension("x", 500)
        file.createVariable("t", "f8", ("t",))[:] = np.arange(6)
        file.createVariable("v", "f4", ("t", "x"), chunksizes=(1, 250), zlib=True)[:] = values
    part = ba.select(ba.scan(tmp_path / "a.nc"), {"t": slice(1, 3)})
    np.testing.assert_array_equal(ba.open(part)["v"][...], values[1:4])
    report = ba.verify(part)
    assert report.ok, report.items
    assert status(report, "v") == ("equal", "")
    assert status(report, "t")[0] == "unchecked"


def test_values_of_many_files_beside_a_reference_to_one_are_no_difference(tmp_path: Path) -> None:
    for number in range(2):
        with netcdf4.Dataset(tmp_path / f"{number}.nc", "w") as file:
            file.createDimension("t", 1)
            file.createDimension("y", 4)
            file.createVariable("t", "f8", ("t",))[:] = number
            file.createVariable("y", "f8", ("y",))[:] = np.arange(4)
            packed = file.createVariable("v", "i2", ("t", "y"))
            packed.scale_factor = 0.5 + number
            packed[:] = np.arange(4)
    both = ba.combine([tmp_path / "0.nc", tmp_path / "1.nc"], concat="t")
    ba.write(both, tmp_path / "both.json")
    report = ba.verify(tmp_path / "both.json")
    assert report.ok, report.items
    assert status(report, "v")[0] == "unchecked"
