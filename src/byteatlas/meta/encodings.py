"""The codec ``byteatlas.encodings``: how an array whose chunks are stored in several ways is written in Zarr v3.

Its configuration lists the encodings and maps chunks to them::

    {"encodings": [{"codecs": [...], "chunk_shape": [...], "data_type": ..., "cast": [...]}, ...],
     "map": {"axis": 0, "runs": [[0, 12], [1, 3]]}}

A run is [encoding, chunks]. With an ``axis`` the encoding depends on the position along that axis of the chunk grid
alone; without it the runs go over all chunks in C order. No ``map``: every chunk has encoding 0. Other readers do not
know the name and fail, instead of reading wrong values.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from byteatlas.errors import Unsupported
from byteatlas.meta import dtypes
from byteatlas.meta.model import MOST_ENCODINGS, CodecSpec, Encoding, EncodingColumn
from byteatlas.meta.parts import codec_json, codecs_of, length_of, object_of, runs_of, shape_of
from byteatlas.meta.place import invalid
from byteatlas.types import JSON, Shape

NAME = "byteatlas.encodings"
MOST_CHUNKS = 1 << 31


def parse(configuration: Mapping[str, JSON], counts: Shape) -> tuple[tuple[Encoding, ...], EncodingColumn | None]:
    """The encodings, and the number of each chunk's (flat index over ``counts``); None when all are the first."""
    given = configuration.get("encodings")
    if not isinstance(given, list) or not 0 < len(given) <= MOST_ENCODINGS:
        raise invalid(f"encodings: not a list of 1 to {MOST_ENCODINGS} encodings")
    unknown = set(configuration) - {"encodings", "map"}
    if unknown:
        raise invalid(f"unknown members {sorted(unknown)}")
    found = tuple(_encoding(object_of(item, "encoding"), len(counts)) for item in given)
    if configuration.get("map") is None:
        return found, None
    return found, _column(object_of(configuration["map"], "map"), counts, len(found))


def _encoding(document: Mapping[str, JSON], ndim: int) -> Encoding:
    unknown = set(document) - {"codecs", "chunk_shape", "data_type", "cast"}
    if unknown:
        raise invalid(f"encoding: unknown members {sorted(unknown)}")
    codecs = codecs_of(document.get("codecs"), "codecs")
    shape = document.get("chunk_shape")
    chunk_shape = None if shape is None else shape_of(shape, "chunk_shape", 1)
    if chunk_shape is not None and len(chunk_shape) != ndim:
        raise invalid(f"chunk_shape {list(chunk_shape)} of an encoding in {ndim} dimensions")
    kind = document.get("data_type")
    cast = document.get("cast")
    return Encoding(
        codecs,
        chunk_shape,
        None if kind is None else dtypes.from_v3(kind),
        codecs_of(cast, "cast") if cast else (),
    )


def _column(document: Mapping[str, JSON], counts: Shape, known: int) -> EncodingColumn:
    runs, axis = document.get("runs"), document.get("axis")
    if not isinstance(runs, list):
        raise invalid("map: runs are missing")
    if axis is not None:
        axis = length_of(axis, "axis")
        if axis >= len(counts):
            raise invalid(f"map: axis {axis} of {len(counts)}")
    total = math.prod(counts) if axis is None else counts[axis]
    if math.prod(counts) > MOST_CHUNKS:
        raise Unsupported("too-large", f"{math.prod(counts)} chunks of several encodings")
    values, lengths = [], []
    for run in runs:
        if not isinstance(run, list) or len(run) != 2:
            raise invalid(f"map: run {run!r}")
        values.append(length_of(run[0], "encoding"))
        lengths.append(length_of(run[1], "run", 1))
    if sum(lengths) != total or any(v >= known for v in values):
        raise invalid(f"map: runs cover {sum(lengths)} of {total} chunks, or name unknown encodings")
    line = np.repeat(np.array(values, np.uint16), np.array(lengths, np.int64))
    if axis is None:
        return line
    shaped = line.reshape([-1 if i == axis else 1 for i in range(len(counts))])
    return np.ascontiguousarray(np.broadcast_to(shaped, counts)).reshape(-1)


def dump(encodings: tuple[Encoding, ...], column: EncodingColumn | None, counts: Shape) -> CodecSpec:
    """The codec that says all of this."""
    if len(encodings) > MOST_ENCODINGS:
        raise Unsupported("zarr-v3", f"{len(encodings)} encodings of one array")
    configuration: dict[str, JSON] = {"encodings": [_encoding_json(e) for e in encodings]}
    if column is not None:
        configuration["map"] = _map_json(column, counts)
    return CodecSpec(NAME, configuration)


def _encoding_json(encoding: Encoding) -> JSON:
    out: dict[str, JSON] = {"codecs": [codec_json(c) for c in encoding.codecs]}
    if encoding.chunk_shape is not None:
        out["chunk_shape"] = list(encoding.chunk_shape)
    if encoding.data_type is not None:
        out["data_type"] = dtypes.to_v3(encoding.data_type)
    if encoding.cast:
        out["cast"] = [codec_json(c) for c in encoding.cast]
    return out


def _map_json(column: EncodingColumn, counts: Shape) -> JSON:
    cube = column.reshape(counts)
    for axis in range(len(counts)):
        line = cube[tuple(slice(None) if i == axis else slice(0, 1) for i in range(len(counts)))]
        if (cube == line).all():
            return {"axis": axis, "runs": _run_list(line.reshape(-1))}
    return {"runs": _run_list(column)}


def _run_list(line: EncodingColumn) -> list[JSON]:
    return [[encoding, chunks] for encoding, chunks in runs_of(line)]
