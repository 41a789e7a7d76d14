"""Arrays to read from, and what is done with their values: `open`, `copy`, `georeference`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, TypeAlias

from byteatlas.api.indexing import load, load_kind, versioned
from byteatlas.api.targets import Readable, References, access_for, expect, is_references, place_of
from byteatlas.arguments import VERBS, accept
from byteatlas.errors import BadRequest, NotFound
from byteatlas.io.access import AbsentParts, Access
from byteatlas.io.kind import METADATA_NAMES, kind_of
from byteatlas.io.policy import Policy
from byteatlas.manifest.model import VirtualArray, VirtualGroup, VirtualNode
from byteatlas.progress import OnProgress, Progress
from byteatlas.store.base import Store
from byteatlas.types import JSON
from byteatlas.values import replace

if TYPE_CHECKING:
    from byteatlas.array import Array, Group, Node, ReadOptions
    from byteatlas.array.writing.copy import CopyOptions, CopyReport
    from byteatlas.meta.conventions import Georeference
    from byteatlas.store.write import WriteTarget

Openable: TypeAlias = Readable | References | VirtualNode | Mapping[str, bytes] | Store


def open(
    target: Openable,
    *,
    path: str = "",
    access: Access | None = None,
    storage_options: Mapping[str, JSON] | None = None,
    policy: Policy | None = None,
    options: ReadOptions | None = None,
    absent_parts: AbsentParts | None = None,
    branch: str | None = None,
    tag: str | None = None,
    snapshot: str | None = None,
) -> Node:
    """Open a reference map, a Zarr store, virtual arrays or an archive file for reading.

    Args:
        target: a path or URL of any of these, or an open binary file that can seek; a `VirtualGroup` or
            `VirtualArray`; references as a dict (see `load`); a mapping of Zarr keys to bytes, or a store
            (`byteatlas.store`).
        path: open this member instead of the root.
        access: how bytes may be reached; None = as virtual arrays were. ``storage_options`` and ``policy`` are short
            for one.
        policy: which files the references may lead to; by default a map from the network leads to nothing on this
            machine.
        absent_parts: see `load`, also for ``branch``, ``tag`` and ``snapshot``.

    Returns: a `Group` or an `Array`.

    >>> root = ba.open("jan.nc")
    >>> root["air"]
    <Array '/air' float32 (time 2, lat 4, lon 8)>
    >>> root["air"][0, :2, ::4]
    array([[ 0.,  4.],
           [ 8., 12.]], dtype=float32)
    """
    accept(VERBS, path=path)
    from byteatlas.array import ReadOptions, open_node
    from byteatlas.array.options import check_read_options

    expect(options, ReadOptions, "options")
    options = ReadOptions() if options is None else options
    check_read_options(options)
    if isinstance(target, Store) or (isinstance(target, Mapping) and not is_references(target)):
        from byteatlas.array import open_store

        return open_store(target, path, options=options)
    if isinstance(target, (VirtualArray, VirtualGroup)):
        how = access_for(target, access, storage_options, policy)
        return open_node(target, how.pool(), path=path, options=options)
    how = Access.of(access, storage_options, policy)
    if not isinstance(target, Mapping):
        url, how = place_of(target, how)
        url = versioned(url, branch, tag, snapshot)
        kind = kind_of(url, how)
        if kind == "zarr":
            from byteatlas.array import open_store

            return open_store(_root_of(url), path, access=how, options=options)
        reach = how if absent_parts is None else replace(how, absent_parts=absent_parts)
        return open_node(load_kind(url, kind, reach), how.pool(), path=path, options=options)
    node = load(target, access=how, absent_parts=absent_parts)
    return open_node(node, how.pool(), path=path, options=options)


def open_array(
    target: Openable,
    path: str = "",
    *,
    access: Access | None = None,
    storage_options: Mapping[str, JSON] | None = None,
    policy: Policy | None = None,
    options: ReadOptions | None = None,
) -> Array:
    """`open` for what is known to be an array. Raises `NotFound` when it is a group, and what `open` raises.

    >>> ba.open_array("jan.nc", path="air").chunks
    (1, 1, 8)
    """
    accept(VERBS, path=path)
    from byteatlas.array import Array

    found = open(target, path=path, access=access, storage_options=storage_options, policy=policy, options=options)
    if not isinstance(found, Array):
        raise NotFound(f"{path or 'this'} is a group; say which array: {', '.join(list(found)[:8])}")
    return found


def open_group(
    target: Openable,
    path: str = "",
    *,
    access: Access | None = None,
    storage_options: Mapping[str, JSON] | None = None,
    policy: Policy | None = None,
    options: ReadOptions | None = None,
) -> Group:
    """`open` for what is known to be a group. Raises `NotFound` when it is an array, and what `open` raises.

    >>> list(ba.open_group("jan.nc"))
    ['time', 'lat', 'lon', 'air']
    """
    accept(VERBS, path=path)
    from byteatlas.array import Group

    found = open(target, path=path, access=access, storage_options=storage_options, policy=policy, options=options)
    if not isinstance(found, Group):
        raise NotFound(f"{path or 'this'} is an array, not a group")
    return found


def opened(target: Openable | Node, path: str, access: Access) -> Node:
    """A node that is open already, or one that is opened now; or a member of either."""
    from byteatlas.array import Array, Group

    if isinstance(target, Group):
        found: Node = target[path]
        return found
    if isinstance(target, Array):
        if path:
            raise BadRequest(f"{path!r}: an array has no members")
        return target
    return open(target, path=path, access=access)


def _root_of(url: str) -> str:
    """A metadata document's URL stands for the node that it describes."""
    head, _, last = url.rstrip("/").rpartition("/")
    return head or "." if last in METADATA_NAMES else url


