"""From archives and maps to virtual arrays: `scan`, `load`."""

from __future__ import annotations

import os
import warnings
from collections import Counter
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Literal, TypeAlias

from byteatlas.api.targets import Readable, References, Target, access_for, expect, is_references, place_of
from byteatlas.api.tree import VirtualTree, rooted, tree
from byteatlas.arguments import VERBS, accept
from byteatlas.errors import BadRequest, FetchFailed, Unsupported
from byteatlas.io.access import DEFAULT, AbsentParts, Access
from byteatlas.io.local import absolute, is_store, local_path
from byteatlas.io.policy import FILES, Policy, origin_of
from byteatlas.manifest.model import VirtualArray, VirtualGroup, VirtualNode
from byteatlas.progress import OnProgress, Progress
from byteatlas.types import JSON, ByteRange
from byteatlas.values import replace

if TYPE_CHECKING:
    from byteatlas.io.kind import UrlKind
    from byteatlas.manifest.model import ReportItem
    from byteatlas.manifest.sharing import SharedDocuments
    from byteatlas.scanning.contract import Scanner, ScanOptions

OnRefusal: TypeAlias = Literal["warn", "raise", "ignore"]


class RefusalWarning(UserWarning):
    """Datasets of a scanned file were refused; the scan report says which and why.

    >>> import warnings
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore", ba.RefusalWarning)
    ...     vg = ba.scan("refused.h5")
    >>> vg.report
    <ScanReport: 1 refused>
      extended: datatype: a floating-point number of 16 bytes
    """


def scan(
    url: Readable,
    *,
    format: str | None = None,
    on_refusal: OnRefusal = "warn",
    options: ScanOptions | None = None,
    side_file: Target | None = None,
    window: ByteRange | None = None,
    access: Access | None = None,
    storage_options: Mapping[str, JSON] | None = None,
    policy: Policy | None = None,
    scanners: Mapping[str, Scanner] | None = None,
    progress: OnProgress | None = None,
) -> VirtualTree:
    """Index one archive file: a tree of virtual arrays and a report of every dataset.

    Args:
        url: a path, any URL that fsspec opens, or an open binary file that can seek. ``zip://a.nc::https://host/x.zip``
            (and ``tar://``) is a member of an archive: references lead to the archive itself.
        format: the scanner's name; None = found by the file's first bytes.
        on_refusal: what to do about datasets that cannot be represented: one warning that counts them by reason, the
            first one as an `Unsupported` error, or nothing. They are in ``.report`` in any case.
        side_file: where to write values that are decoded while scanning (variable-length data above all) and are too
            large for a map (`ScanOptions.inline_most`); references then lead there. None = such datasets are refused
            above `ScanOptions.max_inline`, and in the map below it. No file is written when nothing is that large.
        window: scan only this part of the file, which is a file of its own in it (a member of an archive that is stored
            as it is): its offset and length in bytes. The references lead to the file itself.
        access: how bytes may be reached; the result keeps it. ``storage_options`` and ``policy`` are short for one.
        policy: which other files the file may lead to (external links, raw storage, virtual datasets). By default a
            local file may lead anywhere, one from the network to nothing on this machine.
        progress: called with the number of structures read so far.

    Raises:
        FetchFailed: the file is not there or cannot be reached.
        CorruptFile: nothing of the file can be understood.
        Unsupported: no scanner knows the format; or a refusal, when asked to raise.

    >>> vg = ba.scan("jan.nc")
    >>> vg.report
    <ScanReport: 4 virtual>
    >>> vg["air"].manifest
    <ChunkManifest grid (2, 4, 1), 8 references to 1 file>
    """
    accept(VERBS, format=format, on_refusal=on_refusal, side_file=side_file, scanners=scanners, progress=progress)
    from byteatlas.scanning.contract import ScanOptions
    from byteatlas.scanning.driver import scan_source
    from byteatlas.scanning.plugins import installed

    expect(options, ScanOptions, "options")
    if on_refusal not in ("warn", "raise", "ignore"):
        raise BadRequest(f"on_refusal is {on_refusal!r}; known: warn, raise, ignore")
    place, access = place_of(url, Access.of(access, storage_options, policy))
    known = installed() if scanners is None else scanners
    if format is None and window is None and is_store(place):
        found_there = load_kind(place, "zarr", access)
        if isinstance(found_there, VirtualArray):
            raise BadRequest(f"{place} is a single array; a group was expected")
        return found_there
    # References are read relative to the map that holds them, which may be written anywhere.
    name = absolute(place)
    chosen = options or ScanOptions()
    if "::" in name and window is None:
        name, format, chosen = _in_archive(name, format, chosen, known)
    if side_file is not None:
        chosen = replace(chosen, max_inline=max(chosen.max_inline, chosen.max_side))
    found = scan_source(
        access.open(name),
        access.pool(),
        known,
        chosen,
        format=format,
        progress=None if progress is None else lambda n: progress(Progress("scan", place, n)),
        window=_range_of(window),
    )
    if origin_of(name) != FILES:
        from byteatlas.manifest.origin import marked

        found = marked(found, name)
    if side_file is not None:
        from byteatlas.manifest.ops.inline import aside

        found = aside(found, absolute(os.fspath(side_file)), chosen.inline_most, access)
    _tell(name, [item for item in found.report if item.status == "refused"], on_refusal)
    return tree(found, access)


