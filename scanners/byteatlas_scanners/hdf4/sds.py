"""Scientific datasets as the file describes them, however old the file is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from byteatlas.errors import FileFault
from byteatlas.types import JSON, Shape
from byteatlas.values import dataclass, field
from byteatlas_scanners.hdf4.format.elements import Element


@dataclass(frozen=True, slots=True)
class ScientificDataset:
    """One dataset (SDS).

    Attributes:
        index: its number, as the library counts them.
        ref: the reference number of its NDG, by which Vgroups name it; 0 when it has none.
        dtype: of stored values, byte order included; or why it is not known.
        coordinate: it holds the values of a dimension of this name.
        element: where the data are, None when nothing was written; or why that is not known.
        skip: bytes of the element before the first value.
        lost: attributes that cannot be read.
    """

    index: int
    name: str
    ref: int
    shape: Shape
    dims: tuple[str, ...]
    dtype: np.dtype[Any] | FileFault
    element: Element | FileFault | None
    attributes: Mapping[str, JSON]
    coordinate: bool = False
    unlimited: bool = False
    skip: int = 0
    lost: tuple[str, ...] = ()

    @property
    def locators(self) -> tuple[str, ...]:
        return (f"sds/{self.index}",)


@dataclass(frozen=True, slots=True)
class SdsContents:
    """All datasets of a file, its own attributes, and which of those are lost."""

    datasets: tuple[ScientificDataset, ...] = ()
    attributes: Mapping[str, JSON] = field(default_factory=dict)
    lost: tuple[str, ...] = ()
    refused: tuple[tuple[str, FileFault], ...] = ()
