"""Writing to where other machines keep files: objects that appear whole, or only if nobody wrote meanwhile."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import IO, Any

from byteatlas.errors import BadRequest, FetchFailed
from byteatlas.io.retry import persistently
from byteatlas.io.sources.faults import backend_errors, failure, was_overtaken
from byteatlas.io.sources.filesystem import LivingFileSystem, file_system
from byteatlas.io.urls import S3
from byteatlas.io.writing.versions import FileVersion, Overtaken
from byteatlas.types import JSON, Buffer


@contextmanager
def remote_file(
    url: str, storage_options: Mapping[str, JSON] | None, version: FileVersion | None = None
) -> Iterator[IO[bytes]]:
    """A file to be written; it appears under its name when the block ends without an error.

    Raises:
        FetchFailed: it cannot be written.
        Overtaken: it is in another state than ``version``, and the storage can compare.
    """
    living, path = file_system(url, storage_options)
    system = living()
    kept = getattr(system, "protocol", None) == "memory"  # its files are there as soon as they are opened
    in_memory = kept or not hasattr(system, "storage_args")  # and obstore's are put as a whole
    if in_memory or (version is not None and compares(living)):
        from io import BytesIO

        memory = BytesIO()
        yield memory
        put(living, path, url, memory.getvalue(), version)
        return
    try:
        stream = living().open(path, "wb", autocommit=False)
    except _errors() as error:
        raise _unwritable(url, error) from error
    try:
        yield stream
        try:
            stream.close()
            stream.commit()
        except _errors() as error:
            raise _unwritable(url, error) from error
    except BaseException:
        with suppress(AttributeError):  # some say for themselves whether they are closed
            stream.closed = True
        with suppress(*_errors()):  # nothing was committed: nothing is under the name
            stream.discard()
        raise


def put(living: LivingFileSystem, path: str, url: str, data: Buffer, version: FileVersion | None = None) -> None:
    """Write one object; again after a failure that may pass.

    Raises:
        FetchFailed: it cannot be written.
        Overtaken: it is in another state than ``version``, and the storage can compare.
    """
    tried: list[None] = []

    def once() -> None:
        tried.append(None)
        try:
            _put_once(living, path, url, data, version)
        except Overtaken:
            if len(tried) == 1 or not _holds(living, path, data):  # else it was written before the connection broke
                raise

    persistently(url, living.retry, once)


def _holds(living: LivingFileSystem, path: str, data: Buffer) -> bool:
    """Whether an object is what is to be written."""
    try:
        return bytes(living().cat_file(path)) == bytes(data)
    except _errors():
        return False


def _put_once(living: LivingFileSystem, path: str, url: str, data: Buffer, version: FileVersion | None) -> None:
    system = living()
    try:
        if version is None or not compares(living):
            system.pipe_file(path, bytes(data))
        elif hasattr(system, "storage_args"):  # s3fs
            system.pipe_file(path, bytes(data), **_condition(version))
        else:
            system.pipe_file(path, data, version)
    except _errors() as error:
        if version is not None and was_overtaken(error):
            raise Overtaken(url) from error
        raise _unwritable(url, error) from error


def _errors() -> tuple[type[BaseException], ...]:
    return (*backend_errors(), NotImplementedError)


def _condition(version: FileVersion) -> dict[str, Any]:
    """As arguments of botocore's ``put_object``."""
    return {"IfNoneMatch": "*"} if version.is_new else {"IfMatch": version.stamp}


def compares(living: LivingFileSystem) -> bool:
    """Whether this storage compares the state of an object as it replaces it: through obstore, and S3 through s3fs."""
    system = living()
    return not hasattr(system, "storage_args") or not S3.isdisjoint(living.protocols)


def _unwritable(url: str, error: BaseException) -> Exception:
    """Our error for one of a back end's, in writing."""
    if isinstance(error, FetchFailed | BadRequest):
        return error
    if isinstance(error, NotImplementedError):
        return FetchFailed(url, "cannot be written: this kind of storage is read only")
    found = failure(url, error)
    why = f"cannot be written: {found.why}"
    return FetchFailed(url, why, transient=found.transient, denied=found.denied)


class RemoteFolder:
    """Files below a URL. They are put one by one."""

    def __init__(self, url: str, storage_options: Mapping[str, JSON] | None) -> None:
        self._url = url.rstrip("/")
        self._living, root = file_system(url, storage_options)
        self._root = root.rstrip("/")

    def put(self, name: str, data: Buffer, version: FileVersion | None = None) -> None:
        path = f"{self._root}/{name}"
        try:
            self._living().makedirs(path.rpartition("/")[0], exist_ok=True)
        except _errors() as error:
            raise _unwritable(f"{self._url}/{name}", error) from error
        put(self._living, path, f"{self._url}/{name}", data, version)

    def remove(self, name: str) -> None:
        """Remove a file that nobody needs. Where that fails, it stays."""
        with suppress(*_errors()):
            self._living().rm_file(f"{self._root}/{name}")
