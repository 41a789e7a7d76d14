"""The few types that every layer shares. No behaviour beyond arithmetic on byte ranges."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal, NewType, TypeAlias

from byteatlas.values import dataclass

if TYPE_CHECKING:  # whoever prints a help text does not wait for NumPy
    import numpy as np
    from numpy.typing import NDArray

JSON: TypeAlias = Any
"""A JSON document: None, bool, int, float, str, list or dict of JSON.

It is ``Any`` for the type checker: metadata documents are untrusted and checked by hand where they are read.
"""

JSONObject: TypeAlias = Mapping[str, JSON]
Shape: TypeAlias = tuple[int, ...]
Buffer: TypeAlias = bytes | bytearray | memoryview
ByteOrder: TypeAlias = Literal["<", ">"]
"""NumPy's sign for little-endian and big-endian."""
Ints: TypeAlias = "NDArray[np.int64]"
"""A column of whole numbers."""
ChunkNumbers = NewType("ChunkNumbers", "NDArray[np.int64]")
"""Flat indices in an array's grid of chunks, in C order."""


@dataclass(frozen=True, slots=True)
class ByteRange:
    """Bytes ``[offset, offset + length)`` of a file.

    >>> ByteRange(8, 4).end
    12
    """

    offset: int
    length: int

    @property
    def end(self) -> int:
        """One past the last byte."""
        return self.offset + self.length
