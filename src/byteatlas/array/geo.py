"""Where an opened array lies on the Earth, and which resolutions an opened group has."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from numpy.typing import NDArray

from byteatlas.array.array import Array
from byteatlas.array.group import Group, Node
from byteatlas.errors import BadRequest, NotFound
from byteatlas.meta.conventions import Attributes, Georeference, PyramidLevel, georeference, levels

MOST_COORDINATES = 1 << 24
"""Elements of a coordinate variable beyond which it is not read for a transform."""


def georeference_of(root: Node, path: str = "") -> Georeference:
    """The CRS (as it is stored) and the affine transform of an array.

    Args:
        root: an array, or a group that holds it. What the groups above it, its grid mapping variable and its
            coordinates say counts as far up as ``root``.
        path: of the array below ``root``.

    Coordinates are read (one-dimensional ones, when nothing else gives a transform); the array's values are not.
    """
    node = root[path] if isinstance(root, Group) else root
    if not isinstance(node, Array) or (path and isinstance(root, Array)):
        raise BadRequest(f"{path!r} is a group; only arrays have a place")
    if isinstance(root, Array):
        return georeference(node.meta)
    above = _above(root, path)
    return georeference(
        node.meta,
        groups=[group.attrs for group in above],
        siblings=_Nearest(above),
        coordinate=lambda name: _coordinate(above, name),
    )


def levels_of(group: Group) -> list[tuple[PyramidLevel, Node]]:
    """The resolutions of a group with their nodes, finest first as a rule; empty when no convention is in use.

    Raises `NotFound` for a level whose node is not there.

    >>> options = ba.CopyOptions(levels=ba.LevelOptions(factors=(2, 4)))
    >>> _ = ba.copy("land.tif", "land.zarr", options=options)
    >>> len(ba.levels_of(ba.open("land.zarr")))
    3
    """
    if not isinstance(group, Group):
        raise BadRequest(f"{type(group).__name__} instead of a group: what does open give for it?")
    return [(level, group[level.path]) for level in levels(group.attrs)]


def _above(root: Group, path: str) -> list[Group]:
    """The groups above a path, nearest first."""
    found, parts = [root], path.strip("/").split("/")[:-1]
    for i in range(len(parts)):
        group = root["/".join(parts[: i + 1])]
        assert isinstance(group, Group)
        found.append(group)
    return found[::-1]


def _find(above: list[Group], name: str) -> Array | None:
    """An array by name in the nearest group that has it (CF 2.7, "Scope"); by path when it begins with a slash."""
    for group in above[-1:] if name.startswith("/") else above:
        try:
            found = group[name]
        except NotFound:
            continue
        if isinstance(found, Array):
            return found
    return None


class _Nearest(Mapping[str, Attributes]):
    """Attributes of the arrays that an array can refer to by name; opened when asked for."""

    def __init__(self, above: list[Group]) -> None:
        self._above = above

    def __getitem__(self, name: str) -> Attributes:
        found = _find(self._above, name)
        if found is None:
            raise KeyError(name)
        return found.attrs

    def __iter__(self) -> Iterator[str]:
        return iter({name: None for group in self._above for name in group.arrays()})

    def __len__(self) -> int:
        return sum(1 for _ in self)


def _coordinate(above: list[Group], name: str) -> NDArray[Any] | None:
    found = _find(above, name)
    if found is None or found.ndim != 1 or found.size > MOST_COORDINATES:
        return None
    values: NDArray[Any] = found[...]
    return values
