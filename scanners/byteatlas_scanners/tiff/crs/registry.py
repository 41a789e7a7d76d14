"""The EPSG registry: geographic and projected systems, datums, ellipsoids, units and conversions, by code.

The table ``registry.txt`` is written by ``make_registry.py`` from the database of PROJ. A line is a letter for the kind
of record, its code, and a JSON list; only the lines that are asked for are parsed. Every definition is PROJJSON, as
PROJ itself writes it, without areas and scopes.
"""

from __future__ import annotations

import json
import math
import pkgutil
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, TypeAlias

from byteatlas.types import JSON

CRSDocument: TypeAlias = dict[str, JSON]
Unit: TypeAlias = tuple[str, float]
"""A unit's name, and its size in metres or radians."""
METRE, DEGREE, UNITY = 9001, 9102, 9201
DEFAULT_UNITS = {"L": METRE, "A": DEGREE, "S": UNITY}
PLAIN_UNITS = {METRE: "metre", DEGREE: "degree", 9122: "degree", UNITY: "unity"}
UNIT_TYPES = {"length": "LinearUnit", "angle": "AngularUnit", "scale": "ScaleUnit"}
GREENWICH = 8901
DEGREES: Unit = ("degree", math.pi / 180)


def unit(code: int) -> Unit | None:
    """A unit of length or angle."""
    found = _record("U", code)
    return None if found is None else (found[0], found[2])


def unit_json(size: Unit, kind: str) -> JSON:
    """A unit for PROJJSON; ``kind`` is ``LinearUnit`` or ``AngularUnit``."""
    if size[0] in ("metre", "degree"):
        return size[0]
    return {"type": kind, "name": size[0], "conversion_factor": size[1]}


def ellipsoid(code: int) -> CRSDocument | None:
    found = _record("E", code)
    return None if found is None else {"name": found[0], **dict(zip(found[1::2], found[2::2], strict=True))}


def prime_meridian(code: int) -> CRSDocument | None:
    """A meridian; its longitude is in degrees, or a value with its unit."""
    found = _record("M", code)
    return None if found is None else {"name": found[0], "longitude": _value(found[1], DEGREE)}


def datum(code: int) -> CRSDocument | None:
    """A reference frame or an ensemble of them."""
    found = _record("D", code)
    if found is None:
        return None
    name, shape, meridian, more = found
    document: CRSDocument = {"name": name, **more, "ellipsoid": ellipsoid(shape)}
    if meridian != GREENWICH:
        document["prime_meridian"] = prime_meridian(meridian)
    return document


def geographic(code: int) -> CRSDocument | None:
    """A geographic system of two or three dimensions."""
    found = _record("G", code)
    if found is None:
        return None
    name, frame, system = found
    return geographic_json(name, datum(frame) or {}, _system(system)) | {"id": identifier(code)}


def code_of_solid(code: int) -> int | None:
    """The code of the geographic system of three dimensions with the datum of this one."""
    flat = _record("G", code)
    if flat is None:
        return None
    for other in codes("G"):
        name, frame, system = _known("G", other)
        if (name, frame) == (flat[0], flat[1]) and len(_known("C", system)[0]["axis"]) == 3:
            return other
    return None


def geographic_json(name: str, frame: CRSDocument, system: JSON) -> CRSDocument:
    """A geographic system of a datum as `datum` writes it."""
    key = "datum_ensemble" if "members" in frame else "datum"
    return {"type": "GeographicCRS", "name": name, key: frame, "coordinate_system": system}


def name_of_geographic(code: int, datum: int) -> str | None:
    """The name of a geographic system, if this is its datum."""
    found = _record("G", code)
    return str(found[0]) if found is not None and found[1] == datum else None


def ellipsoidal_axes(size: Unit) -> CRSDocument:
    """Latitude and longitude."""
    angle = unit_json(size, "AngularUnit")
    axes = [
        {"name": "Geodetic latitude", "abbreviation": "Lat", "direction": "north", "unit": angle},
        {"name": "Geodetic longitude", "abbreviation": "Lon", "direction": "east", "unit": angle},
    ]
    return {"subtype": "ellipsoidal", "axis": axes}


def projected(code: int) -> CRSDocument | None:
    found = _record("P", code)
    if found is None:
        return None
    name, base, operation, system = found
    return {
        "type": "ProjectedCRS",
        "name": name,
        "base_crs": {k: v for k, v in (geographic(base) or {}).items() if k != "type"},
        "conversion": conversion(operation),
        "coordinate_system": _system(system),
        "id": identifier(code),
    }


def codes_of_projected(name: str) -> Sequence[int]:
    """The codes of the projected systems of exactly this name."""
    return _projected_names().get(name, ())


@lru_cache(maxsize=1)
def _projected_names() -> Mapping[str, Sequence[int]]:
    found: dict[str, list[int]] = {}
    name_at = json.JSONDecoder().raw_decode
    for key, record in _table().items():
        if key[0] == "P":
            found.setdefault(name_at(record, 1)[0], []).append(int(key[1:]))
    return found


def conversion(code: int) -> CRSDocument | None:
    """A projection with its parameters."""
    found = _record("O", code)
    if found is None:
        return None
    name, how, *values = found
    title, *codes = _known("X", how)
    parts = []
    for each, value in zip(codes, values, strict=True):
        label, kind = parameter(each)
        number, size = value if isinstance(value, list) else (value, DEFAULT_UNITS[kind])
        parts.append({"name": label, "value": number, "unit": _unit(size), "id": identifier(each)})
    return {"name": name, "method": {"name": title, "id": identifier(how)}, "parameters": parts}


def parameter(code: int) -> tuple[str, str]:
    """The name of a parameter, and what it is: an angle ``A``, a length ``L``, a scale ``S``."""
    name, kind = _known("R", code)
    return name, kind


def identifier(code: int) -> CRSDocument:
    return {"authority": "EPSG", "code": code}


def _system(code: int) -> JSON:
    return _known("C", code)[0]


def _value(value: Any, usual: int) -> JSON:
    """A number in the usual unit, or ``[number, code of another unit]``."""
    if not isinstance(value, list):
        return value
    return value[0] if value[1] == usual else {"value": value[0], "unit": _unit(value[1])}


def _unit(code: int) -> JSON:
    if code in PLAIN_UNITS:
        return PLAIN_UNITS[code]
    name, kind, size = _known("U", code)
    return {"type": UNIT_TYPES[kind], "name": name, "conversion_factor": size}


def _known(kind: str, code: int) -> list[Any]:
    """A record that another one refers to."""
    found = _record(kind, code)
    if found is None:
        raise LookupError(f"registry.txt lacks {kind}{code}")
    return found


@lru_cache(maxsize=1024)
def _record(kind: str, code: int) -> list[Any] | None:
    text = _table().get(f"{kind}{code}")
    return None if text is None else list(json.loads(text))


def codes(kind: str) -> list[int]:
    """The codes of all records of a kind, such as ``P`` for projected systems."""
    return [int(key[1:]) for key in _table() if key.startswith(kind)]


def edition() -> str:
    """Which edition of the dataset the table is made of."""
    return _text().partition("\n")[0]


@lru_cache(maxsize=1)
def _table() -> Mapping[str, str]:
    """Records as they are written, by their letter and code."""
    return {key: record for key, _, record in (line.partition(" ") for line in _text().splitlines()[1:])}


def _text() -> str:
    data = pkgutil.get_data(__package__, "registry.txt")
    assert data is not None
    return data.decode("utf-8")
