"""Storage options of fsspec's back ends: which link of a chain each is for, and whether anybody knows it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from byteatlas.errors import BadRequest, unknown_text
from byteatlas.io.urls import OBJECTS, WEB, protocol_of
from byteatlas.masking import masked

REQUEST = frozenset({
    "headers", "auth", "params", "cookies", "ssl", "proxy", "proxy_auth", "proxy_headers", "timeout", "max_redirects",
    "allow_redirects", "verify_ssl", "trust_env", "trace_request_ctx", "server_hostname", "chunked", "compress",
    "middlewares", "max_field_size", "max_line_size", "expect100", "raise_for_status", "skip_auto_headers",
})  # fmt: skip
"""What fsspec's HTTP hands on to aiohttp's requests."""
COMMON = frozenset({
    "use_listings_cache", "listings_expiry_time", "max_paths", "skip_instance_cache", "asynchronous", "loop",
    "batch_size",
})  # fmt: skip
"""What all file systems of fsspec take."""
CHECKED = frozenset({*WEB, *OBJECTS})
"""Protocols whose file systems take any option, and drop those that they do not know."""


def for_links(url: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """The options of a URL, each for its own link of the chain.

    Options under the name of a protocol are for that link, as fsspec has it. Of the others, those that the first link
    knows are its own, and the rest is for the last one, where the bytes come from.

    Raises `BadRequest` for an option that would be dropped without a word.
    """
    links = url.split("::")
    last = protocol_of(links[-1]) or "file"
    if len(links) == 1:
        _check(last, options)
        return dict(options)
    protocols = {protocol_of(link) or link for link in links}
    first = _names(protocol_of(links[0]) or links[0])
    mine = {k: v for k, v in options.items() if k in protocols or k in first}
    rest = {k: v for k, v in options.items() if k not in mine}
    own = mine.get(last) if isinstance(mine.get(last), Mapping) else {}
    _check(last, {**rest, **(own or {})})
    if rest:
        mine[last] = {**rest, **(own or {})}
    return mine


def _names(protocol: str) -> frozenset[str]:
    """The options that a protocol's file system has names for; none where it is not installed."""
    from inspect import Parameter, signature

    from fsspec import get_filesystem_class

    try:
        kind = get_filesystem_class(protocol)
    except (ImportError, ValueError):
        return frozenset()
    found = {
        name
        for each in kind.__mro__[:-1]
        for name, p in signature(each.__init__).parameters.items()
        if p.kind in (Parameter.POSITIONAL_OR_KEYWORD, Parameter.KEYWORD_ONLY)
    }
    return (frozenset(found) | COMMON | (REQUEST if protocol in WEB else frozenset())) - {"self"}


def _check(protocol: str, options: Mapping[str, Any]) -> None:
    if not options or protocol not in CHECKED or not (known := _names(protocol)):
        return
    for name in options:
        if name not in known:
            raise BadRequest(unknown_text("storage option", name, sorted(known)))


def unsuitable(url: str, error: TypeError) -> BadRequest:
    """The error for options that a back end does not take."""
    return BadRequest(f"{masked(url)} cannot be opened with these storage options: {error}")
