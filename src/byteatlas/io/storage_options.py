"""fsspec's storage options as one value that can be compared, hashed and pickled, and that prints no secrets."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias

from byteatlas.io.urls import last_link, place, under
from byteatlas.types import JSON
from byteatlas.values import dataclass

Frozen: TypeAlias = Any
"""An option's value in which mappings and lists are values that can be hashed; anything else is as it was given."""


class StorageOptions(Mapping[str, JSON]):
    """fsspec's options: for every URL, and for URLs under a prefix (the longest prefix wins).

    A key that holds ``://`` is a prefix, and its value the options for the URLs below it, beside the common ones. What
    is taken out is a copy: nobody can change the options of others.

    >>> StorageOptions({"anon": True, "s3://private/": {"key": "AKIA..."}})
    StorageOptions(anon, s3://private/: (key))
    """

    __slots__ = ("_items",)

    def __init__(self, options: Mapping[str, JSON] | None = None) -> None:
        self._items: Mapping[str, Frozen] = (
            options._items
            if isinstance(options, StorageOptions)
            else {k: _freeze(v) for k, v in (options or {}).items()}
        )

    @staticmethod
    def of(options: Mapping[str, JSON] | None) -> StorageOptions:
        """The same value when it is one already."""
        return options if isinstance(options, StorageOptions) else StorageOptions(options)

    def __getitem__(self, key: str) -> JSON:
        return _thaw(self._items[key])

    def __iter__(self) -> Iterator[str]:
        return iter(self._items)

    def __len__(self) -> int:
        return len(self._items)

    def __hash__(self) -> int:
        return hash(frozenset(self._items.items()))

    def __eq__(self, other: object) -> bool:
        if isinstance(other, StorageOptions):
            return self._items == other._items
        return NotImplemented if not isinstance(other, Mapping) else self == StorageOptions(other)

    def __reduce__(self) -> tuple[type[StorageOptions], tuple[dict[str, JSON]]]:
        return StorageOptions, (dict(self),)

    def __repr__(self) -> str:
        from byteatlas.masking import masked

        below = {p: ", ".join(options) for p, options in self.by_prefix.items()}
        names = [f"{masked(k)}: ({below[k]})" if k in below else k for k in self]
        return f"StorageOptions({', '.join(names)})"

    @property
    def by_prefix(self) -> dict[str, dict[str, JSON]]:
        """The options that hold below a prefix only."""
        return {k: _thaw(v) for k, v in self._items.items() if "://" in k and isinstance(v, _Pairs)}

    def kept_to(self, url: str) -> StorageOptions:
        """The same options; those for all URLs are for the server (or bucket) of this URL only, if it has one.

        Credentials for the map that a caller names are not for every host that the map names.
        """
        where, common = place(last_link(url)), self.common
        if not common or not where:
            return self
        below = {p: {**common, **more} if under(p, where) else more for p, more in self.by_prefix.items()}
        return StorageOptions({where: common} | below)

    @property
    def common(self) -> dict[str, JSON]:
        """The options for all URLs."""
        below = self.by_prefix
        return {k: _thaw(v) for k, v in self._items.items() if k not in below}

    def for_url(self, url: str) -> dict[str, JSON]:
        """The options with which fsspec is to open a URL."""
        if not self._items:
            return {}
        below = self.by_prefix
        best = max((p for p in below if under(url, p)), key=len, default=None)
        return self.common if best is None else {**self.common, **below[best]}


@dataclass(frozen=True, slots=True)
class _Pairs:
    """A mapping, as sorted pairs."""

    pairs: tuple[tuple[str, Frozen], ...]


@dataclass(frozen=True, slots=True)
class _Items:
    """A list."""

    items: tuple[Frozen, ...]


@dataclass(frozen=True, slots=True, eq=False)
class _Opaque:
    """A value that cannot be hashed: it equals itself only."""

    value: object

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Opaque) and other.value is self.value

    def __hash__(self) -> int:
        return id(self.value)


def _freeze(value: Any) -> Frozen:
    if isinstance(value, Mapping):
        return _Pairs(tuple(sorted(((k, _freeze(v)) for k, v in value.items()), key=lambda pair: str(pair[0]))))
    if isinstance(value, list):
        return _Items(tuple(map(_freeze, value)))
    try:
        hash(value)
    except TypeError:
        return _Opaque(value)
    return value


def _thaw(value: Frozen) -> Any:
    match value:
        case _Pairs(pairs):
            return {k: _thaw(v) for k, v in pairs}
        case _Items(items):
            return [_thaw(v) for v in items]
        case _Opaque(inner):
            return inner
        case _:
            return value


NO_OPTIONS = StorageOptions()
