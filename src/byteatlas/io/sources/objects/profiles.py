"""Keys for S3 as the AWS command line takes them, and obstore does not: profiles in ``~/.aws``, keys by themselves."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from byteatlas.errors import BadRequest
from byteatlas.values import dataclass

NAMES: Mapping[str, str] = {
    "aws_access_key_id": "access_key_id", "aws_secret_access_key": "secret_access_key",
    "aws_session_token": "session_token", "region": "region", "endpoint_url": "endpoint",
}  # fmt: skip
ASKS = ("sso_session", "sso_start_url", "role_arn", "credential_process", "source_profile", "login_session")
"""What says that a profile's credentials have to be asked for."""


class AskingProfile(BadRequest):
    """A profile without credentials in it: s3fs (botocore) knows how to ask for them."""


def profile_options(name: Any) -> dict[str, str]:
    """obstore's options for a profile; None: the usual one, and nothing where the environment has credentials.

    Raises:
        BadRequest: there is no such profile.
        AskingProfile: its credentials have to be asked for (single sign-on, roles, programs).
    """
    if name is None and any(os.environ.get(n) for n in ("AWS_ACCESS_KEY_ID", "AWS_WEB_IDENTITY_TOKEN_FILE")):
        return {}
    wanted = str(name or os.environ.get("AWS_PROFILE") or os.environ.get("AWS_DEFAULT_PROFILE") or "default")
    found = _sections(wanted)
    if not found:
        if wanted == "default" and name is None:
            return {}
        raise BadRequest(f"there is no profile {wanted!r} in ~/.aws/credentials or ~/.aws/config")
    if "aws_access_key_id" not in found and any(a in found for a in ASKS):
        raise AskingProfile(f"the credentials of profile {wanted!r} have to be asked for: say backend='fsspec'")
    return {NAMES[key]: value for key, value in found.items() if key in NAMES}


def _sections(name: str) -> dict[str, str]:
    import configparser

    found: dict[str, str] = {}
    home = os.path.expanduser("~/.aws")
    for path, section in (
        (os.environ.get("AWS_CONFIG_FILE") or f"{home}/config", name if name == "default" else f"profile {name}"),
        (os.environ.get("AWS_SHARED_CREDENTIALS_FILE") or f"{home}/credentials", name),
    ):
        parser = configparser.RawConfigParser()
        try:
            parser.read(os.path.expanduser(path), encoding="utf-8")
        except (configparser.Error, UnicodeError) as error:
            raise BadRequest(f"{path} cannot be read: {type(error).__name__}") from None  # its text has secrets in it
        if parser.has_section(section):
            found.update(parser.items(section))
    return found


@dataclass(frozen=True, slots=True)
class GivenKeys:
    """Keys that hold by themselves. obstore adds the environment's session token to keys that are options, and sends it
    with them to whatever endpoint they are for."""

    access_key_id: str
    secret_access_key: str

    def __repr__(self) -> str:
        return "GivenKeys()"

    def __call__(self) -> dict[str, Any]:
        keys = {"access_key_id": self.access_key_id, "secret_access_key": self.secret_access_key}
        return {**keys, "token": None, "expires_at": None}


def keys_alone(config: dict[str, Any]) -> GivenKeys | None:
    """The keys among options, taken out where the environment has a session token that is not theirs."""
    whole = config.get("access_key_id") and config.get("secret_access_key")
    if not whole or config.get("session_token") or config.get("skip_signature"):
        return None
    if not any(os.environ.get(name) for name in ("AWS_SESSION_TOKEN", "AWS_TOKEN")):
        return None
    return GivenKeys(str(config.pop("access_key_id")), str(config.pop("secret_access_key")))
