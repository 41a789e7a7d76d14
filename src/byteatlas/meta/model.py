"""One frozen model for the metadata of Zarr v1, v2 and v3 nodes.

The model is v3-shaped: a codec chain (array -> array, array -> bytes, bytes -> bytes), a chunk grid, a key encoding.
Version 2's ``filters`` and ``compressor`` become codecs named ``numcodecs.ID``, its ``order: F`` a ``transpose``, the
byte order of its dtype the ``endian`` of the ``bytes`` codec. Readers and writers for each version are in
`byteatlas.meta.v1`, `v2`, `v3`.

One thing goes beyond the specifications: an array may have several *encodings*. The grid says which part of the array
a chunk covers (its logical extent); its encoding says how its bytes become an array (encoded shape, data type, codecs).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from byteatlas.types import JSON, Shape
from byteatlas.values import dataclass, field, replace

MOST_ENCODINGS = (1 << 16) - 1
"""Encodings of one array: an archive in which every file is packed by itself has one a file."""
EncodingColumn: TypeAlias = NDArray[np.uint16]
"""For each chunk the number of its encoding."""


@dataclass(frozen=True, slots=True)
class CodecSpec:
    """A codec by name and configuration, as Zarr v3 writes it. ``numcodecs.X`` is numcodecs' codec with id X.

    ``must_understand`` False: a reader that does not know the codec leaves it out of the chain (v3 core, "Extensions").
    """

    name: str
    configuration: Mapping[str, JSON] = field(default_factory=dict)
    must_understand: bool = True


@dataclass(frozen=True, slots=True)
class DataType:
    """A Zarr data type: its v3 name and configuration, and the NumPy type that values have in memory.

    ``numpy`` has native byte order; it is ``object`` for variable-length types.
    """

    name: str
    numpy: np.dtype[Any]
    configuration: Mapping[str, JSON] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class RegularGrid:
    """Chunks of one shape; the last along an axis may stick out of the array."""

    chunk_shape: Shape


@dataclass(frozen=True, slots=True)
class RectilinearGrid:
    """Chunk lengths along each axis. They may sum to more than the array's length (overflow), never to less."""

    edges: tuple[tuple[int, ...], ...]


ChunkGrid: TypeAlias = RegularGrid | RectilinearGrid


@dataclass(frozen=True, slots=True)
class ChunkKeys:
    """How a grid position becomes a key: ``default`` gives ``c/0/1``, ``v2`` gives ``0.1`` (separator varies)."""

    kind: Literal["default", "v2"] = "v2"
    separator: Literal["/", "."] = "."
    suffix: str = ""


@dataclass(frozen=True, slots=True)
class Encoding:
    """How one chunk's bytes become an array.

    Attributes:
        codecs: the chain, in encoding order (decode right to left).
        chunk_shape: the shape that the bytes decode to; None = the chunk's shape in the grid. Decoded chunks larger
            than their logical extent are cropped at the high end of each axis.
        data_type: the type that the bytes decode to; None = the array's.
        cast: array -> array codecs, in *encoding* order, that take the array's type to ``data_type``; decoding runs
            them backwards after ``codecs`` (scale and offset, byte order, width). Empty with a ``data_type`` that
            differs: a plain value-preserving cast.
    """

    codecs: tuple[CodecSpec, ...]
    chunk_shape: Shape | None = None
    data_type: DataType | None = None
    cast: tuple[CodecSpec, ...] = ()


@dataclass(frozen=True, slots=True)
class ArrayMeta:
    """Everything that Zarr metadata says of an array.

    Attributes:
        fill_value: a NumPy scalar of ``data_type.numpy`` (str or bytes for variable-length types), or None where
            version 2 says ``null``: what a missing chunk then reads as is zero.
        zarr_format: the version that the array was read from, or that it should be written as.
    """

    shape: Shape
    data_type: DataType
    grid: ChunkGrid
    encodings: tuple[Encoding, ...]
    fill_value: object = None
    dimension_names: tuple[str | None, ...] | None = None
    attributes: Mapping[str, JSON] = field(default_factory=dict)
    keys: ChunkKeys = ChunkKeys()
    zarr_format: Literal[1, 2, 3] = 2

    @property
    def codecs(self) -> tuple[CodecSpec, ...]:
        """The chain of the first (mostly the only) encoding."""
        return self.encodings[0].codecs

    @property
    def ndim(self) -> int:
        return len(self.shape)

    def with_attributes(self, attributes: Mapping[str, JSON]) -> ArrayMeta:
        return replace(self, attributes=attributes)


@dataclass(frozen=True, slots=True)
class GroupMeta:
    """Everything that Zarr metadata says of a group."""

    attributes: Mapping[str, JSON] = field(default_factory=dict)
    zarr_format: Literal[2, 3] = 2


NodeMeta: TypeAlias = ArrayMeta | GroupMeta
