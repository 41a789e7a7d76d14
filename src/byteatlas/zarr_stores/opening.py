"""The verb `zarr_store`. zarr is imported when it is called."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from byteatlas.api.indexing import load
from byteatlas.api.opening import Openable
from byteatlas.api.opening import open as open_node
from byteatlas.api.targets import access_for, expect, given_access, is_references
from byteatlas.arguments import VERBS, accept
from byteatlas.errors import BadRequest
from byteatlas.io.access import Access
from byteatlas.io.policy import Policy
from byteatlas.manifest.model import VirtualArray, VirtualGroup
from byteatlas.store.base import Store
from byteatlas.types import JSON

if TYPE_CHECKING:
    from byteatlas.normalised import NormaliseOptions
    from byteatlas.zarr_stores.normalised import NormalisedZarrStore
    from byteatlas.zarr_stores.reference import ReferenceZarrStore


def zarr_store(
    target: Openable,
    *,
    normalise: bool = False,
    options: NormaliseOptions | None = None,
    access: Access | None = None,
    storage_options: Mapping[str, JSON] | None = None,
    policy: Policy | None = None,
) -> ReferenceZarrStore | NormalisedZarrStore:
    """A store for zarr-python 3 (`zarr.abc.store.Store`), read-only.

    Args:
        target: what `open` takes: a map, an archive, virtual arrays, a Zarr store.
        normalise: False = the chunks as they are stored, for readers that have their codecs. True = plain, regular
            Zarr that any reader has the codecs for, decoded here: see `byteatlas.normalised`.
        options: of normalising.
        access: how bytes may be reached; ``storage_options`` and ``policy`` are short for one.

    Raises: MissingExtra: zarr is not installed.

    >>> import zarr
    >>> store = ba.zarr_store("jan.nc", normalise=True)
    >>> zarr.open_group(store, mode="r")["air"].shape
    (2, 4, 8)
    """
    accept(VERBS, normalise=normalise)
    from byteatlas.normalised.options import DEFAULT, NormaliseOptions

    expect(options, NormaliseOptions, "options")
    if normalise:
        from byteatlas.normalised.view import NormalisedView
        from byteatlas.zarr_stores.normalised import NormalisedZarrStore

        opened = open_node(target, access=access, storage_options=storage_options, policy=policy)
        return NormalisedZarrStore(NormalisedView(opened, options or DEFAULT))
    if options is not None:
        raise BadRequest("options are those of normalising: give normalise=True too")
    from byteatlas.zarr_stores.reference import ReferenceZarrStore

    if isinstance(target, (VirtualArray, VirtualGroup)):
        return ReferenceZarrStore(target, access=access_for(target, access, storage_options, policy))
    if isinstance(target, Store) or (isinstance(target, Mapping) and not is_references(target)):
        raise BadRequest("a Zarr store needs no other store, unless with normalise=True")
    how = given_access(access, storage_options, policy)
    return ReferenceZarrStore(load(target, access=how))
