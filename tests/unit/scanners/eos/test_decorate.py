"""Grids and swaths on trees made by hand: what is given dimensions, coordinates and a CRS, and what stays as it is."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pyproj
import pytest
from tests.maps import array
from tests.scanning import run

import byteatlas as ba
from byteatlas.manifest.model import VirtualArray, VirtualGroup
from byteatlas_scanners.eos import decorate as module
from byteatlas_scanners.eos.decorate import decorate
from byteatlas_scanners.eos.gctp import SPHEROIDS, grid_mapping
from byteatlas_scanners.eos.hdf5 import with_structure
from byteatlas_scanners.eos.structure import EosGrid, Structure, Swath, parse_structure

INSIDE = {"grids": "", "swaths": ""}


def grid(projection: str = "GEO", **more: Any) -> EosGrid:
    values: dict[str, Any] = {
        "name": "G", "columns": 4, "rows": 2, "upper_left": (0.0, 20.0), "lower_right": (40.0, 0.0),
        "projection": projection, "parameters": (0.0,) * 15, "sphere": -1, "zone": 0, "origin": (1, 1),
    }  # fmt: skip
    return EosGrid(**{**values, **more})


def tree(arrays: dict[str, VirtualArray], **groups: VirtualGroup) -> VirtualGroup:
    return VirtualGroup(groups={"G": VirtualGroup(arrays=arrays, groups=groups)})


def field(shape: tuple[int, ...], *dims: str | None) -> VirtualArray:
    return array(shape, shape, dimension_names=dims or None)


def decorated(group: VirtualGroup, what: EosGrid | Swath) -> VirtualGroup:
    structure = Structure((what,)) if isinstance(what, EosGrid) else Structure((), (what,))
    return decorate(group, structure, INSIDE).groups["G"]


def values(found: VirtualArray) -> list[float]:
    opened: Any = ba.open(VirtualGroup(arrays={"v": found}))
    return list(opened["v"][...].tolist())


def test_fields_get_y_and_x() -> None:
    found = decorated(tree({"t": field((2, 4), "YDim:G", "XDim:G")}), grid())
    assert found.arrays["t"].meta.dimension_names == ("y", "x")
    assert found.arrays["t"].meta.attributes == {"grid_mapping": "spatial_ref"}
    assert values(found.arrays["x"]) == [5.0, 15.0, 25.0, 35.0]
    assert values(found.arrays["y"]) == [15.0, 5.0]
    assert found.arrays["x"].meta.attributes["units"] == "degrees_east"
    assert found.arrays["y"].meta.attributes["standard_name"] == "latitude"
    assert found.arrays["y"].meta.attributes["axis"] == "Y"


@pytest.mark.parametrize(
    ("shape", "dims", "said", "wanted", "mapped"),
    [
        ((3, 4), ("YDim", "XDim"), None, ("YDim", "XDim"), False),  # rows of another number
        ((2, 5), ("YDim", "XDim"), None, ("YDim", "XDim"), False),
        ((4,), ("XDim",), None, ("x",), False),
        ((3, 2, 4), ("b", "YDim", "XDim"), None, ("b", "y", "x"), True),
        ((2, 2), ("YDim", "YDim"), None, ("YDim", "YDim"), False),
        ((2, 4), ("a", "b"), ("YDim", "XDim"), ("y", "x"), True),
        ((2, 4), ("a", "b"), ("YDim",), ("a", "b"), False),  # of another number: the file's own count
        ((2, 4), (), None, None, False),
        ((2, 4), (":odd", "b:G"), None, (":odd", "b"), False),
    ],
)
def test_which_fields_are_on_the_grid(
    shape: tuple[int, ...], dims: tuple[str, ...], said: Any, wanted: Any, mapped: bool
) -> None:
    fields = {} if said is None else {"t": said}
    found = decorated(tree({"t": field(shape, *dims)}), grid(fields=fields)).arrays["t"].meta
    assert found.dimension_names == wanted
    assert ("grid_mapping" in found.attributes) == mapped


def test_coordinates_do_not_replace_what_is_there() -> None:
    own = field((4,), "XDim")
    found = decorated(tree({"x": own, "t": field((2, 4), "YDim", "XDim")}, y=VirtualGroup()), grid())
    assert found.arrays["x"].manifest is own.manifest
    assert "y" not in found.arrays
    assert "spatial_ref" in found.arrays


def test_groups_of_fields() -> None:
    inside = VirtualGroup(arrays={"t": field((2, 4), "YDim", "XDim")})
    found = decorated(tree({}, **{"Data Fields": inside, "Other": inside}), grid())
    assert set(found.groups["Data Fields"].arrays) == {"t", "x", "y", "spatial_ref"}
    assert set(found.arrays) == set()
    assert found.groups["Other"].arrays["t"].meta.dimension_names == ("YDim", "XDim")


@pytest.mark.parametrize(
    "more",
    [
        {"upper_left": None}, {"lower_right": None}, {"columns": 0}, {"rows": 0}, {"columns": (1 << 20) + 1},
        {"rows": (1 << 20) + 1},
    ],
)  # fmt: skip
def test_grids_without_coordinates(more: dict[str, Any]) -> None:
    found = decorated(tree({}), grid(**more))
    assert set(found.arrays) == {"spatial_ref"}


def test_the_longest_axis(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LONGEST_AXIS", 4)
    assert {"x", "y"} <= set(decorated(tree({}), grid()).arrays)
    assert "x" not in decorated(tree({}), grid(columns=5)).arrays


def test_an_axis_of_no_extent() -> None:
    found = decorated(tree({}), grid(lower_right=(0.0, 0.0)))
    assert set(found.arrays) == {"y", "spatial_ref"}


@pytest.mark.parametrize(("origin", "x", "y"), [((1, 1), 5, 15), ((-1, 1), 35, 15), ((1, -1), 5, 5), ((-1, -1), 35, 5)])
def test_where_the_first_pixel_is(origin: tuple[int, int], x: float, y: float) -> None:
    found = decorated(tree({}), grid(origin=origin)).arrays
    assert (values(found["x"])[0], values(found["y"])[0]) == (x, y)


def test_planes_are_in_metres_and_unknown_projections_have_no_mapping() -> None:
    found = decorated(tree({"t": field((2, 4), "YDim", "XDim")}), grid("SNSOID", sphere=19))
    assert found.arrays["x"].meta.attributes == {
        "standard_name": "projection_x_coordinate", "units": "m", "axis": "X",
    }  # fmt: skip
    assert "spatial_ref" in found.arrays
    found = decorated(tree({"t": field((2, 4), "YDim", "XDim")}), grid("SOM"))
    assert set(found.arrays) == {"t", "x", "y"}
    assert "grid_mapping" not in found.arrays["t"].meta.attributes


def test_groups_that_are_not_there() -> None:
    group = tree({})
    assert decorate(group, Structure((grid(name="H"),)), INSIDE) is not None
    assert set(decorate(group, Structure((grid(name="H"),)), INSIDE).groups) == {"G"}
    renamed = VirtualGroup(groups={"a_b": VirtualGroup()})
    assert "x" in decorate(renamed, Structure((grid(name="a/b"),)), INSIDE).groups["a_b"].arrays


# --------------------------------------------------------------------------------------- swaths


def swath(**more: Any) -> Swath:
    fields = {"Latitude": ("track", "pixel"), "Longitude": ("track", "pixel"), "t": ("track", "pixel")}
    return Swath(**{"name": "G", "geolocation": ("Latitude", "Longitude"), "maps": (), "fields": fields, **more})


LOCATED = {name: field((2, 3), "a", "b") for name in ("Latitude", "Longitude", "t")}


def test_fields_of_swaths_name_their_coordinates() -> None:
    found = decorated(tree({**LOCATED, "line": field((2,), "track"), "two": field((2, 2), "c", "c")}), swath())
    assert found.arrays["t"].meta.dimension_names == ("track", "pixel")
    assert found.arrays["t"].meta.attributes == {"coordinates": "Latitude Longitude"}
    assert found.arrays["Latitude"].meta.attributes == {}
    assert found.arrays["line"].meta.attributes == {}
    assert found.arrays["two"].meta.dimension_names == ("c", "c")
    assert "dimension_maps" not in found.meta.attributes


def test_coordinates_that_a_field_names_itself_are_kept() -> None:
    own = array((2, 3), (2, 3), dimension_names=("a", "b"), attributes={"coordinates": "mine"})
    found = decorated(tree({**LOCATED, "t": own}), swath())
    assert found.arrays["t"].meta.attributes == {"coordinates": "mine"}


@pytest.mark.parametrize("geolocation", [(), ("Latitude",), ("Longitude",), ("Time",)])
def test_swaths_without_both_coordinates(geolocation: tuple[str, ...]) -> None:
    found = decorated(tree(LOCATED), swath(geolocation=geolocation))
    assert found.arrays["t"].meta.attributes == {}
    assert found.arrays["t"].meta.dimension_names == ("track", "pixel")


def test_geolocation_in_a_group_of_its_own() -> None:
    """CF names coordinates of the same group: those of another one are not named."""
    geolocation = VirtualGroup(arrays={n: LOCATED[n] for n in ("Latitude", "Longitude")})
    data = VirtualGroup(arrays={"t": LOCATED["t"]})
    found = decorated(tree({}, **{"Geolocation Fields": geolocation, "Data Fields": data}), swath())
    assert found.groups["Data Fields"].arrays["t"].meta.dimension_names == ("track", "pixel")
    assert found.groups["Data Fields"].arrays["t"].meta.attributes == {}
    assert found.groups["Geolocation Fields"].arrays["Latitude"].meta.dimension_names == ("track", "pixel")


def test_maps_of_dimensions() -> None:
    found = decorated(tree(LOCATED), swath(maps=(("g", "d", 1, 2), ("h", "e", 0, -2))))
    assert found.meta.attributes["dimension_maps"] == [
        {"geolocation": "g", "data": "d", "offset": 1, "increment": 2},
        {"geolocation": "h", "data": "e", "offset": 0, "increment": -2},
    ]


# --------------------------------------------------------------------------------------- structure


BASE = (
    'GROUP=GridStructure\nGROUP=GRID_1\nGridName="G"\nXDim=4\nYDim=2\n{}\nEND_GROUP=GRID_1\nEND_GROUP=GridStructure\n'
)


def test_numbers_of_grids() -> None:
    (plain,) = parse_structure(BASE.format("")).grids
    assert (plain.upper_left, plain.sphere, plain.zone, plain.origin) == (None, -1, 0, (1, 1))
    assert plain.parameters == (0.0,) * 15
    text = (
        "UpperLeftPointMtrs=(1,2.5)\nLowerRightMtrs=(a,2)\nProjection=GCTP_SNSOID\nProjParams=(1,x,2)\n"
        "SphereCode=12\nZoneCode=-3\nGridOrigin=HE5_HDFE_GD_LR"
    )
    (full,) = parse_structure(BASE.format(text)).grids
    assert (full.upper_left, full.lower_right) == ((1.0, 2.5), None)
    assert full.parameters == (1.0, 2.0, *(0.0,) * 13)
    assert (full.sphere, full.zone, full.origin, full.projection) == (12, -3, (-1, -1), "SNSOID")
    many = ",".join(str(n) for n in range(20))
    (long,) = parse_structure(BASE.format(f"ProjParams=({many})")).grids
    assert long.parameters == tuple(map(float, range(15)))
    (endless,) = parse_structure(BASE.format("UpperLeftPointMtrs=(1e999,2)\nLowerRightMtrs=(1,2,3)")).grids
    assert (endless.upper_left, endless.lower_right) == (None, None)
    (turned,) = parse_structure(BASE.format("Projection=GCTP_GEO\nUpperLeftPointMtrs=(-103030000.0,45000000)")).grids
    assert turned.upper_left == (-103.5, 45.0)


@pytest.mark.parametrize("lost", ['GridName="G"', "XDim=4", "YDim=2"])
def test_grids_without_a_size_or_a_name(lost: str) -> None:
    assert parse_structure(BASE.format("").replace(lost, "")).grids == ()


def test_fields_and_maps_of_swaths() -> None:
    text = (
        'GROUP=SwathStructure\nGROUP=SWATH_1\nSwathName="S"\n'
        'GROUP=DimensionMap\nOBJECT=M1\nGeoDimension="g"\nDataDimension="d"\nEND_OBJECT=M1\n'
        'OBJECT=M2\nGeoDimension=3\nDataDimension="d"\nEND_OBJECT=M2\n'
        'OBJECT=M3\nGeoDimension="g"\nEND_OBJECT=M3\nEND_GROUP=DimensionMap\n'
        'GROUP=GeoField\nOBJECT=F1\nGeoFieldName="Latitude"\nDimList="track"\nEND_OBJECT=F1\n'
        'OBJECT=F2\nDimList=3\nEND_OBJECT=F2\nEND_GROUP=GeoField\n'
        'GROUP=DataField\nOBJECT=F3\nDataFieldName="t"\nDimList=("a","b")\nEND_OBJECT=F3\nEND_GROUP=DataField\n'
        "END_GROUP=SWATH_1\nEND_GROUP=SwathStructure\n"
    )  # fmt: skip
    (found,) = parse_structure(text).swaths
    assert found.maps == (("g", "d", 0, 1),)
    assert found.geolocation == ("Latitude",)
    assert found.fields == {"Latitude": ("track",), "t": ("a", "b")}


# --------------------------------------------------------------------------------------- projections


@pytest.mark.parametrize(("zone", "crs"), [(1, 32601), (60, 32660), (-1, 32701), (-60, 32760), (33, 32633)])
def test_zones(zone: int, crs: int) -> None:
    found = pyproj.CRS.from_wkt(str(grid_mapping(grid("UTM", zone=zone, sphere=12))["crs_wkt"]))
    there = pyproj.Transformer.from_crs(f"EPSG:{crs}", found, always_xy=True).transform(400_000.0, 5_000_000.0)
    assert there == pytest.approx((400_000.0, 5_000_000.0), abs=1e-3)


@pytest.mark.parametrize("zone", [0, 61, -61])
def test_zones_that_there_are_not(zone: int) -> None:
    assert grid_mapping(grid("UTM", zone=zone)) == {}


def ellipsoid(**more: Any) -> tuple[float, float]:
    found = pyproj.CRS.from_wkt(str(grid_mapping(grid(**more))["crs_wkt"])).ellipsoid
    return found.semi_major_metre, found.semi_minor_metre


def test_ellipsoids() -> None:
    zeros = (0.0,) * 13
    for number, (_, major, minor) in SPHEROIDS.items():
        assert ellipsoid(projection="SNSOID", sphere=number) == pytest.approx((major, minor), abs=1e-3)
    assert ellipsoid(projection="SNSOID", parameters=(7e6, 6.9e6, *zeros)) == pytest.approx((7e6, 6.9e6))
    assert ellipsoid(projection="SNSOID", parameters=(7e6, 0.01, *zeros)) == pytest.approx((7e6, 7e6 * math.sqrt(0.99)))
    assert ellipsoid(projection="SNSOID", parameters=(-7e6, 0.0, *zeros)) == (7e6, 7e6)
    assert ellipsoid(projection="SNSOID", sphere=0, parameters=(7e6, 0.0, *zeros)) == (7e6, 7e6)
    assert ellipsoid(projection="SNSOID", sphere=19, parameters=(7e6, 0.0, *zeros))[0] == 6370997.0
    assert ellipsoid(projection="SNSOID") == (6370997.0, 6370997.0)
    assert ellipsoid(projection="GEO") == pytest.approx((6378137.0, 6356752.314245), abs=1e-3)
    assert ellipsoid(projection="UTM", zone=3, parameters=(7e6, 0.0, *zeros))[0] == 6370997.0


def test_numbers_that_are_no_projection() -> None:
    numbers = [0.0] * 15
    assert grid_mapping(grid("TM", sphere=12, parameters=tuple(numbers))) == {}  # a scale of zero
    numbers[2] = -1.0
    assert grid_mapping(grid("TM", sphere=12, parameters=tuple(numbers))) == {}
    numbers[2] = 0.9996
    assert grid_mapping(grid("TM", sphere=12, parameters=tuple(numbers)))["grid_mapping_name"] == "transverse_mercator"
    for latitude, known in [(90_000_000.0, True), (91_000_000.0, False), (-91_000_000.0, False)]:
        numbers[5] = latitude
        assert bool(grid_mapping(grid("LAMAZ", sphere=19, parameters=tuple(numbers)))) == known


@pytest.mark.parametrize(
    ("latitude", "pole", "way"), [(500_000.0, 90.0, "south"), (60e6, 90.0, "south"), (-60e6, -90.0, "north")]
)
def test_axes_point_away_from_the_pole(latitude: float, pole: float, way: str) -> None:
    numbers = (0.0,) * 5 + (latitude,) + (0.0,) * 9
    found = grid_mapping(grid("PS", sphere=12, parameters=numbers))
    assert found["latitude_of_projection_origin"] == pole
    assert f'AXIS["northing (N)",{way}' in str(found["crs_wkt"])


# --------------------------------------------------------------------------------------- HDF-EOS5


def file(path: Path, **texts: Any) -> VirtualGroup:
    with h5py.File(path, "w") as made:
        made["HDFEOS/GRIDS/G/Data Fields/t"] = np.zeros((2, 4))
        information = made.create_group("HDFEOS INFORMATION")
        for name, value in texts.items():
            information.create_dataset(name.replace("_", "."), **value)
    return ba.scan(path)


STRUCTURE = BASE.format("UpperLeftPointMtrs=(0,20)\nLowerRightMtrs=(40,0)\nProjection=GCTP_SNSOID")


def coordinates(group: VirtualGroup) -> set[str]:
    return set(group.groups["HDFEOS"].groups["GRIDS"].groups["G"].groups["Data Fields"].arrays) - {"t"}


def test_text_in_one_and_in_several_pieces(tmp_path: Path) -> None:
    half = len(STRUCTURE) // 2
    two = {
        "StructMetadata_0": {"data": np.bytes_(STRUCTURE[:half])},
        "StructMetadata_1": {"data": np.bytes_(STRUCTURE[half:])},
    }
    assert coordinates(file(tmp_path / "two.h5", **two)) == {"x", "y", "spatial_ref"}
    one = {"StructMetadata_0": {"data": np.bytes_(STRUCTURE)}}
    assert coordinates(file(tmp_path / "one.h5", **one)) == {"x", "y", "spatial_ref"}
    assert coordinates(file(tmp_path / "other.h5", CoreMetadata_0={"data": np.bytes_(STRUCTURE)})) == set()


@pytest.mark.parametrize(
    "stored",
    [
        {"data": np.array([1, 2])},
        {"data": np.array([STRUCTURE.encode()]), "chunks": (1,), "compression": "gzip"},
        {"data": np.array([b"a", b"b"]), "chunks": (1,)},
    ],
)
def test_text_that_is_stored_in_another_way(stored: dict[str, Any], tmp_path: Path) -> None:
    """Nothing is known then; the file is read as any other one."""
    assert coordinates(file(tmp_path / "a.h5", StructMetadata_0=stored)) == set()


def test_text_beyond_the_file() -> None:
    """The text of a damaged file: the tree stays as it is."""
    text = array((), (), "S1000", references={(): ("memory://file", 50, 1000)})
    root = VirtualGroup(groups={"HDFEOS INFORMATION": VirtualGroup(arrays={"StructMetadata.0": text})})
    assert run(with_structure(root), bytes(100)).groups.keys() == root.groups.keys()
    inline = array((), (), "S4", references={(): b"ab\0\0"})
    other = VirtualGroup(groups={"HDFEOS INFORMATION": VirtualGroup(arrays={"StructMetadata.0": inline})})
    assert run(with_structure(other), b"").groups.keys() == other.groups.keys()
    plain = VirtualGroup()
    assert run(with_structure(plain), b"") is plain
