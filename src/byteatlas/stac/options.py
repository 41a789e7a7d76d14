"""What may be said of a STAC Item that the arrays do not say."""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import datetime

from byteatlas.arguments import FLAG, NAMED, TEXT, accept_fields, made_by, whole
from byteatlas.errors import BadRequest
from byteatlas.types import JSON
from byteatlas.values import dataclass, field


@dataclass(frozen=True, slots=True)
class StacOptions:
    """How an item is made.

    Attributes:
        id: of the item; None = from ``href``.
        bbox: (west, south, east, north) in degrees, in place of what the coordinates say.
        start, end: RFC 3339 times, in place of what the time coordinates say; one alone is both.
        sources: an asset for each file that a map leads to, too.
        most_sources: more files than these are refused as assets.
        properties: further properties, which win.

    >>> ba.stac_item("jan.nc", options=ba.StacOptions(id="january", bbox=(-10, 40, 30, 60)))["id"]
    'january'
    """

    id: str | None = None
    bbox: tuple[float, float, float, float] | None = None
    start: str | None = None
    end: str | None = None
    sources: bool = False
    most_sources: int = 10_000
    properties: Mapping[str, JSON] = field(default_factory=dict)

    def __post_init__(self) -> None:
        accept_fields(STAC_OPTIONS, self)
        if self.bbox is not None:
            _check_bbox(self.bbox)
        times = [_time(name, text) for name, text in (("start", self.start), ("end", self.end)) if text is not None]
        if times != sorted(times):
            raise BadRequest(f"start ({self.start}) is after end ({self.end})")


STAC_OPTIONS = {
    "id": TEXT | None,
    "bbox": made_by(tuple, list, words="(west, south, east, north) in degrees") | None,
    "start": TEXT | None,
    "end": TEXT | None,
    "sources": FLAG,
    "most_sources": whole(),
    "properties": NAMED,
}


def _check_bbox(bbox: tuple[float, ...]) -> None:
    if len(bbox) != 4 or not all(isinstance(n, (int, float)) and math.isfinite(n) for n in bbox):
        raise BadRequest("bbox is west, south, east, north in degrees")
    west, south, east, north = bbox
    if not (-90 <= south <= north <= 90 and abs(west) <= 180 and abs(east) <= 180):
        raise BadRequest("bbox is west, south, east, north: longitudes of -180 to 180, latitudes of -90 to 90")


def _time(name: str, text: str) -> datetime:
    try:
        known = datetime.fromisoformat(text)
    except (TypeError, ValueError) as error:
        raise BadRequest(f"{name} is a time such as 2024-01-31T00:00:00Z") from error
    if known.tzinfo is None:
        raise BadRequest(f"{name} is a time with its zone, such as 2024-01-31T00:00:00Z")
    return known
