"""Variable-length HDF5 data: what is decoded while scanning, under which filters, and what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
from tests.hdf5_reading import plain, read_array, scan_file
from tests.scanning import scan_bytes

from byteatlas.manifest.model import VirtualGroup
from byteatlas.scanning.contract import ScanOptions
from byteatlas_scanners.hdf5 import SCANNER

hdf5plugin = pytest.importorskip("hdf5plugin")
TEXT = h5py.string_dtype()
WORDS = np.array([f"word {i}" * (i % 4) for i in range(60)], object).reshape(12, 5)


def refused(group: VirtualGroup) -> dict[str, str | None]:
    return {item.path: item.reason for item in group.report if item.status == "refused"}


FILTERS: dict[str, dict[str, Any]] = {
    "none": {},
    "gzip": {"compression": "gzip"},
    "lzf": {"compression": "lzf"},
    "lz4": dict(hdf5plugin.LZ4()),
    "zstd": dict(hdf5plugin.Zstd()),
    "bzip2": dict(hdf5plugin.BZip2()),
}


@pytest.mark.parametrize("name", FILTERS)
@pytest.mark.parametrize("libver", ["earliest", "latest"])
def test_filtered_records_are_undone_while_scanning(tmp_path: Path, name: str, libver: str) -> None:
    path = tmp_path / "text.h5"
    with h5py.File(path, "w", libver=libver) as file:
        file.create_dataset("x", data=WORDS, dtype=TEXT, chunks=(5, 3), **FILTERS[name])
    group, _ = scan_file(path)
    assert not refused(group)
    assert plain(read_array(group.arrays["x"], b"")) == plain(WORDS)


def test_every_filter_with_a_codec_is_undone(tmp_path: Path) -> None:
    path = tmp_path / "text.h5"
    with h5py.File(path, "w") as file:
        file.create_dataset("x", data=WORDS, dtype=TEXT, chunks=(5, 3), **hdf5plugin.Bitshuffle(cname="zstd"))
    group, _ = scan_file(path)
    assert not refused(group)
    assert plain(read_array(group.arrays["x"], b"")) == plain(WORDS)


def test_unknown_filters_refuse_the_dataset_alone(tmp_path: Path) -> None:
    path = tmp_path / "text.h5"
    with h5py.File(path, "w") as file:
        file.create_dataset("x", data=WORDS, dtype=TEXT, chunks=(5, 3), **hdf5plugin.Bitshuffle(cname="zstd"))
        file["y"] = np.arange(3)
    known, unknown = (32008).to_bytes(2, "little"), (40000).to_bytes(2, "little")
    data = path.read_bytes()
    assert data.count(known) == 1  # the number in the filter message
    path.write_bytes(data.replace(known, unknown))
    group, _ = scan_file(path)
    assert refused(group) == {"x": "filter"}
    assert list(group.arrays) == ["y"]


def test_big_endian_sequences_are_refused_at_any_depth(tmp_path: Path) -> None:
    path = tmp_path / "big.h5"
    with h5py.File(path, "w") as file:
        file.create_dataset("one", (2,), h5py.vlen_dtype(">i4"))
        file.create_dataset("two", (2,), h5py.vlen_dtype(h5py.vlen_dtype(">i4")))
        file.create_dataset("bytes", (2,), h5py.vlen_dtype(h5py.vlen_dtype(">i1")))
    group, _ = scan_file(path)
    assert refused(group) == {"one": "datatype", "two": "datatype"}


def test_large_data_are_refused_before_they_are_read(tmp_path: Path) -> None:
    path = tmp_path / "large.h5"
    with h5py.File(path, "w") as file:
        file.create_dataset("few", data=["x" * 5000] * 3, dtype=TEXT)
        file.create_dataset("many", data=["x"] * 2000, dtype=TEXT)
    data = path.read_bytes()
    group = scan_bytes(SCANNER, data, ScanOptions(max_inline=10_000))
    assert refused(group) == {"few": "vlen-large", "many": "vlen-large"}
    assert not refused(scan_bytes(SCANNER, data, ScanOptions(max_inline=40_000)))


def test_a_single_sequence_is_an_array(tmp_path: Path) -> None:
    path = tmp_path / "scalar.h5"
    with h5py.File(path, "w") as file:
        file.create_dataset("x", (), dtype=h5py.vlen_dtype("i4"))[()] = np.arange(5, dtype="i4")
        file.create_dataset("empty", (), dtype=h5py.vlen_dtype("i4"))
    group, _ = scan_file(path)
    assert read_array(group.arrays["x"], b"").tolist() == [0, 1, 2, 3, 4]
    assert group.arrays["empty"].meta.shape == (0,)


def test_sequences_that_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "refused.h5"
    record = np.dtype([("n", "i4"), ("row", h5py.vlen_dtype("f4"))])
    with h5py.File(path, "w") as file:
        file.create_dataset("swapped", (2,), dtype=h5py.vlen_dtype(">i4"))
        file.create_dataset("record", (2,), dtype=record)
        file.create_dataset("opaque", (2,), dtype=h5py.vlen_dtype("V3"))
    group, _ = scan_file(path)
    assert refused(group) == {"swapped": "datatype", "record": "datatype", "opaque": "datatype"}


def test_damaged_heaps_refuse_the_dataset_alone(tmp_path: Path) -> None:
    path = tmp_path / "heap.h5"
    with h5py.File(path, "w") as file:
        file.create_dataset("x", data=["some text", "more text"], dtype=TEXT)
        file["y"] = np.arange(3)
    data = bytearray(path.read_bytes())
    at = data.find(b"GCOL")
    data[at : at + 4] = b"XXXX"
    group = scan_bytes(SCANNER, bytes(data))
    assert refused(group) == {"x": "corrupt"}
    assert list(group.arrays) == ["y"]
