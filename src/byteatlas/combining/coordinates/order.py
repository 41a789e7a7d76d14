"""The order of files along one dimension: runs of coordinate values, and what is odd about them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from byteatlas.combining.model import BlockNumber, FileOrder, Finding, scalar_json
from byteatlas.combining.wording import listed
from byteatlas.values import dataclass


@dataclass(frozen=True, slots=True, eq=False)
class Arranged:
    """Files in runs along a dimension.

    Attributes:
        block_of: for each input, the number of its run.
        blocks: the coordinate values of each run, in result order.
        direction: ``ascending``, ``descending``, ``given`` or ``single``.
        line: all coordinate values in result order, when they are at hand.
        straight: the inputs are in order as they are, each with a run of its own.
    """

    block_of: tuple[BlockNumber, ...]
    blocks: tuple[NDArray[Any], ...]
    direction: str
    line: NDArray[Any] | None = None
    straight: bool = False


def arrange(
    dim: str, values: Sequence[NDArray[Any]], names: Sequence[str], order: FileOrder
) -> tuple[Arranged, list[Finding]]:
    """Sort the runs of coordinate values. Inputs with equal values share a run (tiles, other variables)."""
    if order == "coordinate" and (quick := in_line(values)) is not None:
        return quick, gaps(dim, quick, quick.line, names)
    block_of, firsts = runs(values)
    blocks = [values[i] for i in firsts]
    if order == "given" or not any(map(len, blocks)):
        return Arranged(cast("tuple[BlockNumber, ...]", tuple(block_of)), tuple(blocks), "given"), []
    rank, direction = ranked(blocks)
    place = [0] * len(rank)
    for new, old in enumerate(rank):
        place[old] = new
    placed = cast("tuple[BlockNumber, ...]", tuple(place[b] for b in block_of))
    arranged = Arranged(placed, tuple(blocks[old] for old in rank), direction)
    return arranged, oddities(dim, arranged, names)


def in_line(values: Sequence[NDArray[Any]]) -> Arranged | None:
    """The order of runs that go up all along once they are sorted; None when it is not as simple as that."""
    lengths = list(map(len, values))
    if not all(lengths) or values[0].dtype.kind not in "iuf":
        return None
    line = np.concatenate(values)
    starts = np.cumsum([0, *lengths[:-1]])
    heads = line[starts]
    if bool((heads[1:] > heads[:-1]).all()):
        order: Sequence[int] = range(len(values))
        blocks = tuple(values)
    else:
        rank = np.argsort(heads, kind="stable")
        order = np.argsort(rank, kind="stable").tolist()
        blocks = tuple(values[i] for i in rank.tolist())
        line = np.concatenate(blocks)
    if not bool((line[1:] > line[:-1]).all()):
        return None
    direction = "ascending" if len(line) > 1 else "single"
    return Arranged(cast("tuple[BlockNumber, ...]", tuple(order)), blocks, direction, line, isinstance(order, range))


def runs(values: Sequence[NDArray[Any]]) -> tuple[list[int], list[int]]:
    """For each input the number of its run, and the first input of each run. Equal values make one run."""
    if len({v.dtype for v in values}) > 1:
        common = np.result_type(*(v for v in values if len(v)), *(() if any(map(len, values)) else values))
        values = [v.astype(common) for v in values]
    keys: dict[tuple[bytes, int], int] = {}
    block_of: list[int] = []
    firsts: list[int] = []
    for i, v in enumerate(values):
        block = keys.setdefault((v.tobytes(), len(v)), len(keys))
        if block == len(firsts):
            firsts.append(i)
        block_of.append(block)
    return block_of, firsts


def ranked(blocks: Sequence[NDArray[Any]]) -> tuple[list[int], str]:
    """The order of the runs by their first values, and the direction that all of them have inside."""
    long = [b for b in blocks if len(b) > 1]
    heads, tails = np.array([b[0] for b in long]), np.array([b[-1] for b in long])
    descending = bool(long) and bool((tails < heads).all())
    # Runs without any value have no place of their own: they go last.
    some = [i for i, b in enumerate(blocks) if len(b)]
    rank = np.argsort(np.array([blocks[i][0] for i in some]), kind="stable").tolist()
    if descending:
        rank.reverse()
    empty = [i for i, b in enumerate(blocks) if not len(b)]
    single = len(blocks) == 1 and len(blocks[0]) == 1
    return [*(some[i] for i in rank), *empty], "single" if single else "descending" if descending else "ascending"


def oddities(dim: str, arranged: Arranged, names: Sequence[str]) -> list[Finding]:
    """Overlaps, interleaving and disorder (conflicts); gaps (notes)."""
    blocks = [b for b in arranged.blocks if len(b)]
    line = np.concatenate(blocks)
    if line.dtype.kind not in "iufUSM":
        return []
    nan = line.dtype.kind == "f" and bool(np.isnan(line).any())
    ahead = line[1:] < line[:-1] if arranged.direction == "descending" else line[1:] > line[:-1]
    if bool(ahead.all()) and not nan:
        return gaps(dim, arranged, line, names)
    return [*disorder(dim, arranged, names)]


def files_of(arranged: Arranged, names: Sequence[str]) -> list[list[str]]:
    """The names of the inputs in each run."""
    result: list[list[str]] = [[] for _ in arranged.blocks]
    for name, block in zip(names, arranged.block_of, strict=True):
        result[block].append(name)
    return result


def disorder(dim: str, arranged: Arranged, names: Sequence[str]) -> list[Finding]:
    """Say which neighbouring runs do not follow each other, and how."""
    found = []
    files = files_of(arranged, names)
    down = arranged.direction == "descending"
    for block, own in zip(arranged.blocks, files, strict=True):
        if len(block) < 2:
            if block.dtype.kind == "f" and bool(np.isnan(block).any()):
                found.append(Finding("conflict", "order", None, tuple(own), f"{dim!r} is not a number"))
            continue
        inside = block[1:] < block[:-1] if down else block[1:] > block[:-1]
        if not bool(inside.all()):
            what = "repeats values" if bool((block[1:] == block[:-1]).any()) else "goes up and down"
            detail = f"{dim!r} {what} inside a file: {scalar_json(block[0])} ... {scalar_json(block[-1])}"
            found.append(Finding("conflict", "order", None, tuple(own), detail))
    found += collisions(dim, arranged, files)
    return found or [Finding("conflict", "order", None, (), f"{dim!r} is not in order")]


def collisions(dim: str, arranged: Arranged, files: Sequence[Sequence[str]]) -> list[Finding]:
    """Neighbouring runs whose ranges meet: shared values are an overlap, the rest is interleaved."""
    found = []
    runs = [(b, f) for b, f in zip(arranged.blocks, files, strict=True) if len(b)]
    reach, owner = runs[0]
    bottom, top = ends(reach)
    for block, own in runs[1:]:
        low, high = ends(block)
        touches = low <= top and high >= bottom
        if touches:
            shared = np.intersect1d(block, reach)
            code = "overlap" if shared.size else "interleaved"
            span = f"{scalar_json(bottom)}..{scalar_json(top)} and {scalar_json(low)}..{scalar_json(high)}"
            detail = f"{dim!r} ranges {span} of {listed(owner)} and {listed(own)} "
            detail += f"share {shared.size} values" if shared.size else "are interleaved"
            found.append(Finding("conflict", code, None, tuple(own), detail))
        if high > top or low < bottom:
            reach, owner, bottom, top = block, own, low, high
        if len(found) >= 20:
            break
    return found


def ends(block: NDArray[Any]) -> tuple[Any, Any]:
    """The smallest and the largest value; works for text as well."""
    in_order = np.sort(block)
    return in_order[0], in_order[-1]


def gaps(dim: str, arranged: Arranged, line: NDArray[Any] | None, names: Sequence[str]) -> list[Finding]:
    """Steps between files that are much larger than the usual step."""
    if line is None or line.dtype.kind not in "iuf" or len(line) < 3:
        return []
    steps = np.abs(np.diff(line.astype(np.float64)))
    if float(steps.max()) <= 1.9 * float(steps.min()):  # no step is wider than 1.9 times the median then
        return []
    usual = float(np.median(steps))
    wide = np.flatnonzero(steps > 1.9 * usual)
    if not 0 < len(wide) <= len(steps) // 10 + 1:
        return []
    stops = np.cumsum([len(b) for b in arranged.blocks])
    files = files_of(arranged, names)
    found = []
    for at in wide[:20].tolist():
        block = int(np.searchsorted(stops, at + 1, side="right"))
        detail = f"gap in {dim!r} from {scalar_json(line[at])} to {scalar_json(line[at + 1])} (usual step {usual:g})"
        found.append(Finding("note", "gap", None, tuple(files[min(block, len(files) - 1)]), detail))
    return found
