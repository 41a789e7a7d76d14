"""Every array of the fixtures through zarr-python and fsspec's references: equal to ours to the bit, or listed here."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.differential.interoperation.readers import equal
from tests.places import FIXTURES

import byteatlas as ba

zarr = pytest.importorskip("zarr")
fsspec = pytest.importorskip("fsspec")

FILES = sorted(
    path.relative_to(FIXTURES).as_posix()
    for pattern in ("*/*.nc", "*/*.h5", "*/*.tif", "*/*.fits", "*/*.grib", "*/*.grib?")
    for path in FIXTURES.glob(pattern)
)
NO_TYPE = "No Zarr data type found"
"""zarr-python's words for a data type that it does not have."""
UNKNOWN_TYPES = {"byteatlas.vlen-array", "byteatlas.object", "struct"}


def refused(array: Any) -> bool:
    """Whether zarr-python may refuse an array: for its data type alone."""
    name = array.meta.data_type.name
    return name in UNKNOWN_TYPES or array.dtype.kind == "V"


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("zarr_format", [None, 3])
@pytest.mark.parametrize("name", FILES)
def test_equal_or_listed(name: str, zarr_format: Any, tmp_path: Path) -> None:
    vg = ba.scan(FIXTURES / name)
    ba.write(vg, tmp_path / "map.json", options=ba.MapWriteOptions(zarr_format=zarr_format))
    references = json.loads((tmp_path / "map.json").read_text())
    system = fsspec.filesystem("reference", fo=references, remote_protocol="file", asynchronous=True)
    store = zarr.storage.FsspecStore(system, read_only=True)
    root: Any = ba.open(vg)
    compared = 0
    for path, array in root.walk():
        if not isinstance(array, ba.Array):
            continue
        third = f"{path}/zarr.json" in references["refs"]
        assert third or zarr_format is None
        try:
            found = zarr.open_array(store, path=path, mode="r", zarr_format=3 if third else 2)[...]
        except ValueError as error:
            if NO_TYPE not in str(error) or not refused(array):
                raise
            continue
        assert equal(found, array[...]), path
        compared += 1
    assert compared or all(refused(node) for _, node in root.walk() if isinstance(node, ba.Array))
