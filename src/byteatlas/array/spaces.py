"""What the numbers of a column count: one type for each index space of a read, for the type checker to tell apart.

All are int64 columns. `byteatlas.types.ChunkNumbers` (places in an array's grid) belongs to them.
"""

from __future__ import annotations

from typing import NewType

from byteatlas.types import ChunkNumbers, Ints

PlanRows = NewType("PlanRows", Ints)
"""Chunks of one plan by their place in it: row k of a `Located` is chunk k of the plan."""
AxisParts = NewType("AxisParts", Ints)
"""Parts of the selection along one axis, by their place in an `AxisPlan`."""
Items = NewType("Items", Ints)
"""What a receiver calls the byte ranges that it asked for: rows, elements, parts of a chunk, shards."""
SourceNumbers = NewType("SourceNumbers", Ints)
"""Places in a table of sources; negative ones say that there is no source (`MISSING`, `INLINE`)."""

__all__ = ["AxisParts", "ChunkNumbers", "Ints", "Items", "PlanRows", "SourceNumbers"]
