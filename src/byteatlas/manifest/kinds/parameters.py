"""Numbers that a codec needs for each chunk: FITS' ZSCALE and ZZERO, packing parameters of messages.

A scanner gives them as columns, one value (or one short vector) for each chunk, and names them in the configurations of
its codecs: ``CodecSpec("numcodecs.fixedscaleoffset", {"scale": ParameterColumn("zscale"), ...})``. Chunks with the same
numbers share an encoding; that is what reading, JSON and Parquet have for chunks that are stored in several ways.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from byteatlas.errors import BadRequest, Unsupported
from byteatlas.manifest.model import Manifest, VirtualArray
from byteatlas.meta.model import MOST_ENCODINGS, ArrayMeta, CodecSpec, Encoding
from byteatlas.types import JSON
from byteatlas.values import dataclass, replace


@dataclass(frozen=True, slots=True)
class ParameterColumn:
    """In a codec's configuration: the number (or list of numbers) of the chunk from the column with this name."""

    name: str


def with_parameters(meta: ArrayMeta, manifest: Manifest, columns: Mapping[str, NDArray[Any]]) -> VirtualArray:
    """The array with every `ParameterColumn` in its codecs replaced by the chunk's own numbers.

    Args:
        meta: with one encoding, whose codecs name columns.
        columns: by name; shape (chunks,) or (chunks, k), of integers, floats or Booleans.

    Raises:
        BadRequest: a column is not there, has another length, or the array has encodings already.
        Unsupported: more than 65,535 different sets of numbers (reason ``too-large``).
    """
    rows = manifest.load()
    if len(meta.encodings) != 1 or rows.encoding is not None:
        raise BadRequest("parameter columns go with arrays of one encoding")
    encoding = meta.encodings[0]
    names = sorted({c.name for spec in (*encoding.codecs, *encoding.cast) for c in _columns_in(spec.configuration)})
    for name in names:
        if name not in columns or len(columns[name]) != rows.nchunks or columns[name].dtype.kind not in "biuf":
            raise BadRequest(f"column {name!r}: one number for each of {rows.nchunks} chunks is needed")
    if not names:
        return VirtualArray(meta, manifest)
    # Compared by their bytes: NaN equals itself, and no integer is rounded on the way.
    raw = [np.ascontiguousarray(columns[name]).reshape(rows.nchunks, -1).view(np.uint8) for name in names]
    _, first, number = np.unique(np.hstack(raw), axis=0, return_index=True, return_inverse=True)
    if len(first) > MOST_ENCODINGS:
        raise Unsupported("too-large", f"{len(first)} different sets of numbers for the codecs of one array")
    made = tuple(_filled(encoding, {name: columns[name][row].tolist() for name in names}) for row in first.tolist())
    column = number.reshape(-1).astype(np.uint16) if len(made) > 1 else None
    return VirtualArray(replace(meta, encodings=made, zarr_format=3), replace(rows, encoding=column))


def _columns_in(value: JSON) -> list[ParameterColumn]:
    match value:
        case ParameterColumn():
            return [value]
        case Mapping():
            return [c for v in value.values() for c in _columns_in(v)]
        case list() | tuple():
            return [c for v in value for c in _columns_in(v)]
        case _:
            return []


def _filled(encoding: Encoding, values: Mapping[str, JSON]) -> Encoding:
    def spec(old: CodecSpec) -> CodecSpec:
        return CodecSpec(old.name, _value(old.configuration, values), old.must_understand)

    return replace(encoding, codecs=tuple(map(spec, encoding.codecs)), cast=tuple(map(spec, encoding.cast)))


def _value(value: JSON, values: Mapping[str, JSON]) -> JSON:
    match value:
        case ParameterColumn(name):
            return values[name]
        case Mapping():
            return {k: _value(v, values) for k, v in value.items()}
        case list() | tuple():
            return [_value(v, values) for v in value]
        case _:
            return value
