"""VirtualiZarr with our scanners: a parser, and virtual datasets to and from our trees.

>>> import virtualizarr, byteatlas.virtualizarr
>>> virtualizarr.open_virtual_dataset(                                         # doctest: +SKIP
...     "air.nc", registry=registry, parser=byteatlas.virtualizarr.Parser()
... )
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping
from typing import Any

from byteatlas.api.indexing import RefusalWarning, scan
from byteatlas.api.tree import VirtualTree, tree
from byteatlas.errors import BadRequest, NotFound, Unsupported
from byteatlas.io.access import Access
from byteatlas.manifest.foreign.virtualizarr import from_manifest_array, inlined_array, to_manifest_store
from byteatlas.manifest.model import VirtualArray, VirtualGroup
from byteatlas.meta.model import GroupMeta
from byteatlas.scanning.contract import ScanOptions
from byteatlas.types import JSON
from byteatlas.values import dataclass, replace


@dataclass(frozen=True, slots=True)
class Parser:
    """A parser for `virtualizarr.open_virtual_dataset`: any format that `byteatlas.scan` knows.

    The file is scanned through ``access``, as all of byteatlas reads; values are loaded through the registry, as all of
    VirtualiZarr reads.

    Attributes:
        group: the group that becomes the root; None = the file's root.
        skip_variables: names (or paths) of arrays to leave out.
        format: the scanner's name; None = found by the file's first bytes.
        options: of the scan.
        access: how the file may be reached.
    """

    group: str | None = None
    skip_variables: Iterable[str] | None = None
    format: str | None = None
    options: ScanOptions | None = None
    access: Access | None = None

    def __call__(self, url: str, registry: Any) -> Any:
        """A ``ManifestStore``.

        Arrays that VirtualiZarr cannot have are left out with a `RefusalWarning`. Raises what `byteatlas.scan` raises.
        """
        found: VirtualArray | VirtualGroup = scan(url, format=self.format, options=self.options, access=self.access)
        if self.group and self.group.strip("/"):
            found = found[self.group]  # type: ignore[index]  # scan gives a group
        if isinstance(found, VirtualArray):
            raise NotFound(f"{self.group!r} is an array, not a group")
        refused: list[Unsupported] = []
        store = to_manifest_store(_without(found, frozenset(self.skip_variables or ())), registry, refused)
        if refused:
            warnings.warn(f"{url}: {len(refused)} arrays left out; first: {refused[0]}", RefusalWarning, stacklevel=2)
        return store


def _without(group: VirtualGroup, names: frozenset[str], path: str = "") -> VirtualGroup:
    arrays = {n: a for n, a in group.arrays.items() if n not in names and path + n not in names}
    groups = {n: _without(g, names, f"{path}{n}/") for n, g in group.groups.items()}
    return replace(group, arrays=arrays, groups=groups)


def from_virtual(dataset: Any) -> VirtualTree:
    """A virtual dataset or data tree of VirtualiZarr as a tree of virtual arrays.

    Variables that were loaded go into the map with their values, encoded as xarray would write them.

    >>> vds = ba.scan("t_20010103.tif").to_virtual()
    >>> ba.from_virtual(vds)["data"].meta.shape
    (4, 4)
    """
    import xarray as xr

    if isinstance(dataset, xr.DataTree):
        groups = {str(name): from_virtual(child) for name, child in dataset.children.items()}
        root = _from_dataset(dataset.to_dataset(inherit=False))
        return tree(VirtualGroup(root.meta, root.arrays, groups))
    if isinstance(dataset, xr.Dataset):
        return tree(_from_dataset(dataset))
    raise BadRequest(f"{type(dataset).__name__} is no xarray Dataset or DataTree")


def _from_dataset(dataset: Any) -> VirtualGroup:
    arrays = {str(name): _from_variable(variable) for name, variable in dataset.variables.items()}
    attributes = {str(name): _plain(value) for name, value in dataset.attrs.items()}
    extra = [str(name) for name in dataset.coords if name not in dataset.dims]
    if extra:
        attributes.setdefault("coordinates", " ".join(extra))
    return VirtualGroup(GroupMeta(attributes, 3), arrays)


def _from_variable(variable: Any) -> VirtualArray:
    data = variable.variable._data if hasattr(variable, "variable") else variable._data
    if hasattr(data, "manifest") and hasattr(data, "metadata"):
        return from_manifest_array(data, tuple(map(str, variable.dims)), _attributes(variable.attrs))
    import xarray as xr

    stored = xr.conventions.encode_cf_variable(variable)
    return inlined_array(stored.to_numpy(), tuple(map(str, stored.dims)), _attributes(stored.attrs))


def _attributes(attributes: Mapping[Any, Any]) -> dict[str, JSON]:
    return {str(name): _plain(value) for name, value in attributes.items()}


def _plain(value: Any) -> JSON:
    """An attribute's value as JSON has it."""
    made: JSON = value.tolist() if hasattr(value, "tolist") else value
    return made
