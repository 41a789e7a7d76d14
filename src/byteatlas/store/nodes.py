"""The nodes of a stored hierarchy: which documents there are, of which version, and consolidated copies of them.

A node is looked for as v3 (``zarr.json``), v2 (``.zarray``, ``.zgroup``), then v1 (``meta``). Version 1 has no groups
and version 2 stores often lack some: a folder that holds nodes counts as a group without attributes.
"""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Literal, TypeAlias

from byteatlas.errors import InvalidMetadata, NotFound, Unsupported
from byteatlas.meta import v1, v2, v3
from byteatlas.meta.model import ArrayMeta, EncodingColumn, GroupMeta
from byteatlas.meta.names import legal_name
from byteatlas.store.base import UNFINISHED, Store, check_path
from byteatlas.store.documents import MOST_BYTES, load_object
from byteatlas.types import JSON, Buffer
from byteatlas.values import dataclass

NodeKind: TypeAlias = Literal["array", "group"]
IMPLICIT_DEPTH = 4
"""How far below a folder without metadata a node is looked for before it counts as no group."""
DOCUMENTS = frozenset({"zarr.json", ".zgroup", ".zattrs", ".zmetadata"})
"""What lies in the folder of a group. A listing with none of them and no node is no listing: a web server may answer a
folder with any page, such as one to log in, and that must not read as a group without members."""
AT_ONCE = 16
"""Metadata documents requested at once from remote storage."""


@dataclass(frozen=True, slots=True, eq=False)
class StoredArray:
    """An array's metadata, and which encoding each chunk has (None: the first)."""

    meta: ArrayMeta
    column: EncodingColumn | None = None


