"""Grids of both editions: coordinates and grid mappings lead to the points that ecCodes gives."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import byteatlas as ba
from byteatlas.errors import CorruptFile
from byteatlas_scanners.grib.grids.edition2 import grid2

pyproj = pytest.importorskip("pyproj")
eccodes = pytest.importorskip("eccodes")
from fixtures.grib.make_forecasts import message  # noqa: E402

NX, NY = 6, 4
CONE = {
    "Nx": NX, "Ny": NY, "latitudeOfFirstGridPointInDegrees": 21.138, "longitudeOfFirstGridPointInDegrees": 237.28,
    "LoVInDegrees": 262.5, "LaDInDegrees": 38.5, "DxInMetres": 30000, "DyInMetres": 20000, "Latin1InDegrees": 38.5,
    "Latin2InDegrees": 38.5, "jScansPositively": 1,
}  # fmt: skip
POLAR = {
    "Nx": NX, "Ny": NY, "latitudeOfFirstGridPointInDegrees": 50, "longitudeOfFirstGridPointInDegrees": 200,
    "LaDInDegrees": 60, "orientationOfTheGridInDegrees": 250, "DxInMetres": 30000, "DyInMetres": 20000,
    "jScansPositively": 1,
}  # fmt: skip
SOUTH = {**POLAR, "latitudeOfFirstGridPointInDegrees": -50, "projectionCentreFlag": 128, "LaDInDegrees": -60}
POLAR1 = {k: v for k, v in POLAR.items() if k != "LaDInDegrees"}
MERCATOR = {
    "Ni": NX, "Nj": NY, "latitudeOfFirstGridPointInDegrees": 10, "longitudeOfFirstGridPointInDegrees": 20,
    "latitudeOfLastGridPointInDegrees": 12, "longitudeOfLastGridPointInDegrees": 24, "LaDInDegrees": 20,
    "DiInMetres": 50000, "DjInMetres": 40000, "jScansPositively": 1,
}  # fmt: skip
AZIMUTHAL = {
    "Nx": NX, "Ny": NY, "latitudeOfFirstGridPointInDegrees": 60, "longitudeOfFirstGridPointInDegrees": 5,
    "standardParallelInDegrees": 52, "centralLongitudeInDegrees": 10, "xDirectionGridLengthInMetres": 30000,
    "yDirectionGridLengthInMetres": 20000,
}  # fmt: skip
CONE1 = {k: v for k, v in CONE.items() if k != "LaDInDegrees"}
PLANES: dict[str, tuple[str, dict[str, Any]]] = {
    "cone": ("regular_ll_sfc_grib2", {"gridType": "lambert", **CONE}),
    "cone of two parallels": ("regular_ll_sfc_grib2", {"gridType": "lambert", **CONE, "Latin2InDegrees": 45}),
    "cone of an ellipsoid": ("regular_ll_sfc_grib2", {"shapeOfTheEarth": 5, "gridType": "lambert", **CONE}),
    "pole": ("regular_ll_sfc_grib2", {"gridType": "polar_stereographic", **POLAR}),
    "pole, true at the pole": (
        "regular_ll_sfc_grib2", {"gridType": "polar_stereographic", **POLAR, "LaDInDegrees": 90},
    ),
    "southern pole": ("regular_ll_sfc_grib2", {"gridType": "polar_stereographic", **SOUTH}),
    "cylinder": ("regular_ll_sfc_grib2", {"gridType": "mercator", **MERCATOR}),
    "equal area": ("regular_ll_sfc_grib2", {"gridType": "lambert_azimuthal_equal_area", **AZIMUTHAL}),
    "cone, edition 1": ("regular_ll_sfc_grib1", {"gridType": "lambert", **CONE1}),
    "pole, edition 1": ("regular_ll_sfc_grib1", {"gridType": "polar_stereographic", **POLAR1}),
    "cylinder, edition 1": ("regular_ll_sfc_grib1", {"gridType": "mercator", **MERCATOR}),
}  # fmt: skip


def points_of(data: bytes) -> tuple[NDArray[Any], NDArray[Any]]:
    """Latitudes and longitudes of all points, by ecCodes."""
    made = eccodes.codes_new_from_message(data)
    try:
        return tuple(eccodes.codes_get_array(made, name) for name in ("latitudes", "longitudes"))
    finally:
        eccodes.codes_release(made)


@pytest.mark.parametrize("name", PLANES)
def test_planes(name: str, tmp_path: Path) -> None:
    sample, keys = PLANES[name]
    data = message(sample, np.arange(NX * NY) / 7, keys)
    (tmp_path / "a.grib").write_bytes(data)
    found = ba.scan(tmp_path / "a.grib")
    opened: Any = ba.open(found)
    arrays = {item.path: opened[item.path] for item in found.report if item.status == "virtual"}
    every = {p.rpartition("/")[2]: a for p, a in found.walk() if hasattr(a, "manifest")}
    group = next(iter(p.rpartition("/")[0] for p in arrays))
    x, y = (opened[f"{group}/{axis}"][...] for axis in "xy")
    crs = pyproj.CRS.from_cf(dict(every["crs"].meta.attributes))
    back = pyproj.Transformer.from_crs(crs, crs.geodetic_crs, always_xy=True)
    longitude, latitude = back.transform(*(v.reshape(-1) for v in np.meshgrid(x, y)))
    wanted = points_of(data)
    assert np.abs(latitude - wanted[0]).max() < 2e-5
    assert np.abs((longitude - wanted[1] + 180) % 360 - 180).max() < 4e-5


LATLON = {
    "Ni": NX, "Nj": NY, "latitudeOfFirstGridPointInDegrees": 40, "longitudeOfFirstGridPointInDegrees": 350,
    "latitudeOfLastGridPointInDegrees": 34, "longitudeOfLastGridPointInDegrees": 0, "iDirectionIncrementInDegrees": 2,
    "jDirectionIncrementInDegrees": 2,
}  # fmt: skip
UP = {"latitudeOfFirstGridPointInDegrees": 34, "latitudeOfLastGridPointInDegrees": 40, "jScansPositively": 1}
WEST = {"iScansNegatively": 1, "longitudeOfFirstGridPointInDegrees": 10, "longitudeOfLastGridPointInDegrees": 0}
AXES: dict[str, dict[str, Any]] = {
    "plain": {},
    "southern row first": UP,
    "western column last": WEST,
    "over the meridian, westward": {
        **WEST, "longitudeOfFirstGridPointInDegrees": 5, "longitudeOfLastGridPointInDegrees": 355,
    },
    "around the earth": {
        "longitudeOfFirstGridPointInDegrees": 0, "longitudeOfLastGridPointInDegrees": 300,
        "iDirectionIncrementInDegrees": 60,
    },
    "increments not given": {"ijDirectionIncrementGiven": 0},
}  # fmt: skip


@pytest.mark.parametrize("edition", [1, 2])
@pytest.mark.parametrize("name", AXES)
def test_latitudes_and_longitudes(name: str, edition: int, tmp_path: Path) -> None:
    keys = {**LATLON, **AXES[name]}
    data = message(f"regular_ll_sfc_grib{edition}", np.arange(NX * NY) / 7, keys)
    (tmp_path / "a.grib").write_bytes(data)
    found = ba.scan(tmp_path / "a.grib")
    opened: Any = ba.open(found)
    group = next(item.path for item in found.report if item.status == "virtual").rpartition("/")[0]
    latitude, longitude = (opened[f"{group}/{axis}"][...] for axis in ("latitude", "longitude"))
    wanted = points_of(data)
    np.testing.assert_allclose(np.repeat(latitude, NX), wanted[0], atol=1e-9)
    np.testing.assert_allclose(np.tile(longitude, NY) % 360, wanted[1] % 360, atol=1e-3)
    assert (np.diff(longitude) > 0).all() or keys.get("iScansNegatively")


@pytest.mark.parametrize("sample", ["regular_gg_sfc_grib1", "regular_gg_sfc_grib2"])
def test_gaussian_grids(sample: str, tmp_path: Path) -> None:
    made = eccodes.codes_grib_new_from_samples(sample)
    data = bytes(eccodes.codes_get_message(made))
    eccodes.codes_release(made)
    (tmp_path / "a.grib").write_bytes(data)
    found = ba.scan(tmp_path / "a.grib")
    opened: Any = ba.open(found)
    group = next(item.path for item in found.report if item.status == "virtual").rpartition("/")[0]
    latitude, longitude = (opened[f"{group}/{axis}"][...] for axis in ("latitude", "longitude"))
    wanted = points_of(data)
    np.testing.assert_allclose(np.repeat(latitude, len(longitude)), wanted[0], atol=1e-6)
    np.testing.assert_allclose(np.tile(longitude, len(latitude)), wanted[1], atol=1e-6)


@pytest.mark.parametrize(
    "sample",
    ["reduced_gg_sfc_grib1", "reduced_gg_sfc_grib2", "reduced_ll_sfc_grib1", "reduced_ll_sfc_grib2",
     "sh_sfc_grib1", "sh_sfc_grib2", "rotated_ll_sfc_grib2", "rotated_gg_sfc_grib1", "rotated_gg_sfc_grib2",
     "rotated_ll_sfc_grib1", "reduced_rotated_gg_sfc_grib1", "reduced_rotated_gg_sfc_grib2"],
)  # fmt: skip
def test_grids_of_many_kinds(sample: str, tmp_path: Path) -> None:
    """Fields are read, under the words that ecCodes has for their grids."""
    made = eccodes.codes_grib_new_from_samples(sample)
    data = bytes(eccodes.codes_get_message(made))
    kind, values = eccodes.codes_get(made, "gridType"), eccodes.codes_get_array(made, "values")
    eccodes.codes_release(made)
    (tmp_path / "a.grib").write_bytes(data)
    found = ba.scan(tmp_path / "a.grib")
    (item,) = [i for i in found.report if i.locators]
    opened: Any = ba.open(found)
    ours = opened[item.path]
    np.testing.assert_array_equal(ours[...].reshape(-1), values)
    assert ours.attrs["GRIB_gridType"] == kind


def grid_section(template: int, tail: bytes, points: int = 12, octets: int = 0) -> bytes:
    body = bytes([0]) + points.to_bytes(4, "big") + bytes([octets, 0]) + template.to_bytes(2, "big") + tail
    return (len(body) + 5).to_bytes(4, "big") + b"\x03" + body


def test_other_grids_of_edition_2() -> None:
    mesh = bytes([6]) + (77).to_bytes(3, "big") + bytes([4]) + bytes(range(16))
    found = grid2(grid_section(101, mesh))
    assert found.kind == "unstructured_grid"
    assert found.values["numberOfGridUsed"] == 77
    assert found.values["numberOfGridInReference"] == 4
    assert found.values["uuidOfHGrid"] == bytes(range(16)).hex()
    short = grid2(grid_section(101, mesh[:-1]))
    assert "uuidOfHGrid" not in short.values
    unknown = grid2(grid_section(999, b""))
    assert (unknown.kind, unknown.shape, unknown.values["gridType"]) == ("template_999", (12,), "template_999")
    waves = grid2(grid_section(50, b"".join(n.to_bytes(4, "big") for n in (21, 22, 23)) + b"\x01\x01"))
    assert [waves.values[k] for k in "JKM"] == [21, 22, 23]


def test_sections_that_are_too_short() -> None:
    with pytest.raises(CorruptFile):
        grid2(grid_section(30, bytes(20)))
