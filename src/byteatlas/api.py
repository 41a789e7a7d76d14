"""The verbs of the library: scan, write, open, combine. Everything public here is exported by ``byteatlas``."""

from __future__ import annotations

import os
import warnings
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, TypeAlias

from numpy.typing import NDArray

from byteatlas.array import Array, Group, Node, ReadOptions, open_node
from byteatlas.array.geo import georeference_of
from byteatlas.array.models import create_from_model, model_of
from byteatlas.array.options import DEFAULT
from byteatlas.array.stored import open_store
from byteatlas.array.writing.copy import CopyOptions, CopyReport
from byteatlas.array.writing.copy import Progress as CopyProgress
from byteatlas.array.writing.copy import copy as copy_node
from byteatlas.combining import CombineOptions, Plan
from byteatlas.combining import combine as combine_groups
from byteatlas.combining import plan_combine as plan_groups
from byteatlas.combining.append import Appended
from byteatlas.combining.append import append as append_groups
from byteatlas.combining.compare.intern import Sharing
from byteatlas.combining.inputs import first_url
from byteatlas.combining.model import ReadArray
from byteatlas.combining.plan import Prepared
from byteatlas.combining.plan import prepare as prepare_groups
from byteatlas.combining.select.labels import Region
from byteatlas.combining.select.ops import concat as concat_groups
from byteatlas.combining.select.region import mask_by_value, select_by_value
from byteatlas.combining.update import update_parquet
from byteatlas.errors import BadRequest, Unsupported
from byteatlas.io.kind import METADATA_NAMES, kind_of
from byteatlas.io.local import local_path
from byteatlas.io.open import SourcePool
from byteatlas.io.policy import Policy
from byteatlas.manifest.model import ReportItem, VirtualArray, VirtualGroup, VirtualNode
from byteatlas.manifest.ops.inline import aside
from byteatlas.manifest.options import AbsentParts, Format, WriteOptions
from byteatlas.manifest.options import ReadOptions as MapOptions
from byteatlas.manifest.references import absolute, is_parquet_map, read_references, write_references
from byteatlas.meta.conventions import Georeference
from byteatlas.meta.zom import Model
from byteatlas.scanning.contract import Scanner, ScanOptions
from byteatlas.scanning.driver import Progress, scan_source
from byteatlas.scanning.plugins import installed
from byteatlas.store.base import Store
from byteatlas.store.write import WriteTarget, writable
from byteatlas.types import JSON
from byteatlas.values import replace as with_options
from byteatlas.verifying import VerifyOptions, VerifyReport, verify_node

Target: TypeAlias = str | os.PathLike[str]
OnRefusal: TypeAlias = Literal["warn", "raise", "ignore"]


class RefusalWarning(UserWarning):
    """Datasets of a scanned file were refused; the scan report says which and why."""


def scan(
    url: Target,
    *,
    format: str | None = None,
    on_refusal: OnRefusal = "warn",
    options: ScanOptions | None = None,
    side_file: Target | None = None,
    storage_options: Mapping[str, JSON] | None = None,
    policy: Policy | None = None,
    scanners: Mapping[str, Scanner] | None = None,
    progress: Progress | None = None,
) -> VirtualGroup:
    """Index one archive file: a tree of virtual arrays and a report of every dataset.

    Args:
        url: a path, or any URL that fsspec opens.
        format: the scanner's name; None = found by the file's first bytes.
        on_refusal: what to do about datasets that cannot be represented: one warning that counts them by reason, the
            first one as an `Unsupported` error, or nothing. They are in ``.report`` in any case.
        side_file: where to write values that are decoded while scanning (variable-length data above all) and are too
            large for a map (`ScanOptions.inline_most`); references then lead there. None = such datasets are refused
            above `ScanOptions.max_inline`, and in the map below it. No file is written when nothing is that large.
        policy: which other files the file may lead to (external links, raw storage, virtual datasets). By default a
            local file may lead anywhere, one from the network to no local file.

    Raises:
        FetchFailed: the file is not there or cannot be reached.
        CorruptFile: nothing of the file can be understood.
        Unsupported: no scanner knows the format; or a refusal, when asked to raise.
    """
    # References are read relative to the map that holds them, which may be written anywhere.
    name = absolute(os.fspath(url))
    local = local_path(name) is not None
    pool = SourcePool(storage_options, policy or Policy(local=local))
    options = options or ScanOptions()
    if side_file is not None:
        options = with_options(options, max_inline=max(options.max_inline, options.max_side))
    found = scan_source(
        SourcePool(storage_options)(name),
        pool,
        installed() if scanners is None else scanners,
        options,
        format=format,
        progress=progress,
    )
    if side_file is not None:
        found = aside(found, absolute(os.fspath(side_file)), options.inline_most, storage_options)
    _tell(name, [item for item in found.report if item.status == "refused"], on_refusal)
    return found


