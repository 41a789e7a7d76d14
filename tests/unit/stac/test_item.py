"""STAC Items: valid to pystac, and right about places and times."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.places import FIXTURES

import byteatlas as ba
from byteatlas.cli.app import run
from byteatlas.stac.extent import around

pytest.importorskip("netCDF4")


def made(path: Path, lon: Any = (0.5, 1.5, 2.5), lat: Any = (10.0, 12.0), calendar: str = "standard") -> Path:
    import netCDF4

    with netCDF4.Dataset(path, "w") as file:
        file.title = "Sea"
        for name, values, units in (
            ("time", [0, 31], "days since 2000-01-30 12:00"),
            ("lat", lat, "degrees_north"),
            ("lon", lon, "degrees_east"),
        ):
            file.createDimension(name, len(values))
            file.createVariable(name, "f8", (name,))[:] = values
            file[name].units = units
        file["time"].calendar = calendar
        file.createVariable("sst", "f4", ("time", "lat", "lon")).units = "K"
    return path


def validated(item: dict[str, Any]) -> dict[str, Any]:
    """By the schemas of STAC's core, which pystac has with it; extensions' own classes read the rest."""
    pystac = pytest.importorskip("pystac")
    jsonschema, referencing = pytest.importorskip("jsonschema"), pytest.importorskip("referencing.jsonschema")
    from pystac.validation.local_validator import get_local_schema_cache
    from referencing import Registry

    text = json.dumps(item, allow_nan=False)
    schemas = get_local_schema_cache()
    known = Registry().with_resources((u, referencing.DRAFT7.create_resource(s)) for u, s in schemas.items())
    core = next(schema for url, schema in schemas.items() if url.endswith("/item.json"))
    assert not list(jsonschema.Draft7Validator(core, registry=known).iter_errors(json.loads(text)))
    assert pystac.Item.from_dict(json.loads(text)).id == item["id"]
    return item


def test_item_of_a_grid(tmp_path: Path) -> None:
    from pystac.extensions.datacube import DatacubeExtension
    from pystac.extensions.projection import ProjectionExtension

    path = made(tmp_path / "sea 1.nc")
    item = validated(ba.stac_item(path, href="https://h/sea.json", options=ba.StacOptions(sources=True)))
    assert item["bbox"] == [0.0, 9.0, 3.0, 13.0]
    assert item["geometry"]["coordinates"] == [[[0.0, 9.0], [3.0, 9.0], [3.0, 13.0], [0.0, 13.0], [0.0, 9.0]]]
    properties = item["properties"]
    times = [properties[name] for name in ("datetime", "start_datetime", "end_datetime")]
    assert times == [None, "2000-01-30T12:00:00Z", "2000-03-01T12:00:00Z"]
    assert item["assets"]["map"] == {
        "href": "https://h/sea.json", "roles": ["data", "references"], "type": "application/json", "title": "Sea",
    }  # fmt: skip
    source = {"href": str(path), "roles": ["data", "source"], "type": "application/netcdf"}
    assert item["assets"]["source-1"] == source

    import pystac

    read = pystac.Item.from_dict(item)
    cube = DatacubeExtension.ext(read)
    assert cube.variables is not None
    assert {n: d.dim_type for n, d in cube.dimensions.items()} == {
        "lat": "spatial",
        "lon": "spatial",
        "time": "temporal",
    }
    assert cube.variables["sst"].dimensions == ["time", "lat", "lon"]
    grid = ProjectionExtension.ext(read)
    assert (grid.shape, grid.transform) == ([2, 3], [1.0, 0.0, 0.0, 0.0, 2.0, 9.0])


@pytest.mark.parametrize(
    ("longitudes", "wanted"),
    [
        (np.arange(0, 360, 2.5), (-180, 180)),
        (np.arange(-180, 180, 30.0), (-180, 180)),
        ([170.0, 175.0, 190.0], (170, -170)),
        ([350.0, 10.0], (-10, 10)),
        ([5.0], (5, 5)),
        ([90.0, 180.0], (90, 180)),
    ],
)
def test_the_way_around(longitudes: Any, wanted: tuple[float, float]) -> None:
    assert around(np.asarray(longitudes, float)) == wanted


def test_a_box_across_the_antimeridian(tmp_path: Path) -> None:
    item = validated(ba.stac_item(made(tmp_path / "a.nc", lon=[175.0, 185.0, 195.0])))
    assert item["bbox"] == [170.0, 9.0, -160.0, 13.0]
    assert [ring[0][0] for ring in item["geometry"]["coordinates"]] == [[170.0, 9.0], [-180.0, 9.0]]


@pytest.mark.parametrize(
    ("calendar", "last"), [("noleap", "2000-03-02T12:00:00Z"), ("360_day", "2000-03-01T12:00:00Z")]
)
def test_other_calendars(calendar: str, last: str, tmp_path: Path) -> None:
    """31 days after 30 January, as the calendar has it."""
    item = validated(ba.stac_item(made(tmp_path / "a.nc", calendar=calendar)))
    assert item["properties"]["end_datetime"] == last
    assert item["properties"]["start_datetime"] == "2000-01-30T12:00:00Z"


def test_projected_grids(tmp_path: Path) -> None:
    pytest.importorskip("pyproj")
    options = ba.StacOptions(start="2024-01-31T00:00:00Z")
    item = validated(ba.stac_item(FIXTURES / "tiff/geotiff.tif", options=options))
    assert item["properties"]["proj:code"] == "EPSG:32633"
    assert item["bbox"] == pytest.approx([15.0, 36.1339, 15.0167, 36.1447], abs=1e-4)
    assert item["properties"]["datetime"] == "2024-01-31T00:00:00Z"


def test_a_grid_around_the_pole(tmp_path: Path) -> None:
    """The pole is the northernmost place, and no edge has it."""
    pytest.importorskip("pyproj")
    place: dict[str, Any] = {"proj:code": "EPSG:3413", "spatial:transform": [500000.0, 0, -1e6, 0, -500000.0, 1e6]}
    meta = ba.array_meta((4, 4), "f4", dimension_names=("y", "x"), attributes=place)
    ba.create_array(str(tmp_path / "polar.zarr"), "ice", meta)
    item = validated(ba.stac_item(tmp_path / "polar.zarr", options=ba.StacOptions(start="2024-01-31T00:00:00Z")))
    assert item["bbox"][0::2] == [-180.0, 180.0]
    assert item["bbox"][3] == 90.0


def test_what_cannot_be_told_is_asked_for(tmp_path: Path) -> None:
    with pytest.raises(ba.BadRequest, match="give start"):
        ba.stac_item(FIXTURES / "tiff/geotiff.tif")
    with pytest.raises(ba.BadRequest, match="give href"):
        ba.stac_item(ba.scan(str(made(tmp_path / "a.nc"))))
    with pytest.raises(ba.BadRequest, match="password or a signature"):
        ba.stac_item(made(tmp_path / "a.nc"), href="https://h/a.json?X-Amz-Signature=1")
    slips: list[dict[str, Any]] = [
        {"bbox": (0, 9, 1, 8)}, {"bbox": 5}, {"bbox": "0189"}, {"start": "today"}, {"start": "2024-01-31"},
        {"start": "2024-02-01T00:00:00Z", "end": "2024-01-31T00:00:00Z"}, {"id": 3}, {"sources": "no"},
        {"most_sources": "x"}, {"properties": [1]},
    ]  # fmt: skip
    for options in slips:
        with pytest.raises(ba.BadRequest):
            ba.StacOptions(**options)
    number: Any = 3
    with pytest.raises(ba.BadRequest, match="href is int"):
        ba.stac_item(made(tmp_path / "a.nc"), href=number)


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = made(tmp_path / "a.nc")
    assert run(["stac", str(path), "-o", str(tmp_path / "item.json"), "--bbox", "0", "1", "2", "3", "--id", "me"]) == 0
    item = validated(json.loads((tmp_path / "item.json").read_text()))
    assert (item["id"], item["bbox"]) == ("me", [0.0, 1.0, 2.0, 3.0])
    assert capsys.readouterr().out.startswith("wrote ")
    assert run(["stac", str(path), "-o", str(tmp_path / "item.json"), "--id", "again"]) == 0
    assert json.loads((tmp_path / "item.json").read_text())["id"] == "again"
    capsys.readouterr()
    assert run(["stac", str(path)]) == 0
    assert json.loads(capsys.readouterr().out)["assets"]["map"]["href"] == str(path)


def test_the_command_replaces_items_only(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = made(tmp_path / "a.nc")
    ba.write(ba.scan(path), tmp_path / "map.json")
    (tmp_path / "link.json").symlink_to(path)
    before = {p.name: p.read_bytes() for p in tmp_path.iterdir()}
    for name in ("a.nc", "map.json", "link.json"):
        assert run(["stac", str(path), "-o", str(tmp_path / name)]) != 0
        assert "is no STAC Item" in capsys.readouterr().err
    assert run(["stac", str(path), "-o", str(tmp_path / "no" / "item.json")]) != 0
    assert {p.name: p.read_bytes() for p in tmp_path.iterdir()} == before
