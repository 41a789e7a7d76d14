"""Coordinate reference systems from GeoKeys: PROJJSON, from it WKT 2 (ISO 19162:2019), and a CF grid mapping.

An EPSG code is always passed on (``spatial_ref: EPSG:n``); definitions are written out where the keys hold them, or
where the code is in `epsg`. What cannot be expressed is left to the raw keys, which are kept as well.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from byteatlas.types import JSON
from byteatlas_scanners.tiff import epsg
from byteatlas_scanners.tiff.epsg import ANGULAR_UNITS, ELLIPSOIDS, GEOGRAPHIC, LINEAR_UNITS, PARAMETERS, Method
from byteatlas_scanners.tiff.geokeys import GeoKey, Keys

SCHEMA = "https://proj.org/schemas/v0.7/projjson.schema.json"
MODEL_PROJECTED, MODEL_GEOGRAPHIC = 1, 2
DEGREE = ANGULAR_UNITS[9102]
ESRI_WEB_MERCATOR = "WGS_1984_Web_Mercator_Auxiliary_Sphere"
"""How ArcGIS names Web Mercator; it gives no code and no method that GeoTIFF knows."""


@dataclass(frozen=True, slots=True)
class Crs:
    """A coordinate reference system.

    Attributes:
        kind: ``projected``, ``geographic`` or ``unknown``.
        projjson: its definition, or None where only the code or nothing is known.
        unit_name: of the coordinates, as UDUNITS spells it.
        cf: CF grid mapping attributes.
        raw: the keys themselves.
    """

    kind: str
    name: str
    code: int | None
    projjson: JSON | None
    unit_name: str
    cf: Mapping[str, JSON] = field(default_factory=dict)
    raw: Mapping[str, JSON] = field(default_factory=dict)

    def attributes(self) -> dict[str, JSON]:
        """Attributes of the grid mapping variable: CF's, GDAL's and rioxarray's."""
        found: dict[str, JSON] = dict(self.cf)
        if self.projjson is not None:
            text = to_wkt(self.projjson)
            found |= {"crs_wkt": text, "spatial_ref": text, "projjson": {"$schema": SCHEMA, **self.projjson}}
        elif self.code is not None:
            found["spatial_ref"] = f"EPSG:{self.code}"
        if self.code is not None:
            found["proj:code"] = f"EPSG:{self.code}"
        found["geokeys"] = dict(self.raw)
        return found


def describe(keys: Keys) -> Crs | None:
    """The system that the keys describe, or None when they describe none."""
    raw: dict[str, JSON] = {_key_name(k): v for k, v in {**keys.numbers, **keys.texts}.items()}
    model = keys.number(GeoKey.GT_MODEL_TYPE)
    code = keys.code(GeoKey.PROJECTED_CRS)
    citations = " ".join(keys.text(k) or "" for k in (GeoKey.GT_CITATION, GeoKey.PROJECTED_CITATION))
    if code is None and ESRI_WEB_MERCATOR in citations:
        return _by_code(3857, keys, raw)
    user_projected = keys.number(GeoKey.METHOD) is not None or keys.code(GeoKey.PROJECTION) is not None
    if model == MODEL_PROJECTED or (model is None and code is not None):
        if code is not None:
            return _by_code(code, keys, raw)
        if user_projected:
            return _user_projected(keys, raw)
    base = _geographic(keys)
    if base is not None and model in (MODEL_GEOGRAPHIC, None):
        geodetic = keys.code(GeoKey.GEODETIC_CRS)
        return Crs("geographic", str(base["name"]), geodetic, base, "degree", _cf_geographic(base), raw)
    geodetic = keys.code(GeoKey.GEODETIC_CRS)
    if geodetic is not None and model in (MODEL_GEOGRAPHIC, None):
        return Crs("geographic", f"EPSG:{geodetic}", geodetic, None, "degree", raw=raw)
    citation = keys.text(GeoKey.GT_CITATION) or keys.text(GeoKey.PROJECTED_CITATION) or "unknown"
    return Crs("unknown", citation, None, None, "1", raw=raw) if raw else None


def _key_name(number: int) -> str:
    try:
        return GeoKey(number).name.lower()
    except ValueError:
        return str(number)


