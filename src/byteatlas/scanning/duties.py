"""What is done to every scanner's result: names, checks, the part that was asked for, small arrays into the map.

A scanner does none of this itself, so that all of them do it alike.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TypeAlias

import numpy as np

from byteatlas.errors import BadRequest, FileFault, InvalidMetadata, NotFound, Unsupported
from byteatlas.io.policy import FILES, origin_of
from byteatlas.manifest.kinds.joined import JoinedInfo
from byteatlas.manifest.model import WHOLE, ChunkManifest, ReportItem, SourceInfo, VirtualArray, VirtualGroup
from byteatlas.meta.grid import chunk_counts
from byteatlas.meta.names import legal_name
from byteatlas.scanning.contract import Option, Parse, Scanner, ScanOptions
from byteatlas.scanning.inline import inline_small
from byteatlas.scanning.reasons import Reason
from byteatlas.scanning.report import refusal
from byteatlas.types import JSON
from byteatlas.values import replace


def complete(scanner: Scanner, source: SourceInfo, options: ScanOptions) -> Parse[VirtualGroup]:
    """A scanner's parser with everything that is the driver's duty.

    Raises `BadRequest` for options that the scanner does not have, `NotFound` for a group that is not there, and what
    the scanner raises.
    """
    chosen(scanner, options)
    found = checked((yield from scanner.scan(source, options)))
    if origin_of(source.url) != FILES:
        from byteatlas.manifest.origin import marked

        safe = marked(found, source.url)
        assert isinstance(safe, VirtualGroup)
        found = safe
    if options.group is not None:
        found = only_group(found, options.group, source.url)
    if options.inline_below:
        found = yield from inline_small(found, options.inline_below, source)
    return found


# --------------------------------------------------------------------------------------- options


def chosen(scanner: Scanner, options: ScanOptions) -> dict[str, JSON]:
    """The scanner's own options, complete with defaults. Raises `BadRequest` for one that it does not have."""
    given = options.extra.get(scanner.name, {})
    known = {option.name: option for option in scanner.options}
    if not isinstance(given, Mapping):
        raise BadRequest(f"options of scanner {scanner.name!r} are a dict; known: {_listed(scanner.options)}")
    for name, value in given.items():
        option = known.get(name)
        if option is None:
            raise BadRequest(f"scanner {scanner.name!r} has no option {name!r}; known: {_listed(scanner.options)}")
        if not _is_a(value, option.kind):
            raise BadRequest(f"option {name!r} of scanner {scanner.name!r} is {value!r}, not {option.kind.__name__}")
    return {name: given.get(name, option.default) for name, option in known.items()}


def _is_a(value: JSON, kind: type) -> bool:
    """Whether a value is of an option's type; True and False are no numbers, an integer is a float."""
    if isinstance(value, bool) or kind is bool:
        return isinstance(value, bool) and kind is bool
    return isinstance(value, (int, float) if kind is float else kind)


def _listed(options: tuple[Option, ...]) -> str:
    return ", ".join(f"{o.name} ({o.kind.__name__})" for o in options) or "none"


# --------------------------------------------------------------------------------------- checks


def checked(group: VirtualGroup) -> VirtualGroup:
    """The tree without what must not be presented; what was taken out is refused in the report.

    An array with bytes in files that the report does not mention is added to it. Arrays that a scanner makes by itself
    (coordinates of an image) are no datasets of the file, and need no mention.
    """
    bad = dict(faults(group))
    mentioned = {item.path for item in group.report}
    silent = [
        (path, node)
        for path, node in group.walk()
        if path not in mentioned and isinstance(node, VirtualArray) and node.manifest.sources
    ]
    if not bad and not silent:
        return group
    why = {"/".join(place): error for place, error in bad.items()}
    report: list[ReportItem] = []
    for item in group.report:
        owner = next((p for p in why if item.path == p or item.path.startswith(p + "/")), None)
        report.append(item if owner is None else refusal(item.path, why[owner], item.locators))
    report += [refusal(path, error) for path, error in why.items() if path not in mentioned]
    report += [ReportItem(path, _status(array)) for path, array in silent if path not in why]
    return replace(_without(group, (), bad), report=tuple(report))


TreePath: TypeAlias = tuple[str, ...]
"""The names on the way to a node. (A name that is not legal may hold a slash.)"""


def faults(group: VirtualGroup, place: TreePath = ()) -> Iterator[tuple[TreePath, FileFault]]:
    """Nodes that must not be presented, and why: names that are not legal, manifests that do not fit their arrays."""
    for name, array in group.arrays.items():
        why = misfit(array)
        if not legal_name(name):
            yield (*place, name), _illegal(name)
        elif why is not None:
            yield (*place, name), InvalidMetadata("", why)
    for name, below in group.groups.items():
        if not legal_name(name):
            yield (*place, name), _illegal(name)
        else:
            yield from faults(below, (*place, name))


