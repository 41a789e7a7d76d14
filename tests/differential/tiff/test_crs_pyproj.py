"""Coordinate reference systems of GeoKeys against PROJ: the registry, WKT, CF attributes, ArcGIS's strings."""

from __future__ import annotations

import math
from typing import Any

import pytest

from byteatlas_scanners.tiff.crs import registry
from byteatlas_scanners.tiff.crs.geokeys import GeoKey, Keys
from byteatlas_scanners.tiff.crs.methods import METHODS
from byteatlas_scanners.tiff.crs.systems import Crs, describe
from byteatlas_scanners.tiff.crs.wkt import to_wkt

pyproj = pytest.importorskip("pyproj")
EVERY = 23
NOT_DEFINITION = {"$schema", "scope", "area", "bbox", "usages", "remarks"}
ALBERS = (
    'PROJCS["a",GEOGCS["GCS_North_American_1983",DATUM["D_North_American_1983",SPHEROID["GRS_1980",6378137.0,'
    '298.257222101]],PRIMEM["Greenwich",0.0],UNIT["Degree",0.0174532925199433]],PROJECTION["Albers"],'
    'PARAMETER["False_Easting",500000.0],PARAMETER["False_Northing",0.0],PARAMETER["Central_Meridian",-96.0],'
    'PARAMETER["Standard_Parallel_1",29.5],PARAMETER["Standard_Parallel_2",45.5],PARAMETER["Latitude_Of_Origin",23.0],'
    'UNIT["Foot_US",0.3048006096012192]]'
)
GEOSTATIONARY = (
    'PROJCS["g",GEOGCS["GCS_GRS_1980",DATUM["D_GRS_1980",SPHEROID["GRS_1980",6378137.0,298.257222101]],'
    'PRIMEM["Greenwich",0.0],UNIT["Degree",0.0174532925199433]],PROJECTION["Geostationary_Satellite"],'
    'PARAMETER["False_Easting",0.0],PARAMETER["False_Northing",0.0],PARAMETER["Longitude_Of_Center",-75.0],'
    'PARAMETER["Height",35786023.0],PARAMETER["Option",0.0],UNIT["Meter",1.0]]'
)


def same(ours: Any, theirs: Any) -> bool:
    """Equal documents; numbers as far as the 15 digits go that PROJ writes."""
    if isinstance(ours, dict) and isinstance(theirs, dict):
        return ours.keys() == theirs.keys() and all(same(ours[k], theirs[k]) for k in ours)
    if isinstance(ours, list) and isinstance(theirs, list):
        return len(ours) == len(theirs) and all(map(same, ours, theirs))
    if isinstance(ours, float) and isinstance(theirs, float | int):
        return math.isclose(ours, theirs, rel_tol=1e-14)
    return bool(ours == theirs)


def described(numbers: dict[int, float], texts: dict[int, str] | None = None) -> Crs:
    found = describe(Keys(numbers, texts or {}))
    assert found is not None
    return found


def theirs_of(crs: Crs) -> Any:
    """PROJ's reading of our text; it has to be what our PROJJSON says."""
    attributes = crs.attributes()
    from_text, from_json = pyproj.CRS.from_wkt(attributes["crs_wkt"]), pyproj.CRS.from_json_dict(attributes["projjson"])
    assert from_text == from_json
    return from_text


