"""The xarray engine shows what is there now, and says so when what it opened is not there any more."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import byteatlas as ba
from byteatlas.errors import SourceChanged

xarray = pytest.importorskip("xarray")
pytest.importorskip("h5netcdf")


def archive(path: Path, start: int, n: int = 4) -> None:
    """A netCDF file under a name, which may have been another one before."""
    draft = path.with_name(f"draft-{path.name}")
    data = {"v": ("t", np.arange(start, start + n, dtype="f8"), {"_FillValue": -1.0})}
    xarray.Dataset(data, coords={"t": np.arange(start, start + n)}).to_netcdf(draft, engine="h5netcdf")
    draft.replace(path)


def as_json(folder: Path, start: int, n: int = 4) -> str:
    archive(folder / f"{start}.nc", start, n)
    ba.write(ba.scan(folder / f"{start}.nc"), folder / "m.json")
    return str(folder / "m.json")


def as_parquet(folder: Path, start: int, n: int = 4) -> str:
    archive(folder / f"{start}.nc", start, n)
    ba.write(ba.scan(folder / f"{start}.nc"), folder / "m.parquet")
    return str(folder / "m.parquet")


def as_archive(folder: Path, start: int, n: int = 4) -> str:
    archive(folder / "a.nc", start, n)
    return str(folder / "a.nc")


def as_store(folder: Path, start: int, n: int = 4) -> str:
    archive(folder / f"{start}.nc", start, n)
    store = folder / "s.zarr"
    if store.is_dir():
        store.rename(folder / f"before-{start}.zarr")
    ba.copy(folder / f"{start}.nc", store)
    return str(store)


FORMS: list[Callable[..., str]] = [as_json, as_parquet, as_archive, as_store]


def opened(target: Any, **options: Any) -> Any:
    return xarray.open_dataset(target, engine="byteatlas", **options)


@pytest.mark.parametrize("make", FORMS)
def test_what_was_rewritten_is_shown_as_it_is_now(tmp_path: Path, make: Callable[..., str]) -> None:
    for start, n in ((0, 4), (10, 4), (20, 6)):
        target = make(tmp_path, start, n)
        for _ in range(2):
            np.testing.assert_array_equal(opened(target).v, np.arange(start, start + n))


def test_relative_names_follow_the_working_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, start in (("a", 0), ("b", 50)):
        (tmp_path / name).mkdir()
        as_json(tmp_path / name, start)
        monkeypatch.chdir(tmp_path / name)
        found = opened("m.json")
        assert found.v[0] == start
        assert found.encoding["source"] == str(tmp_path / name / "m.json")
    monkeypatch.chdir(tmp_path)
    assert opened("a/m.json").v[0] == 0


READ = "import pickle, sys; print(float(pickle.load(open(sys.argv[1], 'rb')).v[-1]))"


def read_elsewhere(dataset: Any, place: Path) -> subprocess.CompletedProcess[str]:
    """The last value as another process, in another folder, reads it from the pickled dataset."""
    place.write_bytes(pickle.dumps(dataset))
    command = [sys.executable, "-c", READ, str(place)]
    return subprocess.run(command, capture_output=True, text=True, cwd="/", env=dict(os.environ), check=False)


@pytest.mark.parametrize("make", FORMS)
def test_datasets_are_read_in_another_process(
    tmp_path: Path, make: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    found = read_elsewhere(opened(os.path.relpath(make(tmp_path, 0))), tmp_path / "pickled")
    assert found.stdout.strip() == "3.0", found.stderr


@pytest.mark.parametrize("make", [as_json, as_parquet, as_archive])
def test_another_process_does_not_take_a_new_map_for_the_old_one(tmp_path: Path, make: Callable[..., str]) -> None:
    old = opened(make(tmp_path, 0))
    make(tmp_path, 10, 6)
    found = read_elsewhere(old, tmp_path / "pickled")
    assert "SourceChanged" in found.stderr, found


def test_workers_of_one_process_keep_maps_apart(tmp_path: Path) -> None:
    texts = [pickle.dumps(opened(as_json(tmp_path, 0)))]
    assert pickle.loads(texts[0]).v[0] == 0
    texts.append(pickle.dumps(opened(as_json(tmp_path, 10))))
    with pytest.raises(SourceChanged):
        pickle.loads(texts[0]).v.load()
    assert pickle.loads(texts[1]).v[0] == 10


@pytest.mark.parametrize("stamps", ["size", "off", "stamp", "free", None])
def test_the_option_of_what_is_compared(tmp_path: Path, stamps: Any) -> None:
    target = as_json(tmp_path, 0)
    os.utime(tmp_path / "0.nc", ns=(5, 5))
    if stamps in ("size", "off"):
        assert opened(target, stamps=stamps).v[1] == 1
        return
    with pytest.raises(SourceChanged, match="index it again"):
        opened(target, stamps=stamps).load()


def test_an_open_group_masks_as_its_name_does(tmp_path: Path) -> None:
    pytest.importorskip("zarr")
    store = str(tmp_path / "s.zarr")
    data = xarray.Dataset({"v": ("t", np.array([1.0, np.nan, 3.0]), {}, {"_FillValue": -1.0})})
    data.to_zarr(store, zarr_format=2)
    named, held = opened(store), opened(ba.open(store))
    xarray.testing.assert_identical(named, held)
    assert np.isnan(held.v[1])


@pytest.mark.parametrize("make", FORMS)
def test_a_missing_group_is_an_oserror(tmp_path: Path, make: Callable[..., str]) -> None:
    with pytest.raises(OSError, match="no group '/nowhere'") as caught:
        opened(make(tmp_path, 0), group="nowhere")
    assert isinstance(pickle.loads(pickle.dumps(caught.value)), OSError)


def test_a_parquet_map_that_is_rewritten_while_it_is_open(tmp_path: Path) -> None:
    """Its part files are found by name: those of another map must not be read with the metadata of the first."""
    held = opened(as_parquet(tmp_path, 0))
    as_parquet(tmp_path, 10, 6)
    with pytest.raises(SourceChanged, match="open it again"):
        held.v.load()


def test_a_json_map_that_is_written_to_while_it_is_open(tmp_path: Path) -> None:
    target = as_json(tmp_path, 0)
    held = opened(target)
    text = Path(target).read_bytes()
    Path(target).write_bytes(b" " + text)
    with pytest.raises(SourceChanged, match="open it again"):
        held.v.load()


def test_encoding_as_native_engines_give_it(tmp_path: Path) -> None:
    path = tmp_path / "a.nc"
    how = {"zlib": True, "complevel": 4, "shuffle": True, "fletcher32": True, "chunksizes": (2, 3)}
    xarray.Dataset({"v": (("t", "x"), np.ones((4, 6)))}).to_netcdf(path, engine="netcdf4", encoding={"v": how})
    ours, theirs = (xarray.open_dataset(path, engine=e).v.encoding for e in ("byteatlas", "netcdf4"))
    names = [*how, "contiguous", "original_shape", "preferred_chunks", "source", "dtype"]
    assert {n: ours[n] for n in names} == {n: theirs[n] for n in names}


@pytest.mark.parametrize("zarr_format", [2, 3])
def test_encoding_of_stores(tmp_path: Path, zarr_format: int) -> None:
    pytest.importorskip("zarr")
    path = tmp_path / "s.zarr"
    data = xarray.Dataset({"v": (("t", "x"), np.ones((4, 6)))})
    data.to_zarr(path, zarr_format=zarr_format, encoding={"v": {"chunks": (2, 3)}}, consolidated=False)
    ours, theirs = (
        xarray.open_dataset(path, engine=e, consolidated=False).v.encoding
        if e == "zarr"
        else opened(str(path)).v.encoding
        for e in ("byteatlas", "zarr")
    )
    names = ["chunks", "preferred_chunks", "compressors", "filters", "shards"] + ["serializer"] * (zarr_format == 3)
    assert {n: ours[n] for n in names} == {n: theirs[n] for n in names}
    opened(str(path)).to_zarr(tmp_path / "again.zarr", zarr_format=zarr_format, consolidated=False)
