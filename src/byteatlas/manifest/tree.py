"""Metadata documents by key (``x/.zarray``, ``x/zarr.json``) to a tree of virtual arrays, and back."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from byteatlas.errors import InvalidMetadata, Unsupported
from byteatlas.manifest.kinds.encoded import EncodedManifest
from byteatlas.manifest.model import Manifest, VirtualArray, VirtualGroup, VirtualNode
from byteatlas.manifest.options import KnownPlace
from byteatlas.manifest.sharing import SharedDocuments
from byteatlas.meta import v2, v3
from byteatlas.meta.model import ArrayMeta, ChunkKeys, EncodingColumn, GroupMeta
from byteatlas.meta.names import legal_name
from byteatlas.types import JSON
from byteatlas.values import dataclass, field, replace

DOCUMENTS = (".zarray", ".zattrs", ".zgroup", "zarr.json")
"""The last parts of the keys that hold metadata."""
MOST_LEVELS = 64
NO_ATTRIBUTES: Mapping[str, JSON] = {}

Attach = Callable[[str, ArrayMeta], Manifest]
"""Gives the manifest of the array at a path."""


def is_document(key: str) -> bool:
    """Whether a key holds metadata rather than a chunk.

    >>> is_document("g/x/.zarray"), is_document("x/0.0")
    (True, False)
    """
    return key.rpartition("/")[2] in DOCUMENTS


class LazyArrays(Mapping[str, VirtualArray]):
    """The arrays of one group; an array's metadata is parsed when it is asked for."""

    __slots__ = ("_built", "_make", "_paths", "path", "place")

    def __init__(
        self,
        paths: Mapping[str, str],
        make: Callable[[str], VirtualArray],
        place: KnownPlace | None = None,
        path: str = "",
    ) -> None:
        self._paths, self._make = paths, make
        self._built: dict[str, VirtualArray] = {}
        self.place, self.path = place, path

    def __reduce__(self) -> tuple[Any, ...]:
        """As a place in a map where there is one, else as a dict."""
        return (dict, (dict(self),)) if self.place is None else self.place.reduced_arrays(self.path)

    def __getitem__(self, name: str) -> VirtualArray:
        if name not in self._built:
            self._built[name] = self._make(self._paths[name])
        return self._built[name]

    def __contains__(self, name: object) -> bool:
        return name in self._paths

    def __iter__(self) -> Iterator[str]:
        return iter(self._paths)

    def __len__(self) -> int:
        return len(self._paths)


@dataclass(slots=True)
class _Branch:
    arrays: dict[str, str] = field(default_factory=dict)
    groups: dict[str, str] = field(default_factory=dict)


class DocumentTree:
    """What nodes the documents describe.

    Args:
        documents: parsed metadata by key.
        where: what the map is called in errors.
        shared: what is known of the documents of other maps.
    """

    def __init__(self, documents: Mapping[str, JSON], where: str, shared: SharedDocuments | None = None) -> None:
        self.documents, self.where, self._shared = documents, where, shared
        self.arrays: list[str] = []
        self._branches: dict[str, _Branch] = {"": _Branch()}
        for path in dict.fromkeys(_parent(key) for key in documents if is_document(key)):
            self._place(path)
        for path in self.arrays:
            self._check_parents(path)

    def _key(self, path: str, name: str) -> str:
        return f"{path}/{name}" if path else name

    def _is_array(self, path: str) -> bool:
        if self._key(path, ".zarray") in self.documents:
            return True
        doc = self.documents.get(self._key(path, "zarr.json"))
        return isinstance(doc, Mapping) and doc.get("node_type") == "array"

    def _place(self, path: str) -> None:
        parts = path.split("/") if path else []
        if len(parts) > MOST_LEVELS:
            raise InvalidMetadata(self.where, f"{path[:80]!r}... has more than {MOST_LEVELS} levels")
        if not all(map(legal_name, parts)):
            raise InvalidMetadata(self.where, f"{path!r} is not a node path")
        array = self._is_array(path)
        if array:
            self.arrays.append(path)
        elif not any(self._key(path, n) in self.documents for n in (".zgroup", "zarr.json")) and path:
            return  # attributes without a node
        at = ""
        for depth, name in enumerate(parts):
            below = self._key(at, name)
            branch = self._branches[at]
            if array and depth == len(parts) - 1:
                branch.arrays[name] = below
            else:
                branch.groups[name] = below
                self._branches.setdefault(below, _Branch())
            at = below

    def _check_parents(self, path: str) -> None:
        parts = path.split("/") if path else []
        known = set(self.arrays) if len(self.arrays) < 8 else self._array_set()
        for i in range(len(parts)):
            above = "/".join(parts[:i])
            if above in known:
                raise InvalidMetadata(self.where, f"array {path!r} lies inside array {above!r}")

    def _array_set(self) -> frozenset[str]:
        if not hasattr(self, "_known"):
            self._known = frozenset(self.arrays)
        return self._known

    def array_meta(self, path: str) -> tuple[ArrayMeta, EncodingColumn | None]:
        """An array's metadata, and its encoding column when it has several encodings."""
        where = f"{self.where}: {path or '/'}"
        doc = self.documents.get(self._key(path, "zarr.json"))
        if isinstance(doc, Mapping) and doc.get("node_type") == "array":
            return v3.parse_array(doc, where)
        zattrs = self.documents.get(self._key(path, ".zattrs"), NO_ATTRIBUTES)
        zarray = self.documents[self._key(path, ".zarray")]
        if self._shared is None:
            return v2.parse_array(zarray, zattrs, where), None
        return self._shared.meta(zarray, zattrs, lambda: v2.parse_array(zarray, zattrs, where)), None

    def _group_meta(self, path: str) -> GroupMeta:
        where = f"{self.where}: {path or '/'}"
        doc = self.documents.get(self._key(path, "zarr.json"))
        if doc is not None:
            return v3.parse_group(doc, where)
        zattrs = self.documents.get(self._key(path, ".zattrs"), {})
        zgroup = self.documents.get(self._key(path, ".zgroup"))
        return v2.parse_group({"zarr_format": 2} if zgroup is None else zgroup, zattrs, where)

    def build(self, attach: Attach, place: KnownPlace | None = None) -> VirtualNode:
        """The tree, with manifests from ``attach``. ``place``: of the map."""

        def make(path: str) -> VirtualArray:
            meta, column = self.array_meta(path)
            manifest = attach(path, meta)
            return VirtualArray(meta, manifest if column is None else EncodedManifest(manifest, column))

        if self._is_array(""):
            return make("")
        return self._build("", make, place)

    def _build(self, path: str, make: Callable[[str], VirtualArray], place: KnownPlace | None) -> VirtualGroup:
        branch = self._branches[path]
        groups = {name: self._build(below, make, place) for name, below in branch.groups.items()}
        return VirtualGroup(self._group_meta(path), LazyArrays(branch.arrays, make, place, path), groups)


