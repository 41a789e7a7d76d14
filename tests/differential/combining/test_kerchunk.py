"""Kerchunk's spellings of what to combine, against `kerchunk.combine.MultiZarrToZarr` itself on the same files."""

from __future__ import annotations

import json
import re
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import byteatlas as ba
from byteatlas.api.reading import reader
from byteatlas.combining import CombineOptions, combine
from byteatlas.combining.kerchunk import multi_zarr
from byteatlas.errors import BadRequest, Conflict
from byteatlas.io.access import Access

nc = pytest.importorskip("netCDF4")
pytest.importorskip("kerchunk")


def scenes(folder: Path, count: int = 3) -> list[str]:
    """Files without time: it is in the name, in attributes, in a scalar and in a variable of one value."""
    paths = []
    for k in range(count):
        path = folder / f"scene_{10 * k + 5}_v.nc"
        with nc.Dataset(path, "w") as f:
            f.orbit = 100 + k
            f.createDimension("x", 4)
            f.createVariable("x", "f8", ("x",))[:] = np.arange(4)
            v = f.createVariable("v", "f4", ("x",), zlib=True, fill_value=-1.0)
            v[:] = np.arange(4) + 100 * k
            v.passage = 7 * k + 1
        paths.append(str(path))
    return paths


def series(folder: Path, *, units: bool = False, names: tuple[str, ...] = ("v", "v", "v")) -> list[str]:
    """Files along time, two steps each; ``units``: each with a reference date of its own."""
    paths = []
    for k, name in enumerate(names):
        path = folder / f"series_{k}.nc"
        with nc.Dataset(path, "w") as f:
            f.title = ("tas", "pr", "ps")[k]
            f.createDimension("time", None)
            f.createDimension("x", 3)
            t = f.createVariable("time", "i8", ("time",))
            t.units = f"days since 2000-01-{1 + 2 * k if units else 1:02d}"
            t.calendar = "proleptic_gregorian"
            t[:] = [0, 1] if units else [2 * k, 2 * k + 1]
            f.createVariable("x", "f8", ("x",))[:] = np.arange(3)
            v = f.createVariable(name, "f4", ("time", "x"), chunksizes=(1, 3), zlib=True, fill_value=-1.0)
            v[:] = np.arange(6).reshape(2, 3) + 10 * k
        paths.append(str(path))
    return paths


def theirs(paths: list[str], tmp_path: Path, concat_dims: list[str], **arguments: Any) -> Any:
    """The arrays that MultiZarrToZarr makes, read by our engine."""
    from kerchunk.combine import MultiZarrToZarr
    from kerchunk.hdf import SingleHdf5ToZarr

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        references = [SingleHdf5ToZarr(p, inline_threshold=0).translate() for p in paths]
        whole = MultiZarrToZarr(
            paths, indicts=references, concat_dims=concat_dims, inline_threshold=0, **arguments
        ).translate()
    (tmp_path / "theirs.json").write_text(json.dumps(whole))
    return ba.open(str(tmp_path / "theirs.json"))


def ours(paths: list[str], concat_dims: list[str], **arguments: Any) -> Any:
    spelled = multi_zarr([ba.scan(p) for p in paths], concat_dims, names=paths, **arguments)
    return ba.open(combine(spelled.groups, spelled.options, read=reader(Access()), names=paths))


def equal(a: Any, b: Any, names: str) -> None:
    for name in names.split():
        assert a[name].dims == b[name].dims, name
        np.testing.assert_array_equal(a[name][...], b[name][...].astype(a[name].dtype), err_msg=name)


SELECTORS: dict[str, Any] = {
    "pattern with a group": re.compile(r"scene_(\d+)_v"),
    "pattern": re.compile(r"(?<=scene_)\d+"),
    "attr": "attr:orbit",
    "vattr": "vattr:v:passage",
    "INDEX": "INDEX",
    "list": [3, 5, 9],
    "callable": lambda index, z, var, name: index * 2 + len(var),
    "callable that asks": lambda index, z, var, name: (z.attrs if hasattr(z, "attrs") else z.attributes)["orbit"],
}


@pytest.mark.parametrize("selector", SELECTORS.values(), ids=list(SELECTORS))
def test_a_new_dimension(tmp_path: Path, selector: Any) -> None:
    paths = scenes(tmp_path)
    arguments = {"coo_map": {"time": selector}, "identical_dims": ["x"]}
    more = {"coo_dtypes": {"time": "i8"}} if isinstance(selector, re.Pattern) else {}
    mine = ours(paths, ["time"], **arguments)
    equal(mine, theirs(paths, tmp_path, ["time"], **arguments, **more), "time v x")


