"""`verify`: our engine against the format's own library."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from byteatlas.api.indexing import load, scan
from byteatlas.api.targets import Readable, References, access_for, expect, place_of
from byteatlas.arguments import VERBS, accept
from byteatlas.io.access import Access
from byteatlas.io.policy import Policy
from byteatlas.manifest.model import VirtualArray, VirtualGroup, VirtualNode
from byteatlas.progress import OnProgress
from byteatlas.types import JSON

if TYPE_CHECKING:
    from byteatlas.verifying import VerifyOptions, VerifyReport


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
