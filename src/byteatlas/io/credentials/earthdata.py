"""NASA Earthdata: a bearer token for web servers, and in the region of the archives temporary keys for their buckets.

Sources: Earthdata Login's documentation (user tokens, ``/api/users/find_or_create_token``) and that of the archives'
``/s3credentials`` (accessKeyId, secretAccessKey, sessionToken, expiration). The same files lie under
``https://HOST/BUCKET/KEY`` and ``s3://BUCKET/KEY``; the buckets answer in us-west-2 only.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import Any

from byteatlas.errors import FetchFailed
from byteatlas.io.urls import WEB, last_link, place, protocol_of
from byteatlas.values import dataclass

LOGIN = "https://urs.earthdata.nasa.gov"
REGION = "us-west-2"
SECONDS = 30.0
MOST = 1 << 20
HOSTS: Mapping[str, str] = {
    "podaac-": "archive.podaac.earthdata.nasa.gov",
    "lp-prod-": "data.lpdaac.earthdatacloud.nasa.gov",
    "gesdisc-": "data.gesdisc.earthdata.nasa.gov",
    "nsidc-": "data.nsidc.earthdatacloud.nasa.gov",
    "ornl-": "data.ornldaac.earthdata.nasa.gov",
    "ghrcw-": "data.ghrc.earthdata.nasa.gov",
    "prod-lads": "data.laadsdaac.earthdatacloud.nasa.gov",
    "asdc-": "data.asdc.earthdata.nasa.gov",
    "ob-cumulus": "obdaac-tea.earthdatacloud.nasa.gov",
    "asf-cumulus": "cumulus.asf.earthdatacloud.nasa.gov",
}
"""The web server of each archive, by how the names of its buckets begin."""


@dataclass(frozen=True, slots=True)
class Earthdata:
    """Who you are is said by the variable ``EARTHDATA_TOKEN``, else by ``~/.netrc`` (or ``NETRC``).

    Attributes:
        host: the archive's web server; None: known from the bucket's name.
        login: Earthdata Login.
    """

    host: str | None = None
    login: str = LOGIN

    def __call__(self, url: str) -> Mapping[str, Any]:
        """Options for a URL; for a bucket, keys, with the web server as the second choice where these are denied.

        Raises `FetchFailed` (denied) when nothing says who you are, or Earthdata does not know you.
        """
        link = last_link(url)
        token, until = self._token(link)
        bearer = {"headers": {"Authorization": f"Bearer {token}"}}
        if protocol_of(link) in WEB:
            return {**bearer, "expires": until}
        server = self._server(link)
        asked = f"{server}/s3credentials"
        keys = _answer(asked, {"Authorization": f"Bearer {token}"}, link)
        bucket = place(link).partition("://")[2]
        return {
            "key": _text(keys, "accessKeyId", asked, link),
            "secret": _text(keys, "secretAccessKey", asked, link),
            "token": _text(keys, "sessionToken", asked, link),
            "client_kwargs": {"region_name": REGION},
            "expires": keys.get("expiration"),
            "otherwise": {**bearer, "at": f"{server}/{bucket}"},
        }

    def _server(self, link: str) -> str:
        if self.host is not None:
            return self.host.rstrip("/") if "://" in self.host else f"https://{self.host}"
        bucket = place(link).partition("://")[2]
        found = next((host for start, host in HOSTS.items() if bucket.startswith(start)), None)
        if found is None:
            raise FetchFailed(link, "no archive of NASA is known for this bucket: say earthdata=HOST", denied=True)
        return f"https://{found}"

    def _token(self, link: str) -> tuple[str, str | None]:
        """A bearer token, and until when it holds."""
        token = os.environ.get("EARTHDATA_TOKEN")
        if token:
            return token.strip(), None
        user, password = self._user(link)
        from base64 import b64encode

        basic = b64encode(f"{user}:{password}".encode()).decode()
        headers = {"Authorization": f"Basic {basic}"}
        asked = f"{self.login}/api/users/find_or_create_token"
        found = _answer(asked, headers, link, "POST")
        return _text(found, "access_token", asked, link), _day(found.get("expiration_date"))

    def _user(self, link: str) -> tuple[str, str]:
        from netrc import NetrcParseError, netrc
        from urllib.parse import urlsplit

        path = os.environ.get("NETRC") or os.path.expanduser("~/.netrc")
        host = urlsplit(self.login).hostname or ""
        try:
            found = netrc(path).authenticators(host)
        except FileNotFoundError:
            found = None
        except (NetrcParseError, OSError, UnicodeError):
            raise FetchFailed(link, f"{path} cannot be read", denied=True) from None
        if found is None:
            why = f"nothing says who asks: set EARTHDATA_TOKEN, or write {host} into ~/.netrc"
            raise FetchFailed(link, why, denied=True)
        return found[0], found[2] or ""


def _text(found: Mapping[str, Any], name: str, url: str, link: str) -> str:
    """A member of an answer. Raises `FetchFailed` without it: other credentials than these must not be tried."""
    text = found.get(name)
    if not isinstance(text, str) or not text:
        raise FetchFailed(link, f"{url} gives no credentials: its answer has no {name}", denied=True)
    return text


def _day(text: object) -> str | None:
    """A day as Earthdata writes it (month/day/year), in ISO 8601."""
    parts = str(text or "").split("/")
    return f"{parts[2]}-{int(parts[0]):02}-{int(parts[1]):02}" if len(parts) == 3 else None


def _answer(url: str, headers: Mapping[str, str], link: str, method: str = "GET") -> Mapping[str, Any]:
    """A JSON object that a server answers with. Raises `FetchFailed`, in which nothing of what was sent is.

    Redirects are not followed: what is sent would go to another server.
    """
    from urllib.error import HTTPError, URLError
    from urllib.request import HTTPRedirectHandler, Request, build_opener

    class Stay(HTTPRedirectHandler):
        def redirect_request(self, *args: Any, **more: Any) -> None:
            return None

    request = Request(url, headers=dict(headers), method=method)
    try:
        with build_opener(Stay).open(request, timeout=SECONDS) as answer:
            found = json.loads(answer.read(MOST))
    except HTTPError as error:
        denied = error.code in (401, 403) or 300 <= error.code < 400
        why = f"{url} gives no credentials: it answered {error.code}"
        raise FetchFailed(link, why, denied=denied, transient=error.code >= 500) from None
    except (URLError, OSError) as error:
        why = f"{url} gives no credentials: {getattr(error, 'reason', error)}"
        raise FetchFailed(link, why, transient=True) from None
    except ValueError:
        raise FetchFailed(link, f"{url} gives no credentials: its answer is no JSON", denied=True) from None
    if not isinstance(found, dict):
        raise FetchFailed(link, f"{url} gives no credentials: its answer is no JSON object", denied=True)
    return found
