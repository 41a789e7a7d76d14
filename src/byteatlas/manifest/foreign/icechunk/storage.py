"""Where repositories lie: icechunk's storage and store configurations for URLs; its errors as ours."""

from __future__ import annotations

import os
from collections.abc import Coroutine, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urlsplit

from byteatlas.errors import BadRequest, ByteatlasError, Conflict, FetchFailed, MissingExtra, NotFound
from byteatlas.io.access import DEFAULT, Access
from byteatlas.io.local import local_path
from byteatlas.types import JSON

T = TypeVar("T")
NO_VERSION = ("ref not found", "invalid snapshot id", "snapshot not found")
DENIED = ("AccessDenied", "Forbidden", "InvalidAccessKeyId", "SignatureDoesNotMatch", "ExpiredToken", "Unauthorized")
"""What object storage says, in icechunk's messages: its errors have no field for it."""


def library() -> Any:
    """The package icechunk. Raises `MissingExtra`."""
    try:
        import icechunk
    except ImportError as error:
        raise MissingExtra("icechunk", "an Icechunk repository") from error
    return icechunk


def wait(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine to its end on zarr's own event loop, also where one runs already (notebooks)."""
    from zarr.core.sync import sync

    found: T = sync(work)
    return found


@contextmanager
def our_errors(where: object) -> Iterator[None]:
    """What icechunk raises, as errors of ours."""
    base = getattr(library(), "IcechunkError", ValueError)
    name = os.fspath(where) if isinstance(where, (str, os.PathLike)) else "Icechunk repository"
    try:
        yield
    except ByteatlasError:
        raise
    except base as error:
        raise _ours(name, error) from error
    except BaseException as error:  # a panic of its Rust is no Exception, and its class cannot be imported
        if type(error).__name__ != "PanicException":
            raise
        raise FetchFailed(name, str(error).partition("\n")[0][:200]) from error


def _ours(where: str, error: Exception) -> ByteatlasError:
    text = str(error).partition("\n")[0]
    kind = type(error).__name__
    if kind == "ConflictError":
        return Conflict([f"{where} was written by others meanwhile ({text})"], "commit")
    if kind in ("RefNotFoundError", "SnapshotNotFoundError", "NodeNotFoundError") or any(t in text for t in NO_VERSION):
        return NotFound(f"{where}: {text}")
    if kind == "RepositoryNotFoundError" or "repository doesn't exist" in text:
        return FetchFailed(where, "there is no Icechunk repository", absent=True)
    if "NoSuchBucket" in text:
        return FetchFailed(where, "there is no such bucket", absent=True)
    if any(t in text for t in DENIED):
        return FetchFailed(where, f"the storage refuses access; check the credentials ({text})", denied=True)
    return FetchFailed(where, text, absent="doesn't exist" in text)


def storage_of(where: str | os.PathLike[str] | Any, access: Access = DEFAULT) -> Any:
    """icechunk's storage: of a local path or a URL, anything else is icechunk's own object already.

    Raises `BadRequest` for a protocol that icechunk does not know.
    """
    if not isinstance(where, (str, os.PathLike)):
        return where
    ice, url = library(), os.fspath(where)
    path = local_path(url)
    if path is not None:
        return ice.local_filesystem_storage(str(Path(path).absolute()))
    parts, options = urlsplit(url), access.options_for(url)
    prefix = parts.path.strip("/") or None
    match parts.scheme:
        case "s3" | "s3a":
            return ice.s3_storage(bucket=parts.netloc, prefix=prefix, **_s3_place(options), **_s3_keys(options))
        case "gs" | "gcs":
            anonymous = options.get("token") == "anon"
            return ice.gcs_storage(bucket=parts.netloc, prefix=prefix, anonymous=anonymous, from_env=not anonymous)
        case "http" | "https":
            return ice.http_storage(url)
        case "az" | "abfs" | "abfss":
            return _azure(ice, parts.netloc.partition("@")[0], prefix, options, url)
    raise BadRequest(f"{url}: pass one of icechunk's storage objects for a repository of this protocol")


def _azure(ice: Any, container: str, prefix: str | None, options: Mapping[str, JSON], url: str) -> Any:
    account = options.get("account_name")
    if not isinstance(account, str):
        raise BadRequest(f"{url}: the storage option account_name is missing")
    key, token = options.get("account_key"), options.get("sas_token")
    return ice.azure_storage(
        account=account, container=container, prefix=prefix or "", access_key=key, sas_token=token,
        from_env=key is None and token is None,
    )  # fmt: skip


def _text(value: JSON) -> str | None:
    return value if isinstance(value, str) and value else None


def _s3_place(options: Mapping[str, JSON]) -> dict[str, Any]:
    """Region and end point, from s3fs' options or obstore's."""
    client = options.get("client_kwargs")
    inner: Mapping[str, JSON] = client if isinstance(client, Mapping) else {}
    endpoint = _text(options.get("endpoint_url")) or _text(inner.get("endpoint_url")) or _text(options.get("endpoint"))
    region = _text(inner.get("region_name")) or _text(options.get("region"))
    found: dict[str, Any] = {"region": region or ("us-east-1" if endpoint else None)}
    if endpoint:
        found |= {"endpoint_url": endpoint, "allow_http": endpoint.startswith("http:"), "force_path_style": True}
    return found


def _s3_keys(options: Mapping[str, JSON]) -> dict[str, Any]:
    """Credentials: s3fs' options (or obstore's names for them), else the environment's."""
    key = _text(options.get("key")) or _text(options.get("access_key_id"))
    secret = _text(options.get("secret")) or _text(options.get("secret_access_key"))
    if options.get("anon") or options.get("skip_signature"):
        return {"anonymous": True}
    if key and secret:
        token = _text(options.get("token")) or _text(options.get("session_token"))
        return {"access_key_id": key, "secret_access_key": secret, "session_token": token}
    return {"from_env": True}


def container_store(url: str, access: Access) -> tuple[str, Any] | None:
    """The prefix of a remote source, and icechunk's store configuration for it; None for protocols it does not know."""
    ice, parts = library(), urlsplit(url)
    prefix, options = f"{parts.scheme}://{parts.netloc}/", access.options_for(url)
    match parts.scheme:
        case "s3":
            anonymous = bool(options.get("anon") or options.get("skip_signature"))
            place = {k: v for k, v in _s3_place(options).items() if v is not None}
            compatible = {"s3_compatible": True} if "endpoint_url" in place else {}
            return prefix, ice.s3_store(anonymous=anonymous, **place, **compatible)
        case "gs" | "gcs":
            return prefix, ice.gcs_store()
        case "http" | "https":
            return prefix, ice.http_store()
        case _:
            return None


def container_credentials(prefix: str, access: Access) -> Any:
    """What icechunk asks for before it reads virtual chunks below a prefix."""
    ice = library()
    sentinels = getattr(ice, "credentials", None)
    match prefix.partition("://")[0]:
        case "file":
            return getattr(sentinels, "LocalFileSystemAccess", None)  # icechunk 2 wants it said
        case "http" | "https":
            return getattr(sentinels, "HttpAccess", None)
        case "s3":
            keys = _s3_keys(access.options_for(prefix))
            return ice.s3_credentials(**keys)
        case _:
            return None
