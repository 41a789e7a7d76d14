"""``byteatlas.encodings`` in zarr-python: the encoding of each chunk, by its key."""

from __future__ import annotations

import asyncio
import pickle
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from tests.array_support import RAW, ZLIB, virtual

from byteatlas.errors import InvalidMetadata, Unsupported
from byteatlas.io.sources.memory import MemorySource
from byteatlas.manifest.model import VirtualArray, VirtualGroup
from byteatlas.manifest.ops.version3 import as_version3
from byteatlas.meta.model import ChunkKeys, CodecSpec, Encoding, GroupMeta, RegularGrid
from byteatlas.values import replace

zarr = pytest.importorskip("zarr")

from byteatlas.zarr_codecs.encodings import Encodings, flat_index, selected  # noqa: E402
from byteatlas.zarr_stores.reference import ReferenceZarrStore  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore:Numcodecs codecs are not")
DATA = np.arange(40 * 30, dtype="i4").reshape(40, 30)
BIG = (CodecSpec("bytes", {"endian": "big"}),)


def _opened(keys: ChunkKeys, encodings: list[Encoding]) -> tuple[Any, np.ndarray[Any, Any]]:
    node, file, expected = virtual(DATA, RegularGrid((4, 7)), encodings, missing=0.2)
    third = as_version3(VirtualGroup(GroupMeta({}, 3), {"1": node}))
    assert isinstance(third, VirtualGroup)
    array = VirtualArray(replace(third.arrays["1"].meta, keys=keys), third.arrays["1"].manifest)
    store = ReferenceZarrStore(replace(third, arrays={"1": array}), opener=lambda url: MemorySource(file, url))
    return zarr.open_group(store, mode="r")["1"], expected


@pytest.mark.parametrize("keys", [ChunkKeys("default", "/"), ChunkKeys("default", "."), ChunkKeys("v2", ".")])
@pytest.mark.parametrize("count", [1, 3])
def test_values(keys: ChunkKeys, count: int) -> None:
    encodings = [Encoding(RAW, (4, 7)), Encoding(ZLIB, (5, 9)), Encoding(BIG)][:count]
    array, expected = _opened(keys, encodings)
    assert [codec["name"] for codec in array.metadata.to_dict()["codecs"]] == ["byteatlas.encodings"]
    np.testing.assert_array_equal(array[...], expected)
    np.testing.assert_array_equal(array[3:17:2, -1], expected[3:17:2, -1])
    np.testing.assert_array_equal(array[5], expected[5])
    rows, columns = [1, 9, 39], [0, 29, 8]
    np.testing.assert_array_equal(array.oindex[rows, columns], expected[np.ix_(rows, columns)])
    np.testing.assert_array_equal(array.vindex[rows, columns], expected[rows, columns])


def test_a_codec_pickles_with_its_grid() -> None:
    array, _ = _opened(ChunkKeys("default", "/"), [Encoding(RAW, (4, 7)), Encoding(ZLIB, (5, 9))])
    array[0]
    (codec,) = pickle.loads(pickle.dumps(array.metadata.codecs))
    assert codec == array.metadata.codecs[0]
    assert codec._number("1/c/0/0") in (0, 1)


def test_keys_to_chunks() -> None:
    assert [flat_index(key, (3, 4)) for key in ("x/c/2/1", "c.2.1", "7/2.1", "a/b/2/1")] == [9, 9, 9, 9]
    for key in ("x/c/3/0", "x/c/0/-1", "x/c/0/x", "0"):
        with pytest.raises(InvalidMetadata):
            flat_index(key, (3, 4))


def test_a_chunk_that_is_too_small_is_refused() -> None:
    values = np.zeros((3, 4))
    assert selected(values, (slice(0, 3), slice(1, 4))).shape == (3, 3)
    for item in (slice(0, 4), np.array([0, 3]), 3, np.ones(4, bool)):
        with pytest.raises(InvalidMetadata):
            selected(values, (item, slice(0, 4)))


def test_where_the_key_is_not_told() -> None:
    codec = Encodings({"encodings": [{"codecs": [{"name": "bytes"}]}]})
    with pytest.raises(Unsupported, match="only codec"):
        asyncio.run(codec._decode_single(None, SimpleNamespace(shape=(1,))))
    with pytest.raises(Unsupported, match="only decodes"):
        asyncio.run(codec._encode_single(None, None))
    with pytest.raises(InvalidMetadata):
        Encodings({})


def test_a_map_that_does_not_fit_the_grid_is_refused() -> None:
    codec = Encodings({"encodings": [{"codecs": [{"name": "bytes"}]}], "map": {"runs": [[0, 3]]}})
    grid = SimpleNamespace(to_dict=lambda: {"name": "regular", "configuration": {"chunk_shape": (2,)}})
    codec.validate(shape=(6,), dtype=None, chunk_grid=grid)
    with pytest.raises(InvalidMetadata):
        codec.validate(shape=(8,), dtype=None, chunk_grid=grid)
