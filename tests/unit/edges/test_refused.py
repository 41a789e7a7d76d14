"""What executors, the stores for zarr-python and xarray, the readers of others and the demonstration refuse."""

from __future__ import annotations

import asyncio
import importlib
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.maps import array

import byteatlas as ba
from byteatlas.combining.chunks.small_arrays import inline_array
from byteatlas.combining.model import CombineOptions
from byteatlas.demo import run as demo
from byteatlas.errors import BadRequest, CorruptChunk, FetchFailed, Forbidden, MissingExtra
from byteatlas.executors import running, script
from byteatlas.executors.combining import prepare_many
from byteatlas.executors.running import for_each
from byteatlas.io.sources.memory import MemorySource
from byteatlas.manifest.model import VirtualGroup
from byteatlas.scanning.decoding import Decoding
from byteatlas.testing.case import Case

X = array((8,), (4,))
GROUP = VirtualGroup(arrays={"x": X})


def test_a_file_is_named_once() -> None:
    with pytest.raises(BadRequest, match="a file is named twice"):
        for_each(str, ["a", "b", "a"], "serial")
    assert dict(for_each(str.upper, ["a", "b"], "serial").results) == {"a": "A", "b": "B"}


def test_scripts_that_processes_would_run_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(script, "unguarded_script", lambda: "s.py")
    with pytest.raises(BadRequest, match=r"s\.py would be run again by every process that it starts: "):
        running._possible("processes", False)
    with pytest.warns(UserWarning, match=r"s\.py would be run again by every process: threads are used"):
        assert running._possible("processes", True) == "threads"
    assert running._possible("threads", False) == "threads"
    monkeypatch.setattr(script, "unguarded_script", lambda: None)
    assert running._possible("processes", False) == "processes"


def test_a_single_array_among_the_files(tmp_path: Path) -> None:
    ba.write(X, tmp_path / "one.json")
    found = prepare_many([str(tmp_path / "one.json")], CombineOptions(concat=("t",)), "serial")
    (failure,) = found.failures.values()
    assert "is a single array; only groups can be combined" in failure.message


MODULES = {
    "fits": ("astropy.io", "open_fits", "verifying FITS files"),
    "hdf4": ("pyhdf.SD", "open_hdf4", "verifying HDF4 files"),
    "hdf5": ("h5py", "open_hdf5", "verifying HDF5 files"),
    "netcdf3": ("netCDF4", "open_netcdf3", "verifying netCDF-3 files"),
    "tiff": ("tifffile", "open_tiff", "verifying TIFF files"),
}


