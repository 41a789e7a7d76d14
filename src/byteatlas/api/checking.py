"""`check`: are the files that a map leads to still those that were indexed?"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from byteatlas.api.indexing import load
from byteatlas.api.targets import Readable, References, Target, access_for, expect_many
from byteatlas.arguments import VERBS, accept
from byteatlas.errors import BadRequest
from byteatlas.io.access import Access
from byteatlas.io.local import absolute, local_path
from byteatlas.io.policy import Policy
from byteatlas.manifest.model import VirtualArray, VirtualGroup, VirtualNode
from byteatlas.types import JSON

if TYPE_CHECKING:
    from byteatlas.manifest.ops.sources import SourceState


def check(
    target: Readable | References | VirtualNode,
    *,
    look_in: Sequence[Target] = (),
    access: Access | None = None,
    storage_options: Mapping[str, JSON] | None = None,
    policy: Policy | None = None,
) -> list[SourceState]:
    """What became of every file that a map leads to. No data are read: each file is asked for its size and stamp.

    Args:
        target: a reference map, or virtual arrays.
        look_in: local folders in which to look for files that are not in their places, beside the map's own and those
            where other sources are.
        access: how bytes may be reached; None = as virtual arrays were. ``storage_options`` and ``policy`` are short
            for one.

    Returns: a `SourceState` for each file, whose ``ok`` is False for one that changed, moved or vanished, and for one
    that cannot be reached.

    >>> ba.write(ba.scan("jan.nc"), "jan.json")
    >>> [source.state for source in ba.check("jan.json")]
    ['same']
    """
    accept(VERBS, look_in=look_in)
    from byteatlas.manifest.ops.sources import check_sources

    expect_many(look_in, "look_in")
    places = [_folder(os.fspath(place)) for place in look_in]
    if isinstance(target, (VirtualArray, VirtualGroup)):
        how, node = access_for(target, access, storage_options, policy), target
    else:
        how = Access.of(access, storage_options, policy)
        node = load(target, access=how)
        path = local_path(os.fspath(target)) if isinstance(target, (str, os.PathLike)) else None
        if path is not None:
            places.append(absolute(path).rstrip("/").rpartition("/")[0])
    return list(check_sources(node, how.pool(), places=places))


def _folder(place: str) -> str:
    """A folder of this machine. Raises `BadRequest` for what is none: nothing would be found there."""
    path = local_path(place)
    if path is None or not os.path.isdir(path):  # noqa: PTH112
        raise BadRequest(f"look_in: {place} is no folder of this machine")
    return place
