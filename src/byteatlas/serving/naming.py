"""What clients are told of names: of the served targets, and of the files that hold the bytes."""

from __future__ import annotations

import re
from collections.abc import Iterable

from byteatlas.errors import BadRequest, Forbidden
from byteatlas.io.policy import NETWORK, Policy, reach_of
from byteatlas.io.urls import last_link
from byteatlas.masking import without_secrets

RESERVED = "-"
"""The first segment of what belongs to the pages themselves."""
_ODD = re.compile(r"[^\w.+-]+")
_SUFFIXES = re.compile(r"(\.json(\.(gz|zst|bz2|xz))?|\.parquet|\.parq|\.zarr(\.zip)?|\.zip)$", re.IGNORECASE)


def short_name(url: str) -> str:
    """The name under which a target is served: its last part without the suffix of a map or store.

    >>> short_name("s3://bucket/maps/ocean.parquet"), short_name("/data/all years.nc"), short_name("https://h/x?key=1")
    ('ocean', 'all-years.nc', 'x')
    """
    plain = last_link(url).partition("?")[0].rstrip("/").rpartition("/")[2]
    name = _ODD.sub("-", _SUFFIXES.sub("", plain)).strip(".-")
    return name or "data"


def check_name(name: str) -> str:
    """Raises `BadRequest` for a name that cannot be the first part of a path."""
    if not name or _ODD.search(name) or name.strip(".") == "" or name == RESERVED:
        raise BadRequest(f"{name!r} cannot be a name here: letters, digits and . _ + - are")
    return name


def distinct(names: Iterable[str]) -> list[str]:
    """Names in order, those that repeat with a number.

    >>> distinct(["a", "b", "a"])
    ['a', 'b', 'a-2']
    """
    out: list[str] = []
    for name in names:
        found, n = name, 1
        while found in out:
            n += 1
            found = f"{name}-{n}"
        out.append(found)
    return out


def may_be_named(url: str, policy: Policy | None) -> bool:
    """Whether clients may be told a source's URL."""
    if without_secrets(url) != url:
        return False
    try:
        (policy or Policy(local=False)).check(url, foreign=reach_of(url) != NETWORK)
    except Forbidden:
        return False
    return True


def public_name(url: str, policy: Policy | None) -> str:
    """A source as pages and messages call it: its URL, or the last part of it where that is all that may be told."""
    if may_be_named(url, policy):
        return url
    return without_secrets(last_link(url)).partition("?")[0].rstrip("/").rpartition("/")[2] or "a source"


def is_web(url: str) -> bool:
    """Whether a browser can follow a URL."""
    return url.startswith(("https://", "http://"))
