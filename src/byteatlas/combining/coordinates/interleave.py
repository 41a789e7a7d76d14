"""Files whose coordinate values interleave or overlap are split where the order passes from one file to another.

Every file becomes parts, each of which covers a run of the merged order by itself (or beside parts of other files
with the same values). The parts are combined like files. Nothing is copied: a part that begins inside of a chunk
reads that chunk in part.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from byteatlas.combining.chunks.slicing import Span
from byteatlas.combining.coordinates.order import Arranged
from byteatlas.combining.model import BlockNumber, Duplicates, Finding, scalar_json
from byteatlas.combining.wording import listed
from byteatlas.values import dataclass

EQUAL_WITHIN = 1e-6
"""Values of two files that are nearer than this part of a step are one value that was rounded in two ways."""


@dataclass(frozen=True, slots=True, eq=False)
class CoordinateEntries:
    """All coordinate values of all runs, one by one; files in one run share its entries.

    Attributes:
        run: the run (by its number in `Arranged`) that an entry is of.
        position: its place in the run.
        rank: the number of its value among the distinct values in result order.
    """

    run: NDArray[np.int64]
    position: NDArray[np.int64]
    rank: NDArray[np.int64]

    def __getitem__(self, chosen: NDArray[Any]) -> CoordinateEntries:
        return CoordinateEntries(self.run[chosen], self.position[chosen], self.rank[chosen])


@dataclass(frozen=True, slots=True, eq=False)
class SplitRuns:
    """Runs split into parts; columns of equal length, ordered by run and position.

    Attributes:
        run, start, stop: positions ``start`` to ``stop`` (excluded) of a run.
        segment: the part's place in the merged order. Parts with the same place have the same values.
    """

    run: NDArray[np.int64]
    start: NDArray[np.int64]
    stop: NDArray[np.int64]
    segment: NDArray[np.int64]

    def spans(self) -> dict[int, list[tuple[Span, int]]]:
        """For each run its parts, and their places."""
        found: dict[int, list[tuple[Span, int]]] = {}
        columns = (self.run, self.start, self.stop, self.segment)
        for run, start, stop, segment in zip(*(c.tolist() for c in columns), strict=True):
            found.setdefault(run, []).append(((start, stop), segment))
        return found


def entries_of(arranged: Arranged) -> CoordinateEntries:
    """The entries of runs that go one way all along, in the order of runs."""
    lengths = [len(b) for b in arranged.blocks]
    run = np.repeat(np.arange(len(lengths), dtype=np.int64), lengths)
    position = np.concatenate([np.arange(n, dtype=np.int64) for n in lengths])
    line = np.concatenate(arranged.blocks)
    _, rank = np.unique(line, return_inverse=True)
    rank = rank.reshape(-1).astype(np.int64)
    if arranged.direction == "descending":
        rank = rank.max(initial=0) - rank
    return CoordinateEntries(run, position, rank)


def split_runs(entries: CoordinateEntries) -> SplitRuns:
    """Cut runs where the files that have the next value are not those that have this one."""
    n = int(entries.rank.max(initial=-1)) + 1
    # ``entries`` are in order of run and position, and ranks go up in each run.
    follows = np.flatnonzero((entries.run[1:] == entries.run[:-1]) & (entries.rank[1:] == entries.rank[:-1] + 1))
    owners = np.bincount(entries.rank, minlength=n)
    going_on = np.bincount(entries.rank[follows], minlength=n)
    breaks = (going_on[:-1] != owners[:-1]) | (going_on[:-1] != owners[1:])
    segment_of_rank = np.concatenate([np.zeros(min(n, 1), np.int64), np.cumsum(breaks)])
    segment = segment_of_rank[entries.rank]
    head = np.ones(len(segment), np.bool_)
    head[1:] = (segment[1:] != segment[:-1]) | (entries.run[1:] != entries.run[:-1])
    at = np.flatnonzero(head)
    last = np.append(at[1:], len(segment)) - 1
    start, stop = entries.position[at], entries.position[last] + 1
    return SplitRuns(entries.run[at], start, stop, segment[at])


def winners(entries: CoordinateEntries, priority: Sequence[int], policy: Duplicates) -> CoordinateEntries:
    """One entry for each value: that of the run which comes first (or last) by ``priority``."""
    key = np.asarray(priority, np.int64)[entries.run]
    order = np.lexsort((-key if policy == "last" else key, entries.rank))
    ranks = entries.rank[order]
    first = np.ones(len(order), np.bool_)
    first[1:] = ranks[1:] != ranks[:-1]
    keep = np.zeros(len(order), np.bool_)
    keep[order[first]] = True
    return entries[keep]


def shared(entries: CoordinateEntries) -> CoordinateEntries:
    """The entries whose values are in several runs."""
    return entries[np.bincount(entries.rank)[entries.rank] > 1]


def priorities(arranged: Arranged, policy: Duplicates) -> list[int]:
    """For each run the number of the input in it that counts."""
    result = [-1] * len(arranged.blocks)
    for i, run in enumerate(arranged.block_of):
        if result[run] < 0 or policy == "last":
            result[run] = i
    return result


def rearranged(arranged: Arranged, parts: SplitRuns, places: Sequence[int]) -> Arranged:
    """The runs of the merged order. ``places``: for each part of an input the number of its run."""
    count = int(parts.segment.max(initial=-1)) + 1
    blocks: list[NDArray[Any]] = [np.zeros(0)] * count
    for run, start, stop, segment in zip(
        parts.run.tolist(), parts.start.tolist(), parts.stop.tolist(), parts.segment.tolist(), strict=True
    ):
        blocks[segment] = arranged.blocks[run][start:stop]
    common = np.result_type(*arranged.blocks)
    return Arranged(
        tuple(map(BlockNumber, places)), tuple(b.astype(common, copy=False) for b in blocks), arranged.direction
    )


def nearly_equal(dim: str, arranged: Arranged, files: Sequence[Sequence[str]]) -> Finding | None:
    """Values of two runs that are all but equal: the same times, rounded in two ways."""
    blocks = arranged.blocks
    if not all(b.dtype.kind in "iuf" for b in blocks) or all(b.dtype.kind in "iu" for b in blocks):
        return None
    line = np.concatenate(blocks).astype(np.float64)
    run = np.repeat(np.arange(len(blocks)), [len(b) for b in blocks])
    steps = np.concatenate([np.abs(np.diff(b.astype(np.float64))) for b in blocks if len(b) > 1] or [np.zeros(0)])
    order = np.argsort(line, kind="stable")
    between = np.diff(line[order])
    usual = float(np.median(steps)) if steps.size else float(np.median(between[between > 0], keepdims=False))
    grain = max(float(np.finfo(b.dtype).eps) for b in blocks if b.dtype.kind == "f")
    limit = np.maximum(EQUAL_WITHIN * usual, 2 * grain * np.abs(line[order][1:]))
    odd = np.flatnonzero((between > 0) & (between < limit) & (run[order][1:] != run[order][:-1]))
    if not odd.size:
        return None
    at = int(odd[0])
    a, b = order[at], order[at + 1]
    one, other = sorted((int(run[a]), int(run[b])))
    pair = f"{float(line[a])!r} and {float(line[b])!r}"
    detail = f"values of {dim!r} differ from those of {listed(files[one])} as if by rounding: {pair}"
    return Finding("conflict", "overlap", None, tuple(files[other]), detail)


def shared_text(arranged: Arranged, entries: CoordinateEntries) -> str:
    """The values that several runs have, for a message."""
    both = shared(entries)
    if not len(both.rank):
        return ""
    ends = []
    for at in (int(np.argmin(both.rank)), int(np.argmax(both.rank))):
        ends.append(scalar_json(arranged.blocks[int(both.run[at])][int(both.position[at])]))
    return f"{ends[0]} ... {ends[1]}" if ends[0] != ends[1] else f"{ends[0]}"
