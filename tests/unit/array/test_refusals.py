"""What readers and writers of arrays refuse: selections, targets, references out of bounds, stores that change."""

from __future__ import annotations

import json
import struct
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from tests.array_support import RAW, opener, virtual
from tests.unit.codecs.refusals.tables import fault

from byteatlas.array import Array, Group, ReadOptions, open_node, open_store
from byteatlas.array import selection as sel
from byteatlas.array.reading.decoding.pipelines import Pipelines
from byteatlas.array.reading.fetching import fetch as fetching
from byteatlas.array.reading.fetching.pool import ReadScratch
from byteatlas.array.reading.locating.shard_index import check_layout, index_in, parse_index
from byteatlas.array.reading.locating.stored import StoreLocator
from byteatlas.array.reading.scattering.assign import allocate
from byteatlas.array.writing import create
from byteatlas.array.writing.copy import CopyOptions, copy
from byteatlas.array.writing.create import array_meta
from byteatlas.array.writing.documents import consolidate
from byteatlas.array.writing.write import create_array, create_group, open_writable
from byteatlas.codecs import ShardLayout, build_pipeline
from byteatlas.errors import (
    BadRequest,
    BadSelection,
    Conflict,
    CorruptChunk,
    FetchFailed,
    InvalidMetadata,
    NotFound,
    Unsupported,
)
from byteatlas.manifest.model import ChunkManifest, SourceInfo, VirtualArray, inline_manifest
from byteatlas.meta.dtypes import OBJECT, STRING, from_numpy, from_v3
from byteatlas.meta.model import ArrayMeta, CodecSpec, Encoding, RectilinearGrid, RegularGrid
from byteatlas.store.memory import MemoryStore
from byteatlas.store.nodes import StoredArray
from byteatlas.values import replace

DATA = np.arange(20, dtype="i4").reshape(4, 5)


