"""Tables of names by numbers, as `make_tables` writes them: one line a row, its members between tabs.

A row has a key, the centre (or set of forecasts) that uses it, further conditions and what it names. Of the rows of a
key whose conditions all hold, that of the centre goes before the general one, and the one with the most conditions
before the others. Centres without a name of their own share those of ECMWF, as ecCodes has it.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache, lru_cache
from pkgutil import get_data
from typing import NamedTuple

from byteatlas.types import JSON

CENTRES: Mapping[int, str] = {
    1: "ammc", 7: "kwbc", 34: "rjtd", 38: "babj", 46: "sbsj", 54: "cwao", 58: "fnmoc", 59: "noaa", 74: "egrr",
    78: "edzw", 80: "cnmc", 82: "eswi", 84: "lfpw", 85: "lfpw", 86: "efkl", 88: "enmi", 94: "ekmi", 97: "esa",
    98: "ecmf", 99: "ehdb", 214: "lemm", 215: "lssw", 224: "lowm", 233: "eidb",
}  # fmt: skip
"""Common code table C-11, as far as centres have names of their own or are frequent."""
EVERYBODY, FALLBACK, ECMWF = "", "ecmf", 98
OLD, NEW, LAST = "<", ">", "~"
LAST_OLD = 33
"""The last version of the WMO's tables with which ECMWF uses names from before the change of 2024."""
SETS: Mapping[int, str] = {4: "tigge", 5: "tigge", 6: "s2s", 7: "s2s", 8: "uerra", 9: "uerra", 10: "uerra", 11: "uerra"}
"""Production status (code table 1.3) of sets of forecasts with names of their own."""


class TableRow(NamedTuple):
    """One row; ``values`` are what it names."""

    place: str
    version: str
    conditions: tuple[tuple[str, int | None], ...]
    values: tuple[str, ...]


@cache
def lines(file: str) -> Mapping[str, list[str]]:
    """The lines of a table by key, not yet looked into."""
    found: dict[str, list[str]] = {}
    for line in (get_data(__package__, file) or b"").decode().splitlines():
        key, _, rest = line.partition("\t")
        found.setdefault(key, []).append(rest)
    return found


@cache
def rows(file: str, key: str, dated: bool) -> tuple[TableRow, ...]:
    """The rows of a key. ``dated``: the table has a column with the version of the WMO's tables."""
    return tuple(_row(line.split("\t"), dated) for line in lines(file).get(key, ()))


def _row(cells: list[str], dated: bool) -> TableRow:
    place, version, (conditions, *values) = cells[0], cells[1] if dated else "", cells[2 if dated else 1 :]
    pairs = [pair.partition("=") for pair in conditions.split(";") if pair]
    return TableRow(place, version, tuple((name, _number(value)) for name, _, value in pairs), tuple(values))


def _number(text: str) -> int | None:
    """None means "missing". What is no number never holds: no key has such a value."""
    try:
        return None if text == "?" else int(text)
    except ValueError:
        return -(1 << 40)


@cache
def conditions_of(file: str, key: str, dated: bool) -> tuple[str, ...]:
    """Names of the numbers that the rows of a key look at."""
    return tuple(dict.fromkeys(name for row in rows(file, key, dated) for name, _ in row.conditions))


def best(file: str, key: str, centre: int, keys: Mapping[str, JSON], *, dated: bool) -> TableRow | None:
    """The row that names something with these numbers."""
    status, version = keys.get("productionStatusOfProcessedData"), keys.get("tablesVersion")
    ecmwf = centre == ECMWF or keys.get("subCentre") == ECMWF
    old = ecmwf and isinstance(version, int) and version <= LAST_OLD
    own = SETS.get(status, EVERYBODY) if isinstance(status, int) else EVERYBODY
    values = tuple([keys.get(name, ABSENT) for name in conditions_of(file, key, dated)])
    return _best(file, key, dated, (own, centre, old), values)


ABSENT = "absent"


@lru_cache(maxsize=4096)
def _best(file: str, key: str, dated: bool, who: tuple[str, int, bool], values: tuple[JSON, ...]) -> TableRow | None:
    own, centre, old = who
    places = tuple(dict.fromkeys([own, CENTRES.get(centre, EVERYBODY), EVERYBODY, FALLBACK]))
    unwanted = NEW if old else OLD
    keys = dict(zip(conditions_of(file, key, dated), values, strict=True))
    ranked = [
        ((_rank(row, places), row.version != unwanted, len(row.conditions), number), row)
        for number, row in enumerate(rows(file, key, dated))
        if row.place in places and all(keys[name] == value for name, value in row.conditions)
    ]
    return max(ranked, key=lambda pair: pair[0])[1] if ranked else None


def _rank(row: TableRow, places: tuple[str, ...]) -> int:
    """Names that were given up come last, ECMWF's for another centre before them; the others are equal."""
    if row.version == LAST:
        return 0
    return 1 if row.place == places[-1] == FALLBACK else 2
