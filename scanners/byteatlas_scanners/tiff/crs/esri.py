"""Definitions that ArcGIS leaves in citations: ``ESRI PE String = PROJCS[...]``, WKT 1 in ESRI's names.

Methods whose parameters are as ESRI's own list of them has it; a text with another method gives no definition.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping

from byteatlas.values import dataclass
from byteatlas_scanners.tiff.crs import methods as m
from byteatlas_scanners.tiff.crs import registry
from byteatlas_scanners.tiff.crs.methods import METHODS, Method
from byteatlas_scanners.tiff.crs.projection import conversion_json, projected_json
from byteatlas_scanners.tiff.crs.registry import CRSDocument, Unit

MARK = "ESRI PE String = "
LONGEST, DEEPEST = 4096, 8
TOKEN = re.compile(
    r'\s*(?:"((?:[^"]|"")*)"|([A-Za-z_]\w*)\s*\[|([-+]?[0-9.]+(?:[eE][-+]?[0-9]+)?)|([\],])|[A-Za-z]\w*)'
)

METHOD_NAMES: Mapping[str, Method] = {
    "Albers": METHODS[11],
    "Azimuthal_Equidistant": METHODS[12],
    "Behrmann": METHODS[28],
    "Cassini": METHODS[18],
    "Cylindrical_Equal_Area": METHODS[28],
    "Eckert_IV": Method("Eckert IV", None, m.LONGITUDE),
    "Eckert_VI": Method("Eckert VI", None, m.LONGITUDE),
    "Equidistant_Conic": METHODS[13],
    "Equidistant_Cylindrical": METHODS[17],
    "Gauss_Kruger": METHODS[1],
    "Lambert_Azimuthal_Equal_Area": METHODS[10],
    "Lambert_Conformal_Conic": METHODS[8],
    "Mercator": m.MERCATOR_B,
    "Miller_Cylindrical": METHODS[20],
    "Mollweide": Method("Mollweide", None, m.LONGITUDE),
    "Natural_Earth": Method("Natural Earth", None, m.LONGITUDE),
    "Plate_Carree": METHODS[17],
    "Polyconic": METHODS[22],
    "Robinson": METHODS[23],
    "Sinusoidal": METHODS[24],
    "Stereographic_North_Pole": m.POLAR_B,
    "Stereographic_South_Pole": m.POLAR_B,
    "Stereographic": METHODS[14],
    "Transverse_Mercator": METHODS[1],
    "Van_der_Grinten_I": METHODS[25],
}
PARAMETER_NAMES: Mapping[str, tuple[int, ...]] = {
    "central_meridian": (m.LON_0, m.LON_F, m.LON_ORIGIN),
    "latitude_of_origin": (m.LAT_0, m.LAT_F),
    "standard_parallel_1": (m.LAT_1, m.LAT_TS),
    "standard_parallel_2": (m.LAT_2,),
    "scale_factor": (m.K_0,),
    "false_easting": (m.X_0, m.X_F),
    "false_northing": (m.Y_0, m.Y_F),
}
GEOSTATIONARY = "Geostationary_Satellite"


@dataclass(frozen=True, slots=True)
class WktNode:
    """``KEYWORD["name",1,2,OTHER[...]]``."""

    keyword: str
    texts: tuple[str, ...]
    numbers: tuple[float, ...]
    nodes: tuple[WktNode, ...]

    def find(self, keyword: str) -> WktNode | None:
        return next((node for node in self.nodes if node.keyword == keyword), None)

    @property
    def name(self) -> str:
        return self.texts[0] if self.texts else "unknown"


def definition_in(citation: str) -> CRSDocument | None:
    """The system that a citation spells out, in PROJJSON; None when it does not, or in terms not known here."""
    _, mark, text = citation.partition(MARK)
    root = _parse(text[:LONGEST]) if mark else None
    if root is None:
        return None
    if root.keyword == "GEOGCS":
        return _geographic(root)
    base = root.find("GEOGCS")
    geographic = _geographic(base) if base is not None else None
    if root.keyword != "PROJCS" or base is None or geographic is None:
        return None
    length, angle = _unit(root), _unit(base)
    conversion = _conversion(root, length, angle) if length is not None and angle is not None else None
    if conversion is None or length is None:
        return None
    return projected_json(root.name, geographic, conversion, registry.unit_json(length, "LinearUnit"))


def _conversion(root: WktNode, length: Unit, angle: Unit) -> CRSDocument | None:
    projection = root.find("PROJECTION")
    given = {n.name.lower(): n.numbers[0] for n in root.nodes if n.keyword == "PARAMETER" and n.numbers}
    if projection is None:
        return None
    if projection.name == GEOSTATIONARY:
        return _geostationary(given, length, angle, _sweep(root))
    method = METHOD_NAMES.get(projection.name)
    if projection.name == "Stereographic" and abs(given.get("latitude_of_origin", 0.0)) == 90:
        method = METHODS[m.POLAR]
    if projection.name == "Lambert_Conformal_Conic" and "standard_parallel_2" not in given:
        method = METHODS[9]
        given.pop("standard_parallel_1", None)  # the same as the latitude of origin
    values = {code: value for name, value in given.items() for code in PARAMETER_NAMES.get(name, ())}
    if method is None or not given.keys() <= PARAMETER_NAMES.keys():
        return None
    chosen = {code: values.get(code, m.DEFAULTS.get(code, 0.0)) for code in method.sources}
    return conversion_json(method, chosen, length, angle)


def _sweep(root: WktNode) -> str | None:
    """The axis of the sweep where GDAL says it: in PROJ's words, beside the parameters."""
    extension = root.find("EXTENSION")
    words = extension.texts[1].split() if extension is not None and len(extension.texts) > 1 else []
    return next((word[-1].upper() for word in words if word in ("+sweep=x", "+sweep=y")), None)


