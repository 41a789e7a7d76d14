"""Is a source still the file that was indexed?"""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

from byteatlas.errors import SourceChanged
from byteatlas.io.local import LocalSource
from byteatlas.io.source import Source

Check: TypeAlias = Literal["free", "size", "stamp", "off"]
"""What is compared when a source is opened: ``free`` the size where that costs no request (local files), ``size`` the
size, ``stamp`` the size and the etag or modification time, ``off`` nothing."""


def _innermost(source: Any) -> Any:
    while not hasattr(source, "stamp") and hasattr(source, "inner"):
        source = source.inner
    return source


def stamp_of(source: Source) -> str | None:
    """The etag or modification time of a source, as text; None where the storage does not tell."""
    inner = _innermost(source)
    found: str | None = inner.stamp() if hasattr(inner, "stamp") else None
    return found


def check_source(source: Source, size: int | None, stamp: str | None, check: Check) -> None:
    """Compare a source with what was recorded when it was indexed; nothing recorded, nothing compared.

    Raises:
        SourceChanged: size or stamp differ.
        FetchFailed: the storage does not answer.
    """
    if check == "off" or (check == "free" and not isinstance(_innermost(source), LocalSource)):
        return
    if size is not None and (found := source.size()) != size:
        raise SourceChanged(source.url, "size", size, found)
    if check == "stamp" and stamp is not None:
        now = stamp_of(source)
        if now is not None and now != stamp:
            raise SourceChanged(source.url, "stamp (etag or modification time)", stamp, now)
