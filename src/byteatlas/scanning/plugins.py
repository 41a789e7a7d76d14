"""Which scanners are installed, and which of them may know a file; no more of them are imported than needed.

Scanners are announced by the entry-point group ``byteatlas.scanners``. Those that come with byteatlas are also in a
table with their formats' first bytes (`byteatlas_scanners.BUILT_IN`), so that the usual case imports one scanner and
does not read the entry points of all installed packages, which takes longer than a scan. Whether another package has
scanners is found out by looking for the group's name in the packages' metadata; if one has, its scanners are loaded and
asked too, and the highest priority wins.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from importlib import import_module
from typing import Any

from byteatlas.errors import BadRequest
from byteatlas.importing import object_named
from byteatlas.scanning.contract import FirstBytes, Scanner

GROUP = "byteatlas.scanners"
TABLE = "byteatlas_scanners"
MOST_METADATA = 1 << 20


class Installed(Mapping[str, Scanner]):
    """Scanners by name, imported when they are first asked for.

    Args:
        targets: ``module:attribute`` by name.
        built_in: rows of the table; a scanner without a row may know any file.
    """

    def __init__(self, targets: Mapping[str, str], built_in: Sequence[Any] = ()) -> None:
        self._targets = targets
        self._rows = {row.name: row for row in built_in if targets.get(row.name) == row.target}
        self._loaded: dict[str, Scanner] = {}

    def __getitem__(self, name: str) -> Scanner:
        found = self._loaded.get(name)
        if found is None:
            found = self._loaded[name] = object_named(self._targets[name])
        return found

    def __iter__(self) -> Iterator[str]:
        return iter(self._targets)

    def __len__(self) -> int:
        return len(self._targets)

    def likely(self, first: FirstBytes) -> list[Scanner]:
        """The scanners that may know a file, the highest priority first."""
        rows = self._rows
        names = [n for n in self._targets if n not in rows or rows[n].likely(first.data, first.url)]
        return by_priority([self[name] for name in names])


def by_priority(scanners: Sequence[Scanner]) -> list[Scanner]:
    """The highest priority first; of equal ones as they come."""
    return sorted(scanners, key=lambda scanner: -scanner.priority)


def likely(scanners: Mapping[str, Scanner], first: FirstBytes) -> list[Scanner]:
    """The scanners of a mapping that may know a file, the highest priority first."""
    if isinstance(scanners, Installed):
        return scanners.likely(first)
    return by_priority(list(scanners.values()))


@cache
def installed() -> Installed:
    """Every installed scanner by name. Two plugins of one name are an error (`BadRequest`), not a race."""
    rows: Sequence[Any] = import_module(TABLE).BUILT_IN
    announced = [(row.name, row.target) for row in rows]
    if announced_elsewhere(sys.path):
        from importlib.metadata import entry_points

        announced += [(point.name, point.value) for point in entry_points(group=GROUP)]
    return Installed(targets_of(announced), rows)


def targets_of(announced: Sequence[tuple[str, str]]) -> dict[str, str]:
    """Targets by name; the same plugin listed twice (the table, two search paths) counts once. Raises `BadRequest`."""
    found: dict[str, str] = {}
    for name, target in announced:
        if found.setdefault(name, target) != target:
            raise BadRequest(f"two scanners are named {name!r}: {found[name]} and {target}")
    return found


def announced_elsewhere(folders: Sequence[str]) -> bool:
    """Whether a package other than byteatlas announces scanners, by a look at the metadata of installed packages."""
    word = GROUP.encode()
    for folder in folders:
        try:
            names = [e.name for e in os.scandir(folder or ".") if e.name.endswith((".dist-info", ".egg-info"))]
        except OSError:
            continue
        for name in names:
            if not name.startswith("byteatlas-") and word in _start(f"{folder}/{name}/entry_points.txt"):
                return True
    return False


def _start(path: str) -> bytes:
    try:
        file = os.open(path, os.O_RDONLY)
    except OSError:
        return b""
    try:
        return os.read(file, MOST_METADATA)
    except OSError:
        return b""
    finally:
        os.close(file)
