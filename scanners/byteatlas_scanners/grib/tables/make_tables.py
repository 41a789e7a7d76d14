"""Makes ``grib1.txt``, ``grib2.txt``, ``levels.txt`` and ``centres.txt`` from a folder with ecCodes' definitions.

    python make_tables.py .../eccodes/definitions

The definitions hold the WMO's code tables and those of the centres as concepts: a name and the numbers that make it.
These are facts; what is written here is one line for each, in a form of our own (see `concepts`).
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TypeAlias

HERE = Path(__file__).parent
CENTRES = (
    "ecmf",
    "kwbc",
    "edzw",
    "egrr",
    "lfpw",
    "cnmc",
    "efkl",
    "rjtd",
    "sbsj",
    "lowm",
    "ammc",
    "ekmi",
    "enmi",
    "eswi",
)
SETS = ("tigge", "s2s", "uerra")
"""Sets of forecasts with names of their own; GRIB 2 marks them by the production status."""
ENTRY = re.compile(r"'([^']*)'\s*=\s*\{(.*?)\}", re.DOTALL)
FIRST = {1: ("table2Version", "indicatorOfParameter"), 2: ("discipline", "parameterCategory", "parameterNumber")}
FIELDS = ("shortName", "paramId", "name", "units", "cfName", "cfVarName")
Conditions: TypeAlias = tuple[tuple[str, str], ...]
OLD, NEW, BOTH, LAST = "<", ">", "", "~"
"""Versions of a row: before and after the change of the WMO's tables in 2024, both, and names that are used when there
is no other: those that were given up, and those of a chemical quantity without its constituent."""


def entries(path: Path) -> Iterator[tuple[str, Conditions]]:
    """Names and their conditions, in the file's order."""
    if not path.exists():
        return
    text = "\n".join(
        line for line in path.read_text(encoding="utf-8").splitlines() if not line.lstrip().startswith("#")
    )
    for name, body in ENTRY.findall(text):
        found = dict(part.split("=", 1) for part in body.replace(" ", "").replace("\t", "").split(";") if "=" in part)
        yield name, tuple(sorted((k.strip(), v.strip().replace("missing()", "?")) for k, v in found.items()))


def places(root: Path, edition: int) -> Iterator[tuple[str, Path]]:
    yield "", root / f"grib{edition}"
    for name in (*CENTRES, *SETS):
        yield name, root / f"grib{edition}" / "localConcepts" / name


def parameters(root: Path, edition: int) -> list[str]:
    """One line a parameter: key, set or centre, version, other conditions, fields."""
    lines = []
    for place, folder in places(root, edition):
        old = _read(folder, ".lte33.def")
        new = _read(folder, ".def")
        last = {**_read(folder, ".chemsplit.def"), **_read(folder, ".legacy.def")}
        for conditions in dict.fromkeys([*old, *new, *last]):
            facts = dict(conditions)
            key = [facts.pop(name, None) for name in FIRST[edition]]
            if None in key:
                continue
            rest = ";".join(f"{name}={value}" for name, value in facts.items())
            versions = [*_versions(old.get(conditions), new.get(conditions), bool(old))]
            for version, row in versions or [(LAST, last[conditions])]:
                lines.append("\t".join((".".join(map(str, key)), place, version, rest, *row)))
    return sorted(dict.fromkeys(lines))


def _versions(
    before: tuple[str, ...] | None, after: tuple[str, ...] | None, dated: bool
) -> Iterator[tuple[str, tuple[str, ...]]]:
    if before == after or not dated:
        if after:
            yield BOTH, after
        return
    if before is not None:
        yield OLD, before
    if after is not None:
        yield NEW, after


def _read(folder: Path, ending: str) -> dict[Conditions, tuple[str, ...]]:
    columns: list[Mapping[Conditions, str]] = []
    for field in FIELDS:
        ends = ".def" if field.startswith("cf") and ending != ".legacy.def" else ending
        columns.append({conditions: name for name, conditions in entries(folder / f"{field}{ends}")})
    return {
        conditions: (name, *(column.get(conditions, "") for column in columns[1:]))
        for conditions, name in columns[0].items()
        if name not in ("unknown", "~")
    }


def levels(root: Path) -> list[str]:
    """One line a type of level: key (edition and the first number), centre, conditions, name."""
    lines = []
    for edition, file, first in (
        (1, "typeOfLevel", "indicatorOfTypeOfLevel"),
        (2, "typeOfLevelConcept", "typeOfFirstFixedSurface"),
    ):
        for place, folder in places(root, edition):
            for name, conditions in entries(folder / f"{file}.def"):
                facts = {k: v for k, v in conditions if k not in ("pressureUnits", "genVertHeightCoords")}
                number = facts.pop(first, None)
                if number is not None and name not in ("unknown", "isobaricInPa" if edition == 2 else ""):
                    rest = ";".join(f"{k}={v}" for k, v in facts.items())
                    lines.append(f"{edition}.{number}\t{place}\t{rest}\t{name}")
    return list(dict.fromkeys(lines))


def centres(root: Path) -> list[str]:
    """One line a centre: its number, its short name where it has one, its name (common code table C-11)."""
    lines = []
    for line in (root / "common" / "c-11.table").read_text(encoding="utf-8").splitlines():
        number, _, rest = line.partition(" ")
        short, _, name = rest.partition(" ")
        if number.isdigit() and int(number) and name and name.strip() != "Missing":
            label = name.strip().strip('"').replace("  ", ", ")
            lines.append(f"{number}\t{'' if short == number else short}\t{label}")
    return lines


def main() -> None:
    root = Path(sys.argv[1])
    for name, lines in (
        ("grib1.txt", parameters(root, 1)),
        ("grib2.txt", parameters(root, 2)),
        ("levels.txt", levels(root)),
        ("centres.txt", centres(root)),
    ):
        (HERE / name).write_text("\n".join(lines) + "\n", encoding="utf-8")
        print(name, len(lines))


if __name__ == "__main__":
    main()
