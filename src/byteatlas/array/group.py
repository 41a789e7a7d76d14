"""Groups: mappings from names to arrays and groups, opened when asked for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any, Protocol, TypeAlias

from byteatlas.arguments import shown
from byteatlas.array.array import Array
from byteatlas.array.handle import NodeHandle
from byteatlas.errors import NotFound, unknown_text
from byteatlas.importing import shown_as_html
from byteatlas.meta.model import GroupMeta
from byteatlas.meta.text import array_text
from byteatlas.store.nodes import NodeKind

Node: TypeAlias = "Array | Group"

MOST = 40
"""Members that a printed group shows."""


class MemberSource(Protocol):
    """Where a group's members come from: a virtual tree, or a store."""

    @property
    def stored(self) -> bool:
        """Whether it is a Zarr store, whose chunks lie under keys of their own."""
        ...

    def members(self, path: str) -> Mapping[str, NodeKind]:
        """The children of the group at ``path``, in order. Raises `Unsupported` when they cannot be listed."""
        ...

    def has(self, path: str) -> bool:
        """Whether there is a node at a path, whatever is wrong with it. Raises `FetchFailed`."""
        ...

    def open(self, path: str, *, strict: bool = True) -> Node:
        """The node at a path (no leading or trailing slash). Raises `NotFound`.

        ``strict=False``: an array with unknown codecs raises when it is read, not here.
        """
        ...


class Group(NodeHandle[GroupMeta], Mapping[str, "Array | Group"]):
    """A Zarr group. ``group["a/b"]`` walks down; iteration gives the names of the direct children.

    >>> root = ba.open("jan.nc")
    >>> root
    <Group '/'>
      time  float64 (time 2)
      lat   float64 (lat 4)
      lon   float64 (lon 8)
      air   float32 (time 2, lat 4, lon 8)
    >>> root.array("air").attrs["units"]
    'K'
    """

    __slots__ = ("_hierarchy",)

    def __init__(self, meta: GroupMeta, hierarchy: MemberSource, path: str = "") -> None:
        super().__init__(meta, path)
        self._hierarchy = hierarchy

    @property
    def stored(self) -> bool:
        """Whether it lies in a Zarr store; else it is virtual: a map's or a scanned file's."""
        return self._hierarchy.stored

    def __getitem__(self, path: str) -> Any:
        """The `Array` or `Group` at a path. Which one it is only the data know: to type checkers it is anything;
        `array` and `group` are typed."""
        return self._member(path)

    def array(self, path: str) -> Array:
        """The array at a path. Raises `NotFound`, also for a group."""
        found = self._member(path)
        if not isinstance(found, Array):
            raise NotFound(f"{path!r} is a group, not an array")
        return found

    def group(self, path: str) -> Group:
        """The group at a path. Raises `NotFound`, also for an array."""
        found = self._member(path)
        if not isinstance(found, Group):
            raise NotFound(f"{path!r} is an array, not a group")
        return found

    def _member(self, path: str) -> Node:
        if not isinstance(path, str):
            raise NotFound(f"no member {shown(path)}: names are text")
        clean = path.strip("/")
        if not clean:
            return self
        try:
            return self._hierarchy.open(self._join(clean))
        except NotFound as error:
            if error.known is not None:
                raise
            _, _, names = unknown_text("array or group", clean, self._members()).partition("; ")
            raise NotFound(f"no array or group {clean!r} in {'/' + self._path!r}; {names}") from error

    def __contains__(self, path: object) -> bool:
        """Whether there is such a member. It is not opened: one that cannot be decoded is a member too."""
        if not isinstance(path, str):
            return False
        clean = path.strip("/")
        return not clean or self._hierarchy.has(self._join(clean))

    def __iter__(self) -> Iterator[str]:
        return iter(self._members())

    def __len__(self) -> int:
        return len(self._members())

    def arrays(self) -> dict[str, Array]:
        """The arrays among the direct children."""
        found = {name: self._child(name) for name, kind in self._members().items() if kind == "array"}
        return {name: node for name, node in found.items() if isinstance(node, Array)}

    def groups(self) -> dict[str, Group]:
        """The groups among the direct children."""
        found = {name: self._child(name) for name, kind in self._members().items() if kind == "group"}
        return {name: node for name, node in found.items() if isinstance(node, Group)}

    def walk(self) -> Iterator[tuple[str, Node]]:
        """Every array and group below as (path from here, node), depth first, arrays before groups.

        An array whose codecs are unknown is there too; it raises `Unsupported` when it is read.
        """
        children = self._members()
        for name, kind in children.items():
            if kind == "array":
                yield name, self._child(name)
        for name, kind in children.items():
            if kind == "group":
                group = self._member(name)
                yield name, group
                if isinstance(group, Group):
                    for path, node in group.walk():
                        yield f"{name}/{path}", node

    def tree(self) -> str:
        """A picture of what is below, one line per node."""
        lines = [f"/{self._path}"]
        for path, node in self.walk():
            depth = path.count("/") + 1
            what = f"  {array_text(node.meta)}" if isinstance(node, Array) else "/"
            lines.append("  " * depth + path.rpartition("/")[2] + what)
        return "\n".join(lines)

    def __repr__(self) -> str:
        """Its path; of a virtual group what is below it too, which is at hand. That of a store may be far away."""
        nodes = () if self.stored else islice(self.walk(), MOST + 1)
        told = [(path, array_text(node.meta)) if isinstance(node, Array) else (f"{path}/", "") for path, node in nodes]
        width = max((len(path) for path, _ in told), default=0)
        lines = [f"  {path:{width}}  {what}".rstrip() for path, what in told[:MOST]]
        return "\n".join([f"<Group {'/' + self._path!r}>", *lines, *["  ..."] * (len(told) > MOST)])

    def _repr_html_(self) -> str | None:
        return shown_as_html(self)

    def _ipython_key_completions_(self) -> list[str]:
        return [path for path, _ in self.walk()]

    def _members(self) -> Mapping[str, NodeKind]:
        return self._hierarchy.members(self._path)

    def _child(self, name: str) -> Node:
        return self._hierarchy.open(self._join(name), strict=False)

    def _join(self, path: str) -> str:
        return f"{self._path}/{path}" if self._path else path
