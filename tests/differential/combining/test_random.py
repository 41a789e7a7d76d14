"""Sets of files that differ at random in everything at once, against NumPy on the values that h5py reads.

Every set reads right, in memory and through JSON and Parquet, or is refused for a reason that it has.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import byteatlas as ba
from byteatlas.combining.coordinates.times import conversion, parse_units
from byteatlas.errors import Conflict

h5py = pytest.importorskip("h5py")

TYPES = ["<f4", "<f8", ">f4", ">f8", "<f2", "<i2", ">i2", "<i4", "<i8", "<i1", "<u1", "<u2", "<u4", "<u8"]
FILTERS: list[dict[str, Any]] = [
    {}, {"compression": "gzip"}, {"compression": "gzip", "compression_opts": 9}, {"compression": "lzf"},
    {"compression": "gzip", "shuffle": True}, {"fletcher32": True}, {"scaleoffset": 0},
    {"compression": "gzip", "shuffle": True, "fletcher32": True},
]  # fmt: skip
UNITS = {
    "hours since 2000-01-01": (1, 0), "days since 2000-01-01": (24, 0), "hours since 2000-01-02": (1, 24),
    "minutes since 1999-12-31": (1 / 60, -24), "seconds since 2000-01-01 00:00:00": (1 / 3600, 0),
}  # fmt: skip
REASONS = {"calendar", "packing", "dtype"}
"""Why such sets may be refused: no-leap years among others; no type that holds all values."""


@dataclass(frozen=True)
class Spec:
    """How one file stores its values. ``nodata`` NaN and values beyond the type's range are left out."""

    stored: str = "<f4"
    filters: dict[str, Any] = field(default_factory=dict)
    chunks: tuple[int, int] | None = (1, 1)
    scale: float | None = None
    offset: float = 0.0
    nodata: float | None = None
    missing: float | None = None
    fill: float | None = None
    hole: bool = False
    units: str = "hours since 2000-01-01"
    calendar: str | None = "standard"
    time_type: str = "i4"
    unsigned: str | None = None
    absent: bool = False


CHOICES: dict[str, list[Any]] = {
    "stored": TYPES, "filters": FILTERS, "chunks": [None, *((a, b) for a in range(1, 5) for b in range(1, 5))],
    "scale": [None, None, 0.5, 0.01], "offset": [0.0, 5.0, -3.25], "nodata": [None, None, 7, -1, 100, np.nan],
    "missing": [None, None, 3], "fill": [None, 0, 7, 100], "hole": [False, True], "units": list(UNITS),
    "calendar": ["standard", "gregorian", "proleptic_gregorian", None, "noleap"],
    "time_type": ["i4", "f8", "f4", "i8"], "unsigned": [None, "true", "false"], "absent": [False, True],
}  # fmt: skip


def specs(r: random.Random, count: int) -> list[Spec]:
    """One description, and others that differ from it in up to three things."""
    usual = ("stored", "filters", "chunks", "scale", "offset", "nodata", "missing", "fill", "units", "time_type")
    first = Spec(**{name: r.choice(CHOICES[name]) for name in usual})
    others = []
    for _ in range(count - 1):
        names = r.sample(list(CHOICES), r.choice([0, 1, 1, 2, 3]))
        others.append(replace(first, **{name: r.choice(CHOICES[name]) for name in names}))
    found = [first, *others]
    r.shuffle(found)
    return found


def make(path: Path, s: Spec, times: list[int], width: int, r: random.Random) -> str:
    per, shift = UNITS[s.units]
    t = (np.array(times, "f8") - shift) / per
    exact = np.array_equal(t.astype(s.time_type).astype("f8"), t)
    kind = np.dtype(s.stored)
    with h5py.File(path, "w") as f:
        f["time"], f["x"] = t.astype(s.time_type if exact else "f8"), np.arange(width, dtype="f8")
        f["time"].attrs.update({"units": s.units, **({} if s.calendar is None else {"calendar": s.calendar})})
        f["time"].make_scale("time")
        f["x"].make_scale("x")
        if s.absent:
            return str(path)
        values = np.add.outer(np.array(times), np.arange(width)) % 110 / (1 if kind.kind in "iu" else 4)
        values = values.astype(kind)
        how: dict[str, Any] = {}
        if s.chunks is not None:
            how = {"chunks": (s.chunks[0], min(s.chunks[1], width)), "maxshape": (None, width)}
            how |= s.filters if kind.kind in "iu" or "scaleoffset" not in s.filters else {}
        if s.fill is not None and "scaleoffset" not in how:
            how["fillvalue"] = kind.type(s.fill)
        v = f.create_dataset("v", values.shape, kind, **how)
        if holds(kind, s.nodata):
            v.attrs["_FillValue"] = np.array(s.nodata, kind)
            if times:
                values[r.randrange(len(times)), r.randrange(width)] = s.nodata
        if s.missing is not None:
            v.attrs["missing_value"] = np.array(s.missing, kind)
        start = min(how["chunks"][0], len(times)) if s.hole and how else 0
        if start < len(times):
            v[start:] = values[start:]
        if s.scale is not None:
            v.attrs.update({"scale_factor": s.scale, "add_offset": s.offset})
        if s.unsigned is not None:
            v.attrs["_Unsigned"] = s.unsigned
        v.dims[0].attach_scale(f["time"])
        v.dims[1].attach_scale(f["x"])
    return str(path)


