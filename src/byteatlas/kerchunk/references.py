"""References as kerchunk's scripts have them, dicts of version 0 or 1, from and to virtual arrays."""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Mapping, MutableMapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from byteatlas.api.indexing import load
from byteatlas.api.reading import reader
from byteatlas.api.writing import write
from byteatlas.combining.chunks.small_arrays import SMALL, inline_array
from byteatlas.errors import BadRequest
from byteatlas.io.access import DEFAULT, Access
from byteatlas.io.local import absolute, local_path
from byteatlas.manifest.model import MISSING, VirtualArray, VirtualNode
from byteatlas.manifest.ops.common import map_arrays
from byteatlas.manifest.ops.inline import InlineOptions, inline
from byteatlas.manifest.options import MapWriteOptions
from byteatlas.meta.model import ChunkGrid, RegularGrid
from byteatlas.types import JSON
from byteatlas.values import replace

RefDict = dict[str, Any]
"""Key -> text, bytes, ``[url]`` or ``[url, offset, length]``."""
NUMCODECS = ("shuffle", "zlib", "zstd", "blosc", "gzip", "fixedscaleoffset", "fletcher32", "lz4", "bz2")
PLAIN = frozenset(["bytes", "vlen-utf8", "transpose", *(f"numcodecs.{name}" for name in NUMCODECS)])
"""Codecs that every reader of Zarr has."""
WRITE = MapWriteOptions(sources=False, keep_queries=True)
"""URLs stay as the caller gave them, as kerchunk leaves them."""


def text_of(value: object) -> object:
    """A reference as JSON can say it: bytes as text where they are ASCII, else with ``base64:`` before them."""
    found = value.to_bytes() if hasattr(value, "to_bytes") and not isinstance(value, int) else value
    if not isinstance(found, (bytes, bytearray, memoryview)):
        return found
    data = bytes(found)
    if data.isascii() and not data.startswith(b"base64:"):
        return data.decode("ascii")
    return "base64:" + base64.b64encode(data).decode("ascii")


def bytes_of(value: object) -> bytes:
    """The bytes of an inline reference."""
    text = text_of(value)
    if not isinstance(text, str):
        return json.dumps(text).encode()
    return base64.b64decode(text[7:]) if text.startswith("base64:") else text.encode()


def flat(refs: Mapping[str, Any]) -> RefDict:
    """References of either version as a dict of version 0; templates are filled in. Bytes become text."""
    if refs.get("templates") or refs.get("gen"):
        found: dict[str, JSON] = {}
        write(load(dict(refs)), found, format="json-v0", options=WRITE)
        return found
    inner = refs["refs"] if isinstance(refs.get("refs"), Mapping) and "version" in refs else refs
    return {key: text_of(value) for key, value in inner.items()}


def opened_json(place: str, options: Mapping[str, Any] | None = None) -> RefDict:
    """A JSON file of references, by path or URL. Raises `BadRequest` for one that is none."""
    import fsspec

    with fsspec.open(place, "rb", **dict(options or {})) as file:
        try:
            found = json.load(file)
        except ValueError as error:
            raise BadRequest(f"{place} is no JSON ({error})") from error
    if not isinstance(found, dict):
        raise BadRequest(f"{place} holds no references")
    return found


def written(node: VirtualNode, below: float = 0, names: Mapping[str, str | None] | None = None) -> RefDict:
    """Virtual arrays as references of version 0.

    Args:
        below: bytes; shorter chunks are read, and kept in the references. 0: none.
        names: source URLs that get another name, or none (``[null, offset, length]``).
    """
    if below > 0:
        node = inline(node, (node.access or DEFAULT).pool(), InlineOptions(int(min(below, 1 << 40))))
    refs: dict[str, Any] = {}
    write(without_fill(node), refs, format="json-v0", options=WRITE)
    if names:
        for key, value in refs.items():
            if isinstance(value, list) and value[0] in names:
                refs[key] = [names[value[0]], *value[1:]]
    for key in [k for k in refs if k.endswith((".zgroup", ".zarray"))]:
        refs.setdefault(key[:-7] + ".zattrs", "{}")
    return refs


