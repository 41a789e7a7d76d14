"""Our codecs against numcodecs' and zarr-python's, in both directions."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numcodecs
import numpy as np
import pytest
from tests.documents import zarray

from byteatlas.checksums import crc32c, fletcher32
from byteatlas.codecs import build_pipeline
from byteatlas.codecs.numcodecs.filters import round_bits
from byteatlas.meta import v2, v3
from byteatlas.meta.dtypes import from_numpy
from byteatlas.meta.model import CodecSpec, Encoding

RNG = np.random.default_rng(11)
FLOATS = np.round(RNG.normal(1000, 3, 300), 2).astype("<f4")
INTS = np.cumsum(RNG.integers(-9, 9, 300)).astype("<i4")
BOOLS = RNG.integers(0, 2, 301).astype(bool)

CASES: list[tuple[dict[str, Any], np.ndarray[Any, Any]]] = [
    ({"id": "zlib", "level": 3}, INTS),
    ({"id": "gzip", "level": 3}, INTS),
    ({"id": "bz2", "level": 3}, INTS),
    ({"id": "lz4", "acceleration": 1}, INTS),
    ({"id": "zstd", "level": 3}, INTS),
    ({"id": "zstd", "level": -5, "checksum": True}, INTS),
    ({"id": "lzma", "format": 1, "check": -1, "preset": 1, "filters": None}, INTS),
    ({"id": "lzma", "format": 2, "check": -1, "preset": None, "filters": None}, INTS),
    ({"id": "lzma", "format": 3, "filters": [{"id": 3, "dist": 4}, {"id": 33, "preset": 1}]}, INTS),
    *(
        ({"id": "blosc", "cname": c, "clevel": 5, "shuffle": s, "blocksize": 0}, INTS)
        for c in ("blosclz", "lz4", "lz4hc", "zlib", "zstd")
        for s in (-1, 0, 1, 2)
    ),
    ({"id": "blosc", "cname": "lz4", "clevel": 0, "shuffle": 1, "blocksize": 256}, INTS),
    ({"id": "delta", "dtype": "<i4"}, INTS),
    ({"id": "delta", "dtype": "<i4", "astype": "<i2"}, INTS),
    ({"id": "delta", "dtype": "<f4", "astype": "<f4"}, INTS.astype("<f4")),
    ({"id": "fixedscaleoffset", "scale": 100, "offset": 1000, "dtype": "<f4", "astype": "<i2"}, FLOATS),
    ({"id": "fixedscaleoffset", "scale": 0.5, "offset": 7, "dtype": "<i4", "astype": "<i4"}, INTS * 2 + 7),
    ({"id": "quantize", "digits": 1, "dtype": "<f4", "astype": "<f2"}, (FLOATS - 1000).astype("<f4")),
    ({"id": "astype", "encode_dtype": "<f4", "decode_dtype": "<f8"}, FLOATS.astype("<f8")),
    ({"id": "bitround", "keepbits": 9}, FLOATS),
    ({"id": "packbits"}, BOOLS),
    ({"id": "packbits"}, BOOLS[:296]),
    ({"id": "shuffle", "elementsize": 4}, INTS),
    ({"id": "shuffle", "elementsize": 5}, INTS),
    ({"id": "base64"}, INTS),
    ({"id": "crc32"}, INTS),
    ({"id": "crc32", "location": "end"}, INTS),
    ({"id": "adler32"}, INTS),
    ({"id": "fletcher32"}, INTS),
    ({"id": "jenkins_lookup3", "initval": 3, "prefix": None}, INTS),
]


def unique(case: tuple[dict[str, Any], np.ndarray[Any, Any]]) -> str:
    return "-".join(str(v) for v in case[0].values())


@pytest.mark.parametrize(("config", "array"), CASES, ids=[unique(c) for c in CASES])
def test_each_reads_the_other(config: dict[str, Any], array: np.ndarray[Any, Any]) -> None:
    theirs = numcodecs.get_codec(config)
    size = list(array.shape)
    document = zarray(size, size, array.dtype.str, fill_value=None, filters=[config])
    meta = v2.parse_array(document, {})
    pipeline = build_pipeline(meta.encodings[0], meta.data_type, array.shape, None)
    encoded = np.ascontiguousarray(theirs.encode(array)).tobytes()
    decoded = np.ascontiguousarray(theirs.decode(encoded)).view(np.uint8).view(array.dtype)
    out = np.empty_like(array)
    pipeline.decode(encoded, out)
    assert out.tobytes() == decoded.tobytes()
    again = np.ascontiguousarray(theirs.decode(pipeline.encode(array))).view(np.uint8).view(array.dtype)
    assert again.tobytes() == decoded.tobytes()


@pytest.mark.parametrize(
    "config",
    [
        {"id": "vlen-utf8"},
        {"id": "json2"},
        {"id": "json2", "encoding": "utf-16"},
        {"id": "msgpack2"},
        {"id": "msgpack2", "use_bin_type": False},
        {"id": "categorize", "labels": ["a", "été", ""], "dtype": "|O", "astype": "|u1"},
    ],
    ids=str,
)
def test_objects(config: dict[str, Any]) -> None:
    if config["id"] == "msgpack2":
        pytest.importorskip("msgpack")
    array = np.array([["a", "été"], ["", "a"], ["été", "a"]], object)
    theirs = numcodecs.get_codec(dict(config))
    document = zarray([3, 2], [3, 2], "|O", fill_value=None, filters=[theirs.get_config()])
    meta = v2.parse_array(document, {})
    pipeline = build_pipeline(meta.encodings[0], meta.data_type, (3, 2), None)
    assert pipeline.decode(bytes(theirs.encode(array))).tolist() == array.tolist()
    assert theirs.decode(pipeline.encode(array)).reshape(3, 2).tolist() == array.tolist()


def test_vlen_array() -> None:
    array = np.empty(3, object)
    array[:] = [np.arange(3, dtype="<i2"), np.empty(0, "<i2"), np.arange(5, dtype="<i2")]
    theirs = numcodecs.VLenArray("<i2")
    meta = v2.parse_array(
        {
            "zarr_format": 2,
            "shape": [3],
            "chunks": [3],
            "dtype": "|O",
            "fill_value": 0,
            "order": "C",
            "filters": [theirs.get_config()],
            "compressor": None,
        },
        {},
    )
    pipeline = build_pipeline(meta.encodings[0], meta.data_type, (3,), None)
    assert [x.tolist() for x in pipeline.decode(bytes(theirs.encode(array)))] == [x.tolist() for x in array]
    assert [x.tolist() for x in theirs.decode(pipeline.encode(array))] == [x.tolist() for x in array]


def crc32c_by_bits(data: bytes) -> int:
    """CRC-32C by its definition (RFC 3720, appendix B.4), one bit after the other."""
    state = 0xFFFFFFFF
    for octet in data:
        state ^= octet
        for _ in range(8):
            state = state >> 1 ^ (0x82F63B78 if state & 1 else 0)
    return state ^ 0xFFFFFFFF


@pytest.mark.parametrize("size", [0, 1, 2, 3, 1001, 2048, 70_001])
def test_checksums(size: int) -> None:
    data = RNG.integers(0, 256, size).astype(np.uint8).tobytes()
    assert {crc32c(kind(data)) for kind in (bytes, bytearray, memoryview)} == {crc32c_by_bits(data)}
    assert crc32c(memoryview(bytearray(data))) == crc32c(data)
    if size:
        assert int.from_bytes(bytes(numcodecs.Fletcher32().encode(data))[-4:], "little") == fletcher32(data)


@pytest.mark.parametrize("keep", [1, 5, 10])
def test_bitround_rounds_alike(keep: int) -> None:
    for kind in ("f2", "f4", "f8"):
        array = RNG.normal(size=500).astype(kind)
        theirs = numcodecs.BitRound(keep).encode(array).view(kind)
        assert round_bits(array, keep).tobytes() == theirs.tobytes()


# ------------------------------------------------------------------------------------------------- zarr-python

zarr = pytest.importorskip("zarr")


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("zarr_format", [2, 3])
@pytest.mark.parametrize("kind", ["b1", "i2", ">i4", "u8", "f2", ">f8", "c8", "S4", "U3", "M8[ns]", "m8[10s]"])
def test_metadata_and_chunks_of_zarr_python(tmp_path: Path, zarr_format: int, kind: str) -> None:
    array = np.arange(12).reshape(3, 4).astype(kind)
    store = tmp_path / "a.zarr"
    made = zarr.create_array(store=str(store), shape=(3, 4), chunks=(3, 4), dtype=array.dtype, zarr_format=zarr_format)
    made[...] = array
    if zarr_format == 2:
        document = json.loads((store / ".zarray").read_text())
        meta, key = v2.parse_array(document, {}), "0.0"
        again, _ = v2.dump_array(meta)
    else:
        document = json.loads((store / "zarr.json").read_text())
        (meta, _), key = v3.parse_array(document), "c/0/0"
        again = v3.dump_array(meta)
    pipeline = build_pipeline(meta.encodings[0], meta.data_type, (3, 4), meta.fill_value)
    assert (pipeline.decode((store / key).read_bytes()) == array).all()
    # What we write of it is the same array to zarr-python.
    (store / (".zarray" if zarr_format == 2 else "zarr.json")).write_text(json.dumps(again))
    (store / key).write_bytes(pipeline.encode(array.astype(pipeline.dtype)))
    reread = zarr.open_array(str(store), mode="r")
    assert reread.dtype.newbyteorder("=") == made.dtype.newbyteorder("=")
    assert (reread[...] == array).all()


def test_numpy_types_have_one_v3_form() -> None:
    for kind in (np.dtype("i4"), np.dtype(">i4")):
        assert from_numpy(kind) == from_numpy(np.dtype("i4"))
    encoding = Encoding((CodecSpec("bytes", {"endian": "big"}),))
    raw = build_pipeline(encoding, from_numpy(np.dtype("i4")), (2,), None).raw
    assert raw is not None
    assert raw.dtype == np.dtype(">i4")
