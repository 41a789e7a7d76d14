"""The entries of a small array as text, row by row: below some hundred chunks that costs less than columns."""

from __future__ import annotations

from functools import lru_cache
from itertools import product, repeat

from byteatlas.manifest.model import Rows
from byteatlas.types import Shape

FEW = 256
"""Chunks up to which rows cost less (``python -m tests.bench references``, "small maps: write")."""


@lru_cache(maxsize=64)
def positions(counts: Shape, separator: str) -> tuple[str, ...]:
    """Chunk positions in C order as keys spell them; the arrays of a map, and of an archive's maps, have few grids.

    >>> positions((2, 2), ".")
    ('0.0', '0.1', '1.0', '1.1')
    """
    if len(counts) == 1:
        return tuple(map(str, range(counts[0])))
    return tuple([separator.join(place) for place in product(*[list(map(str, range(n))) for n in counts])])


def few_rows(prefix: bytes, places: tuple[str, ...], end: bytes, urls: list[bytes], rows: Rows) -> bytes:
    """``"key":["url",offset,length]`` of every chunk of an array, each after a comma.

    Args:
        prefix: what the quoted keys begin with, the quotation mark included.
        places: the chunks' positions.
        end: what keys end with, up to the beginning of the list.
        urls: the quoted URLs of the sources.
        rows: of all chunks; none is missing, inline, empty or a whole file.
    """
    begin, rest, names = "," + prefix.decode(), end.decode(), [url.decode() for url in urls]
    shown = repeat(names[0]) if len(names) == 1 else [names[i] for i in rows.source.tolist()]
    columns = zip(places, shown, rows.offset.tolist(), rows.length.tolist(), strict=False)
    return "".join([f"{begin}{place}{rest}{url},{offset},{length}]" for place, url, offset, length in columns]).encode()
