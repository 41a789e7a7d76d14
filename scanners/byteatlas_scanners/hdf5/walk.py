"""Walking one file: every object that can be reached from the root, all of one depth side by side.

An object is read once, at its address; under which names it appears is decided later (`tree`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from byteatlas.errors import CorruptFile, FileFault, Unsupported
from byteatlas.manifest.model import SourceInfo
from byteatlas.scanning.contract import Parse, ScanOptions
from byteatlas.scanning.parsers import Pool, both
from byteatlas.scanning.reasons import Reason
from byteatlas.values import dataclass, field
from byteatlas_scanners.hdf5.dataset import Description, describe
from byteatlas_scanners.hdf5.format import datatype
from byteatlas_scanners.hdf5.format.attributes import Attribute, dense, read_attributes
from byteatlas_scanners.hdf5.format.header import (
    ATTRIBUTE_INFO,
    DATASPACE,
    LAYOUT,
    LINK_INFO,
    MODIFIED,
    MODIFIED_OLD,
    SYMBOL_TABLE,
    ObjectHeader,
    check_dates,
    read_header,
)
from byteatlas_scanners.hdf5.format.links import OF_GROUPS, Hard, Link, read_links
from byteatlas_scanners.hdf5.format.shared import Shared
from byteatlas_scanners.hdf5.format.superblock import read_start
from byteatlas_scanners.hdf5.format.wire import MALFORMED, Form
from byteatlas_scanners.hdf5.heaps.global_heap import GlobalHeaps
from byteatlas_scanners.hdf5.storage import Placement, locate
from byteatlas_scanners.hdf5.virtual.mappings import Mapping

MOST_OBJECTS = 4_000_000
MOST_ROWS = 1 << 25
"""Chunks of all datasets together, unless the file is large: empty grids cost nothing in a file, but 20 bytes here."""


@dataclass(slots=True)
class H5Group:
    """A group's members and attributes; ``lost`` says which attributes are damaged, and why."""

    address: int
    links: list[Link]
    attributes: list[Attribute]
    lost: list[str]


@dataclass(slots=True)
class Dataset:
    """A dataset; ``placement`` is the fault when its bytes could not be located, ``lost`` as of a group."""

    address: int
    what: Description
    placement: Placement | FileFault
    attributes: list[Attribute]
    lost: list[str]


@dataclass(frozen=True, slots=True)
class Other:
    """An object that is neither: a committed datatype."""

    address: int


@dataclass(frozen=True, slots=True)
class Broken:
    """An object that could not be read. ``dataset``: it has a dataset's messages, as far as is known."""

    address: int
    error: FileFault


H5Object: TypeAlias = H5Group | Dataset | Other | Broken


@dataclass(slots=True, eq=False)
class File:
    """One physical file, as far as it has been read.

    Attributes:
        url: None for the file that is being scanned, else the URL under which others refer to it.
        objects: by address.
        mappings: of virtual datasets, by the datasets' addresses.
        rows: chunks of all datasets read so far.
    """

    url: str | None
    form: Form
    root: int
    options: ScanOptions
    shared: Shared
    heaps: GlobalHeaps
    sources: tuple[SourceInfo, ...]
    types: datatype.Cache = field(default_factory=dict)
    objects: dict[int, H5Object | None] = field(default_factory=dict)
    mappings: dict[int, list[Mapping] | FileFault] = field(default_factory=dict)
    pool: Pool = field(default_factory=Pool)
    rows: int = 0

    def visit(self, address: int) -> None:
        """Read an object, unless that has been done or has begun."""
        if address not in self.objects:
            if len(self.objects) >= MOST_OBJECTS:
                raise CorruptFile(self.form.base + address, "too many objects")
            self.objects[address] = None
            self.pool.add(self._object(address))

    def _object(self, address: int) -> Parse[None]:
        try:
            self.objects[address] = yield from self._read(address)
        except FileFault as error:
            self.objects[address] = Broken(address, error)
        except MALFORMED as error:
            self.objects[address] = Broken(
                address, CorruptFile(self.form.base + address, f"a damaged object ({error})")
            )

    def _read(self, address: int) -> Parse[H5Object]:
        header = yield from read_header(self.form, address)
        kinds = {m.type for m in header.messages}
        if MODIFIED in kinds or MODIFIED_OLD in kinds:
            check_dates(self.form, header)
        if LAYOUT in kinds and kinds & {LINK_INFO, SYMBOL_TABLE}:  # which libhdf5 takes for a group (H5O_obj_class)
            raise CorruptFile(self.form.base + address, "an object that is a dataset and a group")
        group = not kinds.isdisjoint(OF_GROUPS)
        if LAYOUT in kinds or (DATASPACE in kinds and not group):
            return (yield from self._dataset(header))
        if group:
            if ATTRIBUTE_INFO in kinds:
                links, (attributes, lost) = yield from both(self._members(header), self._attributes(header))
            else:
                attributes, lost = yield from self._attributes(header)
                links = yield from self._members(header)
            return H5Group(address, links, attributes, lost)
        return Other(address)

    def _attributes(self, header: ObjectHeader) -> Parse[tuple[list[Attribute], list[str]]]:
        return read_attributes(self.shared, self.types, header)

    def _members(self, header: ObjectHeader) -> Parse[list[Link]]:
        links = yield from read_links(self.form, header)
        for link in links:
            if type(link.target) is Hard:
                self.visit(link.target.address)
        return links

    def _dataset(self, header: ObjectHeader) -> Parse[Dataset]:
        what = yield from describe(self.shared, self.types, header)
        if dense(header):
            placement, (attributes, lost) = yield from both(self._locate(what), self._attributes(header))
        else:
            attributes, lost = yield from self._attributes(header)
            placement = yield from self._locate(what)
        return Dataset(header.address, what, placement, attributes, lost)

    def _locate(self, what: Description) -> Parse[Placement | FileFault]:
        """Where the bytes are, or why that is not known: then the attributes may still be of use."""
        try:
            placement = yield from locate(self.form, what, self.options, self.sources)
            self.rows += placement.manifest.nchunks
            if self.rows > max(MOST_ROWS, self.form.size):
                raise Unsupported(Reason.TOO_LARGE, f"more than {MOST_ROWS} chunks in a file of {self.form.size} bytes")
            return placement
        except FileFault as error:
            return error
        except MALFORMED as error:
            return CorruptFile(self.form.base, f"a damaged chunk index ({error})")


def open_file(source: SourceInfo, options: ScanOptions, url: str | None = None) -> Parse[File]:
    """Read a file's superblock. Raises `CorruptFile` or `Unsupported`."""
    start = yield from read_start(source)
    form = start.form
    shared = Shared(form)
    yield from shared.load_table()
    return File(url, form, start.root, options, shared, GlobalHeaps(form), (source,))


def walk(file: File, extra: Sequence[int] = ()) -> Parse[None]:
    """Read everything that can be reached from the root by hard links."""
    file.visit(file.root)
    for address in extra:
        file.visit(address)
    yield from file.pool.run()
    root = file.objects[file.root]
    if isinstance(root, Broken):
        raise root.error
    if not isinstance(root, H5Group):
        raise CorruptFile(file.form.base + file.root, "the root is not a group")
