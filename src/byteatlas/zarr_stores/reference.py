"""Reference maps for zarr-python: a `zarr.abc.store.Store` over the bytes of the archive files."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable, Mapping
from typing import Any

from byteatlas.api.targets import access_for
from byteatlas.errors import BadRequest, Forbidden, MissingExtra
from byteatlas.io.access import Access
from byteatlas.io.policy import Policy
from byteatlas.io.source import Opener
from byteatlas.io.stamp import Check
from byteatlas.manifest.model import VirtualArray, VirtualGroup, VirtualNode
from byteatlas.manifest.reopening import place_of
from byteatlas.store.reference import KeyRange, ReferenceStore
from byteatlas.types import JSON, Buffer
from byteatlas.values import replace
from byteatlas.zarr_stores.batches import Batches

try:
    from zarr.abc.store import ByteRequest, OffsetByteRequest, RangeByteRequest, Store, SuffixByteRequest
    from zarr.core.buffer import Buffer as ZarrBuffer
    from zarr.core.buffer import BufferPrototype
except ImportError as error:
    raise MissingExtra("zarr", "a store for zarr-python") from error


class ReferenceZarrStore(Store):  # type: ignore[misc]  # zarr is an extra: it may be absent when types are checked
    """The keys of a virtual tree for zarr-python 3; read-only.

    Args:
        access: how the bytes may be reached; None = as the node's. ``storage_options``, ``policy``: short for one.
        stamps: what of the sources is compared with the map's record of them (`Access.stamps`); None = what ``access``
            says.
        opener: gives the source for each URL, instead of all of these.

    It pickles, a map by its URL, options and stamp: unpickling raises `SourceChanged` when it was rewritten meanwhile.

    >>> import zarr
    >>> zarr.open_group(ReferenceZarrStore(byteatlas.load("air.json")), mode="r")  # doctest: +SKIP
    """

    def __init__(
        self,
        node: VirtualNode,
        *,
        opener: Opener | None = None,
        access: Access | None = None,
        storage_options: Mapping[str, JSON] | None = None,
        policy: Policy | None = None,
        stamps: Check | None = None,
    ) -> None:
        super().__init__(read_only=True)
        if not isinstance(node, (VirtualArray, VirtualGroup)):
            raise BadRequest(f"{type(node).__name__} is no virtual array or group")
        self._node = node
        how = access_for(node, access, storage_options, policy)
        self._opener = opener or (how if stamps is None else replace(how, stamps=stamps)).pool()
        self._inner = ReferenceStore(node, self._opener, check=stamps)
        self._stamps = stamps
        self._batches: Batches[KeyRange, Buffer | None] = Batches(self._inner.get_many)

    def __eq__(self, value: object) -> bool:
        if not isinstance(value, ReferenceZarrStore):
            return False
        here = place_of(self._node)
        there = place_of(value._node)
        return value._node is self._node or (here is not None and there is not None and here.recipe == there.recipe)

    def __reduce__(self) -> tuple[Any, ...]:
        return _again, (self._node, self._opener, self._stamps)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"ReferenceZarrStore({type(self._node).__name__})"

    def with_read_only(self, read_only: bool = False) -> ReferenceZarrStore:
        if not read_only:
            raise Forbidden("references:", "a reference map is read-only here")
        return _again(self._node, self._opener, self._stamps)

    @property
    def supports_writes(self) -> bool:
        return False

    @property
    def supports_deletes(self) -> bool:
        return False

    @property
    def supports_listing(self) -> bool:
        return True

    async def get(
        self, key: str, prototype: BufferPrototype, byte_range: ByteRequest | None = None
    ) -> ZarrBuffer | None:
        """A value or part of it. Raises `FetchFailed` when its bytes cannot be had; None only for a missing key."""
        data = await self._batches.ask(_ask(key, byte_range))
        return None if data is None else prototype.buffer.from_bytes(bytes(data))

    async def get_partial_values(
        self, prototype: BufferPrototype, key_ranges: Iterable[tuple[str, ByteRequest | None]]
    ) -> list[ZarrBuffer | None]:
        asks = [_ask(key, where) for key, where in key_ranges]
        found = await asyncio.to_thread(self._inner.get_many, asks)
        return [None if d is None else prototype.buffer.from_bytes(bytes(d)) for d in found]

    async def exists(self, key: str) -> bool:
        return self._inner.exists(key)

    async def set(self, key: str, value: Any) -> None:
        raise Forbidden(key, "a reference map is read-only here")

    async def delete(self, key: str) -> None:
        raise Forbidden(key, "a reference map is read-only here")

    async def list(self) -> AsyncIterator[str]:
        for key in self._inner.list_keys():
            yield key

    async def list_prefix(self, prefix: str) -> AsyncIterator[str]:
        for key in self._inner.list_keys(prefix):
            yield key

    async def list_dir(self, prefix: str) -> AsyncIterator[str]:
        for name in self._inner.names(prefix.strip("/")):
            yield name


def _again(node: VirtualNode, opener: Opener, stamps: Check | None) -> ReferenceZarrStore:
    return ReferenceZarrStore(node, opener=opener, stamps=stamps)


def _ask(key: str, where: ByteRequest | None) -> KeyRange:
    match where:
        case None:
            return KeyRange(key)
        case RangeByteRequest(start, end):
            return KeyRange(key, start, end)
        case OffsetByteRequest(offset):
            return KeyRange(key, offset)
        case SuffixByteRequest(suffix):
            return KeyRange(key, -suffix) if suffix else KeyRange(key, 0, 0)
        case _:
            raise BadRequest(f"{type(where).__name__} is no byte range")