def _geostationary(given: Mapping[str, float], length: Unit, angle: Unit, said: str | None) -> CRSDocument | None:
    """ArcGIS has two variants, told apart by ``Option``: PROJ writes 0 for a sweep along y, so 1 is the one along x."""
    longitude = given.get("longitude_of_center", given.get("central_meridian"))
    height = given.get("height", given.get("satellite_height"))
    option = given.get("option", 0)
    if longitude is None or height is None or option not in (0, 1):
        return None
    sweep = Method(f"Geostationary Satellite (Sweep {said or ('X' if option else 'Y')})", None, {})
    places = {m.X_0: given.get("false_easting", 0.0), m.Y_0: given.get("false_northing", 0.0)}
    found = conversion_json(sweep, {m.LON_0: longitude, **places}, length, angle)
    high = {"name": "Satellite Height", "value": height, "unit": registry.unit_json(length, "LinearUnit")}
    found["parameters"].insert(1, high)
    return found


def _geographic(node: WktNode) -> CRSDocument | None:
    datum = node.find("DATUM")
    spheroid = datum.find("SPHEROID") if datum is not None else None
    unit, meridian = _unit(node), node.find("PRIMEM")
    if datum is None or spheroid is None or unit is None or len(spheroid.numbers) < 2 or not spheroid.numbers[0] > 0:
        return None
    a, inverse = spheroid.numbers[:2]
    figure: CRSDocument = {"name": spheroid.name}
    figure |= {"semi_major_axis": a, "inverse_flattening": inverse} if inverse else {"radius": a}
    frame: CRSDocument = {"type": "GeodeticReferenceFrame", "name": datum.name, "ellipsoid": figure}
    if meridian is not None and meridian.numbers and meridian.numbers[0]:
        frame["prime_meridian"] = {"name": meridian.name, "longitude": meridian.numbers[0]}
    return registry.geographic_json(node.name, frame, registry.ellipsoidal_axes(unit))


def _unit(node: WktNode) -> Unit | None:
    found = node.find("UNIT")
    if found is None or not found.numbers or not found.numbers[0] > 0:
        return None
    size = found.numbers[0]
    if math.isclose(size, math.pi / 180, rel_tol=1e-12):
        return registry.DEGREES
    return ("metre", 1.0) if size == 1 else (found.name, size)


def _parse(text: str) -> WktNode | None:
    """The first node of a text; None where it is none, or is cut."""
    start = TOKEN.match(text)
    if start is None or start[2] is None:
        return None
    try:
        return _node(text, start.end(), start[2].upper(), 0)[0]
    except ValueError:
        return None


def _node(text: str, at: int, keyword: str, depth: int) -> tuple[WktNode, int]:
    """The node whose bracket was just opened, and the place behind it."""
    texts: list[str] = []
    numbers: list[float] = []
    nodes: list[WktNode] = []
    while True:
        token = TOKEN.match(text, at)
        if token is None or depth > DEEPEST:
            raise ValueError(text[at : at + 20])
        at = token.end()
        if token[1] is not None:
            texts.append(token[1].replace('""', '"'))
        elif token[2] is not None:
            inner, at = _node(text, at, token[2].upper(), depth + 1)
            nodes.append(inner)
        elif token[3] is not None:
            numbers.append(float(token[3]))
        elif token[4] == "]":
            return WktNode(keyword, tuple(texts), tuple(numbers), tuple(nodes)), at
