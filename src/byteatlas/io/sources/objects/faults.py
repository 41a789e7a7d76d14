"""What went wrong at obstore, as one of our errors. Classes and the server's status and code decide.

obstore gives the status and the body of an answer in the debug part of its message only, in which names are escaped:
lines of that part cannot come from the name of an object.
"""

from __future__ import annotations

import re

from byteatlas.errors import FetchFailed
from byteatlas.io.sources.faults import DENIED, PASSING, hint
from byteatlas.types import ByteRange

_STATUS = re.compile(r"^ *inner: Status \{\n *status: (\d{3}),$", re.MULTILINE)
_BODY = re.compile(r'^ *body: Some\(\n *"(.*)",\n', re.MULTILINE)
_CODE = re.compile(r"<Code>(\w{1,64})</Code>")
_REGION = re.compile(r"<Region>([a-z0-9-]{1,40})</Region>")
_KIND = re.compile(r"^ *kind: (\w+),$", re.MULTILINE)
_SOURCE = re.compile(r"^    source: (\w+)", re.MULTILINE)
_CREDENTIALS = re.compile(r"^ *http://(169\.254\.\d+\.\d+|metadata\.google\.internal)[:/]", re.MULTILINE)
GONE_CODES = frozenset({"", "NoSuchKey", "BlobNotFound", "NoSuchVersion"})
"""Codes of a 404 that say that the object is not there (the body of an answer to HEAD has none)."""
_PLACES = {"NoSuchBucket": "bucket", "ContainerNotFound": "container", "NoSuchContainer": "container"}
_REDIRECTS = frozenset({
    "PermanentRedirect", "TemporaryRedirect", "AuthorizationHeaderMalformed", "IllegalLocationConstraintException",
})  # fmt: skip


class RefusedAnswer:
    """What is known of an answer that was no success."""

    __slots__ = ("code", "elsewhere", "kind", "region", "source", "status")

    def __init__(self, error: BaseException) -> None:
        debug = str(error).rpartition("\n\nDebug source:\n")[2]
        status, kind, source = _STATUS.search(debug), _KIND.search(debug), _SOURCE.search(debug)
        body = _BODY.search(debug)
        text = body.group(1) if body else ""
        code, region = _CODE.search(text), _REGION.search(text)
        self.status = int(status.group(1)) if status else None
        self.code = code.group(1) if code else ""
        self.region = region.group(1) if region else None
        self.kind = kind.group(1) if kind else ""
        self.source = source.group(1) if source else ""
        self.elsewhere = "inner: BareRedirect" in debug or self.code in _REDIRECTS


def object_failure(url: str, error: BaseException, where: ByteRange | None = None) -> FetchFailed:
    """One of our errors for one of obstore's."""
    if isinstance(error, FetchFailed):
        return error.located(range=where)
    found, name = RefusedAnswer(error), type(error).__name__
    said = f"the server answered {found.status}{f' ({found.code})' if found.code else ''}"
    if found.code in _PLACES:
        return FetchFailed(url, f"there is no such {_PLACES[found.code]}; {said}", where)
    if isinstance(error, FileNotFoundError):
        absent = found.code in GONE_CODES and found.status in (404, 410, None)
        return FetchFailed(url, f"there is no such object; {said}", where, absent=absent)
    if found.elsewhere:
        region = f" ({found.region})" if found.region else ""
        return FetchFailed(url, f"the bucket is in another region{region}: say it with 'region'", where)
    if _CREDENTIALS.search(str(error)):
        return FetchFailed(url, f"no credentials were found{hint(url)}", where, denied=True)
    if name in ("PermissionDeniedError", "UnauthenticatedError") or found.status in DENIED:
        return FetchFailed(url, f"{said if found.status else 'not allowed'}{hint(url)}", where, denied=True)
    if found.status == 416:
        return FetchFailed(url, "the range lies beyond the end of the file", where)
    if found.status is not None:
        return FetchFailed(url, said, where, transient=found.status in PASSING)
    return _without_answer(url, error, found, where)


def _without_answer(url: str, error: BaseException, found: RefusedAnswer, where: ByteRange | None) -> FetchFailed:
    if found.source == "UnexpectedRange":
        return FetchFailed(url, "the server answered with another part of the file", where, transient=True)
    if found.source == "NotPartial":
        return FetchFailed(url, "the server answered with something whole instead of a part", where, transient=True)
    first = str(error).partition("\n")[0].partition(" - ")
    text = {
        "Timeout": "nothing came for too long",
        "Connect": "no connection to the server",
        "Interrupted": "the connection broke off",
    }.get(found.kind) or (first[2] or first[0])
    return FetchFailed(url, text, where, transient=bool(found.kind) or isinstance(error, OSError))


def object_errors() -> tuple[type[BaseException], ...]:
    """What obstore raises."""
    from obstore.exceptions import BaseError

    return (BaseError, OSError, ValueError, RuntimeError, TimeoutError)


def was_overtaken(error: BaseException) -> bool:
    """Whether a condition of a write was not met: somebody else wrote first."""
    return type(error).__name__ in ("PreconditionError", "AlreadyExistsError") or RefusedAnswer(error).status in (
        409,
        412,
    )
