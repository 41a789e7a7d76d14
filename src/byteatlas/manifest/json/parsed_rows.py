"""Rows from entries that were parsed already: those of one array together, by Python's own C code."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from byteatlas.manifest.json.values import LARGEST
from byteatlas.meta.model import ChunkKeys
from byteatlas.types import JSON, Shape
from byteatlas.values import dataclass

_NUMBERS = re.compile(r"[0-9]{1,18}(?:,[0-9]{1,18})*")

Owner = Callable[[str], tuple[str, str] | None]
"""The array that a chunk key belongs to, and what its keys begin with."""


Grids = Mapping[str, tuple[Shape, ChunkKeys]]
"""Of each array how many chunks it has along each axis, and how their keys are spelled."""


@dataclass(frozen=True, slots=True, eq=False)
class ArrayRun:
    """Entries of one array: their places among all entries, and the flat indices of their chunks."""

    path: str
    where: slice | list[int]
    flat: NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class EntryLayout:
    """What the keys of a map's entries, and the types of their values, say of them.

    Attributes:
        runs: the lists whose keys are spelled as usual.
        singly: keys that have to be looked at one by one.
    """

    keys: list[str]
    kinds: list[type]
    grids: Grids
    runs: tuple[ArrayRun, ...]
    singly: tuple[str, ...]


def entry_layout(keys: list[str], kinds: list[type], grids: Grids, owner: Owner) -> EntryLayout:
    """Find out to which array each entry belongs."""
    folders: dict[str, list[int]] = {}
    singly: list[str] = []
    for i, (key, kind) in enumerate(zip(keys, kinds, strict=True)):
        if kind is list and "c." not in key:
            folders.setdefault(key[: key.rfind("/") + 1], []).append(i)
        else:
            singly.append(key)
    members: dict[tuple[str, str], list[int]] = {}
    for folder, places in folders.items():
        whose = owner(keys[places[0]])
        if whose is None or len(whose[1]) > len(folder) or not folder.startswith(whose[1]):
            singly += [keys[i] for i in places]
        else:
            members.setdefault(whose, []).extend(places)
    runs = []
    for (path, prefix), places in members.items():
        counts, spelling = grids[path]
        flat = flat_positions([keys[i][len(prefix) :] for i in places], counts, spelling) if counts else None
        if flat is None:
            singly += [keys[i] for i in places]
            continue
        flat.flags.writeable = False
        together = places[-1] - places[0] + 1 == len(places) and places == sorted(places)
        runs.append(ArrayRun(path, slice(places[0], places[-1] + 1) if together else places, flat))
    return EntryLayout(keys, kinds, grids, tuple(runs), tuple(singly))


def flat_positions(tails: Sequence[str], counts: Shape, keys: ChunkKeys) -> NDArray[np.int64] | None:
    """Chunk positions as flat indices (C order over ``counts``); None when one is spelled otherwise or outside.

    >>> flat_positions(["1.2", "0.1"], (2, 3), ChunkKeys("v2", "."))
    array([5, 1])
    >>> flat_positions(["1.3"], (2, 3), ChunkKeys("v2", ".")) is None
    True
    """
    separators = len(counts) - 1
    if keys.suffix or {tail.count(keys.separator) for tail in tails} != {separators}:
        return None
    text = ",".join(tails).replace(keys.separator, ",")
    if _NUMBERS.fullmatch(text) is None:
        return None
    try:
        numbers = np.array(json.loads(f"[{text}]"), np.int64)
    except ValueError:  # leading zeros
        return None
    if len(numbers) != len(tails) * len(counts):
        return None
    places = numbers.reshape(-1, len(counts)).T
    if (places >= np.array(counts)[:, None]).any():
        return None
    flat: NDArray[np.int64] = places[0]
    for place, n in zip(places[1:], counts[1:], strict=True):
        flat = flat * n + place
    return flat


def three_columns(
    values: Sequence[JSON], number: Callable[[str], int]
) -> tuple[NDArray[np.int32], NDArray[np.uint64], NDArray[np.uint64]] | None:
    """``[url, offset, length]`` as columns; None when a value is anything else. ``number``: of a source, by its URL."""
    try:
        urls, offsets, lengths = zip(*values, strict=True)
    except ValueError:  # not three each
        return None
    if {*map(type, urls)} != {str} or {*map(type, offsets), *map(type, lengths)} != {int}:
        return None
    if min(offsets) < 0 or min(lengths) < 1 or max(offsets) + max(lengths) > LARGEST:
        return None
    numbers = {url: number(url) for url in dict.fromkeys(urls)}
    if len(numbers) == 1:
        source = np.full(len(urls), numbers[urls[0]], np.int32)
    else:
        source = np.array([numbers[url] for url in urls], np.int32)
    return source, np.array(offsets, np.uint64), np.array(lengths, np.uint64)
