"""Names and lengths of dimensions in one group, where an array does not say them or is shorter than its neighbours."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from byteatlas.array.array import Array
from byteatlas.array.group import Group, Node
from byteatlas.values import dataclass, field


@dataclass(slots=True)
class Dimensions:
    """Names for axes without one: for their length, as the netCDF library does."""

    _phony: dict[int, list[str]] = field(default_factory=dict)

    def names(self, array: Array) -> tuple[str, ...]:
        """The dimension names of one array of the group. Arrays are to be asked for in the group's order."""
        taken: list[str] = [d for d in array.dims or () if d]
        out = []
        for name, n in zip(array.dims or (None,) * array.ndim, array.shape, strict=True):
            chosen = name or next((d for d in self._phony.get(n, []) if d not in taken), None)
            if chosen is None:
                chosen = f"phony_dim_{sum(map(len, self._phony.values()))}"
                self._phony.setdefault(n, []).append(chosen)
            taken.append(chosen)
            out.append(chosen)
        return tuple(out)

    def longest(self, arrays: Iterable[Array], above: Mapping[str, int]) -> dict[str, int]:
        """The length of each dimension: that of the longest array, here or in a group above.

        Along an unlimited dimension netCDF-4 stores each variable only as far as it was written; to the netCDF library
        all are as long as the longest, and read as their fill value beyond.
        """
        found = dict(above)
        for array in arrays:
            for name, n in zip(self.names(array), array.shape, strict=True):
                found[name] = max(n, found.get(name, 0))
        return found


def lengths_above(root: Node, group: Group) -> dict[str, int]:
    """Lengths of the dimensions that arrays in the groups above have. A Zarr store's arrays are as long as they are."""
    found = dict[str, int]()
    if not isinstance(root, Group) or group.stored or not group.path.startswith(root.path):
        return found
    path = group.path
    while path != root.path and path:
        path = path.rpartition("/")[0]
        above = root[path[len(root.path) :]]
        for array in above.arrays().values() if isinstance(above, Group) else ():
            for name, n in zip(array.dims or (), array.shape, strict=False):
                if name is not None:
                    found[name] = max(n, found.get(name, 0))
    return found
