"""``info --header``: CDL as ncdump writes it."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from byteatlas.cli.app import run

netcdf = pytest.importorskip("netCDF4")

WANTED = """\
netcdf a {
dimensions:
\ttime = 2 ;
\tlat = 3 ;
variables:
\tshort air(time, lat) ;
\t\tair:units = "K" ;
\t\tair:scale_factor = 0.5 ;
\tdouble time(time) ;
\tstring word ;

// global attributes:
\t\t:title = "say \\"no\\"\\nto it" ;
\t\t:levels = 1, 2 ;

group: g {
  dimensions:
  \tx = 4 ;
  variables:
  \tfloat f(lat, x) ;
  } // group g
}
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "a.nc"
    with netcdf.Dataset(path, "w") as f:
        for name, size in (("time", 2), ("lat", 3)):
            f.createDimension(name, size)
        air = f.createVariable("air", "i2", ("time", "lat"))
        air.units, air.scale_factor = "K", 0.5
        f.createVariable("time", "f8", ("time",))
        f.createVariable("word", str, ())
        f.title, f.levels = 'say "no"\nto it', [1, 2]
        g = f.createGroup("g")
        g.createDimension("x", 4)
        g.createVariable("f", "f4", ("lat", "x"))
    return path


def test_golden(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["info", str(file), "--header"]) == 0
    ours = capsys.readouterr().out
    assert ours == WANTED
    if shutil.which("ncdump"):  # the golden text was made without it
        theirs = subprocess.run(["ncdump", "-h", str(file)], capture_output=True, text=True, check=True).stdout
        structure = [[line for line in text.splitlines() if line and ":" not in line] for text in (ours, theirs)]
        assert structure[0] == structure[1]
