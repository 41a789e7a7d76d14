"""Sentences about files that differ: the odd ones are named, and facts are in words."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from itertools import groupby

from byteatlas.meta.model import ChunkGrid, RegularGrid


def listed(names: Sequence[str], show: int = 3) -> str:
    """Names for a message, shortened."""
    return ", ".join(names[:show]) + (f" and {len(names) - show} more" if len(names) > show else "")


def minority(facts: Sequence[Hashable]) -> list[int]:
    """The places of the facts that are not the most frequent one (of equally frequent ones: the first)."""
    counts: dict[Hashable, int] = {}
    for fact in facts:
        counts[fact] = counts.get(fact, 0) + 1
    usual = max(counts, key=lambda fact: counts[fact]) if counts else None
    return [i for i, fact in enumerate(facts) if fact != usual]


def by_value(facts: Sequence[str], names: Sequence[str], what: str) -> tuple[tuple[str, ...], str]:
    """The files whose fact is not the usual one, and a sentence in which each fact stands with its files.

    >>> by_value(["standard", "noleap", "standard"], ["a", "b", "c"], "calendars differ")
    (('b',), 'calendars differ: standard (2 files) / noleap (b)')
    """
    odd = minority(facts)
    some = set(odd)
    files: dict[str, list[str]] = {fact: [] for i, fact in enumerate(facts) if i not in some}
    for fact, name in zip(facts, names, strict=True):
        files.setdefault(fact, []).append(name)
    usual, *others = files.items()
    shown = [f"{usual[0]} ({counted(usual[1])})", *(f"{fact} ({listed(own, 2)})" for fact, own in others[:3])]
    more = f" and {len(others) - 3} more" if len(others) > 3 else ""
    return tuple(names[i] for i in odd), f"{what}: {' / '.join(shown)}{more}"


def alternatives(facts: Sequence[str], show: int = 4) -> str:
    """Facts beside each other, each once.

    >>> alternatives(["2 x 3", "2 x 3", "4 x 3"])
    '2 x 3 / 4 x 3'
    """
    distinct = list(dict.fromkeys(facts))
    more = f" and {len(distinct) - show} more" if len(distinct) > show else ""
    return " / ".join(distinct[:show]) + more


def counted(names: Sequence[str]) -> str:
    """One file by its name, more by their number."""
    return names[0] if len(names) == 1 else f"{len(names)} files"


def shape_text(shape: Sequence[int]) -> str:
    """A shape in words.

    >>> shape_text((2, 3)), shape_text(())
    ('2 x 3', 'one value')
    """
    return " x ".join(map(str, shape)) or "one value"


def dims_text(dims: Sequence[str | None]) -> str:
    """Names of dimensions in words.

    >>> dims_text(("time", None)), dims_text(())
    ('time, unnamed', 'none')
    """
    return ", ".join("unnamed" if d is None else d for d in dims) or "none"


def grid_text(grid: ChunkGrid) -> str:
    """A chunk grid in words.

    >>> from byteatlas.meta.model import RectilinearGrid
    >>> grid_text(RegularGrid((1, 4))), grid_text(RectilinearGrid(((2, 2, 1), (4,))))
    ('1 x 4', '(2*2, 1) x 4')
    """
    if isinstance(grid, RegularGrid):
        return shape_text(grid.chunk_shape)
    return " x ".join(runs_text(edges) for edges in grid.edges) or "one value"


def runs_text(edges: Sequence[int], show: int = 3) -> str:
    """Chunk lengths along an axis in order, equal neighbours with their count."""
    runs = [(n, len(list(same))) for n, same in groupby(edges)]
    text = ", ".join(f"{count}*{n}" if count > 1 else str(n) for n, count in runs[:show])
    if len(runs) == 1:
        return str(runs[0][0])
    return f"({text}{', ...' if len(runs) > show else ''})" if runs else "0"
