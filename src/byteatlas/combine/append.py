"""New files onto a map that exists: what is there already is passed over, what was reprocessed can be replaced."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from byteatlas.combine.inputs import find_variable, flatten
from byteatlas.combine.model import CombineOptions, Input, ReadArray
from byteatlas.combine.ops import select
from byteatlas.combine.plan import Prepared, prepare
from byteatlas.combine.values import read_all
from byteatlas.errors import BadRequest, Conflict, NotFound
from byteatlas.manifest.model import INLINE, VirtualArray, VirtualGroup
from byteatlas.meta.grid import boundaries


@dataclass(frozen=True, slots=True)
class Appended:
    """Names of the inputs that were added, that were there already, and that replaced older ones."""

    added: tuple[str, ...]
    skipped: tuple[str, ...]
    replaced: tuple[str, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Addition:
    """An append, ready to be written. ``prepared`` is None when there is nothing to do."""

    report: Appended
    prepared: Prepared | None


def append(
    existing: VirtualGroup,
    groups: Sequence[VirtualGroup],
    options: CombineOptions,
    *,
    read: ReadArray,
    names: Sequence[str] | None = None,
    replacing: bool = False,
) -> Addition:
    """Add groups to a combined one along a single dimension.

    A group whose coordinate values are all there, with the same references, is passed over. With other references it
    is a `Conflict`, or takes their place when ``replacing``; that needs chunk borders where it begins and ends.
    """
    if len(options.concat) != 1:
        raise BadRequest("appending needs exactly one dimension")
    (dim,) = options.concat
    inputs = flatten(groups, names)
    if dim in options.coords:
        raise BadRequest("appending takes coordinate values from the files' variables")
    known = coordinate_of(existing, dim, read)
    added, skipped, replaced = [], [], []
    pieces = [("map", existing)]
    for item in inputs:
        run = where_in(known, item, dim, existing, read)
        if run is None:
            added.append(item)
        elif already_there(existing, item, dim, run):
            skipped.append(item)
        elif replacing:
            replaced.append((run, item))
        else:
            detail = f"{item.name} covers {dim!r} values that the map has from other bytes; replace says to take it"
            raise Conflict([f"{detail} [duplicate]"])
    report = Appended(tuple(i.name for i in added), tuple(i.name for i in skipped), tuple(i.name for _, i in replaced))
    if not added and not replaced:
        return Addition(report, None)
    if replaced:
        pieces = spliced(existing, replaced, dim, len(known), read)
    everything = [*pieces, *((i.name, i.group) for i in added)]
    # Attributes of the map stay: a new file's different history must not take them away.
    chosen = replace(options, order="coordinate", attributes="first")
    prepared = prepare([g for _, g in everything], chosen, read=read, names=[n for n, _ in everything])
    return Addition(report, prepared)


def coordinate_of(group: VirtualGroup, dim: str, read: ReadArray) -> np.ndarray[tuple[int], np.dtype[np.generic]]:
    """The map's coordinate values. Raises `BadRequest` when it has none."""
    item = flatten([group], ["map"])[0]
    path = find_variable(dim, item)
    if path is None or item.arrays[path].meta.ndim != 1:
        raise BadRequest(f"the map has no coordinate variable {dim!r} to append along")
    return read_all([item.arrays[path]], read)[0]


def where_in(
    known: np.ndarray[tuple[int], np.dtype[np.generic]], item: Input, dim: str, existing: VirtualGroup, read: ReadArray
) -> tuple[int, int] | None:
    """The run of positions that hold exactly this input's coordinate values; None when they are not all there.

    Values are compared in the units of the map; an input in other units is left to the combination to sort out.
    """
    path = find_variable(dim, item)
    if path is None:
        return None
    array = item.arrays[path]
    old = find(existing, path)
    if old is not None and old.meta.attributes.get("units") != array.meta.attributes.get("units"):
        return None
    values = read_all([array], read)[0].reshape(-1)
    if not len(values):
        return None
    found = np.flatnonzero(known == values[0])
    for at in found.tolist():
        if np.array_equal(known[at : at + len(values)], values):
            return at, at + len(values)
    return None


def already_there(existing: VirtualGroup, item: Input, dim: str, run: tuple[int, int]) -> bool:
    """Whether the map's chunks for these positions are this input's chunks."""
    start, stop = run
    for path, array in item.arrays.items():
        names = array.meta.dimension_names
        if names is None or not names or names[0] != dim:
            continue
        old = find(existing, path)
        if old is None:
            return False
        if in_the_map(old):
            continue  # rewritten into the map: its values were compared, or follow from those
        borders = boundaries(old.meta.shape[0], old.meta.grid, 0)
        first, last = np.searchsorted(borders, (start, stop)).tolist()
        if borders[first] != start or borders[last] != stop:
            return False
        layer = int(np.prod(old.manifest.grid_shape[1:], dtype=np.int64))
        there = old.manifest.rows(np.arange(first * layer, last * layer, dtype=np.int64))
        here = array.manifest.load()
        if len(there.source) != len(here.source) or bool(((there.source >= 0) != (here.source >= 0)).any()):
            return False
        stored = here.source >= 0
        urls, own = old.manifest.sources, here.sources
        pairs = set(zip(there.source[stored].tolist(), here.source[stored].tolist(), strict=True))
        same = all(urls[a].url == own[b].url and urls[a].stamp == own[b].stamp for a, b in pairs)
        if not same or bool((there.offset != here.offset)[stored].any()):
            return False
        if bool((there.length != here.length)[stored].any()):
            return False
    return True


def in_the_map(array: VirtualArray) -> bool:
    """Whether an array is one chunk that is in the map itself."""
    one = all(n == 1 for n in array.manifest.grid_shape)
    return one and bool(array.manifest.rows(np.zeros(1, np.int64)).source[0] == INLINE)


def find(group: VirtualGroup, path: str) -> VirtualArray | None:
    """The array at a path, or None."""
    try:
        node = group[path]
    except NotFound:
        return None
    return node if isinstance(node, VirtualArray) else None


def spliced(
    existing: VirtualGroup,
    replaced: Sequence[tuple[tuple[int, int], Input]],
    dim: str,
    length: int,
    read: ReadArray,
) -> list[tuple[str, VirtualGroup]]:
    """The map cut around what is replaced, and the new pieces."""
    pieces: list[tuple[str, VirtualGroup]] = []
    at = 0
    for (start, stop), item in sorted(replaced, key=lambda r: r[0]):
        if start < at:
            raise Conflict([f"{item.name} and another file replace the same {dim!r} values [duplicate]"])
        if start > at:
            pieces.append((f"map {at}:{start}", select(existing, dim, at, start, read=read)))
        pieces.append((item.name, item.group))
        at = stop
    if at < length:
        pieces.append((f"map {at}:{length}", select(existing, dim, at, length, read=read)))
    return pieces
