"""The Vgroups that users made, as groups; what HDF4's own interfaces keep in Vgroups is not shown.

HDF-EOS puts fields into Vgroups below each grid or swath ("Data Fields", "Geolocation Fields"): here they are in the
grid's or the swath's own group.
"""

from __future__ import annotations

from collections.abc import Iterator

from byteatlas.values import dataclass, field
from byteatlas_scanners.hdf4.file import Hdf4File
from byteatlas_scanners.hdf4.format.directory import TagRef
from byteatlas_scanners.hdf4.format.tags import ElementTag
from byteatlas_scanners.hdf4.format.vgroup import Vgroup

OWN_KINDS = frozenset({"CDF0.0", "Var0.0", "Dim0.0", "UDim0.0", "RIG0.0", "RI0.0", "Attr0.0"})
EOS_KINDS = frozenset({"GRID", "SWATH", "POINT", "ZA"})
EOS_PARTS = frozenset({"GRID Vgroup", "SWATH Vgroup", "POINT Vgroup", "ZA Vgroup"})
OWN_NAME = "RIG0.0"
MOST_DEPTH = 64


@dataclass(slots=True)
class Hierarchy:
    """Paths of groups, and which group each element is in.

    Attributes:
        paths: of Vgroups by reference number; equal for those that are shown as one.
        homes: by the key of an element: the path of the first Vgroup that has it.
        kinds: classes of Vgroups by path.
        owners: Vgroups by path.
    """

    paths: dict[int, str] = field(default_factory=dict)
    homes: dict[TagRef, str] = field(default_factory=dict)
    kinds: dict[str, str] = field(default_factory=dict)
    owners: dict[str, list[Vgroup]] = field(default_factory=dict)

    def home(self, *keys: TagRef) -> str:
        """The group of an element that may be named by several keys; "" for the root."""
        return next((self.homes[key] for key in keys if key in self.homes), "")


def arrange(file: Hdf4File) -> Hierarchy:
    """Find the paths of all groups, from those that are in no other one down."""
    users = {g.ref: g for g in file.groups.values() if isinstance(g, Vgroup) and not _own(g)}
    inner = {ref for g in users.values() for tag, ref in g.members if tag == ElementTag.VGROUP and ref != g.ref}
    found = Hierarchy()
    taken: set[str] = set()
    for ref, group in users.items():
        if ref not in inner:
            _enter(group, "", users, found, taken, 0)
    for group in users.values():  # groups in a circle
        if group.ref not in found.paths:
            _enter(group, "", users, found, taken, 0)
    return found


def _own(group: Vgroup) -> bool:
    return group.kind in OWN_KINDS or group.name == OWN_NAME


def _enter(group: Vgroup, above: str, users: dict[int, Vgroup], found: Hierarchy, taken: set[str], depth: int) -> None:
    if group.ref in found.paths or depth > MOST_DEPTH:
        return
    if group.kind in EOS_PARTS and above:
        path = above
    else:
        path = unused(above + ("/" if above else "") + legal(group.name or f"group_{group.ref}"), taken)
        found.kinds[path] = group.kind
    found.paths[group.ref] = path
    found.owners.setdefault(path, []).append(group)
    for key in group.members:
        found.homes.setdefault(key, path)
        if key.tag == ElementTag.VGROUP and key.ref in users:
            _enter(users[key.ref], path, users, found, taken, depth + 1)


def legal(name: str) -> str:
    """A name that can be a node's: a slash would divide it."""
    return name.replace("/", "_") or "_"


def unused(path: str, taken: set[str]) -> str:
    """The path, or the same with a number where another node has it."""
    found = next(candidate for candidate in _candidates(path) if candidate not in taken)
    taken.add(found)
    return found


def _candidates(path: str) -> Iterator[str]:
    yield path
    number = 2
    while True:
        yield f"{path}_{number}"
        number += 1
