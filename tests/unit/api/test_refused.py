"""What the verbs do not take: a single array where a group is needed, stores, paths of other kinds, other types."""

from __future__ import annotations

import json
import math
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.maps import array

import byteatlas as ba
from byteatlas.api.forecasts import _on_diagonal, _seconds
from byteatlas.api.kerchunk import _cast, _with_units
from byteatlas.api.opening import opened
from byteatlas.api.reading import check_options, reader
from byteatlas.array import open_node
from byteatlas.combining.chunks.small_arrays import inline_array
from byteatlas.combining.model import CombineOptions
from byteatlas.errors import BadRequest, NotFound
from byteatlas.io.access import DEFAULT
from byteatlas.manifest.model import VirtualArray, VirtualGroup
from byteatlas.scanning.contract import ScanOptions
from byteatlas.values import replace

X = array((8,), (4,))
GROUP = VirtualGroup(arrays={"x": X})


@pytest.fixture
def single(tmp_path: Path) -> str:
    """The map of one array without a group."""
    ba.write(X, tmp_path / "one.json")
    return str(tmp_path / "one.json")


def test_a_single_array_is_no_group(single: str, tmp_path: Path) -> None:
    ba.write(GROUP, tmp_path / "m.json")
    with pytest.raises(BadRequest, match="is a single array; only groups can be appended to"):
        ba.append(single, [str(tmp_path / "m.json")], concat="time")
    with pytest.raises(BadRequest, match=r"one\.json is a single array; only groups can be combined"):
        ba.combine([single], concat="time")


def test_members_of_arrays() -> None:
    no_array: Any = GROUP
    node: Any = open_node(X)
    with pytest.raises(BadRequest, match="'a/b': an array has no members"):
        opened(node, "a/b", DEFAULT)
    assert opened(node, "", DEFAULT) is node
    group: Any = open_node(GROUP)
    assert opened(group, "", DEFAULT) is group
    assert opened(group, "x", DEFAULT).path == "x"
    with pytest.raises(BadRequest, match="not an array"):
        reader(DEFAULT)(no_array)


