"""New files onto a map that exists: what is there already is passed over, what was reprocessed can be replaced."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np

from byteatlas.combining.chunks.slicing import parts as cut
from byteatlas.combining.compare.must_match import unequal
from byteatlas.combining.context import owners_of_bounds
from byteatlas.combining.coordinates.times import is_time
from byteatlas.combining.inputs import flatten
from byteatlas.combining.known_values import Positions, coordinate_of, find, shares, where_in
from byteatlas.combining.model import CombineOptions, FlatInput, ReadArray
from byteatlas.combining.plan import Prepared, prepare
from byteatlas.combining.select.ops import select
from byteatlas.errors import BadRequest, Conflict, Unsupported
from byteatlas.manifest.columns import CONSTANT_BYTES
from byteatlas.manifest.kinds.window import window
from byteatlas.manifest.model import INLINE, ChunkManifest, VirtualArray, VirtualGroup
from byteatlas.meta.grid import boundaries
from byteatlas.values import dataclass, replace

ReferredBytes: TypeAlias = tuple[str, str | None, int, int] | bytes
"""A range of a file (URL, stamp, offset, length), or bytes in the map."""


@dataclass(frozen=True, slots=True)
class Appended:
    """Names of the inputs that were added, that were there already, and that replaced older ones.

    >>> ba.write(ba.scan("jan.nc"), "both.json")
    >>> ba.append("both.json", ["jan.nc", "feb.nc"], concat="time")
    Appended(added=('feb.nc',), skipped=('jan.nc',), replaced=())
    """

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

    A group whose coordinate values are all there, with the same references or equal data, is passed over. With other
    data it is a `Conflict`, or takes their place when ``replacing``; where it begins or ends inside of a chunk of the
    map, that chunk is read in part.
    """
    if len(options.concat) != 1:
        raise BadRequest("appending needs exactly one dimension")
    (dim,) = options.concat
    inputs = flatten(groups, names)
    if dim in options.coords:
        raise BadRequest("appending takes coordinate values from the files' variables")
    known = coordinate_of(existing, dim, read)
    added: list[FlatInput] = []
    skipped: list[FlatInput] = []
    replaced: list[tuple[Positions, FlatInput]] = []
    interleaved: list[FlatInput] = []
    parts = [("map", existing)]
    for item in inputs:
        runs = [] if known is None else where_in(known, item, dim, existing, read)
        if known is None:
            (skipped if all_referred(existing, item, dim) else added).append(item)
        elif not runs:
            (interleaved if replacing and shares(known, item, dim, existing, read) else added).append(item)
        elif all(already_there(existing, item, dim, run, len(runs) == 1) for run in runs) and equal_data(
            existing, item, dim, runs, options, read, in_map=True
        ):
            skipped.append(item)
        elif not replacing:
            if equal_data(existing, item, dim, runs, options, read):
                skipped.append(item)
                continue
            detail = f"{item.name} covers {dim!r} values that the map has with other data; replace says to take it"
            raise Conflict([f"{detail} [duplicate]"])
        elif len(runs) == 1:
            replaced.append((runs[0], item))
        else:
            interleaved.append(item)
    news = [i.name for _, i in replaced] + [i.name for i in interleaved]
    report = Appended(tuple(i.name for i in added), tuple(i.name for i in skipped), tuple(news))
    if not (added or replaced or interleaved):
        return Addition(report, None)
    # Attributes of the map stay: a new file's different history must not take them away.
    chosen = replace(options, order="coordinate", attributes="first")
    if replaced and known is not None:
        parts = spliced(existing, replaced, dim, len(known))
    if interleaved:  # their values are among others: what comes last counts
        parts += [(i.name, i.group) for i in interleaved]
        prepared = prepare(
            [g for _, g in parts], replace(chosen, duplicates="last"), read=read, names=[n for n, _ in parts]
        )
        if not added or prepared.conflicts:
            return Addition(report, prepared)
        parts = [("map", prepared.result())]
    parts += [(i.name, i.group) for i in added]
    prepared = prepare([g for _, g in parts], chosen, read=read, names=[n for n, _ in parts])
    return Addition(report, prepared)