def _parent(key: str) -> str:
    return key.rpartition("/")[0]


def key_prefix(path: str, keys: ChunkKeys, ndim: int) -> str:
    """What stands before the grid position in an array's chunk keys (the whole key for a scalar).

    >>> key_prefix("g/x", ChunkKeys("default", "/"), 2), key_prefix("x", ChunkKeys("v2", "."), 0)
    ('g/x/c/', 'x/0')
    """
    base = f"{path}/" if path else ""
    if keys.kind == "v2":
        return base if ndim else base + "0"
    return f"{base}c{keys.separator}" if ndim else base + "c"


@dataclass(frozen=True, slots=True)
class WrittenArray:
    """An array as it will be written: where, what its metadata documents say, and its chunks."""

    path: str
    meta: ArrayMeta
    manifest: Manifest


def node_documents(node: VirtualNode, *, separator: str | None = None) -> tuple[dict[str, JSON], list[WrittenArray]]:
    """The metadata documents of a tree by key, in the tree's order, and its arrays.

    Version 2 where it can express the array, else version 3.

    Args:
        separator: put this into the keys of version 2 arrays, whatever they had (Parquet maps know only ``.``).
    """
    documents: dict[str, JSON] = {}
    arrays: list[WrittenArray] = []
    if isinstance(node, VirtualArray):
        _dump_array("", node, documents, arrays, separator)
        return documents, arrays
    _dump_group("", node.meta, documents)
    for path, child in node.walk():
        if isinstance(child, VirtualArray):
            _dump_array(path, child, documents, arrays, separator)
        else:
            _dump_group(path, child.meta, documents)
    return documents, arrays


def _dump_group(path: str, meta: GroupMeta, documents: dict[str, JSON]) -> None:
    base = f"{path}/" if path else ""
    if meta.zarr_format == 3:
        documents[base + "zarr.json"] = v3.dump_group(meta)
        return
    zgroup, zattrs = v2.dump_group(meta)
    documents[base + ".zgroup"] = zgroup
    if zattrs:
        documents[base + ".zattrs"] = zattrs


def _dump_array(
    path: str, array: VirtualArray, documents: dict[str, JSON], arrays: list[WrittenArray], separator: str | None
) -> None:
    base = f"{path}/" if path else ""
    meta = array.meta
    if meta.zarr_format != 3 and len(meta.encodings) == 1:
        try:
            zarray, zattrs = v2.dump_array(_with_keys(meta, separator))
        except Unsupported:
            pass
        else:
            written = _with_keys(meta, separator)
            documents[base + ".zarray"] = zarray
            if zattrs:
                documents[base + ".zattrs"] = zattrs
            arrays.append(WrittenArray(path, written, array.manifest))
            return
    column = None
    if len(meta.encodings) > 1:
        column = array.manifest.load().encoding
        if column is None:
            column = np.zeros(len(array.manifest.load().source), np.uint16)
    try:
        documents[base + "zarr.json"] = v3.dump_array(meta, column)
    except Unsupported as error:
        raise Unsupported(error.reason, error.detail, path or "/") from error
    arrays.append(WrittenArray(path, meta, array.manifest))


def _with_keys(meta: ArrayMeta, separator: str | None) -> ArrayMeta:
    mark: str = separator or meta.keys.separator
    keys = ChunkKeys("v2", "/" if mark == "/" else ".")
    return meta if meta.keys == keys else replace(meta, keys=keys)
