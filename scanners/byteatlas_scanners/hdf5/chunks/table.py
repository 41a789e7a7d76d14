"""Chunk tables: what every kind of chunk index is read into, and how the table becomes a manifest.

All columns are NumPy arrays; there is no Python object per chunk.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from byteatlas.values import dataclass, field
from byteatlas_scanners.hdf5.format.wire import Form

MOST_CHUNKS = 1 << 27
USUAL_CHUNKS = 1 << 20


def most_chunks(form: Form) -> int:
    """The largest grid that is accepted: a manifest row takes 20 bytes, so a small file may not claim a huge one."""
    return min(MOST_CHUNKS, max(USUAL_CHUNKS, form.size))


@dataclass(frozen=True, slots=True)
class Space:
    """A chunked dataset's geometry.

    Attributes:
        shape, most, chunk: in elements; ``most`` None = unlimited.
        nbytes: bytes of one chunk before filters.
        filters: number of filters; 0 = chunks are stored as they are.
        grid: chunks along each axis.
        full_grid: chunks along each axis when the dataset has its largest shape; None = unlimited.
    """

    shape: tuple[int, ...]
    most: tuple[int | None, ...]
    chunk: tuple[int, ...]
    nbytes: int
    filters: int
    grid: tuple[int, ...] = field(init=False, compare=False, repr=False)
    full_grid: tuple[int | None, ...] = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        full = tuple([None if n is None else -(-n // c) for n, c in zip(self.most, self.chunk, strict=True)])
        object.__setattr__(self, "grid", tuple([-(-n // c) for n, c in zip(self.shape, self.chunk, strict=True)]))
        object.__setattr__(self, "full_grid", full)


class Table(NamedTuple):
    """The stored chunks of one dataset; those outside of its present shape have been left out.

    Attributes:
        flat: index in the grid, C order.
        address: bytes from the file's base.
        nbytes: stored bytes; None = all chunks have the nominal size.
        mask: filters that were skipped, as bits; None = none in any chunk.
        ordered: ``flat`` grows, so no chunk is listed twice, and all addresses are defined.
        checked: all chunks are known to lie inside of the file.
    """

    flat: NDArray[np.int64]
    address: NDArray[np.uint64]
    nbytes: NDArray[np.uint64] | None
    mask: NDArray[np.uint32] | None
    ordered: bool = False
    checked: bool = False


def empty_table() -> Table:
    return Table(np.zeros(0, np.int64), np.zeros(0, np.uint64), None, None)


def from_scaled(
    space: Space,
    scaled: list[NDArray[Any]],
    address: NDArray[Any],
    nbytes: NDArray[Any] | None,
    mask: NDArray[Any] | None,
) -> Table:
    """A table from chunk coordinates in units of chunks, one column per axis.

    Chunks beyond the present shape are dropped: the dataset has shrunk. Raises `CorruptFile` for a chunk listed twice.
    """
    flat = np.zeros(len(address), np.int64)
    keep: NDArray[np.bool_] | None = None
    for column, count in zip(scaled, space.grid, strict=True):
        outside = column >= np.uint64(count)
        if outside.any():
            keep = ~outside if keep is None else keep & ~outside
        flat *= count
        flat += column.astype(np.int64)
    if keep is not None:
        flat, address = flat[keep], address[keep]
        nbytes = None if nbytes is None else nbytes[keep]
        mask = None if mask is None else mask[keep]
    return Table(
        flat,
        address.astype(np.uint64, copy=False),
        None if nbytes is None else nbytes.astype(np.uint64, copy=False),
        None if mask is None else mask.astype(np.uint32, copy=False),
    )


def from_linear(
    space: Space,
    order: tuple[int, ...],
    first: int,
    address: NDArray[Any],
    nbytes: NDArray[Any] | None,
    mask: NDArray[Any] | None,
) -> Table:
    """A table from a run of elements of an array index (fixed, extensible, implicit).

    Element ``first + i`` is the chunk with that C-order index in the *largest* grid, its axes taken in ``order``
    (an extensible array puts the unlimited axis first; no other axis may be unlimited).
    """
    full, grid = space.full_grid, space.grid
    n = len(address)
    slow = order[0]
    inner = [n for n in (full[a] for a in order[1:]) if n is not None]
    if order == tuple(range(len(grid))) and tuple(inner) == grid[1:]:  # the linear index is the flat one
        total = math.prod(grid)
        stop = max(0, min(n, total - first))
        flat = np.arange(first, first + stop, dtype=np.int64)
        cut = slice(0, stop)
        return Table(flat, address[cut], None if nbytes is None else nbytes[cut], None if mask is None else mask[cut])
    rest = np.arange(first, first + n, dtype=np.int64)
    scaled: list[NDArray[Any]] = [rest] * len(grid)
    for axis, count in zip(reversed(order[1:]), reversed(inner), strict=True):
        rest, here = np.divmod(rest, max(count, 1))
        scaled[axis] = here
    scaled[slow] = rest
    return from_scaled(space, [c.astype(np.uint64) for c in scaled], address, nbytes, mask)


def defined(form: Form, table: Table) -> Table:
    """Without the chunks whose address is undefined: they were never written."""
    keep = table.address != np.uint64(form.undefined)
    if keep.all():
        return table
    return Table(
        table.flat[keep],
        table.address[keep],
        None if table.nbytes is None else table.nbytes[keep],
        None if table.mask is None else table.mask[keep],
    )


def join(tables: list[Table]) -> Table:
    """Several tables of one dataset as one."""
    if len(tables) == 1:
        return tables[0]
    if not tables:
        return empty_table()
    return Table(
        np.concatenate([t.flat for t in tables]),
        np.concatenate([t.address for t in tables]),
        None if tables[0].nbytes is None else np.concatenate([t.nbytes for t in tables if t.nbytes is not None]),
        None if tables[0].mask is None else np.concatenate([t.mask for t in tables if t.mask is not None]),
        all(t.ordered for t in tables),
    )
