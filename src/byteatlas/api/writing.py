"""From virtual arrays to maps: `write`."""

from __future__ import annotations

import os
from collections.abc import Mapping, MutableMapping
from typing import TYPE_CHECKING

from byteatlas.api.indexing import load
from byteatlas.api.targets import References, Target, access_for, expect
from byteatlas.arguments import VERBS, accept
from byteatlas.errors import BadRequest
from byteatlas.io.access import Access
from byteatlas.io.local import ICECHUNK
from byteatlas.io.policy import Policy
from byteatlas.manifest.model import VirtualNode
from byteatlas.progress import OnProgress
from byteatlas.types import JSON
from byteatlas.values import replace

if TYPE_CHECKING:
    from byteatlas.manifest.foreign.icechunk.options import IcechunkMode, IcechunkOptions
    from byteatlas.manifest.options import Format, MapWriteOptions


def write(
    node: VirtualNode | References,
    target: Target | MutableMapping[str, JSON],
    *,
    format: Format | None = None,
    options: MapWriteOptions | IcechunkOptions | None = None,
    mode: IcechunkMode | None = None,
    access: Access | None = None,
    storage_options: Mapping[str, JSON] | None = None,
    policy: Policy | None = None,
    progress: OnProgress | None = None,
) -> None:
    """Write virtual arrays as a reference map: Kerchunk's JSON or Parquet, by the target's suffix; or, for what it can
    say, as a DMR++ document (``.dmrpp``); or into an Icechunk repository (``icechunk:PATH`` or ``icechunk:URL``).

    What Zarr v2 can express is written so that every reader of such maps understands it. The rest is written as
    Zarr v3 with codec names of ours, so that other readers fail on those arrays instead of reading wrong values.
    An interrupted write leaves an older map as it was.

    Args:
        node: virtual arrays; or references as a dict (see `load`).
        target: a file or folder, by path or URL; or a dict, which then holds the references (version 1, or 0 with
            ``format="json-v0"``) and nothing else.
        options: how it is written; `IcechunkOptions` for a repository.
        mode: of a repository: ``create`` (the default) a branch that holds nothing yet, ``append`` to it, ``replace``
            what it holds.
        access: how the target may be reached, ``storage_options`` and ``policy`` short for one; None = as the node.
        policy: permits references to local files that a map from the network names.
        progress: called with each array's path before it is written.

    Raises:
        Forbidden: a map from the network named files of this machine; as references of a map that lies here they could
            be read.
        Unsupported: an array that the form cannot express.

    >>> ba.write(ba.scan("jan.nc"), "january.json")
    >>> refs = {}
    >>> ba.write(ba.scan("jan.nc"), refs)
    >>> refs["refs"]["air/0.0.0"][1:]
    [816, 23]
    """
    accept(VERBS, format=format, progress=progress)
    from byteatlas.manifest.references import write_references

    if isinstance(node, Mapping):
        node = load(node, access=access, storage_options=storage_options, policy=policy)
    how = access_for(node, access, storage_options, policy)
    chosen, icechunk = _write_options(options, mode, target, format)
    if not isinstance(target, (str, os.PathLike, MutableMapping)):
        raise BadRequest(f"{type(target).__name__} is no path, URL or dict")
    write_references(node, target, format, options=chosen, access=how, progress=progress, icechunk=icechunk)


def _write_options(
    options: MapWriteOptions | IcechunkOptions | None, mode: IcechunkMode | None, target: object, format: Format | None
) -> tuple[MapWriteOptions | None, IcechunkOptions | None]:
    """Options of maps and of repositories, apart."""
    if options is None and mode is None:
        return None, None
    from byteatlas.manifest.options import MapWriteOptions

    if mode is None and isinstance(options, MapWriteOptions):
        return options, None
    from byteatlas.manifest.foreign.icechunk.options import IcechunkOptions, check_mode

    if isinstance(options, IcechunkOptions) or mode is not None:
        named = isinstance(target, (str, os.PathLike)) and os.fspath(target).startswith(ICECHUNK)
        if not named and format != "icechunk":
            raise BadRequest("mode and IcechunkOptions are for Icechunk repositories (icechunk:PATH)")
    icechunk = options if isinstance(options, IcechunkOptions) else IcechunkOptions()
    if mode is not None:
        icechunk = replace(icechunk, mode=check_mode(mode))
    if isinstance(options, IcechunkOptions):
        return None, icechunk
    expect(options, MapWriteOptions, "options")
    return options, icechunk
