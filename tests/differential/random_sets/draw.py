"""Sets of files that differ at random: what each file stores, and which refusals the draw itself explains."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any, Literal

Mode = Literal["along", "new", "tiles", "groups"]
"""Along time; along a new dimension; a grid of tiles; along time with a variable in a group."""

FORMATS = ["NETCDF4", "NETCDF4", "NETCDF4", "NETCDF4_CLASSIC", "NETCDF3_CLASSIC", "NETCDF3_64BIT_OFFSET"]
TYPES = ["i1", "i2", "i2", "i4", "f4", "f4", "f8", "u1", "u2", "i8"]
CLASSIC_TYPES = ("i1", "i2", "i4", "f4", "f8")
FILTERS: list[dict[str, Any]] = [
    {}, {"zlib": True}, {"zlib": True, "complevel": 9}, {"zlib": True, "shuffle": False}, {"fletcher32": True},
    {"zlib": True, "fletcher32": True}, {"compression": "zstd"}, {"compression": "bzip2"}, {"endian": "big"},
    {"zlib": True, "endian": "big"},
]  # fmt: skip
UNITS = {
    "hours since 2000-01-01": (1.0, 0), "hours since 2000-01-01 00:00:00 0:00": (1.0, 0),
    "days since 2000-01-01": (24.0, 0), "hours since 2000-01-02 00:00:00": (1.0, 24),
    "minutes since 1999-12-31 00:00 UTC": (1 / 60, -24), "seconds since 2000-01-01T00:00:00Z": (1 / 3600, 0),
    "hours since 2000/01/01": (1.0, 0), "days since 1999-12-31 12:00": (24.0, -12),
}  # fmt: skip
"""Units of times: hours in one step, and the reference in hours since 2000."""


@dataclass(frozen=True)
class FileSpec:
    """How one file stores its values.

    Attributes:
        hours: times in hours since 2000, whatever the units in the file.
        rows, columns: values of y and x.
        stored: the type of ``a``; ``scale``, ``nodata``, ``missing`` its packing.
        written: how many of its records were written; None = all.
        valid_units: units of an auxiliary time; None = there is none. ``valid_hole``: one of its values is absent.
        text: how ``label`` is stored: characters, strings, or not at all.
        lack: names of variables that the file does not have.
    """

    hours: tuple[int, ...] = ()
    rows: tuple[int, ...] = (0, 1)
    columns: tuple[int, ...] = (0, 1, 2)
    format: str = "NETCDF4"
    unlimited: bool = True
    chunks: tuple[int, int, int] | None = None
    filters: dict[str, Any] = field(default_factory=dict)
    stored: str = "f4"
    scale: float | None = None
    offset: float = 0.0
    nodata: float | None = None
    missing: float | None = None
    written: int | None = None
    units: str = "hours since 2000-01-01"
    calendar: str | None = "standard"
    time_type: str = "f8"
    time_chunk: int | None = None
    bounds: bool = False
    valid_units: str | None = None
    valid_hole: bool = False
    text: str | None = None
    quantity: str = "K"
    cell_methods: str | None = None
    epsg: int = 4326
    static_type: str = "f8"
    lack: frozenset[str] = frozenset()

    @property
    def classic(self) -> bool:
        return self.format != "NETCDF4"

    @property
    def netcdf3(self) -> bool:
        return self.format.startswith("NETCDF3")


CHOICES: dict[str, list[Any]] = {
    "format": FORMATS,
    "unlimited": [True, False],
    "chunks": [None, None, (1, 2, 3), (2, 1, 3), (3, 2, 2), (1, 1, 1), (4, 2, 3)],
    "filters": FILTERS,
    "stored": TYPES,
    "scale": [None, None, 0.5, 0.01, 2.0],
    "offset": [0.0, 5.0, -3.25],
    "nodata": [None, None, 7, -1, 100, 250, float("nan")],
    "missing": [None, None, 3, -1],
    "units": list(UNITS),
    "calendar": ["standard", "gregorian", "proleptic_gregorian", None],
    "time_type": ["i4", "f8", "f4"],
    "time_chunk": [None, None, 1, 2, 512],
    "bounds": [False, False, True],
    "valid_units": [None, None, *UNITS],
    "valid_hole": [False, False, True],
    "text": [None, None, "char", "str"],
    "static_type": ["f8", "f4", "i2"],
}
USUAL = (*CHOICES,)
DIFFERING: dict[str, list[Any]] = {
    **{k: v for k, v in CHOICES.items() if k not in ("bounds", "text", "valid_units")},
    "valid_units": list(UNITS),
    "written": [0, 1, 2],
    "lack": [frozenset({n}) for n in ("a", "z", "x", "y", "label", "valid", "flag")],
}
RARE: dict[str, list[Any]] = {
    "calendar": ["noleap", "360_day"], "quantity": ["degC"], "epsg": [32633], "cell_methods": ["time: maximum"],
    "lack": [frozenset({"time"})],
}  # fmt: skip
"""Differences that no combination can reconcile."""


@dataclass(frozen=True)
class SetSpec:
    """A set of files. ``given``: the order in which they are combined."""

    mode: Mode
    files: tuple[FileSpec, ...]
    given: tuple[int, ...]

    @property
    def implied(self) -> set[str]:
        """The codes of refusals that follow from what was drawn."""
        return set(reasons(self))


def draw(seed: int) -> SetSpec:
    """The set of a seed."""
    r = random.Random(seed)
    mode: Mode = r.choice(["along", "along", "along", "new", "tiles", "groups"])
    count = r.randint(2, 4)
    base = FileSpec(**{name: r.choice(CHOICES[name]) for name in USUAL})
    if base.cell_methods is None and r.random() < 0.3:
        base = replace(base, cell_methods="time: mean")
    files = [legal(placed(different(base, r, k), mode, k, count, r)) for k in range(count)]
    if mode == "along":
        files = interleaved(files, r)
    order = list(range(len(files)))
    r.shuffle(order)
    return SetSpec(mode, tuple(files), tuple(order))


def different(base: FileSpec, r: random.Random, number: int) -> FileSpec:
    """A description that differs from another in up to three things."""
    if number == 0:
        return base
    names = r.sample(list(DIFFERING), r.choice([0, 1, 1, 2, 3]))
    found = replace(base, **{name: r.choice(DIFFERING[name]) for name in names})
    if r.random() < 0.02:
        name = r.choice(list(RARE))
        found = replace(found, **{name: r.choice(RARE[name])})
    return found


def placed(s: FileSpec, mode: Mode, number: int, count: int, r: random.Random) -> FileSpec:
    """The times and places that a file has."""
    match mode:
        case "new":
            return replace(s, hours=(0, 24, 48), written=None)
        case "tiles":
            t, y = divmod(number, 2)
            rows = (0, 1) if y == 0 else (2, 3, 4)
            return replace(s, hours=(72 * t, 72 * t + 24, 72 * t + 48), rows=rows, lack=s.lack - {"y", "time"})
        case _:
            n = r.choice([1, 2, 3, 3, 4, 5])
            step = r.choice([24, 24, 12, 1])
            return replace(s, hours=tuple(240 * number + step * k for k in range(n)))


def interleaved(files: list[FileSpec], r: random.Random) -> list[FileSpec]:
    """Sometimes the times of files lie between each other's, or go down, or a file has no time at all."""
    kind = r.random()
    if kind < 0.12:
        pool = sorted(h for s in files for h in s.hours)
        r.shuffle(pool)
        taken = []
        for s in files:
            own, pool = pool[: len(s.hours)], pool[len(s.hours) :]
            taken.append(replace(s, hours=tuple(sorted(own))))
        return taken
    if kind < 0.18:
        return [replace(s, hours=s.hours[::-1]) for s in files]
    if kind < 0.22 and files[-1].unlimited:
        return [*files[:-1], replace(files[-1], hours=(), written=None)]
    return files


