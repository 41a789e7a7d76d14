"""Structures of HDF5 files against h5py: chunk indexes of every format version, groups, links, virtual datasets."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
from fixtures.hdf5.make_structure import VERSIONS, WRITERS
from tests.places import FIXTURES

import byteatlas as ba
from byteatlas.array.array import Array
from byteatlas.array.group import Group
from byteatlas.manifest.model import MISSING, VirtualArray, VirtualGroup
from byteatlas.meta.model import RegularGrid
from byteatlas.scanning.contract import ScanOptions

Make = Callable[[str], Path]


@pytest.fixture(scope="module")
def make(tmp_path_factory: pytest.TempPathFactory) -> Make:
    """Writes a fixture at its first use."""
    folder = tmp_path_factory.mktemp("hdf5")
    known: dict[str, Path] = {}

    def get(name: str) -> Path:
        if name not in known:
            known[name] = WRITERS[name](folder)
        return known[name]

    return get


def opened(virtual: VirtualGroup) -> Group:
    root = ba.open(virtual)
    assert isinstance(root, Group)
    return root


def array(virtual: VirtualGroup, name: str) -> Array:
    node = opened(virtual)[name]
    assert isinstance(node, Array)
    return node


def compare(path: Path, refused: dict[str, str]) -> VirtualGroup:
    """Every array reads as h5py reads the dataset of that path, the refused ones are refused for this reason."""
    virtual = ba.scan(str(path), on_refusal="ignore")
    assert {i.path: i.reason for i in virtual.report if i.status == "refused"} == refused
    with h5py.File(path) as file:
        for where, node in opened(virtual).walk():
            if isinstance(node, Array):
                np.testing.assert_array_equal(node[...], file[where][...], err_msg=where)
    return virtual


@pytest.mark.parametrize("version", VERSIONS)
def test_chunk_indexes(make: Make, version: str) -> None:
    virtual = compare(make(f"indexes_{version}"), {})
    sparse = virtual.arrays["extensible_paged_sparse_plain"].manifest.load()
    assert np.count_nonzero(sparse.source != MISSING) == 18  # chunks nobody wrote are missing, not zero


@pytest.mark.parametrize("version", VERSIONS)
def test_groups(make: Make, version: str) -> None:
    virtual = compare(make(f"groups_{version}"), {})
    assert list(virtual.groups["ordered"].arrays) == [f"m{119 - i}" for i in range(120)] or version == "earliest"
    assert virtual["a/b/c/d/e/f/g/deep"]
    attributes = virtual.groups["attributes"].attributes
    assert attributes["name_05"] == [0, 1, 2, 3, 4]
    if version != "earliest":
        assert attributes["huge"] == list(range(20000))
    typed = virtual.arrays["typed"]
    assert typed.meta.attributes["unit"] == 3.5


@pytest.mark.parametrize("newest", [False, True])
@pytest.mark.parametrize(("offsets", "lengths"), [(2, 4), (2, 8), (4, 4), (4, 8), (8, 4)])
def test_other_widths_of_addresses_and_lengths(tmp_path: Path, offsets: int, lengths: int, newest: bool) -> None:
    """The library fills the heads of global heaps up, and stores the place of an old group's name as a length."""
    creation = h5py.h5p.create(h5py.h5p.FILE_CREATE)
    creation.set_sizes(offsets, lengths)
    access = h5py.h5p.create(h5py.h5p.FILE_ACCESS)
    oldest = h5py.h5f.LIBVER_LATEST if newest else h5py.h5f.LIBVER_EARLIEST
    access.set_libver_bounds(oldest, h5py.h5f.LIBVER_LATEST)
    path = tmp_path / "widths.h5"
    with h5py.File(h5py.h5f.create(bytes(path), h5py.h5f.ACC_TRUNC, creation, access)) as file:
        texts = file.create_dataset("deep/texts", data=["ab", "", "a longer text", "b"])
        texts.attrs["t"] = ["u", "vw"]
        file.create_dataset("chunked", data=np.arange(10), chunks=(3,), compression="gzip")
        file["soft"] = h5py.SoftLink("/chunked")
        for i in range(20):
            file["deep"].attrs[f"a{i}"] = i
            file.create_group(f"g{i}")
    root = opened(ba.scan(str(path), on_refusal="raise"))
    assert root.array("deep/texts")[...].tolist() == ["ab", "", "a longer text", "b"]
    assert root.array("deep/texts").attrs["t"] == ["u", "vw"]
    assert root.group("deep").attrs == {f"a{i}": i for i in range(20)}
    assert root.array("chunked")[...].tolist() == root.array("soft")[...].tolist() == list(range(10))
    assert sum(1 for name in root if name.startswith("g")) == 20


