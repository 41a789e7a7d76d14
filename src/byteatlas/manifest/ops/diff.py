"""Two maps compared: nodes, metadata, and where each chunk's bytes lie."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from byteatlas.manifest.model import INLINE, MISSING, Rows, VirtualArray, VirtualGroup, VirtualNode
from byteatlas.manifest.ops.common import BLOCK
from byteatlas.meta.compare import differing_fields, identical
from byteatlas.types import JSON
from byteatlas.values import dataclass

SPELLING = ("attributes", "keys", "zarr_format")
"""Fields that are compared one by one, or that say how a map is written and not what it means."""


@dataclass(frozen=True, slots=True)
class Difference:
    """One thing in which two maps differ.

    Attributes:
        path: the node.
        what: ``only in the first``, ``only in the second``, ``kind``, the name of a metadata field, ``attribute NAME``,
            or ``chunks``.
        first, second: the two values, as text.
    """

    path: str
    what: str
    first: str = ""
    second: str = ""


def diff(first: VirtualNode, second: VirtualNode, *, chunks: bool = True) -> Iterator[Difference]:
    """All differences; chunks that lie elsewhere are counted, with the first of them as an example."""
    a, b = _nodes(first), _nodes(second)
    for path in a:
        if path not in b:
            yield Difference(path or "/", "only in the first")
    for path in b:
        if path not in a:
            yield Difference(path or "/", "only in the second")
    for path in a:
        if path in b:
            yield from _compare(path or "/", a[path], b[path], chunks)


def _nodes(node: VirtualNode) -> dict[str, VirtualNode]:
    return {"": node} if isinstance(node, VirtualArray) else {"": node, **dict(node.walk())}


def _compare(path: str, a: VirtualNode, b: VirtualNode, chunks: bool) -> Iterator[Difference]:
    match a, b:
        case VirtualArray(), VirtualArray():
            yield from _attributes(path, a.meta.attributes, b.meta.attributes)
            fields = [name for name in differing_fields(a.meta, b.meta) if name not in SPELLING]
            for name in fields:
                yield Difference(path, name, _text(getattr(a.meta, name)), _text(getattr(b.meta, name)))
            same_grid = not {"shape", "grid"} & set(fields)
            if chunks and same_grid and a.manifest.grid_shape == b.manifest.grid_shape:
                yield from _chunks(path, a, b)
        case VirtualGroup(), VirtualGroup():
            yield from _attributes(path, a.attributes, b.attributes)
        case _:
            yield Difference(path, "kind", _kind(a), _kind(b))


def _kind(node: VirtualNode) -> str:
    return "array" if isinstance(node, VirtualArray) else "group"


def _text(value: object) -> str:
    return str(value)[:200]


def _attributes(path: str, a: JSON, b: JSON) -> Iterator[Difference]:
    for name in {**a, **b}:
        x, y = a.get(name, _ABSENT), b.get(name, _ABSENT)
        if not identical(x, y):
            yield Difference(path, f"attribute {name}", _text(x), _text(y))


class _Absent:
    def __str__(self) -> str:
        return "absent"


_ABSENT = _Absent()


def _chunks(path: str, a: VirtualArray, b: VirtualArray) -> Iterator[Difference]:
    total = math.prod(a.manifest.grid_shape)
    count, example = 0, -1
    for begin in range(0, total, BLOCK):
        chunks = np.arange(begin, min(begin + BLOCK, total), dtype=np.int64)
        unequal = differing(a, b, chunks)
        count += len(unequal)
        if example < 0 and len(unequal):
            example = int(unequal[0])
    if count:
        yield Difference(path, "chunks", _place(a, example, f"{count} of {total} differ, first: "), _place(b, example))


def differing(a: VirtualArray, b: VirtualArray, chunks: NDArray[np.int64]) -> NDArray[np.int64]:
    """Those of the chunks whose bytes do not lie at the same place (inline ones: whose bytes differ)."""
    x, y = a.manifest.rows(chunks), b.manifest.rows(chunks)
    numbers: dict[str, int] = {}
    left, right = _common(x, a, numbers), _common(y, b, numbers)
    unequal = left != right
    both = (left >= 0) & ~unequal
    unequal |= both & ((x.offset != y.offset) | (x.length != y.length))
    if x.encoding is not None or y.encoding is not None:
        zero = np.zeros(len(chunks), np.uint8)
        first = zero if x.encoding is None else x.encoding
        second = zero if y.encoding is None else y.encoding
        unequal |= (first != second) & (left != MISSING)
    for i in np.flatnonzero((left == INLINE) & (right == INLINE)).tolist():
        chunk = int(chunks[i])
        unequal[i] = unequal[i] or a.manifest.inline(chunk) != b.manifest.inline(chunk)
    moved: NDArray[np.int64] = chunks[unequal]
    return moved


def _common(rows: Rows, array: VirtualArray, numbers: dict[str, int]) -> NDArray[np.int64]:
    """The source column, numbered the same for both maps."""
    used = np.unique(rows.source)
    sources = array.manifest.sources
    values = [i if i < 0 else numbers.setdefault(sources[i].url, len(numbers)) for i in used.tolist()]
    found: NDArray[np.int64] = np.array(values, np.int64).take(np.searchsorted(used, rows.source))
    return found


def _place(array: VirtualArray, chunk: int, head: str = "") -> str:
    row = array.manifest.rows(np.array([chunk], np.int64))
    index = (
        tuple(int(i) for i in np.unravel_index(chunk, array.manifest.grid_shape)) if array.manifest.grid_shape else ()
    )
    match int(row.source[0]):
        case -1:
            return f"{head}{index} missing"
        case -2:
            return f"{head}{index} inline, {len(array.manifest.inline(chunk))} bytes"
        case number:
            return f"{head}{index} {array.manifest.sources[number].url} {row.offset[0]}+{row.length[0]}"
