"""Many virtual groups as one: `combine`, `plan_combine`, `prepare_combine`, `concat`, `append`."""

from __future__ import annotations

import os
from collections.abc import Mapping, MutableMapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from byteatlas.api.indexing import load, write
from byteatlas.api.reading import chosen, reader
from byteatlas.api.targets import Readable, References, Target, each_of, expect_group, expect_many
from byteatlas.api.tree import VirtualTree, access_of, concatenated
from byteatlas.errors import BadRequest, Conflict
from byteatlas.io.access import DEFAULT, Access
from byteatlas.io.policy import Policy
from byteatlas.manifest.model import VirtualArray, VirtualGroup
from byteatlas.progress import OnProgress, Progress
from byteatlas.types import JSON

if TYPE_CHECKING:
    from byteatlas.api.prepared import PreparedTree
    from byteatlas.combining import CombineOptions, Plan
    from byteatlas.combining.append import Appended

Input: TypeAlias = Readable | References | VirtualGroup


def combine(
    inputs: Sequence[Input] | Target,
    concat: str | Sequence[str] = (),
    *,
    options: CombineOptions | None = None,
    access: Access | None = None,
    storage_options: Mapping[str, JSON] | None = None,
    policy: Policy | None = None,
    progress: OnProgress | None = None,
    **more: Any,
) -> VirtualTree:
    """Combine many files' virtual arrays into one tree.

    Args:
        inputs: reference maps or archives by path or URL, open files of either, references as dicts, or `VirtualGroup`
            objects; or one path or pattern (``maps/*.json``).
        concat: the dimension (or dimensions) along which the files follow each other.
        options: everything else; single options may be given by name instead (see `CombineOptions`).
        access: how bytes may be reached, ``storage_options`` and ``policy`` short for one; None = by default, and
            groups as they were. The result keeps it.
        progress: called with each input after it was read.

    Raises:
        Conflict: a difference that cannot be reconciled; a sentence for each, with the files and their values.
        Forbidden: coordinates in files that the input which names them has no right to.
    """
    how = (access, storage_options, policy)
    return _prepared(inputs, chosen(concat, options, more), how, progress).result()


def plan_combine(
    inputs: Sequence[Input] | Target,
    concat: str | Sequence[str] = (),
    *,
    options: CombineOptions | None = None,
    access: Access | None = None,
    storage_options: Mapping[str, JSON] | None = None,
    policy: Policy | None = None,
    progress: OnProgress | None = None,
    **more: Any,
) -> Plan:
    """What `combine` would do with these inputs, and every difference it finds; nothing is combined."""
    how = (access, storage_options, policy)
    return _prepared(inputs, chosen(concat, options, more), how, progress).plan


def prepare_combine(
    inputs: Sequence[Input] | Target,
    concat: str | Sequence[str] = (),
    *,
    options: CombineOptions | None = None,
    access: Access | None = None,
    storage_options: Mapping[str, JSON] | None = None,
    policy: Policy | None = None,
    names: Sequence[str] | None = None,
    progress: OnProgress | None = None,
    **more: Any,
) -> PreparedTree:
    """A plan that can be carried out: ``.plan`` is what `plan_combine` gives, ``.result()`` what `combine` gives."""
    how = (access, storage_options, policy)
    return _prepared(inputs, chosen(concat, options, more), how, progress, names)


def concat(
    groups: Sequence[VirtualGroup],
    dim: str,
    *,
    options: CombineOptions | None = None,
    access: Access | None = None,
    storage_options: Mapping[str, JSON] | None = None,
    policy: Policy | None = None,
    **more: Any,
) -> VirtualTree:
    """Groups one after the other along a dimension in the order given, as xarray's ``concat``.

    Coordinate values are neither looked at nor sorted; a dimension that no group has becomes a new leading one. Options
    and errors are those of `combine`.
    """
    expect_many(groups, "groups")
    groups = list(groups)
    for group in groups:
        expect_group(group)
    how = _given(access, storage_options, policy)
    return concatenated(groups, dim, {**more, "options": options}, how)


