"""Any tree of arrays as plain, regular Zarr for zarr-python."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence
from typing import Any, Protocol

from byteatlas.errors import ByteatlasError, MissingExtra
from byteatlas.types import Buffer
from byteatlas.zarr_stores.batches import Batches

try:
    from zarr.abc.store import ByteRequest, OffsetByteRequest, RangeByteRequest, Store, SuffixByteRequest
    from zarr.core.buffer import Buffer as ZarrBuffer
    from zarr.core.buffer import BufferPrototype
except ImportError as error:
    raise MissingExtra("zarr", "a store for zarr-python") from error


class KeyedView(Protocol):
    """What is served: `byteatlas.normalised.NormalisedView`, or anything with these."""

    def documents(self) -> Mapping[str, bytes]: ...

    def has_chunk(self, key: str) -> bool: ...

    def chunks(self, keys: Sequence[str]) -> Sequence[bytes | ByteatlasError | None]: ...

    def every_key(self) -> Iterator[str]: ...


class NormalisedZarrStore(Store):  # type: ignore[misc]  # zarr is an extra: it may be absent when types are checked
    """A view for zarr-python 3; read-only. It pickles as the view does.

    Chunks that are asked for together are planned, fetched and decoded together.

    >>> import zarr
    >>> zarr.open_group(byteatlas.zarr_store("air.json", normalise=True), mode="r")  # doctest: +SKIP
    """

    def __init__(self, view: KeyedView, *, read_only: bool = True) -> None:
        if not read_only:
            raise NotImplementedError("a normalised view is read-only")
        super().__init__(read_only=True)
        self._view = view
        self._batches: Batches[str, bytes | ByteatlasError | None] = Batches(view.chunks)

    @property
    def view(self) -> KeyedView:
        """What is served; a `NormalisedView` says what it refuses (``refused``)."""
        return self._view

    def __reduce__(self) -> tuple[Any, ...]:
        return NormalisedZarrStore, (self._view,)

    def __eq__(self, value: object) -> bool:
        return isinstance(value, NormalisedZarrStore) and value._view == self._view

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"NormalisedZarrStore({self._view!r})"

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
        """A value or part of it; None only for a key that there is not. Raises what reading raises."""
        if byte_range is not None and not isinstance(byte_range, _RANGES):
            raise ValueError(f"Unexpected byte_range, got {byte_range}.")
        if not self._is_open:
            await self._open()
        data: bytes | ByteatlasError | None = self._view.documents().get(key)
        if data is None:
            data = await self._batches.ask(key)
        if isinstance(data, ByteatlasError):
            raise data
        return None if data is None else prototype.buffer.from_bytes(bytes(_part(data, byte_range)))

    async def get_partial_values(
        self, prototype: BufferPrototype, key_ranges: Iterable[tuple[str, ByteRequest | None]]
    ) -> list[ZarrBuffer | None]:
        import asyncio

        return list(await asyncio.gather(*(self.get(key, prototype, where) for key, where in key_ranges)))

    async def exists(self, key: str) -> bool:
        return key in self._view.documents() or self._view.has_chunk(key)

    async def set(self, key: str, value: Any) -> None:
        self._check_writable()

    async def delete(self, key: str) -> None:
        self._check_writable()

    async def list(self) -> AsyncIterator[str]:
        for key in self._view.every_key():
            yield key

    async def list_prefix(self, prefix: str) -> AsyncIterator[str]:
        for key in self._view.every_key():
            if key.startswith(prefix):
                yield key

    async def list_dir(self, prefix: str) -> AsyncIterator[str]:
        base = prefix.strip("/") + "/" if prefix.strip("/") else ""
        seen: dict[str, None] = {}
        for key in self._view.every_key():
            if key.startswith(base):
                seen.setdefault(key[len(base) :].partition("/")[0])
        for name in seen:
            yield name


_RANGES = (RangeByteRequest, OffsetByteRequest, SuffixByteRequest)


def _part(data: Buffer, where: ByteRequest | None) -> Buffer:
    view = memoryview(data)
    match where:
        case RangeByteRequest(start, end):
            return view[start:end]
        case OffsetByteRequest(offset):
            return view[offset:]
        case SuffixByteRequest(suffix):
            return view[max(len(view) - suffix, 0) :]
    return view
