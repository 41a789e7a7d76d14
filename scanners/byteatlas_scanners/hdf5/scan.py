"""Scanning a file: walk it, read what its links lead to, decode attributes and names, build the tree."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from byteatlas.errors import ByteatlasError, CorruptFile, NotFound
from byteatlas.manifest.model import SourceInfo, VirtualGroup
from byteatlas.scanning.contract import Parse, ScanOptions, gather
from byteatlas.scanning.inline import inline_small
from byteatlas.types import JSON
from byteatlas_scanners.hdf5.dataset import Pieces
from byteatlas_scanners.hdf5.dims import HIDDEN, HIDDEN_ON_SCALES, Names, name_dimensions, wanted_heaps
from byteatlas_scanners.hdf5.external import place_external
from byteatlas_scanners.hdf5.format.superblock import search, sniff
from byteatlas_scanners.hdf5.format.wire import MALFORMED
from byteatlas_scanners.hdf5.linked_files import Library, library
from byteatlas_scanners.hdf5.steps import all_of, elsewhere
from byteatlas_scanners.hdf5.tree import MOST_DEPTH, Builder, Facts
from byteatlas_scanners.hdf5.values.as_json import Context, Value, attributes_json
from byteatlas_scanners.hdf5.values.vlen import Inlined, Records, needs_inlining, read_inlined
from byteatlas_scanners.hdf5.walk import Dataset, File, Group, open_file, walk


@dataclass(frozen=True, slots=True)
class Hdf5Scanner:
    """HDF5 and netCDF-4 files of every version."""

    name: str = "hdf5"
    suffixes: tuple[str, ...] = (".h5", ".hdf5", ".nc", ".nc4", ".he5", ".mat", ".nwb", ".h5ad", ".cxi", ".nxs")

    def sniff(self, head: bytes) -> bool:
        """Whether an HDF5 superblock begins in these bytes, at 0 or behind a user block."""
        return sniff(head)

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
    books = library(main, options)
    yield from books.load_all()
    yield from place_external(books)
    facts = yield from all_of([_facts(file) for file in books.files.values()])
    builder = Builder(books, {id(file): f for file, f in zip(books.files.values(), facts, strict=True)})
    address = _group_address(books, options.group)
    group = builder.build(main, address)
    if options.inline_below:
        group = yield from inline_small(group, options.inline_below, source.url)
    return group


def _group_address(books: Library, group: str | None) -> int:
    """The group that was asked for. Raises `NotFound`."""
    main = books.main
    if group is None:
        return main.root
    try:
        file, address = books.resolve(main, main.root, group)
    except ByteatlasError as error:
        raise NotFound(f"no group {group!r} in {main.form.source.url}") from error
    if file is not main or not isinstance(main.objects.get(address), Group):
        raise NotFound(f"{group!r} is not a group of {main.form.source.url}")
    return address


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


def _inlined(file: File, context: Context) -> Parse[dict[int, Inlined | ByteatlasError]]:
    """The values of datasets that are decoded while scanning: variable-length data and references."""
    wanted: list[tuple[int, Records]] = []
    known: dict[int, bool] = {}
    for address, node in file.objects.items():
        if not isinstance(node, Dataset) or not isinstance(node.pieces, Pieces):
            continue
        what, pieces = node.what, node.pieces
        if id(what.type) not in known:
            known[id(what.type)] = needs_inlining(what.type)
        if known[id(what.type)] and what.space.shape is not None and not what.external:
            place = (what.type, what.space.shape, pieces.chunk, what.pipeline, pieces.masks, what.fill)
            wanted.append((address, Records(*place, pieces.manifest)))
    if not wanted:
        return {}
    found = yield from gather([_one_inlined(records, context, file.options.max_inline) for _, records in wanted])
    return {address: value for (address, _), value in zip(wanted, found, strict=True)}


def _one_inlined(records: Records, context: Context, most: int) -> Parse[Inlined]:
    try:
        return (yield from read_inlined(records, context, most))
    except MALFORMED as error:
        raise CorruptFile(context.form.base, f"damaged variable-length data ({error})") from error


def _attributes(file: File, names: Names, context: Context) -> Parse[tuple[dict[int, dict[str, JSON]], dict[int, str]]]:
    """The attributes of every group and dataset, and a sentence for objects that lost some."""
    owners: list[tuple[int, str]] = []
    values: list[Value] = []
    for address, node in file.objects.items():
        if not isinstance(node, (Group, Dataset)) or not node.attributes:
            continue
        scale = names.scales.get(address)
        hidden = HIDDEN | HIDDEN_ON_SCALES if scale is not None and scale.is_scale else HIDDEN
        for attribute in node.attributes:
            if attribute.name not in hidden:
                owners.append((address, attribute.name))
                values.append(Value(attribute.type, attribute.space.shape, attribute.data))
    found = yield from attributes_json(values, context)
    attributes: dict[int, dict[str, JSON]] = {}
    lost: dict[int, list[str]] = {}
    for (address, name), value in zip(owners, found, strict=True):
        if isinstance(value, ByteatlasError):
            lost.setdefault(address, []).append(f"{name} ({value})")
        else:
            attributes.setdefault(address, {})[name] = value
    return attributes, {a: "attributes left out: " + ", ".join(names) for a, names in lost.items()}


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
