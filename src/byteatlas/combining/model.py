"""What a combination is asked to do, and what its plan says. Values only."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Mapping, Set
from typing import Any, Literal, NamedTuple, NewType, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

from byteatlas.arguments import FLAG, TEXT, Kind, accept, accept_fields, shown, whole, wrong
from byteatlas.errors import BadRequest
from byteatlas.importing import report_of, shown_as_html
from byteatlas.manifest.model import VirtualArray, VirtualGroup
from byteatlas.meta.text import cut_short, shape_text
from byteatlas.types import JSON, Shape
from byteatlas.values import dataclass, field

ReadArray: TypeAlias = Callable[[VirtualArray], NDArray[Any]]
"""Gives all values of a virtual array (the engine's; combining never decodes by itself)."""

OnConflict: TypeAlias = Literal["error", "drop-variable", "drop-file"]
Duplicates: TypeAlias = Literal["error", "first", "last"]
FileOrder: TypeAlias = Literal["coordinate", "given"]
AttributePolicy: TypeAlias = Literal["common", "first"]
CHOICES: Mapping[str, tuple[str, ...]] = {
    "on_conflict": get_args(OnConflict),
    "duplicates": get_args(Duplicates),
    "order": get_args(FileOrder),
    "attributes": get_args(AttributePolicy),
}
"""Options of `CombineOptions` that take one of a few words."""


SOURCES: Mapping[str, Kind] = {
    "name": TEXT,
    **dict.fromkeys(("path", "variable", "strptime"), TEXT | None),
    "decode": FLAG,
    "function": Kind(callable, "a function"),
    "values": Kind(
        lambda given: hasattr(given, "__len__") and not isinstance(given, (str, bytes, type, Mapping, Set)),
        "a list with a value for each file",
    ),
}
"""What the arguments of coordinate sources may be."""
COMBINE_OPTIONS: Mapping[str, Kind] = {
    "reconcile": FLAG,
    **dict.fromkeys(("compare_below", "inline_uneven", "inline_below"), whole()),
    **dict.fromkeys(("units", "calendar"), TEXT | None),
}


@dataclass(frozen=True, slots=True)
class FromVariable:
    """Coordinate values are those of a variable; ``path`` None: the one that has the dimension's name.

    ``decode``: times in the files' own units and calendars are brought to common ones.

    >>> source = {"time": ba.FromVariable("time")}
    >>> ba.combine(["jan.nc", "feb.nc"], concat="time", coords=source)["time"].meta.shape
    (4,)
    """

    path: str | None = None
    decode: bool = True

    def __post_init__(self) -> None:
        accept(SOURCES, path=self.path, decode=self.decode)


@dataclass(frozen=True, slots=True)
class FromAttribute:
    """One value per file: an attribute of the root group, or of ``variable``.

    >>> options = {"coords": {"month": ba.FromAttribute("month")}, "trust": ("time",)}
    >>> vg = ba.combine(["jan.nc", "feb.nc"], concat="month", **options)
    >>> ba.open(vg)["month"][...]
    array([1, 2])
    """

    name: str
    variable: str | None = None

    def __post_init__(self) -> None:
        accept(SOURCES, name=self.name, variable=self.variable)


@dataclass(frozen=True, slots=True)
class FromName:
    """One value per file, found in its name by a regular expression: its first group (or the group ``value``), else all
    of the match. ``strptime`` reads that text as a date. A pattern given as text is
    compiled. Raises `BadRequest` for what is no regular expression.

    >>> day = ba.FromName(r"_([0-9]+)", "%Y%m%d")
    >>> vg = ba.combine(["t_20010103.tif", "t_20010104.tif"], concat="day", coords={"day": day})
    >>> vg["day"].meta.attributes["units"]
    'days since 1970-01-01'
    """

    pattern: re.Pattern[str]
    strptime: str | None = None

    def __post_init__(self) -> None:
        try:
            object.__setattr__(self, "pattern", re.compile(self.pattern))
        except (re.error, TypeError) as error:
            raise BadRequest(f"{shown(self.pattern)} is not a regular expression: {error}") from error
        accept(SOURCES, strptime=self.strptime)
        if not isinstance(self.pattern.pattern, str):
            raise wrong("pattern", self.pattern.pattern, "a regular expression of text")


@dataclass(frozen=True, slots=True)
class ByOrder:
    """The files' order is the coordinate: 0, 1, 2...

    >>> vg = ba.combine(["t_20010103.tif", "t_20010104.tif"], concat="run", coords={"run": ba.ByOrder()})
    >>> vg["data"].meta.shape
    (2, 4, 4)
    """


@dataclass(frozen=True, slots=True)
class Values:
    """One value per file, in the order of the files.

    >>> vg = ba.combine(["t_20010103.tif", "t_20010104.tif"], concat="run", coords={"run": ba.Values((10, 20))})
    >>> ba.open(vg)["run"][...]
    array([10, 20])
    """

    values: tuple[object, ...]

    def __post_init__(self) -> None:
        accept(SOURCES, values=self.values)


@dataclass(frozen=True, slots=True)
class Compute:
    """One value (or a 1-D array of them) per file: ``function(index, name, group)``.

    >>> source = ba.Compute(lambda index, name, group: int(name[2:10]))
    >>> vg = ba.combine(["t_20010103.tif", "t_20010104.tif"], concat="run", coords={"run": source})
    >>> ba.open(vg)["run"][...]
    array([20010103, 20010104])
    """

    function: Callable[[int, str, VirtualGroup], object]

    def __post_init__(self) -> None:
        accept(SOURCES, function=self.function)


CoordinateSource: TypeAlias = FromVariable | FromAttribute | FromName | ByOrder | Values | Compute


@dataclass(frozen=True, slots=True)
class CombineOptions:
    """What a user may choose about a combination.

    Attributes:
        concat: names of the dimensions along which files follow each other. One that no file has becomes a new
            leading dimension of the data variables.
        coords: where the coordinate values of a dimension come from; `FromVariable` unless said otherwise.
        order: ``coordinate`` sorts files by their coordinate values and refuses overlaps; ``given`` keeps the order.
        duplicates: what happens to files with the same coordinate values and the same variables.
        on_conflict: ``error`` raises `Conflict`; the others leave out what is in conflict and say so in the plan.
        attributes: ``common`` keeps the attributes that are equal in all files, ``first`` those of the first file.
        reconcile: False refuses every difference that would need more than plain Zarr.
        trust: variables without a concatenated dimension whose values are taken from the first file unchecked.
            ``("*",)``: all of them.
        compare_below: bytes; larger variables without a concatenated dimension count as equal only when their
            references are the same, and are in conflict otherwise.
        inline_uneven: bytes; a variable that plain Zarr cannot say (uneven chunks, several codecs or packings) is read
            and kept in the map when it is not larger, so that the map stays plain. 0: never.
        inline_below: bytes; the combined coordinate is stored in the map itself when it is not larger.
        units, calendar: of the combined time coordinate, when they shall not be derived from the files.
        stack: for new dimensions: the variables that get them; None = all but coordinates.

    >>> options = ba.CombineOptions(concat=("time",), on_conflict="drop-variable")
    >>> options.order, options.duplicates
    ('coordinate', 'error')
    """

    concat: tuple[str, ...] = ()
    coords: Mapping[str, CoordinateSource] = field(default_factory=dict)
    order: FileOrder = "coordinate"
    duplicates: Duplicates = "error"
    on_conflict: OnConflict = "error"
    attributes: AttributePolicy = "common"
    reconcile: bool = True
    trust: tuple[str, ...] = ()
    compare_below: int = 16 << 20
    inline_uneven: int = 64 << 10
    inline_below: int = 64 << 20
    units: str | None = None
    calendar: str | None = None
    stack: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        for name in ("concat", "trust", "stack"):
            if isinstance(value := getattr(self, name), str):
                object.__setattr__(self, name, (value,))
            elif value is not None or name != "stack":
                object.__setattr__(self, name, _names(value, name))
        if not all(self.concat):
            raise BadRequest("concat has an empty name; a dimension has a name")
        for name, known in CHOICES.items():
            if not isinstance(value := getattr(self, name), str) or value not in known:
                raise BadRequest(f"{name} is {shown(value)}; known: {', '.join(known)}")
        if not isinstance(self.coords, Mapping):
            raise wrong("coords", self.coords, "a dict of dimensions to sources")
        accept_fields(COMBINE_OPTIONS, self)


def _names(value: object, option: str) -> tuple[str, ...]:
    """Names as a caller may give them: a list, a set, a tuple. Raises `BadRequest` for anything else."""
    if isinstance(value, Iterable) and not isinstance(value, (bytes, Mapping, os.PathLike)):
        names = tuple(value)
        if all(isinstance(name, str) for name in names):
            return names
    raise BadRequest(f"{option} is {type(value).__name__}; a name or a list of names was expected")


InputNumber = NewType("InputNumber", int)
"""An input, by its place in the order given."""
BlockNumber = NewType("BlockNumber", int)
"""A run of coordinate values along one dimension, by its place in the result."""
ClassNumber = NewType("ClassNumber", int)
"""Inputs with the same metadata for a variable, by the place of their class."""
Cell: TypeAlias = tuple[BlockNumber, ...]
"""A place in the grid of blocks: the block along each of some axes."""


class FlatInput(NamedTuple):
    """One of the things to combine. ``arrays`` and ``groups`` are flat: path -> node, without the root group."""

    name: str
    group: VirtualGroup
    arrays: Mapping[str, VirtualArray]
    groups: Mapping[str, VirtualGroup]


FindingLevel: TypeAlias = Literal["conflict", "reconciled", "note"]
LEVELS: tuple[FindingLevel, ...] = get_args(FindingLevel)


@dataclass(frozen=True, slots=True)
class Finding:
    """One difference between files.

    Attributes:
        level: ``conflict`` stops the combination, ``reconciled`` is handled when data are read, ``note`` needs nothing.
        code: what differs: dtype, fill, packing, chunks, codecs, units, calendar, attributes, order, overlap...
        variable: its path; None when it concerns whole files.
        files: those that differ from the rest.
        detail: a sentence with the values.
        items: the names of the attributes that it is about.

    >>> [finding] = ba.plan_combine(["jan.nc", "other.nc"], concat="time").conflicts
    >>> finding.level, finding.code, finding.variable
    ('conflict', 'units', 'air')
    """

    level: FindingLevel
    code: str
    variable: str | None
    files: tuple[str, ...]
    detail: str
    items: tuple[str, ...] = ()

    def sentence(self, show: int = 3) -> str:
        """One line, naming at most ``show`` files."""
        what = f"variable {self.variable!r}: " if self.variable is not None else ""
        more = f" and {len(self.files) - show} more" if len(self.files) > show else ""
        where = f" ({', '.join(self.files[:show])}{more})" if self.files else ""
        return f"{what}{self.detail}{where} [{self.code}]"


@dataclass(frozen=True, slots=True)
class DimensionPlan:
    """How files follow each other along one dimension.

    Attributes:
        source: where the coordinate values come from, in words.
        blocks: for each run of coordinate values, in result order: the first and last value, their number, the files.
        direction: ``ascending``, ``descending``, ``given`` (not checked) or ``single``.
    """

    name: str
    source: str
    direction: str
    length: int
    blocks: tuple[BlockPlan, ...]
    units: str | None = None
    calendar: str | None = None


@dataclass(frozen=True, slots=True)
class BlockPlan:
    """A run of coordinate values that one file (or several, with different variables or tiles) covers."""

    first: JSON
    last: JSON
    count: int
    files: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class VariablePlan:
    """What becomes of one variable. ``action``: concatenated, stacked, once (equal in all files), inlined, dropped."""

    path: str
    action: str
    dims: tuple[str | None, ...]
    shape: Shape
    dtype: str
    chunks: str
    encodings: int
    plain: bool
    references: int


@dataclass(frozen=True, slots=True, repr=False)
class Plan:
    """What combining would do. ``conflicts`` is empty when it can be done.

    >>> ba.plan_combine(["jan.nc", "feb.nc"], concat="time")
    <Plan of 2 inputs>
      time 4 (ascending, by variable time)
      time float64 (time 4), inlined
      lat float64 (lat 4), once
      lon float64 (lon 8), once
      air float32 (time 4, lat 4, lon 8), concatenated
      note: attributes differ: month: left out [attributes]
    """

    inputs: tuple[str, ...]
    dimensions: tuple[DimensionPlan, ...]
    variables: tuple[VariablePlan, ...]
    findings: tuple[Finding, ...]
    dropped_files: tuple[str, ...] = ()
    dropped_variables: tuple[str, ...] = ()

    @property
    def conflicts(self) -> tuple[Finding, ...]:
        return tuple(f for f in self.findings if f.level == "conflict")

    @property
    def ok(self) -> bool:
        return not self.conflicts

    def __repr__(self) -> str:
        along = [f"{d.name} {d.length} ({d.direction}, by {d.source})" for d in self.dimensions]
        kept = [f"{v.path} {v.dtype} {shape_text(v.shape, v.dims)}, {v.action}" for v in self.variables]
        found = [f"{f.level}: {f.sentence()}" for f in sorted(self.findings, key=lambda f: LEVELS.index(f.level))]
        shown = [f"  {line}" for lines in (along, kept, found) for line in cut_short(lines)]
        verdict = "" if self.ok else ", cannot be combined"
        return "\n".join([f"<Plan of {len(self.inputs)} inputs{verdict}>", *shown])

    def html(self) -> str:
        """A page about it: see `byteatlas.report`."""
        return report_of(self)

    def _repr_html_(self) -> str | None:
        return shown_as_html(self)


def scalar_json(value: object) -> JSON:
    """A NumPy or Python scalar as JSON (dates as ISO text)."""
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    return str(value)
