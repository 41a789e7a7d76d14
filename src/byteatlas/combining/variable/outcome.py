"""What is to be done for one variable, once everything about it is decided."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from byteatlas.combining.model import Finding
from byteatlas.manifest.columns import Piece
from byteatlas.manifest.model import Manifest, VirtualArray
from byteatlas.meta.model import ArrayMeta
from byteatlas.types import Shape


@dataclass(frozen=True, slots=True, eq=False)
class Ready:
    """A variable that is there already: kept from one file, or rewritten into the map."""

    array: VirtualArray
    action: str


@dataclass(frozen=True, slots=True, eq=False)
class Run:
    """Manifests of inputs that follow each other and need no change but a common source table."""

    meta: ArrayMeta
    grid_shape: Shape
    manifests: tuple[Manifest, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Mosaic:
    """Manifests with their places in the grid, and what their encodings become."""

    meta: ArrayMeta
    grid_shape: Shape
    pieces: tuple[Piece, ...]
    action: str


Job: TypeAlias = Ready | Run | Mosaic
Outcome: TypeAlias = tuple[Job | None, list[Finding]]
