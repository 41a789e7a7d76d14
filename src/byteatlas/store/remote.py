"""Any URL that fsspec or obstore opens as a store."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Any

from byteatlas.errors import BadRequest, FetchFailed, Forbidden, Unsupported
from byteatlas.io.access import DEFAULT, Access
from byteatlas.io.open import remote_source
from byteatlas.io.policy import Policy
from byteatlas.io.retry import persistently
from byteatlas.io.source import Source, SourceRecord
from byteatlas.io.sources.faults import backend_errors, failure
from byteatlas.io.sources.filesystem import file_system
from byteatlas.io.sources.remote import facts_of_info
from byteatlas.store.base import TEMPORARY, check_key, check_size, check_writable
from byteatlas.types import Buffer

_WHOLE_PUTS = frozenset({"s3", "s3a", "gs", "gcs", "az", "abfs", "abfss", "adl", "oss", "memory"})
"""Protocols of storage where an object appears at once, when all of it has arrived."""


class RemoteStore:
    """Objects below a URL. A key that the storage says does not exist is missing; any other failure is an error."""

    __slots__ = ("_access", "_living", "_meter", "_root", "_url", "_writable")

    def __init__(self, url: str, access: Access = DEFAULT, *, writable: bool = False) -> None:
        self._url, self._access, self._writable = url.rstrip("/"), access, writable
        protocol, _, place = self._url.partition("://")
        if not (protocol and place) and "::" not in url:  # without its slashes it would be a local name
            raise BadRequest(f"{url} names no place")
        self._living, root = file_system(self._url, access.storage_options)
        self._root = root.rstrip("/")
        self._meter = access.meter(self._url)
        self._living.forget(self._root)
        if writable and self._web:
            raise Forbidden(self._url, "web servers are read only")

    @property
    def url(self) -> str:
        return self._url

    @property
    def local(self) -> bool:
        return False

    def get(self, key: str, most: int | None = None) -> Buffer | None:
        try:
            data = self.unchecked(key).read_all()
        except FetchFailed as error:
            if error.absent:
                return None
            raise
        check_size(f"{self._url}/{key}", len(data), most)
        return data

    def source(self, key: str) -> Source | None:
        """Asks for the object's size first, which shows whether it exists."""
        found = self.unchecked(key)
        try:
            found.size()
        except FetchFailed as error:
            if error.absent:
                return None
            raise
        return found

    def unchecked(self, key: str) -> Source:
        """A key that is known to exist, without asking for its size."""
        url = f"{self._url}/{key}"
        how = self._access
        return remote_source(self._living, self._path(key), url, how.retry, how.policy or Policy(), self._meter)

    def names(self, prefix: str) -> Sequence[str] | None:
        return persistently(f"{self._url}/{prefix}", self._living.retry, lambda: self._names(prefix))

    def _names(self, prefix: str) -> Sequence[str] | None:
        path = f"{self._root}/{check_key(prefix)}" if prefix else self._root
        try:
            found = self._fs.ls(path, detail=False)
        except NotImplementedError:
            return None
        except backend_errors() as error:
            fault = failure(f"{self._url}/{prefix}", error)
            if fault.absent:
                # A web server that shows no index looks like an empty folder; object storage knows what it has.
                return None if self._web else ()
            if self._web and fault.denied:  # most web servers list no folder
                why = "the server does not list it: open arrays by their path, or consolidate the store's metadata"
                raise FetchFailed(fault.url, f"{why} ({fault.why})", denied=True) from error
            raise fault from error
        if self._web:  # an index page links to anything; only what lies directly below counts
            start = path.rstrip("/") + "/"
            names = {str(n)[len(start) :].rstrip("/") for n in found if str(n).startswith(start)}
            return sorted(n for n in names if n and "/" not in n and not n.startswith("?"))
        below = {str(n).rstrip("/").rpartition("/")[2] for n in found} - {""}
        return sorted(n for n in below if not n.startswith(TEMPORARY))

    def keys_below(self, prefix: str) -> list[str]:
        """All keys below a prefix (empty: the root), however deep. Raises `Unsupported` where they cannot be listed."""
        return persistently(f"{self._url}/{prefix}", self._living.retry, lambda: self._keys_below(prefix))

    def _keys_below(self, prefix: str) -> list[str]:
        path = f"{self._root}/{check_key(prefix)}" if prefix else self._root
        try:
            found = self._fs.find(path)
        except NotImplementedError as error:
            raise Unsupported("listing", f"{self._url} cannot be listed", prefix) from error
        except backend_errors() as error:
            fault = failure(f"{self._url}/{prefix}", error)
            if fault.absent:
                return []
            raise fault from error
        start = f"{self._root}/" if self._root else ""
        return [str(name)[len(start) :] for name in found if str(name).startswith(start)]

    def values_below(self, prefix: str) -> Iterator[tuple[str, SourceRecord]]:
        """The keys below an array, without its path, with what the listing says of each: folder by folder.

        Raises:
            Unsupported: the storage cannot list, or not for sure (web servers).
            FetchFailed: a listing failed.
        """
        if self._web:
            raise Unsupported("listing", f"{self._url} cannot be listed: web servers do not tell what is there", prefix)
        start = f"{self._root}/{check_key(prefix)}" if prefix else self._root
        folders = [start]
        while folders:
            path = folders.pop()
            try:
                found = self._fs.ls(path, detail=True)
            except NotImplementedError as error:
                raise Unsupported("listing", f"{self._url} cannot be listed", prefix) from error
            except backend_errors() as error:
                fault = failure(f"{self._url}/{prefix}", error)
                if fault.absent and path == start:
                    return
                raise fault from error
            for info in found:
                name = str(info["name"]).rstrip("/")
                if info.get("type") == "directory":
                    folders += [name] if name != path else []
                elif name.startswith(f"{start}/"):
                    yield name[len(start) + 1 :], facts_of_info(info)

    @property
    def _web(self) -> bool:
        return not {"http", "https"}.isdisjoint(self._protocols)

    @property
    def _fs(self) -> Any:
        return self._living()

    @property
    def _protocols(self) -> frozenset[str]:
        return self._living.protocols

    def set(self, key: str, value: Buffer) -> None:
        """Put an object; where the storage has files, under a temporary name that is then changed."""
        check_writable(self._url, self._writable)
        persistently(f"{self._url}/{key}", self._living.retry, lambda: self._put(key, value))

    def _put(self, key: str, value: Buffer) -> None:
        path = self._path(key)
        try:
            if self._renames:
                folder = path.rpartition("/")[0]
                part = f"{folder}/{TEMPORARY}{uuid.uuid4().hex}"
                self._pipe(part, value)
                try:
                    self._fs.mv(part, path)
                except BaseException:
                    with suppress(*backend_errors()):
                        self._fs.rm_file(part)
                    raise
            else:
                self._pipe(path, value)
        except NotImplementedError as error:
            raise Forbidden(self._url, f"{'/'.join(sorted(self._protocols))} storage cannot be written") from error
        except backend_errors() as error:
            raise failure(f"{self._url}/{key}", error) from error

    @property
    def _renames(self) -> bool:
        """Whether this storage has files that can be renamed, and may show one that is half written."""
        from fsspec.spec import AbstractFileSystem

        return _WHOLE_PUTS.isdisjoint(self._protocols) and type(self._fs).mv is not AbstractFileSystem.mv

    def _pipe(self, path: str, value: Buffer) -> None:
        try:
            self._fs.pipe_file(path, bytes(value))
        except FileNotFoundError:
            self._fs.makedirs(path.rpartition("/")[0], exist_ok=True)
            self._fs.pipe_file(path, bytes(value))

    def delete(self, key: str) -> None:
        check_writable(self._url, self._writable)
        persistently(f"{self._url}/{key}", self._living.retry, lambda: self._remove(key))

    def _remove(self, key: str) -> None:
        try:
            self._fs.rm_file(self._path(key))
        except NotImplementedError as error:
            raise Forbidden(f"{self._url}/{key}", "this storage cannot remove keys") from error
        except backend_errors() as error:
            fault = failure(f"{self._url}/{key}", error)
            if not fault.absent:
                raise fault from error

    def _path(self, key: str) -> str:
        return f"{self._root}/{check_key(key)}" if self._root else check_key(key)