def test_shared_messages() -> None:
    """Everything that the library can share, in lists and trees; shared attributes of objects that have many."""
    path = FIXTURES / "hdf5" / "shared_messages.h5"
    virtual = ba.scan(str(path), on_refusal="raise")
    root, seen = opened(virtual), 0
    with h5py.File(path) as file:
        for where, node in root.walk():
            if not isinstance(node, Array):
                continue
            dataset = file[where]
            want = dataset.asstr()[...] if dataset.dtype.kind == "O" else dataset[...]
            np.testing.assert_array_equal(node[...], want, err_msg=where)
            theirs = {name: v.tolist() if isinstance(v, np.ndarray) else v for name, v in dataset.attrs.items()}
            assert theirs.items() <= node.attrs.items(), where
            seen += len(theirs)
    assert seen == 90


def test_links(make: Make) -> None:
    virtual = compare(
        make("links"),
        dict.fromkeys(("nowhere", "circle_a", "circle_b", "circle_out", "external_nowhere"), "link"),
    )
    whole = {path for path, node in virtual.walk() if isinstance(node, VirtualArray)}
    real = {"group/real", "hard", "soft", "soft_absolute", "soft_to_soft", "soft_group/real", "through"}
    assert whole == real | {"external", "external_group/x", "external_group/back"}
    assert virtual.arrays["hard"].manifest is virtual.arrays["soft"].manifest


def test_virtual_datasets(make: Make) -> None:
    virtual = compare(make("virtual"), {})
    stacked = virtual.arrays["stacked_chunks"]
    assert isinstance(stacked.meta.grid, RegularGrid)
    assert stacked.meta.grid.chunk_shape == (1, 3, 5)
    assert len(stacked.meta.encodings) == 1
    first = {e.codecs[0].name for e in virtual.arrays["columns_chunks"].meta.encodings}
    assert "byteatlas.crop" in first  # columns 2 to 4 are inside of the sources' compressed chunks
    assert [Path(s.url).name for s in stacked.manifest.sources] == [f"piece_{n}.h5" for n in range(3)]


def _part(kind: str, count: int, start: int) -> Any:
    match kind:
        case "run":
            return slice(start, start + count)
        case "steps":
            return slice(start, start + 2 * count - 1, 2)
    return [start, *range(start + 2, start + 1 + count)]


@pytest.mark.parametrize("rank", [1, 2, 3])
def test_every_pair_of_virtual_selections(rank: int, tmp_path: Path) -> None:
    """Neighbours, every second index, a list of indices: on each axis of both sides, also as lists of blocks."""
    count = (3, 2, 2)[:rank]
    shape = tuple(2 * n + 2 for n in count)
    with h5py.File(tmp_path / "source.h5", "w") as file:
        file["x"] = np.arange(np.prod(shape), dtype="f8").reshape(shape)
    kinds = list(itertools.product(("run", "steps"), repeat=rank))
    kinds += [("list", *more) for more in itertools.product(("run", "steps"), repeat=rank - 1)]
    with h5py.File(tmp_path / "all.h5", "w") as file:
        for i, (into, outof) in enumerate(itertools.product(kinds, kinds)):
            layout = h5py.VirtualLayout(shape, "f8")
            there = tuple(_part(k, n, 1) for k, n in zip(into, count, strict=True))
            here = tuple(_part(k, n, 0) for k, n in zip(outof, count, strict=True))
            layout[there] = h5py.VirtualSource("source.h5", "x", shape)[here]
            file.create_virtual_dataset(f"v{i}", layout, fillvalue=-1)
    compare(tmp_path / "all.h5", {})


def test_virtual_selections_that_are_no_product(tmp_path: Path) -> None:
    """An L of blocks side by side has an order of its own: refused. Blocks one below the other have not."""
    with h5py.File(tmp_path / "l.h5", "w") as file:
        file["x"] = np.arange(64.0).reshape(8, 8)
        for name, second in (("beside", ((0, 4), (4, 2))), ("below", ((5, 1), (1, 4)))):
            spaces = []
            for shift in (0, 1):
                space = h5py.h5s.create_simple((8, 8))
                space.select_hyperslab((shift, shift), (3, 2))
                start, size = second
                space.select_hyperslab((start[0] + shift, start[1] + shift), size, op=h5py.h5s.SELECT_OR)
                spaces.append(space)
            plist = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
            plist.set_virtual(spaces[1], b".", b"x", spaces[0])
            kind, whole = h5py.h5t.IEEE_F64LE, h5py.h5s.create_simple((8, 8))
            h5py.h5d.create(file.id, name.encode(), kind, whole, plist)
    compare(tmp_path / "l.h5", {"beside": "virtual-dataset"})


