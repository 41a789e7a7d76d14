"""Files that differ, combined: every kind of difference, and every pair of kinds, against NumPy on native values.

Three files along time; the second one differs. Each combination reads exactly what the files' own library reads after
unpacking, in the order of real time, or is refused for the right reason.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import byteatlas as ba
from byteatlas.errors import Conflict

h5py = pytest.importorskip("h5py")

HOURS = {"hours since 2000-01-01": 0, "days since 2000-01-01": 0, "hours since 2000-01-02": 24}


@dataclass(frozen=True)
class Spec:
    """One file: ``time`` is in hours since 2000-01-01 whatever the units in the file are."""

    time: tuple[int, ...]
    stored: str = "<f4"
    chunks: tuple[int, int] | None = (2, 3)
    filters: tuple[tuple[str, Any], ...] = (("compression", "gzip"), ("compression_opts", 4), ("shuffle", True))
    scale: float | None = None
    offset: float | None = None
    nodata: float | None = None
    fill: float | None = None
    hole: bool = False
    units: str = "hours since 2000-01-01"
    calendar: str = "standard"
    quantity: str = "K"
    width: int = 3
    absent: bool = False
    other: float = 0.0

    @property
    def values(self) -> NDArray[Any]:
        """What is stored, as numbers of the stored type."""
        base = np.asarray(self.time, np.float64)[:, None] + np.arange(self.width) / 4 + self.other
        whole = np.dtype(self.stored).kind in "iu"
        return (np.round(base * 4) if whole else base).astype(self.stored)


def make(path: Path, spec: Spec) -> None:
    """Write the file with h5py."""
    per, shift = (24, 0) if spec.units.startswith("days") else (1, HOURS[spec.units])
    with h5py.File(path, "w") as f:
        exact = all((t - shift) % per == 0 for t in spec.time)
        t = np.array([(t - shift) / per for t in spec.time], "f8")
        f["time"] = t.astype("i4") if exact else t
        f["time"].attrs.update({"units": spec.units, "calendar": spec.calendar})
        f["x"] = np.arange(spec.width, dtype="f8")
        f["time"].make_scale("time")
        f["x"].make_scale("x")
        f.attrs["history"] = str(path.name)
        if spec.absent:
            return
        how: dict[str, Any] = {} if spec.chunks is None else dict(spec.filters)
        chunks = None if spec.chunks is None else (spec.chunks[0], min(spec.chunks[1], spec.width))
        shape = (len(spec.time), spec.width)
        limits = None if chunks is None else (None, spec.width)
        d = f.create_dataset("v", shape, spec.stored, chunks=chunks, maxshape=limits, fillvalue=spec.fill, **how)
        start = 0
        if spec.hole and chunks is not None:
            start = min(chunks[0], shape[0])
        if spec.nodata is not None:
            d.attrs["_FillValue"] = np.array(spec.nodata, spec.stored)
        if shape[0] > start:
            values = spec.values
            if spec.nodata is not None:
                values[-1, 0] = spec.nodata
            d[start:] = values[start:]
        if spec.scale is not None:
            d.attrs["scale_factor"] = spec.scale
            d.attrs["add_offset"] = spec.offset
        d.attrs["units"] = spec.quantity
        d.dims[0].attach_scale(f["time"])
        d.dims[1].attach_scale(f["x"])


Change = Callable[[Spec], Spec]

RECONCILED: dict[str, Change] = {
    "nothing": lambda s: s,
    "no compression": lambda s: replace(s, filters=()),
    "no shuffle": lambda s: replace(s, filters=tuple(f for f in s.filters if f[0] != "shuffle")),
    "level": lambda s: replace(s, filters=tuple((k, 9 if k == "compression_opts" else v) for k, v in s.filters)),
    "checksum": lambda s: replace(s, filters=(*s.filters, ("fletcher32", True))),
    "wider float": lambda s: replace(s, stored="<f8"),
    "integers": lambda s: replace(s, stored="<i2"),
    "wide integers": lambda s: replace(s, stored="<i4"),
    "byte order": lambda s: replace(s, stored=">" + s.stored[1:]),
    "packing": lambda s: replace(s, scale=0.25, offset=5.0),
    "no data": lambda s: replace(s, nodata=-999.0, fill=-999.0),
    "hole": lambda s: replace(s, hole=True, fill=-7.0),
    "chunk length": lambda s: replace(s, chunks=(4, 3)),
    "contiguous": lambda s: replace(s, chunks=None, hole=False),
    "length": lambda s: replace(s, time=s.time[:3]),
    "time units": lambda s: replace(s, units="hours since 2000-01-02"),
    "days": lambda s: replace(s, units="days since 2000-01-01"),
    "missing": lambda s: replace(s, absent=True),
    "other width of chunks": lambda s: replace(s, chunks=(2, 2)),
}
WOVEN: dict[str, Change] = {
    "overlap": lambda s: replace(s, time=tuple(t - 1 for t in s.time)),
    "overlap on both sides": lambda s: replace(s, time=tuple(2 * t - 5 for t in s.time)),
    "between": lambda s: replace(s, time=(-1, 4, 5, 12)),
}
"""Times among those of the other files; where they are the same, so are the data."""
REFUSED: dict[str, tuple[Change, set[str]]] = {
    "width": (lambda s: replace(s, width=4), {"shape", "values"}),
    "overlap": (lambda s: replace(s, time=tuple(t - 1 for t in s.time), other=9.0), {"overlap"}),
    "overlap on both sides": (lambda s: replace(s, time=tuple(2 * t - 5 for t in s.time), other=9.0), {"overlap"}),
    "quantity": (lambda s: replace(s, quantity="degC"), {"units"}),
    "calendar": (lambda s: replace(s, calendar="noleap"), {"calendar"}),
    "descending": (lambda s: replace(s, time=s.time[::-1]), {"order"}),
}


def expected(specs: list[Spec], paths: list[Path]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Real times and unpacked values, by h5py; absent data are NaN."""
    rows: dict[int, NDArray[Any]] = {}
    for spec, path in zip(specs, paths, strict=True):
        with h5py.File(path) as f:
            absent = np.full((len(spec.time), spec.width), np.nan)
            block = decoded(f["v"][...], dict(f["v"].attrs)) if "v" in f else absent
        for time, row in zip(spec.time, block, strict=True):
            if not spec.absent or time not in rows:
                rows[time] = row
    return np.array(sorted(rows)), np.array([rows[t] for t in sorted(rows)])


