"""Which fields make one variable.

Fields of one parameter, type of level, grid and kind of statistics belong together; time, step, level, member and the
like are places within. Where two fields have the same place, something else tells them apart: the length of the time
that they are of, or how they were made. Then they are parted by the first such thing that helps, and at last by their
order in the file: no field is dropped, and the report names those that have the same place.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple, TypeAlias

from byteatlas.types import JSON
from byteatlas.values import dataclass
from byteatlas_scanners.grib.cubes.datum import Datum

LevelValue: TypeAlias = tuple[float, float | None] | None
FieldPlace: TypeAlias = tuple[tuple[str, float | LevelValue], ...]
"""Names of dimensions and a field's value of each."""
NO_DATE = -(1 << 63)
"""In place of a reference time that is no date; NumPy's "not a time"."""
TIME, STEP, NUMBER = "time", "step", "number"
HOUR = 3600


class Identity(NamedTuple):
    """What fields of one variable have in common."""

    parameter: str
    level: str
    grid: int
    process: str
    details: tuple[tuple[str, JSON], ...]
    axes: tuple[str, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Bundle:
    """The fields of one variable, each at a place of its own.

    Attributes:
        parted: by what it differs from other variables of the same identity: names and values.
        twin: 1 and more for the fields whose place is taken by another field of the file, else 0.
    """

    identity: Identity
    data: tuple[Datum, ...]
    places: tuple[FieldPlace, ...]
    parted: tuple[tuple[str, JSON], ...] = ()
    twin: int = 0


def place_of(datum: Datum) -> FieldPlace:
    """Where a field is within its variable."""
    product = datum.product
    times, level = product.times, product.level
    place: list[tuple[str, float | LevelValue]] = [
        (TIME, NO_DATE if times.reference is None else times.reference),
        (STEP, times.end),
        (level.kind, None if level.first is None else (level.first, level.second)),
        *product.axes,
    ]
    if product.member is not None:
        place.append((NUMBER, product.member))
    return tuple(place)


def arrange(data: Sequence[Datum]) -> list[Bundle]:
    """All fields as variables, in the order of the file."""
    buckets: dict[Identity, list[tuple[Datum, FieldPlace]]] = {}
    for datum in data:
        product, parameter = datum.product, datum.parameter
        place = place_of(datum)
        name = parameter.short if parameter.known else f"{product.edition}.{product.primary}"
        names = tuple(name for name, _ in place)
        identity = Identity(name, product.level.kind, id(datum.grid), product.times.process, product.details, names)
        buckets.setdefault(identity, []).append((datum, place))
    found: list[Bundle] = []
    for identity, members in buckets.items():
        found += _parted(Bundle(identity, tuple(d for d, _ in members), tuple(p for _, p in members)), DISCRIMINATORS)
    return found


Discriminator: TypeAlias = tuple[str, Callable[[Datum], JSON]]


def time_range(datum: Datum) -> JSON:
    """``start`` for what is counted from the reference time on, else the length, such as ``6h``."""
    times = datum.product.times
    if times.begin == 0:
        return "start"
    length = times.end - times.begin
    return f"{length // HOUR}h" if length % HOUR == 0 else f"{length}s"


def _origin(name: str) -> Discriminator:
    return name, lambda datum: dict(datum.product.origins).get(name)


DISCRIMINATORS: tuple[Discriminator, ...] = (
    ("range", time_range),
    *[
        _origin(name)
        for name in (
            "marsType", "ensembleType", "marsStream", "marsClass", "typeOfProcessedData", "typeOfGeneratingProcess",
            "generatingProcessIdentifier", "inputProcessIdentifier", "typeOfPostProcessing", "subCentre",
            "backgroundProcess", "productionStatusOfProcessedData", "significanceOfReferenceTime",
        )
    ],
    ("centre", lambda datum: datum.product.centre),
    ("experiment", lambda datum: datum.product.keys.get("experimentVersionNumber")),
)  # fmt: skip


def _parted(bundle: Bundle, by: Sequence[Discriminator]) -> Iterator[Bundle]:
    clashes = len(bundle.places) - len(set(bundle.places))
    if not clashes:
        yield bundle
        return
    for number, (name, value) in enumerate(by):
        groups: dict[JSON, list[int]] = {}
        for i, datum in enumerate(bundle.data):
            groups.setdefault(value(datum), []).append(i)
        if len(groups) < 2:
            continue
        left = sum(len(rows) - len({bundle.places[i] for i in rows}) for rows in groups.values())
        if left < clashes:
            for key, rows in groups.items():
                yield from _parted(_some(bundle, rows, (name, key)), by[number + 1 :])
            return
    yield from _twins(bundle)


def _some(bundle: Bundle, rows: Sequence[int], by: tuple[str, JSON] | None = None, twin: int = 0) -> Bundle:
    parted = bundle.parted if by is None else (*bundle.parted, by)
    return Bundle(
        bundle.identity, tuple(bundle.data[i] for i in rows), tuple(bundle.places[i] for i in rows), parted, twin
    )


def _twins(bundle: Bundle) -> Iterator[Bundle]:
    """By the order in the file: the first field of each place, then the second ones, and so on."""
    counts: dict[FieldPlace, int] = {}
    rounds: dict[int, list[int]] = {}
    for i, place in enumerate(bundle.places):
        count = counts[place] = counts.get(place, -1) + 1
        rounds.setdefault(count, []).append(i)
    for twin, rows in rounds.items():
        yield _some(bundle, rows, twin=twin)
