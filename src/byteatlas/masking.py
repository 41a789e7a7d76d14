"""URLs as they may be shown, and as they may be written down for others: without passwords, tokens and signatures."""

from __future__ import annotations

from collections.abc import Callable

SIGNATURES = frozenset({
    "x-amz-signature", "x-amz-credential", "x-amz-security-token", "x-goog-signature", "x-goog-credential", "signature",
    "sig", "awsaccesskeyid", "googleaccessid", "key-pair-id", "token", "access_token", "id_token", "apikey", "api_key",
    "api-key", "password", "secret", "authorization", "jwt", "__token__", "hdnea",
})  # fmt: skip
"""Query parameters that open what they stand beside: signed URLs of AWS (Signature Version 4), CloudFront, Google
Cloud and Azure, and what other servers call theirs."""
SIGNING = frozenset({
    "x-amz-algorithm", "x-amz-date", "x-amz-expires", "x-amz-signedheaders", "x-goog-algorithm", "x-goog-date",
    "x-goog-expires", "x-goog-signedheaders", "expires", "policy", "se", "sp", "sv", "sr", "st", "spr", "ske", "skoid",
    "sks", "skt", "sktid", "skv", "sip",
})  # fmt: skip
"""Query parameters that mean nothing without the signature beside them."""
HIDDEN = "***"
_ENDS = " \t\r\n\"'<>"


def masked(text: str) -> str:
    """A text in which the URLs show no user names, passwords and secret parameters.

    >>> masked("no answer from https://me:pass@host/a.nc?X-Amz-Signature=0af3&version=2 today")
    'no answer from https://***@host/a.nc?X-Amz-Signature=***&version=2 today'
    """
    return _each_url(text, lambda url: _url(url, f"{HIDDEN}@", _hidden))


def without_secrets(url: str) -> str:
    """A URL without user name, password, and what belongs to a signature.

    >>> without_secrets("https://me:pass@host/a.nc?X-Amz-Signature=0af3&X-Amz-Date=now&version=2")
    'https://host/a.nc?version=2'
    """
    return _each_url(url, lambda one: _url(one, "", _dropped))


def _each_url(text: str, edit: Callable[[str], str]) -> str:
    """Edit what follows each ``://``, up to a blank, a quote or the next link of a chain."""
    if "://" not in text or ("@" not in text and "?" not in text):
        return text
    head, *rest = text.split("://")
    parts = [head]
    for part in rest:
        stop = min((k for k in map(part.find, (*_ENDS, "::")) if k >= 0), default=len(part))
        parts.append(edit(part[:stop]) + part[stop:])
    return "://".join(parts)


def _url(url: str, user: str, edit: Callable[[list[str]], list[str]]) -> str:
    """``url`` is all behind the protocol; ``edit`` sees the query's parameters."""
    before, mark, query = url.partition("?")
    authority, slash, path = before.partition("/")
    if "@" in authority:
        authority = user + authority.rpartition("@")[2]
    parameters = edit(query.split("&")) if mark else []
    return authority + slash + path + (mark if parameters else "") + "&".join(parameters)


def _name(parameter: str) -> str:
    return parameter.partition("=")[0].lower()


def _hidden(parameters: list[str]) -> list[str]:
    return [f"{p.partition('=')[0]}={HIDDEN}" if _name(p) in SIGNATURES and "=" in p else p for p in parameters]


def _dropped(parameters: list[str]) -> list[str]:
    signed = not SIGNATURES.isdisjoint(map(_name, parameters))
    gone = SIGNATURES | SIGNING if signed else SIGNATURES
    return [p for p in parameters if _name(p) not in gone]
