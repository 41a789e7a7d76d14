"""Coordinates of grids, beside PROJ and ecCodes."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from tests.unit.codecs.grib import oracle

from byteatlas.codecs import build_pipeline
from byteatlas.codecs.grib.grids.earth import Spheroid
from byteatlas.codecs.grib.grids.gaussian import gaussian_latitudes
from byteatlas.codecs.grib.grids.points import can_make, points
from byteatlas.codecs.grib.grids.projections import EqualArea, Lambert, Mercator, Polar, Projection
from byteatlas.codecs.grib.grids.transverse import Transverse
from byteatlas.codecs.grib.sections.message import grid_section
from byteatlas.errors import ByteatlasError, CorruptChunk
from byteatlas.meta.dtypes import from_numpy
from byteatlas.meta.model import CodecSpec, Encoding

R = math.radians
EARTHS = (Spheroid(6378137.0, 6356752.314245179), Spheroid(6371229.0, 6371229.0))
PLANES: dict[str, Any] = {
    "+proj=lcc +lat_0=25 +lat_1=25 +lat_2=55 +lon_0=265": lambda e: Lambert.of(e, R(265), R(25), R(55)),
    "+proj=lcc +lat_0=-45 +lat_1=-45 +lat_2=-45 +lon_0=20": lambda e: Lambert.of(e, R(20), R(-45), R(-45)),
    "+proj=merc +lat_ts=20 +lon_0=10": lambda e: Mercator.of(e, R(10), R(20)),
    "+proj=stere +lat_0=90 +lat_ts=60 +lon_0=-150": lambda e: Polar.of(e, R(-150), R(60), False),
    "+proj=stere +lat_0=90 +lat_ts=90 +lon_0=0": lambda e: Polar.of(e, 0.0, R(90), False),
    "+proj=stere +lat_0=-90 +lat_ts=-71 +lon_0=40": lambda e: Polar.of(e, R(40), R(-71), True),
    "+proj=laea +lat_0=52 +lon_0=10": lambda e: EqualArea(e.major, e.eccentricity, R(10), R(52)),
    "+proj=laea +lat_0=90 +lon_0=10": lambda e: EqualArea(e.major, e.eccentricity, R(10), R(90)),
    "+proj=tmerc +lat_0=49 +lon_0=-2 +k=0.9996": lambda e: Transverse(e, R(-2), R(49), 0.9996),
}


@pytest.mark.parametrize("earth", EARTHS, ids=["ellipsoid", "sphere"])
@pytest.mark.parametrize("text", PLANES)
def test_projections_are_those_of_proj(text: str, earth: Spheroid) -> None:
    pyproj = pytest.importorskip("pyproj")
    reference = pyproj.Proj(f"{text} +a={earth.major} +b={earth.minor}")
    ours: Projection = PLANES[text](earth)
    rng = np.random.default_rng(0)
    x, y = rng.uniform(-8e5, 8e5, (2, 300))
    longitude, latitude = reference(x, y, inverse=True)
    here = [ours.forward(R(a), R(o)) for a, o in zip(latitude, longitude, strict=True)]
    # PROJ's origin may lie elsewhere: what counts is where points lie to each other.
    moved = np.array(here) - np.stack([x, y], 1)
    assert np.ptp(moved, axis=0).max() < 2e-3 if "laea" in text else np.ptp(moved, axis=0).max() < 1e-6
    back = np.degrees(ours.backward(x + moved[0, 0], y + moved[0, 1]))
    close = 2e-8 if "laea" in text else 1e-9  # PROJ's series for authalic latitudes ends earlier
    assert np.abs(back[0] - latitude).max() < close
    assert np.abs((back[1] - longitude + 180) % 360 - 180).max() < close


GRIDS: dict[str, tuple[str, dict[str, Any], float]] = {
    "latitude and longitude": ("regular_ll_sfc_grib2", {}, 1e-9),
    "edition 1": ("regular_ll_sfc_grib1", {}, 1e-9),
    "columns first": ("regular_ll_sfc_grib2", {"jPointsAreConsecutive": 1}, 1e-9),
    "gaussian": ("regular_gg_sfc_grib2", {}, 1e-9),
    "reduced gaussian": ("reduced_gg_sfc_grib2", {}, 1e-9),
    "reduced gaussian, edition 1": ("reduced_gg_sfc_grib1", {}, 1e-9),
    "reduced latitude and longitude": ("reduced_ll_sfc_grib2", {}, 1e-9),
    "reduced latitude and longitude, edition 1": ("reduced_ll_sfc_grib1", {}, 1e-9),
    "rotated": ("rotated_ll_sfc_grib2", {"latitudeOfSouthernPoleInDegrees": -30}, 1e-5),  # ecCodes rounds to 6 digits
    "polar": ("polar_stereographic_sfc_grib2", {"LaDInDegrees": 60, "jScansPositively": 1}, 1e-9),
}


@pytest.mark.parametrize("name", GRIDS)
def test_points_are_those_of_eccodes(name: str) -> None:
    ec = oracle.eccodes()
    sample, keys, close = GRIDS[name]
    with oracle.handle(sample, **keys) as made:
        data = oracle.message(made)
        wanted = {which: ec.codes_get_array(made, which + "s") for which in ("latitude", "longitude")}
    size = len(wanted["latitude"])
    latitude, longitude = (
        build_pipeline(
            Encoding((CodecSpec("byteatlas.grib_grid", {"which": which}),)), from_numpy(np.dtype("f8")), (size,), np.nan
        ).decode(data)
        for which in ("latitude", "longitude")
    )
    assert np.abs(latitude - wanted["latitude"]).max() < close
    east = np.abs((longitude - wanted["longitude"] + 180) % 360 - 180) * np.cos(np.radians(latitude))
    assert east.max() < close


def test_the_beginning_of_a_message_is_enough() -> None:
    with oracle.handle("regular_ll_sfc_grib2") as made:
        data = oracle.message(made)
    edition, grid, identification = grid_section(data, 0)
    end = data.index(grid) + len(grid)
    assert grid_section(data[:end], 0) == (edition, grid, identification)
    for length in range(0, end, 7):
        with pytest.raises(ByteatlasError):
            grid_section(data[:length], 0)
    target = build_pipeline(
        Encoding((CodecSpec("byteatlas.grib_grid", {"which": "latitude", "grid": "0" * 16}),)),
        from_numpy(np.dtype("f8")), (31, 16), np.nan,
    )  # fmt: skip
    with pytest.raises(CorruptChunk, match="grid is not that of its array"):
        target.decode(data[:end])


@pytest.mark.parametrize("n", [1, 2, 32, 80, 320])
def test_gaussian_latitudes(n: int) -> None:
    """Zeros of a Legendre polynomial, which NumPy knows too."""
    wanted = np.degrees(np.arcsin(np.polynomial.legendre.leggauss(2 * n)[0]))[::-1]
    assert np.abs(gaussian_latitudes(n) - wanted).max() < 1e-11


@pytest.mark.parametrize("side", [1, 2, 8])
@pytest.mark.parametrize("order", ["ring", "nested"])
def test_pixels_are_those_of_eccodes(side: int, order: str) -> None:
    ec = oracle.eccodes()
    keys = {"gridType": "healpix", "Nside": side, "longitudeOfFirstGridPointInDegrees": 45, "orderingConvention": order}
    with oracle.handle("GRIB2", **keys) as made:
        ec.codes_set_values(made, np.zeros(12 * side * side))
        data = oracle.message(made)
        wanted = [ec.codes_get_array(made, name) for name in ("latitudes", "longitudes")]
    edition, section, _ = grid_section(data, 0)
    assert can_make(edition, section)
    for ours, theirs in zip(points(edition, section, 12 * side * side), wanted, strict=True):
        np.testing.assert_allclose(ours, theirs, atol=1e-9)


@pytest.mark.parametrize("change", [(34, 3), (38, 0), (39, 1), (40, 2)])
def test_strange_pixels_are_refused(change: tuple[int, int]) -> None:
    oracle.eccodes()
    keys = {"gridType": "healpix", "Nside": 4, "longitudeOfFirstGridPointInDegrees": 45, "orderingConvention": "nested"}
    with oracle.handle("GRIB2", **keys) as made:
        edition, section, _ = grid_section(oracle.message(made), 0)
    damaged = bytearray(section)
    damaged[change[0]] = change[1]
    assert can_make(edition, section)
    assert not can_make(edition, bytes(damaged))
    with pytest.raises(ByteatlasError):
        points(edition, bytes(damaged), 192)


def test_grids_turned_about_their_pole_have_no_points() -> None:
    """ecCodes takes the angle from the geographic longitude, which is not what the template says."""
    oracle.eccodes()
    with oracle.handle("rotated_ll_sfc_grib2", angleOfRotationInDegrees=30) as made:
        edition, section, _ = grid_section(oracle.message(made), 0)
    assert not can_make(edition, section)
