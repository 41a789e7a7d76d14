"""Any fsspec URL as a store."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from byteatlas.errors import FetchFailed, Forbidden, MissingExtra
from byteatlas.io.remote import EXTRAS, FsspecSource, backend_errors, failure
from byteatlas.io.source import Source
from byteatlas.io.wrap import Retrying
from byteatlas.store.base import check_key
from byteatlas.types import JSON, Buffer

_ABSENT = (FileNotFoundError, NotADirectoryError, IsADirectoryError)


class RemoteStore:
    """Objects below a URL. A key that the storage says does not exist is missing; any other failure is an error."""

    __slots__ = ("_fs", "_options", "_root", "_url", "_writable")

    def __init__(self, url: str, storage_options: Mapping[str, JSON] | None = None, *, writable: bool = False) -> None:
        from fsspec.core import url_to_fs

        self._url, self._options, self._writable = url.rstrip("/"), dict(storage_options or {}), writable
        try:
            self._fs, root = url_to_fs(self._url, **self._options)
        except ImportError as error:
            protocol = url.partition("://")[0].partition("::")[0]
            raise MissingExtra(EXTRAS.get(protocol, protocol), f"opening {url}") from error
        except backend_errors() as error:
            raise failure(url, error) from error
        self._root = root.rstrip("/")

    @property
    def url(self) -> str:
        return self._url

    @property
    def local(self) -> bool:
        return False

    def get(self, key: str, most: int | None = None) -> Buffer | None:
        try:
            data = self._source(key).read_all()
        except FetchFailed as error:
            if isinstance(error.__cause__, _ABSENT):
                return None
            raise
        if most is not None and len(data) > most:
            raise FetchFailed(f"{self._url}/{key}", f"{len(data)} bytes are more than a value here can have ({most})")
        return data

    def source(self, key: str) -> Source | None:
        """Asks for the object's size first, which shows whether it exists."""
        found = self._source(key)
        try:
            found.size()
        except FetchFailed as error:
            if isinstance(error.__cause__, _ABSENT):
                return None
            raise
        return found

    def _source(self, key: str) -> Source:
        path = f"{self._root}/{check_key(key)}" if self._root else check_key(key)
        return Retrying(FsspecSource.on(self._fs, path, f"{self._url}/{key}"))

    def names(self, prefix: str) -> Sequence[str] | None:
        path = f"{self._root}/{check_key(prefix)}" if prefix else self._root
        try:
            found = self._fs.ls(path, detail=False)
        except _ABSENT:
            # A web server that shows no index looks like an empty folder; object storage knows what it has.
            return None if self._web else ()
        except NotImplementedError:
            return None
        except backend_errors() as error:
            raise failure(f"{self._url}/{prefix}", error) from error
        if self._web:  # an index page links to anything; only what lies directly below counts
            start = path.rstrip("/") + "/"
            names = {str(n)[len(start) :].rstrip("/") for n in found if str(n).startswith(start)}
            return sorted(n for n in names if n and "/" not in n and not n.startswith("?"))
        return sorted({str(n).rstrip("/").rpartition("/")[2] for n in found} - {""})

    @property
    def _web(self) -> bool:
        protocol = self._fs.protocol
        return "http" in ((protocol,) if isinstance(protocol, str) else protocol)

    def set(self, key: str, value: Buffer) -> None:
        if not self._writable:
            raise Forbidden(self._url, "the store was opened for reading")
        try:
            self._fs.pipe_file(f"{self._root}/{check_key(key)}", bytes(value))
        except backend_errors() as error:
            raise failure(f"{self._url}/{key}", error) from error

    def delete(self, key: str) -> None:
        if not self._writable:
            raise Forbidden(self._url, "the store was opened for reading")
        try:
            self._fs.rm_file(f"{self._root}/{check_key(key)}")
        except _ABSENT:
            return
        except backend_errors() as error:
            raise failure(f"{self._url}/{key}", error) from error