@pytest.mark.parametrize("selector", [None, "data:time", "cf:time"], ids=str)
def test_the_files_own_times(tmp_path: Path, selector: Any) -> None:
    paths = series(tmp_path)
    arguments = {"coo_map": {"time": selector} if selector else {}, "identical_dims": ["x"]}
    equal(ours(paths, ["time"], **arguments), theirs(paths, tmp_path, ["time"], **arguments), "time v x")


def test_times_in_units_of_their_own(tmp_path: Path) -> None:
    """``cf:`` as kerchunk; ``data:``, for which kerchunk loses steps, is refused."""
    paths = series(tmp_path, units=True)
    arguments = {"coo_map": {"time": "cf:time"}, "identical_dims": ["x"]}
    equal(ours(paths, ["time"], **arguments), theirs(paths, tmp_path, ["time"], **arguments), "time v")
    with pytest.raises(Conflict, match="units"):
        ours(paths, ["time"], coo_map={"time": "data:time"})


def test_an_ensemble(tmp_path: Path) -> None:
    """Two dimensions, one of them new and a constant for each file."""
    paths = []
    for k in range(2):
        (tmp_path / f"r{k + 1}").mkdir()
        paths += series(tmp_path / f"r{k + 1}")
    arguments = {"coo_map": {"member": re.compile(r"/r(\d)/")}, "identical_dims": ["x"]}
    mine = ours(paths, ["member", "time"], **arguments)
    more = {"coo_dtypes": {"member": "i8"}}
    # kerchunk needs a selector for each dimension
    arguments["coo_map"] = {**arguments["coo_map"], "time": "data:time"}  # type: ignore[dict-item]
    equal(mine, theirs(paths, tmp_path, ["member", "time"], **arguments, **more), "member time v")


def test_variables_that_get_one_name(tmp_path: Path) -> None:
    """``var``: files with different variables become one variable."""
    paths = series(tmp_path, names=("a", "b", "c"))
    arguments = {"coo_map": {"var": "value", "time": "data:time"}, "identical_dims": ["x"]}
    equal(ours(paths, ["time"], **arguments), theirs(paths, tmp_path, ["time"], **arguments), "time value")
    mine = ours(paths, ["time"], coo_map={"var": re.compile("series")}, identical_dims=["x"])
    assert mine["series"].shape == (6, 3)
    mine = ours(paths, ["time"], coo_map={"var": "attr:title"}, identical_dims=["x"])
    assert {"tas", "pr", "ps"} <= set(mine.keys())
    with pytest.raises(BadRequest, match="no name"):
        ours(paths, ["time"], coo_map={"var": "INDEX"}, identical_dims=["x"])


def test_names_of_variables_as_values(tmp_path: Path) -> None:
    """``VARNAME`` as a coordinate, with ``var``: bands of one image."""
    paths = scenes(tmp_path)
    for path, name in zip(paths, ("red", "green", "blue"), strict=True):
        with nc.Dataset(path, "a") as f:
            f.renameVariable("v", name)
    coo_map = {"band": "VARNAME", "var": "image"}
    mine = ours(paths, ["band"], coo_map=coo_map, identical_dims=["x"])
    equal(mine, theirs(paths, tmp_path, ["band"], coo_map=coo_map, identical_dims=["x"]), "image")
    assert mine["band"][...].tolist() == ["blue", "green", "red"]
    with nc.Dataset(paths[0], "a") as f:
        f.createVariable("other", "f4", ("x",))[:] = 0
    with pytest.raises(BadRequest, match="one data variable"):
        ours(paths, ["band"], coo_map=coo_map, identical_dims=["x"])


def test_constants(tmp_path: Path) -> None:
    paths = scenes(tmp_path, 1)
    mine = ours(paths, ["time"], coo_map={"time": 11}, identical_dims=["x"])
    assert (mine["time"][...].tolist(), mine["v"].shape) == ([11], (1, 4))
    with pytest.raises(Conflict):  # all files at one place
        ours(scenes(tmp_path), ["time"], coo_map={"time": 11}, identical_dims=["x"])


def test_identical_dims_are_taken_from_the_first_file(tmp_path: Path) -> None:
    paths = scenes(tmp_path)
    with nc.Dataset(paths[1], "a") as f:
        f["x"][:] = [5, 6, 7, 8]
    with pytest.raises(Conflict, match="variable 'x'"):
        ours(paths, ["time"], coo_map={"time": "INDEX"})
    mine = ours(paths, ["time"], coo_map={"time": "INDEX"}, identical_dims=["x"])
    assert mine["x"][...].tolist() == [0, 1, 2, 3]


def test_options_go_with_it() -> None:
    spelled = multi_zarr([], "time", options=CombineOptions(trust=("a",)), identical_dims=["b"])
    assert spelled.options.trust == ("a", "b")
