"""The inputs of a combination, flattened and named."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from operator import attrgetter

from byteatlas.combining.model import FlatInput
from byteatlas.errors import BadRequest
from byteatlas.manifest.model import VirtualArray, VirtualGroup
from byteatlas.meta.model import GroupMeta
from byteatlas.values import replace

ARRAYS, GROUPS = attrgetter("arrays"), attrgetter("groups")
NO_GROUPS: Mapping[str, VirtualGroup] = {}


def flatten(groups: Sequence[VirtualGroup], names: Sequence[str] | None) -> list[FlatInput]:
    """Inputs in the order given. Names default to the first file that a group refers to, made unique."""
    if not groups:
        raise BadRequest("nothing to combine")
    if names is not None and len(names) != len(groups):
        raise BadRequest(f"{len(groups)} inputs, but {len(names)} names")
    arrays: list[Mapping[str, VirtualArray]] = list(map(ARRAYS, groups))
    children: list[Mapping[str, VirtualGroup]] = [NO_GROUPS] * len(groups)
    if any(map(GROUPS, groups)):
        for i, group in enumerate(groups):
            if group.groups:
                arrays[i], children[i] = flat(group)
    chosen = [first_url(a, i) for i, a in enumerate(arrays)] if names is None else names
    return list(map(FlatInput._make, zip(unique(chosen), groups, arrays, children, strict=True)))


def flat(group: VirtualGroup) -> tuple[dict[str, VirtualArray], dict[str, VirtualGroup]]:
    """All arrays and groups below a group, by path."""
    arrays, children = dict(group.arrays), dict[str, VirtualGroup]()
    for path, node in group.walk():
        if isinstance(node, VirtualGroup):
            children[path] = node
        else:
            arrays[path] = node
    return arrays, children


def unique(names: Sequence[str]) -> Sequence[str]:
    """The names; ones that are there already get a number."""
    if len(set(names)) == len(names):
        return names
    result, seen = [], dict[str, int]()
    for name in names:
        seen[name] = seen.get(name, 0) + 1
        result.append(name if seen[name] == 1 else f"{name}#{seen[name]}")
    return result


def first_url(arrays: Mapping[str, VirtualArray], index: int) -> str:
    """The first file that is referred to, or the input's number."""
    for array in arrays.values():
        if array.manifest.sources:
            return array.manifest.sources[0].url
    return f"input {index + 1}"


def unflatten(
    arrays: Mapping[str, VirtualArray], metas: Mapping[str, GroupMeta], root: GroupMeta, zarr_format: int | None
) -> VirtualGroup:
    """A tree again, from paths. A group that has no metadata of its own gets empty metadata."""
    own = {p: a for p, a in arrays.items() if "/" not in p}
    below: dict[str, dict[str, VirtualArray]] = {}
    below_metas: dict[str, dict[str, GroupMeta]] = {}
    for path, array in arrays.items():
        head, slash, rest = path.partition("/")
        if slash:
            below.setdefault(head, {})[rest] = array
    for path, meta in metas.items():
        head, slash, rest = path.partition("/")
        below.setdefault(head, {})
        if slash:
            below_metas.setdefault(head, {})[rest] = meta
    if zarr_format == 3:
        root = replace(root, zarr_format=3)
    groups = {
        head: unflatten(children, below_metas.get(head, {}), metas.get(head, GroupMeta()), zarr_format)
        for head, children in below.items()
    }
    return VirtualGroup(root, own, groups)


def find_variable(path: str, item: FlatInput) -> str | None:
    """The variable of that path, or the first one of that name in any group."""
    if path in item.arrays:
        return path
    tail = "/" + path
    return next((p for p in item.arrays if p.endswith(tail)), None)
