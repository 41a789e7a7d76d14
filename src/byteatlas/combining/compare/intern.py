"""What many files have in common is kept once: descriptions of arrays, and small arrays that are in the map itself.

Thousands of files of one archive say the same of their variables. Kept once, that takes a fraction of the memory, and
a combination sees without comparing that nothing differs.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from byteatlas.combining.compare.classify import same_scalar
from byteatlas.manifest.model import ChunkManifest, VirtualArray, VirtualGroup
from byteatlas.meta.model import ArrayMeta

MOST = 8
"""Descriptions of one path that are remembered: more are the sign of files that have little in common."""


@dataclass(frozen=True, slots=True)
class Sharing:
    """Give it group after group; equal parts of them become one object. For one combination: it keeps what it saw."""

    known: dict[str, list[VirtualArray]] = field(default_factory=dict)

    def group(self, group: VirtualGroup, prefix: str = "") -> VirtualGroup:
        """The same group, made of parts that were seen before where they are equal."""
        arrays = {name: self.array(prefix + name, array) for name, array in group.arrays.items()}
        groups = {name: self.group(child, f"{prefix}{name}/") for name, child in group.groups.items()}
        return VirtualGroup(group.meta, arrays, groups, group.report, group.access)

    def array(self, path: str, array: VirtualArray) -> VirtualArray:
        """The array with a description that was seen at this path, or all of one that was."""
        seen = self.known.setdefault(path, [])
        for one in seen:
            if one.meta is array.meta or identical(one.meta, array.meta):
                return one if same_inline(one, array) else replace(array, meta=one.meta)
        if len(seen) < MOST:
            seen.append(array)
        return array


def identical(a: ArrayMeta, b: ArrayMeta) -> bool:
    """Whether two descriptions say the same in everything; a fill value that is NaN equals another."""
    return (
        a.shape == b.shape
        and a.attributes == b.attributes
        and a.dimension_names == b.dimension_names
        and (a.data_type is b.data_type or a.data_type == b.data_type)
        and a.grid == b.grid
        and (a.encodings is b.encodings or a.encodings == b.encodings)
        and type(a.fill_value) is type(b.fill_value)
        and same_scalar(a.fill_value, b.fill_value)
        and a.keys == b.keys
        and a.zarr_format == b.zarr_format
    )


def same_inline(a: VirtualArray, b: VirtualArray) -> bool:
    """Whether both are one chunk with the same bytes in the map."""
    m, n = a.manifest, b.manifest
    if not isinstance(m, ChunkManifest) or not isinstance(n, ChunkManifest):
        return False
    return bool(m.inlined) and len(m.source) == len(n.source) == 1 and m.inlined == n.inlined
