"""Every example of the migration page runs."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
import tifffile
from tests.places import ROOT

PAGE = (ROOT / "docs" / "how-to" / "from-kerchunk.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```python\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)


def _files(folder: Path) -> None:
    import netCDF4

    for day in (1, 2):
        with h5py.File(folder / f"day{day}.nc", "w") as file:
            file["t2m"] = np.full((2, 3), float(day))
            for name, values in {"time": np.arange(2) + 2 * day, "lat": np.arange(3.0)}.items():
                file[name] = values
                file[name].make_scale(name)
            file["t2m"].dims[0].attach_scale(file["time"])
            file["t2m"].dims[1].attach_scale(file["lat"])
    with netCDF4.Dataset(folder / "old.nc", "w", format="NETCDF3_CLASSIC") as old:
        old.createDimension("x", 4)
        old.createVariable("v", "f4", ("x",))[:] = np.arange(4)
    tifffile.imwrite(folder / "image.tif", np.arange(600, dtype=np.uint8).reshape(20, 30))


def test_the_examples_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _files(tmp_path)
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    ours = [block for block in BLOCKS if block.startswith("# byteatlas")]
    for block in ours:
        exec(compile(block, "from-kerchunk.md", "exec"), names)
    assert len(ours) == 6
    assert names["refs"]["refs"]["t2m/0.0"].startswith("base64:")  # 48 bytes
    assert names["moved"]["version"] == 1
    assert names["ds"]["t2m"].values.tolist() == [[1.0] * 3] * 2 + [[2.0] * 3] * 2
    assert names["ds"]["time"].values.tolist() == [2, 3, 4, 5]
    assert names["image"]["0.0"][0] == "image.tif"
    assert names["old"]["refs"]["v/.zarray"]


@pytest.mark.parametrize("block", [b for b in BLOCKS if b.startswith("# kerchunk")])
def test_the_same_script_differs_in_its_imports_only(block: str) -> None:
    twin = block.replace("# kerchunk", "# byteatlas, the same script").replace(
        "from kerchunk.", "from byteatlas.kerchunk."
    )
    lines = twin.splitlines()
    assert any(all(line in other.splitlines() for line in lines) for other in BLOCKS if other.startswith("# byteatlas"))
