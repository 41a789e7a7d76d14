"""ZIP and tar archives: members are scanned in place, references lead into the archive, nothing is believed unseen."""

from __future__ import annotations

import gzip
import io
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
from tests.places import FIXTURES

import byteatlas as ba
from byteatlas.errors import BadRequest, CorruptFile, NotFound, Unsupported
from byteatlas.manifest.model import VirtualArray
from byteatlas.scanning.contract import ScanOptions

FILES = [
    FIXTURES / "netcdf3" / "cdf1.nc",
    FIXTURES / "grib" / "gfs.grib2",
    FIXTURES / "fits" / "tables.fits",
    FIXTURES / "fits" / "images.fits",
    *sorted((FIXTURES / "tiff").glob("*.tif"))[:3],
    *sorted((FIXTURES / "hdf5").glob("*.h5"))[:2],
]
EPOCH = (2024, 1, 1, 0, 0, 0)


def zipped(path: Path, members: dict[str, bytes], method: int = zipfile.ZIP_STORED) -> Path:
    with zipfile.ZipFile(path, "w", method) as archive:
        for name, data in members.items():
            archive.writestr(zipfile.ZipInfo(name, EPOCH), data, method)
    return path


def tarred(path: Path, members: dict[str, bytes], format: int = tarfile.GNU_FORMAT) -> Path:
    with tarfile.open(path, "w", format=format) as archive:
        for name, data in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return path


def pax(path: Path, members: dict[str, bytes]) -> Path:
    return tarred(path, members, tarfile.PAX_FORMAT)


MAKERS: dict[str, Callable[[Path, dict[str, bytes]], Path]] = {"zip": zipped, "tar": tarred, "pax": pax}


def nc(value: int = 3) -> bytes:
    """A small netCDF-4 file."""
    made = io.BytesIO()
    with h5py.File(made, "w") as f:
        f["v"] = np.arange(20) * value
    return made.getvalue()


def opened(tree: Any) -> Any:
    return ba.open(tree)


def scanned(path: Path | str, **options: Any) -> Any:
    return ba.scan(path, on_refusal="ignore", **options)


def refusals(tree: Any) -> dict[str, str]:
    return {item.path: item.reason for item in tree.report if item.status == "refused"}


def same(found: Any, below: str, expected: Any) -> int:
    count = 0
    read, other = opened(found), opened(expected)
    for path, node in expected.walk():
        assert path.rpartition("/")[2] in dict(found[f"{below}{path}".rpartition("/")[0]].walk())
        if isinstance(node, VirtualArray):
            x, y = read[f"{below}{path}"][...], other[path][...]
            assert x.dtype == y.dtype
            assert repr(x.tolist()) == repr(y.tolist()), path
            count += 1
    return count


@pytest.mark.parametrize("kind", MAKERS)
def test_members_read_as_the_files_do(kind: str, tmp_path: Path) -> None:
    path = MAKERS[kind](tmp_path / "all.bin", {f"a/{'x' * 120}/{p.name}": p.read_bytes() for p in FILES})
    tree = scanned(path)
    assert sum(same(tree, f"a/{'x' * 120}/{p.name}/", scanned(p)) for p in FILES) > 50
    outside = {s.url for _, n in tree.walk() if isinstance(n, VirtualArray) for s in n.manifest.sources}
    assert {url for url in outside if not url.startswith("joined:")} == {str(path)}


@pytest.mark.parametrize("kind", ["zip", "tar"])
def test_one_member_by_its_url(kind: str, tmp_path: Path) -> None:
    path = MAKERS[kind](tmp_path / "all.bin", {"a/b c.h5": nc(1), "d.h5": nc(2)})
    for name in ("a/b c.h5", "a/b%20c.h5", "/a/b c.h5"):
        tree = scanned(f"{kind}://{name}::{path}")
        assert tree.arrays["v"].manifest.sources[0].url == str(path)
        np.testing.assert_array_equal(opened(tree)["v"][...], np.arange(20))
    with pytest.raises(NotFound, match="no member"):
        scanned(f"{kind}://none.h5::{path}")
    with pytest.raises(BadRequest, match="names a member"):
        scanned(f"{kind}://d.h5::{path}", options=ScanOptions(extra={kind: {"member": "d.h5"}}))
    np.testing.assert_array_equal(opened(f"{kind}://d.h5::{path}")["v"][...], np.arange(20) * 2)