def _illegal(name: str) -> Unsupported:
    return Unsupported(Reason.NAME, f"{name!r} cannot be the name of a Zarr node")


def misfit(array: VirtualArray) -> str | None:
    """How a manifest does not fit its array's metadata; None when it does."""
    meta, manifest = array.meta, array.manifest
    grid = chunk_counts(meta.shape, meta.grid)
    if tuple(manifest.grid_shape) != grid:
        return f"the manifest is for a grid of {tuple(manifest.grid_shape)} chunks, the array has {grid}"
    if isinstance(manifest, ChunkManifest):
        column, total = manifest.encoding, len(meta.encodings)
        if column is not None and len(column) and int(column.max()) >= total:
            return f"a chunk has encoding {int(column.max())}, the array {total}"
        # With one source, as nearly always, the check is left to reading: here it would cost more than the rest.
        if len(manifest.sources) > 1 and len(manifest.source) and int(manifest.source.max()) >= len(manifest.sources):
            return f"a chunk is in source {int(manifest.source.max())} of {len(manifest.sources)}"
    return None


def _status(array: VirtualArray) -> str:
    return "inlined" if getattr(array.manifest, "inlined", None) else "virtual"


def _without(group: VirtualGroup, place: TreePath, bad: Mapping[TreePath, FileFault]) -> VirtualGroup:
    arrays = {name: a for name, a in group.arrays.items() if (*place, name) not in bad}
    groups = {n: _without(g, (*place, n), bad) for n, g in group.groups.items() if (*place, n) not in bad}
    return replace(group, arrays=arrays, groups=groups)


# --------------------------------------------------------------------------------------- a part of the file


def only_group(root: VirtualGroup, path: str, url: str) -> VirtualGroup:
    """The group at a path as the root, with what the report says of it. Raises `NotFound`."""
    parts = [part for part in path.split("/") if part not in ("", ".")]
    node = root
    for part in parts:
        if part in node.arrays:
            raise NotFound(f"{path!r} is not a group of {url}")
        if part not in node.groups:
            raise NotFound(f"no group {path!r} in {url}", list(node.groups))
        node = node.groups[part]
    inside = "".join(f"{part}/" for part in parts)
    report = [
        replace(item, path=item.path[len(inside) :] or "/")
        for item in root.report
        if (item.path + "/").startswith(inside) or not parts
    ]
    return replace(node, report=tuple(report))


# --------------------------------------------------------------------------------------- a file inside of another


def shifted(group: VirtualGroup, whole: SourceInfo, by: int) -> VirtualGroup:
    """The scan of a part of a file, with references into the file itself (``whole``), of which it begins at ``by``."""
    return relocated(group, whole, lambda url: by if url == whole.url else None)


def relocated(group: VirtualGroup, whole: SourceInfo, begin: Callable[[str], int | None]) -> VirtualGroup:
    """A tree with references into files that are parts of another one, as references into that one (``whole``).

    Args:
        begin: where the file of a URL begins in ``whole``; None: it is no part of it, and stays.
    """
    arrays = {n: replace(a, manifest=_relocated(a.manifest.load(), whole, begin)) for n, a in group.arrays.items()}
    groups = {name: relocated(below, whole, begin) for name, below in group.groups.items()}
    return replace(group, arrays=arrays, groups=groups)


def _relocated(manifest: ChunkManifest, whole: SourceInfo, begin: Callable[[str], int | None]) -> ChunkManifest:
    sources = manifest.sources
    if any(isinstance(info, JoinedInfo) for info in sources):
        sources = tuple([i.moved(whole, begin) if isinstance(i, JoinedInfo) else i for i in sources])
        manifest = replace(manifest, sources=sources)
    begins = [begin(info.url) for info in sources]
    if all(at is None for at in begins):
        return manifest
    own = np.array([at is not None for at in begins], np.bool_)
    first = np.array([at or 0 for at in begins], np.uint64)
    stored = manifest.source >= 0
    moved, by = np.zeros(len(stored), np.bool_), np.zeros(len(stored), np.uint64)
    moved[stored], by[stored] = own[manifest.source[stored]], first[manifest.source[stored]]
    if bool((manifest.length[moved] == WHOLE).any()):
        raise Unsupported(Reason.LAYOUT, "a chunk that is a whole file, in a file inside of another")
    named = tuple([whole if mine else info for info, mine in zip(sources, own, strict=True)])
    return replace(manifest, sources=named, offset=manifest.offset + by)