def test_a_web_server_does_not_tell_what_a_store_has(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from byteatlas.store.remote import RemoteStore

    ba.copy(VirtualGroup(arrays={"x": inline_array(np.arange(3), ("x",), {})}), tmp_path / "s.zarr")
    store = RemoteStore("http://127.0.0.1:9/s.zarr")
    with pytest.raises(ba.Unsupported, match="web servers do not tell what is there"):
        next(store.values_below("x"))


def test_metadata_documents_stand_for_their_node(tmp_path: Path) -> None:
    ba.copy(VirtualGroup(arrays={"x": inline_array(np.arange(3), ("x",), {})}), tmp_path / "s.zarr")
    document = next(p for p in (tmp_path / "s.zarr").iterdir() if p.name in ("zarr.json", ".zgroup"))
    root: Any = ba.open(document)
    assert root["x"][...].tolist() == [0, 1, 2]
    here = Path.cwd()
    try:
        os.chdir(tmp_path / "s.zarr")
        root = ba.open(document.name)
        assert root["x"][...].tolist() == [0, 1, 2]
    finally:
        os.chdir(here)


class BytesPath:
    def __fspath__(self) -> bytes:
        return b"a.json"


@pytest.mark.parametrize(
    ("target", "why"),
    [
        (BytesPath(), "the path is bytes; text was expected (os.fsdecode makes one of it)"),
        (b"a.json", "bytes are no path: hand in what they hold as io.BytesIO(data), or a path as text"),
        (5, "int is no path, URL or open file"),
    ],
)
def test_what_is_no_path(target: Any, why: str) -> None:
    with pytest.raises(BadRequest) as refused:
        ba.load(target)
    assert str(refused.value) == why


def test_zip_files_are_written_as_a_whole(tmp_path: Path) -> None:
    for name in (tmp_path / "a.zip", f"{tmp_path}/a.zip/"):
        with pytest.raises(BadRequest, match="a ZIP file is written as a whole; write a folder, and copy it"):
            ba.create_array(name, "x", X.meta)
    assert not (tmp_path / "a.zip").exists()


def coordinate(values: Any, **attributes: Any) -> Any:
    return open_node(inline_array(np.array(values), ("t",), attributes))


@pytest.mark.parametrize(
    ("units", "seconds"),
    [("hours", [0, 3600]), ("hours since 1970-01-01", [0, 3600]), ("seconds since 1970-01-01T00:00:00", [0, 1])],
)
def test_units_of_forecasts(units: str, seconds: list[int]) -> None:
    assert _seconds(coordinate([0, 1], units=units)).tolist() == seconds


@pytest.mark.parametrize("units", ["hours since 2000-01-01", "moons", "", "K"])
def test_units_that_are_not_those_of_forecasts(units: str) -> None:
    with pytest.raises(BadRequest, match=f"units {units} are not those of forecasts"):
        _seconds(coordinate([0, 1], units=units))


def test_chunks_of_forecasts_hold_one_step() -> None:
    nothing: Any = None
    with pytest.raises(BadRequest, match="array v: a chunk holds more than one run or step"):
        _on_diagonal("v", array((2, 2, 4), (1, 2, 4)), nothing)


SECONDS = {"units": "seconds since 1970-01-01", "calendar": "standard"}


def cast(values: Any, wanted: str, **attributes: Any) -> Any:
    found = inline_array(np.array(values), ("t",), attributes)
    return open_node(_cast("t", found, np.dtype(wanted), np.array(values)))


def test_types_of_coordinates() -> None:
    assert cast([1, 2], "i2")[...].dtype == np.dtype("i2")
    assert cast([1, 2], "f4")[...].tolist() == [1.0, 2.0]
    dates = cast([0, 86_400], "M8[s]", units="seconds since 1970-01-01", calendar="standard")
    assert dates[...].astype("M8[s]").astype(str).tolist() == ["1970-01-01T00:00:00", "1970-01-02T00:00:00"]
    assert "units" not in dates.attrs


@pytest.mark.parametrize(
    ("values", "wanted", "attributes", "why"),
    [
        ([1, 300], "u1", {}, "t has values that uint8 cannot hold"),
        ([0.5], "i4", {}, "t has values that int32 cannot hold"),
        (["a"], "i4", {}, "t cannot become int32: invalid literal"),
        (
            [0.5],
            "M8[s]",
            {"units": "seconds since 1970-01-01", "calendar": "standard"},
            "t has values between those of",
        ),
        (
            [1],
            "M8[s]",
            {"units": "seconds since 2000-01-01", "calendar": "standard"},
            "t is counted in seconds since 2000-01-01",
        ),
        (
            [1],
            "M8[s]",
            {"units": "seconds since 1970-01-01", "calendar": "noleap"},
            r"t is counted in seconds since 1970-01-01",
        ),
        ([1], "M8[s]", {}, r"no datetime64\[s\]"),
        ([1], "M8[M]", {"units": "months since 1970-01-01"}, "are possible for real dates"),
    ],
)
def test_types_that_coordinates_cannot_have(values: Any, wanted: str, attributes: dict[str, str], why: str) -> None:
    with pytest.raises(BadRequest, match=why):
        cast(values, wanted, **attributes)


def test_dates_of_one_unit() -> None:
    plain = CombineOptions()
    assert _with_units(plain, {"t": "M8[s]", "x": "f4"}).units == "seconds since 1970-01-01"
    assert _with_units(plain, {"x": "f4"}) == plain
    chosen = replace(plain, units="days since 2000-01-01")
    assert _with_units(chosen, {"t": "M8[s]", "u": "M8[D]"}) == chosen
    with pytest.raises(BadRequest, match="coo_dtypes: dates of one unit were expected"):
        _with_units(plain, {"t": "M8[s]", "u": "M8[ms]"})


def test_a_process_that_gives_a_single_array(tmp_path: Path) -> None:
    from byteatlas.api.kerchunk import _processed

    def to_array(refs: Any) -> Any:
        return {key.removeprefix("x/"): value for key, value in refs.items() if key.startswith("x/")}

    ba.write(GROUP, tmp_path / "m.json")
    node: Any = ba.load(tmp_path / "m.json")
    with pytest.raises(BadRequest, match="references of a single array; a group was expected"):
        _processed(node, to_array)


def test_options_that_are_none() -> None:
    no_options: Any = {}
    with pytest.raises(BadRequest, match="no option 'inline_belo'; did you mean 'inline_below'"):
        check_options(CombineOptions, {"inline_belo": 1})
    with pytest.raises(BadRequest, match="options is dict, CombineOptions was expected"):
        ba.combine([GROUP], concat="t", options=no_options)


def test_groups_that_a_file_does_not_have(tmp_path: Path) -> None:
    import h5py

    with h5py.File(tmp_path / "a.h5", "w") as f:
        f["g/x"] = np.arange(3)
    assert list(ba.scan(tmp_path / "a.h5", options=ScanOptions(group="/g/")).arrays) == ["x"]
    for group, why in (("g/x", "'g/x' is not a group of"), ("g/h", "no group 'g/h' in")):
        with pytest.raises(NotFound, match=why):
            ba.scan(tmp_path / "a.h5", options=ScanOptions(group=group))


def test_json_of_a_single_array(single: str) -> None:
    assert ".zarray" in json.loads(Path(single).read_text())["refs"]


@pytest.mark.parametrize("fill", [math.nan, np.float32(7), np.int64(7), 7])
def test_a_fill_value_may_be_any_number(fill: Any) -> None:
    bare = VirtualArray(replace(X.meta, fill_value=None, dimension_names=("x",)), X.manifest)
    masked = ba.mask(VirtualGroup(arrays={"v": bare}), {}, fill=fill)
    assert masked.arrays.keys() == {"v"}
    wrong: Any
    for wrong in (True, "7", [7]):
        with pytest.raises(BadRequest, match="a number, or None was expected"):
            ba.mask(VirtualGroup(arrays={"v": bare}), {}, fill=wrong)
