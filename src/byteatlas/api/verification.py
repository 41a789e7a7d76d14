"""Whether maps are still true: `check` looks at the files that they lead to, `verify` asks the format's own library."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from byteatlas.api.indexing import load, scan
from byteatlas.api.targets import Readable, References, Target, access_for, expect, expect_many, place_of
from byteatlas.arguments import VERBS, accept
from byteatlas.errors import BadRequest
from byteatlas.io.access import Access
from byteatlas.io.local import absolute, local_path
from byteatlas.io.policy import Policy
from byteatlas.manifest.model import VirtualArray, VirtualGroup, VirtualNode
from byteatlas.progress import OnProgress
from byteatlas.types import JSON

if TYPE_CHECKING:
    from byteatlas.manifest.ops.sources import SourceState
    from byteatlas.verifying import VerifyOptions, VerifyReport


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


def verify(
    target: Readable | References | VirtualNode,
    *,
    options: VerifyOptions | None = None,
    access: Access | None = None,
    storage_options: Mapping[str, JSON] | None = None,
    policy: Policy | None = None,
    progress: OnProgress | None = None,
) -> VerifyReport:
    """Compare what our engine reads with what the format's own library (h5py, netCDF4, tifffile) reads.

    Args:
        target: a reference map, an archive file, or virtual arrays. The files that the references lead to must exist.
        access: how bytes may be reached; None = as virtual arrays were. ``storage_options`` and ``policy`` are short
            for one.
        progress: called with the path of each array when it has been compared.

    Raises `MissingExtra` without ``byteatlas[verify]``.

    >>> ba.verify("jan.nc")
    <VerifyReport jan.nc: 4 equal, 78 values>
    """
    accept(VERBS, progress=progress)
    from byteatlas.io.kind import kind_of
    from byteatlas.io.local import absolute
    from byteatlas.verifying import verify_node
    from byteatlas.verifying.options import VerifyOptions

    expect(options, VerifyOptions, "options")
    if isinstance(target, (VirtualArray, VirtualGroup)):
        how = access_for(target, access, storage_options, policy)
        return verify_node(target, opener=how.pool(), options=options, progress=progress)
    how = Access.of(access, storage_options, policy)
    if isinstance(target, Mapping):
        return verify_node(load(target, access=how), opener=how.pool(), options=options, progress=progress)
    url, how = place_of(target, how)
    archive = absolute(url) if kind_of(url, how) == "archive" else None
    node = load(url, access=how) if archive is None else scan(url, on_refusal="ignore", access=how)
    return verify_node(node, url, opener=how.pool(), options=options, archive=archive, progress=progress)
