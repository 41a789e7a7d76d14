"""What went wrong, as a status code and a sentence for clients; the whole story goes to the server's log.

A sentence names no path of this machine and no secret: it is made here, and is not the error's own text.
"""

from __future__ import annotations

from collections.abc import Mapping

from byteatlas.errors import (
    BadRequest,
    ByteatlasError,
    CorruptChunk,
    FetchFailed,
    Forbidden,
    InvalidMetadata,
    NotFound,
    SourceChanged,
    Unsupported,
)


class HTTPRefusal(Exception):
    """A request that gets no content: a status code and a sentence."""

    def __init__(self, status: int, why: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(why)
        self.status, self.why, self.headers = status, why, dict(headers or {})


def refusal_of(error: BaseException) -> HTTPRefusal:
    """The answer for an error."""
    match error:
        case HTTPRefusal():
            return error
        case SourceChanged():
            return HTTPRefusal(502, "the file that holds these bytes was changed after it was indexed; index it again")
        case FetchFailed() if _timed_out(error):
            return HTTPRefusal(504, "the server that holds these bytes did not answer in time")
        case FetchFailed(absent=True):
            return HTTPRefusal(502, "the file that holds these bytes is not there any more")
        case FetchFailed(denied=True):
            return HTTPRefusal(502, "the storage that holds these bytes does not give them out")
        case FetchFailed():
            return HTTPRefusal(502, "the storage that holds these bytes could not be read")
        case CorruptChunk():
            return HTTPRefusal(502, "the bytes of this chunk are damaged: they do not decode")
        case Unsupported(reason=reason):
            return HTTPRefusal(501, f"this server cannot decode that [{reason}]")
        case InvalidMetadata():
            return HTTPRefusal(502, "the metadata of this array break Zarr's rules")
        case Forbidden():
            return HTTPRefusal(403, "the policy in force does not allow reading these bytes")
        case NotFound():
            return HTTPRefusal(404, "there is no such thing here")
        case BadRequest():
            return HTTPRefusal(400, "this request makes no sense for the array")
        case TimeoutError():
            return HTTPRefusal(504, "the bytes did not come in time")
        case ByteatlasError():
            return HTTPRefusal(500, "this could not be read")
    return HTTPRefusal(500, "an error inside of the server; its log says more")


def _timed_out(error: BaseException) -> bool:
    found: BaseException | None = error
    while found is not None:
        if isinstance(found, TimeoutError):
            return True
        found = found.__cause__
    return False
