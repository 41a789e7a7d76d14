"""What a first call in a fresh process imports: what it needs and no more.

Every test is a process of its own. Times are in ``python -m tests.bench startup``; here is what makes them.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from tests.archives import small_archive

HEAVY = {"pyarrow", "fsspec", "numcodecs", "xarray", "pandas", "zarr", "h5py", "dask", "rich", "ujson"}
"""Packages that no local scan and no map of JSON needs."""
SLOW = {"pathlib", "shutil", "uuid", "logging", "concurrent", "multiprocessing", "email", "urllib", "dataclasses"}
"""Modules of the standard library that take milliseconds, and that numpy does not import."""
ROOMS = {
    "combining", "verifying", "demo", "executors", "describe", "zarr_stores", "zarr_codecs", "normalised",
    "virtualizarr", "xarray_backend", "cli",
}  # fmt: skip


def loaded(script: str, *arguments: object) -> set[str]:
    """The modules that are there when a script has ended, less those of an empty script."""
    code = "import sys; before = set(sys.modules)\n{}\nsys.stderr.write(' '.join(set(sys.modules) - before))"
    command = [sys.executable, "-c", code.format(script), *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return set(done.stderr.split())


def command(*arguments: object) -> set[str]:
    """The modules that a command line loads."""
    return loaded("from byteatlas.cli.app import run\nassert run(sys.argv[1:]) == 0", *arguments)


def packages(modules: set[str]) -> set[str]:
    return {name.partition(".")[0] for name in modules}


def rooms(modules: set[str]) -> set[str]:
    """Our own packages and modules at the top, by name."""
    return {parts[1] for name in modules if (parts := name.split("."))[0] == "byteatlas" and len(parts) > 1}


@pytest.fixture(scope="module")
def archive() -> Path:
    return small_archive()[0]


@pytest.fixture(scope="module")
def as_json(archive: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    import byteatlas as ba

    target = tmp_path_factory.mktemp("maps") / "map.json"
    ba.write(ba.scan(archive), target)
    return target


def test_import_alone() -> None:
    found = loaded("import byteatlas as ba; ba.__version__")
    assert {name for name in found if not name.startswith("_")} == {"byteatlas"}


def test_help() -> None:
    found = loaded("sys.argv[1:] = ['--help']\nfrom byteatlas.cli import main\ntry: main()\nexcept SystemExit: pass")
    assert rooms(found) == {"cli"}
    assert not packages(found) & (HEAVY | SLOW | {"numpy", "click", "typing", "re", "enum"})


def test_scan(archive: Path) -> None:
    found = loaded("import byteatlas as ba; ba.scan(sys.argv[1])", archive)
    assert rooms(found) == {
        "api", "arguments", "checksums", "errors", "importing", "io", "manifest", "meta", "progress", "scanning",
        "types", "values",
    }  # fmt: skip
    assert not packages(found) & (HEAVY | SLOW | {"click"})
    assert {"byteatlas.manifest.json", "byteatlas.manifest.parquet", "byteatlas.manifest.tree"}.isdisjoint(found)
    assert {name.split(".")[1] for name in found if name.startswith("byteatlas_scanners.")} == {"hdf5"}
    assert len([name for name in found if name.startswith("byteatlas")]) < 110


def test_info(archive: Path) -> None:
    found = command("info", archive)
    assert not rooms(found) & (ROOMS - {"cli", "describe"} | {"array", "codecs", "store"})
    assert not packages(found) & (HEAVY | SLOW - {"uuid"})  # click imports uuid


def test_scan_to_json(archive: Path, tmp_path: Path) -> None:
    found = command("scan", archive, "-o", tmp_path / "map.json")
    assert not rooms(found) & (ROOMS - {"cli", "executors"} | {"array", "codecs", "store"})
    assert "byteatlas.manifest.json.read" not in found
    again = command("scan", archive, "-o", tmp_path / "map.json")
    assert "byteatlas.manifest.json.read" not in again
    assert "numpy.ma" not in again
    assert not packages(found) & (HEAVY | SLOW - {"uuid"})


def test_reading_an_array_of_a_map(as_json: Path) -> None:
    found = loaded("import byteatlas as ba; ba.open(sys.argv[1])['sst'][0, 0]", as_json)
    assert not rooms(found) & (ROOMS | {"scanning"})
    assert {"byteatlas.manifest.json.write", "byteatlas.array.stored", "byteatlas.store.directory"}.isdisjoint(found)
    assert not packages(found) & (HEAVY | {"email", "multiprocessing", "click"})


def test_engine(as_json: Path) -> None:
    pytest.importorskip("xarray")
    script = "import xarray; from byteatlas.xarray_backend import ByteatlasBackend as engine\n"
    found = loaded(f"{script}xarray.open_dataset(sys.argv[1], engine=engine)['sst'][0, 0].values", as_json)
    assert not rooms(found) & (ROOMS - {"xarray_backend"} | {"scanning"})
    assert not packages(found) & {"fsspec", "numcodecs", "zarr", "h5py", "rich", "click"}
