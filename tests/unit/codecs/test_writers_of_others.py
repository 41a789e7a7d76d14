"""What other writers put into configurations and chunks: read as their own libraries read it."""

import json
import struct
from typing import Any

import imagecodecs
import numcodecs
import numpy as np
import pytest

import byteatlas as ba
from byteatlas.codecs import build_pipeline
from byteatlas.codecs.core.encoding_only import decoding_ignores
from byteatlas.errors import CorruptChunk, InvalidMetadata
from byteatlas.meta.dtypes import from_numpy, from_v3
from byteatlas.meta.model import CodecSpec, Encoding
from byteatlas.types import JSON

LITTLE = CodecSpec("bytes", {"endian": "little"})
INTS = np.arange(12, dtype="<i4").reshape(3, 4)


def stored(dtype: str, shape: list[int], chunk: bytes, **members: JSON) -> Any:
    """A version 2 array of one chunk; members that begin with _ are attributes."""
    document: dict[str, JSON] = {
        "dtype": dtype,
        "shape": shape,
        "chunks": shape,
        "fill_value": None,
        "order": "C",
        "filters": None,
    }
    document = {"compressor": None, **document, "zarr_format": 2}
    document |= {k: v for k, v in members.items() if not k.startswith("_")}
    attributes = {k: v for k, v in members.items() if k.startswith("_")}
    store = {".zarray": json.dumps(document).encode(), ".zattrs": json.dumps(attributes).encode()}
    found = ba.open({**store, ".".join("0" * len(shape)): chunk})
    assert isinstance(found, ba.Array)
    return found[...]


# n5_default


def n5_block(array: Any) -> bytes:
    """A block as N5 has it: the lengths of ``array``'s axes, the first axis varying fastest (N5 specification)."""
    body = array.astype(array.dtype.newbyteorder(">")).tobytes(order="F")
    return struct.pack(f">HH{array.ndim}I", 0, array.ndim, *array.shape) + bytes(body)


def n5(*codecs: CodecSpec, shape: tuple[int, ...]) -> Any:
    inner: list[JSON] = [{"name": c.name, "configuration": dict(c.configuration)} for c in codecs]
    return build_pipeline(
        Encoding((CodecSpec("n5_default", {"codecs": inner}),)), from_numpy(np.dtype("i4")), shape, -1
    )


@pytest.mark.parametrize("given", [(3, 4, 5), (3, 2, 5), (1, 4, 2), (4, 4, 5)])
def test_n5_headers_have_the_lengths_in_the_order_of_the_array(given: tuple[int, ...]) -> None:
    block = np.arange(np.prod(given), dtype="i4").reshape(given)
    big = CodecSpec("bytes", {"endian": "big"})
    target = n5(CodecSpec("transpose", {"order": [2, 1, 0]}), big, shape=(3, 4, 5))
    wanted = np.full((3, 4, 5), -1, "i4")
    inside = tuple(slice(0, min(a, b)) for a, b in zip(given, (3, 4, 5), strict=True))
    wanted[inside] = block[inside]
    assert np.array_equal(target.decode(n5_block(block)), wanted)
    assert target.encode(np.arange(60, dtype="i4").reshape(3, 4, 5)) == n5_block(
        np.arange(60, dtype="i4").reshape(3, 4, 5)
    )


def test_n5_blocks_without_a_transposition_have_their_axes_reversed() -> None:
    target = n5(CodecSpec("bytes", {"endian": "big"}), shape=(3, 4))
    assert np.array_equal(target.decode(n5_block(INTS.T)), INTS)


# shuffle


def test_shuffle_of_size_zero_is_nothing_to_numcodecs_and_the_item_size_to_netcdf() -> None:
    raw, shuffled = INTS.tobytes(), numcodecs.Shuffle(4).encode(INTS)
    zero: list[JSON] = [{"elementsize": 0, "id": "shuffle"}]
    assert np.array_equal(stored("<i4", [3, 4], raw, filters=zero), INTS)
    note: JSON = {"dimension_references": ["/y", "/x"], "storage": "chunked"}
    for mark in ({"_nczarr_array": note}, {"_NCZARR_ARRAY": note}):
        assert np.array_equal(stored("<i4", [3, 4], bytes(shuffled), filters=zero, **mark), INTS)


