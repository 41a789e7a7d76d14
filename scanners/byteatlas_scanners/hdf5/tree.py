"""From objects to a `VirtualGroup`: paths, links, names, attributes, and the report."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from byteatlas.errors import ByteatlasError, CorruptFile, Forbidden, Unsupported
from byteatlas.manifest.model import ReportItem, VirtualArray, VirtualGroup, inline_manifest
from byteatlas.meta.model import ArrayMeta, Encoding, GroupMeta, RectilinearGrid, RegularGrid
from byteatlas.scanning.reasons import Reason
from byteatlas.types import JSON
from byteatlas_scanners.hdf5.dataset import Description, encodings
from byteatlas_scanners.hdf5.dims import Names
from byteatlas_scanners.hdf5.format import datatype
from byteatlas_scanners.hdf5.format.layout import Chunked, Virtual
from byteatlas_scanners.hdf5.format.links import Hard, Link
from byteatlas_scanners.hdf5.linked_files import Library
from byteatlas_scanners.hdf5.values import fillvalue
from byteatlas_scanners.hdf5.values.vlen import Inlined
from byteatlas_scanners.hdf5.values.zarr_type import Stored
from byteatlas_scanners.hdf5.virtual.cells import assemble
from byteatlas_scanners.hdf5.virtual.mappings import boxes, extent
from byteatlas_scanners.hdf5.walk import Broken, Dataset, File, Group

MOST_DEPTH = 128
MOST_REPEATED = 100_000
"""Nodes that may appear under more than one path."""

FORBIDDEN_NAMES = frozenset(("", ".", "..", ".zarray", ".zgroup", ".zattrs", ".zmetadata", "zarr.json"))


@dataclass(slots=True)
class Facts:
    """What was found out about one file's objects beside their bytes."""

    names: Names
    attributes: Mapping[int, Mapping[str, JSON]]
    lost: Mapping[int, str]
    inlined: Mapping[int, Inlined | ByteatlasError] = field(default_factory=dict)
    arrays: dict[int, VirtualArray | ByteatlasError] = field(default_factory=dict)


