"""Virtual trees as VirtualiZarr has them, and back.

VirtualiZarr's arrays are Zarr v3 metadata of zarr-python and three arrays over the chunk grid: URL (empty: missing),
offset, length. Since 2.6 a manifest holds bytes too; for older ones they are put into a store in memory.
"""

from __future__ import annotations

import inspect
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from byteatlas.errors import BadRequest, MissingExtra, Unsupported
from byteatlas.io.local import absolute, file_url, local_path
from byteatlas.manifest.model import (
    INLINE,
    MISSING,
    WHOLE,
    Manifest,
    SourceInfo,
    VirtualArray,
    VirtualGroup,
    VirtualNode,
    inline_manifest,
)
from byteatlas.manifest.model import ChunkManifest as Columns
from byteatlas.manifest.ops.version3 import as_version3
from byteatlas.manifest.tree import WrittenArray, node_documents
from byteatlas.meta import dtypes, v3
from byteatlas.meta.grid import chunk_counts
from byteatlas.meta.model import ArrayMeta, ChunkKeys, CodecSpec, Encoding, GroupMeta, RegularGrid
from byteatlas.types import JSON

INLINED = "__inlined__"
"""VirtualiZarr's path of a chunk whose bytes are in the manifest."""
IN_MEMORY = "memory://byteatlas-inline-"


def virtualizarr() -> Any:
    """VirtualiZarr's manifests. Raises `MissingExtra`."""
    try:
        import virtualizarr.manifests as found
    except ImportError as error:
        raise MissingExtra("virtualizarr", "VirtualiZarr's arrays") from error
    return found


def to_manifest_store(node: VirtualNode, registry: Any = None, refused: list[Unsupported] | None = None) -> Any:
    """A tree as a ``ManifestStore``.

    Args:
        registry: an ``ObjectStoreRegistry`` that values are read through.
        refused: gets the errors of arrays that VirtualiZarr cannot have, which are left out; None = they are raised.

    Raises:
        Unsupported: an array that zarr-python has no data type for, or whose chunks have different lengths.
    """
    vz = virtualizarr()
    group, memory = _converted(vz, node, refused)
    if memory is not None and memory.used:
        registry = memory.registered(registry)
    return vz.ManifestStore(group, registry=registry)


def to_manifest_group(node: VirtualNode) -> Any:
    """A tree as a ``ManifestGroup``, from which nothing can be loaded. Raises `Unsupported` as `to_manifest_store`."""
    return _converted(virtualizarr(), node, None)[0]


def _converted(vz: Any, node: VirtualNode, refused: list[Unsupported] | None) -> tuple[Any, _Memory | None]:
    group = node if isinstance(node, VirtualGroup) else VirtualGroup(GroupMeta({}, 3), {"data": node})
    documents, written = node_documents(as_version3(group))
    memory = _Memory() if "inlined" not in inspect.signature(vz.ChunkManifest.from_arrays).parameters else None
    arrays: dict[str, Any] = {}
    for array in written:
        try:
            arrays[array.path] = _manifest_array(vz, array, documents[f"{array.path}/zarr.json"], memory)
        except Unsupported as error:
            if refused is None:
                raise
            refused.append(error)
    return _manifest_group(vz, "", group, arrays), memory


def _manifest_group(vz: Any, path: str, group: VirtualGroup, arrays: Mapping[str, Any]) -> Any:
    base = f"{path}/" if path else ""
    below = {name: _manifest_group(vz, base + name, child, arrays) for name, child in group.groups.items()}
    attributes = v3.dump_group(GroupMeta(group.attributes, 3))["attributes"]
    own = {name: arrays[base + name] for name in group.arrays if base + name in arrays}
    return vz.ManifestGroup(arrays=own, groups=below, attributes=attributes)


def _manifest_array(vz: Any, array: WrittenArray, document: JSON, memory: _Memory | None) -> Any:
    from zarr.core.metadata.v3 import ArrayV3Metadata

    assert isinstance(document, dict)
    if not isinstance(array.meta.grid, RegularGrid):
        raise Unsupported("virtualizarr", "VirtualiZarr has no chunks of different lengths", array.path)
    if array.meta.dimension_names is None:
        document = {**document, "dimension_names": [f"{array.path}_dim_{i}" for i in range(array.meta.ndim)]}
    try:
        meta = ArrayV3Metadata.from_dict(document)
    except (ValueError, TypeError, KeyError, NotImplementedError) as error:
        raise Unsupported("virtualizarr", f"zarr-python does not take it: {error}", array.path) from error
    return vz.ManifestArray(meta, _chunks(vz, array, memory))


def _chunks(vz: Any, array: WrittenArray, memory: _Memory | None) -> Any:
    columns = array.manifest.load()
    shape = array.manifest.grid_shape
    names = [_shown(source.url) for source in columns.sources]
    paths: NDArray[Any] = np.array([*names, "", INLINED], np.dtypes.StringDType())[columns.source]
    paths[columns.source == MISSING] = ""
    offset, length = columns.offset.copy(), _lengths(columns, array.path)
    inlined: dict[tuple[int, ...], bytes] = {}
    for chunk in np.flatnonzero(columns.source == INLINE).tolist():
        position = tuple(int(i) for i in np.unravel_index(chunk, shape)) if shape else ()
        data = array.manifest.inline(chunk)
        inlined[position] = data
        offset[chunk], length[chunk] = 0, len(data)
        paths[chunk] = INLINED if memory is None else memory.add(data)
    missing = columns.source == MISSING
    offset[missing], length[missing] = 0, 0
    more = {"inlined": inlined} if memory is None else {}
    return vz.ChunkManifest.from_arrays(
        paths=paths.reshape(shape),
        offsets=offset.reshape(shape),
        lengths=length.reshape(shape),
        validate_paths=False,
        **more,
    )


