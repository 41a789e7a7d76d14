"""What went wrong at a back end, as one of our errors: is it not there, not allowed, or may it work in a moment?

Types of exceptions and status codes decide, never words of a message: a file may be called ``z500.zarr``.
"""

from __future__ import annotations

import errno
import sys
from collections.abc import Iterator, Mapping

from byteatlas.errors import FetchFailed
from byteatlas.io.urls import OBJECTS, last_link, place, protocol_of
from byteatlas.types import ByteRange

GONE = frozenset({404, 410})
"""Status codes that say "there is no such thing" (RFC 9110 15.5.5, 15.5.11)."""
DENIED = frozenset({401, 403})
PASSING = frozenset({408, 425, 429, 500, 502, 503, 504, 509, 520, 521, 522, 523, 524, 529})
"""Status codes after which the same request may work (RFC 9110 15.5.9, 15.6; the rest of proxies)."""
_GONE_CODES = frozenset({"404", "NoSuchKey", "NotFound", "BlobNotFound"})
_DENIED_CODES = frozenset({"403", "401", "AccessDenied", "InvalidAccessKeyId", "SignatureDoesNotMatch", "ExpiredToken"})
_PASSING_CODES = frozenset({
    "SlowDown", "RequestTimeout", "InternalError", "ServiceUnavailable", "Throttling", "ThrottlingException",
    "RequestLimitExceeded", "BandwidthLimitExceeded", *map(str, PASSING),
})  # fmt: skip
_OVERTAKEN = frozenset({409, 412, "PreconditionFailed", "ConditionalRequestConflict", "412", "409"})
_PASSING_ERRNO = frozenset({
    errno.ECONNRESET, errno.ECONNABORTED, errno.ECONNREFUSED, errno.EPIPE, errno.ETIMEDOUT, errno.EAGAIN, errno.EINTR,
    errno.EHOSTUNREACH, errno.ENETUNREACH, errno.ENETDOWN, errno.ENETRESET, errno.EBUSY,
})  # fmt: skip
_ABSENT = (FileNotFoundError, NotADirectoryError, IsADirectoryError)
_PASSING_TYPES = (TimeoutError, ConnectionError, EOFError)
_THEIRS: Mapping[str, tuple[str, ...]] = {
    "zipfile": ("BadZipFile",),
    "tarfile": ("TarError",),
    "zlib": ("error",),
    "aiohttp": ("ClientError",),
    "botocore.exceptions": ("BotoCoreError", "ClientError"),
    "google.auth.exceptions": ("GoogleAuthError",),
    "gcsfs.retry": ("HttpError",),
    "azure.core.exceptions": ("AzureError",),
    "paramiko": ("SSHException",),
    "requests.exceptions": ("RequestException",),
}
_THEIRS_DENIED: Mapping[str, tuple[str, ...]] = {
    "botocore.exceptions": ("NoCredentialsError", "PartialCredentialsError", "TokenRetrievalError"),
    "google.auth.exceptions": ("DefaultCredentialsError", "RefreshError"),
}
_THEIRS_PASSING: Mapping[str, tuple[str, ...]] = {
    "aiohttp": ("ClientConnectionError", "ClientPayloadError", "ServerTimeoutError"),
    "botocore.exceptions": ("HTTPClientError", "ConnectionError", "ResponseStreamingError", "IncompleteReadError"),
    "requests.exceptions": ("ConnectionError", "Timeout", "ChunkedEncodingError"),
    "azure.core.exceptions": ("ServiceRequestError", "ServiceResponseError"),
}
DEPTH = 16
"""Causes of causes that are looked at."""


def _no_entry() -> tuple[type[BaseException], ...]:
    return (PermissionError, *_known(_THEIRS_DENIED))


def _known(table: Mapping[str, tuple[str, ...]]) -> tuple[type[BaseException], ...]:
    """The errors of packages that are imported: no others can occur."""
    return tuple(
        getattr(sys.modules[module], name)
        for module, names in table.items()
        if module in sys.modules
        for name in names
        if hasattr(sys.modules[module], name)
    )


