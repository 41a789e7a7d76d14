"""What becomes of an array in a verification: with one file, with several, without a library to compare with."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from copy import copy
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.archives import small_archive
from tests.maps import array

import byteatlas as ba
from byteatlas.errors import FetchFailed, MissingExtra
from byteatlas.io.source import Source
from byteatlas.manifest.model import ScanReport, VirtualArray, VirtualGroup
from byteatlas.scanning.contract import Scanner
from byteatlas.scanning.plugins import installed
from byteatlas.types import JSON
from byteatlas.verifying import VerifyOptions, VerifyReport
from byteatlas.verifying.arrays import used_files
from byteatlas.verifying.native.contract import NativeArray, NativeFile
from byteatlas.verifying.run import verify_node

h5py = pytest.importorskip("h5py")


class FakeArray:
    """An array of a library that a test makes up."""

    def __init__(
        self,
        values: Any,
        attributes: Mapping[str, JSON] | None = None,
        dims: tuple[str | None, ...] | None = None,
        error: Exception | None = None,
    ) -> None:
        self._values, self._attributes, self._dims, self._error = np.asarray(values), attributes, dims, error

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self._values.shape)

    @property
    def attributes(self) -> Mapping[str, JSON] | None:
        return self._attributes

    @property
    def dims(self) -> tuple[str | None, ...] | None:
        return self._dims

    def read(self, selection: tuple[slice, ...]) -> NDArray[Any]:
        if self._error is not None:
            raise self._error
        return np.asarray(self._values[selection])


class FakeFile:
    def __init__(self, arrays: Mapping[str, NativeArray]) -> None:
        self._arrays = arrays

    def array(self, path: str, locators: tuple[str, ...]) -> NativeArray | None:
        return self._arrays.get(path)

    def names(self) -> list[str]:
        return list(self._arrays)


FOUND: dict[str, NativeArray] = {}
OPENING: list[Exception] = []


@contextmanager
def open_fake(source: Source) -> Iterator[NativeFile]:
    if OPENING:
        raise OPENING[0]
    yield FakeFile(FOUND)


@pytest.fixture
def file(tmp_path: Path) -> Iterator[Path]:
    with h5py.File(tmp_path / "a.h5", "w") as made:
        made["x"] = np.arange(6.0).reshape(2, 3)
        made["x"].attrs["units"] = "K"
    FOUND.clear()
    OPENING.clear()
    yield tmp_path / "a.h5"
    FOUND.clear()
    OPENING.clear()


def check(file: Path, options: VerifyOptions | None = None) -> VerifyReport:
    return verify_node(ba.scan(file), "t", options=options, scanners=with_library(f"{__name__}:open_fake"))


def with_library(name: str | None) -> Mapping[str, Scanner]:
    """The scanner of HDF5 with another library to compare with."""
    scanner = copy(installed()["hdf5"])
    scanner.verify = name
    return {"hdf5": scanner}


def only(report: VerifyReport) -> tuple[str, str, int, int]:
    (item,) = report.items
    return item.status, item.detail, item.values, item.files


VALUES = np.arange(6.0).reshape(2, 3)


@pytest.mark.parametrize(
    ("theirs", "wanted"),
    [
        (FakeArray(VALUES), ("equal", "", 6, 1)),
        (FakeArray(VALUES, {"units": "K"}, (None, None)), ("equal", "", 6, 1)),
        (FakeArray(VALUES.reshape(3, 2)), ("equal", "", 6, 1)),
        (FakeArray(VALUES.reshape(6)[::-1]), None),
        (FakeArray(VALUES + 1), None),
        (
            FakeArray(VALUES, {"units": "m"}),
            ("different", "attribute 'units' is 'K', the library reads 'm'", 6, 1),
        ),
        (FakeArray(VALUES, {"more": 1}), ("different", "attribute 'more' is not in the map", 6, 1)),
    ],
)
def test_one_array_of_one_file(file: Path, theirs: FakeArray, wanted: tuple[str, str, int, int] | None) -> None:
    FOUND["x"] = theirs
    status, *rest = only(check(file))
    if wanted is None:
        assert status == "different"
        assert "the library reads" in str(rest[0])
    else:
        assert (status, *rest) == wanted


def test_attributes_only_when_asked_for(file: Path) -> None:
    FOUND["x"] = FakeArray(VALUES, {"units": "m"})
    assert only(check(file, VerifyOptions(attributes=False))) == ("equal", "", 6, 1)


def test_dimensions(tmp_path: Path) -> None:
    FOUND.clear()
    with h5py.File(tmp_path / "a.h5", "w") as made:
        for name in ("y", "x"):
            made[name] = np.arange(2.0)
            made[name].make_scale()
        made["v"] = np.zeros((2, 2))
        made["v"].dims[0].attach_scale(made["y"])
        made["v"].dims[1].attach_scale(made["x"])
    FOUND.update({n: FakeArray(np.arange(2.0)) for n in "xy"})
    for dims, status in {
        ("y", "x"): "equal",
        ("y", None): "equal",
        ("y", "z"): "different",
        ("x", "y"): "different",
    }.items():
        FOUND["v"] = FakeArray(np.zeros((2, 2)), {}, dims)
        item = next(i for i in check(tmp_path / "a.h5").items if i.path == "v")
        assert item.status == status
        if status == "different":
            assert item.detail == f"dimensions ('y', 'x'), the library has {dims}"
    FOUND.clear()


def test_an_array_that_the_library_does_not_have(file: Path) -> None:
    assert only(check(file)) == ("unchecked", f"{file} has no array 'x' to compare with", 0, 0)


def test_a_library_that_fails(file: Path) -> None:
    FOUND["x"] = FakeArray(VALUES, error=ValueError("what a pity"))
    assert only(check(file)) == ("unchecked", "the format's own library fails: what a pity", 0, 1)
    FOUND["x"] = FakeArray(VALUES, error=MissingExtra("verify", "this filter"))
    status, detail, values, files = only(check(file))
    assert (status, values, files) == ("unchecked", 0, 1)
    assert "this filter" in detail


def test_a_library_that_cannot_open_the_file(file: Path) -> None:
    OPENING.append(OSError("no such luck"))
    assert only(check(file)) == (
        "unchecked", "the format's own library cannot open the file: no such luck", 0, 0,
    )  # fmt: skip


@pytest.mark.parametrize("error", [MissingExtra("verify", "verifying fakes"), FetchFailed("u", "lost")])
def test_errors_of_ours_when_a_file_is_opened(file: Path, error: Exception) -> None:
    """An extra that is missing is told for the whole: nothing of this file could be compared."""
    OPENING.append(error)
    with pytest.raises(type(error)) as caught:
        check(file)
    assert caught.value is error


def test_damage_is_told_from_errors(file: Path) -> None:
    """A chunk that we cannot read: the library decides."""
    group = ba.scan(file)
    found = group.arrays["x"]
    manifest = found.manifest.load()
    beyond = replace(manifest, offset=manifest.offset + np.uint64(1 << 30))
    wrong = replace(group, arrays={"x": replace(found, manifest=beyond)})
    scanners = with_library(f"{__name__}:open_fake")
    FOUND["x"] = FakeArray(VALUES)
    status, detail, _, files = only(verify_node(wrong, scanners=scanners))
    assert (status, files) == ("error", 1)
    FOUND["x"] = FakeArray(VALUES, error=OSError("too"))
    status, other, _, files = only(verify_node(wrong, scanners=scanners))
    assert (status, files) == ("damaged", 1)
    assert other == f"the format's own library fails as well: {detail}"
    FOUND.clear()
    assert only(verify_node(wrong, scanners=scanners))[0] == "unchecked"


def test_what_a_map_lost_and_what_was_refused(file: Path) -> None:
    FOUND.update(x=FakeArray(VALUES), lost=FakeArray(VALUES))
    found = {i.path: (i.status, i.detail) for i in check(file).items}
    assert found["x"] == ("equal", "")
    assert found["lost"] == ("lost", "the file has this dataset; the map neither presents nor refuses it")
    group = ba.scan(file)
    item = replace(group.report[0], path="/lost", status="refused", reason="dtype", detail="odd numbers")
    scanners = with_library(f"{__name__}:open_fake")
    seen: list[Any] = []
    told = replace(group, report=ScanReport((*group.report, item)))
    report = verify_node(told, "t", scanners=scanners, progress=seen.append)
    assert {i.path: (i.status, i.detail) for i in report.items} == {
        "x": ("equal", ""),
        "lost": ("refused", "odd numbers [dtype]"),
    }
    assert [(p.done, p.total) for p in seen] == [(1, 1)]


def test_formats_without_a_library(file: Path) -> None:
    assert only(verify_node(ba.scan(file), scanners=with_library(None))) == (
        "unchecked", "no other library at hand for format hdf5", 0, 0,
    )  # fmt: skip


def test_files_that_are_no_archives(tmp_path: Path) -> None:
    (tmp_path / "raw.bin").write_bytes(np.arange(4, dtype="<f4").tobytes())
    one = array((4,), (4,), references={(0,): (str(tmp_path / "raw.bin"), 0, 16)})
    assert only(verify_node(one)) == (
        "unchecked", f"{tmp_path / 'raw.bin'} is no archive that could be opened by itself", 0, 0,
    )  # fmt: skip


# --------------------------------------------------------------------------------------- several files


def two_files(folder: Path) -> VirtualGroup:
    for number in range(2):
        with h5py.File(folder / f"{number}.h5", "w") as made:
            made.create_dataset("t", data=[float(number)], chunks=(1,), maxshape=(None,)).make_scale("t")
            made.create_dataset("v", data=np.arange(3.0)[None] + number, chunks=(1, 3), maxshape=(None, 3))
            made.create_dataset("w", data=np.ones((1, 2)), chunks=(1, 2), maxshape=(None, 2))
            made["v"].dims[0].attach_scale(made["t"])
            made["w"].dims[0].attach_scale(made["t"])
    return ba.combine([folder / "0.h5", folder / "1.h5"], concat="t", inline_uneven=0)


def test_chunk_by_chunk(tmp_path: Path) -> None:
    both = two_files(tmp_path)
    found = {i.path: i for i in ba.verify(both).items}
    assert (found["v"].status, found["v"].values, found["v"].files) == ("equal", 6, 2)
    v = both.arrays["v"]
    manifest = v.manifest.load()
    swapped = replace(manifest, source=manifest.source[::-1].copy(), offset=manifest.offset[::-1].copy())
    # both chunks of one file: the second says what the first one has
    twice = replace(manifest, source=manifest.source[[0, 0]], offset=manifest.offset[[0, 0]])
    wrong = replace(manifest, length=manifest.length - np.uint64(8))
    none = "2 of 2 chunks have no counterpart in the files that could be compared"
    for rows, wanted in [
        (swapped, ("equal", "", 6, 2)),
        (twice, ("equal", "", 6, 1)),
        (wrong, ("unchecked", none, 0, 2)),
    ]:
        changed = replace(both, arrays={**both.arrays, "v": replace(v, manifest=rows)})
        item = next(i for i in ba.verify(changed).items if i.path == "v")
        assert (item.status, item.detail, item.values, item.files) == wanted
    gone = {i.path: i for i in ba.verify(replace(both, arrays={"other": v})).items}["other"]
    assert (gone.status, gone.detail) == (
        "unchecked", "2 of 2 chunks have no counterpart in the files that could be compared",
    )  # fmt: skip


def test_a_sample_of_the_chunks(tmp_path: Path) -> None:
    both = two_files(tmp_path)
    found = {i.path: i for i in ba.verify(both, options=VerifyOptions(sample=1)).items}
    assert (found["v"].status, found["v"].values, found["v"].files) == ("equal", 3, 1)
    found = {i.path: i for i in ba.verify(both, options=VerifyOptions(sample=2)).items}
    assert (found["v"].status, found["v"].values, found["v"].files) == ("equal", 6, 2)


def test_values_in_the_map_itself(tmp_path: Path) -> None:
    both = two_files(tmp_path)
    inlined = ba.combine([tmp_path / "0.h5", tmp_path / "1.h5"], concat="t")
    items = {i.path: i for i in ba.verify(inlined).items}
    assert items["v"].status == "equal"
    assert items["t"].status == "equal"

    def with_inline(name: str, values: NDArray[Any]) -> Any:
        made = array(values.shape, values.shape, "<f8", references={(0,) * values.ndim: values.astype("<f8").tobytes()})
        report = ba.verify(replace(both, arrays={**both.arrays, name: made}))
        found = next(i for i in report.items if i.path == name)
        return found.status, found.detail, found.values, found.files

    assert with_inline("t", np.array([0.0, 1.0])) == ("equal", "", 2, 2)
    why = "its values are in the map itself and are not simply those of the files"
    assert with_inline("t", np.array([0.0, 2.0])) == ("unchecked", why, 0, 0)
    assert with_inline("t", np.array([0.0, 1.0, 2.0])) == ("unchecked", why, 0, 0)
    assert with_inline("v", np.zeros((2, 3))) == ("unchecked", why, 0, 0)
    none = "its values are in the map itself; no file has an array of this name"
    assert with_inline("new", np.array([1.0])) == ("unchecked", none, 0, 0)


def test_the_same_values_in_all_files(tmp_path: Path) -> None:
    both = two_files(tmp_path)
    for number in range(2):
        with h5py.File(tmp_path / f"{number}.h5", "a") as made:
            made["same"] = np.arange(3.0)
    made_of = array((3,), (3,), "<f8", references={(0,): np.arange(3.0).tobytes()})
    items = {i.path: i for i in ba.verify(replace(both, arrays={**both.arrays, "same": made_of})).items}
    assert (items["same"].status, items["same"].values, items["same"].files) == ("equal", 6, 2)


def test_files_that_are_used() -> None:
    one: VirtualArray = array((6,), (2,), references={(0,): ("/b", 0, 8), (1,): b"12345678", (2,): ("/a", 0, 8)})
    assert [s.url for s in used_files(one.manifest.load())] == ["/b", "/a"]
    half = array((4,), (2,), references={(1,): ("/b", 0, 8)})
    assert [s.url for s in used_files(half.manifest.load())] == ["/b"]
    nothing = array((4,), (2,), references={})
    assert used_files(nothing.manifest.load()) == []


def test_a_small_archive_stays_equal() -> None:
    report = ba.verify(small_archive()[0], options=VerifyOptions(sample=1))
    assert report.ok
    assert all(i.status == "equal" for i in report.items)
