"""Operations on maps: rename, inline, deinline, archives, split, diff, stats."""

from __future__ import annotations

import io
import struct
import tarfile
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.maps import array, references, same

from byteatlas.array import Array, open_node
from byteatlas.errors import BadRequest, CorruptFile, FetchFailed, NotFound, Unsupported
from byteatlas.io.open import SourcePool
from byteatlas.io.sources.memory import MemorySource
from byteatlas.manifest.model import Inline, Remote, VirtualArray, VirtualGroup
from byteatlas.manifest.ops.archive import dereference_archives, split_member, tar_members, zip_members
from byteatlas.manifest.ops.diff import diff
from byteatlas.manifest.ops.inline import InlineOptions, deinline, inline
from byteatlas.manifest.ops.rename import Rename, rename_sources
from byteatlas.manifest.ops.split import only, split_along, split_arrays, split_groups
from byteatlas.manifest.ops.stats import array_stats, cost, stats
from byteatlas.types import ByteRange

VALUES = np.arange(48, dtype="<f4").reshape(8, 6)


@pytest.fixture
def tree(tmp_path: Path) -> VirtualGroup:
    """``x`` (8, 6) in chunks of (2, 3), stored chunk by chunk in a file; ``g/t`` (8,) in one chunk of another."""
    blocks = [VALUES[i : i + 2, j : j + 3] for i in range(0, 8, 2) for j in range(0, 6, 3)]
    (tmp_path / "x.bin").write_bytes(bytes(100) + b"".join(b.tobytes() for b in blocks))
    (tmp_path / "t.bin").write_bytes(bytes(100) + np.arange(8, dtype="<f4").tobytes())
    x = array((8, 6), (2, 3), url=str(tmp_path / "x.bin"), dimension_names=("t", "y"))
    t = array((8,), (8,), url=str(tmp_path / "t.bin"), dimension_names=("t",))
    return VirtualGroup(arrays={"x": x}, groups={"g": VirtualGroup(arrays={"t": t})})


def values(node: VirtualGroup, path: str) -> Any:
    found = open_node(node, path=path)
    assert isinstance(found, Array)
    return found[...]


def test_rename_by_prefix_and_pattern(tree: VirtualGroup) -> None:
    how = Rename({"/": "s3://all/", "/tmp": "s3://bucket/tmp"}, pattern=r"/([a-z])\.bin$", replacement=r"/new-\1.nc")
    moved = rename_sources(tree, how)
    assert isinstance(moved, VirtualGroup)
    (url,) = {s.url for s in moved.arrays["x"].manifest.load().sources}
    assert url.startswith("s3://bucket/tmp")
    assert url.endswith("/new-x.nc")
    with pytest.raises(BadRequest, match="regular expression"):
        rename_sources(tree, Rename(pattern="("))
    with pytest.raises(BadRequest, match="regular expression"):
        rename_sources(tree, Rename(pattern="a", replacement=r"\9"))


def test_inline_and_back(tree: VirtualGroup, tmp_path: Path) -> None:
    inside = inline(tree, SourcePool(), InlineOptions(below=25))
    assert isinstance(inside, VirtualGroup)
    assert all(isinstance(r, Inline) for r in references(inside.arrays["x"]).values())
    assert all(isinstance(r, Remote) for r in references(inside.groups["g"].arrays["t"]).values())
    np.testing.assert_array_equal(values(inside, "x"), VALUES)
    whole = inline(tree, SourcePool(), InlineOptions(below=0, whole_arrays=33))
    assert isinstance(whole, VirtualGroup)
    assert all(isinstance(r, Inline) for r in references(whole.groups["g"].arrays["t"]).values())
    with pytest.raises(BadRequest, match="more than 100 bytes"):
        inline(tree, SourcePool(), InlineOptions(most=100))
    (tmp_path / "x.bin").unlink()
    np.testing.assert_array_equal(values(inside, "x"), VALUES)
    with pytest.raises(FetchFailed):
        inline(tree, SourcePool())
    side = tmp_path / "side.bin"
    with side.open("wb") as sink:
        outside = deinline(inside, sink, str(side))
    assert isinstance(outside, VirtualGroup)
    assert all(isinstance(r, Remote) for r in references(outside.arrays["x"]).values())
    np.testing.assert_array_equal(values(outside, "x"), VALUES)
    assert side.stat().st_size == VALUES.nbytes


