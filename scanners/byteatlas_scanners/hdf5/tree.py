"""From objects to a `VirtualGroup`: paths, links, names, attributes, and the report."""

from __future__ import annotations

from collections.abc import Mapping

from byteatlas.errors import FileFault, Unsupported
from byteatlas.manifest.model import ReportItem, VirtualArray, VirtualGroup, inline_manifest
from byteatlas.meta.model import ArrayMeta, Encoding, GroupMeta, RectilinearGrid, RegularGrid
from byteatlas.scanning.reasons import Reason
from byteatlas.scanning.report import INCOMPLETE, left_out, refusal
from byteatlas.types import JSON
from byteatlas.values import dataclass, field, replace
from byteatlas_scanners.hdf5.dataset import Description, encodings
from byteatlas_scanners.hdf5.dims import NOT_COORDINATE, Names
from byteatlas_scanners.hdf5.format import datatype
from byteatlas_scanners.hdf5.format.layout import Chunked, Virtual
from byteatlas_scanners.hdf5.format.links import Hard, Link
from byteatlas_scanners.hdf5.linked_files import LinkedFiles
from byteatlas_scanners.hdf5.values import fillvalue
from byteatlas_scanners.hdf5.values.vlen import Inlined
from byteatlas_scanners.hdf5.values.zarr_type import StoredType
from byteatlas_scanners.hdf5.virtual.cells import assemble
from byteatlas_scanners.hdf5.virtual.mappings import boxes, extent
from byteatlas_scanners.hdf5.walk import Broken, Dataset, File, H5Group

MOST_DEPTH = 128
MOST_REPEATED = 100_000
"""Nodes that may appear under more than one path."""
NO_VALUES = frozenset((Reason.NEVER_WRITTEN, Reason.DATASPACE))
"""Why a dataset has no values, but may have attributes all the same."""


@dataclass(slots=True)
class Facts:
    """What was found out about one file's objects beside their bytes."""

    names: Names
    attributes: Mapping[int, Mapping[str, JSON]]
    lost: Mapping[int, list[str]]
    inlined: Mapping[int, Inlined | FileFault] = field(default_factory=dict)
    arrays: dict[int, VirtualArray | FileFault] = field(default_factory=dict)


