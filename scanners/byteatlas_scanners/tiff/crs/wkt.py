"""WKT 2 (ISO 19162:2019) from PROJJSON."""

from __future__ import annotations

import math
from collections.abc import Mapping

from byteatlas.types import JSON
from byteatlas_scanners.tiff.crs.figure import inverse_flattening
from byteatlas_scanners.tiff.crs.registry import CRSDocument

GREENWICH: CRSDocument = {"name": "Greenwich", "longitude": 0}


def to_wkt(crs: Mapping[str, JSON]) -> str:
    """WKT 2:2019 for a geographic, projected or engineering system in PROJJSON."""
    name, system = _quoted(crs["name"]), _system(crs["coordinate_system"])
    match crs["type"]:
        case "GeographicCRS":
            return f"GEOGCRS[{name},{_frame(crs)},{system}{_id(crs)}]"
        case "EngineeringCRS":
            return f"ENGCRS[{name},EDATUM[{_quoted(crs['datum']['name'])}],{system}]"
        case _:
            base = crs["base_crs"]
            datum = f"BASEGEOGCRS[{_quoted(base['name'])},{_frame(base)}{_id(base)}]"
            return f"PROJCRS[{name},{datum},{_conversion(crs['conversion'])},{system}{_id(crs)}]"


def _conversion(conversion: Mapping[str, JSON]) -> str:
    method = conversion["method"]
    parameters = "".join(
        f",PARAMETER[{_quoted(p['name'])},{_number(p['value'])},{_unit(p['unit'])}{_id(p)}]"
        for p in conversion["parameters"]
    )
    return f"CONVERSION[{_quoted(conversion['name'])},METHOD[{_quoted(method['name'])}{_id(method)}]{parameters}]"


def _frame(crs: Mapping[str, JSON]) -> str:
    """The datum, or the ensemble of datums, and its prime meridian."""
    datum = crs.get("datum") or crs["datum_ensemble"]
    ellipsoid = datum["ellipsoid"]
    axis = ellipsoid.get("semi_major_axis", ellipsoid.get("radius"))
    length = axis if isinstance(axis, dict) else {"value": axis, "unit": "metre"}
    shape = f"{_quoted(ellipsoid['name'])},{_number(length['value'])},{_number(inverse_flattening(ellipsoid))}"
    parts = [_quoted(datum["name"]), *(f"MEMBER[{_quoted(m['name'])}]" for m in datum.get("members", ()))]
    parts.append(f"ELLIPSOID[{shape},{_unit(length['unit'])}]")
    if "anchor_epoch" in datum:
        parts.append(f"ANCHOREPOCH[{_number(datum['anchor_epoch'])}]")
    if "members" in datum:
        parts.append(f"ENSEMBLEACCURACY[{datum['accuracy']}]")
    moment = datum.get("frame_reference_epoch")
    epoch = "" if moment is None else f"DYNAMIC[FRAMEEPOCH[{_number(moment)}]],"
    meridian = datum.get("prime_meridian", GREENWICH)
    keyword = "ENSEMBLE" if "members" in datum else "DATUM"
    return f"{epoch}{keyword}[{','.join(parts)}],PRIMEM[{_quoted(meridian['name'])},{_angle(meridian['longitude'])}]"


def _system(system: Mapping[str, JSON]) -> str:
    axes = system["axis"]
    return f"CS[{system['subtype']},{len(axes)}]" + "".join(f",{_axis(a, i)}" for i, a in enumerate(axes, 1))


def _axis(axis: Mapping[str, JSON], order: int) -> str:
    name = f"{axis['name'].lower()} ({axis['abbreviation']})"
    meridian = f",MERIDIAN[{_angle(axis['meridian']['longitude'])}]" if "meridian" in axis else ""
    return f"AXIS[{_quoted(name)},{axis['direction']}{meridian},ORDER[{order}],{_unit(axis['unit'])}]"


def _angle(value: JSON) -> str:
    """Degrees, or a value with its unit."""
    if isinstance(value, dict):
        return f"{_number(value['value'])},{_unit(value['unit'])}"
    return f"{_number(value)},{_unit('degree')}"


def _unit(unit: JSON) -> str:
    match unit:
        case "unity":
            return 'SCALEUNIT["unity",1]'
        case "degree":
            return f'ANGLEUNIT["degree",{_number(math.pi / 180)}]'
        case "metre":
            return 'LENGTHUNIT["metre",1]'
    keyword = {"AngularUnit": "ANGLEUNIT", "LinearUnit": "LENGTHUNIT", "ScaleUnit": "SCALEUNIT"}[unit["type"]]
    return f"{keyword}[{_quoted(unit['name'])},{_number(unit['conversion_factor'])}]"


def _id(part: Mapping[str, JSON]) -> str:
    found = part.get("id")
    return f",ID[{_quoted(found['authority'])},{found['code']}]" if found else ""


def _quoted(text: str) -> str:
    return '"' + text.replace('"', '""') + '"'


def _number(value: float) -> str:
    return str(int(value)) if value == int(value) and abs(value) < 1e15 else repr(float(value))
