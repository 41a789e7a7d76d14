"""One file as references: what the modules for single formats share."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from byteatlas.api.indexing import OnRefusal, scan
from byteatlas.api.targets import place_of
from byteatlas.io.local import absolute
from byteatlas.kerchunk.references import RefDict, access_to, written
from byteatlas.manifest.model import VirtualNode
from byteatlas.scanning.contract import ScanOptions


def scanned_references(
    file: Any,
    scanner: str,
    storage_options: Mapping[str, Any] | None,
    below: float,
    options: ScanOptions | None = None,
    on_refusal: OnRefusal = "warn",
) -> RefDict:
    """A file as references of version 0, in which its URL is as the caller gave it."""
    access = access_to(storage_options)
    found = scan(file, format=scanner, options=options, access=access, on_refusal=on_refusal)
    return references_to(found, file, storage_options, below)


def references_to(node: VirtualNode, file: Any, storage_options: Mapping[str, Any] | None, below: float) -> RefDict:
    """A scanned file as references of version 0, in which its URL is as the caller gave it."""
    return written(node, below, names_of(file, storage_options))


def names_of(file: Any, storage_options: Mapping[str, Any] | None = None) -> dict[str, str | None]:
    """What scanning makes of a file's name -> the name as the caller gave it."""
    if not isinstance(file, (str, os.PathLike)):
        return {}
    name = os.fspath(file)
    return {absolute(place_of(name, access_to(storage_options))[0]): name}
