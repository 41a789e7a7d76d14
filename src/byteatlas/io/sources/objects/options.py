"""Storage options, as people write them for s3fs, gcsfs, adlfs and obstore, as arguments of obstore's stores.

The one place where names of options are translated. What obstore cannot do is said (`Untranslatable`): the caller then
takes fsspec's back end, where that is installed.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from byteatlas.arguments import wrong
from byteatlas.errors import BadRequest, unknown_text
from byteatlas.io.sources.objects.profiles import profile_options
from byteatlas.types import JSON
from byteatlas.values import dataclass, field

S3, GCS, AZURE = "S3Store", "GCSStore", "AzureStore"
KINDS: Mapping[str, str] = {
    "s3": S3, "s3a": S3, "gs": GCS, "gcs": GCS, "az": AZURE, "abfs": AZURE, "abfss": AZURE, "adl": AZURE,
}  # fmt: skip
"""obstore's store for each protocol."""
CLIENT = frozenset({
    "allow_http", "allow_invalid_certificates", "connect_timeout", "default_headers", "http1_only", "http2_only",
    "pool_idle_timeout", "pool_max_idle_per_host", "proxy_url", "proxy_ca_certificate", "proxy_excludes",
    "root_certificate", "user_agent",
})  # fmt: skip
"""obstore's options of connections. Its own time-outs and retries are ours (`byteatlas.io.retry`)."""
OWN: Mapping[str, frozenset[str]] = {
    S3: frozenset({
        "access_key_id", "secret_access_key", "session_token", "region", "default_region", "endpoint", "bucket_name",
        "checksum_algorithm", "container_credentials_relative_uri", "container_credentials_full_uri",
        "container_authorization_token_file", "imdsv1_fallback", "metadata_endpoint", "request_payer", "role_arn",
        "role_session_name", "s3_express", "server_side_encryption", "skip_signature", "sse_bucket_key_enabled",
        "sse_customer_key_base64", "sse_kms_key_id", "sts_endpoint", "unsigned_payload",
        "virtual_hosted_style_request", "web_identity_token_file", "conditional_put", "disable_tagging",
        "disable_bulk_delete",
    }),
    GCS: frozenset({
        "service_account", "service_account_key", "base_url", "bearer_token", "application_credentials",
        "skip_signature",
    }),
    AZURE: frozenset({
        "account_name", "account_key", "client_id", "client_secret", "tenant_id", "authority_host", "sas_key", "token",
        "use_emulator", "use_fabric_endpoint", "endpoint", "msi_endpoint", "object_id", "msi_resource_id",
        "federated_token_file", "use_azure_cli", "skip_signature", "encryption_key",
    }),
}  # fmt: skip
"""obstore's options of each store (obstore 0.12: S3Config, GCSConfig, AzureConfig)."""
TUNING = frozenset({
    "default_block_size", "default_fill_cache", "default_cache_type", "max_concurrency", "fixed_upload_size",
    "skip_instance_cache", "use_listings_cache", "listings_expiry_time", "max_paths", "asynchronous", "loop",
    "batch_size", "cache_regions", "block_size", "cache_type", "cache_timeout", "consistency", "blocksize",
    "max_connections",
})  # fmt: skip
"""Options of fsspec's back ends that change no result, and mean nothing to obstore."""
ENDPOINTS = ("endpoint", "base_url", "metadata_endpoint", "sts_endpoint", "msi_endpoint", "authority_host")
"""Options that are URLs of servers."""
ENDPOINT = re.compile(r"https?://[^/?#\s]+", re.IGNORECASE)
KEY_FILES = ("service_account", "service_account_key")
"""Options that may be the text of a file, with line breaks."""
Config: TypeAlias = dict[str, Any]
Step: TypeAlias = Callable[[Any, "Arguments"], None]


class Untranslatable(BadRequest):
    """An option of fsspec's back end that obstore has nothing for."""


