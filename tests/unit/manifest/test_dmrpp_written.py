"""DMR++ documents that are written: read back to equal values by our scanner and by VirtualiZarr, or refused."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

import byteatlas as ba
from byteatlas.errors import Conflict, Unsupported
from byteatlas.manifest.model import VirtualArray
from byteatlas.scanning.contract import ScanOptions
from byteatlas.values import replace

VALUES = np.random.default_rng(0).normal(size=(10, 12)).astype("f4")
ATTRIBUTES = {
    "units": 'm < s & \u00e9 "q"\r\n\t end ',
    "empty": "",
    "many": ["a", " b"],
    "n": 3,
    "large": 1 << 63,
    "list": [1, -2, 1 << 40],
    "floats": [0.1, 1e300, float("inf")],
    "nothing": [],
}


def made(path: Path) -> Path:
    with h5py.File(path, "w") as f:
        f.create_dataset("packed", data=VALUES, chunks=(4, 5), compression=4, shuffle=True)
        f.create_dataset("checked", data=np.arange(20, dtype=">i4"), chunks=(6,), fletcher32=True, compression=1)
        f.create_dataset("twice", data=np.arange(20, dtype="u8"), chunks=(6,), fletcher32=True)
        f.create_dataset("plain", data=np.arange(12, dtype="f8"))
        f.create_dataset("scalar", data=np.int16(-7))
        f.create_dataset("text", data=np.array([b"ab", b"c"], dtype="S3"))
        sparse = f.create_dataset("g/sparse", (9, 9), "i2", chunks=(3, 3), fillvalue=-5)
        sparse[3:6, 6:9] = 7
        f.create_dataset("g/never", (5,), "f4", chunks=(2,), fillvalue=np.nan)
        f["g/deep/er"] = np.arange(3, dtype="u1")
        f.attrs["title"] = "a & b"
        f["g"].attrs["n"] = 3
        f["plain"].attrs["units"] = "K"
        f["x"] = np.arange(12.0)
        f["x"].make_scale("x")
        f["plain"].dims[0].attach_scale(f["x"])
    return path


def scanned(path: Path) -> Any:
    return ba.scan(path, on_refusal="ignore")


def opened(tree: Any) -> Any:
    return ba.open(tree)


def same(found: Any, expected: Any) -> None:
    nodes = dict(expected.walk())
    assert sorted(dict(found.walk())) == sorted(nodes)
    assert found.attributes == expected.attributes
    for path, node in nodes.items():
        assert found[path].meta.attributes == node.meta.attributes, path
        if isinstance(node, VirtualArray):
            assert found[path].meta.dimension_names == (node.meta.dimension_names or None)
            a, b = opened(found)[path][...], opened(expected)[path][...]
            assert a.dtype == b.dtype
            np.testing.assert_array_equal(a, b, err_msg=path)


@pytest.mark.parametrize("name", ["a.h5.dmrpp", "elsewhere.dmrpp"])
@pytest.mark.parametrize("inline", [0, 100])
def test_a_document_reads_as_what_it_was_written_from(tmp_path: Path, name: str, inline: int) -> None:
    tree: Any = ba.scan(made(tmp_path / "a.h5"), options=ScanOptions(inline_below=inline))
    plain = tree.arrays["plain"]
    arrays = {**tree.arrays, "plain": replace(plain, meta=replace(plain.meta, attributes=ATTRIBUTES))}
    if inline:  # one chunk each: several of them in the map have no words
        arrays = {n: a for n, a in arrays.items() if n in ("plain", "scalar", "text", "x")}
        assert any(a.manifest.load().inlined for a in arrays.values())
    tree = replace(tree, arrays=arrays, groups={} if inline else tree.groups)
    ba.write(tree, tmp_path / name)
    same(scanned(tmp_path / name), tree)
    ba.write(tree, tmp_path / name)  # a document takes the place of a document


@pytest.mark.filterwarnings("ignore:Numcodecs codecs")
def test_virtualizarr_reads_the_same(tmp_path: Path) -> None:
    parsers = pytest.importorskip("virtualizarr.parsers")
    stores = pytest.importorskip("obstore.store")
    registry = pytest.importorskip("obspec_utils.registry")
    xarray = pytest.importorskip("xarray")
    path = tmp_path / "a.h5"
    with h5py.File(path, "w") as f:
        f.create_dataset("packed", data=VALUES, chunks=(4, 5), compression=4, shuffle=True)
        f.create_dataset("plain", data=np.arange(12, dtype="f8"))
        f["packed"].attrs["units"] = "m < s"
        for n, (name, size) in enumerate((("y", 10), ("x", 12))):
            f[name] = np.arange(size, dtype="f8")
            f[name].make_scale(name)
            f["packed"].dims[n].attach_scale(f[name])
        f["plain"].dims[0].attach_scale(f["x"])
    ba.write(ba.scan(path), f"{path}.dmrpp")
    known = registry.ObjectStoreRegistry({"file://": stores.LocalStore()})
    store = parsers.DMRPPParser()(f"file://{path}.dmrpp", known)
    with xarray.open_dataset(store, engine="zarr", consolidated=False, zarr_format=3) as found:
        np.testing.assert_array_equal(found["packed"].values, VALUES)
        np.testing.assert_array_equal(found["plain"].values, np.arange(12.0))
        assert found["packed"].dims == ("y", "x")
        assert found["packed"].attrs["units"] == "m < s"


def with_filter(f: Any) -> None:
    f.create_dataset("v", data=VALUES, chunks=(4, 5), compression="lzf")


def of_compound(f: Any) -> None:
    f["v"] = np.zeros(3, [("a", "i4"), ("b", "f4")])


def with_bools(f: Any) -> None:
    f["v"] = np.array([True, False])


@pytest.mark.parametrize("make", [with_filter, of_compound, with_bools])
def test_what_has_no_words_is_refused(make: Callable[[Any], None], tmp_path: Path) -> None:
    with h5py.File(tmp_path / "a.h5", "w") as f:
        make(f)
    with pytest.raises(Unsupported, match=r"v.*DMR\+\+ has no words"):
        ba.write(scanned(tmp_path / "a.h5"), tmp_path / "a.h5.dmrpp")
    assert not (tmp_path / "a.h5.dmrpp").exists()


@pytest.mark.parametrize("value", [None, True, ["a", 1], "\0", [1 << 70], [0.5, 1 << 60], {"a": None}])
def test_attributes_without_words_are_refused(value: Any, tmp_path: Path) -> None:
    tree = scanned(made(tmp_path / "a.h5"))
    plain = tree.arrays["plain"]
    tree = replace(tree, arrays={"plain": replace(plain, meta=replace(plain.meta, attributes={"a": value}))})
    with pytest.raises(Unsupported, match="plain"):
        ba.write(tree, tmp_path / "a.dmrpp")


def test_lengths_of_one_dimension_differ(tmp_path: Path) -> None:
    tree = scanned(made(tmp_path / "a.h5"))
    arrays = {
        n: replace(a, meta=replace(a.meta, dimension_names=("x",)))
        for n, a in tree.arrays.items()
        if n in ("plain", "checked")
    }
    with pytest.raises(Unsupported, match="dimension 'x'"):
        ba.write(replace(tree, arrays=arrays, groups={}), tmp_path / "a.dmrpp")


def test_nothing_else_is_replaced(tmp_path: Path) -> None:
    tree = scanned(made(tmp_path / "a.h5"))
    (tmp_path / "other.dmrpp").write_text("<a/>")
    with pytest.raises(Conflict, match="no DMR"):
        ba.write(tree, tmp_path / "other.dmrpp")
    assert (tmp_path / "other.dmrpp").read_text() == "<a/>"
