"""Scanning a file: walk it, read what its links lead to, decode attributes and names, build the tree."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from byteatlas.errors import FileFault
from byteatlas.manifest.model import SourceInfo, VirtualGroup
from byteatlas.scanning.contract import FirstBytes, Parse, Scanner, ScanOptions
from byteatlas.scanning.parsers import all_of, elsewhere, gather
from byteatlas.scanning.report import detail_of
from byteatlas.types import JSON
from byteatlas_scanners.hdf5.dims import HIDDEN, HIDDEN_ON_SCALES, Names, name_dimensions, wanted_heaps
from byteatlas_scanners.hdf5.external_storage import locate_external
from byteatlas_scanners.hdf5.format.superblock import search, sniff
from byteatlas_scanners.hdf5.linked_files import LinkedFiles
from byteatlas_scanners.hdf5.storage import Placement
from byteatlas_scanners.hdf5.tree import MOST_DEPTH, Builder, Facts
from byteatlas_scanners.hdf5.values.as_json import Context, Value, attributes_json
from byteatlas_scanners.hdf5.values.records import Records
from byteatlas_scanners.hdf5.values.vlen import Inlined, needs_inlining, read_inlined
from byteatlas_scanners.hdf5.walk import Dataset, File, H5Group, open_file, walk

EOS_INFORMATION = "HDFEOS INFORMATION"
"""The group that files of HDF-EOS5 have."""


class Hdf5Scanner(Scanner):
    """HDF5 and netCDF-4 files of every version."""

    name = "hdf5"
    suffixes = (".h5", ".hdf5", ".nc", ".nc4", ".he5", ".mat", ".nwb", ".h5ad", ".cxi", ".nxs")

    verify = "byteatlas.verifying.native.hdf5:open_hdf5"

    def sniff(self, first: FirstBytes) -> bool:
        """Whether an HDF5 superblock begins in the first bytes, at 0 or behind a user block."""
        return sniff(first.data)

    def search(self, source: SourceInfo) -> Parse[bool]:
        """Whether a superblock begins anywhere in the file where one may."""
        return (yield from search(source)) is not None

    def scan(self, source: SourceInfo, options: ScanOptions) -> Parse[VirtualGroup]:
        """Scan one file. Raises `CorruptFile` or `Unsupported` when nothing of it can be understood."""
        return scan(source, options)


def scan(source: SourceInfo, options: ScanOptions) -> Parse[VirtualGroup]:
    """The file as a tree of virtual arrays; what cannot be represented is refused in its report."""
    main = yield from open_file(source, options)
    yield from walk(main)
    files = LinkedFiles.of(main, options)
    yield from files.load_all()
    yield from locate_external(files)
    facts = yield from all_of([_facts(file) for file in files.by_url.values()])
    builder = Builder(files, {id(file): f for file, f in zip(files.by_url.values(), facts, strict=True)})
    root = builder.build(main, main.root)
    if EOS_INFORMATION not in root.groups:
        return root
    from byteatlas_scanners.eos.hdf5 import with_structure  # most files need none of it

    return (yield from with_structure(root))


def _facts(file: File) -> Parse[Facts]:
    """Dimension names and attributes of one file's objects: one common read of the global heaps for all of them."""
    names = name_dimensions(file)
    context = Context(file.form, file.heaps, _paths(file, names))
    parts: list[Parse[Any]] = [_load_scales(file, names), _attributes(file, names, context), _inlined(file, context)]
    parser = all_of(parts)
    _, (attributes, lost), inlined = yield from parser if file.url is None else elsewhere(file.url, parser)
    return Facts(names, attributes, lost, inlined)


def _load_scales(file: File, names: Names) -> Parse[None]:
    yield from file.heaps.load(wanted_heaps(names.scales.values(), file.form.undefined))


def _inlined(file: File, context: Context) -> Parse[dict[int, Inlined | FileFault]]:
    """The values of datasets that are decoded while scanning: variable-length data and references."""
    wanted: list[tuple[int, Records]] = []
    known: dict[int, bool] = {}
    for address, node in file.objects.items():
        if not isinstance(node, Dataset) or not isinstance(node.placement, Placement):
            continue
        what, placement = node.what, node.placement
        if id(what.type) not in known:
            known[id(what.type)] = needs_inlining(what.type)
        if known[id(what.type)] and what.space.shape is not None and not what.external:
            place = (what.type, what.space.shape, placement.chunk, what.pipeline, placement.masks, what.fill)
            wanted.append((address, Records(*place, placement.manifest)))
    if not wanted:
        return {}
    found = yield from gather([read_inlined(records, context, file.options.max_inline) for _, records in wanted])
    return {address: value for (address, _), value in zip(wanted, found, strict=True)}


def _attributes(
    file: File, names: Names, context: Context
) -> Parse[tuple[dict[int, dict[str, JSON]], dict[int, list[str]]]]:
    """The attributes of every group and dataset; for objects that lost some, which and why."""
    owners: dict[int, list[tuple[str, int]]] = {}
    values: list[Value] = []
    lost: dict[int, list[str]] = {}
    known: dict[int, int] = {}  # attributes that siblings share are one object, which the nodes keep alive
    for address, node in file.objects.items():
        if not isinstance(node, (H5Group, Dataset)):
            continue
        if node.lost:
            lost[address] = list(node.lost)
        if not node.attributes:
            continue
        scale = names.scales.get(address)
        hidden = HIDDEN | HIDDEN_ON_SCALES if scale is not None and scale.is_scale else HIDDEN
        own = owners[address] = []
        for attribute in node.attributes:
            if attribute.name not in hidden:
                at = known.get(id(attribute))
                if at is None:
                    at = known[id(attribute)] = len(values)
                    values.append(Value(attribute.type, attribute.space.shape, attribute.data))
                own.append((attribute.name, at))
    found = yield from attributes_json(values, context)
    attributes: dict[int, dict[str, JSON]] = {}
    for address, own in owners.items():
        shown = attributes[address] = {}
        for name, at in own:
            value = found[at]
            if isinstance(value, FileFault):
                lost.setdefault(address, []).append(f"{name} ({detail_of(value)})")
            else:
                shown[name] = value if isinstance(value, str) else _own(value)
    return attributes, lost


def _own(value: JSON) -> JSON:
    """The same JSON value; lists and objects anew, so that no two nodes share one."""
    match value:
        case list():
            return [_own(item) for item in value]
        case dict():
            return {name: _own(item) for name, item in value.items()}
        case _:
            return value


def _paths(file: File, names: Names) -> Callable[[int], str | None]:
    """Gives the path of the object at an address, over the first names of the groups above it."""

    def path_of(address: int) -> str | None:
        if address == file.root:
            return "/"
        parts: list[str] = []
        for _ in range(MOST_DEPTH):
            name = names.links.get(address)
            if name is None:
                return None
            parts.append(name)
            address = names.parents[address]
            if address == file.root:
                return "/" + "/".join(reversed(parts))
        return None

    return path_of


SCANNER = Hdf5Scanner()
