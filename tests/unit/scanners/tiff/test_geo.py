"""GeoTIFF: transforms, coordinates, coordinate reference systems, nodata, GDAL's metadata."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fixtures.tiff.make_tiff import FILES, Geo, utm_tags
from fixtures.tiff.raw_tiff import ASCII, DOUBLE, SHORT, Raw, gray, write
from tests.scanning import read_plain, scan_bytes

from byteatlas.manifest.model import VirtualArray, VirtualGroup
from byteatlas_scanners.tiff import SCANNER
from byteatlas_scanners.tiff.crs import registry
from byteatlas_scanners.tiff.crs.geokeys import GeoKey, Keys
from byteatlas_scanners.tiff.crs.systems import describe
from byteatlas_scanners.tiff.crs.wkt import to_wkt


def scan(tags: Geo, width: int = 6, height: int = 5, bits: int = 8, **more: Any) -> tuple[VirtualGroup, bytes]:
    data = write([Raw(gray(width, height, bits, **more) | tags, [bytes(width * height * bits // 8)])])
    return scan_bytes(SCANNER, data), data


def array(group: VirtualGroup, name: str) -> VirtualArray:
    return group.arrays[name]


def inline(node: VirtualArray) -> np.ndarray:
    return np.frombuffer(node.manifest.inline(0), node.meta.data_type.numpy.newbyteorder("<")).reshape(node.meta.shape)


def test_coordinates_are_cell_centres() -> None:
    group, _ = scan(utm_tags())
    assert inline(array(group, "x")).tolist() == [500015.0 + 30 * i for i in range(6)]
    assert inline(array(group, "y")).tolist() == [3999985.0 - 30 * i for i in range(5)]
    mapping = array(group, "spatial_ref").meta.attributes
    assert mapping["GeoTransform"] == "500000.0 30.0 0.0 4000000.0 0.0 -30.0"
    assert mapping["spatial:transform"] == [30.0, 0.0, 500000.0, 0.0, -30.0, 4000000.0]
    assert array(group, "data").meta.attributes["grid_mapping"] == "spatial_ref"
    assert array(group, "x").meta.attributes["standard_name"] == "projection_x_coordinate"


def test_pixel_is_point_shifts_once() -> None:
    group, _ = scan(utm_tags(point=True))
    assert inline(array(group, "x"))[0] == 500000.0
    assert array(group, "spatial_ref").meta.attributes["GeoTransform"].startswith("499985.0 30.0")
    assert array(group, "data").meta.attributes["AREA_OR_POINT"] == "Point"


def test_rotated_grids_have_a_transform_but_no_axes() -> None:
    matrix = [1.0, 0.5, 0, 100, 0.25, -1, 0, 200, 0, 0, 0, 0, 0, 0, 0, 1]
    group, _ = scan({34264: (DOUBLE, matrix)})
    assert "x" not in group.arrays
    assert array(group, "spatial_ref").meta.attributes["spatial:transform"] == [1.0, 0.5, 100.0, 0.25, -1.0, 200.0]


def test_ground_control_points() -> None:
    ties = [0, 0, 0, 10, 50, 0, 5, 0, 0, 11, 50, 0, 0, 4, 0, 10, 49, 1]
    group, _ = scan({33922: (DOUBLE, [float(v) for v in ties])})
    points = array(group, "spatial_ref").meta.attributes["gcps"]["features"]
    assert points[2]["geometry"]["coordinates"] == [10.0, 49.0, 1.0]
    assert points[2]["properties"]["row"] == 4.0
    assert "x" not in group.arrays


def test_crs_of_an_epsg_code() -> None:
    mapping = array(scan(utm_tags())[0], "spatial_ref").meta.attributes
    assert mapping["proj:code"] == "EPSG:32633"
    assert mapping["crs_wkt"].startswith('PROJCRS["WGS 84 / UTM zone 33N",BASEGEOGCRS["WGS 84"')
    assert 'PARAMETER["Longitude of natural origin",15,' in mapping["crs_wkt"]
    assert mapping["crs_wkt"] == mapping["spatial_ref"]
    assert mapping["grid_mapping_name"] == "transverse_mercator"
    assert mapping["longitude_of_central_meridian"] == 15.0
    assert mapping["projjson"]["conversion"]["method"]["id"] == {"authority": "EPSG", "code": 9807}


def test_unlisted_code_is_passed_on() -> None:
    tags = utm_tags()
    keys = [*tags[34735][1]]
    keys[-1] = 1234
    mapping = array(scan(tags | {34735: (SHORT, keys)})[0], "spatial_ref").meta.attributes
    assert mapping["spatial_ref"] == "EPSG:1234"
    assert "crs_wkt" not in mapping


def test_user_defined_projection_from_its_keys() -> None:
    numbers: dict[int, float] = {
        GeoKey.GT_MODEL_TYPE: 1, GeoKey.PROJECTED_CRS: 32767, GeoKey.METHOD: 11, GeoKey.GEODETIC_DATUM: 6267,
        GeoKey.ELLIPSOID: 7008, GeoKey.NAT_ORIGIN_LONG: -90.0, GeoKey.NAT_ORIGIN_LAT: 45.0, GeoKey.STD_PARALLEL_1: 40.0,
        GeoKey.STD_PARALLEL_2: 50.0, GeoKey.FALSE_EASTING: 1000.0, GeoKey.LINEAR_UNITS: 9003,
    }  # fmt: skip
    crs = describe(Keys(numbers, {GeoKey.PROJECTED_CITATION: 'A "quoted" name'}))
    assert crs is not None
    assert crs.projjson is not None
    wkt = to_wkt(crs.projjson)
    assert wkt.startswith('PROJCRS["A ""quoted"" name",BASEGEOGCRS["NAD27",DATUM["North American Datum 1927"')
    assert 'METHOD["Albers Equal Area",ID["EPSG",9822]]' in wkt
    assert (
        'PARAMETER["Easting at false origin",1000,LENGTHUNIT["US survey foot",0.30480060960121924],ID["EPSG",8826]]'
        in wkt
    )
    assert crs.unit_name == "US_survey_foot"
    assert crs.cf["standard_parallel"] == [40.0, 50.0]
    assert math.isclose(crs.cf["false_easting"], 304.8006096012192)
    assert wkt.count("[") == wkt.count("]")


@pytest.mark.parametrize(
    ("keys", "inverse"),
    [
        ({GeoKey.SEMI_MAJOR: 6378000.0, GeoKey.INVERSE_FLATTENING: 298.5}, 298.5),
        ({GeoKey.SEMI_MAJOR: 6400000.0, GeoKey.SEMI_MINOR: 6368000.0}, 200.0),
        ({GeoKey.SEMI_MAJOR: 6371000.0, GeoKey.SEMI_MINOR: 6371000.0}, None),
    ],
)
def test_ellipsoids_spelled_out_in_the_keys(keys: dict[int, float], inverse: float | None) -> None:
    crs = describe(Keys({GeoKey.GT_MODEL_TYPE: 2, **keys}, {}))
    assert crs is not None
    if inverse is None:
        assert crs.cf["earth_radius"] == 6371000.0
    else:
        assert crs.cf["semi_major_axis"] == keys[GeoKey.SEMI_MAJOR]
        assert crs.cf["inverse_flattening"] == inverse


def test_registered_system_in_another_unit_loses_its_code() -> None:
    crs = describe(Keys({GeoKey.GT_MODEL_TYPE: 1, GeoKey.PROJECTED_CRS: 32633, GeoKey.LINEAR_UNITS: 9036}, {}))
    assert crs is not None
    assert crs.code is None
    assert 'AXIS["easting (E)",east,ORDER[1],LENGTHUNIT["kilometre",1000]]' in crs.attributes()["crs_wkt"]
    assert crs.unit_name == "km"


def test_web_mercator_of_arcgis() -> None:
    text = "PCS Name = WGS_1984_Web_Mercator_Auxiliary_Sphere"
    crs = describe(Keys({GeoKey.GT_MODEL_TYPE: 32767}, {GeoKey.GT_CITATION: text}))
    assert crs is not None
    assert crs.code == 3857


def test_polar_stereographic_with_a_true_latitude() -> None:
    numbers: dict[int, float] = {
        GeoKey.GT_MODEL_TYPE: 1, GeoKey.METHOD: 15, GeoKey.GEODETIC_CRS: 4326, GeoKey.NAT_ORIGIN_LAT: 70.0,
        GeoKey.STRAIGHT_VERT_POLE_LONG: -45.0,
    }  # fmt: skip
    crs = describe(Keys(numbers, {}))
    assert crs is not None
    assert crs.cf["standard_parallel"] == 70.0
    assert crs.cf["straight_vertical_longitude_from_pole"] == -45.0
    assert crs.cf["latitude_of_projection_origin"] == 90.0


def test_geographic_axes() -> None:
    keys = [1, 1, 0, 2, 1024, 0, 1, 2, 2048, 0, 1, 4326]
    group, _ = scan({**utm_tags(0.1, 10.0, 50.0), 34735: (SHORT, keys)})
    assert array(group, "x").meta.attributes["units"] == "degrees_east"
    assert array(group, "spatial_ref").meta.attributes["grid_mapping_name"] == "latitude_longitude"
    assert array(group, "spatial_ref").meta.attributes["crs_wkt"].startswith('GEOGCRS["WGS 84",ENSEMBLE[')


@pytest.mark.parametrize("code", [32601, 32660, 32701, 32760, 26901, 2056, 3031, 3035, 3857, 5514, 27572, 27700, 28992])
def test_codes_have_a_definition(code: int) -> None:
    crs = describe(Keys({GeoKey.GT_MODEL_TYPE: 1, GeoKey.PROJECTED_CRS: code}, {}))
    assert crs is not None
    wkt = crs.attributes()["crs_wkt"]
    assert wkt.endswith(f',ID["EPSG",{code}]]')
    assert wkt.count("[") == wkt.count("]")
    json.dumps(crs.attributes(), allow_nan=False)


def test_every_record_of_the_registry_is_complete() -> None:
    """Records refer to each other; what one of them lacks would be a LookupError in some scan."""
    geographic, projected = registry.codes("G"), registry.codes("P")
    assert len(geographic) > 900
    assert len(projected) > 5600
    for code in geographic:
        assert to_wkt(registry.geographic(code) or {}).startswith("GEOGCRS[")
    for code in projected:
        assert to_wkt(registry.projected(code) or {}).endswith(f',ID["EPSG",{code}]]')
    assert all(registry.datum(code) for code in registry.codes("D"))
    assert all(registry.ellipsoid(code) for code in registry.codes("E"))
    assert all(registry.prime_meridian(code) for code in registry.codes("M"))


def test_keys_that_make_no_sense() -> None:
    for keys in ([1], [1, 1, 0, 99, 1024, 34736, 1, 500], [1, 1, 0, 2, 3072, 34737, 5, 900, 1024, 0, 1, 1]):
        group, _ = scan({34735: (SHORT, keys)})
        assert next(iter(group.arrays)) == "data"


NODATA = [
    ("-9999", "i2", -9999, -9999), ("nan", "f4", math.nan, math.nan), ("-1.#IND", "f4", math.nan, math.nan),
    ("1.#INF", "f4", math.inf, math.inf),
    ("-9999", "u1", None, None), ("1e+20", "f4", np.float32(1e20), float(np.float32(1e20))), ("255.0", "u1", 255, 255),
    ("3.5", "i2", None, None), ("none", "u1", None, None),
]  # fmt: skip


@pytest.mark.parametrize(("text", "dtype", "fill", "attribute"), NODATA)
def test_nodata_is_never_clamped(text: str, dtype: str, fill: Any, attribute: Any) -> None:
    formats = {"u": 1, "i": 2, "f": 3}
    group, _ = scan({42113: (ASCII, text)}, bits=8 * int(dtype[1]), format=formats[dtype[0]])
    meta = array(group, "data").meta
    if fill is None:
        assert meta.fill_value is None
        assert meta.attributes["nodata"] == text
        assert "_FillValue" not in meta.attributes
    else:
        np.testing.assert_equal(meta.fill_value, np.dtype(dtype).type(fill))
        np.testing.assert_equal(meta.attributes["_FillValue"], attribute)


def test_gdal_metadata() -> None:
    meta = array(scan_bytes(SCANNER, FILES["geotiff.tif"]()), "data").meta
    expected = {"scale_factor": 0.5, "add_offset": 10.0, "long_name": "temperature", "units": "K", "PLATFORM": "none"}
    assert {k: meta.attributes[k] for k in expected} == expected
    assert scan_bytes(SCANNER, FILES["geotiff.tif"]()).attributes["TIFFTAG_DATETIME"] == "2020:01:02 03:04:05"


def test_scales_that_differ_between_bands_are_not_applied() -> None:
    xml = (
        '<GDALMetadata><Item name="SCALE" sample="0" role="scale">2</Item><Item name="A#b" sample="1">c</Item>'
        '<Item name="DESCRIPTION" sample="1" role="description">red</Item>'
        '<Item name="NC_GLOBAL#title">T</Item></GDALMetadata>'
    )
    data = write([Raw(gray(4, 4, samples=2) | {42112: (ASCII, xml), 258: (SHORT, [8, 8])}, [bytes(32)])])
    group = scan_bytes(SCANNER, data)
    attributes = array(group, "data").meta.attributes
    assert "scale_factor" not in attributes
    assert attributes["scale_factors"] == [2.0, 1.0]
    assert attributes["band_names"] == ["", "red"]
    assert attributes["A#b#1"] == "c"
    assert group.attributes["title"] == "T"
    assert "band" not in group.arrays


@pytest.mark.parametrize("planar", [1, 2])
def test_names_of_all_bands_are_a_coordinate(planar: int, tmp_path: Path) -> None:
    names = ["red", "near infrared"]
    items = "".join(f'<Item name="DESCRIPTION" sample="{i}" role="description">{n}</Item>' for i, n in enumerate(names))
    tags = gray(4, 4, samples=2, planar=planar)
    tags |= {42112: (ASCII, f"<GDALMetadata>{items}</GDALMetadata>"), 258: (SHORT, [8, 8])}
    data = bytes(range(32))
    (tmp_path / "a.tif").write_bytes(write([Raw(tags, [data] if planar == 1 else [data[:16], data[16:]])]))
    xarray = pytest.importorskip("xarray")
    opened = xarray.open_dataset(tmp_path / "a.tif", engine="byteatlas")
    assert opened["band"].values.tolist() == names
    red = opened["data"].sel(band="red").values
    np.testing.assert_array_equal(red.ravel(), range(0, 32, 2) if planar == 1 else range(16))


@pytest.mark.parametrize("xml", ["<GDALMetadata", "<!DOCTYPE a [<!ENTITY b 'c'>]><GDALMetadata/>", "text"])
def test_useless_gdal_metadata_is_ignored(xml: str) -> None:
    group, data = scan({42112: (ASCII, xml)})
    assert read_plain(array(group, "data"), data).sum() == 0