def _by_code(code: int, keys: Keys, raw: Mapping[str, JSON]) -> Crs:
    known = epsg.projected(code)
    unit = _linear_unit(keys)
    if known is None:
        name = keys.text(GeoKey.PROJECTED_CITATION) or keys.text(GeoKey.GT_CITATION) or f"EPSG:{code}"
        return Crs("projected", name, code, None, _udunits(unit), raw=raw)
    base = _registered(known.base)
    if keys.code(GeoKey.LINEAR_UNITS) in (None, known.unit):
        unit = LINEAR_UNITS[known.unit]
    definition = _projected(known.name, base, known.conversion, known.method, known.values, LINEAR_UNITS[known.unit])
    if unit != LINEAR_UNITS[known.unit]:
        # Coordinates in another unit than the registered system's: GDAL makes it a system of its own, without a code.
        # False easting and northing stay in the registered unit.
        length = _unit_json(unit, "LinearUnit")
        axes = [{**axis, "unit": length} for axis in definition["coordinate_system"]["axis"]]
        definition["coordinate_system"] = {"subtype": "Cartesian", "axis": axes}
        cf = _cf(base, known.method, known.values)
        return Crs("projected", known.name, None, definition, _udunits(unit), cf, raw)
    definition["id"] = _id(code)
    return Crs("projected", known.name, code, definition, _udunits(unit), _cf(base, known.method, known.values), raw)


def _id(code: int) -> dict[str, JSON]:
    return {"authority": "EPSG", "code": code}


def _udunits(unit: tuple[str, float]) -> str:
    return {"metre": "m", "US survey foot": "US_survey_foot", "kilometre": "km"}.get(unit[0], unit[0])


def _linear_unit(keys: Keys) -> tuple[str, float]:
    code = keys.code(GeoKey.LINEAR_UNITS)
    size = keys.number(GeoKey.LINEAR_UNIT_SIZE)
    if code is not None and code in LINEAR_UNITS:
        return LINEAR_UNITS[code]
    return ("metre", 1.0) if size is None or not size > 0 else ("unknown", float(size))


def _angular_unit(keys: Keys) -> tuple[str, float]:
    code = keys.code(GeoKey.ANGULAR_UNITS)
    size = keys.number(GeoKey.ANGULAR_UNIT_SIZE)
    if code is not None and code in ANGULAR_UNITS:
        return ANGULAR_UNITS[code]
    return DEGREE if size is None or not size > 0 else ("unknown", float(size))


# Geographic systems ---------------------------------------------------------------------------------------------------


def _registered(code: int) -> dict[str, JSON]:
    name, datum, ellipsoid = GEOGRAPHIC[code]
    found = _geographic_json(name, datum, _ellipsoid_json(*ELLIPSOIDS[ellipsoid]), DEGREE, None)
    found["id"] = _id(code)
    return found


def _geographic(keys: Keys) -> dict[str, JSON] | None:
    """The geographic system: by its code, or from its ellipsoid; None when the keys give neither."""
    code = keys.code(GeoKey.GEODETIC_CRS)
    if code is not None and code in GEOGRAPHIC:
        return _registered(code)
    if code is not None:
        return None
    datum = keys.code(GeoKey.GEODETIC_DATUM)
    known = GEOGRAPHIC.get(datum - 2000) if datum is not None else None
    ellipsoid = _ellipsoid(keys, known)
    if ellipsoid is None:
        return None
    name = keys.text(GeoKey.GEODETIC_CITATION) or (known[0] if known else "unknown")
    datum_name = known[1] if known else "unknown"
    prime = keys.number(GeoKey.PRIME_MERIDIAN_LONGITUDE)
    return _geographic_json(name, datum_name, ellipsoid, _angular_unit(keys), prime or None)


def _ellipsoid(keys: Keys, known: tuple[str, str, int] | None) -> dict[str, JSON] | None:
    code = keys.code(GeoKey.ELLIPSOID)
    if code is not None and code in ELLIPSOIDS:
        return _ellipsoid_json(*ELLIPSOIDS[code])
    a, b, f = (keys.number(k) for k in (GeoKey.SEMI_MAJOR, GeoKey.SEMI_MINOR, GeoKey.INVERSE_FLATTENING))
    if a is not None and a > 0 and math.isfinite(a):
        if f is None and b is not None and 0 < b <= a:
            f = 0.0 if a == b else a / (a - b)
        if f is not None and f >= 0:
            return _ellipsoid_json("unknown", float(a), float(f))
    return _ellipsoid_json(*ELLIPSOIDS[known[2]]) if known else None


def _ellipsoid_json(name: str, a: float, f: float) -> dict[str, JSON]:
    if not f:
        return {"name": name, "radius": a}
    return {"name": name, "semi_major_axis": a, "inverse_flattening": f}