@dataclass(slots=True)
class Arguments:
    """What one of obstore's stores is made with.

    Attributes:
        kind: its class.
        bucket: or container.
        config, client: its options, and those of its connections.
    """

    kind: str
    bucket: str
    config: Config = field(default_factory=dict)
    client: Config = field(default_factory=dict)


def arguments(protocol: str, bucket: str, options: Mapping[str, JSON]) -> Arguments:
    """The arguments for a bucket, from the options of its URL.

    Raises:
        Untranslatable: an option that only fsspec's back end knows.
        BadRequest: an option that nobody knows, or a value of the wrong kind.
    """
    made = Arguments(KINDS[protocol], bucket)
    steps = STEPS[made.kind]
    if made.kind == AZURE and "@" in bucket:
        made.bucket, _, host = bucket.partition("@")
        made.config["account_name"] = host.partition(".")[0]
    for name, value in options.items():
        plain = name.removeprefix("aws_").removeprefix("google_").removeprefix("azure_storage_")
        if name in steps:
            steps[name](value, made)
        elif name in TUNING or value is None:
            continue
        elif name == "client_options" and isinstance(value, Mapping):
            made.client.update(value)
        elif name in CLIENT:
            made.client[name] = value
        elif name in OWN[made.kind] or plain in OWN[made.kind]:
            made.config[plain if plain in OWN[made.kind] else name] = value
        elif name in ELSEWHERE[made.kind]:
            raise Untranslatable(f"obstore has nothing for the option {name!r}: say backend='fsspec'")
        else:
            raise BadRequest(unknown_text("storage option", name, known_options(made.kind)))
    _check_config(made.config)
    return _completed(made, options)


def _check_config(config: Config) -> None:
    """Raise `BadRequest` for values with which obstore would end in a panic of its own."""
    for name, value in config.items():
        if not isinstance(value, (str, bool)):
            raise wrong(f"storage option {name}", value, "text")
        if isinstance(value, str) and name not in KEY_FILES and not value.isprintable():
            raise BadRequest(f"storage option {name} holds control characters")
        if name in ENDPOINTS and not ENDPOINT.match(str(value)):
            raise wrong(f"storage option {name}", value, "a URL that begins with https:// or http://", True)


def known_options(kind: str) -> list[str]:
    """The options that are understood for a store."""
    return sorted({*STEPS[kind], *OWN[kind], *ELSEWHERE[kind], *CLIENT, "client_options"})


def _completed(made: Arguments, options: Mapping[str, JSON]) -> Arguments:
    """What fsspec's back ends look up by themselves, and obstore does not."""
    config = made.config
    endpoint = str(config.get("endpoint") or config.get("base_url") or "")
    if made.kind == S3:
        config.setdefault("disable_bulk_delete", True)  # one by one: not all servers know how to remove many
        if not config.get("skip_signature") and "access_key_id" not in config:
            for name, value in profile_options(options.get("profile")).items():
                config.setdefault(name, value)
        endpoint = endpoint or str(config.get("endpoint") or os.environ.get("AWS_ENDPOINT_URL", ""))
        given = ("region", "default_region")
        if not any(config.get(n) for n in given) and not _in_environment("AWS_REGION", "AWS_DEFAULT_REGION"):
            config["region"] = "us-east-1"
    if made.kind == AZURE and not config and not _in_environment("AZURE_STORAGE_ACCOUNT_NAME", "AZURE_STORAGE_ACCOUNT"):
        raise BadRequest("Azure needs the name of the account: storage_options={'account_name': ...}")
    if made.kind == GCS and config.get("skip_signature") and config.get("base_url"):
        config["service_account_key"] = _no_key(str(config.pop("base_url")))
        del config["skip_signature"]  # with which obstore reads only
    if endpoint.startswith("http://"):
        made.client.setdefault("allow_http", True)
    return made


def _no_key(url: str) -> str:
    """The key of nobody, for a server that stands in for Google's, as obstore takes it."""
    import json

    nobody = {"client_email": "", "private_key": "", "private_key_id": ""}
    return json.dumps({"gcs_base_url": url, "disable_oauth": True, **nobody})


