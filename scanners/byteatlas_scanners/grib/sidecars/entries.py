"""Index files: where messages begin, as others have written it down. A hint, which is checked.

``.idx`` of wgrib2, a line for each field: ``number:offset:d=YYYYMMDDHH:VARIABLE:level:forecast:``; fields of one
message have ``number.1``, ``number.2`` and the same offset. ``.index`` of ECMWF, a JSON object on each line, with
``_offset`` and ``_length``.
"""

from __future__ import annotations

import json

from byteatlas.types import Buffer

MOST_ENTRIES = 1 << 20
IDX, INDEX = ".idx", ".index"
ENDINGS = (".grib2", ".grib1", ".grib", ".grb2", ".grb", ".gb2", ".grb1")


def names_of(url: str) -> tuple[str, ...]:
    """The names that the index of a file may have, in the file's own folder: appended, or in place of the ending.

    >>> names_of("s3://bucket/gfs.t00z.pgrb2.0p25.f000")
    ('gfs.t00z.pgrb2.0p25.f000.idx', 'gfs.t00z.pgrb2.0p25.f000.index')
    >>> names_of("https://data.ecmwf.int/20240101-0h-oper-fc.grib2?token=a")
    ('20240101-0h-oper-fc.grib2.idx', '20240101-0h-oper-fc.grib2.index', '20240101-0h-oper-fc.index')
    """
    name = url.partition("?")[0].partition("#")[0].rpartition("/")[2]
    found = [f"{name}{IDX}", f"{name}{INDEX}"]
    stem = next((name[: -len(end)] for end in ENDINGS if name.lower().endswith(end)), None)
    return (*found, f"{stem}{INDEX}") if stem else tuple(found)


def offsets(data: Buffer, size: int) -> list[int]:
    """The places at which messages begin, sorted, as far as a line of either form says them."""
    found: set[int] = set()
    for line in bytes(data).splitlines()[:MOST_ENTRIES]:
        place = _of_json(line) if line.lstrip()[:1] == b"{" else _of_text(line)
        if place is not None and 0 <= place < size:
            found.add(place)
    return sorted(found)


def _of_text(line: bytes) -> int | None:
    parts = line.split(b":", 2)
    return int(parts[1]) if len(parts) == 3 and parts[1].isdigit() and len(parts[1]) < 19 else None


def _of_json(line: bytes) -> int | None:
    try:
        entry = json.loads(line)
    except (ValueError, RecursionError):
        return None
    place = entry.get("_offset") if isinstance(entry, dict) else None
    return place if isinstance(place, int) and not isinstance(place, bool) else None
