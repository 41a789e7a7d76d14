"""A strategy: of chunks whose bytes are the array's bytes, fetch only what an orthogonal selection needs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from byteatlas.array.options import ReadOptions
from byteatlas.array.reading.decoding.pipelines import check_extent
from byteatlas.array.reading.fetching.fetch import fetch
from byteatlas.array.reading.fetching.gaps import UNKNOWN, measured, meter_for
from byteatlas.array.reading.locating.located import Located, sizes
from byteatlas.array.reading.planning.orthogonal import ReadPlan
from byteatlas.array.reading.planning.raw import RequestCosts, plan_raw
from byteatlas.array.reading.scattering.chunks import ChunkScatter
from byteatlas.array.reading.scattering.raw import RawPart, RawScatter, chunk_view
from byteatlas.array.spaces import Items, PlanRows
from byteatlas.codecs import Pipeline, RawLayout
from byteatlas.values import dataclass

MOST_PARTS = 1 << 15
"""Parts of raw chunks prepared at once."""
PARTIAL_KEY = 256 << 10
"""Raw chunks under keys of their own are read in part from this size on; smaller ones as a whole."""


@dataclass(frozen=True, slots=True, eq=False)
class RawParts:
    """Reads parts of raw chunks. ``pipeline`` is the one of all chunks, ``raw`` how its bytes are the elements."""

    plan: ReadPlan
    target: NDArray[Any]
    located: Located
    pipeline: Pipeline
    raw: RawLayout

    def read(self, rows: PlanRows, scatter: ChunkScatter, options: ReadOptions) -> PlanRows:
        """Read those chunks of which a part is enough; returns the rows that are still to be read.

        ``scatter`` is told of chunks that turn out to be absent.
        """
        chosen, absent = self._choose(rows, scatter.whole, options)
        if not len(chosen) and not len(absent):
            return rows
        scatter.absent(Items(absent))
        left = np.ones(self.plan.total, bool)
        left[chosen] = left[absent] = False
        local = self.located.local(chosen)
        costs = RequestCosts.of(options if local else self._measured(chosen, options), local)
        pending: list[RawPart] = []
        owners: list[int] = []
        for row in chosen.tolist():
            parts = self._parts(row, costs)
            if parts is None:
                left[row] = True
                continue
            for part in parts:
                pending.append(part)
                owners.append(row)
                if len(pending) >= MOST_PARTS:
                    self._fetch(pending, owners, options)
                    pending, owners = [], []
        if pending:
            self._fetch(pending, owners, options)
        return PlanRows(rows[left[rows]])

    def _measured(self, rows: PlanRows, options: ReadOptions) -> ReadOptions:
        """The options as the server's speed says."""
        return measured(options, meter_for(self.located.sources, self.located.source[rows]), UNKNOWN)

    def _choose(self, rows: PlanRows, whole: NDArray[np.bool_], options: ReadOptions) -> tuple[PlanRows, PlanRows]:
        """The chunks to read in part, and those that are absent. One of another length than it should have is neither.

        Large ones are read in parts even when all of them is selected: each part is put into the result while it is
        in the caches.
        """
        nbytes, none = self.pipeline.nbytes or 0, PlanRows(rows[:0])
        wanted = rows if nbytes > options.local_block else PlanRows(rows[~whole[rows]])
        size = self.located.length[wanted]
        if bool((size < 0).any()):
            if nbytes < PARTIAL_KEY:
                return none, none
            size = sizes(self.located, wanted, options)
        return PlanRows(wanted[size == nbytes]), PlanRows(wanted[size < 0])

    def _parts(self, row: int, costs: RequestCosts) -> Iterator[RawPart] | None:
        """The requests for what the plan selects of a chunk; None to read all of it."""
        inside, where = self.plan.places(row)
        check_extent(self.pipeline, inside)
        requests = plan_raw(self.pipeline.shape, self.raw, inside, where, costs)
        if requests is None:
            return None
        view = chunk_view(self.target, where, inside)
        return (RawPart.of(request, view) for request in requests)

    def _fetch(self, parts: list[RawPart], rows: list[int], options: ReadOptions) -> None:
        owners = PlanRows(np.array(rows, np.int64))
        offset = self.located.offset[owners] + np.array([p.request.offset for p in parts], np.int64)
        length = np.array([p.request.length for p in parts], np.int64)
        fetch(self.located.parts(owners, offset, length), RawScatter(parts, self.raw.dtype), options)