def zipped(*, zip64: bool = False, method: int = zipfile.ZIP_STORED, extra: bytes = b"") -> bytes:
    """An archive with ``dir/a b.bin`` (0 to 255) behind another member."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as archive:
        archive.writestr("first", b"12345")
        info = zipfile.ZipInfo("dir/a b.bin")
        info.compress_type = method
        info.extra = extra
        with archive.open(info, "w", force_zip64=zip64) as member:
            member.write(bytes(range(256)))
    return out.getvalue()


@pytest.mark.parametrize("zip64", [False, True])
@pytest.mark.parametrize("extra", [b"", struct.pack("<HH", 0xCAFE, 40) + bytes(40)])
def test_zip_members(zip64: bool, extra: bytes) -> None:
    data = zipped(zip64=zip64, extra=extra)
    where = zip_members(MemorySource(data))["dir/a b.bin"]().range
    assert where is not None
    assert data[where.offset : where.end] == bytes(range(256))


def test_zip_whose_local_extra_field_differs() -> None:
    """Writers pad local headers to align data: only the local header says where the bytes begin."""
    data = bytearray(zipped())
    at = data.index(b"PK\x03\x04", 4)
    name = struct.unpack_from("<H", data, at + 26)[0]
    padding = struct.pack("<HH", 0xD935, 60) + bytes(60)
    struct.pack_into("<H", data, at + 28, len(padding))
    data[at + 30 + name : at + 30 + name] = padding
    end = data.rindex(b"PK\x05\x06")
    struct.pack_into("<I", data, end + 16, struct.unpack_from("<I", data, end + 16)[0] + len(padding))
    where = zip_members(MemorySource(bytes(data)))["dir/a b.bin"]().range
    assert where is not None
    assert data[where.offset : where.end] == bytes(range(256))


def test_zip_members_that_are_not_plain_bytes() -> None:
    member = zip_members(MemorySource(zipped(method=zipfile.ZIP_DEFLATED)))["dir/a b.bin"]()
    assert member.range is None
    assert "compressed" in member.why
    with pytest.raises(CorruptFile):
        zip_members(MemorySource(zipped()[:-10]))
    with pytest.raises(CorruptFile):
        zip_members(MemorySource(b"not a zip"))


@pytest.mark.parametrize("form", [tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT])
def test_tar_members(form: int) -> None:
    name = "dir/" + ("long" * 40 if form != tarfile.USTAR_FORMAT else "short") + ".bin"
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=form) as archive:
        for payload in (b"old", bytes(range(200))):  # the last of a name counts
            info = tarfile.TarInfo(name)
            info.size = len(payload)
            archive.addfile(info, io.BytesIO(payload))
    data = out.getvalue()
    where = tar_members(MemorySource(data))[name]().range
    assert where is not None
    assert data[where.offset : where.end] == bytes(range(200))
    with pytest.raises(CorruptFile):
        tar_members(MemorySource(b"not a tar archive" * 100))


def test_references_into_archives(tmp_path: Path) -> None:
    (tmp_path / "a.zip").write_bytes(zipped())
    url = f"zip://dir/a b.bin::{tmp_path}/a.zip"
    refs = {(0,): (url, 16, 16), (1,): (url, 0, 16)}
    x = array((8,), (4,), "<i4", references=refs)
    tree = dereference_archives(VirtualGroup(arrays={"x": x}), SourcePool())
    assert isinstance(tree, VirtualGroup)
    (moved,) = only(tree, ["x"]).arrays.values()
    assert {r.url for r in references(moved).values() if isinstance(r, Remote)} == {f"{tmp_path}/a.zip"}
    expected = np.frombuffer(bytes(range(16, 32)) + bytes(range(16)), "<i4")
    np.testing.assert_array_equal(open_node(moved)[...], expected)  # type: ignore[index]
    whole = array((64,), (64,), "<i4", references={(0,): (url,)})
    found = dereference_archives(whole, SourcePool())
    assert isinstance(found, VirtualArray)
    np.testing.assert_array_equal(open_node(found)[...], np.frombuffer(bytes(range(256)), "<i4"))  # type: ignore[index]
    beyond = array((4,), (4,), "<i4", references={(0,): (url, 250, 16)})
    with pytest.raises(CorruptFile, match="beyond"):
        dereference_archives(beyond, SourcePool())
    absent = array((4,), (4,), "<i4", references={(0,): (url.replace("a b", "c"), 0, 16)})
    with pytest.raises(NotFound):
        dereference_archives(absent, SourcePool())
    (tmp_path / "a.zip").write_bytes(zipped(method=zipfile.ZIP_DEFLATED))
    with pytest.raises(Unsupported, match="compressed"):
        dereference_archives(whole, SourcePool())


def test_archive_urls() -> None:
    assert split_member("zip:///a/b::file:///x.zip") == ("zip", "a/b", "/x.zip")
    assert split_member("tar://a::s3://b/c.tar") == ("tar", "a", "s3://b/c.tar")
    assert split_member("s3://b/c") is None
    assert split_member("simplecache::s3://b/c") is None


def test_split_by_array_and_group(tree: VirtualGroup) -> None:
    pieces = split_arrays(tree)
    assert list(pieces) == ["x", "g/t"]
    assert [p for p, _ in pieces["g/t"].walk()] == ["g", "g/t"]
    assert list(split_groups(tree)) == ["", "g"]
    with pytest.raises(NotFound, match="no array 'y'"):
        only(tree, ["y"])


def test_split_along_a_dimension(tree: VirtualGroup) -> None:
    part = only(tree, ["x"])
    pieces = list(split_along(part, "t", 4))
    assert len(pieces) == 2
    for i, piece in enumerate(pieces):
        np.testing.assert_array_equal(values(piece, "x"), VALUES[4 * i : 4 * i + 4])
        loaded = VirtualArray(piece.arrays["x"].meta, piece.arrays["x"].manifest.load())
        same(loaded, piece.arrays["x"])
    assert [p.arrays["x"].meta.shape for p in split_along(part, "y", 3)] == [(8, 3), (8, 3)]
    with pytest.raises(BadRequest, match="x: no chunk begins"):
        list(split_along(part, "t", 3))
    with pytest.raises(BadRequest, match=r"g/t: no chunk"):
        list(split_along(tree, "t", 4))
    with pytest.raises(NotFound):
        list(split_along(tree, "z", 4))


def test_diff_tells_types_apart() -> None:
    one, two = (VirtualGroup(arrays={"x": array((1,), (1,), attributes={"n": [n]})}) for n in (1, 1.0))
    (found,) = diff(one, two)
    assert (found.what, found.first, found.second) == ("attribute n", "[1]", "[1.0]")


def test_diff(tree: VirtualGroup) -> None:
    assert list(diff(tree, tree)) == []
    other = VirtualGroup(
        arrays={
            "x": array((8, 6), (2, 3), url="/elsewhere", attributes={"units": "K"}, dimension_names=("t", "y")),
            "new": array((1,), (1,)),
        },
        groups={"g": VirtualGroup()},
    )
    found = {(d.path, d.what): d for d in diff(tree, other)}
    assert set(found) == {
        ("g/t", "only in the first"),
        ("new", "only in the second"),
        ("x", "attribute units"),
        ("x", "chunks"),
    }
    assert found["x", "chunks"].first.startswith("8 of 8 differ, first: (0, 0)")
    assert found["x", "attribute units"].second == "K"
    refs = {(0,): b"abc", (1,): ("/a", 0, 8)}
    a = array((4,), (2,), references=refs)
    assert [d.what for d in diff(a, array((4,), (2,), references={**refs, (0,): b"abd"}))] == ["chunks"]
    assert [d.what for d in diff(a, array((4,), (2,), references={(0,): b"abc"}))] == ["chunks"]
    assert list(diff(a, array((4,), (2,), references=dict(reversed(refs.items()))))) == []
    assert {d.what for d in diff(a, array((6,), (2,)))} == {"shape"}
    assert [d.what for d in diff(a, tree)] == ["kind"] or {d.what for d in diff(a, tree)} >= {"kind"}


def test_stats_and_cost() -> None:
    refs = {
        (0, 0): ("/a", 0, 100),
        (0, 1): ("/a", 150, 50),
        (1, 0): ("/a", 10_000_000, 7),
        (1, 1): b"abc",
        (2, 0): ("/b", 0, 64),
        (3, 0): ("/c",),
    }
    x = array((8, 6), (2, 3), references=refs)
    found = array_stats("x", x)
    assert (found.chunks, found.present, found.missing, found.inline, found.whole) == (8, 6, 2, 1, 1)
    assert (found.stored, found.smallest, found.largest, found.sources) == (224, 3, 100, 3)
    assert found.logical == 8 * 6 * 4
    assert found.histogram == {1: 1, 2: 1, 5: 1, 6: 2}
    assert found.ratio == pytest.approx(192 / 224)
    assert [s.path for s in stats(VirtualGroup(arrays={"x": x}))] == ["x"]
    first = cost(x, [slice(0, 2)])
    assert (first.chunks, first.requests, first.stored, first.fetched) == (2, 1, 150, 200)
    assert cost(x, [slice(0, 2)], gap=10).requests == 2
    assert cost(x, [slice(2, 4)]).inline == 1
    whole = cost(x, [])
    assert (whole.chunks, whole.missing, whole.inline, whole.requests, whole.sources) == (8, 2, 1, 4, 3)
    assert cost(x, [slice(3, 3)]).chunks == 0
    with pytest.raises(BadRequest):
        cost(x, [slice(None)] * 3)
    assert ByteRange(0, 1).end == 1


def test_arrays_inside_records_keep_their_fill_values(tmp_path: Path) -> None:
    from dataclasses import replace

    from byteatlas.manifest.references import read_references, write_references
    from byteatlas.meta.dtypes import from_v3
    from byteatlas.meta.model import CodecSpec, Encoding

    inner = {"name": "byteatlas.subarray", "configuration": {"data_type": "int16", "shape": [2, 3]}}
    kind = from_v3({"name": "struct", "configuration": {"fields": [{"name": "a", "data_type": inner}]}})
    fill = np.zeros((), kind.numpy)
    fill["a"] = [[1, 2, 3], [4, 5, 60]]
    x = array((4,), (2,), "<i2", references={})
    codec = CodecSpec("byteatlas.nobody-knows")
    meta = replace(x.meta, data_type=kind, fill_value=fill[()], encodings=(Encoding((codec,)),), zarr_format=3)
    write_references(VirtualArray(meta, x.manifest), tmp_path / "m.json")
    found = read_references(tmp_path / "m.json")
    assert isinstance(found, VirtualArray)
    assert np.asarray(found.meta.fill_value)["a"].tolist() == [[1, 2, 3], [4, 5, 60]]
