"""Write ``grib.md`` by asking the scanner: ``python docs/status/make_grib.py``. A test compares."""

from __future__ import annotations

from pathlib import Path

from byteatlas_scanners.grib import SCANNER
from byteatlas_scanners.grib.cubes.points import KINDS
from byteatlas_scanners.grib.grids import edition1, edition2
from byteatlas_scanners.grib.grids.projection import FORWARD
from byteatlas_scanners.grib.products.templates import TEMPLATES
from byteatlas_scanners.grib.tables.concepts import lines

REGULAR = frozenset({"regular_ll", "regular_gg"})
AXES = frozenset({"rotated_ll", "rotated_gg", "space_view"})


def coordinates(kind: str) -> str:
    """What coordinates fields on a kind of grid have."""
    words = []
    if kind in REGULAR:
        words.append("latitude, longitude")
    if kind in FORWARD or kind in AXES:
        words.append("x, y, grid mapping")
    if kind in KINDS:
        words.append("latitude, longitude of each point, computed")
    return "; ".join(words) or "none"


def grids() -> str:
    """A row for each grid."""
    kinds: dict[str, list[str]] = {}
    for number, kind in edition1.NAMES.items():
        kinds.setdefault(kind, ["", ""])[0] = str(number)
    for number, kind in edition2.NAMES.items():
        kinds.setdefault(kind, ["", ""])[1] = str(number)
    rows = [f"| {kind} | {one} | {two} | {coordinates(kind)} |" for kind, (one, two) in sorted(kinds.items())]
    return "\n".join(["| grid | edition 1 | edition 2 | coordinates |", "|---|---|---|---|", *rows])


def count(file: str) -> int:
    return sum(map(len, lines(file).values()))


def page() -> str:
    options = "\n".join(f"| `{o.name}` | {o.kind.__name__} | {o.default} | {o.about} |" for o in SCANNER.options)
    products = ", ".join(map(str, sorted(TEMPLATES)))
    return f"""# GRIB

Made by `docs/status/make_grib.py` by asking the code. How fields become arrays is in the [how-to](../how-to/grib.md).

## Grids

Reduced grids (a list of points for each row) are `reduced_gg`, `reduced_ll` and the like. Grids of other numbers
have one dimension, `values`, and no coordinates.

{grids()}

Where ecCodes gives regular rotated Gaussian grids the latitudes of the rotated frame, the computed ones are turned
back. Reduced grids of a part of the globe, spectral, stretched and unstructured grids have no coordinates of
their points.

## Products

Product definition templates of edition 2 whose keys are read: {products}.
Of others only category and number of the parameter are; their fields are told apart by the bytes of the section.
Edition 1: section 1, with the local parts of ECMWF and NCEP that number ensembles.

## Tables

{count("grib1.txt"):,} parameters of edition 1, {count("grib2.txt"):,} of edition 2, {count("levels.txt"):,} types of
levels: those of the WMO and of the centres as ecCodes' definitions have them (`tables/make_tables.py` of the scanner).

## Options

| option | type | default | |
|---|---|---|---|
{options}
"""


if __name__ == "__main__":
    (Path(__file__).parent / "grib.md").write_text(page(), encoding="utf-8")