def _in_archive(
    url: str, format: str | None, options: ScanOptions, scanners: Mapping[str, Scanner]
) -> tuple[str, str | None, ScanOptions]:
    """A member of an archive (``zip://member::archive``) as the archive, its scanner, and the member as an option.

    References then lead to the archive itself. Any other URL as it is.
    """
    from byteatlas.manifest.ops.archive import split_member

    parts = split_member(url)
    if parts is None or parts[0] not in scanners:
        return url, format, options
    own = options.extra.get(parts[0], {})
    if not isinstance(own, Mapping) or "member" in own:
        raise BadRequest(f"{url} names a member, and so do the options of {parts[0]!r}")
    inside: dict[str, JSON] = {**own, "member": parts[1]}
    if format is not None:
        inside["format"] = format
    return absolute(parts[2]), parts[0], replace(options, extra={**options.extra, parts[0]: inside})


def _range_of(window: object) -> ByteRange | None:
    """A part of a file, given as two numbers."""
    match window:
        case None:
            return None
        case ByteRange():
            return window
        case (int(offset), int(length)):
            return ByteRange(offset, length)
        case _:
            raise BadRequest("window is two numbers: the part's offset and length in bytes")


def load(
    target: Readable | References | VirtualNode,
    *,
    access: Access | None = None,
    storage_options: Mapping[str, JSON] | None = None,
    policy: Policy | None = None,
    options: ScanOptions | None = None,
    absent_parts: AbsentParts | None = None,
    branch: str | None = None,
    tag: str | None = None,
    snapshot: str | None = None,
    shards: Literal["whole", "inner"] = "whole",
) -> VirtualTree | VirtualArray:
    """A reference map, an archive or a Zarr store as virtual arrays: where the bytes lie, not their values.

    Args:
        target: a path or URL; an open binary file that can seek; references as a dict (version 0 or 1), which are the
            caller's own and may lead anywhere; or virtual arrays, which are given back.
        access: how bytes may be reached; the result keeps it. ``storage_options`` and ``policy`` are short for one.
        absent_parts: what part files of a Parquet map mean that are not there (`Access.absent_parts`).
        branch: or ``tag``, or ``snapshot``; which version of an Icechunk repository. None of them: the branch main.
        shards: ``whole`` = each shard is one chunk; ``inner`` = the chunks within shards, as byte ranges that every
            reader knows and that combine with plain chunks; the indexes of the shards are read for it.

    Of a Zarr store (a folder, object storage, or a ZIP file whose members are not compressed) each chunk is a source by
    itself; a chunk that the listing does not have is missing.

    Raises `Unsupported` for storage that does not list what it has.

    >>> ba.write(ba.scan("jan.nc"), "jan.json")
    >>> ba.load("jan.json")
    <VirtualGroup: 4 arrays>
      time  float64 (time 2)
      lat   float64 (lat 4)
      lon   float64 (lon 8)
      air   float32 (time 2, lat 4, lon 8)
    """
    if shards not in ("whole", "inner"):
        raise BadRequest(f"shards is {shards}; known: whole, inner")
    if isinstance(target, (VirtualArray, VirtualGroup)):
        node = rooted(target, access_for(target, access, storage_options, policy))
    else:
        how = Access.of(access, storage_options, policy)
        how = how if absent_parts is None else replace(how, absent_parts=absent_parts)
        node = _loaded(target, how, options, lambda url: versioned(url, branch, tag, snapshot))
    return node if shards == "whole" else _with_inner_chunks(node)