def load(
    target: Target | VirtualNode,
    *,
    storage_options: Mapping[str, JSON] | None = None,
    options: ScanOptions | None = None,
    absent_parts: AbsentParts = "raise",
) -> VirtualNode:
    """A reference map or an archive as virtual arrays: where the bytes lie, not their values.

    Args:
        absent_parts: what part files of a Parquet map mean that are not there: an error, since they may be lost, or
            (``"missing"``) chunks that were never written, which some writers leave out so.

    Raises `BadRequest` for a native Zarr store, which has nothing virtual.
    """
    if isinstance(target, (VirtualArray, VirtualGroup)):
        return target
    url = os.fspath(target)
    match kind_of(url, storage_options):
        case "json" | "parquet":
            return read_references(url, storage_options=storage_options, options=MapOptions(absent_parts=absent_parts))
        case "archive":
            return scan(url, on_refusal="warn", storage_options=storage_options, options=options)
        case "zarr":
            raise BadRequest(f"{url} is a Zarr store; a reference map or an archive file was expected")


def write(
    node: VirtualNode,
    target: Target,
    *,
    format: Format | None = None,
    options: WriteOptions | None = None,
    storage_options: Mapping[str, JSON] | None = None,
) -> None:
    """Write virtual arrays as a reference map: Kerchunk's JSON or Parquet, by the target's suffix.

    What Zarr v2 can express is written so that every reader of such maps understands it. The rest is written as
    Zarr v3 with codec names of ours, so that other readers fail on those arrays instead of reading wrong values.
    An interrupted write leaves an older map as it was.
    """
    write_references(node, target, format, options=options, storage_options=storage_options)


def open(
    target: Target | VirtualNode | Mapping[str, bytes] | Store,
    *,
    path: str = "",
    storage_options: Mapping[str, JSON] | None = None,
    policy: Policy | None = None,
    options: ReadOptions = DEFAULT,
    absent_parts: AbsentParts = "raise",
) -> Node:
    """Open a reference map, a Zarr store, virtual arrays or an archive file for reading.

    Args:
        target: a path or URL of any of these; a `VirtualGroup` or `VirtualArray`; a mapping of Zarr keys to bytes,
            or a store (`byteatlas.store`).
        path: open this member instead of the root.
        policy: which files the references may lead to; by default a map from the network leads to no local file.
        absent_parts: see `load`.

    Returns: a `Group` or an `Array`.
    """
    if isinstance(target, (VirtualArray, VirtualGroup)):
        return open_node(target, SourcePool(storage_options, policy), path=path, options=options)
    if isinstance(target, (Mapping, Store)):
        return open_store(target, path, options=options)
    url = os.fspath(target)
    if kind_of(url, storage_options) == "zarr":
        return open_store(_root_of(url), path, storage_options=storage_options, options=options)
    policy = policy or Policy(local=local_path(url) is not None)
    pool = SourcePool(storage_options, policy)
    node = load(url, storage_options=storage_options, absent_parts=absent_parts)
    return open_node(node, pool, path=path, options=options)


