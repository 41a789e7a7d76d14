"""What a format's library opens for a source."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from byteatlas.io.local import local_path
from byteatlas.io.source import Source
from byteatlas.io.sources.file_object import open_file

BLOCK = 8 << 20
"""Bytes of a request: most of a file is read, so that few large ones are best."""


@contextmanager
def path_or_file(source: Source) -> Iterator[Any]:
    """The path of a local file, else a file object."""
    path = local_path(source.url)
    if path is not None:
        yield path
        return
    with open_file(source, BLOCK) as file:
        yield file