def test_deflated_members(tmp_path: Path) -> None:
    """A chunk that is the whole member is a reference; small arrays are copied; large ones are refused."""
    large = io.BytesIO()
    with h5py.File(large, "w") as f:
        f["v"] = np.random.default_rng(0).normal(size=300_000)
    message = (FIXTURES / "grib" / "gfs.grib2").read_bytes()
    first = message[: struct.unpack(">Q", message[8:16])[0]]
    members = {"small.h5": nc(), "large.h5": large.getvalue(), "one.grib2": first, "two.grib2.gz": gzip.compress(first)}
    (tmp_path / "one.grib2").write_bytes(first)
    tree = scanned(
        zipped(tmp_path / "a.zip", {k: v for k, v in members.items() if k != "two.grib2.gz"}, zipfile.ZIP_DEFLATED)
    )
    assert refusals(tree) == {"large.h5/v": "compressed-member"}
    assert same(tree, "one.grib2/", scanned(tmp_path / "one.grib2")) > 1
    assert {i.path: i.status for i in tree.report}["small.h5/v"] == "inlined"
    codecs = {e.codecs[-1].name for _, n in tree.walk() if isinstance(n, VirtualArray) for e in n.meta.encodings}
    assert "numcodecs.deflate" in codecs
    stored = scanned(tarred(tmp_path / "a.tar", members))
    assert same(stored, "two.grib2.gz/", scanned(tmp_path / "one.grib2")) > 1
    (tmp_path / "one.grib2.gz").write_bytes(gzip.compress(first[:0]) + gzip.compress(first))
    alone = scanned(tmp_path / "one.grib2.gz")
    assert same(alone, "", scanned(tmp_path / "one.grib2")) > 1
    ba.write(alone, tmp_path / "m.json")
    assert same(ba.load(tmp_path / "m.json"), "", scanned(tmp_path / "one.grib2")) > 1


def test_members_name_members_and_nothing_else(tmp_path: Path) -> None:
    made = io.BytesIO()
    with h5py.File(made, "w") as f:
        f["inside"] = h5py.ExternalLink("b.h5", "/v")
        f["gone"] = h5py.ExternalLink("c.h5", "/v")
        f["out"] = h5py.ExternalLink(str(tmp_path / "b.h5"), "/v")
        f["up"] = h5py.ExternalLink("../../b.h5", "/v")
    (tmp_path / "b.h5").write_bytes(nc(7))
    tree = scanned(zipped(tmp_path / "a.zip", {"a/a.h5": made.getvalue(), "a/b.h5": nc(5)}))
    assert set(refusals(tree)) == {"a/a.h5/gone", "a/a.h5/out", "a/a.h5/up"}
    np.testing.assert_array_equal(opened(tree)["a/a.h5/inside"][...], np.arange(20) * 5)


def test_what_members_are_refused(tmp_path: Path) -> None:
    inner = zipped(tmp_path / "inner.zip", {"a.h5": nc()}).read_bytes()
    members = {
        "README": b"hello",
        "../up.h5": nc(),
        "inner.zip": inner,
        "empty.h5": b"",
        "ok.h5": nc(),
        "ok.h5/below": nc(),
    }
    tree = scanned(zipped(tmp_path / "a.zip", members))
    found = {
        "README": "format",
        "../up.h5": "name",
        "inner.zip": "layout",
        "empty.h5": "corrupt",
        "ok.h5/below": "name",
    }
    assert refusals(tree) == found
    where = next(item.detail for item in tree.report if item.path == "inner.zip").partition("window=(")[2].rstrip(")")
    start, length = map(int, where.split(","))
    again = scanned(tmp_path / "a.zip", window=(start, length))
    np.testing.assert_array_equal(opened(again)["a.h5/v"][...], np.arange(20) * 3)


def test_the_last_of_a_name_counts(tmp_path: Path) -> None:
    with tarfile.open(tmp_path / "a.tar", "w") as archive:
        for value in (1, 2):
            info = tarfile.TarInfo("a.h5")
            data = nc(value)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    tree = scanned(tmp_path / "a.tar")
    np.testing.assert_array_equal(opened(tree)["a.h5/v"][...], np.arange(20) * 2)
    assert any(item.status == "incomplete" and "same name" in item.detail for item in tree.report)