def legal(s: FileSpec) -> FileSpec:
    """The description with what its format cannot store left out."""
    if s.netcdf3:
        s = replace(s, filters={}, chunks=None, time_chunk=None, written=None)
    if s.format == "NETCDF4_CLASSIC" and s.filters.get("compression") in ("zstd", "bzip2"):
        s = replace(s, filters={"zlib": True})
    if s.classic and s.stored not in CLASSIC_TYPES:
        s = replace(s, stored="f4")
    if s.classic and s.text == "str":
        s = replace(s, text="char")
    if not s.unlimited:
        s = replace(s, written=None)
    whole = s.stored[0] in "iu"
    top = {"i1": 127, "u1": 255}.get(s.stored, 32767)
    bad = [v for v in (s.nodata, s.missing) if v is not None and whole and (v != v or v > top)]
    bad += [v for v in (s.nodata, s.missing) if v is not None and s.stored[0] == "u" and v < 0]
    s = replace(s, nodata=None if s.nodata in bad or (whole and s.nodata != s.nodata) else s.nodata)
    s = replace(s, missing=None if s.missing in bad else s.missing)
    if len(s.hours) < 2:  # xarray decodes no times that are all absent
        s = replace(s, valid_hole=False)
    if s.hours and not whole_steps(s):
        s = replace(s, time_type="f8")
    return s


def whole_steps(s: FileSpec) -> bool:
    per, shift = UNITS[s.units]
    return all(((h - shift) / per).is_integer() and abs((h - shift) / per) < 2**24 for h in s.hours)


def reasons(spec: SetSpec) -> Iterator[str]:
    """Codes of refusals that the documentation announces for a set like this."""
    files = spec.files
    some = [s for s in files if "a" not in s.lack]
    if len({family(s.calendar) for s in files}) > 1:
        yield "calendar"
    if len({s.quantity for s in some}) > 1:
        yield "units"
    if len({s.cell_methods for s in some}) > 1 or len({s.epsg for s in some}) > 1:
        yield "attributes"
        yield "crs"
    valid = {s.valid_hole for s in files if s.valid_units is not None and "valid" not in s.lack}
    if spec.mode == "tiles" and len(valid) > 1:
        yield "duplicate"  # files of one time have different data
    if len({"time" in s.lack for s in files}) > 1:
        yield "coordinate"
    kinds = {(s.stored, s.scale, s.offset if s.scale else 0, str(s.nodata), s.missing) for s in some}
    if any(s.stored == "i8" for s in some) and (len(kinds) > 1 or len(some) < len(files)):
        yield "packing"  # no type holds all 64-bit integers and "no data"
        yield "dtype"
    labels = {s.text for s in files if "label" not in s.lack}
    if len(labels) > 1:
        yield "dims"


def family(calendar: str | None) -> str:
    return calendar if calendar in ("noleap", "360_day") else "standard"
