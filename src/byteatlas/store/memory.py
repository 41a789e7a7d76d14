"""Values in a mapping: a dictionary of our own, or anybody's (an fsspec mapper, an ``lmdb`` wrapper)."""

from __future__ import annotations

from collections.abc import Mapping, MutableMapping, Sequence

from byteatlas.errors import Forbidden
from byteatlas.io.source import Source
from byteatlas.io.sources.memory import MemorySource
from byteatlas.store.base import check_key, check_size, check_writable
from byteatlas.types import Buffer


class MappingStore:
    """Keys and bytes of a mapping. A missing key is a `KeyError` of the mapping; its other errors pass through."""

    __slots__ = ("_data", "_local", "_url", "_writable")

    def __init__(
        self, data: Mapping[str, Buffer], url: str = "mapping:", *, writable: bool = False, local: bool | None = None
    ) -> None:
        self._data, self._url, self._writable = data, url, writable
        self._local = isinstance(data, dict) if local is None else local

    @property
    def url(self) -> str:
        return self._url

    @property
    def local(self) -> bool:
        return self._local

    def get(self, key: str, most: int | None = None) -> Buffer | None:
        try:
            value = self._data[check_key(key)]
        except KeyError:
            return None
        view = memoryview(value).cast("B")
        check_size(f"{self._url}/{key}", len(view), most)
        return view

    def source(self, key: str) -> Source | None:
        value = self.get(key)
        return None if value is None else MemorySource(value, f"{self._url}/{key}")

    def names(self, prefix: str) -> Sequence[str]:
        start = prefix + "/" if prefix else ""
        return sorted({k[len(start) :].partition("/")[0] for k in self._data if k.startswith(start)})

    def set(self, key: str, value: Buffer) -> None:
        self._changeable()[check_key(key)] = bytes(value)

    def delete(self, key: str) -> None:
        self._changeable().pop(key, None)

    def _changeable(self) -> MutableMapping[str, Buffer]:
        check_writable(self._url, self._writable)
        if not isinstance(self._data, MutableMapping):
            raise Forbidden(self._url, f"a {type(self._data).__name__} cannot change")
        return self._data


class MemoryStore(MappingStore):
    """A store of its own in memory, for tests and intermediate results."""

    __slots__ = ()

    def __init__(self, data: MutableMapping[str, Buffer] | None = None, url: str = "memory:") -> None:
        super().__init__({} if data is None else data, url, writable=True, local=True)