def append(
    target: Target | MutableMapping[str, JSON],
    inputs: Sequence[Input] | Target,
    concat: str | Sequence[str] = (),
    *,
    options: CombineOptions | None = None,
    replace: bool = False,
    access: Access | None = None,
    storage_options: Mapping[str, JSON] | None = None,
    policy: Policy | None = None,
    progress: OnProgress | None = None,
    **more: Any,
) -> Appended:
    """Add files to a combined map, in place. Of a Parquet map only the part files that change are written.

    Args:
        target: the map, by path or URL, or its references as a dict.
        inputs: what `combine` takes. One whose coordinate values and references are in the map already is passed over.
        replace: one with the same coordinate values and other references takes the place of the older one, instead of
            being a conflict.
        access: how all of it may be reached; ``storage_options`` and ``policy`` are short for one.

    Several processes may append to one map. On this machine they take turns, with a lock beside the map. On object
    storage the map is looked at again before it is written, and what was added by others meanwhile is read first.

    Raises `Conflict` and `Forbidden` as `combine` and `write` do, and `Conflict` when others keep the map for too long;
    the map is unchanged then.
    """
    given = _given(access, storage_options, policy)
    asked = (chosen(concat, options, more), replace, progress)
    if isinstance(target, MutableMapping):
        return _appended(target, "the map", inputs, given, asked)
    from byteatlas.io.locks import locked

    if not isinstance(target, (str, os.PathLike)):
        raise BadRequest(f"{type(target).__name__} is no path, URL or dict")
    url = os.fspath(target)
    with locked(url):
        for _ in range(TRIES):
            try:
                return _appended(target, url, inputs, given, asked)
            except _Overtaken:
                continue
    raise Conflict([f"{url} was written by others {TRIES} times while this was added: nothing was added"], "append")


TRIES = 8
"""How often an addition is made anew because others wrote the map meanwhile."""


class _Overtaken(Exception):
    """The map is no longer the one that was read."""


def _appended(
    target: Target | MutableMapping[str, JSON],
    url: str,
    inputs: Sequence[Input] | Target,
    given: Access | None,
    asked: tuple[CombineOptions, bool, OnProgress | None],
) -> Appended:
    """Read the map, add to it, and write it if it is still the one that was read."""
    from byteatlas.combining.append import append as append_groups
    from byteatlas.combining.update import update_parquet
    from byteatlas.io.locks import version_of
    from byteatlas.manifest.origin import check_written
    from byteatlas.manifest.references import is_parquet_map

    options, replacing, progress = asked
    document = "" if isinstance(target, MutableMapping) else f"{url}/.zmetadata" if is_parquet_map(url) else url
    before = version_of(document, given or DEFAULT) if document else None
    existing = load(target, access=given)
    if isinstance(existing, VirtualArray):
        raise BadRequest(f"{url} is a single array; only groups can be appended to")
    groups, names = inputs_as_groups(inputs, given, progress)
    how = access_of([existing, *groups]) if given is None else given
    addition = append_groups(existing, groups, options, read=reader(how), names=names, replacing=replacing)
    if addition.prepared is not None:
        result = addition.prepared.result()
        if before is not None and version_of(document, given or DEFAULT) != before:
            raise _Overtaken
        if isinstance(target, MutableMapping):
            write(result, target, format="json" if "refs" in target else "json-v0", access=how)
        elif is_parquet_map(url, how):
            for group in groups:
                for _, node in group.walk():
                    if isinstance(node, VirtualArray):
                        node.manifest.load()  # now its sources are known
            check_written(result, how.policy)
            update_parquet(result, url, access=how)
        else:
            write(result, url, access=how)
    return addition.report


def _given(access: Access | None, storage_options: Mapping[str, JSON] | None, policy: Policy | None) -> Access | None:
    """What the caller says of access; None when that is nothing."""
    if access is None and storage_options is None and policy is None:
        return None
    return Access.of(access, storage_options, policy)


def _prepared(
    inputs: Sequence[Input] | Target,
    options: CombineOptions,
    how: tuple[Access | None, Mapping[str, JSON] | None, Policy | None],
    progress: OnProgress | None,
    names: Sequence[str] | None = None,
) -> PreparedTree:
    from byteatlas.api.prepared import prepared_tree
    from byteatlas.combining.plan import prepare

    given = _given(*how)
    groups, own = inputs_as_groups(inputs, given, progress)
    access = access_of(groups)
    return prepared_tree(prepare(groups, options, read=reader(access), names=names or own), access)


def inputs_as_groups(
    inputs: Sequence[Input] | Target, access: Access | None, progress: OnProgress | None
) -> tuple[list[VirtualGroup], list[str]]:
    """The inputs as groups, which share what they have in common, and their names."""
    from byteatlas.combining.compare.intern import Sharing
    from byteatlas.combining.inputs import first_url

    given = each_of(inputs, "inputs", access)
    groups: list[VirtualGroup] = []
    names: list[str] = []
    sharing = Sharing()
    for i, item in enumerate(given):
        node = load(item, access=access)
        name = first_url(item.arrays, i) if isinstance(item, VirtualGroup) else _name(item, i)
        if isinstance(node, VirtualArray):
            raise BadRequest(f"{name} is a single array; only groups can be combined")
        groups.append(node if isinstance(item, VirtualGroup) else sharing.group(node))
        names.append(name)
        if progress is not None:
            progress(Progress("combine", name, i + 1, len(given)))
    return groups, names


def _name(item: Input, index: int) -> str:
    """What an input is called in plans and messages."""
    if isinstance(item, (str, os.PathLike)):
        return os.fspath(item)
    return str(getattr(item, "name", None) or f"input {index + 1}")
