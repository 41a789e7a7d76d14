"""Which way each chunk of a read goes. The general one is always right: fetch the chunk, decode it, put its part into
the result. Every other is chosen here, and only here, and stands as long as the benchmark named beside it pays for it
(``python -m tests.bench``).
"""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from byteatlas.array.reading.elements import RawElements
from byteatlas.array.reading.locating.located import Located
from byteatlas.array.reading.opening import ArrayChunks
from byteatlas.array.reading.planning.orthogonal import ReadPlan
from byteatlas.array.reading.planning.points import PointPlan
from byteatlas.array.reading.raw_parts import RawParts
from byteatlas.array.reading.scattering.tiles import FEW, Tiles, tiles_of
from byteatlas.codecs import Pipeline, RawLayout
from byteatlas.values import dataclass

SMALL = 64 << 10
"""Chunks that decode to at most this many bytes are handled together."""


@dataclass(frozen=True, slots=True, eq=False)
class Strategies:
    """The ways of an orthogonal read besides the general one.

    Attributes:
        raw_parts: of chunks whose bytes are the array's bytes, fetch what the selection needs.
            Benchmark: ``selections``, "slab", "series" and "oindex" of uncompressed chunks.
        tiles: decode small chunks that are selected alike into rows of one array, and put them into the result with
            one assignment. Benchmark: ``reading``, "read 100000 chunks of 256 bytes".
        direct: read bytes straight into the result, where they need no decoding and their place is contiguous.
            Benchmark: ``native``, "none, rows of 1 MiB".
    """

    raw_parts: RawParts | None
    tiles: Tiles | None
    direct: bool


def choose(plan: ReadPlan, target: NDArray[Any], located: Located, array: ArrayChunks) -> Strategies:
    """The strategies for one orthogonal read."""
    raw = _raw(array)
    first = array.pipelines.first
    small = array.pipelines.single and first is not None and 0 < (first.nbytes or 0) <= SMALL
    return Strategies(
        None if raw is None else RawParts(plan, target, located, *raw),
        tiles_of(plan, target, first.shape) if small and first is not None and plan.total > FEW else None,
        plan.sliced and not target.dtype.hasobject,
    )


def choose_for_points(
    plan: PointPlan, target: NDArray[Any], located: Located, array: ArrayChunks
) -> RawElements | None:
    """The strategy for a read of points: of chunks whose bytes are the array's bytes, fetch the points' bytes only.

    Benchmark: ``selections``, "points" of uncompressed chunks.
    """
    raw = _raw(array)
    return None if raw is None else RawElements(plan, target, located, *raw)


def _raw(array: ArrayChunks) -> tuple[Pipeline, RawLayout] | None:
    """The pipeline of all chunks, when it leaves their bytes as they are."""
    first = array.pipelines.first
    if not array.pipelines.single or first is None or first.raw is None:
        return None
    return None if first.raw.dtype.hasobject or not first.nbytes else (first, first.raw)
