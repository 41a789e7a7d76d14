"""Maps between byteatlas and its peers: ours read by fsspec and zarr-python, theirs by us, values equal to h5py's."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

from byteatlas.array import Array, open_node
from byteatlas.errors import FetchFailed
from byteatlas.io.open import SourcePool
from byteatlas.manifest.model import VirtualArray, VirtualGroup
from byteatlas.manifest.options import MapReadOptions, MapWriteOptions
from byteatlas.manifest.references import read_references, write_references
from byteatlas.scanning.contract import ScanOptions
from byteatlas.scanning.driver import scan_source
from byteatlas.scanning.plugins import installed

NAMES = ["time", "air", "count", "scalar", "deep/er/sparse", "deep/er/big"]
RECORDS = 7


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A netCDF-4 file: deflate and shuffle, big-endian, contiguous, scalar, sparse in a nested group."""
    netcdf = pytest.importorskip("netCDF4")
    path = tmp_path_factory.mktemp("peers") / "été air.nc"
    rng = np.random.default_rng(1)
    with netcdf.Dataset(path, "w") as nc:
        nc.title = "été"
        nc.createDimension("time", 20)
        nc.createDimension("x", 30)
        time = nc.createVariable("time", "f8", ("time",))
        time[:] = np.arange(20) / 4
        air = nc.createVariable("air", "f4", ("time", "x"), zlib=True, shuffle=True, chunksizes=(6, 7), fill_value=-9.5)
        air.units = "K"
        air[:] = rng.normal(size=(20, 30))
        nc.createVariable("count", "i2", ("x",), contiguous=True)[:] = np.arange(30)
        nc.createVariable("scalar", "i4", ())[...] = 42
    with h5py.File(path, "a") as file:
        sparse = file.create_dataset("deep/er/sparse", (40, 40), "i4", chunks=(10, 10), fillvalue=-9)
        sparse[:10, :10] = 5
        sparse[30:, 20:30] = 7
        file["deep/er/big"] = np.arange(30, dtype=">i2")
    return path


@pytest.fixture(scope="module")
def truth(archive: Path) -> dict[str, Any]:
    with h5py.File(archive) as file:
        return {name: file[name][()] for name in NAMES}


@pytest.fixture(scope="module")
def scanned(archive: Path) -> VirtualGroup:
    pool = SourcePool()
    return scan_source(pool(str(archive)), pool, installed(), ScanOptions())


def by_zarr(target: Path, **more: Any) -> Any:
    """The map opened by fsspec's ReferenceFileSystem and zarr-python 3."""
    fsspec, zarr = pytest.importorskip("fsspec"), pytest.importorskip("zarr")
    from fsspec.implementations.asyn_wrapper import AsyncFileSystemWrapper
    from zarr.storage import FsspecStore

    system = fsspec.filesystem("reference", fo=str(target), remote_protocol="file", skip_instance_cache=True, **more)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        store = FsspecStore(AsyncFileSystemWrapper(system, asynchronous=True), read_only=True)
    return zarr.open_group(store, mode="r")


def check(root: Any, truth: dict[str, Any], names: list[str] = NAMES) -> None:
    for name in names:
        found = np.asarray(root[name][...])
        assert found.shape == np.shape(truth[name]), name
        np.testing.assert_array_equal(found, truth[name], err_msg=name)


