"""The wide matrix of what we write: data type x codec chain x sharding x chunk keys x shape, read by three peers."""

from __future__ import annotations

import json
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from tests.peers import by_tensorstore, by_zarrs

from byteatlas.array import Array, open_store
from byteatlas.array.writing.create import array_meta
from byteatlas.array.writing.options import ArrayWriteOptions
from byteatlas.array.writing.write import create_array
from byteatlas.meta.dtypes import BYTES, STRING, from_v3
from byteatlas.meta.model import ArrayMeta, ChunkKeys, CodecSpec, DataType, Encoding, RectilinearGrid, RegularGrid
from byteatlas.store.directory import DirectoryStore

zarr = pytest.importorskip("zarr")
pytestmark = [
    pytest.mark.filterwarnings("ignore:Numcodecs codecs are not"),
    pytest.mark.filterwarnings("ignore:The data type"),
    pytest.mark.filterwarnings("ignore::zarr.errors.UnstableSpecificationWarning"),
]

PLAIN = ["bool", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8"]
SIZED = [*PLAIN, "c8", "c16", "S3", "U2", "V4", "M8[s]", "M8[10us]", "m8[ns]", "m8[D]"]
RECORDS = [[("a", "<i4"), ("b", "<f8")], [("x", "u1"), ("t", "<M8[s]"), ("s", "S4")]]
Values = NDArray[Any]


def shuffle(size: int) -> CodecSpec:
    return CodecSpec("numcodecs.shuffle", {"elementsize": size})


def v3_chain(draw: st.DrawFn, size: int) -> tuple[CodecSpec, ...]:
    """Bytes -> bytes codecs of version 3, those of numcodecs among them."""
    blosc = {"clevel": 5, "typesize": min(size, 255), "blocksize": 0}
    choices = [
        (),
        (CodecSpec("gzip", {"level": draw(st.integers(0, 9))}),),
        (CodecSpec("zstd", {"level": draw(st.integers(-5, 9)), "checksum": draw(st.booleans())}),),
        (CodecSpec("crc32c"),),
        (CodecSpec("gzip", {"level": 1}), CodecSpec("crc32c")),
        *(
            (CodecSpec("blosc", {**blosc, "cname": cname, "shuffle": how}),)
            for cname, how in (
                ("lz4", "shuffle"),
                ("zstd", "bitshuffle"),
                ("blosclz", "noshuffle"),
                ("zlib", "shuffle"),
            )
        ),
    ]
    return draw(st.sampled_from(choices))


def numcodecs_chain(draw: st.DrawFn, size: int) -> tuple[CodecSpec, ...]:
    names: list[tuple[str, dict[str, Any]]] = [
        ("zlib", {"level": 1}), ("gzip", {"level": 1}), ("bz2", {"level": 1}), ("lz4", {"acceleration": 1}),
        ("lzma", {"format": 1, "check": -1, "preset": 1, "filters": None}), ("zstd", {"level": 1}),
        ("blosc", {"cname": "lz4hc", "clevel": 3, "shuffle": 2, "blocksize": 0}),
    ]  # fmt: skip
    checks = ["crc32", "crc32c", "adler32", "fletcher32", "jenkins_lookup3"]
    chain: list[CodecSpec] = [shuffle(size)] if draw(st.booleans()) else []
    name, conf = draw(st.sampled_from(names))
    chain.append(CodecSpec(f"numcodecs.{name}", conf))
    if draw(st.booleans()):
        check = draw(st.sampled_from(checks))
        if check != "fletcher32":
            chain.append(CodecSpec(f"numcodecs.{check}"))
        elif size % 2 == 0:  # numcodecs takes whole words only (and whole elements for shuffle)
            chain.insert(len(chain) - 1, CodecSpec("numcodecs.fletcher32"))
    return tuple(chain)


def shard(draw: st.DrawFn, inner: tuple[int, ...], chain: tuple[CodecSpec, ...]) -> CodecSpec:
    """A shard around a chain: index at either end, with a checksum or without."""
    index: list[Any] = [{"name": "bytes", "configuration": {"endian": draw(st.sampled_from(["little", "big"]))}}]
    index += [{"name": "crc32c"}] if draw(st.booleans()) else []
    codecs = [{"name": c.name, "configuration": dict(c.configuration)} for c in chain]
    where = draw(st.sampled_from(["start", "end"]))
    return CodecSpec(
        "sharding_indexed",
        {"chunk_shape": list(inner), "codecs": codecs, "index_codecs": index, "index_location": where},
    )


@st.composite
def shapes(draw: st.DrawFn) -> tuple[tuple[int, ...], tuple[int, ...]]:
    shape = tuple(draw(st.lists(st.integers(0, 11), max_size=4)))
    return shape, tuple(draw(st.integers(1, 5)) for _ in shape)


def values(draw: st.DrawFn, shape: tuple[int, ...], dtype: Any) -> Values:
    rng = np.random.default_rng(draw(st.integers(0, 99)))
    kind = np.dtype(dtype)
    if kind.names is not None:
        out = np.zeros(shape, kind)
        for name in kind.names:
            out[name] = rng.integers(0, 99, shape).astype(kind[name])
        return out
    if kind.kind == "V":
        return np.asarray(rng.integers(0, 256, (*shape, kind.itemsize), dtype="u1").view(kind)[..., 0])
    numbers = rng.integers(0, 100, shape)
    return np.asarray(np.asarray(numbers % 2 if kind.kind == "b" else numbers).astype(kind))


@st.composite
def version3(draw: st.DrawFn, dtypes: list[Any], *, numcodecs: bool = True) -> tuple[Values, ArrayMeta]:
    shape, chunks = draw(shapes())
    data = values(draw, shape, draw(st.sampled_from(dtypes)))
    base = array_meta(shape, data.dtype, chunks=chunks, compression=())
    if data.dtype.names is not None:  # the name that zarr-python 3.1 knows; its fields have no byte order of their own
        base = replace(base, data_type=replace(base.data_type, name="structured"))
    endian = draw(st.sampled_from(["little", "big"])) if data.dtype.kind in "iufcMm" else "little"
    size = data.dtype.itemsize
    chain: tuple[CodecSpec, ...] = (CodecSpec("bytes", {"endian": endian}),)
    chain += numcodecs_chain(draw, size) if numcodecs and draw(st.booleans()) else v3_chain(draw, size)
    if len(shape) > 1 and draw(st.booleans()):
        order = draw(st.permutations(range(len(shape))))
        chain = (CodecSpec("transpose", {"order": list(order)}), *chain)
    grid = chunks
    # zarr-python 3.1 cannot read shards of records ("unhashable").
    for _ in range(draw(st.sampled_from([0, 0, 1, 1, 2])) if shape and data.dtype.names is None else 0):
        chain = (shard(draw, grid, chain),)
        grid = tuple(n * draw(st.integers(1, 3)) for n in grid)
    keys = ChunkKeys(draw(st.sampled_from(["default", "v2"])), draw(st.sampled_from(["/", "."])))
    return data, replace(base, grid=RegularGrid(grid), encodings=(Encoding(chain),), keys=keys)


@st.composite
def version2(draw: st.DrawFn, dtypes: list[Any], *, filters: bool = True) -> tuple[Values, ArrayMeta]:
    shape, chunks = draw(shapes())
    data = values(draw, shape, draw(st.sampled_from(dtypes)))
    meta = array_meta(shape, data.dtype, chunks=chunks, compression=(), zarr_format=2)
    endian = draw(st.sampled_from(["little", "big"])) if data.dtype.kind in "iufcMm" else "little"
    chain: tuple[CodecSpec, ...] = (CodecSpec("bytes", {"endian": endian}),)
    if filters:
        chain += numcodecs_chain(draw, data.dtype.itemsize)
    else:
        chain += draw(
            st.sampled_from(
                [(), (CodecSpec("numcodecs.zlib", {"level": 1}),), (CodecSpec("numcodecs.zstd", {"level": 1}),)]
            )
        )
    if len(shape) > 1 and draw(st.booleans()):  # order F
        chain = (CodecSpec("transpose", {"order": list(range(len(shape)))[::-1]}), *chain)
    keys = ChunkKeys("v2", draw(st.sampled_from(["/", "."])))
    return data, replace(meta, encodings=(Encoding(chain),), keys=keys)


def write(folder: str, data: Values, meta: ArrayMeta, *, empty: bool = False) -> str:
    path = str(Path(folder) / "x.zarr")
    made = create_array(DirectoryStore(path, writable=True), "", meta, write=ArrayWriteOptions(empty_chunks=empty))
    made[...] = data
    ours = open_store(path)
    assert isinstance(ours, Array)
    np.testing.assert_array_equal(ours[...], data)
    return path


def zarr_python_reads(data: Values, meta: ArrayMeta) -> None:
    with tempfile.TemporaryDirectory() as folder:
        found = zarr.open_array(write(folder, data, meta), mode="r")
        assert found.shape == data.shape
        np.testing.assert_array_equal(np.asarray(found[...]).astype(data.dtype), data)


@settings(max_examples=120, deadline=None)
@given(version3([*(t for t in SIZED if t != "V4"), *RECORDS]))  # zarr-python 3.1 does not know r*
def test_zarr_python_reads_version_3(case: tuple[Values, ArrayMeta]) -> None:
    zarr_python_reads(*case)


@settings(max_examples=80, deadline=None)
@given(version2([*SIZED, *RECORDS]))
def test_zarr_python_reads_version_2(case: tuple[Values, ArrayMeta]) -> None:
    zarr_python_reads(*case)


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_tensorstore_reads_it(data: st.DataObject) -> None:
    three = data.draw(st.booleans())
    cases = version3(PLAIN, numcodecs=False) if three else version2(PLAIN, filters=False)
    array, meta = data.draw(cases)
    with tempfile.TemporaryDirectory() as folder:
        found = by_tensorstore(write(folder, array, meta), 3 if three else 2)
        assert found.dtype == array.dtype
        np.testing.assert_array_equal(found, array)


@settings(max_examples=60, deadline=None)
@given(version3(PLAIN, numcodecs=False))
def test_zarrs_reads_it(case: tuple[Values, ArrayMeta]) -> None:
    data, meta = case
    with tempfile.TemporaryDirectory() as folder:
        np.testing.assert_array_equal(by_zarrs(write(folder, data, meta), strict=True), data)


TEXTS = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=6)


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_variable_length_elements(data: st.DataObject) -> None:
    number: Literal[2, 3] = data.draw(st.sampled_from([2, 3]))
    text = data.draw(st.booleans())
    shape = tuple(data.draw(st.lists(st.integers(1, 5), min_size=1, max_size=2)))
    kind: DataType = STRING if text else BYTES
    elements = data.draw(
        st.lists(TEXTS if text else st.binary(max_size=6), min_size=int(np.prod(shape)), max_size=int(np.prod(shape)))
    )
    array = np.empty(shape, object)
    array.reshape(-1)[:] = elements
    compression = data.draw(
        st.sampled_from([(), (CodecSpec("gzip" if number == 3 else "numcodecs.gzip", {"level": 1}),)])
    )
    shards = tuple(2 * n for n in (2,) * len(shape)) if number == 3 and data.draw(st.booleans()) else None
    meta = array_meta(
        shape, kind, chunks=(2,) * len(shape), shards=shards, compression=compression,
        fill_value="" if text else b"", zarr_format=number,
    )  # fmt: skip
    with tempfile.TemporaryDirectory() as folder:
        found = zarr.open_array(write(folder, array, meta), mode="r")[...]
        assert np.asarray(found, object).tolist() == array.tolist()


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_missing_chunks_are_the_fill_value(data: st.DataObject) -> None:
    number: Literal[2, 3] = data.draw(st.sampled_from([2, 3]))
    dtype, fill = data.draw(
        st.sampled_from(
            [
                ("i8", -(2**63)),
                ("u8", 2**64 - 1),
                ("f4", np.nan),
                ("f8", -np.inf),
                ("f2", 0.5),
                ("c8", 1 - 2j),
                ("bool", True),
                ("M8[s]", np.datetime64("NaT", "s")),
                ("m8[ms]", np.timedelta64(-5, "ms")),
                ("S3", b"ab"),
                ("U2", "é"),
            ]
        )
    )
    meta = array_meta((5, 7), dtype, chunks=(2, 3), fill_value=fill, zarr_format=number, shards=None)
    expected = np.full((5, 7), np.asarray(fill).astype(dtype), dtype)
    some = np.zeros((2, 3), dtype)
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "x")
        made = create_array(DirectoryStore(path, writable=True), "", meta)
        made[2:4, 3:6] = some
        expected[2:4, 3:6] = some
        found = zarr.open_array(path, mode="r")[...]
        np.testing.assert_array_equal(found, expected)
        if dtype in ("i8", "u8", "f4", "f8", "f2", "bool"):
            ts = pytest.importorskip("tensorstore")
            spec = {"driver": "zarr3" if number == 3 else "zarr", "kvstore": {"driver": "file", "path": path}}
            np.testing.assert_array_equal(ts.open(spec).result().read().result(), expected)


