"""What callers name: paths, URLs, open files, virtual nodes; and how each may be reached."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import BinaryIO, TypeAlias

from byteatlas.errors import BadRequest
from byteatlas.io.access import DEFAULT, Access
from byteatlas.io.policy import Policy
from byteatlas.io.sources.open_file import is_open_file, source_of
from byteatlas.manifest.model import VirtualNode
from byteatlas.types import JSON

Target: TypeAlias = str | os.PathLike[str]
Readable: TypeAlias = Target | BinaryIO
"""What can be read from: a path, a URL, or an open binary file that can seek."""
References: TypeAlias = Mapping[str, JSON]
"""Kerchunk's references as a dict, of version 0 (key -> reference) or 1 (with ``refs``)."""


def place_of(target: Readable, access: Access) -> tuple[str, Access]:
    """The URL of what a caller names, and the access with which it is found under it."""
    if is_open_file(target):
        found = source_of(target)
        return (found, access) if isinstance(found, str) else (found.url, access.with_files((found,)))
    if not isinstance(target, (str, os.PathLike)):
        raise BadRequest(f"{type(target).__name__} is no path, URL or open file")
    url = os.fspath(target)
    if not isinstance(url, str):
        raise BadRequest(f"{url!r} is a path of bytes; text was expected")
    return url, access


def access_for(
    node: VirtualNode,
    access: Access | None,
    storage_options: Mapping[str, JSON] | None = None,
    policy: Policy | None = None,
) -> Access:
    """How a node's bytes may be reached: as the caller says now, else as when the node was made."""
    own = node.access or DEFAULT
    if access is None and storage_options is None and policy is None:
        return own
    return Access.of(access, storage_options, policy).with_files(own.files)


def is_references(target: object) -> bool:
    """Whether a dict holds references; a store's values are bytes."""
    if not isinstance(target, dict):
        return False
    return "refs" in target or any(not isinstance(v, (bytes, bytearray, memoryview)) for v in target.values())