def _unit_json(unit: tuple[str, float], kind: str) -> JSON:
    if unit[0] in ("metre", "degree"):
        return unit[0]
    return {"type": kind, "name": unit[0], "conversion_factor": unit[1]}


def _geographic_json(
    name: str, datum: str, ellipsoid: JSON, unit: tuple[str, float], prime: float | None
) -> dict[str, JSON]:
    frame: dict[str, JSON] = {"type": "GeodeticReferenceFrame", "name": datum, "ellipsoid": ellipsoid}
    if prime is not None:
        frame["prime_meridian"] = {"name": "unknown", "longitude": prime}
    angle = _unit_json(unit, "AngularUnit")
    axes = [
        {"name": "Geodetic latitude", "abbreviation": "Lat", "direction": "north", "unit": angle},
        {"name": "Geodetic longitude", "abbreviation": "Lon", "direction": "east", "unit": angle},
    ]
    system = {"subtype": "ellipsoidal", "axis": axes}
    return {"type": "GeographicCRS", "name": name, "datum": frame, "coordinate_system": system}


# Projected systems ----------------------------------------------------------------------------------------------------

Source = tuple[GeoKey, ...]
_LAT: Source = (GeoKey.NAT_ORIGIN_LAT, GeoKey.CENTER_LAT, GeoKey.FALSE_ORIGIN_LAT)
_LON: Source = (
    GeoKey.NAT_ORIGIN_LONG, GeoKey.CENTER_LONG, GeoKey.FALSE_ORIGIN_LONG, GeoKey.STRAIGHT_VERT_POLE_LONG,
)  # fmt: skip
_CENTRE_LAT: Source = (GeoKey.CENTER_LAT, GeoKey.NAT_ORIGIN_LAT)
_CENTRE_LON: Source = (GeoKey.CENTER_LONG, GeoKey.NAT_ORIGIN_LONG)
_FALSE_LAT: Source = (GeoKey.FALSE_ORIGIN_LAT, GeoKey.NAT_ORIGIN_LAT, GeoKey.CENTER_LAT)
_FALSE_LON: Source = (GeoKey.FALSE_ORIGIN_LONG, GeoKey.NAT_ORIGIN_LONG, GeoKey.CENTER_LONG)
_POLE_LON: Source = (GeoKey.STRAIGHT_VERT_POLE_LONG, GeoKey.NAT_ORIGIN_LONG, GeoKey.CENTER_LONG)
_SCALE: Source = (GeoKey.SCALE_AT_NAT_ORIGIN, GeoKey.SCALE_AT_CENTER)
_X: Source = (GeoKey.FALSE_EASTING, GeoKey.FALSE_ORIGIN_EASTING, GeoKey.CENTER_EASTING)
_Y: Source = (GeoKey.FALSE_NORTHING, GeoKey.FALSE_ORIGIN_NORTHING, GeoKey.CENTER_NORTHING)
_P1: Source = (GeoKey.STD_PARALLEL_1,)
_P2: Source = (GeoKey.STD_PARALLEL_2,)
_NATURAL = {epsg.LAT_0: _LAT, epsg.LON_0: _LON, epsg.X_0: _X, epsg.Y_0: _Y}
_LONGITUDE = {epsg.LON_0: _LON, epsg.X_0: _X, epsg.Y_0: _Y}
_CONIC = {
    epsg.LAT_F: _FALSE_LAT, epsg.LON_F: _FALSE_LON, epsg.LAT_1: _P1, epsg.LAT_2: _P2, epsg.X_F: _X, epsg.Y_F: _Y,
}  # fmt: skip
_OBLIQUE = {
    epsg.LAT_C: _CENTRE_LAT, epsg.LON_C: _CENTRE_LON, epsg.AZIMUTH: (GeoKey.AZIMUTH,),
    epsg.RECTIFIED: (GeoKey.RECTIFIED_GRID_ANGLE,), epsg.K_C: (GeoKey.SCALE_AT_CENTER, GeoKey.SCALE_AT_NAT_ORIGIN),
}  # fmt: skip