def backend_errors() -> tuple[type[BaseException], ...]:
    """What fsspec's back ends raise. Some errors of theirs are no OSErrors."""
    return (OSError, ValueError, RuntimeError, TimeoutError, KeyError, EOFError, *_known(_THEIRS))


def _causes(error: BaseException) -> Iterator[BaseException]:
    """An error and what it was made of: a back end's "not found" may hide that a server did not answer."""
    found: BaseException | None = error
    for _ in range(DEPTH):
        if found is None:
            return
        yield found
        found = found.__cause__ or (None if found.__suppress_context__ else found.__context__)


def _status(error: BaseException) -> int | str | None:
    """A status code, or object storage's own word for what is wrong."""
    response = getattr(error, "response", None)
    if isinstance(response, Mapping):  # botocore's
        found = response.get("Error", {}).get("Code")
        return found if isinstance(found, str) else None
    for name in ("status", "status_code", "code"):
        value = getattr(error, name, None)
        if isinstance(value, int):
            return value
        if isinstance(value, str) and value.isdigit():
            return int(value)
    return getattr(response, "status_code", None)


def failure(url: str, error: BaseException, where: ByteRange | None = None) -> FetchFailed:
    """One of our errors for a back end's."""
    if isinstance(error, FetchFailed):
        return error.located(range=where)
    chain = list(_causes(error))
    statuses = [s for s in map(_status, chain) if s is not None]
    gone = any(s in GONE or s in _GONE_CODES for s in statuses)
    denied = any(s in DENIED or s in _DENIED_CODES for s in statuses) or isinstance(error, _no_entry())
    other = [s for s in statuses if s not in GONE and s not in _GONE_CODES]
    passing = any(map(_may_pass, chain)) or any(s in PASSING or s in _PASSING_CODES for s in other)
    says_absent = isinstance(error, _ABSENT) and not other and not passing and not any(map(_is_network, chain[1:]))
    absent = not denied and not passing and not other and (gone or says_absent)
    text = _told(chain)
    if denied:
        text += hint(url)
    return FetchFailed(url, text, where, transient=passing and not denied, absent=absent, denied=denied)


def was_overtaken(error: BaseException) -> bool:
    """Whether a condition of a write was not met (RFC 9110 15.5.13; Amazon S3: conditional writes)."""
    return any(_status(e) in _OVERTAKEN for e in _causes(error))


def hint(url: str) -> str:
    """What a denied request may need."""
    prefix = place(last_link(url))
    public = " ({'anon': True} if it is open to all)" if protocol_of(prefix) in OBJECTS else ""
    return f"; {prefix} may need credentials: storage_options={{'{prefix}': {{...}}}}{public}" if prefix else ""


def _told(chain: list[BaseException]) -> str:
    """The error, and its cause where the error alone would name the wrong thing."""
    said = [f"{type(e).__name__}: {e}" if str(e) else type(e).__name__ for e in chain[:1]]
    said += [f"{type(e).__name__}: {e}" for e in chain[1:] if (_is_network(e) or _status(e) is not None) and str(e)][:1]
    return " ".join(" <- ".join(said).split())  # some have several lines


def _may_pass(error: BaseException) -> bool:
    if isinstance(error, OSError) and error.errno in _PASSING_ERRNO:
        return True
    return isinstance(error, (*_PASSING_TYPES, *_known(_THEIRS_PASSING)))


def _is_network(error: BaseException) -> bool:
    """Whether a cause speaks of a connection rather than of what lies behind it."""
    return _may_pass(error) or (isinstance(error, _known(_THEIRS)) and _status(error) not in GONE | _GONE_CODES)


def status_failure(url: str, status: int, reason: str, where: ByteRange | None, after: float | None) -> FetchFailed:
    """What a web server's status code says."""
    text = f"the server answered {status} {reason}".rstrip()
    if status in DENIED:
        text += hint(url)
    return FetchFailed(
        url, text, where, transient=status in PASSING, absent=status in GONE, denied=status in DENIED, after=after
    )
