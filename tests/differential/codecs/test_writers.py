"""Arrays that we encode, read by zarr-python and tensorstore; and the other way round."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from byteatlas.codecs import build_pipeline
from byteatlas.meta import v3
from byteatlas.meta.dtypes import from_v3
from byteatlas.meta.model import ArrayMeta, ChunkKeys, Encoding, RegularGrid
from byteatlas.meta.parts import codecs_of

LITTLE = {"name": "bytes", "configuration": {"endian": "little"}}
BIG = {"name": "bytes", "configuration": {"endian": "big"}}
INDEX = [LITTLE, {"name": "crc32c"}]


def shard(inner: list[Any], where: str = "end", shape: tuple[int, ...] = (2, 3)) -> dict[str, Any]:
    configuration = {"chunk_shape": list(shape), "codecs": inner, "index_codecs": INDEX, "index_location": where}
    return {"name": "sharding_indexed", "configuration": configuration}


GZIP = {"name": "gzip", "configuration": {"level": 1}}
ZSTD = {"name": "zstd", "configuration": {"level": 1, "checksum": False}}
BLOSC = {
    "name": "blosc",
    "configuration": {"cname": "lz4", "clevel": 5, "shuffle": "shuffle", "typesize": 4, "blocksize": 0},
}
TURN = {"name": "transpose", "configuration": {"order": [1, 0]}}
CHAINS: dict[str, list[Any]] = {
    "plain": [LITTLE],
    "big": [BIG, GZIP],
    "zstd crc32c": [LITTLE, ZSTD, {"name": "crc32c"}],
    "blosc": [LITTLE, BLOSC],
    "transpose": [TURN, BIG, ZSTD],
    "shard": [shard([LITTLE, GZIP])],
    "shard start": [shard([TURN, BIG], "start")],
    "shard nested": [shard([shard([LITTLE, ZSTD], "end", (1, 3))], "end", (2, 6))],
    "shard crc32c": [shard([LITTLE, {"name": "crc32c"}])],
}


def store(folder: Path, codecs: list[Any], kind: Any, values: np.ndarray[Any, Any]) -> ArrayMeta:
    """An array of one chunk, written by our pipeline and metadata writer."""
    data_type = from_v3(kind)
    encoding = Encoding(codecs_of(codecs, ""))
    fill = "" if data_type.name == "string" else np.zeros((), data_type.numpy)[()]
    meta = ArrayMeta(
        values.shape,
        data_type,
        RegularGrid(values.shape),
        (encoding,),
        fill,
        keys=ChunkKeys("default", "/"),
        zarr_format=3,
    )
    target = build_pipeline(encoding, data_type, values.shape, fill)
    folder.mkdir()
    (folder / "zarr.json").write_text(json.dumps(v3.dump_array(meta)))
    (folder / "c").mkdir()
    key = folder / "c" / "/".join("0" * values.ndim)
    key.parent.mkdir(parents=True, exist_ok=True)
    key.write_bytes(target.encode(values))
    assert (target.decode(key.read_bytes()) == values).all()
    return meta


VALUES = (np.arange(24).reshape(4, 6) - 7).clip(0)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", ["int32", "float64", "complex64"])
@pytest.mark.parametrize("name", CHAINS)
def test_zarr_python_reads_ours(tmp_path: Path, name: str, kind: str) -> None:
    zarr = pytest.importorskip("zarr")
    values = VALUES.astype(kind)
    store(tmp_path / "a", CHAINS[name], kind, values)
    assert (zarr.open_array(str(tmp_path / "a"), mode="r")[...] == values).all()


@pytest.mark.parametrize("kind", ["bool", "int8", "uint64", "float16", "float32", "complex128", "bfloat16"])
@pytest.mark.parametrize("name", [n for n in CHAINS if n != "blosc"])
def test_tensorstore_reads_ours(tmp_path: Path, name: str, kind: str) -> None:
    tensorstore = pytest.importorskip("tensorstore")
    values = VALUES.astype(from_v3(kind).numpy)
    store(tmp_path / "a", CHAINS[name], kind, values)
    spec = {"driver": "zarr3", "kvstore": {"driver": "file", "path": str(tmp_path / "a")}}
    found = tensorstore.open(spec, read=True).result().read().result()
    assert found.dtype == values.dtype
    assert (found == values).all()


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "kind",
    [
        "string",
        {"name": "numpy.datetime64", "configuration": {"unit": "s", "scale_factor": 5}},
        {"name": "null_terminated_bytes", "configuration": {"length_bytes": 3}},
        {"name": "fixed_length_utf32", "configuration": {"length_bytes": 12}},
    ],
    ids=str,
)
def test_other_types_in_zarr_python(tmp_path: Path, kind: Any) -> None:
    zarr = pytest.importorskip("zarr")
    text = [["a", "bé"], ["", "ccc"]] if kind == "string" or "utf32" in str(kind) else [["a", "b"], ["", "ccc"]]
    dtype = from_v3(kind).numpy
    values = np.array([[1, 2], [3, 4]]).astype(dtype) if dtype.kind == "M" else np.array(text, dtype)
    codecs: list[Any] = ["vlen-utf8", ZSTD] if kind == "string" else [LITTLE, ZSTD]
    store(tmp_path / "a", [c if isinstance(c, dict) else {"name": c} for c in codecs], kind, values)
    found = zarr.open_array(str(tmp_path / "a"), mode="r")[...]
    assert found.tolist() == values.tolist()


def test_tensorstore_writes_what_we_read(tmp_path: Path) -> None:
    tensorstore = pytest.importorskip("tensorstore")
    for number, chain in enumerate(CHAINS.values()):
        path = tmp_path / str(number)
        spec = {
            "driver": "zarr3",
            "kvstore": {"driver": "file", "path": str(path)},
            "metadata": {
                "shape": [4, 6],
                "data_type": "float32",
                "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [4, 6]}},
                "codecs": chain,
            },
        }
        made = tensorstore.open(spec, create=True).result()
        values = VALUES.astype("f4")
        made.write(values).result()
        meta, _ = v3.parse_array(json.loads((path / "zarr.json").read_text()))
        target = build_pipeline(meta.encodings[0], meta.data_type, (4, 6), meta.fill_value)
        assert (target.decode((path / "c" / "0" / "0").read_bytes()) == values).all()