def test_netcdfs_pure_zarr_mode_leaves_no_note_but_its_own_order_of_members() -> None:
    document: JSON = {
        "zarr_format": 2, "shape": [3, 4], "dtype": "<i4", "chunks": [3, 4], "fill_value": 0, "order": "C",
        "compressor": None, "filters": [{"id": "shuffle", "elementsize": 0}],
    }  # fmt: skip
    found = ba.open({".zarray": json.dumps(document).encode(), "0.0": bytes(numcodecs.Shuffle(4).encode(INTS))})
    assert isinstance(found, ba.Array)
    assert np.array_equal(found[...], INTS)


@pytest.mark.parametrize("first", [("shape", "zarr_format"), ("chunks", "compressor", "dtype"), ("dtype",)])
def test_documents_that_begin_otherwise_are_not_netcdfs(first: tuple[str, ...]) -> None:
    members: dict[str, JSON] = {
        "shape": [3, 4], "dtype": "<i4", "chunks": [3, 4], "fill_value": 0, "order": "C", "zarr_format": 2,
        "compressor": None, "filters": [{"id": "shuffle", "elementsize": 0}],
    }  # fmt: skip
    document = {key: members[key] for key in (*first, *members)}
    found = ba.open({".zarray": json.dumps(document).encode(), "0.0": INTS.tobytes()})
    assert isinstance(found, ba.Array)
    assert np.array_equal(found[...], INTS)


def test_shuffle_without_a_size_is_four_in_version_2_and_the_items_in_version_3() -> None:
    data = np.arange(6, dtype="<i8")
    assert np.array_equal(
        stored("<i8", [6], bytes(numcodecs.Shuffle().encode(data)), filters=[{"id": "shuffle"}]), data
    )
    target = build_pipeline(Encoding((LITTLE, CodecSpec("numcodecs.shuffle"))), from_numpy(data.dtype), (6,), 0)
    assert np.array_equal(target.decode(numcodecs.Shuffle(8).encode(data)), data)


# Parameters that only encoding uses


@pytest.mark.parametrize(
    ("codec", "packed", "bad"),
    [
        (CodecSpec("zstd", {"level": 100, "checksum": "NO"}), numcodecs.Zstd(1), None),
        (CodecSpec("zstd", {"level": -999999}), numcodecs.Zstd(1), "level"),
        (CodecSpec("gzip", {"level": 10}), numcodecs.GZip(1), "level"),
        (CodecSpec("numcodecs.zlib", {"level": 22}), numcodecs.Zlib(1), "level"),
        (CodecSpec("numcodecs.bz2", {"level": 0}), numcodecs.BZ2(1), "level"),
        (CodecSpec("numcodecs.lzma", {"preset": 77, "check": 99}), numcodecs.LZMA(), "."),
        (CodecSpec("numcodecs.lz4", {"acceleration": -(1 << 40)}), numcodecs.LZ4(), None),
        (
            CodecSpec("blosc", {"cname": "zstd", "clevel": 12, "shuffle": 7, "blocksize": -1, "typesize": 0}),
            numcodecs.Blosc("lz4"), ".",
        ),
        (CodecSpec("numcodecs.bitround", {"keepbits": 77}), None, "keepbits"),
        (CodecSpec("numcodecs.quantize", {"digits": 1 << 30}), None, "digits"),
    ],
)  # fmt: skip
def test_parameters_of_encoders_do_not_prevent_decoding(codec: CodecSpec, packed: Any, bad: str | None) -> None:
    data = INTS.astype("<f4")
    target = build_pipeline(Encoding((LITTLE, codec)), from_numpy(data.dtype), data.shape, 0)
    assert np.array_equal(target.decode(packed.encode(data) if packed else data.tobytes()), data)
    if bad is None:
        assert np.array_equal(target.decode(target.encode(data)), data)
    else:
        with pytest.raises(InvalidMetadata, match=bad):
            target.encode(data)


@pytest.mark.parametrize(
    ("word", "opposite"),
    [("NO", "YES"), ("no", "yes"), ("False", "True"), ("OFF", "ON"), ("0", "1"), (0, 1), (False, True)],
)
def test_truth_values_in_strings(word: JSON, opposite: JSON) -> None:
    data = INTS.tobytes()
    raw = CodecSpec("numcodecs.imagecodecs_deflate", {"level": 1, "raw": word})
    target = build_pipeline(Encoding((LITTLE, raw)), from_numpy(INTS.dtype), INTS.shape, 0)
    assert np.array_equal(target.decode(imagecodecs.deflate_encode(data, raw=False)), INTS)
    raw = CodecSpec("numcodecs.imagecodecs_deflate", {"level": 1, "raw": opposite})
    target = build_pipeline(Encoding((LITTLE, raw)), from_numpy(INTS.dtype), INTS.shape, 0)
    assert np.array_equal(target.decode(imagecodecs.deflate_encode(data, raw=True)), INTS)


