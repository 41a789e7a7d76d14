"""What HDF5 elements that nobody wrote read as."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
from h5py import h5d, h5p, h5s, h5t
from tests.hdf5_reading import plain, read_array, same, scan_file

from byteatlas.errors import CorruptFile, Unsupported
from byteatlas.manifest.model import VirtualArray
from byteatlas_scanners.hdf5.format.types import Bits, Datatype, DatatypeClass
from byteatlas_scanners.hdf5.values import fillvalue

RECORD = np.dtype([("a", "<i2"), ("b", ">f8")])
KINDS: dict[str, Any] = {
    "int": ("i4", -5),
    "big_endian": (">i8", 2**40 + 1),
    "float": ("f4", 1e20),
    "nan": ("f8", np.nan),
    "half": (">f2", 0.5),
    "bool": ("?", True),
    "complex": ("c8", 1 - 2j),
    "text": ("S5", b"none"),
    "record": (RECORD, np.array((7, 0.25), RECORD)[()]),
    "default": ("i4", None),
}
LAYOUTS: dict[str, dict[str, Any]] = {
    "contiguous": {},
    "chunked": {"chunks": (4,)},
    "deflated": {"chunks": (4,), "compression": "gzip"},
    "empty": {"chunks": (4,), "maxshape": (None,)},
}


@pytest.mark.parametrize("libver", ["earliest", "latest"])
def test_fill_values_of_unwritten_data(tmp_path: Path, libver: str) -> None:
    path = tmp_path / "fill.h5"
    with h5py.File(path, "w", libver=libver) as file:
        for name, (kind, fill) in KINDS.items():
            for layout, options in LAYOUTS.items():
                shape = (0,) if layout == "empty" else (10,)
                file.create_dataset(f"{name}_{layout}", shape, kind, fillvalue=fill, **options)
            if name != "record":
                partly = file.create_dataset(f"{name}_partly", (10,), kind, fillvalue=fill, chunks=(4,))
                partly[4:6] = 1
    group, data = scan_file(path)
    with h5py.File(path) as file:
        assert set(group.arrays) == set(file)
        for name in file:
            array = group.arrays[name]
            got = read_array(array, data)
            assert same(got, file[name][()]), name
            assert plain(array.meta.fill_value) == plain(file[name].fillvalue), name


@pytest.mark.parametrize("when", [h5d.FILL_TIME_ALLOC, h5d.FILL_TIME_NEVER, h5d.FILL_TIME_IFSET])
@pytest.mark.parametrize("chunked", [False, True])
@pytest.mark.parametrize("alloc", [h5d.ALLOC_TIME_EARLY, h5d.ALLOC_TIME_LATE])
def test_when_fill_values_are_written_decides_what_is_read(
    tmp_path: Path, when: int, chunked: bool, alloc: int
) -> None:
    path = tmp_path / "time.h5"
    with h5py.File(path, "w") as file:
        plist = h5p.create(h5p.DATASET_CREATE)
        if chunked:
            plist.set_chunk((4,))
        plist.set_fill_value(np.array(9, "i4"))
        plist.set_fill_time(when)
        plist.set_alloc_time(alloc)
        h5d.create(file.id, b"x", h5t.STD_I32LE, h5s.create_simple((10,)), plist)
    group, data = scan_file(path)
    array = group["x"]
    assert isinstance(array, VirtualArray)
    with h5py.File(path) as file:
        assert read_array(array, data).tolist() == file["x"][()].tolist()


def test_array_types_take_a_uniform_fill_value() -> None:
    base = Datatype(DatatypeClass.INTEGER, 4, bits=Bits("<", 0, 32, True))
    kind = Datatype(DatatypeClass.ARRAY, 12, base=base, dims=(3,))
    raw = np.array([4, 4, 4], "<i4").tobytes()
    assert fillvalue.resolve(fillvalue.Fill(value=raw), kind) == 4
    with pytest.raises(Unsupported):
        fillvalue.resolve(fillvalue.Fill(value=np.array([1, 2, 3], "<i4").tobytes()), kind)
    with pytest.raises(CorruptFile):
        fillvalue.resolve(fillvalue.Fill(value=raw[:8]), kind)