@pytest.mark.parametrize("kind", ["G", "P"])
def test_registry_is_that_of_proj(kind: str) -> None:
    """The table may be of another edition of the dataset than PROJ's here; few systems change from one to the next."""
    differing, codes = [], registry.codes(kind)[::EVERY]
    for code in codes:
        ours = registry.geographic(code) if kind == "G" else registry.projected(code)
        known = pyproj.CRS.from_epsg(code)
        theirs = {k: v for k, v in known.to_json_dict().items() if k not in NOT_DEFINITION}
        if not same(ours, theirs):
            differing.append(code)
        assert ours is not None
        assert pyproj.CRS.from_wkt(to_wkt(ours)) == pyproj.CRS.from_json_dict(ours), code
    edition = pyproj.database.get_database_metadata("EPSG.VERSION")
    assert len(differing) <= (0 if f"dataset {edition} " in registry.edition() else len(codes) // 20), differing


NUMBERS: dict[int, float] = {
    GeoKey.GT_MODEL_TYPE: 1, GeoKey.PROJECTED_CRS: 32767, GeoKey.GEODETIC_CRS: 4326, GeoKey.LINEAR_UNITS: 9001,
    GeoKey.NAT_ORIGIN_LAT: 40.0, GeoKey.NAT_ORIGIN_LONG: 10.0, GeoKey.STD_PARALLEL_1: 42.0,
    GeoKey.STD_PARALLEL_2: 48.0, GeoKey.FALSE_EASTING: 1000.0, GeoKey.FALSE_NORTHING: 2000.0, GeoKey.AZIMUTH: 30.0,
    GeoKey.RECTIFIED_GRID_ANGLE: 31.0, GeoKey.SCALE_AT_NAT_ORIGIN: 0.9996,
}  # fmt: skip


@pytest.mark.parametrize("method", METHODS)
def test_every_method_is_read_by_proj(method: int) -> None:
    # CF has no other scale for method 9.
    scale: dict[int, float] = {GeoKey.SCALE_AT_NAT_ORIGIN: 1.0} if method == 9 else {}
    crs = described({**NUMBERS, **scale, GeoKey.METHOD: method})
    theirs = theirs_of(crs)
    assert theirs.is_projected
    assert theirs.coordinate_operation.method_name == crs.projjson["conversion"]["method"]["name"]  # type: ignore[index]
    name = crs.cf.get("grid_mapping_name")
    if name in (None, "sinusoidal") or "mercator" in str(name):  # PROJ writes other forms of these
        return
    by_cf = pyproj.CRS.from_cf(dict(crs.cf))
    point = pyproj.Transformer.from_crs(theirs, by_cf, always_xy=True).transform(100_000.0, 200_000.0)
    assert point == pytest.approx((100_000.0, 200_000.0), abs=1e-3)


@pytest.mark.parametrize(("latitude", "axes"), [(90.0, ["south", "south"]), (-71.0, ["north", "north"])])
def test_axes_at_the_poles(latitude: float, axes: list[str]) -> None:
    polar: dict[int, float] = {GeoKey.METHOD: 15, GeoKey.NAT_ORIGIN_LAT: latitude, GeoKey.STRAIGHT_VERT_POLE_LONG: 0.0}
    base: dict[int, float] = {GeoKey.GT_MODEL_TYPE: 1, GeoKey.GEODETIC_CRS: 4326, GeoKey.LINEAR_UNITS: 9001}
    theirs = theirs_of(described(base | polar))
    assert [axis.direction for axis in theirs.axis_info] == axes
    if latitude == -71:
        assert theirs == pyproj.CRS.from_epsg(3031)


def test_registered_systems_by_their_name() -> None:
    """Writers that spell a registered system out still mean it; another scale is another system."""
    keys: dict[int, float] = {
        GeoKey.GT_MODEL_TYPE: 1, GeoKey.PROJECTED_CRS: 32767, GeoKey.METHOD: 11, GeoKey.GEODETIC_CRS: 4269,
        GeoKey.LINEAR_UNITS: 9001, GeoKey.STD_PARALLEL_1: 27.5, GeoKey.STD_PARALLEL_2: 35.0,
        GeoKey.NAT_ORIGIN_LONG: -100.0, GeoKey.NAT_ORIGIN_LAT: 18.0, GeoKey.FALSE_EASTING: 1500000.0,
        GeoKey.FALSE_NORTHING: 6000000.0,
    }  # fmt: skip
    name: dict[int, str] = {GeoKey.GT_CITATION: "NAD83 / Texas Centric Albers Equal Area"}
    assert described(keys, name).code == 3083
    assert theirs_of(described(keys, name)) == pyproj.CRS.from_epsg(3083)
    for key, value in ((GeoKey.FALSE_EASTING, 1500001.0), (GeoKey.LINEAR_UNITS, 9002), (GeoKey.GEODETIC_CRS, 4267)):
        assert described({**keys, key: value}, name).code is None


def test_a_centre_at_the_pole() -> None:
    """GDAL's axes of an equal-area projection are those of the polar stereographic ones."""
    keys: dict[int, float] = {
        GeoKey.GT_MODEL_TYPE: 1, GeoKey.GEODETIC_CRS: 4326, GeoKey.LINEAR_UNITS: 9001, GeoKey.METHOD: 10,
        GeoKey.CENTER_LAT: 90.0, GeoKey.CENTER_LONG: 0.0,
    }  # fmt: skip
    assert theirs_of(described(keys)) == pyproj.CRS.from_epsg(6931)
    at_side = theirs_of(described(keys | {GeoKey.CENTER_LAT: 50.0}))
    assert [axis.direction for axis in at_side.axis_info] == ["east", "north"]


def test_northings_that_begin_off_the_equator() -> None:
    keys: dict[int, float] = {
        GeoKey.GT_MODEL_TYPE: 1, GeoKey.GEODETIC_CRS: 4326, GeoKey.LINEAR_UNITS: 9001, GeoKey.METHOD: 17,
        GeoKey.CENTER_LAT: 5.0, GeoKey.STD_PARALLEL_1: 10.0,
    }  # fmt: skip
    theirs = theirs_of(described(keys))
    there = pyproj.Transformer.from_crs("OGC:CRS84", theirs, always_xy=True).transform(0.0, 5.0)
    assert there == pytest.approx((0.0, 0.0), abs=1e-6)


def test_three_dimensions_as_geotiff_1_0_writes_them() -> None:
    above = described({GeoKey.GT_MODEL_TYPE: 2, GeoKey.GEODETIC_CRS: 4326, GeoKey.VERTICAL_CRS: 5030})
    assert theirs_of(above) == pyproj.CRS.from_epsg(4979)
    assert described({GeoKey.GT_MODEL_TYPE: 2, GeoKey.GEODETIC_CRS: 4230, GeoKey.VERTICAL_CRS: 5022}).code == 4230
    solid = described({GeoKey.GT_MODEL_TYPE: 2, GeoKey.GEODETIC_CRS: 4326, GeoKey.VERTICAL_CRS: 4979})
    assert solid.code == 4979
    assert theirs_of(solid) == pyproj.CRS.from_epsg(4979)
    other = described({GeoKey.GT_MODEL_TYPE: 2, GeoKey.GEODETIC_CRS: 4326, GeoKey.VERTICAL_CRS: 4937})
    assert other.code == 4326  # a height on another datum


def test_ellipsoid_of_the_keys_wins_over_that_of_the_code() -> None:
    own: dict[int, float] = {GeoKey.SEMI_MAJOR: 6378140.0, GeoKey.INVERSE_FLATTENING: 298.257}
    found = described({GeoKey.GT_MODEL_TYPE: 2, GeoKey.GEODETIC_CRS: 4326, **own})
    assert (found.code, found.cf["semi_major_axis"]) == (None, 6378140.0)
    rounded: dict[int, float] = {GeoKey.SEMI_MAJOR: 6378137.0, GeoKey.INVERSE_FLATTENING: 298.25722356}
    assert described({GeoKey.GT_MODEL_TYPE: 2, GeoKey.GEODETIC_CRS: 4326, **rounded}).code == 4326


def test_names_that_arcgis_joins() -> None:
    text = "GCS Name = GCS_MARS|Datum = D_MARS|Ellipsoid = ball|Primem = Reference_Meridian"
    figure: dict[int, float] = {GeoKey.SEMI_MAJOR: 3396190.0, GeoKey.SEMI_MINOR: 3396190.0}
    theirs = theirs_of(described({GeoKey.GT_MODEL_TYPE: 2, **figure}, {GeoKey.GEODETIC_CITATION: text}))
    names = (theirs.name, theirs.datum.name, theirs.ellipsoid.name, theirs.prime_meridian.name)
    assert names == ("GCS_MARS", "D_MARS", "ball", "Reference_Meridian")
    plain = described({GeoKey.GT_MODEL_TYPE: 2, **figure}, {GeoKey.GEODETIC_CITATION: "unknown|Primem = Greenwich"})
    assert plain.name == "unknown"


GOES = (
    'PROJCS["unknown",GEOGCS["unknown",DATUM["Unknown based on GRS 1980 ellipsoid",SPHEROID["GRS 1980",6378137,'
    '298.257222101,AUTHORITY["EPSG","7019"]]],PRIMEM["Greenwich",0,AUTHORITY["EPSG","8901"]],UNIT["degree",'
    '0.0174532925199433,AUTHORITY["EPSG","9122"]]],PROJECTION["Geostationary_Satellite"],PARAMETER["central_meridian",'
    '-75],PARAMETER["satellite_height",35786023],PARAMETER["false_easting",0],PARAMETER["false_northing",0],'
    'UNIT["metre",1,AUTHORITY["EPSG","9001"]],AXIS["Easting",EAST],AXIS["Northing",NORTH],EXTENSION["PROJ4",'
    '"+proj=geos +sweep=x +lon_0=-75 +h=35786023 +x_0=0 +y_0=0 +ellps=GRS80 +units=m +no_defs"]]'
)
OWN_MODEL: dict[int, float] = {GeoKey.GT_MODEL_TYPE: 32767, GeoKey.LINEAR_UNITS: 9001, GeoKey.ANGULAR_UNITS: 9102}


def test_goes_as_gdal_writes_it() -> None:
    found = described(OWN_MODEL, {GeoKey.PROJECTED_CITATION: f"ESRI PE String = {GOES}"})
    theirs = theirs_of(found)
    assert theirs.coordinate_operation.method_name == "Geostationary Satellite (Sweep X)"

    there = pyproj.CRS.from_wkt(GOES)
    point = pyproj.Transformer.from_crs(theirs, there, always_xy=True).transform(100_000.0, 200_000.0)
    assert point == pytest.approx((100_000.0, 200_000.0), abs=1e-6)
    assert found.cf["sweep_angle_axis"] == "x"


def test_keys_count_beside_text_of_arcgis() -> None:
    """GDAL gives such files a model of their own; codes and methods of the keys are as good as ever."""
    text = 'GEOGCS["GCS_WGS_1984",DATUM["D_WGS_1984",SPHEROID["WGS_1984",6378137.0,298.257223563]],PRIMEM["Greenwich",0'
    pe: dict[int, str] = {GeoKey.PROJECTED_CITATION: f'ESRI PE String = {text}],UNIT["Degree",0.0174532925199433]]'}
    assert described({**OWN_MODEL, GeoKey.PROJECTED_CRS: 3031}, pe).code == 3031
    assert described({**OWN_MODEL, GeoKey.GEODETIC_CRS: 4326}, pe).code == 4326
    assert described({**OWN_MODEL, GeoKey.GEODETIC_CRS: 4326, GeoKey.VERTICAL_CRS: 4979}, pe).code == 4979
    polar: dict[int, float] = {
        **OWN_MODEL, GeoKey.GEODETIC_CRS: 4326, GeoKey.METHOD: 15, GeoKey.NAT_ORIGIN_LAT: 90.0,
        GeoKey.SCALE_AT_NAT_ORIGIN: 0.994,
    }  # fmt: skip
    found = described(polar, pe)
    assert found.name == "unknown"
    assert theirs_of(found).coordinate_operation.method_name == "Polar Stereographic (variant A)"


@pytest.mark.parametrize(
    ("name", "proj"), [("Mollweide", "moll"), ("Eckert_IV", "eck4"), ("Natural_Earth", "natearth")]
)
def test_methods_that_geotiff_has_no_number_for(name: str, proj: str) -> None:
    geographic = 'GEOGCS["a",DATUM["D_WGS_1984",SPHEROID["WGS_1984",6378137.0,298.257223563]],PRIMEM["Greenwich",0.0]'
    text = f'PROJCS["a",{geographic},UNIT["Degree",0.0174532925199433]],PROJECTION["{name}"],UNIT["Meter",1.0]]'
    theirs = theirs_of(described(OWN_MODEL, {GeoKey.PROJECTED_CITATION: f"ESRI PE String = {text}"}))
    known = pyproj.CRS.from_proj4(f"+proj={proj} +datum=WGS84")
    point = pyproj.Transformer.from_crs(theirs, known, always_xy=True).transform(100_000.0, 200_000.0)
    assert point == pytest.approx((100_000.0, 200_000.0), abs=1e-3)


@pytest.mark.parametrize("text", [ALBERS, GEOSTATIONARY], ids=["albers", "geostationary"])
@pytest.mark.parametrize("model", [1, 32767])
def test_definitions_that_arcgis_leaves_in_a_citation(text: str, model: int) -> None:
    crs = described({GeoKey.GT_MODEL_TYPE: model}, {GeoKey.PROJECTED_CITATION: "ESRI PE String = " + text})
    assert theirs_of(crs) == pyproj.CRS.from_wkt(text)
    assert crs.kind == "projected"


def test_sweep_of_a_geostationary_satellite() -> None:
    text = GEOSTATIONARY.replace('"Option",0.0', '"Option",1.0')
    crs = described({GeoKey.GT_MODEL_TYPE: 32767}, {GeoKey.PROJECTED_CITATION: "ESRI PE String = " + text})
    assert theirs_of(crs).coordinate_operation.method_name == "Geostationary Satellite (Sweep X)"
    wanted = {"grid_mapping_name": "geostationary", "sweep_angle_axis": "x", "perspective_point_height": 35786023.0}
    assert wanted.items() <= dict(crs.cf).items()


@pytest.mark.parametrize(
    "text",
    [
        ALBERS[:200], ALBERS.replace("Albers", "Bonne"), ALBERS.replace("Standard_Parallel_2", "Twist"), "PROJCS[",
        "GEOGCS[" * 5000, GEOSTATIONARY.replace('"Option",0.0', '"Option",7.0'), 'UNIT["Meter",1]', "]", "",
        ALBERS.replace("6378137.0", "-1"), ALBERS.replace("0.3048006096012192", "0"),
    ],
)  # fmt: skip
def test_definitions_that_are_not_understood(text: str) -> None:
    """They give a local system, as GDAL's do, and no error."""
    crs = described({GeoKey.GT_MODEL_TYPE: 32767}, {GeoKey.PROJECTED_CITATION: "ESRI PE String = " + text})
    assert crs.projjson is not None
    assert crs.projjson["type"] == "EngineeringCRS"
    assert theirs_of(crs).is_engineering
