"""Dimensions, CRS, transform and resolutions of files that other libraries wrote."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.places import FIXTURES, ROOT

import byteatlas as ba
from byteatlas.array.writing.create import array_meta
from byteatlas.array.writing.write import create_array, create_group
from byteatlas.errors import NotFound
from byteatlas.meta.affine import Affine
from byteatlas.store.memory import MemoryStore

STORES = ROOT.parent / "shared" / "corpus" / "zarr" / "stores"
WKT = 'PROJCS["UTM zone 32N"]'
pytestmark = pytest.mark.filterwarnings("ignore")


def test_a_geotiff() -> None:
    found = ba.georeference(FIXTURES / "tiff" / "geotiff.tif", "data")
    assert found.transform == Affine(30, 0, 500000, 0, -30, 4000000)
    assert found.crs is not None
    assert found.crs.kind in ("wkt", "code")
    assert found.dimensions == ("y", "x")
    assert found.source == "CF"


def test_overviews_of_a_tiff() -> None:
    root = ba.open(FIXTURES / "tiff" / "pyramid_be.tif")
    assert isinstance(root, ba.Group)
    found = ba.levels_of(root)
    assert [node.shape for _, node in found if isinstance(node, ba.Array)] == [(64, 96), (32, 48), (16, 24)]
    assert [level.scale for level, _ in found] == [(1.0, 1.0), (2.0, 2.0), (4.0, 4.0)]


@pytest.mark.parametrize("kind", ["netcdf", "nczarr"])
def test_a_grid_mapping_as_netcdf_c_writes_it(tmp_path: Path, kind: str) -> None:
    netcdf = pytest.importorskip("netCDF4")
    name = str(tmp_path / "x.nc") if kind == "netcdf" else f"file://{tmp_path}/x.zarr#mode=nczarr,file"
    with netcdf.Dataset(name, "w") as file:
        file.createDimension("lat", 4)
        file.createDimension("lon", 6)
        for axis, start, step in (("lat", 59.0, -0.5), ("lon", 10.0, 0.25)):
            values = file.createVariable(axis, "f4", (axis,))
            values[:] = start + step * np.arange(len(values))
        crs = file.createVariable("crs", "i4", ())
        crs.grid_mapping_name, crs.semi_major_axis = "latitude_longitude", 6378137.0
        inner = file.createGroup("model")
        t = inner.createVariable("t", "f4", ("lat", "lon"))
        t[:] = np.arange(24).reshape(4, 6)
        t.grid_mapping = "crs"
    root = ba.open(tmp_path / ("x.nc" if kind == "netcdf" else "x.zarr"))
    assert isinstance(root, ba.Group)
    array = root["model/t"]
    assert isinstance(array, ba.Array)
    assert array.dims == ("lat", "lon")
    assert array[...].tolist() == np.arange(24).reshape(4, 6).tolist()
    found = ba.georeference(root, "model/t")
    assert found.crs is not None
    assert found.crs.kind == "cf"
    assert isinstance(found.crs.value, dict)
    assert found.crs.value["semi_major_axis"] == pytest.approx(6378137.0, rel=1e-6)  # netCDF-C cuts the text in NCZarr
    assert found.transform == Affine(0.25, 0, 9.875, 0, -0.5, 59.25)
    alone = ba.georeference(array)
    assert (alone.crs, alone.transform, alone.dimensions) == (None, None, ("lat", "lon"))


@pytest.mark.parametrize("zarr_format", [2, 3])
def test_what_xarray_writes(tmp_path: Path, zarr_format: Any) -> None:
    xarray = pytest.importorskip("xarray")
    data = xarray.Dataset(
        {
            "v": (("y", "x"), np.zeros((3, 5), "f4"), {"grid_mapping": "spatial_ref"}),
            "spatial_ref": ((), 0, {"crs_wkt": WKT, "GeoTransform": "440720 60 0 3751320 0 -60"}),
        },
        {"x": 440750.0 + 60 * np.arange(5), "y": 3751290.0 - 60 * np.arange(3)},
    )
    data.to_zarr(tmp_path / "x.zarr", zarr_format=zarr_format, consolidated=False)
    found = ba.georeference(tmp_path / "x.zarr", "v")
    assert found.crs is not None
    assert (found.crs.kind, found.crs.value) == ("wkt", WKT)
    assert found.transform == Affine(60, 0, 440720, 0, -60, 3751320)
    root = ba.open(tmp_path / "x.zarr")
    assert isinstance(root, ba.Group)
    assert {name: array.dims or () for name, array in root.arrays().items()} == {
        "v": ("y", "x"), "spatial_ref": (), "x": ("x",), "y": ("y",),
    }  # fmt: skip
    if zarr_format == 2:
        assert "_ARRAY_DIMENSIONS" not in root["v"].attrs


@pytest.mark.skipif(not STORES.is_dir(), reason="the shared corpora are not here")
@pytest.mark.parametrize(
    ("name", "source", "transform"),
    [
        ("v3_crs", "_CRS", None),
        ("v3_classic_spatial", None, Affine(60, 0, 440720, 0, -60, 3751320)),
        ("v2_classic", None, Affine(60, 0, 440720, 0, -60, 3751320)),
    ],
)
def test_what_gdal_writes(name: str, source: str | None, transform: Affine | None) -> None:
    found = ba.georeference(STORES / "gdal" / name, "v")
    assert found.source == source
    assert found.transform == transform
    assert source is None or (found.crs is not None and "26711" in str(found.crs.value))
    assert transform is None or found.dimensions == ("Y", "X")


def test_conventions_of_groups_above() -> None:
    store = MemoryStore()
    create_group(store, "", attributes={"proj:code": "EPSG:4326", "spatial:dimensions": ["b", "a"]})
    transform = [0.5, 0.0, -180.0, 0.0, -0.5, 90.0]
    create_group(store, "g", attributes={"spatial:transform": transform, "proj:code": "EPSG:3857"})
    create_array(store, "g/h/v", array_meta((2, 3), "u1", dimension_names=("b", "a")))
    found = ba.georeference(store, "g/h/v")
    assert found.crs is not None
    assert (found.crs.kind, found.crs.value, found.source) == ("code", "EPSG:3857", "proj:")
    assert found.transform == Affine(0.5, 0, -180, 0, -0.5, 90)
    assert found.dimensions == ("b", "a")
    with pytest.raises(ba.BadRequest, match="group"):
        ba.georeference(store, "g")
    with pytest.raises(NotFound):
        ba.georeference(store, "absent")


def test_levels() -> None:
    store = MemoryStore()
    layout = [
        {"asset": "0", "transform": {"scale": [1, 1]}},
        {"asset": "1", "derived_from": "0", "transform": {"scale": [2.0, 2.0]}, "resampling_method": "average"},
    ]
    create_group(store, "", attributes={"multiscales": {"layout": layout}})
    create_array(store, "0", array_meta((8, 8), "u1"))
    root = ba.open(store)
    assert isinstance(root, ba.Group)
    with pytest.raises(NotFound):
        ba.levels_of(root)
    create_array(store, "1", array_meta((4, 4), "u1"))
    found = ba.levels_of(root)
    assert [(level.path, level.derived_from, level.resampling) for level, _ in found] == [
        ("0", None, None), ("1", "0", "average"),
    ]  # fmt: skip
    assert isinstance(found[1][1], ba.Array)
    assert found[1][1].shape == (4, 4)
