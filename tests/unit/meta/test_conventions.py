"""Geospatial conventions: CRS and transform of an array, resolutions of a group."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from byteatlas.meta.affine import Affine
from byteatlas.meta.conventions import CRS, PyramidLevel, from_coordinates, georeference, levels
from byteatlas.meta.dtypes import from_v3
from byteatlas.meta.model import ArrayMeta, CodecSpec, Encoding, RegularGrid

WKT = 'PROJCRS["NAD27 / UTM zone 11N"]'


def array(attributes: dict[str, Any], names: tuple[str, ...] = ("Band", "Y", "X")) -> ArrayMeta:
    plain = Encoding((CodecSpec("bytes"),))
    return ArrayMeta((3, 40, 60), from_v3("uint8"), RegularGrid((1, 16, 16)), (plain,), 0, names, attributes)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"url": "http://x/4326", "wkt": WKT}, CRS("url", "http://x/4326")),
        ({"wkt": WKT, "projjson": {"type": "ProjectedCRS"}}, CRS("wkt", WKT)),
        ({"projjson": {"type": "ProjectedCRS"}}, CRS("projjson", {"type": "ProjectedCRS"})),
    ],
)
def test_gdal_crs(given: dict[str, Any], expected: CRS) -> None:
    found = georeference(array({"_CRS": given, "proj:code": "EPSG:1"}))
    assert found.crs == expected
    assert found.source == "_CRS"


def test_spatial_and_proj() -> None:
    own = {"spatial:transform": [60.0, 0.0, 440720.0, 0.0, -60.0, 3751320.0], "spatial:dimensions": ["Y", "X"]}
    found = georeference(array(own), groups=[{}, {"proj:code": "EPSG:26711"}, {"proj:code": "EPSG:1"}])
    assert found.crs == CRS("code", "EPSG:26711")
    assert found.transform == Affine(60, 0, 440720, 0, -60, 3751320)
    assert found.dimensions == ("Y", "X")
    node = georeference(array({**own, "spatial:registration": "node"}))
    assert node.transform == Affine(60, 0, 440690, 0, -60, 3751350)
    assert georeference(array({"spatial:transform": [1, 2, "x", 0, 0, 0]})).transform is None


def test_cf_grid_mapping() -> None:
    siblings: dict[str, dict[str, Any]] = {
        "crs": {"grid_mapping_name": "x", "crs_wkt": WKT, "GeoTransform": "440720 60 0 3751320 0 -60"},
        "bare": {"grid_mapping_name": "latitude_longitude", "earth_radius": 6371000.0},
    }
    found = georeference(array({"grid_mapping": "crs: X Y"}), siblings=siblings)
    assert found.crs == CRS("wkt", WKT)
    assert found.source == "CF"
    assert found.transform == Affine(60, 0, 440720, 0, -60, 3751320)
    assert georeference(array({"grid_mapping": "bare"}), siblings=siblings).crs == CRS("cf", siblings["bare"])
    assert georeference(array({"grid_mapping": "absent"}), siblings=siblings).crs is None


def test_transform_from_coordinates() -> None:
    axes = {"X": np.arange(60) * 60 + 440750.0, "Y": 3751290.0 - np.arange(40) * 60}
    found = georeference(array({}), coordinate=axes.get)
    assert found.transform == Affine(60, 0, 440720, 0, -60, 3751320)
    single = np.linspace(-179.95, 179.95, 3600).astype("f4")
    regular = from_coordinates(single, single[:1800])
    assert regular is not None
    assert regular.a == pytest.approx(0.1, rel=1e-5)
    assert from_coordinates(np.array([0.0, 1.0, 3.0]), axes["Y"]) is None
    assert from_coordinates(axes["X"], np.array([1.0])) is None
    assert from_coordinates(None, axes["Y"]) is None


def test_levels() -> None:
    layout = [
        {"asset": "v"},
        {"asset": "ovr_2x/v", "derived_from": "v", "transform": {"scale": [2.0, 2.0], "translation": [0.0, 0.0]}},
    ]
    assert levels({"multiscales": {"layout": layout, "resampling_method": "nearest"}}) == (
        PyramidLevel("v"),
        PyramidLevel("ovr_2x/v", "v", (2.0, 2.0), (0.0, 0.0), "nearest"),
    )
    steps = [{"type": "scale", "scale": [1, 2]}, {"type": "translation", "translation": [0, 0.5]}]
    ome = [{"datasets": [{"path": "0", "coordinateTransformations": steps}]}]
    for attributes in ({"multiscales": ome}, {"ome": {"multiscales": ome}}):
        assert levels(attributes) == (PyramidLevel("0", None, (1.0, 2.0), (0.0, 0.5)),)
    nothing: list[dict[str, Any]] = [{}, {"multiscales": 3}, {"multiscales": {"layout": [3, {}]}}, {"ome": []}]
    for useless in nothing:
        assert levels(useless) == ()
