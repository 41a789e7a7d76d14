"""Scanner plugins by entry point (group ``byteatlas.scanners``)."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib.metadata import EntryPoint, entry_points

from byteatlas.errors import BadRequest
from byteatlas.scanning.contract import Scanner

GROUP = "byteatlas.scanners"


@cache
def installed() -> Mapping[str, Scanner]:
    """Every installed scanner by name. Two plugins of one name are an error, not a race."""
    return load(tuple(entry_points(group=GROUP)))


def load(points: tuple[EntryPoint, ...]) -> Mapping[str, Scanner]:
    """Scanners of these entry points; the same plugin listed twice (two search paths) counts once."""
    found: dict[str, Scanner] = {}
    seen: dict[str, str] = {}
    for point in points:
        if point.name in seen:
            if seen[point.name] != point.value:
                raise BadRequest(f"two scanners are named {point.name!r}: {seen[point.name]} and {point.value}")
            continue
        seen[point.name] = point.value
        scanner: Scanner = point.load()
        found[point.name] = scanner
    return found
