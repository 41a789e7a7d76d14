"""``kerchunk.grib2``: references to the messages of one GRIB file."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from byteatlas.api.indexing import scan
from byteatlas.api.tree import VirtualTree
from byteatlas.errors import BadRequest
from byteatlas.io.access import Access
from byteatlas.kerchunk.arguments import refuse
from byteatlas.kerchunk.references import access_to, handed_out
from byteatlas.kerchunk.single import references_to, scanned_references
from byteatlas.kerchunk.utils import class_factory
from byteatlas.manifest.model import WHOLE, VirtualArray
from byteatlas.scanning.contract import ScanOptions
from byteatlas.types import ByteRange

PREFIX = "GRIB_"


def scan_grib(
    url: str,
    common: object = None,
    storage_options: Mapping[str, Any] | None = None,
    inline_threshold: float | None = 100,
    skip: int = 0,
    filter: Mapping[str, Any] | None = None,
    **misspelt: object,
) -> list[dict[str, Any]]:
    """References (version 1) to each message of a file, in the file's order, with cfgrib's names of variables.

    `byteatlas.scan` gives all messages as one tree with dimensions, which no later combining has to make.

    Args:
        skip: stop after so many messages. 0: none.
        filter: ecCodes' keys that the variable has as attributes ``GRIB_...`` -> a value, or several.
    """
    refuse(misspelt, scan_grib)
    access = access_to(storage_options)
    found = []
    whole = scan(url, format="grib", access=access)
    for where in _messages(whole)[: skip or None]:
        one = _message(url, where, access)
        if all(_fits(one, key, value) for key, value in (filter or {}).items()):
            refs = references_to(one, url, storage_options, inline_threshold or 0)
            found.append(handed_out(refs, None))
    return found


def _messages(whole: VirtualTree) -> Sequence[ByteRange]:
    """Where the messages lie."""
    found: set[tuple[int, int]] = set()
    for _, node in whole.walk():
        if isinstance(node, VirtualArray):
            columns = node.manifest.load()
            remote = (columns.source >= 0) & (columns.length != WHOLE)
            found.update(zip(columns.offset[remote].tolist(), columns.length[remote].tolist(), strict=True))
    return [ByteRange(offset, length) for offset, length in sorted(found)]


def _message(url: str, where: ByteRange, access: Access) -> VirtualTree:
    options = ScanOptions(extra={"grib": {"preset": "cfgrib"}})
    return scan(url, format="grib", window=where, options=options, access=access)


def _fits(message: VirtualTree, key: str, wanted: Any) -> bool:
    values = [a.meta.attributes.get(PREFIX + key) for a in message.arrays.values()]
    if all(value is None for value in values):
        if key in message.arrays:
            raise BadRequest(f"filter: {key} is a coordinate; select it from what byteatlas.scan gives")
        return False
    many = wanted if isinstance(wanted, Iterable) and not isinstance(wanted, str) else [wanted]
    return any(value in many for value in values if value is not None)


def grib_tree(
    message_groups: Any, remote_options: Mapping[str, Any] | None = None, **misspelt: object
) -> dict[str, Any]:  # fmt: skip
    """The tree of ``kerchunk.grib2.grib_tree``: by variable, type of step and type of level.

    Args:
        message_groups: a GRIB file, by path or URL. (What `scan_grib` gives for kerchunk is not needed for it.)
    """
    refuse(misspelt, grib_tree)
    if not isinstance(message_groups, str):
        raise BadRequest("grib_tree takes the GRIB file's path or URL: the tree is made when the file is scanned")
    options = ScanOptions(extra={"grib": {"preset": "kerchunk"}})
    refs = scanned_references(message_groups, "grib", remote_options, 0, options)
    return {"version": 1, "refs": refs}


GribToZarr = class_factory(scan_grib)