def copy(
    source: Target | VirtualNode | Mapping[str, bytes] | Store | Node,
    target: WriteTarget,
    *,
    path: str = "",
    options: CopyOptions | None = None,
    storage_options: Mapping[str, JSON] | None = None,
    progress: CopyProgress | None = None,
) -> CopyReport:
    """Copy values into a real Zarr store: virtual data made stored, or a store rechunked, recompressed or sharded.

    Args:
        source: what `open` takes, or a `Group` or `Array`.
        target: a folder, a ZIP file (by its suffix), any fsspec URL that can be written to, a mapping, or a store.
        path: copy this member instead of the root.
        progress: called with an array's path, the bytes copied of it so far, and its total.

    A copy that was stopped goes on where it was when it is asked for again; a ZIP file appears only when it is whole.

    Raises:
        Conflict: the target holds something else, or a copy of another source or with other options.
        Forbidden: storage that is read only (web servers above all).
        Unsupported: an array that the chosen version of Zarr cannot express.
    """
    if isinstance(source, (Array, Group)):
        node: Node = source
        if path:
            if isinstance(source, Array):
                raise BadRequest(f"{path!r}: an array has no members")
            node = source[path]
    else:
        node = open(source, path=path, storage_options=storage_options)
    with writable(target, storage_options) as store:
        return copy_node(node, store, options or CopyOptions(), progress)


def to_model(
    target: Target | VirtualNode | Mapping[str, bytes] | Store | Node,
    *,
    path: str = "",
    depth: int | None = None,
    storage_options: Mapping[str, JSON] | None = None,
) -> Model:
    """The Zarr object model (ZEP 6) of a store, a reference map or an archive: its structure, without its data.

    Args:
        target: what `open` takes, or a `Group` or `Array`.
        depth: levels of members to go down; None = all.

    ``byteatlas.meta.zom`` has what can be done with a model: JSON, flat and consolidated forms, comparison, conversion.
    """
    if not isinstance(target, (Array, Group)):
        target = open(target, path=path, storage_options=storage_options)
    elif path:
        raise BadRequest("path goes with something that is to be opened")
    return model_of(target, depth=depth)


def from_model(
    model: Model | Mapping[str, JSON],
    target: WriteTarget,
    *,
    path: str = "",
    zarr_format: Literal[2, 3] | None = None,
    overwrite: bool = False,
    consolidated: bool = False,
    storage_options: Mapping[str, JSON] | None = None,
) -> None:
    """Create a hierarchy from a model (or its JSON form): groups, and arrays that hold their fill values.

    Args:
        target: where `copy` can write to. path: where in the store the model's root goes.
        zarr_format: the version to create; None = the model's.
        overwrite: remove what is there, chunks included; else that is a `Conflict`.

    Nothing is written before all of it is known to be possible; the root appears last.
    """
    with writable(target, storage_options) as store:
        create_from_model(model, store, path, zarr_format=zarr_format, overwrite=overwrite, consolidated=consolidated)


def georeference(
    target: Target | VirtualNode | Mapping[str, bytes] | Store | Node,
    path: str = "",
    *,
    storage_options: Mapping[str, JSON] | None = None,
) -> Georeference:
    """The CRS (WKT, PROJJSON, EPSG code ... as it is stored) and the affine transform of an array.

    Understood are GDAL's ``_CRS``, the Zarr conventions ``spatial:`` and ``proj:``, CF grid mappings and regular
    one-dimensional coordinates (see `byteatlas.meta.conventions`).

    Args:
        target: what `open` takes, or a `Group` or `Array`; the root, so that what groups above the array say counts.
        path: of the array below it.
    """
    root = target if isinstance(target, (Array, Group)) else open(target, storage_options=storage_options)
    return georeference_of(root, path)


def _root_of(url: str) -> str:
    """A metadata document's URL stands for the node that it describes."""
    head, _, last = url.rstrip("/").rpartition("/")
    return head or "." if last in METADATA_NAMES else url


