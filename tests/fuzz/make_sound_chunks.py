"""Writes ``sound_chunks.json``: chunks that other programs' encoders made, for codecs that have no encoder of ours.

``python -m tests.fuzz.make_sound_chunks`` reads the files that the fixtures' scripts make, and keeps the smallest
chunks of each chain.
"""

from __future__ import annotations

import json
import tempfile
from base64 import b64encode
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import h5py
import hdf5plugin
import numpy as np
from fixtures.hdf4 import make_hdf4
from tests.fuzz.examples import ALL, SOUND_CHUNKS
from tests.fuzz.run_raster import seeds
from tests.places import FIXTURES

import byteatlas as ba
from byteatlas.array.array import Array
from byteatlas.array.group import Group
from byteatlas.array.reading.decoding import pipelines
from byteatlas.codecs import Pipeline, build_pipeline
from byteatlas.errors import ByteatlasError
from byteatlas.meta.dtypes import from_numpy

MOST_BYTES = 6000
MOST_EACH = 2


def files(folder: Path) -> Iterator[Path]:
    """All small files there are."""
    yield from (p for p in sorted(FIXTURES.rglob("*")) if p.suffix in (".h5", ".nc", ".tif", ".bin", ".fits"))
    for name in ("fits", "tiff", "hdf4"):
        for number, data in enumerate(seeds(name)):
            path = folder / f"{name}{number}"
            path.write_bytes(data)
            yield path
    yield make_hdf4.everything(folder)[0]
    yield filters(folder)


def filters(folder: Path) -> Path:
    """HDF5 filters that only libhdf5 and its plugins apply."""
    path = folder / "filters.h5"
    whole = np.add.outer(np.arange(16), np.arange(16)).astype("<i4")
    with h5py.File(path, "w") as file:
        file.create_dataset("scaleoffset", data=whole, chunks=(16, 16), scaleoffset=0)
        file.create_dataset("scaled", data=whole * 0.5, chunks=(16, 16), scaleoffset=2)
        plugins = {
            "bitshuffle": hdf5plugin.Bitshuffle(),
            "zstd": hdf5plugin.Bitshuffle(cname="zstd"),
            "blosc2": hdf5plugin.Blosc2(),
            "zfp": hdf5plugin.Zfp(reversible=True),
            "sz3": hdf5plugin.SZ3(absolute=0.01),
            "sperr": hdf5plugin.Sperr(rate=16),
        }
        for name, how in plugins.items():
            file.create_dataset(name, data=whole.astype("<f4"), chunks=(16, 16), **how)
    return path


def read(path: Path) -> None:
    """Every array of a file."""
    try:
        root = ba.open(ba.scan(str(path), on_refusal="ignore"))
    except ByteatlasError:
        return
    for _, node in root.walk() if isinstance(root, Group) else ():
        if isinstance(node, Array) and node.nbytes < 1 << 22:
            try:
                np.asarray(node[...])
            except ByteatlasError:
                continue


def main() -> None:
    found: dict[str, list[dict[str, Any]]] = {}
    known: dict[int, tuple[Any, Any, Any]] = {}
    build, decode, kept = build_pipeline, Pipeline.decode, []

    def built(how: Any, data_type: Any, shape: Any, fill: Any, registry: Any) -> Pipeline:
        made = build(how, data_type, shape, fill, registry)
        kept.append(made)
        known[id(made)] = how, how.data_type or data_type, shape
        return made

    def decoded(self: Pipeline, data: Any, out: Any = None) -> Any:
        result = decode(self, data, out)
        if id(self) in known and 0 < len(data) <= MOST_BYTES:
            note(*known[id(self)], bytes(data))
        return result

    def note(how: Any, data_type: Any, shape: Any, data: bytes) -> None:
        if how.cast or data_type.numpy.names or from_numpy(data_type.numpy) != data_type:
            return
        chain = [{"name": c.name, "configuration": dict(c.configuration)} for c in how.codecs]
        entry = {"codecs": chain, "dtype": data_type.numpy.str, "shape": list(shape), "data": b64encode(data).decode()}
        for codec in how.codecs:
            held = found.setdefault(codec.name, [])
            if codec.name in ALL and entry not in held:
                held.append(entry)
                held.sort(key=lambda e: len(e["data"]))
                del held[MOST_EACH:]

    with (
        mock.patch.object(pipelines, "build_pipeline", built),
        mock.patch.object(Pipeline, "decode", decoded),
        mock.patch.object(Pipeline, "decode_many", return_value=None),
        tempfile.TemporaryDirectory() as folder,
    ):
        for path in files(Path(folder)):
            read(path)
    SOUND_CHUNKS.write_text(json.dumps({name: found[name] for name in sorted(found) if found[name]}, indent=1) + "\n")
    print(", ".join(sorted(found)))


if __name__ == "__main__":
    main()
