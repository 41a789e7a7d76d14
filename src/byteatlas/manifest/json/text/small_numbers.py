"""Numbers inside the text of a small map. Below some hundred rows, Python's own C code beats columns of NumPy.

Both functions know the plain spelling only, and give None for anything else: `json.numbers` decides then.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import product

import numpy as np
from numpy.typing import NDArray

SMALL_BATCH = 1024
"""Rows."""
_PAIRS = re.compile(rb"(?:, ?[0-9]{1,19}, ?[0-9]{1,19})*")


def slices(data: bytes, begin: NDArray[np.int64], end: NDArray[np.int64]) -> list[bytes]:
    """``data[begin:end]`` for every row."""
    return [data[b:e] for b, e in zip(begin.tolist(), end.tolist(), strict=True)]


def small_pairs(texts: Sequence[bytes]) -> tuple[NDArray[np.uint64], NDArray[np.uint64]] | None:
    """Texts that are all ``,12,345`` as two columns.

    >>> small_pairs([b",1,22", b", 3, 4"])
    (array([1, 3], dtype=uint64), array([22,  4], dtype=uint64))
    >>> small_pairs([b",1,22,3", b",4"]) is small_pairs([b",1,-2"]) is None
    True
    """
    joined = b"".join(texts)
    if not all(t.count(b",") == 2 and t[:1] == b"," for t in texts) or _PAIRS.fullmatch(joined) is None:
        return None
    try:
        numbers = np.array(json.loads(b"[" + joined[1:] + b"]"), np.uint64).reshape(-1, 2)
    except ValueError:  # leading zeros
        return None
    return numbers[:, 0].copy(), numbers[:, 1].copy()


def small_positions(texts: Sequence[bytes], counts: tuple[int, ...], separator: str) -> NDArray[np.int64] | None:
    """Chunk positions such as ``3.14`` as flat indices (C order over ``counts``), in small grids.

    >>> small_positions([b"1.2", b"0.1"], (2, 3), ".")
    array([5, 1])
    >>> small_positions([b"1.3"], (2, 3), ".") is small_positions([b"01.1"], (2, 3), ".") is None
    True
    """
    if not counts or math.prod(counts) > SMALL_BATCH:
        return None
    known = spellings(counts, separator)
    found = [known.get(t, -1) for t in texts]
    return None if -1 in found else np.array(found, np.int64)


@lru_cache(maxsize=16)
def spellings(counts: tuple[int, ...], separator: str) -> Mapping[bytes, int]:
    """Every position of a small grid as it is spelled in keys, and its flat index."""
    axes = [[str(i) for i in range(n)] for n in counts]
    return {separator.join(p).encode(): i for i, p in enumerate(product(*axes))}
