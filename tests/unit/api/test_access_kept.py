"""What was opened once needs no second word about how: nodes keep it, verbs take it."""

from __future__ import annotations

import contextlib
import io
import json
import pickle
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import fsspec
import numpy as np
import pytest
from fsspec.implementations.memory import MemoryFileSystem
from tests.places import FIXTURES

import byteatlas as ba
from byteatlas.errors import BadRequest, FetchFailed, Forbidden

NC = FIXTURES / "netcdf3" / "cdf1.nc"


class Locked(MemoryFileSystem):  # type: ignore[misc]
    """Files in memory that are read with a password only."""

    protocol = "locked"
    cachable = False

    @classmethod
    def _strip_protocol(cls, path: str) -> Any:
        return super()._strip_protocol(path.replace("locked://", "memory://"))

    def __init__(self, password: str = "", **more: Any) -> None:
        super().__init__(**more)
        if password != "open sesame":
            raise PermissionError("access denied")


KEY: dict[str, Any] = {"password": "open sesame"}


@pytest.fixture
def locked() -> Iterator[str]:
    """The URL of a file behind a password."""
    fsspec.register_implementation("locked", Locked, clobber=True)
    fsspec.filesystem("memory").pipe_file("/byteatlas-locked.nc", NC.read_bytes())
    yield "locked://byteatlas-locked.nc"
    fsspec.filesystem("memory").rm("/byteatlas-locked.nc")


def values(node: Any) -> list[Any]:
    return [array[...].tolist() for _, array in node.walk() if hasattr(array, "shape")]


WHOLE: Any = ba.open(NC)
WANTED = values(WHOLE)

WAYS: dict[str, Callable[[str, Path], Any]] = {
    "scan": lambda url, _: ba.open(ba.scan(url, storage_options=KEY)),
    "load": lambda url, _: ba.open(ba.load(url, storage_options=KEY)),
    "access": lambda url, _: ba.open(ba.load(url, access=ba.Access(KEY))),
    "by prefix": lambda url, _: ba.open(ba.load(url, storage_options={"locked://": KEY})),
    "open": lambda url, _: ba.open(url, storage_options=KEY),
    "pickled": lambda url, _: ba.open(pickle.loads(pickle.dumps(ba.scan(url, storage_options=KEY)))),
    "map": lambda url, folder: ba.open(written(url, folder / "a.json"), access=ba.Access(KEY)),
    "map, load": lambda url, folder: ba.open(ba.load(written(url, folder / "a.json"), storage_options=KEY)),
    "parquet, load": lambda url, folder: ba.open(ba.load(written(url, folder / "a.parquet"), storage_options=KEY)),
    "parquet, pickled": lambda url, folder: ba.open(
        pickle.loads(pickle.dumps(ba.load(written(url, folder / "a.parquet"), storage_options=KEY)))
    ),
    "copy": lambda url, folder: copied(ba.scan(url, storage_options=KEY), folder / "a.zarr"),
    "combine": lambda url, _: ba.open(ba.combine([ba.scan(url, storage_options=KEY)])),
    "prepare": lambda url, _: ba.open(ba.prepare_combine([ba.scan(url, storage_options=KEY)]).result().select()),
    "select": lambda url, _: ba.open(ba.scan(url, storage_options=KEY).select()),
    "prepare_many": lambda url, _: ba.open(many(url).result()),
    "scan_many": lambda url, _: ba.open(ba.scan_many([url], storage_options=KEY).results[url]),
}


def many(url: str) -> Any:
    return ba.prepare_many([url], ba.CombineOptions(), storage_options=KEY).prepared


def written(url: str, target: Path) -> Path:
    ba.write(ba.scan(url, storage_options=KEY), target)
    return target


def copied(node: Any, target: Path) -> Any:
    ba.copy(node, target)
    return ba.open(target)


@pytest.mark.parametrize("way", WAYS)
def test_the_password_is_said_once(way: str, locked: str, tmp_path: Path) -> None:
    assert values(WAYS[way](locked, tmp_path)) == WANTED


def test_without_it_nothing_opens(locked: str, tmp_path: Path) -> None:
    target = written(locked, tmp_path / "a.json")
    for call in (lambda: ba.scan(locked), lambda: values(ba.open(target)), lambda: values(ba.open(ba.load(target)))):
        with pytest.raises(FetchFailed, match="access denied"):
            call()


