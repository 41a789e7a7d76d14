"""The entry point of ``engine="byteatlas"``."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from xarray import Dataset, DataTree
from xarray.backends import BackendEntrypoint
from xarray.backends.store import StoreBackendEntrypoint

from byteatlas.api.opening import open as open_node
from byteatlas.api.targets import place_of
from byteatlas.array import Array, Group, Node
from byteatlas.array.dimensions import lengths_above
from byteatlas.errors import BadRequest, NotFound
from byteatlas.io.access import DEFAULT, Access
from byteatlas.io.forms import MAP_SUFFIXES
from byteatlas.io.kind import kind_of
from byteatlas.io.local import absolute, local_path
from byteatlas.io.policy import Policy
from byteatlas.io.stamp import Check
from byteatlas.manifest.model import VirtualArray, VirtualGroup
from byteatlas.store.base import Store
from byteatlas.types import JSON
from byteatlas.values import dataclass, replace
from byteatlas.xarray_backend.store import ByteatlasStore


class GroupNotFound(OSError, NotFound):
    """There is no such group: to xarray, and to callers of its other engines, an ``OSError``."""

    def __init__(self, what: str) -> None:
        NotFound.__init__(self, what)


@dataclass(frozen=True, slots=True)
class Opened:
    """What a user opened: the root, once, and its name."""

    root: Node
    source: str | None


class ByteatlasBackend(BackendEntrypoint):
    """Entry point of ``engine="byteatlas"``."""

    description = "Reference maps, Zarr stores and archives (HDF5, netCDF, TIFF, GRIB, FITS, HDF4) through byteatlas"
    url = "https://github.com/byteatlas/byteatlas"
    supports_groups = True
    open_dataset_parameters = (
        "filename_or_obj", "mask_and_scale", "decode_times", "concat_characters", "decode_coords", "drop_variables",
        "use_cftime", "decode_timedelta", "group", "access", "storage_options", "policy", "stamps",
        "use_zarr_fill_value_as_mask",
    )  # fmt: skip

    def guess_can_open(self, filename_or_obj: Any) -> bool:
        """Reference maps only: archives and native stores have engines of their own."""
        if isinstance(filename_or_obj, (VirtualGroup, Group)):
            return True
        if not isinstance(filename_or_obj, (str, os.PathLike)):
            return False
        name = os.fspath(filename_or_obj)
        if not name.rstrip("/").lower().endswith(MAP_SUFFIXES):
            return False
        path = local_path(name)
        if path is None or not Path(path).exists():
            return True
        kind = kind_of(name)
        return kind == "parquet" or (kind == "json" and _looks_like_a_map(Path(path)))

    def open_dataset(
        self,
        filename_or_obj: Any,
        *,
        mask_and_scale: Any = True,
        decode_times: Any = True,
        concat_characters: Any = True,
        decode_coords: Any = True,
        drop_variables: str | Iterable[str] | None = None,
        use_cftime: Any = None,
        decode_timedelta: Any = None,
        group: str | None = None,
        access: Access | None = None,
        storage_options: Mapping[str, JSON] | None = None,
        policy: Policy | None = None,
        stamps: Check | None = None,
        use_zarr_fill_value_as_mask: bool | None = None,
    ) -> Dataset:
        """One group as a dataset.

        Args:
            filename_or_obj: a URL or path; an open binary file; references as a dict; a `VirtualGroup`; a `Group`.
            group: its path; the root if not given.
            access: how the map, and the files that it leads to, may be reached. None = as a virtual group was.
            storage_options, policy: short for one.
            stamps: what of the sources is compared with the map's record of them (`Access.stamps`); None = what
                ``access`` says.
            use_zarr_fill_value_as_mask: take the arrays' fill value as ``_FillValue`` where there is no such
                attribute. Default: only for native Zarr v2 stores; the fill value of a scanned file is what its own
                library gives for chunks that were never written, and masks nothing.

        Raises:
            OSError: there is no such group.
            SourceChanged: when values are read: a file is not the one that was indexed.
        """
        opened = _opened(filename_or_obj, access, storage_options, policy, stamps)
        decoding = {
            "mask_and_scale": mask_and_scale, "decode_times": decode_times, "concat_characters": concat_characters,
            "decode_coords": decode_coords, "drop_variables": drop_variables, "use_cftime": use_cftime,
            "decode_timedelta": decode_timedelta,
        }  # fmt: skip
        return _dataset(opened, _group_at(opened, group), use_zarr_fill_value_as_mask, decoding)

    def open_groups_as_dict(
        self, filename_or_obj: Any, *, group: str | None = None, **options: Any
    ) -> dict[str, Dataset]:
        """Every group from ``group`` (or the root) down, by its path from there; options as for `open_dataset`."""
        mask = options.pop("use_zarr_fill_value_as_mask", None)
        how = (options.pop(name, None) for name in ("access", "storage_options", "policy", "stamps"))
        opened = _opened(filename_or_obj, *how)
        return {path: _dataset(opened, node, mask, options) for path, node in _groups(_group_at(opened, group))}

    def open_datatree(self, filename_or_obj: Any, **options: Any) -> DataTree:
        """Every group as a node of a tree; options as for `open_dataset`."""
        return DataTree.from_dict(self.open_groups_as_dict(filename_or_obj, **options))


def _looks_like_a_map(path: Path) -> bool:
    """Whether a JSON file has the words of a reference map near its beginning; compressed ones are believed."""
    with path.open("rb") as file:
        head = file.read(1 << 16)
    words = (b'"refs"', b".zgroup", b".zarray", b"zarr.json", b'"gen"', b'"templates"')
    return not head.lstrip().startswith((b"{", b"[")) or any(word in head for word in words)


def _opened(
    target: Any,
    access: Access | None,
    storage_options: Mapping[str, JSON] | None,
    policy: Policy | None,
    stamps: Check | None,
) -> Opened:
    """Open what a user names, as it is now: nothing is remembered from earlier times."""
    if isinstance(target, (Group, Array)):
        return Opened(target, None)
    given = not (access is None and storage_options is None and policy is None and stamps is None)
    how: Access | None = None
    if given:
        own = target.access if isinstance(target, (VirtualArray, VirtualGroup)) and access is None else access
        short = storage_options is not None or policy is not None
        how = Access.of(access if short else own, storage_options, policy)
        how = how if stamps is None else replace(how, stamps=stamps)
    if isinstance(target, (VirtualArray, VirtualGroup, Store, Mapping)):
        return Opened(open_node(target, access=how), None)
    if isinstance(target, (str, os.PathLike)):
        target = os.path.expanduser(target)  # noqa: PTH111 - URLs too
    url, how = place_of(target, how or DEFAULT)
    url = absolute(url)
    return Opened(open_node(url, access=how), url)


def _group_at(opened: Opened, group: str | None) -> Group:
    if group is not None and not isinstance(group, str):
        raise BadRequest(f"group is {type(group).__name__}; it must be a string")
    path = (group or "").strip("/")
    try:
        node = opened.root[path] if isinstance(opened.root, Group) else opened.root
    except NotFound as error:
        raise GroupNotFound(f"{opened.source or 'what is open'} has no group {'/' + path!r}") from error
    if not isinstance(node, Group):
        raise BadRequest(f"{group or 'the root'} is an array; xarray opens groups")
    return node


def _groups(start: Group) -> Iterator[tuple[str, Group]]:
    yield "/", start
    for path, node in start.walk():
        if isinstance(node, Group):
            yield f"/{path}", node


def _dataset(opened: Opened, group: Group, fill_as_mask: bool | None, decoding: Mapping[str, Any]) -> Dataset:
    if fill_as_mask is None:
        # As xarray's own zarr engine has it for stores of version 2.
        fill_as_mask = group.meta.zarr_format == 2 and group.stored
    drop = decoding.get("drop_variables") or ()
    if not isinstance(drop, Iterable):
        raise BadRequest(f"drop_variables is {type(drop).__name__}; a name, or a list of names, was expected")
    without = frozenset((drop,) if isinstance(drop, str) else drop)
    store = ByteatlasStore(group, opened.source, fill_as_mask, without, lengths_above(opened.root, group))
    dataset: Dataset = StoreBackendEntrypoint().open_dataset(store, **decoding)
    dataset.set_close(_nothing)  # not the store's method, which would be pickled with open files and all
    return dataset


def _nothing() -> None:
    """Files are closed when the last array that reads from them is gone."""