def _loaded(
    target: Readable | References, access: Access, options: ScanOptions | None, version: Callable[[str], str]
) -> VirtualTree | VirtualArray:
    if isinstance(target, Mapping):
        return _read(target, access)
    url, access = place_of(target, access)
    url = version(url)
    from byteatlas.io.kind import kind_of

    return load_kind(url, kind_of(url, access), access, options)


def _with_inner_chunks(node: VirtualTree | VirtualArray) -> VirtualTree | VirtualArray:
    from byteatlas.array.inner_chunks import inner_chunks

    access = node.access or DEFAULT
    return rooted(inner_chunks(node, access.pool()), access)


def versioned(url: str, branch: str | None, tag: str | None, snapshot: str | None) -> str:
    """The URL of one version of an Icechunk repository; any URL as it is where nothing is said of versions."""
    if branch is None and tag is None and snapshot is None:
        return url
    from byteatlas.manifest.foreign.icechunk.options import at_version

    return at_version(url, branch, tag, snapshot)


def root_of(url: str) -> str:
    """A metadata document's URL stands for the node that it describes."""
    from byteatlas.io.kind import METADATA_NAMES

    head, _, last = url.rstrip("/").rpartition("/")
    return head or "." if last in METADATA_NAMES else absolute(url)


def load_among(
    target: Readable | References | VirtualNode, access: Access | None, shared: SharedDocuments
) -> VirtualTree | VirtualArray:
    """`load` for one of many that are to become one: all of it will be needed, and much of it is in others too."""
    if isinstance(target, (VirtualArray, VirtualGroup, Mapping)):
        return load(target, access=access)
    url, how = place_of(target, Access.of(access))
    if is_remote_archive(url):
        try:
            return scan(url, access=how)
        except Unsupported as error:
            if error.reason != "format":
                raise
        except FetchFailed as error:
            if not error.absent:  # a store's folder, perhaps
                raise
    from byteatlas.io.kind import kind_of

    return load_kind(url, kind_of(url, how), how, shared=shared)


def is_remote_archive(url: str) -> bool:
    """Whether a URL's name says that an archive is there: then no request is needed to find out what it is."""
    if local_path(url) is not None or "::" in url:
        return False
    from byteatlas.io.forms import DATA_SUFFIXES

    return url.lower().endswith(DATA_SUFFIXES)


def load_kind(
    url: str,
    kind: UrlKind,
    access: Access,
    options: ScanOptions | None = None,
    shared: SharedDocuments | None = None,
) -> VirtualTree | VirtualArray:
    """`load` for a URL of which it is known what lies there. ``shared``: it is one of many (`load_among`)."""
    match kind:
        case "json" | "parquet":
            return _read(url, access, kind, shared)
        case "archive":
            return scan(url, on_refusal="warn", access=access, options=options)
        case "zarr":
            from byteatlas.scanning.stores.read import virtual_store

            return rooted(virtual_store(root_of(url), access), access)


def _read(
    target: str | References,
    access: Access,
    form: Literal["json", "parquet"] | None = None,
    shared: SharedDocuments | None = None,
) -> VirtualTree | VirtualArray:
    from byteatlas.manifest.options import MapReadOptions
    from byteatlas.manifest.references import read_references

    options = MapReadOptions(absent_parts=access.absent_parts, at_once=shared is not None, shared=shared)
    return rooted(read_references(target, access=access, form=form, options=options), access)


def _tell(url: str, refused: list[ReportItem], on_refusal: OnRefusal) -> None:
    if not refused or on_refusal == "ignore":
        return
    if on_refusal == "raise":
        raise Unsupported(refused[0].reason or "unknown", refused[0].detail, f"{url}:{refused[0].path}")
    counts = ", ".join(f"{n} x {reason}" for reason, n in Counter(item.reason for item in refused).most_common())
    first = f"{refused[0].path}: {refused[0].detail}"
    warnings.warn(f"{url}: {len(refused)} datasets refused ({counts}); first: {first}", RefusalWarning, stacklevel=3)


__all__ = ["OnRefusal", "RefusalWarning", "is_references", "load", "scan"]