@pytest.mark.parametrize("name", MODULES)
def test_libraries_of_others_are_an_extra(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    package, function, what = MODULES[name]
    opening = getattr(importlib.import_module(f"byteatlas.verifying.native.{name}"), function)
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(MissingExtra, match=what) as refused, opening(MemorySource(b"", "a")):
        pass
    assert refused.value.extra == "verify"


def test_eccodes_is_an_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    from byteatlas.verifying.native import grib

    monkeypatch.setattr(grib, "find_spec", lambda name: None)
    with pytest.raises(MissingExtra, match="verifying GRIB files"), grib.open_grib(MemorySource(b"", "a")):
        pass


def test_what_eccodes_cannot_read(tmp_path: Path) -> None:
    pytest.importorskip("eccodes")
    from byteatlas.verifying.native.grib import open_grib

    (tmp_path / "a.grib").write_bytes(b"nothing" * 100)
    with open_grib(MemorySource(b"nothing" * 100, "memory://a")) as file:
        found = file.array("x", ("off/0",))
        assert found is not None
        with pytest.raises(ValueError, match="ecCodes finds no message at byte 0"):
            found.read(())
        assert file.array("x", ("page/0",)) is None
        assert file.array("x", ()) is None


def test_what_pyhdf_cannot_read() -> None:
    pytest.importorskip("pyhdf")
    from byteatlas.verifying.native.hdf4 import open_hdf4

    with pytest.raises(OSError, match="HDF"), open_hdf4(MemorySource(b"nothing" * 100, "memory://a")):
        pass


def test_the_demonstration_is_an_extra(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from byteatlas.demo import archive, coast, picture

    nothing: Any = None
    for package in ("h5py", "netCDF4", "matplotlib", "matplotlib.figure", "matplotlib.path"):
        monkeypatch.setitem(sys.modules, package, None)
    line = np.zeros(2, np.float32)
    with pytest.raises(MissingExtra, match="making the demonstration's archive") as refused:
        archive.make_archive(tmp_path, nothing, nothing)
    assert refused.value.extra == "demo"
    with pytest.raises(MissingExtra, match="making the demonstration's archive"):
        coast.land_mask(line, line)
    with pytest.raises(MissingExtra, match="drawing the picture"):
        picture.draw_scene(nothing, tmp_path / "a.png")
    with pytest.raises(MissingExtra, match="checking the demonstration's values"):
        demo._check(nothing, [], nothing)


def test_values_of_the_demonstration_that_differ(tmp_path: Path) -> None:
    import contextlib

    import h5py

    files = []
    for n in range(2):
        files.append(tmp_path / f"{n}.h5")
        with h5py.File(files[-1], "w") as f:
            f["x"] = np.arange(3.0)
    root: Any = ba.open(files[0])
    track: Any = lambda name, n: contextlib.nullcontext(lambda path: None)  # noqa: E731
    assert demo._check(root, files, track)[0] == {"x": 3}
    other: Any = ba.open(VirtualGroup(arrays={"x": inline_array(np.array([0.0, 1.0, 5.0]), ("x",), {})}))
    with pytest.raises(CorruptChunk) as refused:
        demo._check(other, files, track)
    assert (refused.value.array, refused.value.why) == ("x", "the values differ from what the HDF5 library reads")


def test_a_block_that_decodes_to_another_size() -> None:
    decode = Decoding()
    assert bytes(decode((), b"abcd", 4)) == b"abcd"
    with pytest.raises(CorruptChunk, match="a block decodes to 3 bytes instead of 4"):
        decode((), b"abc", 4)


def test_files_of_a_case() -> None:
    scanner: Any = None
    case = Case(scanner, b"1", others={"b": b"22"})
    assert bytes(case.opener()("b").read_all()) == b"22"
    with pytest.raises(FetchFailed, match="not among the files of this case") as refused:
        case.opener()("c")
    assert refused.value.url == "c"


class TestZarrStore:
    """The store for zarr-python."""

    def store(self) -> Any:
        pytest.importorskip("zarr")
        from byteatlas.zarr_stores.reference import ReferenceZarrStore

        data = np.arange(4, dtype="<f4").tobytes()
        return ReferenceZarrStore(VirtualGroup(arrays={"x": array((4,), (4,), references={(0,): data})}))

    def test_nodes_only(self) -> None:
        with pytest.raises(BadRequest, match="str is no virtual array or group"):
            type(self.store())("a.json")

    def test_nothing_is_written(self) -> None:
        store = self.store()
        for call in (store.set("x/0", b""), store.delete("x/0")):
            with pytest.raises(Forbidden, match="a reference map is read-only here") as refused:
                asyncio.run(call)
            assert "x/0" in str(refused.value)
        with pytest.raises(Forbidden, match="a reference map is read-only here"):
            store.with_read_only(False)
        assert store.with_read_only(True) == store
        assert store != 5
        assert store.supports_listing
        assert not store.supports_writes
        assert not store.supports_deletes

    def test_ranges(self) -> None:
        from zarr.abc.store import OffsetByteRequest, RangeByteRequest, SuffixByteRequest
        from zarr.core.buffer import default_buffer_prototype

        store, proto, data = self.store(), default_buffer_prototype(), np.arange(4, dtype="<f4").tobytes()

        def got(where: Any) -> bytes:
            return bytes(asyncio.run(store.get("x/0", proto, where)).to_bytes())

        assert got(None) == data
        assert got(RangeByteRequest(2, 6)) == data[2:6]
        assert got(OffsetByteRequest(5)) == data[5:]
        assert got(SuffixByteRequest(3)) == data[-3:]
        assert got(SuffixByteRequest(0)) == b""
        with pytest.raises(BadRequest, match="str is no byte range"):
            got("bytes=0-1")

    def test_zarr_is_an_extra(self) -> None:
        code = (
            "import sys; sys.modules['zarr'] = None; sys.modules['zarr.abc.store'] = None\n"
            "from byteatlas.errors import MissingExtra\n"
            "try:\n    import byteatlas.zarr_stores.reference\nexcept MissingExtra as error:\n    print(error.extra)\n"
        )
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        assert done.stdout.strip() == "zarr"


def test_xarray_opens_groups() -> None:
    xarray = pytest.importorskip("xarray")
    root = VirtualGroup(arrays={"x": inline_array(np.arange(3), ("x",), {})})
    with pytest.raises(BadRequest, match="x is an array; xarray opens groups"):
        xarray.open_dataset(root, engine="byteatlas", group="x")
    with pytest.raises(BadRequest, match="the root is an array; xarray opens groups"):
        xarray.open_dataset(root.arrays["x"], engine="byteatlas")
    with pytest.raises(BadRequest, match="group is int; it must be a string"):
        xarray.open_dataset(root, engine="byteatlas", group=1)


def test_dask_is_an_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    from byteatlas.executors.dask import dask_client

    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(MissingExtra, match="scanning through Dask") as refused, dask_client("local"):
        pass
    assert refused.value.extra == "dask"


@pytest.mark.parametrize(
    ("key", "shapes"),
    [
        ((slice(1, 3), np.array([0, 1, 1])), [(1, 2), (3, 1)]),
        ((np.array([[0, 1]]), slice(None), slice(0, 4, 2)), [(1, 2, 1, 1), (1, 1, 5, 1), (1, 1, 1, 2)]),
        ((slice(None), np.array([2]), slice(0, 2)), [(1, 3, 1), (1, 1, 1), (1, 1, 2)]),
    ],
)
def test_slices_beside_points(key: tuple[Any, ...], shapes: list[tuple[int, ...]]) -> None:
    from byteatlas.xarray_backend.lazy import pointwise

    values = np.arange(60).reshape(3, 5, 4)[..., :1] if len(key) == 2 else np.arange(60).reshape(3, 5, 4)
    shape = values.shape[: len(key)]
    found = pointwise(key, shape)
    assert [f.shape for f in found] == shapes
    arrays = [k for k in key if not isinstance(k, slice)]
    lead = arrays[0].ndim
    every = np.ix_(*[np.arange(n)[k] for k, n in zip(key, shape, strict=True) if isinstance(k, slice)])
    grids = iter(every)
    wanted = tuple(
        next(grids)[(None,) * lead] if isinstance(k, slice) else k.reshape(k.shape + (1,) * len(every)) for k in key
    )
    np.testing.assert_array_equal(values[found], values[wanted])


def test_places_of_grib_fields() -> None:
    from byteatlas.verifying.native.grib import GribArray, GribFile

    found = GribFile(nothing()).array("x", ("off/12", "", "off/34#2"))
    assert isinstance(found, GribArray)
    assert found.places == ((12, 0), None, (34, 2))
    assert GribFile(nothing()).array("x", ("off/12", "page/1")) is None


def nothing() -> Any:
    return None


def test_paths_of_datasets_as_netcdf_shows_them() -> None:
    from byteatlas.verifying.native.hdf5 import NOT_COORDINATE, _shown

    hidden = f"{NOT_COORDINATE}x"
    assert _shown(f"g/{hidden}", []) == "g/x"
    assert _shown(hidden, [hidden, "x"]) == hidden
    assert _shown(NOT_COORDINATE, []) == NOT_COORDINATE
    assert _shown("g/x", []) == "g/x"


def test_whole_files_inside_of_others() -> None:
    from byteatlas.errors import Unsupported
    from byteatlas.manifest.model import SourceInfo
    from byteatlas.scanning.duties import relocated

    whole = VirtualGroup(arrays={"x": array((4,), (4,), references={(0,): ("/a",)})})
    with pytest.raises(Unsupported, match="a chunk that is a whole file, in a file inside of another") as refused:
        relocated(whole, SourceInfo("/all.zip"), lambda url: 7)
    assert refused.value.reason == "layout"
    part = VirtualGroup(arrays={"x": array((4,), (4,), url="/a")})
    moved = relocated(part, SourceInfo("/all.zip"), lambda url: 7).arrays["x"].manifest.load()
    assert (moved.sources[0].url, moved.offset.tolist()) == ("/all.zip", [107])