def decoded(node: VirtualNode, below: float) -> VirtualNode:
    """The tree with the values of small arrays that need codecs of ours: every reader of Zarr can then read them.

    Args:
        below: bytes; arrays whose chunks, decoded, are shorter.
    """
    read = reader(node.access or DEFAULT)

    def array(_: str, old: VirtualArray) -> VirtualArray:
        meta = old.meta
        names = {codec.name for encoding in meta.encodings for codec in encoding.codecs}
        if len(meta.encodings) == 1 and names <= PLAIN and meta.zarr_format == 2:
            return old
        kind = np.dtype(meta.data_type.numpy)
        size = kind.itemsize * math.prod(longest_chunk(meta.grid))
        if kind.hasobject or size >= below or kind.itemsize * math.prod(meta.shape) > SMALL:
            return old
        return replace(one_chunk(read(old), old, meta.attributes), access=old.access)

    return map_arrays(node, array)


def one_chunk(values: NDArray[Any], array: VirtualArray, attributes: Mapping[str, JSON]) -> VirtualArray:
    """An array's values in the references, in place of its chunks."""
    names = array.meta.dimension_names
    made = inline_array(values, names or (None,) * array.meta.ndim, attributes)
    return made if names else replace(made, meta=replace(made.meta, dimension_names=None))


def without_fill(node: VirtualNode) -> VirtualNode:
    """The tree with fill values only where they mean something: xarray takes those of version 2 for "no data".

    An array whose chunks are all there, or whose missing ones are zeros, says ``null`` unless it has a ``_FillValue``.
    """

    def array(_: str, old: VirtualArray) -> VirtualArray:
        meta = old.meta
        if meta.zarr_format != 2 or meta.fill_value is None or "_FillValue" in meta.attributes:
            return old
        if meta.data_type.numpy.kind not in "biufcmM":
            return old
        zero = not np.asarray(meta.fill_value).astype(meta.data_type.numpy).tobytes().strip(b"\0")
        if not zero and bool((old.manifest.load().source == MISSING).any()):
            return old
        return replace(old, meta=replace(meta, fill_value=None))

    return map_arrays(node, array)


def longest_chunk(grid: ChunkGrid) -> tuple[int, ...]:
    """The length of the longest chunk along each axis."""
    if isinstance(grid, RegularGrid):
        return grid.chunk_shape
    return tuple(max(lengths, default=1) for lengths in grid.edges)


def handed_out(refs: RefDict, out: MutableMapping[str, Any] | None, version: int = 1) -> Any:
    """References as they are returned; or written into what the caller gave (fsspec's ``LazyReferenceMapper``, say)."""
    if out is None:
        return refs if version < 1 else {"version": 1, "refs": refs}
    for key in sorted(refs):
        out[key] = refs[key]
    if hasattr(out, "flush"):
        out.flush()
    return out


def with_protocol(refs: RefDict, protocol: str | None) -> RefDict:
    """References whose URLs have no protocol with one before them; None and ``file`` leave them."""
    if protocol in (None, "", "file", "local"):
        return refs
    return {
        key: [f"{protocol}://{value[0]}", *value[1:]] if _bare(value) else value for key, value in refs.items()
    }  # fmt: skip


def _bare(value: object) -> bool:
    return isinstance(value, list) and isinstance(value[0], str) and "://" not in value[0]


def relative_names(refs: Mapping[str, Any]) -> dict[str, str | None]:
    """What relative paths in references become when they are read -> the paths."""
    urls = {value[0] for value in refs.values() if isinstance(value, list) and isinstance(value[0], str)}
    found = {absolute(url): url for url in urls if local_path(url) is not None}
    return {long: short for long, short in found.items() if long != short}


def access_to(options: Mapping[str, Any] | None) -> Access:
    """How bytes may be reached, by options as fsspec's file systems take them."""
    kept = {k: v for k, v in (options or {}).items() if k not in ("asynchronous", "loop", "skip_instance_cache")}
    return Access.of(None, kept, None) if kept else DEFAULT