def test_dimension_names(make: Make) -> None:
    virtual = ba.scan(str(make("dimensions")))
    names = {p: a.meta.dimension_names for p, a in virtual.walk() if isinstance(a, VirtualArray)}
    assert names == {
        "time": ("time",),
        "lat": ("lat", "lon"),
        "lon": ("lon",),
        "data": ("time", "lat", "lon"),
        "only": ("no_variable",),
        "lonely": (),
        "inner/mixed": ("time", "lat"),
    }
    data = virtual.arrays["data"].meta
    assert data.attributes == {"_FillValue": -99, "units": "K"}
    assert virtual.attributes == {"history": "made for tests"}


def test_made_up_dimension_names(make: Make) -> None:
    virtual = ba.scan(str(make("phony")))
    a, b = (virtual.arrays[n].meta.dimension_names for n in "ab")
    assert a is not None
    assert b == a[::-1]
    square = virtual.arrays["square"].meta.dimension_names
    assert square is not None
    assert len(set(square)) == 2
    assert set(square) & set(a) == {a[1]}


def test_eight_threads_see_what_one_sees(make: Make) -> None:
    paths = [str(make(name)) for name in WRITERS]
    alone = [_summary(path) for path in paths]
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(_summary, paths * 3)) == alone * 3


def _summary(path: str) -> Any:
    virtual = ba.scan(path, on_refusal="ignore")
    arrays = [
        (p, a.meta.shape, a.manifest.load().offset.tolist()) for p, a in virtual.walk() if isinstance(a, VirtualArray)
    ]
    return arrays, virtual.report


def test_large_contiguous_data_become_chunks(tmp_path: Path) -> None:
    path = tmp_path / "large.h5"
    values = np.arange(64 * 50 * 40, dtype="<f8").reshape(64, 50, 40)
    with h5py.File(path, "w") as file:
        file["d"] = values
    virtual = ba.scan(str(path), options=ScanOptions(target_chunk=100_000))
    grid = virtual.arrays["d"].meta.grid
    assert grid == RegularGrid((4, 50, 40))
    np.testing.assert_array_equal(array(virtual, "d")[5:20, 3], values[5:20, 3])


def test_external_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    values = np.arange(60, dtype="<i4").reshape(10, 6)
    with h5py.File("main.h5", "w") as file:
        for name, parts in {"rows": (96, 48, 96), "even": (80, 80, 80), "torn": (100, 140), "short": (240,)}.items():
            external = [(f"{name}_{i}.bin", 3, size) for i, size in enumerate(parts)]
            file.create_dataset(name, (10, 6), "<i4", external=external)[...] = values
    (tmp_path / "short_0.bin").write_bytes(b"123")
    virtual = ba.scan("main.h5", on_refusal="ignore")
    assert [(i.path, i.reason) for i in virtual.report if i.status == "refused"] == [("short", "external-storage")]
    for name in ("rows", "even", "torn"):
        np.testing.assert_array_equal(array(virtual, name)[...], values, err_msg=name)


def test_small_arrays_copied_into_the_map(make: Make) -> None:
    path = make("links")
    virtual = ba.scan(str(path), on_refusal="ignore", options=ScanOptions(inline_below=30))
    status = {item.path: item.status for item in virtual.report if item.reason is None}
    assert status["group/real"] == status["soft"] == "virtual"  # 48 bytes
    path = make("phony")
    virtual = ba.scan(str(path), options=ScanOptions(inline_below=100))
    assert {i.path: i.status for i in virtual.report} == {
        "a": "inlined",
        "b": "inlined",
        "square": "virtual",
        "group/c": "inlined",
    }
    np.testing.assert_array_equal(array(virtual, "a")[...], np.zeros((3, 4)))


def test_one_group_only(make: Make) -> None:
    virtual = ba.scan(str(make("phony")), options=ScanOptions(group="/group"))
    assert list(virtual.arrays) == ["c"]
    assert not virtual.groups
