"""What many files have in common is kept once: descriptions of arrays, and small arrays that are in the map itself.

Thousands of files of one archive say the same of their variables. Kept once, that takes a fraction of the memory, and
a combination sees without comparing that nothing differs.
"""

from __future__ import annotations

from byteatlas.combining.compare.must_match import equal_columns
from byteatlas.manifest.model import ChunkManifest, VirtualArray, VirtualGroup
from byteatlas.meta.compare import identical_arrays
from byteatlas.values import dataclass, field, replace

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
            if one.meta is array.meta or identical_arrays(one.meta, array.meta):
                return one if identical_inline(one, array) else replace(array, meta=one.meta)
        if len(seen) < MOST:
            seen.append(array)
        return array


def identical_inline(a: VirtualArray, b: VirtualArray) -> bool:
    """Whether both are one chunk with the same bytes in the map."""
    m, n = a.manifest, b.manifest
    if not isinstance(m, ChunkManifest) or not isinstance(n, ChunkManifest):
        return False
    if not m.inlined or not len(m.source) == len(n.source) == 1 or m.inlined != n.inlined:
        return False
    return equal_columns(m.encoding, n.encoding)