def combine(
    inputs: Sequence[Target | VirtualGroup],
    concat: str | Sequence[str] = (),
    *,
    options: CombineOptions | None = None,
    storage_options: Mapping[str, JSON] | None = None,
    **more: Any,
) -> VirtualGroup:
    """Combine many files' virtual arrays into one tree.

    Args:
        inputs: reference maps or archives by path or URL, or `VirtualGroup` objects.
        concat: the dimension (or dimensions) along which the files follow each other.
        options: everything else; single options may be given by name instead (see `CombineOptions`).

    Raises `Conflict` with a sentence for each difference that cannot be reconciled, with the files and their values.
    """
    groups, names = _inputs(inputs, storage_options)
    chosen = _chosen(concat, options, more)
    return combine_groups(groups, chosen, read=_reader(storage_options), names=names)


def plan_combine(
    inputs: Sequence[Target | VirtualGroup],
    concat: str | Sequence[str] = (),
    *,
    options: CombineOptions | None = None,
    storage_options: Mapping[str, JSON] | None = None,
    **more: Any,
) -> Plan:
    """What `combine` would do with these inputs, and every difference it finds; nothing is combined."""
    groups, names = _inputs(inputs, storage_options)
    return plan_groups(groups, _chosen(concat, options, more), read=_reader(storage_options), names=names)


def prepare_combine(
    inputs: Sequence[Target | VirtualGroup],
    concat: str | Sequence[str] = (),
    *,
    options: CombineOptions | None = None,
    storage_options: Mapping[str, JSON] | None = None,
    names: Sequence[str] | None = None,
    **more: Any,
) -> Prepared:
    """A plan that can be carried out: ``.plan`` is what `plan_combine` gives, ``.result()`` what `combine` gives."""
    groups, own = _inputs(inputs, storage_options)
    return prepare_groups(groups, _chosen(concat, options, more), read=_reader(storage_options), names=names or own)


def concat(
    groups: Sequence[VirtualGroup],
    dim: str,
    *,
    options: CombineOptions | None = None,
    storage_options: Mapping[str, JSON] | None = None,
    **more: Any,
) -> VirtualGroup:
    """Groups one after the other along a dimension in the order given, as xarray's ``concat``.

    Coordinate values are neither looked at nor sorted; a dimension that no group has becomes a new leading one. Options
    and errors are those of `combine`.
    """
    return concat_groups(groups, dim, options=_chosen((), options, more), read=_reader(storage_options))


def select(
    group: VirtualGroup,
    region: Region,
    *,
    cut: bool = False,
    storage_options: Mapping[str, JSON] | None = None,
) -> VirtualGroup:
    """The part of a group between coordinate values: ``select(vg, {"time": slice("2001-01", "2001-03")})``.

    Args:
        region: for each of some dimensions a slice of coordinate values (both ends included), or one value.
        cut: chunks may be read in part. Otherwise the selection must begin where chunks begin (small arrays excepted,
            which are kept in the map), or raises `BadSelection` with the nearest such places.
    """
    return select_by_value(group, region, read=_reader(storage_options), cut=cut)


def mask(
    group: VirtualGroup,
    region: Region,
    *,
    keep_cut: bool = False,
    fill: float | None = None,
    storage_options: Mapping[str, JSON] | None = None,
) -> VirtualGroup:
    """Everything outside of a box of coordinate values reads as the fill value: ``mask(vg, {"lat": slice(30, 60)})``.

    Args:
        keep_cut: chunks that are inside in part are kept whole; otherwise they raise `BadSelection`.
        fill: the fill value of arrays that have none.
    """
    return mask_by_value(group, region, read=_reader(storage_options), keep_cut=keep_cut, fill=fill)