def test_zip_directories_of_every_kind(tmp_path: Path) -> None:
    data = nc()
    path = tmp_path / "a.zip"
    with zipfile.ZipFile(path, "w") as archive:
        with archive.open(zipfile.ZipInfo("large.h5", EPOCH), "w", force_zip64=True) as member:
            member.write(data)
        archive.comment = b"PK\x05\x06 is no end record" + bytes(40)
    for front in (b"", b"#!/bin/sh\n" * 7):
        (tmp_path / "b.zip").write_bytes(front + path.read_bytes())
        tree = scanned(tmp_path / "b.zip", format="zip")
        np.testing.assert_array_equal(opened(tree)["large.h5/v"][...], np.arange(20) * 3)


def test_zip64_end_records(tmp_path: Path) -> None:
    """As written for more than 65,535 members, or 4 GiB."""
    raw = zipped(tmp_path / "a.zip", {"a.h5": nc()}).read_bytes()
    at = raw.rindex(b"PK\x05\x06")
    count, length, offset = struct.unpack_from("<HLL", raw, at + 10)
    end64 = struct.pack("<4sQ2H2L4Q", b"PK\x06\x06", 44, 45, 45, 0, 0, count, count, length, offset)
    locator = struct.pack("<4sLQL", b"PK\x06\x07", 0, at, 1)
    end = struct.pack("<4s4H2LH", b"PK\x05\x06", 0, 0, 0xFFFF, 0xFFFF, 0xFFFFFFFF, 0xFFFFFFFF, 0)
    (tmp_path / "b.zip").write_bytes(raw[:at] + end64 + locator + end)
    assert zipfile.ZipFile(tmp_path / "b.zip").namelist() == ["a.h5"]
    assert not refusals(scanned(tmp_path / "b.zip"))


def patched(path: Path, at: int, new: bytes, mark: bytes = b"PK\x01\x02") -> Path:
    raw = bytearray(path.read_bytes())
    begin = raw.rindex(mark) + at
    raw[begin : begin + len(new)] = new
    path.write_bytes(bytes(raw))
    return path


@pytest.mark.parametrize(
    ("at", "new", "reason"),
    [
        (8, b"\x01", "compressed-member"),  # encrypted
        (10, b"\x0c", "corrupt"),  # another method than in the local header
        (20, b"\xff\xff\xff\x7f", "corrupt"),  # beyond the archive
        (42, b"\x10\x00\x00\x00", "corrupt"),  # no local header there
    ],
)
def test_directories_that_lie(at: int, new: bytes, reason: str, tmp_path: Path) -> None:
    path = patched(zipped(tmp_path / "a.zip", {"a.h5": nc(1), "b.h5": nc(2)}), at, new)
    tree = scanned(path)
    assert refusals(tree) == {"b.h5": reason}
    assert "a.h5" in tree.groups


def test_no_member_is_sound(tmp_path: Path) -> None:
    path = patched(zipped(tmp_path / "a.zip", {"a.h5": nc(1)}), 8, b"\x01")
    assert refusals(scanned(path)) == {"a.h5": "compressed-member"}
    assert not scanned(zipped(tmp_path / "none.zip", {})).groups


def test_members_that_overlap(tmp_path: Path) -> None:
    """A member inside of another one's bytes, as in bombs that are small."""
    data = nc(2)
    head = struct.pack("<4s5H3L2H", b"PK\x03\x04", 20, 0, 0, 0, 33, zlib.crc32(data), len(data), len(data), 4, 0)
    path = zipped(tmp_path / "a.zip", {"a.h5": head + b"b.h5" + data, "c.h5": nc(3)})
    raw = path.read_bytes()
    at, end = raw.index(b"PK\x01\x02"), raw.rindex(b"PK\x05\x06")
    sizes = struct.pack("<3L", zlib.crc32(data), len(data), len(data))
    first = raw[at : at + 46]
    entry = first[:16] + sizes + first[28:42] + struct.pack("<L", 34) + b"b.h5"
    last = struct.pack("<4s4H2LH", b"PK\x05\x06", 0, 0, 3, 3, end - at + len(entry), at, 0)
    path.write_bytes(raw[:end] + entry + last)
    assert zipfile.ZipFile(path).namelist() == ["a.h5", "c.h5", "b.h5"]
    tree = scanned(path)
    assert refusals(tree) == {"a.h5": "corrupt"}
    np.testing.assert_array_equal(opened(tree)["b.h5/v"][...], np.arange(20) * 2)


