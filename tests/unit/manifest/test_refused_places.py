"""Maps that are not written, places that are not replaced, part files that are none: class, place and reason."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from tests.maps import array

from byteatlas.errors import BadRequest, BadSelection, Conflict, Forbidden, InvalidMetadata, NotFound
from byteatlas.io.sources.open_file import OPEN_FILE
from byteatlas.manifest.kinds import sparse
from byteatlas.manifest.kinds.strided import Strided
from byteatlas.manifest.model import SourceInfo, VirtualGroup
from byteatlas.manifest.ops.rename import Rename
from byteatlas.manifest.ops.side_file import side_file
from byteatlas.manifest.ops.stats import check_bounds
from byteatlas.manifest.origin import check_written
from byteatlas.manifest.parquet.arrow import inline_values, integers
from byteatlas.manifest.parquet.pages import _Compact, _footer, _pages, check_expanded, check_types
from byteatlas.manifest.references import write_references
from byteatlas.manifest.targets import check_not_source, check_there
from byteatlas.values import replace

GROUP = VirtualGroup(arrays={"x": array((8,), (4,))})


def sources(**changes: Any) -> VirtualGroup:
    """The group, with other facts of its source."""
    found = GROUP.arrays["x"]
    columns = found.manifest.load()
    infos = tuple(replace(info, **changes) for info in columns.sources)
    return VirtualGroup(arrays={"x": replace(found, manifest=replace(columns, sources=infos))})


# ------------------------------------------------------------------------------------------------ places


def test_what_is_there_is_not_replaced(tmp_path: Path) -> None:
    (tmp_path / "text.json").write_text("hello")
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "data.txt").write_text("hello")
    places: Mapping[str, tuple[str, Any, str]] = {
        "text": ("text.json", "json", " is there and is no reference map: it is not replaced"),
        "folder": ("folder", "json", " is a folder, and a map of this form is a file"),
        "DMR++": ("folder", "dmrpp", " is a folder, and a map of this form is a file"),
        "Icechunk": ("folder", "icechunk", " is a folder with files in it, and no Icechunk repository"),
        "Parquet": ("folder", "parquet", " is a folder with something else than a Parquet map in it (data.txt): "),
        "file": ("text.json", "parquet", " is a file, and a map of this form is a folder"),
    }
    for name, form, why in places.values():
        url = str(tmp_path / name)
        with pytest.raises(Conflict) as refused:
            check_there(url, form)
        assert f"{url}{why}" in str(refused.value)
        with pytest.raises(Conflict):
            write_references(GROUP, url, format=form)
    assert (tmp_path / "text.json").read_text() == "hello"
    assert [path.name for path in (tmp_path / "folder").iterdir()] == ["data.txt"]


def test_a_map_is_not_written_over_its_data(tmp_path: Path) -> None:
    data = tmp_path / "a.json"
    data.write_bytes(bytes(200))
    (tmp_path / "link.json").symlink_to(data)
    group = VirtualGroup(arrays={"x": array((8,), (4,), url=str(data))})
    for name in ("a.json", "link.json"):
        with pytest.raises(BadRequest) as refused:
            check_not_source(group, str(tmp_path / name))
        assert f"x has its bytes in {tmp_path / name}: a map there would replace them" in str(refused.value)
        with pytest.raises(BadRequest):
            write_references(group, str(tmp_path / name))
    assert data.read_bytes() == bytes(200)


def test_side_files_that_are_something_else(tmp_path: Path) -> None:
    owner, side = str(tmp_path / "m.json"), tmp_path / "m.json.data"
    with (
        pytest.raises(BadRequest, match=r" is the map itself: its side file is another file$"),
        side_file(owner, GROUP, owner=owner),
    ):
        pass
    data = tmp_path / "a.bin"
    data.write_bytes(bytes(200))
    led = VirtualGroup(arrays={"x": array((8,), (4,), url=str(data))})
    with (
        pytest.raises(BadRequest, match=r"^the map leads to .* already: choose another side file$"),
        side_file(str(data), led, owner=owner),
    ):
        pass
    side.write_bytes(b"not ours")
    with (
        pytest.raises(Conflict, match=r" is there and is no side file of the map: it is not replaced"),
        side_file(str(side), GROUP, owner=owner) as sink,
    ):
        sink.write(b"other")
    assert side.read_bytes() == b"not ours"


# ------------------------------------------------------------------------------------------------ what is written


def test_references_that_others_cannot_use() -> None:
    with pytest.raises(BadRequest) as unnamed:
        check_written(sources(url=f"{OPEN_FILE}://1/a.nc"))
    assert "its bytes are in an open file, which has no name that a map could give" in str(unnamed.value)
    check_written(sources(url="/data/a.nc"))
    with pytest.raises(Forbidden) as refused:
        check_written(sources(url="/data/a.nc", foreign=True))
    assert "x came from the network and refers to it; a map written here could read it" in str(refused.value)


def test_grids_that_are_not_written(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sparse, "DENSE_LIMIT", 12)
    assert sparse.writable_total((3, 4)) == 12
    with pytest.raises(BadRequest) as refused:
        sparse.writable_total((13,))
    assert str(refused.value) == "a grid of 13 chunks is too large to be written as a map"


@pytest.mark.parametrize(("name", "words"), [
    ("icechunk://a", "names an Icechunk repository, and the format is 'json'"),
    ("icechunk://a@tag=x", "names an Icechunk repository, and the format is 'json'"),
])  # fmt: skip
def test_repositories_are_no_files(name: str, words: str) -> None:
    with pytest.raises(BadRequest, match=words):
        write_references(GROUP, name, format="json")


# ------------------------------------------------------------------------------------------------ operations


def test_prefixes_and_patterns_that_no_source_has() -> None:
    urls = ["/data/a.nc", "/data/b.nc"]
    for rename, why in (
        (Rename({"/old/": "/new/"}), "no source begins with /old/"),
        (Rename(pattern="x[0-9]"), "no source fits the regular expression x[0-9]"),
    ):
        with pytest.raises(NotFound) as refused:
            rename.check_used(urls)
        assert refused.value.what == why
        assert refused.value.known == urls
    Rename({"/data/a": "/b"}, "[ab].nc", "").check_used(urls)


@pytest.mark.parametrize("pattern", ["(", "[", "*", "(?P<a"])
def test_regular_expressions_that_are_none(pattern: str) -> None:
    rename = Rename(pattern=pattern)
    with pytest.raises(BadRequest, match=r"^regular expression '"):
        rename.check_used(["a"])
    with pytest.raises(BadRequest, match=r"^regular expression '"):
        rename.function()


@pytest.mark.parametrize("wanted", [slice(9, None), slice(None, 9), slice(-9, None), slice(None, -9)])
def test_slices_outside_of_an_axis(wanted: slice) -> None:
    with pytest.raises(BadSelection, match=r"^-?9 is outside of axis 2, which has a length of 8$"):
        check_bounds(wanted, 2, 8)
    check_bounds(slice(-8, 8), 2, 8)


def test_strides_for_another_grid() -> None:
    with pytest.raises(BadRequest) as refused:
        Strided((3, 4), SourceInfo("a.nc"), 0, (16,), 8)
    assert str(refused.value) == "strides (16,) for a grid (3, 4)"
    with pytest.raises(NotFound) as missing:
        Strided((3,), SourceInfo("a.nc"), 0, (16,), 8).inline(1)
    assert missing.value.what == "chunk 1 is not inline"


# ------------------------------------------------------------------------------------------------ part files


PAGES: Mapping[str, tuple[Any, str]] = {
    "endless number": (lambda: _Compact(memoryview(b"\xff" * 20)).varint(), "a number without an end"),
    "nested": (lambda: _Compact(memoryview(b"\x1c" * 200)).struct(), "nested too deeply"),
    "lists": (lambda: _Compact(memoryview(b"\x19" + b"\x19" * 200)).struct(), "a field of type 9"),
    "type": (lambda: _Compact(memoryview(b"\x1b\x00")).struct(), "a field of type 11"),
    "footer": (lambda: _footer(memoryview(b"PAR1" + (100).to_bytes(4, "little") + b"PAR1")), "a footer of 100 bytes"),
    "outside": (lambda: _pages(memoryview(bytes(8)), 4, 9), "pages outside of the file"),
    "backwards": (lambda: _pages(memoryview(bytes(8)), 5, 4), "pages outside of the file"),
    "negative": (lambda: _pages(memoryview(bytes(8)), -1, 4), "pages outside of the file"),
    "long page": (
        lambda: _pages(memoryview(b"\x15\x00\x15\x02\x15\x40\x00" + bytes(4)), 0, 11),
        "a page of 32 bytes that expand to 1",
    ),
    "negative page": (
        lambda: _pages(memoryview(b"\x15\x00\x15\x01\x15\x00\x00"), 0, 7), "a page of 0 bytes that expand to -1"),
}  # fmt: skip


@pytest.mark.parametrize("name", PAGES)
def test_structures_of_part_files(name: str) -> None:
    act, why = PAGES[name]
    with pytest.raises(ValueError, match=f"^{why}$"):
        act()


@pytest.mark.parametrize("data", [b"", b"PAR1", b"PAR1\xff\xff\xff\xffPAR1", b"\xff" * 100])
def test_no_part_file(data: bytes) -> None:
    with pytest.raises(InvalidMetadata) as refused:
        check_expanded(memoryview(data), "m/x/refs.0.parq")
    assert refused.value.where == "m/x/refs.0.parq"
    assert refused.value.why.startswith("not a readable Parquet file (")


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("offset", pa.string()),
        ("size", pa.list_(pa.int64())),
        ("path", pa.int64()),
        ("raw", pa.struct([("a", pa.int64())])),
        ("raw", pa.dictionary(pa.int32(), pa.int64())),
    ],
)
def test_columns_of_other_types(name: str, kind: pa.DataType) -> None:
    with pytest.raises(InvalidMetadata) as refused:
        check_types([pa.field(name, kind)], "m/x/refs.0.parq")
    assert (refused.value.where, refused.value.why) == ("m/x/refs.0.parq", f"column {name} has type {kind}")


def test_columns_whose_values_are_of_another_type() -> None:
    with pytest.raises(InvalidMetadata, match="a column of type string where numbers are expected"):
        integers(pa.array(["1"]), "m")
    with pytest.raises(InvalidMetadata, match="column raw has type int64"):
        inline_values(pa.array([1]), "m")
    with pytest.raises(InvalidMetadata, match="9223372036854775808 is too large for a place in a file"):
        integers(pa.array(np.array([1 << 63], np.uint64)), "m")
    assert integers(pa.array(np.array([(1 << 63) - 1], np.uint64)), "m").tolist() == [(1 << 63) - 1]
