"""What is to be done for one variable, once everything about it is decided."""

from __future__ import annotations

from typing import TypeAlias

from byteatlas.combining.model import Finding
from byteatlas.manifest.columns import PlacedManifest
from byteatlas.manifest.model import Manifest, VirtualArray
from byteatlas.meta.model import ArrayMeta, RectilinearGrid
from byteatlas.types import Shape
from byteatlas.values import dataclass, replace


@dataclass(frozen=True, slots=True, eq=False)
class Ready:
    """A variable that is there already: kept from one file, or rewritten into the map."""

    array: VirtualArray
    action: str


@dataclass(frozen=True, slots=True, eq=False)
class Concatenation:
    """Manifests of inputs that follow each other and need no change but a common source table."""

    meta: ArrayMeta
    grid_shape: Shape
    manifests: tuple[Manifest, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Mosaic:
    """Manifests with their places in the grid, and what their encodings become."""

    meta: ArrayMeta
    grid_shape: Shape
    parts: tuple[PlacedManifest, ...]
    action: str


Treatment: TypeAlias = Ready | Concatenation | Mosaic
Decision: TypeAlias = tuple[Treatment | None, list[Finding]]


def meta_of(treatment: Treatment) -> ArrayMeta:
    return treatment.array.meta if isinstance(treatment, Ready) else treatment.meta


def is_plain(meta: ArrayMeta) -> bool:
    """Whether plain Zarr says all of it: one encoding, and chunks of one length along each axis."""
    e = meta.encodings[0]
    plain = len(meta.encodings) == 1 and e.chunk_shape is None and e.data_type is None and not e.cast
    return plain and not isinstance(meta.grid, RectilinearGrid)


def with_meta(treatment: Treatment, meta: ArrayMeta) -> Treatment:
    match treatment:
        case Ready(array, action):
            return Ready(replace(array, meta=meta), action)
        case Concatenation() | Mosaic():
            return replace(treatment, meta=meta)
