"""Multi-file sets of real archives, combined: every value against the netCDF library's, file by file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.places import ROOT

import byteatlas as ba
from byteatlas.combining import ByOrder, CombineOptions
from byteatlas.errors import Conflict

nc = pytest.importorskip("netCDF4")
cftime = pytest.importorskip("cftime")

CORPUS = ROOT.parent / "shared" / "corpus" / "hdf"


def files(*patterns: str) -> list[str]:
    """The corpus' files of a set, in the order of the patterns; skips when they are not there."""
    found = [sorted(CORPUS.glob(p)) for p in patterns]
    if not all(found):
        pytest.skip("needs ../shared/corpus/hdf")
    return [str(p) for group in found for p in group]


def stored(path: str, name: str) -> NDArray[Any]:
    with nc.Dataset(path) as f:
        f.set_auto_maskandscale(False)
        values: NDArray[Any] = f[name][...]
        return values


def names_with(path: str, dim: str) -> tuple[list[str], list[str]]:
    """Variables with and without a dimension."""
    with nc.Dataset(path) as f:
        have = [n for n, v in f.variables.items() if dim in v.dimensions]
        return have, [n for n, v in f.variables.items() if dim not in v.dimensions]


def axis_of(path: str, name: str, dim: str) -> int:
    with nc.Dataset(path) as f:
        return int(f[name].dimensions.index(dim))


def check(tmp_path: Path, ordered: Sequence[str], dim: str, skip: Sequence[str] = (), **options: Any) -> Any:
    """Combine (given in another order, when it is sorted by coordinate) and compare all variables as stored."""
    given = list(ordered) if "coords" in options else list(ordered)[::-1]
    both = ba.combine(given, concat=dim, **options)
    ba.write(both, tmp_path / "map.parquet")
    for root in (ba.open(both), ba.open(str(tmp_path / "map.parquet"))):
        tree: Any = root
        along, without = names_with(ordered[0], dim)
        assert along
        for name in along:
            if name not in skip:
                expected = np.concatenate([stored(p, name) for p in ordered], axis=axis_of(ordered[0], name, dim))
                got = tree[name][...]
                assert got.dtype == expected.dtype.newbyteorder("="), name
                np.testing.assert_array_equal(got, expected, err_msg=name)
        for name in without:
            np.testing.assert_array_equal(tree[name][...], stored(ordered[0], name), err_msg=name)
    return ba.open(both)


def test_hadgem_four_periods(tmp_path: Path) -> None:
    """Three periods of 300 months and a last file of one month, 360-day calendar, stored contiguously."""
    names = ["185912-188411", "203012-205511", "209912-212411", "219912-222411", "229912-229912"]
    root = check(tmp_path, files(*(f"*tas_Amon_HadGEM2-ES_*_{n}.nc" for n in names)), "time")
    assert root["tas"].shape[0] == 1201


def test_sea_ice_mpi(tmp_path: Path) -> None:
    check(tmp_path, files("*SImon_MPI-ESM1-2-HR_*199501*", "*SImon_MPI-ESM1-2-HR_*200501*"), "time")


def test_sea_ice_sam0(tmp_path: Path) -> None:
    check(tmp_path, files("*SImon_SAM0-UNICON_*190001*", "*SImon_SAM0-UNICON_*201001*"), "time")


def test_ec_earth3(tmp_path: Path) -> None:
    check(tmp_path, files("*ta_Amon_EC-Earth3_*200601*", "*ta_Amon_EC-Earth3_*201401*"), "time")


def test_swaths_by_order(tmp_path: Path) -> None:
    """Satellite granules of different length, one after the other along their rows."""
    paths = files("*_ascat_20150702_084200_metopa_45145_*.l2.nc", "1b36bad003ef_*")
    check(tmp_path, paths, "NUMROWS", coords={"NUMROWS": ByOrder()})


def test_time_units_of_two_periods(tmp_path: Path) -> None:
    """Monthly and daily files with different reference dates: real times and bounds agree."""
    paths = files("*tas_Amon_EC-EARTH_historical_r1i1p1_189001*", "*tas_day_EC-EARTH_historical_r1i1p1_19600101*")
    root = check(tmp_path, paths, "time", skip=("time", "time_bnds"))
    for name in ("time", "time_bnds"):
        expected = []
        for path in paths:
            with nc.Dataset(path) as f:
                t = f["time"]
                expected.append(cftime.num2date(stored(path, name), t.units, t.calendar))
        time = root["time"].attrs
        got = cftime.num2date(root[name][...], time["units"], time["calendar"])
        assert (got == np.concatenate(expected)).all()


def test_tiles_with_a_hole(tmp_path: Path) -> None:
    """Two longitude ranges and two months, one of the four tiles missing."""
    paths = files("39fafd92213e_*", "3b4d9e93026c_*", "4e758e90e4b2_*")
    root: Any = ba.open(ba.combine(paths, concat=("time", "lon")))
    lon, tas = root["lon"][...], root["tas"]
    nodata = tas.attrs.get("_FillValue", np.nan)
    seen = 0
    for path in paths:
        at = np.searchsorted(lon, stored(path, "lon"))
        when = np.flatnonzero(root["time"][...] == stored(path, "time")[0])
        part = tas[int(when[0])][:, at]
        np.testing.assert_array_equal(part, stored(path, "tas")[0])
        seen += part.size
    whole = tas[...]
    empty = np.isnan(whole) if nodata != nodata else whole == np.float32(nodata)
    assert int(empty.sum()) == whole.size - seen


def test_models_on_different_calendars_are_refused() -> None:
    paths = files("*ta_Amon_EC-Earth3_*200601*", "*ta_Amon_BCC-CSM2-MR_*193001*")
    with pytest.raises(Conflict, match="calendar"):
        ba.combine(paths, concat="time")


def test_a_subset_beside_its_original_is_refused() -> None:
    paths = files("051f53519309_*", "a0d536aa7375_*")
    with pytest.raises(Conflict, match="shape"):
        ba.combine(paths, options=CombineOptions(concat=("time",)))
