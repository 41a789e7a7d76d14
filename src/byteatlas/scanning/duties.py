"""What is done to every scanner's result: names, checks, the part that was asked for, small arrays into the map.

A scanner does none of this itself, so that all of them do it alike.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from byteatlas.errors import BadRequest, FileFault, InvalidMetadata, NotFound, Unsupported
from byteatlas.manifest.model import ChunkManifest, ReportItem, SourceInfo, VirtualArray, VirtualGroup
from byteatlas.meta.grid import chunk_counts
from byteatlas.meta.names import legal_name
from byteatlas.scanning.contract import Option, Parse, Scanner, ScanOptions
from byteatlas.scanning.inline import inline_small
from byteatlas.scanning.reasons import Reason
from byteatlas.scanning.report import refusal
from byteatlas.types import JSON


def complete(scanner: Scanner, source: SourceInfo, options: ScanOptions) -> Parse[VirtualGroup]:
    """A scanner's parser with everything that is the driver's duty.

    Raises `BadRequest` for options that the scanner does not have, `NotFound` for a group that is not there, and what
    the scanner raises.
    """
    chosen(scanner, options)
    found = checked((yield from scanner.scan(source, options)))
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
    if not isinstance(given, dict):
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

    An array that the report does not mention is added to it.
    """
    bad = dict(faults(group))
    mentioned = {item.path for item in group.report}
    said = [ReportItem(p, _status(a)) for p, a in _arrays(group) if p not in mentioned and p not in bad]
    if not bad and not said:
        return group
    report = [item for item in group.report if not _below(item.path, bad)]
    for path, error in bad.items():
        lost = [item.path for item in group.report if _below(item.path, {path: error})] or [path]
        report += [refusal(name, error) for name in lost]
    return replace(_without(group, "", bad), report=(*report, *said))


def faults(group: VirtualGroup) -> Iterator[tuple[str, FileFault]]:
    """Nodes that must not be presented, and why: names that are not legal, manifests that do not fit their arrays."""
    for path, node in group.walk():
        name = path.rpartition("/")[2]
        if not legal_name(name):
            yield path, Unsupported(Reason.NAME, f"{name!r} cannot be the name of a Zarr node")
        elif isinstance(node, VirtualArray):
            why = misfit(node)
            if why is not None:
                yield path, InvalidMetadata("", why)


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
        if len(manifest.source) and int(manifest.source.max()) >= len(manifest.sources):
            return f"a chunk is in source {int(manifest.source.max())} of {len(manifest.sources)}"
    return None


def _arrays(group: VirtualGroup) -> Iterator[tuple[str, VirtualArray]]:
    for path, node in group.walk():
        if isinstance(node, VirtualArray):
            yield path, node


def _status(array: VirtualArray) -> str:
    return "inlined" if getattr(array.manifest, "inlined", None) else "virtual"


def _below(path: str, bad: dict[str, FileFault]) -> bool:
    """Whether a path is one of these nodes, or in one of them."""
    return any(path == p or path.startswith(p + "/") for p in bad)


def _without(group: VirtualGroup, prefix: str, bad: dict[str, FileFault]) -> VirtualGroup:
    arrays = {name: a for name, a in group.arrays.items() if prefix + name not in bad}
    groups = {n: _without(g, f"{prefix}{n}/", bad) for n, g in group.groups.items() if prefix + n not in bad}
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