class Nodes:
    """Reads nodes of a store. Consolidated metadata at the root is used when it is there, unless told otherwise."""

    __slots__ = ("_first", "_flat", "_store")

    def __init__(self, store: Store, *, consolidated: bool | None = None) -> None:
        self._store = store
        self._first: dict[str, dict[str, JSON] | None] = {}
        self._flat: Mapping[str, JSON] = {} if consolidated is False else self._consolidated()
        if consolidated and not self._flat:
            raise NotFound(f"{store.url} has no consolidated metadata")

    @property
    def store(self) -> Store:
        return self._store

    def read(self, path: str) -> StoredArray | GroupMeta:
        """The node at a path. Raises `NotFound`, `InvalidMetadata`, `Unsupported`."""
        clean = check_path(path)
        found = self._read(clean)
        if found is None and self._implicit(clean, 0):
            return GroupMeta()
        if found is None:
            raise NotFound(self._nothing_at(clean))
        return found

    def _nothing_at(self, path: str) -> str:
        """What to say of a path that leads to no node."""
        url = self._store.url
        if not self._flat and self._store.get(UNFINISHED) is not None:  # consolidated metadata are of a finished one
            return f"{url} is an unfinished copy: the same copy once more goes on with it"
        return f"no array or group {path!r} in {url}" if path else f"no Zarr in {url}"

    def kind(self, path: str) -> NodeKind | None:
        """What is at a path, without reading more of it than needed; None for nothing."""
        document = self._document(path, "zarr.json")
        if document is not None:
            return "array" if document.get("node_type") == "array" else "group"
        if self._document(path, ".zarray") is not None:
            return "array"
        if self._document(path, ".zgroup") is not None:
            return "group"
        if self._v1(path) is not None:
            return "array"
        return None

    def has(self, path: str) -> bool:
        """Whether there is a node at a path. One whose documents are broken is there. Raises `FetchFailed`."""
        try:
            return self._kind_or_implicit(check_path(path)) is not None
        except NotFound:
            return False
        except InvalidMetadata:
            return True

    def children(self, path: str) -> dict[str, NodeKind]:
        """The nodes directly below a group. Raises `Unsupported` when the store cannot tell."""
        known = self._flat_children(path)
        if known:
            return known
        names = self._store.names(path)
        if names is None:
            raise Unsupported("listing", f"{self._store.url} cannot be listed and has no consolidated metadata", path)
        paths = [f"{path}/{n}" if path else n for n in names if legal_name(n)]
        found = self._kinds(paths)
        nodes = {p.rpartition("/")[2]: kind for p, kind in zip(paths, found, strict=True) if kind is not None}
        if not nodes and not self._store.local and DOCUMENTS.isdisjoint(names):
            where = f"{self._store.url}/{path}" if path else self._store.url
            raise Unsupported("listing", f"{where} cannot be listed: the answer names nothing of the group", path)
        return nodes

    def _kinds(self, paths: list[str]) -> list[NodeKind | None]:
        if self._store.local or len(paths) < 2:
            return [self._kind_or_implicit(p) for p in paths]
        with ThreadPoolExecutor(min(AT_ONCE, len(paths))) as threads:
            return list(threads.map(self._kind_or_implicit, paths))

    def _kind_or_implicit(self, path: str) -> NodeKind | None:
        return self.kind(path) or ("group" if self._implicit(path, 0) else None)

    def _read(self, path: str) -> StoredArray | GroupMeta | None:
        where = f"{self._store.url}/{path}" if path else self._store.url
        document = self._document(path, "zarr.json")
        if document is not None:
            if document.get("node_type") == "group":
                return v3.parse_group(document, where)
            meta, column = v3.parse_array(document, where)
            return StoredArray(meta, column)
        document = self._document(path, ".zarray")
        if document is not None:
            return StoredArray(v2.parse_array(document, self._document(path, ".zattrs") or {}, where))
        document = self._document(path, ".zgroup")
        if document is not None:
            return v2.parse_group(document, self._document(path, ".zattrs") or {}, where)
        document = self._v1(path)
        if document is not None:
            return StoredArray(v1.parse_array(document, self._document(path, "attrs") or {}, where))
        return None

    def _v1(self, path: str) -> dict[str, JSON] | None:
        key = f"{path}/meta" if path else "meta"
        data = self._store.get(key, MOST_BYTES)
        if data is None or bytes(data[:1]).strip(b" \r\n\t") not in (b"{", b""):
            return None
        try:
            document = load_object(data, key)
        except InvalidMetadata:
            return None  # some file of this name: only a document that says it is version 1 counts
        return document if document.get("zarr_format") == 1 else None

    def _document(self, path: str, name: str) -> dict[str, JSON] | None:
        key = f"{path}/{name}" if path else name
        if key in self._flat:
            found = self._flat[key]
            if not isinstance(found, dict):
                raise InvalidMetadata(f"{self._store.url}/{key}", "consolidated metadata holds no object for this node")
            return found
        if self._flat and self._is_v2(path):  # they are all that there is of the node
            return None
        # What looking for consolidated metadata brought counts for the look at the root that follows.
        if key in self._first:
            return self._first.pop(key)
        data = self._store.get(key, MOST_BYTES)
        return None if data is None else load_object(data, f"{self._store.url}/{key}")

    def _is_v2(self, path: str) -> bool:
        """Whether consolidated metadata say that a node is of version 2."""
        start = f"{path}/" if path else ""
        return f"{start}.zarray" in self._flat or f"{start}.zgroup" in self._flat

    def _root_documents(self) -> tuple[Buffer | None, Buffer | None]:
        """The root's ``zarr.json``, or else its ``.zmetadata``: remote storage is asked for both at once.

        No generator: one that an error leaves behind is closed wherever memory is cleared up, and to wait for a thread
        there, with the lock of all thread pools held, is to wait for ever.
        """
        if self._store.local:
            first = self._store.get("zarr.json", MOST_BYTES)
            return first, self._store.get(".zmetadata", MOST_BYTES) if first is None else None
        with ThreadPoolExecutor(1) as threads:
            other = threads.submit(self._store.get, ".zmetadata", MOST_BYTES)
            first = self._store.get("zarr.json", MOST_BYTES)
            return first, other.result() if first is None else None

    def _implicit(self, path: str, depth: int) -> bool:
        """Whether a folder without metadata holds nodes further down."""
        if self._flat and any(key.startswith(f"{path}/" if path else "") for key in self._flat):
            return True
        names = self._store.names(path)
        if not names or depth >= IMPLICIT_DEPTH:
            return False
        below = [f"{path}/{n}" if path else n for n in names if legal_name(n)][:64]
        return any(self.kind(p) is not None for p in below) or any(self._implicit(p, depth + 1) for p in below)

    def _consolidated(self) -> Mapping[str, JSON]:
        """Key -> document of the root's consolidated metadata, v3 inline or v2 ``.zmetadata``."""
        data, other = self._root_documents()
        root = None if data is None else load_object(data, f"{self._store.url}/zarr.json")
        self._first["zarr.json"] = root
        if root is not None:
            inline = root.get("consolidated_metadata")
            if not isinstance(inline, dict) or not isinstance(inline.get("metadata"), dict):
                return {}
            return {f"{path.strip('/')}/zarr.json": doc for path, doc in inline["metadata"].items()}
        if other is None:
            return {}
        found = load_object(other, f"{self._store.url}/.zmetadata").get("metadata")
        return found if isinstance(found, dict) else {}

    def _flat_children(self, path: str) -> dict[str, NodeKind]:
        start = f"{path}/" if path else ""
        names: dict[str, None] = {}
        for key in self._flat:
            if key.startswith(start):
                name, slash, _ = key[len(start) :].partition("/")
                if slash:
                    names[name] = None
        found = {name: self.kind(start + name) or "group" for name in names if legal_name(name)}
        return dict(found)
