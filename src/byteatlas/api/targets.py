"""What callers name: paths, URLs, open files, virtual nodes; and how each may be reached."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import BinaryIO, TypeAlias, TypeVar

from byteatlas.arguments import VERBS, shown
from byteatlas.errors import BadRequest
from byteatlas.io.access import DEFAULT, Access
from byteatlas.io.local import ICECHUNK
from byteatlas.io.policy import Policy
from byteatlas.io.sources.open_file import is_open_file, source_of
from byteatlas.manifest.model import VirtualArray, VirtualGroup, VirtualNode
from byteatlas.types import JSON

T = TypeVar("T")
Target: TypeAlias = str | os.PathLike[str]
Readable: TypeAlias = Target | BinaryIO
"""What can be read from: a path, a URL, or an open binary file that can seek."""
References: TypeAlias = Mapping[str, JSON]
"""Kerchunk's references as a dict, of version 0 (key -> reference) or 1 (with ``refs``)."""


def expect(value: object, kind: type, name: str) -> None:
    """Raise `BadRequest` unless a value is None or of a type: a dict for options, say, or a path for a tree."""
    if value is not None and not isinstance(value, kind):
        raise BadRequest(f"{name} is {type(value).__name__}, {kind.__name__} was expected")


def expect_many(inputs: object, name: str) -> None:
    """Raise `BadRequest` for what is no list; above all for one name, whose letters would be taken for names."""
    if isinstance(inputs, (str, bytes, os.PathLike)):
        raise BadRequest(f"{name} is a list; give [{os.fspath(inputs)!r}] for one alone")
    if not isinstance(inputs, (Iterable, VirtualGroup)):
        raise BadRequest(f"{name} is {type(inputs).__name__}; a list was expected")


def check_zarr_format(value: object) -> None:
    """Raise `BadRequest` for a version of Zarr that cannot be written. None is left to the verb."""
    if not VERBS["zarr_format"].test(value):
        raise BadRequest(f"zarr_format is {shown(value)}; known: 2, 3")


def each_of(inputs: Iterable[T] | Target, name: str, access: Access | None = None) -> list[T | str]:
    """Inputs as a list. One path alone is that path, and a pattern (``maps/*.json``) the files that it stands for.

    Raises `BadRequest` for what is no list, `NotFound` for a pattern that no file fits.
    """
    if isinstance(inputs, (str, os.PathLike)):
        from byteatlas.io.globbing import expanded

        return list(expanded(os.fspath(inputs), (access or DEFAULT).storage_options))
    if isinstance(inputs, (bytes, Mapping)) or is_open_file(inputs) or not isinstance(inputs, Iterable):
        raise BadRequest(f"{name} is {type(inputs).__name__}; a list was expected, or one path or pattern")
    return list(inputs)


def expect_group(value: object) -> None:
    """Raise `BadRequest` for anything but virtual arrays: the name of a map has to be loaded first."""
    if not isinstance(value, (VirtualArray, VirtualGroup)):
        raise BadRequest(f"{type(value).__name__} instead of virtual arrays: what does scan or load give for it?")


def place_of(target: Readable, access: Access) -> tuple[str, Access]:
    """The URL of what a caller names, and the access with which it is found under it.

    Options for all URLs are from now on for the server of this one: what it names elsewhere gets no credentials.
    """
    if is_open_file(target):
        found = source_of(target)
        return (found, access) if isinstance(found, str) else (found.url, access.with_files((found,)))
    if isinstance(target, (bytes, bytearray, memoryview)):
        raise BadRequest("bytes are no path: hand in what they hold as io.BytesIO(data), or a path as text")
    if not isinstance(target, (str, os.PathLike)):
        raise BadRequest(f"{type(target).__name__} is no path, URL or open file")
    url = os.fspath(target)
    if not isinstance(url, str):
        raise BadRequest("the path is bytes; text was expected (os.fsdecode makes one of it)")
    return url, access.kept_to(url.removeprefix(ICECHUNK))


def access_for(
    node: VirtualNode,
    access: Access | None,
    storage_options: Mapping[str, JSON] | None = None,
    policy: Policy | None = None,
) -> Access:
    """How a node's bytes may be reached: as the caller says now, else as when the node was made."""
    expect_group(node)
    own = node.access or DEFAULT
    given = given_access(access, storage_options, policy)
    return own if given is None else given.with_files(own.files)


def given_access(
    access: Access | None, storage_options: Mapping[str, JSON] | None, policy: Policy | None
) -> Access | None:
    """What the caller says of access; None when that is nothing."""
    if access is None and storage_options is None and policy is None:
        return None
    return Access.of(access, storage_options, policy)


def is_references(target: object) -> bool:
    """Whether a dict holds references; a store's values are bytes."""
    if not isinstance(target, dict):
        return False
    return "refs" in target or any(not isinstance(v, (bytes, bytearray, memoryview)) for v in target.values())