def test_members_keep_it(locked: str) -> None:
    vg, wanted = ba.scan(locked, storage_options=KEY), WHOLE
    for name in vg.arrays:
        for array in (vg[name], vg.arrays[name]):
            assert isinstance(array, ba.VirtualArray)
            opened: Any = ba.open(array)
            assert opened[...].tolist() == wanted[name][...].tolist()


def test_it_is_no_part_of_what_a_node_is(locked: str) -> None:
    vg = ba.scan(NC)
    array = next(iter(vg.arrays.values()))
    assert array == ba.VirtualArray(array.meta, array.manifest, ba.Access(KEY))
    assert "sesame" not in repr(ba.scan(locked, storage_options=KEY))


def test_verify_and_xarray_and_zarr(locked: str) -> None:
    pytest.importorskip("netCDF4")
    xarray, zarr = pytest.importorskip("xarray"), pytest.importorskip("zarr")
    from byteatlas.zarr_stores.reference import ReferenceZarrStore

    vg = ba.scan(locked, storage_options=KEY)
    assert ba.verify(vg).ok
    assert ba.verify(locked, storage_options=KEY).ok
    name = next(n for n, a in vg.arrays.items() if a.meta.shape)
    wanted: Any = ba.open(NC)
    for target, more in ((vg, {}), (locked, {"storage_options": KEY}), (locked, {"access": ba.Access(KEY)})):
        found = xarray.open_dataset(target, engine="byteatlas", mask_and_scale=False, decode_times=False, **more)
        np.testing.assert_array_equal(found[name].values, wanted[name][...])
        again = pickle.loads(pickle.dumps(found))
        np.testing.assert_array_equal(again[name].values, wanted[name][...])
    for store in (ReferenceZarrStore(vg), ReferenceZarrStore(ba.load(vg), access=ba.Access(KEY))):
        np.testing.assert_array_equal(zarr.open_group(store, mode="r")[name][...], wanted[name][...])


def test_both_forms_at_once_are_an_error(locked: str, tmp_path: Path) -> None:
    both: dict[str, Any] = {"access": ba.Access(KEY), "storage_options": KEY}
    for call in (
        lambda: ba.scan(locked, **both),
        lambda: ba.load(locked, **both),
        lambda: ba.open(locked, **both),
        lambda: ba.combine([locked], **both),
        lambda: ba.append(tmp_path / "a.json", [locked], **both),
        lambda: ba.verify(locked, **both),
        lambda: ba.copy(locked, tmp_path / "a", **both),
        lambda: ba.to_model(locked, **both),
        lambda: ba.georeference(locked, **both),
        lambda: ba.scan_many([locked], **both),
    ):
        with pytest.raises(BadRequest, match="access= says it all"):
            call()


def in_memory(name: str) -> str:
    fsspec.filesystem("memory").pipe_file(f"/{name}", NC.read_bytes())
    return f"memory://{name}"


FILES: dict[str, Callable[[Path], Any]] = {
    "path": lambda path: contextlib.nullcontext(path),
    "file": lambda path: path.open("rb"),
    "unbuffered": lambda path: path.open("rb", buffering=0),
    "BytesIO": lambda path: io.BytesIO(path.read_bytes()),
    "fsspec": lambda path: fsspec.open(in_memory("byteatlas-open.nc")),
}


@pytest.mark.parametrize("kind", FILES)
def test_open_files(kind: str, tmp_path: Path) -> None:
    (tmp_path / "a.nc").write_bytes(NC.read_bytes())
    with FILES[kind](tmp_path / "a.nc") as file:
        read_and_written(file, kind, tmp_path)


def read_and_written(file: Any, kind: str, tmp_path: Path) -> None:
    vg = ba.scan(file)
    for node in (ba.open(vg), ba.open(file), ba.open(ba.load(file)), ba.open(pickle.loads(pickle.dumps(vg)))):
        assert values(node) == WANTED
    assert values(ba.open(ba.combine([file]))) == WANTED
    if kind == "BytesIO":
        with pytest.raises(BadRequest, match="open file"):
            ba.write(vg, tmp_path / "a.json")
        ba.copy(vg, tmp_path / "a.zarr")
        assert values(ba.open(tmp_path / "a.zarr")) == WANTED
        file.close()
        with pytest.raises(FetchFailed, match="closed"):
            values(ba.open(vg))
    else:
        ba.write(vg, tmp_path / "a.json")
        assert values(ba.open(tmp_path / "a.json")) == WANTED