def stored(shape: tuple[int, ...] = (4, 5), **more: Any) -> tuple[MemoryStore, Any]:
    store = MemoryStore()
    made = create_array(store, "x", array_meta(shape, "i4", chunks=tuple(max(1, n // 2) for n in shape), **more))
    made[...] = np.arange(int(np.prod(shape)), dtype="i4").reshape(shape)
    return store, made


def opened(store: MemoryStore) -> Array:
    root = open_store(store)
    assert isinstance(root, Group)
    found = root["x"]
    assert isinstance(found, Array)
    return found


# ------------------------------------------------------------------------------------------------------ selections

BASIC: list[tuple[Any, str]] = [
    ((None, 0), "a selection cannot add axes (None, newaxis): index the result instead"),
    ((..., ...), "a selection may have one ellipsis ('...') only"),
    ((0, 0, 0), "too many indices: the array has 2 axes, 3 were indexed"),
    ((0, 0, ..., 0), "too many indices: the array has 2 axes, 3 were indexed"),
    (True, "a boolean is no index here"),
    (np.True_, "a boolean is no index here"),
    ([0, 1], "an index array: use .oindex (each axis by itself) or .vindex (points)"),
    (1.5, "float is no index for axis 0"),
    ((0, b"x"), "bytes is no index for axis 1"),
    (4, "index 4 is out of bounds for axis 0 with size 4"),
    (-5, "index -5 is out of bounds for axis 0 with size 4"),
    ((0, 1 << 70), "is out of bounds for axis 1 with size 5"),
    (slice(0, 1, 0), "slice(0, 1, 0): slice step cannot be zero"),
    (slice("a", 1), "slice('a', 1, None): slice indices must be integers"),
]
ORTHOGONAL: list[tuple[Any, str]] = [
    (np.ones((4, 5), bool), "a boolean array for several axes selects points: use .vindex"),
    ((np.ones(3, bool), 0), "a mask of shape (3,) does not fit axis 0 of length 4"),
    ((slice(None), np.ones(4, bool)), "a mask of shape (4,) does not fit axis 1 of length 5"),
    ((0, [[1, 2]]), "an index array for axis 1 must have one axis, not 2"),
    ((0, [1.5]), "an index array for axis 1 must hold integers, not float64"),
    (([0, 4], 0), "index 4 is out of bounds for axis 0 with size 4"),
    (([0, -5], 0), "index -5 is out of bounds for axis 0 with size 4"),
    ((np.array([2**64 - 1], "u8"), 0), "index 18446744073709551615 is out of bounds for axis 0"),
    ((True, 0), "a boolean is no index here"),
]
POINTS: list[tuple[Any, str]] = [
    (np.ones((4, 4), bool), "a mask of shape (4, 4) does not fit an array of shape (4, 5)"),
    (([0],), "coordinate selection of an array of 2 axes needs one index array for each"),
    (([0, 1], [0, 1, 2]), "index arrays of shapes [(2,), (3,)] do not broadcast"),
    (([0.5], [0]), "an index array for axis 0 must hold integers, not float64"),
    (([0], [5]), "index 5 is out of bounds for axis 1 with size 5"),
    (([-5], [0]), "index -5 is out of bounds for axis 0 with size 4"),
]
BLOCKS: list[tuple[Any, str]] = [
    (slice(None, None, 2), "block selection takes slices with step 1 only"),
    (2, "index 2 is out of bounds for axis 0 with size 2"),
    ((0, 0, 0), "too many indices: the array has 2 axes, 3 were indexed"),
]


@pytest.mark.parametrize(
    ("way", "selection", "words"),
    [("basic", *case) for case in BASIC]
    + [("oindex", *case) for case in ORTHOGONAL]
    + [("vindex", *case) for case in POINTS]
    + [("blocks", *case) for case in BLOCKS],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_selections_that_do_not_fit(way: str, selection: Any, words: str) -> None:
    array = opened(stored()[0])
    with fault(BadSelection, words):
        _ = array[selection] if way == "basic" else getattr(array, way)[selection]


def test_selections_just_within_the_bounds() -> None:
    array = opened(stored()[0])
    assert array[3, -5] == 15
    assert array.oindex[[-4, 3], 4].tolist() == [4, 19]
    assert array.vindex[[-4, 3], [0, 4]].tolist() == [0, 19]
    assert array.vindex[np.zeros((4, 5), bool)].tolist() == []
    assert array.blocks[-1, 1:2].tolist() == DATA[2:, 2:4].tolist()
    assert array.blocks[1:0].shape == (0, 5)
    assert sel.coordinates((), ()) == ([], ())
    assert array[::-2, 3:0:-1].tolist() == DATA[::-2, 3:0:-1].tolist()


def test_targets_that_do_not_fit() -> None:
    array = opened(stored()[0])
    out = np.zeros((4, 5), "i4")
    array.read(..., out)
    assert out.tolist() == DATA.tolist()
    wrong = np.zeros((4, 5), "i4")
    wrong.flags.writeable = False
    for given, words in (
        (np.zeros((5, 4), "i4"), "out has shape (5, 4), the selection (4, 5)"),
        ([0], "out has shape None, the selection (4, 5)"),
        (np.zeros((4, 5), "i8"), "out has dtype int64, the array int32"),
        (wrong, "out is read-only"),
    ):
        with fault(BadRequest, words):
            array.read(..., given)  # type: ignore[arg-type]


def test_results_beyond_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    with fault(BadSelection, "the selection (9,) of int32 takes 36 bytes; read it in parts"):
        allocate((9,), np.dtype("i4"), ReadOptions(most_result=35), BadSelection)
    assert allocate((9,), np.dtype("i4"), ReadOptions(most_result=36), BadSelection).shape == (9,)

    def full(*given: Any) -> Any:
        raise MemoryError("nothing left")

    monkeypatch.setattr(np, "empty", full)
    with fault(BadSelection, "takes 36 bytes: nothing left"):
        allocate((9,), np.dtype("i4"), ReadOptions(), BadSelection)


def test_arrays_without_axes_and_fields() -> None:
    store = MemoryStore()
    create_array(store, "x", array_meta((), "i4"))
    array = opened(store)
    with pytest.raises(TypeError, match=r"len\(\) of an array without axes"):
        len(array)
    with fault(BadSelection, "no field ('a',) in int32"):
        _ = array["a"]
    with pytest.raises(ValueError, match="reading an array makes a copy"):
        array.__array__(copy=False)


# ------------------------------------------------------------------------------------------------------ places


def test_groups_are_asked_by_name() -> None:
    root = open_store(stored()[0])
    assert isinstance(root, Group)
    for name, words in (("y", "no array or group 'y' in '/'"), (5, "no member 5: names are text")):
        with fault(NotFound, words):
            _ = root[name]  # type: ignore[index]
    with fault(NotFound, "the root is an array"):
        open_node(virtual(DATA, RegularGrid((2, 5)), [Encoding(RAW)])[0], path="x")
    with fault(BadRequest, "dict is no virtual array or group"):
        open_node({})  # type: ignore[arg-type]


def meta(shape: tuple[int, ...] = (4,), chunk: tuple[int, ...] = (2,)) -> ArrayMeta:
    return ArrayMeta(shape, from_numpy(np.dtype("<i4")), RegularGrid(chunk), (Encoding(RAW),), np.int32(0))


def test_manifests_of_another_grid() -> None:
    with fault(InvalidMetadata, "the manifest is for a grid of (3,), the array has (2,)"):
        open_node(VirtualArray(meta(), inline_manifest((3,), {0: bytes(8)})))


WHOLE = 2**64 - 1
REFERENCES: list[tuple[int, int, int, str]] = [
    (0, 1 << 63, 8, "a reference has an offset or length beyond 2**63"),
    (0, 0, 1 << 63, "a reference has an offset or length beyond 2**63"),
    (0, 0, WHOLE - 1, "a reference has an offset or length beyond 2**63"),
    (0, 2**63 - 4, 8, "a reference ends beyond 2**63"),
    (1, 0, 8, "a reference names a source that the manifest does not have"),
    (-3, 0, 8, "a reference names a source that the manifest does not have"),
]


@pytest.mark.parametrize(("source", "offset", "length", "words"), REFERENCES)
def test_references_out_of_bounds(source: int, offset: int, length: int, words: str) -> None:
    columns = np.array([source], np.int32), np.array([offset], "u8"), np.array([length], "u8")
    manifest = ChunkManifest((1,), (SourceInfo("http://host/a"),), *columns)
    array = open_node(VirtualArray(meta((2,)), manifest), opener(bytes(64)))
    assert isinstance(array, Array)
    with fault(InvalidMetadata, words):
        _ = array[...]


def test_references_within_bounds() -> None:
    for source, length in ((0, 8), (0, WHOLE)):
        columns = np.array([source], np.int32), np.array([0], "u8"), np.array([length], "u8")
        manifest = ChunkManifest((1,), (SourceInfo("http://host/a"),), *columns)
        array = open_node(VirtualArray(meta((2,)), manifest), opener(struct.pack("<2i", 5, 6)))
        assert isinstance(array, Array)
        assert array[...].tolist() == [5, 6]


def layout(inner: int = 2, shape: tuple[int, ...] = (4,), **change: Any) -> ShardLayout:
    little = [{"name": "bytes", "configuration": {"endian": "little"}}]
    codec = CodecSpec("sharding_indexed", {"chunk_shape": [inner], "codecs": little, "index_codecs": little, **change})
    found = build_pipeline(Encoding((codec,)), from_v3("uint8"), shape, 0).shard
    assert found is not None
    return found


def index(*entries: tuple[int, int]) -> bytes:
    return b"".join(struct.pack("<QQ", *e) for e in entries)


EMPTY = (2**64 - 1, 2**64 - 1)


def test_entries_of_shard_indexes() -> None:
    found = parse_index(layout(), index((0, 2), EMPTY), 36)
    assert (found.offset.tolist(), found.length.tolist()) == ([0, -1], [2, 0])
    assert parse_index(layout(), index((36, 0), (34, 2)), 36).offset.tolist() == [36, 34]
    for entry in (
        (35, 2),
        (37, 0),
        (0, 37),
        (1 << 63, 2),
        (2, 1 << 63),
        (2**64 - 1, 2),
        (2, 2**64 - 1),
        (2**64 - 8, 16),
    ):
        with fault(CorruptChunk, f"inner chunk 1 at {entry[0]}+{entry[1]} lies outside of the shard (36 bytes)"):
            parse_index(layout(), index((0, 2), entry), 36)
    for place in ("start", "end"):
        with fault(CorruptChunk, "31 bytes cannot hold a shard index of 32"):
            index_in(layout(index_location=place), memoryview(bytes(31)))
    begin = index((32, 2), EMPTY) + b"ab"
    assert index_in(layout(index_location="start"), memoryview(begin)).offset.tolist() == [32, -1]
    assert index_in(layout(), memoryview(b"ab" + index((0, 2), EMPTY))).offset.tolist() == [0, -1]


def test_indexes_that_are_too_large() -> None:
    large = layout(1, ((1 << 26) + 1,))
    assert check_layout(layout(1, (1 << 26,))).index_nbytes == 1 << 30
    with fault(Unsupported, "a shard index of 1073741840 bytes", "[too-large]"):
        check_layout(large)


@pytest.mark.parametrize("data", [b"", b"\0", bytes(31)])
def test_a_shard_of_no_bytes_is_damage_and_not_the_fill_value(data: bytes) -> None:
    store = MemoryStore()
    made = create_array(store, "x", array_meta((4,), "i4", chunks=(2,), shards=(4,), fill_value=7))
    made[...] = [1, 2, 3, 4]
    store.set("x/c/0", data)
    array = opened(store)
    for selection in (..., slice(0, 1), slice(3, 4)):
        with fault(CorruptChunk, "array 'x'", f"{len(data)} bytes"):
            _ = array[selection]
    store.delete("x/c/0")
    assert opened(store)[...].tolist() == [7] * 4


def test_a_chunk_of_no_bytes_is_damage_and_not_the_fill_value() -> None:
    for compression in ([], [CodecSpec("gzip", {"level": 1})]):
        store = MemoryStore()
        made = create_array(store, "x", array_meta((4,), "i4", chunks=(2,), compression=compression, fill_value=7))
        made[...] = [1, 2, 3, 4]
        store.set("x/c/0", b"")
        with fault(CorruptChunk, "array 'x', chunk (0,)"):
            _ = opened(store)[...]


@pytest.mark.parametrize(
    ("offset", "length", "words"),
    [
        (-1, 4, "a reference has an offset or length beyond 2**63"),
        (1, -4, "a reference has an offset or length beyond 2**63"),
        (2**63 - 4, 4, "a reference ends beyond 2**63"),
        (2**63 - 1, 1, "a reference ends beyond 2**63"),
        (2**63 - 5, 4, None),
        (0, 2**63 - 1, None),
    ],
)
def test_ranges_beyond_2_to_63(offset: int, length: int, words: str | None) -> None:
    ranges: Any = SimpleNamespace(offset=np.array([0, offset]), length=np.array([4, length]))
    if words is None:
        fetching._check(ranges)
        return
    with fault(InvalidMetadata, words):
        fetching._check(ranges)


def test_buffers_of_absurd_size() -> None:
    scratch = ReadScratch(100)
    assert scratch.array((25,), np.dtype("i4")).shape == (25,)
    with fault(Unsupported, "a chunk of shape (26,) takes 104 bytes", "[too-large]"):
        scratch.array((26,), np.dtype("i4"))


def test_columns_of_encodings() -> None:
    both = replace(meta(), encodings=(Encoding(RAW), Encoding(RAW)))
    store = MemoryStore()
    with fault(InvalidMetadata, "x: 3 encodings for 2 chunks"):
        StoreLocator.of(store, "x", StoredArray(both, np.zeros(3, np.uint16)))
    locator = StoreLocator.of(store, "x", StoredArray(both, np.array([0, 1], np.uint16)))
    with fault(InvalidMetadata, "x: chunk 1 is not inline"):
        locator.inline(1)
    with fault(FetchFailed, "was there a moment ago and is no more"):
        locator.sources.open(0)
    with fault(InvalidMetadata, "chunk 1 has encoding 2, the array 2"):
        Pipelines(both, None).at(2, 1)


# ------------------------------------------------------------------------------------------------------ writing

NEW: list[tuple[dict[str, Any], str]] = [
    ({"zarr_format": 4}, "zarr_format is 4; known: 2, 3"),
    ({"zarr_format": True}, "zarr_format is True; known: 2, 3"),
    ({"shape": 4}, "shape is int; whole numbers were expected, one for each axis"),
    ({"shape": "44"}, "shape is str; whole numbers were expected, one for each axis"),
    ({"shape": (1.5, 2)}, "shape: whole numbers were expected, one for each axis"),
    ({"shape": (-1, 2)}, "shape is (-1, 2); no number may be below 0"),
    ({"chunks": (0, 2)}, "chunks is (0, 2); no number may be below 1"),
    ({"chunks": (2,)}, "chunks (2,) for shape (4, 5)"),
    ({"chunks": (2, 5), "shards": (3, 5)}, "shards of shape (3, 5) are no multiple of chunks of shape (2, 5)"),
    ({"chunks": (2, 5), "shards": (4,)}, "shards of shape (4,) are no multiple of chunks of shape (2, 5)"),
    ({"chunks": (2, 5), "shards": (4, 5), "zarr_format": 2}, "shards need Zarr version 3"),
    ({"dtype": "nonsense"}, "dtype is 'nonsense'; a NumPy type was expected"),
    ({"dtype": OBJECT}, "choose the codecs of an array of byteatlas.object"),
    ({"compression": "zstd"}, "compression is a list of CodecSpec"),
    ({"compression": ["zstd"]}, "compression is a list of CodecSpec"),
    ({"fill_value": "x"}, "fill value 'x' does not fit int32"),
    ({"fill_value": 1 << 40}, "fill value 1099511627776"),
    ({"dtype": "u1", "fill_value": 256}, "fill value 256"),
    ({"dtype": "u1", "fill_value": -1}, "fill value -1"),
]


@pytest.mark.parametrize(("changes", "words"), NEW, ids=[words for _, words in NEW])
def test_arrays_that_cannot_be_made(changes: dict[str, Any], words: str) -> None:
    known = {"shape": (4, 5), "dtype": "i4", **changes}
    with fault(BadRequest, words):
        array_meta(known.pop("shape"), known.pop("dtype"), **known)


def test_values_that_do_not_fit() -> None:
    store, array = stored()
    for values, words in ((np.zeros((3, 5)), "values of shape (3, 5) do not fit a selection of shape (4, 5)"),):
        with fault(BadSelection, words):
            array[...] = values
    with fault(BadRequest, "values cannot be cast to int32: "):
        array[...] = "x"
    with fault(BadRequest, "for an array of int32"):
        array[...] = np.zeros((4, 5), [("a", "i4")])
    assert opened(store)[...].tolist() == DATA.tolist()


def test_shapes_that_do_not_fit() -> None:
    store, array = stored()
    for shape in ((4,), (4, -1)):
        with fault(BadRequest, f"{shape} is no shape for an array of 2 axes"):
            array.resize(shape)
    for values, axis, words in (
        (np.zeros(5), 0, "cannot append an array of 1 axes along axis 0 of (4, 5)"),
        (np.zeros((1, 5)), 2, "cannot append an array of 2 axes along axis 2 of (4, 5)"),
        (np.zeros((1, 5)), -1, "cannot append an array of 2 axes along axis -1 of (4, 5)"),
        (np.zeros((1, 4)), 0, "cannot append shape (1, 4) to shape (4, 5) along axis 0"),
    ):
        with fault(BadRequest, words):
            array.append(values, axis)
    edges = replace(array_meta((4,), "i4"), grid=RectilinearGrid(((1, 3),)))
    uneven = create_array(store, "uneven", edges)
    with fault(Unsupported, "uneven: resizing an array with a rectilinear grid", "[rectilinear]"):
        uneven.resize((8,))


def test_arrays_that_cannot_be_written() -> None:
    store, _ = stored()
    plain = array_meta((4,), "i4")
    several = replace(plain, encodings=plain.encodings * 2)
    casting = replace(plain, encodings=(replace(plain.encodings[0], cast=(CodecSpec("bitround"),)),))
    for other in (several, casting):
        with fault(Unsupported, "y: an array with several encodings can be read and referenced, not written", "[enc"):
            create_array(store, "y", other)
    with fault(Unsupported, "y: version 1 is read only", "[zarr-v1]"):
        create_array(store, "y", replace(plain, zarr_format=1))
    with fault(Conflict, "cannot write: ", "has a node at '/x' already"):
        create_array(store, "x", plain)
    create_group(store, "g")
    with fault(BadRequest, "'/g' is a group"):
        open_writable(store, "g")
    with fault(BadRequest, "an array has no members to consolidate"):
        alone = MemoryStore()
        create_array(alone, "", plain)
        consolidate(alone)


def test_stored_arrays_of_several_encodings_are_read_only() -> None:
    store, _ = stored()
    little = {"name": "bytes", "configuration": {"endian": "little"}}
    known = {"encodings": [{"codecs": [little]}, {"codecs": [little, {"name": "gzip"}]}]}
    document = {
        "zarr_format": 3, "node_type": "array", "shape": [4], "data_type": "int32", "fill_value": 0,
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [2]}}, "chunk_key_encoding": "default",
        "codecs": [{"name": "byteatlas.encodings", "configuration": {**known, "map": {"runs": [[0, 1], [1, 1]]}}}],
    }  # fmt: skip
    store.set("s/zarr.json", json.dumps(document).encode())
    with fault(Unsupported, "s: an array with several encodings can be read and referenced, not written"):
        open_writable(store, "s")


COPIES: list[tuple[dict[str, Any], str]] = [
    ({"chunks": {"x": (2,)}}, "x: chunks (2,) for an array of 2 axes"),
    ({"chunks": (0, 2)}, "chunks is (0, 2); no number may be below 1"),
    ({"chunks": {"x": (0, 2)}}, "(0, 2)"),
    (
        {"chunks": (2, 5), "shards": (3, 5)},
        "x: shards of shape (3, 5) need version 3 and a multiple of the chunks (2, 5)",
    ),
    ({"chunks": (2, 5), "shards": (4, 5), "zarr_format": 2}, "x: shards of shape (4, 5) need version 3"),
]


@pytest.mark.parametrize(("options", "words"), COPIES, ids=[words for _, words in COPIES])
def test_copies_that_make_no_sense(options: dict[str, Any], words: str) -> None:
    root = open_store(stored()[0])
    with fault(BadRequest, words):
        copy(root, MemoryStore(), CopyOptions(**options))


def test_text_has_codecs_of_its_own() -> None:
    assert create.to_bytes_codec(STRING) == CodecSpec("vlen-utf8")
    assert create.to_bytes_codec(from_v3("bytes")) == CodecSpec("vlen-bytes")
    assert create.default_chunks((10, 0, 3), 8) == (10, 1, 3)