# ProjMethodGeoKey (GeoTIFF 1.1 annex on methods) -> method, and for each of its parameters the keys that may hold it.
METHODS: Mapping[int, tuple[Method, Mapping[int, Source]]] = {
    1: (epsg.TM, {**_NATURAL, epsg.K_0: _SCALE}),
    3: (epsg.HOTINE_A, {**_OBLIQUE, epsg.X_0: _X, epsg.Y_0: _Y}),
    4: (
        epsg.LABORDE,
        {
            epsg.LAT_C: _CENTRE_LAT, epsg.LON_C: _CENTRE_LON, epsg.AZIMUTH: (GeoKey.AZIMUTH,),
            epsg.K_C: (GeoKey.SCALE_AT_CENTER, GeoKey.SCALE_AT_NAT_ORIGIN), epsg.X_0: _X, epsg.Y_0: _Y,
        },
    ),
    7: (epsg.MERCATOR_A, {**_NATURAL, epsg.K_0: _SCALE}),
    8: (epsg.LCC_2, _CONIC),
    9: (epsg.LCC_1, {**_NATURAL, epsg.K_0: _SCALE}),
    10: (epsg.LAEA, {**_NATURAL, epsg.LAT_0: _CENTRE_LAT, epsg.LON_0: _CENTRE_LON}),
    11: (epsg.ALBERS, {**_CONIC, epsg.LAT_F: _LAT, epsg.LON_F: _LON}),
    12: (epsg.AEQD, {**_NATURAL, epsg.LAT_0: _CENTRE_LAT, epsg.LON_0: _CENTRE_LON}),
    13: (epsg.EQUIDISTANT_CONIC, _CONIC),
    14: (epsg.STEREO, {**_NATURAL, epsg.K_0: _SCALE}),
    15: (epsg.POLAR_A, {**_NATURAL, epsg.LON_0: _POLE_LON, epsg.K_0: _SCALE}),
    16: (epsg.OBLIQUE_STEREO, {**_NATURAL, epsg.K_0: _SCALE}),
    17: (epsg.EQUIRECTANGULAR, {epsg.LAT_1: (GeoKey.STD_PARALLEL_1, GeoKey.CENTER_LAT), **_LONGITUDE}),
    18: (epsg.CASSINI, _NATURAL),
    19: (epsg.GNOMONIC, _NATURAL),
    20: (epsg.MILLER, _LONGITUDE),
    21: (epsg.ORTHOGRAPHIC, _NATURAL),
    22: (epsg.POLYCONIC, _NATURAL),
    23: (epsg.ROBINSON, _LONGITUDE),
    24: (epsg.SINUSOIDAL, _LONGITUDE),
    25: (epsg.VAN_DER_GRINTEN, _LONGITUDE),
    26: (epsg.NZMG, _NATURAL),
    27: (epsg.TM_SOUTH, {**_NATURAL, epsg.K_0: _SCALE}),
    28: (epsg.CEA, {epsg.LAT_1: _P1, **_LONGITUDE}),
}  # fmt: skip


def _user_projected(keys: Keys, raw: Mapping[str, JSON]) -> Crs:
    """A projected system spelled out in the keys; without a definition where they do not suffice."""
    name = keys.text(GeoKey.PROJECTED_CITATION) or keys.text(GeoKey.GT_CITATION) or "unknown"
    unit = _linear_unit(keys)
    found = _conversion(keys)
    base = _geographic(keys)
    if found is None or base is None:
        return Crs("projected", name, None, None, _udunits(unit), raw=raw)
    conversion, method, values = found
    definition = _projected(name, base, conversion, method, values, unit, _angular_unit(keys))
    return Crs("projected", name, None, definition, _udunits(unit), _cf(base, method, values, unit[1]), raw)


def _conversion(keys: Keys) -> tuple[str, Method, dict[int, float]] | None:
    """Name, method and parameters: by the projection's code (UTM), or from the keys."""
    code = keys.code(GeoKey.PROJECTION)
    if code is not None:
        zone, south = code % 100, 16100 < code <= 16160
        if not (16000 < code <= 16060 or south):
            return None
        return f"UTM zone {zone}{'S' if south else 'N'}", epsg.TM, epsg.utm(zone, south)
    number = keys.code(GeoKey.METHOD)
    if number is None or number not in METHODS:
        return None
    method, sources = METHODS[number]
    if number == 7 and keys.number(GeoKey.STD_PARALLEL_1) is not None and keys.number(_SCALE[0]) is None:
        method, sources = epsg.MERCATOR_B, {epsg.LAT_1: _P1, **_LONGITUDE}
    values: dict[int, float] = {}
    for parameter, candidates in sources.items():
        given = next((v for v in (keys.number(k) for k in candidates) if v is not None), None)
        values[parameter] = float(given) if given is not None else _default(parameter)
    if method is epsg.POLAR_A and abs(values[epsg.LAT_0]) != 90:
        # GeoTIFF writers put the latitude of true scale here: that is variant B.
        method = epsg.POLAR_B
        values = {
            epsg.LAT_TS: values[epsg.LAT_0], epsg.LON_ORIGIN: values[epsg.LON_0],
            epsg.X_0: values[epsg.X_0], epsg.Y_0: values[epsg.Y_0],
        }  # fmt: skip
    return method.name, method, values


