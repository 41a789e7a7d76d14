"""What a provider of credentials is."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

CredentialProvider: TypeAlias = Callable[[str], Mapping[str, Any]]
"""From a URL to the storage options for what lies beside it: those of s3fs, gcsfs, adlfs, obstore or fsspec's HTTP.

The key ``expires``, if there is one, says until when they hold: seconds since 1970, a `datetime`, or a text in ISO
8601. The key ``otherwise`` holds options to take when these are denied, and in them ``at``: the URL below which the
files of this server or bucket lie as well.
"""