@dataclass(slots=True)
class Builder:
    """Builds the tree of groups and arrays; every dataset is built once and appears under each of its paths."""

    files: LinkedFiles
    facts: dict[int, Facts]
    report: list[ReportItem] = field(default_factory=list)
    expanded: set[tuple[int, int]] = field(default_factory=set)
    begun: set[tuple[int, int]] = field(default_factory=set)
    repeated: int = 0
    stored: dict[int, StoredType] = field(default_factory=dict)
    fills: dict[tuple[int, int], object] = field(default_factory=dict)
    chains: dict[tuple[object, ...], tuple[Description, tuple[Encoding, ...]]] = field(default_factory=dict)

    def build(self, file: File, address: int) -> VirtualGroup:
        """The group at an address and everything below it."""
        root = self.group(file, address, "", ())
        return replace(root, report=tuple(self.report))

    def group(self, file: File, address: int, path: str, above: tuple[tuple[int, int], ...]) -> VirtualGroup:
        node = file.objects[address]
        assert isinstance(node, H5Group)
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
            except FileFault as error:
                self.report.append(refusal(where, error))
        facts = self.facts[id(file)]
        if address in facts.lost:
            detail = left_out("attributes", facts.lost[address])
            self.report.append(ReportItem(path.rstrip("/") or "/", INCOMPLETE, Reason.CORRUPT.value, detail))
        attributes = facts.attributes.get(address, {})
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
            file, address = self.files.follow(file, group, link)
        node = file.objects.get(address)
        match node:
            case Dataset():
                if self.facts[id(file)].names.scales[address].placeholder:
                    return
                name = self._shown(file, group, link.name)
                try:
                    arrays[name] = array = self.array(file, node)
                except Unsupported as error:
                    if error.reason in NO_VALUES and (told := self.facts[id(file)].attributes.get(address)):
                        groups[name] = VirtualGroup(GroupMeta(told))
                        raise Unsupported(
                            error.reason, f"{error.detail}; its attributes are those of a group"
                        ) from error
                    raise
                self._note(path.removesuffix(link.name) + name, path, file, address, array)
            case H5Group():
                if (id(file), address) in above:
                    return  # the members of a group above it are there under that path
                if len(above) > MOST_DEPTH or self.repeated > MOST_REPEATED:
                    raise Unsupported(Reason.LINK, "too many groups inside of one another, or under several paths")
                groups[link.name] = self.group(file, address, path + "/", above)
            case Broken(_, error):
                raise error
            case None:
                raise Unsupported(Reason.LINK, f"link {link.name!r} leads to nothing that could be read")
            case _:
                pass  # a committed datatype

    def _shown(self, file: File, group: int, name: str) -> str:
        """A dataset's name as netCDF shows it: a variable named like a dimension that is not its own has a prefix."""
        own = name.removeprefix(NOT_COORDINATE)
        if own in ("", name):
            return name
        other = self.files.members(file, group).get(own)
        if other is None:
            return own
        target = other.target
        scale = self.facts[id(file)].names.scales.get(target.address) if type(target) is Hard else None
        return own if scale is not None and scale.placeholder else name

    def _note(self, path: str, stored: str, file: File, address: int, array: VirtualArray) -> None:
        facts, detail = self.facts[id(file)], ""
        if address in facts.lost or address in facts.names.lost:
            axes = [f"axis {axis} ({why})" for axis, why in facts.names.lost.get(address, {}).items()]
            parts = left_out("attributes", facts.lost.get(address, [])), left_out("names of dimensions", axes)
            detail = "; ".join(filter(None, parts))
        inlined = bool(getattr(array.manifest, "inlined", None))
        locators = (stored,) if stored != path else ()
        self.report.append(ReportItem(path, "inlined" if inlined else "virtual", None, detail, locators))

    def array(self, file: File, node: Dataset) -> VirtualArray:
        """A dataset as an array, built at its first use. Raises why it is refused."""
        arrays = self.facts[id(file)].arrays
        found = arrays.get(node.address)
        if found is None:
            try:
                found = self._array(file, node)
            except FileFault as error:
                found = error
            arrays[node.address] = found
        if isinstance(found, FileFault):
            raise found
        return found

    def _array(self, file: File, node: Dataset) -> VirtualArray:
        what, placement, facts = node.what, node.placement, self.facts[id(file)]
        shape = what.shape
        values = facts.inlined.get(node.address)
        if values is not None:
            if isinstance(values, FileFault):
                raise values
            return inlined_array(
                shape, values, facts.names.of(node, values.stored.inner_shape), facts.attributes.get(node.address, {})
            )
        stored = self.stored.get(id(what.type))
        if stored is None:
            stored = self.stored[id(what.type)] = datatype.to_zarr(what.type)
        if isinstance(what.layout, Virtual):
            return self._virtual(file, node, stored)
        if isinstance(placement, FileFault):
            raise placement
        inner = stored.inner_shape
        meta = ArrayMeta(
            shape + inner,
            stored.data_type,
            RegularGrid(placement.chunk + inner) if placement.grid is None else _with_inner(placement.grid, inner),
            self._encodings(what, stored, placement.masks),
            self._fill(what),
            facts.names.of(node, inner),
            facts.attributes.get(node.address, {}),
        )
        manifest = placement.manifest
        if inner:
            manifest = replace(manifest, grid_shape=manifest.grid_shape + tuple([1 for _ in inner]))
        return VirtualArray(meta, manifest)

    def _encodings(self, what: Description, stored: StoredType, masks: tuple[int, ...]) -> tuple[Encoding, ...]:
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

    def _virtual(self, file: File, node: Dataset, stored: StoredType) -> VirtualArray:
        """A virtual dataset, from the arrays that it is made of."""
        mappings = file.mappings.get(node.address, [])
        key = (id(file), node.address)
        if isinstance(mappings, FileFault):
            raise mappings
        if stored.inner_shape or key in self.begun:
            raise Unsupported(Reason.VIRTUAL_DATASET, "a virtual dataset of array elements, or made of itself")
        self.begun.add(key)

        def find(name: str, path: str) -> VirtualArray | None:
            found = self.files.find(file, name, path)
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