def _lengths(columns: Columns, path: str) -> NDArray[np.uint64]:
    length = columns.length.copy()
    for chunk in np.flatnonzero((columns.length == WHOLE) & (columns.source >= 0)).tolist():
        info = columns.sources[int(columns.source[chunk])]
        if info.size is None:
            raise Unsupported("virtualizarr", f"a whole-file reference to {info.url}, whose size is unknown", path)
        length[chunk] = info.size
    return length


def _shown(url: str) -> str:
    path = local_path(url)
    return url if path is None else file_url(local_path(absolute(path)) or path)


class _Memory:
    """Inline bytes for versions that know files only: objects of a store in memory, whose names are their bytes."""

    def __init__(self) -> None:
        from uuid import uuid4

        from obstore.store import MemoryStore

        self.store, self.prefix, self.used = MemoryStore(), f"{IN_MEMORY}{uuid4().hex}", False

    def add(self, data: bytes) -> str:
        name = urlsafe_b64encode(data).decode()
        self.store.put(name, data)
        self.used = True
        return f"{self.prefix}/{name}"

    def registered(self, registry: Any) -> Any:
        from obspec_utils.registry import ObjectStoreRegistry

        found = ObjectStoreRegistry() if registry is None else registry
        found.register(self.prefix, self.store)
        return found


def from_manifest_array(array: Any, dims: tuple[str, ...], attributes: Mapping[str, JSON]) -> VirtualArray:
    """One of VirtualiZarr's arrays as a virtual array."""
    import json

    document = json.loads(json.dumps(array.metadata.to_dict(), default=_json))
    document |= {"attributes": dict(attributes), "dimension_names": list(dims)}
    document.pop("storage_transformers", None)
    meta, column = v3.parse_array(document)
    manifest = array.manifest
    paths, offset, length = (getattr(manifest, name).reshape(-1) for name in ("_paths", "_offsets", "_lengths"))
    distinct, place = np.unique(paths, return_inverse=True)
    numbers, sources, hidden = _sources(list(map(str, distinct)))
    shape = chunk_counts(meta.shape, meta.grid)
    inlined = {
        int(np.ravel_multi_index(position, shape)) if shape else 0: bytes(data)
        for position, data in getattr(manifest, "_inlined", {}).items()
    }
    place = place.reshape(-1)
    inlined |= {i: hidden[int(place[i])] for i in np.flatnonzero(np.isin(place, list(hidden))).tolist()}
    columns = Columns(
        shape,
        sources,
        numbers[place],
        offset.astype(np.uint64),
        length.astype(np.uint64),
        column,
        inlined,
    )
    return VirtualArray(meta, columns)


def _sources(paths: list[str]) -> tuple[NDArray[np.int32], tuple[SourceInfo, ...], dict[int, bytes]]:
    """For each path its number in a manifest, the sources, and the bytes of paths that are nothing but bytes."""
    numbers = np.full(len(paths), MISSING, np.int32)
    sources: list[SourceInfo] = []
    hidden: dict[int, bytes] = {}
    for i, path in enumerate(paths):
        if path == INLINED:
            numbers[i] = INLINE
        elif path.startswith(IN_MEMORY):
            numbers[i] = INLINE
            hidden[i] = urlsafe_b64decode(path.rpartition("/")[2])
        elif path:
            numbers[i] = len(sources)
            sources.append(SourceInfo(_plain(path)))
    return numbers, tuple(sources), hidden


def _json(value: Any) -> JSON:
    """What zarr-python leaves of NumPy's and its own types in a document."""
    if isinstance(value, np.generic):
        found: JSON = value.item()
        return found
    if hasattr(value, "to_dict"):
        return _json(value.to_dict()) if not isinstance(value.to_dict(), dict) else value.to_dict()
    if hasattr(value, "to_json"):
        made: JSON = value.to_json(zarr_format=3)
        return made
    raise BadRequest(f"{type(value).__name__} in metadata of VirtualiZarr")


def _plain(url: str) -> str:
    return local_path(url) or url


def inlined_array(values: NDArray[Any], dims: tuple[str, ...], attributes: Mapping[str, JSON]) -> VirtualArray:
    """Values in memory as one chunk of a map."""
    data_type = dtypes.from_numpy(values.dtype) if values.dtype != object else dtypes.STRING
    if values.dtype == object:
        from numcodecs import VLenUTF8

        codec, data = CodecSpec("vlen-utf8"), bytes(VLenUTF8().encode(np.ascontiguousarray(values).reshape(-1)))
    else:
        codec = CodecSpec("bytes", {"endian": "little"})
        data = np.ascontiguousarray(values, values.dtype.newbyteorder("<")).tobytes()
    chunk = tuple(max(n, 1) for n in values.shape)
    grid = chunk_counts(values.shape, RegularGrid(chunk))
    meta = ArrayMeta(
        values.shape, data_type, RegularGrid(chunk), (Encoding((codec,)),), None, dims, dict(attributes),
        ChunkKeys("default", "/"), 3,
    )  # fmt: skip
    chunks: Manifest = inline_manifest(grid, {0: data} if values.size else {})
    return VirtualArray(meta, chunks)
