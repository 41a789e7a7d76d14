"""WKT 2 (ISO 19162:2019) from PROJJSON."""

from __future__ import annotations

from collections.abc import Mapping

from byteatlas.types import JSON
from byteatlas_scanners.tiff.crs.epsg import ANGULAR_UNITS

DEGREE = ANGULAR_UNITS[9102]


def to_wkt(crs: Mapping[str, JSON]) -> str:
    """WKT 2:2019 for the PROJJSON that `crs` builds."""
    if crs["type"] == "GeographicCRS":
        return f"GEOGCRS[{_geodetic(crs)},{_system(crs['coordinate_system'])}{_wkt_id(crs)}]"
    conversion = crs["conversion"]
    method = f"METHOD[{_quoted(conversion['method']['name'])}{_wkt_id(conversion['method'])}]"
    parameters = "".join(
        f",PARAMETER[{_quoted(p['name'])},{_number(p['value'])},{_unit(p['unit'])}{_wkt_id(p)}]"
        for p in conversion["parameters"]
    )
    base = crs["base_crs"]
    return (
        f"PROJCRS[{_quoted(crs['name'])},BASEGEOGCRS[{_geodetic(base)}{_wkt_id(base)}],"
        f"CONVERSION[{_quoted(conversion['name'])},{method}{parameters}],"
        f"{_system(crs['coordinate_system'])}{_wkt_id(crs)}]"
    )


def _geodetic(crs: Mapping[str, JSON]) -> str:
    datum = crs["datum"]
    ellipsoid = datum["ellipsoid"]
    a = ellipsoid.get("semi_major_axis", ellipsoid.get("radius"))
    shape = f"{_quoted(ellipsoid['name'])},{_number(a)},{_number(ellipsoid.get('inverse_flattening', 0))}"
    prime = datum.get("prime_meridian", {"name": "Greenwich", "longitude": 0})
    angle = _unit(crs["coordinate_system"]["axis"][0]["unit"])
    return (
        f'{_quoted(crs["name"])},DATUM[{_quoted(datum["name"])},ELLIPSOID[{shape},LENGTHUNIT["metre",1]]],'
        f"PRIMEM[{_quoted(prime['name'])},{_number(prime['longitude'])},{angle}]"
    )


def _system(system: Mapping[str, JSON]) -> str:
    axes = "".join(
        f",AXIS[{_quoted(a['name'].lower() + ' (' + a['abbreviation'] + ')')},{a['direction']},ORDER[{i + 1}],"
        f"{_unit(a['unit'])}]"
        for i, a in enumerate(system["axis"])
    )
    return f"CS[{system['subtype']},2]{axes}"


def _unit(unit: JSON) -> str:
    if unit == "unity":
        return 'SCALEUNIT["unity",1]'
    if unit == "degree":
        return f'ANGLEUNIT["degree",{_number(DEGREE[1])}]'
    if unit == "metre":
        return 'LENGTHUNIT["metre",1]'
    keyword = "ANGLEUNIT" if unit["type"] == "AngularUnit" else "LENGTHUNIT"
    return f"{keyword}[{_quoted(unit['name'])},{_number(unit['conversion_factor'])}]"


def _wkt_id(part: Mapping[str, JSON]) -> str:
    found = part.get("id")
    return f",ID[{_quoted(found['authority'])},{found['code']}]" if found else ""


def _quoted(text: str) -> str:
    return '"' + text.replace('"', '""') + '"'


def _number(value: float) -> str:
    return str(int(value)) if value == int(value) and abs(value) < 1e15 else repr(float(value))