def test_what_is_no_truth_value_is_refused() -> None:
    raw = CodecSpec("numcodecs.imagecodecs_deflate", {"raw": "perhaps"})
    with pytest.raises(InvalidMetadata, match="raw"):
        build_pipeline(Encoding((LITTLE, raw)), from_numpy(INTS.dtype), INTS.shape, 0)


def test_raw_is_never_free() -> None:
    for name in ("deflate", "zlib", "lzma", "lz4", "gzip", "zstd", "brotli"):
        for prefix in ("numcodecs.imagecodecs_", "imagecodecs_"):
            assert not decoding_ignores(prefix + name) & {"raw", "header", "format"}
    assert "raw" not in decoding_ignores("numcodecs.msgpack2")


# NCZarr's szip


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize("shuffled", [False, True])
def test_szip_of_netcdf_takes_its_scanline_from_the_dimension(order: str, shuffled: bool) -> None:
    data = (np.arange(20 * 30) % 251).astype(f"{order}i4").reshape(20, 30)
    mask = 4 | 1 | 128 | (16 if order == ">" else 8)
    body = bytes(numcodecs.Shuffle(4).encode(data)) if shuffled else data.tobytes()
    packed = imagecodecs.szip_encode(body, mask, 16, 32, 40, header=True)  # 40: the dimension, not the chunk's 30
    filters: list[JSON] = [{"elementsize": "0", "id": "shuffle"}] if shuffled else []
    document = {
        "shape": [40, 40], "chunks": [20, 30], "dtype": data.dtype.str, "fill_value": 0, "order": "C",
        "filters": filters, "compressor": {"id": "szip", "mask": 141, "pixels-per-block": 16}, "zarr_format": 2,
    }  # fmt: skip
    attributes = {"_nczarr_array": {"dimension_references": ["/y", "/x"]}}
    store = {".zarray": json.dumps(document).encode(), ".zattrs": json.dumps(attributes).encode(), "0.0": packed}
    found = ba.open(store)
    assert isinstance(found, ba.Array)
    assert np.array_equal(found[:20, :30], data)


# pcodec, zfpy


def test_pcodec_of_half_precision_pairs() -> None:
    halves = np.array([1, -2, 0.5, np.inf, -0.0, 65504, 3, 4], "f2")
    data = imagecodecs.pcodec_encode(halves, 8)
    target = build_pipeline(Encoding((CodecSpec("numcodecs.pcodec"),)), from_v3("complex_float16"), (2, 2), None)
    wanted = halves.astype("f4").view("c8").reshape(2, 2)
    assert target.decode(data).tobytes() == wanted.tobytes()
    assert target.decode(target.encode(wanted)).tobytes() == wanted.tobytes()


def test_zfpy_streams_of_flattened_chunks() -> None:
    data = np.linspace(0, 1, 24, dtype="f8").reshape(2, 3, 4)
    for given in (data, data.reshape(-1)):
        packed = imagecodecs.zfp_encode(given, header=True)
        target = build_pipeline(
            Encoding((CodecSpec("numcodecs.zfpy", {"mode": 99}),)), from_numpy(data.dtype), (2, 3, 4), 0
        )
        assert np.array_equal(target.decode(packed), data)
    with pytest.raises(CorruptChunk, match="header"):
        target.decode(imagecodecs.zfp_encode(data.reshape(4, 6), header=True))


# Codecs of objects on other types


@pytest.mark.parametrize("codec", [numcodecs.JSON(), numcodecs.MsgPack()])
@pytest.mark.parametrize("place", ["filters", "compressor"])
@pytest.mark.parametrize("values", [INTS, INTS % 2 == 0, INTS / 7, INTS.astype("<U3"), INTS.astype(">u8")])
def test_lists_of_plain_types(codec: Any, place: str, values: Any) -> None:
    members: dict[str, JSON] = (
        {"filters": [codec.get_config()]} if place == "filters" else {"compressor": codec.get_config()}
    )
    found = stored(values.dtype.str, [3, 4], bytes(codec.encode(values)), **members)
    assert found.dtype == values.dtype.newbyteorder("=")
    assert np.array_equal(found, values)
    store: dict[str, Any] = {}
    ba.copy(ba.open({".zarray": json.dumps({
        "shape": [3, 4], "chunks": [3, 4], "dtype": values.dtype.str, "fill_value": None, "order": "C",
        "filters": None, "compressor": None, "zarr_format": 2, **members,
    }).encode(), "0.0": bytes(codec.encode(values))}), store)  # fmt: skip
    copied = ba.open(store)
    assert isinstance(copied, ba.Array)
    assert np.array_equal(copied[...], values)


