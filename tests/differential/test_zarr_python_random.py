"""Stores with random types, chunks, codecs and gaps, written by zarr-python: we read what it reads, slices included."""

from __future__ import annotations

import random
import warnings
from typing import Any

import numcodecs
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from byteatlas.array import Array, open_store

zarr = pytest.importorskip("zarr", minversion="3")

BOTH = ["?", "i1", "u1", "i2", "u4", "i8", "f2", "f4", "f8", "c8", "c16", "M8[ns]", "M8[D]", "m8[s]", "S5", "U4", "T"]
RECORD = [("a", "i4"), ("b", "f8"), ("c", "S3")]
INNER_RECORD = [("a", "<i4"), ("b", "<f8")]
"""Only little endian: zarr-python drops the byte order of fields in version 3 and reads other values than it wrote."""


def values(dtype: np.dtype[Any], shape: tuple[int, ...], rng: np.random.Generator) -> Any:
    count = int(np.prod(shape))
    match dtype.kind:
        case "V" if dtype.names:
            out = np.zeros(shape, dtype)
            for name in dtype.names:
                out[name] = values(dtype[name], shape, rng)
            return out
        case "S" | "U" | "T":
            longest = 7 if dtype.kind == "T" else dtype.itemsize // (4 if dtype.kind == "U" else 1)
            words = ["".join(chr(c) for c in rng.integers(65, 91, rng.integers(0, longest + 1))) for _ in range(count)]
            return np.array(words, dtype).reshape(shape)
        case "f" | "c":
            return rng.normal(0, 100, shape).astype(dtype)
        case "b":
            return rng.random(shape) < 0.5
    return rng.integers(0, 256, (count, dtype.itemsize), np.uint8).view(dtype).reshape(shape)


def codecs_v2(r: random.Random, dtype: np.dtype[Any]) -> dict[str, Any]:
    blosc = numcodecs.Blosc(r.choice(["lz4", "zstd", "blosclz"]), 5, r.choice([0, 1, 2, -1]))
    others = [
        numcodecs.Zlib(3),
        numcodecs.GZip(2),
        numcodecs.Zstd(3),
        numcodecs.LZ4(),
        numcodecs.BZ2(1),
        numcodecs.LZMA(),
    ]
    compressors = [None, blosc, *others]
    checksums = [numcodecs.CRC32(), numcodecs.Fletcher32(), numcodecs.Adler32()]
    filters: list[Any] = [numcodecs.Delta(dtype.str)] if dtype.kind in "iu" and r.random() < 0.3 else []
    if dtype.kind != "T":
        filters += [numcodecs.Shuffle(dtype.itemsize)] if r.random() < 0.3 else []
        filters += [r.choice(checksums)] if r.random() < 0.2 else []
    keys = {"name": "v2", "separator": r.choice("./")}
    found = {"compressors": r.choice(compressors), "order": r.choice("CF"), "chunk_key_encoding": keys}
    return found | ({"filters": filters} if filters else {})


def codecs_v3(r: random.Random, dtype: np.dtype[Any], chunks: tuple[int, ...]) -> dict[str, Any]:
    from zarr.codecs import BloscCodec, Crc32cCodec, GzipCodec, TransposeCodec, ZstdCodec

    blosc = BloscCodec(
        cname=r.choice(["lz4", "zstd"]), clevel=5, shuffle=r.choice(["shuffle", "noshuffle", "bitshuffle"])
    )
    gzip, checksum = GzipCodec(level=1), Crc32cCodec()
    chains = [[], [gzip], [ZstdCodec(level=1, checksum=True)], [blosc], [checksum], [gzip, checksum]]
    found: dict[str, Any] = {"compressors": r.choice(chains) or None}
    if chunks and r.random() < 0.4:
        found["shards"] = tuple(c * r.choice([1, 2, 3]) for c in chunks)
    if chunks and r.random() < 0.3:
        found["filters"] = [TransposeCodec(order=tuple(r.sample(range(len(chunks)), len(chunks))))]
    if r.random() < 0.4:
        found["chunk_key_encoding"] = {"name": r.choice(["default", "v2"]), "separator": r.choice("./")}
    return found


def pick_type(r: random.Random, version: int) -> np.dtype[Any]:
    kind = r.choice([*BOTH, "record"])
    if kind == "record":
        return np.dtype(RECORD if version == 2 else INNER_RECORD)
    if kind == "T":
        return np.dtypes.StringDType()
    return np.dtype(r.choice("<>") + kind) if kind not in ("?", "i1", "u1", "S5") else np.dtype(kind)


def write(store: Any, r: random.Random, rng: np.random.Generator) -> Any:
    """A store, and what zarr-python reads from it; None for what zarr-python does not take."""
    version = r.choice([2, 3])
    shape = tuple(r.choice([0, 1, 3, 7, 16, 33]) for _ in range(r.choice([0, 1, 1, 2, 2, 3])))
    chunks = tuple(r.choice([1, 2, 5, 8, 40]) for _ in shape)
    dtype = pick_type(r, version)
    options = codecs_v2(r, dtype) if version == 2 else codecs_v3(r, dtype, chunks)
    if dtype.kind not in "VT" and r.random() < 0.6:
        options["fill_value"] = values(dtype, (1,), rng)[0]
    try:
        array = zarr.create_array(store, shape=shape, dtype=dtype, chunks=chunks, zarr_format=version, **options)
        part = tuple(slice(*sorted((r.randint(0, n), r.randint(0, n)))) for n in shape)
        if 0 not in shape and all(s.start < s.stop for s in part):
            array[part if r.random() < 0.5 and part else ...] = values(dtype, shape, rng)[part if part else ...]
        return np.asarray(array[...])
    except (TypeError, ValueError, NotImplementedError):
        return None


def equal(found: Any, expected: Any) -> bool:
    found, expected = np.asarray(found), np.asarray(expected)
    if found.shape != expected.shape:
        return False
    if found.dtype.hasobject or expected.dtype.kind == "T":
        return bool((found.astype(object) == expected.astype(object)).all())
    return bool(found.tobytes() == expected.astype(found.dtype).tobytes())


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.integers(0, 2**32 - 1))
def test_random_stores(seed: int) -> None:
    r, rng = random.Random(seed), np.random.default_rng(seed)
    kept: dict[str, Any] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # zarr-python warns about names that are not in the specification
        expected = write(zarr.storage.MemoryStore(kept), r, rng)
    if expected is None:
        return
    array = open_store({key: value.to_bytes() for key, value in kept.items()})
    assert isinstance(array, Array)
    assert equal(array[...], expected)
    for _ in range(3 if array.ndim else 0):
        where = tuple(index(n, r) for n in array.shape)
        assert equal(array[where], expected[where]), where


def index(n: int, r: random.Random) -> int | slice:
    """Something to select along an axis of this length."""
    slices: list[int | slice] = [slice(None), slice(r.randint(0, n), None, r.randint(1, 3)), slice(None, None, -1)]
    return r.choice([*slices, r.randrange(-n, n)] if n else slices)