def append(
    target: Target,
    inputs: Sequence[Target | VirtualGroup],
    concat: str | Sequence[str] = (),
    *,
    options: CombineOptions | None = None,
    replace: bool = False,
    storage_options: Mapping[str, JSON] | None = None,
    **more: Any,
) -> Appended:
    """Add files to a combined map, in place. Of a Parquet map only the part files that change are written.

    Args:
        target: the map.
        inputs: maps, archives or `VirtualGroup` objects. One whose coordinate values and references are in the map
            already is passed over.
        replace: one with the same coordinate values and other references takes the place of the older one, instead of
            being a conflict.

    Raises `Conflict` as `combine` does; the map is unchanged then.
    """
    url = os.fspath(target)
    existing = load(url, storage_options=storage_options)
    if isinstance(existing, VirtualArray):
        raise BadRequest(f"{url} is a single array; only groups can be appended to")
    groups, names = _inputs(inputs, storage_options)
    chosen = _chosen(concat, options, more)
    addition = append_groups(existing, groups, chosen, read=_reader(storage_options), names=names, replacing=replace)
    if addition.prepared is not None:
        result = addition.prepared.result()
        if is_parquet_map(url):
            update_parquet(result, url, storage_options=storage_options)
        else:
            write(result, url, storage_options=storage_options)
    return addition.report


def _chosen(concat: str | Sequence[str], options: CombineOptions | None, more: Mapping[str, Any]) -> CombineOptions:
    dims = (concat,) if isinstance(concat, str) else tuple(concat)
    try:
        changed = with_options(options or CombineOptions(), **more)
    except TypeError as error:
        raise BadRequest(f"combine: {error}") from error
    return with_options(changed, concat=dims) if dims else changed


def _inputs(
    inputs: Sequence[Target | VirtualGroup], storage_options: Mapping[str, JSON] | None
) -> tuple[list[VirtualGroup], list[str]]:
    groups, names = [], []
    sharing = Sharing()
    for i, item in enumerate(inputs):
        node = load(item, storage_options=storage_options)
        name = first_url(item.arrays, i) if isinstance(item, VirtualGroup) else os.fspath(item)
        if isinstance(node, VirtualArray):
            raise BadRequest(f"{name} is a single array; only groups can be combined")
        groups.append(node if node is item else sharing.group(node))
        names.append(name)
    return groups, names


def _reader(storage_options: Mapping[str, JSON] | None) -> ReadArray:
    pool = SourcePool(storage_options)

    def read(array: VirtualArray) -> NDArray[Any]:
        opened = open_node(array, pool)
        if not isinstance(opened, Array):
            raise BadRequest("not an array")
        values: NDArray[Any] = opened[...]
        return values

    return read


def verify(
    target: Target | VirtualNode,
    *,
    options: VerifyOptions | None = None,
    storage_options: Mapping[str, JSON] | None = None,
    policy: Policy | None = None,
    done: Callable[[str], None] | None = None,
) -> VerifyReport:
    """Compare what our engine reads with what the format's own library (h5py, netCDF4, tifffile) reads.

    Args:
        target: a reference map, an archive file, or virtual arrays. The files that the references lead to must exist.
        done: called with the path of each array when it has been compared.

    Raises `MissingExtra` without ``byteatlas[verify]``.
    """
    if isinstance(target, (VirtualArray, VirtualGroup)):
        return verify_node(target, opener=SourcePool(storage_options, policy), options=options, done=done)
    url = os.fspath(target)
    pool = SourcePool(storage_options, policy or Policy(local=local_path(url) is not None))
    if kind_of(url, storage_options) == "archive":
        node: VirtualNode = scan(url, on_refusal="ignore", storage_options=storage_options)
        return verify_node(node, url, opener=pool, options=options, archive=absolute(url), done=done)
    node = load(url, storage_options=storage_options)
    return verify_node(node, url, opener=pool, options=options, done=done)


def _tell(url: str, refused: list[ReportItem], on_refusal: OnRefusal) -> None:
    if not refused or on_refusal == "ignore":
        return
    if on_refusal == "raise":
        raise Unsupported(refused[0].reason or "unknown", refused[0].detail, f"{url}:{refused[0].path}")
    counts = ", ".join(f"{n} x {reason}" for reason, n in Counter(item.reason for item in refused).most_common())
    first = f"{refused[0].path}: {refused[0].detail}"
    warnings.warn(f"{url}: {len(refused)} datasets refused ({counts}); first: {first}", RefusalWarning, stacklevel=3)
