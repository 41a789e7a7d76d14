"""Names of variables and of the groups that they are in: our own way, and those of cfgrib and kerchunk."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

from byteatlas.errors import BadRequest
from byteatlas.types import JSON
from byteatlas_scanners.grib.cubes.arrange import STEP, TIME
from byteatlas_scanners.grib.cubes.cube import Cube
from byteatlas_scanners.grib.products.times import INSTANT

DERIVED: Mapping[int, str] = {
    0: "mean", 1: "mean", 2: "stdev", 3: "stdev", 4: "spread", 5: "anomaly", 6: "cluster_mean", 7: "iqr", 8: "min",
    9: "max", 10: "variance",
}  # fmt: skip
"""Derived forecasts (code table 4.7)."""
PROBABILITY: Mapping[int, str] = {0: "prob_lt", 1: "prob_gt", 2: "prob_in", 3: "prob_gt", 4: "prob_lt"}
"""Kinds of probability (code table 4.9)."""


class Preset(NamedTuple):
    """How names are chosen.

    Attributes:
        variable: a cube's name before it is made unique.
        group: the path of the group that a cube is in, from the label of its grid (empty with one grid only).
        stay: dimensions also where they have one value only, so that files of one collection look alike.
    """

    variable: Callable[[Cube], str]
    group: Callable[[Cube, str], str]
    stay: frozenset[str] = frozenset()


def _short(cube: Cube) -> str:
    return cube.bundle.data[0].parameter.short


def _cf(cube: Cube) -> str:
    return cube.bundle.data[0].parameter.variable


def _by_level(cube: Cube, grid: str) -> str:
    return "/".join(filter(None, (grid, cube.bundle.identity.level)))


def _flat(cube: Cube, grid: str) -> str:
    return grid


def _tree(cube: Cube, grid: str) -> str:
    identity = cube.bundle.identity
    return "/".join(filter(None, (grid, _cf(cube), identity.process, identity.level)))


PRESETS: Mapping[str, Preset] = {
    "byteatlas": Preset(_short, _by_level, frozenset({TIME, STEP})),
    "cfgrib": Preset(_cf, _flat),
    "kerchunk": Preset(_cf, _tree),
}


def preset_named(name: str) -> Preset:
    """Raises `BadRequest` for a name that is none."""
    return PRESETS[one_of("preset", name, PRESETS)]


def one_of(option: str, value: str, known: Iterable[str]) -> str:
    """The value of an option that is one of several words. Raises `BadRequest`."""
    if value not in known:
        raise BadRequest(f"option {option} of scanner grib is {value}; known: {', '.join(known)}")
    return value


def grid_labels(cubes: Sequence[Cube]) -> dict[int, str]:
    """For each grid of the file its label, by the grid's identity; empty where there is only one."""
    kinds = {id(cube.bundle.data[0].grid): cube.bundle.data[0].grid.kind for cube in cubes}
    if len(kinds) < 2:
        return dict.fromkeys(kinds, "")
    counts: dict[str, int] = {}
    labels: dict[int, str] = {}
    for key, kind in kinds.items():
        counts[kind] = counts.get(kind, 0) + 1
        labels[key] = kind if counts[kind] == 1 else f"{kind}_{counts[kind]}"
    return labels


def place_all(cubes: Sequence[Cube], preset: Preset) -> dict[str, dict[str, Cube]]:
    """Cubes by group and name, in the order of the file.

    Of several cubes with one name the first keeps it; the others get what they differ by behind it.
    """
    labels = grid_labels(cubes)
    groups: dict[str, dict[str, Cube]] = {}
    for cube in cubes:
        path = preset.group(cube, labels[id(cube.bundle.data[0].grid)])
        members = groups.setdefault(path, {})
        members[_unique(_legal(preset.variable(cube)), cube, members)] = cube
    return groups


def _unique(base: str, cube: Cube, taken: Mapping[str, Cube]) -> str:
    if base not in taken:
        return base
    first = taken[base]
    parts = [word for word in (_word(a, b) for a, b in zip(_marks(cube), _marks(first), strict=True)) if word]
    name = base
    for part in parts:
        name = f"{name}_{_legal(part)}"
        if name not in taken:
            return name
    number = 2
    while f"{name}_{number}" in taken:
        number += 1
    return f"{name}_{number}"


def _word(mine: str, other: str) -> str:
    return mine if mine != other else ""


def _marks(cube: Cube) -> tuple[str, ...]:
    """What cubes of one name may differ by, in words."""
    identity, bundle = cube.bundle.identity, cube.bundle
    details = dict(identity.details)
    return (
        identity.process if identity.process != INSTANT else "",
        identity.level,
        _named(DERIVED, details.get("derivedForecast"), "derived"),
        _named(PROBABILITY, details.get("probabilityType"), "prob"),
        *(f"{_tight(details[name])}" if name in details else "" for name in ("constituentType", "firstWavelength")),
        "_".join(str(value) for _, value in bundle.parted if value is not None),
        "" if bundle.data[0].product.member is None else "members",
        f"{bundle.twin + 1}" if bundle.twin else "",
    )


def _named(words: Mapping[int, str], value: JSON, otherwise: str) -> str:
    return words.get(value, f"{otherwise}{value}") if isinstance(value, int) else ""


def _tight(value: JSON) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def _legal(name: str) -> str:
    """Letters, digits and ``_`` stay; other characters become ``_``."""
    return "".join(c if c.isascii() and (c.isalnum() or c in "_-.") else "_" for c in name) or "unknown"
