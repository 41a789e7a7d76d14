"""What a format's library opens for a source."""

from __future__ import annotations

import io
from typing import Any

from byteatlas.io.local import local_path
from byteatlas.io.source import Source


def path_or_bytes(source: Source) -> Any:
    """What a library opens: the path of a local file, else the bytes of the whole file."""
    path = local_path(source.url)
    return path if path is not None else io.BytesIO(bytes(source.read_all()))
