"""Encodings and the fill value of a variable whose common type is known."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from byteatlas.codecs.core.encoding_only import decoding_ignores
from byteatlas.combining.compare.packing import (
    Packing,
    unpacked,
)
from byteatlas.combining.variable.common_type import CommonType
from byteatlas.combining.variable.question import Question
from byteatlas.meta.compare import encoding_alike, identical_scalars, identical_types
from byteatlas.meta.dtypes import to_v3
from byteatlas.meta.fill import default
from byteatlas.meta.model import ArrayMeta, CodecSpec, DataType, Encoding
from byteatlas.types import JSON
from byteatlas.values import dataclass, field, replace


@dataclass(frozen=True, slots=True, eq=False)
class Merged:
    """One variable's common description.

    Attributes:
        maps: for each class: result encoding of each of its own encodings.
        constants: for each class: the encoding for its missing chunks, where these do not read as ``fill_value``.
        absent: the encoding for data that no file has; None = they are missing chunks.
    """

    data_type: DataType
    fill_value: object
    attributes: Mapping[str, JSON]
    encodings: tuple[Encoding, ...]
    maps: tuple[tuple[int, ...], ...]
    constants: tuple[int | None, ...]
    absent: int | None


def encode(q: Question, common: CommonType, kept: Mapping[str, JSON]) -> Merged:
    """Encodings of all classes without repetitions, and the fill value."""
    numbered = EncodingTable()
    maps = [tuple(numbered.place(e) for e in class_encodings(c.meta, common, i)) for i, c in enumerate(q.classes)]
    fills = [class_fill(c.meta, common, i) for i, c in enumerate(q.classes)]
    fill, is_zero = result_fill(q, common, fills)
    constants: list[int | None] = []
    for value, holes in zip(fills, q.holes, strict=True):
        differs = holes and not identical_scalars(value, fill)
        constants.append(numbered.place(constant(common.data_type, value)) if differs else None)
    absent = None
    if q.absent and not identical_scalars(common.nodata, fill):
        absent = numbered.place(constant(common.data_type, common.nodata))
    value = None if is_zero else fill
    return Merged(common.data_type, value, kept, tuple(numbered.encodings), tuple(maps), tuple(constants), absent)


@dataclass(frozen=True, slots=True)
class EncodingTable:
    """Encodings without repetitions. ``alike``: their numbers by what is quickly told apart.

    Where every file is packed by itself there are as many as files: each is compared with few others.
    """

    encodings: list[Encoding] = field(default_factory=list)
    alike: dict[object, list[int]] = field(default_factory=dict)

    def place(self, new: Encoding) -> int:
        """The number of an encoding that decodes alike, or of the new one."""
        near = self.alike.setdefault((new.chunk_shape, tuple(c.name for c in new.codecs), repr(new.cast)), [])
        for i in near:
            if encoding_alike(self.encodings[i], new, decoding_ignores):
                return i
        near.append(len(self.encodings))
        self.encodings.append(new)
        return near[-1]


def class_encodings(meta: ArrayMeta, common: CommonType, index: int) -> list[Encoding]:
    result = []
    for e in meta.encodings:
        if common.unpack is not None:
            p = common.unpack[index]
            spec = CodecSpec("byteatlas.unpack", unpack_configuration(p, meta.data_type))
            if p == Packing() and not e.cast:
                plain = identical_types(meta.data_type, common.data_type) and e.data_type is None
                result.append(replace(e, data_type=None if plain else e.data_type or meta.data_type))
            else:
                inner = e.cast
                if e.data_type is not None and not inner:  # a plain cast, which comes before unpacking
                    inner = (CodecSpec("byteatlas.unpack", unpack_configuration(Packing(), e.data_type)),)
                result.append(replace(e, data_type=e.data_type or meta.data_type, cast=(spec, *inner)))
        elif not identical_types(meta.data_type, common.data_type):
            spec = CodecSpec("byteatlas.unpack", unpack_configuration(Packing(), meta.data_type))
            cast = (spec, *e.cast) if e.cast else ()
            result.append(replace(e, data_type=e.data_type or meta.data_type, cast=cast))
        else:
            result.append(e)
    return result


def unpack_configuration(p: Packing, packed: DataType) -> dict[str, JSON]:
    """The configuration of the codec ``byteatlas.unpack``."""
    conf: dict[str, JSON] = {"data_type": to_v3(packed), "scale_factor": p.scale, "add_offset": p.offset}
    if p.mask:
        conf["mask"] = [v for v in p.mask if not isinstance(v, str)]
    if p.unsigned is not None:
        conf["unsigned"] = p.unsigned
    return conf


def class_fill(meta: ArrayMeta, common: CommonType, index: int) -> object:
    """What a missing chunk of this class reads as, in the common type."""
    value: Any = meta.fill_value
    dtype = meta.data_type.numpy
    if value is None:
        value = default(meta.data_type)
    if common.unpack is not None:
        return unpacked(np.array([value], dtype), common.unpack[index], common.data_type.numpy)[0]
    if not identical_types(meta.data_type, common.data_type):
        return np.array([value], dtype).astype(common.data_type.numpy)[0]
    return value


def result_fill(q: Question, common: CommonType, fills: Sequence[object]) -> tuple[object, bool]:
    """The fill value of the result, and whether it is version 2's ``null``."""
    same = all(identical_scalars(f, fills[0]) for f in fills)
    nulls = all(c.meta.fill_value is None for c in q.classes)
    if common.unpack is not None:
        return common.nodata, False
    if q.absent and not any(q.holes) and common.nodata is not None:
        return common.nodata, False
    if same:
        return fills[0], nulls and identical_types(common.data_type, q.classes[0].meta.data_type)
    for fill, holes in zip(fills, q.holes, strict=True):
        if holes:
            return fill, False
    return fills[0], False


def constant(data_type: DataType, value: object) -> Encoding:
    """The encoding of a chunk that is one value throughout."""
    array = np.empty((), data_type.numpy)
    array[...] = value
    return Encoding(
        (CodecSpec("byteatlas.constant", {"value": array.astype(array.dtype.newbyteorder("<")).tobytes().hex()}),)
    )
