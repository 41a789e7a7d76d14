"""Many virtual groups as one: `combine`, `plan_combine`, `prepare_combine`, `concat`."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from byteatlas.api.indexing import is_remote_archive, load_among
from byteatlas.api.reading import chosen, reader
from byteatlas.api.targets import Readable, References, Target, each_of, expect_group, expect_many, given_access
from byteatlas.api.tree import VirtualTree, access_of, concatenated
from byteatlas.arguments import VERBS, accept
from byteatlas.errors import BadRequest
from byteatlas.io.access import Access
from byteatlas.io.policy import Policy
from byteatlas.manifest.model import VirtualArray, VirtualGroup
from byteatlas.progress import OnProgress, Progress
from byteatlas.types import JSON

if TYPE_CHECKING:
    from byteatlas.api.prepared import PreparedTree
    from byteatlas.combining import CombineOptions, Plan
    from byteatlas.manifest.sharing import SharedDocuments

Input: TypeAlias = Readable | References | VirtualGroup
AT_ONCE, AHEAD = 32, 128
"""Remote archives that are scanned at a time; and that are scanned, or wait for it, before their turn comes."""


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

    >>> both = ba.combine(["jan.nc", "feb.nc"], concat="time")
    >>> both["air"].meta.shape
    (4, 4, 8)
    """
    accept(VERBS, progress=progress)
    given = given_access(access, storage_options, policy)
    return _prepared(inputs, chosen(concat, options, more), given, progress).result()


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
    """What `combine` would do with these inputs, and every difference it finds; nothing is combined.

    >>> ba.plan_combine(["jan.nc", "feb.nc"], concat="time").conflicts
    ()
    """
    accept(VERBS, progress=progress)
    given = given_access(access, storage_options, policy)
    return _prepared(inputs, chosen(concat, options, more), given, progress).plan


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
    """A plan that can be carried out: ``.plan`` is what `plan_combine` gives, ``.result()`` what `combine` gives.

    >>> prepared = ba.prepare_combine(["jan.nc", "feb.nc"], concat="time")
    >>> prepared.plan.ok
    True
    >>> prepared.result()["air"].meta.shape
    (4, 4, 8)
    """
    accept(VERBS, names=names, progress=progress)
    given = given_access(access, storage_options, policy)
    return _prepared(inputs, chosen(concat, options, more), given, progress, names)


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

    >>> first, second = [ba.scan(name) for name in ["t_20010103.tif", "t_20010104.tif"]]
    >>> ba.concat([first, second], "run")["data"].meta.shape
    (2, 4, 4)
    """
    expect_many(groups, "groups")
    groups = list(groups)
    for group in groups:
        expect_group(group)
    given = given_access(access, storage_options, policy)
    return concatenated(groups, dim, {**more, "options": options}, given)


def _prepared(
    inputs: Sequence[Input] | Target,
    options: CombineOptions,
    given: Access | None,
    progress: OnProgress | None,
    names: Sequence[str] | None = None,
) -> PreparedTree:
    from byteatlas.api.prepared import prepared_tree
    from byteatlas.combining.plan import prepare

    groups, own = inputs_as_groups(inputs, given, progress)
    access = access_of(groups)
    return prepared_tree(prepare(groups, options, read=reader(access), names=names or own), access)


def inputs_as_groups(
    inputs: Sequence[Input] | Target, access: Access | None, progress: OnProgress | None
) -> tuple[list[VirtualGroup], list[str]]:
    """The inputs as groups, which share what they have in common, and their names."""
    from byteatlas.combining.compare.intern import Sharing
    from byteatlas.combining.inputs import first_url
    from byteatlas.manifest.sharing import SharedDocuments

    given = each_of(inputs, "inputs", access)
    groups: list[VirtualGroup] = []
    names: list[str] = []
    sharing, documents = Sharing(), SharedDocuments()
    for i, (item, node) in enumerate(zip(given, _loaded(given, access, documents), strict=True)):
        name = first_url(item.arrays, i) if isinstance(item, VirtualGroup) else _name(item, i)
        if isinstance(node, VirtualArray):
            raise BadRequest(f"{name} is a single array; only groups can be combined")
        groups.append(node if isinstance(item, VirtualGroup) else sharing.group(node))
        names.append(name)
        if progress is not None:
            progress(Progress("combine", name, i + 1, len(given)))
    return groups, names


def _loaded(
    given: Sequence[Input | str], access: Access | None, documents: SharedDocuments
) -> Iterator[VirtualTree | VirtualArray]:
    """The inputs, loaded, in their order. Archives on servers are scanned side by side: most of it is waiting."""
    remote = [isinstance(item, (str, os.PathLike)) and is_remote_archive(os.fspath(item)) for item in given]
    if sum(remote) < 2:
        yield from (load_among(item, access, documents) for item in given)
        return
    from concurrent.futures import Future, ThreadPoolExecutor

    pool = ThreadPoolExecutor(min(AT_ONCE, sum(remote)))
    waiting: deque[Input | str | Future[Any]] = deque()

    def next_one() -> VirtualTree | VirtualArray:
        item = waiting.popleft()
        return item.result() if isinstance(item, Future) else load_among(item, access, documents)

    try:
        for item, is_remote in zip(given, remote, strict=True):
            waiting.append(pool.submit(load_among, item, access, documents) if is_remote else item)
            if len(waiting) > AHEAD:
                yield next_one()
        while waiting:
            yield next_one()
    finally:
        pool.shutdown(cancel_futures=True)


def _name(item: Input, index: int) -> str:
    """What an input is called in plans and messages."""
    if isinstance(item, (str, os.PathLike)):
        return os.fspath(item)
    return str(getattr(item, "name", None) or f"input {index + 1}")
