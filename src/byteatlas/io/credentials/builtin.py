"""The providers that come with us."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from byteatlas.errors import BadRequest
from byteatlas.io.credentials.contract import CredentialProvider
from byteatlas.io.credentials.earthdata import Earthdata
from byteatlas.io.urls import last_link, protocol_of
from byteatlas.values import dataclass

AMAZON = frozenset({"s3", "s3a"})


def anonymous(url: str) -> Mapping[str, Any]:
    """No credentials: for what is open to all."""
    if protocol_of(last_link(url)) in ("gs", "gcs"):
        return {"token": "anon"}
    return {"anon": True}


def requester_pays(url: str) -> Mapping[str, Any]:
    """The credentials that are there anyway; who reads pays."""
    return {"requester_pays": True}


def environment(url: str) -> Mapping[str, Any]:
    """What the back end finds: variables of the environment, the files of the cloud's own tools, the machine's role."""
    return {}


@dataclass(frozen=True, slots=True)
class Profile:
    """A profile in ``~/.aws``; None: ``AWS_PROFILE``, or the usual one."""

    name: str | None = None

    def __call__(self, url: str) -> Mapping[str, Any]:
        import os

        if protocol_of(last_link(url)) not in AMAZON:
            raise BadRequest("profiles are for s3:// URLs; of Google and Azure the environment says who asks")
        name = self.name or os.environ.get("AWS_PROFILE")
        return {"profile": name} if name else {}


def _plain(provider: CredentialProvider) -> Callable[[str | None], CredentialProvider]:
    def made(argument: str | None) -> CredentialProvider:
        if argument is not None:
            raise BadRequest("only profile= and earthdata= have something behind their names")
        return provider

    return made


BUILT_IN: Mapping[str, Callable[[str | None], CredentialProvider]] = {
    "anonymous": _plain(anonymous),
    "requester_pays": _plain(requester_pays),
    "environment": _plain(environment),
    "profile": Profile,
    "earthdata": lambda host: Earthdata(host),
}
"""By name; ``profile=NAME`` and ``earthdata=HOST`` say more."""
