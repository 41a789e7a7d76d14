"""Pages for people: `report`."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from byteatlas.api.combination import Input, prepare_combine
from byteatlas.api.indexing import load, load_kind, scan
from byteatlas.api.opening import Openable, how_for
from byteatlas.api.opening import open as open_target
from byteatlas.api.targets import place_of
from byteatlas.api.tree import VirtualTree, tree
from byteatlas.arguments import VERBS, accept
from byteatlas.errors import BadRequest, FileFault
from byteatlas.io.access import Access
from byteatlas.io.forms import ARCHIVE_SUFFIXES, MAP_SUFFIXES, PARQUET_SUFFIXES
from byteatlas.io.kind import METADATA_NAMES, kind_of
from byteatlas.io.local import local_path
from byteatlas.io.policy import Policy
from byteatlas.manifest.model import ReportItem, ScanReport, VirtualArray, VirtualGroup, VirtualNode
from byteatlas.progress import OnProgress
from byteatlas.scanning.report import refusal
from byteatlas.types import JSON

if TYPE_CHECKING:
    from byteatlas.array import Node
    from byteatlas.combining import Plan
    from byteatlas.verifying.report import VerifyReport

Reportable: TypeAlias = "Openable | Node | Plan | VerifyReport | ScanReport"
_FORMATS = (
    ".nc", ".nc4", ".cdf", ".h5", ".hdf5", ".he5", ".hdf", ".hdf4", ".he2", ".tif", ".tiff", ".grib", ".grib1",
    ".grib2", ".grb", ".grb2", ".fits", ".fit", ".fts", ".fz",
)  # fmt: skip
_KNOWN = (*_FORMATS, *ARCHIVE_SUFFIXES, *MAP_SUFFIXES)
"""Endings of what is shown of a folder."""
_STORE = (*METADATA_NAMES, ".zattrs")
_KINDS = {"json": "map", "parquet": "map", "archive": "archive", "zarr": "store"}


def report(
    target: Reportable | Sequence[Input],
    *,
    title: str | None = None,
    concat: str | Sequence[str] = (),
    looks: bool = True,
    access: Access | None = None,
    storage_options: Mapping[str, JSON] | None = None,
    policy: Policy | None = None,
    progress: OnProgress | None = None,
) -> str:
    """A page about something, as one HTML text that needs nothing else.

    Args:
        target: what `open` takes, or what it gives; a folder of maps and archive files, which are shown side by side; a
            `Plan`, a `VerifyReport` or the report of a scan; a list of maps and archive files, which are combined.
        title: the heading; by default the name of the target.
        concat: combine a list, or a folder's files, along this dimension: the page has the plan and what it gives.
        looks: with pictures, for which a few values are read.
        access: how bytes may be reached; ``storage_options`` and ``policy`` are short for one.

    Raises `MissingExtra` without jinja2, and what `open` and `combine` raise; a plan with conflicts is shown.

    >>> page = ba.report("jan.nc", title="January")
    >>> page.startswith("<!doctype html>"), "January" in page
    (True, True)
    """
    accept(VERBS, title=title, concat=concat, looks=looks, progress=progress)
    from byteatlas.combining.model import Plan
    from byteatlas.pages.report import PageOptions, plan_page, scan_page, tree_page, verify_page
    from byteatlas.verifying.report import VerifyReport

    if isinstance(target, Plan):
        return plan_page(target, PageOptions(title or "Plan of a combination", kind="plan"))
    if isinstance(target, VerifyReport):
        return verify_page(target, PageOptions(title or target.target, kind="verification"))
    if isinstance(target, ScanReport):
        return scan_page(target, PageOptions(title or "Scan report", kind="scan"))
    how = how_for(target, access, storage_options, policy)
    if concat:
        inputs = _files_of(target, how)
        prepared = prepare_combine(inputs, concat, access=how, progress=progress)
        options = PageOptions(title or _title(target), kind="combination", looks=looks)
        if not prepared.plan.ok:
            return plan_page(prepared.plan, options)
        combined = prepared.result()
        return tree_page(combined, open_target(combined, access=how), options, prepared.plan)
    if not isinstance(target, (str, os.PathLike, Mapping)) and isinstance(target, Sequence):
        raise BadRequest("a list of inputs is combined: say along which dimension with concat")
    node, opened, kind = _node(target, how)
    source = os.fspath(target) if isinstance(target, (str, os.PathLike)) and kind != "folder" else ""
    return tree_page(node, opened, PageOptions(title or _title(target), str(source), kind, looks))


def _node(target: Openable | Node, how: Access) -> tuple[VirtualNode | Node, Node, str]:
    """Where the bytes lie, the same to be read, and a word for it."""
    from byteatlas.array import Array, Group

    if isinstance(target, (Array, Group)):
        return target, target, "arrays"
    if isinstance(target, (VirtualArray, VirtualGroup)):
        return target, open_target(target, access=how), "references"
    if isinstance(target, (str, os.PathLike)):
        url, reach = place_of(target, how)
        if files := _inside(url):
            virtual: VirtualNode = _side_by_side(url, files, reach)
            return virtual, open_target(virtual, access=reach), "folder"
        kind = kind_of(url, reach)
        if kind == "zarr":
            opened = open_target(url, access=reach)
            return opened, opened, "store"
        virtual = scan(url, on_refusal="ignore", access=reach) if kind == "archive" else load_kind(url, kind, reach)
        return virtual, open_target(virtual, access=reach), _KINDS[kind]
    if isinstance(target, dict):
        virtual = load(target, access=how)
        return virtual, open_target(virtual, access=how), "references"
    opened = open_target(target, access=how)
    return opened, opened, "store"


def _inside(target: str) -> list[str]:
    """The maps and archive files in a folder and below it; none where it is a Zarr store or a map itself."""
    path = local_path(target)
    if path is None or not Path(path).is_dir() or any((Path(path) / name).exists() for name in _STORE):
        return []
    found: list[str] = []
    for place, folders, names in os.walk(path):
        maps = [name for name in folders if name.lower().endswith(PARQUET_SUFFIXES)]
        folders[:] = sorted(n for n in folders if n not in maps and not n.startswith(".") and not n.endswith(".zarr"))
        found += [str(Path(place) / name) for name in sorted([*names, *maps]) if name.lower().endswith(_KNOWN)]
    return found


def _files_of(target: object, how: Access) -> Sequence[Input] | str:
    """The inputs of a combination."""
    if isinstance(target, (list, tuple)):
        return target
    if not isinstance(target, (str, os.PathLike)):
        raise BadRequest("concat is for a list of maps and archive files, or a folder of them")
    return _inside(os.fspath(target)) or os.fspath(target)


def _side_by_side(folder: str, files: Sequence[str], access: Access) -> VirtualTree:
    """A group for each file, by its path in the folder. One that is damaged or of no known format is in the report."""
    groups: dict[str, VirtualGroup] = {}
    items: list[ReportItem] = []
    for file in files:
        name = "__".join(Path(file).relative_to(local_path(folder) or folder).parts)
        try:
            kind = kind_of(file, access)
            node = scan(file, on_refusal="ignore", access=access) if kind == "archive" else load(file, access=access)
        except FileFault as error:
            items.append(refusal(name, error))
            continue
        groups[name] = VirtualGroup(arrays={"array": node}) if isinstance(node, VirtualArray) else node
        items += [item for item in getattr(node, "report", ()) if item.status == "refused"]
    return tree(VirtualGroup(groups=groups, report=tuple(items)), access)


def _title(target: object) -> str:
    if isinstance(target, (str, os.PathLike)):
        return os.fspath(target).rstrip("/").rpartition("/")[2] or "byteatlas"
    return f"{len(target)} inputs" if isinstance(target, (list, tuple)) else type(target).__name__
