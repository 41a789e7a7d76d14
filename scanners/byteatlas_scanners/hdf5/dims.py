"""Dimension names: HDF5 dimension scales as netCDF-4 uses them (netCDF-C, "Interoperability with HDF5").

A dataset's DIMENSION_LIST refers to the scales of each axis; a scale's name is its link's. A scale that is a netCDF
dimension without a variable holds no data. Axes without a scale get netCDF's phony names.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping
from typing import Literal

from byteatlas.errors import FileFault
from byteatlas.scanning.report import detail_of
from byteatlas.values import dataclass, field
from byteatlas_scanners.hdf5.format.attributes import Attribute
from byteatlas_scanners.hdf5.format.links import Hard
from byteatlas_scanners.hdf5.format.types import DatatypeClass
from byteatlas_scanners.hdf5.walk import Dataset, File, H5Group

HIDDEN = frozenset(
    ("DIMENSION_LIST", "REFERENCE_LIST", "_Netcdf4Dimid", "_Netcdf4Coordinates", "_nc3_strict", "_NCProperties")
)
"""Attributes that are part of the file format's machinery; netCDF does not show them either."""
HIDDEN_ON_SCALES = frozenset(("CLASS", "NAME"))

PLACEHOLDER = b"This is a netCDF dimension but not a netCDF variable"
NOT_COORDINATE = "_nc4_non_coord_"

_ENTRY = struct.Struct("<I").unpack_from


@dataclass(slots=True)
class Scale:
    """What the attributes of a dataset say of dimensions.

    Attributes:
        is_scale: the dataset is a dimension scale.
        placeholder: it stands for a dimension and is no variable.
        dimid: netCDF's number of this dimension.
        coordinates: netCDF's numbers of the dataset's dimensions.
        lists: for each axis, where its list of scales is in the global heap: (entries, address, index).
    """

    is_scale: bool = False
    placeholder: bool = False
    dimid: int | None = None
    coordinates: tuple[int, ...] = ()
    lists: list[tuple[int, int, int]] = field(default_factory=list)


def examine(file: File, attributes: Iterable[Attribute]) -> Scale:
    """Collect what a dataset's attributes say of dimensions."""
    found = Scale()
    for attribute in attributes:
        name, data = attribute.name, attribute.data
        if name == "DIMENSION_LIST":
            found.lists = _lists(file, attribute)
        elif name == "CLASS":
            found.is_scale = data.rstrip(b"\0 ") == b"DIMENSION_SCALE"
        elif name == "NAME":
            found.placeholder = data.startswith(PLACEHOLDER)
        elif name == "_Netcdf4Dimid":
            found.dimid = next(iter(_integers(attribute)), None)
        elif name == "_Netcdf4Coordinates":
            found.coordinates = tuple(_integers(attribute))
    found.placeholder = found.placeholder and found.is_scale
    return found


def _integers(attribute: Attribute) -> list[int]:
    bits, size = attribute.type.bits, attribute.type.size
    if attribute.type.kind is not DatatypeClass.INTEGER or bits is None:
        return []
    order: Literal["little", "big"] = "little" if bits.order == "<" else "big"
    data = attribute.data
    return [int.from_bytes(data[i : i + size], order, signed=True) for i in range(0, len(data), size)]


def _lists(file: File, attribute: Attribute) -> list[tuple[int, int, int]]:
    width, data = file.form.offsets, attribute.data
    step = 8 + width
    if attribute.type.kind is not DatatypeClass.VLEN or attribute.type.size != step:
        return []
    return [
        (
            _ENTRY(data, at)[0],
            int.from_bytes(data[at + 4 : at + 4 + width], "little"),
            _ENTRY(data, at + 4 + width)[0],
        )
        for at in range(0, len(data), step)
    ]


@dataclass(slots=True)
class Names:
    """Names of the dimensions of one file's datasets.

    Attributes:
        links: the first name of each object.
        parents: the address of the group in which it has that name.
        scales: by dataset.
        by_id: netCDF's dimension numbers.
        phony: in each group, (length, unlimited) -> names given so far.
        lost: by dataset, the axes whose scales could not be read, and why.
    """

    file: File
    links: Mapping[int, str]
    parents: Mapping[int, int]
    scales: dict[int, Scale]
    by_id: dict[int, str] = field(default_factory=dict)
    phony: dict[int, dict[tuple[int, bool], list[str]]] = field(default_factory=dict)
    given: int = 0
    lost: dict[int, dict[int, str]] = field(default_factory=dict)

    def dimension(self, address: int) -> str | None:
        """The name of the dimension that a scale stands for."""
        name = self.links.get(address)
        return None if name is None else name.removeprefix(NOT_COORDINATE)

    def of(self, node: Dataset, inner: tuple[int, ...]) -> tuple[str | None, ...]:
        """Names for all axes of a dataset; ``inner`` are the axes of its array datatype."""
        shape = node.what.space.shape or ()
        names: list[str | None] = [None] * len(shape)
        scale = self.scales[node.address]
        for axis, entry in enumerate(scale.lists[: len(shape)]):
            try:
                names[axis] = self._attached(entry)
            except FileFault as error:
                self.lost.setdefault(node.address, {})[axis] = detail_of(error)
        if scale.is_scale and len(shape) == 1:
            names[0] = self.dimension(node.address)
        if len(scale.coordinates) == len(shape):
            for axis, number in enumerate(scale.coordinates):
                names[axis] = names[axis] or self.by_id.get(number)
        most = node.what.space.most
        for axis, length in enumerate(shape):
            if names[axis] is None:
                names[axis] = self._phony(node.address, length, most[axis] is None, names)
        for length in inner:
            names.append(self._phony(node.address, length, False, names))
        return tuple(names)

    def _attached(self, entry: tuple[int, int, int]) -> str | None:
        """The first scale of one axis that has a name. Raises `FileFault`."""
        count, collection, index = entry
        width = self.file.form.offsets
        if not count or not collection:
            return None
        found = self.file.heaps.get(collection, index)
        for at in range(0, min(len(found), count * width), width):
            name = self.dimension(int.from_bytes(found[at : at + width], "little"))
            if name is not None:
                return name
        return None

    def _phony(self, address: int, length: int, unlimited: bool, taken: list[str | None]) -> str:
        """A made-up name, the same for equal lengths in a group (netCDF-C: create_phony_dims)."""
        group = self.phony.setdefault(self.parents.get(address, 0), {})
        known = group.setdefault((length, unlimited), [])
        for name in known:
            if name not in taken:
                return name
        name = f"phony_dim_{self.given}"
        self.given += 1
        known.append(name)
        return name


def wanted_heaps(scales: Iterable[Scale], undefined: int) -> set[int]:
    """The global heap collections that hold the lists of scales."""
    nowhere = (0, undefined)
    return {address for s in scales for count, address, _ in s.lists if count and address not in nowhere}


def name_dimensions(file: File) -> Names:
    """Collect links and scales of a file; global heaps are still to be loaded (`wanted_heaps`)."""
    links: dict[int, str] = {}
    parents: dict[int, int] = {}
    scales: dict[int, Scale] = {}
    for address, node in file.objects.items():
        if isinstance(node, H5Group):
            for link in node.links:
                if isinstance(link.target, Hard) and link.target.address not in links:
                    links[link.target.address] = link.name
                    parents[link.target.address] = address
        elif isinstance(node, Dataset):
            scales[address] = examine(file, node.attributes)
    names = Names(file, links, parents, scales)
    for address, scale in scales.items():
        name = names.dimension(address)
        if scale.dimid is not None and name is not None:
            names.by_id.setdefault(scale.dimid, name)
    return names
