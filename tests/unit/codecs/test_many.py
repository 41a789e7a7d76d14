"""Tiny chunks decoded together give what each of them gives by itself, or nothing at all."""

from __future__ import annotations

import gzip
import zlib
from typing import Any

import numpy as np
import pytest

from byteatlas.array import open_store
from byteatlas.array.writing.create import array_meta
from byteatlas.array.writing.write import create_array
from byteatlas.codecs import build_pipeline
from byteatlas.codecs.core.pipeline import Pipeline
from byteatlas.errors import CorruptChunk
from byteatlas.meta.dtypes import from_numpy
from byteatlas.meta.model import CodecSpec, Encoding
from byteatlas.store.memory import MemoryStore

RNG = np.random.default_rng(7)
BIG = CodecSpec("bytes", {"endian": "big"})
LITTLE = CodecSpec("bytes", {"endian": "little"})
SHUFFLE = CodecSpec("numcodecs.shuffle", {"elementsize": 4})
ZLIB = CodecSpec("numcodecs.zlib", {"level": 4})
GZIP = CodecSpec("gzip", {"level": 4})


def pipeline(*codecs: CodecSpec, dtype: str = "<f4", shape: tuple[int, ...] = (4, 8)) -> Pipeline:
    return build_pipeline(Encoding(codecs), from_numpy(np.dtype(dtype)), shape, None)


def chunks(of: Pipeline, count: int = 9) -> list[np.ndarray[Any, Any]]:
    return [RNG.integers(0, 99, of.shape).astype(of.dtype) for _ in range(count)]


@pytest.mark.parametrize(
    "codecs",
    [
        (LITTLE,),
        (BIG,),
        (LITTLE, ZLIB),
        (BIG, GZIP),
        (LITTLE, SHUFFLE, ZLIB),
        (BIG, SHUFFLE, ZLIB),
        (LITTLE, CodecSpec("numcodecs.shuffle", {"elementsize": 1}), ZLIB),
        (LITTLE, SHUFFLE, ZLIB, CodecSpec("numcodecs.fletcher32")),
        (BIG, CodecSpec("crc32c"), ZLIB),
        (LITTLE, ZLIB, CodecSpec("numcodecs.crc32", {"location": "start"})),
    ],
    ids=lambda codecs: "+".join(c.name for c in codecs),
)
def test_together_is_one_by_one(codecs: tuple[CodecSpec, ...]) -> None:
    of = pipeline(*codecs)
    arrays = chunks(of)
    encoded = [of.encode(a) for a in arrays]
    together = of.decode_many([memoryview(e) for e in encoded])
    assert together is not None
    assert together.dtype == of.dtype
    np.testing.assert_array_equal(together, np.stack(arrays))
    np.testing.assert_array_equal(together, np.stack([of.decode(e) for e in encoded]))


def test_large_chunks_and_other_codecs_go_one_by_one() -> None:
    large = pipeline(LITTLE, ZLIB, shape=(4096,))
    assert large.decode_many([large.encode(a) for a in chunks(large)]) is None
    other = pipeline(LITTLE, CodecSpec("numcodecs.bz2", {"level": 1}))
    assert other.decode_many([other.encode(a) for a in chunks(other)]) is None


@pytest.mark.parametrize("name", ["crc32c", "numcodecs.fletcher32", "numcodecs.adler32"])
def test_a_checksum_that_does_not_match_ends_the_batch(name: str) -> None:
    of = pipeline(LITTLE, CodecSpec(name))
    encoded = [of.encode(a) for a in chunks(of)]
    assert of.decode_many(encoded) is not None
    for odd in (encoded[3][:-1] + b"\x00", encoded[3][:3], encoded[3][:8] + b"\xff" + encoded[3][9:]):
        assert of.decode_many([*encoded[:3], odd, *encoded[4:]]) is None


def test_a_batch_with_something_odd_in_it_is_left_to_be_decoded_one_by_one() -> None:
    of = pipeline(LITTLE, GZIP)
    encoded = [of.encode(a) for a in chunks(of)]
    whole = of.decode(encoded[2]).tobytes()
    two_members = gzip.compress(whole[:40]) + gzip.compress(whole[40:])
    for odd in (
        two_members,
        encoded[2][:-9],
        b"",
        b"nonsense",
        gzip.compress(whole + b"x"),
        gzip.compress(bytes(1 << 22)),
    ):
        assert of.decode_many([*encoded[:2], odd, *encoded[3:]]) is None


def test_what_expands_far_is_not_inflated() -> None:
    of = pipeline(LITTLE, ZLIB)
    bomb = zlib.compress(bytes(256 << 20), 9)
    assert len(bomb) > 4096
    assert of.decode_many([bomb] * 4) is None
    with pytest.raises(CorruptChunk):
        of.decode(bomb)


@pytest.mark.parametrize("compression", [(), (ZLIB,), (SHUFFLE, ZLIB)], ids=["raw", "zlib", "shuffle"])
def test_the_chunk_at_fault_is_named(compression: tuple[CodecSpec, ...]) -> None:
    store = MemoryStore()
    meta = array_meta((64, 64), np.dtype("i4"), chunks=(8, 8), compression=compression, fill_value=-1)
    values = RNG.integers(0, 1000, (64, 64), np.int32)
    create_array(store, "", meta)[...] = values
    array: Any = open_store(store)
    store.delete("c/1/1")
    expected = values.copy()
    expected[8:16, 8:16] = -1
    np.testing.assert_array_equal(array[...], expected)
    store.set("c/3/2", b"no chunk")
    with pytest.raises(CorruptChunk) as caught:
        array[...]
    assert caught.value.chunk == (3, 2)
