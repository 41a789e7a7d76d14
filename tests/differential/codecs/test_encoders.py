"""Encoders without a peer of their own in numcodecs: what other libraries make of their output."""

from __future__ import annotations

import io
import struct
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from byteatlas.array.writing.create import array_meta
from byteatlas.array.writing.write import create_array
from byteatlas.codecs import build_pipeline
from byteatlas.errors import CorruptChunk
from byteatlas.meta.dtypes import from_numpy
from byteatlas.meta.model import CodecSpec, Encoding
from byteatlas.store.directory import DirectoryStore

RNG = np.random.default_rng(11)


@pytest.mark.parametrize("shuffle", ["noshuffle", "shuffle", "bitshuffle"])
@pytest.mark.parametrize("dtype", ["u1", "i2", "f4", "f8", "S3"])
@pytest.mark.parametrize("shape", [(7, 5), (301, 211)])
def test_blosc_with_snappy(tmp_path: Path, shuffle: str, dtype: str, shape: tuple[int, ...]) -> None:
    count = int(np.prod(shape))
    values = np.repeat(RNG.integers(0, 50, count // 16 + 1), 16)[:count].reshape(shape).astype(dtype)
    conf: dict[str, Any] = {
        "cname": "snappy", "clevel": 5, "shuffle": shuffle, "typesize": values.itemsize, "blocksize": 0,
    }  # fmt: skip
    chain = (CodecSpec("bytes", {"endian": "little"}), CodecSpec("blosc", conf))
    pipeline = build_pipeline(Encoding(chain), from_numpy(values.dtype), shape, None)
    data = pipeline.encode(values)
    assert data[2] >> 5 == 2  # Snappy by Blosc's header
    if values.nbytes > 200_000:  # Snappy needs room for more than a block: buffers of one block are stored as they are
        assert len(data) < values.nbytes
    np.testing.assert_array_equal(pipeline.decode(data), values)
    tensorstore = pytest.importorskip("tensorstore")
    if dtype == "S3":
        return
    del conf["typesize"]
    two = CodecSpec("numcodecs.blosc", {**conf, "shuffle": ["noshuffle", "shuffle", "bitshuffle"].index(shuffle)})
    meta = array_meta(shape, dtype, chunks=shape, zarr_format=2, compression=(two,))
    create_array(DirectoryStore(tmp_path, writable=True), "", meta)[...] = values
    spec = {"driver": "zarr", "kvstore": {"driver": "file", "path": str(tmp_path)}}
    theirs = tensorstore.open(spec).result().read().result()
    np.testing.assert_array_equal(theirs, values)


@pytest.mark.parametrize(
    "conf",
    [
        {"minbits": 1, "maxbits": 2000, "maxprec": 32, "minexp": -20},
        {"minbits": 64, "maxbits": 400, "maxprec": 20, "minexp": -1074},
        {"minbits": 1, "maxbits": 16658, "maxprec": 64, "minexp": -12},
        {"minbits": 160, "maxbits": 160, "maxprec": 64, "minexp": -1074},
        {"minbits": 1, "maxbits": 16658, "maxprec": 24, "minexp": -1074},
    ],
)
@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_zfp_expert_mode(conf: dict[str, int], dtype: str) -> None:
    values = np.cumsum(RNG.random((20, 33)), axis=1).astype(dtype)
    chain = (CodecSpec("zfp", {"mode": "expert", **conf}),)
    pipeline = build_pipeline(Encoding(chain), from_numpy(values.dtype), values.shape, None)
    data = pipeline.encode(values)
    found = pipeline.decode(data)
    assert np.abs(found - values).max() < 0.05
    assert pipeline.encode(found) is not None
    if conf["minexp"] == -12:  # the same stream as the mode that these parameters stand for
        same = build_pipeline(
            Encoding((CodecSpec("zfp", {"mode": "fixed_accuracy", "tolerance": 2.0**-12}),)),
            from_numpy(values.dtype), values.shape, None,
        )  # fmt: skip
        assert bytes(same.encode(values)) == bytes(data)
        np.testing.assert_array_equal(same.decode(data), found)


def test_members_of_zip_files() -> None:
    values = np.arange(5000, dtype="i4") // 7
    chain = (CodecSpec("bytes", {"endian": "little"}), CodecSpec("numcodecs.deflate"))
    pipeline = build_pipeline(Encoding(chain), from_numpy(values.dtype), values.shape, None)
    data = bytes(pipeline.encode(values))
    np.testing.assert_array_equal(pipeline.decode(data), values)
    codecs = pytest.importorskip("kerchunk.codecs")
    assert codecs.DeflateCodec().decode(data) == values.tobytes()
    # As a whole file: a central directory that points at the member.
    crc, packed, plain = struct.unpack_from("<III", data, 14)
    entry = struct.pack("<4sHHHHHHIIIHHHHHII", b"PK\1\2", 20, 20, 0, 8, 0, 33, crc, packed, plain, *[0] * 7)
    end = struct.pack("<4sHHHHIIH", b"PK\5\6", 0, 0, 1, 1, len(entry), len(data), 0)
    with zipfile.ZipFile(io.BytesIO(data + entry + end)) as archive:
        assert archive.read(archive.infolist()[0]) == values.tobytes()
    with pytest.raises(CorruptChunk):
        pipeline.decode(data[: len(data) // 2])


@pytest.mark.parametrize("dtype", ["<u2", ">i4", "<f4"])
def test_szip_as_netcdf_c_has_it(dtype: str) -> None:
    values = (np.arange(60 * 40) // 3).reshape(60, 40).astype(dtype)
    order = "big" if dtype[0] == ">" else "little"
    conf = {"mask": 32, "pixels-per-block": 16}
    chain = (CodecSpec("bytes", {"endian": order}), CodecSpec("numcodecs.szip", conf))
    native = values.dtype.newbyteorder("=")
    pipeline = build_pipeline(Encoding(chain), from_numpy(native), values.shape, None)
    data = pipeline.encode(values.astype(native))
    assert len(data) < values.nbytes
    np.testing.assert_array_equal(pipeline.decode(data), values)