def decoded(stored: NDArray[Any], attributes: dict[str, Any]) -> NDArray[np.float64]:
    """CF decoding to float64."""
    values: NDArray[np.float64] = stored.astype("f8")
    values = values * float(np.asarray(attributes.get("scale_factor", 1.0)).reshape(-1)[0])
    values = values + float(np.asarray(attributes.get("add_offset", 0.0)).reshape(-1)[0])
    if "_FillValue" in attributes:
        values[stored == np.asarray(attributes["_FillValue"]).astype(stored.dtype).reshape(-1)[0]] = np.nan
    return values


def files(folder: Path, change: Change) -> tuple[list[Spec], list[Path]]:
    first = Spec(time=(0, 1, 2, 3))
    specs = [first, change(replace(first, time=(4, 5, 6, 7))), replace(first, time=(8, 9, 10, 11))]
    paths = [folder / f"{n}.h5" for n in "bca"]
    for spec, path in zip(specs, paths, strict=True):
        make(path, spec)
    return specs, paths


def combined_equals(folder: Path, change: Change) -> None:
    specs, paths = files(folder, change)
    both = ba.combine([str(p) for p in paths], concat="time", inline_uneven=0)
    times, values = expected(specs, paths)
    for suffix in ("", "map.json", "map.parquet"):
        if suffix:
            ba.write(both, folder / suffix)
        root: Any = ba.open(both if not suffix else str(folder / suffix))
        time = root["time"]
        per, shift = (24, 0) if time.attrs["units"].startswith("days") else (1, HOURS[time.attrs["units"]])
        np.testing.assert_array_equal(time[...] * per + shift, times)
        array = root["v"]
        np.testing.assert_array_equal(decoded(array[...], dict(array.attrs)), values)
        np.testing.assert_array_equal(decoded(array[3:9, 1:], dict(array.attrs)), values[3:9, 1:])


@pytest.mark.parametrize("kind", RECONCILED)
def test_one_difference_reads_right(tmp_path: Path, kind: str) -> None:
    combined_equals(tmp_path, RECONCILED[kind])


OTHER_DATA = ("packing", "no data", "hole", "integers", "wide integers")
"""Changes after which data of the same times are not the same."""
AMONG = [p for p in itertools.product(WOVEN, RECONCILED) if p[0] == "between" or p[1] not in OTHER_DATA]


@pytest.mark.parametrize("pair", AMONG, ids=" + ".join)
def test_times_among_those_of_other_files(tmp_path: Path, pair: tuple[str, str]) -> None:
    first, second = WOVEN[pair[0]], RECONCILED[pair[1]]
    combined_equals(tmp_path, lambda s: second(first(s)))


def test_files_that_all_end_in_a_partial_chunk(tmp_path: Path) -> None:
    specs = [Spec(time=tuple(range(3 * k, 3 * k + 3))) for k in range(4)]
    paths = [tmp_path / f"{k}.h5" for k in range(4)]
    for spec, path in zip(specs, paths, strict=True):
        make(path, spec)
    root: Any = ba.open(ba.combine([str(p) for p in paths], concat="time", inline_uneven=0))
    np.testing.assert_array_equal(root["v"][...], expected(specs, paths)[1])


@pytest.mark.parametrize("kind", REFUSED)
def test_one_difference_is_refused(tmp_path: Path, kind: str) -> None:
    change, codes = REFUSED[kind]
    _, paths = files(tmp_path, change)
    with pytest.raises(Conflict) as caught:
        ba.combine([str(p) for p in paths], concat="time", inline_uneven=0)
    assert any(f"[{code}]" in item for item in caught.value.items for code in codes), caught.value.items
    assert "c.h5" in str(caught.value)


@pytest.mark.parametrize("pair", list(itertools.combinations(list(RECONCILED)[1:], 2)), ids=" + ".join)
def test_two_differences_read_right(tmp_path: Path, pair: tuple[str, str]) -> None:
    first, second = (RECONCILED[k] for k in pair)
    combined_equals(tmp_path, lambda s: second(first(s)))


@pytest.mark.parametrize("pair", list(itertools.product(REFUSED, list(RECONCILED)[1:])), ids=" + ".join)
def test_a_refused_and_another_difference(tmp_path: Path, pair: tuple[str, str]) -> None:
    change, _ = REFUSED[pair[0]]
    other = RECONCILED[pair[1]]
    if pair[1] == "missing" and pair[0] in ("quantity", "overlap", "overlap on both sides"):
        return combined_equals(tmp_path, lambda s: other(change(s)))  # nothing is left to disagree
    _, paths = files(tmp_path, lambda s: other(change(s)))
    with pytest.raises(Conflict):
        ba.combine([str(p) for p in paths], concat="time", inline_uneven=0)
    return None
