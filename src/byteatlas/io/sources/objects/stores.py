"""obstore's stores. Whoever reaches one bucket in one way has the same one: making it reads the system's certificates,
which takes longer than the scan of a small file, and each has connections of its own.
"""

from __future__ import annotations

import json
import os
from contextlib import suppress
from datetime import timedelta
from functools import lru_cache
from typing import Any

from byteatlas.io.sources.objects.options import GCS, S3, Arguments
from byteatlas.io.sources.objects.profiles import keys_alone

CONNECT = 10.0
"""Seconds for a connection, at the most."""
KEPT = 32
"""Stores that are kept for the next one who wants the same."""
READ_BY_OBSTORE = (
    "AWS_", "GOOGLE_", "AZURE_", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "SSL_CERT_",
    "SERVICE_ACCOUNT", "IDENTITY_", "HOME", "APPDATA",
)  # fmt: skip
"""How the variables of the environment begin that a store depends on, in capitals; the last ones say where credentials
of Google and Azure are."""
KEY_FILES = ("application_credentials", "service_account", "service_account_path")
"""Options, and ends of variables, that name files with Google's credentials, which are read when a store is made."""
USUAL_KEY_FILE = "~/.config/gcloud/application_default_credentials.json"


def store_of(made: Arguments, idle: float) -> Any:
    """The store for some arguments, as the environment is now.

    Args:
        idle: seconds without a byte after which a connection is dead.

    Raises whatever obstore does.
    """
    given = {"bucket": made.bucket, "config": made.config, "client": made.client}
    try:
        text = json.dumps(given, sort_keys=True)
    except (TypeError, ValueError):
        return _new(made, idle)
    if json.loads(text) != given:  # something that JSON has no word for, a tuple for one
        return _new(made, idle)
    environment = tuple(sorted([(n, v) for n, v in os.environ.items() if n.upper().startswith(READ_BY_OBSTORE)]))
    return _kept(made.kind, text, idle, (*environment, *_key_files(made)), os.getpid())


@lru_cache(maxsize=KEPT)
def _kept(kind: str, text: str, idle: float, outside: tuple[object, ...], process: int) -> Any:
    return _new(Arguments(kind, **json.loads(text)), idle)


def _key_files(made: Arguments) -> list[tuple[str, int, int, int]]:
    """The files with credentials that a store may be made of, as they are now: other ones may be put in their place."""
    if made.kind != GCS:
        return []
    named = [str(made.config[name]) for name in KEY_FILES if made.config.get(name)]
    named += [value for name, value in os.environ.items() if name.lower().endswith(KEY_FILES)]
    found: list[tuple[str, int, int, int]] = []
    for name in (*named, os.path.expanduser(USUAL_KEY_FILE)):
        with suppress(OSError, ValueError):
            facts = os.stat(name)
            found.append((name, facts.st_ino, facts.st_size, facts.st_mtime_ns))
    return found


def _new(made: Arguments, idle: float) -> Any:
    import obstore.store

    config = dict(made.config)
    keys = keys_alone(config) if made.kind == S3 else None
    alone = {} if keys is None else {"credential_provider": keys}
    limits = {
        "timeout": "1day",
        "read_timeout": timedelta(seconds=idle),
        "connect_timeout": timedelta(seconds=min(CONNECT, idle)),
        **made.client,
    }
    return getattr(obstore.store, made.kind)(
        made.bucket, config=config, client_options=limits, retry_config={"max_retries": 0}, **alone
    )