def test_without_a_fill_value_zeros_are_written(tmp_path: Path) -> None:
    """zarr-python reads missing chunks of times as NaT when version 2 has no fill value."""
    for dtype in ("M8[s]", "i4", "S2"):
        data = np.zeros(6, dtype)
        data[4:] = np.ones(2, "i4").astype(dtype)
        path = write(str(tmp_path / dtype[:2]), data, array_meta((6,), dtype, chunks=(2,), zarr_format=2))
        assert {p.name for p in Path(path).iterdir()} >= {"0", "1", "2"}
        np.testing.assert_array_equal(zarr.open_array(path, mode="r")[...], data)
        made = create_array(
            DirectoryStore(tmp_path / f"zero-{dtype[:2]}", writable=True), "",
            array_meta((6,), "i4", chunks=(2,), zarr_format=2, fill_value=0),
        )  # fmt: skip
        made[...] = [0, 0, 0, 0, 1, 1]
        assert not (tmp_path / f"zero-{dtype[:2]}" / "0").exists()


def test_rectilinear_grids_are_read_where_they_are_known(tmp_path: Path) -> None:
    data = np.arange(77, dtype="i4").reshape(11, 7)
    plain = (CodecSpec("bytes", {"endian": "little"}), CodecSpec("zstd", {"level": 1, "checksum": False}))
    meta = array_meta(data.shape, "i4", chunks=(11, 7), compression=())
    grid = RectilinearGrid(((3, 3, 4, 1), (2, 5)))
    path = write(str(tmp_path), data, replace(meta, grid=grid, encodings=(Encoding(plain),)))
    document = json.loads((Path(path) / "zarr.json").read_text())
    assert document["chunk_grid"]["name"] == "rectilinear"
    try:
        found = zarr.open_array(path, mode="r")
    except (ValueError, NotImplementedError, KeyError) as error:
        pytest.skip(f"zarr-python {zarr.__version__} has no rectilinear grids: {error}")
    np.testing.assert_array_equal(found[...], data)


def test_bytes_of_one_element_types_of_version_3() -> None:
    kind = from_v3("r24")
    data = np.frombuffer(bytes(range(30)), "V3").reshape(5, 2)
    meta = array_meta(data.shape, kind, chunks=(2, 2), compression=())
    with tempfile.TemporaryDirectory() as folder:
        write(folder, data, meta)