def holds(kind: np.dtype[Any], value: float | None) -> bool:
    """Whether a type has a value that means no data."""
    if value is None or (value != value and kind.kind != "f"):
        return False
    return not (kind.kind == "u" and value < 0)


def decoded(stored: NDArray[Any], attributes: dict[str, Any]) -> NDArray[Any]:
    """CF decoding, as exact numbers of Python (or float64 where something is scaled); no data are NaN."""
    native = stored.astype(stored.dtype.newbyteorder("="))
    unsigned = attributes.get("_Unsigned")
    if unsigned is not None and native.dtype.kind in "iu":
        native = native.view(f"{'u' if unsigned == 'true' else 'i'}{native.dtype.itemsize}")
    hidden = np.zeros(native.shape, np.bool_)
    for name in ("_FillValue", "missing_value"):
        for value in np.asarray(attributes.get(name, [])).reshape(-1).tolist():
            if native.dtype.kind == "f":
                hidden |= native == np.asarray(value).astype(native.dtype)
            elif value == value:  # as bits: a signed value may stand for an unsigned one
                bits = 8 * native.dtype.itemsize
                same = [int(v) % 2**bits == int(value) % 2**bits for v in native.reshape(-1).tolist()]
                hidden |= np.array(same, np.bool_).reshape(native.shape)
    scale, offset = (
        float(np.asarray(attributes.get(k, d)).reshape(-1)[0]) for k, d in (("scale_factor", 1), ("add_offset", 0))
    )
    numbers = native if (scale, offset) == (1, 0) else native.astype("f8") * scale + offset
    result = np.empty(native.shape, object)
    result[...] = numbers.astype(object)
    result[hidden] = float("nan")
    return result


def equal(a: NDArray[Any], b: NDArray[Any]) -> bool:
    pairs = zip(a.reshape(-1).tolist(), b.reshape(-1).tolist(), strict=True)
    return a.shape == b.shape and all(x == y or (x != x and y != y) for x, y in pairs)


def hours_of(time: Any) -> list[int]:
    """A combined time in hours since 2000."""
    own, hours = parse_units(time.attrs["units"]), parse_units("hours since 2000-01-01")
    assert own is not None
    assert hours is not None
    a, b = conversion(own, hours)
    found = time[...].astype("f8") * float(a) + float(b)
    np.testing.assert_allclose(found, np.rint(found), atol=1e-6)
    whole: list[int] = np.rint(found).astype(int).tolist()
    return whole


@pytest.mark.parametrize("seed", range(60))
def test_any_set_of_files(tmp_path: Path, seed: int) -> None:
    r = random.Random(seed)
    count, width = r.randint(2, 4), r.randint(1, 5)
    pool = list(range(count * 6))
    if seed % 4 == 0:  # times of the files among those of the others
        r.shuffle(pool)
    sizes = [r.choice([0, 1, 2, 3, 4, 5, 6] if seed % 4 else [2, 4]) for _ in range(count)]
    times = [sorted(pool[sum(sizes[:k]) : sum(sizes[: k + 1])]) for k in range(count)]
    if seed % 10 == 3:
        times = [t[::-1] for t in times]
    paths = [make(tmp_path / f"{k}.h5", s, times[k], width, r) for k, s in enumerate(specs(r, count))]
    rows: dict[int, NDArray[Any]] = {}
    for path, own in zip(paths, times, strict=True):
        with h5py.File(path) as f:
            nothing = np.full((len(own), width), np.nan, object)
            block = decoded(f["v"][...], dict(f["v"].attrs)) if "v" in f else nothing
        rows |= dict(zip(own, block, strict=True))
    given = r.sample(paths, count)
    if (
        seed % 5 == 2 and not ba.plan_combine(given[:2], concat="time", inline_uneven=0).conflicts
    ):  # a combined map among the inputs
        ba.write(ba.combine(given[:2], concat="time", inline_uneven=0), tmp_path / "two.json")
        given = [str(tmp_path / "two.json"), *given[2:]]
    conflicts = ba.plan_combine(given, concat="time", inline_uneven=0).conflicts
    if conflicts:
        assert {c.code for c in conflicts} <= REASONS, conflicts
        with pytest.raises(Conflict):
            ba.combine(given, concat="time", inline_uneven=0)
        return
    both = ba.combine(given, concat="time", inline_uneven=0)
    for name in ("", "m.json", "m.parquet"):
        if name:
            ba.write(both, tmp_path / name)
        root: Any = ba.open(str(tmp_path / name) if name else both)
        order = hours_of(root["time"])
        assert order in (sorted(rows), sorted(rows, reverse=True))
        if "v" in root.keys():  # noqa: SIM118
            want = np.array([rows[t] for t in order], object).reshape(len(order), width)
            attributes = dict(root["v"].attrs)
            assert equal(decoded(root["v"][...], attributes), want)
            assert equal(decoded(root["v"][1:-1, ::2], attributes), want[1:-1, ::2])
