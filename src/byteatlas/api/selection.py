"""Parts of a virtual group by coordinate values: `select`, `mask`. Nothing is copied but small arrays."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from byteatlas.api.targets import access_for
from byteatlas.api.tree import VirtualTree, tree
from byteatlas.arguments import VERBS, accept
from byteatlas.io.access import Access
from byteatlas.io.policy import Policy
from byteatlas.types import JSON

if TYPE_CHECKING:
    from byteatlas.combining.select.labels import Region
    from byteatlas.manifest.model import VirtualGroup


def select(
    group: VirtualGroup,
    region: Region,
    *,
    cut: bool = False,
    access: Access | None = None,
    storage_options: Mapping[str, JSON] | None = None,
    policy: Policy | None = None,
) -> VirtualTree:
    """The part of a group between coordinate values: ``select(vg, {"time": slice("2001-01", "2001-03")})``.

    Args:
        region: for each of some dimensions a slice of coordinate values (both ends included), or one value.
        cut: chunks may be read in part. Otherwise the selection must begin where chunks begin (small arrays excepted,
            which are kept in the map), or raises `BadSelection` with the nearest such places.
        access: how coordinates may be reached; None = as the group's bytes are. ``storage_options`` and ``policy`` are
            short for one.

    >>> part = ba.select(ba.scan("jan.nc"), {"time": "2001-01-16"})
    >>> part["air"].meta.shape
    (1, 4, 8)
    """
    accept(VERBS, region=region, cut=cut)
    return tree(group, access_for(group, access, storage_options, policy)).select(region, cut=cut)


def mask(
    group: VirtualGroup,
    region: Region,
    *,
    keep_cut: bool = False,
    fill: float | None = None,
    access: Access | None = None,
    storage_options: Mapping[str, JSON] | None = None,
    policy: Policy | None = None,
) -> VirtualTree:
    """Everything outside of a box of coordinate values reads as the fill value: ``mask(vg, {"lat": slice(30, 60)})``.

    Args:
        keep_cut: chunks that are inside in part are kept whole; otherwise they raise `BadSelection`.
        fill: the fill value of arrays that have none.
        access: how coordinates may be reached; None = as the group's bytes are. ``storage_options`` and ``policy`` are
            short for one.

    >>> north = ba.mask(ba.scan("jan.nc"), {"lat": slice(30, 90)}, fill=0)
    >>> ba.open(north)["air"][0, :, 0]
    array([9.96921e+36, 9.96921e+36, 1.60000e+01, 2.40000e+01], dtype=float32)
    """
    accept(VERBS, region=region, keep_cut=keep_cut, fill=fill)
    how = access_for(group, access, storage_options, policy)
    return tree(group, how).mask(region, keep_cut=keep_cut, fill=fill)
