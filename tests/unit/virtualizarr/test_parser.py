"""VirtualiZarr with our scanners, and virtual datasets to and from our trees."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.array_support import ZLIB, virtual
from tests.places import FIXTURES

import byteatlas as ba
from byteatlas.manifest.model import VirtualGroup
from byteatlas.meta.model import Encoding, GroupMeta, RectilinearGrid

vz = pytest.importorskip("virtualizarr")
xr = pytest.importorskip("xarray")

from obspec_utils.registry import ObjectStoreRegistry  # noqa: E402
from obstore.store import LocalStore  # noqa: E402

from byteatlas.virtualizarr import Parser, from_virtual  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore:Numcodecs codecs are not", "ignore:.*Zarr V3 specification")
FLAT = ["netcdf3/cdf1.nc", "tiff/geotiff.tif", "tiff/packed12.tif"]
TREES = ["fits/images.fits", "grib/gfs.grib2"]


def opened(name: str, **options: Any) -> Any:
    registry = ObjectStoreRegistry({"file://": LocalStore()})
    way = vz.open_virtual_datatree if name in TREES else vz.open_virtual_dataset
    return way(f"file://{FIXTURES / name}", registry=registry, parser=Parser(), **options)


def same(one: Any, other: Any) -> None:
    """Two nodes have the same arrays, with equal values."""
    arrays = {path: node for path, node in other.walk() if isinstance(node, ba.Array)}
    assert arrays
    for path, array in arrays.items():
        assert np.asarray(one[path][...]).tobytes() == np.asarray(array[...]).tobytes(), path


@pytest.mark.parametrize("name", FLAT + TREES)
def test_there_and_back(name: str) -> None:
    found = opened(name, loadable_variables=[])
    direct = ba.scan(FIXTURES / name)
    same(ba.open(from_virtual(found)), ba.open(direct))
    same(ba.open(from_virtual(direct.to_virtual())), ba.open(direct))


@pytest.mark.parametrize("name", FLAT)
def test_values_are_loaded_through_the_registry(name: str) -> None:
    ours = ba.scan(FIXTURES / name).to_xarray()
    found = opened(name, loadable_variables=list(ours.variables))
    for variable in ours.variables:
        assert found[variable].dims == ours[variable].dims
        np.testing.assert_array_equal(found[variable].to_numpy(), ours[variable].to_numpy())


def test_loaded_variables_go_into_the_map(tmp_path: Path) -> None:
    found = opened("tiff/geotiff.tif", loadable_variables=["x", "y"])
    ba.write(from_virtual(found), tmp_path / "map.json")
    ours = ba.scan(FIXTURES / "tiff" / "geotiff.tif").to_xarray()
    loaded: Any = ba.load(tmp_path / "map.json")
    again = loaded.to_xarray()
    for name in ("x", "y", "data"):
        np.testing.assert_array_equal(again[name].to_numpy(), ours[name].to_numpy())


def test_groups_and_variables_can_be_chosen() -> None:
    registry = ObjectStoreRegistry({"file://": LocalStore()})
    url = f"file://{FIXTURES / 'grib' / 'gfs.grib2'}"
    store = Parser(group="surface", skip_variables=["t"])(url, registry)
    names = set(store.to_virtual_dataset(loadable_variables=[]).variables)
    assert "tp" in names
    assert "t" not in names
    with pytest.raises(ba.NotFound):
        Parser(group="surface/t")(url, registry)


def test_uneven_chunks_are_refused() -> None:
    data = np.arange(600, dtype="i4").reshape(20, 30)
    node, _, _ = virtual(data, RectilinearGrid(((4, 7, 9), (10, 20))), [Encoding(ZLIB)])
    from byteatlas.api.tree import tree

    with pytest.raises(ba.Unsupported, match="different lengths"):
        tree(VirtualGroup(GroupMeta({}, 3), {"x": node})).to_virtual()


def test_to_xarray_of_a_tree() -> None:
    vg = ba.scan(FIXTURES / "grib" / "gfs.grib2")
    tree = vg.to_xarray()
    assert isinstance(tree, xr.DataTree)
    assert set(tree.children) == set(vg.groups)
    assert isinstance(vg.to_xarray(group="surface"), xr.Dataset)


def test_what_is_no_dataset() -> None:
    with pytest.raises(ba.BadRequest):
        from_virtual({"x": 1})