def copy(
    source: Openable | Node,
    target: WriteTarget,
    *,
    path: str = "",
    options: CopyOptions | None = None,
    access: Access | None = None,
    storage_options: Mapping[str, JSON] | None = None,
    policy: Policy | None = None,
    progress: OnProgress | None = None,
) -> CopyReport:
    """Copy values into a real Zarr store: virtual data made stored, or a store rechunked, recompressed or sharded.

    Args:
        source: what `open` takes, or a `Group` or `Array`.
        target: a folder, a ZIP file (by its suffix), any fsspec URL that can be written to, a mapping, or a store.
        path: copy this member instead of the root.
        access: how source and target may be reached; None = as a virtual source was. ``storage_options`` and ``policy``
            are short for one.
        progress: called with an array's path, the bytes copied of it so far, and its total.

    A copy that was stopped goes on where it was when it is asked for again; a ZIP file appears only when it is whole.

    Raises:
        Conflict: the target holds something else, or a copy of another source or with other options.
        Forbidden: storage that is read only (web servers above all), or a source that the policy does not allow.
        Unsupported: an array that the chosen version of Zarr cannot express.

    >>> ba.copy("jan.nc", "jan.zarr").arrays
    4
    >>> ba.open("jan.zarr")["air"][0, 1, :3]
    array([ 8.,  9., 10.], dtype=float32)
    """
    accept(VERBS, path=path, progress=progress)
    from byteatlas.array.writing.copy import CopyOptions
    from byteatlas.array.writing.copy import copy as copy_node
    from byteatlas.store.write import writable

    expect(options, CopyOptions, "options")
    how = how_for(source, access, storage_options, policy)
    node = opened(source, path, how)
    tell = None if progress is None else lambda name, n, of: progress(Progress("copy", name, n, of))
    with writable(target, how) as store:
        return copy_node(node, store, options or CopyOptions(), tell)


def how_for(
    target: object,
    access: Access | None,
    storage_options: Mapping[str, JSON] | None = None,
    policy: Policy | None = None,
) -> Access:
    """How something that may be virtual, or open already, is to be reached."""
    if isinstance(target, (VirtualArray, VirtualGroup)):
        return access_for(target, access, storage_options, policy)
    return Access.of(access, storage_options, policy)


def georeference(
    target: Openable | Node,
    path: str = "",
    *,
    access: Access | None = None,
    storage_options: Mapping[str, JSON] | None = None,
    policy: Policy | None = None,
) -> Georeference:
    """The CRS (WKT, PROJJSON, EPSG code ... as it is stored) and the affine transform of an array.

    Understood are GDAL's ``_CRS``, the Zarr conventions ``spatial:`` and ``proj:``, CF grid mappings and regular
    one-dimensional coordinates (see `byteatlas.meta.conventions`).

    Args:
        target: what `open` takes, or a `Group` or `Array`; the root, so that what groups above the array say counts.
        path: of the array below it.
        access: how bytes may be reached; ``storage_options`` and ``policy`` are short for one.

    >>> found = ba.georeference("land.tif", "data")
    >>> found.crs.kind, found.transform
    ('wkt', Affine(a=30.0, b=0.0, c=500000.0, d=0.0, e=-30.0, f=4000000.0))
    """
    accept(VERBS, path=path)
    from byteatlas.array.geo import georeference_of

    return georeference_of(opened(target, "", how_for(target, access, storage_options, policy)), path)
