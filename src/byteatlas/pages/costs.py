"""What typical slices of an array cost: requests and bytes, by axis."""

from __future__ import annotations

import math
from collections.abc import Iterator

from byteatlas.manifest.model import VirtualArray
from byteatlas.manifest.ops.stats import cost
from byteatlas.pages.numbers import count_text, size_text
from byteatlas.values import dataclass

MOST_CHUNKS = 200_000
"""Chunks of one slice that are looked at; larger slices are not shown."""


@dataclass(frozen=True, slots=True)
class CostLine:
    """A slice in words, and what reading it takes."""

    what: str
    requests: str
    bytes: str


def cost_lines(array: VirtualArray) -> list[CostLine]:
    """One step along the first axis, a line through it at one place of the others, and everything."""
    grid = array.manifest.grid_shape
    if not grid or 0 in array.meta.shape or 0 in grid:
        return []
    lines = []
    for what, wanted in _typical(array):
        chunks = math.prod(n for n, part in zip(grid, wanted, strict=True) if part == slice(None))
        if chunks > MOST_CHUNKS:
            continue
        found = cost(array, wanted)
        if not found.chunks - found.missing:
            continue
        files = f" in {count_text(found.sources, 'file')}" if found.sources > 1 else ""
        requests = count_text(found.requests, "request") if found.requests else "none: in the map"
        lines.append(CostLine(what, requests + files, size_text(found.fetched)))
    return lines


def _typical(array: VirtualArray) -> Iterator[tuple[str, list[slice]]]:
    shape, dims = array.meta.shape, array.meta.dimension_names or (None,) * array.meta.ndim
    if len(shape) > 1 and shape[0] > 1:
        middle = [slice(n // 2, n // 2 + 1) for n in shape]
        first = dims[0] or "axis 0"
        yield f"one step of {first}", [middle[0], *[slice(None)] * (len(shape) - 1)]
        yield f"all of {first} at a point", [slice(None), *middle[1:]]
    yield "everything", [slice(None)] * len(shape)
