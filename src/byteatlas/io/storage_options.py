"""Storage options as one value that can be compared, hashed and pickled, and that prints no secrets."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

from byteatlas.arguments import NAMED, TEXT, Kind, wrong
from byteatlas.errors import BadRequest
from byteatlas.io.retry import RETRY, Retry
from byteatlas.io.urls import last_link, place, under
from byteatlas.types import JSON
from byteatlas.values import dataclass

if TYPE_CHECKING:
    from byteatlas.io.credentials.asking import AskedOptions
    from byteatlas.io.credentials.contract import CredentialProvider

CONTENTS = {
    **dict.fromkeys(("client_kwargs", "config_kwargs", "headers"), NAMED | None),
    **dict.fromkeys(("endpoint_url", "region", "region_name", "key", "secret", "profile", "protocol"), TEXT | None),
    **dict.fromkeys(("account_name", "account_key"), TEXT | None),
    "anon": Kind(lambda given: isinstance(given, (bool, int, str)), "True or False") | None,
    "ssl": Kind(
        lambda given: isinstance(given, bool) or hasattr(given, "wrap_socket") or hasattr(given, "fingerprint"),
        "True, False, a context or a fingerprint",
    )
    | None,
}
"""Options that mean the same to all back ends that know them, and what they may be."""
Frozen: TypeAlias = Any
"""An option's value in which mappings and lists are values that can be hashed; anything else is as it was given."""


class StorageOptions(Mapping[str, JSON]):
    """Options of back ends: for every URL, and for URLs under a prefix (the longest prefix wins).

    A key that holds ``://`` is a prefix, and its value the options for the URLs below it, beside the common ones. What
    is taken out is a copy: nobody can change the options of others.

    Attributes:
        backend: what opens URLs of object storage; None = obstore where it is installed, else fsspec.
        providers: who is asked for more options, by prefix: functions, or the names of such.
        retry: how long back ends wait for a byte, and how often writing is tried again. Options that differ in nothing
            else are equal.

    >>> StorageOptions({"anon": True, "s3://private/": {"key": "AKIA..."}})
    StorageOptions(anon, s3://private/: (key))
    """

    __slots__ = ("_items", "backend", "providers", "retry")

    def __init__(
        self,
        options: Mapping[str, JSON] | None = None,
        backend: str | None = None,
        providers: Providers = (),
        retry: Retry = RETRY,
    ) -> None:
        self._items: Mapping[str, Frozen] = (
            options._items
            if isinstance(options, StorageOptions)
            else {k: _freeze(v) for k, v in (options or {}).items()}
        )
        self.backend, self.providers, self.retry = backend, providers, retry

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
        return hash((frozenset(self._items.items()), self.backend, self.providers))

    def __eq__(self, other: object) -> bool:
        if isinstance(other, StorageOptions):
            mine = (self._items, self.backend, self.providers)
            return mine == (other._items, other.backend, other.providers)
        return NotImplemented if not isinstance(other, Mapping) else self == StorageOptions(other)

    def __reduce__(self) -> tuple[Any, ...]:
        for prefix, provider in self.providers:
            _check_pickles(prefix, provider)
        return StorageOptions, (dict(self), self.backend, self.providers, self.retry)

    def __repr__(self) -> str:
        from byteatlas.masking import masked

        below = {p: ", ".join(options) for p, options in self.by_prefix.items()}
        names = [f"{masked(k)}: ({below[k]})" if k in below else k for k in self]
        names += [f"{masked(prefix)}: {_name(provider)}" for prefix, provider in self.providers]
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
        return StorageOptions({where: common} | below, self.backend, self.providers, self.retry)

    def asked(self, url: str) -> AskedOptions | None:
        """The options for a URL that somebody is asked for a part of; None: all are known."""
        if not self.providers:
            return None
        from byteatlas.io.credentials.asking import AskedOptions

        best = max((p for p in self.providers if under(url, p[0])), key=lambda p: len(p[0]), default=None)
        return None if best is None else AskedOptions(best[1], url, _Known(self.for_url(url)), prefix=best[0])

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


def check_contents(options: StorageOptions) -> None:
    """Raise `BadRequest` for an option that holds what no back end takes there: most would say so in their own words,
    and late."""
    for prefix, some in {"": options.common, **options.by_prefix}.items():
        for name, kind in CONTENTS.items():
            if name in some and not kind.test(some[name]):
                from byteatlas.masking import masked

                where = f" for {masked(prefix)}" if prefix else ""
                raise wrong(f"storage option {name}{where}", some[name], kind.words)


Providers: TypeAlias = "tuple[tuple[str, str | CredentialProvider], ...]"


def providers_of(credentials: Mapping[str, str | CredentialProvider] | Providers) -> Providers:
    """Providers by prefix, as a value. Raises `BadRequest` for what is neither."""
    if not isinstance(credentials, (Mapping, tuple)):
        raise BadRequest("credentials are given for prefixes: {'s3://bucket/': provider}")
    pairs = tuple(credentials.items()) if isinstance(credentials, Mapping) else tuple(credentials)
    if not all(isinstance(pair, tuple) and len(pair) == 2 for pair in pairs):
        raise BadRequest("credentials are given for prefixes: {'s3://bucket/': provider}")
    for prefix, provider in pairs:
        if not (isinstance(prefix, str) and "://" in prefix):
            raise BadRequest("credentials are given for prefixes: {'s3://bucket/': provider}")
        if isinstance(provider, str):
            from byteatlas.io.credentials.asking import provider_named

            provider_named(provider)
        elif not callable(provider):
            raise BadRequest(f"credentials for {prefix}: a function from a URL to storage options, or a name")
    return tuple(sorted(pairs, key=lambda pair: pair[0]))


def _name(provider: str | CredentialProvider) -> str:
    name: str = provider if isinstance(provider, str) else getattr(provider, "__qualname__", type(provider).__name__)
    return name


def _check_pickles(prefix: str, provider: str | CredentialProvider) -> None:
    import pickle

    try:
        pickle.dumps(provider)
    except (pickle.PicklingError, TypeError, AttributeError) as error:
        why = f"the provider of credentials for {prefix} cannot be sent to other processes"
        raise BadRequest(f"{why}: make it a function of a module, or give its name") from error


class _Known(dict[str, JSON]):
    """Options in an error or a report: their names."""

    def __repr__(self) -> str:
        return f"({', '.join(self)})"


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