def _in_environment(*names: str) -> bool:
    return any(os.environ.get(name) for name in names)


def _to(name: str) -> Step:
    def step(value: Any, made: Arguments) -> None:
        if value is not None:
            made.config[name] = value

    return step


def _anonymous(value: Any, made: Arguments) -> None:
    if value:
        made.config["skip_signature"] = True


def _nothing(value: Any, made: Arguments) -> None:
    """Looked at elsewhere."""


def _client_kwargs(value: Any, made: Arguments) -> None:
    """Of botocore's client."""
    names = {"endpoint_url": "endpoint", "region_name": "region", "aws_access_key_id": "access_key_id",
             "aws_secret_access_key": "secret_access_key", "aws_session_token": "session_token"}  # fmt: skip
    for name, item in dict(value or {}).items():
        if name in names:
            made.config[names[name]] = item
        elif name == "verify" and isinstance(item, bool):
            made.client["allow_invalid_certificates"] = not item
        elif name == "use_ssl":
            made.client["allow_http"] = not item
        else:
            raise Untranslatable(f"obstore has nothing for client_kwargs {name!r}: say backend='fsspec'")


def _config_kwargs(value: Any, made: Arguments) -> None:
    """Of botocore's configuration: how buckets are spelled; connections and retries are ours."""
    for name, item in dict(value or {}).items():
        if name == "s3" and isinstance(item, Mapping) and set(item) <= {"addressing_style"}:
            made.config["virtual_hosted_style_request"] = item.get("addressing_style") == "virtual"
        elif name not in ("max_pool_connections", "retries", "connect_timeout", "read_timeout"):
            raise Untranslatable(f"obstore has nothing for config_kwargs {name!r}: say backend='fsspec'")


def _google_token(value: Any, made: Arguments) -> None:
    if value == "anon":
        made.config["skip_signature"] = True
    elif isinstance(value, Mapping):
        import json

        made.config["service_account_key"] = json.dumps(value)
    elif isinstance(value, str) and value.endswith(".json"):
        made.config["application_credentials"] = value
    elif value not in (None, "google_default", "cloud"):
        raise Untranslatable("obstore has nothing for this kind of token: say backend='fsspec'")


def _connection_string(value: Any, made: Arguments) -> None:
    names = {"AccountName": "account_name", "AccountKey": "account_key", "BlobEndpoint": "endpoint",
             "SharedAccessSignature": "sas_key"}  # fmt: skip
    for part in str(value or "").split(";"):
        name, _, item = part.partition("=")
        if name in names:
            made.config[names[name]] = item


STEPS: Mapping[str, Mapping[str, Step]] = {
    S3: {
        "anon": _anonymous, "key": _to("access_key_id"), "secret": _to("secret_access_key"),
        "username": _to("access_key_id"), "password": _to("secret_access_key"), "token": _to("session_token"),
        "endpoint_url": _to("endpoint"), "client_kwargs": _client_kwargs, "config_kwargs": _config_kwargs,
        "requester_pays": _to("request_payer"), "profile": _nothing,
        "use_ssl": lambda value, made: made.client.update(allow_http=not value),
    },
    GCS: {"anon": _anonymous, "token": _google_token, "endpoint_url": _to("base_url"), "project": _nothing,
          "access": _nothing},
    AZURE: {"anon": _anonymous, "sas_token": _to("sas_key"), "connection_string": _connection_string,
            "endpoint_url": _to("endpoint")},
}  # fmt: skip
"""What is done for each option of s3fs, gcsfs and adlfs."""
ELSEWHERE: Mapping[str, frozenset[str]] = {
    S3: frozenset({"s3_additional_kwargs", "session", "version_aware"}),
    GCS: frozenset({"requester_pays", "session_kwargs", "check_connection", "timeout", "default_location",
                    "version_aware", "secure_serialize"}),
    AZURE: frozenset({"credential", "request_session", "socket_timeout", "assume_container_exists", "account_host",
                      "location_mode", "version_aware"}),
}  # fmt: skip
"""Options that s3fs, gcsfs and adlfs alone know."""
