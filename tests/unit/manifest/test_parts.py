"""Chunks of several ranges, numbers for each chunk, files inside of others: from manifest to values."""

from __future__ import annotations

import io
import tarfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.places import FIXTURES

import byteatlas as ba
from byteatlas.errors import BadRequest, FetchFailed, Forbidden, SourceChanged, Unsupported
from byteatlas.io.open import SourcePool
from byteatlas.io.sources.memory import MemorySource
from byteatlas.io.sources.parts import CONSTANT, SourceWindow
from byteatlas.manifest.kinds.joined import JoinedInfo, joined_chunks
from byteatlas.manifest.kinds.parameters import ParameterColumn, with_parameters
from byteatlas.manifest.model import SourceInfo, VirtualArray, VirtualGroup, single_source
from byteatlas.manifest.ops.inline import InlineOptions, inline
from byteatlas.manifest.origin import marked
from byteatlas.meta.dtypes import from_numpy
from byteatlas.meta.model import ArrayMeta, CodecSpec, Encoding, GroupMeta, RegularGrid
from byteatlas.scanning.contract import ScanOptions
from byteatlas.scanning.driver import run, scan_source
from byteatlas.scanning.inline import inline_small
from byteatlas.scanning.plugins import installed
from byteatlas.types import ByteRange

LITTLE = (CodecSpec("bytes", {"endian": "little"}),)


def meta(shape: tuple[int, ...], chunk: tuple[int, ...], dtype: str = "i4", **more: Any) -> ArrayMeta:
    encodings = (Encoding(more.pop("codecs", LITTLE)),)
    return ArrayMeta(shape, from_numpy(np.dtype(dtype)), RegularGrid(chunk), encodings, zarr_format=3, **more)


def ints(*values: int) -> np.ndarray[Any, np.dtype[np.int64]]:
    return np.array(values, np.int64)


@pytest.fixture
def pieces(tmp_path: Path) -> VirtualGroup:
    """Chunks of two ranges of one file, of a constant head and a range of another file, and one that is missing."""
    (tmp_path / "a").write_bytes(np.arange(8, dtype="<i4").tobytes())
    (tmp_path / "b").write_bytes(np.arange(100, 108, dtype="<i4").tobytes())
    files = [SourceInfo(str(tmp_path / n), 32) for n in "ab"]
    manifest = joined_chunks(
        (3,), files, ints(0, 0, 1, 1), np.array([0, 0, CONSTANT, 1], np.int32), ints(24, 4, 0, 8), ints(8, 8, 4, 12),
        np.array([-7], "<i4").tobytes(),
    )  # fmt: skip
    array = VirtualArray(meta((12,), (4,), fill_value=np.int32(-1)), manifest)
    return VirtualGroup(GroupMeta(zarr_format=3), {"v": array})


VALUES = [6, 7, 1, 2, -7, 102, 103, 104, -1, -1, -1, -1]


def test_chunks_of_several_ranges_read(pieces: VirtualGroup) -> None:
    array: Any = ba.open(pieces)
    assert array["v"][...].tolist() == VALUES
    assert array["v"][3:6].tolist() == VALUES[3:6]
    assert array["v"][::-5].tolist() == VALUES[::-5]


def test_reference_maps_refuse_them_until_they_are_inlined(pieces: VirtualGroup, tmp_path: Path) -> None:
    for name in ("m.json", "m.parquet"):
        with pytest.raises(Unsupported, match="v has chunks of several byte ranges"):
            ba.write(pieces, tmp_path / name)
        assert not (tmp_path / name).exists()
    copied = inline(pieces, SourcePool(), InlineOptions(below=1 << 20))
    ba.write(copied, tmp_path / "m.json")
    root: Any = ba.open(tmp_path / "m.json")
    assert root["v"][...].tolist() == VALUES


def test_scans_inline_them(pieces: VirtualGroup, tmp_path: Path) -> None:
    main = SourceInfo(str(tmp_path / "a"), 32)
    copied = run(inline_small(pieces, 1 << 20, main), SourcePool()(main.url), SourcePool())
    assert not copied.arrays["v"].manifest.sources
    array: Any = ba.open(copied)
    assert array["v"][...].tolist() == VALUES
    (tmp_path / "b").unlink()
    left = run(inline_small(pieces, 1 << 20, main), SourcePool()(main.url), SourcePool())
    assert left.arrays["v"].manifest.sources


def test_parts_are_trusted_as_files_are(pieces: VirtualGroup, tmp_path: Path) -> None:
    remote = marked(pieces, "https://host/a.grib")
    assert isinstance(remote, VirtualGroup)
    (info,) = remote.arrays["v"].manifest.sources
    assert isinstance(info, JoinedInfo)
    assert [f.foreign for f in info.files] == [True, True]
    array: Any = ba.open(remote)
    with pytest.raises(Forbidden):
        array["v"][...]


