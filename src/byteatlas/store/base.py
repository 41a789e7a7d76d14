"""What a store is: values under keys. Reading needs `Store`, writing `WritableStore`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol, TypeGuard, runtime_checkable

from byteatlas.errors import BadRequest, FetchFailed, Forbidden, NotFound
from byteatlas.io.source import Source
from byteatlas.meta.names import legal_name
from byteatlas.types import Buffer

TEMPORARY = ".byteatlas-part-"
"""How names of values that are being written begin; they are not listed."""
UNFINISHED = ".byteatlas-copy.json"
"""The key that records how far a copy has come; removed when it is complete."""


@runtime_checkable
class Store(Protocol):
    """Values under keys such as ``a/b/c/0/1``. Safe to read from many threads."""

    @property
    def url(self) -> str:
        """A name for messages."""
        ...

    @property
    def local(self) -> bool:
        """Whether a read costs no more than a system call."""
        ...

    def get(self, key: str, most: int | None = None) -> Buffer | None:
        """The value, or None when the key does not exist.

        Raises `FetchFailed` when that cannot be found out, and for a value of more than ``most`` bytes.
        """
        ...

    def source(self, key: str) -> Source | None:
        """The value as something to read ranges of; None when the key does not exist."""
        ...

    def names(self, prefix: str) -> Sequence[str] | None:
        """The path segments directly below a prefix (no trailing slash; empty: the root), sorted.

        None when this store cannot be listed.
        """
        ...


@runtime_checkable
class WritableStore(Store, Protocol):
    """A store that can change. Setting a key is atomic: a reader sees the old value or the new one."""

    def set(self, key: str, value: Buffer) -> None: ...

    def delete(self, key: str) -> None:
        """Remove a key; not an error when it is not there."""
        ...


class GetsMany(Protocol):
    """A store in which many values at once cost less than one by one."""

    at_once: int
    """How many values of a remote store are best asked for together."""

    def get_many(self, keys: Sequence[str], most: int | None = None, usual: int = ...) -> list[Buffer | None]:
        """The values, in order; None for keys that do not exist. ``usual``: bytes that few values exceed."""
        ...


class GetsInto(Protocol):
    """A store that can put a value into memory that is there, which saves a copy."""

    def get_into(self, key: str, memory: Callable[[int], memoryview], most: int | None = None) -> Buffer | None:
        """The value in memory that is given for its size; None when the key does not exist."""
        ...


def gets_many(store: Store) -> TypeGuard[GetsMany]:
    """Whether a store is a `GetsMany`. Its methods are asked for by name: ``isinstance`` takes longer."""
    return hasattr(store, "get_many") and hasattr(store, "at_once")


def gets_into(store: Store) -> TypeGuard[GetsInto]:
    """Whether a store is a `GetsInto`; see `gets_many`."""
    return hasattr(store, "get_into")


def check_size(name: str, size: int, most: int | None) -> None:
    """Raises `FetchFailed` for a value of more than ``most`` bytes."""
    if most is not None and size > most:
        raise FetchFailed(name, f"{size} bytes are more than a value here can have ({most})")


def check_writable(url: str, writable: bool) -> None:
    """Raises `Forbidden` for a store that was opened for reading."""
    if not writable:
        raise Forbidden(url, "the store was opened for reading")


def is_zip(url: str) -> bool:
    """Whether a URL names a ZIP file, by its suffix."""
    return url.partition("?")[0].rstrip("/").endswith(".zip")


def check_key(key: str) -> str:
    """A key that can be used below a root without leaving it. Raises `BadRequest`."""
    parts = key.split("/")
    if any(part in ("", ".", "..") for part in parts) or "\0" in key or "\\" in key:
        raise BadRequest(f"{key!r} is not a legal key")
    return key


def check_path(path: str) -> str:
    """A node's path, without slashes at its ends. Raises `NotFound` for names that no node can have.

    The rule is that of `byteatlas.meta.names`. A backslash separates names on some systems, so it is in no key.
    """
    clean = path.strip("/")
    if not clean:
        return ""
    for name in clean.split("/"):
        if not legal_name(name) or "\\" in name:
            raise NotFound(f"{name!r} in {path!r} is not a legal node name")
    return clean
