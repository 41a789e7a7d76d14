"""HDF-EOS: ODL, packed angles, projections, grids and swaths of HDF-EOS5."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pyproj
import pytest

import byteatlas as ba
from byteatlas_scanners.eos.gctp import PROJECTIONS, grid_mapping
from byteatlas_scanners.eos.odl import parse_odl
from byteatlas_scanners.eos.structure import degrees, parse_structure

GRID = """GROUP=GridStructure
\tGROUP=GRID_1
\t\tGridName="G"
\t\tXDim=4
\t\tYDim=2
\t\tUpperLeftPointMtrs=(-180000000.000000,90000000.000000)
\t\tLowerRightMtrs=(180000000.000000,-90000000.000000)
\t\tProjection=HE5_GCTP_GEO
\t\tGROUP=DataField
\t\t\tOBJECT=DataField_1
\t\t\t\tDataFieldName="t"
\t\t\t\tDimList=("YDim","XDim")
\t\t\tEND_OBJECT=DataField_1
\t\tEND_GROUP=DataField
\tEND_GROUP=GRID_1
END_GROUP=GridStructure
"""
SWATH = """GROUP=SwathStructure
\tGROUP=SWATH_1
\t\tSwathName="S"
\t\tGROUP=DimensionMap
\t\t\tOBJECT=DimensionMap_1
\t\t\t\tGeoDimension="track"
\t\t\t\tDataDimension="fine"
\t\t\t\tOffset=1
\t\t\t\tIncrement=2
\t\t\tEND_OBJECT=DimensionMap_1
\t\tEND_GROUP=DimensionMap
\t\tGROUP=GeoField
\t\t\tOBJECT=GeoField_1
\t\t\t\tGeoFieldName="Latitude"
\t\t\t\tDimList=("track")
\t\t\tEND_OBJECT=GeoField_1
\t\t\tOBJECT=GeoField_2
\t\t\t\tGeoFieldName="Longitude"
\t\t\t\tDimList=("track")
\t\t\tEND_OBJECT=GeoField_2
\t\tEND_GROUP=GeoField
\tEND_GROUP=SWATH_1
END_GROUP=SwathStructure
"""


def test_odl() -> None:
    text = 'GROUP=A\nOBJECT=B\nx=(1,\n2)\ny="a, (b)"\nz=-1.5e3\nx=9\nEND_OBJECT=B\nEND_GROUP=A\nnonsense\nEND\n'
    assert parse_odl(text) == {"A": {"B": {"x": [1, 2], "y": "a, (b)", "z": -1500.0}}}
    assert parse_odl("GROUP=A\n" * 5000 + "x=1") != {}


def test_packed_angles() -> None:
    assert degrees(-103030000.0) == -103.5
    assert degrees(45000000.0) == 45.0
    assert degrees(1030.0) == pytest.approx(1 / 60 + 30 / 3600)


@pytest.mark.parametrize("name", PROJECTIONS)
def test_projections_are_read_by_proj(name: str) -> None:
    """WKT and CF say the same, as far as CF has a name for it."""
    numbers = [6371007.181, 0, 0.9996 if name == "TM" else 30000000, 60000000, 10000000, 40000000, 1000, 2000]
    text = GRID.replace("HE5_GCTP_GEO", f"GCTP_{name}\n\t\tProjParams=({','.join(map(str, numbers))})")
    (grid,) = parse_structure(text).grids
    found = grid_mapping(grid)
    crs = pyproj.CRS.from_wkt(str(found["crs_wkt"]))
    assert crs.is_projected
    assert crs.ellipsoid.semi_major_metre == 6371007.181
    if "grid_mapping_name" in found:
        cf = pyproj.CRS.from_cf({k: v for k, v in found.items() if k not in ("crs_wkt", "spatial_ref")})
        point = pyproj.Transformer.from_crs(crs, cf, always_xy=True).transform(100_000.0, 200_000.0)
        assert point == pytest.approx((100_000.0, 200_000.0), abs=1e-3)


def test_zones_and_ellipsoids() -> None:
    utm = GRID.replace("HE5_GCTP_GEO", "GCTP_UTM\n\t\tZoneCode=-33\n\t\tSphereCode=12")
    crs = pyproj.CRS.from_wkt(str(grid_mapping(parse_structure(utm).grids[0])["crs_wkt"]))
    there = pyproj.Transformer.from_crs("EPSG:32733", crs, always_xy=True).transform(400_000.0, 6_000_000.0)
    assert there == pytest.approx((400_000.0, 6_000_000.0), abs=1e-3)
    assert grid_mapping(parse_structure(GRID.replace("HE5_GCTP_GEO", "GCTP_SOM")).grids[0]) == {}


def test_grids_and_swaths_of_hdf_eos5(tmp_path: Path) -> None:
    with h5py.File(tmp_path / "a.he5", "w") as file:
        file["HDFEOS/GRIDS/G/Data Fields/t"] = np.arange(8.0).reshape(2, 4)
        for name, values in {"Geolocation Fields/Latitude": 3, "Geolocation Fields/Longitude": 3}.items():
            file[f"HDFEOS/SWATHS/S/{name}"] = np.arange(float(values))
        file["HDFEOS INFORMATION/StructMetadata.0"] = np.bytes_((SWATH + GRID).encode().ljust(2000, b"\0"))
    root: Any = ba.open(tmp_path / "a.he5")
    fields = root["HDFEOS/GRIDS/G/Data Fields"]
    assert fields["t"].dims == ("y", "x")
    assert fields["x"][...].tolist() == [-135.0, -45.0, 45.0, 135.0]
    assert fields["y"][...].tolist() == [45.0, -45.0]
    assert pyproj.CRS.from_wkt(fields["spatial_ref"].attrs["crs_wkt"]).is_geographic
    swath = root["HDFEOS/SWATHS/S"]
    assert swath.attrs["dimension_maps"] == [{"geolocation": "track", "data": "fine", "offset": 1, "increment": 2}]
    assert swath["Geolocation Fields/Latitude"].dims == ("track",)