def _default(parameter: int) -> float:
    return {epsg.K_0: 1.0, epsg.K_C: 1.0, epsg.RECTIFIED: 90.0}.get(parameter, 0.0)


def _projected(
    name: str,
    base: Mapping[str, JSON],
    conversion: str,
    method: Method,
    values: Mapping[int, float],
    unit: tuple[str, float],
    angle: tuple[str, float] = DEGREE,
) -> dict[str, JSON]:
    length = _unit_json(unit, "LinearUnit")
    units = {"angle": _unit_json(angle, "AngularUnit"), "length": length, "scale": "unity"}
    parameters = [
        {"name": PARAMETERS[p][0], "value": v, "unit": units[PARAMETERS[p][1]], "id": _id(p)} for p, v in values.items()
    ]
    how: dict[str, JSON] = {"name": method.name}
    if method.code is not None:
        how["id"] = _id(method.code)
    axes = [
        {"name": "Easting", "abbreviation": "E", "direction": "east", "unit": length},
        {"name": "Northing", "abbreviation": "N", "direction": "north", "unit": length},
    ]
    return {
        "type": "ProjectedCRS",
        "name": name,
        "base_crs": dict(base),
        "conversion": {"name": conversion, "method": how, "parameters": parameters},
        "coordinate_system": {"subtype": "Cartesian", "axis": axes},
    }


# CF grid mappings (CF 1.11 appendix F) --------------------------------------------------------------------------------

CF_NAMES: Mapping[int, str] = {
    epsg.LAT_0: "latitude_of_projection_origin",
    epsg.LAT_F: "latitude_of_projection_origin",
    epsg.X_0: "false_easting",
    epsg.Y_0: "false_northing",
    epsg.X_F: "false_easting",
    epsg.Y_F: "false_northing",
}
CF_LONGITUDE: Mapping[str, str] = {
    "transverse_mercator": "longitude_of_central_meridian",
    "albers_conical_equal_area": "longitude_of_central_meridian",
    "lambert_conformal_conic": "longitude_of_central_meridian",
    "lambert_cylindrical_equal_area": "longitude_of_central_meridian",
    "polar_stereographic": "straight_vertical_longitude_from_pole",
}


def _cf_geographic(base: Mapping[str, JSON]) -> dict[str, JSON]:
    ellipsoid = base["datum"]["ellipsoid"]
    found: dict[str, JSON] = {"grid_mapping_name": "latitude_longitude"}
    if "radius" in ellipsoid:
        found["earth_radius"] = ellipsoid["radius"]
    else:
        found["semi_major_axis"] = ellipsoid["semi_major_axis"]
        found["inverse_flattening"] = ellipsoid["inverse_flattening"]
    found["longitude_of_prime_meridian"] = base["datum"].get("prime_meridian", {}).get("longitude", 0.0)
    found["geographic_crs_name"] = base["name"]
    return found


def _cf(base: Mapping[str, JSON], method: Method, values: Mapping[int, float], metres: float = 1.0) -> dict[str, JSON]:
    """CF attributes of a projection; only its ellipsoid's where CF has no name for the method."""
    found = _cf_geographic(base)
    del found["grid_mapping_name"]
    if method.cf is None:
        return found
    found["grid_mapping_name"] = method.cf
    for parameter, value in values.items():
        if parameter in CF_NAMES:
            found[CF_NAMES[parameter]] = value * metres if "false" in CF_NAMES[parameter] else value
        elif parameter in (epsg.LON_0, epsg.LON_F, epsg.LON_ORIGIN):
            found[CF_LONGITUDE.get(method.cf, "longitude_of_projection_origin")] = value
        elif parameter == epsg.K_0:
            name = "central_meridian" if method.cf == "transverse_mercator" else "projection_origin"
            found[f"scale_factor_at_{name}"] = value
        elif parameter == epsg.LAT_TS:
            found["standard_parallel"] = value
            found["latitude_of_projection_origin"] = math.copysign(90.0, value)
    parallels = [values[p] for p in (epsg.LAT_1, epsg.LAT_2) if p in values]
    if parallels:
        found["standard_parallel"] = parallels if len(parallels) > 1 else parallels[0]
    return found


# WKT 2 ----------------------------------------------------------------------------------------------------------------


def to_wkt(crs: Mapping[str, JSON]) -> str:
    """WKT 2:2019 for the PROJJSON that this module builds."""
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
