"""Every HDF5 filter that has codecs, in any order and with any mask: the values are those that h5py reads."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import h5py
import imagecodecs
import numpy as np
import pytest
from tests.differential.hdf5.test_values_types import maker
from tests.hdf5_reading import read_array, same, scan_file

from byteatlas.errors import CorruptChunk
from byteatlas.manifest.model import ReportItem, VirtualArray

hdf5plugin = pytest.importorskip("hdf5plugin")
make_filters = maker("make_filters")

PREFIXES = (
    "deflate", "shuffle", "fletcher32", "all", "lzf", "szip", "one_chunk", "scaleoffset", "blosc", "bitshuffle", "lz4",
    "bzip2", "zstd", "zfp", "jpegls", "order", "nbit", "masks",
)  # fmt: skip


@pytest.fixture(scope="module")
def filtered(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Any, bytes, h5py.File]]:
    path: Path = tmp_path_factory.mktemp("hdf5") / "filters.h5"
    make_filters.write(path)
    group, data = scan_file(path)
    with h5py.File(path) as file:
        yield group, data, file


def test_the_prefixes_cover_the_file(filtered: Any) -> None:
    assert all(name.startswith(PREFIXES) for name in filtered[2])


@pytest.mark.parametrize("prefix", PREFIXES)
def test_filtered_data_read_as_h5py_reads_them(filtered: Any, prefix: str) -> None:
    group, data, file = filtered
    refused: list[ReportItem] = [item for item in group.report if item.status == "refused"]
    assert not refused, refused
    names = [name for name in file if name.startswith(prefix)]
    assert names
    wrong = [name for name in names if not same(read_array(group[name], data), file[name][()])]
    assert not wrong


@pytest.mark.parametrize("prefix", [p for p in PREFIXES if p not in ("masks", "one_chunk")])
def test_damaged_chunks_never_pass_what_the_chunk_holds(filtered: Any, prefix: str) -> None:
    """Cut off or overwritten chunks: an error, or (where nothing is checked) an array of the right shape."""
    group, data, file = filtered
    for name in [name for name in file if name.startswith(prefix)][::4]:
        array = group[name]
        assert isinstance(array, VirtualArray)
        manifest = array.manifest.load()
        at, length = int(manifest.offset[0]), int(manifest.length[0])
        for first, garbage in ((0, b"\xff" * 16), (length // 2, b"\x55" * 8), (max(0, length - 9), b"\0" * 9)):
            damaged = bytearray(data)
            damaged[at + first : at + first + len(garbage)] = garbage
            try:
                got = read_array(array, bytes(damaged[: len(data)]))
            except CorruptChunk:
                continue
            assert got.shape == array.meta.shape
        if prefix != "zfp":  # its streams do not say where they end
            with pytest.raises(CorruptChunk):
                read_array(array, data[: at + 2])


def test_checksums_as_old_libraries_wrote_them_are_accepted(tmp_path: Path) -> None:
    """HDF5 before 1.6.3 swapped the bytes of each half of a Fletcher-32 checksum; other damage is found."""
    path = tmp_path / "old.h5"
    values = np.arange(12, dtype="<i4")
    with h5py.File(path, "w") as file:
        data = file.create_dataset("x", data=values, chunks=(12,), fletcher32=True)
        other = file.create_dataset("bad", data=values, chunks=(12,), fletcher32=True)
        raw = data.id.read_direct_chunk((0,))[1]
        a, b, c, d = raw[-4:]
        data.id.write_direct_chunk((0,), raw[:-4] + bytes((b, a, d, c)))
        other.id.write_direct_chunk((0,), raw[:-4] + bytes((c, d, a, b)))
    group, content = scan_file(path)
    with h5py.File(path) as file:
        assert file["x"][()].tolist() == values.tolist()
    assert read_array(group.arrays["x"], content).tolist() == values.tolist()
    with pytest.raises(CorruptChunk):
        read_array(group.arrays["bad"], content)


def _direct(file: h5py.File, name: str, values: Any, number: int, options: tuple[int, ...], chunk: bytes) -> None:
    """A dataset of one chunk under a filter that no plugin at hand writes."""
    plist = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    plist.set_chunk(values.shape)
    plist.set_filter(number, h5py.h5z.FLAG_OPTIONAL, options)
    space = h5py.h5s.create_simple(values.shape)
    dataset = h5py.h5d.create(file.id, name.encode(), h5py.h5t.py_create(values.dtype), space, plist)
    dataset.write_direct_chunk((0,) * values.ndim, chunk, 0)


def test_jpegls_of_several_components_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "colours.h5"
    with h5py.File(path, "w") as file:
        data = np.arange(3 * 16 * 16, dtype="u2").reshape(3, 16, 16)
        file.create_dataset("d", data=data, chunks=data.shape, **hdf5plugin.FciDecomp())
    group, _ = scan_file(path)
    assert [(i.path, i.reason) for i in group.report if i.status == "refused"] == [("d", "filter")]


def test_filters_without_a_plugin(tmp_path: Path) -> None:
    path = tmp_path / "direct.h5"
    gray = (np.add.outer(np.arange(16), np.arange(24)) * 5).astype("u1")
    color = np.stack([gray, 255 - gray, gray // 2], -1)
    floats = np.linspace(0, 1, 20, dtype="f4")
    with h5py.File(path, "w") as file:
        _direct(file, "gray", gray, 32019, (90, 24, 16, 0), bytes(imagecodecs.jpeg_encode(gray, level=90)))
        _direct(file, "color", color, 32019, (90, 24, 16, 1), bytes(imagecodecs.jpeg_encode(color, level=90)))
        _direct(file, "groomed", floats, 32022, (3, 4), floats.tobytes())
        _direct(file, "rounded", floats, 32023, (3, 4), floats.tobytes())
        _direct(file, "unknown", floats, 32099, (), floats.tobytes())
    group, data = scan_file(path)
    assert [(i.path, i.reason) for i in group.report if i.status == "refused"] == [("unknown", "filter")]
    for name, image in (("gray", gray), ("color", color)):
        want = imagecodecs.jpeg_decode(imagecodecs.jpeg_encode(image, level=90))
        assert read_array(group.arrays[name], data).tolist() == want.tolist()
    assert read_array(group.arrays["groomed"], data).tolist() == floats.tolist()
    assert read_array(group.arrays["rounded"], data).tolist() == floats.tolist()
