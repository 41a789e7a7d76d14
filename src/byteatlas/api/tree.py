"""Virtual groups with the library's verbs as methods: what scanning, loading and combining give."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from byteatlas.api.targets import expect_many
from byteatlas.errors import BadRequest, MissingExtra
from byteatlas.importing import report_of
from byteatlas.io.access import DEFAULT, Access, merged
from byteatlas.manifest.model import ScanReport, VirtualArray, VirtualGroup, VirtualNode
from byteatlas.meta.text import array_text
from byteatlas.values import dataclass, field, replace


@dataclass(frozen=True, slots=True, repr=False)
class VirtualTree(VirtualGroup):
    """A `VirtualGroup` that can be worked on; its groups are such trees as well.

    >>> vg = ba.scan("jan.nc")
    >>> vg.select(time=slice("2001-01-10", None))["air"].meta.shape
    (1, 4, 8)
    >>> vg.to_xarray()["air"].dims
    ('time', 'lat', 'lon')
    """

    report: ScanReport = field(default_factory=ScanReport)

    def __post_init__(self) -> None:
        if not isinstance(self.report, ScanReport):
            object.__setattr__(self, "report", ScanReport(self.report))

    def html(self) -> str:
        """A page about it, as one text: `byteatlas.report`."""
        return report_of(self)

    def tree(self) -> str:
        """A picture of what is below, one line per node."""
        lines = ["/"]
        for path, node in self.walk():
            what = f"  {array_text(node.meta)}" if isinstance(node, VirtualArray) else "/"
            lines.append("  " * (path.count("/") + 1) + path.rpartition("/")[2] + what)
        return "\n".join(lines)

    def concat(self, others: VirtualGroup | Sequence[VirtualGroup], dim: str, **options: Any) -> VirtualTree:
        """This group, and others behind it along a dimension: `byteatlas.concat`, with its options."""
        expect_many(others, "others")
        behind = [others] if isinstance(others, VirtualGroup) else list(others)
        return concatenated([self, *behind], dim, options, None)

    def select(self, region: Mapping[str, object] | None = None, *, cut: bool = False, **more: object) -> VirtualTree:
        """The part between coordinate values, ``select(lat=slice(30, 60))``: `byteatlas.select`."""
        from byteatlas.combining.select.region import select_by_value

        access = self.access or DEFAULT
        from byteatlas.api.reading import reader

        return tree(select_by_value(self, {**_box(region), **more}, read=reader(access), cut=cut), access)

    def mask(
        self,
        region: Mapping[str, object] | None = None,
        *,
        keep_cut: bool = False,
        fill: float | None = None,
        **more: object,
    ) -> VirtualTree:
        """The group with everything outside of a box of coordinate values as fill: `byteatlas.mask`."""
        from byteatlas.combining.select.region import mask_by_value

        access = self.access or DEFAULT
        box = {**_box(region), **more}
        from byteatlas.api.reading import reader

        return tree(mask_by_value(self, box, read=reader(access), keep_cut=keep_cut, fill=fill), access)

    def to_virtual(self) -> Any:
        """As a virtual dataset of VirtualiZarr; as a data tree where there are groups.

        Raises `Unsupported` for arrays that VirtualiZarr cannot have, `MissingExtra`. xarray's ``ValueError`` where
        groups have dimensions of other lengths than those above them: take the groups one by one.
        """
        from byteatlas.manifest.foreign.virtualizarr import to_manifest_group

        group = to_manifest_group(self)
        return group.to_virtual_datatree() if self.groups else group.to_virtual_dataset()

    def to_xarray(self, **options: Any) -> Any:
        """As a dataset of xarray, read when values are asked for; as a data tree where there are groups.

        Takes the options of ``xarray.open_dataset(..., engine="byteatlas")``, such as ``chunks={}`` for Dask.
        """
        try:
            import xarray as xr
        except ImportError as error:
            raise MissingExtra("xarray", "a dataset of xarray") from error
        opening = xr.open_datatree if self.groups and options.get("group") is None else xr.open_dataset
        return opening(self, engine="byteatlas", **options)

    def __getitem__(self, path: str) -> VirtualArray | VirtualTree:
        found = super().__getitem__(path)
        return tree(found, self.access or DEFAULT) if isinstance(found, VirtualGroup) else found


def tree(group: VirtualGroup, access: Access = DEFAULT) -> VirtualTree:
    """A group with the verbs as methods, that knows how its bytes may be reached (as do its groups and arrays)."""
    if isinstance(group, VirtualTree) and (group.access or DEFAULT).is_same(access):
        return group
    groups = {name: tree(below, access) for name, below in group.groups.items()}
    if access.is_same(DEFAULT):
        return VirtualTree(group.meta, group.arrays, groups, ScanReport(group.report))
    return VirtualTree(group.meta, reached(group.arrays, access), groups, ScanReport(group.report), access)


def rooted(node: VirtualNode, access: Access = DEFAULT) -> VirtualTree | VirtualArray:
    """`tree` for a node of either kind."""
    if isinstance(node, VirtualGroup):
        return tree(node, access)
    return node if (node.access or DEFAULT).is_same(access) else replace(node, access=access)


def reached(arrays: Mapping[str, VirtualArray], access: Access) -> Mapping[str, VirtualArray]:
    """The arrays, each with how its bytes may be reached; those that are read when asked for still are."""
    if isinstance(arrays, dict):  # what scanners give; the rest is not imported for it
        return {name: replace(array, access=access) for name, array in arrays.items()}
    from byteatlas.manifest.tree import LazyArrays

    if isinstance(arrays, LazyArrays):
        return LazyArrays({name: name for name in arrays}, lambda name: replace(arrays[name], access=access))
    return {name: replace(array, access=access) for name, array in arrays.items()}


def access_of(groups: Sequence[VirtualGroup]) -> Access:
    """How the bytes of all of these may be reached.

    Raises `BadRequest` when they were opened in ways that contradict each other.
    """
    return merged([(g.access or DEFAULT, partial(urls_of, g)) for g in groups])


def urls_of(group: VirtualGroup) -> set[str]:
    """The files that a group's manifests list."""
    arrays = [node for _, node in group.walk() if isinstance(node, VirtualArray)]
    return {source.url for array in arrays for source in array.manifest.sources}


def _box(region: object) -> Mapping[str, object]:
    if region is None:
        return {}
    if not isinstance(region, Mapping):
        raise BadRequest(f"region is {type(region).__name__}; a dict of dimensions to values was expected")
    return region


def concatenated(
    groups: Sequence[VirtualGroup], dim: str, options: Mapping[str, Any], access: Access | None
) -> VirtualTree:
    """What `byteatlas.concat` does."""
    from byteatlas.combining.select.ops import concat

    if not isinstance(dim, str) or not dim:
        what = "empty" if isinstance(dim, str) else type(dim).__name__
        raise BadRequest(f"dim is {what}; the name of a dimension was expected")
    given = dict(options)
    how = access_of(groups) if access is None else access
    from byteatlas.api.reading import chosen, reader

    found = concat(groups, dim, options=chosen((), given.pop("options", None), given), read=reader(how))
    return tree(found, how)