def already_there(existing: VirtualGroup, item: FlatInput, dim: str, run: Positions, whole: bool) -> bool:
    """Whether the map's chunks for these positions are this input's chunks.

    They are when they refer to the same bytes (in parts, perhaps, where the map had to cut chunks), or to nothing but
    the same file, unchanged since. ``whole``: the run is all of the input.
    """
    for path, array in item.arrays.items():
        names = array.meta.dimension_names
        if names is None or dim not in names:
            continue
        old = find(existing, path)
        if old is None or (old.meta.dimension_names or ()).count(dim) != 1:
            return False
        if in_the_map(old):
            continue  # rewritten into the map: `equal_data` compares its values
        axis = (old.meta.dimension_names or ()).index(dim)
        borders = boundaries(old.meta.shape[axis], old.meta.grid, axis)
        first, last = np.searchsorted(borders, run).tolist()
        if borders[first] != run[0] or borders[last] != run[1]:
            return False
        there, here = (bytes_of(m.load()) for m in (window(old.manifest, axis, first, last), array.manifest))
        if not (there == here if whole else there <= here) and not only_unchanged_files(there, here):
            return False
    return True


def all_referred(existing: VirtualGroup, item: FlatInput, dim: str) -> bool:
    """Whether the map refers to all chunks of an input already; without coordinate values, nothing else tells."""
    seen = False
    for path, array in item.arrays.items():
        if dim not in (array.meta.dimension_names or ()):
            continue
        old, own = find(existing, path), bytes_of(array.manifest.load())
        if old is None or not own <= bytes_of(old.manifest.load()):
            return False
        seen = seen or any(isinstance(b, tuple) for b in own)
    return seen


def equal_data(
    existing: VirtualGroup,
    item: FlatInput,
    dim: str,
    runs: Sequence[Positions],
    options: CombineOptions,
    read: ReadArray,
    *,
    in_map: bool = False,
) -> bool:
    """Whether an input's data are those that the map has for the same coordinate values.

    ``in_map``: only those are looked at that the map keeps in itself, of which references tell nothing.
    """
    bounds = owners_of_bounds([item])
    stops = np.cumsum([b - a for a, b in runs]).tolist()
    own_spans = [(stop - (b - a), stop) for stop, (a, b) in zip(stops, runs, strict=True)]
    for path, array in item.arrays.items():
        names, old = array.meta.dimension_names or (), find(existing, path)
        if dim not in names or path == dim or path in bounds or is_time(array.meta.attributes.get("units")):
            continue  # these follow from the coordinate, or are kept in other units
        if in_map and old is not None and not in_the_map(old):
            continue
        if old is None or old.meta.dimension_names != names or names.count(dim) != 1:
            return False
        axis = names.index(dim)
        if array.meta.shape[axis] != stops[-1]:
            return False
        try:
            sides = zip(cut(old, axis, runs), cut(array, axis, own_spans), strict=True)
        except Unsupported:
            return False
        if any(unequal(path, pair, ("map", item.name), options, read) for pair in sides):
            return False
    return True


def bytes_of(m: ChunkManifest) -> set[ReferredBytes]:
    """What a manifest refers to: ranges of files, and the bytes that are in it (but what stands for missing chunks)."""
    stored = m.source >= 0
    ranges = zip(m.source[stored].tolist(), m.offset[stored].tolist(), m.length[stored].tolist(), strict=True)
    found: set[ReferredBytes] = {(m.sources[s].url, m.sources[s].stamp, offset, length) for s, offset, length in ranges}
    return (found | set(m.inlined.values())) - {CONSTANT_BYTES}


def only_unchanged_files(there: set[ReferredBytes], here: set[ReferredBytes]) -> bool:
    """Whether all are ranges of the same files, of which is known that they did not change."""
    files, own = ({b[:2] if isinstance(b, tuple) else None for b in side} for side in (there, here))
    return bool(files) and files <= own and all(f is not None and f[1] is not None for f in files)


def in_the_map(array: VirtualArray) -> bool:
    """Whether an array is one chunk that is in the map itself."""
    one = all(n == 1 for n in array.manifest.grid_shape)
    return one and bool(array.manifest.rows(np.zeros(1, np.int64)).source[0] == INLINE)


def spliced(
    existing: VirtualGroup,
    replaced: Sequence[tuple[Positions, FlatInput]],
    dim: str,
    length: int,
) -> list[tuple[str, VirtualGroup]]:
    """The map cut around what is replaced, and the new parts."""
    parts: list[tuple[str, VirtualGroup]] = []
    at = 0
    for (start, stop), item in sorted(replaced, key=lambda r: r[0]):
        if start < at:
            raise Conflict([f"{item.name} and another file replace the same {dim!r} values [duplicate]"])
        if start > at:
            parts.append((f"map {at}:{start}", select(existing, dim, at, start, cut=True)))
        parts.append((item.name, item.group))
        at = stop
    if at < length:
        parts.append((f"map {at}:{length}", select(existing, dim, at, length, cut=True)))
    return parts