def test_lists_of_another_type_are_damage() -> None:
    with pytest.raises(CorruptChunk, match="<f8"):
        stored("<i4", [3, 4], bytes(numcodecs.JSON().encode(INTS / 7)), filters=[{"id": "json2"}])


def test_categories_in_the_place_of_the_compressor() -> None:
    labels = np.array(["a", "bb", "a", ""])
    codec = numcodecs.Categorize(["a", "bb"], dtype="<U2")
    found = stored("<U2", [4], bytes(codec.encode(labels)), compressor=codec.get_config())
    assert found.tolist() == ["a", "bb", "a", ""]


# Filters of numcodecs in version 3 without types


@pytest.mark.parametrize(
    ("name", "configuration"),
    [
        ("fixedscaleoffset", {"offset": 0, "scale": 10}),
        ("quantize", {"digits": 3}),
        ("astype", {"encode_dtype": "<f4"}),
    ],
)
def test_filters_of_version_3_take_the_types_of_the_array(name: str, configuration: dict[str, JSON]) -> None:
    data = np.linspace(0, 1, 8)
    named = {"fixedscaleoffset": "dtype", "quantize": "dtype", "astype": "decode_dtype"}[name]
    peer = numcodecs.get_codec({"id": name, named: "<f8", **configuration})
    target = build_pipeline(
        Encoding((CodecSpec(f"numcodecs.{name}", configuration), LITTLE)), from_numpy(data.dtype), data.shape, 0.0
    )
    encoded = np.asarray(peer.encode(data)).tobytes()
    assert target.encode(data) == encoded
    assert np.array_equal(target.decode(encoded), peer.decode(peer.encode(data)))


# Fill values


@pytest.mark.parametrize(
    ("kind", "given", "wanted"),
    [
        ("bool", 0, False), ("bool", 1, True), ("int16", "0", 0), ("int16", "-7", -7),
        ("uint64", str((1 << 64) - 1), (1 << 64) - 1),
        ("float32", "0", 0.0), ("float64", "-1.5e3", -1500.0), ("complex64", ["1", "-0"], complex(1, -0.0)),
    ],
)  # fmt: skip
def test_fill_values_of_version_3_as_others_spell_them(kind: str, given: JSON, wanted: Any) -> None:
    document = {
        "zarr_format": 3, "node_type": "array", "shape": [2], "data_type": kind, "fill_value": given,
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [1]}},
        "chunk_key_encoding": {"name": "default"}, "codecs": [{"name": "bytes", "configuration": {"endian": "little"}}],
    }  # fmt: skip
    found = ba.open({"zarr.json": json.dumps(document).encode()})
    assert isinstance(found, ba.Array)
    assert found[...].tolist() == [wanted, wanted]


@pytest.mark.parametrize("kind", ["<M8[s]", ">M8[25us]", "<m8[D]", "<M8", "<m8[ns]"])
@pytest.mark.parametrize("missing", ["null", "absent"])
def test_times_without_a_fill_value_are_none(kind: str, missing: str) -> None:
    document: dict[str, JSON] = {
        "shape": [4], "chunks": [2], "dtype": kind, "fill_value": None, "order": "C", "filters": None,
        "compressor": None, "zarr_format": 2,
    }  # fmt: skip
    if missing == "absent":
        del document["fill_value"]
    found = ba.open({".zarray": json.dumps(document).encode(), "0": np.array([1, 2], kind[0] + "i8").tobytes()})
    assert isinstance(found, ba.Array)
    assert np.isnat(found[...]).tolist() == [False, False, True, True]
    for number in (2, 3):
        store: dict[str, Any] = {}
        ba.copy(found, store, options=ba.CopyOptions(zarr_format=3 if number == 3 else 2, chunks=(1,)))
        copied = ba.open(store)
        assert isinstance(copied, ba.Array)
        assert np.isnat(copied[...]).tolist() == [False, False, True, True]
    zero = ba.open({".zarray": json.dumps({**document, "fill_value": 0}).encode()})
    assert isinstance(zero, ba.Array)
    assert zero[...].view("i8").tolist() == [0, 0, 0, 0]
