"""When providers of credentials are asked: when a URL below their prefix is opened, and when what they gave expires.

In other processes they are asked anew: only the provider goes there, by name.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from functools import lru_cache
from itertools import count
from typing import Any

from byteatlas.errors import BadRequest, ByteatlasError, FetchFailed, unknown_text
from byteatlas.io.credentials.contract import CredentialProvider
from byteatlas.io.urls import last_link, place
from byteatlas.types import JSON
from byteatlas.values import dataclass

GROUP = "byteatlas.credentials"
EARLY = 60.0
"""Seconds before they expire at which credentials are asked for again; sooner for those that hold briefly."""


def provider_named(name: str) -> CredentialProvider:
    """A built-in provider or one of a plugin (an entry point of the group `GROUP`).

    Raises `BadRequest` for a name that nobody knows.
    """
    from importlib.metadata import entry_points

    from byteatlas.io.credentials.builtin import BUILT_IN

    head, mark, rest = name.partition("=")
    if head in BUILT_IN:
        return BUILT_IN[head](rest if mark else None)
    found = entry_points(group=GROUP)
    point = next((p for p in found if p.name == name), None)
    if point is None:
        raise BadRequest(unknown_text("provider of credentials", name, [*BUILT_IN, *found.names]))
    loaded: CredentialProvider = point.load()
    return loaded


@dataclass(frozen=True, slots=True)
class Grant:
    """What a provider gave. Prints no secrets.

    Attributes:
        until: seconds since 1970 until which it holds; None: for ever.
    """

    options: Mapping[str, Any]
    until: float | None
    asked: float

    def __repr__(self) -> str:
        return f"Grant({', '.join(self.options)})"

    @property
    def is_due(self) -> bool:
        """Whether it is time to ask again."""
        if self.until is None:
            return False
        return time.time() >= self.until - min(EARLY, 0.1 * (self.until - self.asked))


_SERIALS = count(1)
"""One for each answer of any provider: what is asked anew, because it was forgotten, is new as well."""


class _Kept:
    """What a provider gave for one place."""

    def __init__(self, provider: str | CredentialProvider) -> None:
        self._provider, self._lock = provider, threading.Lock()
        self._grant: Grant | None = None
        self._serial = 0

    def current(self, url: str) -> tuple[Grant, int]:
        with self._lock:
            if self._grant is None or self._grant.is_due:
                self._grant = _ask(self._provider, url)
                self._serial = next(_SERIALS)
            return self._grant, self._serial


@lru_cache(maxsize=256)
def _kept(provider: str | CredentialProvider, where: str, prefix: str) -> _Kept:
    return _Kept(provider)


def _ask(provider: str | CredentialProvider, url: str) -> Grant:
    now = time.time()
    asked = provider_named(provider) if isinstance(provider, str) else provider
    try:
        given = asked(url)
    except ByteatlasError:
        raise
    except Exception as error:  # whatever a function of the caller's raises
        why = f"its provider of credentials raised {type(error).__name__}: {error}"
        raise FetchFailed(url, why, denied=True) from error
    if not isinstance(given, Mapping):
        raise BadRequest(f"the provider of credentials for {place(url)} gave no mapping of storage options")
    options = dict(given)
    return Grant(options, _until(options.pop("expires", None)), now)


def _until(value: object) -> float | None:
    from datetime import UTC, datetime

    if value is None or (isinstance(value, int | float) and not isinstance(value, bool)):
        return None if value is None else float(value)
    try:
        when = value if isinstance(value, datetime) else datetime.fromisoformat(str(value))
    except ValueError:
        raise BadRequest("credentials expire at a number of seconds, a datetime, or a text in ISO 8601") from None
    return (when if when.tzinfo else when.replace(tzinfo=UTC)).timestamp()


@dataclass(frozen=True, slots=True)
class AskedOptions:
    """The storage options of a URL that a provider gives a part of.

    Attributes:
        provider: or its name.
        static: options that hold always.
        otherwise: whether the second choice is taken, because the first one was denied.
        prefix: that the provider was named for. Two prefixes of one bucket may have different credentials.
    """

    provider: str | CredentialProvider
    url: str
    static: Mapping[str, JSON]
    otherwise: bool = False
    prefix: str = ""

    def _current(self) -> tuple[Grant, int]:
        return _kept(self.provider, place(last_link(self.url)), self.prefix).current(self.url)

    def serial(self) -> int:
        """A number that changes when the credentials do. Asks the provider when they expire."""
        return self._current()[1]

    def options(self) -> dict[str, Any]:
        """The options, as they are now."""
        given = dict(self._current()[0].options)
        second = given.pop("otherwise", None)
        if self.otherwise and isinstance(second, Mapping):
            return {k: v for k, v in second.items() if k != "at"}
        return {**self.static, **given}

    def second(self) -> str | None:
        """Where the file lies by the second choice; None: there is no such choice."""
        second = self._current()[0].options.get("otherwise")
        if not isinstance(second, Mapping):
            return None
        link = last_link(self.url)
        return str(second["at"]) + link[len(place(link)) :] if "at" in second else self.url