def test_bombs(tmp_path: Path) -> None:
    bomb = zipped(tmp_path / "a.zip", {"a.h5": bytes(300 << 20), "b.h5": nc()}, zipfile.ZIP_DEFLATED)
    assert refusals(scanned(bomb)) == {"a.h5": "compressed-member"}
    lying = patched(zipped(tmp_path / "b.zip", {"b.h5": bytes(1 << 20)}, zipfile.ZIP_DEFLATED), 24, b"\x10\0\0\0")
    assert refusals(scanned(lying)) == {"b.h5": "corrupt"}
    (tmp_path / "a.nc.gz").write_bytes(gzip.compress(bytes(300 << 20), 1))
    with pytest.raises(Unsupported, match="too large to look into; unpack it"):
        scanned(tmp_path / "a.nc.gz")


def test_archives_that_are_cut_off(tmp_path: Path) -> None:
    whole = zipped(tmp_path / "a.zip", {"a.h5": nc()}).read_bytes()
    (tmp_path / "b.zip").write_bytes(whole[:-30])
    with pytest.raises(CorruptFile, match="no directory"):
        scanned(tmp_path / "b.zip")
    packed = gzip.compress(nc())
    (tmp_path / "a.h5.gz").write_bytes(packed[:-20])
    with pytest.raises(CorruptFile, match="gzip"):
        scanned(tmp_path / "a.h5.gz")
    chain = tarred(tmp_path / "a.tar", {"a.h5": nc(1), "b.h5": nc(2)}).read_bytes()
    (tmp_path / "b.tar").write_bytes(chain[: 512 + len(nc(1)) + 512 + 100])
    tree = scanned(tmp_path / "b.tar")
    assert "a.h5" in tree.groups
    assert [item.status for item in tree.report if item.path == "/"] == ["incomplete"]


def test_links_and_holes_of_tar(tmp_path: Path) -> None:
    with tarfile.open(tmp_path / "a.tar", "w", format=tarfile.PAX_FORMAT) as archive:
        info = tarfile.TarInfo("link.h5")
        info.type, info.linkname = tarfile.SYMTYPE, "/etc/passwd"
        archive.addfile(info)
        holes = tarfile.TarInfo("sparse.h5")
        holes.size, holes.pax_headers = 512, {"GNU.sparse.major": "1", "GNU.sparse.minor": "0"}
        archive.addfile(holes, io.BytesIO(bytes(512)))
        folder = tarfile.TarInfo("folder")
        folder.type = tarfile.DIRTYPE
        archive.addfile(folder)
        real = tarfile.TarInfo("./ok.h5")
        real.size = len(nc())
        archive.addfile(real, io.BytesIO(nc()))
    tree = scanned(tmp_path / "a.tar")
    assert refusals(tree) == {"link.h5": "link", "sparse.h5": "layout"}
    assert list(tree.groups) == ["ok.h5"]


def test_stores_stay_stores(tmp_path: Path) -> None:
    tree = scanned(zipped(tmp_path / "a.zip", {"a.h5": nc()}))
    ba.copy(tree, tmp_path / "store.zip")
    store: Any = ba.open(tmp_path / "store.zip")
    np.testing.assert_array_equal(store["a.h5/v"][...], np.arange(20) * 3)
    with pytest.raises(Unsupported, match="a Zarr store: open it"):
        scanned(tmp_path / "store.zip")
    archive: Any = ba.open(tmp_path / "a.zip")
    np.testing.assert_array_equal(archive["a.h5/v"][...], np.arange(20) * 3)


def test_remote_archives_take_few_rounds(tmp_path: Path) -> None:
    import fsspec

    data = zipped(tmp_path / "a.zip", {f"{k:03}.h5": nc(k) for k in range(100)}).read_bytes()
    with fsspec.open("memory://members/a.zip", "wb") as file:
        file.write(data)
    tree = scanned("zip://007.h5::memory://members/a.zip")
    assert tree.arrays["v"].manifest.sources[0].url == "memory://members/a.zip"
    np.testing.assert_array_equal(opened(tree)["v"][...], np.arange(20) * 7)
    assert len(scanned("memory://members/a.zip").groups) == 100