def test_parts_that_are_gone_or_changed_are_errors(pieces: VirtualGroup, tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(bytes(31))
    array: Any = ba.open(pieces)
    with pytest.raises(SourceChanged):
        array["v"][...]
    (tmp_path / "a").unlink()
    array = ba.open(pieces)
    with pytest.raises(FetchFailed):
        array["v"][...]


def test_equal_parts_are_the_same_source() -> None:
    def made(offset: int) -> SourceInfo:
        columns = ints(0), np.zeros(1, np.int32), ints(offset), ints(4)
        return joined_chunks((1,), [SourceInfo("a")], *columns).sources[0]

    assert made(3) == made(3)
    assert made(3) != made(4)


@pytest.mark.parametrize(
    ("chunk", "source", "offset", "length"),
    [
        (ints(1, 0), [0, 0], ints(0, 0), ints(1, 1)),
        (ints(0, 3), [0, 0], ints(0, 0), ints(1, 1)),
        (ints(0, 1), [0, 1], ints(0, 0), ints(1, 1)),
        (ints(0, 1), [0, 0], ints(0, -1), ints(1, 1)),
        (ints(0, 1), [0, 0], ints(0, 0), ints(1, -1)),
        (ints(0), [0, 0], ints(0, 0), ints(1, 1)),
    ],
)
def test_ranges_that_make_no_sense(chunk: Any, source: list[int], offset: Any, length: Any) -> None:
    with pytest.raises(BadRequest):
        joined_chunks((3,), [SourceInfo("a")], chunk, np.array(source, np.int32), offset, length)


# ---------------------------------------------------------------------------------------------- numbers per chunk


def scaled(scale: Any, zero: Any, tmp_path: Path) -> VirtualArray:
    """Six chunks of two packed values each, as FITS' tiles have them."""
    (tmp_path / "packed").write_bytes(np.arange(12, dtype="<i2").tobytes())
    codecs = (
        CodecSpec(
            "numcodecs.fixedscaleoffset",
            {"scale": ParameterColumn("scale"), "offset": ParameterColumn("zero"), "dtype": "<f8", "astype": "<i2"},
        ),
        *LITTLE,
    )
    offset = np.arange(6, dtype=np.uint64) * np.uint64(4)
    manifest = single_source((6,), SourceInfo(str(tmp_path / "packed")), offset, np.full(6, 4, np.uint64))
    return with_parameters(meta((12,), (2,), "f8", codecs=codecs), manifest, {"scale": scale, "zero": zero})


@pytest.mark.parametrize("target", [None, "m.json", "m.parquet"])
def test_each_chunk_has_its_own_numbers(tmp_path: Path, target: str | None) -> None:
    scale = np.array([2.0, 4.0, 2.0, 8.0, 2.0, 0.5])
    zero = np.array([0, 10, 0, 0, 5, 0], "i8")
    array = scaled(scale, zero, tmp_path)
    assert len(array.meta.encodings) == 5  # chunks 0 and 2 have the same numbers
    node: Any = VirtualGroup(GroupMeta(zarr_format=3), {"v": array})
    if target is not None:
        ba.write(node, tmp_path / target)
        node = tmp_path / target
    root: Any = ba.open(node)
    expected = np.arange(12) / scale.repeat(2) + zero.repeat(2)
    np.testing.assert_array_equal(root["v"][...], expected)


def test_one_set_of_numbers_is_one_encoding(tmp_path: Path) -> None:
    array = scaled(np.full(6, 2.0), np.zeros(6), tmp_path)
    assert len(array.meta.encodings) == 1
    assert array.manifest.load().encoding is None


def test_columns_that_are_not_there(tmp_path: Path) -> None:
    with pytest.raises(BadRequest, match="column 'scale': one number for each of 6 chunks"):
        scaled(np.ones(5), np.zeros(6), tmp_path)


def test_too_many_sets_of_numbers() -> None:
    n = 1 << 16
    codecs = (CodecSpec("x", {"k": [ParameterColumn("k")]}), *LITTLE)
    zeros = np.zeros(n, np.uint64)
    manifest = single_source((n,), SourceInfo("a"), zeros, zeros)
    with pytest.raises(Unsupported, match="65536 different"):
        with_parameters(meta((n,), (1,), codecs=codecs), manifest, {"k": np.arange(n)})


# ---------------------------------------------------------------------------------------------- files inside of files


@pytest.mark.parametrize("name", ["hdf5/shared_messages.h5", "netcdf3/cdf5.nc", "tiff/pyramid_be.tif"])
def test_a_file_inside_of_another(tmp_path: Path, name: str) -> None:
    plain = FIXTURES / name
    path = tmp_path / "members.tar"
    with tarfile.open(path, "w") as tar:
        tar.addfile(tarfile.TarInfo("first"), io.BytesIO())
        tar.add(plain, "member")
        member = tar.getmember("member")
    with tarfile.open(path) as tar:
        member = tar.getmember("member")
    source = SourcePool()(str(path))
    window = ByteRange(member.offset_data, member.size)
    inside = scan_source(source, SourcePool(), installed(), ScanOptions(), window=window)
    assert {s.url for _, n in inside.walk() if isinstance(n, VirtualArray) for s in n.manifest.sources} == {str(path)}
    got: Any = ba.open(inside)
    want: Any = ba.open(ba.scan(plain))
    names = [p for p, n in want.walk() if hasattr(n, "shape")]
    assert names == [p for p, n in got.walk() if hasattr(n, "shape")]
    for p in names:
        np.testing.assert_array_equal(got[p][...], want[p][...])


def test_windows_that_are_no_part_of_the_file() -> None:
    source = MemorySource(b"0123456789", "memory://x")
    for window in (ByteRange(5, 6), ByteRange(-1, 2)):
        with pytest.raises(BadRequest, match="not a part"):
            scan_source(source, SourcePool(), installed(), ScanOptions(), window=window)
    part = SourceWindow(source, 2, 5)
    assert bytes(part.read_all()) == b"23456"
    with pytest.raises(FetchFailed):
        part.read([ByteRange(4, 2)])