@pytest.mark.parametrize("target", ["m.json", "m.json.bz2", "m.json.gz", "v0.json", "m.parquet", "one.parquet"])
def test_ours_by_zarr_python(scanned: VirtualGroup, truth: dict[str, Any], tmp_path: Path, target: str) -> None:
    form = "json-v0" if target.startswith("v0") else None
    options = MapWriteOptions(record_size=1 if "one" in target else 100_000)
    write_references(scanned, tmp_path / target, form, options=options)  # type: ignore[arg-type]
    more = {"target_options": {"compression": "infer"}} if target.endswith(("gz", "bz2")) else {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        warnings.simplefilter("ignore", FutureWarning)
        root = by_zarr(tmp_path / target, **more)
        check(root, truth)
    assert root.attrs["title"] == "été"
    assert root["air"].attrs["units"] == "K"


@pytest.mark.parametrize("target", ["m.json", "m.json.xz", "m.json.zst", "v0.json", "m.parquet", "one.parquet"])
def test_ours_by_us(scanned: VirtualGroup, truth: dict[str, Any], tmp_path: Path, target: str) -> None:
    form = "json-v0" if target.startswith("v0") else None
    options = MapWriteOptions(record_size=1 if "one" in target else 100_000)
    write_references(scanned, tmp_path / target, form, options=options)  # type: ignore[arg-type]
    check(open_node(read_references(tmp_path / target)), truth)


@pytest.fixture(scope="module")
def kerchunk_refs(archive: Path) -> dict[str, Any]:
    hdf = pytest.importorskip("kerchunk.hdf")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return dict(hdf.SingleHdf5ToZarr(str(archive), inline_threshold=100).translate())


def _kerchunk_json(refs: dict[str, Any], kind: str) -> bytes:
    import ujson

    match kind:
        case "ujson":  # escapes every slash
            return bytes(ujson.dumps(refs).encode())
        case "json":  # ": " and ", "
            return json.dumps(refs).encode()
        case "indented":
            return json.dumps(refs, indent=2).encode()
        case "objects":
            plain = {k: json.loads(v) if k.split("/")[-1].startswith(".z") else v for k, v in refs["refs"].items()}
            return json.dumps({"version": 1, "refs": plain}).encode()
        case "refs first":
            return json.dumps({"refs": refs["refs"], "templates": {}, "gen": [], "version": 1}).encode()
        case _:
            return json.dumps(refs["refs"]).encode()


@pytest.mark.parametrize("kind", ["ujson", "json", "indented", "objects", "refs first", "v0"])
def test_kerchunk_json_by_us(kerchunk_refs: dict[str, Any], truth: dict[str, Any], tmp_path: Path, kind: str) -> None:
    target = tmp_path / "k.json"
    target.write_bytes(_kerchunk_json(kerchunk_refs, kind))
    node = read_references(target)
    check(open_node(node), truth)
    again = read_references(kerchunk_refs)
    check(open_node(again), truth)
    assert isinstance(node, VirtualGroup)
    single = node["air"]
    assert isinstance(single, VirtualArray)
    for chunk in range(6):  # one by one: the text is searched instead of loaded
        row = single.manifest.rows(np.array([chunk]))
        whole = again["air"].manifest.load()  # type: ignore[union-attr,index]
        assert row.offset[0] == whole.offset[chunk]
        assert row.length[0] == whole.length[chunk]


@pytest.mark.parametrize("threshold", [10, 0.5])
def test_kerchunk_parquet_by_us(
    kerchunk_refs: dict[str, Any], truth: dict[str, Any], tmp_path: Path, threshold: float
) -> None:
    frames = pytest.importorskip("kerchunk.df")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        frames.refs_to_dataframe(
            kerchunk_refs["refs"], str(tmp_path / "k.parquet"), record_size=RECORDS, categorical_threshold=threshold
        )
    node = read_references(tmp_path / "k.parquet")
    check(open_node(node), truth, [name for name in NAMES if "sparse" not in name])
    # The writer left out parts without a chunk: that is not told from lost ones unless the caller says so.
    with pytest.raises(FetchFailed, match="absent_parts"):
        open_node(node, path="deep/er/sparse")[...]  # type: ignore[index]
    lenient = MapReadOptions(absent_parts="missing")
    check(open_node(read_references(tmp_path / "k.parquet", options=lenient)), truth)


@pytest.fixture(scope="module")
def virtual_dataset(archive: Path) -> Any:
    vz = pytest.importorskip("virtualizarr")
    parsers, registry = pytest.importorskip("virtualizarr.parsers"), pytest.importorskip("obspec_utils.registry")
    from obstore.store import LocalStore

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return vz.open_virtual_dataset(
            f"file://{archive}",
            registry=registry.ObjectStoreRegistry({"file://": LocalStore()}),
            parser=parsers.HDFParser(),
            loadable_variables=["time"],
        )


@pytest.mark.parametrize("form", ["json", "parquet"])
def test_virtualizarr_by_us(virtual_dataset: Any, truth: dict[str, Any], tmp_path: Path, form: str) -> None:
    target = tmp_path / f"v.{form}"
    subset = virtual_dataset if form == "json" else virtual_dataset.drop_vars("scalar")  # its Parquet export crashes
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        subset.vz.to_kerchunk(str(target), format=form)
    names = ["air", "count", *(["scalar"] if form == "json" else [])]
    check(open_node(read_references(target)), truth, names)


@pytest.fixture
def tiff(tmp_path: Path) -> tuple[Path, np.ndarray[Any, Any]]:
    tifffile = pytest.importorskip("tifffile")
    values = np.arange(3 * 100 * 70, dtype=np.uint16).reshape(3, 100, 70)
    tifffile.imwrite(tmp_path / "t.tif", values, tile=(32, 32), compression="zlib", photometric="minisblack")
    return tmp_path / "t.tif", values


@pytest.mark.parametrize("more", [{}, {"version": 1}, {"version": 1, "templatename": "u"}])
def test_tifffile_references_by_us(
    tiff: tuple[Path, np.ndarray[Any, Any]], tmp_path: Path, more: dict[str, Any]
) -> None:
    tifffile = pytest.importorskip("tifffile")
    path, values = tiff
    with tifffile.imread(path, aszarr=True) as store:
        store.write_fsspec(str(tmp_path / "t.json"), url=f"file://{path.parent}", **more)
    root = open_node(read_references(tmp_path / "t.json"))
    found = root if isinstance(root, Array) else root["0"]
    assert isinstance(found, Array)
    np.testing.assert_array_equal(found[...], values)


def test_fsspec_parquet_by_us(archive: Path, scanned: VirtualGroup, truth: dict[str, Any], tmp_path: Path) -> None:
    """A map that fsspec's own writer made, from our JSON."""
    reference = pytest.importorskip("fsspec.implementations.reference")
    write_references(scanned, tmp_path / "m.json")
    references = json.loads((tmp_path / "m.json").read_text())["refs"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import fsspec

        target = tmp_path / "f.parquet"
        target.mkdir()
        out = reference.LazyReferenceMapper.create(str(target), fs=fsspec.filesystem("file"), record_size=100)
        for key, value in references.items():
            out[key] = value.encode() if isinstance(value, str) and not value.startswith("base64:") else value
        out.flush()
    check(open_node(read_references(target)), truth)