def test_open_files_of_maps_and_stores(tmp_path: Path) -> None:
    vg = ba.scan(NC)
    ba.write(vg, tmp_path / "a.json")
    ba.copy(vg, tmp_path / "a.zip")
    permit = ba.Policy(allow=[str(FIXTURES)])
    for name in ("a.json", "a.zip"):
        assert values(ba.open(io.BytesIO((tmp_path / name).read_bytes()), policy=permit)) == WANTED
        with (tmp_path / name).open("rb") as file:
            assert values(ba.open(file)) == WANTED
    with pytest.raises(Forbidden):  # nobody knows where its text came from
        values(ba.open(io.BytesIO((tmp_path / "a.json").read_bytes())))
    first, second = (io.BytesIO(NC.read_bytes()) for _ in range(2))
    both: Any = ba.open(ba.concat([ba.scan(first), ba.scan(second)], "run"))
    assert {array.shape[0] for _, array in both.walk() if "run" in (array.dims or ())} == {2}


def test_what_is_no_file(tmp_path: Path) -> None:
    with pytest.raises(BadRequest, match="binary"):
        ba.scan(io.StringIO("text"))  # type: ignore[arg-type]
    with pytest.raises(BadRequest, match="no path"):
        ba.scan(5)  # type: ignore[arg-type]
    (tmp_path / "x").write_bytes(NC.read_bytes())
    with (tmp_path / "x").open("ab") as file, pytest.raises(BadRequest, match="readable"):
        ba.scan(file)


@pytest.mark.parametrize("version", ["json", "json-v0"])
def test_references_as_dicts(version: Any, tmp_path: Path) -> None:
    vg = ba.scan(NC)
    refs: dict[str, Any] = {"old": "content"}
    ba.write(vg, refs, format=version)
    assert ("refs" in refs) == (version == "json")
    assert "old" not in refs
    json.dumps(refs)
    assert values(ba.open(refs)) == WANTED
    assert values(ba.open(ba.load(refs))) == WANTED
    assert values(ba.open(ba.combine([refs]))) == WANTED
    assert ba.plan_combine([refs, vg], concat="run").inputs[0] == "input 1"
    ba.copy(refs, tmp_path / "a.zarr")
    assert values(ba.open(tmp_path / "a.zarr")) == WANTED
    fs = fsspec.filesystem("reference", fo=refs)
    assert fs.cat(".zgroup")


def test_a_mapping_of_bytes_is_a_store() -> None:
    store: dict[str, Any] = {}
    ba.copy(NC, store)
    assert values(ba.open(store)) == WANTED


def test_one_event_for_all_verbs(tmp_path: Path) -> None:
    seen: list[ba.Progress] = []
    vg = ba.scan(NC, progress=seen.append)
    ba.write(vg, tmp_path / "a.json", progress=seen.append)
    ba.write(vg, tmp_path / "a.parquet", progress=seen.append)
    ba.copy(vg, tmp_path / "a.zarr", progress=seen.append)
    ba.combine([vg, tmp_path / "a.json"], concat="run", progress=seen.append)
    ba.scan_many([NC], progress=seen.append)
    ba.verify(vg, progress=seen.append)
    assert all(isinstance(event, ba.Progress) for event in seen)
    verbs = list(dict.fromkeys(event.verb for event in seen))
    assert verbs == ["scan", "write", "copy", "combine", "verify"]
    for verb in ("copy", "combine", "verify"):
        last = [event for event in seen if event.verb == verb][-1]
        assert last.done == last.total
    assert {e.name for e in seen if e.verb == "verify"} == set(vg.arrays) == {e.name for e in seen if e.verb == "write"}
    with pytest.raises(KeyboardInterrupt):
        ba.write(vg, tmp_path / "b.json", progress=interrupt)
    assert not (tmp_path / "b.json").exists()


def interrupt(event: ba.Progress) -> None:
    raise KeyboardInterrupt