@dataclass(slots=True)
class Builder:
    """Builds the tree of groups and arrays; every dataset is built once and appears under each of its paths."""

    library: Library
    facts: dict[int, Facts]
    report: list[ReportItem] = field(default_factory=list)
    expanded: set[tuple[int, int]] = field(default_factory=set)
    begun: set[tuple[int, int]] = field(default_factory=set)
    repeated: int = 0
    stored: dict[int, Stored] = field(default_factory=dict)
    fills: dict[tuple[int, int], object] = field(default_factory=dict)
    chains: dict[tuple[object, ...], tuple[Description, tuple[Encoding, ...]]] = field(default_factory=dict)

    def build(self, file: File, address: int) -> VirtualGroup:
        """The group at an address and everything below it."""
        root = self.group(file, address, "", ())
        return replace(root, report=tuple(self.report))

    def group(self, file: File, address: int, path: str, above: tuple[tuple[int, int], ...]) -> VirtualGroup:
        node = file.objects[address]
        assert isinstance(node, Group)
        key = (id(file), address)
        again = key in self.expanded
        self.expanded.add(key)
        above = (*above, key)
        arrays: dict[str, VirtualArray] = {}
        groups: dict[str, VirtualGroup] = {}
        for link in node.links:
            self.repeated += again
            where = path + link.name
            try:
                self._member(file, address, link, where, above, arrays, groups)
            except ByteatlasError as error:
                self.refuse(where, error)
        attributes = self.facts[id(file)].attributes.get(address, {})
        return VirtualGroup(GroupMeta(attributes), arrays, groups)

    def _member(
        self,
        file: File,
        group: int,
        link: Link,
        path: str,
        above: tuple[tuple[int, int], ...],
        arrays: dict[str, VirtualArray],
        groups: dict[str, VirtualGroup],
    ) -> None:
        if type(link.target) is Hard:
            address = link.target.address
        else:
            file, address = self.library.follow(file, group, link)
        node = file.objects.get(address)
        match node:
            case Dataset():
                _check_name(link.name)
                arrays_of = self.facts[id(file)]
                if arrays_of.names.scales[address].placeholder:
                    return
                arrays[link.name] = array = self.array(file, node)
                self._note(path, array, arrays_of.lost.get(address, ""))
            case Group():
                if (id(file), address) in above:
                    return  # the members of a group above it are there under that path
                if len(above) > MOST_DEPTH or self.repeated > MOST_REPEATED:
                    raise Unsupported(Reason.LINK, "too many groups inside of one another, or under several paths")
                _check_name(link.name)
                groups[link.name] = self.group(file, address, path + "/", above)
            case Broken(_, error):
                raise error
            case None:
                raise Unsupported(Reason.LINK, f"link {link.name!r} leads to nothing that could be read")
            case _:
                pass  # a committed datatype

    def _note(self, path: str, array: VirtualArray, detail: str) -> None:
        inlined = bool(getattr(array.manifest, "inlined", None))
        self.report.append(ReportItem(path, "inlined" if inlined else "virtual", None, detail))

    def refuse(self, path: str, error: ByteatlasError) -> None:
        self.report.append(ReportItem(path, "refused", reason_of(error), detail_of(error)))

    def array(self, file: File, node: Dataset) -> VirtualArray:
        """A dataset as an array, built at its first use. Raises why it is refused."""
        arrays = self.facts[id(file)].arrays
        found = arrays.get(node.address)
        if found is None:
            try:
                found = self._array(file, node)
            except ByteatlasError as error:
                found = error
            arrays[node.address] = found
        if isinstance(found, ByteatlasError):
            raise found
        return found

    def _array(self, file: File, node: Dataset) -> VirtualArray:
        what, pieces, facts = node.what, node.pieces, self.facts[id(file)]
        shape = what.shape
        values = facts.inlined.get(node.address)
        if values is not None:
            if isinstance(values, ByteatlasError):
                raise values
            return inlined_array(
                shape, values, facts.names.of(node, values.stored.inner_shape), facts.attributes.get(node.address, {})
            )
        stored = self.stored.get(id(what.type))
        if stored is None:
            stored = self.stored[id(what.type)] = datatype.to_zarr(what.type)
        if isinstance(what.layout, Virtual):
            return self._virtual(file, node, stored)
        if isinstance(pieces, ByteatlasError):
            raise pieces
        inner = stored.inner_shape
        meta = ArrayMeta(
            shape + inner,
            stored.data_type,
            RegularGrid(pieces.chunk + inner) if pieces.grid is None else _with_inner(pieces.grid, inner),
            self._encodings(what, stored, pieces.masks),
            self._fill(what),
            facts.names.of(node, inner),
            facts.attributes.get(node.address, {}),
        )
        manifest = pieces.manifest
        if inner:
            manifest = replace(manifest, grid_shape=manifest.grid_shape + tuple([1 for _ in inner]))
        return VirtualArray(meta, manifest)

    def _encodings(self, what: Description, stored: Stored, masks: tuple[int, ...]) -> tuple[Encoding, ...]:
        """How chunks are stored; a file's variables mostly have that in common, and share one object then."""
        chunk = what.layout.chunk if isinstance(what.layout, Chunked) else ()
        key = (id(what.type), id(what.pipeline), chunk, masks)
        if key not in self.chains:  # the description is kept as well: what the key names must not go away
            self.chains[key] = what, encodings(what, stored, masks)
        return self.chains[key][1]

    def _fill(self, what: Description) -> object:
        """What a missing chunk reads as; types and fill values repeat, and are shared objects when they do."""
        key = (id(what.type), id(what.fill))
        if key not in self.fills:
            self.fills[key] = fillvalue.resolve(what.fill, what.type)
        return self.fills[key]

    def _virtual(self, file: File, node: Dataset, stored: Stored) -> VirtualArray:
        """A virtual dataset, from the arrays that it is made of."""
        mappings = file.mappings.get(node.address, [])
        key = (id(file), node.address)
        if isinstance(mappings, ByteatlasError):
            raise mappings
        if stored.inner_shape or key in self.begun:
            raise Unsupported(Reason.VIRTUAL_DATASET, "a virtual dataset of array elements, or made of itself")
        self.begun.add(key)

        def find(name: str, path: str) -> VirtualArray | None:
            found = self.library.find(file, name, path)
            return None if found is None else self.array(*found)

        shape = extent(mappings, node.what.shape, find)
        facts = self.facts[id(file)]
        meta = ArrayMeta(
            shape,
            stored.data_type,
            RegularGrid(tuple([n or 1 for n in shape])),
            (Encoding(stored.codecs),),
            self._fill(node.what),
            facts.names.of(node, ()),
            facts.attributes.get(node.address, {}),
        )
        return assemble(meta, boxes(mappings, shape, find), stored.data_type.numpy.itemsize)


def inlined_array(
    shape: tuple[int, ...],
    values: Inlined,
    names: tuple[str | None, ...] | None,
    attributes: Mapping[str, JSON],
) -> VirtualArray:
    """An array whose values, decoded already, are one chunk in the map."""
    stored = values.stored
    shape += stored.inner_shape
    meta = ArrayMeta(
        shape,
        stored.data_type,
        RegularGrid(tuple([n or 1 for n in shape])),
        (Encoding(stored.codecs),),
        values.fill,
        names,
        attributes,
    )
    grid = tuple([1 if n else 0 for n in shape])
    return VirtualArray(meta, inline_manifest(grid, {0: values.data} if all(shape) else {}))


def _with_inner(grid: RectilinearGrid, inner: tuple[int, ...]) -> RectilinearGrid:
    return RectilinearGrid(grid.edges + tuple([(n,) for n in inner]))


def _check_name(name: str) -> None:
    if name in FORBIDDEN_NAMES or "/" in name or "\0" in name:
        raise Unsupported(Reason.NAME, f"{name!r} cannot be the name of a Zarr node")


def reason_of(error: ByteatlasError) -> str:
    """The stable code of a refusal."""
    match error:
        case Unsupported(reason=reason):
            return str(reason)
        case CorruptFile():
            return Reason.CORRUPT.value
        case Forbidden():
            return Reason.FORBIDDEN.value
        case _:
            return Reason.LINK.value


def detail_of(error: ByteatlasError) -> str:
    """The sentence of a refusal."""
    match error:
        case Unsupported(detail=detail):
            return str(detail)
        case CorruptFile(offset=offset, why=why):
            return f"byte {offset}: {why}"
        case _:
            return str(error)
