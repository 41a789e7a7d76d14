"""What we write is read equal by zarr-python, and by tensorstore and zarrs for what they support."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.peers import by_tensorstore, by_zarrs

from byteatlas.array import Array, open_store
from byteatlas.array.writing.create import array_meta
from byteatlas.array.writing.write import create_array
from byteatlas.meta.model import CodecSpec
from byteatlas.store.directory import DirectoryStore

zarr = pytest.importorskip("zarr")
pytestmark = [
    pytest.mark.filterwarnings("ignore:Numcodecs codecs are not"),
    pytest.mark.filterwarnings("ignore:The data type"),
    pytest.mark.filterwarnings("ignore::zarr.errors.UnstableSpecificationWarning"),
]

NUMBERS = ["bool", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8", "c8", "c16"]
OTHERS = ["S3", "U2", "M8[s]", "m8[us]"]
V3: dict[str, tuple[CodecSpec, ...]] = {
    "none": (),
    "gzip": (CodecSpec("gzip", {"level": 1}),),
    "zstd": (CodecSpec("zstd", {"level": 1, "checksum": False}),),
    "zstd, checksum": (CodecSpec("zstd", {"level": 1, "checksum": True}), CodecSpec("crc32c")),
    "blosc": (
        CodecSpec("blosc", {"cname": "lz4", "clevel": 5, "shuffle": "bitshuffle", "typesize": 4, "blocksize": 0}),
    ),
    "shuffle": (CodecSpec("numcodecs.shuffle", {"elementsize": 4}), CodecSpec("numcodecs.zlib", {"level": 1})),
}
V2: dict[str, tuple[CodecSpec, ...]] = {
    "none": (),
    "zlib": (CodecSpec("numcodecs.zlib", {"level": 1}),),
    "zstd": (CodecSpec("numcodecs.zstd", {"level": 1}),),
    "blosc": (CodecSpec("numcodecs.blosc", {"cname": "zstd", "clevel": 5, "shuffle": 1, "blocksize": 0}),),
    "shuffle": (CodecSpec("numcodecs.shuffle", {"elementsize": 4}), CodecSpec("numcodecs.zlib", {"level": 1})),
}


@st.composite
def written(draw: st.DrawFn, dtypes: list[str]) -> tuple[str, np.ndarray[Any, Any], dict[str, Any]]:
    zarr_format: Literal[2, 3] = draw(st.sampled_from([2, 3]))
    shape = tuple(draw(st.lists(st.integers(0, 9), max_size=3)))
    chunks = tuple(draw(st.integers(1, 5)) for _ in shape)
    sharded = zarr_format == 3 and draw(st.booleans()) and len(shape) > 0
    shards = tuple(c * draw(st.integers(1, 3)) for c in chunks) if sharded else None
    name = draw(st.sampled_from(sorted(V3 if zarr_format == 3 else V2)))
    codecs = (V3 if zarr_format == 3 else V2)[name]
    dtype = np.dtype(draw(st.sampled_from(dtypes)))
    if name == "shuffle":  # numcodecs takes whole elements only
        codecs = (CodecSpec("numcodecs.shuffle", {"elementsize": dtype.itemsize}), *codecs[1:])
    rng = np.random.default_rng(draw(st.integers(0, 99)))
    values = rng.integers(0, 100, shape)
    data = np.asarray(values % 2 if dtype.kind == "b" else values).astype(dtype)
    how = {"chunks": chunks, "shards": shards, "compression": codecs, "zarr_format": zarr_format}
    return name, data, how


def _write(folder: str, data: np.ndarray[Any, Any], how: dict[str, Any]) -> str:
    path = str(Path(folder) / "x.zarr")
    fill = 0 if data.dtype.kind in "biufc" else None
    meta = array_meta(
        data.shape, data.dtype, fill_value=fill, dimension_names=[f"d{i}" for i in range(data.ndim)], **how
    )
    made = create_array(DirectoryStore(path, writable=True), "", meta)
    made[...] = data
    ours = open_store(path)
    assert isinstance(ours, Array)
    np.testing.assert_array_equal(ours[...], data)
    return path


@settings(max_examples=120, deadline=None)
@given(written(NUMBERS + OTHERS))
def test_zarr_python_reads_it(case: tuple[str, np.ndarray[Any, Any], dict[str, Any]]) -> None:
    _, data, how = case
    with tempfile.TemporaryDirectory() as folder:
        found = zarr.open_array(_write(folder, data, how), mode="r")
        assert found.shape == data.shape
        assert found.dtype == data.dtype
        np.testing.assert_array_equal(found[...], data)


@settings(max_examples=80, deadline=None)
@given(written([n for n in NUMBERS if n not in ("c8", "c16")]))
def test_tensorstore_reads_it(case: tuple[str, np.ndarray[Any, Any], dict[str, Any]]) -> None:
    name, data, how = case
    if name == "shuffle":
        return  # it has no filters
    with tempfile.TemporaryDirectory() as folder:
        found = by_tensorstore(_write(folder, data, how), how["zarr_format"])
        assert found.dtype == data.dtype
        np.testing.assert_array_equal(found, data)


@settings(max_examples=40, deadline=None)
@given(written(["i4", "f8", "u1"]))
def test_zarrs_reads_it(case: tuple[str, np.ndarray[Any, Any], dict[str, Any]]) -> None:
    name, data, how = case
    if name == "shuffle" or how["zarr_format"] == 2:
        return
    with tempfile.TemporaryDirectory() as folder:
        np.testing.assert_array_equal(by_zarrs(_write(folder, data, how)), data)


@settings(max_examples=60, deadline=None)
@given(written(["i4", "f8", "S3"]), st.data())
def test_selections_and_their_errors_are_zarr_pythons(
    case: tuple[str, np.ndarray[Any, Any], dict[str, Any]], data: st.DataObject
) -> None:
    _, values, how = case
    with tempfile.TemporaryDirectory() as folder:
        path = _write(folder, values, how)
        ours, theirs = open_store(path), zarr.open_array(path, mode="r")
        assert isinstance(ours, Array)
        items = []
        for n in values.shape:
            items.append(
                data.draw(
                    st.one_of(
                        st.integers(-12, 12),
                        st.lists(st.integers(0, 8), min_size=1, max_size=3),
                        st.just(slice(1, n, 2)),
                    )
                )
            )
        selection = tuple(items)
        try:
            want = theirs.oindex[selection]
        except IndexError:
            with pytest.raises(IndexError):
                ours.oindex[selection]
            return
        np.testing.assert_array_equal(ours.oindex[selection], want)
