"""obstore's stores. Whoever reaches one bucket in one way has the same one: making it reads the system's certificates,
which takes longer than the scan of a small file, and each has connections of its own.
"""

from __future__ import annotations

import json
import os
from datetime import timedelta
from functools import lru_cache
from typing import Any

from byteatlas.io.sources.objects.options import S3, Arguments
from byteatlas.io.sources.objects.profiles import keys_alone

CONNECT = 10.0
"""Seconds for a connection, at the most."""
KEPT = 32
"""Stores that are kept for the next one who wants the same."""
READ_BY_OBSTORE = ("AWS_", "GOOGLE_", "AZURE_", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "SSL_CERT_")
"""How the variables of the environment begin that a store depends on, in capitals."""


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
    return _kept(made.kind, text, idle, environment, os.getpid())


@lru_cache(maxsize=KEPT)
def _kept(kind: str, text: str, idle: float, environment: tuple[tuple[str, str], ...], process: int) -> Any:
    return _new(Arguments(kind, **json.loads(text)), idle)


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
